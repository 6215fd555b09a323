//! File with the call stacks of a trace and their symbols, as JSON lines, next to the data streams.
//!
//! CTF does not specify call stacks, so the file name starts with a dot, which readers must ignore (CTF2-FS-1.0).
//! `docs/annotations.md` documents the lines.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use ichnos_io::{Bytes, Entry};
use ichnos_json::write::{ObjectWriter, ValueWriter};
use ichnos_model::Trace;
use ichnos_model::meaning::Meaning;
use ichnos_model::stack::{StackTable, Symbol, Symbols};
use ichnos_model::trace::{CallStacks, Limits};

use records::{CODE_KINDS, StackRecord, StackRecords, VERSION};

mod records;

pub(crate) use records::StackFileError;

/// File name of a single stack file. If there are several, a hyphen and a number follow.
const STACK_FILE: &str = ".ichnos-stacks";

/// Returns the file name for a number, or the name of a single file.
pub(crate) fn stack_file(number: Option<usize>) -> String {
    number.map_or_else(|| STACK_FILE.to_owned(), |number| format!("{STACK_FILE}-{number}"))
}

/// Returns `true` if a file with this name contains call stacks.
pub(crate) fn is_stack_file(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = name.strip_prefix(STACK_FILE);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number))
}

/// Maximum ratio of a file's content in memory to its compressed size.
const OF_PACKED: u64 = 512;

/// Returns the data stream classes with known call stacks, as indexes. Classes that share a stack table are in the same
/// group.
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

/// Writes call stacks and their symbols. Other users of the stack table wait meanwhile. `classes` contains the data
/// stream class ids of the stacks, or is empty for all classes.
///
/// # Errors
/// Returns an error if writing fails.
pub(crate) fn write_stacks(stacks: CallStacks<'_>, classes: &[u128], out: impl Write) -> io::Result<()> {
    // Loading symbols may read the trace, so it must happen before the table is locked.
    let symbols = stacks.symbols();
    let mut writer = StackFileWriter { out, line: Vec::new() };
    writer.write("call-stacks", |line| {
        line.member("version").unsigned(VERSION);
        if !classes.is_empty() {
            let mut ids = line.member("data_stream_classes").array();
            classes.iter().for_each(|id| ids.element().number(&id.to_string()));
            ids.end();
        }
    })?;
    writer.stacks(stacks.table)?;
    symbols.iter().try_for_each(|(space, symbol)| writer.symbol(space, symbol))?;
    for ((process, thread), name) in symbols.thread_names() {
        writer.write("thread", |line| {
            line.unsigned("process", process);
            line.member("thread").unsigned(thread);
            line.member("name").string(name);
        })?;
    }
    writer.write("end", |_| {})?;
    writer.out.flush()
}

struct StackFileWriter<W> {
    out: W,
    /// Line buffer.
    line: Vec<u8>,
}

impl<W: Write> StackFileWriter<W> {
    fn write(&mut self, kind: &str, members: impl FnOnce(&mut ObjectWriter<'_>)) -> io::Result<()> {
        self.line.clear();
        let mut line = ValueWriter::new(&mut self.line).object();
        line.member("type").string(kind);
        members(&mut line);
        line.end();
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }

    fn stacks(&mut self, table: &StackTable) -> io::Result<()> {
        let view = table.view();
        for number in 0..view.frame_count() as u32 {
            let Some(frame) = view.frame(number) else { break };
            self.write("frame", |line| {
                line.member("frame").unsigned(number.into());
                frame.write_members(line);
            })?;
        }
        for number in 0..view.stack_count() as u32 {
            let Some((frame, caller)) = view.top(number) else { break };
            self.write("stack", |line| {
                line.member("stack").unsigned(number.into());
                line.member("frame").unsigned(frame.into());
                line.unsigned("caller", caller.map(u64::from));
            })?;
        }
        Ok(())
    }

    fn symbol(&mut self, space: u32, symbol: &Symbol) -> io::Result<()> {
        let code = CODE_KINDS.iter().find(|(kind, _)| *kind == symbol.kind);
        self.write("symbol", |line| {
            line.string("name", symbol.name.as_deref());
            line.string("module", symbol.module.as_deref());
            line.string("kind", code.map(|(_, name)| *name));
            line.member("begin").unsigned(symbol.begin);
            line.member("end").unsigned(symbol.end);
            line.unsigned("address_space", Some(space.into()).filter(|space| *space != 0));
            line.integer("from", Some(symbol.from).filter(|from| *from != i128::MIN));
            line.integer("until", symbol.until);
        })
    }
}

/// Stack files of a trace. Each directory with data streams contains either one shared file or several files.
#[derive(Debug, Default)]
pub(crate) struct StackFiles {
    all: Vec<SharedStacks>,
    /// Indexes into `all`, by data stream class ids.
    by_classes: HashMap<Vec<u128>, usize>,
    /// Memory of all stacks together, in bytes.
    used: u64,
}

/// Call stacks shared by some data stream classes.
#[derive(Debug, Default)]
struct SharedStacks {
    /// Data stream class ids. Empty: all classes.
    classes: Vec<u128>,
    table: StackTable,
    files: Vec<StackFile>,
    /// Memory of the stacks in bytes. Files in several directories contain the same stacks, which count once.
    used: u64,
}

/// File whose first line is valid.
#[derive(Debug)]
struct StackFile {
    bytes: Bytes,
    /// Maximum memory in bytes.
    memory: u64,
    has_symbols: bool,
}

impl StackFiles {
    /// Adds the stacks from a file.
    ///
    /// # Errors
    /// Returns an error if parts of the file are not used. The other parts are used.
    pub(crate) fn add(&mut self, entry: &Entry, limits: &Limits) -> Result<(), StackFileError> {
        let bytes = entry.read().map_err(|error| StackFileError::Unreadable(error.to_string()))?;
        let all = limits.description_bytes;
        let of_packed = |given: u64| given.saturating_mul(OF_PACKED).max(limits.few_description_bytes);
        let memory = entry.packed().map_or(all, |given| all.min(of_packed(given)));
        self.add_bytes(bytes, memory)
    }

    fn add_bytes(&mut self, bytes: Bytes, memory: u64) -> Result<(), StackFileError> {
        let mut records = StackRecords::new(&bytes, memory)?;
        let classes = std::mem::take(&mut records.classes);
        let index = *self.by_classes.entry(classes.clone()).or_insert(self.all.len());
        if index == self.all.len() {
            self.all.push(SharedStacks { classes, ..SharedStacks::default() });
        }
        let SharedStacks { table, files, used, .. } = &mut self.all[index];
        records.left = records.left.saturating_sub(self.used - *used);
        let before = table.len();
        let mut has_symbols = false;
        let result = loop {
            match records.next() {
                Ok(Some(StackRecord::Frame)) => {}
                Ok(Some(StackRecord::Stack { number, caller, frame })) => {
                    if table.push(caller, frame) == Some(number) {
                        continue;
                    }
                    if (number as usize) < before {
                        return Err(StackFileError::Conflict);
                    }
                    // Duplicate or too large: later stacks would get other numbers.
                    break Err(records.malformed("stack"));
                }
                Ok(Some(StackRecord::Symbol(..) | StackRecord::Thread(..))) => has_symbols = true,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let taken = (memory - records.left).saturating_sub(self.used - *used);
        drop(records);
        if taken > *used {
            self.used += taken - *used;
            *used = taken;
        }
        files.push(StackFile { bytes, memory, has_symbols });
        result
    }

    /// Adds the stacks to a trace. `offset` in nanoseconds was added to the trace's clocks.
    pub(crate) fn finish(self, trace: &mut Trace, offset: i128) {
        let indexes: HashMap<u128, usize> =
            trace.class.data_streams.iter().enumerate().map(|(index, stream)| (stream.id, index)).collect();
        for SharedStacks { classes, table, files, .. } in self.all {
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
        let mut records = StackRecords::new(&self.bytes, self.memory).ok();
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

#[cfg(test)]
mod tests;
