//! Times that a format cannot store, and wrong times in damaged packets.

use std::fs;
use std::path::{Path, PathBuf};

use ichnos_testing::is_turn;

use crate::support::{Directory, ichnos, text};

const DIALECTS: [&str; 4] = ["spec2", "prop2", "prop1", "ctf1.8"];

/// Returns the times in nanoseconds and the values of a trace's events.
fn events(path: &Path) -> Vec<(i128, u64)> {
    // With damage, the exit code is 3.
    let lines = ichnos(["cat", "-q", "-f", "csv", "--fields", "ts,v", text(path)]).out;
    let event = |line: &str| {
        let (time, value) = line.split_once(',').unwrap();
        (time.parse().unwrap(), value.parse().unwrap())
    };
    lines.lines().skip(1).map(event).collect()
}

const NEAREST: &str = "time that the clock cannot represent: used the nearest time";

#[test]
fn times_that_clocks_cannot_represent_are_listed() {
    let directory = Directory::new("impossible-times");
    let event = |time: i128, value: u64| {
        format!("{{\"stream\":0,\"ts\":{time},\"name\":\"e\",\"payload\":{{\"v\":{value}}}}}\n")
    };
    let clock = concat!(
        r#"{"type":"stream-begin","stream":0,"clock":{"id":"c","frequency":100000000,"offset_seconds":1000}}"#,
        "\n"
    );
    let (least, most) = (-9_223_372_036_000_000_000, i128::from(i64::MAX));
    type Case<'a> = (&'a str, String, &'a [(i128, u64)], u64);
    let far = 99_999_999_999_999_999_999;
    let cases: [Case<'_>; 2] = [
        // Beyond 64 bits.
        (
            "far",
            [event(-far, 1), event(10, 2), event(20, 3), event(far, 4)].concat(),
            &[(least, 1), (10, 2), (20, 3), (most, 4)],
            2,
        ),
        // Before the clock's start, so that the clock gets an earlier offset, and between two clock values.
        (
            "between",
            [clock, &event(10, 1), &event(1_000_000_000_015, 2), &event(1_000_000_000_020, 3)].concat(),
            &[(10, 1), (1_000_000_000_020, 2), (1_000_000_000_020, 3)],
            1,
        ),
    ];
    for (name, lines, expected, lost) in cases {
        let source = directory.join(format!("{name}.jsonl"));
        fs::write(&source, lines).unwrap();
        for dialect in DIALECTS {
            let out = directory.join(format!("{name}-{dialect}"));
            let words = ["convert", "--losses", "--to-dialect", dialect, text(&source), "-o", text(&out)];
            let losses = format!("rounded         {lost}  e  {NEAREST}");
            ichnos(words).expect(0, &[]).prints(&[&losses]);
            ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
            assert_eq!(events(&out), expected, "{name} {dialect}");
        }
    }
}

/// Readers know that LTTng's clock `monotonic` counts from the Unix epoch, though CTF 1.8 does not say so.
#[test]
fn changed_origins_are_listed() {
    let directory = Directory::new("read-origins");
    let source = directory.join("source.jsonl");
    let lines = [
        r#"{"type":"stream-begin","stream":0,"trace":{"environment":{"tracer_name":"lttng-ust"}},"#,
        r#""clock":{"id":"monotonic","name":"monotonic","frequency":1000000000}}"#,
        "\n",
        r#"{"stream":0,"ts":10,"name":"a"}"#,
    ];
    fs::write(&source, lines.concat()).unwrap();
    for dialect in DIALECTS {
        let out = directory.join(dialect);
        let words = ["convert", "--losses", "--to-dialect", dialect, text(&source), "-o", text(&out)];
        let losses = ichnos(words).expect(0, &[]).out;
        let is_listed = losses.contains("clock.monotonic  origin other than the Unix epoch");
        let info = ichnos(["info", text(&out)]).expect(0, &[]).out;
        let is_other = info.contains("from the Unix epoch");
        assert_eq!((is_listed, is_other), (dialect == "ctf1.8", dialect == "ctf1.8"), "{losses}{info}");
    }
}

/// Start, end and event times in a packet.
type Packet = (u64, u64, [u64; 3]);

fn trace(path: &Path, bits: u64, packets: &[Packet]) -> PathBuf {
    fs::create_dir(path).unwrap();
    let member = |name: &str, length: u64, role: &str| {
        format!(
            r#"{{"name": "{name}", "field-class": {{"type": "fixed-length-unsigned-integer", "length": {length},
            "byte-order": "little-endian", "roles": [{role}]}}}}"#
        )
    };
    let structure = |members: &[String]| {
        format!(r#"{{"type": "structure", "member-classes": [{}]}}"#, members.join(", "))
    };
    let time = r#""default-clock-timestamp""#;
    let context = structure(&[
        member("total", 32, r#""packet-total-length""#),
        member("begin", bits, time),
        member("end", bits, r#""packet-end-default-clock-timestamp""#),
    ]);
    let header = structure(&[member("time", 64, time)]);
    let payload = structure(&[member("v", 8, "")]);
    let fragments = [
        r#"{"type": "preamble", "version": 2}"#.to_owned(),
        r#"{"type": "clock-class", "id": "c", "frequency": 1000000000}"#.to_owned(),
        format!(
            r#"{{"type": "data-stream-class", "default-clock-class-id": "c",
            "packet-context-field-class": {context}, "event-record-header-field-class": {header}}}"#
        ),
        format!(r#"{{"type": "event-record-class", "name": "e", "payload-field-class": {payload}}}"#),
    ];
    let metadata: String = fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect();
    fs::write(path.join("metadata"), metadata).unwrap();
    let mut stream = Vec::new();
    let mut value = 0;
    for (begin, end, times) in packets {
        let bytes = bits as usize / 8;
        let size = (4 + 2 * bytes + 27) as u32 * 8;
        stream.extend(size.to_le_bytes());
        stream.extend(&begin.to_le_bytes()[..bytes]);
        stream.extend(&end.to_le_bytes()[..bytes]);
        for time in times {
            stream.extend(time.to_le_bytes());
            stream.push(value);
            value += 1;
        }
    }
    fs::write(path.join("stream"), stream).unwrap();
    path.to_owned()
}

/// Returns the number of problems in a trace.
fn problems(path: &Path) -> usize {
    let out = ichnos(["check", "--strict", text(path)]).out;
    out.lines().filter(|line| line.contains(": error: ")).count()
}

/// Conversions of damaged packets add no damage. Each verb writes one dialect, or both in a complete sweep.
#[test]
fn wrong_times_are_not_copied_to_new_packets() {
    let directory = Directory::new("wrong-times");
    let wrong: [Packet; 9] = [
        // Only an event, the end or the start is wrong, or both.
        (1200, 1300, [1200, 1 << 63, 1300]),
        (1200, 1300, [1200, 1250, 1150]),
        (1200, 1300, [5, 1250, 1300]),
        (1200, 1_000_000, [1200, 1250, 1300]),
        (1200, 5, [1200, 1250, 1300]),
        (1290, 1300, [1200, 1250, 1300]),
        (0, 1300, [1200, 1250, 1300]),
        (1600, 1460, [1200, 1250, 1300]),
        (1 << 63, u64::MAX, [1200, 1250, 1300]),
    ];
    for (number, wrong) in wrong.into_iter().enumerate() {
        for bits in [64, 32] {
            let packets = [(1000, 1100, [1000, 1050, 1100]), wrong, (1400, 1500, [1400, 1450, 1500])];
            let source = trace(&directory.join(format!("{number}-{bits}")), bits, &packets);
            let (found, before) = (events(&source), problems(&source));
            let verbs: [&[&str]; 4] = [
                &["convert", "--packet-size", "25"],
                &["filter", "v != 4"],
                &["filter", "v != 3"],
                &["filter", "v > 4"],
            ];
            for (verb, words) in verbs.into_iter().enumerate() {
                let dialects = ["spec2", "ctf1.8"].into_iter().enumerate();
                let is_written = |turn: &usize| is_turn(number + verb + bits as usize / 32, *turn, 2);
                for (_, dialect) in dialects.filter(|(turn, _)| is_written(turn)) {
                    let out = directory.join(format!("{number}-{bits}-{verb}-{dialect}"));
                    let rest = ["--to-dialect", dialect, text(&source), "-o", text(&out)];
                    ichnos([words, &rest].concat()).expect(3, &[]);
                    let after = problems(&out);
                    assert!(after <= before, "{wrong:?} {bits} {words:?} {dialect}: {before} -> {after}");
                    let mut written = events(&out);
                    let mut expected = found.clone();
                    expected.retain(|(_, value)| match verb {
                        0 => true,
                        1 => *value != 4,
                        2 => *value != 3,
                        _ => *value > 4,
                    });
                    // Wrong times change the order of packets.
                    written.sort_unstable();
                    expected.sort_unstable();
                    assert_eq!(written, expected, "{wrong:?} {bits} {words:?} {dialect}");
                }
            }
        }
    }
}

/// If event times contradict packet times, the reader chooses times that fit. The output equals what was read.
#[test]
fn changed_times_in_damaged_packets_are_listed() {
    let directory = Directory::new("corrected-times");
    let packets = [
        (1000, 1100, [1000, 1050, 1100]),
        (1200, 1450, [1200, 1250, 1300]),
        (1400, 1500, [1400, 1450, 1500]),
    ];
    let source = trace(&directory.join("source"), 64, &packets);
    assert_eq!(problems(&source), 1);
    let out = directory.join("out");
    let words = ["filter", "--losses", "v != 4", text(&source), "-o", text(&out)];
    ichnos(words).expect(3, &[]).prints(&["rounded         1  packet.context  time of a damaged packet"]);
    ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
}

/// Times with more than 64 bits are written unchanged, and are not reported as changes.
#[test]
fn wide_times_are_not_changes() {
    let directory = Directory::new("wide-times");
    let field = |name: &str, bits: u32, roles: &str| {
        format!(
            "{{\"name\":\"{name}\",\"field-class\":{{\"type\":\"fixed-length-unsigned-integer\",\"length\":{bits},\
             \"byte-order\":\"little-endian\",\"roles\":[{roles}]}}}}"
        )
    };
    let structure =
        |members: &[String]| format!("{{\"type\":\"structure\",\"member-classes\":[{}]}}", members.join(","));
    let context = structure(&[
        field("begin", 128, "\"default-clock-timestamp\""),
        field("end", 128, "\"packet-end-default-clock-timestamp\""),
        field("total", 32, "\"packet-total-length\""),
    ]);
    let fragments = [
        "{\"type\":\"preamble\",\"version\":2}".to_owned(),
        "{\"type\":\"trace-class\"}".to_owned(),
        "{\"type\":\"clock-class\",\"id\":\"c\",\"name\":\"c\",\"frequency\":1000}".to_owned(),
        format!(
            "{{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"c\",\"packet-context-field-class\":{context},\
             \"event-record-header-field-class\":{}}}",
            structure(&[field("ts", 64, "\"default-clock-timestamp\"")])
        ),
        format!(
            "{{\"type\":\"event-record-class\",\"name\":\"e\",\"payload-field-class\":{}}}",
            structure(&[field("x", 8, "")])
        ),
    ];
    let source = directory.join("source");
    std::fs::create_dir(&source).unwrap();
    let metadata: String = fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect();
    std::fs::write(source.join("metadata"), metadata).unwrap();
    let mut stream = Vec::new();
    for begin in [100u128, 200] {
        stream.extend(begin.to_le_bytes());
        stream.extend((begin + 50).to_le_bytes());
        stream.extend((8 * (36 + 2 * 9u32)).to_le_bytes());
        for time in [begin as u64 + 10, begin as u64 + 20] {
            stream.extend(time.to_le_bytes());
            stream.push(7);
        }
    }
    std::fs::write(source.join("stream"), stream).unwrap();
    ichnos(["check", "--strict", text(&source)]).expect(0, &[]);
    let out = directory.join("out");
    for words in [
        &["cut", "--begin", "0"][..],
        &["repair"],
        &["convert", "--to-dialect", "spec2", "--packet-size", "20"],
    ] {
        let words = [words, &["--losses", "--force", text(&source), "-o", text(&out)]].concat();
        let run = ichnos(&words).expect(0, &[]);
        assert!(!run.out.contains("rounded"), "{words:?}: {}", run.out);
    }
}
