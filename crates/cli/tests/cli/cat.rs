//! `cat`: selection and output.

use std::ffi::OsStr;
use std::path::Path;

use crate::support::{Directory, METADATA, Run, ichnos, packet, trace};
use crate::transcript::transcript;

/// Prints only statistics.
fn count(path: &OsStr, more: &[&str]) -> Run {
    let arguments = [OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("--stats")];
    ichnos(arguments.into_iter().chain(more.iter().map(OsStr::new)))
}

#[test]
fn selects_by_time() {
    let _transcript = transcript!();
    let directory = trace("time");
    let path = directory.as_os_str();
    count(path, &[]);
    count(path, &["--begin", "+1s"]);
    count(path, &["--end", "+5us"]);
    count(path, &["--begin", "1000000001"]);
    count(path, &["--timerange", "[1000000001.5,1000000002]"]);
    count(path, &["--clock-gmt", "--begin", "01:46:42"]);
    count(path, &["--clock-gmt", "--begin", "2001-09-09 01:46:43"]);
    count(path, &["--begin", "@1000000003000000000"]);
    count(path, &["--begin", "2100-01-01"]);
    count(path, &["--begin", "2", "--end", "1"]);
}

#[test]
fn selects_by_name() {
    let _transcript = transcript!();
    let directory = trace("name");
    let path = directory.as_os_str();
    count(path, &["--event", "demo:tick"]);
    count(path, &["--event", "*:to*", "--event", "nothing"]);
    count(path, &["--stream", "stream_a"]);
    count(path, &["--stream", "*_{a,b}", "--event", "*tick"]);
    count(path, &["--event", "nothing"]);
    count(path, &["--max-events", "3"]);
}

/// Damage in data streams that are not selected is not reported.
#[test]
fn unwanted_streams_are_not_read() {
    let _transcript = transcript!();
    let directory = trace("unwanted");
    let path = directory.as_os_str();
    let whole = std::fs::read(directory.join("stream_a")).unwrap();
    std::fs::write(directory.join("stream_a"), &whole[..whole.len() - 5]).unwrap();
    std::fs::write(directory.join("foreign"), [0x55; 64]).unwrap();
    count(path, &[]);
    let run = count(path, &["--stream", "stream_b"]);
    assert!(!run.err.contains("warning"), "{}", run.err);
    count(path, &["--stream", "stream_b", "--strict"]);
    count(path, &["--stream", "stream_a"]);
    count(path, &["--stream", "foreign"]);
    let lines = lines(path, &["--stream", "stream_b", "--format", "jsonl"]);
    assert!(!lines.iter().any(|line| line.contains("stream_a")), "{lines:#?}");
}

/// Returns the output of `cat` with these arguments.
fn lines(path: &OsStr, more: &[&str]) -> Vec<String> {
    let is_pretty = !more.iter().any(|option| ["--format", "--json"].contains(option));
    let gmt = is_pretty.then_some(OsStr::new("--clock-gmt"));
    let arguments = [OsStr::new("cat"), path, OsStr::new("-q")].into_iter().chain(gmt);
    let run = ichnos(arguments.chain(more.iter().map(OsStr::new))).expect(0, &[]);
    assert_eq!(run.err, "");
    run.out.lines().map(str::to_owned).collect()
}

#[test]
fn pretty() {
    let _transcript = transcript!();
    let directory = trace("pretty");
    let path = directory.as_os_str();
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
    let _transcript = transcript!();
    let directory = trace("warnings");
    ichnos([OsStr::new("cat"), directory.as_os_str()]);
    ichnos([OsStr::new("dump"), directory.as_os_str(), OsStr::new("-f"), OsStr::new("details")]);
}

#[test]
fn details() {
    let _transcript = transcript!();
    let directory = trace("details");
    let path = directory.as_os_str();
    let all = lines(path, &["--format", "details"]);
    assert!(all.iter().any(|line| line == "Trace class:"));
    let compact = lines(path, &["--format", "details", "--details", "compact=yes,with-metadata=no"]);
    assert!(compact.len() < all.len());
    assert!(!compact.iter().any(|line| line == "Trace class:"));
}

#[test]
fn json_lines() {
    let _transcript = transcript!();
    let directory = trace("jsonl");
    let all = lines(directory.as_os_str(), &["--format", "jsonl"]);
    let json: Vec<serde_json::Value> = all.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json.iter().filter(|line| line["type"] == "event").count(), 10);
    let event = json.iter().find(|line| line["type"] == "event").unwrap();
    assert_eq!(event["payload"]["text"], "hello\x1b[31m");
    let types = |more: &[&str]| -> Vec<String> {
        let all = lines(directory.as_os_str(), &[&["--format", "jsonl"], more].concat());
        let json = all.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        json.map(|line| line["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(lines(directory.as_os_str(), &["--json"]), all);
    ichnos(["cat", "x", "--json", "--format=pretty"]);
    // Reading to the end and stopping earlier are different cases.
    let count = |types: &[String], name: &str| types.iter().filter(|kind| *kind == name).count();
    let all = types(&["--packets"]);
    assert_eq!(["event-class", "stream-end", "packet-begin"].map(|name| count(&all, name)), [4, 2, 3]);
    let few = types(&["--max-events", "3"]);
    assert_eq!(["event", "stream-end", "packet-begin"].map(|name| count(&few, name)), [3, 0, 0]);
}

#[test]
fn writes_files() {
    let _transcript = transcript!();
    let directory = trace("file");
    let around = Directory::new("file-output");
    let target = around.join("out.txt");
    std::fs::write(&target, "old").unwrap();
    let write = |force: Option<&str>| {
        let arguments = [OsStr::new("cat"), directory.as_os_str(), OsStr::new("-o"), target.as_os_str()];
        ichnos(arguments.into_iter().chain(force.map(OsStr::new)))
    };
    write(None).expect(2, &["out.txt: the file exists and is not empty"]);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "old");
    let run = write(Some("--force"));
    assert!(run.out.is_empty());
    assert_eq!(std::fs::read_to_string(&target).unwrap().lines().count(), 10);
    let names: Vec<_> = std::fs::read_dir(&*around).unwrap().flatten().map(|item| item.file_name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn statistics() {
    let _transcript = transcript!();
    let directory = trace("statistics");
    let path = directory.as_os_str();
    let run = count(path, &[]);
    assert!(!run.err.contains("per second"), "{}", run.err);
    let checksum = |run: Run| run.err.split_once("checksum ").unwrap().1.trim().to_owned();
    assert_eq!(checksum(run).len(), 16);
    assert_ne!(checksum(count(path, &[])), checksum(count(path, &["--event", "demo:tick"])));
    let run = ichnos([OsStr::new("cat"), path, OsStr::new("--stats")]);
    assert!(!run.err.contains("checksum"), "{}", run.err);
}

/// Ctrl-C: the printed output is complete, an output file does not appear, nothing is left behind.
#[cfg(unix)]
#[test]
fn interruptions() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let directory = trace("interruptions");
    let times: Vec<u64> = (0..20_000).collect();
    std::fs::write(directory.join("stream_a"), packet(&times, 0).repeat(20)).unwrap();
    let interrupt = |child: &std::process::Child| {
        let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(status.unwrap().success());
    };
    let start = |more: &[&OsStr]| {
        let mut command = crate::support::command();
        command.args(["cat", "-q", "--format=jsonl"]).arg(&*directory).args(more);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // The command waits until its output is read.
    let mut child = start(&[]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    out.read_line(&mut text).unwrap();
    interrupt(&child);
    out.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(text.lines().count() < 400_000);
    for line in text.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    let others = Directory::new("interruptions-out");
    let target = others.join("out.jsonl");
    let mut child = start(&[OsStr::new("-o"), target.as_os_str()]);
    while std::fs::read_dir(&*others).unwrap().next().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(&*others).unwrap().count(), 0);
}

/// The events of a trace are printed once, even if several paths name the trace.
#[test]
fn the_same_path_twice() {
    let _transcript = transcript!();
    let directory = trace("twice");
    let path = directory.as_os_str();
    let slash = format!("{}/", directory.display());
    let above = format!("{}/../{}", directory.display(), directory.file_name().unwrap().to_string_lossy());
    count(path, &[&slash, &above]);
    // A nested directory is read, too. A hidden directory is not.
    for (name, events) in [("inner", "20 events in"), (".hidden", "20 events in")] {
        let inner = directory.join(name);
        std::fs::create_dir(&inner).unwrap();
        for file in ["metadata", "stream_a", "stream_b"] {
            std::fs::copy(directory.join(file), inner.join(file)).unwrap();
        }
        count(path, &[inner.to_str().unwrap()]).expect(0, &[events]);
        std::fs::remove_dir_all(&inner).unwrap();
    }
}

/// Parts of one trace in several directories are one trace, in any order.
#[test]
fn parts_by_several_paths() {
    let directory = Directory::new("parts");
    let metadata =
        METADATA.replace("byte_order", "uuid = \"0e9bc2f0-5a3f-4c8e-8e7a-6d0e2b6f9d11\"; byte_order");
    let parts: Vec<String> =
        ["b", "a", "c"].map(|part| directory.join(part).to_str().unwrap().to_owned()).into();
    let packets = [packet(&[1_000, 3_000], 2), packet(&[5_000], 2), packet(&[7_000, 8_000], 9)];
    for (part, packet) in parts.iter().zip(packets) {
        std::fs::create_dir(part).unwrap();
        std::fs::write(Path::new(part).join("metadata"), &metadata).unwrap();
        std::fs::write(Path::new(part).join("stream"), packet).unwrap();
    }
    let run = |order: [usize; 3]| {
        let paths = order.map(|i| parts[i].as_str());
        let info = ichnos(["info", "--json"].into_iter().chain(paths)).expect(0, &[]).json();
        assert_eq!(info["traces"].as_array().unwrap().len(), 1, "{info:#}");
        ichnos(["cat", "--format=jsonl"].into_iter().chain(paths)).expect(0, &[]).out
    };
    let text = run([0, 1, 2]);
    assert_eq!(text.matches("\"type\":\"event\"").count(), 5, "{text}");
    for order in [[2, 1, 0], [1, 0, 2], [2, 0, 1]] {
        assert_eq!(run(order), text);
    }
}

/// The end of a file and an error before it are different cases.
#[test]
fn a_broken_event_in_a_truncated_packet() {
    let _transcript = transcript!();
    let directory = trace("cut");
    let mut bytes = packet(&[1_000, 3_000, 5_000], 0);
    // The id of the second event. Before it: header and context, then id, time, number and text of the first event.
    let id = 8 + 5 * 8 + 1 + 8 + 4 + b"hello\x1b[31m\0".len();
    bytes[id] = 77;
    bytes.pop();
    std::fs::write(directory.join("stream_a"), bytes).unwrap();
    ichnos([OsStr::new("check"), directory.as_os_str()]);
}
