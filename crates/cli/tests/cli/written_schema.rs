//! `schema --as`: metadata alone, for other programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichnos_testing::is_like_another;

use crate::support::{Directory, command, ichnos, recorded, trace};
use crate::transcript::transcript;

/// Traces whose times change when their metadata is written in another dialect, because packets lack a start time. In
/// CTF 1.8, clocks continue from packet to packet. In CTF 2, they start at 0.
const OTHER_TIMES: [&str; 1] = ["barectf/assembled/counter-clock__dst-packet-features__end-ts-multi"];

/// Traces on which babeltrace2 2.0 crashes, whatever their metadata looks like.
const CRASHES: [&str; 2] = ["babeltrace/1/succeed/def-clk-freq", "babeltrace/1/succeed/meta-ctx-sequence"];

/// Writes a directory with a trace's data and other metadata.
fn with_metadata(trace: &Path, metadata: &str) -> Directory {
    let copy = Directory::new("with-metadata");
    for entry in fs::read_dir(trace).unwrap().flatten() {
        if entry.file_name() != "metadata" && entry.path().is_file() {
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
    }
    fs::write(copy.join("metadata"), metadata).unwrap();
    copy
}

/// Returns a program's output for a trace, and its exit code.
fn printed(mut command: Command, trace: &Path) -> (Option<i32>, Vec<u8>) {
    let output = command.arg(trace).env("TZ", "UTC").output().unwrap();
    (output.status.code(), output.stdout)
}

fn cat() -> Command {
    let mut cat = command();
    cat.args(["cat", "--quiet"]);
    cat
}

#[test]
fn schemas_in_all_languages() {
    let _transcript = transcript!();
    let directory = trace("languages");
    let path = directory.to_str().unwrap();
    let compare = |language: &str, directory: &Path| {
        let written = ichnos(["schema", "--as", language, path]).out;
        let copy = with_metadata(directory, &written);
        let [ours, original] = [&*copy, directory].map(|trace| printed(cat(), trace));
        assert_eq!(String::from_utf8(ours.1), String::from_utf8(original.1), "{language}");
    };
    compare("tsdl", &directory);
    compare("spec2", &directory);
    compare("prop1", &directory);
    // The environment of the trace does not fit in the metadata file.
    ichnos(["schema", "--as", "prop2", path]).expect(0, &["the environment is not part of"]);
    let metadata = fs::read_to_string(directory.join("metadata")).unwrap();
    let (before, after) = metadata.split_once("env {").unwrap();
    let metadata = format!("{before}{}", after.split_once("};").unwrap().1);
    fs::write(directory.join("metadata"), metadata).unwrap();
    compare("prop2", &directory);
}

#[test]
fn a_schema_needs_a_single_trace() {
    let (one, other) = (trace("one"), trace("other"));
    let [one, other] = [&one, &other].map(|directory| directory.to_str().unwrap());
    let run = ichnos(["schema", "--as", "spec2", one, other])
        .expect(2, &["expected one trace, found 2", one, other]);
    assert_eq!(run.out, "");
    ichnos(["schema", "--as", "spec2", "--json", one]).expect(2, &["cannot be used with"]);
    ichnos(["schema", "--as", "yaml", one]).expect(2, &["tsdl", "prop1", "prop2", "spec2"]);
    // Alternative names of the same languages.
    for (name, alias) in [("tsdl", "ctf1.8"), ("spec2", "ctf2")] {
        let [name, alias] =
            [name, alias].map(|name| ichnos(["schema", "--as", name, one]).expect(0, &[]).out);
        assert_eq!(name, alias);
    }
}

/// Traces in formats without a metadata language also have schemas.
#[test]
fn schemas_of_other_formats() {
    let examples = crate::support::root().join("examples");
    let path = examples.join("hello-fuchsia");
    let run = ichnos(["schema", "--as", "spec2", path.to_str().unwrap()]);
    assert!([0, 2].contains(&run.code), "{}", run.err);
    assert_eq!(run.out.is_empty(), run.code == 2, "{}", run.err);
}

/// Returns the directories with recorded traces that do not resemble smaller ones, by name.
fn recorded_traces() -> Vec<(String, PathBuf)> {
    let Some(root) = recorded("ctf/real") else { return Vec::new() };
    let mut traces = Vec::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        let paths = fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path());
        directories.extend(paths.filter(|path| path.is_dir()));
        if directory.join("metadata").is_file() {
            let name = directory.strip_prefix(&root).unwrap().display().to_string();
            if !is_like_another(&name) {
                traces.push((name, directory));
            }
        }
    }
    traces.sort();
    traces
}

/// Returns a recorded trace's data with metadata in another language. `None` if the trace is unreadable, or the
/// language cannot express its metadata.
fn rewritten(trace: &Path, language: &str) -> Option<Directory> {
    let run = ichnos(["schema", "--quiet", "--as", language, trace.to_str().unwrap()]);
    assert!([0, 2, 3].contains(&run.code), "{}", run.err);
    assert_eq!(run.out.is_empty(), run.code == 2, "{}", run.err);
    (run.code != 2).then(|| with_metadata(trace, &run.out))
}

#[test]
fn recorded_traces_print_the_same_with_metadata_of_ctf_2() {
    let mut same = 0;
    let traces = recorded_traces();
    for (name, trace) in &traces {
        let Some(copy) = rewritten(trace, "spec2") else { continue };
        let is_same = printed(cat(), &copy) == printed(cat(), trace);
        assert_ne!(is_same, OTHER_TIMES.contains(&name.as_str()), "{name}");
        same += usize::from(is_same);
    }
    println!("{same} of {} recorded traces", traces.len());
    assert!(traces.is_empty() || same > 95, "{same}");
}

#[test]
fn babeltrace2_prints_recorded_traces_the_same_with_written_metadata() {
    if Command::new("babeltrace2").arg("--version").output().is_err() {
        eprintln!("skipped: `babeltrace2` is not installed");
        return;
    }
    let mut same = 0;
    let traces = recorded_traces();
    for (name, trace) in &traces {
        let is_ctf2 = fs::read(trace.join("metadata")).unwrap().starts_with(b"\x1e");
        if is_ctf2 || CRASHES.contains(&name.as_str()) {
            continue;
        }
        let Some(copy) = rewritten(trace, "tsdl") else { continue };
        let babeltrace2 = || Command::new("babeltrace2");
        let [ours, original] = [&*copy, trace].map(|trace| printed(babeltrace2(), trace));
        assert!(ours == original, "{name}: {:?} and {:?}", ours.0, original.0);
        same += 1;
    }
    println!("{same} of {} recorded traces", traces.len());
    assert!(traces.is_empty() || same > 65, "{same}");
}
