//! Rewritten files have the same events for our reader and for the reference reader.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ichnos_analysis::{FieldValues, StackCollector, StackFormat, StackOptions, StackRoots, StackWeight};
use ichnos_flow::{Merge, pump};
use ichnos_io::{Bytes, Lane, Worker, WriteOptions, WriteSource, WriteTarget, WriterFactory as _};
use ichnos_model::message::Discarded;
use ichnos_model::{Event, Message, OpenedTrace as _, Scope, Window};
use ichnos_nettrace::{NettraceOptions, NettraceWriter};

use crate::support::{Opened, Shown, bytes_of, fields, find};
use crate::trace_event::{dump, unpacked};
use crate::workload::runtimes;

/// Recorded files, except one with 6 million events.
const FILES: &[&str] = &[
    "net10.0-custom-only-norundown.nettrace",
    "net10.0-nostacks.nettrace",
    "net10.0-small.nettrace",
    "net10.0-small-streaming.nettrace",
    "net10.0-ipc-collect4-nostack.nettrace",
    "net3.1.2-small.nettrace",
    "net3.1.23-custom-only.nettrace",
    "perl-cpu-v6.nettrace",
    "eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf",
    "eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace",
    "eventpipe-dotnetcore6.0-win-x64-executioncheckpoints.nettrace",
    "dotnet-5.0-SampleProfiler-single-thread.golden.nettrace",
    "mixed_managed_external_samples.nettrace",
    "net10.0-drops.nettrace",
    "net10.0-ipc-netperfV3.netperf",
    "eventpipe-dotnetcore2.1-linux-x64-objver3.netperf",
    "eventpipe-dotnetcore3.0-win-x64-objver4.nettrace",
];

/// Options for a dialect that encode all events anew, as a filter would.
pub fn encoding(dialect: Option<&str>) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.dialect = dialect.map(str::to_owned);
    options.leaves_out = true;
    options
}

/// Writes files again as one file. Returns the bytes.
pub fn rewrite(opened: &[&Opened], dialect: Option<&str>) -> Vec<u8> {
    write_to_file(opened, &encoding(dialect))
}

/// Writes files again as one file. Returns the bytes. The events must be in the promised order.
pub fn write_to_file(opened: &[&Opened], options: &WriteOptions) -> Vec<u8> {
    try_write_to_file(opened, options).unwrap()
}

/// Writes a file again. Its events are sorted exactly if they break their promised order.
pub fn rewrite_unsorted(opened: &Opened) -> Vec<u8> {
    let mut options = encoding(None);
    try_write_to_file(&[opened], &options).unwrap_or_else(|error| {
        assert!(error.contains("not sorted by time"), "{error}");
        options.sorts = true;
        write_to_file(&[opened], &options)
    })
}

fn try_write_to_file(opened: &[&Opened], options: &WriteOptions) -> Result<Vec<u8>, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.nettrace");
    write(opened, WriteTarget::Complete(path.clone()), options, |_| false)?;
    Ok(std::fs::read(path).unwrap())
}

/// Flush: number of bytes and of events before it.
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    pub bytes: usize,
    pub events: usize,
}

/// Writes files again as one file. Flushes after the events whose numbers `flushes` selects. Returns the flushes.
pub fn write(
    opened: &[&Opened],
    target: WriteTarget,
    options: &WriteOptions,
    mut flushes: impl FnMut(usize) -> bool,
) -> Result<Vec<Flush>, String> {
    let sources = opened.iter().map(|opened| WriteSource {
        trace: Arc::clone(opened.file.trace()),
        format: "nettrace",
        has_dynamic_classes: true,
        streams: opened.file.data_streams(),
    });
    let text = |error: &dyn std::error::Error| error.to_string();
    let output = NettraceWriter.create(target, sources.collect(), options).map_err(|error| text(&error))?;
    let mut worker = output.worker(Lane::All);
    let cursors = opened.iter().flat_map(|opened| opened.file.cursors(Window::default())).collect();
    let (mut places, mut bytes, mut events) = (Vec::new(), 0, 0);
    let mut join = |worker: &mut dyn Worker| -> std::io::Result<usize> {
        while let Some(block) = worker.take() {
            bytes += block.bytes.len();
            output.join(block)?;
        }
        Ok(bytes)
    };
    let mut result = Ok(0);
    Merge::new(cursors).drain_all(&mut |message| {
        result = worker.message(message).and_then(|_| join(&mut *worker));
        if matches!(message, Message::Event(_)) {
            events += 1;
            if result.is_ok() && flushes(events) {
                result = worker.flush().and_then(|()| join(&mut *worker));
                places.extend(result.as_ref().ok().map(|bytes| Flush { bytes: *bytes, events }));
            }
        }
        if result.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    result.and_then(|_| worker.finish()).and_then(|()| join(&mut *worker)).map_err(|error| text(&error))?;
    drop(worker);
    output.finish().map_err(|error| text(&error))?;
    Ok(places)
}

/// Formats an event with everything. The stack is a list of addresses.
fn shown(opened: &Opened, event: &Event<'_>) -> String {
    let mut context = fields(event, Scope::CommonContext);
    for (name, value) in &mut context {
        if name == "stack"
            && let Shown::Integer(number) = value
        {
            let frames = opened.file.trace().stacks.frames(number.value as u32);
            let frames: Vec<_> = frames.iter().map(|frame| format!("{:x?}", frame.address)).collect();
            *value = Shown::Text(frames.join(" "));
        }
    }
    let payload = fields(event, Scope::Payload);
    let rest = event.scopes.bits.bytes();
    let clock = event.clock.unwrap();
    let class = event.class;
    format!(
        "{} {} {} {context:?} {:?} {payload:?} {rest:x?} {:?} {:?} {:?}",
        event.name(),
        clock.cycles,
        clock.nanoseconds,
        fields(event, Scope::Resource),
        class.attributes,
        class.role,
        class.is_undescribed,
    )
}

/// Number of lost events by thread, or `None` if it is unknown. Rewriting joins losses of a thread without an event
/// between them. An unknown number is not written next to a known number.
pub type Lost = BTreeMap<Option<u64>, Option<u64>>;

/// Adds a loss to its thread's losses.
pub fn add_loss(lost: &mut Lost, loss: &Discarded<'_>) {
    let sum = lost.entry(loss.thread).or_default();
    *sum = sum.map_or(loss.count, |sum| Some(sum + loss.count.unwrap_or(0)));
}

/// Returns all events of a file, and the lost events. Version 3 events are read in file order, and sorted here.
pub fn events(opened: &Opened) -> (Vec<String>, Lost) {
    let (mut events, mut lost) = (Vec::new(), Lost::new());
    opened.each(|message| match message {
        Message::Event(event) => events.push((event.clock.unwrap().cycles, shown(opened, event))),
        Message::DiscardedEvents(discarded) => add_loss(&mut lost, discarded),
        _ => {}
    });
    if opened.is_v3 {
        events.sort_by_key(|(time, _)| *time);
    }
    (events.into_iter().map(|(_, event)| event).collect(), lost)
}

pub fn opened(name: &str, bytes: Vec<u8>) -> Opened {
    Opened::of_bytes(name, Bytes::from(bytes), &NettraceOptions::default())
}

pub fn check(name: &str, source: &Opened, written: &Opened) {
    let (expected, found) = (events(source), events(written));
    assert_eq!(expected.0.len(), found.0.len(), "{name}");
    assert_eq!(expected.1, found.1, "{name}: lost events");
    for (index, (expected, found)) in expected.0.iter().zip(&found.0).enumerate() {
        assert_eq!(expected, found, "{name}: event {index}");
    }
    assert_eq!(written.file.damage().len(), 0, "{name}: {:?}", written.file.damage());
}

#[test]
fn files_written_again_have_the_same_events() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    for name in FILES {
        let path = find(&traces, name);
        let source = Opened::new(&path);
        let bytes = rewrite(&[&source], None);
        println!("{name}: {} -> {} bytes", bytes_of(&path).len(), bytes.len());
        let written = opened(&path.to_string_lossy(), bytes.clone());
        check(name, &source, &written);
        // Written once more, the file is the same. Version 3 events are unsorted and unmarked.
        if !name.ends_with(".netperf") {
            assert!(rewrite(&[&written], None) == bytes, "{name}: written once more, it differs");
        }
    }
}

/// The reference reader reads the same in both files: each event with its time, thread, processor, level, keywords,
/// activities, stack and fields, and the number of lost events.
#[test]
fn files_written_again_as_the_reference_reads_them() {
    let test = "files_written_again_as_the_reference_reads_them";
    let (Some(traces), Some((tools, runtimes))) = (ichnos_testing::recorded("nettrace"), runtimes(test))
    else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = unpacked(&traces, name, directory.path());
        let bytes = rewrite(&[&Opened::new(&path)], None);
        let written = directory.path().join("written.nettrace");
        std::fs::write(&written, bytes).unwrap();
        // Events with equal times have no order. In version 3, the reference reads uninitialized memory as related
        // activities, which are all zeros in the file.
        let sorted = |path| {
            let events = dump(&tools, &runtimes, path);
            let mut lines: Vec<String> = events
                .iter()
                .map(|event| {
                    let members = event.as_object().unwrap().iter();
                    let is_compared = |member: &str| member != "rel" || !name.ends_with(".netperf");
                    let members: BTreeMap<_, _> = members.filter(|(member, _)| is_compared(member)).collect();
                    serde_json::to_string(&members).unwrap()
                })
                .collect();
            lines.sort();
            lines
        };
        let (expected, found) = (sorted(&path), sorted(&written));
        let differing: Vec<_> = expected.iter().zip(&found).filter(|(a, b)| a != b).take(3).collect();
        assert!(differing.is_empty() && expected.len() == found.len(), "{name}: {differing:#?}");
        // Stacks with function names, as TraceLog writes them for speedscope.
        let profile = |path: &Path| {
            let output = path.with_extension("stacks");
            let mut command = Command::new("bash");
            command.arg(tools.join("traceevent/dump.sh")).arg("--stacks").args([&*runtimes, path, &*output]);
            let result = command.output().unwrap();
            assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
            let text = std::fs::read(output.with_extension("stacks.speedscope.json")).unwrap();
            let mut profile: serde_json::Value = serde_json::from_slice(&text).unwrap();
            profile.as_object_mut().unwrap().remove("name");
            profile
        };
        let (expected_profile, found_profile) = (profile(&path), profile(&written));
        assert!(expected_profile == found_profile, "{name}: profiles differ");
        let frames = found_profile["shared"]["frames"].as_array().map_or(0, Vec::len);
        println!("{name}: {} events and {frames} functions are the same", found.len());
    }
}

/// A file in the other version has the same events, except for parts that version 4 lacks.
#[test]
fn files_written_in_the_other_version() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    for name in FILES {
        let path = find(&traces, name);
        // Larger files have the same events as smaller files, and take long.
        if std::fs::metadata(&path).unwrap().len() > 2 << 20 {
            continue;
        }
        let source = Opened::new(&path);
        let name = &format!("{name}.written");
        let is_v6 = name.starts_with("perl");
        let other = opened(name, rewrite(&[&source], Some(if is_v6 { "4" } else { "6" })));
        if is_v6 {
            // Fields with types that version 4 lacks are described anew, and functions are named at the end.
            let is_name = |event: &&String| event.starts_with("Microsoft-Windows-DotNETRuntimeRundown/");
            let (expected, found) = (events(&source).0, events(&other).0);
            let names = found.iter().filter(is_name).count();
            assert!(names > 0 && expected.len() == found.len() - names, "{name}: {names}");
            continue;
        }
        let back = opened(name, rewrite(&[&other], Some("4")));
        let (expected, found) = (events(&source), events(&back));
        assert_eq!(expected.0.len(), found.0.len(), "{name}");
        assert_eq!(expected.1, found.1, "{name}: lost events");
        for (index, (expected, found)) in expected.0.iter().zip(&found.0).enumerate() {
            assert_eq!(expected, found, "{name}: event {index}");
        }
    }
}

/// Returns the folded stacks of samples, weighted by the time since the thread's previous sample. Optionally only
/// samples in managed code.
fn folded(opened: &Opened, managed_only: bool) -> String {
    let mut options = StackOptions::default();
    options.weight = StackWeight::TimeBefore;
    if managed_only {
        options.only = vec![FieldValues { path: "Type".to_owned(), values: vec!["Managed".to_owned()] }];
    }
    let mut collector = StackCollector::new(options);
    pump(&mut Merge::new(opened.file.cursors(Window::default())), &mut collector).unwrap();
    let mut text = Vec::new();
    collector.finish().write(StackFormat::Folded, StackRoots::None, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Another reader's stacks for a recorded file, with their times, equal the stacks of the rewritten file, in both
/// versions and after conversion to the other version and back.
#[test]
fn stacks_of_a_file_written_again_are_those_of_another_reader() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    let name = "dotnet-5.0-SampleProfiler-single-thread";
    let source = Opened::new(&find(&traces, &format!("{name}.golden.nettrace")));
    let v6 = opened(name, rewrite(&[&source], Some("6")));
    let files = [
        ("4", opened(name, rewrite(&[&source], Some("4")))),
        ("6, then 4", opened(name, rewrite(&[&v6], Some("4")))),
        ("6", v6),
        ("source", source),
    ];
    for (ending, managed_only) in [("", false), ("-managed-only", true)] {
        let expected = traces.join(format!("dotnetdiag/{name}{ending}.txt"));
        let expected = std::fs::read_to_string(expected).unwrap();
        for (version, file) in &files {
            assert!(folded(file, managed_only) == expected, "{version}{ending}");
        }
        println!("{} stacks{ending} are the same", expected.lines().count());
    }
}

/// If the writer was killed after a flush, the reference reader reads all events before the flush.
#[test]
fn files_of_killed_writers_as_the_reference_reads_them() {
    let test = "files_of_killed_writers_as_the_reference_reads_them";
    let (Some(traces), Some((tools, runtimes))) = (ichnos_testing::recorded("nettrace"), runtimes(test))
    else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed.nettrace");
    let lines = |path: &Path| -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for event in dump(&tools, &runtimes, path) {
            *counts.entry(event.to_string()).or_default() += 1;
        }
        counts
    };
    for (name, dialect, each) in [
        ("net10.0-custom-only-norundown.nettrace", "4", 97),
        ("net10.0-custom-only-norundown.nettrace", "6", 97),
        ("perl-cpu-v6.nettrace", "6", 2_500),
    ] {
        let source = Opened::new(&find(&traces, name));
        let target = WriteTarget::Live(path.clone());
        let places =
            write(&[&source], target, &encoding(Some(dialect)), |number| number % each == 0).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let expected = lines(&path);
        for place in places.iter().step_by(1 + places.len() / 4) {
            std::fs::write(&path, &bytes[..place.bytes]).unwrap();
            let found = lines(&path);
            assert_eq!(found.values().sum::<usize>(), place.events, "{name}, version {dialect}");
            let is_expected =
                |(line, count): (&String, &usize)| expected.get(line).is_some_and(|most| count <= most);
            assert!(found.iter().all(is_expected), "{name}, version {dialect}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
