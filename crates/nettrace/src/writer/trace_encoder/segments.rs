//! Copies segments: the blocks up to a sequence point, if all of their events are selected.
//!
//! Events of a segment are sorted with each other and with no others, and refer to stacks of the segment, so it can be
//! anywhere in a file. What comes from outside are the metadata, whose ids are those of the source in all of the output, and
//! the numbers of threads: those before the segment must be continued. Where the output has other numbers, as it lacks
//! earlier events, the blocks of events get them, and everything else of their rows is copied.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::Packet;

use super::{FREE, MOST_BLOCK, TraceEncoder};
use crate::reader::segment::SegmentFacts;
use crate::reader::trace_file::TraceFile;
use crate::reader::{EventBlockHeader, content};
use crate::wire_writer::push_varuint;
use crate::writer::own::normalized;
use crate::writer::segment_rules::SegmentCopier;
use crate::writer::tables::point_content;
use crate::{Block, BlockKind, EventRows, FileItem, PointHead, RowEncoding, Version};

/// Maximum size of a segment in bytes that is copied: it is in memory as a whole.
const MOST_SEGMENT: u64 = 64 << 20;

/// A segment of the source.
struct Segment {
    begin: u64,
    end: u64,
    facts: SegmentFacts,
    /// Threads with a number before it, if the segment before it was not copied.
    known: Option<Vec<u64>>,
    /// Time of the sequence point before it, in ticks.
    point_time: u64,
}

/// Numbers to subtract from those of threads.
type Shifts = HashMap<u64, u32>;

impl TraceEncoder {
    /// Passes a segment, at whose begin the encoder is, by copying it, or because nothing of it is selected. Returns `false`
    /// if its events are to be encoded.
    pub(super) fn pass_segment(&mut self, packet: &Packet<'_>) -> bool {
        let rules = Arc::clone(&self.rules);
        let (Some(file), Some(mut copier)) = (rules.file(), self.copier.take()) else { return false };
        let is_passed = self.pass_segment_of(file, &mut copier, packet.total_length / 8);
        self.copier = Some(copier);
        is_passed
    }

    fn pass_segment_of(
        &mut self,
        file: &TraceFile,
        copier: &mut SegmentCopier,
        size: u64,
    ) -> bool {
        let begin = copier.at;
        copier.at += size;
        let known = (copier.copied_until != begin).then(|| copier.scanner.threads());
        let point_time = copier.scanner.point_time();
        let facts = copier.scanner.scan(file, begin..copier.at);
        let segment = Segment { begin, end: copier.at, facts, known, point_time };
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

    /// Returns what is to be subtracted from the numbers of threads in a segment.
    fn shifts(&self, segment: &Segment) -> Shifts {
        let shift = |(thread, number): (&u64, &Option<u32>)| {
            Some((*thread, (*number)?.wrapping_sub(self.blocks.sequences.number(*thread))))
        };
        segment.facts.threads.iter().filter_map(shift).collect()
    }

    /// Returns `true` if the bytes of a segment can be part of the output.
    fn can_copy(
        &self,
        file: &TraceFile,
        copier: &SegmentCopier,
        segment: &Segment,
        shifts: &Shifts,
    ) -> bool {
        let facts = &segment.facts;
        let (begin, end) = copier.rules.window;
        let is_selected = facts.times.is_some_and(|(first, last)| begin <= first && last <= end);
        let has_numbers = facts.is_renumberable || shifts.values().all(|shift| *shift == 0);
        // A loss that the next event of a thread will tell can be in encoded events only.
        let has_losses = segment.known.is_some() && self.blocks.sequences.misses_some();
        facts.is_sound
            && is_selected
            && has_numbers
            && !has_losses
            && segment.end - segment.begin <= MOST_SEGMENT
            && facts.longest <= MOST_BLOCK - FREE
            && copier.can_describe(file, &facts.ids)
    }

    fn copy_segment(
        &mut self,
        file: &TraceFile,
        copier: &mut SegmentCopier,
        segment: &Segment,
        shifts: &Shifts,
    ) {
        let (first, last) = segment.facts.times.unwrap_or_default();
        self.last = self.last.max(first);
        self.close_blocks();
        if let Some(known) = &segment.known {
            // Begins the segment, and tells where the numbers of its threads begin.
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
        container.seek(segment.begin);
        let is_shifted = shifts.values().any(|shift| *shift != 0);
        while container.position() < segment.end {
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
        copier.copied_until = segment.end;
    }

    /// Copies a block of a segment.
    fn copy_block(&mut self, file: &TraceFile, block: &Block, shifts: Option<&Shifts>) {
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
            // Metadata are written before events need them.
            _ => {}
        }
    }
}

impl Segment {
    /// Returns `true` if nothing of it is selected.
    fn is_dropped(&self, copier: &SegmentCopier) -> bool {
        let (begin, end) = copier.rules.window;
        let facts = &self.facts;
        facts.is_sound
            && facts.times.is_none_or(|(first, last)| last < begin || first > end)
            && !facts.has_gaps
            && !(copier.rules.keeps_rundown && facts.has_rundown)
    }
}

/// Appends the content of a block of compressed rows to `out`, with the numbers of threads less those in `shifts`.
fn renumber(content: &[u8], version: Version, shifts: &Shifts, out: &mut Vec<u8>) {
    let Some(header) = EventBlockHeader::read(content) else { return };
    let mut rows = EventRows::new(RowEncoding::new(version, header.flags), header.rows..content.len(), 0);
    let mut copied = 0;
    // Thread of the row before with its shift, and the numbers of that row.
    let (mut of, mut shift) = (None, 0u32);
    let mut before = 0u32;
    loop {
        let begin = rows.position();
        let Some(row) = rows.next(content) else { break };
        if of != Some(row.capture_thread) {
            (of, shift) = (Some(row.capture_thread), shifts.get(&row.capture_thread).copied().unwrap_or(0));
        }
        let number = row.sequence.wrapping_sub(shift);
        let flags = content.get(begin).copied().unwrap_or_default();
        if flags & 2 != 0 {
            let at = if flags & 1 == 0 { begin + 1 } else { behind_varuint(content, begin + 1) };
            out.extend_from_slice(content.get(copied..at).unwrap_or_default());
            push_varuint(out, number.wrapping_sub(before).wrapping_sub(1).into());
            copied = behind_varuint(content, at);
        }
        before = number;
    }
    out.extend_from_slice(content.get(copied..).unwrap_or_default());
}

/// Returns the position behind a number of variable length.
fn behind_varuint(content: &[u8], at: usize) -> usize {
    let rest = content.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| byte & 0x80 == 0).map_or(rest.len(), |last| last + 1)
}
