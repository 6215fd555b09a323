//! Rules that all encoders of a trace share.

use std::path::PathBuf;
use std::sync::Mutex;

use ichnos_io::{Bytes, CreateError, SorterMemory, WriteOptions, WriteSource};
use ichnos_model::lower::{KeptMetadata, LossEntry, LossKind, LossTable};
use ichnos_model::{ClassDigest, DataStream, Event, IgnorePoison as _, TraceClass, TraceDigest, Value};

use super::clock::{FileClock, loss_of_clock};
use super::copied_file::copied_file;
use super::dialect::Dialect;
use super::own;
use super::segment_rules::SegmentRules;
use super::tables::WrittenStacks;
use super::written_event::WrittenEvent;
use crate::reader::class::CLOCK;
use crate::reader::trace_file::TraceFile;
use crate::{TraceBlock, Version};

/// Default block size in bytes.
const BLOCK: usize = 256 << 10;

/// Rules, losses and the digest of a trace that is being written.
#[derive(Debug)]
pub(super) struct TraceRules {
    pub(super) dialect: Dialect,
    pub(super) clock: FileClock,
    /// Trace block without a date.
    trace: TraceBlock,
    /// `true` if the date of the trace block is that of the source.
    has_date: bool,
    pub(super) block_bytes: usize,
    pub(super) is_compared: bool,
    /// `true` if every payload must fit its fields.
    pub(super) repairs: bool,
    /// `true` if events can come in any order: they are sorted.
    pub(super) sorts: bool,
    /// Memory of the sorters of all parts.
    pub(super) sorter_memory: SorterMemory,
    /// Directory of temporary files.
    pub(super) temp_dir: Option<PathBuf>,
    /// `true` if the functions of stacks are named at the end of the file, also if they were read from a file of this
    /// format: the events that name them may be missing.
    pub(super) names_functions: bool,
    /// File to copy instead of encoding its events.
    pub(super) copied: Option<Bytes>,
    /// Rules for segments that are copied instead of encoding their events.
    pub(super) segments: Option<SegmentRules>,
    losses: Mutex<LossTable>,
    events: Mutex<ClassDigest>,
    /// Kept so that the traces stay at their addresses, too.
    sources: Vec<WriteSource>,
}

impl TraceRules {
    pub(super) fn new(sources: Vec<WriteSource>, options: &WriteOptions) -> Result<Self, CreateError> {
        let dialect = match &options.dialect {
            Some(name) => Dialect::of_name(name).ok_or_else(|| CreateError::Dialect(name.clone()))?,
            None => Dialect::of_sources(&sources),
        };
        let clock = FileClock::of(&sources);
        let mut losses = LossTable::default();
        clock.note_rounding(&sources, &mut losses);
        for source in &sources {
            note_source(source, &mut losses);
        }
        let trace = trace_block(&sources, dialect, &mut losses)?;
        let has_date = trace.sync_time.is_valid() && clock.is_at(trace.sync_time, trace.sync_ticks);
        let sorts = options.sorts || sources.iter().any(is_unsorted);
        let copied = copied_file(&sources, dialect, options);
        let segments = SegmentRules::of(&sources, dialect, options, copied.is_some());
        let block_bytes = options.packet_size.and_then(|size| usize::try_from(size).ok());
        Ok(Self {
            dialect,
            clock,
            trace,
            has_date,
            block_bytes: block_bytes.unwrap_or(BLOCK).max(1),
            is_compared: options.verify.is_some(),
            repairs: options.repair,
            sorts,
            sorter_memory: SorterMemory::default(),
            temp_dir: options.temp_dir.clone(),
            names_functions: !options.selected_by.is_empty() && options.cut.is_none(),
            copied,
            segments,
            losses: Mutex::new(losses),
            events: Mutex::default(),
            sources,
        })
    }

    /// Returns the rules for parts of a trace: the events of all segments are encoded, and each part names its functions.
    pub(super) fn for_parts(self) -> Self {
        Self { segments: None, names_functions: true, ..self }
    }

    /// Returns the first source, if it is a file of this format.
    pub(super) fn file(&self) -> Option<&TraceFile> {
        self.sources.first()?.trace.reader_data::<TraceFile>()
    }

    /// Returns the indexes of the source of a data stream, and in the data streams of that, by its key.
    pub(super) fn place(&self, key: u32) -> Option<(usize, usize)> {
        let in_source = |source: &WriteSource| source.streams.iter().position(|stream| stream.key == key);
        self.sources.iter().enumerate().find_map(|(index, source)| Some((index, in_source(source)?)))
    }

    /// Returns the data stream at a [place](Self::place).
    pub(super) fn stream(&self, (source, stream): (usize, usize)) -> Option<&DataStream> {
        self.sources.get(source)?.streams.get(stream).map(|stream| &**stream)
    }

    pub(super) fn pointer_size(&self) -> u32 {
        self.trace.pointer_size
    }

    /// Returns the process of the file, if it is a single one.
    pub(super) fn process(&self) -> Option<u64> {
        self.trace.process_id
    }

    /// Returns the trace block of a file whose first event has a time.
    pub(super) fn trace_block(&self, ticks: u64) -> TraceBlock {
        let mut trace = self.trace.clone();
        trace.frequency = self.clock.frequency;
        if !self.has_date {
            let (date, at, is_exact) = self.clock.date(ticks);
            (trace.sync_time, trace.sync_ticks) = (date, at);
            if !is_exact {
                self.lose(LossKind::Dropped, "", "date: before 1601 or after 9999");
            }
        }
        trace
    }

    pub(super) fn with_losses<T>(&self, change: impl FnOnce(&mut LossTable) -> T) -> T {
        change(&mut self.losses.lock().ignore_poison())
    }

    /// Notes a loss of the trace.
    pub(super) fn lose(&self, kind: LossKind, field: &str, what: &str) {
        let (field, what) = (field.to_owned(), what.to_owned());
        let loss = LossEntry { kind, class: String::new(), field, what };
        self.with_losses(|table| table.add(loss, 1));
    }

    /// Adds written events to the digest.
    pub(super) fn add_events(&self, events: ClassDigest) {
        *self.events.lock().ignore_poison() += events;
    }

    /// Returns the digest of all written events.
    pub(super) fn digest(&self) -> TraceDigest {
        digest(*self.events.lock().ignore_poison())
    }
}

/// Returns `true` if a source has events in the order of its file.
fn is_unsorted(source: &WriteSource) -> bool {
    source.trace.reader_data::<TraceFile>().is_some_and(TraceFile::is_unsorted)
}

/// Returns the digest of events, to compare it with what is read.
pub(super) fn digest(events: ClassDigest) -> TraceDigest {
    let mut digest = TraceDigest::default();
    digest.event_hash = Some(event_hash);
    digest.discarded_events = None;
    digest.add_class("", events);
    digest
}

/// Returns the time in ticks and the hash of an event that was read.
pub(super) fn event_hash(event: &Event<'_>) -> (Option<u64>, u64) {
    (event.clock.map(|clock| clock.cycles), hash_of(event))
}

fn hash_of(event: &Event<'_>) -> u64 {
    let Some(file) = event.stream.trace.reader_data::<TraceFile>() else { return 0 };
    let is_v6 = matches!(file.version(), Version::V6(_));
    let hash = file.kind_of(event).and_then(|kind| own::hashes(file).get(kind));
    let Some(hash) = hash.copied() else { return 0 };
    let mut parts = WrittenEvent::default();
    if !own::read(event, event.clock.map_or(0, |clock| clock.cycles), &mut parts) {
        return 0;
    }
    let mut stacks = WrittenStacks::new(8);
    let frames = parts.stack.map(|stack| stacks.frames(event.stream, stack)).unwrap_or_default();
    parts.hash(hash, !event.class.is_undescribed, own::payload(event), frames, is_v6)
}

/// Returns the trace block of sources, with the date of the first one of this format.
fn trace_block(
    sources: &[WriteSource],
    dialect: Dialect,
    losses: &mut LossTable,
) -> Result<TraceBlock, CreateError> {
    let mut trace: Option<TraceBlock> = None;
    let mut lose = |kind, field: &str, what: &str| {
        losses.note(kind, "", field, what);
    };
    for source in sources {
        let Some(file) = source.trace.reader_data::<TraceFile>() else { continue };
        let own = file.trace_block();
        match &mut trace {
            None => trace = Some(own.clone()),
            Some(first) if first.has_short_pointers() != own.has_short_pointers() => {
                return Err(CreateError::Unmergeable {
                    trace: source.trace.path.clone(),
                    problem: "its pointers have another size".to_owned(),
                });
            }
            Some(first) => {
                if first.process_id != own.process_id {
                    if dialect == Dialect::V4 {
                        lose(LossKind::Dropped, "process_id", "process of a file besides the first one");
                    }
                    first.process_id = first.process_id.filter(|_| dialect == Dialect::V4);
                }
                if (own.processors, own.sampling_interval) != (first.processors, first.sampling_interval) {
                    lose(LossKind::Dropped, "", "properties of a file besides the first one");
                }
            }
        }
    }
    let mut trace = trace.unwrap_or_else(|| foreign_trace_block(sources));
    if dialect == Dialect::V4 {
        for (name, _) in trace.properties.drain(..) {
            lose(LossKind::Dropped, &name, "property of the trace");
        }
    }
    Ok(trace)
}

/// Entries of the environment that the trace block has, by the names that the reader gives them.
const OF_BLOCK: [&str; 4] = ["process_id", "processors", "pointer_size", "sampling_interval_ns"];

/// Returns the process of a trace, if its environment has one.
pub(super) fn process_of(class: &TraceClass) -> Option<u64> {
    number(class, "vpid").or_else(|| number(class, "process_id"))
}

/// Returns a number of the environment.
fn number(class: &TraceClass, name: &str) -> Option<u64> {
    match class.environment(name) {
        Some(Value::Integer(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Returns the trace block for sources of other formats: their environment has its properties if they were converted from
/// this format.
fn foreign_trace_block(sources: &[WriteSource]) -> TraceBlock {
    let classes = || sources.iter().map(|source| &source.trace.class);
    let first = |name: &str| classes().find_map(|class| number(class, name));
    let [_, processors, pointer_size, sampling_interval] = OF_BLOCK.map(first);
    TraceBlock {
        // Frames of stacks have 64 bits.
        pointer_size: if pointer_size == Some(4) { 4 } else { 8 },
        process_id: classes().find_map(process_of),
        processors,
        sampling_interval,
        ..TraceBlock::default()
    }
}

/// Metadata that files of this format keep.
pub(super) const KEPT_METADATA: KeptMetadata =
    KeptMetadata { namespace: Some("nettrace"), clocks: &[CLOCK], stream_names: false, severities: true };

/// Notes losses of a whole trace.
fn note_source(source: &WriteSource, losses: &mut LossTable) {
    let class = &source.trace.class;
    let mut lose = |kind, field: &str, what: &str| {
        losses.note(kind, "", field, what);
    };
    for clock in &class.clocks {
        if let Some(what) = loss_of_clock(clock) {
            lose(LossKind::Lowered, &format!("clock.{}", clock.id), &what);
        }
    }
    if source.trace.reader_data::<TraceFile>().is_some() {
        return;
    }
    let is_kept = |name: &str| name == "vpid" || OF_BLOCK.contains(&name) && number(class, name).is_some();
    for (name, _) in class.environment.iter().filter(|(name, _)| !is_kept(name)) {
        lose(LossKind::Dropped, &format!("environment.{name}"), "entry of the environment");
    }
    losses.add_trace_metadata(class, KEPT_METADATA);
    for stream in &source.streams {
        losses.add_packets(stream);
    }
}
