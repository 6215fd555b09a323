//! Random files written again in every version, killed writers, and failing writes.

use std::path::Path;

use ichnos_io::{WriteOptions, WriteTarget};
use ichnos_model::OpenedTrace as _;
use ichnos_model::clock::ClockOffsets;
use ichnos_nettrace::NettraceOptions;
use ichnos_testing::{Random, cases};

use crate::builder::{Event, File, Form, Metadata};
use crate::generated::random_file;
use crate::support::{Opened, find};
use crate::truncated::skim;
use crate::writing::{check, encoding, events, opened, rewrite, write, write_to_file};

/// A rewritten file has equal events, in its own version and after conversion to another version and back.
#[test]
fn random_files_written_again() {
    cases(300, |random| {
        let form = random.pick(&[Form::V3, Form::V4, Form::V6]);
        let source = opened("source", random_file(random, form));
        assert_eq!(source.file.damage().len(), 0, "{:?}", source.file.damage());
        let bytes = rewrite(&[&source], None);
        let written = opened("source", bytes.clone());
        check("written", &source, &written);
        // Written once more, the file is the same. Version 3 events are then sorted by time.
        let again = rewrite(&[&written], None);
        match form {
            Form::V3 => {
                let sorted = opened("source", again.clone());
                assert!(rewrite(&[&sorted], None) == again, "{form:?}: written once more, it differs");
            }
            _ => assert!(again == bytes, "{form:?}: written once more, it differs"),
        }
        // Version 6 can store everything from version 4.
        if form != Form::V6 {
            let other = opened("source", rewrite(&[&source], Some("6")));
            let back = opened("source", rewrite(&[&other], Some("4")));
            check("back", &source, &back);
        }
    });
}

/// Metadata does not wait for sorted events, because version 6 blocks have less than 16 MiB.
#[test]
fn much_metadata_of_sorted_events() {
    const EACH: u32 = 60;
    let mut file = File::new(Form::V6);
    let metadata = |id: u32| Metadata::new(id, &format!("{id:0>60000}"), []);
    file.metadata(&(1..=EACH).map(metadata).collect::<Vec<_>>());
    file.threads(&[(1, 11, "")]);
    let event = |id: u32| Event::new(id, 1, id, 1_000 + u64::from(id));
    file.events(true, &(1..=EACH).map(event).collect::<Vec<_>>());
    let bytes = file.end();
    let sources = [(); 5].map(|()| opened("source", bytes.clone()));
    let mut options = encoding(None);
    options.sorts = true;
    let bytes = write_to_file(&sources.each_ref(), &options);
    assert!(bytes.len() > 16 << 20, "{}", bytes.len());
    let written = opened("source", bytes);
    assert_eq!(written.file.damage().len(), 0, "{:?}", written.file.damage());
    assert_eq!(events(&written).0.len(), 5 * EACH as usize);
}

/// The chunk size of the output does not change the file.
#[test]
fn random_files_written_in_pieces() {
    cases(60, |random| {
        let form = random.pick(&[Form::V3, Form::V4, Form::V6]);
        let source = opened("source", random_file(random, form));
        let expected = rewrite(&[&source], None);
        let mut options = encoding(None);
        options.packet_size = Some(random.pick(&[0, 1, 100, 1_000]));
        assert!(write_to_file(&[&source], &options) == expected, "{form:?}: {options:?}");
    });
}

/// A whole file in the same version is copied, whatever it contains. Other files are encoded.
#[test]
fn whole_files_are_copied() {
    cases(40, |random| {
        let form = random.pick(&[Form::V3, Form::V4, Form::V6]);
        let bytes = random_file(random, form);
        let source = opened("source", bytes.clone());
        let mut options = WriteOptions::default();
        options.packet_size = random.is_one_in(2).then(|| 1 + random.below(1_000));
        let is_copied = |source: &Opened, options: &WriteOptions| write_to_file(&[source], options) == bytes;
        assert_eq!(is_copied(&source, &options), form != Form::V3, "{form:?}");
        let with = |change: fn(&mut WriteOptions)| {
            let mut options = options.clone();
            change(&mut options);
            options
        };
        let others = [
            with(|options| options.leaves_out = true),
            with(|options| options.repair = true),
            with(|options| options.selected_by = vec!["changed".to_owned()]),
            with(|options| options.window.begin = Some(0)),
            with(|options| options.dialect = Some("4".to_owned())),
            with(|options| options.dialect = Some("6".to_owned())),
        ];
        for (index, options) in others.iter().enumerate() {
            let is_same = matches!((index, form), (4, Form::V4) | (5, Form::V6));
            assert_eq!(is_copied(&source, options), is_same, "{form:?}, {index}");
        }
        // A truncated file is completed.
        let cut = bytes[..bytes.len() - 1].to_vec();
        let written = write_to_file(&[&opened("source", cut.clone())], &options);
        let damage = |bytes: Vec<u8>| skim(bytes.into(), false).unwrap().1;
        assert_eq!((damage(cut), damage(written)), (1, 0));
        // Two files are merged.
        assert_ne!(write_to_file(&[&source, &source], &options), bytes);
        // With a clock offset, the file has other times.
        let mut open_options = NettraceOptions::default();
        open_options.clock_offsets = ClockOffsets::for_all(5_000_000_000);
        let moved = Opened::of_bytes("source", bytes.clone().into(), &open_options);
        let written = opened("source", write_to_file(&[&moved], &options));
        let zero = |opened: &Opened| opened.file.trace().class.clocks[0].nanoseconds(0);
        assert!((4_990_000_000..5_010_000_000).contains(&(zero(&written) - zero(&source))), "{form:?}");
    });
}

/// Checks that a file cut at any flush has the events before it.
fn check_killed(source: &Opened, dialect: Option<&str>, mut flushes: impl FnMut(usize) -> bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live.nettrace");
    let target = WriteTarget::Live(path.clone());
    let places = write(&[source], target, &encoding(dialect), &mut flushes).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let expected = events(source).0;
    assert_eq!(events(&opened("source", bytes.clone())).0, expected);
    for place in places {
        let killed = opened("source", bytes[..place.bytes].to_vec());
        let found = events(&killed).0;
        assert!(found == expected[..place.events], "{place:?}: {} events", found.len());
    }
}

#[test]
fn everything_up_to_the_last_flush_is_there() {
    cases(40, |random| {
        let form = random.pick(&[Form::V4, Form::V6]);
        let source = opened("source", random_file(random, form));
        let each = 1 + random.index(20);
        check_killed(&source, None, |number| number % each == 0);
    });
}

#[test]
fn everything_up_to_the_last_flush_of_a_recorded_file_is_there() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    for (name, each) in [("net10.0-custom-only-norundown.nettrace", 50), ("perl-cpu-v6.nettrace", 900)] {
        check_killed(&Opened::new(&find(&traces, name)), None, |number| number % each == 0);
    }
}

/// If the disk is full, the error has the path, and there is no file.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let device = Path::new("/dev/full");
    if !device.exists() {
        return println!("skipped: a_full_disk_is_an_error: this system has no /dev/full");
    }
    let source = opened("source", random_file(&mut Random::new(5), Form::V4));
    for (size, leaves_out) in [(1, true), (1 << 20, true), (1, false)] {
        let mut options = WriteOptions::default();
        (options.packet_size, options.leaves_out) = (Some(size), leaves_out);
        for target in [WriteTarget::Complete(device.into()), WriteTarget::Live(device.into())] {
            let error = write(&[&source], target, &options, |_| false).unwrap_err();
            assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
        }
    }
}

/// If the disk fills at any byte, everything before it can be read, and the error is reported.
#[test]
fn a_disk_that_fills_up() {
    cases(30, |random| {
        let form = random.pick(&[Form::V4, Form::V6]);
        let source = opened("source", random_file(random, form));
        let whole = rewrite(&[&source], None);
        let expected = events(&source).0;
        // A failed write may leave any number of its bytes.
        for _ in 0..20 {
            let Some(found) = Opened::try_of_bytes("source", whole[..random.index(whole.len())].to_vec())
            else {
                continue;
            };
            let found = events(&found).0;
            assert!(expected.starts_with(&found), "{} of {} events", found.len(), expected.len());
        }
    });
}
