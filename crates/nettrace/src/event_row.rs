//! Rows in event blocks: event headers, and payload positions.

use std::ops::Range;

use crate::Version;
use crate::wire::Wire;

/// Event header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// Id of the metadata that describes the event. 0 for metadata rows.
    pub metadata_id: u32,
    /// Number of events from the capture thread, modulo 2^32. 0 in version 3, which has no such counter.
    pub sequence: u32,
    /// Thread that emitted the event: its id, or its index in the thread table (version 6).
    pub capture_thread: u64,
    /// Capture thread's processor. `u32::MAX` if unknown.
    pub processor: u32,
    /// Thread that the event is about.
    pub thread: u64,
    /// Index in the stack table. 0 without a stack. Unused in version 3.
    pub stack_id: u32,
    /// Time in ticks.
    pub timestamp: u64,
    /// Position where the 16-byte activity id starts. 0 without an activity (up to version 5).
    pub activity: usize,
    /// Position where the 16-byte id for a related activity starts. 0 without a related activity (up to version 5).
    pub related_activity: usize,
    /// Label list. 0 without labels (version 6).
    pub label_list: u32,
    /// `true` if all later events in the file have the same or a later time.
    pub is_sorted: bool,
    /// Payload range, in bytes from the start of the row's source.
    pub payload: Range<usize>,
    /// Stack range (version 3 only).
    pub stack: Range<usize>,
}

/// Row encoding in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowEncoding {
    /// Version 3.
    V3,
    /// Version 4 or later, all members.
    Full {
        /// `true` in version 6, which has a label list instead of activities.
        labels: bool,
    },
    /// Version 4 or later, only the differences from the previous row.
    Compressed {
        /// `true` in version 6.
        labels: bool,
    },
}

impl RowEncoding {
    /// Returns the encoding for these block flags in this file version.
    #[must_use]
    pub fn new(version: Version, flags: u16) -> Self {
        let labels = matches!(version, Version::V6(_));
        match version {
            Version::V3 => Self::V3,
            _ if flags & 1 != 0 => Self::Compressed { labels },
            _ => Self::Full { labels },
        }
    }
}

/// Iterates over the rows in a block.
#[derive(Clone, Debug)]
pub struct EventRows {
    encoding: RowEncoding,
    /// Position of the next row.
    at: usize,
    end: usize,
    /// Added to an index, this gives the distance from the start of the file, modulo 4. Rows are aligned to the file.
    alignment: usize,
    row: EventRow,
}

impl EventRows {
    /// Reads the rows in `content`, a range of the bytes that start at file offset `base`.
    #[must_use]
    pub fn new(encoding: RowEncoding, content: Range<usize>, base: u64) -> Self {
        let row = EventRow::default();
        Self { encoding, at: content.start, end: content.end, alignment: (base % 4) as usize, row }
    }

    /// Returns the position of the next row.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns `true` after the last row.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    /// Ends the rows at a position. A row that is incomplete there is not read.
    pub(crate) fn end_at(&mut self, position: usize) {
        self.end = self.end.min(position);
    }

    /// Returns the number of unread bytes.
    #[must_use]
    pub fn rest(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// Returns the last row that was read.
    #[inline(always)]
    #[must_use]
    pub fn row(&self) -> &EventRow {
        &self.row
    }

    /// Reads the next row in `bytes`. Returns `None` without a complete row. Then the position stays at the start of
    /// the row.
    #[inline(always)]
    pub fn next(&mut self, bytes: &[u8]) -> Option<&EventRow> {
        let bytes = bytes.get(..self.end)?;
        let end = match self.encoding {
            RowEncoding::Compressed { labels: false } => self.compressed::<false>(bytes)?,
            RowEncoding::Compressed { labels: true } => self.compressed::<true>(bytes)?,
            RowEncoding::Full { labels } => self.full(bytes, labels)?,
            RowEncoding::V3 => self.version_3(bytes)?,
        };
        self.at = end;
        Some(&self.row)
    }

    #[inline(always)]
    fn compressed<const LABELS: bool>(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut wire = Wire::at(bytes, self.at);
        let flags = wire.u8()?;
        // An incomplete row changes the state, but nothing is read after it.
        let row = &mut self.row;
        if flags & 1 != 0 {
            row.metadata_id = wire.varuint32()?;
        }
        if flags & 2 != 0 {
            row.sequence = row.sequence.wrapping_add(wire.varuint32()?).wrapping_add(1);
            row.capture_thread = wire.varuint64()?;
            row.processor = wire.varuint32()?;
        } else if LABELS || row.metadata_id != 0 {
            row.sequence = row.sequence.wrapping_add(1);
        }
        if flags & 4 != 0 {
            row.thread = wire.varuint64()?;
        }
        if flags & 8 != 0 {
            row.stack_id = wire.varuint32()?;
        }
        row.timestamp = row.timestamp.wrapping_add(wire.varuint64()?);
        if flags & 16 != 0 {
            if LABELS {
                row.label_list = wire.varuint32()?;
            } else {
                row.activity = guid(&mut wire)?;
            }
        }
        if !LABELS && flags & 32 != 0 {
            row.related_activity = guid(&mut wire)?;
        }
        row.is_sorted = flags & 64 != 0;
        let size = match flags & 128 != 0 {
            true => wire.varuint32()? as usize,
            false => row.payload.len(),
        };
        let begin = wire.position();
        let end = begin.checked_add(size).filter(|end| *end <= bytes.len())?;
        row.payload = begin..end;
        Some(end)
    }

    fn full(&mut self, bytes: &[u8], labels: bool) -> Option<usize> {
        let mut wire = Wire::at(bytes, self.at);
        let size = wire.length()?;
        let end = wire.position().checked_add(size).filter(|end| *end <= bytes.len())?;
        let metadata = wire.u32()?;
        let row = &mut self.row;
        row.metadata_id = metadata & 0x7fff_ffff;
        // The document says the opposite. The runtime and the reference reader do this.
        row.is_sorted = metadata >> 31 == 0;
        row.sequence = wire.u32()?;
        row.thread = wire.u64()?;
        row.capture_thread = wire.u64()?;
        row.processor = wire.u32()?;
        row.stack_id = wire.u32()?;
        row.timestamp = wire.u64()?;
        if labels {
            row.label_list = wire.u32()?;
        } else {
            row.activity = guid(&mut wire)?;
            row.related_activity = guid(&mut wire)?;
        }
        let payload = wire.length()?;
        let begin = wire.position();
        row.payload = begin..begin.checked_add(payload).filter(|payload| *payload <= end)?;
        // In version 4, the size should include the padding, but the next row is always aligned.
        Some(if labels { end } else { self.aligned(end) })
    }

    /// Rounds a position up to a multiple of 4 bytes from the start of the file.
    fn aligned(&self, end: usize) -> usize {
        (end + (end + self.alignment).wrapping_neg() % 4).min(self.end)
    }

    fn version_3(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut wire = Wire::at(bytes, self.at);
        let size = wire.length()?;
        let end = wire.position().checked_add(size).filter(|end| *end <= bytes.len())?;
        let row = &mut self.row;
        row.metadata_id = wire.u32()?;
        row.thread = wire.u32()?.into();
        row.capture_thread = row.thread;
        row.processor = u32::MAX;
        row.timestamp = wire.u64()?;
        row.activity = guid(&mut wire)?;
        row.related_activity = guid(&mut wire)?;
        let payload = wire.length()?;
        let begin = wire.position();
        row.payload = begin..begin.checked_add(payload).filter(|payload| *payload <= end)?;
        let mut wire = Wire::at(bytes.get(..end)?, row.payload.end);
        let stack = wire.length()?;
        let begin = wire.position();
        wire.take(stack)?;
        row.stack = begin..wire.position();
        row.is_sorted = true;
        // The size includes padding, but files without padding must be readable, too.
        Some(self.aligned(end))
    }
}

/// Returns the position of a GUID, or 0 if the GUID is all zeros.
#[inline]
fn guid(wire: &mut Wire<'_>) -> Option<usize> {
    let at = wire.position();
    Some(if wire.guid()? == [0; 16] { 0 } else { at })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document's examples: missing members repeat the previous row, and sequence numbers are incremented.
    #[test]
    fn compressed_rows_repeat_what_they_leave_out() {
        let bytes = [
            0xc3, 5, 9, 77, 3, 100, 2, b'a', b'b', // all members except threads and stacks
            0x00, 5, b'c', b'd', // only the time
            0x02, 1, 78, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, b'e',
            b'f', // earlier
        ];
        let mut rows = EventRows::new(RowEncoding::Compressed { labels: false }, 0..bytes.len(), 0);
        let row = rows.next(&bytes).unwrap().clone();
        assert_eq!((row.metadata_id, row.sequence, row.capture_thread, row.processor), (5, 10, 77, 3));
        assert_eq!((row.timestamp, row.is_sorted, &bytes[row.payload]), (100, true, &b"ab"[..]));
        let row = rows.next(&bytes).unwrap().clone();
        assert_eq!((row.metadata_id, row.sequence, row.timestamp, row.is_sorted), (5, 11, 105, false));
        let row = rows.next(&bytes).unwrap().clone();
        assert_eq!((row.sequence, row.capture_thread, row.timestamp), (13, 78, 104));
        assert_eq!(&bytes[row.payload], b"ef");
        assert!(rows.is_at_end() && rows.next(&bytes).is_none());
    }

    #[test]
    fn rows_that_are_not_whole_are_none() {
        let bytes = [0xc3, 5, 9, 77, 3, 100, 2, b'a', b'b'];
        for length in 0..bytes.len() {
            let mut rows = EventRows::new(RowEncoding::Compressed { labels: false }, 0..length, 0);
            assert!(rows.next(&bytes).is_none(), "{length}");
            assert_eq!(rows.position(), 0);
        }
    }

    /// Metadata rows do not count, unless they have a sequence number.
    #[test]
    fn sequence_numbers_of_metadata() {
        let bytes = [0x80, 1, 0, 0x00, 1, 0x02, 0, 1, 2, 3];
        let mut rows = EventRows::new(RowEncoding::Compressed { labels: false }, 0..bytes.len(), 0);
        let sequences: Vec<_> = std::iter::from_fn(|| rows.next(&bytes).map(|row| row.sequence)).collect();
        assert_eq!(sequences, [0, 0, 1]);
        let mut rows = EventRows::new(RowEncoding::Compressed { labels: true }, 0..bytes.len(), 0);
        let sequences: Vec<_> = std::iter::from_fn(|| rows.next(&bytes).map(|row| row.sequence)).collect();
        assert_eq!(sequences, [1, 2, 3]);
    }
}
