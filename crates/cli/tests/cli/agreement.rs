//! Verbs agree on a selection, whatever the options: each option can be right alone, and wrong in combination.

use std::path::{Path, PathBuf};

use ichnos_testing::{Random, cases, sample_size};
use serde_json::Value;

use crate::support::{Directory, Run, ichnos, recorded, root};

/// Trace, and values for options about it.
struct Source {
    path: PathBuf,
    is_ctf: bool,
    is_sound: bool,
    times: Vec<i64>,
    names: Vec<String>,
}

fn run(words: &[&str], options: &[String], path: &Path) -> Run {
    let words = words.iter().map(|word| (*word).to_owned()).chain(options.iter().cloned());
    let run = ichnos(words.chain([path.to_str().unwrap().to_owned()]));
    assert!(run.code <= 3 && !run.err.contains("panicked"), "{}: {}", path.display(), run.err);
    run
}

/// Returns the events in a trace as JSON.
fn events(options: &[String], path: &Path) -> Vec<Value> {
    let out = run(&["cat", "-q", "-f", "jsonl"], options, path).out;
    let lines = out.lines().filter(|line| line.starts_with("{\"type\":\"event\","));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the event lines of a trace, in an order that does not depend on data stream names.
fn lines(options: &[String], path: &Path) -> Vec<String> {
    let words = ["cat", "-q", "--no-delta", "--clock-cycles", "--names=none", "--clock-arithmetic=exact"];
    let mut lines: Vec<String> = run(&words, options, path).out.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn sources() -> Vec<Source> {
    let examples = [
        ("hello-ctf2", true),
        ("hello-lttng", true),
        ("one-request/trace/stock", false),
        ("hello-dotnet/hello.nettrace.zst", false),
        ("hello-fuchsia", false),
        ("hello-jsonl", false),
        ("hello-xtrace", false),
    ];
    let recorded_traces = [
        "babeltrace/1/intersection/onestream",
        "babeltrace/1/succeed/barectf-event-before-packet",
        "babeltrace/1/succeed/lttng-crash",
        "babeltrace/1/succeed/lttng-event-after-packet",
        "barectf/assembled/counter-clock__dst-packet-features__end-ts-multi",
        "lttng-ust/snapshot",
        "tracecompass/mpi_allreduce",
    ];
    let examples = examples.map(|(name, is_ctf)| (root().join("examples").join(name), is_ctf));
    let found = recorded_traces.iter().filter_map(|name| Some((recorded(format!("ctf/real/{name}"))?, true)));
    let source = |(path, is_ctf): (PathBuf, bool)| {
        let events = events(&[], &path);
        let times = events.iter().filter_map(|event| event["ts"].as_i64()).collect();
        let mut names: Vec<String> =
            events.iter().filter_map(|event| Some(event["name"].as_str()?.to_owned())).collect();
        names.sort();
        names.dedup();
        let is_sound = run(&["check", "-q"], &[], &path).code == 0;
        Source { path, is_ctf, is_sound, times, names }
    };
    examples.into_iter().chain(found).map(source).collect()
}

/// Returns random options that select events.
fn selection(random: &mut Random, source: &Source) -> Vec<String> {
    let mut options = Vec::new();
    for bound in ["begin", "end"] {
        if !source.times.is_empty() && random.percent(45) {
            let time = random.pick(&source.times) + random.pick(&[0, 0, 1, -1]);
            options.push(format!("--{bound}=@{time}"));
        }
    }
    let name = |random: &mut Random| source.names.get(random.index(source.names.len().max(1))).cloned();
    if let (true, Some(name)) = (random.percent(25), name(random)) {
        options.push(format!("--event={name}"));
    }
    if let (true, Some(name)) = (random.percent(35), name(random)) {
        options.push(format!("--filter=event {} {name:?}", random.pick(&["==", "!="])));
    }
    if random.percent(15) {
        options.push("--stream-intersection".to_owned());
    }
    options
}

/// Returns random output options, and the form of the output.
fn writing(random: &mut Random) -> Vec<String> {
    let verbs: [&[&str]; 6] = [
        &["convert"],
        &["cut", "--drop-rundown"],
        &["merge"],
        &["repair"],
        &["split", "--by=event"],
        &["split", "--by=stream"],
    ];
    let mut words: Vec<String> = random.pick(&verbs).iter().map(|word| (*word).to_owned()).collect();
    let dialects = ["spec2", "spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"];
    let format = match random.percent(25) {
        true => "--to=jsonl".to_owned(),
        false => format!("--to-dialect={}", random.pick(&dialects)),
    };
    words.extend(["--losses".to_owned(), format, format!("-j{}", 1 + random.index(3))]);
    if random.percent(50) {
        words.push(format!("--packet-size={}", random.pick(&["1", "100", "5000"])));
    }
    if random.percent(30) {
        words.push("--index".to_owned());
    }
    words
}

#[test]
fn verbs_agree_on_selections() {
    let sources = sources();
    let directory = Directory::new("agreement");
    let out = directory.join("out");
    cases(sample_size(24, 60), |random| {
        let source = &sources[random.index(sources.len())];
        let (path, options) = (&source.path, selection(random, source));
        let shown = format!("{} {options:?}", path.display());
        if run(&["cat", "-q"], &options, path).code == 2 {
            // For example, an intersection without events.
            return;
        }
        let selected = events(&options, path).len();
        for words in [["stats", "-q", "--json"].as_slice(), &["info", "-q", "--json", "--count"]] {
            let found = run(words, &options, path);
            let json: Value = serde_json::from_str(&found.out)
                .unwrap_or_else(|error| panic!("{words:?} {shown}: {error}: {}", found.err));
            assert_eq!(json["events"], selected, "{words:?} {shown}");
        }
        let text = |words: &[&str]| run(&[&["cat", "-q"], words].concat(), &options, path).out;
        let size = format!("--chunk-size={}", random.pick(&["64", "1000", "100000"]));
        assert_eq!(text(&["-j1"]), text(&["-j3", &size]), "{shown}");
        let words = writing(random);
        if words[0] == "cut" && !options.iter().any(|option| option.contains("=@")) {
            return;
        }
        let output = ["--force".to_owned(), "-o".to_owned(), out.to_str().unwrap().to_owned()];
        let words: Vec<&str> = words.iter().chain(&output).map(String::as_str).collect();
        let written = run(&words, &options, path);
        // For example, unrelated clocks cannot be merged or sorted.
        if written.code == 2 || !out.exists() {
            assert!(written.code == 2 || selected == 0, "{words:?} {shown}: {}", written.err);
            return;
        }
        if !["dropped", "rounded"].iter().any(|kind| written.out.contains(kind)) {
            // Parts of a trace with an unknown clock origin cannot be sorted.
            let relate = ["--assume-correlated".to_owned()];
            assert_eq!(events(&relate, &out).len(), selected, "{words:?} {shown}: {}", written.err);
            if source.is_ctf && !words.contains(&"merge") {
                assert_eq!(lines(&relate, &out), lines(&options, path), "{words:?} {shown}");
            }
            if source.is_sound && written.code < 2 {
                run(&["check", "-q"], &relate, &out).expect(0, &[]);
            }
        }
        if out.is_file() {
            std::fs::remove_file(&out).unwrap()
        } else {
            std::fs::remove_dir_all(&out).unwrap()
        }
    });
}
