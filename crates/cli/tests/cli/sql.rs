//! `ichnos sql`: runs DuckDB. Here, a script takes its place. `crates/duckdb/tests/sql_verb.py` runs the real one.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Directory, Run, command, text};
use crate::terminal::with_terminal;

/// Returns `ichnos sql` with programs of a directory only.
fn sql_command(programs: &Path, extension: Option<&Path>, arguments: &[&str]) -> Command {
    let mut command = command();
    command.arg("sql").args(arguments).env("PATH", programs).env("ICHNOS_PYTHON", programs.join("python"));
    match extension {
        Some(extension) => command.env("ICHNOS_DUCKDB_EXTENSION", extension),
        None => command.env_remove("ICHNOS_DUCKDB_EXTENSION"),
    };
    command.stdin(Stdio::null());
    command
}

fn sql(programs: &Path, extension: Option<&Path>, arguments: &[&str]) -> Run {
    let output = sql_command(programs, extension, arguments).output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn script(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn duckdb_gets_the_statements_and_the_query() {
    let directory = Directory::new("sql");
    let extension = directory.join("it's.duckdb_extension");
    fs::write(&extension, "").unwrap();
    script(&directory.join("duckdb"), "printf '<%s>\\n' \"$@\"");
    let load = format!("LOAD '{}';\n", text(&extension).replace('\'', "''"));
    let run = sql(&directory, Some(&extension), &["a trace", "b", "--format=csv", "FROM trace, gaps"])
        .expect(0, &[]);
    let opened = "CREATE OR REPLACE TEMP VIEW trace AS FROM read_trace(['a trace', 'b']);\n";
    assert!(
        run.out.starts_with(&format!(
            "<-unsigned>\n<-csv>\n<-nullvalue>\n<>\n<-cmd>\n<{load}{opened}-- Questions"
        )),
        "{}",
        run.out
    );
    assert!(
        run.out.ends_with("VIEW gaps AS FROM gaps(['a trace', 'b']);\n>\n<-c>\n<FROM trace, gaps>\n"),
        "{}",
        run.out
    );
    // Without a query, the shell gets all views.
    let run = sql(&directory, Some(&extension), &["a"]).expect(0, &[]);
    run.prints(&[
        "<-unsigned>\n<-cmd>\n",
        "TEMP VIEW losses AS FROM trace_losses(['a']);",
        "TEMP MACRO slowest_spans(",
    ]);
    // A query can begin with a comment.
    let run = sql(&directory, Some(&extension), &["a", "-- all = 1\nFROM info", "-q"]).expect(0, &[]);
    assert!(
        run.out.ends_with("VIEW info AS FROM trace_info(['a']);\n>\n<-c>\n< -- all = 1\nFROM info>\n"),
        "{}",
        run.out
    );
    let run = sql(&directory, Some(&extension), &["a", "--x=1\nFROM info"]).expect(0, &[]);
    assert!(run.out.ends_with("<-c>\n< --x=1\nFROM info>\n"), "{}", run.out);
    // An option remains one: wrong, or with a value of several lines.
    sql(&directory, Some(&extension), &["a", "--fliter a == 1"]).expect(2, &["unexpected argument"]);
    let run = sql(&directory, Some(&extension), &["a", "FROM spans", "--filter=f\n== 1"]).expect(0, &[]);
    run.prints(&["trace_spans(['a'], filter := 'f\n== 1');"]);
    let selecting =
        ["a", "FROM spans", "--event", "x*", "--event=y", "--filter=f == 'z'", "--begin=-1s", "--map=m"];
    let opening = ["--offset=a=+1s", "--assume-correlated", "--dry-run"];
    let run = sql(&directory, Some(&extension), &[&selecting[..], &opening].concat());
    let spans = "trace_spans(['a'], event := ['x*', 'y'], filter := 'f == ''z''', begin := '-1s', map := ['m'], \
        clock_offset := ['a=+1s'], assume_correlated := true);\n";
    assert_eq!(run.expect(0, &[]).out, format!("{load}CREATE OR REPLACE TEMP VIEW spans AS FROM {spans}"));
}

#[test]
fn failures_say_what_is_missing() {
    let directory = Directory::new("sql-missing");
    let extension = directory.join("e.duckdb_extension");
    sql(&directory, Some(&extension), &["a", "FROM trace"])
        .expect(2, &["ICHNOS_DUCKDB_EXTENSION: there is no file"]);
    sql(&directory, None, &["a", "FROM trace"]).expect(
        2,
        &[
            "the DuckDB extension is not installed",
            "lib/ichnos/ichnos.duckdb_extension",
            "crates/duckdb/build.sh",
        ],
    );
    fs::write(&extension, "").unwrap();
    sql(&directory, Some(&extension), &["FROM trace"]).expect(2, &["there is a query, but no trace"]);
    sql(&directory, Some(&extension), &["a", "FROM trace"])
        .expect(2, &["there is no `duckdb` on PATH", "pip install duckdb"]);
    // Python runs a script with the same statements.
    script(
        &directory.join("python"),
        "test \"$2\" = 'import duckdb' || printf '<%s>\\n' \"$3\" \"$4\" \"$5\"",
    );
    // A file that nobody may execute is no program.
    fs::write(directory.join("duckdb"), "").unwrap();
    let run = sql(&directory, Some(&extension), &["a", "FROM info", "--format=jsonlines"]).expect(0, &[]);
    run.prints(&["FROM trace_info(['a']);\n>\n<FROM info>\n<jsonlines>\n"]);
    sql(&directory, Some(&extension), &["a"]).expect(2, &["there is no query", "no `duckdb` on PATH"]);
    script(&directory.join("duckdb"), "echo 'Parser Error' >&2; exit 1");
    let run = sql(&directory, Some(&extension), &["a", "FORM trace"]).expect(2, &["Parser Error"]);
    assert_eq!(run.err, "Parser Error\n");
}

/// DuckDB looks for Ctrl-C only between rows. `ichnos sql` does not wait for that.
#[test]
fn ctrl_c_ends_a_query_without_rows() {
    let directory = Directory::new("sql-interrupted");
    let extension = directory.join("e.duckdb_extension");
    fs::write(&extension, "").unwrap();
    script(&directory.join("duckdb"), "trap '' INT\necho waiting >&2\nexec /bin/sleep 60");
    for format in ["box", "csv"] {
        let arguments = ["a", "FROM trace", "--format", format];
        let mut command = sql_command(&directory, Some(&extension), &arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let began = Instant::now();
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(kill.success() && line == "waiting\n", "{line}");
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}

/// A pager that shows the first page reads no more.
#[test]
fn ctrl_c_ends_a_query_whose_output_nobody_reads() {
    let directory = Directory::new("sql-unread");
    let extension = directory.join("e.duckdb_extension");
    fs::write(&extension, "").unwrap();
    // More than the output holds, and less than it holds together with the pipe of the script.
    script(
        &directory.join("duckdb"),
        "/usr/bin/head -c 100000 /dev/zero\necho waiting >&2\nexec /bin/sleep 60",
    );
    let mut command = sql_command(&directory, Some(&extension), &["a", "FROM trace", "--format=csv"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let unread = child.stdout.take();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let began = Instant::now();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success() && line == "waiting\n", "{line}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(10));
    drop(unread);
}

/// Checks that a terminal shows the first line before the program gets the second one: the next query can be slow.
fn shows_lines_at_once(mut command: Command) {
    let terminal = nix::pty::openpty(None, None).unwrap();
    command.env("LC_ALL", "C.UTF-8").stdin(Stdio::piped()).stdout(terminal.slave).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(fs::File::from(terminal.master));
    let mut shown = String::new();
    lines.read_line(&mut shown).unwrap();
    child.stdin.take().unwrap().write_all(b"second\n").unwrap();
    lines.read_line(&mut shown).unwrap();
    assert_eq!(shown.replace('\r', ""), "│first\nsecond\n");
    drop(command);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_terminal_shows_an_answer_at_once() {
    let directory = Directory::new("sql-answers");
    let extension = directory.join("e.duckdb_extension");
    fs::write(&extension, "").unwrap();
    script(&directory.join("duckdb"), "printf '\\342\\224\\202first\\n'\nread line\necho \"$line\"");
    for format in ["box", "json"] {
        shows_lines_at_once(sql_command(
            &directory,
            Some(&extension),
            &["a", "FROM trace", "--format", format],
        ));
    }
    // This program writes blocks into a pipe, as DuckDB's own.
    if Command::new("stdbuf").arg("--version").output().is_err() {
        eprintln!("skipped: a program that writes blocks (there is no `stdbuf`)");
        return;
    }
    script(&directory.join("duckdb"), "(echo '│first'; read line; echo \"$line\") | cut -b 1-");
    let mut command = sql_command(&directory, Some(&extension), &["a", "FROM trace"]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", directory.display()));
    shows_lines_at_once(command);
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let directory = Directory::new("sql-full");
    let extension = directory.join("e.duckdb_extension");
    fs::write(&extension, "").unwrap();
    script(&directory.join("duckdb"), "echo answer");
    for format in ["box", "csv"] {
        let arguments = ["a", "FROM trace", "--format", format];
        let mut command = sql_command(&directory, Some(&extension), &arguments);
        let output = command.stdout(full.try_clone().unwrap()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("No space left on device"), "{errors}");
    }
}

#[test]
fn a_terminal_gets_errors_without_escape_sequences() {
    let directory = Directory::new("sql-hostile");
    let extension = directory.join("e.duckdb_extension");
    fs::write(&extension, "").unwrap();
    script(&directory.join("duckdb"), "printf 'Candidates: \"n\\033[31mOWNED\"\\n' >&2; exit 1");
    for format in ["box", "csv"] {
        let arguments = ["a", "SELECT number FROM trace", "--format", format];
        let (code, shown) = with_terminal(sql_command(&directory, Some(&extension), &arguments));
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!((code, &*shown), (2, "Candidates: \"n\\x1b[31mOWNED\"\n"));
    }
}

#[test]
fn a_terminal_gets_values_without_escape_sequences() {
    let directory = Directory::new("sql-values");
    let extension = directory.join("e.duckdb_extension");
    fs::write(&extension, "").unwrap();
    script(&directory.join("duckdb"), "printf '%s a\\033[31m\\302\\2331m' \"$3\"");
    for (format, third) in [("box", ".maxwidth 77"), ("csv", "-nullvalue")] {
        let arguments = ["a", "SELECT number FROM trace", "--format", format];
        let mut command = sql_command(&directory, Some(&extension), &arguments);
        command.env("COLUMNS", "77").env("LC_ALL", "C.UTF-8");
        let (code, shown) = with_terminal(command);
        assert_eq!(
            (code, &*String::from_utf8(shown).unwrap()),
            (0, &*format!("{third} a\\x1b[31m\\u{{9b}}1m"))
        );
    }
}
