//! Babeltrace as reference: Debian's version and 2.1 read written CTF 1.8, and 2.1 also reads SPEC-2.0.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Directory, ichnos, root};

/// Options for both readers: all names and dates, and event and trace members that do not depend on a path.
const OPTIONS: [&str; 4] = [
    "--clock-gmt",
    "--clock-date",
    "--names=all",
    "--fields=trace:domain,trace:hostname,trace:procname,trace:vpid,loglevel,emf",
];

/// Readers for a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judges {
    /// The reader closest to the documents, for random traces with all types.
    Best,
    All,
}

/// Returns the installed readers for a dialect. Prints a line for each missing reader.
fn readers(dialect: &str, judges: Judges) -> Vec<PathBuf> {
    let [debian, latest] =
        [PathBuf::from("babeltrace2"), root().join("../shared/tools/babeltrace-2.1/babeltrace2")];
    let mut programs = match dialect {
        "ctf1.8" | "ctf1.8-packetized" => vec![debian, latest],
        "spec2" => vec![latest],
        _ => Vec::new(),
    };
    if judges == Judges::Best {
        programs.truncate(1);
    }
    programs.retain(|program| {
        let version = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        let is_installed = version.is_ok_and(|output| output.status.success());
        if !is_installed {
            eprintln!("skipped: `{}`, another reader of {dialect}, is not installed", program.display());
        }
        is_installed
    });
    programs
}

/// Copies a trace and renames ichnos' attributes: ichnos then reads it like any other reader.
fn copy_as_others_see_it(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let (from, to) = (item.as_ref().unwrap().path(), to.join(item.unwrap().file_name()));
        if from.is_dir() {
            copy_as_others_see_it(&from, &to);
        } else if from.file_name().is_some_and(|name| name == "metadata") {
            // The new name has the same length, because metadata can be packetized.
            let bytes = replaced(fs::read(&from).unwrap(), b"ichnos_annotations", b"others_annotations");
            fs::write(to, replaced(bytes, b"\"ichnos\":", b"\"others\":")).unwrap();
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

fn replaced(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let places = bytes.windows(from.len()).enumerate().filter(|(_, bytes)| *bytes == from);
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    places.into_iter().for_each(|place| bytes[place..place + to.len()].copy_from_slice(to));
    bytes
}

/// Sorts multiple labels of enumeration values: their order is undefined, and only some versions write braces.
fn with_sorted_labels(text: &str) -> String {
    let mut sorted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("( ") {
        sorted.push_str(before);
        sorted.push_str("( ");
        rest = after;
        let Some((mut labels, end)) = labels_before_container(after) else { continue };
        labels.sort_unstable();
        sorted.push_str(&labels.join(", "));
        rest = &after[end..];
    }
    sorted + rest
}

/// Returns the quoted labels at the start of a text that a value follows, and the position of the value.
fn labels_before_container(text: &str) -> Option<(Vec<&str>, usize)> {
    let mut labels = Vec::new();
    let mut at = if text.starts_with("{ ") { 2 } else { 0 };
    loop {
        let begin = at;
        let mut is_escaped = false;
        let inner = text.get(at..)?.strip_prefix('"')?;
        let end = inner.find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        })?;
        at += end + 2;
        labels.push(&text[begin..at]);
        match text.get(at..)? {
            more if more.starts_with(", ") => at += 2,
            end if end.starts_with(" }") => return Some((labels, at + 2)),
            end => return end.starts_with(" : container").then_some((labels, at)),
        }
    }
}

/// Compares other readers' output for a trace with `ichnos cat`. Returns the first difference, or the reason why a
/// reader rejects the trace.
pub fn difference(trace: &Path, dialect: &str, judges: Judges) -> Option<String> {
    let readers = readers(dialect, judges);
    if readers.is_empty() {
        return None;
    }
    let directory = Directory::new("oracle");
    let copy = directory.join("trace");
    copy_as_others_see_it(trace, &copy);
    let ours = ichnos(["cat", "-q"].iter().chain(&OPTIONS).copied().chain([copy.to_str().unwrap()]));
    let ours = with_sorted_labels(&ours.expect(0, &[]).out);
    readers.iter().find_map(|program| difference_of(program, &copy, &ours))
}

/// Removes event times before the clock origin. Babeltrace prints their time of day without a sign.
fn without_negative_times(ours: &str, theirs: &str) -> (String, String) {
    let rest = |line: &str| line.split_once(", ").map_or(String::new(), |(_, rest)| format!("{rest}\n"));
    let mut texts = (String::new(), String::new());
    let mut other = theirs.lines();
    for line in ours.lines() {
        let found = other.next();
        if line.starts_with("timestamp = -") {
            texts.0 += &rest(line);
            texts.1 += &found.map(rest).unwrap_or_default();
        } else {
            texts.0 += &format!("{line}\n");
            texts.1 += &found.map(|line| format!("{line}\n")).unwrap_or_default();
        }
    }
    other.for_each(|line| texts.1 += &format!("{line}\n"));
    texts
}

/// Compares a reader's text for a trace with ours.
fn difference_of(program: &Path, trace: &Path, ours: &str) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(OPTIONS).arg(trace).env("TZ", "UTC").stdin(Stdio::null()).output().unwrap();
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Some(format!("{} refuses it: {reason}\n", program.display()));
    }
    let theirs = with_sorted_labels(&String::from_utf8_lossy(&output.stdout));
    let (ours, theirs) = without_negative_times(ours, &theirs);
    if ours == theirs {
        return None;
    }
    let count = |text: &str| text.lines().count();
    let pair = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
    let (ours_here, theirs_here) = pair.unwrap_or_default();
    Some(format!(
        "{} and {} lines:\n  ichnos:      {ours_here}\n  babeltrace2: {theirs_here}",
        count(&ours),
        count(&theirs)
    ))
}
