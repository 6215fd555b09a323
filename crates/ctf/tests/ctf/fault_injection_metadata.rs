//! Damaged metadata. Nothing after the damage can be trusted, so it must be refused or reported, unless the change
//! results in another valid name or number.

use std::fmt::Write as _;

use ichnos_ctf::trace::{CtfOptions, open};
use ichnos_model::OpenedTrace;
use ichnos_testing::{Random, compare_table};

use crate::fault_trace::{FaultKind, FaultTrace};
use crate::reading::{MessageReport, observed, tree};

/// Packs metadata like LTTng, into packets of a few bytes.
fn in_packets(text: &str) -> Vec<u8> {
    const CONTENT: usize = 200;
    let mut bytes = Vec::new();
    for text in text.as_bytes().chunks(CONTENT) {
        let content = 37 + text.len() as u32;
        bytes.extend(0x75d1_1d57u32.to_le_bytes());
        bytes.extend([
            0x1c, 0x40, 0x57, 0x1a, 0x7f, 0x0e, 0x4a, 0x21, 0x9d, 0x53, 0x6b, 0x0a, 0x7c, 0xf2, 0xe5, 0x81,
        ]);
        bytes.extend(0u32.to_le_bytes());
        bytes.extend((content * 8).to_le_bytes());
        bytes.extend(((content + 16) * 8).to_le_bytes());
        bytes.extend([0, 0, 0, 1, 8]);
        bytes.extend(text);
        bytes.extend([0; 16]);
    }
    bytes
}

fn damaged(bytes: &[u8], kind: FaultKind, random: &mut Random) -> Vec<u8> {
    let length = 1 + random.index(32);
    let at = random.index(bytes.len() - 2 * length);
    let (begin, some, rest) = (&bytes[..at], &bytes[at..at + length], &bytes[at + length..]);
    match kind {
        FaultKind::Flip => {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 1 << random.index(8);
            bytes
        }
        FaultKind::Cut => [begin, rest].concat(),
        FaultKind::Insert => {
            let noise: Vec<u8> = (0..length).map(|_| random.byte()).collect();
            [begin, &noise, some, rest].concat()
        }
        FaultKind::Zero => [begin, &vec![0; length], rest].concat(),
        FaultKind::Duplicate => [begin, some, some, rest].concat(),
        FaultKind::Reorder => [begin, &rest[..length], some, &rest[length..]].concat(),
    }
}

#[test]
fn every_kind_of_damage() {
    const TRIES: usize = 100;
    let trace = FaultTrace::new(4);
    let stream = trace.bytes();
    let read = |metadata: &[u8]| {
        let files = [("metadata", metadata), ("stream", &stream)];
        let opened = open(&[&tree(&files)], &CtfOptions::default());
        opened.traces.first().map(|trace| {
            let messages = observed(trace);
            let is_damaged = messages.iter().any(|observed| matches!(observed, MessageReport::Damage(_)));
            (messages, is_damaged || !trace.diagnostics().is_empty() || !trace.damage().is_empty())
        })
    };
    let mut table = String::from(
        "| metadata | kind | tries | refused | read, reported | read, the same | read otherwise, nothing reported |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let forms = [("text", trace.metadata.clone().into_bytes()), ("in packets", in_packets(&trace.metadata))];
    for (name, bytes) in forms {
        let (whole, is_reported) = read(&bytes).expect("good metadata");
        assert!(!is_reported);
        for (seed, kind) in FaultKind::ALL.into_iter().enumerate() {
            let mut random = Random::new(seed as u64);
            let [mut refused, mut read_told, mut same, mut other] = [0; 4];
            for _ in 0..TRIES {
                match read(&damaged(&bytes, kind, &mut random)) {
                    None => refused += 1,
                    Some((_, true)) => read_told += 1,
                    Some((messages, false)) if messages == whole => same += 1,
                    Some(_) => other += 1,
                }
            }
            let kind = kind.title();
            writeln!(table, "| {name} | {kind} | {TRIES} | {refused} | {read_told} | {same} | {other} |")
                .unwrap();
        }
    }
    compare_table("robustness.md", "metadata", &table);
}
