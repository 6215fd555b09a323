//! Blocks under construction.

use std::io;

use ichnos_io::CreateError;

use super::dialect::Dialect;
use super::file_writer::FileWriter;
use super::row_encoder::{RowEncoder, RowHeader};
use super::tables::{SequenceNumbers, WrittenLabels, WrittenStacks, WrittenThreads};
use super::written_event::{NettraceEvent, metadata_hash};
use crate::wire_writer::push_u16;
use crate::{BlockKind, EventMetadata};

/// Total row size in a block, in bytes. The runtime uses the same size.
const ROWS: usize = 100 << 10;

/// Maximum size of provider and event names if the description is too long, in bytes.
const LONGEST_NAME: usize = 1_000;

/// Distance between sequence points: total size of the rows between them, in bytes.
const BETWEEN_POINTS: usize = 1 << 20;

/// Size of metadata, threads, labels or stacks at which their block is written, in bytes.
const MOST_ROWS: usize = 4 << 20;

/// Maximum size of sequence points, as a fraction of the rows between them.
const POINTS: usize = 16;

/// Blocks under construction.
#[derive(Debug)]
pub(super) struct Blocks {
    pub(super) events: RowEncoder,
    /// Pending metadata rows. Up to version 5, they have event headers.
    pub(super) metadata: RowEncoder,
    pub(super) metadata_v6: Vec<u8>,
    pub(super) threads: WrittenThreads,
    pub(super) labels: WrittenLabels,
    pub(super) stacks: WrittenStacks,
    pub(super) sequences: SequenceNumbers,
    /// Size of the rows since the last sequence point, in bytes.
    pub(super) since_point: usize,
    /// Time of the last mark or sequence point, in ticks. Later events must not be earlier.
    pub(super) promised: u64,
}

impl Blocks {
    pub(super) fn new(is_v6: bool, pointer_size: u32) -> Self {
        Self {
            events: RowEncoder::new(is_v6),
            metadata: RowEncoder::new(is_v6),
            metadata_v6: Vec::new(),
            threads: WrittenThreads::default(),
            labels: WrittenLabels::default(),
            stacks: WrittenStacks::new(pointer_size),
            sequences: SequenceNumbers::default(),
            since_point: 0,
            promised: 0,
        }
    }

    /// Checks that an event is not earlier than promised.
    #[inline(always)]
    pub(super) fn check_order(&self, ticks: u64) -> io::Result<()> {
        match self.promised.checked_sub(ticks) {
            None | Some(0) => Ok(()),
            Some(back) => Err(io::Error::other(CreateError::Unsorted { back })),
        }
    }

    /// Adds a metadata row. Returns the hash of the metadata as a reader will see it. Also returns the names of the
    /// dropped parts, if the row is too long.
    pub(super) fn push_metadata(
        &mut self,
        mut metadata: EventMetadata,
        id: u32,
        is_v6: bool,
        scratch: &mut Vec<u8>,
    ) -> (u64, Option<&'static str>) {
        if !is_v6 {
            scratch.clear();
            metadata.write(id, scratch);
            self.metadata.push(&RowHeader::default(), scratch);
            return (metadata_hash(&metadata), None);
        }
        if metadata.write_v6(id, &mut self.metadata_v6) {
            return (metadata_hash(&metadata), None);
        }
        // Payloads cannot be read without their fields, so drop texts and properties first.
        (metadata.message_template, metadata.description) = (None, None);
        metadata.properties.clear();
        if metadata.write_v6(id, &mut self.metadata_v6) {
            return (metadata_hash(&metadata), Some("message template, description and properties"));
        }
        metadata.fields.clear();
        if !metadata.write_v6(id, &mut self.metadata_v6) {
            for text in [&mut metadata.provider, &mut metadata.name] {
                text.truncate(text.floor_char_boundary(LONGEST_NAME));
            }
            metadata.write_v6(id, &mut self.metadata_v6);
        }
        (metadata_hash(&metadata), Some("field descriptions"))
    }

    /// Returns `true` if a sequence point is due.
    pub(super) fn is_point_due(&self) -> bool {
        self.since_point >= BETWEEN_POINTS.max(POINTS * self.sequences.point_size())
            || self.sequences.is_needed()
            || self.labels.is_full()
            || self.threads.is_full()
    }

    /// Adds an event row.
    #[inline(always)]
    pub(super) fn push_event(
        &mut self,
        stack: Option<u32>,
        parts: &NettraceEvent,
        payload: &[u8],
        id: u32,
        is_v6: bool,
    ) {
        let (mut thread, mut capture_thread) = (parts.thread, parts.capture_thread.unwrap_or(parts.thread));
        let mut label_list = 0;
        if is_v6 {
            let name = parts.thread_name.as_deref();
            let index = self.threads.index(parts.process, thread, name);
            capture_thread = match parts.capture_thread {
                Some(capture) => self.threads.capture_index(parts.capture_process, capture),
                None => index,
            };
            if self.threads.take_unknown_loss(parts.capture_thread.unwrap_or(parts.thread)) {
                self.sequences.add_unknown(capture_thread);
            }
            thread = index;
            label_list = self.labels.index(parts);
        }
        let row = RowHeader {
            metadata_id: id,
            sequence: self.sequences.next(capture_thread),
            thread,
            capture_thread,
            processor: parts.processor,
            stack_id: stack.unwrap_or(0),
            timestamp: parts.ticks,
            activity: if is_v6 { [0; 16] } else { parts.activity },
            related_activity: if is_v6 { [0; 16] } else { parts.related_activity },
            label_list,
        };
        let before = self.events.len();
        if self.events.push(&row, payload) {
            self.promised = self.promised.max(parts.ticks);
        }
        self.since_point += self.events.len() - before;
    }

    pub(super) fn is_full(&self) -> bool {
        let others = [
            self.metadata.len(),
            self.metadata_v6.len(),
            self.threads.rows.len(),
            self.labels.waiting(),
            self.stacks.waiting(),
        ];
        self.events.len() >= ROWS
            || self.labels.is_full()
            || self.threads.is_full()
            || others.into_iter().any(|size| size >= MOST_ROWS)
    }

    /// Writes the blocks. Blocks that events refer to come first.
    pub(super) fn write(&mut self, file: &mut FileWriter, is_v6: bool) {
        let mut content = Vec::new();
        if !self.metadata.is_empty() {
            self.metadata.finish(&mut content);
            file.block(BlockKind::Metadata, &content);
        }
        if !self.metadata_v6.is_empty() {
            content.clear();
            // The header is empty.
            push_u16(&mut content, 0);
            content.append(&mut self.metadata_v6);
            file.block(BlockKind::Metadata, &content);
        }
        if is_v6 && !self.threads.rows.is_empty() {
            file.block(BlockKind::Thread, &std::mem::take(&mut self.threads.rows));
        }
        if let Some(lists) = self.labels.take() {
            file.block(BlockKind::LabelList, &lists);
        }
        if let Some(stacks) = self.stacks.take() {
            file.block(BlockKind::Stack, &stacks);
        }
        if !self.events.is_empty() {
            content.clear();
            self.events.finish(&mut content);
            file.block(BlockKind::Event, &content);
        }
    }

    /// Writes a sequence point. Stacks and label lists are written again after it.
    pub(super) fn write_point(&mut self, file: &mut FileWriter, time: u64, dialect: Dialect) {
        let flushes_threads = dialect.is_v6() && self.threads.is_full();
        if flushes_threads {
            self.threads.clear();
        }
        self.promised = self.promised.max(time);
        file.block(BlockKind::SequencePoint, &self.sequences.point(time, dialect, flushes_threads));
        self.forget();
    }

    /// Forgets everything that events after a sequence point cannot refer to.
    pub(super) fn forget(&mut self) {
        self.since_point = 0;
        self.stacks.clear();
        self.labels.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FieldType, PayloadField};

    /// Rows have at most 65,535 bytes.
    #[test]
    fn texts_are_dropped_before_fields() {
        let pushed = |texts: usize, fields: usize, name: usize| {
            let mut blocks = Blocks::new(true, 8);
            let metadata = EventMetadata {
                name: "n".repeat(name),
                message_template: Some("m".repeat(texts)),
                properties: vec![("key".to_owned(), "v".repeat(texts))],
                fields: (0..fields)
                    .map(|i| PayloadField::new(format!("field {i:04}"), FieldType::U8))
                    .collect(),
                ..EventMetadata::default()
            };
            let (_, dropped) = blocks.push_metadata(metadata, 1, true, &mut Vec::new());
            let mut rows = vec![0, 0];
            rows.extend_from_slice(&blocks.metadata_v6);
            let mut read = Vec::new();
            assert_eq!(EventMetadata::read_block_v6(&rows, |_, row| read.push(row)), None);
            let [Some(row)] = &read[..] else { panic!("{read:?}") };
            let texts = row.properties.len() + usize::from(row.message_template.is_some());
            (dropped.is_some(), texts, row.fields.len(), row.name.len())
        };
        assert_eq!(pushed(9, 2, 1), (false, 2, 2, 1));
        assert_eq!(pushed(40_000, 2, 1), (true, 0, 2, 1));
        assert_eq!(pushed(9, 6_000, 1), (true, 0, 0, 1));
        assert_eq!(pushed(9, 2, 70_000), (true, 0, 0, LONGEST_NAME));
    }
}
