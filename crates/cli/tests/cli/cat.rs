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
