//! `ichnos babeltrace2`, and a link to the program with this name.

#[cfg(unix)]
mod inputs;
#[cfg(unix)]
mod tables;

use std::process::{Command, Stdio};

#[cfg(unix)]
use tables::Compared;

use crate::support::{Directory, Run, ichnos_in, trace};

/// Runs a command line of babeltrace2 in a directory.
fn run(directory: &Directory, line: &str) -> Run {
    ichnos_in(directory, std::iter::once("babeltrace2").chain(line.split_whitespace()))
}

/// Copies a trace into a directory, as `t`.
fn directory(name: &str) -> Directory {
    let trace = trace(name);
    let directory = Directory::new(name);
    std::fs::create_dir(directory.join("t")).unwrap();
    for file in ["metadata", "stream_a", "stream_b"] {
        std::fs::copy(trace.join(file), directory.join("t").join(file)).unwrap();
    }
    directory
}

/// Command lines that only print arguments or fail, without help texts.
const LINES: &[&str] = &[
    "t --run-args",
    "t --run-args-0",
    "t -p a=1 -l D --run-args",
    "-v t --run-args",
    "t --begin 1 --end 2 --run-args",
    "t --timerange [1,2] --clock-gmt --run-args",
    "t --clock-cycles --clock-date --clock-seconds --no-delta --run-args",
    "t --clock-offset 5 --clock-offset-ns -5 --clock-force-correlate --run-args",
    "t --color never -f trace,emf -n ctx,header --run-args",
    "t --fields all --names none -w out --run-args",
    "t --debug-info --debug-info-dir /d --debug-info-full-path --debug-info-target-prefix /p --run-args",
    "t -i ctf -o ctf -w out --run-args",
    "t -o dummy -c flt.a.b -c x:flt.a.b -p q=[1] --run-args",
    "t -c sink.a.b -c muxer:flt.a.b --run-args",
    "t --retry-duration 5 --run-args",
    "-i lttng-live net://h/host/a/b --run-args",
    "-i lttng-live http://h --run-args",
    "t --run-args --stream-intersection",
    "t -o ctf",
    "t --begin 1 --begin 2",
    "t --timerange 1",
    "t -f nothing",
    "t -c a.b",
    "t --bogus",
    "-l Q t",
    "-p a=1",
    "run -c s:src.a.b",
    "run -c s:src.a.b -c k:sink.a.b",
    "run -c s:src.a.b -c k:sink.a.b -x k:s",
    "run -c s:src.a.b -p a={b=[1",
    "run -b a=0x",
    "query src.a b",
    "query src.ctf.fs x -p a=",
    "help",
    "help a b",
    "list-plugins x",
];

/// Returns the causes in an error message, without places and with single spaces.
fn causes(message: &str) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for line in message.lines() {
        if line.starts_with("ERROR: ") || line.starts_with("CAUSED BY ") {
            causes.push(String::new());
        } else if let Some(cause) = causes.last_mut() {
            cause.extend(line.split_whitespace().map(|word| format!("{word} ")));
        }
    }
    causes
}

/// Replaces the number of an argument, because versions count arguments differently.
fn without_numbers(cause: &str) -> String {
    match cause.split_once("argument #") {
        Some((before, after)) => {
            format!("{before}argument #N{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => cause.to_owned(),
    }
}

#[test]
fn arguments_are_those_of_babeltrace2() {
    let directory = directory("babeltrace2-arguments");
    let mut is_skipped = false;
    for line in LINES {
        let ours = run(&directory, line);
        let output = Command::new("babeltrace2")
            .args(line.split_whitespace())
            .current_dir(&*directory)
            .env_remove("BABELTRACE_PLUGIN_PATH")
            .stdin(Stdio::null())
            .output();
        let Ok(theirs) = output else {
            is_skipped = true;
            break;
        };
        assert_eq!(Some(ours.code), theirs.status.code(), "{line}: {}", ours.err);
        assert_eq!(ours.out, String::from_utf8_lossy(&theirs.stdout), "{line}");
        let expected = String::from_utf8_lossy(&theirs.stderr);
        let expected = expected.replace("Cannot creation connections", "Cannot create connections");
        let all = |message| causes(message).iter().map(|cause| without_numbers(cause)).collect::<Vec<_>>();
        assert_eq!(all(&ours.err), all(&expected), "{line}");
    }
    if is_skipped {
        eprintln!("skipped: `babeltrace2` is not installed");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_the_verb() {
    let directory = directory("babeltrace2-link");
    let link = directory.join("babeltrace2");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ichnos"), &link).unwrap();
    for line in ["--version", "-h", "list-plugins", "help sink.text.pretty", "t --run-args", "-l Q", "-q"] {
        let expected = run(&directory, line);
        let output = Command::new(&link)
            .args(line.split_whitespace())
            .current_dir(&*directory)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(expected.code), "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected.out, "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected.err, "{line}");
    }
    run(&directory, "--version").expect(0, &[]).prints(&["Babeltrace 2.", "ichnos"]);
    run(&directory, "-l Q")
        .expect(1, &["ERROR:    [Babeltrace CLI]", "Invalid argument for --log-level option"]);
    run(&directory, "help src.py.thing").expect(1, &["Cannot find plugin: plugin-name=\"py\"", "Python"]);
}

/// Tables and what is compared.
#[cfg(unix)]
const TABLES: [(&str, Compared); 8] = [
    ("command", Compared::Everything),
    ("convert", Compared::Everything),
    ("files", Compared::Everything),
    ("graph", Compared::Everything),
    ("help", Compared::Names),
    ("text", Compared::Everything),
    ("times", Compared::Everything),
    ("values", Compared::Everything),
];

macro_rules! table_tests {
    ($($test:ident: $table:literal,)*) => {
        $(#[cfg(unix)]
        #[test]
        fn $test() {
            let (table, compared) = TABLES.into_iter().find(|(table, _)| *table == $table).unwrap();
            tables::check(table, compared);
        })*
    };
}

table_tests! {
    table_of_commands: "command",
    table_of_conversions: "convert",
    table_of_files: "files",
    table_of_graphs: "graph",
    table_of_help: "help",
    table_of_text: "text",
    table_of_times: "times",
    table_of_values: "values",
}

/// Each option and component class is in a table.
#[cfg(unix)]
#[test]
fn the_tables_are_complete() {
    let lines: Vec<String> = TABLES.iter().flat_map(|(table, _)| tables::lines(table)).collect();
    assert!(lines.len() >= 300, "{}", lines.len());
    let is_word = |line: &str, word: &str| line.split([' ', '=', '\'']).any(|part| part == word);
    let directory = directory("babeltrace2-tables-complete");
    let mut missing = Vec::new();
    for help in ["-h", "convert -h", "run -h", "query -h", "help -h", "list-plugins -h"] {
        for name in tables::names(&run(&directory, help).out).lines() {
            if !lines.iter().any(|line| is_word(line, name)) {
                missing.push(name.to_owned());
            }
        }
    }
    assert_eq!(missing, [""; 0]);
    for class in tables::names(&run(&directory, "list-plugins").out).lines() {
        let class = class.trim_matches('\'').replace("source.", "src.").replace("filter.", "flt.");
        assert!(lines.iter().any(|line| line.contains(&class)), "{class}");
    }
}
