//! Directories that cannot be used, and names that other dialects lack.

use std::io::ErrorKind;
use std::process::Command;

use ichnos_tracer::{Recording, RecordingOptions, TraceEvent, record, trace_event};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::counted_memory::memory_calls;
use crate::{alone, convert, own_directory, process, read};

#[derive(TraceEvent)]
struct Tick {
    number: u32,
}

/// Starts a recording where another program has one.
#[test]
fn the_second_process() {
    let Some(directory) = own_directory() else { return };
    let error = Recording::start(RecordingOptions::new(&directory)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    println!("refused: {error}");
}

#[test]
fn two_programs_have_a_directory_each() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(RecordingOptions::new(&path)).unwrap();
    record(&Tick { number: 1 });
    let output = process("bad_places::the_second_process", &path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let expected = format!("refused: {}: the directory has a trace already", path.display());
    assert!(text.contains(&expected), "{text}");
    record(&Tick { number: 2 });
    recording.finish();
    assert_eq!(read(&path, false).len(), 2);
}

#[test]
fn a_directory_without_permission() {
    use std::os::unix::fs::PermissionsExt as _;

    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
    // Permissions do not stop root, but this file system does.
    let is_root = std::fs::create_dir(directory.path().join("root")).is_ok();
    let parent = if is_root { "/sys/kernel".into() } else { directory.path().to_owned() };
    let path = parent.join("ichnos-tracer");
    let error = Recording::start(RecordingOptions::new(&path)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().starts_with(&format!("{}: ", path.display())), "{error}");
    assert!(!ichnos_tracer::is_recording());
}

/// Records more than a small disk can take, and then less.
#[test]
fn the_process_on_a_small_disk() {
    const EVENTS: u32 = 100_000;

    let Some(directory) = own_directory() else { return };
    let path = directory.join("t");
    let mut options = RecordingOptions::new(&path);
    (options.packet_size, options.file_size) = (4096, 64 << 10);
    let recording = Recording::start(options).unwrap();
    record(&Tick { number: 0 });
    assert_eq!(memory_calls(|| (1..EVENTS).for_each(|number| record(&Tick { number }))), 0);
    let discarded = recording.finish().discarded as usize;
    let events = read(&path, true);
    assert!(events.len() > 1000, "{}", events.len());
    assert!(events.iter().zip(0..).all(|(event, number)| event["payload"]["number"] == number));
    assert_eq!(events.len() + discarded, EVENTS as usize);
    println!("kept {} events", events.len());
}

#[test]
fn a_full_disk_stops_nothing() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let test = process("bad_places::the_process_on_a_small_disk", directory.path());
    // The disk is in a namespace of its own, which ends with the process.
    let mut command = Command::new("unshare");
    command.args(["--mount", "--user", "--map-root-user", "sh", "-c"]);
    command.args(["mount -t tmpfs -o size=600k small \"$0\" && exec \"$@\""]).arg(directory.path());
    command.arg(test.get_program()).args(test.get_args());
    command.envs(test.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return println!("skipped: unshare: {error}"),
    };
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if errors.starts_with("unshare: ") || errors.starts_with("mount: ") {
        return println!("skipped: {errors}");
    }
    assert!(output.status.success() && text.contains("kept "), "{text}\n{errors}");
}

/// Sets the largest size of files. Returns the one before.
fn limit_files(bytes: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is valid during both calls.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit), 0);
        let before = std::mem::replace(&mut limit.rlim_cur, bytes);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
        before
    }
}

/// Records more than a limit of the system lets it record.
#[test]
fn the_process_with_a_limit() {
    #[derive(TraceEvent)]
    struct Late {
        number: u32,
    }

    let Some(directory) = own_directory() else { return };
    let path = directory.join("t");
    let mut options = RecordingOptions::new(&path);
    (options.packet_size, options.file_size) = (4096, 64 << 10);
    let recording = Recording::start(options).unwrap();
    record(&Tick { number: 0 });
    let most = limit_files(1);
    assert_eq!(memory_calls(|| (1..10_000).for_each(|number| record(&Tick { number }))), 0);
    let subscriber = tracing_subscriber::registry().with(ichnos_tracer::TraceLayer::new());
    let late = |number| {
        record(&Late { number });
        tracing::info!(number, "later");
    };
    let copy = directory.join("copy");
    let mut numbers = 1..;
    tracing::subscriber::with_default(subscriber, || {
        late(0);
        assert!(recording.snapshot(&copy).is_err());
        limit_files(most);
        // Files and classes are tried again.
        let is_described =
            |text: &str| std::fs::read_to_string(path.join("metadata")).unwrap().contains(text);
        while !is_described("\"Late\"") || !is_described("\"message\"") {
            late(numbers.next().unwrap());
        }
    });
    late(numbers.start);
    let discarded = recording.finish().discarded as usize;
    let events = read(&path, true);
    let of = |name: &str| events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>();
    let (ticks, late) = (of("Tick"), of("Late"));
    assert!(ticks.len() > 1000 && ticks.len() < 10_000, "{}", ticks.len());
    assert_eq!(late.last().unwrap()["payload"]["number"], numbers.start);
    assert_eq!(events.len() + discarded, 10_000 + 2 * numbers.start as usize + 1);
    println!("kept {} events", events.len());
}

#[test]
fn a_limit_of_the_system_is_a_full_disk() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let output = process("bad_places::the_process_with_a_limit", directory.path()).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("kept "), "{:?}: {text}\n{errors}", output.status);
}

#[test]
fn names_that_ctf_1_8_lacks_are_changes_of_a_conversion() {
    #[derive(TraceEvent)]
    #[trace(name = "größe: \"neu\"")]
    struct Size {
        #[trace(name = "größe in µm")]
        size: u32,
        r#struct: u8,
    }

    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let [path, converted] = ["t", "converted"].map(|name| directory.path().join(name));
    let recording = Recording::start(RecordingOptions::new(&path)).unwrap();
    record(&Size { size: 3, r#struct: 4 });
    trace_event!("plain", number: u32 = 1);
    recording.finish();
    let changes = convert(&path, &converted, false);
    assert!(changes.iter().any(|change| change.contains("größe in µm")), "{changes:#?}");
    let event = &read(&converted, false)[0];
    assert_eq!(event["name"], "größe: \"neu\"");
    assert_eq!(event["payload"], serde_json::json!({ "gr__e_in__m": 3, "struct": 4 }));
}
