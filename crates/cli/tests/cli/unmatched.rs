//! Nothing selected: which option matched nothing, and what there is.

use std::ffi::OsStr;

use crate::support::{METADATA, Run, ichnos, root, trace};

fn cat(path: &OsStr, options: &[&str]) -> Run {
    ichnos([OsStr::new("cat"), path].into_iter().chain(options.iter().map(OsStr::new)))
}

#[test]
fn events() {
    let folder = trace("unmatched-events");
    let path = folder.as_os_str();
    let expected = ["no event record class matches `--event demo:tik`", "help: did you mean `demo:tick`"];
    cat(path, &["--event", "demo:tik"]).expect(1, &expected);
    cat(path, &["--event", "*:TICK"]).expect(1, &["did you mean `demo:tick`"]);
    cat(path, &["--event", "tock"]).expect(1, &["did you mean `demo:tock`?"]);
    // What is not near is listed, if that is short.
    cat(path, &["--event", "unlike"]).expect(1, &["help: there are `demo:tick` and `demo:tock`"]);
    // One pattern of several.
    let run = cat(path, &["--event", "demo:tick", "--event", "demo:tok"]).expect(0, &["`--event demo:tok`"]);
    assert!(!run.err.contains("`--event demo:tick`"), "{}", run.err);
    assert_eq!(cat(path, &["-q", "--event", "demo:tik"]).expect(1, &[]).err, "");
    assert_eq!(cat(path, &["-q", "--event", "demo:tick"]).expect(0, &[]).err, "");
}

/// A class that is declared, and has no events.
#[test]
fn classes_without_events() {
    let folder = trace("unmatched-class");
    let metadata = format!("{METADATA}event {{ id = 7; name = \"demo:small\"; stream_id = 0; }};\n");
    std::fs::write(folder.join("metadata"), metadata).unwrap();
    let path = folder.as_os_str();
    cat(path, &["--event", "demo:smal"]).expect(1, &["did you mean `demo:small`?"]);
    cat(path, &["--event", "demo:small"]).expect(1, &["there are no events that match `--event demo:small`"]);
    let run = cat(path, &["--event", "demo:small", "--begin=+1s"]);
    run.expect(
        1,
        &["no event that matches `--event demo:small` lies in the time from", "the events lie between"],
    );
}

#[test]
fn data_streams() {
    let folder = trace("unmatched-streams");
    let path = folder.as_os_str();
    let expected =
        ["no data stream matches `--stream stream_x`", "help: did you mean `stream_a` or `stream_b`?"];
    cat(path, &["--stream", "stream_x"]).expect(1, &expected);
    cat(path, &["--stream", "unlike"]).expect(1, &["help: there are `stream_a` and `stream_b`"]);
    cat(path, &["--stream", "stream_a", "--stream", "stream_c"]).expect(0, &["`--stream stream_c`"]);
    // Of both options, the one that matched nothing.
    let run = cat(path, &["--stream", "stream_a", "--event", "nope"]).expect(1, &["`--event nope`"]);
    assert!(!run.err.contains("data stream matches"), "{}", run.err);
}

#[test]
fn times() {
    let folder = trace("unmatched-times");
    let path = folder.as_os_str();
    cat(path, &["--clock-gmt", "--begin", "23:00"]).expect(
        1,
        &[
            "no event lies in the time from 2001-09-09 23:00:00.000000000 UTC on",
            "help: the events lie between 2001-09-09 01:46:40.000001000 UTC and 2001-09-09 01:46:43.000000000 UTC",
        ],
    );
    cat(path, &["--end", "2000-01-01"])
        .expect(1, &["in the time up to 2000-01-01", "the events lie between"]);
    cat(path, &["--timerange", "2000-01-01,2000-01-02"]).expect(1, &["from 2000-01-01", "to 2000-01-02"]);
    // Between two events, and of one data stream.
    cat(path, &["--begin=+1600ms", "--end=+1700ms"]).expect(1, &["the events lie between"]);
    let run = cat(path, &["--begin=+1h", "--stream=stream_b"]);
    run.expect(1, &["01:46:40.000002000 UTC and 2001-09-09 01:46:41.500000000 UTC"]);
    assert_eq!(cat(path, &["--begin=+1h", "-q"]).expect(1, &[]).err, "");
    // Logs do not say when they begin and end: they are read for that.
    let logs = root().join("examples/hello-fuchsia");
    let run = cat(logs.as_os_str(), &["--begin=+1h"]);
    run.expect(
        1,
        &["no event lies in the time from", "the events lie between 12.345678901 and 12.416678901"],
    );
}

/// Classes of logs are only known when they were read.
#[test]
fn logs() {
    let logs = root().join("examples/hello-fuchsia");
    cat(logs.as_os_str(), &["--event", "lgo"]).expect(1, &["did you mean `log`?"]);
    let run = cat(logs.as_os_str(), &["--event=log", "--event=lgo", "--limit=1"]).expect(0, &[]);
    assert!(!run.err.contains("lgo"), "{}", run.err);
    let run = cat(logs.as_os_str(), &["--event=log", "--limit=0"]);
    assert!(!run.err.contains("no events"), "{}", run.err);
}
