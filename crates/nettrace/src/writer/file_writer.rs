//! Writes the container: header, trace block, other blocks and the end mark.

use super::dialect::Dialect;
use crate::wire_writer::{push_string, push_u16, push_u32, push_u64};
use crate::{BlockKind, SystemTime, TraceBlock};

/// Pending file bytes, and their position.
#[derive(Debug)]
pub(super) struct FileWriter {
    dialect: Dialect,
    /// Pending bytes.
    bytes: Vec<u8>,
    /// Number of bytes taken before.
    taken: u64,
    /// Number of blocks that were not written because their size does not fit.
    refused: u64,
}

/// Maximum block size in version 6, in bytes. Its header has 24 bits for the size.
const MOST_SIZE_V6: usize = 0xff_ffff;

impl FileWriter {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, bytes: Vec::new(), taken: 0, refused: 0 }
    }

    /// Returns the number of pending bytes.
    pub(super) fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the file size so far, in bytes.
    pub(super) fn size(&self) -> u64 {
        self.taken + self.bytes.len() as u64
    }

    /// Returns `true` before the first byte.
    pub(super) fn is_new(&self) -> bool {
        self.size() == 0
    }

    /// Takes the number of refused blocks.
    pub(super) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    /// Takes all pending bytes.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.taken += self.bytes.len() as u64;
        std::mem::take(&mut self.bytes)
    }

    /// Writes the file header and the trace block.
    pub(super) fn begin(&mut self, trace: &TraceBlock) {
        self.bytes.extend_from_slice(b"Nettrace");
        let mut content = Vec::new();
        push_time(&mut content, trace.sync_time);
        push_u64(&mut content, trace.sync_ticks);
        push_u64(&mut content, trace.frequency);
        push_u32(&mut content, trace.pointer_size);
        let number = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
        if self.dialect == Dialect::V6 {
            [0, 6, 0].into_iter().for_each(|word| push_u32(&mut self.bytes, word));
            let numbers = [
                ("ProcessId", trace.process_id),
                ("HardwareThreadCount", trace.processors),
                ("ExpectedCPUSamplingRate", trace.sampling_interval),
            ];
            let numbers =
                numbers.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_string())));
            let properties: Vec<_> = numbers.chain(trace.properties.iter().cloned()).collect();
            push_u32(&mut content, u32::try_from(properties.len()).unwrap_or(u32::MAX));
            for (key, value) in &properties {
                push_string(&mut content, key);
                push_string(&mut content, value);
            }
            return self.block(BlockKind::Trace, &content);
        }
        self.bytes.extend_from_slice(b"\x14\0\0\0!FastSerialization.1");
        for value in [trace.process_id, trace.processors, trace.sampling_interval] {
            push_u32(&mut content, number(value));
        }
        self.begin_object("Trace", 4);
        self.bytes.extend_from_slice(&content);
        self.bytes.push(6);
    }

    /// Writes a block. Refuses a block that is too long.
    pub(super) fn block(&mut self, kind: BlockKind, content: &[u8]) {
        let (number, name) = match kind {
            BlockKind::Trace => (1, "Trace"),
            BlockKind::Event => (2, "EventBlock"),
            BlockKind::Metadata => (3, "MetadataBlock"),
            BlockKind::SequencePoint => (4, "SPBlock"),
            BlockKind::Stack => (5, "StackBlock"),
            BlockKind::Thread => (6, ""),
            BlockKind::RemoveThread => (7, ""),
            BlockKind::LabelList => (8, ""),
            BlockKind::Unknown => return,
        };
        if self.dialect == Dialect::V6 {
            if content.len() > MOST_SIZE_V6 {
                self.refused += 1;
                return;
            }
            push_u32(&mut self.bytes, content.len() as u32 | number << 24);
        } else {
            self.begin_object(name, 2);
            push_u32(&mut self.bytes, content.len() as u32);
            // The content starts at a multiple of 4 bytes in the file.
            while self.size() % 4 != 0 {
                self.bytes.push(0);
            }
        }
        self.bytes.extend_from_slice(content);
        if self.dialect == Dialect::V4 {
            self.bytes.push(6);
        }
    }

    /// Writes an object's tags and type.
    fn begin_object(&mut self, name: &str, version: u32) {
        self.bytes.extend_from_slice(&[5, 5, 1]);
        push_u32(&mut self.bytes, version);
        push_u32(&mut self.bytes, version);
        push_u32(&mut self.bytes, name.len() as u32);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(6);
    }

    /// Writes the end mark.
    pub(super) fn end(&mut self) {
        match self.dialect {
            Dialect::V4 => self.bytes.push(1),
            Dialect::V6 => push_u32(&mut self.bytes, 0),
        }
    }
}

fn push_time(out: &mut Vec<u8>, time: SystemTime) {
    let SystemTime { year, month, day_of_week, day, hour, minute, second, millisecond } = time;
    for part in [year, month, day_of_week, day, hour, minute, second, millisecond] {
        push_u16(out, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A longer size would change the block kind.
    #[test]
    fn blocks_whose_size_does_not_fit_are_refused() {
        let mut writer = FileWriter::new(Dialect::V6);
        writer.block(BlockKind::Metadata, &vec![0; MOST_SIZE_V6 + 1]);
        assert_eq!((writer.waiting(), writer.take_refused(), writer.take_refused()), (0, 1, 0));
        writer.block(BlockKind::Metadata, &vec![0; MOST_SIZE_V6]);
        assert_eq!((writer.waiting(), writer.take_refused()), (4 + MOST_SIZE_V6, 0));
        assert_eq!(writer.take().get(..4), Some(&[0xff, 0xff, 0xff, 3][..]));
    }
}
