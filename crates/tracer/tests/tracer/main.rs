//! Tests of the tracer, whose traces are read by ichnos and by Babeltrace.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

mod bad_places;
mod core_tracer;
mod counted_memory;
mod dialects;
mod family;
mod kills;
mod layer;
mod recordings;
mod signal_handlers;
mod thread_names;
mod values;

/// There is one recording at a time in a process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the events of a trace as JSON objects, merged by time, without thread names. There must be no damage and,
/// unless `may_lose`, no loss.
fn read(path: &std::path::Path, may_lose: bool) -> Vec<serde_json::Value> {
    let mut events = Vec::new();
    for line in read_lines(path).unwrap() {
        match line["type"].as_str().unwrap() {
            "event" if line["name"] == "thread_name" => {}
            "event" => events.push(line),
            kind if kind.starts_with("discarded") && may_lose => {}
            kind => assert!(!kind.starts_with("discarded") && kind != "damage", "{line}"),
        }
    }
    events
}

/// Returns all JSON Lines of a trace.
fn read_lines(path: &std::path::Path) -> Result<Vec<serde_json::Value>, Box<dyn std::error::Error>> {
    use ichnos::jsonl::{JsonLines, JsonLinesOptions};

    let session = ichnos::open([path], &ichnos::OpenOptions::default())?;
    let mut out = Vec::new();
    session.reader()?.pass().run(&mut JsonLines::new(&mut out, JsonLinesOptions::default()))?;
    let lines = String::from_utf8(out)?;
    Ok(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Returns what a program prints, or `None` if it is not installed.
fn output_of(program: &str, path: &std::path::Path) -> Option<String> {
    let Ok(output) = Command::new(program).arg("--no-delta").arg(path).env("TZ", "UTC").output() else {
        println!("skipped: {program} is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    Some(text)
}

/// Names the directory of a process that a test starts.
const DIRECTORY: &str = "ICHNOS_TRACER_DIRECTORY";

/// Returns the directory of this process, if a test has started it.
fn own_directory() -> Option<std::path::PathBuf> {
    std::env::var_os(DIRECTORY).map(Into::into)
}

/// Returns a command that runs a test in a process of its own.
fn process(test: &str, directory: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(DIRECTORY, directory);
    command
}

/// Returns the lines that are not about thread names.
fn events_in(text: &str) -> usize {
    text.lines().filter(|line| !line.contains(" thread_name: ")).count()
}

/// Converts a trace to CTF 1.8, or repairs it. Returns the changes.
fn convert(from: &std::path::Path, to: &std::path::Path, repairs: bool) -> Vec<String> {
    use ichnos::convert::{ConvertOptions, target};

    let session = ichnos::open([from], &ichnos::OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    let mut options = ConvertOptions::default();
    options.write.repair = repairs;
    options.write.dialect = (!repairs).then(|| "ctf1.8".to_owned());
    let target = target(Some("ctf"), to, None).unwrap();
    let report = reader.convert(target.writer, Some(to.to_owned()), &options).unwrap();
    report.losses.iter().map(|(entry, _)| format!("{entry:?}")).collect()
}

/// Babeltrace 2.1, which reads CTF 2.
const BABELTRACE_2_1: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/tools/babeltrace-2.1/babeltrace2");
