//! Tables of a file being written: threads, label lists, stacks.

use std::collections::HashMap;

use ichnos_model::{DataStream, Frame, Symbol, ValueHash};

use super::event_parts::EventParts;
use crate::wire_writer::{push_sized, push_string, push_u32, push_u64, push_varuint};

/// Properties of a thread of version 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ThreadKey {
    process: Option<u64>,
    thread: u64,
    name_hash: u64,
    /// `true` for a thread that makes events about other ones: readers tell both apart by their indexes.
    is_capture: bool,
}

/// Threads of version 6, by their properties.
#[derive(Debug, Default)]
pub(super) struct WrittenThreads {
    indexes: HashMap<ThreadKey, u64>,
    /// Last index of each thread id.
    by_id: HashMap<u64, u64>,
    /// Rows that were not written yet.
    pub(super) rows: Vec<u8>,
}

impl WrittenThreads {
    /// Returns the index of a thread, and adds a row for it if it is new.
    pub(super) fn index(&mut self, process: Option<u64>, thread: u64, name: Option<&str>) -> u64 {
        let name_hash = name.map_or(0, |name| {
            let mut hash = ValueHash::new(1);
            hash.bytes(name.as_bytes());
            hash.finish()
        });
        self.index_of(ThreadKey { process, thread, name_hash, is_capture: false }, name)
    }

    /// Returns the index of a thread that made an event about another one, and adds a row for it if it is new.
    pub(super) fn capture_index(&mut self, thread: u64) -> u64 {
        self.index_of(ThreadKey { process: None, thread, name_hash: 0, is_capture: true }, None)
    }

    /// Returns the index of the thread with this id that was added last, or adds one for it.
    pub(super) fn index_of_id(&mut self, process: Option<u64>, thread: u64) -> u64 {
        match self.by_id.get(&thread) {
            Some(index) => *index,
            None => self.index(process, thread, None),
        }
    }

    fn index_of(&mut self, key: ThreadKey, name: Option<&str>) -> u64 {
        let ThreadKey { process, thread, .. } = key;
        let next = self.indexes.len() as u64 + 1;
        let index = *self.indexes.entry(key).or_insert(next);
        if index == next {
            self.by_id.insert(thread, index);
            let row = |name: Option<&str>, out: &mut Vec<u8>| {
                push_sized(out, |out| {
                    push_varuint(out, index);
                    if let Some(name) = name {
                        out.push(1);
                        push_string(out, name);
                    }
                    if let Some(process) = process {
                        out.push(2);
                        push_varuint(out, process);
                    }
                    out.push(3);
                    push_varuint(out, thread);
                })
            };
            // A name of this length is of no use.
            if !row(name, &mut self.rows) {
                row(None, &mut self.rows);
            }
        }
        index
    }
}

/// Label lists since the last sequence point (version 6).
#[derive(Debug, Default)]
pub(super) struct WrittenLabels {
    indexes: HashMap<Box<[u8]>, u32>,
    /// Index of the first list that was not written yet, and the number of these lists.
    first: u32,
    count: u32,
    lists: Vec<u8>,
    list: Vec<u8>,
}

impl WrittenLabels {
    /// Returns the index of the list of an event, and adds it if it is new; 0 without labels.
    pub(super) fn index(&mut self, parts: &EventParts) -> u32 {
        if !parts.has_labels() {
            return 0;
        }
        let list = &mut self.list;
        list.clear();
        let mut last = 0;
        let mut begin = |list: &mut Vec<u8>, kind: u8| {
            last = list.len();
            list.push(kind);
        };
        for (kind, guid) in [(1, parts.activity), (2, parts.related_activity)] {
            if guid != [0; 16] {
                begin(list, kind);
                list.extend_from_slice(&guid);
            }
        }
        if let Some(id) = parts.trace_id {
            begin(list, 3);
            list.extend_from_slice(&id);
        }
        if let Some(id) = parts.span_id {
            begin(list, 4);
            push_u64(list, id);
        }
        for pair in parts.labels.chunks(2) {
            begin(list, 5);
            pair.iter().for_each(|text| push_string(list, text));
        }
        // The last label of a list is marked.
        if let Some(kind) = list.get_mut(last) {
            *kind |= 0x80;
        }
        if let Some(index) = self.indexes.get(&**list) {
            return *index;
        }
        if self.count == 0 {
            self.first = self.indexes.len() as u32 + 1;
        }
        let index = self.indexes.len() as u32 + 1;
        self.indexes.insert(list.clone().into(), index);
        self.lists.extend_from_slice(list);
        self.count += 1;
        index
    }

    /// Takes the content of a block of the lists that were not written yet, if there are any.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        take_rows(self.first, &mut self.count, &mut self.lists)
    }

    /// Forgets all lists, at a sequence point.
    pub(super) fn clear(&mut self) {
        self.indexes.clear();
    }

    /// Returns the size of the lists that were not written yet in bytes.
    pub(super) fn waiting(&self) -> usize {
        self.lists.len()
    }
}

fn take_rows(first: u32, count: &mut u32, rows: &mut Vec<u8>) -> Option<Vec<u8>> {
    let count = std::mem::take(count);
    if count == 0 {
        return None;
    }
    let mut content = Vec::with_capacity(8 + rows.len());
    push_u32(&mut content, first);
    push_u32(&mut content, count);
    content.append(rows);
    Some(content)
}

/// Maximum number of names that are written for the addresses of stacks.
const MOST_NAMES: usize = 1 << 18;

/// First address of frames that only have a name.
const NAMED_FRAMES: u64 = 0x7fff_0000_0000_0000;

/// Function to name at the end of the file.
#[derive(Clone, Debug)]
pub(super) struct NamedFunction {
    /// Version 6.
    pub(super) process: Option<u64>,
    pub(super) begin: u64,
    pub(super) size: u32,
    pub(super) name: String,
    pub(super) module: Option<String>,
}

/// Stacks since the last sequence point.
#[derive(Debug)]
pub(super) struct WrittenStacks {
    pointer_size: u32,
    /// By the key of the data stream and the number in its table.
    ids: HashMap<(u32, u32), u32>,
    next: u32,
    first: u32,
    count: u32,
    stacks: Vec<u8>,
    frames: Vec<u64>,
    /// Addresses of frames that only have a name.
    named_frames: HashMap<Frame, u64>,
    /// Functions at the addresses of foreign stacks, by their process (version 6) and first address.
    functions: HashMap<(Option<u64>, u64), NamedFunction>,
    /// Number of functions without room.
    pub(super) unnamed: u64,
}

impl WrittenStacks {
    pub(super) fn new(pointer_size: u32) -> Self {
        Self {
            pointer_size,
            ids: HashMap::new(),
            next: 1,
            first: 1,
            count: 0,
            stacks: Vec::new(),
            frames: Vec::new(),
            named_frames: HashMap::new(),
            functions: HashMap::new(),
            unnamed: 0,
        }
    }

    /// Returns the id of a stack, and adds it if it is new. `names`: process (version 6) and time of an event, by which
    /// names of its functions are written at the end of the file.
    pub(super) fn id(
        &mut self,
        stream: &DataStream,
        stack: u32,
        names: Option<(Option<u64>, Option<i128>)>,
    ) -> u32 {
        if let Some(id) = self.ids.get(&(stream.key, stack)) {
            return *id;
        }
        self.read(stream, stack);
        if let Some((process, time)) = names {
            self.name(stream, stack, process, time);
        }
        let id = self.next;
        if self.count == 0 {
            self.first = id;
        }
        self.next += 1;
        self.count += 1;
        self.ids.insert((stream.key, stack), id);
        let size = if self.pointer_size == 4 { 4 } else { 8 };
        push_u32(&mut self.stacks, u32::try_from(size * self.frames.len()).unwrap_or(u32::MAX));
        for frame in &self.frames {
            self.stacks.extend_from_slice(frame.to_le_bytes().get(..size).unwrap_or_default());
        }
        id
    }

    /// Reads the addresses of a stack.
    fn read(&mut self, stream: &DataStream, stack: u32) {
        self.frames.clear();
        for frame in stream.stacks().table.frames(stack) {
            let address = frame.address.unwrap_or_else(|| {
                let next = NAMED_FRAMES + 16 * self.named_frames.len() as u64;
                *self.named_frames.entry(frame.clone()).or_insert(next)
            });
            self.frames.push(address);
        }
    }

    /// Returns the addresses of a stack.
    pub(super) fn frames(&mut self, stream: &DataStream, stack: u32) -> &[u64] {
        self.read(stream, stack);
        &self.frames
    }

    /// Keeps the names of the functions of a stack.
    fn name(&mut self, stream: &DataStream, stack: u32, process: Option<u64>, time: Option<i128>) {
        let stacks = stream.stacks();
        for (frame, address) in stacks.table.frames(stack).iter().zip(&self.frames) {
            let symbol = |space, address| stacks.symbols().resolve(space, address, time.unwrap_or(i128::MAX));
            let resolved = frame.address.and_then(|address| symbol(frame.address_space, address));
            let known = resolved.map(|resolved| resolved.symbol);
            let of_symbol = |symbol: &Symbol| symbol.name.as_deref().map(str::to_owned);
            let Some(name) = frame.symbol.as_deref().map(str::to_owned).or_else(|| known.and_then(of_symbol))
            else {
                continue;
            };
            let module =
                frame.module.clone().or_else(|| resolved.and_then(|resolved| resolved.module.cloned()));
            let range = known.filter(|symbol| symbol.name.is_some() && frame.symbol.is_none());
            let (begin, end) = range.map_or((*address, *address + 1), |symbol| (symbol.begin, symbol.end));
            if self.functions.len() >= MOST_NAMES && !self.functions.contains_key(&(process, begin)) {
                self.unnamed += 1;
                continue;
            }
            self.functions.entry((process, begin)).or_insert_with(|| NamedFunction {
                process,
                begin,
                size: u32::try_from(end - begin).unwrap_or(u32::MAX),
                name,
                module: module.as_deref().map(str::to_owned),
            });
        }
    }

    /// Takes the functions to name, by their addresses.
    pub(super) fn take_functions(&mut self) -> Vec<NamedFunction> {
        let mut functions: Vec<_> = std::mem::take(&mut self.functions).into_values().collect();
        functions.sort_by_key(|function| (function.process, function.begin));
        functions
    }

    /// Takes the content of a block of the stacks that were not written yet, if there are any.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        take_rows(self.first, &mut self.count, &mut self.stacks)
    }

    /// Forgets all stacks, at a sequence point.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }

    /// Returns the size of the stacks that were not written yet in bytes.
    pub(super) fn waiting(&self) -> usize {
        self.stacks.len()
    }
}

/// Numbers of events that threads made.
#[derive(Debug, Default)]
pub(super) struct SequenceNumbers {
    /// By the thread: its last number, and whether it made events since the last sequence point.
    threads: HashMap<u64, (u32, bool)>,
}

impl SequenceNumbers {
    /// Returns the number of the next event of a thread.
    #[inline(always)]
    pub(super) fn next(&mut self, thread: u64) -> u32 {
        self.add(thread, 1)
    }

    /// Returns `true` if a thread has a number.
    pub(super) fn has(&self, thread: u64) -> bool {
        self.threads.contains_key(&thread)
    }

    /// Adds events of a thread that are missing, and returns the number of the last one.
    pub(super) fn add(&mut self, thread: u64, count: u32) -> u32 {
        let (sequence, is_active) = self.threads.entry(thread).or_insert((0, true));
        *sequence = sequence.wrapping_add(count);
        *is_active = true;
        *sequence
    }

    /// Writes the content of a sequence point, after which up to version 5 only those threads are known that made
    /// events before it.
    pub(super) fn point(&mut self, time: u64, is_v6: bool) -> Vec<u8> {
        if !is_v6 {
            self.threads.retain(|_, (_, is_active)| *is_active);
        }
        let mut listed: Vec<(u64, u32)> = Vec::new();
        for (thread, (sequence, is_active)) in &mut self.threads {
            if std::mem::take(is_active) {
                listed.push((*thread, *sequence));
            }
        }
        listed.sort_unstable();
        let mut content = Vec::new();
        push_u64(&mut content, time);
        if is_v6 {
            push_u32(&mut content, 0);
        }
        push_u32(&mut content, listed.len() as u32);
        for (thread, sequence) in listed {
            if is_v6 {
                push_varuint(&mut content, thread);
                push_varuint(&mut content, sequence.into());
            } else {
                push_u64(&mut content, thread);
                push_u32(&mut content, sequence);
            }
        }
        content
    }
}
