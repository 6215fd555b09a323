//! Traces written from values and from events.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ichnos::create::{CreateOptions, WriteError, Writer, create};
use ichnos::model::class::{FieldClass, Member, Value};
use ichnos::model::clock::ClockClass;
use ichnos::model::field::FieldValue;
use ichnos::prelude::*;

use crate::examples::run;

/// Returns the events in a trace (name, time, number) in order, and the number of damaged places.
pub(crate) fn read(path: &Path) -> (Vec<(String, i128, u64)>, u64) {
    let session = ichnos::open([path], &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut events = session.events().unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next_event() {
        let number = event.field("n").and_then(|number| number.as_u64()).unwrap_or(u64::MAX);
        found.push((event.name().to_owned(), event.nanoseconds().unwrap_or(-1), number));
    }
    let damages = events.loss().damages;
    (found, damages)
}

fn number() -> [Member; 1] {
    [Member::new("n", FieldClass::unsigned(64))]
}

fn text(path: &Path) -> String {
    let session = ichnos::open([path], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    let mut out = Vec::new();
    let options = ichnos::export::PrettyOptions::default();
    pump(&mut reader.cursor(), &mut ichnos::export::Pretty::new(&mut out, options)).unwrap();
    String::from_utf8(out).unwrap()
}

fn clock(trace: &Writer) -> ichnos::create::Clock {
    trace.clock(ClockClass::since_unix_epoch("wall")).unwrap()
}

const EXAMPLE: &str = "\
[1.000000010] (+?.?????????) example sched_switch: { cpu = 0 }, { prev_tid = 1, comm = \"worker\" }
[1.000000011] (+0.000000001) example sched_switch: { cpu = 1 }, { prev_tid = 1, comm = \"worker\" }
[1.000000020] (+0.000000009) example sched_switch: { cpu = 0 }, { prev_tid = 2, comm = \"init\" }
[1.000000021] (+0.000000001) example sched_switch: { cpu = 1 }, { prev_tid = 2, comm = \"init\" }
[1.000000030] (+0.000000009) example sched_switch: { cpu = 0 }, { prev_tid = 3, comm = \"worker\" }
[1.000000031] (+0.000000001) example sched_switch: { cpu = 1 }, { prev_tid = 3, comm = \"worker\" }
[1.000000100] (+0.000000069) example done: { cpu = 2 }, { ratio = 0.5 }
";

#[test]
fn the_example_is_printed_in_every_dialect() {
    let directory = tempfile::tempdir().unwrap();
    // PROP-1.0 lacks an environment.
    for dialect in ["ctf1.8", "prop2", "spec2"] {
        let path = directory.path().join(dialect);
        run("write_trace", &[path.to_str().unwrap(), dialect]);
        let mut events = Vec::new();
        let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
        let reader = session.reader().unwrap();
        let mut options = ichnos::export::PrettyOptions::default();
        options.clock_seconds = true;
        pump(&mut reader.cursor(), &mut ichnos::export::Pretty::new(&mut events, options)).unwrap();
        assert_eq!(String::from_utf8(events).unwrap(), EXAMPLE, "{dialect}");
    }
}

#[test]
fn babeltrace2_prints_the_example() {
    if Command::new("babeltrace2").arg("--version").output().is_err() {
        eprintln!("skipped: there is no babeltrace2");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    run("write_trace", &[path.to_str().unwrap(), "ctf1.8"]);
    let output = Command::new("babeltrace2").arg("--clock-seconds").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), EXAMPLE);
}

#[test]
fn the_example_is_short() {
    let source = include_str!("../../examples/write_trace.rs");
    assert!(source.lines().count() <= 40);
}

#[test]
fn classes_and_streams_are_declared_while_writing() {
    let directory = tempfile::tempdir().unwrap();
    for dialect in ["ctf1.8", "prop1", "prop2", "spec2"] {
        let path = directory.path().join(dialect);
        let mut options = CreateOptions::default();
        options.dialect = Some(dialect.to_owned());
        let trace = create(&path, &options).unwrap();
        // The trace can be read from the start.
        assert_eq!(read(&path), (Vec::new(), 0));
        let wall = clock(&trace);
        let mut expected = Vec::new();
        for round in 0..10u64 {
            let stream = trace.stream(&format!("s{round}"), Some(&wall)).unwrap();
            for class in 0..3 {
                let name = format!("e{round}-{class}");
                let time = 100 * round + class;
                stream.declare(&name, number()).unwrap().set("n", time).unwrap().write(time).unwrap();
                expected.push((name, i128::from(time), time));
            }
            stream.flush().unwrap();
            assert_eq!(read(&path), (expected.clone(), 0), "{dialect}");
        }
        let late = trace.clock(ClockClass::new("late", 1000)).unwrap();
        let stream = trace.stream("late", Some(&late)).unwrap();
        stream.declare("late", number()).unwrap().set("n", 1).unwrap().write(1).unwrap();
        let report = trace.finish().unwrap();
        assert_eq!((report.events, report.packets), (31, 11));
        let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
        let class = &session.traces()[0].trace().class;
        assert_eq!((class.clocks.len(), class.data_streams.len()), (2, 11), "{dialect}");
    }
}

#[test]
fn data_that_does_not_fit_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let mut options = CreateOptions::default();
    options.name = Some("trace".to_owned());
    options.environment.push(("a".to_owned(), Value::Integer(1)));
    let trace = create(&path, &options).unwrap();
    let wall = clock(&trace);
    let same = trace.clock(ClockClass::since_unix_epoch("wall")).unwrap_err();
    assert_eq!(same.to_string(), "duplicate clock `wall`");
    let stream = trace.stream("s", Some(&wall)).unwrap();
    let members = [
        Member::new("i", FieldClass::signed(8)),
        Member::new("u", FieldClass::unsigned(8)),
        Member::new("f", FieldClass::float(32)),
        Member::new("s", FieldClass::string()),
    ];
    let mut event = stream.declare("e", members).unwrap();
    let error = |result: Result<(), WriteError>| result.unwrap_err().to_string();
    assert!(matches!(event.set("x", 1u64), Err(WriteError::Build(_))));
    assert_eq!(error(event.write(1)), "payload member `i`: expected a value, found none");
    let mut set = |i: i64, u: i64, s: &str, time: Option<u64>| {
        event.set("i", i).unwrap().set("u", u).unwrap().set("f", 0.5).unwrap().set("s", s).unwrap();
        event.write(time)
    };
    set(-128, 255, "x", Some(10)).unwrap();
    assert_eq!(error(set(128, 0, "x", Some(11))), "payload member `i`: expected at most 8 bits, found 128");
    let negative = "payload member `u`: expected an unsigned integer, found a signed integer";
    assert_eq!(error(set(0, -1, "x", Some(11))), negative);
    let zero = "payload member `s`: expected a string without U+0000, found a string that contains it";
    assert_eq!(error(set(0, 0, "a\0", Some(11))), zero);
    let before = "time 9 is before 10, the time of the last event of the data stream";
    assert_eq!(error(set(0, 0, "x", Some(9))), before);
    assert_eq!(error(set(0, 0, "x", None)), "the event lacks a time, but its data stream has a clock");
    set(127, 0, "y", Some(10)).unwrap();
    assert_eq!(error(event.write(10)), "payload member `i`: expected a value, found none");
    let timeless = trace.stream("t", None).unwrap();
    let class = timeless.class().event_class("e", number()).unwrap();
    assert!(matches!(stream.event(&class), Err(WriteError::Foreign(_))));
    let mut own = timeless.event(&class).unwrap();
    assert!(matches!(own.set("n", 1u64).unwrap().write(1), Err(WriteError::NoClock)));
    own.set("n", 1u64).unwrap().write(None).unwrap();
    let report = trace.finish().unwrap();
    assert_eq!(report.events, 3);
    assert!(report.losses.is_empty(), "{:?}", report.losses);
    assert!(matches!(own.set("n", 1u64).unwrap().write(None), Err(WriteError::Finished)));
    assert!(matches!(timeless.flush(), Err(WriteError::Finished)));
    // Existing traces are not overwritten.
    assert!(matches!(create(&path, &options), Err(WriteError::Create(_))));
    assert_eq!(read(&path).0.len(), 3);
}

#[test]
fn optional_fields_and_members_with_others_in_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let trace = create(&path, &CreateOptions::default()).unwrap();
    let stream = trace.stream("s", None).unwrap();
    let members = [
        Member::new("o", FieldClass::optional(FieldClass::unsigned(8))),
        Member::new("in", FieldClass::structure([Member::new("x", FieldClass::signed(16))])),
    ];
    let mut event = stream.declare("e", members).unwrap();
    for value in [FieldValue::Null, 7.into()] {
        let inner = event.set("o", value).unwrap().set_with("in", |values| {
            values.begin_structure();
            values.push(-3i64);
            values.end();
        });
        inner.unwrap().write(None).unwrap();
    }
    trace.finish().unwrap();
    let text = text(&path);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("o = <none>, in = { x = -3 } }"), "{text}");
    assert!(lines[1].ends_with("o = { 7 }, in = { x = -3 } }"), "{text}");
}

#[test]
fn packets_close_by_size_and_by_age() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = CreateOptions::default();
    options.packet_size = Some(1000);
    let path = directory.path().join("size");
    let trace = create(&path, &options).unwrap();
    let mut event = trace.stream("s", None).unwrap().declare("e", number()).unwrap();
    for n in 0..1000u64 {
        event.set("n", n).unwrap().write(None).unwrap();
    }
    // All events except those in the open packet can be read.
    let (events, damages) = read(&path);
    assert!((900..1000).contains(&events.len()) && damages == 0, "{}", events.len());
    assert!(trace.finish().unwrap().packets > 15);
    assert_eq!(read(&path).0.len(), 1000);

    options.packet_age = Some(Duration::ZERO);
    let path = directory.path().join("age");
    let trace = create(&path, &options).unwrap();
    let mut event = trace.stream("s", None).unwrap().declare("e", number()).unwrap();
    for n in 0..10u64 {
        event.set("n", n).unwrap().write(None).unwrap();
        assert_eq!(read(&path).0.len() as u64, n);
    }
    trace.flush().unwrap();
    assert_eq!(read(&path).0.len(), 10);
    // Dropping also completes a live trace. Other traces do not appear.
    event.set("n", 10u64).unwrap().write(None).unwrap();
    drop(trace);
    assert_eq!(read(&path).0.len(), 11);
    options.live = false;
    let path = directory.path().join("complete");
    let trace = create(&path, &options).unwrap();
    let mut event = trace.stream("s", None).unwrap().declare("e", number()).unwrap();
    event.set("n", 10u64).unwrap().write(None).unwrap();
    event.stream().flush().unwrap();
    drop(trace);
    assert!(!path.exists());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

/// Events that were read are written unchanged, except for their packets.
#[test]
fn read_events_are_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = tempfile::tempdir().unwrap();
    for (source, dialect) in [
        ("examples/hello-lttng", "ctf1.8"),
        ("examples/hello-lttng", "spec2"),
        ("examples/hello-ctf2", "spec2"),
    ] {
        let source = root.join(source);
        let path =
            directory.path().join(format!("{}-{dialect}", source.file_name().unwrap().to_str().unwrap()));
        let mut options = CreateOptions::default();
        options.dialect = Some(dialect.to_owned());
        let session = ichnos::open([&source], &OpenOptions::default()).unwrap();
        let class = &session.traces()[0].trace().class;
        options.environment.clone_from(&class.environment);
        options.name.clone_from(&class.name);
        let trace = create(&path, &options).unwrap();
        let mut streams = std::collections::HashMap::new();
        let mut events = session.events().unwrap();
        while let Some(event) = events.next_event() {
            let stream =
                streams.entry(event.stream.key).or_insert_with(|| trace.stream_like(event.stream).unwrap());
            stream.copy(&event).unwrap();
        }
        let report = trace.finish().unwrap();
        assert!(report.losses.is_empty(), "{:?}", report.losses);
        // Other packet content is not part of events.
        let own = |text: String| {
            let without = |line: &str| line.replace("{ cpu_id = 0 }, ", "").replace("{ cpu_id = 1 }, ", "");
            text.lines().map(without).collect::<Vec<_>>()
        };
        assert!(own(text(&path)) == own(text(&source)), "{dialect}");
    }
}

/// An event without a time is not written, and neither is an event that gets no time.
#[cfg(feature = "jsonl")]
#[test]
fn read_events_have_a_time_if_there_is_a_clock() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("lines.jsonl");
    let lines = ["{\"ts\":5,\"name\":\"a\"}\n", "{\"name\":\"b\"}\n", "{\"ts\":6,\"name\":\"a\"}\n"];
    std::fs::write(&source, lines.concat()).unwrap();
    let session = ichnos::open([&source], &OpenOptions::default()).unwrap();
    let path = directory.path().join("t");
    let trace = create(&path, &CreateOptions::default()).unwrap();
    let mut events = session.events().unwrap();
    let mut stream = None;
    let mut refused = Vec::new();
    while let Some(event) = events.next_event() {
        let stream = stream.get_or_insert_with(|| trace.stream_like(event.stream).unwrap());
        if let Err(error) = stream.copy(&event) {
            assert!(matches!(error, WriteError::NoTime), "{error}");
            refused.push(event.name().to_owned());
        }
    }
    assert_eq!((trace.finish().unwrap().events, refused), (2, vec!["b".to_owned()]));
    assert_eq!(text(&path).lines().count(), 2);
}

/// The trace can be opened at any time, with everything that was flushed before.
#[test]
fn a_reader_can_open_it_at_any_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let trace = create(&path, &CreateOptions::default()).unwrap();
    let (flushed, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let wall = clock(&trace);
            let mut n = 0;
            while !is_over.load(Ordering::Relaxed) && n < 3000 {
                let stream = trace.stream("s", Some(&wall)).unwrap();
                for _ in 0..20 {
                    let mut event = stream.declare(&format!("e{n}"), number()).unwrap();
                    event.set("n", n).unwrap().write(n).unwrap();
                    stream.flush().unwrap();
                    n += 1;
                    flushed.store(n, Ordering::Release);
                }
            }
        });
        for _ in 0..50 {
            let before = flushed.load(Ordering::Acquire);
            let (events, _) = read(&path);
            assert!(events.len() as u64 >= before, "{} of {before}", events.len());
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let count = flushed.load(Ordering::Acquire);
    trace.finish().unwrap();
    let (events, damages) = read(&path);
    assert_eq!((events.len() as u64, damages), (count, 0));
}

/// A .NET file contains everything that was flushed, even if its writer never finishes it.
#[cfg(feature = "nettrace")]
#[test]
fn a_dotnet_file_contains_flushed_events() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live.nettrace");
    let trace = create(&path, &CreateOptions::default()).unwrap();
    let wall = clock(&trace);
    let stream = trace.stream("s", Some(&wall)).unwrap();
    let number_of = |class: &str| {
        let mut event = stream.declare(class, number()).unwrap();
        move |n: u64| event.set("n", n).unwrap().write(1_700_000_000_000_000_000 + n).unwrap()
    };
    let (mut first, mut second) = (number_of("my:first"), number_of("my:second"));
    for n in 0..300 {
        if n % 3 == 0 {
            first(n)
        } else {
            second(n)
        }
        if n % 10 == 9 {
            stream.flush().unwrap();
            let (events, _) = read(&path);
            let expected: Vec<_> = (0..=n)
                .map(|n| {
                    let name = if n % 3 == 0 { "my/first" } else { "my/second" };
                    (name.to_owned(), 1_700_000_000_000_000_000 + i128::from(n), n)
                })
                .collect();
            assert_eq!(events, expected);
        }
    }
    drop((first, second));
    std::mem::forget(trace);
    assert_eq!(read(&path).0.len(), 300);
}

#[test]
fn written_indexes_are_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let mut options = CreateOptions::default();
    (options.index, options.packet_size) = (true, Some(500));
    let trace = create(&path, &options).unwrap();
    let wall = clock(&trace);
    let mut event = trace.stream("s", Some(&wall)).unwrap().declare("e", number()).unwrap();
    for n in 0..1000u64 {
        event.set("n", n).unwrap().write(n).unwrap();
    }
    trace.finish().unwrap();
    let file = path.join("index/s.idx");
    let written = std::fs::read(&file).unwrap();
    let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
    assert!(session.traces()[0].diagnostics().is_empty());
    // The index equals one made from the packets.
    let report = ichnos::index::index(&path, &OpenOptions::default()).unwrap();
    assert_eq!((report.written.len(), report.unchanged), (0, 1));
    std::fs::remove_dir_all(path.join("index")).unwrap();
    let report = ichnos::index::index(&path, &OpenOptions::default()).unwrap();
    assert_eq!(report.written, std::slice::from_ref(&file));
    assert_eq!(std::fs::read(&file).unwrap(), written);
    assert!(report.problems.is_empty());
}
