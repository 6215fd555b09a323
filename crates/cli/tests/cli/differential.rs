//! `ichnos cat` on a trace that is recorded by the test, compared with Debian's `babeltrace2`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_testing::is_turn;

use crate::support::{Directory, command, recorded, root};

/// Records a trace of the program in `examples/hello-lttng`. Prints a reason and returns `None` if this machine cannot
/// record.
fn record(directory: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let is_there = |program: &str| {
        Command::new("sh")
            .args(["-c", "command -v \"$0\"", program])
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    for program in ["bash", "gcc", "setpriv", "lttng", "lttng-sessiond", "babeltrace2"] {
        if !is_there(program) {
            eprintln!("skipped: `{program}` is not installed");
            return None;
        }
    }
    let header = Command::new("gcc")
        .args(["-include", "lttng/tracepoint.h", "-fsyntax-only", "-xc", "/dev/null"])
        .stderr(Stdio::null())
        .status();
    if !header.is_ok_and(|status| status.success()) {
        eprintln!("skipped: the headers of LTTng-UST (liblttng-ust-dev) are not installed");
        return None;
    }
    let trace = directory.join("trace");
    let output = Command::new("timeout")
        .arg("120")
        .arg(root().join("examples/hello-lttng/record.sh"))
        .arg(&trace)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if !output.status.success() {
        // Some containers do not allow a session daemon. ichnos cannot change that.
        let reason = String::from_utf8_lossy(&output.stderr);
        eprintln!("skipped: LTTng cannot record here: {}", reason.trim().replace('\n', "; "));
        return None;
    }
    Some(trace)
}

fn babeltrace2(trace: &Path, options: &[&str]) -> Vec<u8> {
    let output = Command::new("babeltrace2").args(options).arg(trace).env("TZ", "UTC").output().unwrap();
    assert!(output.status.success(), "babeltrace2: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Reports the first difference between two outputs.
#[track_caller]
fn same(ours: &[u8], theirs: &[u8], what: &str) {
    if ours == theirs {
        return;
    }
    let (mut ours, mut theirs) = (ours.split(|byte| *byte == b'\n'), theirs.split(|byte| *byte == b'\n'));
    for line in 1.. {
        let pair = (ours.next(), theirs.next());
        if pair.0 != pair.1 {
            let [ours, theirs] = [pair.0, pair.1].map(|line| line.map(String::from_utf8_lossy));
            panic!("{what}: line {line}:\nichnos:      {ours:?}\nbabeltrace2: {theirs:?}");
        }
    }
}

#[test]
fn a_fresh_recording_prints_the_same() {
    let directory = Directory::new("differential");
    let Some(trace) = record(&directory, &["5000", "4", "64K"]) else { return };
    let options: &[&[&str]] = &[
        &[],
        &["--clock-gmt", "--clock-date"],
        &["--clock-seconds", "--no-delta"],
        &["--clock-cycles", "--names=all", "--fields=trace:domain,trace:hostname,loglevel"],
        &["--names=none"],
        &["--fields=trace"],
        &["--fields=all"],
    ];
    for options in options {
        let output = command().arg("cat").args(*options).arg(&trace).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let theirs = babeltrace2(&trace, options);
        assert_eq!(theirs.iter().filter(|byte| **byte == b'\n').count(), 20_000);
        same(&output.stdout, &theirs, &options.join(" "));
    }
}

#[test]
fn the_sample_prints_the_same() {
    let Ok(status) = Command::new("babeltrace2").arg("--version").stdout(Stdio::null()).status() else {
        eprintln!("skipped: `babeltrace2` is not installed");
        return;
    };
    assert!(status.success());
    let trace = root().join("examples/hello-lttng/trace");
    let output = command().arg("cat").arg(&trace).output().unwrap();
    same(&output.stdout, &babeltrace2(&trace, &[]), "the sample");
}

/// The trace name depends on the opened path.
#[test]
fn traces_have_the_same_name() {
    if Command::new("babeltrace2").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: `babeltrace2` is not installed");
        return;
    }
    let mut traces: Vec<PathBuf> = [
        "trace",
        "trace/ust",
        "trace/ust/",
        "trace/ust/uid/65534",
        "trace/ust/uid/65534/64-bit",
        "trace/ust/uid/65534/64-bit/",
        "",
    ]
    .map(|path| root().join("examples/hello-lttng").join(path))
    .into();
    let example_count = traces.len();
    if let Some(recorded) = recorded("ctf/real/lttng-ust") {
        let below =
            ["snapshot", "session-rot", "session-rot/archives", "perpid/ust", "exclude", "tracefile-rot"];
        traces.extend(below.map(|path| recorded.join(path)));
    }
    for (number, trace) in traces.into_iter().enumerate() {
        for (turn, fields) in ["--fields=trace", "--fields=all"].into_iter().enumerate() {
            // The recorded traces are larger, and take turns.
            if number >= example_count && !is_turn(number, turn, 2) {
                continue;
            }
            let output = command().args(["cat", "-q", fields]).arg(&trace).output().unwrap();
            same(&output.stdout, &babeltrace2(&trace, &[fields]), &format!("{}", trace.display()));
        }
    }
}
