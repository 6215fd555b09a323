//! What events refer to: threads, label lists and stacks, as far as the file was read.

use std::collections::HashMap;
use std::ops::Range;

use ichnos_model::Trace;

use crate::{Label, StackRows, ThreadRow, addresses};

/// The threads of version 6.
#[derive(Debug, Default)]
pub(super) struct ThreadTable {
    /// Those that were described, by place; a place stays.
    rows: Vec<ThreadRow>,
    by_index: HashMap<u64, u32>,
}

/// As many threads are described at most; real traces have thousands.
const MOST_THREADS: usize = 1 << 20;

impl ThreadTable {
    pub(super) fn add(&mut self, row: ThreadRow) {
        if self.rows.len() < MOST_THREADS {
            self.by_index.insert(row.index, self.rows.len() as u32);
            self.rows.push(row);
        }
    }

    pub(super) fn remove(&mut self, index: u64) {
        self.by_index.remove(&index);
    }

    pub(super) fn clear(&mut self) {
        self.by_index.clear();
    }

    /// The place of the thread of an index, which stays when the index is gone.
    pub(super) fn place(&self, index: u64) -> Option<u64> {
        self.by_index.get(&index).map(|place| (*place).into())
    }

    pub(super) fn get(&self, place: u64) -> Option<&ThreadRow> {
        self.rows.get(usize::try_from(place).ok()?)
    }
}

/// The lists of labels of version 6 since the last sequence point.
#[derive(Debug, Default)]
pub(super) struct LabelTable {
    lists: HashMap<u32, Labels>,
}

/// A list of labels, sorted out.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    pub(super) activity: Option<[u8; 16]>,
    pub(super) related_activity: Option<[u8; 16]>,
    /// In hexadecimal digits.
    pub(super) trace_id: Option<String>,
    pub(super) span_id: Option<u64>,
    /// All others, as texts.
    pub(super) others: Vec<(String, String)>,
}

/// As many lists are kept at most between two sequence points.
const MOST_LISTS: usize = 1 << 20;

impl LabelTable {
    pub(super) fn clear(&mut self) {
        self.lists.clear();
    }

    pub(super) fn get(&self, list: u32) -> Option<&Labels> {
        self.lists.get(&list)
    }

    /// Reads the content of a block. Gives where what cannot be read begins, if there is such.
    pub(super) fn add(&mut self, content: &[u8]) -> Option<Range<usize>> {
        Label::read_block(content, |index, list| {
            if self.lists.len() >= MOST_LISTS {
                return;
            }
            let mut labels = Labels::default();
            for label in list {
                labels.add(label);
            }
            self.lists.insert(index, labels);
        })
    }
}

impl Labels {
    fn add(&mut self, label: Label) {
        let mut other = |name: &str, value: String| self.others.push((name.to_owned(), value));
        match label {
            Label::Activity(id) => self.activity = Some(id),
            Label::RelatedActivity(id) => self.related_activity = Some(id),
            Label::TraceId(id) => self.trace_id = Some(id.iter().map(|byte| format!("{byte:02x}")).collect()),
            Label::SpanId(id) => self.span_id = Some(id),
            Label::Text(name, value) => self.others.push((name, value)),
            Label::Number(name, value) => self.others.push((name, value.to_string())),
            Label::Opcode(value) => other("opcode", value.to_string()),
            Label::Keywords(value) => other("keywords", format!("{value:#x}")),
            Label::Level(value) => other("level", value.to_string()),
            Label::Version(value) => other("version", value.to_string()),
        }
    }
}

/// The stacks since the last sequence point.
#[derive(Debug, Default)]
pub(super) struct StackBlocks {
    blocks: Vec<StackBlock>,
    /// The block that was used last.
    last: usize,
}

#[derive(Debug)]
struct StackBlock {
    first_id: u32,
    count: u32,
    /// Where its content is in the file.
    content: Range<usize>,
    /// Numbers in the stack table of the trace; made when they are needed.
    numbers: Option<Vec<u32>>,
}

/// As many blocks are kept at most between two sequence points.
const MOST_BLOCKS: usize = 1 << 16;

/// Stands for a stack without frames in [`StackBlock::numbers`].
const EMPTY: u32 = u32::MAX;

/// A stack of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stack {
    /// Its number in the stack table of the trace.
    Number(u32),
    /// It has no frames.
    Empty,
    /// There is no such stack.
    Unknown,
}

impl StackBlocks {
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.last = 0;
    }

    pub(super) fn add(&mut self, bytes: &[u8], content: Range<usize>) {
        if let Some(rows) = bytes.get(content.clone()).and_then(StackRows::read)
            && self.blocks.len() < MOST_BLOCKS
        {
            let (first_id, count) = (rows.first_id, rows.count);
            self.blocks.push(StackBlock { first_id, count, content, numbers: None });
        }
    }

    /// The stack of an id.
    pub(super) fn get(&mut self, id: u32, bytes: &[u8], pointer_size: u32, trace: &Trace) -> Stack {
        let has = |block: &StackBlock| id.wrapping_sub(block.first_id) < block.count;
        if !self.blocks.get(self.last).is_some_and(has) {
            match self.blocks.iter().rposition(has) {
                Some(found) => self.last = found,
                None => return Stack::Unknown,
            }
        }
        let Some(block) = self.blocks.get_mut(self.last) else { return Stack::Unknown };
        let index = id.wrapping_sub(block.first_id) as usize;
        let content = bytes.get(block.content.clone()).unwrap_or_default();
        let numbers = block.numbers.get_or_insert_with(|| intern(content, pointer_size, trace));
        match numbers.get(index) {
            Some(&EMPTY) => Stack::Empty,
            Some(number) => Stack::Number(*number),
            None => Stack::Unknown,
        }
    }
}

/// The numbers of all stacks of a block in the stack table of the trace.
pub(super) fn intern(content: &[u8], pointer_size: u32, trace: &Trace) -> Vec<u32> {
    let mut frames = Vec::new();
    let rows = StackRows::read(content).into_iter().flatten();
    rows.map(|stack| intern_stack(stack, pointer_size, trace, &mut frames).unwrap_or(EMPTY)).collect()
}

/// The number of a stack; None if it has no frames.
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
