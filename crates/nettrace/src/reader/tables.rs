//! Tables that events refer to, at a position in the file: threads, label lists and stacks.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use ichnos_model::Trace;
use ichnos_model::key_hash::KeyState;
use ichnos_model::stack::Frame;

use super::overrides::Overrides;
use crate::{EventLabel, StackRows, ThreadRow, addresses};

/// Thread table (version 6).
#[derive(Debug, Default)]
pub(super) struct ThreadTable {
    /// Described threads by place. A place is permanent.
    rows: Vec<ThreadRow>,
    by_index: HashMap<u64, u32, KeyState>,
    /// Approximate memory in bytes.
    bytes: usize,
    /// `true` if a thread was dropped because the table is full.
    is_full: bool,
}

/// Maximum number of threads at a time. Recorded traces have thousands.
const MOST_THREADS: usize = 1 << 17;

/// Approximate maximum memory for threads in bytes.
const MOST_THREAD_BYTES: usize = 16 << 20;

/// Returns a thread's approximate memory in bytes.
fn thread_bytes(row: &ThreadRow) -> usize {
    size_of::<ThreadRow>() + row.name.as_ref().map_or(0, |name| 16 + name.len())
}

impl ThreadTable {
    pub(super) fn add(&mut self, mut row: ThreadRow) {
        // Properties are not used.
        row.properties = Vec::new();
        let bytes = self.bytes + thread_bytes(&row);
        if self.rows.len() < MOST_THREADS && bytes <= MOST_THREAD_BYTES {
            self.bytes = bytes;
            self.by_index.insert(row.index, self.rows.len() as u32);
            self.rows.push(row);
        } else {
            self.is_full = true;
        }
    }

    /// Returns `true` if an unknown thread may have been dropped because the table is full.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn remove(&mut self, index: u64) {
        self.by_index.remove(&index);
    }

    pub(super) fn clear(&mut self) {
        self.by_index.clear();
    }

    /// Forgets removed threads. None of their places may still be in use.
    pub(super) fn forget_gone(&mut self) {
        if self.rows.len() < 2 * self.by_index.len() + 1024 {
            return;
        }
        let mut rows = Vec::with_capacity(self.by_index.len());
        for place in self.by_index.values_mut() {
            if let Some(row) = self.rows.get_mut(*place as usize) {
                *place = rows.len() as u32;
                rows.push(std::mem::take(row));
            }
        }
        self.bytes = rows.iter().map(thread_bytes).sum();
        self.rows = rows;
    }

    /// Returns the place of the thread with an index. The place remains valid after the index is removed.
    pub(super) fn place(&self, index: u64) -> Option<u64> {
        self.by_index.get(&index).map(|place| (*place).into())
    }

    pub(super) fn get(&self, place: u64) -> Option<&ThreadRow> {
        self.rows.get(usize::try_from(place).ok()?)
    }

    /// Returns the process of the thread with an index.
    pub(super) fn process(&self, index: u64) -> Option<u64> {
        self.get(self.place(index)?)?.process_id
    }
}

/// Returns a process's address space. Unknown processes use the kernel's.
pub(super) fn address_space(process: Option<u64>) -> u32 {
    process.map_or(0, |process| u32::try_from(process).unwrap_or(u32::MAX))
}

/// Returns `true` for a kernel address, which is valid in all processes. On all systems with 64-bit addresses, the
/// kernel has their upper half.
pub(super) fn is_kernel_address(address: u64) -> bool {
    address >> 63 != 0
}

/// Label lists since the last sequence point (version 6).
#[derive(Debug, Default)]
pub(super) struct LabelTable {
    lists: HashMap<u32, ListLabels, KeyState>,
    /// Approximate memory in bytes.
    bytes: usize,
}

/// Labels in a list, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct ListLabels {
    pub(super) activity: Option<[u8; 16]>,
    pub(super) related_activity: Option<[u8; 16]>,
    /// Hexadecimal digits.
    pub(super) trace_id: Option<String>,
    pub(super) span_id: Option<u64>,
    /// Labels that replace some metadata. They are part of the event's class.
    pub(super) overrides: Overrides,
    /// All other texts and numbers.
    pub(super) texts: Vec<(String, String)>,
    pub(super) numbers: Vec<(String, i64)>,
}

/// Maximum memory for the lists between two sequence points, in bytes.
const MOST_LABEL_BYTES: usize = 8 << 20;

impl LabelTable {
    pub(super) fn clear(&mut self) {
        self.lists.clear();
        self.bytes = 0;
    }

    /// Returns `true` if an unknown list may have been dropped because the table is full.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MOST_LABEL_BYTES
    }

    pub(super) fn get(&self, list: u32) -> Option<&ListLabels> {
        self.lists.get(&list)
    }

    /// Returns `true` if a list in a block has labels that replace some metadata.
    pub(super) fn has_overrides(content: &[u8]) -> bool {
        let is_override = |label: &EventLabel| {
            matches!(
                label,
                EventLabel::Opcode(_)
                    | EventLabel::Keywords(_)
                    | EventLabel::Level(_)
                    | EventLabel::Version(_)
            ) || version_by_name(label).is_some()
        };
        let mut found = false;
        // Unreadable bytes are reported with the events.
        let _rest = EventLabel::read_block(content, |_, labels| found |= labels.iter().any(is_override));
        found
    }

    /// Reads a block's content. Returns the range of unreadable bytes, if any.
    pub(super) fn add(&mut self, content: &[u8]) -> Option<Range<usize>> {
        EventLabel::read_block(content, |index, list| {
            if self.bytes >= MOST_LABEL_BYTES {
                return;
            }
            let mut labels = ListLabels::default();
            for label in list {
                labels.add(label);
            }
            self.bytes += labels.bytes();
            self.lists.insert(index, labels);
        })
    }
}

/// Returns the event version in a named label. one-collect used it before the kind `Version` existed.
fn version_by_name(label: &EventLabel) -> Option<u8> {
    match label {
        EventLabel::Number(name, value) if name == "Version" => u8::try_from(*value).ok(),
        _ => None,
    }
}

impl ListLabels {
    /// Approximate memory in bytes.
    fn bytes(&self) -> usize {
        let texts = self.texts.iter().map(|(name, value)| 64 + name.len() + value.len());
        let numbers = self.numbers.iter().map(|(name, _)| 48 + name.len());
        2 * size_of::<Self>() + texts.chain(numbers).sum::<usize>()
    }

    fn add(&mut self, label: EventLabel) {
        if let Some(version) = version_by_name(&label) {
            self.overrides.version.get_or_insert(version);
        }
        match label {
            EventLabel::Activity(id) => self.activity = Some(id),
            EventLabel::RelatedActivity(id) => self.related_activity = Some(id),
            EventLabel::TraceId(id) => {
                self.trace_id = Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            EventLabel::SpanId(id) => self.span_id = Some(id),
            EventLabel::Text(name, value) => self.texts.push((name, value)),
            EventLabel::Number(name, value) => self.numbers.push((name, value)),
            EventLabel::Opcode(value) => self.overrides.opcode = Some(value),
            EventLabel::Keywords(value) => self.overrides.keywords = Some(value),
            EventLabel::Level(value) => self.overrides.level = Some(value),
            EventLabel::Version(value) => self.overrides.version = Some(value),
        }
    }
}

/// Stacks since the last sequence point.
#[derive(Debug, Default)]
pub(super) struct StackBlocks {
    blocks: Vec<StackBlock>,
    /// Stack ids of each block, by the first id. Ranges do not overlap, because newer blocks take precedence.
    ids: BTreeMap<u32, StackIdRange>,
    /// Stack ids found by the last look-up.
    last: Option<(u32, StackIdRange)>,
    /// Stack table numbers by id and address space, for stacks that processes share. Added on demand.
    numbers: HashMap<(u32, u32), u32, KeyState>,
    frames: Vec<u64>,
    /// Number of stacks in the blocks.
    count: usize,
    /// Number of bytes in kept blocks.
    kept: usize,
    /// `true` if stacks were dropped because the table is full.
    is_full: bool,
}

/// Stack ids in a block.
#[derive(Clone, Copy, Debug)]
struct StackIdRange {
    last: u32,
    block: usize,
}

#[derive(Debug)]
struct StackBlock {
    first_id: u32,
    /// File range of its content.
    content: Range<usize>,
    /// Its content, if the file bytes are gone.
    kept: Option<Box<[u8]>>,
    /// Stack table numbers, for stacks of a single process. Created on demand.
    numbers: Option<Vec<u32>>,
    /// Range of each stack in the content, if processes share stacks. Created on demand.
    stacks: Option<Vec<Range<u32>>>,
}

/// Maximum number of blocks between two sequence points.
const MOST_BLOCKS: usize = 1 << 16;

/// Maximum number of cached numbers for shared stacks.
const MOST_NUMBERS: usize = 1 << 18;

/// Maximum number of stacks between two sequence points, because their positions take memory.
const MOST_STACKS: usize = 1 << 20;

/// Maximum number of bytes in kept blocks.
const MOST_KEPT: usize = 64 << 20;

/// Number of a stack without frames.
const EMPTY: u32 = u32::MAX;

/// Number of a stack that does not fit in the stack table.
const TOO_MANY: u32 = u32::MAX - 1;

/// Result of looking up a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StackLookup {
    /// Number in the trace's stack table.
    Number(u32),
    /// The stack lacks frames.
    Empty,
    /// The id is unknown.
    Unknown,
    /// The stack table is full.
    TooMany,
}

impl StackLookup {
    fn new(number: u32) -> Self {
        match number {
            EMPTY => Self::Empty,
            TOO_MANY => Self::TooMany,
            number => Self::Number(number),
        }
    }
}

impl StackBlocks {
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.ids.clear();
        self.last = None;
        self.numbers.clear();
        self.count = 0;
        self.kept = 0;
        self.is_full = false;
    }

    pub(super) fn add(&mut self, bytes: &[u8], content: Range<usize>) {
        let Some(rows) = bytes.get(content.clone()).and_then(StackRows::read) else { return };
        let (first_id, claimed) = (rows.first_id, rows.count);
        // Actual number of stacks.
        let count = rows.take(claimed as usize).count() as u32;
        if count == 0 {
            return;
        }
        if self.blocks.len() >= MOST_BLOCKS || self.count + count as usize > MOST_STACKS {
            self.is_full = true;
            return;
        }
        self.count += count as usize;
        let (first, last) = (first_id, first_id.saturating_add(count - 1));
        let block = self.blocks.len();
        self.blocks.push(StackBlock { first_id: first, content, kept: None, numbers: None, stacks: None });
        // Remove these ids from older blocks.
        if self.ids.range(..=last).next_back().is_some_and(|(_, ids)| ids.last >= first) {
            self.numbers.clear();
        }
        while let Some((&begin, &ids)) = self.ids.range(..=last).next_back()
            && ids.last >= first
        {
            self.ids.remove(&begin);
            if ids.last > last {
                self.ids.insert(last + 1, ids);
            }
            if begin < first {
                self.ids.insert(begin, StackIdRange { last: first - 1, block: ids.block });
            }
        }
        self.ids.insert(first, StackIdRange { last, block });
        self.last = None;
    }

    /// Adds all stacks to the stack table of the trace, so that the bytes are no longer needed. For streams with one
    /// address space.
    pub(super) fn intern_all(&mut self, bytes: &[u8], pointer_size: u32, trace: &Trace) {
        let new = self.blocks.iter().rev().take_while(|block| block.numbers.is_none()).count();
        let known = self.blocks.len() - new;
        for block in self.blocks.iter_mut().skip(known) {
            // Blocks are within the file.
            let content = bytes.get(block.content.clone()).unwrap_or_default();
            block.numbers = Some(intern(content, pointer_size, trace));
        }
    }

    /// Copies the blocks, so that the bytes are no longer needed. For streams with several address spaces, where only
    /// later events tell which stacks there are.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        let new = self.blocks.iter().rev().take_while(|block| block.kept.is_none()).count();
        let known = self.blocks.len() - new;
        for block in self.blocks.iter_mut().skip(known) {
            // Blocks are within the file.
            let content = bytes.get(block.content.clone()).unwrap_or_default();
            let fits = self.kept + content.len() <= MOST_KEPT;
            self.is_full |= !fits;
            let content = if fits { content } else { &[] };
            self.kept += content.len();
            block.kept = Some(content.into());
            // They are in the content that is gone.
            block.stacks = block.stacks.take().filter(|_| fits);
        }
    }

    /// Returns `true` if a stack id exists.
    #[inline]
    pub(super) fn has(&mut self, id: u32) -> bool {
        if !self.last.is_some_and(|(first, ids)| first <= id && id <= ids.last) {
            let found = self.ids.range(..=id).next_back().filter(|(_, ids)| id <= ids.last);
            let Some((first, ids)) = found else { return false };
            self.last = Some((*first, *ids));
        }
        true
    }

    /// Returns the stack with an id in the only address space.
    pub(super) fn get(&mut self, id: u32, bytes: &[u8], pointer_size: u32, trace: &Trace) -> StackLookup {
        let missing = if self.is_full { StackLookup::TooMany } else { StackLookup::Unknown };
        let Some(block) = self.find(id) else { return missing };
        let index = id.wrapping_sub(block.first_id) as usize;
        // Blocks are within the file.
        let content = bytes.get(block.content.clone()).unwrap_or_default();
        let numbers = block.numbers.get_or_insert_with(|| intern(content, pointer_size, trace));
        numbers.get(index).map_or(StackLookup::Unknown, |number| StackLookup::new(*number))
    }

    /// Returns the stack with an id, in the address space of a process and in the kernel's.
    pub(super) fn get_in_space(
        &mut self,
        id: u32,
        space: u32,
        bytes: &[u8],
        pointer_size: u32,
        trace: &Trace,
    ) -> StackLookup {
        if let Some(number) = self.numbers.get(&(id, space)) {
            return StackLookup::new(*number);
        }
        let missing = if self.is_full { StackLookup::TooMany } else { StackLookup::Unknown };
        let mut frames = std::mem::take(&mut self.frames);
        let Some(StackBlock { first_id, content, kept, stacks, .. }) = self.find(id) else { return missing };
        let index = id.wrapping_sub(*first_id) as usize;
        // Blocks are within the file.
        let content = kept.as_deref().or_else(|| bytes.get(content.clone())).unwrap_or_default();
        let stacks = stacks.get_or_insert_with(|| ranges(content));
        let Some(range) = stacks.get(index) else { return missing };
        // `ranges` returns ranges of this content.
        let stack = content.get(range.start as usize..range.end as usize).unwrap_or_default();
        frames.clear();
        frames.extend(addresses(stack, pointer_size));
        self.frames = frames;
        let missing = if self.frames.is_empty() { EMPTY } else { TOO_MANY };
        let frame = |address: &u64| {
            let space = if is_kernel_address(*address) { 0 } else { space };
            Frame::at(*address).in_space(space)
        };
        let number = trace.stacks.intern(self.frames.iter().rev().map(frame)).unwrap_or(missing);
        if self.numbers.len() >= MOST_NUMBERS {
            self.numbers.clear();
        }
        self.numbers.insert((id, space), number);
        StackLookup::new(number)
    }

    /// Returns the latest block with an id.
    fn find(&mut self, id: u32) -> Option<&mut StackBlock> {
        if !self.has(id) {
            return None;
        }
        let (_, ids) = self.last?;
        self.blocks.get_mut(ids.block)
    }
}

/// Returns the address range of each stack in a block's content.
fn ranges(content: &[u8]) -> Vec<Range<u32>> {
    let Some(mut rows) = StackRows::read(content) else { return Vec::new() };
    let mut ranges = Vec::new();
    while let Some(stack) = rows.next()
        && let Ok(end) = u32::try_from(rows.position())
    {
        // The stack was read just before the end.
        ranges.push(end - stack.len() as u32..end);
    }
    ranges
}

/// Adds all stacks of a block to the trace's stack table. Returns their numbers.
pub(super) fn intern(content: &[u8], pointer_size: u32, trace: &Trace) -> Vec<u32> {
    let mut frames = Vec::new();
    let rows = StackRows::read(content).into_iter().flatten();
    let number = |stack: &[u8]| {
        let missing = if addresses(stack, pointer_size).next().is_none() { EMPTY } else { TOO_MANY };
        intern_stack(stack, pointer_size, trace, &mut frames).unwrap_or(missing)
    };
    rows.map(number).collect()
}

/// Adds a stack to the table. Returns its number, or `None` if it lacks frames or the table is full.
pub(super) fn intern_stack(
    stack: &[u8],
    pointer_size: u32,
    trace: &Trace,
    frames: &mut Vec<u64>,
) -> Option<u32> {
    frames.clear();
    frames.extend(addresses(stack, pointer_size));
    if frames.is_empty() { None } else { trace.stacks.intern_addresses(0, frames) }
}

#[cfg(test)]
mod tests {
    use ichnos_model::TraceClass;
    use ichnos_model::stack::StackTable;
    use ichnos_model::trace::Limits;

    use super::*;

    /// Creates a block with stacks of 8-byte addresses.
    fn block(first_id: u32, stacks: &[&[u64]]) -> Vec<u8> {
        let mut block = [first_id.to_le_bytes(), (stacks.len() as u32).to_le_bytes()].concat();
        for stack in stacks {
            block.extend((8 * stack.len() as u32).to_le_bytes());
            block.extend(stack.iter().flat_map(|address| address.to_le_bytes()));
        }
        block
    }

    #[test]
    fn stacks_that_are_empty_unknown_or_too_many() {
        let mut trace = Trace::new(TraceClass::default(), "", &Limits::default()).unwrap();
        trace.stacks = StackTable::new(2);
        let first = block(5, &[&[1], &[], &[2, 1], &[3]]);
        let bytes = [first.clone(), block(8, &[&[1]])].concat();
        let mut blocks = StackBlocks::default();
        blocks.add(&bytes, 0..first.len());
        let get = |blocks: &mut StackBlocks| [4, 5, 6, 7, 8, 9].map(|id| blocks.get(id, &bytes, 8, &trace));
        let [unknown, one, empty, two, many] = [
            StackLookup::Unknown,
            StackLookup::Number(0),
            StackLookup::Empty,
            StackLookup::Number(1),
            StackLookup::TooMany,
        ];
        assert_eq!(get(&mut blocks), [unknown, one, empty, two, many, unknown]);
        // The last block with an id wins.
        blocks.add(&bytes, first.len()..bytes.len());
        assert_eq!(get(&mut blocks), [unknown, one, empty, two, one, unknown]);

        let mut get = |id, space| blocks.get_in_space(id, space, &bytes, 8, &trace);
        assert_eq!([4, 5, 6, 7, 8, 9].map(|id| get(id, 0)), [unknown, one, empty, two, one, unknown]);
        assert_eq!((get(5, 1), get(6, 1), get(5, 0)), (many, empty, one));
        blocks.clear();
        assert_eq!(blocks.get(5, &bytes, 8, &trace), StackLookup::Unknown);
    }

    /// Newer blocks hide ids from older blocks, independent of previous look-ups.
    #[test]
    fn stack_ids_that_are_in_several_blocks() {
        let trace = Trace::new(TraceClass::default(), "", &Limits::default()).unwrap();
        let mut bytes = Vec::new();
        let mut blocks = StackBlocks::default();
        for (first, count, address) in [(1u32, 5u32, 10u64), (3, 1, 20), (5, 3, 30), (u32::MAX - 1, 9, 40)] {
            let begin = bytes.len();
            bytes.extend([first.to_le_bytes(), count.to_le_bytes()].concat());
            for _ in 0..count {
                bytes.extend(8u32.to_le_bytes());
                bytes.extend(address.to_le_bytes());
            }
            blocks.add(&bytes, begin..bytes.len());
        }
        let ids = [3, 1, 4, 2, 3, 5, 6, 7, 8, 0, u32::MAX];
        let stacks = ids.map(|id| match blocks.get(id, &bytes, 8, &trace) {
            StackLookup::Number(number) => number,
            _ => u32::MAX,
        });
        let [a, b, c, d] = [1, 0, 5, 10].map(|index: usize| stacks[index]);
        assert_eq!(stacks, [b, a, a, a, b, c, c, c, u32::MAX, u32::MAX, d]);
        assert!(a != b && b != c && c != d && d != u32::MAX);
        blocks.clear();
        assert_eq!(blocks.get(3, &bytes, 8, &trace), StackLookup::Unknown);
    }
}
