//! Unusual, damaged and unfinished CTF traces: everything readable is read and reported.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, Files, METADATA, Run, ichnos, ichnos_in, packet, root, text, tsdl};

/// Writes a trace into a directory. Returns its path.
fn write(directory: &Directory, name: &str, files: &Files) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir(&path).unwrap();
    files.iter().for_each(|(name, bytes)| fs::write(path.join(name), bytes).unwrap());
    path
}

/// Prints a trace's events, without dates.
fn cat(path: &Path) -> Run {
    ichnos(["cat", "--gmt", "--no-delta", text(path)])
}

/// Repairs a trace, checks the output, and returns its events.
fn repaired(path: &Path, code: i32) -> String {
    let out = path.parent().unwrap().join("repaired");
    ichnos(["repair", "-q", text(path), "--force", "-o", text(&out)]).expect(code, &[]);
    ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
    cat(&out).expect(0, &[]).out
}

/// Sets a field at the start of a [`METADATA`] packet.
fn set(packet: &mut [u8], offset: usize, value: u64) {
    packet[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

const BEGIN: usize = 8;
const END: usize = 16;

/// Packet header times that are never filled, or wrong.
#[test]
fn repairs_keep_the_times_of_events() {
    let directory = Directory::new("tolerated-times");
    let whole =
        [packet(&[1_000, 2_000, 3_000], 0), packet(&[5_000, 6_000], 0), packet(&[7_000, 8_000], 0)].concat();
    let expected = cat(&write(&directory, "whole", &vec![("metadata", METADATA.into()), ("s", whole)])).out;
    for (name, index, begin, end) in [
        ("unfilled", 0, Some(0), Some(0)),
        ("end-unfilled", 2, None, Some(0)),
        ("early-end", 2, None, Some(7_001)),
        ("late-begin", 0, Some(3_000), None),
        ("later-begin", 0, Some(9_000), None),
        ("late-begin-of-the-last", 2, Some(9_000), None),
        ("early-begin-of-the-second", 1, Some(2_000), None),
    ] {
        let mut packets =
            [packet(&[1_000, 2_000, 3_000], 0), packet(&[5_000, 6_000], 0), packet(&[7_000, 8_000], 0)];
        begin.into_iter().for_each(|begin| set(&mut packets[index], BEGIN, begin));
        end.into_iter().for_each(|end| set(&mut packets[index], END, end));
        let path = write(&directory, name, &vec![("metadata", METADATA.into()), ("s", packets.concat())]);
        assert_eq!(repaired(&path, 0), expected, "{name}");
    }
    // One event contradicts all others.
    let wrong = packet(&[1_000, 2_000, 900_000, 3_000, 4_000], 0);
    let path = write(&directory, "event", &vec![("metadata", METADATA.into()), ("s", wrong)]);
    let right = packet(&[1_000, 2_000, 2_000, 3_000, 4_000], 0);
    let right = write(&directory, "right", &vec![("metadata", METADATA.into()), ("s", right)]);
    assert_eq!(repaired(&path, 3), cat(&right).out);
}

/// Zeros up to the end of a packet, and overwritten blocks.
#[test]
fn overwritten_bytes_do_not_become_events() {
    let directory = Directory::new("tolerated-zeros");
    let times: Vec<u64> = (1..=1_000).map(|time| time * 1_000).collect();
    let whole = packet(&times, 0);
    let expected =
        cat(&write(&directory, "whole", &vec![("metadata", METADATA.into()), ("s", whole.clone())])).out;
    let expected: Vec<&str> = expected.lines().collect();
    let mut contents = vec![("zeros-to-the-end", whole.len() - 5_000..whole.len(), vec![0; 5_000])];
    for (name, content) in
        [("zeros", vec![0; 4096]), ("ones", vec![0xff; 4096]), ("copy", whole[4096..8192].to_vec())]
    {
        contents.push((name, 8192..12_288, content));
    }
    for (name, range, content) in contents {
        let mut damaged = whole.clone();
        damaged[range.clone()].copy_from_slice(&content);
        let path = write(&directory, name, &vec![("metadata", METADATA.into()), ("s", damaged)]);
        let out = cat(&path).expect(3, &["expected an event record, found", "skipped"]).out;
        let mut lines: Vec<&str> = out.lines().collect();
        if name == "zeros-to-the-end" {
            // Zeros that start within an event may belong to it.
            lines.pop();
        }
        assert_eq!(lines, expected[..lines.len()], "{name}");
        // Everything before the block is read, except the event that reaches into it.
        assert!(lines.len() * 20 > range.start - 300, "{name}: {}", lines.len());
        repaired(&path, 0);
    }
}

/// PROP-1.0 and PROP-2.0 define metadata as an array, so that fragments can be appended.
#[test]
fn open_arrays_of_fragments_are_read() {
    let directory = Directory::new("tolerated-arrays");
    for dialect in ["prop1", "prop2"] {
        let path = directory.join(dialect);
        let example = root().join("examples/hello-ctf2/trace");
        ichnos(["convert", "-q", "--to-dialect", dialect, text(&example), "-o", text(&path)]).expect(0, &[]);
        let expected = cat(&path).expect(0, &[]).out;
        let metadata = fs::read_to_string(path.join("metadata")).unwrap();
        let end = metadata.rfind(']').unwrap();
        let last = metadata.rfind("event-record-class\"").unwrap();
        let last = metadata[..last].rfind('{').unwrap();
        for (cut, what) in [
            (end, "complete elements are read"),
            (metadata[..end].trim_end().len() - 1, "an incomplete fragment"),
            (last + 20, "an incomplete fragment"),
            (last + 1, "an incomplete fragment"),
            (metadata[..last].trim_end().len(), "complete elements are read"),
        ] {
            fs::write(path.join("metadata"), &metadata[..cut]).unwrap();
            let run = cat(&path);
            assert!(run.err.contains("lacks its end") && run.err.contains(what), "{cut}: {}", run.err);
            ichnos(["cat", "--strict", text(&path)]).expect(2, &["lacks its end"]);
            if cut == end {
                assert_eq!((run.code, &run.out), (0, &expected));
                assert_eq!(repaired(&path, 0), expected);
            } else {
                // Events of the last class are still unknown.
                assert!(!run.out.is_empty() && run.out.len() < expected.len());
            }
        }
        // Invalid text is not mistaken for an open array.
        fs::write(path.join("metadata"), metadata.replacen('{', "(", 1)).unwrap();
        cat(&path).expect(2, &["the text is not valid JSON"]);
    }
}

/// Returns PROP-1.0 metadata with one-byte event record class ids and these fragments.
fn prop1(events: &str, data: &[u8]) -> Files {
    let metadata = format!(
        r#"["CTF 2", {{"fragment": "trace-class", "default-byte-order": "le"}},
        {{"fragment": "data-stream-class",
          "event-record-header-field-type": {{"field-type": "struct", "fields": [
            {{"name": "id", "field-type": {{"field-type": "int", "size": 8, "alignment": 8}}}}]}},
          "tags": [{{"tag": "event-record-class-id", "path": {{"scope": "data-stream-event-record-header", "path": ["id"]}}}}]}},
        {events}]"#
    );
    vec![("metadata", metadata.into_bytes()), ("s", data.to_vec())]
}

fn prop1_event(id: u8, name: &str, payload: &str) -> String {
    format!(
        r#"{{"fragment": "event-record-class", "id": {id},
          "user-attrs": {{"diamon.org/ctf/ns/std": {{"name": "{name}"}}}},
          "payload-field-type": {{"field-type": "struct", "fields": [{payload}]}}}}"#
    )
}

/// A later version of PROP-1.0 can add field types to unions.
#[test]
fn unknown_field_types_are_ignored() {
    let directory = Directory::new("tolerated-types");
    let byte = r#"{"field-type": "int", "size": 8, "alignment": 8}"#;
    let new = r#"{"field-type": "quaternion", "size": 8}"#;
    let alias = format!(r#"{{"fragment": "field-type-alias", "name": "new", "field-type": {new}}},"#);
    for (name, member) in [("type", new.to_owned()), ("alias", r#""new""#.to_owned())] {
        let union = format!(
            r#"{{"name": "u", "field-type": {{"field-type": "union", "fields": [
                {{"name": "n", "field-type": {member}}}, {{"name": "o", "field-type": {byte}}}]}}}},
               {{"name": "z", "field-type": {byte}}}"#
        );
        let variant = format!(
            r#"{{"name": "t", "field-type": {{"field-type": "enum", "size": 8, "alignment": 8, "members": {{"n": [0], "o": [1]}}}}}},
               {{"name": "v", "field-type": {{"field-type": "variant", "tag": ["t"], "choices": [
                {{"name": "n", "field-type": {member}}}, {{"name": "o", "field-type": {byte}}}]}}}}"#
        );
        let field = format!(r#"{{"name": "f", "field-type": {member}}}"#);
        let events =
            [prop1_event(0, "u", &union), prop1_event(1, "v", &variant), prop1_event(2, "f", &field)];
        let events = format!("{alias}{}", events.join(","));
        let path = write(&directory, name, &prop1(&events, &[0, 7, 8, 1, 1, 9, 0, 5, 6, 2, 3]));
        let expected = "u: { u = { o = 7 }, z = 8 }\nv: { t = ( \"o\" : container = 1 ), v = { 9 } }\nu: { u = { o = 5 }, z = 6 }\n";
        let ignored = ["this field is ignored", "this choice is ignored", "quaternion"];
        let run = cat(&path).expect(3, &ignored).prints(&["z = 8", "z = 6"]);
        assert_eq!(run.out.lines().count(), expected.lines().count(), "{}", run.out);
        run.expect(3, &["an unknown field type cannot be decoded", "unknown event record class 2"]);
    }
    // After such a field in every event record, the rest cannot be decoded.
    let path = directory.join("header");
    fs::create_dir(&path).unwrap();
    let (_, metadata) = &prop1("", &[])[0];
    let metadata = String::from_utf8_lossy(metadata).replacen(byte, new, 1);
    fs::write(
        path.join("metadata"),
        metadata.replace("]}},\n        ]", "]}]").replace("},\n        ]", "}]"),
    )
    .unwrap();
    cat(&path).expect(2, &["an unknown field type cannot be decoded"]);
}

/// Two event record classes with the same id are ignored. Other classes are used.
#[test]
fn one_event_record_class_is_refused() {
    let directory = Directory::new("tolerated-classes");
    let byte = "integer { size = 8; } v;";
    let blocks = |second: &str| {
        format!(
            "stream {{ event.header := struct {{ integer {{ size = 8; }} id; }}; }};
             event {{ id = 0; name = a; fields := struct {{ {byte} }}; }};
             event {{ id = 1; name = b; fields := struct {{ {byte} }}; }};
             {second}"
        )
    };
    let different =
        format!("event {{ id = 1; name = c; fields := struct {{ {byte} integer {{ size = 8; }} w; }}; }};");
    let path = write(&directory, "ctf18", &tsdl(&blocks(&different), &[0, 7, 0, 8, 1, 9]));
    let found =
        ["duplicate event record class id 1", "the first is at 4:", ":5:", "unknown event record class 1"];
    let out = cat(&path).expect(3, &found).out;
    assert_eq!(out, "a: { v = 7 }\na: { v = 8 }\n");
    ichnos(["cat", "--strict", text(&path)]).expect(2, &["duplicate event record class id 1"]);
    // Equal classes do not contradict each other.
    let equal = format!("event {{ id = 1; name = b; fields := struct {{ {byte} }}; }};");
    let path = write(&directory, "equal", &tsdl(&blocks(&equal), &[0, 7, 1, 9]));
    assert_eq!(cat(&path).expect(0, &["they are equal"]).out, "a: { v = 7 }\nb: { v = 9 }\n");
    // An unterminated block does not count.
    let path = write(&directory, "cut", &tsdl(&blocks("event { id = 2; name = c;"), &[0, 7]));
    cat(&path).expect(2, &["a syntax error"]);

    let field = r#"{"name": "v", "field-type": {"field-type": "int", "size": 8, "alignment": 8}}"#;
    let two = format!("{field},{}", field.replace("\"v\"", "\"w\""));
    let events =
        [prop1_event(0, "a", field), prop1_event(1, "b", field), prop1_event(1, "c", &two)].join(",");
    let path = write(&directory, "prop1", &prop1(&events, &[0, 7, 1, 9]));
    let found = ["duplicate event record class id 1", "the first is at"];
    assert_eq!(cat(&path).expect(3, &found).out, "a: { v = 7 }\n");
}

/// Version numbers belong to the tracer.
#[test]
fn other_minor_versions_are_read() {
    let directory = Directory::new("tolerated-versions");
    let metadata = METADATA.replace("minor = 8", "minor = 3");
    let path = write(&directory, "minor", &vec![("metadata", metadata.into()), ("s", packet(&[1_000], 0))]);
    assert_eq!(cat(&path).expect(0, &["the minor version is not 8"]).out.lines().count(), 1);
    let metadata = METADATA.replace("major = 1", "major = 3");
    let path = write(&directory, "major", &vec![("metadata", metadata.into()), ("s", packet(&[1_000], 0))]);
    cat(&path).expect(2, &["only version 1.8 can be read"]);
}

/// A microcontroller's memory contains more than events.
#[test]
fn dumps_of_buffers_are_read_with_notes() {
    let directory = Directory::new("tolerated-dumps");
    let metadata = "clock { name = c; freq = 1000000000; };
        stream { event.header := struct { integer { size = 64; align = 8; map = clock.c.value; } timestamp;
            integer { size = 16; align = 8; } id; }; };
        event { id = 16; name = in; fields := struct { integer { size = 32; align = 8; } thread; }; };";
    let event = |time: u64| [&time.to_le_bytes()[..], &[16, 0, 1, 0, 0, 0]].concat();
    let events = [event(1_000), event(2_000)].concat();
    let banner = b"*** Booting an OS ***\r\n";
    let expected = "[00:00:00.000001000] in: { thread = 1 }\n[00:00:00.000002000] in: { thread = 1 }\n";
    for (name, data, notes) in [
        (
            "zeros",
            [&events[..], &[0; 500]].concat(),
            &["500 bytes are zeros: the unused end of a buffer"][..],
        ),
        ("text", [banner, &events[..]].concat(), &["23 bytes of text: \"*** Booting an OS ***\\r\\n\""]),
        ("both", [banner, &events[..], &[0; 500]].concat(), &["23 bytes of text", "unused end"]),
    ] {
        let path = write(&directory, name, &tsdl(metadata, &data));
        assert_eq!(cat(&path).expect(0, &[]).out, expected, "{name}");
        ichnos(["check", text(&path)]).expect(0, &[]).prints(notes).prints(&[": note: ", "no problems"]);
        assert_eq!(repaired(&path, 0), expected, "{name}");
    }
    // An id without a class, in the middle of the data.
    let unknown = [&events[..], &[9; 30]].concat();
    let path = write(&directory, "unknown", &tsdl(metadata, &unknown));
    let found = ["unknown event record class 2313", "the file `metadata` does not declare this id"];
    ichnos(["check", text(&path)]).expect(1, &[]).prints(&found);

    let packets = |times: [u64; 4]| times.map(|time| packet(&[time, time + 1], 0)).concat();
    let sorted = packets([1_000, 2_000, 3_000, 4_000]);
    let sorted = write(&directory, "sorted", &vec![("metadata", METADATA.into()), ("s", sorted)]);
    let expected = cat(&sorted).expect(0, &[]).out;
    let size = packet(&[1, 2], 0).len();
    let ring = packets([3_000, 4_000, 1_000, 2_000]);
    let oldest = format!("a ring buffer: the oldest packet is at byte {}", 2 * size);
    let unused = [packets([1_000, 2_000, 3_000, 4_000]), vec![0; 3 * size]].concat();
    for (name, data, note) in
        [("ring", ring, &*oldest), ("unused", unused, "the unused end of a packet buffer")]
    {
        let path = write(&directory, name, &vec![("metadata", METADATA.into()), ("s", data)]);
        assert_eq!(cat(&path).expect(0, &[]).out, expected, "{name}");
        ichnos(["check", text(&path)]).expect(0, &[]).prints(&[note, ": note: "]);
        assert_eq!(repaired(&path, 0), expected, "{name}");
    }
    // A text before packets with a magic number.
    let data = [&banner[..], &packets([1_000, 2_000, 3_000, 4_000])].concat();
    let path = write(&directory, "packets", &vec![("metadata", METADATA.into()), ("s", data)]);
    let found = ["expected a packet, found the text \"*** Booting an OS ***\\r\\n\"; 23 bytes skipped"];
    assert_eq!(cat(&path).expect(3, &found).out, expected);
}

/// A date as offset is the clock origin. Clocks that count from 1970 already have one.
#[test]
fn dates_do_not_move_clocks_that_count_from_1970() {
    let directory = Directory::new("tolerated-dates");
    let mixed = directory.join("mixed");
    fs::create_dir_all(mixed.join("trace")).unwrap();
    for name in ["metadata", "thermometer"] {
        fs::copy(root().join("examples/hello-ctf2/trace").join(name), mixed.join("trace").join(name))
            .unwrap();
    }
    fs::copy(root().join("examples/hello-fuchsia/boot.log"), mixed.join("boot.log")).unwrap();
    let times = |offset: &str| {
        let run = ichnos_in(
            &directory,
            ["cat", "--gmt", "--clock-date", "--no-delta", "--offset", offset, "mixed"],
        );
        run.expect(0, &[]).out
    };
    for offset in ["mixed=2026-11-23T00:38:18Z", "mixed/boot.log=2026-11-23T00:38:18Z"] {
        let out = times(offset);
        assert!(out.lines().all(|line| line.starts_with("[2026-")), "{out}");
        assert!(out.contains("[2026-05-28 20:26:40") && out.contains("[2026-11-23 00:38:"), "{out}");
    }
    // A duration moves all traces, or one.
    let (all, one) = (times("mixed=+1h"), times("mixed/trace=+1h"));
    assert_eq!(all.lines().count(), one.lines().count());
    assert_ne!(all, one);
    let missing = ["cat", "--offset", "mixed/none.log=1s", "mixed"];
    ichnos_in(&directory, missing).expect(2, &["mixed/none.log"]);
}
