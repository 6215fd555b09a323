//! `cat`: what is selected, and how it is printed.

use std::ffi::OsStr;

use crate::support::{Run, ichnos, trace};

/// Prints nothing but statistics.
fn count(path: &OsStr, more: &[&str]) -> Run {
    let arguments = [OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("--stats")];
    ichnos(arguments.into_iter().chain(more.iter().map(OsStr::new)))
}

#[test]
fn selects_by_time() {
    let folder = trace("time");
    let path = folder.as_os_str();
    count(path, &[]).expect(0, &["10 events in"]);
    count(path, &["--begin", "+1s"]).expect(0, &["3 events in"]);
    count(path, &["--end", "+5us"]).expect(0, &["6 events in"]);
    count(path, &["--begin", "1000000001"]).expect(0, &["4 events in"]);
    count(path, &["--timerange", "[1000000001.5,1000000002]"]).expect(0, &["2 events in"]);
    count(path, &["--clock-gmt", "--begin", "01:46:42"]).expect(0, &["2 events in"]);
    count(path, &["--clock-gmt", "--begin", "2001-09-09 01:46:43"]).expect(0, &["1 event in"]);
    count(path, &["--begin", "@1000000003000000000"]).expect(0, &["1 event in"]);
    count(path, &["--begin", "2100-01-01"]).expect(1, &["0 events in"]);
    count(path, &["--begin", "2", "--end", "1"]).expect(2, &["is after the end time"]);
}

#[test]
fn selects_by_name() {
    let folder = trace("name");
    let path = folder.as_os_str();
    count(path, &["--event", "demo:tick"]).expect(0, &["6 events in"]);
    count(path, &["--event", "*:to*", "--event", "nothing"]).expect(0, &["4 events in"]);
    count(path, &["--stream", "stream_a"]).expect(0, &["6 events in"]);
    count(path, &["--stream", "*_{a,b}", "--event", "*tick"]).expect(0, &["6 events in"]);
    count(path, &["--event", "nothing"]).expect(1, &["0 events in"]);
    count(path, &["--limit", "3"]).expect(0, &["3 events in"]);
}

/// What `cat` prints with these arguments.
fn lines(path: &OsStr, more: &[&str]) -> Vec<String> {
    let arguments = [OsStr::new("cat"), path, OsStr::new("--clock-gmt"), OsStr::new("-q")];
    let run = ichnos(arguments.into_iter().chain(more.iter().map(OsStr::new))).expect(0, &[]);
    assert_eq!(run.err, "");
    run.out.lines().map(str::to_owned).collect()
}

#[test]
fn pretty() {
    let folder = trace("pretty");
    let path = folder.as_os_str();
    let all = lines(path, &[]);
    assert_eq!(all.len(), 10);
    assert_eq!(
        all[0],
        "[01:46:40.000001000] (+?.?????????) box demo:tick: { }, { value = 0, text = \"hello\\e[31m\" }"
            .replace("{ }, ", "")
    );
    assert_eq!(all[1], all[0].replace("00001000", "00002000").replace("?.?????????", "0.000001000"));
    let first = |more: &[&str]| lines(path, more).swap_remove(0);
    assert!(first(&["--clock-date"]).starts_with("[2001-09-09 01:46:40.000001000]"));
    assert!(first(&["--clock-seconds"]).starts_with("[1000000000.000001000]"));
    assert!(first(&["--clock-cycles"]).starts_with("[00000000000000001000]"));
    assert!(first(&["--no-delta"]).starts_with("[01:46:40.000001000] box demo:tick"));
    assert!(first(&["--fields", "none", "--no-delta"]).starts_with("[01:46:40.000001000] demo:tick"));
    assert!(first(&["--names", "none"]).contains("{ 0, \"hello"));
    assert!(first(&["--names", "scope"]).contains("fields = { 0"));
    assert!(first(&["--clock-offset", "-1000000000", "--clock-seconds"]).starts_with("[0.000001000]"));
    assert!(first(&["--clock-offset-ns=-1000", "--clock-seconds"]).starts_with("[1000000000.000000000]"));
    assert_eq!(lines(path, &["--begin", "+1s", "-n", "2"]).len(), 2);
}

#[test]
fn losses_are_warnings() {
    let folder = trace("warnings");
    ichnos([OsStr::new("cat"), folder.as_os_str()]).expect(0, &["Tracer discarded 7 events"]);
    ichnos([OsStr::new("dump"), folder.as_os_str(), OsStr::new("-f"), OsStr::new("details")])
        .expect(0, &[])
        .prints(&["Discarded events", "Event class `demo:tick`"]);
}

#[test]
fn details() {
    let folder = trace("details");
    let path = folder.as_os_str();
    let all = lines(path, &["--format", "details"]);
    assert!(all.iter().any(|line| line == "Trace class:"));
    let compact = lines(path, &["--format", "details", "--details", "compact=yes,with-metadata=no"]);
    assert!(compact.len() < all.len());
    assert!(!compact.iter().any(|line| line == "Trace class:"));
}

#[test]
fn json_lines() {
    let folder = trace("jsonl");
    let all = lines(folder.as_os_str(), &["--format", "jsonl"]);
    let json: Vec<serde_json::Value> = all.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json.iter().filter(|line| line["type"] == "event").count(), 10);
    let event = json.iter().find(|line| line["type"] == "event").unwrap();
    assert_eq!(event["payload"]["text"], "hello\x1b[31m");
}

#[test]
fn writes_files() {
    let folder = trace("file");
    let target = folder.join("out.txt");
    std::fs::write(&target, "old").unwrap();
    let run = ichnos([OsStr::new("cat"), folder.as_os_str(), OsStr::new("-o"), target.as_os_str()]);
    // The old content of the target is a file of the trace's folder, and no data stream.
    run.expect(3, &["out.txt"]);
    assert_eq!(std::fs::read_to_string(&target).unwrap().lines().count(), 10);
    let names: Vec<_> = std::fs::read_dir(&*folder).unwrap().flatten().map(|item| item.file_name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}
