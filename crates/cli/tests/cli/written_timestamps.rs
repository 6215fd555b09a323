//! Event record headers with several timestamps. Each advances the clock, and the last one is the event time.

use std::fs;
use std::path::{Path, PathBuf};

use ichnos_testing::is_turn;

use crate::support::{Directory, ichnos, metadata_of, text};

/// Words of a command, and the events in its output.
type Verb<'v> = (&'v [&'v str], &'v [(u64, u8)]);

/// Timestamp length in bits. 0 means variable length.
type Bits = u32;

fn integer(name: &str, bits: Bits, role: &str) -> String {
    let class = match bits {
        0 => r#""type": "variable-length-unsigned-integer""#.to_owned(),
        _ => format!(
            r#""type": "fixed-length-unsigned-integer", "length": {bits}, "byte-order": "little-endian""#
        ),
    };
    format!(r#"{{"name": "{name}", "field-class": {{{class}, "roles": [{role}]}}}}"#)
}

/// Appends the lower bits of a time. Returns the time that a reader computes from them after `clock`.
fn put(stream: &mut Vec<u8>, bits: Bits, clock: u64, time: u64) -> u64 {
    let length = if bits == 0 { 14 } else { bits };
    let mask = u64::MAX >> (64 - length);
    match bits {
        0 => stream.extend([(time & 0x7f) as u8 | 0x80, (time >> 7 & 0x7f) as u8]),
        _ => stream.extend(&time.to_le_bytes()[..bits as usize / 8]),
    }
    clock + (time.wrapping_sub(clock) & mask)
}

/// Writes a trace with one packet and these timestamps in each event record header, with some time between them.
/// Returns its events.
fn trace(path: &Path, begin: Option<Bits>, header: &[Bits]) -> Vec<(u64, u8)> {
    fs::create_dir(path).unwrap();
    let time = r#""default-clock-timestamp""#;
    let mut context = vec![integer("total", 32, r#""packet-total-length""#)];
    context.extend(begin.map(|bits| integer("begin", bits, time)));
    let fields = header.iter().enumerate().map(|(number, bits)| integer(&format!("t{number}"), *bits, time));
    let fields: Vec<_> = fields.collect();
    let metadata = metadata_of(&context.join(", "), &fields.join(", "), &integer("v", 8, ""));
    fs::write(path.join("metadata"), metadata).unwrap();

    let mut stream = vec![0; 4];
    let mut clock = begin.map_or(0, |bits| put(&mut stream, bits, 0, 1000));
    let mut events = Vec::new();
    for value in 0..6 {
        for (bits, number) in header.iter().zip(1..) {
            let step = if *bits == 8 { 9 } else { 700 * number };
            clock = put(&mut stream, *bits, clock, clock + step);
        }
        stream.push(value);
        events.push((clock, value));
    }
    let size = stream.len() as u32 * 8;
    stream[..4].copy_from_slice(&size.to_le_bytes());
    fs::write(path.join("stream"), stream).unwrap();
    events
}

/// Returns cycles and values of a trace's events. The trace must be valid.
fn events(path: &Path) -> Vec<(u64, u8)> {
    ichnos(["check", "--strict", text(path)]).expect(0, &[]);
    let lines = ichnos(["cat", "-q", "-f", "csv", "--fields", "cycles,v", text(path)]).expect(0, &[]).out;
    let event = |line: &str| {
        let (time, value) = line.split_once(',').unwrap();
        (time.parse().unwrap(), value.parse().unwrap())
    };
    lines.lines().skip(1).map(event).collect()
}

/// Each verb writes each header in each dialect. The starts of packets take turns with the dialects.
#[test]
fn packets_start_before_the_first_event_timestamps() {
    let directory = Directory::new("written-timestamps");
    let headers: [&[Bits]; 5] = [&[16, 16], &[32, 8], &[64, 16], &[0, 16], &[16, 8, 0]];
    for (number, header) in headers.into_iter().enumerate() {
        for (start, begin) in [None, Some(32), Some(0)].into_iter().enumerate() {
            let name = format!("{number}-{begin:?}");
            let source = directory.join(&name);
            let expected = trace(&source, begin, header);
            assert_eq!(events(&source), expected, "{name}");
            let from = expected[3].0 - 4;
            let from = format!("0.{from:09}");
            let verbs: [Verb<'_>; 4] = [
                (&["filter", "v >= 3"], &expected[3..]),
                // Between the timestamps in the first event.
                (&["cut", "--begin", &from], &expected[3..]),
                (&["convert", "--packet-size", "16"], &expected),
                (&["repair"], &expected),
            ];
            for (verb, (words, expected)) in verbs.into_iter().enumerate() {
                let dialects = ["spec2", "prop1", "ctf1.8"].into_iter().enumerate();
                for (_, dialect) in dialects.filter(|(turn, _)| is_turn(number + verb + start, *turn, 3)) {
                    let out: PathBuf = directory.join(format!("{name}-{}-{dialect}", words[0]));
                    let rest = ["--losses", "--to-dialect", dialect, text(&source), "-o", text(&out)];
                    let losses = ichnos([words, &rest].concat()).expect(0, &[]).out;
                    assert_eq!(events(&out), expected, "{header:?} {}\n{losses}", out.display());
                    let is_harmless = |line: &str| line.starts_with("renamed") || line.starts_with("lowered");
                    assert!(losses.lines().all(is_harmless), "{header:?} {}\n{losses}", out.display());
                }
            }
        }
    }
}
