//! Side tables of a dataset: data streams, clocks, classes, losses, damage, stacks.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use ichnos_io::WriteShard;
use ichnos_model::class::Value;
use ichnos_model::clock::ClockOrigin;
use ichnos_model::stack::{Frame, StackTable};
use ichnos_model::{DataStream, Trace};

use crate::note::TableNote;
use crate::stack_hashes::StackHashes;
use crate::table_plan::TablePlan;
use crate::table_worker::first_with;

/// Side table directories.
pub(crate) const SIDE_TABLES: [&str; 7] =
    ["_streams", "_clocks", "_classes", "_losses", "_damage", "_stacks", "_frames"];

/// Writes rows to a side table.
pub(crate) type WriteRows<'w> = dyn FnMut(&str, Result<RecordBatch, ArrowError>) -> io::Result<()> + 'w;

/// Number of `_stacks` or `_frames` rows in a batch.
const ROWS: usize = 1 << 16;

fn texts<'t>(values: impl IntoIterator<Item = Option<&'t str>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

fn integers(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int64Array>())
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
}

fn nanoseconds(time: Option<i128>) -> Option<i64> {
    time.and_then(|time| i64::try_from(time).ok())
}

/// Returns the trace number of each data stream, and the traces. Traces are numbered by their first data stream.
fn traces(streams: &[Arc<DataStream>]) -> (Vec<usize>, Vec<&Arc<Trace>>) {
    let mut traces: Vec<&Arc<Trace>> = Vec::new();
    let number = |stream: &'_ Arc<DataStream>, traces: &mut Vec<&'_ Arc<Trace>>| {
        traces.iter().rposition(|trace| Arc::ptr_eq(trace, &stream.trace))
    };
    let mut numbers = Vec::new();
    for stream in streams {
        let found = number(stream, &mut traces).unwrap_or_else(|| {
            traces.push(&stream.trace);
            traces.len() - 1
        });
        numbers.push(found);
    }
    (numbers, traces)
}

/// Data streams of all sources. With shards, each data stream has a row in one shard only.
pub(crate) struct ListedStreams<'s> {
    all: &'s [Arc<DataStream>],
    shard: Option<&'s WriteShard>,
}

impl<'s> ListedStreams<'s> {
    pub(crate) fn new(all: &'s [Arc<DataStream>], shard: Option<&'s WriteShard>) -> Self {
        Self { all, shard }
    }

    /// Returns `true` if the tables contain rows for a data stream.
    fn has(&self, stream: &DataStream) -> bool {
        self.shard.is_none_or(|shard| shard.streams.contains(&stream.key))
    }
}

/// Creates the data stream table, with the numbers in the column `stream`.
pub(crate) fn streams(listed: &ListedStreams<'_>) -> Result<RecordBatch, ArrowError> {
    let (of_traces, _) = traces(listed.all);
    let rows: Vec<usize> = (0..listed.all.len()).filter(|number| listed.has(&listed.all[*number])).collect();
    let streams: Vec<&Arc<DataStream>> = rows.iter().map(|number| &listed.all[*number]).collect();
    let numbers: Vec<usize> = rows.iter().map(|number| of_traces[*number]).collect();
    let id = |stream: &&Arc<DataStream>| stream.id.map(|id| id.to_string());
    let ids: Vec<Option<String>> = streams.iter().map(id).collect();
    let host = |stream: &'_ &Arc<DataStream>| match stream.trace.class.environment("hostname") {
        Some(Value::Text(host)) => Some(host.clone()),
        _ => None,
    };
    let hosts: Vec<Option<String>> = streams.iter().map(host).collect();
    let clock = |stream: &&Arc<DataStream>| stream.clock().and(stream.class().default_clock).map(i64::from);
    table(vec![
        ("stream", Arc::new(rows.iter().map(|number| i32::try_from(*number).ok()).collect::<Int32Array>())),
        ("name", texts(streams.iter().map(|stream| Some(&*stream.name)))),
        ("id", texts(ids.iter().map(Option::as_deref))),
        ("class", texts(streams.iter().map(|stream| stream.class().name.as_deref()))),
        ("trace", integers(numbers.iter().map(|number| i64::try_from(*number).ok()))),
        ("trace_name", texts(streams.iter().map(|stream| Some(stream.trace.name.as_str())))),
        ("trace_path", texts(streams.iter().map(|stream| Some(stream.trace.path.as_str())))),
        ("dialect", texts(streams.iter().map(|stream| Some(stream.trace.class.dialect.as_str())))),
        ("tracer", texts(streams.iter().map(|stream| Some(stream.trace.class.tracer())))),
        ("host", texts(hosts.iter().map(Option::as_deref))),
        ("clock", integers(streams.iter().map(clock))),
    ])
}

/// Creates the clock table, with the clocks' numbers in the trace.
pub(crate) fn clocks(listed: &ListedStreams<'_>) -> Result<RecordBatch, ArrowError> {
    let (numbers, traces) = traces(listed.all);
    // Each trace's clocks are listed with its first data stream.
    let mut next = 0;
    let is_first = |(_, number): &(&Arc<DataStream>, &usize)| {
        let is_first = next == **number;
        next += usize::from(is_first);
        is_first
    };
    let first = listed.all.iter().zip(&numbers).filter(is_first).filter(|(stream, _)| listed.has(stream));
    let clocks = first.filter_map(|(_, number)| Some((*number, traces.get(*number)?)));
    let clocks = clocks.flat_map(|(number, trace)| {
        trace.class.clocks.iter().enumerate().map(move |(clock, class)| (number, clock, class))
    });
    let clocks: Vec<_> = clocks.collect();
    let number = |number: usize| i64::try_from(number).ok();
    let parts = |origin: &'_ ClockOrigin| match origin {
        ClockOrigin::UnixEpoch => [None, Some("1970-01-01".to_owned()), None],
        ClockOrigin::Unknown => [None, None, None],
        ClockOrigin::Named { namespace, name, uid } => {
            [namespace.clone(), Some(name.clone()), Some(uid.clone())]
        }
    };
    let origins: Vec<[Option<String>; 3]> = clocks.iter().map(|(.., clock)| parts(&clock.origin)).collect();
    let unsigned = |values: Vec<Option<u64>>| Arc::new(UInt64Array::from(values)) as ArrayRef;
    table(vec![
        ("trace", integers(clocks.iter().map(|(trace, ..)| number(*trace)))),
        ("clock", integers(clocks.iter().map(|(_, clock, _)| number(*clock)))),
        ("id", texts(clocks.iter().map(|(.., clock)| Some(clock.id.as_str())))),
        ("name", texts(clocks.iter().map(|(.., clock)| clock.name.as_deref()))),
        ("frequency", unsigned(clocks.iter().map(|(.., clock)| Some(clock.frequency)).collect())),
        ("offset_seconds", integers(clocks.iter().map(|(.., clock)| Some(clock.offset_seconds)))),
        ("offset_cycles", unsigned(clocks.iter().map(|(.., clock)| Some(clock.offset_cycles)).collect())),
        ("precision", unsigned(clocks.iter().map(|(.., clock)| clock.precision).collect())),
        ("origin", texts(origins.iter().map(|[_, name, _]| name.as_deref()))),
        ("origin_namespace", texts(origins.iter().map(|[namespace, ..]| namespace.as_deref()))),
        ("origin_uid", texts(origins.iter().map(|[.., uid]| uid.as_deref()))),
    ])
}

/// File with events, for the class table.
#[derive(Debug)]
pub(crate) struct WrittenTable {
    pub(crate) plan: Arc<TablePlan>,
    /// Path in the dataset.
    pub(crate) path: String,
    pub(crate) rows: u64,
    /// Number of columns.
    pub(crate) columns: usize,
    pub(crate) first: Option<i64>,
    pub(crate) last: Option<i64>,
    pub(crate) is_sorted: bool,
}

/// Creates the class table, which lists the files with events.
pub(crate) fn classes(tables: &[WrittenTable]) -> Result<RecordBatch, ArrowError> {
    let sorted = tables.iter().map(|table| Some(table.is_sorted)).collect::<arrow_array::BooleanArray>();
    table(vec![
        ("event", texts(tables.iter().map(|table| Some(table.plan.name())))),
        ("path", texts(tables.iter().map(|table| Some(table.path.as_str())))),
        ("rows", integers(tables.iter().map(|table| i64::try_from(table.rows).ok()))),
        ("columns", integers(tables.iter().map(|table| i64::try_from(table.columns).ok()))),
        ("first_ts", integers(tables.iter().map(|table| table.first))),
        ("last_ts", integers(tables.iter().map(|table| table.last))),
        ("sorted", Arc::new(sorted)),
        ("namespace", texts(tables.iter().map(|table| table.plan.class_properties().namespace.as_deref()))),
        ("uid", texts(tables.iter().map(|table| table.plan.class_properties().uid.as_deref()))),
        ("log_level", integers(tables.iter().map(|table| table.plan.class_properties().log_level))),
        ("emf_uri", texts(tables.iter().map(|table| table.plan.class_properties().emf_uri.as_deref()))),
    ])
}

/// Creates the loss and damage tables.
pub(crate) fn notes(notes: &[TableNote]) -> Result<[RecordBatch; 2], ArrowError> {
    let losses = notes.iter().filter_map(|note| match note {
        TableNote::Loss { stream, are_packets, count, begin, end, thread } => {
            Some((*stream, *are_packets, *count, *begin, *end, *thread))
        }
        TableNote::Damage { .. } => None,
    });
    let losses: Vec<_> = losses.collect();
    let fits = |value: Option<u64>| value.and_then(|value| i64::try_from(value).ok());
    let numbers = losses.iter().map(|loss| i32::try_from(loss.0).ok());
    let losses = table(vec![
        ("stream", Arc::new(numbers.collect::<Int32Array>())),
        ("kind", texts(losses.iter().map(|loss| Some(if loss.1 { "packets" } else { "events" })))),
        ("count", integers(losses.iter().map(|loss| fits(loss.2)))),
        ("begin_ts", integers(losses.iter().map(|loss| nanoseconds(loss.3)))),
        ("end_ts", integers(losses.iter().map(|loss| nanoseconds(loss.4)))),
        ("thread", Arc::new(losses.iter().map(|loss| loss.5).collect::<UInt64Array>())),
    ])?;
    let damages = notes.iter().filter_map(|note| match note {
        TableNote::Damage { stream, file, bit, skipped, problem } => {
            Some((stream.as_deref(), file.as_str(), *bit, *skipped, problem.as_str()))
        }
        TableNote::Loss { .. } => None,
    });
    let damages: Vec<_> = damages.collect();
    let damages = table(vec![
        ("stream_name", texts(damages.iter().map(|damage| damage.0))),
        ("file", texts(damages.iter().map(|damage| Some(damage.1)))),
        ("bit", Arc::new(damages.iter().map(|damage| Some(damage.2)).collect::<UInt64Array>())),
        ("skipped_bits", Arc::new(damages.iter().map(|damage| Some(damage.3)).collect::<UInt64Array>())),
        ("problem", texts(damages.iter().map(|damage| Some(damage.4)))),
    ])?;
    Ok([losses, damages])
}

/// Writes rows of `_stacks` and `_frames` for the call stacks in all traces, without duplicates. A stack table is
/// complete when its trace is opened or its only data stream is read. Therefore, its first data stream has all stacks.
pub(crate) fn stacks(listed: &ListedStreams<'_>, write: &mut WriteRows<'_>) -> io::Result<()> {
    let (mut tables, mut known, mut frames) = (HashSet::new(), HashSet::new(), HashSet::new());
    for stream in listed.all {
        let stacks = stream.stacks();
        let is_new = tables.insert(std::ptr::from_ref::<StackTable>(stacks.table).addr());
        if is_new && listed.has(stream) {
            let mut rows = StackTableWriter { known: &mut known, frames: &mut frames, write };
            rows.add(stream, first_with(listed.all, stacks.table))?;
        }
    }
    Ok(())
}

/// Passes the batches of the tables `_stacks` and `_frames` to `write`, which receives the name of the table. The keys equal
/// the values of the column `stack` if data streams are numbered in this order. All data streams must be read before.
///
/// # Errors
/// Errors of `write`.
pub fn write_stacks(
    streams: &[Arc<DataStream>],
    write: &mut dyn FnMut(&str, RecordBatch) -> io::Result<()>,
) -> io::Result<()> {
    let listed = ListedStreams::new(streams, None);
    stacks(&listed, &mut |table, batch| write(table, batch.map_err(io::Error::other)?))
}

/// Writes the stacks in a stack table.
struct StackTableWriter<'w> {
    known: &'w mut HashSet<i64>,
    frames: &'w mut HashSet<i64>,
    write: &'w mut WriteRows<'w>,
}

impl StackTableWriter<'_> {
    fn add(&mut self, stream: &DataStream, number: usize) -> io::Result<()> {
        let stacks = stream.stacks();
        let mut hashes = StackHashes::new(number);
        let count = stacks.table.len();
        for begin in (0..count).step_by(ROWS) {
            let numbers: Vec<u64> = (begin..count.min(begin + ROWS)).map(|number| number as u64).collect();
            let own = hashes.hash_stacks(stacks.table, &numbers);
            let mut rows = Vec::new();
            let mut frames = Vec::new();
            for (number, hash) in numbers.iter().zip(own) {
                let (Ok(number), Some(hash)) = (u32::try_from(*number), hash) else { continue };
                if !self.known.insert(hash) {
                    continue;
                }
                let view = stacks.table.view();
                let Some((frame, caller)) = view.top(number) else { continue };
                let Some(frame) = view.frame(frame).cloned() else { continue };
                drop(view);
                let caller = caller
                    .and_then(|caller| hashes.hash_stacks(stacks.table, &[caller.into()]).pop().flatten());
                let frame_key = hashes.hash_frame(&frame);
                rows.push((hash, caller, frame_key));
                if self.frames.insert(frame_key) {
                    frames.push((frame_key, frame));
                }
            }
            self.write(stream, &rows, frames)?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        stream: &DataStream,
        rows: &[(i64, Option<i64>, i64)],
        mut frames: Vec<(i64, Frame)>,
    ) -> io::Result<()> {
        if !rows.is_empty() {
            let stacks = table(vec![
                ("stack", integers(rows.iter().map(|row| Some(row.0)))),
                ("caller", integers(rows.iter().map(|row| row.1))),
                ("frame", integers(rows.iter().map(|row| Some(row.2)))),
            ]);
            (self.write)("_stacks", stacks)?;
        }
        for (_, frame) in &mut frames {
            let Some(address) = frame.address else { continue };
            let symbols = stream.stacks().symbols();
            let Some(found) = symbols.resolve(frame.address_space, address, i128::MAX) else { continue };
            frame.symbol = frame.symbol.take().or_else(|| found.symbol.name.clone());
            frame.module = frame.module.take().or_else(|| found.module.cloned());
        }
        if !frames.is_empty() {
            let addresses = frames.iter().map(|(_, frame)| frame.address).collect::<UInt64Array>();
            let frames = table(vec![
                ("frame", integers(frames.iter().map(|(key, _)| Some(*key)))),
                ("address", Arc::new(addresses)),
                ("symbol", texts(frames.iter().map(|(_, frame)| frame.symbol.as_deref()))),
                ("module", texts(frames.iter().map(|(_, frame)| frame.module.as_deref()))),
                ("address_space", integers(frames.iter().map(|(_, frame)| Some(frame.address_space.into())))),
            ]);
            (self.write)("_frames", frames)?;
        }
        Ok(())
    }
}
