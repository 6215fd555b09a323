//! Data that readers would reject are not written: they are listed as losses, or the output is refused.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, Run, ichnos, text};

const DIALECTS: [&str; 5] = ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"];

fn run(arguments: &[&str]) -> Run {
    ichnos(arguments.iter().copied())
}

/// Writes a file with event lines: name, time and payload each.
fn lines(directory: &Path, events: &[(u64, String)]) -> PathBuf {
    let mut lines = String::from("{\"ts\":0,\"name\":\"first\"}\n");
    for (time, payload) in events {
        writeln!(lines, r#"{{"ts":{time},"name":"e","payload":{{{payload}}}}}"#).unwrap();
    }
    let path = directory.join("events.jsonl");
    fs::write(&path, lines).unwrap();
    path
}

/// Returns a payload with an array of this number of elements without bits.
fn empties(count: usize) -> String {
    let elements = vec!["{}"; count].join(",");
    format!(r#""x":[{elements}]"#)
}

/// A packet contains as many array elements without bits as readers accept. An event with more is dropped.
#[test]
fn elements_without_bits() {
    let directory = Directory::new("limits-empty");
    let events = [(1, empties(40_000)), (2, empties(40_000)), (4, empties(70_000)), (3, empties(2))];
    let source = lines(&directory, &events);
    for dialect in DIALECTS {
        let out = directory.join(dialect);
        let words = ["convert", "--losses", "--to-dialect", dialect, text(&source), "-o", text(&out)];
        run(&words).expect(0, &["1 dropped"]).prints(&[
            "dropped         1  e  event that cannot be written: more than 65536 zero-size array elements",
        ]);
        let count = "1 data stream, 3 packets, 4 events";
        run(&["check", "--strict", text(&out)]).expect(0, &[]).prints(&[count]);
    }
}

/// A trace with more fields than readers accept is not written at all: which events are too many is known only at the
/// end.
#[test]
fn fields_without_bits() {
    let directory = Directory::new("limits-fields");
    let mut nulls = String::new();
    (0..5_000).for_each(|number| write!(nulls, r#""a{number}":null,"#).unwrap());
    let nulls = nulls.trim_end_matches(',');
    let events: Vec<(u64, String)> = (0..300).map(|time| (time, nulls.to_owned())).collect();
    let source = lines(&directory, &events);
    for dialect in ["spec2", "ctf1.8"] {
        let out = directory.join(dialect);
        let words = ["convert", "--to-dialect", dialect, text(&source), "-o", text(&out)];
        run(&words).expect(2, &["readers would refuse it: `e`: ", "could have"]);
        assert!(!out.exists());
    }
    // A smaller number can be read.
    let source = lines(&directory, &events[..150]);
    for dialect in ["spec2", "ctf1.8"] {
        let out = directory.join(dialect);
        run(&["convert", "--to-dialect", dialect, text(&source), "-o", text(&out)]).expect(0, &[]);
        run(&["check", "--strict", text(&out)]).expect(0, &[]);
    }
}

/// A trace with more packets than readers accept is not written.
#[test]
fn packets() {
    let directory = Directory::new("limits-packets");
    let events: Vec<(u64, String)> = (0..20).map(|time| (time, r#""x":1"#.to_owned())).collect();
    let source = lines(&directory, &events);
    let out = directory.join("out");
    let words = ["convert", "--packet-size=1", "--resource-limit=packets=9", text(&source), "-o", text(&out)];
    run(&words).expect(2, &["more than 9 packets"]);
    assert!(!out.exists());
}

/// Unsorted events are written to several data streams, and this is listed.
#[test]
fn events_out_of_order() {
    let directory = Directory::new("limits-order");
    let times = [1_000, 3_000, 2_000, 4_000, 1_500];
    let events: Vec<(u64, String)> = times.iter().map(|time| (*time, r#""x":1"#.to_owned())).collect();
    let source = lines(&directory, &events);
    let out = directory.join("out");
    run(&["convert", "--losses", text(&source), "-o", text(&out)])
        .expect(0, &["2 moved"])
        .prints(&["moved           2  ", "events before earlier events -> 3 data streams"]);
    run(&["check", "--strict", text(&out)]).expect(0, &[]).prints(&["3 data streams"]);
}
