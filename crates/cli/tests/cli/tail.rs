//! Last events, and times before the end.

use std::ffi::OsStr;
use std::path::Path;

use ichnos_testing::{is_like_another, is_turn};

use crate::support::{ichnos, packet, recorded, root, trace};
use crate::transcript::transcript;

fn cat(path: &Path, more: &[&str]) -> crate::support::Run {
    let arguments = [OsStr::new("cat"), path.as_os_str(), OsStr::new("--clock-gmt")];
    ichnos(arguments.into_iter().chain(more.iter().map(OsStr::new)))
}

/// Returns the last lines of a text.
fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines[lines.len().saturating_sub(count)..].concat()
}

/// For any selection, the output is the last of all lines, with the time since the previous event.
fn compare(path: &Path, counts: &[u64], selection: &[&str]) {
    let all = cat(path, selection);
    for count in counts {
        let number = count.to_string();
        let run = cat(path, &[selection, &["--tail", &number]].concat());
        assert_eq!(run.out, tail(&all.out, *count as usize), "{} {selection:?} {count}", path.display());
    }
}

#[test]
fn the_last_lines() {
    for example in [
        "hello-lttng",
        "hello-ctf2",
        "hello-fuchsia",
        "hello-dotnet/hello.nettrace.zst",
        "one-request/trace/ust",
    ] {
        let path = root().join("examples").join(example);
        if !path.exists() {
            continue;
        }
        compare(&path, &[1, 2, 7, 1_000_000], &[]);
        compare(&path, &[1, 5], &["--event", "*[eo]*"]);
        compare(&path, &[1, 5], &["--begin", "+1ms", "--end", "-1ms"]);
        compare(&path, &[3], &["--clock-cycles"]);
    }
}

/// A trace that is long enough to be read backward from the end.
#[test]
fn the_last_lines_of_many() {
    let directory = trace("tail-many");
    for (name, first) in [("stream_a", 1), ("stream_b", 2)] {
        let mut bytes = Vec::new();
        for number in 0..2_000u64 {
            let times: Vec<u64> = (0..100).map(|i| (number * 100 + i) * 1_000 + first).collect();
            bytes.extend(packet(&times, number / 100));
        }
        std::fs::write(directory.join(name), bytes).unwrap();
    }
    compare(&directory, &[1, 2, 99, 100, 101, 5_000, 100_000, 399_999, 400_000, 400_001], &[]);
    compare(&directory, &[1, 1_000, 300_000], &["--event", "demo:tock"]);
    compare(&directory, &[1, 1_000], &["--stream", "stream_a", "--end", "-1ms"]);
    // Everything else is the same, and losses before the tail are not reported.
    let run = cat(&directory, &["--tail", "10"]).expect(0, &[]);
    assert_eq!(run.err, "");
    let run = cat(&directory, &["--tail", "30000"]).expect(0, &["discarded 1 event"]);
    let all = cat(&directory, &[]);
    assert!(all.err.ends_with(&run.err) && all.err.len() > run.err.len(), "{}", run.err);
}

#[test]
fn the_last_lines_of_recorded_traces() {
    let Some(root) = recorded("ctf") else { return };
    let list = std::fs::read_to_string(root.join("real.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let names = list.iter().map(|entry| entry["trace"].as_str().unwrap());
    let different_names = names.filter(|name| !is_like_another(name)).enumerate();
    // The traces from barectf have one construct and few events each: every third is enough.
    for (_, name) in different_names.filter(|(n, name)| !name.starts_with("barectf/") || is_turn(*n, 0, 3)) {
        compare(&root.join("real").join(name), &[1, 10, 3_000], &["-q"]);
    }
}

#[test]
fn other_formats() {
    let _transcript = transcript!();
    let directory = trace("tail");
    for format in ["pretty", "details", "jsonl", "log", "log-json", "csv", "tsv", "null"] {
        let gmt = if format == "pretty" { &["--clock-gmt"][..] } else { &[] };
        let options = [&["--format", format, "--tail", "2"], gmt].concat();
        let arguments = [OsStr::new("cat"), directory.as_os_str()];
        ichnos(arguments.into_iter().chain(options.iter().map(OsStr::new)));
    }
    cat(&directory, &["--tail", "2", "--max-events", "3"]);
    cat(&directory, &["--tail", "0"]);
    cat(&directory, &["--tail", "1", "--event", "nothing"]);
}

/// All verbs that read accept times before the end.
#[test]
fn times_before_the_end() {
    let _transcript = transcript!();
    let directory = trace("before-end");
    cat(&directory, &["--begin", "-1ms"]);
    cat(&directory, &["--timerange", "-2s,-1s"]);
    cat(&directory, &["--begin", "-5"]);
    cat(&directory, &["--begin", "-5parsecs"]);
    for verb in ["info", "check", "schema"] {
        ichnos([
            OsStr::new(verb),
            directory.as_os_str(),
            OsStr::new("--begin"),
            OsStr::new("-1ms"),
            OsStr::new("--gmt"),
        ]);
    }
}

/// If a trace does not contain its end time, the last event's time is used.
#[test]
fn the_end_of_traces_without_an_end_time() {
    let path = root().join("examples/hello-fuchsia");
    let all = cat(&path, &[]).out;
    assert_eq!(cat(&path, &["--begin", "-0ns", "-q"]).out.lines().count(), 1);
    assert_eq!(cat(&path, &["--begin", "-1h"]).out, all);
}

/// `info`, `check` and `schema` with selections.
#[test]
fn selections_of_reports() {
    let _transcript = transcript!();
    let directory = trace("selections");
    let run = |verb: &str, more: &[&str]| {
        let arguments = [OsStr::new(verb), directory.as_os_str()];
        ichnos(arguments.into_iter().chain(more.iter().map(OsStr::new)))
    };
    run("info", &["--event", "demo:tick", "--gmt"]);
    run("info", &["--stream", "*_a", "--gmt"]);
    run("info", &["--end", "+5us", "--gmt", "--json"]);
    run("info", &["--event", "nothing"]);
    run("check", &["--stream", "*_b", "--event", "demo:tock"]);
    run("check", &["--begin", "+1s"]);
    run("schema", &["--event", "demo:tock"]);
    run("schema", &["--end", "+0s"]);
    run("schema", &["--stream", "nothing"]);
}
