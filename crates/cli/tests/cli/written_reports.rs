//! X-Trace reports as output format: `convert --to xtrace`, the verbs that edit, and `task export`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, example, ichnos, recorded, text};

/// Returns a trace's task graphs as text, without the line about clocks that cannot be corrected.
fn graphs(path: &Path) -> [String; 2] {
    [vec!["task", "show", "latest"], vec!["task", "list"]].map(|mut words| {
        words.extend(["--gmt", text(path)]);
        ichnos(words).expect(0, &[]).out
    })
}

/// Converts with verification, as `ichnos` does in all tests. Returns the losses.
fn convert(options: &[&str], path: &Path, out: &Path) -> String {
    let words = [&["convert", "-q", "--losses", "--force"], options, &[text(path), "-o", text(out)]].concat();
    ichnos(words).expect(0, &[]).out
}

#[test]
fn reports_have_the_same_graphs_in_both_dialects() {
    let directory = Directory::new("written-reports");
    let [once, other_way, back] = ["a.xtrace", "b.xtrace", "c.xtrace"].map(|name| directory.join(name));
    let names = ["xtrace/brown/text/small.txt", "xtrace/brown/medium.json", "xtrace/brown/download.json"];
    let traces = names.into_iter().filter_map(recorded).chain([example("hello-xtrace")]);
    for path in traces {
        let expected = graphs(&path);
        for (dialect, other) in [("text", "json"), ("json", "text")] {
            assert_eq!(convert(&["--strict", "--to-dialect", dialect], &path, &once), "");
            assert_eq!(graphs(&once), expected, "{}", path.display());
            ichnos(["check", "--strict", text(&once)]).expect(0, &[]);
            convert(&["--strict", "--to-dialect", other], &once, &other_way);
            convert(&["--strict", "--to-dialect", dialect, "-j", "3"], &other_way, &back);
            assert!(fs::read(&back).unwrap() == fs::read(&once).unwrap(), "{}", path.display());
        }
    }
}

/// A dialect option overrides an extension that stands for another dialect, and a note says so.
#[test]
fn an_extension_of_another_dialect_is_noted() {
    let directory = Directory::new("written-reports-dialect");
    let note = "note: --to-dialect json overrides the extension";
    for (name, options, is_noted) in [
        ("a.reports", &["--to-dialect", "json"][..], true),
        ("b.XTRACE", &["--to", "xtrace", "--to-dialect", "json"], true),
        ("c.reports", &["--to-dialect", "text"], false),
        ("d.reports", &[], false),
        ("e", &["--to", "xtrace", "--to-dialect", "json"], false),
    ] {
        let out = directory.join(name);
        let input = example("hello-xtrace");
        let words = [&["convert", text(&input), "-o", text(&out)][..], options].concat();
        let run = ichnos(words).expect(0, &[]);
        assert_eq!(run.err.contains(note), is_noted, "{name}: {}", run.err);
        let is_json = fs::read(&out).unwrap().starts_with(b"[");
        assert_eq!(is_json, options.contains(&"json"), "{name}");
    }
}

/// Reports return unchanged from another format that keeps their class names.
#[test]
fn reports_come_back_from_other_formats() {
    let directory = Directory::new("written-reports-via");
    let [direct, via, back] = ["direct.xtrace", "via", "back.xtrace"].map(|name| directory.join(name));
    let source = example("hello-xtrace");
    convert(&["--strict"], &source, &direct);
    for options in [["--to", "jsonl"], ["--to-dialect", "spec2"], ["--to-dialect", "prop1"]] {
        fs::remove_dir_all(&via).or_else(|_| fs::remove_file(&via)).ok();
        convert(&options, &source, &via);
        convert(&[], &via, &back);
        assert!(fs::read(&back).unwrap() == fs::read(&direct).unwrap(), "{options:?}");
    }
    // Member names change in CTF 1.8, but the task is the same.
    fs::remove_dir_all(&via).ok();
    convert(&["--to-dialect", "ctf1.8"], &source, &via);
    convert(&[], &via, &back);
    ichnos(["task", "list", text(&back)]).prints(&["9     10      8"]);
}

/// Each event from another format is in a report, a line in a report, or among the losses.
#[test]
fn events_of_other_formats_arrive_or_are_losses() {
    let directory = Directory::new("written-reports-foreign");
    let out = directory.join("out.xtrace");
    let examples = [
        "hello-lttng",
        "hello-dotnet",
        "hello-fxt",
        "hello-fuchsia",
        "hello-jsonl",
        "one-request/trace/stock",
    ];
    for name in examples {
        let source = example(name);
        let events = ichnos(["stats", "--json", text(&source)]).json()["events"].as_u64().unwrap();
        for orphans in ["drop", "chain"] {
            let words = [
                "convert",
                "--json",
                "--losses",
                "--force",
                "--orphans",
                orphans,
                text(&source),
                "-o",
                text(&out),
            ];
            let report = ichnos(words).json();
            let written = report["encoded_events"].as_u64().unwrap();
            let lost = |what: &str| -> u64 {
                let losses = report["losses"].as_array().unwrap().iter();
                let counted = losses.filter(|loss| loss["what"].as_str().unwrap().starts_with(what));
                counted.map(|loss| loss["count"].as_u64().unwrap()).sum()
            };
            let dropped = lost("event without a task or an operation");
            assert_eq!(written + dropped, events, "{name}: {report}");
            assert!(orphans == "drop" || dropped == 0, "{name}");
            let read = match written {
                0 => 0,
                _ => ichnos(["stats", "--json", text(&out)]).json()["events"].as_u64().unwrap(),
            };
            assert_eq!(read + lost("event -> line"), written, "{name}: {report}");
        }
    }
}

const VERBS: [&[&str]; 6] = [
    &["cut", "--begin", "-1h"],
    &["filter", "true"],
    &["merge"],
    &["split", "--by", "event"],
    &["repair"],
    &["convert", "--to", "xtrace"],
];

#[test]
fn reports_stay_reports() {
    let directory = Directory::new("edit-reports");
    let source = example("hello-xtrace/proxy.reports");
    for verb in VERBS {
        let out = directory.join(verb[0]);
        ichnos([verb, &["-q", text(&source), "-o", text(&out)]].concat()).expect(0, &[]);
        let parts: Vec<PathBuf> = match verb[0] {
            "split" => fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect(),
            _ => vec![out],
        };
        for part in parts {
            assert!(part.is_file(), "{verb:?}");
            ichnos(["info", text(&part)]).prints(&["X-Trace Report 1.0"]);
            assert_eq!(graphs(&part), graphs(&source), "{verb:?}");
        }
    }
}

/// A line that breaks a rule stays in its part. All other parts are sound.
#[test]
fn one_part_is_damaged() {
    let directory = Directory::new("split-damaged-reports");
    let (source, out) = (directory.join("in.reports"), directory.join("out"));
    let sound = fs::read_to_string(example("hello-xtrace/proxy.reports")).unwrap();
    let warnings = |text: &str| text.lines().filter(|line| line.starts_with("warning: ")).count();
    // In the first report, and in a report after a report of another part.
    for (host, line) in [("laptop", "Timestamp: 1175000000.000\n"), ("router", "Timestamp: 1175000000.011\n")]
    {
        fs::write(&source, sound.replacen(line, &format!("Edge: wrong\n{line}"), 1)).unwrap();
        let read = ichnos(["cat", "--format", "null", text(&source)]).expect(3, &[]).err;
        let words = ["split", "--by", "Host", "--force", text(&source), "-o", text(&out)];
        let split = ichnos(words).expect(3, &[]).err;
        assert_eq!(warnings(&split), warnings(&read), "{split}");
        let (mut reports, mut damaged) = (0, 0);
        for part in fs::read_dir(&out).unwrap() {
            let part = part.unwrap().path();
            let written = fs::read_to_string(&part).unwrap();
            let is_damaged = written.contains("Edge: wrong\n");
            assert_eq!(is_damaged, written.contains(&format!("Host: {host}\n")), "{}", part.display());
            let code = if is_damaged { 3 } else { 0 };
            ichnos(["cat", "--format", "null", text(&part)]).expect(code, &[]);
            reports += written.matches("X-Trace Report").count();
            damaged += usize::from(is_damaged);
        }
        assert_eq!((reports, damaged), (sound.matches("X-Trace Report").count(), 1), "{host}");
    }
}

#[test]
fn options_of_one_format() {
    let source = example("hello-lttng");
    let directory = Directory::new("written-reports-options");
    let out = directory.join("out.jsonl");
    ichnos(["convert", "--orphans", "chain", text(&source), "-o", text(&out)])
        .expect(2, &["`--orphans` is for output of the format xtrace, not of jsonl"]);
    ichnos(["convert", "--orphans", "keep", text(&source), "-o", text(&out)])
        .expect(2, &["invalid value 'keep'", "drop, chain"]);
    ichnos(["convert", "--to", "xtrace", "--to-dialect", "spec2", text(&source), "-o", text(&out)])
        .expect(2, &["unknown dialect `spec2`"]);
    ichnos(["formats"]).prints(&["convert --orphans", "each becomes an operation"]);
}

#[test]
fn one_task_alone() {
    let directory = Directory::new("task-export");
    let out = directory.join("task.xtrace");
    let inputs =
        [example("one-request/trace/shop.reports"), example("hello-xtrace"), example("hello-dotnet")];
    let inputs: Vec<&str> = inputs.iter().map(|path| text(path)).collect();
    ichnos([&["task", "export", "44F3", "--verify", "-o", text(&out)], &inputs[..]].concat()).expect(0, &[]);
    ichnos(["task", "list", text(&out)]).prints(&["44F31A6CBD1F5451", "1 task\n"]);
    // On the standard output, in another dialect, in another format.
    let json = ichnos(["task", "export", "0ACA", "--to-dialect", "json", inputs[1]]).expect(0, &[]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["id"], "0ACADE2007050801");
    assert_eq!(json[0]["reports"].as_array().unwrap().len(), 9);
    let lines = directory.join("task.jsonl");
    ichnos([&["task", "export", "00000011", "-o", text(&lines)], &inputs[..]].concat()).expect(0, &[]);
    ichnos(["stats", text(&lines)]).prints(&["Hello-World/WorkStart", "2 events"]);
    ichnos(["task", "export", "FFFF", inputs[1]]).expect(2, &["unknown task `FFFF`"]);
}

/// The traces of a request as one task: other events join the reports that they mention.
#[test]
fn traces_of_one_request_become_its_task() {
    let directory = Directory::new("task-export-mixed");
    let out = directory.join("task.xtrace");
    let request = example("one-request/trace");
    let mut inputs: Vec<PathBuf> =
        fs::read_dir(request).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    let mut words = vec!["task", "export", "44F3", "--verify", "-o", text(&out), "--offset"];
    words.push("*.log=2026-11-23T00:38:18.978261652Z");
    words.extend(inputs.iter().map(|path| text(path)));
    ichnos(words).expect(0, &[]);
    ichnos(["task", "list", text(&out)]).prints(&["44F31A6CBD1F5451", " 10     12      7 ", "1 task\n"]);
    let found = fs::read_to_string(&out).unwrap();
    assert_eq!(found.matches("\nEvent: ").count(), 7, "{found}");
    ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
}

#[test]
fn a_full_disk_is_an_error() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let source = example("hello-xtrace");
    for words in [vec!["convert", "--to", "xtrace"], vec!["task", "export", "0ACA"]] {
        let words = [&words[..], &[text(&source), "-o", text(full)]].concat();
        let mut command = crate::support::command();
        let output = command.args(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && err.contains("/dev/full: No space left on device"),
            "{err}"
        );
    }
}
