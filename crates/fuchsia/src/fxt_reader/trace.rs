//! Opens Fuchsia traces.

use std::sync::Arc;

use ichnos_io::{Bytes, Kept};
use ichnos_model::clock::{ClockClass, ClockOffsets};
use ichnos_model::cursor::{BoxedCursor, ResumePoint};
use ichnos_model::meaning::ClassMap;
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::plan::PlanError;
use ichnos_model::source::SourceCursor;
use ichnos_model::trace::{Limits, StreamSummary, skip_events};
use ichnos_model::{Cursor as _, DataStream, OpenedTrace, Trace, Window};

use super::class;
use super::file::{AddressSpaces, FxtFile};
use super::index::{FileIndex, FileScan, StreamIndex};
use super::listed_threads;
use super::source::FxtSource;
use super::symbols;
use crate::fxt::{Initialization, MAGIC, is_big_endian};

/// Options for opening Fuchsia traces.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FxtOptions {
    /// Nanoseconds to add to clock times.
    pub clock_offsets: ClockOffsets,
    /// Mapping that changes event record classes.
    pub class_map: Option<ClassMap>,
    /// `true` to report all broken rules, including those that leave a record readable.
    pub check: bool,
    /// `true` to deliver events in file order.
    pub unsorted: bool,
    /// `true` if the file is still being written: a record that is not whole is left out.
    pub growing: bool,
    /// State of growing files, kept from one opening to the next.
    pub kept: Kept,
    /// Resource limits.
    pub limits: Limits,
}

/// Error when opening a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FxtOpenError {
    /// The file is big-endian.
    #[error(
        "big-endian trace: starts with {:#018x}, expected {MAGIC:#018x} (only little-endian traces are supported)",
        MAGIC.swap_bytes()
    )]
    BigEndian,
    /// The trace class exceeds the limits.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// State of a growing file, kept for its next opening.
struct KeptFxt {
    scan: FileScan<'static>,
    spaces: Arc<AddressSpaces>,
}

/// An opened trace file, with one data stream for each provider.
#[derive(Debug)]
pub struct FxtTrace {
    trace: Arc<Trace>,
    streams: Vec<Arc<DataStream>>,
    file: Arc<FxtFile>,
    damage: Vec<Damage>,
    limits: Limits,
}

/// Total number of event record classes that all cursors of a trace keep, and the minimum for each cursor.
const KNOWN_CLASSES: usize = 8192;
const FEWEST_KNOWN_CLASSES: usize = 64;

/// Minimum limits for each data stream: event record classes and field classes.
const FEWEST_CLASSES: u64 = 1 << 6;
const FEWEST_FIELD_CLASSES: u64 = 1 << 10;

/// Total number of records that all cursors of a trace read ahead for sorting, and the limits for each cursor. A record
/// takes 16 bytes.
const PENDING: usize = 1 << 20;
const FEWEST_PENDING: usize = 1 << 12;
const MOST_PENDING: usize = 1 << 18;

impl FxtTrace {
    /// Opens a file from its bytes. `name` is its path.
    ///
    /// # Errors
    /// If the file is big-endian, or its description exceeds the limits.
    pub fn open(name: &str, bytes: Bytes, options: &FxtOptions) -> Result<Self, FxtOpenError> {
        if is_big_endian(&bytes) {
            return Err(FxtOpenError::BigEndian);
        }
        let former = options.kept.take::<KeptFxt>(name, &bytes);
        let (scan, spaces) = former.map(|former| (former.scan, former.spaces)).unzip();
        let (index, scan) = FileIndex::read(&bytes, &options.limits, options.growing, scan);
        let spaces: Arc<AddressSpaces> = spaces.unwrap_or_default();
        options.kept.put(name, &bytes, KeptFxt { scan, spaces: Arc::clone(&spaces) });
        let (mut clocks, clock_of) = clocks(&index.streams, name);
        for clock in &mut clocks {
            // Output times have 64 bits.
            let offset = options.clock_offsets.for_clock(clock);
            if i64::try_from(offset).is_err() || !clock.add_offset(offset) {
                return Err(PlanError::ClockOffset(clock.id.clone()).into());
            }
        }
        let streams = index.streams.iter().zip(&clock_of);
        let streams = streams.map(|(stream, clock)| (stream.name.as_deref(), *clock)).collect();
        let class = class::trace_class(clocks, streams, index.extended);
        let mut trace = Trace::with_class_map(class, "", &options.limits, options.class_map.as_ref())?;
        name.clone_into(&mut trace.path);
        describe_classes(&trace, &index);
        let kept = options.kept.trace(name, 0, trace);
        let trace = Arc::clone(kept.trace());
        share_classes(&trace, &index, options);
        let only = index.streams.len() == 1;
        let streams = index.streams.iter().enumerate().filter_map(|(number, stream)| {
            let name = if only { name.to_owned() } else { stream_name(name, stream) };
            let id = stream.provider.map(u128::from);
            kept.stream(number, number, id, &name)
        });
        let streams: Vec<_> = streams.collect();
        let problems = index.problems.iter();
        let damage =
            problems.map(|(at, problem)| Damage::new(name, at * 8, DamageKind::Unreadable(problem.clone())));
        let damage = damage.collect();
        let (check, unsorted) = (options.check, options.unsorted);
        let name = name.to_owned();
        let file = Arc::new(FxtFile { name, bytes, index, check, unsorted, spaces });
        let listing = Arc::clone(&file);
        trace.set_threads(move || listed_threads::list(&listing.index));
        if file.index.has_modules {
            // The closure must not own the trace, because the trace owns the closure.
            let file = Arc::clone(&file);
            let clocks: Vec<ClockClass> = clock_of
                .iter()
                .filter_map(|clock| trace.class.clocks.get(usize::from(*clock)).cloned())
                .collect();
            trace.set_symbols(move || symbols::read(&file, &clocks));
        }
        Ok(Self { trace, streams, file, damage, limits: options.limits })
    }
}

impl FxtTrace {
    /// Returns the records of a data stream in file order. `None` for an invalid index.
    fn source(&self, stream: usize, window: Window) -> Option<FxtSource> {
        let most = (KNOWN_CLASSES / self.streams.len().max(1)).max(FEWEST_KNOWN_CLASSES);
        Some(FxtSource::new(&self.file, self.streams.get(stream)?, stream, window, most))
    }

    /// Sorts the remaining records of a data stream by time.
    fn sort(&self, stream: usize, source: &mut FxtSource) {
        if self.file.index.streams.get(stream).is_some_and(|index| !index.is_ordered) {
            source.sort((PENDING / self.streams.len().max(1)).clamp(FEWEST_PENDING, MOST_PENDING));
        }
    }

    fn cursor_of(&self, stream: usize, source: FxtSource, window: Window) -> Option<SourceCursor<FxtSource>> {
        let stream = Arc::clone(self.streams.get(stream)?);
        Some(SourceCursor::new(stream, source, window, &self.limits))
    }
}

/// Makes event record classes describe themselves by their keys.
fn describe_classes(trace: &Trace, index: &FileIndex) {
    let dynamic = (0..index.streams.len()).filter_map(|number| trace.dynamic_classes(number));
    dynamic.for_each(|dynamic| dynamic.describe_with(class::class_of));
}

/// Divides the limits for event record classes among the data streams by size, so that more data streams do not take
/// more memory. Every data stream gets a minimum. The sizes in a growing file are not known yet.
fn share_classes(trace: &Trace, index: &FileIndex, options: &FxtOptions) {
    let size = |stream: &StreamIndex| if options.growing { 1 } else { stream.bytes() };
    let total: u64 = index.streams.iter().map(size).sum();
    for (number, stream) in index.streams.iter().enumerate() {
        let Some(dynamic) = trace.dynamic_classes(number) else { continue };
        let share = |limit: u64, fewest: u64| {
            let share = u128::from(limit) * u128::from(size(stream)) / u128::from(total.max(1));
            u64::try_from(share).unwrap_or(limit).max(fewest)
        };
        let limits = &options.limits;
        let classes = share(limits.dynamic_event_record_classes, FEWEST_CLASSES);
        dynamic.limit_to(classes, share(limits.field_classes, FEWEST_FIELD_CLASSES));
    }
}

/// Returns the distinct clocks, and the clock index of each data stream.
fn clocks(streams: &[StreamIndex], file: &str) -> (Vec<ClockClass>, Vec<u16>) {
    let mut distinct: Vec<Initialization> = Vec::new();
    let clock_of: Vec<u16> = streams
        .iter()
        .map(|stream| {
            let known = distinct.iter().position(|clock| *clock == stream.clock);
            let index = known.unwrap_or_else(|| {
                distinct.push(stream.clock);
                distinct.len() - 1
            });
            // There cannot be more clocks than data streams.
            u16::try_from(index).unwrap_or(u16::MAX)
        })
        .collect();
    // All ticks in a file come from one machine.
    let shared = (distinct.len() > 1).then_some(file);
    let class = |(number, clock): (usize, &Initialization)| {
        let id = if number == 0 { "ticks".to_owned() } else { format!("ticks{}", number + 1) };
        class::clock(id, *clock, shared)
    };
    (distinct.iter().enumerate().map(class).collect(), clock_of)
}

/// Returns the data stream name, for a file with several data streams.
fn stream_name(file: &str, stream: &StreamIndex) -> String {
    let again = if stream.tables.is_some() { ", after a change of its clock" } else { "" };
    match (stream.provider, &stream.name) {
        (Some(id), Some(name)) => {
            format!("{file}/{} (provider {id}{again})", String::from_utf8_lossy(name))
        }
        (Some(id), None) => format!("{file}/provider {id}{again}"),
        (None, _) => format!("{file}/no provider{again}"),
    }
}

impl OpenedTrace for FxtTrace {
    fn format(&self) -> &'static str {
        "fxt"
    }

    fn path(&self) -> &str {
        &self.file.name
    }

    fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    fn streams(&self) -> Vec<StreamSummary> {
        let summary = |(stream, index): (&Arc<DataStream>, &StreamIndex)| {
            let clock = stream.clock();
            let nanoseconds = |ticks: u64| clock.map_or(0, |clock| clock.nanoseconds(ticks));
            StreamSummary {
                files: vec![self.file.name.clone()],
                bytes: index.bytes(),
                time_range: index.times.map(|(first, last)| (nanoseconds(first), nanoseconds(last))),
                ..StreamSummary::new(Arc::clone(stream))
            }
        };
        self.streams.iter().zip(&self.file.index.streams).map(summary).collect()
    }

    fn data_streams(&self) -> Vec<Arc<DataStream>> {
        self.streams.clone()
    }

    fn has_dynamic_classes(&self) -> bool {
        true
    }

    fn shares_stacks(&self) -> bool {
        true
    }

    fn reports_invalid_texts(&self) -> bool {
        true
    }

    fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        let mut source = self.source(stream, window)?;
        if !self.file.unsorted {
            self.sort(stream, &mut source);
        }
        Some(self.cursor_of(stream, source, window)?.boxed())
    }

    fn cursor_after(&self, stream: usize, events: u64) -> Option<BoxedCursor> {
        let window = Window::default();
        let mut cursor = self.cursor_of(stream, self.source(stream, window)?, window)?;
        skip_events(&mut cursor, events);
        self.sort(stream, cursor.source_mut().0);
        Some(cursor.boxed())
    }

    fn cursor_at(&self, stream: usize, place: &ResumePoint, events: u64, sorts: bool) -> Option<BoxedCursor> {
        let window = Window::default();
        let source = self.source(stream, window)?.resumed(place)?;
        let data = Arc::clone(self.streams.get(stream)?);
        let mut cursor = SourceCursor::resumed(data, source, window, &self.limits, |_, _| None);
        skip_events(&mut cursor, events);
        if sorts {
            self.sort(stream, cursor.source_mut().0);
        }
        Some(cursor.boxed())
    }
}
