//! All shards of a dataset together have the rows of a single run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use ichnos::convert::{ConvertError, ConvertOptions};
use ichnos::io::{ExistingOutput, Shard, WriteReport};
use ichnos::prelude::*;
use ichnos_table::{EVENT_KEY, ParquetWriter};
use ichnos_testing::{is_like_another, is_turn};
use serde_json::{Value, json};

use crate::dataset::{read, side};
use crate::examples::{EXAMPLES, example};

/// Maximum size of compared recorded traces, in bytes. `ICHNOS_SHARDED_BYTES` overrides it.
const MOST_BYTES: u64 = 64 << 10;

/// Larger recorded traces to compare: with divided packets, losses, and damage.
const LARGER: [&str; 2] = ["lttng-ust/discard", "ctf2/session-rot"];

fn write(
    input: &Path,
    output: &Path,
    shard: Option<Shard>,
    existing: ExistingOutput,
) -> Result<WriteReport, ConvertError> {
    let mut open = OpenOptions::default();
    open.assume_correlated = true;
    let session = ichnos::open([input], &open).unwrap();
    let mut reader = session.reader().unwrap();
    if let Some(shard) = shard {
        reader.select_shard(shard);
    }
    let mut options = ConvertOptions::default();
    options.write.existing = existing;
    reader.convert(&ParquetWriter, Some(output.to_owned()), &options)
}

/// Returns the rows by exact event name or table name. Each row has its number of occurrences.
fn rows(root: &Path) -> BTreeMap<String, HashMap<String, usize>> {
    let mut tables: BTreeMap<String, HashMap<String, usize>> = BTreeMap::new();
    for file in read(root) {
        let directory = file.path.split('/').next().unwrap().to_owned();
        if directory == "_classes" {
            // This table has a row per file.
            continue;
        }
        let name = if file.is_event() { format!("{directory} {}", file.key(EVENT_KEY)) } else { directory };
        let table = tables.entry(name).or_default();
        for row in file.rows() {
            *table.entry(json!(row).to_string()).or_default() += 1;
        }
    }
    tables.retain(|_, rows| !rows.is_empty());
    tables
}

/// Compares N shards with one run, for several N. Returns the number of shards with events.
fn compare(input: &Path, counts: &[u32]) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let one = directory.path().join("one");
    let whole = write(input, &one, None, ExistingOutput::Refuse).unwrap();
    let expected = rows(&one);
    let mut used = 0;
    for count in counts {
        let output = directory.path().join(format!("of-{count}"));
        let mut events = 0;
        for index in 1..=*count {
            let shard = Shard::new(index, *count);
            let report = write(input, &output, shard, ExistingOutput::Refuse).unwrap();
            events += report.events;
            used += usize::from(report.events > 0);
        }
        assert_eq!(events, whole.events, "{}: {count}", input.display());
        let found = rows(&output);
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "{}: {count}",
            input.display()
        );
        for (table, expected) in &expected {
            let found = &found[table];
            let more = found.iter().find(|(row, count)| expected.get(*row) != Some(count));
            let less = expected.iter().find(|(row, count)| found.get(*row) != Some(count));
            assert_eq!((more, less), (None, None), "{}: {count}: {table}", input.display());
        }
        let files = read(&output);
        let listed: BTreeSet<String> =
            side(&files, "_classes/").iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect();
        let paths = files.iter().filter(|file| file.is_event()).map(|file| file.path.clone());
        assert_eq!(listed, paths.collect(), "{}: {count}", input.display());
    }
    used
}

#[test]
fn examples_are_the_same_in_shards() {
    for name in EXAMPLES {
        compare(&example(name), &[1, 2, 3]);
    }
    // Packets in the same data streams, and traces in four formats.
    assert!(compare(&example("hello-lttng/trace"), &[7]) > 2);
    assert!(compare(&example("one-request/trace"), &[4]) > 1);
}

#[test]
fn recorded_traces_are_the_same_in_shards() {
    let Some(root) = ichnos_testing::recorded("") else { return };
    let ctf = |name: &str| root.join("ctf/real").join(name);
    let mut traces: Vec<PathBuf> = vec![
        root.join("fuchsia/magic-trace/trace.fxt"),
        root.join("xtrace/brown/text/small.txt"),
        root.join("xtrace/brown/small.json"),
        root.join("nettrace/runtime/net10.0-nostacks.nettrace"),
        root.join("nettrace/runtime/perl-cpu-v6.nettrace"),
        root.join("nettrace/perfview/eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf"),
    ];
    let list = std::fs::read_to_string(root.join("ctf/real.json")).unwrap();
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    let most = std::env::var("ICHNOS_SHARDED_BYTES").map_or(MOST_BYTES, |bytes| bytes.parse().unwrap());
    let is_small = |trace: &&Value| trace["bytes"].as_u64().is_some_and(|bytes| bytes <= most);
    let names = list.iter().filter(is_small).map(|trace| trace["trace"].as_str().unwrap()).enumerate();
    // Of the traces with a single construct, every second is written.
    let is_in_turn = |number, name: &str| !name.starts_with("barectf/") || is_turn(number, 0, 2);
    let in_turn = names.filter(|(number, name)| !is_like_another(name) && is_in_turn(*number, name));
    traces.extend(in_turn.map(|(_, name)| ctf(name)));
    traces.extend(LARGER.map(ctf));
    let (mut compared, mut divided) = (0, 0);
    for trace in traces {
        let opened = ichnos::open([&trace], &OpenOptions::default());
        if opened.is_ok_and(|session| !session.traces().is_empty()) {
            compared += 1;
            divided += usize::from(compare(&trace, &[3]) > 1);
        }
    }
    eprintln!("{compared} traces, {divided} of them in several shards");
    assert!(compared > 60 && divided > 10, "{compared} {divided}");
}

#[test]
fn a_shard_replaces_only_its_own_files() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (example("hello-lttng/trace"), directory.path().join("dataset"));
    for index in 1..=2 {
        write(&input, &output, Shard::new(index, 2), ExistingOutput::Refuse).unwrap();
    }
    let expected = rows(&output);
    let error = write(&input, &output, Shard::new(2, 2), ExistingOutput::Refuse).unwrap_err().to_string();
    assert!(error.contains("`_classes/part-0-2-of-2.parquet`"), "{error}");
    write(&input, &output, Shard::new(2, 2), ExistingOutput::Replace).unwrap();
    assert_eq!(rows(&output), expected);
    // Its file in `_classes` comes last. Without it, the shard is incomplete.
    std::fs::remove_file(output.join("_classes/part-0-1-of-2.parquet")).unwrap();
    write(&input, &output, Shard::new(1, 2), ExistingOutput::Refuse).unwrap();
    assert_eq!(rows(&output), expected);
    // The rows would be duplicated.
    for (shard, problem) in [(Shard::new(1, 3), "another number of shards"), (None, "not empty")] {
        let existing = if shard.is_some() { ExistingOutput::Replace } else { ExistingOutput::Refuse };
        let error = write(&input, &output, shard, existing).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    assert_eq!(rows(&output), expected);
    // A run without shards replaces all of them, but not the other way round.
    write(&input, &output, None, ExistingOutput::Replace).unwrap();
    let error = write(&input, &output, Shard::new(1, 2), ExistingOutput::Replace).unwrap_err().to_string();
    assert!(error.contains("not written in shards"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_shard_without_events_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("dataset");
    let input = example("hello-fuchsia/boot.log");
    let reports: Vec<WriteReport> = (1..=3)
        .map(|index| write(&input, &output, Shard::new(index, 3), ExistingOutput::Refuse).unwrap())
        .collect();
    assert_eq!(reports.iter().filter(|report| report.events > 0).count(), 1);
    for index in 1..=3 {
        assert!(output.join(format!("_classes/part-0-{index}-of-3.parquet")).exists());
    }
}

#[test]
fn a_shard_leaves_foreign_files() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("dataset");
    std::fs::create_dir(&output).unwrap();
    std::fs::write(output.join("notes"), "mine").unwrap();
    let input = example("hello-fuchsia/boot.log");
    let error = write(&input, &output, Shard::new(1, 2), ExistingOutput::Replace).unwrap_err().to_string();
    assert!(error.contains("`notes`"), "{error}");
    // Another program's file, with a file name of the shard.
    std::fs::remove_file(output.join("notes")).unwrap();
    std::fs::create_dir(output.join("_streams")).unwrap();
    std::fs::write(output.join("_streams/part-0-1-of-2.parquet"), "mine").unwrap();
    let error = write(&input, &output, Shard::new(1, 2), ExistingOutput::Replace).unwrap_err().to_string();
    assert!(error.contains("`_streams/part-0-1-of-2.parquet`"), "{error}");
    assert_eq!(std::fs::read(output.join("_streams/part-0-1-of-2.parquet")).unwrap(), b"mine");
}

#[test]
fn traces_are_not_written_in_shards() {
    let directory = tempfile::tempdir().unwrap();
    let session = ichnos::open([example("hello-lttng/trace")], &OpenOptions::default()).unwrap();
    let mut reader = session.reader().unwrap();
    reader.select_shard(Shard::new(1, 2).unwrap());
    let writer = ichnos::convert::target(Some("jsonl"), Path::new(""), None).unwrap().writer;
    let path = directory.path().join("lines");
    let error = reader.convert(writer, Some(path.clone()), &ConvertOptions::default()).unwrap_err();
    assert!(error.to_string().contains("shards"), "{error}");
    assert!(!path.exists());
}
