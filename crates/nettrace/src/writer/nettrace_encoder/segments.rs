//! Copies segments whose events are all selected. A segment has the blocks up to and including a sequence point.
//!
//! Events in a segment are sorted among themselves, and refer only to stacks in the segment, so the segment can be
//! anywhere in a file. Two things depend on the rest of the file. Metadata keeps the source's ids in the whole output.
//! Sequence numbers continue the numbers before the segment. If the output lacks earlier events, its numbers are lower.
//! Then event rows get other numbers, and all their other bytes are copied.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::event::Packet;

use super::{FREE, MOST_BLOCK, NettraceEncoder};
use crate::reader::segment::SegmentFacts;
use crate::reader::trace_file::FileState;
use crate::reader::{EventBlockHeader, content};
use crate::wire_writer::push_varuint;
use crate::writer::own::normalized;
use crate::writer::segment_rules::SegmentCopier;
use crate::writer::tables::point_content;
use crate::{Block, BlockKind, EventRows, FileItem, PointHead, RowEncoding, Version};

/// Maximum size of a copied segment in bytes, because it waits in memory as a whole.
const MOST_SEGMENT: u64 = 64 << 20;

/// Source segment, and the state before it.
struct SourceSegment {
    /// File range.
    range: Range<u64>,
    facts: SegmentFacts,
    /// Threads with a sequence number, if the previous segment was not copied.
    known: Option<Vec<u64>>,
    /// Sequence point time in ticks.
    point_time: u64,
}

/// Numbers to subtract from the threads' sequence numbers.
type Shifts = HashMap<u64, u32>;

impl NettraceEncoder {
    /// Copies the next segment, or skips it if it lacks selected events. Returns `false` if its events must be encoded.
    pub(super) fn pass_segment(&mut self, packet: &Packet<'_>) -> bool {
        let rules = Arc::clone(&self.rules);
        let (Some(file), Some(mut copier)) = (rules.file(), self.copier.take()) else { return false };
        let is_passed = self.pass_segment_of(file, &mut copier, packet.total_length / 8);
        self.copier = Some(copier);
        is_passed
    }

    fn pass_segment_of(&mut self, file: &FileState, copier: &mut SegmentCopier, size: u64) -> bool {
        let begin = copier.at;
        copier.at += size;
        let known = (copier.copied_until != begin).then(|| copier.scanner.threads());
        let point_time = copier.scanner.point_time();
        let facts = copier.scanner.scan(file, begin..copier.at);
        let segment = SourceSegment { range: begin..copier.at, facts, known, point_time };
        copier.counts = true;
        if let Some(copy) = &mut self.copy {
            self.events += segment.facts.events;
            copy.pass(copier.at);
            return true;
        }
        if segment.is_dropped(copier) {
            copier.counts = false;
            return true;
        }
        let shifts = self.shifts(&segment);
        if !self.can_copy(file, copier, &segment, &shifts) {
            return false;
        }
        self.copy_segment(file, copier, &segment, &shifts);
        true
    }

    /// Returns the differences between the sequence numbers in the source and in the output, before a segment.
    fn shifts(&self, segment: &SourceSegment) -> Shifts {
        let shift = |(thread, number): (&u64, &Option<u32>)| {
            Some((*thread, (*number)?.wrapping_sub(self.blocks.sequences.number(*thread))))
        };
        segment.facts.threads.iter().filter_map(shift).collect()
    }

    /// Returns `true` if a segment's bytes can be part of the output.
    fn can_copy(
        &self,
        file: &FileState,
        copier: &SegmentCopier,
        segment: &SourceSegment,
        shifts: &Shifts,
    ) -> bool {
        let facts = &segment.facts;
        let (begin, end) = copier.rules.window;
        let is_selected = facts.times.is_some_and(|(first, last)| begin <= first && last <= end);
        let has_numbers = facts.is_renumberable || shifts.values().all(|shift| *shift == 0);
        // If a thread's next event must reveal a loss by its number, it must be encoded.
        let has_losses = segment.known.is_some() && self.blocks.sequences.misses_some();
        facts.is_sound
            && is_selected
            && has_numbers
            && !has_losses
            && segment.range.end - segment.range.start <= MOST_SEGMENT
            && facts.longest <= MOST_BLOCK - FREE
            && copier.can_describe(file, &facts.ids)
    }

    fn copy_segment(
        &mut self,
        file: &FileState,
        copier: &mut SegmentCopier,
        segment: &SourceSegment,
        shifts: &Shifts,
    ) {
        // A segment without events does not change the last time.
        let (first, last) = segment.facts.times.unwrap_or_default();
        self.last = self.last.max(first);
        self.close_blocks();
        if let Some(known) = &segment.known {
            // Ends the encoded events, and lists the numbers that the segment continues.
            let point = self.blocks.sequences.point_of(segment.point_time, known);
            self.file.block(BlockKind::SequencePoint, &point);
        }
        for id in &segment.facts.ids {
            let kind = copier.scanner.kind_of(*id);
            if let Some(metadata) = kind.and_then(|kind| file.metadata_of_kind(kind))
                && copier.add_id(*id)
            {
                let metadata = normalized(metadata, self.is_v6).0;
                self.blocks.push_metadata(metadata, *id, self.is_v6, &mut self.scratch);
            }
        }
        self.blocks.write(&mut self.file, self.is_v6);
        let mut container = file.container();
        container.seek(segment.range.start);
        let is_shifted = shifts.values().any(|shift| *shift != 0);
        while container.position() < segment.range.end {
            match container.next(file.bytes(), 0, true) {
                FileItem::Block(block) => {
                    self.copy_block(file, &block, if is_shifted { Some(shifts) } else { None });
                }
                FileItem::Fault(_) => {}
                FileItem::More | FileItem::End => break,
            }
        }
        self.blocks.forget();
        let sequences = &mut self.blocks.sequences;
        for thread in segment.facts.threads.keys() {
            if let Some(number) = copier.scanner.number(*thread) {
                let shift = shifts.get(thread).copied().unwrap_or(0);
                sequences.set_number(*thread, number.wrapping_sub(shift));
            }
        }
        sequences.retain(|thread| copier.scanner.number(thread).is_some());
        self.last = self.last.max(last);
        self.events += segment.facts.events;
        copier.copied_until = segment.range.end;
    }

    /// Copies a segment's block.
    fn copy_block(&mut self, file: &FileState, block: &Block, shifts: Option<&Shifts>) {
        let content = content(file.bytes(), block);
        match (block.kind, shifts) {
            (BlockKind::Event, Some(shifts)) => {
                self.scratch.clear();
                renumber(content, file.version(), shifts, &mut self.scratch);
                self.file.block(BlockKind::Event, &self.scratch);
            }
            (BlockKind::SequencePoint, Some(shifts)) => {
                let Some(point) = PointHead::read(content, file.version()) else { return };
                let shifted = |(thread, sequence): (u64, u32)| {
                    (thread, sequence.wrapping_sub(shifts.get(&thread).copied().unwrap_or(0)))
                };
                let threads: Vec<_> = PointHead::threads(content, file.version()).map(shifted).collect();
                self.file.block(block.kind, &point_content(point.timestamp, None, &threads));
            }
            (BlockKind::Event | BlockKind::Stack | BlockKind::SequencePoint, _) => {
                self.file.block(block.kind, content);
            }
            // Metadata is already written.
            _ => {}
        }
    }
}

impl SourceSegment {
    /// Returns `true` if a segment lacks selected events and losses.
    fn is_dropped(&self, copier: &SegmentCopier) -> bool {
        let (begin, end) = copier.rules.window;
        let facts = &self.facts;
        facts.is_sound
            && facts.times.is_none_or(|(first, last)| last < begin || first > end)
            && !facts.has_gaps
            && !(copier.rules.keeps_rundown && facts.has_rundown)
    }
}

/// Appends block content with compressed rows to `out`, with lower sequence numbers.
fn renumber(content: &[u8], version: Version, shifts: &Shifts, out: &mut Vec<u8>) {
    let Some(header) = EventBlockHeader::read(content) else { return };
    let mut rows = EventRows::new(RowEncoding::new(version, header.flags), header.rows..content.len(), 0);
    let mut copied = 0;
    // Thread of the previous row, its shift, and its new sequence number.
    let (mut of, mut shift, mut before) = (None, 0u32, 0u32);
    loop {
        let begin = rows.position();
        let Some(row) = rows.next(content) else { break };
        if of != Some(row.capture_thread) {
            (of, shift) = (Some(row.capture_thread), shifts.get(&row.capture_thread).copied().unwrap_or(0));
        }
        let number = row.sequence.wrapping_sub(shift);
        let flags = content.get(begin).copied().unwrap_or_default();
        if flags & 2 != 0 {
            let at = if flags & 1 == 0 { begin + 1 } else { after_varuint(content, begin + 1) };
            out.extend_from_slice(content.get(copied..at).unwrap_or_default());
            push_varuint(out, number.wrapping_sub(before).wrapping_sub(1).into());
            copied = after_varuint(content, at);
        }
        before = number;
    }
    out.extend_from_slice(content.get(copied..).unwrap_or_default());
}

/// Returns the position after a variable-length number.
fn after_varuint(content: &[u8], at: usize) -> usize {
    let rest = content.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| byte & 0x80 == 0).map_or(rest.len(), |last| last + 1)
}
