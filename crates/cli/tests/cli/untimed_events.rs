//! Events without a time among events with a time, written in formats that require a time.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, ichnos, text};

const DIALECTS: [&str; 5] = ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"];

const BEFORE: &str = "no timestamp: used the previous event's";
const NEXT: &str = "no timestamp: used the next event's";
const ZERO: &str = "no timestamp: clock value 0";

/// Writes a file with events: an optional time and a value each.
fn lines(directory: &Path, name: &str, events: &[(Option<i64>, i64)]) -> PathBuf {
    let path = directory.join(name);
    let line = |(time, value): &(Option<i64>, i64)| {
        let time = time.map_or(String::new(), |time| format!(r#""ts":{time},"#));
        let name = if time.is_empty() { "untimed" } else { "timed" };
        format!("{{\"type\":\"event\",{time}\"name\":\"{name}\",\"payload\":{{\"v\":{value}}}}}\n")
    };
    fs::write(&path, events.iter().map(line).collect::<String>()).unwrap();
    path
}

/// Returns the times and values of a trace's events. The trace must be valid.
fn events(path: &Path) -> Vec<(i64, i64)> {
    ichnos(["check", "--strict", text(path)]).expect(0, &[]);
    let csv = ichnos(["cat", "-q", "-f", "csv", "--fields", "cycles,v", text(path)]).expect(0, &[]).out;
    let event = |line: &str| {
        let (time, value) = line.split_once(',').unwrap();
        (time.parse().unwrap(), value.parse().unwrap())
    };
    csv.lines().skip(1).map(event).collect()
}

/// Returns the losses for the class `untimed`: descriptions and event counts.
fn losses(json: &serde_json::Value) -> Vec<(String, u64)> {
    let losses = json["losses"].as_array().unwrap().iter();
    let losses = losses.filter(|loss| loss["what"].as_str().unwrap().starts_with("no time"));
    let described = |loss: &serde_json::Value| {
        assert_eq!((&loss["kind"], &loss["class"]), (&"rounded".into(), &"untimed".into()), "{loss}");
        (loss["what"].as_str().unwrap().to_owned(), loss["count"].as_u64().unwrap())
    };
    losses.map(described).collect()
}

#[test]
fn untimed_events_get_times_around_them() {
    let directory = Directory::new("untimed");
    let some = |time| Some(time);
    type Case<'a> = (&'a str, &'a [(Option<i64>, i64)], &'a [(i64, i64)], &'a [(&'a str, u64)]);
    let cases: [Case<'_>; 5] = [
        (
            "among",
            &[(some(10), 1), (None, 2), (some(20), 3), (None, 4), (None, 5)],
            &[(10, 1), (10, 2), (20, 3), (20, 4), (20, 5)],
            &[(BEFORE, 3)],
        ),
        (
            "first",
            &[(None, 1), (None, 2), (some(20), 3), (None, 4), (some(30), 5)],
            &[(20, 1), (20, 2), (20, 3), (20, 4), (30, 5)],
            &[(NEXT, 2), (BEFORE, 1)],
        ),
        // In two files, because the times are not sorted.
        (
            "disordered",
            &[(None, 1), (some(20), 2), (None, 3), (some(10), 4), (None, 5), (some(30), 6), (None, 7)],
            &[(10, 4), (10, 5), (20, 1), (20, 2), (20, 3), (30, 6), (30, 7)],
            &[(NEXT, 1), (BEFORE, 3)],
        ),
        ("last", &[(some(10), 1), (None, 2)], &[(10, 1), (10, 2)], &[(BEFORE, 1)]),
        ("one", &[(None, 1), (some(7), 2)], &[(7, 1), (7, 2)], &[(NEXT, 1)]),
    ];
    for (name, written, expected, lost) in cases {
        let source = lines(&directory, &format!("{name}.jsonl"), written);
        let lost: Vec<_> = lost.iter().map(|(what, count)| ((*what).to_owned(), *count)).collect();
        for dialect in DIALECTS {
            let out = directory.join(format!("{name}-{dialect}"));
            let words = [
                "convert",
                "--index",
                "--json",
                "--losses",
                "--to-dialect",
                dialect,
                text(&source),
                "-o",
                text(&out),
            ];
            let found = losses(&ichnos(words).expect(0, &[]).json());
            assert_eq!(events(&out), expected, "{name} {dialect}");
            assert_eq!(found, lost, "{name} {dialect}");
            // With --strict, losses prevent writing.
            let strict = directory.join("strict");
            ichnos(["convert", "--strict", text(&source), "-o", text(&strict)])
                .expect(2, &["some data would be lost"]);
            assert!(!strict.exists());
        }
        let out = directory.join(format!("{name}-filtered"));
        ichnos(["filter", "--to", "ctf", "v >= 0", text(&source), "-o", text(&out)]).expect(0, &[]);
        assert_eq!(events(&out), expected, "{name}");
        let out = directory.join(format!("{name}-repaired"));
        // A repair that changes times reports it.
        ichnos(["repair", "--to", "ctf", text(&source), "-o", text(&out)]).expect(3, &[]);
        assert_eq!(events(&out), expected, "{name}");
    }
}

/// Packets end before the next time is known.
#[test]
fn untimed_events_do_not_wait_for_a_time_in_another_packet() {
    let directory = Directory::new("untimed-packets");
    let source =
        lines(&directory, "source.jsonl", &[(None, 1), (None, 2), (None, 3), (Some(9), 4), (None, 5)]);
    let out = directory.join("out");
    let words = ["convert", "--packet-size", "100", "--json", "--losses", text(&source), "-o", text(&out)];
    let found = losses(&ichnos(words).expect(0, &[]).json());
    assert_eq!(events(&out), [(0, 1), (0, 2), (9, 3), (9, 4), (9, 5)]);
    assert_eq!(found, [(ZERO.to_owned(), 2), (NEXT.to_owned(), 1), (BEFORE.to_owned(), 1)]);
}

/// No event has a time, though there is a clock.
#[test]
fn untimed_events_alone_are_at_the_clock_origin() {
    let directory = Directory::new("untimed-alone");
    let source = directory.join("source.jsonl");
    let begin = r#"{"type":"stream-begin","stream":0,"clock":{"id":"c","frequency":1000}}"#;
    let event = |value: u32| format!(r#"{{"stream":0,"name":"untimed","payload":{{"v":{value}}}}}"#);
    fs::write(&source, [begin, &event(1), &event(2)].join("\n")).unwrap();
    for dialect in DIALECTS {
        let out = directory.join(dialect);
        let words =
            ["convert", "--json", "--losses", "--to-dialect", dialect, text(&source), "-o", text(&out)];
        let found = losses(&ichnos(words).expect(0, &[]).json());
        assert_eq!(events(&out), [(0, 1), (0, 2)], "{dialect}");
        assert_eq!(found, [(ZERO.to_owned(), 2)], "{dialect}");
    }
}

#[test]
fn reports_without_a_timestamp_are_written_whole() {
    let directory = Directory::new("untimed-reports");
    let source = directory.join("reports.txt");
    let report = |number: u32, time: &str| {
        format!(
            "X-Trace Report ver 1.0\nX-Trace: 190123456789ABCDEF000000000000000{number}\nLabel: l{number}\n{time}\n"
        )
    };
    let reports =
        [report(1, "Timestamp: 1000\n"), report(2, ""), report(3, "Timestamp: 3000\n"), report(4, "")];
    fs::write(&source, reports.concat()).unwrap();
    let columns = |path: &Path| {
        ichnos(["check", "--strict", text(path)]).expect(0, &[]);
        ichnos(["cat", "-q", "-f", "csv", "--fields", "cycles,operation_id,Label", text(path)])
            .expect(0, &[])
            .out
    };
    let expected = "cycles,operation_id,Label\n\
        1000000000000,0000000000000001,l1\n1000000000000,0000000000000002,l2\n\
        3000000000000,0000000000000003,l3\n3000000000000,0000000000000004,l4\n";
    for dialect in DIALECTS {
        let out = directory.join(dialect);
        let words = ["convert", "--losses", "--to-dialect", dialect, text(&source), "-o", text(&out)];
        ichnos(words)
            .expect(0, &[])
            .prints(&["rounded         2  report  no timestamp: used the previous event's"]);
        assert_eq!(columns(&out), expected, "{dialect}");
    }
    let merged = directory.join("merged");
    let other = lines(&directory, "other.jsonl", &[(None, 1), (Some(5), 2)]);
    let words = ["merge", "--losses", text(&source), text(&other), "-o", text(&merged)];
    ichnos(words).expect(0, &[]).prints(&[BEFORE, NEXT]);
    ichnos(["check", "--strict", text(&merged)]).expect(0, &[]);
}

/// Fuchsia log records also require a time.
#[test]
fn untimed_log_lines_get_the_time_before_them() {
    let directory = Directory::new("untimed-log");
    let source = directory.join("source.jsonl");
    let class =
        r#"{"type":"event-class","stream":0,"id":1,"name":"line","meanings":{"payload":{"text":"message"}},
        "log":{"severity":4,"scale":[[4,"INFO",4]]}}"#
            .replace('\n', "");
    let line =
        |time: &str, text: &str| format!(r#"{{"stream":0,"id":1{time},"payload":{{"text":"{text}"}}}}"#);
    let begin = r#"{"type":"stream-begin","stream":0,"clock":{"id":"c","frequency":1000000000}}"#;
    let all = [
        begin.to_owned(),
        class,
        line("", "a"),
        line(r#","ts":1000"#, "b"),
        line("", "c"),
        line(r#","ts":2000"#, "d"),
    ];
    fs::write(&source, all.join("\n")).unwrap();
    let out = directory.join("out.log");
    ichnos(["convert", "--losses", text(&source), "-o", text(&out)])
        .expect(0, &[])
        .prints(&["2  line  no timestamp: used the previous record's, or 0"]);
    let found =
        ichnos(["cat", "-q", "-f", "csv", "--fields", "cycles,message", text(&out)]).expect(0, &[]).out;
    assert_eq!(found, "cycles,message\n0,a\n1000,b\n1000,c\n2000,d\n");
}
