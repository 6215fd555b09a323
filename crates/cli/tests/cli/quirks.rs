//! Known tracer faults: each is named where it is worked around. Without the workaround, times are read as written.

use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::support::{Directory, METADATA, Run, ichnos, packet};
use crate::transcript::transcript;

/// Writes a trace from this tracer: [`METADATA`] with replacements. Each packet has a start, an end, and event times.
fn trace(name: &str, tracer: &str, packets: &[(u64, u64, &[u64])], changes: &[(&str, &str)]) -> Directory {
    let directory = Directory::new(name);
    let (tracer, version) = tracer.split_once(' ').unwrap();
    let numbers: Vec<&str> = version.split('.').collect();
    let environment = format!(
        "env {{ tracer_name = \"{tracer}\"; tracer_major = {}; tracer_minor = {}; tracer_patchlevel = {};",
        numbers[0], numbers[1], numbers[2]
    );
    let mut metadata = METADATA.replace("env {", &environment);
    for (from, to) in changes {
        assert!(metadata.contains(from));
        metadata = metadata.replace(from, to);
    }
    fs::write(directory.join("metadata"), metadata).unwrap();
    let mut bytes = Vec::new();
    for (begin, end, times) in packets {
        let mut packet = packet(times, 0);
        packet[8..16].copy_from_slice(&begin.to_le_bytes());
        packet[16..24].copy_from_slice(&end.to_le_bytes());
        bytes.extend(packet);
    }
    fs::write(directory.join("stream"), bytes).unwrap();
    directory
}

fn run(verb: &str, directory: &Directory, more: &[&str]) -> Run {
    let arguments = [OsStr::new(verb), directory.as_os_str()];
    ichnos(arguments.into_iter().chain(more.iter().map(OsStr::new)))
}

/// Returns the quirks in the output of `info`.
fn named(directory: &Directory, more: &[&str]) -> Vec<String> {
    let run = run("info", directory, &[&["--json"], more].concat());
    let quirks = run.json()["traces"][0]["quirks"].as_array().unwrap().clone();
    quirks.iter().map(|quirk| quirk["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns nanoseconds since the clock origin for all lines of a kind. Fails on any error.
fn times(directory: &Directory, kind: &str, more: &[&str]) -> Vec<i128> {
    times_with(directory, kind, more, 0, &[])
}

/// The same with an expected exit code and expected messages.
fn times_with(directory: &Directory, kind: &str, more: &[&str], code: i32, reported: &[&str]) -> Vec<i128> {
    let run =
        run("cat", directory, &[&["--format=jsonl", "--packets"], more].concat()).expect(code, reported);
    let lines = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_kind = lines.filter(|line| line["type"] == kind);
    let time = |line: Value| line["ts"].to_string().parse::<i128>().unwrap();
    of_kind.map(|line| time(line) - 1_000_000_000_000_000_000).collect()
}

/// Checks that a quirk is named where it is in use, and can be disabled by its name or with all quirks.
fn check(directory: &Directory, quirk: &str) {
    assert!(named(directory, &[]).contains(&quirk.to_owned()));
    assert!(!named(directory, &["--no-quirk", quirk]).contains(&quirk.to_owned()));
    assert!(named(directory, &["--no-quirks"]).is_empty());
    run("info", directory, &[]).prints(&["known bugs", &format!("{quirk}: ")]);
    let json = run("check", directory, &["--json"]).json();
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["kind"] == "quirk" && finding["name"] == quirk));
    let found = run("cat", directory, &["--no-quirks", "--no-quirk", quirk]);
    found.expect(2, &["cannot be used with"]);
}

#[test]
fn events_after_their_packet() {
    const PACKETS: [(u64, u64, &[u64]); 2] = [(1000, 3000, &[1500, 3500]), (4000, 6000, &[4500, 5500])];
    for (tracer, is_faulty) in [
        ("lttng-ust 2.10.7", true),
        ("lttng-ust 2.11.0", false),
        ("lttng-modules 2.9.12", true),
        ("lttng-modules 2.10.10", false),
        ("lttng-modules 2.10.9", true),
    ] {
        let directory = trace("after-packet", tracer, &PACKETS, &[]);
        let ends = |more: &[&str]| times(&directory, "packet-end", more);
        // Without a quirk, the same data is damage.
        let reported = |kind: &str, more: &[&str]| {
            times_with(
                &directory,
                kind,
                more,
                3,
                &["the event is at 3500 cycles, after the end of its packet at 3000"],
            )
        };
        assert_eq!(reported("packet-end", &["--no-quirks"]), [3000, 6000]);
        assert_eq!(reported("event", &["--no-quirks"]), [1500, 3500, 4500, 5500]);
        if is_faulty {
            assert_eq!(times(&directory, "event", &[]), [1500, 3500, 4500, 5500]);
            check(&directory, "lttng-event-after-packet");
            assert_eq!(ends(&[]), [3500, 6000]);
            assert_eq!(reported("packet-end", &["--no-quirk=lttng-event-after-packet"]), [3000, 6000]);
            // A window that starts after the end in the packet must not drop events.
            assert_eq!(times(&directory, "event", &["--begin=@1000000000000003200"]), [3500, 4500, 5500]);
        } else {
            assert_eq!(reported("packet-end", &[]), [3000, 6000]);
            assert!(!named(&directory, &[]).contains(&"lttng-event-after-packet".to_owned()));
        }
    }
}

#[test]
fn packets_without_an_end_after_a_crash() {
    const PACKETS: [(u64, u64, &[u64]); 2] = [(1000, 3000, &[1500, 2500]), (4000, 0, &[4500, 5500])];
    for tracer in ["lttng-ust 2.13.0", "lttng-modules 2.12.3"] {
        let directory = trace("crash", tracer, &PACKETS, &[]);
        check(&directory, "lttng-crash-packet-end");
        assert_eq!(times(&directory, "packet-end", &[]), [3000, 5500]);
        let info = run("info", &directory, &["--json"]).expect(0, &[]).json();
        // Such a packet must not end before all others start.
        assert_eq!(info["traces"][0]["begin_ns"].to_string(), "1000000000000001000");
        let damage = "the packet ends at 0 cycles, before it begins at 4000 cycles";
        run("cat", &directory, &["--no-quirk=lttng-crash-packet-end"]).expect(3, &[damage]);
        run("cat", &directory, &["--no-quirk=lttng-event-after-packet"]).expect(0, &[]);
    }
    // The quirk is limited to this tracer.
    let directory = trace("crash-of-others", "barectf 3.1.0", &PACKETS, &[]);
    run("cat", &directory, &[]).expect(3, &["ends at 0 cycles"]);
}

#[test]
fn monotonic_clocks() {
    let _transcript = transcript!();
    let of_lttng =
        [("absolute = true;", ""), ("\"mono\"", "\"monotonic\""), ("clock.mono.", "clock.monotonic.")];
    let packets: [(u64, u64, &[u64]); 1] = [(1000, 3000, &[1500, 2500])];
    let directory = trace("monotonic", "lttng-ust 2.13.0", &packets, &of_lttng);
    check(&directory, "lttng-monotonic-clock");
    // A clock with the epoch as origin in its metadata.
    let other = trace("epoch", "other 1.0.0", &[(2000, 2000, &[2000])], &[]);
    let both = |more: &[&str]| {
        run("cat", &directory, &[&[other.to_str().unwrap(), "--clock-seconds"], more].concat())
    };
    let printed = both(&[]).out;
    let seconds: Vec<&str> = printed.lines().map(|line| &line[11..21]).collect();
    assert_eq!(seconds, [".000001500", ".000002000", ".000002500"], "{printed}");
    both(&["--no-quirk=lttng-monotonic-clock"]);
    both(&["--no-quirk=lttng-monotonic-clock", "--assume-correlated"]);
    // The same clock in another tracer can have any origin.
    let stranger = trace("stranger", "other 1.0.0", &packets, &of_lttng);
    run("cat", &stranger, &[other.to_str().unwrap()]);
}

#[test]
fn events_before_their_packet() {
    const PACKETS: [(u64, u64, &[u64]); 2] = [(2000, 3000, &[1500, 2500]), (4500, 6000, &[4000, 5500])];
    let directory = trace("before-packet", "barectf 2.3.0", &PACKETS, &[]);
    check(&directory, "barectf-event-before-packet");
    assert_eq!(times(&directory, "packet-begin", &[]), [1500, 4000]);
    let reported = |directory: &Directory, more: &[&str]| {
        times_with(
            directory,
            "packet-begin",
            more,
            3,
            &["the clock goes backwards, from 2000 to 1500 cycles"],
        )
    };
    assert_eq!(reported(&directory, &["--no-quirk=barectf-event-before-packet"]), [2000, 4500]);
    assert_eq!(
        times(&directory, "event", &["--begin=@1000000000000003500", "--end=@1000000000000004200"]),
        [4000]
    );
    let directory = trace("not-before-packet", "barectf 2.3.1", &PACKETS, &[]);
    assert_eq!(reported(&directory, &[]), [2000, 4500]);
    assert!(named(&directory, &[]).is_empty());
}

/// Outputs have the corrected times: no dialect and no verb needs a workaround to read them, and all messages stay the
/// same.
#[test]
fn outputs_need_no_workaround() {
    let late: [(u64, u64, &[u64]); 3] =
        [(1000, 3000, &[1500, 3500]), (3200, 6000, &[4500, 5500]), (6000, 7000, &[])];
    let crashed: [(u64, u64, &[u64]); 2] = [(1000, 3000, &[1500, 2500]), (4000, 0, &[4500, 5500])];
    let early: [(u64, u64, &[u64]); 2] = [(2000, 3000, &[1500, 2500]), (4500, 6000, &[4000, 5500])];
    for (tracer, packets) in [
        ("lttng-ust 2.10.7", &late[..]),
        ("lttng-modules 2.12.3", &crashed[..]),
        ("barectf 2.3.0", &early[..]),
    ] {
        let directory = trace("quirks-written", tracer, packets, &[]);
        let expected: Vec<Vec<i128>> =
            ["packet-begin", "event", "packet-end"].map(|kind| times(&directory, kind, &[])).into();
        let out = Directory::new("quirks-output");
        for dialect in ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"] {
            for verb in [&["convert"][..], &["merge"], &["filter", "true || false"], &["cut", "--begin=@0"]] {
                let name = format!("{dialect}-{}", verb[0]);
                let target = out.join(&name);
                let words = verb.iter().map(OsStr::new).chain([
                    OsStr::new("--to-dialect"),
                    OsStr::new(dialect),
                    directory.as_os_str(),
                    OsStr::new("-o"),
                    target.as_os_str(),
                ]);
                ichnos(words).expect(0, &[]);
                let check = [OsStr::new("check"), OsStr::new("--strict"), OsStr::new("--no-quirks")];
                ichnos(check.into_iter().chain([target.as_os_str()])).expect(0, &[]);
                let read = ["cat", "--format=jsonl", "--packets", "--no-quirks"].map(OsStr::new);
                let lines = ichnos(read.into_iter().chain([target.as_os_str()])).expect(0, &[]).out;
                let lines: Vec<Value> =
                    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                for (kind, expected) in ["packet-begin", "event", "packet-end"].iter().zip(&expected) {
                    let mut expected = expected.clone();
                    if *kind == "packet-begin" && tracer.starts_with("lttng-ust") {
                        // A packet cannot start before the end of the previous packet.
                        assert_eq!(expected, [1000, 3200, 6000]);
                        expected[1] = 3500;
                    }
                    let of_kind = lines.iter().filter(|line| line["type"] == *kind);
                    let found = of_kind.map(|line| line["cycles"].to_string().parse().unwrap());
                    assert_eq!(found.collect::<Vec<i128>>(), expected, "{tracer} {name} {kind}");
                }
            }
        }
    }
}

/// The loss table lists corrected packet times.
#[test]
fn corrected_times_are_losses() {
    let (begin, end) = ("packet begin time after the first event", "packet end time before the last event");
    let late: [(u64, u64, &[u64]); 2] = [(1000, 3000, &[1500, 3500]), (4000, 6000, &[4500, 5500])];
    let crashed: [(u64, u64, &[u64]); 2] = [(1000, 3000, &[1500, 2500]), (4000, 0, &[4500, 5500])];
    let early: [(u64, u64, &[u64]); 2] = [(2000, 3000, &[2500, 2600]), (4500, 6000, &[4000, 5500])];
    for (tracer, packets, what) in [
        ("lttng-ust 2.10.7", late, end),
        ("lttng-modules 2.12.3", crashed, end),
        ("barectf 2.3.0", early, begin),
    ] {
        let directory = trace("quirks-listed", tracer, &packets, &[]);
        let out = Directory::new("quirks-listed-output");
        for dialect in ["spec2", "prop2", "prop1", "ctf1.8"] {
            let target = out.join(dialect);
            let more = ["--losses", "--to-dialect", dialect, "-o", target.to_str().unwrap()];
            let lines = run("convert", &directory, &more).expect(0, &[]).out;
            let listed = lines.lines().find(|line| line.contains(what)).unwrap_or_default();
            assert!(
                listed.starts_with("rounded         1  packet.context"),
                "{tracer} -> {dialect}: {lines}"
            );
        }
    }
}

/// Packets from tracers with a known bug can be divided. Their wrong times do not become damage.
#[test]
fn packets_of_known_bugs_are_divided() {
    let late: [(u64, u64, &[u64]); 3] =
        [(1000, 3000, &[1500, 3500]), (3200, 6000, &[4500, 5500]), (6000, 7000, &[])];
    let crashed: [(u64, u64, &[u64]); 2] = [(1000, 3000, &[1500, 2500]), (4000, 0, &[4500, 5500])];
    let early: [(u64, u64, &[u64]); 2] = [(2000, 3000, &[1500, 2500]), (4500, 6000, &[4000, 5500])];
    for (tracer, packets, count) in [
        ("lttng-ust 2.10.7", &late[..], 5),
        ("lttng-modules 2.12.3", &crashed[..], 4),
        ("barectf 2.3.0", &early[..], 4),
    ] {
        let directory = trace("quirks-divided", tracer, packets, &[]);
        let out = Directory::new("quirks-divided-output");
        let expected = times(&directory, "event", &[]);
        for (dialect, verb) in [
            ("spec2", &["convert", "--packet-size", "1"][..]),
            ("prop1", &["convert", "--packet-size", "1"]),
            ("ctf1.8", &["convert", "--packet-size", "1"]),
            ("spec2", &["cut", "--begin=@1000000000000001000"]),
        ] {
            let name = format!("{dialect}-{}", verb[0]);
            let target = out.join(&name);
            let words = verb.iter().map(OsStr::new).chain([
                OsStr::new("--losses"),
                OsStr::new("--to-dialect"),
                OsStr::new(dialect),
                directory.as_os_str(),
                OsStr::new("-o"),
                target.as_os_str(),
            ]);
            let losses = ichnos(words).expect(0, &[]).out;
            assert!(!losses.contains("damaged"), "{tracer} {name}: {losses}");
            let check = [OsStr::new("check"), OsStr::new("--strict"), OsStr::new("--no-quirks")];
            ichnos(check.into_iter().chain([target.as_os_str()])).expect(0, &[]);
            let read = ["cat", "--format=jsonl", "--packets", "--no-quirks"].map(OsStr::new);
            let lines = ichnos(read.into_iter().chain([target.as_os_str()])).expect(0, &[]).out;
            let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let of_kind = |kind: &str| lines.iter().filter(|line| line["type"] == *kind).collect::<Vec<_>>();
            let found = of_kind("event").into_iter().map(|line| line["cycles"].to_string().parse().unwrap());
            assert_eq!(found.collect::<Vec<i128>>(), expected, "{tracer} {name}");
            let count = if verb[0] == "cut" { packets.len() } else { count };
            assert_eq!(of_kind("packet-begin").len(), count, "{tracer} {name}");
        }
    }
}

#[test]
fn names() {
    ichnos(["info", "x", "--no-quirk=nonsense"]).expect(2, &["lttng-crash-packet-end", "possible values"]);
    ichnos(["man", "cat"]).expect(0, &[]).prints(&["barectf\\-event\\-before\\-packet", "\\-\\-no\\-quirks"]);
    ichnos(["cat", "--help"]).expect(0, &[]).prints(&["--no-quirk <NAME>", "lttng-monotonic-clock"]);
}
