//! Perfetto files with samples on unknown processors. The trace processor in these tests is too old for them, so
//! Perfetto's own messages are used.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ichnos::OpenOptions;
use ichnos_flow::pump;
use ichnos_model::Window;
use ichnos_model::meaning::{EventRole, Meaning};
use ichnos_testing::{TraceProcessor, find_python};
use serde_json::Value as Json;

use crate::firefox::Samples;
use crate::viewers::convert;

/// Perfetto's messages.
const MODULE: &str = "perfetto.protos.perfetto.trace.perfetto_trace_pb2";

/// Returns the samples in a Perfetto file, as lines of JSON.
fn samples_in(path: &Path, python: &Path, directory: &Path) -> String {
    let script = directory.join("samples.py");
    std::fs::write(&script, include_str!("perfetto_samples.py")).unwrap();
    let output = Command::new(python).arg(&script).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Allocations have weights. They are no samples of processors.
#[test]
fn weights_are_not_time_in_perfetto() {
    let test = "weights_are_not_time_in_perfetto";
    let Some(python) = find_python(test, MODULE) else { return };
    let Some(trace) = ichnos_testing::recorded("nettrace/runtime/net10.0-small.nettrace") else { return };
    let directory = tempfile::tempdir().unwrap();
    let session = ichnos::open([trace], &OpenOptions::default()).unwrap();
    let path = convert(&session, "perfetto", directory.path());
    let (mut plain, mut weighted) = (0, 0);
    let mut events = session.events().unwrap();
    while let Some(event) = events.next_event() {
        if event.class.role == EventRole::Sample && event.meaning(Meaning::Stack).is_some() {
            *if event.meaning(Meaning::Weight).is_some() { &mut weighted } else { &mut plain } += 1;
        }
    }
    assert!(plain > 200 && weighted > 20, "{plain}, {weighted}");
    assert_eq!(samples_in(&path, &python, directory.path()).lines().count(), plain);
    let Some(processor) = TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR"))) else { return };
    let query = "select count(*) as count from slice where name like '%GCAllocationTick' and dur = 0";
    let found: Json = serde_json::from_str(processor.query(&path, &[query]).trim()).unwrap();
    assert_eq!(found["count"], weighted);
}

/// Samples have the trace's times, threads and frame counts, and the functions that `stacks` prints.
#[test]
fn perfetto_reads_samples_of_unknown_processors() {
    let test = "perfetto_reads_samples_of_unknown_processors";
    let Some(python) = find_python(test, MODULE) else { return };
    let directory = tempfile::tempdir().unwrap();
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello-dotnet/hello.nettrace.zst");
    let session = ichnos::open([example], &OpenOptions::default()).unwrap();
    let path = convert(&session, "perfetto", directory.path());
    let text = samples_in(&path, &python, directory.path());
    let mut stacks = BTreeMap::<String, u64>::new();
    let mut found: Vec<(i128, u64, usize)> = text
        .lines()
        .map(|line| {
            let row: Json = serde_json::from_str(line).unwrap();
            let functions: Vec<&str> =
                row[3].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            // With a unit such as a count, Perfetto would not take it for a sample of a processor.
            assert_eq!(row[4], false);
            *stacks.entry(functions.join(";")).or_default() += 1;
            (row[0].as_i64().unwrap().into(), row[2].as_u64().unwrap(), functions.len())
        })
        .collect();
    let mut wanted = Samples::default();
    pump(&mut session.cursor(Window::default()).unwrap(), &mut wanted).unwrap();
    found.sort();
    wanted.0.sort();
    assert!(found.len() > 50);
    assert_eq!(found, wanted.0);
    let searches = stacks.iter().filter(|(stack, _)| stack.ends_with("Hello.Mix(int32)"));
    assert!(searches.map(|(_, count)| count).sum::<u64>() > 10, "{stacks:?}");
}
