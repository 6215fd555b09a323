//! Names of code addresses, from methods, modules, mappings and symbols in a file. Also names threads that the runtime
//! uses for one purpose.
//!
//! .NET runtime events record method loads and unloads, and the methods at the end of a session. See [`methods`].
//! one-collect records mapped files, and functions in them. See [`mappings`]. A file can have both.
//!
//! These events are delivered like all others, including their stacks. Other readers skip these stacks, which show how
//! the runtime wrote them.

mod arriving;
mod context;
mod mappings;
mod methods;
mod symbol_event;
mod threads;

use std::collections::HashMap;

use ichnos_model::clock::ClockClass;
use ichnos_model::stack::Symbols;

pub(super) use self::arriving::{ArrivingSymbols, SharedNames};
use self::context::{SymbolContext, SymbolTexts};
use self::mappings::Mappings;
use self::methods::Methods;
use self::symbol_event::{SymbolEvent, source};
use super::tables::{ThreadTable, address_space};
use super::trace_file::FileState;
use super::walk::Walker;
use crate::{Block, EventMetadata, EventRow, Version};

/// Reads all symbols in one pass over a file's events. `clock` is the clock of these events.
pub(super) fn read(file: &FileState, clock: &ClockClass) -> Symbols {
    let sources: Vec<SymbolEvent> = file.index.classes.iter().map(source).collect();
    if sources.iter().all(|source| *source == SymbolEvent::None) {
        return Symbols::default();
    }
    let mut reader = SymbolReader {
        bytes: &file.bytes,
        is_v6: matches!(file.index.version, Version::V6(_)),
        sources,
        methods: Methods::default(),
        mappings: Mappings::default(),
        texts: SymbolTexts::default(),
        threads: HashMap::new(),
        process: file.index.trace.process_id,
    };
    file.walk(&mut reader);
    let SymbolReader { methods, mappings, mut texts, threads, .. } = reader;
    let time = |ticks: u64| clock.nanoseconds(ticks);
    let mut symbols = methods.symbols(&file.bytes, &time, &mut texts);
    symbols.extend(mappings.symbols(&file.bytes, &time, &mut texts));
    let names = threads.into_iter().map(|(thread, name)| (thread, texts.get(name)));
    Symbols::new(symbols).with_thread_names(names)
}

/// Returns `true` for events that name processes, modules and functions.
pub(super) fn has_names(metadata: &EventMetadata) -> bool {
    !matches!(source(metadata), SymbolEvent::None | SymbolEvent::Thread(_))
}

/// Walker that collects events about symbols.
struct SymbolReader<'f> {
    bytes: &'f [u8],
    is_v6: bool,
    /// Symbol information by class.
    sources: Vec<SymbolEvent>,
    methods: Methods,
    mappings: Mappings,
    texts: SymbolTexts,
    /// Thread names by process and id.
    threads: HashMap<(Option<u64>, u64), &'static str>,
    /// Process of all events, up to version 5.
    process: Option<u64>,
}

impl Walker for SymbolReader<'_> {
    fn block(&mut self, _: &Block) {}

    #[inline(always)]
    fn event(&mut self, row: &EventRow, class: u32, threads: &ThreadTable) {
        match self.sources.get(class as usize) {
            None | Some(SymbolEvent::None) => {}
            Some(source) => self.record(*source, row, threads),
        }
    }
}

impl SymbolReader<'_> {
    #[cold]
    fn record(&mut self, source: SymbolEvent, row: &EventRow, threads: &ThreadTable) {
        if let SymbolEvent::Thread(name) = source {
            return self.record_thread(name, row, threads);
        }
        let space = if self.is_v6 { address_space(threads.process(row.thread)) } else { 0 };
        let context = SymbolContext {
            space,
            ticks: row.timestamp,
            payload: row.payload.start,
            length: row.payload.len(),
        };
        match source {
            SymbolEvent::None | SymbolEvent::Thread(_) => {}
            SymbolEvent::Method(event) => self.methods.add(event, context, self.bytes),
            SymbolEvent::Module(form) => self.methods.add_module(form, context, self.bytes, &mut self.texts),
            SymbolEvent::Mapping(event) => self.mappings.add(event, context, self.bytes),
        }
    }
}

impl SymbolReader<'_> {
    /// Records the first name that a thread's events imply.
    fn record_thread(&mut self, name: &'static str, row: &EventRow, threads: &ThreadTable) {
        let (process, thread) = match self.is_v6 {
            true => {
                let known = threads.place(row.thread).and_then(|place| threads.get(place));
                let Some(known) = known else { return };
                (known.process_id, known.thread_id.unwrap_or(known.index))
            }
            false => (self.process, row.thread),
        };
        if self.threads.len() < threads::MOST || self.threads.contains_key(&(process, thread)) {
            self.threads.entry((process, thread)).or_insert(name);
        }
    }
}

#[cfg(test)]
mod tests;
