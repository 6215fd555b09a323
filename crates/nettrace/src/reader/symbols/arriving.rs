//! Names of code addresses in a stream that is still arriving.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ichnos_model::clock::ClockClass;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::stack::Symbols;

use super::context::{SymbolContext, SymbolTexts};
use super::mappings::Mappings;
use super::methods::Methods;
use super::symbol_event::{SymbolEvent, source};
use crate::EventMetadata;

/// Maximum size of the events that are kept, in bytes. The methods of further events have no names.
const MOST: usize = 128 << 20;

/// Multiple of the time for indexing the names that passes until the next time.
const REST: u32 = 20;

/// Names in the events so far.
#[derive(Debug)]
pub(crate) struct ArrivingSymbols {
    /// Symbol information by event kind.
    sources: Vec<SymbolEvent>,
    names: SharedNames,
}

/// Names that several streams of one process share.
pub(crate) type SharedNames = Arc<Mutex<ArrivedNames>>;

/// Names of methods, modules and mapped files.
#[derive(Debug, Default)]
pub(crate) struct ArrivedNames {
    /// Payloads of the events.
    bytes: Vec<u8>,
    methods: Methods,
    mappings: Mappings,
    texts: SymbolTexts,
    is_incomplete: bool,
    /// Index of the names, except the latest.
    symbols: Arc<Symbols>,
    /// `true` if names are missing in the index.
    has_news: bool,
    /// End of the last indexing, and its duration.
    indexed: Option<(Instant, Duration)>,
}

impl ArrivingSymbols {
    /// Adds names to those of other streams.
    pub(crate) fn new(names: &SharedNames) -> Self {
        Self { sources: Vec::new(), names: Arc::clone(names) }
    }

    /// Adds an event kind.
    pub(crate) fn add_kind(&mut self, metadata: &EventMetadata) {
        self.sources.push(source(metadata));
    }

    /// Returns `true` if events of a kind have names.
    #[inline]
    pub(crate) fn has_names(&self, kind: u32) -> bool {
        let event = self.sources.get(kind as usize);
        !matches!(event, None | Some(SymbolEvent::None | SymbolEvent::Thread(_)))
    }

    /// Adds an event with names in an address space.
    #[cold]
    pub(crate) fn add(&self, kind: u32, space: u32, ticks: u64, payload: &[u8]) {
        if let Some(event) = self.sources.get(kind as usize) {
            self.names.lock().ignore_poison().add(*event, space, ticks, payload);
        }
    }

    /// Returns a function that returns the names so far. It is called for each call stack.
    pub(crate) fn lookup(&self, clock: ClockClass) -> impl Fn() -> Arc<Symbols> + use<> {
        let names = Arc::clone(&self.names);
        move || names.lock().ignore_poison().symbols(&clock)
    }
}

impl ArrivedNames {
    fn add(&mut self, event: SymbolEvent, space: u32, ticks: u64, payload: &[u8]) {
        if self.bytes.len() + payload.len() > MOST {
            self.is_incomplete = true;
            return;
        }
        let context = SymbolContext { space, ticks, payload: self.bytes.len(), length: payload.len() };
        self.bytes.extend_from_slice(payload);
        match event {
            SymbolEvent::Method(event) => self.methods.add(event, context, &self.bytes),
            SymbolEvent::Module(form) => {
                self.methods.add_module(form, context, &self.bytes, &mut self.texts);
            }
            SymbolEvent::Mapping(event) => self.mappings.add(event, context, &self.bytes),
            SymbolEvent::None | SymbolEvent::Thread(_) => {}
        }
        self.has_news = true;
    }

    /// Returns the index of the names. It is renewed rarely enough to take a small part of the time.
    fn symbols(&mut self, clock: &ClockClass) -> Arc<Symbols> {
        let rests = self.indexed.is_some_and(|(end, took)| end.elapsed() < took * REST);
        if self.has_news && !rests {
            let begin = Instant::now();
            let (methods, mappings) = (self.methods.clone(), self.mappings.clone());
            let time = |ticks: u64| clock.nanoseconds(ticks);
            let mut symbols = methods.symbols(&self.bytes, &time, &mut self.texts);
            symbols.extend(mappings.symbols(&self.bytes, &time, &mut self.texts));
            let symbols = Symbols::new(symbols);
            self.symbols = Arc::new(if self.is_incomplete { symbols.incomplete() } else { symbols });
            self.has_news = false;
            self.indexed = Some((Instant::now(), begin.elapsed()));
        }
        Arc::clone(&self.symbols)
    }
}
