//! Buffer dumps from microcontrollers: text before the data, unused bytes after it, and packets in ring order.

use std::cell::Cell;
use std::sync::Arc;

use ichnos_model::class::Value;
use ichnos_model::decode::UNKNOWN;
use ichnos_model::trace::{Diagnostic, FileDiagnostic, TextPosition};
use ichnos_model::{Cursor as _, Message, TraceClass, Window};

use crate::packet::Clocks;
use crate::packet_entry::PacketEntry;
use crate::stream_input::StreamInput;

/// Maximum size in bytes of a file that is read to find where its data ends.
const LARGEST: usize = 64 << 20;

/// Minimum length in bytes of a text or an unused range.
const SHORTEST: usize = 8;

/// Returns a note about a file that is read as its tracer meant it.
fn note(file: &str, message: String) -> FileDiagnostic {
    FileDiagnostic::new(file, Diagnostic::note(TextPosition::default(), message))
}

/// Returns `true` if a tracer records straight into files, so that all their bytes are used.
fn writes_files(trace: &TraceClass) -> bool {
    let tracer = trace.environment("tracer_name").and_then(Value::as_text);
    tracer.is_some_and(|tracer| tracer.starts_with("lttng"))
}

/// Returns the start of a text, quoted for messages.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        // A character starts there.
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// Returns the text at the start of some bytes, up to its last line feed.
pub(crate) fn leading_text(bytes: &[u8]) -> Option<&str> {
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n' | 0x1b);
    let length = bytes.iter().take_while(|byte| is_text(byte)).count();
    let length = bytes.get(..length)?.iter().rposition(|byte| *byte == b'\n')? + 1;
    let text = bytes.get(..length).filter(|text| text.len() >= SHORTEST)?;
    std::str::from_utf8(text).ok()
}

/// Counts the trailing zero bytes.
fn trailing_zeros(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|byte| **byte == 0).count()
}

/// Returns a note about zeros after the last packet, if they complete a buffer of equally sized packets.
pub(crate) fn unused_packets(
    trace: &TraceClass,
    file: (&str, &[u8]),
    packets: &[PacketEntry],
    end: u64,
) -> Option<FileDiagnostic> {
    let (name, bytes) = file;
    let size = packets.first()?.total()? / 8;
    let rest = bytes.get(usize::try_from(end).ok()?..)?;
    let is_buffer = size > 0
        && !rest.is_empty()
        && rest.len() as u64 % size == 0
        && packets.iter().all(|packet| packet.total() == Some(8 * size))
        && trailing_zeros(rest) == rest.len()
        && !writes_files(trace);
    is_buffer.then(|| {
        let message = format!("the last {} bytes are zeros: the unused end of a packet buffer", rest.len());
        note(name, message)
    })
}

/// Returns `true` if a file is a ring buffer: its packets have the same size, and are sorted by time except where the
/// oldest packet follows the newest one.
/// The newest packet may still be open. If the oldest packet also has the next sequence number, or another packet ends
/// before it begins, a time is wrong and the file is not a ring.
pub(crate) fn is_ring(trace: &TraceClass, packets: &[PacketEntry]) -> bool {
    let size = packets.first().and_then(PacketEntry::total);
    let is_next = |two: &[PacketEntry]| {
        let [before, next] = [0, 1].map(|at| two.get(at).and_then(PacketEntry::sequence));
        before.zip(next).is_some_and(|(before, next)| next.since(before) == Some(1))
    };
    let mut descents = packets.windows(2).filter(|two| two[1].begin() < two[0].begin());
    let is_rotated = descents.next().is_some_and(|two| !is_next(two)) && descents.next().is_none();
    let newest = packets.windows(2).position(|two| two[1].begin() < two[0].begin());
    let ends_first = |(at, packet): (usize, &PacketEntry)| {
        Some(at) != newest && packet.end().is_some() && packet.end() < packet.begin()
    };
    let ends = packets.first().zip(packets.last());
    is_rotated
        && packets.len() > 2
        && ends.is_some_and(|(first, last)| last.end().max(last.begin()) <= first.begin())
        && size.is_some_and(|_| packets.iter().all(|packet| packet.total() == size))
        && !packets.iter().enumerate().any(ends_first)
        && !writes_files(trace)
}

/// Returns a note about a ring buffer whose packets were sorted.
pub(crate) fn ring_note(name: &str, packets: &[PacketEntry]) -> Option<FileDiagnostic> {
    let byte = packets.first()?.offset;
    Some(note(name, format!("the packets form a ring buffer: the oldest packet is at byte {byte}")))
}

/// Event count up to the first damage in a packet, and the bit where they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EventExtent {
    events: u64,
    /// End in bits from the packet's start.
    end: u64,
    is_damaged: bool,
}

impl StreamInput {
    fn extent(self: &Arc<Self>, packet: usize) -> EventExtent {
        let mut extent = EventExtent { events: 0, end: 0, is_damaged: false };
        let mut cursor = self.cursor_of(Window::default(), packet..packet + 1);
        while cursor.advance() {
            match cursor.current() {
                Some(Message::Event(event)) => {
                    extent.events += 1;
                    extent.end = event.scopes.end;
                }
                Some(Message::Damage(_)) => {
                    extent.is_damaged = true;
                    break;
                }
                _ => {}
            }
        }
        extent
    }

    /// Drops bytes around the data in files that consist of one packet without sizes. Returns notes about them.
    pub(crate) fn trim(self: &mut Arc<Self>) -> Vec<FileDiagnostic> {
        let mut notes = Vec::new();
        for packet in 0..self.packets.len() {
            let entry = &self.packets[packet];
            let Some(file) = self.files.get(entry.file as usize).cloned() else { continue };
            let offset = usize::try_from(entry.offset).unwrap_or(usize::MAX);
            // An entry beyond the file lacks bytes to trim.
            let bytes = file.bytes.get(offset..).unwrap_or_default();
            let is_dump = entry.total().or(entry.content()).is_none() && bytes.len() <= LARGEST;
            let text = leading_text(bytes).filter(|_| is_dump);
            if !is_dump || text.is_none() && trailing_zeros(bytes) < SHORTEST {
                continue;
            }
            let mut extent = self.extent(packet);
            if let Some(text) = text.filter(|_| extent.events == 0) {
                let Some(moved) = self.entry_at(packet, offset + text.len()) else { continue };
                let Some(unmoved) = self.replace_packet(packet, moved) else { continue };
                extent = self.extent(packet);
                if extent.events == 0 {
                    self.replace_packet(packet, unmoved);
                    continue;
                }
                let message = format!("the data start with {} bytes of text: {}", text.len(), quoted(text));
                notes.push(note(&file.name, message));
            }
            let offset = usize::try_from(self.packets[packet].offset).unwrap_or(usize::MAX);
            let rest = (extent.end / 8) as usize;
            // A packet beyond the file has no unused bytes.
            let unused = file.bytes.get(offset..).and_then(|bytes| bytes.get(rest..)).unwrap_or_default();
            if extent.is_damaged
                && extent.events > 0
                && extent.end % 8 == 0
                && trailing_zeros(unused) == unused.len()
            {
                let message =
                    format!("the last {} bytes are zeros: the unused end of a buffer", unused.len());
                notes.push(note(&file.name, message));
                if let Some(entry) = Arc::get_mut(self).and_then(|input| input.packets.get_mut(packet)) {
                    entry.flaws_mut().room = Some(rest as u64);
                }
            }
        }
        notes
    }

    /// Returns the packet's entry if the packet begins at this file offset.
    fn entry_at(&self, packet: usize, offset: usize) -> Option<PacketEntry> {
        let entry = self.packets.get(packet)?;
        let data = self.files.get(entry.file as usize)?.bytes.get(offset..)?;
        let slots = vec![Cell::new(UNKNOWN); self.stream.plans().slots];
        let mut clocks = Clocks::for_trace(&self.stream.trace.class);
        let info = self.decoder().decode(data, &slots, &mut clocks).ok()?;
        let mut moved = PacketEntry::new(offset as u64, &info, entry.damage_before().to_vec());
        moved.file = entry.file;
        Some(moved)
    }

    /// Replaces a packet's entry, and returns the previous entry.
    fn replace_packet(self: &mut Arc<Self>, packet: usize, entry: PacketEntry) -> Option<PacketEntry> {
        let packets = &mut Arc::get_mut(self)?.packets;
        Some(std::mem::replace(packets.get_mut(packet)?, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_with_a_line() {
        assert_eq!(leading_text(b"*** Booting ***\r\nabc\0"), Some("*** Booting ***\r\n"));
        assert_eq!(leading_text(b"short\n\0\0"), None);
        assert_eq!(leading_text(b"no end of a line\0"), None);
        assert_eq!(leading_text(b""), None);
    }

    #[test]
    fn zeros_at_the_end_are_counted() {
        assert_eq!(trailing_zeros(b"a\0b\0\0"), 2);
        assert_eq!(trailing_zeros(b""), 0);
        assert_eq!(trailing_zeros(b"\0\0"), 2);
    }
}
