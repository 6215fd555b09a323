//! Empty selections: the message names the option that matched nothing, and lists what exists.

use std::ffi::OsStr;

use crate::support::{METADATA, Run, ichnos, root, trace};
use crate::transcript::transcript;

fn cat(path: &OsStr, options: &[&str]) -> Run {
    ichnos([OsStr::new("cat"), path].into_iter().chain(options.iter().map(OsStr::new)))
}

#[test]
fn events() {
    let _transcript = transcript!();
    let directory = trace("unmatched-events");
    let path = directory.as_os_str();
    let expected = ["no event record class matches `--event demo:tik`", "help: did you mean `demo:tick`"];
    cat(path, &["--event", "demo:tik"]).expect(1, &expected);
    cat(path, &["--event", "*:TICK"]);
    cat(path, &["--event", "tock"]);
    // Without similar names, the message lists a few names.
    cat(path, &["--event", "unlike"]);
    // One pattern of several.
    let run = cat(path, &["--event", "demo:tick", "--event", "demo:tok"]);
    assert!(!run.err.contains("`--event demo:tick`"), "{}", run.err);
    assert_eq!(cat(path, &["-q", "--event", "demo:tik"]).err, "");
    assert_eq!(cat(path, &["-q", "--event", "demo:tick"]).err, "");
}

/// A declared class without events.
#[test]
fn classes_without_events() {
    let _transcript = transcript!();
    let directory = trace("unmatched-class");
    let metadata = format!("{METADATA}event {{ id = 7; name = \"demo:small\"; stream_id = 0; }};\n");
    std::fs::write(directory.join("metadata"), metadata).unwrap();
    let path = directory.as_os_str();
    cat(path, &["--event", "demo:smal"]);
    cat(path, &["--event", "demo:small"]);
    cat(path, &["--event", "demo:small", "--begin=+1s"]);
}

#[test]
fn data_streams() {
    let _transcript = transcript!();
    let directory = trace("unmatched-streams");
    let path = directory.as_os_str();
    let expected =
        ["no data stream matches `--stream stream_x`", "help: did you mean `stream_a` or `stream_b`?"];
    cat(path, &["--stream", "stream_x"]).expect(1, &expected);
    cat(path, &["--stream", "unlike"]);
    cat(path, &["--stream", "stream_a", "--stream", "stream_c"]);
    // With two options, the message names the option that matched nothing.
    let run = cat(path, &["--stream", "stream_a", "--event", "nope"]);
    assert!(!run.err.contains("data stream matches"), "{}", run.err);
}

#[test]
fn times() {
    let _transcript = transcript!();
    let directory = trace("unmatched-times");
    let path = directory.as_os_str();
    cat(path, &["--clock-gmt", "--begin", "23:00"]);
    cat(path, &["--end", "2000-01-01"]);
    cat(path, &["--timerange", "2000-01-01,2000-01-02"]);
    // Between two events, and in one data stream.
    cat(path, &["--begin=+1600ms", "--end=+1700ms"]);
    cat(path, &["--begin=+1h", "--stream=stream_b"]);
    assert_eq!(cat(path, &["--begin=+1h", "-q"]).err, "");
    // Logs do not contain their start and end, so they are read.
    let logs = root().join("examples/hello-fuchsia");
    cat(logs.as_os_str(), &["--begin=+1h"]);
}

/// Log classes are known only after reading.
#[test]
fn logs() {
    let _transcript = transcript!();
    let logs = root().join("examples/hello-fuchsia");
    cat(logs.as_os_str(), &["--event", "lgo"]);
    let run = cat(logs.as_os_str(), &["--event=log", "--event=lgo", "--max-events=1"]);
    assert!(!run.err.contains("lgo"), "{}", run.err);
    let run = cat(logs.as_os_str(), &["--event=log", "--max-events=0"]);
    assert!(!run.err.contains("no event matches"), "{}", run.err);
}
