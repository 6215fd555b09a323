//! File beside the data streams with the call stacks of a trace and the symbols of their addresses.
//!
//! CTF has neither, so the file name begins with a dot, which readers ignore (CTF2-FS-1.0). The format is
//! documented in `docs/annotations.md`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use ichnos_io::{Bytes, Entry};
use ichnos_model::{CallStacks, CodeKind, Frame, Limits, Meaning, StackTable, Symbol, Symbols, Trace};

/// Name of the file, if there is one for all data stream classes; otherwise each name continues with a hyphen
/// and a number.
const STACK_FILE: &str = ".ichnos-stacks";

/// Returns the name of the file of this number, or of the only file.
pub(crate) fn stack_file(number: Option<usize>) -> String {
    number.map_or_else(|| STACK_FILE.to_owned(), |number| format!("{STACK_FILE}-{number}"))
}

/// Returns `true` if a file of this name has call stacks.
pub(crate) fn is_stack_file(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = name.strip_prefix(STACK_FILE);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number))
}

/// Beginning of the file; the version number follows.
const MAGIC: &[u8] = b"ichnos-stacks\n";
const VERSION: u128 = 1;

/// Kinds of records. 0 is unused, because lost bytes of a file read as 0.
mod kind {
    pub(super) const TEXT: u128 = 1;
    pub(super) const FRAME: u128 = 2;
    pub(super) const STACK: u128 = 3;
    pub(super) const SYMBOL: u128 = 4;
    pub(super) const END: u128 = 5;
    pub(super) const CLASS: u128 = 6;
    pub(super) const THREAD: u128 = 7;
}

/// Presence flags of optional parts of a frame or a symbol.
mod has {
    /// Frames.
    pub(super) const ADDRESS: u128 = 1;
    pub(super) const NAME: u128 = 2;
    pub(super) const MODULE: u128 = 4;
    /// Symbols.
    pub(super) const FROM: u128 = 8;
    pub(super) const UNTIL: u128 = 16;
    /// Threads.
    pub(super) const PROCESS: u128 = 1;
}

const OF_FRAME: u128 = has::ADDRESS | has::NAME | has::MODULE;
const OF_SYMBOL: u128 = has::NAME | has::MODULE | has::FROM | has::UNTIL;

/// Maximum memory of a loaded record in bytes, approximately. A text also takes its own bytes.
const TEXT_MEMORY: u64 = 64;
const FRAME_MEMORY: u64 = 192;
const STACK_MEMORY: u64 = 48;
const SYMBOL_MEMORY: u64 = 320;
const CLASS_MEMORY: u64 = 64;
const THREAD_MEMORY: u64 = 128;

/// Maximum ratio of the memory of a file's content to its packed size.
const OF_PACKED: u64 = 512;

/// Returns the data stream classes of a trace, by their indexes, whose events have known call stacks. Classes
/// whose numbers refer to the same table are in one group.
pub(crate) fn classes_with_stacks(trace: &Trace) -> Vec<Vec<usize>> {
    let means_stack = |index: &usize| {
        let classes = &mut trace.event_records(*index);
        classes.any(|class| class.meanings.iter().any(|(_, meaning)| meaning == Meaning::Stack))
    };
    let table = |index: usize| trace.stacks_of(index).table;
    let mut all: Vec<Vec<usize>> = Vec::new();
    for index in 0..trace.class.data_streams.len() {
        if table(index).is_empty() || !means_stack(&index) {
            continue;
        }
        let has_same = |known: &&mut Vec<usize>| {
            known.first().is_some_and(|known| std::ptr::eq(table(*known), table(index)))
        };
        match all.iter_mut().find(has_same) {
            Some(known) => known.push(index),
            None => all.push(vec![index]),
        }
    }
    all
}

/// Writes call stacks and the symbols of their addresses. Other users of the stack table wait meanwhile.
/// `classes` are the ids of the data stream classes of the stacks; empty: all.
///
/// # Errors
/// Returns an error if writing fails.
pub(crate) fn write_stacks(stacks: CallStacks<'_>, classes: &[u128], out: impl Write) -> io::Result<()> {
    // Getting the symbols may read the trace, and so must not happen while the table is held.
    let symbols = stacks.symbols();
    let mut writer = StackWriter { out, texts: HashMap::new() };
    writer.out.write_all(MAGIC)?;
    writer.number(VERSION)?;
    for class in classes {
        writer.number(kind::CLASS)?;
        writer.number(*class)?;
    }
    writer.stacks(stacks.table)?;
    symbols.iter().try_for_each(|(space, symbol)| writer.symbol(space, symbol))?;
    symbols.thread_names().try_for_each(|(thread, name)| writer.thread(thread, name))?;
    writer.number(kind::END)?;
    writer.out.flush()
}

struct StackWriter<W> {
    out: W,
    /// Numbers of the texts that were written.
    texts: HashMap<Arc<str>, u128>,
}

impl<W: Write> StackWriter<W> {
    /// Writes an integer with 7 bits per byte, the least significant ones first.
    fn number(&mut self, value: impl Into<u128>) -> io::Result<()> {
        let mut value: u128 = value.into();
        let mut bytes = [0; 19];
        let mut len = 0;
        for byte in &mut bytes {
            *byte = value as u8 & 0x7f;
            len += 1;
            value >>= 7;
            if value == 0 {
                break;
            }
            *byte |= 0x80;
        }
        self.out.write_all(&bytes[..len])
    }

    fn stacks(&mut self, table: &StackTable) -> io::Result<()> {
        let view = table.view();
        for number in 0..view.frame_count() as u32 {
            let Some(frame) = view.frame(number) else { break };
            let symbol = self.text(frame.symbol.as_ref())?;
            let module = self.text(frame.module.as_ref())?;
            let address = frame.address.map(u128::from);
            let parts = [(address, has::ADDRESS), (symbol, has::NAME), (module, has::MODULE)];
            self.number(kind::FRAME)?;
            self.number(flags(&parts))?;
            self.number(frame.address_space)?;
            self.parts(&parts)?;
        }
        for number in 0..view.stack_count() as u32 {
            let Some((frame, caller)) = view.top(number) else { break };
            self.number(kind::STACK)?;
            self.number(frame)?;
            self.number(caller.map_or(0, |caller| number - caller))?;
        }
        Ok(())
    }

    fn symbol(&mut self, space: u32, symbol: &Symbol) -> io::Result<()> {
        let name = self.text(symbol.name.as_ref())?;
        let module = self.text(symbol.module.as_ref())?;
        let from = (symbol.from != i128::MIN).then(|| zigzag(symbol.from));
        let parts = [
            (name, has::NAME),
            (module, has::MODULE),
            (from, has::FROM),
            (symbol.until.map(zigzag), has::UNTIL),
        ];
        self.number(kind::SYMBOL)?;
        self.number(flags(&parts))?;
        self.number(space)?;
        self.number(symbol.begin)?;
        self.number(symbol.end.saturating_sub(symbol.begin))?;
        self.number(number_of_kind(symbol.kind))?;
        self.parts(&parts)
    }

    fn thread(&mut self, (process, thread): (Option<u64>, u64), name: &Arc<str>) -> io::Result<()> {
        let name = self.text(Some(name))?;
        let parts = [(process.map(u128::from), has::PROCESS)];
        self.number(kind::THREAD)?;
        self.number(flags(&parts))?;
        self.number(thread)?;
        self.number(name.unwrap_or_default())?;
        self.parts(&parts)
    }

    fn parts(&mut self, parts: &[(Option<u128>, u128)]) -> io::Result<()> {
        parts.iter().filter_map(|(value, _)| *value).try_for_each(|value| self.number(value))
    }

    /// Returns the number of a text, which is written before it is referred to.
    fn text(&mut self, text: Option<&Arc<str>>) -> io::Result<Option<u128>> {
        let Some(text) = text else { return Ok(None) };
        if let Some(number) = self.texts.get(text) {
            return Ok(Some(*number));
        }
        let number = self.texts.len() as u128;
        self.texts.insert(Arc::clone(text), number);
        self.number(kind::TEXT)?;
        self.number(text.len() as u128)?;
        self.out.write_all(text.as_bytes())?;
        Ok(Some(number))
    }
}

fn flags(parts: &[(Option<u128>, u128)]) -> u128 {
    parts.iter().filter(|(value, _)| value.is_some()).map(|(_, flag)| flag).sum()
}

/// Maps small numbers of either sign to small ones.
fn zigzag(value: i128) -> u128 {
    (value << 1 ^ value >> 127) as u128
}

fn unzigzag(value: u128) -> i128 {
    (value >> 1) as i128 ^ -((value & 1) as i128)
}

fn number_of_kind(kind: CodeKind) -> u8 {
    match kind {
        CodeKind::Native => 1,
        CodeKind::Managed => 2,
        CodeKind::Kernel => 3,
        _ => 0,
    }
}

fn kind_of_number(number: u128) -> Option<CodeKind> {
    Some(match number {
        0 => CodeKind::Unknown,
        1 => CodeKind::Native,
        2 => CodeKind::Managed,
        3 => CodeKind::Kernel,
        _ => return None,
    })
}

/// Reason why parts of a stack file are not used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StackFileError {
    #[error("the call stacks cannot be read: {0}")]
    Unreadable(String),
    /// The magic number is missing.
    #[error("this is not a call stack file: skipped")]
    Magic,
    #[error("skipped call stacks with the unknown version {0}")]
    Version(u128),
    /// Byte of the damage.
    #[error("the call stacks are damaged from byte {0} on; the rest is skipped")]
    Malformed(u64),
    /// The end is missing.
    #[error("the call stacks are truncated; the rest is missing")]
    CutOff,
    /// It would take more memory than this, in bytes.
    #[error("the call stacks take more than {0} bytes of memory, the limit; the rest is skipped")]
    TooLarge(u64),
    /// The file of another directory of the trace has different stacks for the same numbers.
    #[error("the directories of the trace have different call stacks with the same numbers; all are skipped")]
    Conflict,
}

/// Stack files of a trace: each directory with its data streams has one for all of them, or several.
#[derive(Debug, Default)]
pub(crate) struct StackFiles {
    all: Vec<Stacks>,
    /// Indexes into `all`, by ids of data stream classes.
    by_classes: HashMap<Vec<u128>, usize>,
    /// Memory of all stacks together, in bytes.
    used: u64,
}

/// Stacks of data stream classes.
#[derive(Debug, Default)]
struct Stacks {
    /// Ids of the data stream classes; empty: all.
    classes: Vec<u128>,
    table: StackTable,
    files: Vec<StackFile>,
    /// Memory of the stacks in bytes: files of several directories have the same stacks.
    used: u64,
}

/// A file whose beginning was read without a fault.
#[derive(Debug)]
struct StackFile {
    bytes: Bytes,
    /// Maximum memory in bytes.
    memory: u64,
    has_symbols: bool,
}

impl StackFiles {
    /// Adds the stacks of a file.
    ///
    /// # Errors
    /// Returns an error for the parts that are not used; all others are.
    pub(crate) fn add(&mut self, entry: &Entry, limits: &Limits) -> Result<(), StackFileError> {
        let bytes = entry.read().map_err(|error| StackFileError::Unreadable(error.to_string()))?;
        let all = limits.description_bytes;
        let of_packed = |given: u64| given.saturating_mul(OF_PACKED).max(limits.few_description_bytes);
        let memory = entry.packed().map_or(all, |given| all.min(of_packed(given)));
        self.add_bytes(bytes, memory)
    }

    fn add_bytes(&mut self, bytes: Bytes, memory: u64) -> Result<(), StackFileError> {
        let mut records = Records::new(&bytes, memory)?;
        let classes = records.classes();
        let index = *self.by_classes.entry(classes.clone()).or_insert(self.all.len());
        if index == self.all.len() {
            self.all.push(Stacks { classes, ..Stacks::default() });
        }
        let Stacks { table, files, used, .. } = &mut self.all[index];
        records.left = records.left.saturating_sub(self.used - *used);
        let before = table.len();
        let mut frames: Vec<Frame> = Vec::new();
        let mut has_symbols = false;
        let mut fault = None;
        loop {
            match records.next() {
                Ok(Some(StackRecord::Frame(frame))) => frames.push(frame),
                Ok(Some(StackRecord::Stack { number, frame, caller })) => {
                    let frame = frames.get(frame as usize).cloned().unwrap_or_default();
                    if table.push(caller, frame) == Some(number) {
                        continue;
                    }
                    if (number as usize) < before {
                        return Err(StackFileError::Conflict);
                    }
                    // Duplicate, or no room for it: later stacks would get other numbers.
                    fault = Some(StackFileError::Malformed(records.at as u64));
                    break;
                }
                Ok(Some(StackRecord::Symbol(..) | StackRecord::Thread(..))) => has_symbols = true,
                Ok(None) => break,
                Err(error) => {
                    fault = Some(error);
                    break;
                }
            }
        }
        let taken = (memory - records.left).saturating_sub(self.used - *used);
        drop(records);
        if taken > *used {
            self.used += taken - *used;
            *used = taken;
        }
        files.push(StackFile { bytes, memory, has_symbols });
        fault.map_or(Ok(()), Err)
    }

    /// Adds the stacks to a trace. `offset` was added to its clocks, in nanoseconds.
    pub(crate) fn finish(self, trace: &mut Trace, offset: i128) {
        let indexes: HashMap<u128, usize> =
            trace.class.data_streams.iter().enumerate().map(|(index, stream)| (stream.id, index)).collect();
        for Stacks { classes, table, files, .. } in self.all {
            let files: Vec<StackFile> = files.into_iter().filter(|file| file.has_symbols).collect();
            let has_symbols = !files.is_empty();
            let symbols = move || {
                let symbols = Symbols::new(files.iter().flat_map(|file| file.symbols(offset)));
                symbols.with_thread_names(files.iter().flat_map(StackFile::thread_names))
            };
            if classes.is_empty() {
                trace.stacks = table;
                if has_symbols {
                    trace.set_symbols(symbols);
                }
                continue;
            }
            let known = classes.iter().filter_map(|id| indexes.get(id).copied());
            trace.add_stacks(known, table, symbols);
        }
    }
}

impl StackFile {
    fn records(&self) -> impl Iterator<Item = StackRecord> {
        let mut records = Records::new(&self.bytes, self.memory).ok();
        records.as_mut().map(Records::classes);
        std::iter::from_fn(move || records.as_mut()?.next().ok()?)
    }

    fn symbols(&self, offset: i128) -> impl Iterator<Item = (u32, Symbol)> {
        self.records().filter_map(move |record| {
            let StackRecord::Symbol(space, mut symbol) = record else { return None };
            if symbol.from != i128::MIN {
                symbol.from = symbol.from.saturating_add(offset);
            }
            symbol.until = symbol.until.map(|until| until.saturating_add(offset));
            Some((space, symbol))
        })
    }

    fn thread_names(&self) -> impl Iterator<Item = ((Option<u64>, u64), Arc<str>)> {
        self.records().filter_map(|record| match record {
            StackRecord::Thread(thread, name) => Some((thread, name)),
            _ => None,
        })
    }
}

/// Reads records.
struct Records<'b> {
    bytes: &'b [u8],
    at: usize,
    texts: Vec<SharedText<'b>>,
    frames: u64,
    stacks: u32,
    memory: u64,
    /// Memory left, in bytes.
    left: u64,
}

/// A text, and its shared copy once it was used.
struct SharedText<'b> {
    bytes: &'b str,
    shared: Option<Arc<str>>,
}

enum StackRecord {
    Frame(Frame),
    Stack {
        number: u32,
        frame: u32,
        caller: Option<u32>,
    },
    Symbol(u32, Symbol),
    /// Process and number, and name.
    Thread((Option<u64>, u64), Arc<str>),
}

/// A record has invalid parts.
struct Malformed;

impl<'b> Records<'b> {
    fn new(bytes: &'b [u8], memory: u64) -> Result<Self, StackFileError> {
        if !bytes.starts_with(MAGIC) {
            return Err(StackFileError::Magic);
        }
        let mut records =
            Self { bytes, at: MAGIC.len(), texts: Vec::new(), frames: 0, stacks: 0, memory, left: memory };
        match records.number() {
            Ok(VERSION) => Ok(records),
            Ok(version) => Err(StackFileError::Version(version)),
            Err(Malformed) => Err(records.fault(MAGIC.len())),
        }
    }

    /// Returns the ids of data stream classes, which come first.
    fn classes(&mut self) -> Vec<u128> {
        let mut classes = Vec::new();
        loop {
            let begin = self.at;
            match (self.number(), self.number(), self.left.checked_sub(CLASS_MEMORY)) {
                (Ok(kind::CLASS), Ok(id), Some(left)) => {
                    self.left = left;
                    classes.push(id);
                }
                _ => {
                    self.at = begin;
                    return classes;
                }
            }
        }
    }

    /// Returns the next record except texts, or `None` at the end.
    fn next(&mut self) -> Result<Option<StackRecord>, StackFileError> {
        loop {
            let begin = self.at;
            let result = match self.number() {
                Ok(kind::TEXT) => self.text().map(|memory| (None, memory)),
                Ok(kind::FRAME) => self.frame().map(|frame| (Some(StackRecord::Frame(frame)), FRAME_MEMORY)),
                Ok(kind::STACK) => self.stack().map(|stack| (Some(stack), STACK_MEMORY)),
                Ok(kind::SYMBOL) => self
                    .symbol()
                    .map(|(space, symbol)| (Some(StackRecord::Symbol(space, symbol)), SYMBOL_MEMORY)),
                Ok(kind::THREAD) => self.thread().map(|thread| (Some(thread), THREAD_MEMORY)),
                Ok(kind::END) => return Ok(None),
                _ => Err(Malformed),
            };
            let Ok((record, memory)) = result else { return Err(self.fault(begin)) };
            let Some(left) = self.left.checked_sub(memory) else {
                return Err(StackFileError::TooLarge(self.memory));
            };
            self.left = left;
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// Returns the fault of the record that begins at a byte.
    fn fault(&self, begin: usize) -> StackFileError {
        if self.at >= self.bytes.len() {
            return StackFileError::CutOff;
        }
        StackFileError::Malformed(begin as u64)
    }

    fn number(&mut self) -> Result<u128, Malformed> {
        let mut value = 0u128;
        for shift in (0..133).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Malformed)?;
            self.at += 1;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn narrow<N: TryFrom<u128>>(&mut self) -> Result<N, Malformed> {
        N::try_from(self.number()?).map_err(|_| Malformed)
    }

    /// Reads a text and returns its memory in bytes.
    fn text(&mut self) -> Result<u64, Malformed> {
        let len: usize = self.narrow()?;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(bytes) = rest.get(..len) else {
            self.at = self.bytes.len();
            return Err(Malformed);
        };
        let bytes = std::str::from_utf8(bytes).map_err(|_| Malformed)?;
        self.at += len;
        self.texts.push(SharedText { bytes, shared: None });
        Ok(TEXT_MEMORY.saturating_add(len as u64))
    }

    fn flags(&mut self, known: u128) -> Result<u128, Malformed> {
        let flags = self.number()?;
        if flags & !known == 0 { Ok(flags) } else { Err(Malformed) }
    }

    /// Returns the text that is present if a record has this flag.
    fn named(&mut self, flags: u128, flag: u128) -> Result<Option<Arc<str>>, Malformed> {
        if flags & flag == 0 {
            return Ok(None);
        }
        let number: usize = self.narrow()?;
        let text = self.texts.get_mut(number).ok_or(Malformed)?;
        Ok(Some(Arc::clone(text.shared.get_or_insert_with(|| text.bytes.into()))))
    }

    fn time(&mut self, flags: u128, flag: u128) -> Result<Option<i128>, Malformed> {
        if flags & flag == 0 { Ok(None) } else { Ok(Some(unzigzag(self.number()?))) }
    }

    fn frame(&mut self) -> Result<Frame, Malformed> {
        let flags = self.flags(OF_FRAME)?;
        let mut frame = Frame::default().in_space(self.narrow()?);
        frame.address = if flags & has::ADDRESS == 0 { None } else { Some(self.narrow()?) };
        frame.symbol = self.named(flags, has::NAME)?;
        frame.module = self.named(flags, has::MODULE)?;
        self.frames += 1;
        Ok(frame)
    }

    fn stack(&mut self) -> Result<StackRecord, Malformed> {
        let frame: u32 = self.narrow()?;
        let number = self.stacks;
        let caller = match self.narrow()? {
            0 => None,
            distance => Some(number.checked_sub(distance).ok_or(Malformed)?),
        };
        if u64::from(frame) >= self.frames {
            return Err(Malformed);
        }
        self.stacks = number.checked_add(1).ok_or(Malformed)?;
        Ok(StackRecord::Stack { number, frame, caller })
    }

    fn thread(&mut self) -> Result<StackRecord, Malformed> {
        let flags = self.flags(has::PROCESS)?;
        let thread: u64 = self.narrow()?;
        let name = self.named(has::NAME, has::NAME)?.ok_or(Malformed)?;
        let process = if flags & has::PROCESS == 0 { None } else { Some(self.narrow()?) };
        Ok(StackRecord::Thread((process, thread), name))
    }

    fn symbol(&mut self) -> Result<(u32, Symbol), Malformed> {
        let flags = self.flags(OF_SYMBOL)?;
        let space = self.narrow()?;
        let begin: u64 = self.narrow()?;
        let end = begin.checked_add(self.narrow()?).ok_or(Malformed)?;
        let kind = self.number().map(kind_of_number)?.ok_or(Malformed)?;
        let name = self.named(flags, has::NAME)?;
        let module = self.named(flags, has::MODULE)?;
        let from = self.time(flags, has::FROM)?.unwrap_or(i128::MIN);
        let until = self.time(flags, has::UNTIL)?;
        Ok((space, Symbol { begin, end, from, until, name, module, kind }))
    }
}

#[cfg(test)]
mod tests {
    use ichnos_model::{DataStreamClass, EventRecordClass, FieldClass, Member, Scope, TraceClass};
    use ichnos_testing::{Random, cases};

    use super::*;

    const MEMORY: u64 = 1 << 20;

    fn trace() -> Trace {
        let member = Member::new("stack", FieldClass::unsigned(32));
        let mut class = EventRecordClass::new("sample", [member]);
        class.meanings.insert(Scope::Payload, 0, Meaning::Stack);
        let class = TraceClass::new("", [], [DataStreamClass::new(Some(0), [class])]);
        Trace::new(class, "", &Limits::default()).unwrap()
    }

    fn text(random: &mut Random) -> Option<Arc<str>> {
        let texts = ["", "f", "Σ(int)", "a;b\n"];
        (random.below(3) > 0).then(|| texts[random.index(texts.len())].into())
    }

    fn number(random: &mut Random) -> u64 {
        if random.below(2) == 0 { random.below(9) } else { random.number() }
    }

    fn time(random: &mut Random) -> i128 {
        let time = i128::from(random.number()) << random.below(64);
        if random.below(2) == 0 { time } else { -time }
    }

    fn symbol(random: &mut Random) -> Symbol {
        let begin = number(random);
        Symbol {
            begin,
            end: begin.saturating_add(random.below(1 << 40) + 1),
            from: if random.below(3) == 0 { i128::MIN } else { time(random) },
            until: (random.below(3) == 0).then_some(i128::MAX),
            name: text(random),
            module: text(random),
            kind: [CodeKind::Unknown, CodeKind::Native, CodeKind::Managed, CodeKind::Kernel][random.index(4)],
        }
    }

    fn random_trace(random: &mut Random) -> Trace {
        let trace = trace();
        for _ in 0..random.below(30) {
            let mut frame = Frame::default().in_space(random.below(3) as u32);
            frame.address = (random.below(4) > 0).then(|| number(random));
            (frame.symbol, frame.module) = (text(random), text(random));
            let caller = random.below(trace.stacks.len() as u64 + 1) as u32;
            let caller = (caller as usize) < trace.stacks.len();
            let caller = caller.then(|| random.below(trace.stacks.len() as u64) as u32);
            trace.stacks.push(caller, frame).unwrap();
        }
        let count = random.below(20);
        let symbols: Vec<(u32, Symbol)> =
            (0..count).map(|_| (random.below(3) as u32, symbol(random))).collect();
        let names: Vec<_> = (0..random.below(4))
            .filter_map(|_| {
                let process = (random.below(2) == 0).then(|| number(random));
                Some(((process, number(random)), text(random)?))
            })
            .collect();
        trace.set_symbols(move || {
            Symbols::new(symbols.iter().cloned()).with_thread_names(names.iter().cloned())
        });
        trace
    }

    fn written(trace: &Trace) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_stacks(trace.stacks_of(0), &[], &mut bytes).unwrap();
        bytes
    }

    fn read(files: &[&[u8]], memory: u64) -> (Trace, Vec<StackFileError>) {
        let mut stacks = StackFiles::default();
        let add = |file: &&[u8]| stacks.add_bytes(Bytes::from(file.to_vec()), memory).err();
        let faults = files.iter().filter_map(add).collect();
        let mut trace = trace();
        stacks.finish(&mut trace, 0);
        (trace, faults)
    }

    fn stacks(trace: &Trace) -> Vec<(Vec<Frame>, Option<u32>)> {
        (0..trace.stacks.len() as u32)
            .map(|stack| (trace.stacks.frames(stack), trace.stacks.caller(stack)))
            .collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        cases(300, |random: &mut Random| {
            let original = random_trace(random);
            let bytes = written(&original);
            let (again, faults) = read(&[&bytes], MEMORY);
            assert_eq!(faults, []);
            assert_eq!(stacks(&again), stacks(&original));
            assert!(again.symbols().iter().eq(original.symbols().iter()));
            assert!(again.symbols().thread_names().eq(original.symbols().thread_names()));
            assert_eq!(written(&again), bytes);
        });
    }

    #[test]
    fn only_traces_with_stacks_have_a_file() {
        let trace = trace();
        assert!(classes_with_stacks(&trace).is_empty());
        trace.stacks.push(None, Frame::at(1));
        assert_eq!(classes_with_stacks(&trace), [[0]]);
        let class = TraceClass::new("", [], [DataStreamClass::new(Some(0), [EventRecordClass::default()])]);
        let other = Trace::new(class, "", &Limits::default()).unwrap();
        other.stacks.push(None, Frame::at(1));
        assert!(classes_with_stacks(&other).is_empty());
    }

    #[test]
    fn a_file_that_breaks_off_gives_what_is_before() {
        let mut random = Random::new(3);
        let original = random_trace(&mut random);
        let bytes = written(&original);
        for len in MAGIC.len()..bytes.len() {
            let (again, faults) = read(&[&bytes[..len]], MEMORY);
            assert_eq!(faults, [StackFileError::CutOff], "{len}");
            let count = again.stacks.len();
            assert_eq!(stacks(&again), stacks(&original)[..count]);
            assert!(again.symbols().len() <= original.symbols().len());
        }
        // A file that loses bytes while it is read looks like this.
        let lost = [&bytes[..40], &vec![0; bytes.len() - 40]].concat();
        assert!(matches!(read(&[&lost], MEMORY).1[..], [StackFileError::Malformed(_)]));
    }

    #[test]
    fn what_is_not_as_it_has_to_be_is_no_panic() {
        cases(2_000, |random: &mut Random| {
            let mut bytes = written(&random_trace(random));
            for _ in 0..=random.below(3) {
                let at = random.index(bytes.len());
                bytes[at] = random.number() as u8;
            }
            let (again, faults) = read(&[&bytes], MEMORY);
            assert!(faults.len() <= 1);
            let _ = again.symbols();
            let _ = stacks(&again);
        });
        let of = |content: &[u8]| read(&[&[MAGIC, &[1], content].concat()], MEMORY).1.pop();
        let malformed = |at| Some(StackFileError::Malformed(MAGIC.len() as u64 + 1 + at));
        // Unknown kind, unknown frame, unknown caller, duplicate stack.
        assert_eq!(of(&[8, 0, 0]), malformed(0));
        // A thread with a missing name, and a truncated one.
        assert_eq!(of(&[7, 0, 3, 0, 5]), malformed(0));
        assert_eq!(of(&[1, 1, b'a', 7, 1, 3, 0]), Some(StackFileError::CutOff));
        assert_eq!(of(&[3, 0, 0, 5]), malformed(0));
        assert_eq!(of(&[2, 0, 0, 3, 0, 1, 5]), malformed(3));
        assert_eq!(of(&[2, 0, 0, 3, 0, 0, 3, 0, 0, 5]), malformed(9));
        // Missing text, invalid UTF-8, text longer than the file, unknown flags.
        assert_eq!(of(&[2, 2, 0, 0, 5]), malformed(0));
        assert_eq!(of(&[1, 1, 0xff, 5]), malformed(0));
        assert_eq!(of(&[1, 0xff, 0x7f, 5]), Some(StackFileError::CutOff));
        assert_eq!(of(&[2, 8, 0, 5]), malformed(0));
        // A number with too many bits.
        assert_eq!(of(&[&[0xff; 19][..], &[5]].concat()), malformed(0));
        assert_eq!(read(&[b"ichnos-stacks\n\x02"], MEMORY).1, [StackFileError::Version(2)]);
        assert_eq!(read(&[b"other"], MEMORY).1, [StackFileError::Magic]);
        assert_eq!(of(&[5]), None);
    }

    #[test]
    fn memory_is_bounded() {
        let original = trace();
        (0..1_000).for_each(|address| {
            original.stacks.push(None, Frame::at(address));
        });
        let bytes = written(&original);
        let memory = 1_000 * FRAME_MEMORY + 10 * STACK_MEMORY;
        let (again, faults) = read(&[&bytes], memory);
        assert_eq!((faults, again.stacks.len()), (vec![StackFileError::TooLarge(memory)], 10));
        assert_eq!(stacks(&again), stacks(&original)[..10]);
        // A text is as long as the file.
        let text = [MAGIC, &[1, 1, 100], &[b'a'; 100], &[5]].concat();
        assert_eq!(read(&[&text], 100).1, [StackFileError::TooLarge(100)]);
        assert_eq!(read(&[&text], 200).1, []);
    }

    #[test]
    fn directories_have_the_same_stacks_or_none_count() {
        let of = |addresses: &[u64]| {
            let trace = trace();
            addresses.iter().for_each(|address| {
                trace.stacks.push(None, Frame::at(*address));
            });
            written(&trace)
        };
        let (short, long, other) = (of(&[1, 2]), of(&[1, 2, 3]), of(&[1, 3]));
        for files in [[&short, &long], [&long, &short], [&long, &long]] {
            let (trace, faults) = read(&files.map(|file| &file[..]), MEMORY);
            assert_eq!((faults, trace.stacks.len()), (vec![], 3));
            assert_eq!(trace.stacks.frames(2), [Frame::at(3)]);
        }
        for files in [[&short, &other], [&other, &long]] {
            assert_eq!(read(&files.map(|file| &file[..]), MEMORY).1, [StackFileError::Conflict]);
        }
    }

    #[test]
    fn files_of_data_stream_classes() {
        let of = |address: u64, classes: &[u128]| {
            let trace = trace();
            trace.stacks.push(None, Frame::at(address));
            let mut bytes = Vec::new();
            write_stacks(trace.stacks_of(0), classes, &mut bytes).unwrap();
            bytes
        };
        let mut class = TraceClass::new("", [], vec![DataStreamClass::default(); 3]);
        class.data_streams.iter_mut().zip(5..).for_each(|(stream, id)| stream.id = id);
        let mut trace = Trace::new(class, "", &Limits::default()).unwrap();
        let mut stacks = StackFiles::default();
        // Several directories have the same stacks; no class has the id 9.
        for file in [of(1, &[5, 9]), of(2, &[7]), of(1, &[5, 9])] {
            stacks.add_bytes(Bytes::from(file), MEMORY).unwrap();
        }
        assert_eq!(stacks.used, 2 * (FRAME_MEMORY + STACK_MEMORY) + 3 * CLASS_MEMORY);
        stacks.finish(&mut trace, 0);
        let frames = [0, 1, 2].map(|index| trace.stacks_of(index).table.frames(0));
        assert_eq!(frames, [vec![Frame::at(1)], vec![], vec![Frame::at(2)]]);
        // All files together take no more memory than one may.
        let memory = 2 * (FRAME_MEMORY + STACK_MEMORY) + CLASS_MEMORY;
        let mut stacks = StackFiles::default();
        stacks.add_bytes(Bytes::from(of(1, &[5])), memory).unwrap();
        let fault = stacks.add_bytes(Bytes::from(of(2, &[7])), memory).unwrap_err();
        assert!(matches!(fault, StackFileError::TooLarge(_)), "{fault}");
        // After other records, this record is invalid.
        let late = [&of(1, &[])[..of(1, &[]).len() - 1], &[6, 0, 5]].concat();
        assert!(matches!(read(&[&late], MEMORY).1[..], [StackFileError::Malformed(_)]));
        assert!(["", "-1", "-12"].iter().all(|end| is_stack_file(&format!("{STACK_FILE}{end}"))));
        assert!(["1", "-", "-a", ".idx"].iter().all(|end| !is_stack_file(&format!("{STACK_FILE}{end}"))));
    }

    #[test]
    fn symbols_move_with_the_clock() {
        let original = trace();
        original.stacks.push(None, Frame::at(1));
        let name: Option<Arc<str>> = Some("f".into());
        let loaded = Symbol { begin: 1, end: 2, from: 10, until: Some(20), name, ..Symbol::default() };
        let before = Symbol { begin: 5, end: 6, from: i128::MIN, ..loaded.clone() };
        original.set_symbols(move || Symbols::new([(0, loaded.clone()), (0, before.clone())]));
        let mut stacks = StackFiles::default();
        stacks.add_bytes(Bytes::from(written(&original)), MEMORY).unwrap();
        let mut trace = trace();
        stacks.finish(&mut trace, 100);
        let times: Vec<(i128, Option<i128>)> =
            trace.symbols().iter().map(|(_, symbol)| (symbol.from, symbol.until)).collect();
        assert_eq!(times, [(i128::MIN, Some(120)), (110, Some(120))]);
    }
}
