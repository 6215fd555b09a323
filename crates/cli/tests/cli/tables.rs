//! Event tables: `cat --format csv` and `--format tsv`.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_testing::{is_like_another, is_turn};

use crate::support::{Run, ichnos, recorded, root, trace};
use crate::transcript::transcript;

fn cat(path: &OsStr, more: &[&str]) -> Run {
    ichnos([OsStr::new("cat"), path].into_iter().chain(more.iter().map(OsStr::new)))
}

#[test]
fn columns() {
    let _transcript = transcript!();
    let directory = trace("columns");
    let path = directory.as_os_str();
    cat(path, &["--format", "csv"]);
    cat(path, &["--format", "tsv", "--event", "demo:tock", "--time", "both"]);
    cat(path, &["--format", "csv", "--fields", "time,text,value", "--time", "iso", "--max-events", "2"]);
    cat(path, &["--format", "csv", "--fields", "time,small", "--event", "demo:tick"]);
    cat(path, &["--format", "csv", "--fields", "time,vlaue,nothing"]);
    cat(path, &["--fields", "trace:hostnme"]);
    cat(path, &["--fields", "value"]);
    cat(path, &["--format", "csv", "--event", "nothing"]);
}

/// Classes discovered while reading also have columns.
#[test]
fn columns_of_logs() {
    let path = root().join("examples/hello-fuchsia");
    let run = cat(path.as_os_str(), &["--format", "csv", "--fields", "time,celsius"]).expect(0, &[]);
    assert!(run.out.starts_with("time,celsius\n") && run.out.contains(",95.25\n"), "{}", run.out);
    let run = cat(path.as_os_str(), &["--format", "csv"]).expect(0, &[]);
    let first = run.out.lines().next().unwrap();
    assert!(first.starts_with("time,event,host,stream,") && first.contains(",celsius,"), "{first}");
    cat(path.as_os_str(), &["--format", "csv", "--fields", "celsus"]).expect(2, &["did you mean `celsius`?"]);
}

/// The output is the same for any number of threads.
#[test]
fn threads_do_not_show() {
    let path = root().join("examples/hello-lttng");
    let all = cat(path.as_os_str(), &["--format", "csv", "--threads", "1"]).expect(0, &[]).out;
    for chunk in ["--chunk-size=1", "--chunk-size=3000"] {
        let run = cat(path.as_os_str(), &["--format", "csv", "--threads", "3", chunk]).expect(0, &[]);
        assert_eq!(run.out, all);
    }
}

/// Reads pairs of a table and JSON lines with the same events, and compares all values. Prints the number of events and
/// cells in each pair.
const COMPARE: &str = r#"
import csv, json, sys

def object_of(pairs):
    """An object whose members of the same name, and those without one, are numbered."""
    counts, members = {}, {}
    for name, value in pairs:
        counts[name] = number = counts.get(name, 0) + 1
        members[f"{name}#{number}" if number > 1 or name == "" else name] = value
    return members

def loads(text):
    return json.loads(text, object_pairs_hook=object_of)

def members(value, path):
    """What a path leads to in an object: names may have points."""
    if path == "":
        return [value]
    # Integers with names and bit maps have no members.
    if isinstance(value, dict) and set(value) not in ({"value", "labels"}, {"bits"}, {"bits", "flags"}):
        for name, member in value.items():
            if path == name:
                return [member]
            if path.startswith(name + "."):
                found = members(member, path[len(name) + 1:])
                if found:
                    return found
    return []

def find(event, column):
    scope, _, rest = column.partition(".")
    scopes = {"ctx": ["specific_context", "common_context"], "header": ["header"], "payload": ["payload"]}
    if scope not in scopes or (scope != "ctx" and members(event.get("payload"), column)):
        scopes, rest = {scope: ["payload"]}, column
    for name in scopes[scope]:
        found = members(event.get(name, {}), rest)
        if found:
            return found[0]
        for suffix, key in [(".labels", "labels"), (".flags", "flags")]:
            if rest.endswith(suffix):
                found = members(event.get(name, {}), rest[:-len(suffix)])
                if found and isinstance(found[0], dict):
                    return "|".join(found[0].get(key, []))
    return None

def matches(cell, value):
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return cell == ("true" if value else "false")
    if isinstance(value, int):
        return cell == str(value)
    if isinstance(value, float):
        return float(cell) == value
    if isinstance(value, str):
        return cell == value
    if isinstance(value, dict):
        keys = set(value)
        if keys in ({"value", "labels"}, {"bits"}, {"bits", "flags"}):
            return matches(cell, value.get("value", value.get("bits")))
        if keys == {"$int"}:
            return cell == value["$int"]
        if keys == {"$float"}:
            return cell == value["$float"]
        if "$blob" in keys:
            return cell == value["$blob"]
    return loads(cell) == value

csv.field_size_limit(1 << 30)

def compare(table_path, lines_path):
    table = csv.DictReader(open(table_path, newline="", encoding="utf-8"))
    streams, packets, events, cells = {}, {}, 0, 0
    for line in open(lines_path, encoding="utf-8", newline="\n"):
        line = loads(line)
        if line["type"] == "stream-begin":
            streams[line["stream"]] = line
        if line["type"] == "packet-begin":
            packets[line["stream"]] = line.get("context", {})
        if line["type"] != "event":
            continue
        row = next(table)
        assert None not in row and None not in row.values(), (table_path, "cells", row)
        stream = streams[line["stream"]]
        host = stream["trace"].get("environment", {}).get("hostname", "")
        known = {"time": line.get("ts"), "event": line.get("name"), "host": host, "stream": stream["name"]}
        for column, cell in row.items():
            if column.startswith("packet."):
                line["payload.packet"] = packets.get(line["stream"], {})
                found = find({"payload": line["payload.packet"]}, column[len("packet."):])
            else:
                found = known[column] if column in known else find(line, column)
            assert matches(cell, found), (table_path, events, column, cell, found)
            cells += cell != ""
        events += 1
    assert next(table, None) is None, (table_path, "more lines than events")
    print(events, cells)

for pair in zip(sys.argv[1::2], sys.argv[2::2]):
    compare(*pair)
"#;

/// Writes a trace's first `limit` events as a table and as JSON lines. Returns both paths. `None` if the table would
/// have too many columns, or if the trace is unreadable.
fn write_both(trace: &Path, limit: &str, to: &Path) -> Option<[PathBuf; 2]> {
    let trace = trace.to_str().unwrap();
    let table = ichnos(["cat", "-q", "--format", "csv", "--max-events", limit, trace]);
    if table.code == 2 {
        return None;
    }
    let lines = ichnos(["cat", "-q", "--format", "jsonl", "--packets", "--max-events", limit, trace]);
    let paths = ["csv", "jsonl"].map(|extension| to.with_extension(extension));
    for (path, text) in paths.iter().zip([table.out, lines.out]) {
        std::fs::write(path, text).unwrap();
    }
    Some(paths)
}

/// Compares tables that Python reads with JSON lines, for the first `limit` events in each trace. Returns the number of
/// events and cells in traces with tables. Python starts once.
fn compare(python: &Path, traces: impl IntoIterator<Item = PathBuf>, limit: &str) -> Vec<(u64, u64)> {
    let directory = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    let mut listed = String::new();
    for (number, trace) in traces.into_iter().enumerate() {
        if let Some(paths) = write_both(&trace, limit, &directory.path().join(number.to_string())) {
            listed += &format!("{number}: {}\n", trace.display());
            files.extend(paths);
        }
    }
    let mut child = Command::new(python)
        .arg("-")
        .args(&files)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(COMPARE.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{listed}{text}{}", String::from_utf8_lossy(&output.stderr));
    let numbers = text.lines().map(|line| {
        let (events, cells) = line.split_once(' ').unwrap();
        (events.parse().unwrap(), cells.parse().unwrap())
    });
    let numbers: Vec<(u64, u64)> = numbers.collect();
    assert_eq!(2 * numbers.len(), files.len(), "{listed}{text}");
    numbers
}

fn python() -> Option<&'static Path> {
    let python = Path::new("python3");
    let is_there = Command::new(python).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("skipped: python3 is not installed");
    }
    is_there.then_some(python)
}

#[test]
fn python_reads_the_same_values_as_json() {
    let Some(python) = python() else { return };
    let examples = [
        "hello-lttng",
        "hello-ctf2",
        "hello-fuchsia",
        "hello-dotnet/hello.nettrace.zst",
        "one-request/trace/stock",
    ];
    let compared = compare(python, examples.map(|example| root().join("examples").join(example)), "3000");
    assert_eq!(compared.len(), examples.len());
    for (example, (events, cells)) in examples.into_iter().zip(compared) {
        assert!(events > 0 && cells > events, "{example}");
    }
}

#[test]
fn python_reads_the_same_recorded_values_as_json() {
    let (Some(python), Some(recorded)) = (python(), recorded("ctf")) else { return };
    let list = std::fs::read_to_string(recorded.join("real.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let names = list.iter().map(|entry| entry["trace"].as_str().unwrap());
    let different_names = names.filter(|name| !is_like_another(name)).enumerate();
    // Of the traces with a single construct, every third is read.
    let in_turn = different_names.filter(|(n, name)| !name.starts_with("barectf/") || is_turn(*n, 0, 3));
    let traces = in_turn.map(|(_, name)| recorded.join("real").join(name));
    let compared = compare(python, traces, "1000");
    let (events, cells) = compared.iter().fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
    eprintln!("compared {cells} cells of {events} events of {} traces", compared.len());
    assert!(events > 10_000, "{events}");
}

/// Parquet datasets need a feature. The error names it.
#[cfg(not(feature = "table"))]
#[test]
fn parquet_needs_a_feature() {
    let directory = crate::support::Directory::new("parquet-feature");
    let (path, output) = (root().join("examples/hello-ctf2"), directory.join("events.parquet"));
    let named: &[&str] = &["--to", "parquet"];
    for more in [named, &[]] {
        let words = [OsStr::new("convert"), path.as_os_str(), OsStr::new("-o"), output.as_os_str()];
        let run = ichnos(words.into_iter().chain(more.iter().map(OsStr::new)));
        run.expect(2, &["without the feature `table`", "cargo install --path crates/cli --features table"]);
    }
    assert!(!output.exists());
}

#[cfg(feature = "table")]
#[test]
fn a_dataset_appears() {
    let directory = crate::support::Directory::new("parquet");
    let (path, output) = (root().join("examples/hello-ctf2"), directory.join("events.parquet"));
    let words = ["convert".as_ref(), path.as_os_str(), "-o".as_ref(), output.as_os_str()];
    ichnos(words).expect(0, &["events.parquet is a directory: it has a table for each of 2 event classes"]);
    ichnos(words).expect(2, &["--force"]);
    ichnos(words.into_iter().chain(["--force".as_ref()])).expect(0, &[]);
    assert!(output.join("event=sample").is_dir() && output.join("_streams").is_dir());
    assert!(output.join("columns.parquet").is_file());
    std::fs::write(output.join("notes"), "mine").unwrap();
    ichnos(words.into_iter().chain(["--force".as_ref()])).expect(2, &["notes"]);
    assert!(output.join("notes").exists());
}

/// If the output name has the extension, events of a single class are written as one file. Other outputs with the name
/// are directories, and a note says so.
#[cfg(feature = "table")]
#[test]
fn one_class_is_one_file() {
    let directory = crate::support::Directory::new("one-file");
    let output = directory.join("x.parquet");
    let convert = |example: &str, more: &[&str]| {
        let path = root().join("examples").join(example);
        let run = ["convert".as_ref(), path.as_os_str(), "-o".as_ref(), output.as_os_str()];
        ichnos(run.into_iter().chain(more.iter().map(OsStr::new)))
    };
    let names = || {
        let items = std::fs::read_dir(directory.join(".")).unwrap();
        items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let tick = ["--event", "hello:greeting"];
    let run = convert("hello-lttng", &tick).expect(0, &[]);
    assert!(!run.err.contains("is a directory"), "{}", run.err);
    let bytes = std::fs::read(&output).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let footer = String::from_utf8_lossy(&bytes);
    assert!(footer.contains("ichnos.clock.0") && footer.contains("1000000000 Hz, origin 1970-01-01"));
    convert("hello-lttng", &tick).expect(2, &["the file exists and is not empty"]);
    // A directory replaces the file, and stays a directory.
    convert("hello-lttng", &["--force"]).expect(0, &["is a directory"]);
    assert!(output.join("_streams").is_dir());
    convert("hello-lttng", &[&tick[..], &["--force"]].concat()).expect(0, &["is a directory"]);
    assert_eq!(names(), ["x.parquet"]);
    std::fs::remove_dir_all(&output).unwrap();
    // Call stack frames are in separate tables.
    let sample = ["--event", "*/ThreadSample"];
    convert("hello-dotnet", &sample).expect(0, &["is a directory: call stacks are tables of their own"]);
    std::fs::remove_dir_all(&output).unwrap();
    convert("hello-dotnet", &[&sample[..], &["--fields", "ts,thread"]].concat()).expect(0, &[]);
    assert_eq!(names(), ["x.parquet"]);
    assert!(output.is_file());
}

#[test]
fn only_tables_are_written_in_shards() {
    let directory = crate::support::Directory::new("shards-of-traces");
    let (path, output) = (root().join("examples/hello-ctf2"), directory.join("out"));
    for (verb, more) in
        [("convert", &["--to", "ctf"][..]), ("convert", &["--to", "csv"]), ("cut", &["--begin=+0s"])]
    {
        let words =
            [verb.as_ref(), path.as_os_str(), "-o".as_ref(), output.as_os_str(), "--shard=1/2".as_ref()];
        let run = ichnos(words.into_iter().chain(more.iter().map(OsStr::new)));
        run.expect(2, &["--shard: only tables are written by several processes"]);
    }
    let words =
        ["split".as_ref(), path.as_os_str(), "-o".as_ref(), output.as_os_str(), "--shard=1/2".as_ref()];
    ichnos(words.into_iter().chain(["--by=stream".as_ref()])).expect(2, &["--shard does not apply to split"]);
    let words =
        ["convert".as_ref(), path.as_os_str(), "-o".as_ref(), output.as_os_str(), "--shard=3/2".as_ref()];
    ichnos(words).expect(2, &["expected a shard such as 2/8", "found `3/2`"]);
    assert!(!output.exists());
}

#[cfg(feature = "table")]
#[test]
fn shards_write_one_dataset() {
    let directory = crate::support::Directory::new("shards");
    let (path, output) = (root().join("examples/hello-lttng"), directory.join("events.parquet"));
    let write = |shard: &str, more: &[&str]| {
        let words = ["convert".as_ref(), path.as_os_str(), "-o".as_ref(), output.as_os_str(), shard.as_ref()];
        ichnos(words.into_iter().chain(more.iter().map(OsStr::new)))
    };
    write("--shard=1/3", &[]).expect(0, &[]);
    write("--shard=3/3", &[]).expect(0, &[]);
    write("--shard=2/3", &[]).expect(0, &[]);
    write("--shard=2/3", &[]).expect(2, &["_classes/part-0-2-of-3.parquet", "--force"]);
    write("--shard=2/3", &["--force"]).expect(0, &[]);
    write("--shard=2/4", &["--force"]).expect(2, &["another number of shards"]);
    // Without an event, a shard is still complete.
    std::fs::remove_dir_all(&output).unwrap();
    for shard in ["--shard=1/2", "--shard=2/2"] {
        write(shard, &["--event=nothing"]).expect(0, &[]);
    }
    assert!(output.join("_classes/part-0-1-of-2.parquet").exists());
    assert!(output.join("_classes/part-0-2-of-2.parquet").exists());
    // Shards without the events that have a column.
    std::fs::remove_dir_all(&output).unwrap();
    for index in 1..=9 {
        write(&format!("--shard={index}/9"), &["--fields=ts,samples"]).expect(0, &[]);
    }
    assert!(output.join("event=hello%3Agreeting").is_dir());
    // It would lack the columns of other shards.
    assert!(!output.join("columns.parquet").exists());
}

/// The job in examples/spark, on this machine.
#[cfg(feature = "table")]
#[test]
fn spark_runs_the_shards() {
    let Some(python) = ichnos_testing::find_python("spark_runs_the_shards", "pyspark") else { return };
    let java = Command::new("java").arg("-version").output();
    if !java.is_ok_and(|output| output.status.success()) {
        println!("skipped: spark_runs_the_shards: java is not installed");
        return;
    }
    let directory = crate::support::Directory::new("spark");
    let output = Command::new(&python)
        .arg(root().join("examples/spark/shards.py"))
        .arg(root().join("examples/hello-lttng/trace"))
        .arg(directory.join("events"))
        .args(["--shards", "4", "--ichnos", env!("CARGO_BIN_EXE_ichnos")])
        .env("PYSPARK_SUBMIT_ARGS", "--master local[2] pyspark-shell")
        .env("PYSPARK_PYTHON", &python)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("180 events in 4 shards") && text.contains("hello:tick"), "{text}");
}
