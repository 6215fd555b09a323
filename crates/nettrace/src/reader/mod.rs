//! Reads EventPipe files as traces. The crate documentation describes the mapping.
//!
//! Events are delivered sorted by time, or in file order on request.

mod arriving_pass;
mod block_audit;
mod capture;
pub(crate) mod class;
mod clock_zero;
mod context;
mod format;
mod index;
mod index_builder;
mod kinds;
mod listed_threads;
mod live;
mod nettrace_options;
mod override_reader;
mod overrides;
mod payload;
mod pending;
mod processes;
mod row_reader;
mod rundown;
pub(crate) mod segment;
mod session;
mod source;
mod stack_numbers;
mod symbols;
mod tables;
pub(crate) mod trace_file;
mod walk;

use std::sync::{Arc, OnceLock};

use ichnos_io::Bytes;
use ichnos_model::class::Value;
use ichnos_model::cursor::{BoxedCursor, StreamCursor};
use ichnos_model::message::Damage;
use ichnos_model::plan::PlanError;
use ichnos_model::source::SourceCursor;
use ichnos_model::stack::StackTable;
use ichnos_model::trace::{SplitPoint, StreamSummary, advance_to};
use ichnos_model::{Cursor as _, DataStream, OpenedTrace, Trace, Window};

use self::class::EventKind;
pub use self::clock_zero::clock_zeros;
pub use self::format::Nettrace;
use self::index::NettraceIndex;
pub(crate) use self::index::{EventBlockHeader, content};
pub use self::live::{LiveNettrace, LiveState};
pub use self::nettrace_options::NettraceOptions;
use self::row_reader::RowReader;
use self::source::EventSource;
pub(crate) use self::source::ticks_of;
use self::trace_file::FileState;
use crate::{Container, EventMetadata, Fault, Refusal, Rule, Version};

/// Reason why a file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NettraceOpenError {
    /// The file cannot be read.
    #[error("{0}")]
    Refusal(#[from] Refusal),
    /// The descriptions exceed the limits.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// The stream has a version that is only read from files.
    #[error("only streams of versions 4 to 6 are read while they arrive: read the finished file")]
    NotLive,
    /// The times do not fit in 64 bits.
    #[error("the offset of the clock does not fit in 64 bits")]
    ClockOffset,
}

/// Maximum number of distinct stacks per file, including callers. A stack takes up to 150 bytes. A recorded file with 6
/// million events has 5,306.
const MOST_STACKS: u32 = 1 << 18;

/// Opened file.
#[derive(Debug)]
pub struct NettraceFile {
    trace: Arc<Trace>,
    stream: Arc<DataStream>,
    file: Arc<FileState>,
    damage: Vec<Damage>,
}

impl NettraceFile {
    /// Returns `true` if the trace block is missing.
    pub(crate) fn is_trace_assumed(&self) -> bool {
        self.file.index.is_trace_assumed
    }

    /// Opens a file. Its start may be missing. `name` is its path.
    ///
    /// # Errors
    /// If it is not an EventPipe file, has an unsupported version, or exceeds the limits.
    pub fn open(name: &str, bytes: Bytes, options: &NettraceOptions) -> Result<Self, NettraceOpenError> {
        let container = Container::open_file(&bytes)?;
        let mut index = NettraceIndex::read(&bytes, &container, options)?;
        let pointer_bits = if index.trace.has_short_pointers() { 32 } else { 64 };
        let is_v6 = matches!(index.version, Version::V6(_));
        let kinds: Vec<EventKind> = (0..)
            .zip(&index.classes)
            .map(|(id, metadata)| {
                let mut kind = class::event_kind(metadata, id, pointer_bits, is_v6);
                kind.class.is_rundown = rundown::is_rundown(metadata);
                kind
            })
            .collect();
        let mut recorded = session::process(&bytes, &container, &index);
        recorded.extend(session::providers(&index));
        recorded.push(session::end(&index, &bytes));
        let (mut trace, kinds, refused) = compile(&index, kinds, &recorded, options)?;
        if let Some(error) = refused {
            let statement = format!("{error}: events that have too many fields are shown as bytes");
            index.metadata_faults.push(Fault::new(Rule::MetadataRow, 0, statement));
        }
        let nanoseconds = trace.class.clocks.first();
        let nanoseconds =
            nanoseconds.filter(|clock| clock.frequency == 1_000_000_000).map(|clock| clock.nanoseconds(0));
        name.clone_into(&mut trace.path);
        // Processes that share stacks can have far more stacks than the file has bytes.
        let most = u32::try_from(bytes.len() / 4).unwrap_or(u32::MAX);
        trace.stacks = StackTable::new(most.clamp(1 << 16, MOST_STACKS));
        let trace = Arc::new(trace);
        let stream =
            DataStream::new(Arc::clone(&trace), 0, None, name).ok_or(NettraceOpenError::ClockOffset)?;
        let reported = index.metadata_faults.iter().filter(|fault| options.check || fault.rule.is_fatal());
        let damage = reported.map(|fault| fault.damage(name)).collect();
        let file = FileState {
            name: name.to_owned(),
            bytes,
            removed: 0,
            is_all: true,
            container,
            index,
            forms: kinds.into_iter().map(|kind| kind.form).collect(),
            nanoseconds,
            options: options.clone(),
            are_stacks_interned: OnceLock::new(),
            process_names: OnceLock::new(),
            hashes_of_kinds: OnceLock::new(),
        };
        let file = Arc::new(file);
        trace.set_reader_data(Arc::clone(&file) as Arc<dyn std::any::Any + Send + Sync>);
        if let Some(clock) = trace.class.clocks.first().cloned() {
            // The trace owns this closure, so the closure must not own the trace.
            let file = Arc::clone(&file);
            trace.set_symbols(move || symbols::read(&file, &clock));
        }
        if !matches!(file.version(), Version::V6(_)) {
            // In version 6, events have thread and process names.
            let command_line = trace.class.environment("command_line").and_then(Value::as_text);
            let command_line = command_line.map(str::to_owned);
            let file = Arc::clone(&file);
            trace.set_threads(move || listed_threads::list(&file, command_line.as_deref()));
        }
        Ok(Self { trace, stream: Arc::new(stream), file, damage })
    }
}

/// Compiles the trace. Returns the event kinds. If the limits are too low for their fields, some of them become raw,
/// and the reason is returned.
fn compile(
    index: &NettraceIndex,
    kinds: Vec<EventKind>,
    recorded: &[(String, Value)],
    options: &NettraceOptions,
) -> Result<(Trace, Vec<EventKind>, Option<PlanError>), NettraceOpenError> {
    let compile = |kinds: &[EventKind]| -> Result<Trace, NettraceOpenError> {
        let class = class::trace_class(index, kinds, recorded.to_vec(), options);
        let class = class.ok_or(NettraceOpenError::ClockOffset)?;
        Ok(Trace::with_class_map(class, "", &options.limits, options.class_map.as_ref())?)
    };
    let is_v6 = matches!(index.version, Version::V6(_));
    match compile(&kinds) {
        Ok(trace) => Ok((trace, kinds, None)),
        Err(NettraceOpenError::Plan(error)) => {
            // Event kinds with many fields are the likely reason. Otherwise, make all of them raw.
            let is_simple = |class| index.classes.get(class).is_some_and(EventMetadata::has_few_fields);
            let raw = |kinds: Vec<EventKind>, keep: &dyn Fn(usize) -> bool| -> Vec<EventKind> {
                let kinds = kinds.into_iter().enumerate();
                kinds.map(|(index, kind)| if keep(index) { kind } else { kind.into_raw(is_v6) }).collect()
            };
            let kinds = raw(kinds, &is_simple);
            match compile(&kinds) {
                Ok(trace) => Ok((trace, kinds, Some(error))),
                Err(_) => {
                    let kinds = raw(kinds, &|_| false);
                    Ok((compile(&kinds)?, kinds, Some(error)))
                }
            }
        }
        Err(error) => Err(error),
    }
}

impl NettraceFile {
    /// Returns a cursor at the start of the file, or at the block of a sequence point.
    fn open_cursor(&self, window: Window, from: Option<u64>) -> SourceCursor<EventSource> {
        let source = EventSource::new(&self.file, &self.stream, window, from);
        SourceCursor::new(Arc::clone(&self.stream), source, window, &self.file.options.limits)
    }
}

impl OpenedTrace for NettraceFile {
    fn format(&self) -> &'static str {
        "nettrace"
    }

    fn path(&self) -> &str {
        &self.file.name
    }

    fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    fn streams(&self) -> Vec<StreamSummary> {
        let index = &self.file.index;
        let clock = self.stream.clock();
        let nanoseconds = |ticks: u64| clock.map_or(0, |clock| clock.nanoseconds(ticks));
        vec![StreamSummary {
            bytes: self.file.bytes.len() as u64,
            time_range: index.times.map(|(begin, end)| (nanoseconds(begin), nanoseconds(end))),
            damage: index.faults.iter().map(|fault| fault.damage(&self.file.name)).collect(),
            ..StreamSummary::new(Arc::clone(&self.stream))
        }]
    }

    fn count_discarded(&self, stream: usize) -> Option<u64> {
        (stream == 0).then(|| RowReader::new(&self.file, (0, u64::MAX), None).count_lost())
    }

    fn data_streams(&self) -> Vec<Arc<DataStream>> {
        vec![Arc::clone(&self.stream)]
    }

    fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        (stream == 0).then(|| self.open_cursor(window, None).boxed())
    }

    fn segment_cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        if stream != 0 || self.file.is_unsorted() {
            return None;
        }
        let source = EventSource::new(&self.file, &self.stream, window, None).with_segments();
        let limits = &self.file.options.limits;
        Some(SourceCursor::new(Arc::clone(&self.stream), source, window, limits).boxed())
    }

    fn split_points(&self, stream: usize, grain: u64) -> Option<Vec<SplitPoint>> {
        if stream != 0 || self.file.is_unsorted() {
            return None;
        }
        let clock = self.stream.clock()?;
        let mut points = Vec::new();
        let mut last = (0, i128::MIN);
        for barrier in &self.file.index.barriers {
            // Headers are compressed: an event takes some ten times its file size as text, and four times its file size
            // in other formats.
            let bytes = (barrier.offset - last.0).saturating_mul(3);
            let time = clock.nanoseconds(barrier.timestamp);
            if bytes >= grain && time > last.1 {
                points.push(SplitPoint { time, bytes, overlap: 0 });
                last = (barrier.offset, time);
            }
        }
        Some(points)
    }

    fn cursor_from(&self, stream: usize, window: Window, begin: i128) -> Option<BoxedCursor> {
        if stream != 0 {
            return None;
        }
        let clock = self.stream.clock()?;
        let barriers = &self.file.index.barriers;
        let behind = barriers.partition_point(|barrier| clock.nanoseconds(barrier.timestamp) <= begin);
        let from = behind.checked_sub(1).and_then(|index| barriers.get(index)).map(|barrier| barrier.offset);
        let mut cursor = self.open_cursor(window, from);
        advance_to(&mut cursor as &mut dyn StreamCursor, begin);
        Some(cursor.boxed())
    }
}
