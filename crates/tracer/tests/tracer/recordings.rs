//! Recordings of this process.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use ichnos_tracer::{
    ClockSource, Recording, RecordingOptions, SizeLimit, TraceEvent, TraceField, record, trace_event,
};

use crate::{alone, read};

#[derive(TraceEvent)]
struct Tick {
    number: u32,
}

fn numbers(path: &Path, may_lose: bool) -> Vec<u32> {
    let number = |event: serde_json::Value| event["payload"]["number"].as_u64().map(|number| number as u32);
    read(path, may_lose).into_iter().filter_map(number).collect()
}

fn options(path: &Path) -> RecordingOptions {
    let mut options = RecordingOptions::new(path);
    (options.packet_size, options.file_size) = (1024, 8192);
    options
}

fn files(path: &Path) -> usize {
    std::fs::read_dir(path).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() != "metadata").count()
}

#[test]
fn threads_use_data_streams_again() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let mut options = options(&path);
    options.clock = ClockSource::Fastest;
    let recording = Recording::start(options).unwrap();
    for number in 0..300 {
        std::thread::spawn(move || record(&Tick { number })).join().unwrap();
    }
    assert_eq!(recording.finish().discarded, 0);
    assert_eq!(numbers(&path, false), (0..300).collect::<Vec<_>>());
    assert!(files(&path) < 5, "{}", files(&path));
}

#[test]
fn the_last_or_the_first_files_are_kept() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    for (name, limit) in [("last", SizeLimit::Last(30_000)), ("first", SizeLimit::First(30_000))] {
        let path = directory.path().join(name);
        let mut options = options(&path);
        options.limit = limit;
        let recording = Recording::start(options).unwrap();
        (0..10_000).for_each(|number| record(&Tick { number }));
        let discarded = recording.finish().discarded;
        let numbers = numbers(&path, true);
        assert!(numbers.len() > 1000 && numbers.len() < 2200, "{}", numbers.len());
        assert!(numbers.windows(2).all(|two| two[0] + 1 == two[1]));
        match name {
            "last" => assert_eq!((numbers.last(), discarded), (Some(&9_999), 0)),
            _ => assert_eq!((numbers[0], discarded), (0, 10_000 - numbers.len() as u64)),
        }
    }
}

#[test]
fn files_end_after_a_time() {
    const EVENTS: u32 = 200;

    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    for (name, limit) in [("all", SizeLimit::Unlimited), ("last", SizeLimit::Last(9000))] {
        let path = directory.path().join(name);
        let mut options = options(&path);
        options.file_duration = Some(Duration::from_micros(300));
        options.limit = limit;
        let recording = Recording::start(options).unwrap();
        for number in 0..EVENTS {
            record(&Tick { number });
            std::thread::sleep(Duration::from_micros(20));
            if number == 99 {
                let copy = directory.path().join(format!("{name}-copy"));
                recording.snapshot(&copy).unwrap();
                assert_eq!(numbers(&copy, true).last(), Some(&99));
            }
        }
        assert_eq!(recording.finish().discarded, 0);
        let numbers = numbers(&path, limit != SizeLimit::Unlimited);
        assert_eq!(numbers.last(), Some(&(EVENTS - 1)));
        assert!(numbers.windows(2).all(|two| two[0] + 1 == two[1]));
        // Files have no padding, and thousands of bytes would fit.
        let sizes: Vec<u64> =
            std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
        assert!(sizes.iter().all(|size| *size < 4000) && sizes.len() > 2, "{sizes:?}");
        match limit {
            SizeLimit::Unlimited => assert_eq!(numbers[0], 0),
            _ => assert!(numbers[0] > 0, "{}", numbers.len()),
        }
    }
}

#[test]
fn a_snapshot_is_a_trace() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let [path, copy] = ["t", "copy"].map(|name| directory.path().join(name));
    let recording = Recording::start(options(&path)).unwrap();
    (0..1000).for_each(|number| record(&Tick { number }));
    recording.snapshot(&copy).unwrap();
    assert_eq!(recording.snapshot(&copy).unwrap_err().kind(), ErrorKind::AlreadyExists);
    (1000..1100).for_each(|number| record(&Tick { number }));
    // The trace itself can be read at any time.
    assert_eq!(numbers(&path, false), (0..1100).collect::<Vec<_>>());
    recording.pause();
    record(&Tick { number: 7 });
    recording.resume();
    record(&Tick { number: 1100 });
    recording.finish();
    assert_eq!(numbers(&copy, false), (0..1000).collect::<Vec<_>>());
    assert_eq!(numbers(&path, false), (0..=1100).collect::<Vec<_>>());
}

#[test]
fn a_directory_has_one_trace() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(options(&path)).unwrap();
    let other = Recording::start(options(&directory.path().join("other"))).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::ResourceBusy);
    record(&Tick { number: 1 });
    recording.finish();
    assert_eq!(Recording::start(options(&path)).unwrap_err().kind(), ErrorKind::AlreadyExists);
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(Recording::start(options(&file.join("t"))).is_err());
    assert_eq!(numbers(&path, false), [1]);
}

#[test]
fn large_events_and_long_descriptions() {
    #[derive(TraceEvent)]
    struct Large<'a> {
        text: &'a str,
    }

    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(options(&path)).unwrap();
    record(&Large { text: &"x".repeat(2000) });
    record(&Tick { number: 1 });
    // Each class has a description of 100 to 5000 bytes, so that some cross a page, and some are longer.
    macro_rules! events {
        ($($name:literal)*) => {
            $(trace_event!(#[trace(emf_uri = $name)] "e", number: u32 = 2);)*
        };
    }
    events!("1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19" "20");
    assert_eq!(recording.finish().discarded, 1);
    let events = numbers(&path, true);
    assert_eq!(events.len(), 21);
}

#[test]
fn zeros_in_texts_are_shown() {
    #[derive(TraceField)]
    struct Part<'a> {
        text: &'a str,
    }

    #[derive(TraceEvent)]
    struct Named<'a> {
        first: &'a str,
        maybe: Option<&'a str>,
        parts: &'a [Part<'a>],
        last: u8,
    }

    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(options(&path)).unwrap();
    let parts = [Part { text: "\0" }, Part { text: "abcdefgh" }];
    record(&Named { first: "a\0b", maybe: Some("long enough\0"), parts: &parts, last: 7 });
    recording.finish();
    let payload = &read(&path, false)[0]["payload"];
    assert_eq!(payload["first"], "a␀b");
    assert_eq!(payload["maybe"], "long enough␀");
    assert_eq!(payload["parts"], serde_json::json!([{ "text": "␀" }, { "text": "abcdefgh" }]));
    assert_eq!(payload["last"], 7);
}

#[test]
fn a_forked_child_records_nothing() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(options(&path)).unwrap();
    record(&Tick { number: 1 });
    // SAFETY: the child only records, which takes no lock of another thread, and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        record(&Tick { number: 2 });
        // SAFETY: it ends the child without running what the parent has to run.
        unsafe { libc::_exit(i32::from(ichnos_tracer::is_recording())) };
    }
    let mut status = 0;
    // SAFETY: the status is valid during the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    record(&Tick { number: 3 });
    recording.finish();
    assert_eq!(numbers(&path, false), [1, 3]);
}
