//! Times in fields whose size or preceding times change in the output.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, Run, ichnos, metadata_of, text};

fn run(arguments: &[&str]) -> Run {
    ichnos(arguments.iter().copied())
}

/// Returns the length property for an integer with this many bits.
fn bits(bits: u32) -> String {
    format!(r#""type": "fixed-length-unsigned-integer", "length": {bits}, "byte-order": "little-endian""#)
}

/// Writes a SPEC-2.0 trace with these packet context members. Event records have a variable-length time and an 8-bit
/// value.
fn trace(directory: &Path, name: &str, context: &str, stream: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir(&path).unwrap();
    let time = r#"{"name": "time", "field-class": {"type": "variable-length-unsigned-integer",
        "roles": ["default-clock-timestamp"]}}"#;
    let value = r#"{"name": "v", "field-class": {"type": "fixed-length-unsigned-integer", "length": 8,
        "byte-order": "little-endian"}}"#;
    let metadata = metadata_of(context, time, value);
    fs::write(path.join("metadata"), metadata).unwrap();
    fs::write(path.join("stream"), stream).unwrap();
    path
}

/// Returns a packet context member.
fn member(name: &str, class: &str, role: &str) -> String {
    format!(r#"{{"name": "{name}", "field-class": {{{class}, "roles": ["{role}"]}}}}"#)
}

const VARIABLE: &str = r#""type": "variable-length-unsigned-integer""#;

/// Returns columns of the events.
fn columns_of(path: &Path, columns: &str) -> Vec<String> {
    let lines = run(&["cat", "-q", "-f", "csv", "--fields", columns, text(path)]).expect(0, &[]).out;
    lines.lines().skip(1).map(str::to_owned).collect()
}

/// Returns cycles and values of the events.
fn events(path: &Path) -> Vec<String> {
    columns_of(path, "cycles,v")
}

const DIALECTS: [&str; 5] = ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"];

/// A variable-length time contains only as many bits as its field has. If the field gets longer, it must contain the
/// complete time.
#[test]
fn times_of_a_variable_length_get_longer() {
    let directory = Directory::new("written-times");
    // 7 bits each. They wrap twice.
    let records = [70, 1, 0, 2, 50, 3, 49, 4, 49, 5];
    let expected = ["70,1", "128,2", "178,3", "305,4", "305,5"];
    let begin = member("begin", VARIABLE, "default-clock-timestamp");
    let contexts = [("none", String::new(), &[][..]), ("begin", begin, &[60][..])];
    for (name, context, head) in contexts {
        let source = trace(&directory, name, &context, &[head, &records].concat());
        assert_eq!(events(&source), expected);
        for dialect in DIALECTS {
            for (number, options) in [&[][..], &["--packet-size", "1"]].into_iter().enumerate() {
                let out = directory.join(format!("{name}-{dialect}-{number}"));
                let words = ["convert", "--to-dialect", dialect, text(&source), "--force", "-o", text(&out)];
                run(&[&words, options].concat()).expect(0, &[]);
                assert_eq!(events(&out), expected, "{name} {dialect} {options:?}");
                run(&["check", "--strict", text(&out)]).expect(0, &[]);
            }
        }
        // Skipped events advanced the clock.
        let out = directory.join(format!("{name}-filtered"));
        run(&["filter", "v == 1 || v >= 4", text(&source), "--force", "-o", text(&out)]).expect(0, &[]);
        assert_eq!(events(&out), ["70,1", "305,4", "305,5"], "{name}");
        let out = directory.join(format!("{name}-cut"));
        run(&["cut", "--begin", "0.0000003", text(&source), "--force", "-o", text(&out)]).expect(0, &[]);
        assert_eq!(events(&out), ["305,4", "305,5"], "{name}");
    }
}

/// If a packet without a start time is divided, its parts get start times.
#[test]
fn divided_packets_have_start_times() {
    let directory = Directory::new("written-begins");
    let size = r#""type": "fixed-length-unsigned-integer", "length": 16, "byte-order": "little-endian""#;
    // The clock is 0 before each packet.
    let packet = [96, 0, 70, 1, 0, 2, 50, 3, 49, 4, 49, 5];
    let source = trace(&directory, "source", &member("total", size, "packet-total-length"), &packet);
    let expected = ["70,1", "128,2", "178,3", "305,4", "305,5"];
    assert_eq!(events(&source), expected);
    for dialect in DIALECTS {
        for size in ["1", "15", "100"] {
            let out = directory.join(format!("{dialect}-{size}"));
            let words = [
                "convert",
                "--packet-size",
                size,
                "--to-dialect",
                dialect,
                text(&source),
                "--force",
                "-o",
                text(&out),
            ];
            run(&words).expect(0, &[]);
            assert_eq!(events(&out), expected, "{dialect} {size}");
            run(&["check", "--strict", text(&out)]).expect(0, &[]);
        }
    }
}

/// An 8-bit start time suffices for the packet, but not for its second half.
#[test]
fn divided_packets_have_complete_start_times() {
    let directory = Directory::new("written-short-begins");
    let integer = |bits| {
        format!(r#""type": "fixed-length-unsigned-integer", "length": {bits}, "byte-order": "little-endian""#)
    };
    let context = [
        member("total", &integer(8), "packet-total-length"),
        member("begin", &integer(8), "default-clock-timestamp"),
    ]
    .join(",");
    let source = trace(&directory, "source", &context, &[80, 200, 72, 1, 71, 2, 70, 3, 69, 4]);
    let expected = ["200,1", "327,2", "454,3", "581,4"];
    assert_eq!(events(&source), expected);
    for dialect in DIALECTS {
        let out = directory.join(dialect);
        let words = [
            "convert",
            "--packet-size",
            "1",
            "--to-dialect",
            dialect,
            text(&source),
            "--force",
            "-o",
            text(&out),
        ];
        run(&words).expect(0, &[]);
        assert_eq!(events(&out), expected, "{dialect}");
        run(&["check", "--strict", text(&out)]).expect(0, &[]);
    }
}

/// Packets that have an end time, and get a start time, do not overlap.
#[test]
fn packets_with_added_start_times_do_not_overlap() {
    let directory = Directory::new("written-ends");
    let byte = r#""type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian""#;
    let stream = [32, 10, 1, 1, 32, 20, 11, 2, 32, 30, 25, 3];
    for (name, end) in [("variable", VARIABLE), ("byte", byte)] {
        let context = [
            member("total", byte, "packet-total-length"),
            member("end", end, "packet-end-default-clock-timestamp"),
        ];
        let source = trace(&directory, name, &context.join(","), &stream);
        let expected = ["1,1", "11,2", "25,3"];
        assert_eq!(events(&source), expected);
        for (end, count) in [("2", 1), ("15", 2), ("10", 1), ("25", 3)] {
            let out = directory.join(format!("{name}-{end}"));
            run(&["cut", "--end", &format!("@{end}"), text(&source), "--force", "-o", text(&out)])
                .expect(0, &[]);
            assert_eq!(events(&out), expected[..count], "{name} {end}");
            run(&["check", "--strict", text(&out)]).expect(0, &[]);
        }
        for size in ["1", "100"] {
            let out = directory.join(format!("{name}-size-{size}"));
            run(&["convert", "--packet-size", size, text(&source), "--force", "-o", text(&out)])
                .expect(0, &[]);
            assert_eq!(events(&out), expected);
            run(&["check", "--strict", text(&out)]).expect(0, &[]);
        }
    }
}

/// Packets whose header and context become too large for their size fields are dropped and counted.
#[test]
fn packets_too_large_for_their_size_field_are_dropped() {
    let directory = Directory::new("written-sizes");
    let small = [40, 1, 1, 17, 3];
    let source = small_sizes(&directory, &[&LARGE_PACKET[..], &small[..]].concat());
    assert_eq!(events(&source), ["9,1", "10,2", "17,3"]);
    let out = directory.join("out");
    let words = ["convert", "--losses", "--to-dialect", "ctf1.8", text(&source), "--force", "-o", text(&out)];
    run(&words).expect(0, &[]).prints(&[
        "packet that cannot be written: its header and context are too large for its size fields",
        "event that cannot be written: its packet cannot be",
    ]);
    assert_eq!(events(&out), ["17,3"]);
}

/// A packet for [`small_sizes`] with two events. It is too large for CTF 1.8, where each of its 8 one-byte elements
/// takes 8 bytes.
const LARGE_PACKET: [u8; 14] = [96 + 16, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 10, 2];

/// Writes a trace with 8-bit packet sizes.
fn small_sizes(directory: &Path, stream: &[u8]) -> PathBuf {
    let size = r#""type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian""#;
    let long = r#"{"name": "long", "field-class": {"type": "dynamic-length-array", "length-field-location":
        {"origin": "packet-context", "path": ["n"]}, "element-field-class": {"type":
        "variable-length-unsigned-integer"}}}"#;
    let context = [
        member("total", size, "packet-total-length"),
        format!(r#"{{"name": "n", "field-class": {{{size}}}}}"#),
        long.to_owned(),
    ]
    .join(",");
    trace(directory, "source", &context, stream)
}

/// Every verb that writes ends with exit code 3 if all events were dropped from the output.
#[test]
fn an_output_without_events_is_not_a_success() {
    let directory = Directory::new("written-nothing");
    let source = small_sizes(&directory, &LARGE_PACKET);
    let all = "all 2 events were dropped: the output does not contain events";
    let one = "the only event was dropped: the output does not contain events";
    for (number, (words, warning)) in [
        (&["convert"][..], all),
        (&["convert", "--dry-run"], all),
        (&["cut", "--begin", "0"], all),
        (&["cut", "--begin", "0.000000010"], one),
        (&["filter", "v > 1"], one),
        (&["merge"], all),
        (&["repair"], all),
        (&["split", "--by", "event"], "all 2 events were dropped: part `e` does not contain events"),
    ]
    .into_iter()
    .enumerate()
    {
        let out = directory.join(number.to_string());
        let more = ["--to-dialect", "ctf1.8", text(&source), "--force", "-o", text(&out)];
        run(&[words, &more].concat()).expect(3, &[warning, "--losses lists the reasons"]);
    }
    // Without a selection, nothing is missing.
    let out = directory.join("none");
    let words = ["filter", "v > 2", "--to-dialect", "ctf1.8", text(&source), "--force", "-o", text(&out)];
    assert!(!run(&words).expect(1, &[]).err.contains("dropped: "));
    // A repair with an empty output.
    let mut cut = LARGE_PACKET.to_vec();
    cut.truncate(11);
    fs::write(source.join("stream"), cut).unwrap();
    let out = directory.join("repaired");
    run(&["repair", text(&source), "--force", "-o", text(&out)]).expect(3, &["no event can be recovered"]);
}

/// Losses in packet headers, packet contexts and event record headers are also listed.
#[test]
fn losses_of_packets_are_listed() {
    let directory = Directory::new("written-packet-losses");
    let wide = format!(r#"{{"name": "wide", "field-class": {{{VARIABLE}}}}}"#);
    // Numbers with more than 64 bits, one of them a time.
    let long = [&[0xff; 10][..], &[0x7f]].concat();
    let source = trace(&directory, "source", &wide, &[&long[..], &long, &[1]].concat());
    let out = directory.join("out");
    let words = ["convert", "--losses", "--to-dialect", "ctf1.8", text(&source), "--force", "-o", text(&out)];
    run(&words).expect(0, &[]).prints(&[
        "rounded         1  packet.context.wide  number beyond 64 bits: nearest 64-bit number",
        "rounded         1  e: header.time  number beyond 64 bits: nearest 64-bit number",
    ]);
}

/// Writes a PROP-1.0 trace with 8-bit fields: packets have a size and the start times of two clocks, and events have
/// both times and a value.
fn prop1(directory: &Path, name: &str, stream: &[u8]) -> PathBuf {
    let source = directory.join(name);
    fs::create_dir(&source).unwrap();
    let int =
        |name: &str| format!(r#"{{"name": "{name}", "field-type": {{"field-type": "int", "size": 8}}}}"#);
    let tag = |name: &str, scope: &str, field: &str, clock: &str| {
        let clock = if clock.is_empty() {
            String::new()
        } else {
            format!(r#", "data-stream-clock-class-name": "{clock}""#)
        };
        format!(
            r#"{{"tag": "{name}", "path": {{"scope": "data-stream-{scope}", "path": ["{field}"]}}{clock}}}"#
        )
    };
    let (now, context, header) = ("update-data-stream-clock-now", "packet-context", "event-record-header");
    let tags = [
        tag("packet-total-size", context, "total", ""),
        tag(now, context, "begin", "first"),
        tag(now, context, "other", "second"),
        tag(now, header, "time", "first"),
        tag(now, header, "further", "second"),
    ];
    let metadata = format!(
        r#"["CTF 2",
        {{"fragment": "data-stream-clock-class", "name": "first", "freq": 1000000000}},
        {{"fragment": "data-stream-clock-class", "name": "second", "freq": 1000000000}},
        {{"fragment": "trace-class", "default-byte-order": "le"}},
        {{"fragment": "data-stream-class", "id": 0,
            "packet-context-field-type": {{"field-type": "struct", "fields": [{}]}},
            "event-record-header-field-type": {{"field-type": "struct", "fields": [{}]}}, "tags": [{}]}},
        {{"fragment": "event-record-class", "name": "e", "id": 0, "parent-data-stream-class-id": 0,
            "payload-field-type": {{"field-type": "struct", "fields": [{}]}}}}]"#,
        ["total", "begin", "other"].map(int).join(","),
        ["time", "further"].map(int).join(","),
        tags.join(","),
        int("v")
    );
    fs::write(source.join("metadata"), metadata).unwrap();
    fs::write(source.join("stream"), stream).unwrap();
    source
}

/// If fields with the default clock change, fields with other clocks stay unchanged.
#[test]
fn times_of_other_clocks_stay() {
    let directory = Directory::new("written-other-clocks");
    let source = prop1(&directory, "source", &[96, 20, 30, 21, 31, 1, 22, 32, 2, 23, 33, 3]);
    let fields = |path: &Path| columns_of(path, "cycles,packet.other,header.further,v");
    assert_eq!(fields(&source), ["21,30,31,1", "22,30,32,2", "23,30,33,3"]);
    let verbs = [
        (&["convert", "--packet-size", "1", "--to-dialect", "prop1"][..], 0),
        (&["cut", "--begin", "0.000000022"], 1),
    ];
    for (words, first) in verbs {
        let out = directory.join(words[0]);
        run(&[words, &[text(&source), "--force", "-o", text(&out)]].concat()).expect(0, &[]);
        assert_eq!(fields(&out), fields(&source)[first..], "{words:?}");
    }
}

/// PROP-1.0 clocks continue from packet to packet. If they do not, packets must contain the complete time.
#[test]
fn clocks_continue_in_other_dialects() {
    let directory = Directory::new("written-go-on");
    let packet = |begin: u8, times: [u8; 2]| [72, begin, 0, times[0], 0, times[0], times[1], 0, times[1]];
    let source = prop1(
        &directory,
        "source",
        &[packet(200, [210, 250]), packet(5, [6, 7]), packet(1, [0, 9])].concat(),
    );
    let expected = ["210,210", "250,250", "262,6", "263,7", "768,0", "777,9"];
    assert_eq!(events(&source), expected);
    for dialect in DIALECTS {
        let out = directory.join(dialect);
        run(&["convert", "--to-dialect", dialect, text(&source), "--force", "-o", text(&out)]).expect(0, &[]);
        assert_eq!(events(&out), expected, "{dialect}");
        run(&["check", text(&out)]).expect(0, &[]);
    }
}

/// After skipped events, packets and event records with truncated timestamps still have correct times. The dialects
/// differ in whether clocks continue from packet to packet.
#[test]
fn skipped_events_advance_the_clock() {
    let directory = Directory::new("written-left-out");
    let context = |begin: u32| {
        [
            member("total", &bits(8), "packet-total-length"),
            member("begin", &bits(begin), "default-clock-timestamp"),
        ]
        .join(",")
    };
    let short = trace(&directory, "short", &context(8), &[80, 100, 100, 1, 72, 2, 44, 3, 16, 4]);
    // A 32-bit clock that wraps within the packet.
    let metadata = fs::read_to_string(short.join("metadata")).unwrap();
    let variable = r#""type": "variable-length-unsigned-integer""#;
    fs::write(short.join("metadata"), metadata.replace(variable, &bits(8))).unwrap();
    let wrapping = trace(&directory, "wrapping", &context(32), &[]);
    let metadata = fs::read_to_string(wrapping.join("metadata")).unwrap();
    fs::write(wrapping.join("metadata"), metadata.replace(variable, &bits(32))).unwrap();
    let mut packet = vec![8 * 25];
    packet.extend(0xffff_fff0_u32.to_le_bytes());
    for (time, value) in [(0xffff_fff1_u32, 1), (5, 2), (10, 3), (20, 4)] {
        packet.extend(time.to_le_bytes());
        packet.push(value);
    }
    fs::write(wrapping.join("stream"), packet).unwrap();
    let begin = |time: u8, times: [u8; 2]| [72, time, 0, times[0], 0, times[0], times[1], 0, times[1]];
    let packets = [begin(200, [210, 250]), begin(5, [6, 7]), begin(1, [0, 9])].concat();
    let going_on = prop1(&directory, "going-on", &packets);
    for source in [&short, &wrapping, &going_on] {
        let all = events(source);
        let verbs: [&[&str]; 5] = [
            &["filter", "v == 4 || v == 9"],
            &["cut", "--begin=-100ns"],
            &["cut", "--begin=-10ns"],
            &["cut", "--align=packet", "--begin=-10ns"],
            &["repair"],
        ];
        for (number, verb) in verbs.into_iter().enumerate() {
            for dialect in DIALECTS {
                let name = source.file_name().unwrap().to_str().unwrap();
                let out = directory.join(format!("{name}-{number}-{dialect}"));
                run(&[verb, &["--to-dialect", dialect, text(source), "--force", "-o", text(&out)]].concat())
                    .expect(0, &[]);
                let written = events(&out);
                assert!(!written.is_empty(), "{name} {verb:?} {dialect}");
                assert_eq!(written, all[all.len() - written.len()..], "{name} {verb:?} {dialect}");
                run(&["check", text(&out)]).expect(0, &[]);
            }
        }
    }
}

/// From SPEC-2.0 to PROP-1.0 and back, packets keep their times, counters and trailing padding. An added member is
/// listed.
#[test]
fn packets_stay_the_same_by_way_of_prop1() {
    let directory = Directory::new("written-prop1-and-back");
    let context = |begin: u32| {
        [
            member("total", &bits(32), "packet-total-length"),
            member("content", &bits(32), "packet-content-length"),
            member("begin", &bits(begin), "default-clock-timestamp"),
            member("end", &bits(begin), "packet-end-default-clock-timestamp"),
            member("discarded", &bits(16), "discarded-event-record-counter-snapshot"),
            member("number", &bits(8), "packet-sequence-number"),
        ]
        .join(",")
    };
    let messages = |path: &Path| -> Vec<String> {
        let lines = run(&["cat", "-q", "-f", "jsonl", "--packets", text(path)]).expect(0, &[]).out;
        let kinds = [r#"{"type":"packet-"#, r#"{"type":"event","#, r#"{"type":"discarded-"#];
        let lines = lines.lines().filter(|line| kinds.iter().any(|kind| line.starts_with(kind)));
        // Without the members in contexts and headers.
        let plain = |line: &str| line.split(r#","context""#).next().unwrap().to_owned();
        lines.map(|line| plain(&line.replace(r#","header""#, r#","context""#))).collect()
    };
    for bits in [64, 32] {
        let name = bits.to_string();
        let mut stream = Vec::new();
        for (number, begin, end, event) in
            [(7, 0xaabb_ccdd, 0xaabb_ccff, Some(0xaabb_ccee_u64)), (8, 0xaabb_cd10_u64, 0xaabb_cd40, None)]
        {
            let mut body = Vec::new();
            for time in [begin, end] {
                body.extend(&u64::to_le_bytes(time)[..bits / 8]);
            }
            body.extend([number, 0, number]);
            for time in event.into_iter() {
                // Variable length: five groups of seven bits.
                body.extend((0..5).map(|i| (time >> (7 * i)) as u8 & 0x7f | if i < 4 { 0x80 } else { 0 }));
                body.push(number);
            }
            let content = 8 * (8 + body.len() as u32);
            stream.extend(512_u32.to_le_bytes().into_iter().chain(content.to_le_bytes()).chain(body));
            stream.resize(stream.len().next_multiple_of(64), 0);
        }
        let source = trace(&directory, &name, &context(bits as u32), &stream);
        let (there, back) = (directory.join(format!("{name}-prop1")), directory.join(format!("{name}-back")));
        run(&["convert", "--to-dialect", "prop1", text(&source), "-o", text(&there)]).expect(0, &[]);
        let words = ["convert", "--losses", "--to-dialect", "spec2", text(&there), "-o", text(&back)];
        let listed = run(&words).expect(0, &[]).out;
        assert_eq!(messages(&there), messages(&source), "{bits}");
        let sizes = |lines: Vec<String>| -> Vec<String> {
            let without = |line: String| line.split(r#","content_bits""#).next().unwrap().to_owned();
            lines.into_iter().map(without).collect()
        };
        if bits == 64 {
            assert_eq!(messages(&back), messages(&source));
            assert_eq!(listed, "");
        } else {
            // In PROP-1.0, clocks continue, so 32 bits may not be the complete time.
            assert_eq!(sizes(messages(&back)), sizes(messages(&source)));
            let is_widened = |line: &&str| line.ends_with("32-bit time -> full 64-bit time");
            assert_eq!(listed.lines().filter(is_widened).count(), 2, "{listed}");
        }
        let total = r#""total_bits":512"#;
        assert_eq!(messages(&back).iter().filter(|line| line.contains(total)).count(), 2);
        run(&["check", "--strict", text(&back)]).expect(0, &[]);
    }
}

/// A repair writes an event time after its packet's end, even if 32 bits are too short for it.
#[test]
fn repaired_times_of_packets_have_room() {
    let directory = Directory::new("repaired-times");
    let path = directory.join("trace");
    fs::create_dir(&path).unwrap();
    let metadata = "/* CTF 1.8 */
        trace { major = 1; minor = 8; byte_order = le; };
        clock { name = c; freq = 1000000000; };
        typealias integer { size = 32; align = 8; map = clock.c.value; } := stamp;
        typealias integer { size = 32; align = 8; } := u32;
        stream {
            packet.context := struct {
                u32 packet_size; u32 content_size; stamp timestamp_begin; stamp timestamp_end;
            };
            event.header := struct { stamp timestamp; };
        };
        event { name = tick; fields := struct { u32 v; }; };";
    fs::write(path.join("metadata"), metadata).unwrap();
    // The second time is before the first: the clock has wrapped.
    for (times, end) in [([10, 0], 100), ([65_546, 100], 100), ([u32::MAX - 5, 5], 5)] {
        let words = [256, 256, 1, end, times[0], 1, times[1], 2];
        fs::write(path.join("stream"), words.map(u32::to_le_bytes).concat()).unwrap();
        let columns = ["cat", "-q", "-f", "csv", "--fields", "cycles,v"];
        let before = run(&[&columns[..], &[text(&path)]].concat()).expect(3, &[]).out;
        assert_eq!(before.lines().count(), 3);
        let output = directory.join("out");
        run(&["repair", "-q", "--force", text(&path), "-o", text(&output)]).expect(0, &[]);
        run(&["check", "--strict", text(&output)]).expect(0, &[]);
        assert_eq!(run(&[&columns[..], &[text(&output)]].concat()).expect(0, &[]).out, before);
    }
}
