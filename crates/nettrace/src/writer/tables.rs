//! Tables in the output: threads, label lists, stacks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::DataStream;
use ichnos_model::digest::ValueHash;
use ichnos_model::key_hash::KeyState;
use ichnos_model::stack::Frame;

use super::dialect::Dialect;
use super::written_event::NettraceEvent;
use crate::wire_writer::{push_sized, push_string, push_u32, push_u64, push_varint, push_varuint};

/// Thread properties (version 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ThreadIdentity {
    process: Option<u64>,
    thread: u64,
    name_hash: u64,
    /// `true` for a thread that emits events about other threads. Readers distinguish both by their indexes.
    is_capture: bool,
}

/// Thread indexes by properties (version 6).
#[derive(Debug, Default)]
pub(super) struct WrittenThreads {
    indexes: HashMap<ThreadIdentity, u64, KeyState>,
    /// First index by thread id. Losses refer to it, so that repeated writing gives the same index.
    by_id: HashMap<u64, u64, KeyState>,
    /// Threads without a row that lack an unknown number of events.
    unknown_losses: HashSet<u64>,
    /// Pending rows.
    pub(super) rows: Vec<u8>,
}

/// Maximum number of threads, because readers keep them. Then they are written again.
const MOST_THREADS: usize = 1 << 16;

impl WrittenThreads {
    /// Returns `true` if the number of threads has reached the limit, and they must be written again.
    pub(super) fn is_full(&self) -> bool {
        self.indexes.len() >= MOST_THREADS
    }

    /// Forgets all threads, at a sequence point that flushes them.
    pub(super) fn clear(&mut self) {
        self.indexes.clear();
        self.by_id.clear();
    }

    /// Returns a thread's index. Adds a row for a new thread.
    pub(super) fn index(&mut self, process: Option<u64>, thread: u64, name: Option<&str>) -> u64 {
        let name_hash = name.map_or(0, |name| {
            let mut hash = ValueHash::new(1);
            hash.bytes(name.as_bytes());
            hash.finish()
        });
        self.index_of(ThreadIdentity { process, thread, name_hash, is_capture: false }, name)
    }

    /// Returns the index of a thread that emitted an event about another thread. Adds a row for a new thread.
    pub(super) fn capture_index(&mut self, process: Option<u64>, thread: u64) -> u64 {
        self.index_of(ThreadIdentity { process, thread, name_hash: 0, is_capture: true }, None)
    }

    /// Returns the first index of the thread with this id.
    pub(super) fn known(&self, thread: u64) -> Option<u64> {
        self.by_id.get(&thread).copied()
    }

    /// Returns the first index of the thread with this id. Adds a new thread.
    pub(super) fn index_of_id(&mut self, process: Option<u64>, thread: u64) -> u64 {
        match self.by_id.get(&thread) {
            Some(index) => *index,
            None => self.index(process, thread, None),
        }
    }

    /// Adds an unknown number of missing events for a thread without a row. Returns `false` if the table is full.
    pub(super) fn add_unknown_loss(&mut self, thread: u64) -> bool {
        let has_room = self.unknown_losses.len() < MOST_THREADS;
        if has_room {
            self.unknown_losses.insert(thread);
        }
        has_room
    }

    /// Takes the loss for a thread that gets its row now.
    #[inline(always)]
    pub(super) fn take_unknown_loss(&mut self, thread: u64) -> bool {
        !self.unknown_losses.is_empty() && self.unknown_losses.remove(&thread)
    }

    /// Takes the number of threads that lack some events and never got a row.
    pub(super) fn take_unknown(&mut self) -> usize {
        std::mem::take(&mut self.unknown_losses).len()
    }

    fn index_of(&mut self, key: ThreadIdentity, name: Option<&str>) -> u64 {
        let ThreadIdentity { process, thread, .. } = key;
        let next = self.indexes.len() as u64 + 1;
        let index = *self.indexes.entry(key).or_insert(next);
        if index == next {
            self.by_id.entry(thread).or_insert(index);
            // Names are limited, so the row fits.
            push_sized(&mut self.rows, |out| {
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
            });
        }
        index
    }
}

/// Label lists since the last sequence point (version 6).
#[derive(Debug, Default)]
pub(super) struct WrittenLabels {
    indexes: HashMap<Box<[u8]>, u32>,
    /// First pending list index, and number of pending lists.
    first: u32,
    count: u32,
    lists: Vec<u8>,
    list: Vec<u8>,
    /// Total list size since the last sequence point, in bytes.
    size: usize,
    /// Number of labels that were too long.
    pub(super) dropped: u64,
}

/// Maximum list size in bytes. Other labels are dropped.
const LONGEST_LIST: usize = 1 << 20;

/// Maximum number of lists, and of their bytes, between sequence points, because readers keep them until then.
const MOST_LISTS: usize = 1 << 13;
const MOST_LIST_BYTES: usize = 2 << 20;

impl WrittenLabels {
    /// Returns `true` if a sequence point is due.
    pub(super) fn is_full(&self) -> bool {
        self.indexes.len() >= MOST_LISTS || self.size >= MOST_LIST_BYTES
    }

    /// Returns an event's label list index. Adds a new list. Returns 0 without labels.
    pub(super) fn index(&mut self, parts: &NettraceEvent) -> u32 {
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
        let texts = parts.labels.iter().map(|(name, value)| (name, Some(value), 0));
        let numbers = parts.numeric_labels.iter().map(|(name, value)| (name, None, *value));
        for (name, text, number) in texts.chain(numbers) {
            if list.len() + name.len() + text.map_or(0, String::len) > LONGEST_LIST {
                self.dropped += 1;
                continue;
            }
            begin(list, if text.is_some() { 5 } else { 6 });
            push_string(list, name);
            match text {
                Some(text) => push_string(list, text),
                None => push_varint(list, number),
            }
        }
        if list.is_empty() {
            return 0;
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
        self.size += list.len();
        self.count += 1;
        index
    }

    /// Takes block content with the pending lists, if there are any.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        take_rows(self.first, &mut self.count, &mut self.lists)
    }

    /// Forgets all lists, at a sequence point.
    pub(super) fn clear(&mut self) {
        self.indexes.clear();
        self.size = 0;
    }

    /// Returns the total size of pending lists in bytes.
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

/// Maximum number of named functions for stack addresses, and of the bytes in their names.
const MOST_NAMES: usize = 1 << 18;
const MOST_NAME_BYTES: usize = 64 << 20;

/// First placeholder address for frames without an address, by pointer size.
const NAMED_FRAMES: u64 = 0x7fff_0000_0000_0000;
const SHORT_NAMED_FRAMES: u64 = 0xf000_0000;

/// Function to name at the end of the file.
#[derive(Clone, Debug)]
pub(super) struct NamedFunction {
    /// Process (version 6).
    pub(super) process: Option<u64>,
    pub(super) begin: u64,
    pub(super) size: u32,
    pub(super) name: Arc<str>,
    pub(super) module: Option<Arc<str>>,
}

/// Stack ids since the last sequence point.
#[derive(Debug, Default)]
struct StackIds {
    /// Ids by data stream key and number in its stack table. Ids below `first` are invalid.
    by_number: Vec<Vec<u32>>,
    first: u32,
    /// Number of entries in all lists.
    places: usize,
    /// Ids without an entry in a list.
    others: HashMap<(u32, u32), u32, KeyState>,
}

/// Maximum number of data streams with lists, and of list entries. A list has entries for all numbers up to the
/// largest.
const MOST_LISTS_OF_STACKS: u32 = 1 << 10;
const MOST_PLACES: usize = 1 << 20;

impl StackIds {
    /// Returns a stack's id.
    #[inline(always)]
    fn get(&self, key: u32, stack: u32) -> Option<u32> {
        let listed = self.by_number.get(key as usize).and_then(|ids| ids.get(stack as usize));
        match listed {
            // Ids start at 1.
            Some(id) => Some(*id).filter(|id| *id > 0 && *id >= self.first),
            None => self.others.get(&(key, stack)).copied(),
        }
    }

    /// Adds a stack. Its id must be larger than all previous ids.
    fn insert(&mut self, key: u32, stack: u32, id: u32) {
        let (key_index, index) = (key as usize, stack as usize);
        if key < MOST_LISTS_OF_STACKS && self.by_number.len() <= key_index {
            self.by_number.resize_with(key_index + 1, Vec::new);
        }
        let list = self.by_number.get_mut(key_index);
        if let Some(ids) = list
            && let more = (index + 1).saturating_sub(ids.len())
            && self.places + more <= MOST_PLACES
        {
            self.places += more;
            ids.resize(ids.len() + more, 0);
            if let Some(place) = ids.get_mut(index) {
                *place = id;
            }
            return;
        }
        self.others.insert((key, stack), id);
    }

    /// Forgets all stacks. `next` is the next id.
    fn clear(&mut self, next: u32) {
        self.first = next;
        self.others.clear();
    }
}

/// Stacks since the last sequence point.
#[derive(Debug)]
pub(super) struct WrittenStacks {
    pointer_size: u32,
    ids: StackIds,
    next: u32,
    first: u32,
    count: u32,
    stacks: Vec<u8>,
    frames: Vec<u64>,
    /// Placeholder addresses for frames without an address.
    named_frames: HashMap<Frame, u64>,
    /// Functions in foreign stacks, by process (version 6) and first address.
    functions: HashMap<(Option<u64>, u64), NamedFunction>,
    /// Functions that copied events name, by process (version 6) and first address.
    named: HashSet<(Option<u64>, u64)>,
    /// Total function name size in bytes.
    name_bytes: usize,
    /// Number of functions above the limit.
    pub(super) unnamed: u64,
    /// Number of functions at the address of another function.
    pub(super) ambiguous: u64,
}

impl WrittenStacks {
    pub(super) fn new(pointer_size: u32) -> Self {
        Self {
            pointer_size,
            ids: StackIds::default(),
            next: 1,
            first: 1,
            count: 0,
            stacks: Vec::new(),
            frames: Vec::new(),
            named_frames: HashMap::new(),
            functions: HashMap::new(),
            named: HashSet::new(),
            name_bytes: 0,
            unnamed: 0,
            ambiguous: 0,
        }
    }

    /// Returns a stack's id. Adds a new stack. `names` has the process (version 6) and the time of an event, if
    /// its function names are written at the end of the file.
    pub(super) fn id(
        &mut self,
        stream: &DataStream,
        stack: u32,
        names: Option<(Option<u64>, Option<i128>)>,
    ) -> u32 {
        if let Some(id) = self.ids.get(stream.key, stack) {
            return id;
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
        self.ids.insert(stream.key, stack, id);
        let size = if self.pointer_size == 4 { 4 } else { 8 };
        push_u32(&mut self.stacks, u32::try_from(size * self.frames.len()).unwrap_or(u32::MAX));
        for frame in &self.frames {
            self.stacks.extend_from_slice(frame.to_le_bytes().get(..size).unwrap_or_default());
        }
        id
    }

    /// Reads the addresses in a stack.
    fn read(&mut self, stream: &DataStream, stack: u32) {
        self.frames.clear();
        for frame in stream.stacks().table.frames(stack) {
            let is_short = self.pointer_size == 4;
            let address = frame.address.unwrap_or_else(|| {
                let first = if is_short { SHORT_NAMED_FRAMES } else { NAMED_FRAMES };
                let next = first + 16 * self.named_frames.len() as u64;
                *self.named_frames.entry(frame.clone()).or_insert(next)
            });
            self.frames.push(if is_short { address & 0xffff_ffff } else { address });
        }
    }

    /// Returns the addresses in a stack.
    pub(super) fn frames(&mut self, stream: &DataStream, stack: u32) -> &[u64] {
        self.read(stream, stack);
        &self.frames
    }

    /// Records the function names in a stack.
    fn name(&mut self, stream: &DataStream, stack: u32, process: Option<u64>, time: Option<i128>) {
        let stacks = stream.stacks();
        let symbols = stacks.symbols();
        for (frame, address) in stacks.table.frames(stack).iter().zip(&self.frames) {
            let resolve = |address| symbols.resolve(frame.address_space, address, time.unwrap_or(i128::MAX));
            let resolved = frame.address.and_then(resolve);
            let symbol = resolved.map(|resolved| resolved.symbol).filter(|symbol| symbol.name.is_some());
            let of_symbol = || symbol.and_then(|symbol| symbol.name.clone());
            let Some(name) = frame.symbol.clone().or_else(of_symbol) else { continue };
            let range = symbol.filter(|_| frame.symbol.is_none()).map(|symbol| (symbol.begin, symbol.end));
            let (begin, end) = range.unwrap_or((*address, address.saturating_add(1)));
            if let Some(known) = self.functions.get(&(process, begin)) {
                self.ambiguous += u64::from(known.name != name);
                continue;
            }
            self.name_bytes += name.len();
            if self.functions.len() >= MOST_NAMES || self.name_bytes > MOST_NAME_BYTES {
                self.unnamed += 1;
                continue;
            }
            let module =
                frame.module.clone().or_else(|| resolved.and_then(|resolved| resolved.module.cloned()));
            let size = u32::try_from(end - begin).unwrap_or(u32::MAX);
            self.functions.insert((process, begin), NamedFunction { process, begin, size, name, module });
        }
    }

    /// Records the process (version 6) and the first address of a function that a copied event names.
    pub(super) fn record_named(&mut self, process: Option<u64>, address: u64) {
        // Beyond the limit, functions are named twice.
        if self.named.len() < MOST_NAMES {
            self.named.insert((process, address));
        }
    }

    /// Takes the functions to name, sorted by address.
    pub(super) fn take_functions(&mut self) -> Vec<NamedFunction> {
        let mut functions: Vec<_> = std::mem::take(&mut self.functions).into_values().collect();
        functions.retain(|function| !self.named.contains(&(function.process, function.begin)));
        functions.sort_by_key(|function| (function.process, function.begin));
        functions
    }

    /// Takes block content with the pending stacks, if there are any.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        take_rows(self.first, &mut self.count, &mut self.stacks)
    }

    /// Forgets all stacks, at a sequence point.
    pub(super) fn clear(&mut self) {
        self.ids.clear(self.next);
    }

    /// Returns the total size of pending stacks in bytes.
    pub(super) fn waiting(&self) -> usize {
        self.stacks.len()
    }
}

/// Event counts per thread.
#[derive(Debug, Default)]
pub(super) struct SequenceNumbers {
    threads: HashMap<u64, ThreadNumber, KeyState>,
    /// Threads that emitted events since the last sequence point.
    active: Vec<u64>,
    /// `true` if the next event must follow a sequence point with a thread's number. The thread's own next event would
    /// be enough, but the reader would find the loss there.
    is_point_needed: bool,
    /// Size of all sequence points that were needed, in bytes.
    needed_bytes: u64,
}

/// A thread's event count.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadNumber {
    sequence: u32,
    is_active: bool,
    /// `true` if an unknown number of events is missing before the first event.
    misses_some: bool,
}

impl SequenceNumbers {
    /// Returns the sequence number for a thread's next event.
    #[inline(always)]
    pub(super) fn next(&mut self, thread: u64) -> u32 {
        let number = self.threads.entry(thread).or_default();
        number.sequence = number.sequence.wrapping_add(1);
        if !number.is_active {
            // If a thread's first sequence number is not 1, readers find a loss of unknown size.
            number.sequence = number.sequence.wrapping_add(std::mem::take(&mut number.misses_some).into());
            number.is_active = true;
            self.active.push(thread);
        }
        number.sequence
    }

    /// Adds a thread's missing events.
    pub(super) fn add_missing(&mut self, thread: u64, count: u32) {
        let number = self.threads.entry(thread).or_default();
        // Without events, only a sequence point can contain the thread's number.
        self.is_point_needed |= number.sequence == 0;
        number.sequence = number.sequence.wrapping_add(count);
        if !number.is_active {
            number.is_active = true;
            self.active.push(thread);
        }
    }

    /// Returns `true` if a thread has a number.
    pub(super) fn has(&self, thread: u64) -> bool {
        self.threads.get(&thread).is_some_and(|number| number.sequence > 0)
    }

    /// Adds an unknown number of missing events before a thread's first event. Returns `false` if the thread has a
    /// number, because its loss cannot be written.
    pub(super) fn add_unknown(&mut self, thread: u64) -> bool {
        let number = self.threads.entry(thread).or_default();
        number.misses_some = number.sequence == 0;
        number.misses_some
    }

    /// Takes the number of threads that lack some events and never emitted an event.
    pub(super) fn take_unknown(&mut self) -> usize {
        let numbers = self.threads.values_mut();
        numbers.filter_map(|number| std::mem::take(&mut number.misses_some).then_some(())).count()
    }

    /// Returns `true` if a sequence point must come before the next event.
    #[inline(always)]
    pub(super) fn is_needed(&self) -> bool {
        self.is_point_needed
    }

    /// Returns the number of a thread, or 0 for a thread without events.
    pub(super) fn number(&self, thread: u64) -> u32 {
        self.threads.get(&thread).map_or(0, |number| number.sequence)
    }

    /// Sets the number of a thread, at a sequence point.
    pub(super) fn set_number(&mut self, thread: u64, sequence: u32) {
        self.threads.insert(thread, ThreadNumber { sequence, ..ThreadNumber::default() });
    }

    /// Keeps only the threads for which `is_kept` returns true.
    pub(super) fn retain(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.threads.retain(|thread, _| is_kept(*thread));
    }

    /// Returns `true` if any thread lacks an unknown number of events before its next event.
    pub(super) fn misses_some(&self) -> bool {
        self.threads.values().any(|number| number.misses_some)
    }

    /// Writes a version 4 sequence point's content, which lists these threads. Forgets other threads, as readers do.
    pub(super) fn point_of(&mut self, time: u64, threads: &[u64]) -> Vec<u8> {
        let listed: Vec<_> = threads.iter().map(|thread| (*thread, self.number(*thread))).collect();
        self.threads.clear();
        listed.iter().for_each(|(thread, sequence)| self.set_number(*thread, *sequence));
        self.active.clear();
        self.is_point_needed = false;
        point_content(time, None, &listed)
    }

    /// Returns the size of all sequence points that were needed, in bytes.
    pub(super) fn needed_bytes(&self) -> u64 {
        self.needed_bytes
    }

    /// Returns a sequence point's approximate size in bytes.
    pub(super) fn point_size(&self) -> usize {
        12 * self.threads.len()
    }

    /// Writes a sequence point's content. Up to version 5 it lists all threads, because readers treat others as
    /// new. In version 6, it lists the threads that emitted events.
    pub(super) fn point(&mut self, time: u64, dialect: Dialect, flushes_threads: bool) -> Vec<u8> {
        let is_v6 = dialect.is_v6();
        let is_needed = std::mem::take(&mut self.is_point_needed);
        let active = std::mem::take(&mut self.active);
        for thread in &active {
            if let Some(number) = self.threads.get_mut(thread) {
                number.is_active = false;
            }
        }
        let mut listed: Vec<u64> = if is_v6 { active } else { self.threads.keys().copied().collect() };
        listed.retain(|thread| self.threads.get(thread).is_some_and(|number| number.sequence > 0));
        listed.sort_unstable();
        let listed: Vec<_> = listed.into_iter().map(|thread| (thread, self.number(thread))).collect();
        let content = point_content(time, is_v6.then_some(flushes_threads), &listed);
        if flushes_threads {
            self.threads.clear();
        }
        self.needed_bytes += if is_needed { content.len() as u64 } else { 0 };
        content
    }
}

/// Returns a sequence point's content. `flushes` is set in version 6, and `true` makes thread indexes invalid.
pub(super) fn point_content(time: u64, flushes: Option<bool>, threads: &[(u64, u32)]) -> Vec<u8> {
    let mut content = Vec::new();
    push_u64(&mut content, time);
    if let Some(flushes) = flushes {
        push_u32(&mut content, flushes.into());
    }
    push_u32(&mut content, threads.len() as u32);
    for (thread, sequence) in threads {
        if flushes.is_some() {
            push_varuint(&mut content, *thread);
            push_varuint(&mut content, (*sequence).into());
        } else {
            push_u64(&mut content, *thread);
            push_u32(&mut content, *sequence);
        }
    }
    content
}
