//! Files written again: the same events, as the reader and as the reference reader read them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ichnos_flow::Merge;
use ichnos_io::{Bytes, Lane, TraceWriter as _, WriteOptions, WriteSource, WriteTarget};
use ichnos_model::{Event, Message, Scope, TraceInput as _, Window};
use ichnos_nettrace::{NettraceWriter, OpenOptions};

use crate::support::{Opened, Shown, bytes_of, fields, find, traces};
use crate::trace_event::{dump, unpacked};
use crate::workload::runtimes;

/// Recorded files, but for one of 6 million events.
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

/// Writes files again, as one file; returns its bytes.
pub fn rewrite(opened: &[&Opened], dialect: Option<&str>) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.nettrace");
    let sources = opened.iter().map(|opened| WriteSource {
        trace: Arc::clone(opened.file.trace()),
        format: "nettrace",
        has_dynamic_classes: true,
        streams: opened.file.data_streams(),
    });
    let mut options = WriteOptions::default();
    options.dialect = dialect.map(str::to_owned);
    let target = WriteTarget::Complete(path.clone());
    let output = NettraceWriter.create(target, sources.collect(), &options).unwrap();
    let mut worker = output.worker(Lane::All);
    let cursors = opened.iter().flat_map(|opened| opened.file.cursors(Window::default())).collect();
    Merge::new(cursors).drain_all(&mut |message| {
        worker.message(message).unwrap();
        while let Some(block) = worker.take() {
            output.join(block).unwrap();
        }
        std::ops::ControlFlow::Continue(())
    });
    worker.finish().unwrap();
    while let Some(block) = worker.take() {
        output.join(block).unwrap();
    }
    drop(worker);
    output.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// Everything of an event, as text: the stack is its addresses.
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

/// Lost events: their thread, and their number.
type Lost = (Option<u64>, Option<u64>);

/// All events of a file, and the lost ones.
fn events(opened: &Opened) -> (Vec<String>, Vec<Lost>) {
    let (mut events, mut lost) = (Vec::new(), Vec::new());
    opened.each(|message| match message {
        Message::Event(event) => events.push(shown(opened, event)),
        Message::DiscardedEvents(discarded) => lost.push((discarded.thread, discarded.count)),
        _ => {}
    });
    lost.sort_unstable();
    (events, lost)
}

fn opened(name: &str, bytes: Vec<u8>) -> Opened {
    Opened::of_bytes(name, Bytes::from(bytes), &OpenOptions::default())
}

fn check(name: &str, source: &Opened, written: &Opened) {
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
    let Some(traces) = traces("files_written_again_have_the_same_events") else { return };
    for name in FILES {
        let path = find(&traces, name);
        let source = Opened::new(&path);
        let bytes = rewrite(&[&source], None);
        let size = bytes.len();
        let written = opened(&path.to_string_lossy(), bytes);
        println!("{name}: {} -> {size} bytes", bytes_of(&path).len());
        check(name, &source, &written);
        // Written once more, it is the same file. Events of version 3 are not in order of time, and not marked.
        if !name.ends_with(".netperf") {
            assert_eq!(rewrite(&[&written], None).len(), size, "{name}");
        }
    }
}

/// The reference reader reads the same of both: every event with its time, thread, processor, level, keywords,
/// activities, stack and fields, and the number of lost events.
#[test]
fn files_written_again_as_the_reference_reads_them() {
    let test = "files_written_again_as_the_reference_reads_them";
    let (Some(traces), Some((tools, runtimes))) = (traces(test), runtimes(test)) else { return };
    let directory = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = unpacked(&traces, name, directory.path());
        let bytes = rewrite(&[&Opened::new(&path)], None);
        let written = directory.path().join("written.nettrace");
        std::fs::write(&written, bytes).unwrap();
        // Events at the same time come in any order. Of version 3, the reference takes what is in memory for related
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
        // Stacks with the names of functions, as TraceLog makes them for speedscope.
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

/// What is written in the other version has the same events, but for what version 4 lacks.
#[test]
fn files_written_in_the_other_version() {
    let Some(traces) = traces("files_written_in_the_other_version") else { return };
    for name in FILES {
        let path = find(&traces, name);
        // Larger ones have the same events as smaller ones, and take long.
        if std::fs::metadata(&path).unwrap().len() > 2 << 20 {
            continue;
        }
        let source = Opened::new(&path);
        let name = &format!("{name}.written");
        let is_v6 = name.starts_with("perl");
        let other = opened(name, rewrite(&[&source], Some(if is_v6 { "4" } else { "6" })));
        if is_v6 {
            // Fields of types that version 4 lacks are described anew, and functions are named at the end.
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
