//! Logs written event by event.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ichnos::create::{CreateOptions, StreamWriter, WriteError, Writer, create};
use ichnos::export::{Log, LogOptions};
use ichnos::model::Scope;
use ichnos::model::class::{EventRecordClass, FieldClass, Member};
use ichnos::model::clock::ClockClass;
use ichnos::model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity};
use ichnos::model::meaning::Meaning;
use ichnos::prelude::*;

const SCALE: LevelScale =
    LevelScale(&[LevelStep::new(10, LogLevel::Info), LevelStep::new(20, LogLevel::Error)]);

/// Returns the log line class for this severity: a message and a number.
fn line(severity: i64) -> EventRecordClass {
    let members = [Member::new("text", FieldClass::string()), Member::new("n", FieldClass::unsigned(16))];
    let mut class = EventRecordClass::new("line", members);
    class.meanings.insert(Scope::Payload, 0, Meaning::Message);
    class.log = Some(Arc::new(LogRole::new(LogSeverity::Constant(severity), SCALE)));
    class
}

fn begin(path: &Path, change: impl FnOnce(&mut CreateOptions)) -> Writer {
    let mut options = CreateOptions::default();
    change(&mut options);
    create(path, &options).unwrap()
}

fn stream(trace: &Writer, name: &str, clock: &str) -> StreamWriter {
    let clock = trace.clock(ClockClass::new(clock, 1_000_000_000)).unwrap();
    trace.stream(name, Some(&clock)).unwrap()
}

/// Returns the log lines of a file.
fn lines(path: &Path) -> String {
    let session = ichnos::open([path], &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut out = Vec::new();
    let mut sink = Log::new(&mut out, LogOptions::default());
    pump(&mut session.cursor(Window::default()).unwrap(), &mut sink).unwrap();
    drop(sink);
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_of_several_data_streams() {
    let directory = tempfile::tempdir().unwrap();
    for live in [true, false] {
        let path = directory.path().join(format!("{live}.log"));
        let trace = begin(&path, |options| options.live = live);
        let (a, b) = (stream(&trace, "a", "one"), stream(&trace, "b", "other"));
        let mut info = a.event(&a.class().event_class_of(line(10)).unwrap()).unwrap();
        let mut error = b.event(&b.class().event_class_of(line(20)).unwrap()).unwrap();
        info.set("text", "warm").unwrap().set("n", 1).unwrap().write(1_000_000_000).unwrap();
        error.set("text", "hot").unwrap().set("n", 2).unwrap().write(2_000_000_000).unwrap();
        // All events share one order, across data streams.
        info.set("text", "cold").unwrap().set("n", 3).unwrap();
        let early = info.write(1_500_000_000).unwrap_err().to_string();
        assert_eq!(early, "time 1500000000 is before 2000000000, the time of the last event");
        assert_eq!(path.exists(), live);
        let written = trace.finish().unwrap();
        assert_eq!((written.events, &written.paths[..]), (2, &[path.clone()][..]));
        assert_eq!(
            lines(&path),
            "[00001.000000][][][] INFO: warm n=1\n[00002.000000][][][] ERROR: hot n=2\n",
        );
        assert!(matches!(
            info.set("text", "x").unwrap().set("n", 4).unwrap().write(3),
            Err(WriteError::Time { .. })
        ));
        info.set("text", "x").unwrap().set("n", 4).unwrap();
        assert!(matches!(info.write(3_000_000_000), Err(WriteError::Finished)));
    }
}

/// Events without a severity become INFO lines with name and fields.
#[test]
fn events_without_a_severity_are_lines() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.log");
    let trace = begin(&path, |_| {});
    let a = stream(&trace, "a", "c");
    let mut other = a.declare("other", [Member::new("n", FieldClass::unsigned(8))]).unwrap();
    other.set("n", 1).unwrap().write(1).unwrap();
    let mut info = a.event(&a.class().event_class_of(line(10)).unwrap()).unwrap();
    info.set("text", "x").unwrap().set("n", 1).unwrap().write(1).unwrap();
    assert_eq!(trace.finish().unwrap().events, 2);
    assert_eq!(lines(&path), "[00000.000000][][][] INFO: other n=1\n[00000.000000][][][] INFO: x n=1\n");
}

/// Flushed events can be read while the log is written.
#[test]
fn flushed_events_are_readable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.log");
    let trace = begin(&path, |options| options.packet_age = Some(Duration::from_secs(3600)));
    let a = stream(&trace, "a", "c");
    let mut info = a.event(&a.class().event_class_of(line(10)).unwrap()).unwrap();
    let mut write = |time: u64| info.set("text", "x").unwrap().set("n", time).unwrap().write(time).unwrap();
    (1..=3).for_each(&mut write);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    trace.flush().unwrap();
    assert_eq!(lines(&path).lines().count(), 3);
    (4..=5).for_each(&mut write);
    assert_eq!(lines(&path).lines().count(), 3);
    a.flush().unwrap();
    assert_eq!(lines(&path).lines().count(), 5);
    drop(trace);
    assert_eq!(lines(&path).lines().count(), 5);
}

/// Log records from another format.
#[cfg(feature = "ctf")]
#[test]
fn read_events_become_lines() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello-lttng");
    let session = ichnos::open([example], &OpenOptions::default()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.log");
    let trace = begin(&path, |_| {});
    let mut streams = std::collections::HashMap::new();
    let mut events = session.events().unwrap();
    let mut count = 0;
    while let Some(event) = events.next_event() {
        let writer =
            streams.entry(event.stream.key).or_insert_with(|| trace.stream_like(event.stream).unwrap());
        writer.copy(&event).unwrap();
        count += 1;
    }
    assert_eq!(trace.finish().unwrap().events, count);
    assert_eq!(lines(&path).lines().count() as u64, count);
}

/// JSON Lines output is also one file, with everything in each event.
#[cfg(feature = "jsonl")]
#[test]
fn json_lines() {
    let directory = tempfile::tempdir().unwrap();
    for live in [true, false] {
        let path = directory.path().join(format!("{live}.jsonl"));
        let trace = begin(&path, |options| options.live = live);
        let clock = trace.clock(ClockClass::since_unix_epoch("wall")).unwrap();
        let [a, b] = ["a", "b"].map(|name| trace.stream(name, Some(&clock)).unwrap());
        let mut info = a.event(&a.class().event_class_of(line(10)).unwrap()).unwrap();
        let mut error = b.event(&b.class().event_class_of(line(20)).unwrap()).unwrap();
        info.set("text", "warm").unwrap().set("n", 1).unwrap().write(1_000_000_000).unwrap();
        trace.flush().unwrap();
        let first = "[00001.000000][][][] INFO: warm n=1\n";
        assert_eq!(path.exists(), live);
        assert!(!live || lines(&path) == first);
        error.set("text", "hot").unwrap().set("n", 2).unwrap().write(2_000_000_000).unwrap();
        let written = trace.finish().unwrap();
        assert_eq!((written.events, &written.paths[..]), (2, &[path.clone()][..]));
        assert_eq!(lines(&path), format!("{first}[00002.000000][][][] ERROR: hot n=2\n"));
        let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
        assert_eq!((session.traces().len(), session.traces()[0].data_streams().len()), (1, 2));
    }
}
