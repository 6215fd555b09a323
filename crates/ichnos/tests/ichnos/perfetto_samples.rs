//! Perfetto files with samples on unknown processors. The trace processor in these tests is too old for them, so
//! Perfetto's own messages are used.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ichnos::OpenOptions;
use ichnos_flow::pump;
use ichnos_model::Window;
use ichnos_testing::find_python;
use serde_json::Value as Json;

use crate::firefox::Samples;
use crate::viewers::convert;

/// Samples have the trace's times, threads and frame counts, and the functions that `stacks` prints.
#[test]
fn perfetto_reads_samples_of_unknown_processors() {
    let test = "perfetto_reads_samples_of_unknown_processors";
    let module = "perfetto.protos.perfetto.trace.perfetto_trace_pb2";
    let Some(python) = find_python(test, module) else { return };
    let directory = tempfile::tempdir().unwrap();
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello-dotnet/hello.nettrace.zst");
    let session = ichnos::open([example], &OpenOptions::default()).unwrap();
    let path = convert(&session, "perfetto", directory.path());
    let script = directory.path().join("samples.py");
    std::fs::write(&script, include_str!("perfetto_samples.py")).unwrap();
    let output = Command::new(python).arg(&script).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut stacks = BTreeMap::<String, u64>::new();
    let mut found: Vec<(i128, u64, usize)> = text
        .lines()
        .map(|line| {
            let row: Json = serde_json::from_str(line).unwrap();
            let functions: Vec<&str> =
                row[3].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            assert_eq!((&row[4], &row[5], &row[6]), (&"samples".into(), &"UNIT_COUNT".into(), &1.into()));
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
