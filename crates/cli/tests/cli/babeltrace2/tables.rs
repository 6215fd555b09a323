//! Tables of command lines with their output, compared with files and with the installed `babeltrace2`.
//!
//! A line `$ COMMAND` of a file starts a row, for a shell. `> ` is a line of standard output (`>|` has no end of
//! line), `! ` a warning or the innermost cause of a failure, and `= ` the exit code. The outputs are those of
//! Babeltrace 2.0.4, except in rows with `~ REASON`: there they are ours, and differ for that reason.
//! `SNAPSHOTS=overwrite` writes the files again.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use snapbox::assert::DEFAULT_ACTION_ENV;
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

use super::{causes, inputs, without_numbers};
use crate::support::Directory;
use crate::transcript::shown;

/// Command line in a table.
struct Row<'a> {
    /// Comments and empty lines before it.
    before: String,
    line: &'a str,
    /// Reason for an output that differs from Babeltrace's.
    reason: Option<&'a str>,
}

fn rows(text: &str) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut before = String::new();
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("$ ") {
            rows.push(Row { before: std::mem::take(&mut before), line, reason: None });
        } else if let (Some(row), Some(reason)) = (rows.last_mut(), line.strip_prefix("~ ")) {
            row.reason = Some(reason);
        } else if line.is_empty() || line.starts_with('#') {
            before += line;
            before.push('\n');
        }
    }
    rows
}

/// Part of the output that is compared.
#[derive(Clone, Copy, PartialEq)]
pub enum Compared {
    Everything,
    /// Names of options and component classes, because help has words of its own.
    Names,
}

/// `babeltrace2` with its inputs.
struct Program {
    directory: Directory,
}

impl Program {
    fn new(program: &Path) -> Self {
        let directory = Directory::new("babeltrace2-tables");
        fs::create_dir_all(directory.join("bin")).unwrap();
        std::os::unix::fs::symlink(program, directory.join("bin/babeltrace2")).unwrap();
        fs::create_dir(directory.join("w")).unwrap();
        inputs::write_inputs(&directory.join("w"));
        Self { directory }
    }

    /// Executes a command line. Returns its output as a table has it.
    fn run(&self, line: &str, compared: Compared) -> String {
        let path = format!("{}:/usr/bin:/bin", self.directory.join("bin").display());
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.directory.join("w"))
            .env_clear()
            .envs([("PATH", &*path), ("TZ", "UTC"), ("HOME", "/nonexistent")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let _ = fs::remove_dir_all(self.directory.join("w/out"));
        let _ = fs::remove_file(self.directory.join("w/out"));
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!err.contains("panicked"), "{line}: {err}");
        let (out, code) = (String::from_utf8_lossy(&output.stdout), output.status.code().unwrap_or(-1));
        let out = match compared {
            Compared::Everything => out.into_owned(),
            Compared::Names => names(&out),
        };
        let mut text = String::new();
        for line in out.split_inclusive('\n') {
            text += match line.trim_end_matches('\n') {
                "" => ">",
                rest if rest == line => ">| ",
                _ => "> ",
            };
            text += line;
        }
        if !out.is_empty() && !out.ends_with('\n') {
            text.push('\n');
        }
        for message in messages(&err) {
            writeln!(text, "! {message}").unwrap();
        }
        writeln!(text, "= {code}").unwrap();
        shown(&text).replace("/tmp/babeltrace2-tables/w", "[DIR]")
    }
}

/// Returns the options and component classes that a text names, one a line.
pub fn names(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-.'".contains(c);
    let is_name = |word: &&str| {
        let class = word.trim_matches('\'');
        let is_class = ["source.", "filter.", "sink."].iter().any(|kind| class.starts_with(kind));
        is_class && word.starts_with('\'') || word.starts_with("--") && word.len() > 2
    };
    let words = text.split(|c| !is_part(c)).map(|word| word.trim_end_matches(['.', '-']));
    let mut names: Vec<&str> = words.filter(is_name).collect();
    names.sort_unstable();
    names.dedup();
    names.iter().map(|name| format!("{name}\n")).collect()
}

/// Starts of details in a cause: addresses in memory, and names of another form.
const DETAILS: [&str; 7] =
    [": status=", ": comp-", ": cc-", ": query-exec-", ": port-", ": upstream-port-", ": plugin-name="];

/// Returns the warnings, and the innermost cause of a failure.
fn messages(err: &str) -> Vec<String> {
    let warnings = err.lines().filter_map(warning);
    let cause = causes(err).pop().map(|cause| {
        let cause = without_numbers(cause.trim_end()).replace("Cannot creation", "Cannot create");
        let ends = DETAILS.iter().filter_map(|details| cause.find(details));
        cause[..ends.min().unwrap_or(cause.len())].to_owned()
    });
    warnings.chain(cause).collect()
}

/// Returns a warning, or `None` for another line. Babeltrace logs a warning of an input without a trace.
fn warning(line: &str) -> Option<String> {
    let (_, logged) = line.split_once(" W CLI-CFG-SRC-AUTO-DISC ").unzip();
    let text = logged.and_then(|logged| logged.find("No trace was found").map(|start| &logged[start..]));
    match text {
        Some(text) => Some(format!("WARNING: {text}")),
        None => line.starts_with("WARNING: ").then(|| without_uid(line)),
    }
}

/// Replaces the identifier of a trace, because a written trace has a new one.
fn without_uid(line: &str) -> String {
    let starts = ["(UUID: ", "(UID: ", "(no UUID", "(no UID"];
    let parts = starts.iter().find_map(|start| line.split_once(start));
    match parts.and_then(|(before, after)| Some((before, after.split_once(')')?.1))) {
        Some((before, after)) => format!("{before}([UID]){after}"),
        None => line.to_owned(),
    }
}

fn table(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/babeltrace2");
    directory.join(name).with_extension("txt")
}

/// Returns the installed `babeltrace2`, if it is the version of the tables.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let program =
        std::env::split_paths(&path).map(|path| path.join("babeltrace2")).find(|path| path.is_file());
    let is_version = |program: &PathBuf| {
        let output = Command::new(program).arg("--version").output().ok()?;
        output.stdout.starts_with(b"Babeltrace 2.0.4 ").then_some(())
    };
    let program = program.filter(|program| is_version(program).is_some());
    if program.is_none() {
        eprintln!("skipped: `babeltrace2` 2.0.4 is not installed");
    }
    program
}

/// Executes a table.
#[track_caller]
pub fn check(name: &str, compared: Compared) {
    let file = table(name);
    let text = fs::read_to_string(&file).unwrap();
    let ours = Program::new(Path::new(env!("CARGO_BIN_EXE_ichnos")));
    let theirs = installed().map(|program| Program::new(&program));
    let overwrites = std::env::var_os(DEFAULT_ACTION_ENV).is_some_and(|action| action == "overwrite");
    let mut found = String::new();
    let mut problems = Vec::new();
    for Row { before, line, mut reason } in rows(&text) {
        let mut block = ours.run(line, compared);
        if let Some(theirs) = &theirs {
            let expected = theirs.run(line, compared);
            if let Some(why) = reason.take_if(|_| block == expected && overwrites) {
                eprintln!("$ {line}\nis as Babeltrace now: {why}");
            } else if let Some(why) = reason.filter(|_| block == expected) {
                problems.push(format!("$ {line}\nis as Babeltrace: {why}\n"));
            } else if reason.is_none() && block != expected {
                problems.push(format!("$ {line}\n{expected}--- ours\n{block}"));
                if overwrites {
                    block = expected;
                }
            }
        }
        let reason = reason.map(|reason| format!("~ {reason}\n")).unwrap_or_default();
        write!(found, "{before}$ {line}\n{reason}{block}").unwrap();
    }
    let expected = Data::read_from(&file, Some(DataFormat::Text)).raw();
    Assert::new().action_env(DEFAULT_ACTION_ENV).eq(Data::text(found), expected);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Returns the command lines of a table.
pub fn lines(name: &str) -> Vec<String> {
    rows(&fs::read_to_string(table(name)).unwrap()).iter().map(|row| row.line.to_owned()).collect()
}
