//! An opened file.

use std::sync::Arc;

use ichnos_io::Bytes;
use ichnos_model::plan::PlanError;
use ichnos_model::{
    BoxedCursor, ClassMap, ClockClass, ClockOffsets, Cursor as _, Damage, DamageKind, DataStream, Limits,
    OpenedTrace, SourceCursor, StreamSummary, Trace, Window,
};

use super::class;
use super::file::{AddressSpaces, FxtFile};
use super::index::{FileIndex, StreamIndex};
use super::source::FxtSource;
use super::symbols;
use crate::fxt::{Initialization, MAGIC, is_big_endian};

/// Options for opening Fuchsia traces.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FxtOptions {
    /// Nanoseconds to add to the times of clocks.
    pub clock_offsets: ClockOffsets,
    /// Change of event record classes.
    pub class_map: Option<ClassMap>,
    /// `true` to report all broken rules, not only those that make a record unreadable.
    pub check: bool,
    /// `true` to deliver events in the order of the file.
    pub unsorted: bool,
    /// Limits on resources.
    pub limits: Limits,
}

/// Error of opening a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FxtOpenError {
    /// The file is big-endian.
    #[error(
        "a big-endian trace: it begins with {:#018x}, expected {MAGIC:#018x}; only little-endian traces can be read",
        MAGIC.swap_bytes()
    )]
    BigEndian,
    /// The class of the trace exceeds the limits.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// An opened trace: a file, with a data stream for each provider.
#[derive(Debug)]
pub struct FxtTrace {
    trace: Arc<Trace>,
    streams: Vec<Arc<DataStream>>,
    file: Arc<FxtFile>,
    damage: Vec<Damage>,
    limits: Limits,
}

/// Number of event record classes that the cursors of a trace together keep at hand, and the minimum of each.
const KNOWN_CLASSES: usize = 8192;
const FEWEST_KNOWN_CLASSES: usize = 64;

/// Numbers of event record classes and of their field classes that every data stream may have.
const FEWEST_CLASSES: u64 = 1 << 6;
const FEWEST_FIELD_CLASSES: u64 = 1 << 10;

/// Number of records that the cursors of a trace together read ahead to sort them, and limits of each: 16 bytes a
/// record.
const PENDING: usize = 1 << 20;
const FEWEST_PENDING: usize = 1 << 12;
const MOST_PENDING: usize = 1 << 18;

impl FxtTrace {
    /// Opens a file with these bytes. `name` is its path.
    ///
    /// # Errors
    /// If the file is big-endian, or its description exceeds the limits.
    pub fn open(name: &str, bytes: Bytes, options: &FxtOptions) -> Result<Self, FxtOpenError> {
        if is_big_endian(&bytes) {
            return Err(FxtOpenError::BigEndian);
        }
        let index = FileIndex::read(&bytes, &options.limits);
        let (mut clocks, clock_of) = clocks(&index.streams, name);
        for clock in &mut clocks {
            // Times are 64-bit numbers in every output.
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
        share_classes(&trace, &index, &options.limits);
        let trace = Arc::new(trace);
        let only = index.streams.len() == 1;
        let streams = index.streams.iter().enumerate().filter_map(|(number, stream)| {
            let name = if only { name.to_owned() } else { stream_name(name, stream) };
            let id = stream.provider.map(u128::from);
            DataStream::new(Arc::clone(&trace), number, id, name).map(Arc::new)
        });
        let streams: Vec<_> = streams.collect();
        let problems = index.problems.iter();
        let damage =
            problems.map(|(at, problem)| Damage::new(name, at * 8, DamageKind::Unreadable(problem.clone())));
        let damage = damage.collect();
        let (check, unsorted) = (options.check, options.unsorted);
        let (name, spaces) = (name.to_owned(), AddressSpaces::default());
        let file = Arc::new(FxtFile { name, bytes, index, check, unsorted, spaces });
        if file.index.has_modules {
            // The trace owns this closure, which must not own the trace.
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

/// Divides the limits on event record classes among the data streams of a file by their sizes: more data streams do not
/// take more memory. Every data stream may have a few.
fn share_classes(trace: &Trace, index: &FileIndex, limits: &Limits) {
    let total: u64 = index.streams.iter().map(StreamIndex::bytes).sum();
    for (number, stream) in index.streams.iter().enumerate() {
        let Some(dynamic) = trace.dynamic_classes(number) else { continue };
        dynamic.describe_with(class::class_of);
        let share = |limit: u64, fewest: u64| {
            let share = u128::from(limit) * u128::from(stream.bytes()) / u128::from(total.max(1));
            u64::try_from(share).unwrap_or(limit).max(fewest)
        };
        let classes = share(limits.dynamic_event_record_classes, FEWEST_CLASSES);
        dynamic.limit_to(classes, share(limits.field_classes, FEWEST_FIELD_CLASSES));
    }
}

/// Returns the distinct clocks of data streams, and the index of the clock of each.
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
            // There are at most as many clocks as data streams.
            u16::try_from(index).unwrap_or(u16::MAX)
        })
        .collect();
    // All ticks of a file are those of one machine.
    let shared = (distinct.len() > 1).then_some(file);
    let class = |(number, clock): (usize, &Initialization)| {
        let id = if number == 0 { "ticks".to_owned() } else { format!("ticks{}", number + 1) };
        class::clock(id, *clock, shared)
    };
    (distinct.iter().enumerate().map(class).collect(), clock_of)
}

/// Returns the name of one of several data streams of a file.
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
        let data_stream = self.streams.get(stream)?;
        let most = (KNOWN_CLASSES / self.streams.len().max(1)).max(FEWEST_KNOWN_CLASSES);
        let mut source = FxtSource::new(&self.file, data_stream, stream, window, most);
        if !self.file.unsorted && self.file.index.streams.get(stream).is_some_and(|index| !index.is_ordered) {
            let most = (PENDING / self.streams.len().max(1)).clamp(FEWEST_PENDING, MOST_PENDING);
            source = source.sorted(most);
        }
        Some(SourceCursor::new(Arc::clone(data_stream), source, window, &self.limits).boxed())
    }
}
