//! Packets that contain one of their sizes, both, or none, in dialects with different meanings for these cases.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Directory, Run, ichnos, text};

const DIALECTS: [&str; 4] = ["spec2", "prop2", "prop1", "ctf1.8"];

fn run(arguments: &[&str]) -> Run {
    ichnos(arguments.iter().copied())
}

fn integer(name: &str, bits: u32, roles: &str) -> String {
    format!(
        r#"{{"name": "{name}", "field-class": {{"type": "fixed-length-unsigned-integer", "length": {bits},
        "byte-order": "little-endian", "roles": [{roles}]}}}}"#
    )
}

fn structure(members: &str) -> String {
    format!(r#"{{"type": "structure", "member-classes": [{members}]}}"#)
}

/// Writes a SPEC-2.0 trace with this packet context, and event records with this number of bits and without a header.
fn trace(path: &Path, context: &str, bits: u32, stream: &[u8]) -> PathBuf {
    fs::create_dir(path).unwrap();
    let fragments = [
        r#"{"type": "preamble", "version": 2}"#.to_owned(),
        format!(r#"{{"type": "data-stream-class", "packet-context-field-class": {}}}"#, structure(context)),
        format!(
            r#"{{"type": "event-record-class", "name": "e", "payload-field-class": {}}}"#,
            structure(&integer("v", bits, ""))
        ),
    ];
    let metadata: String = fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect();
    fs::write(path.join("metadata"), metadata).unwrap();
    fs::write(path.join("stream"), stream).unwrap();
    path.to_owned()
}

/// Returns the event values in a trace. The trace must be valid.
fn values(path: &Path) -> Vec<u64> {
    run(&["check", "--strict", text(path)]).expect(0, &[]);
    let lines = run(&["cat", "-q", "-f", "csv", "--fields", "v", text(path)]).expect(0, &[]).out;
    lines.lines().skip(1).map(|value| value.parse().unwrap()).collect()
}

/// Converts a trace to all dialects, and each output to all dialects: no event is missing, and only name losses are
/// listed.
fn convert_everywhere(source: &Path, options: &[&str]) {
    let expected = values(source);
    let to = |source: &Path, dialect: &str| {
        let out = PathBuf::from(format!("{}-{dialect}", text(source)));
        let words = ["convert", "--losses", "--to-dialect", dialect, text(source), "-o", text(&out)];
        let losses = run(&[&words, options].concat()).expect(0, &[]).out;
        // In PROP-1.0, class names are attributes.
        let is_name = |line: &str| {
            line.starts_with("renamed") || line.ends_with("attributes of the event record class")
        };
        assert!(losses.lines().all(is_name), "{}:\n{losses}", out.display());
        assert_eq!(values(&out), expected, "{}", out.display());
        out
    };
    for first in DIALECTS {
        let first = to(source, first);
        DIALECTS.iter().for_each(|second| drop(to(&first, second)));
    }
}

/// Removes the total size from the packets of a PROP-1.0 trace.
fn remove_total(path: &Path) {
    let path = path.join("metadata");
    let mut metadata: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for fragment in metadata.as_array_mut().unwrap() {
        if let Some(tags) = fragment.get_mut("tags") {
            tags.as_array_mut().unwrap().retain(|tag| tag["tag"] != "packet-total-size");
        }
    }
    fs::write(path, metadata.to_string()).unwrap();
}

const TOTAL: &str = r#""packet-total-length""#;
const CONTENT: &str = r#""packet-content-length""#;
const BOTH: &str = r#""packet-total-length", "packet-content-length""#;

#[test]
fn packets_with_one_size_stay_apart() {
    let directory = Directory::new("written-sizes");
    let packet = |bytes: u8, values: &[u8]| [&[bytes * 8, 0], values].concat();
    let packets = [packet(4, &[1, 2]), packet(2, &[]), packet(5, &[3, 4, 5])].concat();
    for (name, roles) in [("total", TOTAL), ("content", CONTENT), ("both", BOTH)] {
        let member = integer("size", 16, roles);
        let nested = format!(r#"{{"name": "sizes", "field-class": {}}}"#, structure(&member));
        let source = trace(&directory.join(name), &member, 8, &packets);
        assert_eq!(values(&source), [1, 2, 3, 4, 5]);
        convert_everywhere(&source, &[]);
        for (number, context) in [&member, &nested].into_iter().enumerate() {
            let name = format!("{name}-divided-{number}");
            let source = trace(&directory.join(name), context, 8, &packets);
            for dialect in DIALECTS {
                let out = directory.join(format!("{}-{dialect}", text(&source)));
                let words = ["convert", "--packet-size", "3", "--to-dialect", dialect];
                // CTF 1.8 names are ignored in a structure within the context.
                if number == 0 || !dialect.starts_with("ctf") {
                    run(&[&words[..], &[text(&source), "-o", text(&out)]].concat()).expect(0, &[]);
                    assert_eq!(values(&out), [1, 2, 3, 4, 5], "{dialect}");
                    let info = run(&["check", text(&out)]).expect(0, &[]).out;
                    assert!(info.contains("6 packets"), "{dialect}: {info}");
                }
            }
        }
        let out = directory.join(format!("{name}-filtered"));
        run(&["filter", "v != 4", text(&source), "-o", text(&out), "--to-dialect", "prop1"]).expect(0, &[]);
        assert_eq!(values(&out), [1, 2, 3, 5]);
    }
}

#[test]
fn packets_with_both_sizes_can_end_within_a_byte() {
    let directory = Directory::new("written-both-sizes");
    let context = [integer("total", 16, TOTAL), integer("content", 16, CONTENT)].join(", ");
    // Three 4-bit values and padding.
    let packet = |a: u8, b: u8, c: u8| [56, 0, 44, 0, a | b << 4, c | 0xf0, 0xff];
    let source = trace(&directory.join("source"), &context, 4, &[packet(1, 2, 3), packet(4, 5, 6)].concat());
    assert_eq!(values(&source), [1, 2, 3, 4, 5, 6]);
    convert_everywhere(&source, &[]);
}

#[test]
fn packets_without_a_size_are_alone() {
    let directory = Directory::new("written-no-size");
    let source = trace(&directory.join("source"), &integer("n", 16, ""), 8, &[0, 0, 1, 2, 3]);
    assert_eq!(values(&source), [1, 2, 3]);
    convert_everywhere(&source, &[]);
    let divided = trace(&directory.join("divided"), &integer("n", 16, ""), 8, &[0, 0, 1, 2, 3]);
    convert_everywhere(&divided, &["--packet-size", "1"]);
}

/// In PROP-1.0, a packet with only a content size fills its data stream: the rest is padding.
#[test]
fn padding_up_to_the_end_of_a_data_stream_is_left_out() {
    let directory = Directory::new("written-padding");
    let context = [integer("total", 16, TOTAL), integer("content", 16, CONTENT)].join(", ");
    let both = trace(&directory.join("both"), &context, 8, &[64, 0, 48, 0, 1, 2, 0xee, 0xee]);
    let source = directory.join("source");
    run(&["convert", "--to-dialect", "prop1", text(&both), "-o", text(&source)]).expect(0, &[]);
    remove_total(&source);
    assert_eq!(values(&source), [1, 2]);
    convert_everywhere(&source, &[]);
    for dialect in DIALECTS {
        let out = directory.join(format!("source-{dialect}"));
        assert_eq!(fs::metadata(out.join("stream")).unwrap().len(), 6, "{dialect}");
    }
}

/// Content that ends within a byte requires a total size in dialects other than PROP-1.0, so it is added.
#[test]
fn content_sizes_within_a_byte_stay_if_possible() {
    let directory = Directory::new("written-content-bits");
    let context = [integer("total", 16, TOTAL), integer("content", 16, CONTENT)].join(", ");
    let both = trace(&directory.join("both"), &context, 4, &[56, 0, 44, 0, 0x21, 0xf3, 0xff]);
    let source = directory.join("source");
    run(&["convert", "--to-dialect", "prop1", text(&both), "-o", text(&source)]).expect(0, &[]);
    remove_total(&source);
    assert_eq!(values(&source), [1, 2, 3]);
    for dialect in DIALECTS {
        let out = directory.join(format!("out-{dialect}"));
        let words = ["convert", "--losses", "--to-dialect", dialect, text(&source), "-o", text(&out)];
        let losses = run(&words).expect(0, &[]).out;
        let is_added = losses.contains("1  packet.context  added: the total size of the packet");
        assert_eq!(
            (&values(&out)[..], is_added),
            (&[1, 2, 3][..], dialect != "prop1"),
            "{dialect}:\n{losses}"
        );
    }
}
