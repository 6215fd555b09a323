//! Examines segments without reading payloads. A segment has the blocks up to and including a sequence point.

use std::collections::HashMap;
use std::ops::Range;

use super::block_audit::find_damage;
use super::capture::CaptureThreads;
use super::index::{EventBlockHeader, content, release};
use super::rundown;
use super::tables::StackBlocks;
use super::trace_file::FileState;
use crate::{Block, BlockKind, EventRows, FileItem, PointHead, RowEncoding};

/// Properties of a segment.
#[derive(Debug, Default)]
pub(crate) struct SegmentFacts {
    /// Number of events.
    pub(crate) events: u64,
    /// First and last event time in ticks. Read from the rows, because times in block headers can be wrong.
    pub(crate) times: Option<(u64, u64)>,
    /// Distinct metadata ids in events.
    pub(crate) ids: Vec<u32>,
    /// Threads in events and in the sequence point, with their sequence numbers before the segment. `None` for a new
    /// thread.
    pub(crate) threads: HashMap<u64, Option<u32>>,
    /// `true` if some events name processes, modules or functions.
    pub(crate) has_rundown: bool,
    /// `true` if the sequence numbers have gaps.
    pub(crate) has_gaps: bool,
    /// `true` if the segment ends with a sequence point and conforms to the format, as far as known without payloads.
    pub(crate) is_sound: bool,
    /// `true` if events can get other sequence numbers.
    pub(crate) is_renumberable: bool,
    /// Size of the longest block in bytes, if events get other sequence numbers.
    pub(crate) longest: usize,
}

/// Use of a metadata id.
#[derive(Clone, Copy, Debug)]
struct IdUse {
    /// Event kind index. `u32::MAX` for an id without metadata.
    kind: u32,
    /// File offset of the metadata.
    offset: u64,
    is_rundown: bool,
    /// Number of the last segment that uses the id.
    segment: u64,
}

/// Examines a file segment by segment.
#[derive(Debug)]
pub(crate) struct SegmentScanner {
    /// Uses by id.
    ids: Vec<IdUse>,
    /// Metadata id by event kind.
    by_kind: HashMap<u32, u32>,
    capture: CaptureThreads,
    stacks: StackBlocks,
    /// Number of examined segments.
    segments: u64,
    /// Time of the previous sequence point, in ticks.
    point_time: u64,
}

/// Maximum metadata id in files whose segments are examined. Producers count from 1 on.
const MOST_ID: u32 = 1 << 18;

/// Maximum number of threads in a sound segment.
const MOST_THREADS: usize = 1 << 16;

/// Maximum number of additional bytes for another sequence number in an event.
const LONGER: usize = 4;

impl SegmentScanner {
    /// Creates a scanner at the first block of a file. Returns `None` if metadata ids are redefined or very large.
    pub(crate) fn new(file: &FileState) -> Option<Self> {
        let none = IdUse { kind: u32::MAX, offset: u64::MAX, is_rundown: false, segment: 0 };
        let (mut ids, mut by_kind) = (Vec::new(), HashMap::new());
        for row in &file.index.metadata {
            let index = usize::try_from(row.id).ok().filter(|_| (1..MOST_ID).contains(&row.id))?;
            if ids.len() <= index {
                ids.resize(index + 1, none);
            }
            let known = ids.get_mut(index)?;
            if known.kind != u32::MAX && known.kind != row.class {
                return None;
            }
            let is_rundown = file.index.classes.get(row.class as usize).is_some_and(rundown::is_rundown);
            *known = IdUse { kind: row.class, offset: row.offset.min(known.offset), is_rundown, segment: 0 };
            by_kind.entry(row.class).or_insert(row.id);
        }
        Some(Self {
            ids,
            by_kind,
            capture: CaptureThreads::new(true),
            stacks: StackBlocks::default(),
            segments: 0,
            point_time: 0,
        })
    }

    /// Returns an id above all metadata ids in the file.
    pub(crate) fn free_id(&self) -> u32 {
        // The number of ids is limited.
        1 + self.ids.len() as u32
    }

    /// Returns a metadata id for an event kind.
    pub(crate) fn id_of(&self, kind: usize) -> Option<u32> {
        self.by_kind.get(&u32::try_from(kind).ok()?).copied()
    }

    /// Returns the event kind for an id.
    pub(crate) fn kind_of(&self, id: u32) -> Option<usize> {
        let kind = self.ids.get(id as usize).map(|known| known.kind).filter(|kind| *kind != u32::MAX);
        kind.and_then(|kind| usize::try_from(kind).ok())
    }

    /// Returns the sequence number of a thread after the last segment.
    pub(crate) fn number(&self, thread: u64) -> Option<u32> {
        self.capture.sequence(thread)
    }

    /// Returns the threads with a sequence number after the last segment, sorted by id.
    pub(crate) fn threads(&mut self) -> Vec<u64> {
        let mut threads: Vec<u64> = self.capture.threads().collect();
        threads.sort_unstable();
        threads
    }

    /// Returns the time of the sequence point before the next segment, in ticks.
    pub(crate) fn point_time(&self) -> u64 {
        self.point_time
    }

    /// Examines the next segment, at this range of the file.
    pub(crate) fn scan(&mut self, file: &FileState, segment: Range<u64>) -> SegmentFacts {
        self.segments += 1;
        let mut facts = SegmentFacts { is_sound: true, is_renumberable: true, ..SegmentFacts::default() };
        let mut has_point = false;
        let mut container = file.container.clone();
        container.seek(segment.start);
        while container.position() < segment.end {
            match container.next(&file.bytes, 0, true) {
                FileItem::Block(block) => {
                    release(&file.bytes, &block);
                    facts.is_sound &= block.is_whole && !has_point;
                    has_point |= self.scan_block(file, &block, &mut facts);
                }
                FileItem::Fault(_) => facts.is_sound = false,
                FileItem::More | FileItem::End => break,
            }
        }
        facts.is_sound &= has_point && self.capture.is_complete();
        facts
    }

    /// Examines a block. Returns `true` for a sequence point.
    fn scan_block(&mut self, file: &FileState, block: &Block, facts: &mut SegmentFacts) -> bool {
        let content = content(&file.bytes, block);
        match block.kind {
            BlockKind::Event => self.scan_events(file, block, facts),
            BlockKind::Stack => {
                self.stacks.add(&file.bytes, block.content.start as usize..block.content.end as usize);
            }
            BlockKind::SequencePoint => {
                let version = file.index.version;
                let Some(point) = PointHead::read(content, version) else {
                    facts.is_sound = false;
                    return false;
                };
                for (thread, sequence) in PointHead::threads(content, version) {
                    self.touch(thread, facts);
                    // A reader that skips the segment takes the numbers from the sequence point.
                    let counted = self.capture.sequence(thread);
                    facts.is_sound &= counted.is_none_or(|counted| sequence.wrapping_sub(counted) < 1 << 31);
                    facts.has_gaps |= self.capture.record_bound(thread, sequence, point.timestamp).is_some();
                }
                self.capture.retain(PointHead::threads(content, version).map(|(thread, _)| thread));
                self.stacks.clear();
                self.point_time = point.timestamp;
                return true;
            }
            _ => {}
        }
        false
    }

    /// Records the sequence number of a thread before its first use in the segment.
    fn touch(&mut self, thread: u64, facts: &mut SegmentFacts) -> Option<u32> {
        let number = self.capture.sequence(thread);
        if facts.threads.len() < MOST_THREADS {
            facts.threads.entry(thread).or_insert(number);
        } else {
            facts.is_sound &= facts.threads.contains_key(&thread);
        }
        number
    }

    /// Examines a block's events.
    fn scan_events(&mut self, file: &FileState, block: &Block, facts: &mut SegmentFacts) {
        let bytes: &[u8] = &file.bytes;
        let Some(header) = EventBlockHeader::read(content(bytes, block)) else {
            facts.is_sound = false;
            return;
        };
        let encoding = RowEncoding::new(file.index.version, header.flags);
        let begin = block.content.start as usize + header.rows;
        let mut rows = EventRows::new(encoding, begin..block.content.end as usize, 0);
        facts.is_sound &= find_damage(bytes, rows.clone(), Some(header.times), |_| true).is_none();
        // A first event without these members is thread 0's first event.
        let has_origin = bytes.get(begin).is_none_or(|flags| flags & 2 != 0);
        facts.is_renumberable &= has_origin && matches!(encoding, RowEncoding::Compressed { .. });
        let (mut events, mut first, mut last) = (0, u64::MAX, 0);
        let (mut id, mut stack, mut before) = (0, 0, None);
        while let Some(row) = rows.next(bytes) {
            events += 1;
            (first, last) = (first.min(row.timestamp), last.max(row.timestamp));
            if row.metadata_id != id || events == 1 {
                id = row.metadata_id;
                self.record_id(id, block, facts);
            }
            if row.stack_id != stack {
                stack = row.stack_id;
                facts.is_sound &= stack == 0 || self.stacks.has(stack);
            }
            let origin = (row.capture_thread, row.sequence.wrapping_sub(1));
            if before != Some(origin) {
                let number = self.touch(row.capture_thread, facts);
                // Sequence numbers restart at 1 when a thread id is reused.
                let is_ahead =
                    number.is_none_or(|number| row.sequence.wrapping_sub(number).wrapping_sub(1) < 1 << 31);
                facts.is_renumberable &= is_ahead;
            }
            before = Some((row.capture_thread, row.sequence));
            let gap = self.capture.record(row.capture_thread, row.sequence, row.timestamp, true);
            facts.has_gaps |= gap.is_some();
        }
        facts.is_sound &= rows.is_at_end();
        if events > 0 {
            let times = facts.times.unwrap_or((first, last));
            facts.times = Some((times.0.min(first), times.1.max(last)));
        }
        facts.events += events as u64;
        facts.longest = facts.longest.max(content(bytes, block).len() + LONGER * events);
    }

    /// Records an event's metadata id.
    fn record_id(&mut self, id: u32, block: &Block, facts: &mut SegmentFacts) {
        match self.ids.get_mut(id as usize) {
            Some(known) if known.offset < block.content.start => {
                facts.has_rundown |= known.is_rundown;
                if known.segment != self.segments {
                    known.segment = self.segments;
                    facts.ids.push(id);
                }
            }
            _ => facts.is_sound = false,
        }
    }
}
