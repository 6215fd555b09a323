//! Statistics: output and correctness.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_testing::is_like_another;
use serde_json::Value as Json;

use crate::support::{Directory, METADATA, ichnos, ichnos_in, packet, recorded, root, trace};
use crate::transcript::transcript;

#[test]
fn tables() {
    let _transcript = transcript!();
    let directory = trace("stats");
    let path = directory.to_str().unwrap();
    let stats = |options: &[&str]| ichnos([&["stats", path], options].concat()).expect(0, &[]);
    stats(&[]);
    stats(&["--sort", "name", "--clock-seconds"]);
    stats(&["--by", "stream"]);
    stats(&["--by", "host,event", "--top", "1", "--clock-date"]);
    stats(&["--by", "text", "--end", "+1s"]);
    stats(&["--histogram", "value"]);
    stats(&["--histogram", "value", "--by", "stream"]);
    stats(&["--timeline"]);
    stats(&["--timeline", "--by", "event", "--histogram", "small"]);
    stats(&["--pair", "demo:tick", "demo:tock"]);
    stats(&["--pair", "demo:*", "demo:*", "--by", "event", "--slowest", "2", "--sort", "max"]);
    ichnos(["stats", path, "--event", "demo:tock", "--begin", "+5s"]).expect(1, &[]);
}

/// Group numbers are in the base of their field, as in `cat`. JSON and CSV have decimal numbers.
#[test]
fn numbers_are_in_the_base_of_their_field() {
    let directory = Directory::new("stats-base");
    let file = directory.join("t.jsonl");
    let class = r#"{"type":"structure","members":[{"name":"flags","class":{"type":"integer","length":32,"preferred_display_base":16}}]}"#;
    let lines = [
        r#"{"type":"stream-begin","stream":0,"name":"s","class":{"id":0},"trace":{"path":"t","format":"x"}}"#
            .to_owned(),
        format!(r#"{{"type":"event-class","stream":0,"id":0,"name":"open","fields":{{"payload":{class}}}}}"#),
        r#"{"type":"event","stream":0,"id":0,"name":"open","payload":{"flags":255}}"#.to_owned(),
        r#"{"type":"event","stream":0,"id":0,"name":"open","payload":{"flags":255}}"#.to_owned(),
    ];
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let file = file.to_str().unwrap();
    let stats =
        |options: &[&str]| ichnos([&["stats", "--by", "flags", file], options].concat()).expect(0, &[]).out;
    assert!(ichnos(["cat", file]).expect(0, &[]).out.contains("flags = 0xFF"));
    assert!(stats(&[]).lines().any(|line| line.ends_with(" 0xFF")), "{}", stats(&[]));
    assert!(stats(&["--csv"]).contains("255"));
}

/// Reports name their host. For all other events, the trace environment names it.
#[test]
fn hosts_of_events() {
    let [reports, events] = ["hello-xtrace", "hello-lttng"].map(|name| root().join("examples").join(name));
    let paths = [reports.to_str().unwrap(), events.to_str().unwrap()];
    let rows = ichnos([&["stats", "--by", "host", "--json"][..], &paths].concat()).expect(0, &[]).json();
    let rows = rows["rows"].as_array().unwrap().iter();
    let hosts: BTreeMap<String, u64> =
        rows.map(|row| (row["key"][0].to_string(), row["events"].as_u64().unwrap())).collect();
    let expected = [("laptop", 3), ("proxy", 5), ("router", 1), ("workstation", 180)];
    assert_eq!(hosts, BTreeMap::from(expected.map(|(host, count)| (format!("\"{host}\""), count))));
}

/// Columns of all events in tables are rows, even if they are no fields.
#[test]
fn columns_of_tables_are_rows() {
    let rows = |by: &str, example: &str| {
        let path = root().join("examples").join(example);
        let report = ichnos(["stats", "--by", by, "--json", path.to_str().unwrap()]).expect(0, &[]).json();
        let rows = report["rows"].as_array().unwrap().iter();
        rows.map(|row| (row["key"][0].clone(), row["events"].as_u64().unwrap())).collect::<Vec<_>>()
    };
    let names = |rows: Vec<(Json, u64)>| -> BTreeMap<String, u64> {
        rows.into_iter().map(|(key, events)| (key.as_str().unwrap_or_default().to_owned(), events)).collect()
    };
    let levels = [("DEBUG", 3), ("INFO", 3), ("WARN", 1), ("ERROR", 1)];
    let levels = BTreeMap::from(levels.map(|(name, events)| (name.to_owned(), events)));
    assert_eq!(names(rows("level", "hello-fuchsia/boot.log")), levels);
    let traces = names(rows("trace", "hello-lttng"));
    assert!(traces.len() == 1 && traces.first_key_value().unwrap().0.contains("hello-lttng"), "{traces:?}");
    // The class has the number, not the events.
    assert_eq!(rows("severity", "hello-lttng").len(), 2);
    let operations = rows("operation", "hello-xtrace");
    assert_eq!(operations, rows("operation-id", "hello-xtrace"));
    assert_eq!(operations.iter().map(|(_, events)| events).sum::<u64>(), 9);
}

#[test]
fn counts_events_that_a_filter_selects() {
    let directory = trace("stats-filter");
    let path = directory.to_str().unwrap();
    for filter in
        ["value == 2", "event == \"demo:tick\"", "time >= +1s", "event == \"demo:tock\" && small > 1"]
    {
        let printed = ichnos(["cat", path, "--filter", filter]).expect(0, &[]).out.lines().count();
        let stats = ichnos(["stats", path, "--json", "--filter", filter]).expect(0, &[]).json();
        assert_eq!(stats["events"], printed, "{filter}");
    }
    ichnos(["stats", path, "--filter", "value == 2 && value == 3"]).expect(1, &[]);
}

#[test]
fn json_and_csv() {
    let _transcript = transcript!();
    let directory = trace("stats-json");
    let path = directory.to_str().unwrap();
    let stats = |options: &[&str]| ichnos([&["stats", path], options].concat()).expect(0, &[]);
    stats(&["--json", "--top", "1"]).json();
    stats(&["--json", "--by", "text", "--histogram", "value"]).json();
    stats(&["--json", "--by", "event", "--timeline", "--end", "+5us"]).json();
    stats(&["--json", "--pair", "demo:tick", "demo:tock", "--slowest", "1"]).json();
    stats(&["--csv"]);
    stats(&["--csv", "--by", "text", "--histogram", "value"]);
    stats(&["--csv", "--timeline", "--end", "+5us"]);
    stats(&["--csv", "--pair", "demo:tick", "demo:tock", "--by", "event"]);
    let strings = stats(&["--json", "--integers", "string"]).json();
    assert_eq!(strings["events"], "10");
}

#[test]
fn mistakes() {
    let _transcript = transcript!();
    let directory = trace("stats-mistakes");
    let path = directory.to_str().unwrap();
    let stats = |options: &[&str], part: &str| {
        ichnos([&["stats", path], options].concat()).expect(2, &[part]);
    };
    stats(&["--by", "valeu"], "did you mean `value`?");
    stats(&["--by", "event,payload.smal"], "did you mean `small`?");
    stats(&["--by", "levle"], "did you mean `level`?");
    stats(&["--by", "operation"], "no event has a field `operation`");
    stats(&["--histogram", "timestamp", "--by", "nothing\x1b"], "no event has a field `nothing\\x1b`");
    stats(
        &["--histogram", "small", "--event", "demo:tick"],
        "only events excluded by --event have the field: `demo:tock`",
    );
    stats(&["--key", "value"], "--pair");
    stats(&["--sort", "p99"], "--histogram or --pair");
    stats(&["--sort", "gap", "--pair", "a", "b"], "this column does not apply to pairs");
    stats(&["--csv", "--timeline", "--histogram", "value"], "two tables");
    stats(&["--by", "event,,stream"], "expected event, stream, host, span or a field");
    ichnos(["stats", path, "--pair", "demo:tik", "demo:tock"])
        .expect(1, &["did you mean `demo:tick` or `demo:tock`?"]);
}

/// Fields in classes that are discovered while reading.
#[test]
fn fields_of_dynamic_classes() {
    let path = root().join("examples/hello-fuchsia");
    let path = path.to_str().unwrap();
    let stats = |field: &str| ichnos(["stats", "--by", field, path]);
    stats("celsius").expect(0, &[]).prints(&["73.5\n", "95.25\n"]);
    stats("celsiu").expect(2, &["--by: no event has a field `celsiu`", "did you mean `celsius`?"]);
}

/// Durations on two threads overlap. The events' roles are known only after reading.
#[test]
fn pairs_of_dynamic_classes() {
    let directory = Directory::new("stats-pairs-of-dynamic-classes");
    let path = directory.join("threads.fxt");
    let mut words = vec![0x0016_5478_4604_0010_u64];
    // Event type, time, thread: 300 ns on each thread.
    for (kind, time, thread) in [(2, 100, 7), (2, 200, 8), (3, 400, 7), (3, 500, 8)] {
        // An event record of six words, with inline thread and one-byte strings.
        let header = 4 | 6 << 4 | kind << 16 | 0x8001 << 32 | 0x8001 << 48;
        words.extend([header, time, 5, thread, u64::from(b'c'), u64::from(b'd')]);
    }
    std::fs::write(&path, words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let pair = ["stats", path.to_str().unwrap(), "--pair", "c:d:begin", "c:d:end"];
    ichnos(pair).expect(0, &[]).prints(&[
        "2 pairs, min 300 ns",
        "max 300 ns",
        "paired by process, thread within each trace",
    ]);
    // Names are span names, as with `--spans`.
    let found = ichnos([&pair[..], &["--by", "event", "--json"]].concat()).expect(0, &[]).json();
    assert_eq!(found["rows"][0]["key"], Json::from(vec!["d"]));
    assert_eq!(found["pairs"]["slowest"][0]["events"], Json::from(vec!["d", "d"]));
    // Both events start something: the second does not end anything.
    let begins = ["stats", path.to_str().unwrap(), "--pair", "c:d:begin", "c:d:begin", "--json"];
    let found = ichnos(begins).expect(0, &[]).json();
    assert_eq!(found["pairs"]["slowest"][0]["events"], Json::from(vec!["c:d:begin", "c:d:begin"]));
}

/// A larger trace, with packets in several data streams, and times that go back.
fn large() -> Directory {
    let directory = Directory::new("stats-large");
    std::fs::write(directory.join("metadata"), METADATA).unwrap();
    for stream in 0..4u64 {
        let packets = (0..50u64).flat_map(|number| {
            let begin = number * 10_000 + stream * 700;
            let times: Vec<u64> = (0..40).map(|i| begin + i * i * 5 + i % 7).collect();
            packet(&times, number / 10)
        });
        std::fs::write(directory.join(format!("stream_{stream}")), packets.collect::<Vec<u8>>()).unwrap();
    }
    directory
}

/// The number of threads and the timeline chunks do not change exact results. The number of threads does not change
/// approximate results either.
#[test]
fn threads_and_chunks_do_not_show() {
    let directory = large();
    let large = directory.to_str().unwrap();
    let ways: [&[&str]; 8] = [
        &[],
        &["--by", "stream,event"],
        &["--by", "value,small", "--sort", "gap"],
        &["--by", "stream"],
        &["--histogram", "value", "--by", "event"],
        &["--timeline", "--by", "stream", "--begin", "+0.0001s"],
        &["--pair", "demo:tick", "demo:tock", "--by", "stream"],
        &["--pair", "demo:tick", "demo:t*", "--key", "value", "--resource-limit", "open-pairs=5"],
    ];
    let mut paths = vec![PathBuf::from(large)];
    if let Some(root) = recorded("ctf/real") {
        let traces = [
            "lttng-ust/discard",
            "tracecompass/many-threads",
            "babeltrace/1/succeed/lttng-event-after-packet",
        ];
        paths.extend(traces.iter().map(|path| root.join(path)).filter(|path| path.exists()));
    }
    for path in &paths {
        let path = path.to_str().unwrap();
        let is_own = path == large;
        for options in ways.iter().filter(|options| {
            is_own || options.iter().all(|one| !one.contains("value") && !one.contains("demo"))
        }) {
            let run = |more: &[&str]| {
                let run = ichnos([&["stats", "--json", path], *options, more].concat());
                (run.code, run.err, run.out)
            };
            let one = run(&["--threads", "1"]);
            assert!([0, 3].contains(&one.0), "{path} {options:?}: {}", one.1);
            for more in [
                ["--threads", "1", "--chunk-size", "300"],
                ["--threads", "2", "--chunk-size", "1"],
                ["--threads", "5", "--chunk-size", "20000"],
            ] {
                assert!(run(&more) == one, "{path} {options:?} {more:?}\n{}", one.2);
            }
        }
        for options in [["--by", "stream,event", "--histogram", "value"], ["--by", "value", "--sort", "name"]]
        {
            if !is_own {
                continue;
            }
            let run = |threads: &str| {
                let bounds =
                    ["--resource-limit", "groups=5", "--chunk-size", "9000", "--threads", threads, "--json"];
                ichnos([&["stats", path], &options[..], &bounds].concat()).expect(0, &[]).json()
            };
            let one = run("1");
            assert_eq!(one["exact"], false, "{options:?}");
            assert!(one["missed_at_most"].as_u64().unwrap() > 0);
            for threads in ["2", "5"] {
                assert_eq!(run(threads), one, "{options:?}");
            }
        }
    }
}

/// Recorded CTF traces have as many events as `info --count` finds, in total and per class.
#[test]
fn counts_equal_those_of_info() {
    let Some(root) = recorded("ctf") else { return };
    let list = std::fs::read_to_string(root.join("real.json")).unwrap();
    let list: Vec<Json> = serde_json::from_str(&list).unwrap();
    let mut compared = 0;
    let names = list.iter().map(|entry| entry["trace"].as_str().unwrap());
    for name in names.filter(|name| !is_like_another(name)) {
        let path = root.join("real").join(name);
        let path = path.to_str().unwrap();
        let info = ichnos(["info", "--count", "--json", path]);
        let stats = ichnos(["stats", "--json", "--assume-correlated", path]);
        assert!(!stats.err.contains("panicked"), "{}", stats.err);
        if info.code == 2 || stats.code == 2 {
            assert_eq!(info.code, stats.code, "{path}: {}", stats.err);
            continue;
        }
        let (info, stats) = (info.json(), stats.json());
        for member in ["events", "discarded_events", "discarded_packets"] {
            assert_eq!(info[member], stats[member], "{path}: {member}");
        }
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        for trace in info["traces"].as_array().unwrap() {
            for class in trace["event_record_classes"].as_array().unwrap() {
                let name =
                    class["name"].as_str().map_or_else(|| format!("id {}", class["id"]), str::to_owned);
                *by_name.entry(name).or_default() += class["count"].as_u64().unwrap_or_default();
            }
        }
        by_name.retain(|_, count| *count > 0);
        let rows = stats["rows"].as_array().unwrap().iter();
        let rows =
            rows.map(|row| (row["key"][0].as_str().unwrap().to_owned(), row["events"].as_u64().unwrap()));
        assert_eq!(rows.collect::<BTreeMap<_, _>>(), by_name, "{path}");
        // Events are not larger than their packets.
        let bytes = |json: &Json| json["bytes"].as_u64().unwrap_or_default();
        assert!(bytes(&stats) <= bytes(&info), "{path}");
        assert!(bytes(&stats) > 0 || stats["events"] == 0, "{path}");
        compared += 1;
    }
    eprintln!("compared {compared} traces");
    assert!(compared > 50);
}

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = found.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: `{program}` is not installed");
    }
    is_there
}

fn babeltrace2(path: &Path, options: &[&str]) -> String {
    let output = Command::new("babeltrace2").arg(path).args(options).env("TZ", "UTC").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The result equals `babeltrace2`'s counter.
#[test]
fn counts_equal_the_reference() {
    let Some(root) = recorded("ctf/real") else { return };
    if !is_installed("babeltrace2") {
        return;
    }
    for name in ["lttng-ust/discard", "lttng-ust/perpid", "tracecompass/many-threads"] {
        let path = root.join(name);
        let counted = babeltrace2(&path, &["--component", "c:sink.utils.counter", "--params", "step=+0"]);
        let events = counted.lines().find_map(|line| line.trim().strip_suffix(" Event messages"));
        let events: String = events.unwrap().chars().filter(char::is_ascii_digit).collect();
        let stats = ichnos(["stats", "--json", path.to_str().unwrap()]).json();
        assert_eq!(stats["events"].to_string(), events, "{name}");
        let lines = babeltrace2(&path, &[]).lines().count();
        assert_eq!(stats["events"].to_string(), lines.to_string(), "{name}");
    }
}

/// A Python program that reads `babeltrace2`'s text computes the same result.
#[test]
fn statistics_equal_another_program() {
    let Some(root) = recorded("ctf/real") else { return };
    if !is_installed("babeltrace2") || !is_installed("python3") {
        return;
    }
    let path = root.join("tracecompass/many-threads");
    if !path.exists() {
        return;
    }
    let text = babeltrace2(&path, &["--clock-seconds"]);
    let path = path.to_str().unwrap();
    let stats =
        |options: &[&str]| ichnos([&["stats", "--json", path], options].concat()).expect(0, &[]).json();
    let counts = stats(&[]);
    for [begin, end, key, field] in [
        ["syscall_entry_*", "syscall_exit_*", "cpu_id", "ret"],
        ["sched_wakeup", "sched_wakeup", "tid", "prev_prio"],
    ] {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/stats.py");
        let mut python = Command::new("python3")
            .arg(script)
            .args([begin, end, key, field])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = python.wait_with_output().unwrap();
        assert!(output.status.success());
        let expected: Json = serde_json::from_slice(&output.stdout).unwrap();
        // Counts, times and gaps.
        let rows = counts["rows"].as_array().unwrap();
        assert_eq!(rows.len(), expected["events"].as_object().unwrap().len());
        for row in rows {
            let expected = &expected["events"][row["key"][0].as_str().unwrap()];
            for (member, value) in expected.as_object().unwrap() {
                assert_eq!(row[member], *value, "{}: {member}", row["key"]);
            }
        }
        near(&stats(&["--histogram", field])["histogram"], &expected["values"]);
        let key = match key {
            "cpu_id" => "packet.cpu_id",
            // Alone, the name means the running thread.
            "tid" => "payload.tid",
            key => key,
        };
        let found = stats(&["--pair", begin, end, "--key", key, "--slowest", "5"]);
        let pairs = &found["pairs"];
        near(&pairs["latency_ns"], &expected["latencies"]);
        for (member, value) in expected["unpaired"].as_object().unwrap() {
            let is_chain = begin == end && member != "without_end";
            // An event that also starts a pair is not an unmatched end, and its start is not repeated.
            let value = if is_chain { &Json::from(0) } else { value };
            assert_eq!(pairs["unpaired"][member], *value, "{member}");
        }
        let slowest = pairs["slowest"].as_array().unwrap().iter();
        let slowest: Vec<Json> = slowest
            .map(|pair| Json::from(vec![pair["latency_ns"].clone(), pair["end_ns"].clone()]))
            .collect();
        assert_eq!(Json::from(slowest), expected["slowest"]);
    }
}

/// Compares exactly, except for quantiles of many values: their errors must be within the documented bound.
#[track_caller]
fn near(found: &Json, expected: &Json) {
    for member in ["count", "min", "max"] {
        assert_eq!(found[member], expected[member], "{member}");
    }
    let error = found["quantile_error"].as_f64().unwrap();
    for (member, error) in [("mean", 1e-9), ("p50", error), ("p90", error), ("p99", error)] {
        let (found, expected) = (found[member].as_f64().unwrap(), expected[member].as_f64().unwrap());
        assert!((found - expected).abs() <= error * expected.abs() + 1e-9, "{member}: {found} {expected}");
    }
}

/// Options with two values are not repeated.
#[test]
fn pairs_are_given_once() {
    let pairs = ["--pair", "*_entry", "*_exit", "--pair", "a", "b"];
    let arguments = [&["stats", "examples/hello-lttng"][..], &pairs].concat();
    ichnos_in(root(), arguments).expect(2, &["error: --pair is given more than once", "help: globs"]);
    let arounds = ["--around", "number == 13", "1s", "--around", "number == 14", "1s"];
    let arguments = [&["cut", "examples/hello-lttng", "--dry-run"][..], &arounds].concat();
    ichnos_in(root(), arguments).expect(2, &["error: --around is given more than once", "joined by `or`"]);
    // Messages name the option with the expression.
    let unknown = ["cut", "examples/hello-lttng", "--dry-run", "--around", "event == \"hello:tik\"", "1ms"];
    let run =
        ichnos_in(root(), unknown).expect(1, &["warning: --around: no event record class", "hello:tick"]);
    assert!(!run.err.contains("--filter:"), "{}", run.err);
}

/// The column by which rows are sorted is shown, also if it equals another one.
#[test]
fn sort_columns_are_shown() {
    let example = root().join("examples/hello-fxt");
    let head = |options: &[&str]| {
        let found = ichnos([&["stats", "-q", "--spans"], options, &[example.to_str().unwrap()]].concat());
        let found = found.expect(0, &[]).out;
        found.lines().next().unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(head(&["--sort", "self"])[..4], ["pairs", "total", "self", "min"]);
    assert_eq!(head(&[])[..3], ["pairs", "total", "min"]);
}
