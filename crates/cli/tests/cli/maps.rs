//! Event maps: `--map`, `stats --spans`, `schema --propose-map`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::support::{Directory, ichnos, ichnos_in, recorded, root};
use crate::transcript::transcript;

const EVENTS: &str = r#"{"ts":1000,"name":"app:request_begin","payload":{"id":1,"path":"/a"}}
{"ts":1100,"name":"app:request_begin","payload":{"id":2,"path":"/b"}}
{"ts":1200,"name":"app:work_begin","payload":{"tid":7}}
{"ts":1250,"name":"app:work_begin","payload":{"tid":7}}
{"ts":1300,"name":"app:work_begin","payload":{"tid":8}}
{"ts":1350,"name":"app:work_end","payload":{"tid":7}}
{"ts":1400,"name":"app:memory_usage","payload":{"used":4096}}
{"ts":1500,"name":"app:work_end","payload":{"tid":7}}
{"ts":1600,"name":"app:request_end","payload":{"id":1}}
{"ts":1700,"name":"app:work_end","payload":{"tid":8}}
{"ts":2100,"name":"app:request_end","payload":{"id":2}}
"#;

const MAP: &str = r#"[[event]]
match = "app:request_*"
name = "request"
fields = { key = "id" }
[[event]]
match = "app:*_begin"
role = "begin"
[[event]]
match = "app:*_end"
role = "end"
[[event]]
match = "app:work_*"
fields = { thread = "tid" }
[[event]]
match = "app:*_usage"
role = "counter"
unit = "bytes"
fields = { value = "used" }
"#;

fn directory(name: &str) -> Directory {
    let directory = Directory::new(name);
    std::fs::write(directory.join("events.jsonl"), EVENTS).unwrap();
    std::fs::write(directory.join("map.toml"), MAP).unwrap();
    directory
}

#[test]
fn map_properties() {
    let _transcript = transcript!();
    let directory = directory("map");
    let run = |arguments: &[&str]| ichnos_in(&directory, arguments);
    run(&["schema", "events.jsonl", "--propose-map"]).expect(0, &[]);
    run(&["schema", "events.jsonl", "--map", "map.toml"]).expect(0, &[]);
    run(&["stats", "events.jsonl", "--map", "map.toml", "--spans"]).expect(0, &[]);
    run(&["stats", "events.jsonl", "--map", "map.toml", "--filter", "thread == 8"]).expect(0, &[]);
    std::fs::write(
        directory.join("wrong.toml"),
        "[[event]]\nmatch = 'app:work_*'\nfields = { thread = 'task' }\n[[event]]\nmatch = 'nothing'\n",
    )
    .unwrap();
    run(&["cat", "events.jsonl", "--map", "wrong.toml", "--max-events", "1"]);
    std::fs::write(directory.join("wrong.toml"), "[[event]]\nmatch = 'app:work_*'\nrole = 'start'\n")
        .unwrap();
    run(&["cat", "events.jsonl", "--map", "wrong.toml"]).expect(2, &[]);
    run(&["cat", "events.jsonl", "--map", "missing.toml"]).expect(2, &[]);
    run(&["help", "map"]).expect(0, &[]);
}

/// Roles and meanings are written, and read again without the map.
#[test]
fn written_traces_keep_roles() {
    let directory = directory("map-written");
    let spans = |path: &str, more: &[&str]| {
        let found = ichnos_in(&directory, [&["stats", "--spans", "--json", path], more].concat());
        found.expect(0, &[]).json()["rows"].clone()
    };
    let wanted = spans("events.jsonl", &["--map", "map.toml"]);
    assert_eq!(wanted.as_array().unwrap().len(), 2);
    for written in ["ctf2", "again.jsonl"] {
        let arguments = ["convert", "events.jsonl", "--map", "map.toml", "--losses", "-o", written];
        ichnos_in(&directory, arguments).expect(0, &[]);
        assert_eq!(spans(written, &[]), wanted, "{written}");
    }
}

/// .NET programs write UTF-16.
#[test]
fn mapped_names_are_in_any_encoding() {
    let directory = Directory::new("map-encodings");
    let input = root().join("examples/hello-dotnet");
    for (meaning, format, name) in [
        ("name", "chrome", r#"{"name":"NAME","cat":"Hello-World""#),
        ("component", "chrome", r#""args":{"name":"NAME"}"#),
        ("process-name", "chrome", r#""args":{"name":"NAME"}"#),
        ("thread-name", "chrome", r#""args":{"name":"NAME"}"#),
        ("component", "otlp", r#""NAME""#),
        ("machine", "otlp", r#"{"key":"host.name","value":{"stringValue":"NAME"}}"#),
    ] {
        let map = format!("[[event]]\nmatch = '*/Greeting'\nfields = {{ {meaning} = 'text' }}\n");
        std::fs::write(directory.join("map.toml"), map).unwrap();
        let arguments =
            ["convert", "--map", "map.toml", "--event", "*/Greeting", "--force", "--to", format, "-o", "out"];
        ichnos_in(&directory, arguments.into_iter().chain([input.to_str().unwrap()])).expect(0, &[]);
        let out = std::fs::read_to_string(directory.join("out")).unwrap();
        for text in ["grüezi", "ade"] {
            assert!(out.contains(&name.replace("NAME", text)), "{meaning}: {out}");
        }
        assert!(!out.contains("\\u0000"), "{meaning}: {out}");
    }
}

/// System call latencies in a kernel trace equal those from a search through its events that relies only on names,
/// processors and thread scheduling.
#[test]
fn spans_of_a_kernel_trace() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let lines = ichnos(["cat", "--format", "jsonl", path.to_str().unwrap()]).expect(0, &[]);
    let mut running: BTreeMap<u64, u64> = BTreeMap::new();
    let mut open: BTreeMap<u64, (String, u64)> = BTreeMap::new();
    let mut calls: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut processors: BTreeMap<u64, u64> = BTreeMap::new();
    for line in lines.out.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        let stream = line["stream"].as_u64().unwrap_or_default();
        if let Some(processor) = line["context"]["cpu_id"].as_u64() {
            processors.insert(stream, processor);
        }
        let (Some("event"), Some(name)) = (line["type"].as_str(), line["name"].as_str()) else { continue };
        let time = line["ts"].as_u64().unwrap();
        if name == "sched_switch" {
            running.insert(stream, line["payload"]["next_tid"].as_u64().unwrap());
        }
        // Each data stream in the trace belongs to one processor.
        let thread = running.get(&stream).copied().unwrap_or(u64::MAX - stream);
        if let Some(call) = name.strip_prefix("syscall_entry_") {
            open.insert(thread, (call.to_owned(), time));
        } else if let Some(call) = name.strip_prefix("syscall_exit_")
            && let Some((begun, begin)) = open.get(&thread)
            && begun == call
        {
            let row = calls.entry(call.to_owned()).or_default();
            *row = (row.0 + 1, row.1.max(time - begin));
            open.remove(&thread);
        }
    }
    let measured = |options: &[&str]| -> BTreeMap<String, (u64, u64)> {
        let found = ichnos([&["stats", "--spans", "--json", path.to_str().unwrap()], options].concat());
        let rows = found.expect(0, &[]).json()["rows"].as_array().unwrap().clone();
        let row = |row: &Json| {
            let latency = &row["latency_ns"];
            let key = row["key"][0].as_str().unwrap().to_owned();
            (key, (latency["count"].as_u64().unwrap(), latency["max"].as_u64().unwrap()))
        };
        rows.iter().map(row).collect()
    };
    assert!(calls.len() > 20, "{calls:?}");
    // Rows are named after spans.
    let selected = ["--event", "syscall_*", "--event", "sched_switch"];
    assert_eq!(measured(&selected), calls);
    assert_eq!(measured(&[&selected[..], &["--by", "event"]].concat()), calls);
    let by_name = measured(&[]);
    for (name, call) in &calls {
        assert_eq!(by_name.get(name), Some(call), "{name}");
    }
}
