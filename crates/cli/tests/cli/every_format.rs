//! Examples of every format, written in every format that can be written: every event arrives or is in the table of losses,
//! at its time. Values are compared by `--verify`, which all of these tests use.

use std::path::Path;

use serde_json::Value;

use crate::support::{Directory, ichnos, root};

/// Examples: one of each format that is read.
const SOURCES: [&str; 7] = [
    "hello-ctf2",
    "hello-lttng",
    "hello-dotnet",
    "hello-fuchsia",
    "hello-fxt",
    "hello-xtrace",
    "hello-jsonl",
];

/// Provider of events that name functions for stacks.
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Formats and dialects to write.
const TARGETS: [(&str, &str); 10] = [
    ("ctf", "spec2"),
    ("ctf", "prop1"),
    ("ctf", "ctf1.8"),
    ("nettrace", "4"),
    ("nettrace", "6"),
    ("fuchsia-log", ""),
    ("fxt", ""),
    ("xtrace", "text"),
    ("xtrace", "json"),
    ("jsonl", ""),
];

/// Number of events that losses drop, or make a part of another one: those of whole events.
fn dropped(losses: &[Value]) -> u64 {
    let is_event = |loss: &&Value| {
        let what = loss["what"].as_str().unwrap();
        let is_dropped =
            loss["kind"] == "dropped" && (what.starts_with("event") || what.starts_with("record:"));
        is_dropped || what.starts_with("event -> line `Event`")
    };
    losses.iter().filter(is_event).map(|loss| loss["count"].as_u64().unwrap()).sum()
}

/// Times of the events of a trace in order, in nanoseconds, but for events that were added.
fn times(path: &Path, is_added: impl Fn(&str) -> bool) -> Vec<String> {
    let events = ichnos(["cat", "-q", "--format", "jsonl", path.to_str().unwrap()]);
    let lines = events.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events =
        lines.filter(|line| line["type"] == "event" && !line["name"].as_str().is_some_and(&is_added));
    let mut times: Vec<String> = events.map(|event| event["ts"].to_string()).collect();
    times.sort();
    times
}

/// Returns `true` for events that are added to a conversion, because the source has call stacks.
fn is_added(source: &str, format: &str, name: &str) -> bool {
    match (source, format) {
        ("hello-dotnet", "nettrace") | ("hello-fxt", "fxt") => false,
        (_, "nettrace") => name.starts_with(RUNDOWN),
        (_, "fxt") => ["backtrace", "module", "mapping"].contains(&name),
        _ => false,
    }
}

fn convert(name: &str, (format, dialect): (&str, &str)) {
    let directory = Directory::new("every-format");
    let (source, out) = (root().join("examples").join(name), directory.join("out"));
    let mut words = vec!["convert", "-q", "--json", "--to", format];
    if !dialect.is_empty() {
        words.extend(["--dialect", dialect]);
    }
    words.extend([source.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    let what = format!("{name} -> {format} {dialect}");
    let written = ichnos(words).json();
    let losses = written["losses"].as_array().unwrap_or_else(|| panic!("{what}: {written}"));
    let expected = times(&source, |_| false);
    let found = times(&out, |event| is_added(name, format, event));
    let dropped = dropped(losses);
    println!("{what}: {} events, {dropped} dropped, {} losses", found.len(), losses.len());
    assert_eq!(found.len() as u64 + dropped, expected.len() as u64, "{what}: {losses:#?}");
    let is_of_time =
        |loss: &Value| ["time", "clock", "origin"].iter().any(|word| loss.to_string().contains(word));
    if dropped == 0 && !losses.iter().any(is_of_time) {
        assert!(expected == found, "{what}: times differ\n{expected:?}\n{found:?}");
    }
}

macro_rules! targets {
    ($($test:ident: $source:literal;)*) => {
        $(
            #[test]
            fn $test() {
                TARGETS.into_iter().for_each(|target| convert($source, target));
            }
        )*

        #[test]
        fn all_examples_are_converted() {
            assert_eq!([$($source),*], SOURCES);
        }
    };
}

targets! {
    ctf2: "hello-ctf2";
    lttng: "hello-lttng";
    dotnet: "hello-dotnet";
    fuchsia_logs: "hello-fuchsia";
    fxt: "hello-fxt";
    xtrace: "hello-xtrace";
    jsonl: "hello-jsonl";
}
