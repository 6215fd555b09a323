//! Traces that are read, written as CTF and read again.

use std::path::PathBuf;

use ichnos::ctf::CtfWriter;
use ichnos::ctf::trace::CtfOptions;
use ichnos::flow::Merge;
use ichnos::io::{Bytes, Entry, IoLimits, Lane, Tree, WriteOptions, WriteSource, WriteTarget, WriterFactory};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::cursor::{MessageKind, StreamCursor};
use ichnos::model::message::DamageKind;
use ichnos::model::{Cursor, Message, OpenedTrace, Sink, Window};

/// What was read of a trace.
#[derive(Default)]
struct Read {
    /// Lines of events, without the number of their data stream.
    events: Vec<String>,
    /// Their times.
    times: Vec<Option<u64>>,
    damage: u64,
    /// Times that cannot be, and other rules that are broken: such values stay as they are.
    broken_rules: u64,
}

/// Events that are compared; more are in few inputs.
const MOST_EVENTS: usize = 20_000;

/// Reads a trace; None: it cannot be opened, or has too many events.
fn read(tree: &Tree) -> Option<Read> {
    let opened = ichnos::ctf::trace::open(&[tree], &CtfOptions::default());
    let mut read = Read::default();
    let mut lines = Vec::new();
    for trace in &opened.traces {
        read.damage += trace.damage().len() as u64;
        let mut merge = Merge::new(trace.cursors(Window::default()));
        let mut last_number = None;
        let mut sink = JsonLines::new(&mut lines, JsonLinesOptions::default());
        while merge.advance() {
            let message = merge.current()?;
            match &message {
                Message::Event(event) => read.times.push(event.clock.map(|clock| clock.cycles)),
                Message::Damage(damage) => match damage.kind {
                    DamageKind::ClockBackwards { .. }
                    | DamageKind::EventAfterPacket { .. }
                    | DamageKind::TimeOverflow(_)
                    | DamageKind::Rule(_) => read.broken_rules += 1,
                    _ => read.damage += 1,
                },
                // Its packets do not have the numbers that they should have.
                Message::DiscardedPackets(_) => read.broken_rules += 1,
                Message::PacketBegin(packet) => {
                    let number = packet.sequence_number;
                    let is_same = number.is_some() && number == last_number;
                    read.broken_rules += u64::from(is_same);
                    last_number = number;
                }
                _ => {}
            }
            let _ = sink.message(&message).unwrap();
            if read.times.len() > MOST_EVENTS {
                return None;
            }
        }
        sink.finish().unwrap();
    }
    let lines = String::from_utf8_lossy(&lines);
    read.events =
        lines.lines().filter(|line| line.starts_with("{\"type\":\"event\",")).map(str::to_owned).collect();
    (!opened.traces.is_empty()).then_some(read)
}

/// Where this process writes.
fn output() -> PathBuf {
    std::env::temp_dir().join(format!("ichnos-roundtrip-{}", std::process::id()))
}

/// Writes a trace of metadata and one data stream in a dialect, with packets as they are or others, and compares what
/// is read.
pub fn roundtrip(metadata: &[u8], stream: &[u8], choice: u8) {
    crate::verified::verified(&[("metadata", metadata), ("stream", stream)], choice);
    let entry = |path: &str, bytes: &[u8]| Entry::from_bytes(path, Bytes::from(bytes.to_vec()));
    let entries = vec![entry("metadata", metadata), entry("stream", stream)];
    let tree = Tree { name: "trace".to_owned(), entries, problems: Vec::new() };
    let Some(mut expected) = read(&tree) else { return };
    let opened = ichnos::ctf::trace::open(&[&tree], &CtfOptions::default());
    let Some(trace) = opened.traces.first() else { return };
    let mut options = WriteOptions::default();
    let dialects = CtfWriter.dialects();
    let dialect = dialects[usize::from(choice & 7) % dialects.len()].name;
    options.dialect = Some(dialect.to_owned());
    options.packet_size = [None, Some(1), Some(100), Some(10_000)][usize::from(choice >> 3 & 3)];
    // Every third event is left out.
    options.leaves_out = choice & 0x20 != 0;
    let is_kept = |number: usize| choice & 0x20 == 0 || number % 3 != 1;
    let source = WriteSource {
        trace: trace.trace().clone(),
        format: if choice & 0x80 == 0 { "ctf" } else { "other" },
        has_dynamic_classes: trace.has_dynamic_classes(),
        streams: trace.data_streams(),
    };
    if options.leaves_out {
        if source.streams.len() > 1 {
            return;
        }
        let mut kept = (0..).map(is_kept);
        expected.times.retain(|_| kept.next() == Some(true));
        let mut kept = (0..).map(is_kept);
        expected.events.retain(|_| kept.next() == Some(true));
    }
    let path = output();
    let _ = std::fs::remove_dir_all(&path);
    let output = match CtfWriter.create(WriteTarget::Complete(path.clone()), vec![source], &options) {
        Ok(output) => output,
        // What the dialect cannot describe.
        Err(error) => return drop(error.to_string()),
    };
    let mut is_copied = false;
    let mut events = 0;
    for (number, mut cursor) in trace.cursors(Window::default()).into_iter().enumerate() {
        let mut encoder = output.worker(Lane::Stream { source: 0, stream: number });
        let mut has_message = cursor.next_head().is_some();
        while has_message {
            let Some(message) = cursor.current() else { break };
            if let Message::PacketBegin(packet) = &message
                && encoder.copy_packet(packet).unwrap()
            {
                is_copied = true;
                has_message = loop {
                    match cursor.next_head() {
                        Some(head) if head.kind == MessageKind::PacketEnd => {
                            break cursor.next_head().is_some();
                        }
                        Some(_) => {}
                        None => break false,
                    }
                };
            } else {
                let mut is_written = true;
                if let Message::Event(_) = &message {
                    is_written = is_kept(events);
                    events += 1;
                }
                if is_written {
                    encoder.message(&message).unwrap();
                }
                has_message = cursor.next_head().is_some();
            }
            while let Some(block) = encoder.take() {
                output.join(block).unwrap();
            }
        }
        encoder.finish().unwrap();
        while let Some(block) = encoder.take() {
            output.join(block).unwrap();
        }
    }
    let report = output.finish().unwrap();
    let (mut dropped, mut cut) = (0, 0);
    for (loss, count) in report.losses.iter() {
        let is_cut = |what: &&str| loss.what.starts_with(what);
        if ["events after the last whole byte", "time: bits without room"].iter().any(is_cut) {
            cut += count;
        }
        if loss.what.starts_with("event that cannot be written")
            || loss.what.starts_with("packet that cannot")
        {
            dropped += count;
        }
    }
    let written = Tree::open(&path, &IoLimits::default()).unwrap();
    let found = read(&written).expect("what was written cannot be opened");
    if dropped == 0 {
        // Packets that are copied keep their damage.
        let most = if is_copied { expected.damage } else { 0 };
        assert!(found.damage <= most, "what was written in {dialect} is damaged: {found:?}");
        // Numbers of more than 64 bits, of which nothing is known, can get numbers.
        let is_rounded = report.losses.count(ichnos::model::lower::LossKind::Rounded) > 0;
        // Packets that were cut to nothing are missing in the numbers.
        let was_right = expected.broken_rules == 0 && !is_rounded && cut == 0;
        assert!(
            !was_right || found.broken_rules == 0,
            "what was written in {dialect} breaks rules: {found:?}"
        );
    }
    if dropped + cut == 0 {
        // Packets that are out of place, or there twice, need not be so in the other dialect.
        let was_right = expected.broken_rules == 0;
        assert!(!was_right || found.times == expected.times, "times in {dialect}: {found:?}");
        if dialect == "spec2" && was_right {
            // Without what is lowered, every value is the same.
            let is_same = report.losses.is_empty();
            assert!(!is_same || found.events == expected.events, "{:?}\n{:?}", expected.events, found.events);
        }
    }
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} events", self.times.len())
    }
}
