//! Rules shared by all encoders in a trace.

use std::path::PathBuf;

use ichnos_io::{Bytes, CreateError, EncoderRules, SorterMemory, WriteOptions, WriteSource};
use ichnos_model::lower::{KeptMetadata, LossKind, LossTable};
use ichnos_model::{DataStream, Event, TraceClass};

use super::clock::{FileClock, loss_of_clock};
use super::copied_file::copied_file;
use super::dialect::Dialect;
use super::losses::NettraceLoss;
use super::own;
use super::segment_rules::SegmentRules;
use super::tables::WrittenStacks;
use super::written_event::NettraceEvent;
use crate::reader::class::CLOCK;
use crate::reader::trace_file::FileState;
use crate::{TraceBlock, Version};

/// Rules for the output.
#[derive(Debug)]
pub(super) struct NettraceRules {
    pub(super) dialect: Dialect,
    pub(super) clock: FileClock,
    /// Trace block without a date.
    trace: TraceBlock,
    /// `true` if the trace block has the date of the source.
    has_date: bool,
    pub(super) shared: EncoderRules,
    /// `true` if events arrive in any order and must be sorted.
    pub(super) sorts: bool,
    /// `true` to give late events a later time.
    pub(super) moves_late: bool,
    /// Memory shared by the sorters for all parts.
    pub(super) sorter_memory: SorterMemory,
    /// Directory for temporary files.
    pub(super) temp_dir: Option<PathBuf>,
    /// `true` to name the functions in stacks at the end of the file. Also for events from EventPipe files, because the
    /// events with the names may be missing.
    pub(super) names_functions: bool,
    /// File to copy instead of encoding events.
    pub(super) copied: Option<Bytes>,
    /// Rules for copying segments instead of encoding events.
    pub(super) segments: Option<SegmentRules>,
}

impl NettraceRules {
    pub(super) fn new(sources: Vec<WriteSource>, options: &WriteOptions) -> Result<Self, CreateError> {
        let dialect = match &options.dialect {
            Some(name) => Dialect::from_name(name).ok_or_else(|| CreateError::Dialect(name.clone()))?,
            None => Dialect::from_sources(&sources),
        };
        let clock = FileClock::from_sources(&sources);
        let sorts = options.sorts || sources.iter().any(is_unsorted);
        let copied = copied_file(&sources, dialect, options);
        let segments = SegmentRules::from_sources(&sources, dialect, options, copied.is_some());
        let shared = EncoderRules::new(sources, options, record_source);
        let trace = shared.with_losses(|table| {
            clock.record_rounding(&shared.sources, table);
            trace_block(&shared.sources, dialect, table)
        })?;
        let has_date = trace.sync_time.is_valid() && clock.is_at(trace.sync_time, trace.sync_ticks);
        Ok(Self {
            dialect,
            clock,
            trace,
            has_date,
            shared,
            sorts,
            moves_late: options.live,
            sorter_memory: SorterMemory::default(),
            temp_dir: options.temp_dir.clone(),
            names_functions: !options.selected_by.is_empty() && options.cut.is_none(),
            copied,
            segments,
        })
    }

    /// Returns the rules for parts of a trace: all events are encoded, and each part names its functions.
    pub(super) fn for_parts(self) -> Self {
        Self { segments: None, names_functions: true, ..self }
    }

    /// Returns the first source, if it is an EventPipe file.
    pub(super) fn file(&self) -> Option<&FileState> {
        self.shared.sources.first()?.trace.reader_data::<FileState>()
    }

    /// Returns a data stream's source index, and its index in the source. `key` identifies the data stream.
    pub(super) fn place(&self, key: u32) -> Option<(usize, usize)> {
        let in_source = |source: &WriteSource| source.streams.iter().position(|stream| stream.key == key);
        self.shared.sources.iter().enumerate().find_map(|(index, source)| Some((index, in_source(source)?)))
    }

    /// Returns the data stream at a [place](Self::place).
    pub(super) fn stream(&self, (source, stream): (usize, usize)) -> Option<&DataStream> {
        self.shared.sources.get(source)?.streams.get(stream).map(|stream| &**stream)
    }

    pub(super) fn pointer_size(&self) -> u32 {
        self.trace.pointer_size
    }

    /// Returns the file's process, if there is exactly one.
    pub(super) fn process(&self) -> Option<u64> {
        self.trace.process_id
    }

    /// Returns a file's trace block. `ticks` is the time of its first event.
    pub(super) fn trace_block(&self, ticks: u64) -> TraceBlock {
        let mut trace = self.trace.clone();
        trace.frequency = self.clock.frequency;
        if !self.has_date {
            let (date, at, is_exact) = self.clock.date(ticks);
            (trace.sync_time, trace.sync_ticks) = (date, at);
            if !is_exact {
                self.shared.record_loss(NettraceLoss::Date);
            }
        }
        trace
    }
}

/// Returns `true` if a source delivers events in file order.
fn is_unsorted(source: &WriteSource) -> bool {
    source.trace.reader_data::<FileState>().is_some_and(FileState::is_unsorted)
}

/// Returns the time in ticks and the hash of an event that was read.
pub(super) fn event_hash(event: &Event<'_>) -> (Option<u64>, u64) {
    (event.clock.map(|clock| clock.cycles), hash_of(event))
}

fn hash_of(event: &Event<'_>) -> u64 {
    let Some(file) = event.stream.trace.reader_data::<FileState>() else { return 0 };
    let is_v6 = matches!(file.version(), Version::V6(_));
    let hash = file.kind_of(event).and_then(|kind| own::hashes(file).get(kind));
    let Some(hash) = hash.copied() else { return 0 };
    let mut parts = NettraceEvent::default();
    if !own::read(event, event.clock.map_or(0, |clock| clock.cycles), &mut parts) {
        return 0;
    }
    let mut stacks = WrittenStacks::new(8);
    let frames = parts.stack.map(|stack| stacks.frames(event.stream, stack)).unwrap_or_default();
    parts.hash(hash, !event.class.is_undescribed, own::payload(event), frames, is_v6)
}

/// Returns the trace block for sources. Its date is from the first EventPipe file.
fn trace_block(
    sources: &[WriteSource],
    dialect: Dialect,
    losses: &mut LossTable,
) -> Result<TraceBlock, CreateError> {
    let mut trace: Option<TraceBlock> = None;
    let mut losses = losses.for_class("");
    for source in sources {
        let Some(file) = source.trace.reader_data::<FileState>() else { continue };
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
                        losses.record_loss(
                            LossKind::Dropped,
                            "process_id",
                            "process of a file other than the first",
                        );
                    }
                    first.process_id = first.process_id.filter(|_| dialect == Dialect::V4);
                }
                if (own.processors, own.sampling_interval) != (first.processors, first.sampling_interval) {
                    losses.record_loss(LossKind::Dropped, "", "properties of a file other than the first");
                }
            }
        }
    }
    let mut trace = trace.unwrap_or_else(|| foreign_trace_block(sources));
    if dialect == Dialect::V4 {
        for (name, _) in trace.properties.drain(..) {
            losses.record_loss(LossKind::Dropped, &name, "trace property");
        }
    }
    Ok(trace)
}

/// Environment entries that belong to the trace block, by the reader's names.
const OF_BLOCK: [&str; 4] = ["process_id", "processors", "pointer_size", "sampling_interval_ns"];

/// Returns the process in a trace's environment.
pub(super) fn process_of(class: &TraceClass) -> Option<u64> {
    class.environment_number("vpid").or_else(|| class.environment_number("process_id"))
}

/// Returns the trace block for sources in other formats. If they were converted from EventPipe files, their environment
/// has its properties.
fn foreign_trace_block(sources: &[WriteSource]) -> TraceBlock {
    let classes = || sources.iter().map(|source| &source.trace.class);
    let first = |name: &str| classes().find_map(|class| class.environment_number(name));
    let [_, processors, pointer_size, sampling_interval] = OF_BLOCK.map(first);
    TraceBlock {
        // Stack frames have 64 bits.
        pointer_size: if pointer_size == Some(4) { 4 } else { 8 },
        process_id: classes().find_map(process_of),
        processors,
        sampling_interval,
        ..TraceBlock::default()
    }
}

/// Metadata that EventPipe files keep.
pub(super) const KEPT_METADATA: KeptMetadata =
    KeptMetadata { namespace: Some("nettrace"), clocks: &[CLOCK], stream_names: false, severities: true };

/// Records losses for the trace itself.
fn record_source(source: &WriteSource, table: &mut LossTable) {
    let class = &source.trace.class;
    for clock in &class.clocks {
        if let Some(what) = loss_of_clock(clock) {
            table.note(LossKind::Lowered, "", format!("clock.{}", clock.id), what);
        }
    }
    if source.trace.reader_data::<FileState>().is_some() {
        return;
    }
    table.add_environment(class, |name| {
        name == "vpid" || OF_BLOCK.contains(&name) && class.environment_number(name).is_some()
    });
    table.add_trace_metadata(class, KEPT_METADATA);
    for stream in &source.streams {
        table.add_packets(stream);
    }
}
