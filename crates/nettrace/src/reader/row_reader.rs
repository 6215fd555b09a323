//! Reads blocks, and passes their events to the sorter.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::Trace;

use super::block_audit::{begins_in_repeated_page, find_damage};
use super::capture::{CaptureThreads, EventGap};
use super::index::{EventBlockHeader, content, release};
use super::kinds::EventKinds;
use super::pending::{EventSorter, GAP, PendingEvent, UNKNOWN_CLASS};
use super::tables::{LabelTable, StackBlocks, ThreadTable};
use super::trace_file::FileState;
use crate::{
    Block, BlockKind, Container, EventRow, EventRows, Fault, FileItem, PointHead, RowEncoding, Rule,
    SequencePoint, ThreadRow, Version,
};

/// Event block being read.
#[derive(Debug)]
struct OpenEventBlock {
    rows: EventRows,
    times: (u64, u64),
    is_whole: bool,
    /// End of the block, if its last rows are lost.
    lost_until: Option<usize>,
}

/// Marks a thread that is missing in the table (version 6). The other bits are its index.
pub(super) const UNKNOWN_THREAD: u64 = 1 << 63;

/// Maximum number of reported faults in single events for each rule, if all rules are checked. Otherwise one.
pub(super) const REPORTED: u64 = 1_000;

/// Faults that are reported after the ready events.
#[derive(Debug)]
pub(super) struct FaultLog {
    pub(super) check: bool,
    pub(super) waiting: VecDeque<Fault>,
    /// Number of reported faults in single events, by rule.
    pub(super) reported: [u64; Rule::ALL.len()],
}

impl FaultLog {
    /// Records a fault in a single event, up to a limit, because every event may have a fault.
    #[cold]
    pub(super) fn record(&mut self, rule: Rule, offset: u64, statement: impl FnOnce() -> String) {
        let count = Rule::ALL.iter().position(|known| *known == rule);
        let Some(count) = count.and_then(|index| self.reported.get_mut(index)) else { return };
        *count += 1;
        if *count <= if self.check { REPORTED } else { 1 } {
            self.waiting.push_back(Fault::new(rule, offset, statement()));
        }
    }
}

/// Reads a file's blocks, and maintains the tables that their events refer to.
pub(super) struct RowReader {
    pub(super) file: Arc<FileState>,
    pub(super) container: Container,
    open: Option<OpenEventBlock>,
    /// Sequence point that takes effect after all earlier events.
    barrier: Option<(PointHead, Block)>,
    is_file_read: bool,
    /// `true` after a fault between blocks, or after lost rows.
    is_damaged: bool,
    /// Event kind by metadata id.
    pub(super) kinds: EventKinds,
    pub(super) threads: ThreadTable,
    pub(super) labels: LabelTable,
    pub(super) stacks: StackBlocks,
    pub(super) capture: CaptureThreads,
    pub(super) pending: EventSorter,
    pub(super) is_unsorted: bool,
    pub(super) faults: FaultLog,
    /// Time window in ticks.
    pub(super) wanted: (u64, u64),
    /// Time of the latest delivered event, in ticks.
    pub(super) latest: u64,
    /// Offset of the last sequence point before the time window. Earlier events need not be counted.
    counted_from: u64,
    /// Offset of the sequence point at which reading starts. `None` for the start of the file.
    begun_at: Option<u64>,
    /// `true` to pause between segments.
    pub(super) pauses: bool,
    /// `true` between two segments, until the next segment is [taken](Self::take_segment).
    pub(super) is_between: bool,
}

/// Gaps in a block. Above a limit they are added up, because two bytes can be enough for a gap.
#[derive(Debug, Default)]
struct BlockGaps {
    count: usize,
    sum: u64,
    after: u64,
    thread: u64,
}

impl BlockGaps {
    /// Maximum number of separate gaps.
    const FEW: usize = 10_000;

    fn add(&mut self, gap: Option<EventGap>, thread: u64, push: impl FnOnce(EventGap, u64)) {
        let Some(gap) = gap else { return };
        self.count += 1;
        if self.count <= Self::FEW {
            return push(gap, thread);
        }
        self.sum += gap.count.map_or(0, u64::from);
        self.after = self.after.max(gap.after);
        self.thread = thread;
    }

    fn finish(self, mut push: impl FnMut(EventGap, u64)) {
        let mut rest = self.sum;
        // A gap has fewer than 2^31 events, so there are fewer iterations than gaps.
        while rest > 0 {
            let count = u32::try_from(rest).unwrap_or(u32::MAX);
            push(EventGap { count: Some(count), after: self.after }, self.thread);
            rest -= u64::from(count);
        }
    }
}

impl RowReader {
    /// Creates a reader at the start of the file, or at the block of a sequence point.
    pub(super) fn new(file: &Arc<FileState>, wanted: (u64, u64), from: Option<u64>) -> Self {
        let mut container = file.container.clone();
        if let Some(from) = from {
            container.seek(from);
        }
        let barriers = &file.index.barriers;
        let before = barriers.get(..barriers.partition_point(|barrier| barrier.timestamp < wanted.0));
        let counted_from = before.and_then(<[_]>::last).map_or(0, |barrier| barrier.offset);
        let faults =
            FaultLog { check: file.options.check, waiting: VecDeque::new(), reported: [0; Rule::ALL.len()] };
        let mut reader = Self {
            container,
            open: None,
            barrier: None,
            is_file_read: false,
            is_damaged: false,
            kinds: EventKinds::default(),
            threads: ThreadTable::default(),
            labels: LabelTable::default(),
            stacks: StackBlocks::default(),
            capture: CaptureThreads::new(from.is_none()),
            pending: EventSorter::default(),
            is_unsorted: file.options.unsorted || file.index.version == Version::V3,
            faults,
            wanted,
            latest: 0,
            counted_from,
            begun_at: from,
            pauses: false,
            is_between: from.is_none(),
            file: Arc::clone(file),
        };
        if let Some(from) = from {
            reader.prepare(from);
        }
        reader
    }

    /// Returns the number of missing events. Does not read payloads.
    pub(super) fn count_lost(mut self) -> u64 {
        let mut lost = 0u64;
        while self.fill() || self.has_more() {
            self.faults.waiting.clear();
            let gaps = std::iter::from_fn(|| self.pending.next()).filter(|entry| entry.class == GAP);
            lost = gaps.fold(lost, |lost, gap| lost.saturating_add(gap.length.into()));
        }
        lost
    }

    /// Returns `true` if events are ready or faults must be reported.
    pub(super) fn has_more(&self) -> bool {
        self.pending.has_ready() || !self.faults.waiting.is_empty()
    }

    /// Reads the tables before a sequence point that events after it refer to.
    fn prepare(&mut self, from: u64) {
        if matches!(self.file.index.version, Version::V6(_)) {
            let file = Arc::clone(&self.file);
            let mut container = file.container.clone();
            while container.position() < from {
                match container.next(&file.bytes, 0, true) {
                    FileItem::Block(block) if block.kind != BlockKind::Event => self.read_table(&block, true),
                    FileItem::End | FileItem::More => break,
                    _ => {}
                }
            }
        }
        self.kinds.advance(&self.file.index, from);
    }

    /// Reads a block that events refer to. `only_tables` means that the block is before the start of reading.
    fn read_table(&mut self, block: &Block, only_tables: bool) {
        let file = Arc::clone(&self.file);
        let content = content(&file.bytes, block);
        let begin = block.content.start;
        match block.kind {
            BlockKind::Thread => {
                let rest = ThreadRow::read_block(content, |row| self.threads.add(row));
                if let (Some(at), false, true) = (rest, only_tables, block.is_whole) {
                    let statement = "expected a thread row, found an incomplete row";
                    self.faults.waiting.push_back(Fault::new(Rule::RowSize, begin + at as u64, statement));
                }
            }
            BlockKind::RemoveThread => {
                let mut gaps = BlockGaps::default();
                for (index, sequence) in SequencePoint::read_removed(content) {
                    if !only_tables {
                        let gap = self.capture.record_bound(index, sequence, self.latest);
                        gaps.add(gap, index, |gap, index| self.push_gap(Some(gap), index, None));
                    }
                    self.capture.remove(index);
                    self.threads.remove(index);
                }
                gaps.finish(|gap, index| self.push_gap(Some(gap), index, None));
            }
            // These tables are forgotten at the sequence point where reading starts.
            BlockKind::LabelList | BlockKind::Stack if only_tables => {}
            BlockKind::LabelList => {
                let rest = self.labels.add(content);
                if let (Some(rest), true) = (rest, block.is_whole) {
                    let statement = "expected labels with known kinds, found something else: the rest of the \
                        block is skipped";
                    let fault = Fault::new(Rule::LabelKind, begin + rest.start as u64, statement);
                    self.faults.waiting.push_back(fault.skipping(rest.len() as u64));
                }
            }
            BlockKind::Stack => {
                self.stacks.add(&file.bytes, block.content.start as usize..block.content.end as usize);
                if self.faults.check {
                    self.check_stacks(content, block);
                }
            }
            BlockKind::SequencePoint if only_tables => {
                if let Some(point) = PointHead::read(content, file.index.version) {
                    // Metadata ids before it become invalid. Later ids are new.
                    self.kinds.advance(&file.index, block.begin);
                    self.pass(&point);
                }
            }
            _ => {}
        }
    }

    fn check_stacks(&mut self, content: &[u8], block: &Block) {
        let Some(mut rows) = crate::StackRows::read(content) else {
            let statement = "expected the first id and the number of stacks, found fewer bytes";
            self.faults.waiting.push_back(Fault::new(Rule::BlockHeader, block.content.start, statement));
            return;
        };
        let pointer = self.file.index.trace.pointer_size as usize;
        let mut found = 0u32;
        let uneven =
            rows.by_ref().inspect(|_| found += 1).filter(|stack| stack.len() % pointer.max(1) != 0).count();
        let offset = block.content.start + rows.position() as u64;
        if uneven > 0 {
            let statement = format!("{uneven} stacks are not a whole number of {pointer}-byte addresses");
            self.faults.waiting.push_back(Fault::new(Rule::StackSize, block.content.start, statement));
        }
        if found != rows.count && block.is_whole {
            let statement = format!("expected {} stacks, found {found}", rows.count);
            self.faults.waiting.push_back(Fault::new(Rule::RowSize, offset, statement));
        }
    }

    /// Forgets everything that events after a sequence point cannot refer to.
    fn pass(&mut self, point: &PointHead) {
        self.stacks.clear();
        self.labels.clear();
        if point.flushes_threads {
            self.threads.clear();
        }
        self.threads.forget_gone();
        if point.flushes_metadata {
            self.kinds.clear();
        }
    }

    /// Reads until events are ready. Returns `false` at the end.
    pub(super) fn fill(&mut self) -> bool {
        loop {
            if self.open.is_some() {
                if self.fill_from_block() {
                    return true;
                }
                continue;
            }
            if let Some((point, block)) = self.barrier.take() {
                self.pass_barrier(&point, &block);
                self.is_between = true;
                if self.pending.is_empty() && !self.pauses {
                    continue;
                }
                self.pending.release(true);
                return true;
            }
            if self.is_file_read {
                return false;
            }
            let file = Arc::clone(&self.file);
            match self.container.next(&file.bytes, 0, file.is_all) {
                FileItem::Block(block) => {
                    self.read_block(&block);
                    if self.pending.has_ready() {
                        return true;
                    }
                }
                FileItem::Fault(fault) => {
                    self.is_damaged = true;
                    self.faults.waiting.push_back(fault);
                }
                FileItem::More if !file.is_all => {
                    self.pending.release(false);
                    return self.pending.has_ready();
                }
                FileItem::More | FileItem::End => {
                    self.is_file_read = true;
                    if !self.pending.is_empty() {
                        self.pending.release(true);
                        return true;
                    }
                }
            }
            if !self.faults.waiting.is_empty() {
                return true;
            }
        }
    }

    /// Returns `true` if further bytes may arrive, and all blocks before them are read.
    pub(super) fn is_waiting(&self) -> bool {
        !self.is_file_read && !self.file.is_all
    }

    /// Takes what later events need from the blocks that were read: stacks and metadata. All ready events must be
    /// delivered.
    pub(super) fn keep_tables(&mut self, pointer_size: u32, trace: &Trace) {
        match self.file.index.version {
            Version::V6(_) => self.stacks.keep(&self.file.bytes),
            _ => self.stacks.intern_all(&self.file.bytes, pointer_size, trace),
        }
        self.kinds.advance(&self.file.index, self.container.position());
        let added = self.kinds.take_added();
        if let Some(file) = Arc::get_mut(&mut self.file) {
            file.index.metadata.drain(..added.min(file.index.metadata.len()));
        }
    }

    /// Returns the number of bytes at the start of the file that are no longer needed. All ready events must be
    /// delivered.
    pub(super) fn passed_bytes(&mut self) -> u64 {
        if self.open.is_some() || self.barrier.is_some() || self.pending.has_ready() {
            return 0;
        }
        let position = self.container.position();
        self.pending.first_byte().map_or(position, |first| first.min(position))
    }

    /// Removes bytes from the start of the file, after [`passed_bytes`](Self::passed_bytes).
    pub(super) fn remove_front(&mut self, length: u64) {
        self.container.remove_front(length);
        self.pending.move_to_front(length);
    }

    /// Returns the file range of the next segment. A segment ends after the next sequence point, or at the end of the
    /// file.
    pub(super) fn take_segment(&mut self) -> Option<Range<u64>> {
        self.is_between = false;
        if self.is_file_read {
            return None;
        }
        let mut container = self.container.clone();
        let begin = container.position();
        loop {
            match container.next(&self.file.bytes, 0, true) {
                FileItem::Block(block) if is_point(&self.file, &block) => break,
                FileItem::Block(_) | FileItem::Fault(_) => {}
                FileItem::More | FileItem::End => break,
            }
        }
        Some(begin..container.position()).filter(|segment| !segment.is_empty())
    }

    /// Skips a segment that ends at this offset, without reporting its faults and losses. Up to version 5, the sequence
    /// point at its end must list the last sequence number of each thread, because events are not counted.
    pub(super) fn skip_segment(&mut self, end: u64) {
        let file = Arc::clone(&self.file);
        let are_all_listed = !matches!(file.index.version, Version::V6(_));
        if are_all_listed {
            self.capture.forget();
        }
        while self.container.position() < end {
            match self.container.next(&file.bytes, 0, true) {
                FileItem::Block(block) if is_point(&file, &block) => {
                    if let Some(point) = PointHead::read(content(&file.bytes, &block), file.index.version) {
                        self.pass_barrier(&point, &block);
                        self.is_between = true;
                        self.is_file_read |= point.timestamp > self.wanted.1;
                    }
                }
                FileItem::Block(block) if block.kind == BlockKind::Event => {
                    release(&file.bytes, &block);
                    if !are_all_listed
                        && let Some(header) = EventBlockHeader::read(content(&file.bytes, &block))
                    {
                        let encoding = RowEncoding::new(file.index.version, header.flags);
                        let rows = block.content.start as usize + header.rows..block.content.end as usize;
                        self.kinds.advance(&file.index, block.content.start);
                        let mut rows = EventRows::new(encoding, rows, 0);
                        if let Some(position) = self.find_damage(&rows, header.times) {
                            rows.end_at(position);
                            self.is_damaged = true;
                        }
                        self.count_rows(rows);
                    }
                }
                FileItem::Block(block) => self.read_table(&block, false),
                FileItem::Fault(_) => self.is_damaged = true,
                FileItem::More | FileItem::End => break,
            }
        }
        self.kinds.advance(&file.index, end);
        self.pending = EventSorter::default();
        self.faults.waiting.clear();
    }

    fn read_block(&mut self, block: &Block) {
        let file = Arc::clone(&self.file);
        release(&file.bytes, block);
        match block.kind {
            BlockKind::Event => self.open_events(&file, block),
            BlockKind::SequencePoint => {
                match PointHead::read(content(&file.bytes, block), file.index.version) {
                    Some(point) => {
                        if point.timestamp > self.wanted.1 {
                            // All following events are later.
                            self.is_file_read = true;
                        }
                        self.barrier = Some((point, block.clone()));
                        self.pending.release(true);
                    }
                    None if block.is_whole => {
                        let statement = "expected a time and threads, found fewer bytes";
                        self.faults.waiting.push_back(Fault::new(
                            Rule::SequencePoint,
                            block.content.start,
                            statement,
                        ));
                    }
                    None => {}
                }
            }
            _ => self.read_table(block, false),
        }
    }

    /// Opens an event block that may contain wanted events.
    fn open_events(&mut self, file: &FileState, block: &Block) {
        if self.is_damaged && begins_in_repeated_page(&file.bytes, block.begin as usize) {
            let statement = "expected another block, found a block in a page that repeats the previous page: \
                it is skipped";
            let fault = Fault::new(Rule::BlockSize, block.begin, statement);
            return self.faults.waiting.push_back(fault.skipping(block.content.end - block.begin));
        }
        let version = file.index.version;
        let range = block.content.start as usize..block.content.end as usize;
        let end = range.end;
        let (encoding, rows, times) = match version {
            Version::V3 => (RowEncoding::V3, range, (0, u64::MAX)),
            _ => match EventBlockHeader::read(content(&file.bytes, block)) {
                Some(header) => {
                    let encoding = RowEncoding::new(version, header.flags);
                    (encoding, range.start + header.rows..range.end, header.times)
                }
                None if block.is_whole => {
                    let statement = "expected the header of an event block, found fewer bytes than it has";
                    let fault = Fault::new(Rule::BlockHeader, block.content.start, statement);
                    return self.faults.waiting.push_back(fault.skipping(range.len() as u64));
                }
                None => return,
            },
        };
        let is_wanted = times.1 >= self.wanted.0 && times.0 <= self.wanted.1;
        if !is_wanted && block.begin < self.counted_from {
            // A sequence point repeats the counts of its threads.
            self.capture.forget();
            return self.kinds.advance(&file.index, block.content.end);
        }
        self.kinds.advance(&file.index, block.content.start);
        let mut rows = EventRows::new(encoding, rows, file.index.missing);
        let lost_from = self.find_damage(&rows, times);
        if let Some(position) = lost_from {
            rows.end_at(position);
            self.is_damaged = true;
        }
        if !is_wanted {
            // The thread counts are needed to find later losses.
            self.count_rows(rows);
            return self.kinds.advance(&file.index, block.content.end);
        }
        let lost_until = lost_from.map(|_| end);
        self.open = Some(OpenEventBlock { rows, times, is_whole: block.is_whole, lost_until });
    }

    /// Returns the position in a block where lost rows start.
    fn find_damage(&self, rows: &EventRows, times: (u64, u64)) -> Option<usize> {
        let is_v3 = self.file.index.version == Version::V3;
        // Metadata is among the events.
        let is_known = |id: u32| is_v3 || self.kinds.get(id) != UNKNOWN_CLASS;
        find_damage(&self.file.bytes, rows.clone(), Some(times).filter(|_| !is_v3), is_known)
    }

    /// Counts events outside of the selection. Losses before them are also outside.
    fn count_rows(&mut self, mut rows: EventRows) {
        let file = Arc::clone(&self.file);
        let are_ids_recycled = !matches!(file.index.version, Version::V6(_));
        while let Some(row) = rows.next(&file.bytes) {
            self.capture.record(row.capture_thread, row.sequence, row.timestamp, are_ids_recycled);
        }
    }

    /// Applies a sequence point after all earlier events: takes its thread counts, and forgets earlier data.
    fn pass_barrier(&mut self, point: &PointHead, block: &Block) {
        let file = Arc::clone(&self.file);
        self.kinds.advance(&file.index, block.begin);
        let mut gaps = BlockGaps::default();
        let threads = || PointHead::threads(content(&file.bytes, block), file.index.version);
        for (thread, sequence) in threads() {
            let gap = self.capture.record_bound(thread, sequence, point.timestamp);
            gaps.add(gap, thread, |gap, thread| self.push_gap(Some(gap), thread, Some(point.timestamp)));
        }
        gaps.finish(|gap, thread| self.push_gap(Some(gap), thread, Some(point.timestamp)));
        if !matches!(self.file.index.version, Version::V6(_)) {
            // The list has all threads that can emit events.
            self.capture.retain(threads().map(|(thread, _)| thread));
        } else if self.begun_at == Some(block.begin) {
            // The list should have all threads. If not, a cursor that started earlier knows more, and has another
            // checkpoint.
            self.capture.assume_complete();
        }
        self.pass(point);
    }

    /// Adds a gap at its end.
    #[cold]
    fn push_gap(&mut self, gap: Option<EventGap>, thread: u64, end: Option<u64>) {
        if let Some(gap) = gap {
            // In version 6, the thread id is more useful than the index.
            let row = self.threads.place(thread).and_then(|place| self.threads.get(place));
            let thread = row.and_then(|row| row.thread_id).unwrap_or(thread);
            let timestamp = end.unwrap_or(self.latest).max(gap.after);
            let entry = PendingEvent {
                timestamp,
                capture_thread: thread,
                payload: gap.after,
                length: gap.count.unwrap_or(0),
                class: GAP,
                ..PendingEvent::default()
            };
            self.pending.push(entry, false);
        }
    }

    /// Reads rows in the open block until events are ready. Returns `false` at its end.
    fn fill_from_block(&mut self) -> bool {
        let Some(mut open) = self.open.take() else { return false };
        let file = Arc::clone(&self.file);
        let bytes: &[u8] = &file.bytes;
        let version = file.index.version;
        let (is_v6, are_numbered) = (matches!(version, Version::V6(_)), version != Version::V3);
        while let Some(row) = open.rows.next(bytes) {
            if row.metadata_id == 0 && !are_numbered {
                let until = row.payload.end as u64;
                self.kinds.advance(&file.index, until);
                continue;
            }
            if are_numbered
                && let Some(gap) =
                    self.capture.record(row.capture_thread, row.sequence, row.timestamp, !is_v6)
            {
                let (thread, time) = (row.capture_thread, row.timestamp);
                self.push_gap(Some(gap), thread, Some(time));
            }
            let entry = self.entry_of(row, is_v6, are_numbered);
            if self.faults.check && (row.timestamp < open.times.0 || row.timestamp > open.times.1) {
                let (times, time) = (open.times, row.timestamp);
                self.faults.record(Rule::BlockTimes, row.payload.start as u64, || {
                    format!(
                        "expected a time from {} to {} as the header says, found {time}",
                        times.0, times.1
                    )
                });
            }
            if self.pending.push(entry, row.is_sorted) || self.is_unsorted {
                self.pending.release(self.is_unsorted);
                if self.pending.has_ready() {
                    self.open = Some(open);
                    return true;
                }
            }
        }
        if let Some(end) = open.lost_until {
            let at = open.rows.position();
            let statement = "expected events, found sectors of one value, or a page that repeats the \
                previous page: the rest of the block is skipped";
            let fault = Fault::new(Rule::RowSize, at as u64, statement);
            self.faults.waiting.push_back(fault.skipping(end.saturating_sub(at) as u64));
        } else if !open.rows.is_at_end() && open.is_whole {
            let at = open.rows.position() as u64;
            let rest = open.rows.rest() as u64;
            let statement = format!("expected an event, found {rest} other bytes: they are skipped");
            self.faults.waiting.push_back(Fault::new(Rule::RowSize, at, statement).skipping(rest));
        }
        !self.faults.waiting.is_empty()
    }

    #[inline(always)]
    fn entry_of(&self, row: &EventRow, is_v6: bool, are_numbered: bool) -> PendingEvent {
        let thread = |index: u64| match is_v6 {
            true => self.threads.place(index).unwrap_or(index | UNKNOWN_THREAD),
            false => index,
        };
        let mut class = self.kinds.get(row.metadata_id);
        if row.label_list != 0 {
            class = self.class_with_labels(class, row.label_list);
        }
        PendingEvent {
            timestamp: row.timestamp,
            thread: thread(row.thread),
            capture_thread: if row.capture_thread == row.thread {
                thread(row.thread)
            } else {
                thread(row.capture_thread)
            },
            payload: row.payload.start as u64,
            activity: before_payload(row, row.activity),
            related_activity: before_payload(row, row.related_activity),
            length: row.payload.len() as u32,
            class,
            processor: row.processor,
            stack: if are_numbered { row.stack_id } else { row.stack.len() as u32 },
            labels: row.label_list,
        }
    }

    /// Returns the class of an event whose labels may override metadata (version 6).
    fn class_with_labels(&self, class: u32, list: u32) -> u32 {
        let index = &self.file.index;
        if index.overridden.is_empty() {
            return class;
        }
        let labels = self.labels.get(list);
        let overridden = labels.and_then(|labels| index.overridden.get(&(class, labels.overrides)));
        overridden.copied().unwrap_or(class)
    }
}

/// Returns `true` for a readable sequence point.
fn is_point(file: &FileState, block: &Block) -> bool {
    block.kind == BlockKind::SequencePoint
        && PointHead::read(content(&file.bytes, block), file.index.version).is_some()
}

/// Returns the number of bytes from a position in the same block to the payload. 0 if missing.
#[inline(always)]
fn before_payload(row: &EventRow, at: usize) -> u32 {
    if at == 0 { 0 } else { u32::try_from(row.payload.start.saturating_sub(at)).unwrap_or(0) }
}
