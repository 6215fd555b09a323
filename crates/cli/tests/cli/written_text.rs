//! Text output from the verbs that write traces.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, Run, ichnos, recorded, root, text};

/// Output names, with the format for `cat`, and `--to` if the name is not enough.
const TEXTS: [(&str, &str, Option<&str>); 5] = [
    ("x.csv", "csv", None),
    ("x.TSV", "tsv", None),
    ("x.txt", "pretty", None),
    ("x", "log", Some("log")),
    ("x.csv", "log-json", Some("log-json")),
];

/// Number of values of a field. It is more than the number of workers for parts.
const VALUES: usize = 80;

fn traces() -> Vec<PathBuf> {
    let examples = ["hello-ctf2", "hello-lttng", "hello-jsonl", "hello-xtrace", "hello-fuchsia/boot.log"];
    let recorded =
        ["nettrace/runtime/net10.0-nostacks.nettrace", "ctf/real/babeltrace/1/succeed/lttng-crash"]
            .into_iter()
            .filter_map(recorded);
    examples.into_iter().map(|name| root().join("examples").join(name)).chain(recorded).collect()
}

fn run(words: &[&str], out: &Path) -> Run {
    ichnos([words, &["-q", "-o", text(out)]].concat())
}

/// Writes JSON Lines with events whose field `n` alternates.
fn lines(path: &Path) {
    let mut lines = String::new();
    for i in 0..4 * VALUES {
        let (time, n) = (1_795_205_987_000_000_000 + i, i % VALUES);
        writeln!(lines, "{{\"ts\":{time},\"name\":\"e\",\"payload\":{{\"n\":{n}}}}}").unwrap();
    }
    fs::write(path, lines).unwrap();
}

#[test]
fn text_equals_the_output_of_cat() {
    let directory = Directory::new("written-text");
    for trace in traces() {
        for (name, format, to) in TEXTS {
            let out = directory.join(name);
            let trace = text(&trace);
            let to: Vec<&str> = to.iter().flat_map(|to| ["--to", to]).collect();
            let selected = ["--event", "*[a-m]*", "--begin", "+1us"];
            let (all, some) = (["cat", "-q", "--format", format, trace], [&selected[..], &to[..]].concat());
            let cat = ichnos([&all[..], &selected[..]].concat());
            for words in
                [&["convert", trace][..], &["cut", trace], &["merge", trace], &["filter", "true", trace]]
            {
                let written = run(&[words, &some[..]].concat(), &out).expect(cat.code, &[]);
                assert_eq!(written.out, "");
                assert!(fs::read_to_string(&out).unwrap() == cat.out, "{words:?} {name} {}", out.display());
                fs::remove_file(&out).unwrap();
            }
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let Some(trace) = recorded("ctf/real/babeltrace/1/succeed/lttng-crash") else { return };
    let directory = Directory::new("written-text-threads");
    let [one, four] = ["1", "4"].map(|threads| {
        let out = directory.join(format!("{threads}.csv"));
        run(&["convert", text(&trace), "-j", threads], &out).expect(0, &[]);
        fs::read(out).unwrap()
    });
    assert!(one == four);
}

#[test]
fn parts_equal_the_selection_of_cat() {
    let directory = Directory::new("written-text-parts");
    let trace = directory.join("many.jsonl");
    lines(&trace);
    for (to, extension) in [("csv", "csv"), ("pretty", "txt"), ("log-json", "json")] {
        let out = directory.join(to);
        run(&["split", "--by", "n", "--to", to, text(&trace)], &out).expect(0, &[]);
        assert_eq!(fs::read_dir(&out).unwrap().count(), VALUES);
        for n in [0, 1, 63, 64, 65, VALUES - 1] {
            let filter = format!("n == {n}");
            let cat = ichnos(["cat", "-q", "--format", to, "--filter", &filter, text(&trace)]).expect(0, &[]);
            let part = fs::read_to_string(out.join(format!("n={n}.{extension}"))).unwrap();
            assert_eq!(part, cat.out, "{to} {n}");
        }
    }
    let out = directory.join("times");
    run(&["split", "--by", "time=150ns", "--to", "csv", text(&trace)], &out).expect(0, &[]);
    let parts: String = ["001", "002", "003"]
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let part = fs::read_to_string(out.join(format!("{name}.csv"))).unwrap();
            let skipped = if number == 0 { 0 } else { part.find('\n').unwrap() + 1 };
            part[skipped..].to_owned()
        })
        .collect();
    assert_eq!(parts, ichnos(["cat", "-q", "--format", "csv", text(&trace)]).out);
}

#[test]
fn options_of_traces_are_refused() {
    let directory = Directory::new("written-text-options");
    let trace = root().join("examples/hello-lttng");
    let out = directory.join("x.csv");
    let refused = |words: &[&str], message: &str| {
        run(&[words, &[text(&trace)]].concat(), &out).expect(2, &[message]);
        assert!(!out.exists());
    };
    for option in ["--verify", "--losses", "--index", "--dry-run"] {
        refused(&["convert", option], &format!("{option} is for traces, but the output is text (csv)"));
        refused(&["split", "--by", "event", option], &format!("leave out {option}"));
    }
    refused(&["convert", "--to", "chrome", "--verify"], "--verify: viewer files cannot be read back");
    refused(&["convert", "--packet-size", "4K"], "--packet-size is for traces");
    refused(&["merge", "--to-dialect", "ctf2"], "--to-dialect is for traces");
    refused(&["repair"], "repair is for trace packets, not for text");
    refused(&["cut", "--begin", "+1s", "--align", "packet"], "--align packet is for trace packets");
    run(&["convert", text(&trace)], &directory.join("x.foo"))
        .expect(2, &["cannot infer the output format", "csv, tsv, pretty, log, log-json"]);
}

#[test]
fn an_output_is_old_or_new() {
    let directory = Directory::new("written-text-old");
    let trace = root().join("examples/hello-lttng");
    let out = directory.join("x.csv");
    fs::write(&out, "old").unwrap();
    run(&["convert", text(&trace)], &out).expect(2, &["the file exists and is not empty"]);
    run(&["filter", "no_such_field == 1", text(&trace), "--force"], &out).expect(2, &[]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "old");
    run(&["convert", text(&trace), "--force"], &out).expect(0, &[]);
    assert!(fs::read_to_string(&out).unwrap().starts_with("time,event,"));
    assert_eq!(fs::read_dir(&*directory).unwrap().count(), 1);
    // Tables in a directory may belong to the user.
    run(&["split", "--by", "event", "--to", "csv", text(&trace), "--force"], &directory)
        .expect(2, &["text may be from another program"]);
    assert_eq!(fs::read_dir(&*directory).unwrap().count(), 1);
}

#[test]
fn text_goes_to_standard_output() {
    let trace = root().join("examples/hello-lttng");
    let cat = ichnos(["cat", "-q", "--format", "tsv", text(&trace)]);
    assert_eq!(run(&["convert", "--to", "tsv", text(&trace)], Path::new("-")).expect(0, &[]).out, cat.out);
}
