//! Reads a stream that is still arriving.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ichnos_model::class::Value;
use ichnos_model::cursor::Head;
use ichnos_model::source::{Record, SourceCursor};
use ichnos_model::stack::StackTable;
use ichnos_model::{Cursor as _, DataStream, Event, Message, Trace, Window};

use super::arriving_pass::ArrivingPass;
use super::class::{self, event_kind};
use super::index::{NettraceIndex, content};
use super::index_builder::MetadataRows;
use super::nettrace_options::NettraceOptions;
use super::processes::ProcessNames;
use super::source::EventSource;
use super::symbols::{ArrivingSymbols, SharedNames};
use super::trace_file::FileState;
use super::{MOST_STACKS, NettraceOpenError, rundown};
use crate::container::LOOK_AHEAD;
use crate::{BlockKind, Container, FileItem, Refusal, Rule, TraceBlock, Version};

/// Number of bytes that may wait with events whose order is not certain yet. Beyond it, the events are delivered.
const MOST_WAITING: u64 = 32 << 20;

/// Events of a stream that is still arriving, sorted by time: a session in a running program.
///
/// Bytes come in chunks of any size. An event is delivered when a later event promises that nothing earlier follows.
/// .NET makes this promise once per flush, about every 105 ms. Without a further flush, the caller decides how long
/// events wait ([`release_waiting`](Self::release_waiting)).
///
/// The trace declares no event record classes: each is [found](Trace::dynamic_classes) with its first event. Addresses
/// have the names of the methods in the events so far. Processes, too, have the names known so far. Version 3 is only read
/// from files.
///
/// ```
/// use ichnos_nettrace::{LiveNettrace, LiveState, NettraceOptions};
///
/// let mut live = LiveNettrace::new("program", &NettraceOptions::default(), Vec::new());
/// live.feed(b"Nett");
/// assert_eq!(live.advance(), LiveState::Waiting);
/// live.feed(b"HTTP");
/// assert_eq!(live.advance(), LiveState::End);
/// assert!(live.refusal().is_some());
/// ```
pub struct LiveNettrace {
    name: String,
    options: NettraceOptions,
    /// Environment entries of the trace.
    recorded: Vec<(String, Value)>,
    /// Bytes that were not passed to the reader yet.
    staged: Vec<u8>,
    /// Number of bytes with which the reader can continue.
    awaited: u64,
    is_ended: bool,
    reader: Option<GrowingReader>,
    refusal: Option<NettraceOpenError>,
    /// Names of code addresses.
    names: SharedNames,
}

/// State of a [`LiveNettrace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveState {
    /// There is a current message.
    Message,
    /// The next message needs further bytes.
    Waiting,
    /// All messages were delivered.
    End,
}

/// Reader of the bytes that have arrived. They are removed when they are no longer needed.
struct GrowingReader {
    cursor: SourceCursor<EventSource>,
    /// Container at the next block whose metadata is read.
    scan: Container,
    rows: MetadataRows,
    /// Version 6.
    pass: Option<ArrivingPass>,
}

impl LiveNettrace {
    /// Creates a reader. `recorded` becomes the environment of the trace, next to what the stream says.
    #[must_use]
    pub fn new(name: &str, options: &NettraceOptions, recorded: Vec<(String, Value)>) -> Self {
        let (name, options) = (name.to_owned(), options.clone());
        let (staged, reader, names) = (Vec::new(), None, SharedNames::default());
        Self { name, options, recorded, staged, awaited: 0, is_ended: false, reader, refusal: None, names }
    }

    /// Learns the names of methods from another recording of the same process, for example one that only lists them.
    pub fn learn_names(&mut self, recording: &[u8]) {
        let mut other =
            Self { names: self.names.clone(), ..Self::new(&self.name, &self.options, Vec::new()) };
        other.feed(recording);
        other.finish();
        while other.advance() == LiveState::Message {}
    }

    /// Adds bytes. Call it when no message is ready, so that few bytes are kept. The current message ends.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !self.is_ended && self.refusal.is_none() {
            self.staged.extend_from_slice(bytes);
        }
    }

    /// Ends the stream. Waiting events are delivered then.
    pub fn finish(&mut self) {
        self.is_ended = true;
    }

    /// Returns the data stream, after the start of the stream has arrived.
    #[must_use]
    pub fn stream(&self) -> Option<&Arc<DataStream>> {
        self.reader.as_ref().map(GrowingReader::stream)
    }

    /// Returns the reason if the stream cannot be read.
    #[must_use]
    pub fn refusal(&self) -> Option<&NettraceOpenError> {
        self.refusal.as_ref()
    }

    /// Returns the number of events that were delivered after a later event.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.reader.as_ref().map_or(0, |reader| reader.cursor.source().late)
    }

    /// Returns the time from which on all later messages are, in nanoseconds from the origin of the clock, if the stream
    /// has promised one. All ready messages must be delivered.
    #[must_use]
    pub fn bound(&self) -> Option<i128> {
        let reader = self.reader.as_ref()?;
        let bound = reader.cursor.source().rows.pending.bound();
        let clock = reader.stream().clock()?;
        (bound > 0).then(|| clock.nanoseconds(bound))
    }

    /// Returns `true` if events wait for the promise that nothing earlier follows.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| !reader.cursor.source().rows.pending.is_empty())
    }

    /// Makes all waiting events ready. Events that arrive later can be earlier.
    pub fn release_waiting(&mut self) {
        if let Some(reader) = &mut self.reader {
            let pending = &mut reader.cursor.source_mut().0.rows.pending;
            if !pending.has_ready() {
                pending.release(true);
            }
        }
    }

    /// Moves to the next message.
    pub fn advance(&mut self) -> LiveState {
        loop {
            let Some(reader) = &mut self.reader else {
                if self.open() {
                    continue;
                }
                return if self.refusal.is_some() { LiveState::End } else { LiveState::Waiting };
            };
            if reader.cursor.advance() {
                return LiveState::Message;
            }
            if reader.cursor.is_over() {
                return LiveState::End;
            }
            if !self.take_staged() {
                return LiveState::Waiting;
            }
        }
    }

    /// Reads everything that has arrived, in any order, until a function returns `true` for an event. Returns `true` then.
    pub fn find_event(&mut self, mut wants: impl FnMut(&Event<'_>) -> bool) -> bool {
        loop {
            match self.advance() {
                LiveState::Message => {
                    if let Some(Message::Event(event)) = self.current()
                        && wants(&event)
                    {
                        return true;
                    }
                }
                LiveState::Waiting if self.has_waiting() => self.release_waiting(),
                _ => return false,
            }
        }
    }

    /// Returns the head of the current message.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        self.reader.as_ref()?.cursor.head()
    }

    /// Returns the current message.
    #[must_use]
    pub fn current(&self) -> Option<Message<'_>> {
        self.reader.as_ref()?.cursor.current()
    }

    /// Passes staged bytes to the reader. Returns `false` if there are too few.
    fn take_staged(&mut self) -> bool {
        let Self { staged, reader: Some(reader), is_ended, awaited, .. } = self else { return false };
        let available = reader.available() + staged.len() as u64;
        let is_enough = !staged.is_empty() && available >= *awaited;
        if is_enough || *is_ended && reader.cursor.source().rows.is_waiting() {
            *awaited = reader.extend(staged, *is_ended);
            // A burst must not keep its memory.
            *staged = Vec::new();
            return true;
        }
        reader.release_many()
    }

    /// Reads the start of the stream. Returns `false` if it has not arrived or is refused. [`advance`](Self::advance) does
    /// the same, and also delivers messages.
    pub fn open(&mut self) -> bool {
        if self.reader.is_some() || self.refusal.is_some() {
            return self.reader.is_some();
        }
        match self.try_open() {
            Ok(Some(reader)) => {
                self.reader = Some(reader);
                self.staged = Vec::new();
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.refusal = Some(error);
                self.staged = Vec::new();
                false
            }
        }
    }

    fn try_open(&self) -> Result<Option<GrowingReader>, NettraceOpenError> {
        let bytes = &*self.staged;
        let Some(mut container) = Container::open(bytes, self.is_ended)? else { return Ok(None) };
        let version = container.version();
        if version == Version::V3 {
            return Err(NettraceOpenError::NotLive);
        }
        let short = || Refusal::Short(bytes.len() as u64);
        let trace = match container.next(bytes, 0, self.is_ended) {
            FileItem::More => return Ok(None),
            FileItem::Block(block) if block.kind == BlockKind::Trace && block.is_whole => {
                TraceBlock::read(content(bytes, &block), version).ok_or_else(short)?
            }
            _ => return Err(short().into()),
        };
        GrowingReader::new(self, container, trace).map(Some)
    }
}

impl fmt::Debug for LiveNettrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, is_ended, refusal, .. } = self;
        let mut shown = f.debug_struct("LiveNettrace");
        shown
            .field("name", name)
            .field("is_ended", is_ended)
            .field("refusal", refusal)
            .finish_non_exhaustive()
    }
}

impl GrowingReader {
    /// Creates a reader for the staged bytes. `container` is behind the trace block.
    fn new(live: &LiveNettrace, container: Container, trace: TraceBlock) -> Result<Self, NettraceOpenError> {
        let options = &live.options;
        let index = NettraceIndex::begin(container.version(), trace);
        let class = class::trace_class(&index, &[], live.recorded.clone(), options);
        let class = class.ok_or(NettraceOpenError::ClockOffset)?;
        let mut trace =
            Trace::with_class_map(class, &live.name, &options.limits, options.class_map.as_ref())?;
        trace.stacks = StackTable::new(MOST_STACKS);
        let clock = trace.class.clocks.first().filter(|clock| clock.frequency == 1_000_000_000);
        let nanoseconds = clock.map(|clock| clock.nanoseconds(0));
        let stream = DataStream::new(Arc::new(trace), 0, None, &*live.name);
        let stream = Arc::new(stream.ok_or(NettraceOpenError::ClockOffset)?);
        let file = Arc::new(FileState {
            name: live.name.clone(),
            bytes: live.staged.clone().into(),
            removed: 0,
            is_all: false,
            container: container.clone(),
            index,
            forms: Vec::new(),
            nanoseconds,
            options: options.clone(),
            // Stacks are numbered as they arrive.
            are_stacks_interned: OnceLock::from(()),
            process_names: OnceLock::from(ProcessNames::default()),
            hashes_of_kinds: OnceLock::new(),
        });
        let mut source = EventSource::new(&file, &stream, Window::default(), None);
        let symbols = ArrivingSymbols::new(&live.names);
        if let Some(clock) = stream.clock() {
            stream.trace.set_arriving_symbols(symbols.lookup(clock.clone()));
        }
        source.symbols = Some(symbols);
        // The source must be the only owner, because the file grows.
        drop(file);
        let cursor = SourceCursor::new(stream, source, Window::default(), &options.limits);
        let pass = matches!(container.version(), Version::V6(_)).then(ArrivingPass::default);
        let mut reader = Self { cursor, scan: container, rows: MetadataRows::new(&options.limits), pass };
        reader.extend(&[], false);
        Ok(reader)
    }

    fn stream(&self) -> &Arc<DataStream> {
        &self.cursor.record().stream
    }

    /// Returns the number of kept bytes.
    fn available(&self) -> u64 {
        self.cursor.source().rows.file.bytes.len() as u64
    }

    /// Appends bytes, and removes those that were read. Returns the number of bytes with which reading can continue. No
    /// message may be ready.
    fn extend(&mut self, bytes: &[u8], is_all: bool) -> u64 {
        let (source, record) = self.cursor.source_mut();
        let pointer_size = source.rows.file.index.trace.pointer_size;
        source.rows.keep_tables(pointer_size, &record.stream.trace);
        let passed = source.rows.passed_bytes().min(self.scan.position());
        // The alignment of blocks must stay the same.
        let passed = passed & !3;
        source.rows.remove_front(passed);
        self.scan.remove_front(passed);
        let Some(file) = Arc::get_mut(&mut source.rows.file) else { return u64::MAX };
        let kept = file.bytes.get(passed as usize..).unwrap_or_default();
        file.bytes = [kept, bytes].concat().into();
        file.removed += passed;
        file.is_all = is_all;
        let (begin, known) = (self.scan.clone(), file.index.metadata.len());
        file.index.extend(&file.bytes, &mut self.scan, is_all, &mut self.rows);
        if let Some(pass) = &mut self.pass {
            pass.extend(file, begin, known, &record.stream.trace, &mut self.rows);
        }
        let faults = std::mem::take(&mut file.index.metadata_faults);
        add_kinds(source, record);
        let log = &mut source.rows.faults;
        let is_checking = log.check;
        for fault in faults.into_iter().filter(|fault| is_checking || fault.rule.is_fatal()) {
            log.record(fault.rule, fault.offset, || fault.statement);
        }
        self.scan.needed().min(self.scan.position() + LOOK_AHEAD as u64)
    }

    /// Makes waiting events ready if they keep too many bytes. Returns `false` otherwise.
    fn release_many(&mut self) -> bool {
        let rows = &mut self.cursor.source_mut().0.rows;
        let kept = rows.container.position().saturating_sub(rows.passed_bytes());
        let is_much = kept > MOST_WAITING && !rows.pending.has_ready() && !rows.pending.is_empty();
        if is_much {
            rows.pending.release(true);
        }
        is_much
    }
}

/// Finds the classes of new event kinds.
fn add_kinds(source: &mut EventSource, record: &mut Record) {
    let stream = Arc::clone(&record.stream);
    let Some(classes) = stream.trace.dynamic_classes(stream.class_index) else { return };
    let Some(file) = Arc::get_mut(&mut source.rows.file) else { return };
    let pointer_bits = if file.index.trace.has_short_pointers() { 32 } else { 64 };
    let is_v6 = matches!(file.index.version, Version::V6(_));
    let mut problem = None;
    for (id, metadata) in file.index.classes.iter().enumerate().skip(file.forms.len()) {
        let mut kind = event_kind(metadata, id as u128, pointer_bits, is_v6);
        kind.class.is_rundown = rundown::is_rundown(metadata);
        // Raw classes have keys of four bytes.
        let key = (id as u64).to_le_bytes();
        let found = classes.intern(&key, || kind.class.clone()).or_else(|error| {
            kind = event_kind(metadata, id as u128, pointer_bits, is_v6).into_raw(is_v6);
            problem.get_or_insert(error);
            classes.intern(&key, || kind.class.clone())
        });
        let found = found.ok().flatten();
        record.reserve_slots(found.as_ref().map_or(0, |class| class.slots));
        file.forms.push(kind.form);
        source.found.push(found);
        source.symbols.iter_mut().for_each(|symbols| symbols.add_kind(metadata));
    }
    if let Some(error) = problem {
        let statement = || format!("{error}: events that have too many fields are shown as bytes");
        source.rows.faults.record(Rule::MetadataRow, 0, statement);
    }
}
