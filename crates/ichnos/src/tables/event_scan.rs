//! Reads events as rows.

use std::collections::HashMap;
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ichnos_model::cursor::{BoxedCursor, MessageKind};
use ichnos_model::event::EventCounts;
use ichnos_model::{Cursor as _, Message};
use ichnos_table::arrow_array::Int64Array;
use ichnos_table::arrow_array::builder::NullBufferBuilder;
use ichnos_table::{BATCH_ROWS, OrderedBatches, Projection, TableBatch, TableOptions, TablePlan};

use super::EventColumn;
use super::log_texts::{LogReader, LogTexts};
use crate::Selection;
use crate::query::{QueryError, TraceQuery};

/// Number of events that are counted at once.
const COUNTED: u32 = 1 << 20;

/// Maximum number of classes whose columns are kept in a reader.
const MOST_PLANS: usize = 1_024;

/// Approximate size of a part of a data stream, in bytes.
const PART: u64 = 4 << 20;

/// Part of the events that one thread reads.
#[derive(Clone, Debug)]
enum ScanUnit {
    /// All data streams, merged by time.
    All,
    /// Data stream.
    Stream {
        trace: usize,
        stream: usize,
        /// Packets, `None` for the whole data stream.
        packets: Option<Range<u64>>,
    },
}

/// Divides all data streams into parts of some packets, where packets can be read alone.
fn units(query: &TraceQuery) -> Vec<ScanUnit> {
    let mut units = Vec::new();
    for (number, trace) in query.session().traces().iter().enumerate() {
        let mut stream = 0;
        trace.for_each_stream(&mut |summary| {
            let each = summary.bytes.checked_div(summary.packets).unwrap_or(0).max(1);
            let count = (PART / each).max(1);
            let unit = |packets| ScanUnit::Stream { trace: number, stream, packets };
            let first = 0..count.min(summary.packets);
            if summary.packets > count && query.cursor(number, stream, Some(first)).is_some() {
                let begins = (0..summary.packets).step_by(usize::try_from(count).unwrap_or(usize::MAX));
                units.extend(begins.map(|begin| unit(Some(begin..(begin + count).min(summary.packets)))));
            } else {
                units.push(unit(None));
            }
            stream += 1;
        });
    }
    units
}

/// Run over the events of a query, shared by its readers.
#[derive(Debug)]
pub struct EventScan {
    /// Query to read, without running threads if they are not needed.
    query: Arc<TraceQuery>,
    units: Vec<ScanUnit>,
    next: AtomicUsize,
    /// Wanted columns.
    columns: Vec<Option<EventColumn>>,
    options: TableOptions,
    /// `true` if the only column is `ts`, for all events.
    only_times: bool,
    /// `true` if a column is of the log line.
    has_log: bool,
    /// `true` if a column is the path of the trace.
    has_path: bool,
}

/// Rows or counted events.
#[derive(Debug)]
pub enum ReadBlock {
    /// Number of events, for a scan without columns.
    Count(u64),
    /// Values of the only column, `ts`.
    Times(Int64Array),
    /// Rows with values.
    Rows(ReadRows),
}

/// Rows in the order of the events in their data stream.
#[derive(Debug, Default)]
pub struct ReadRows {
    parts: Vec<BlockPart>,
    rows: usize,
    /// Paths of traces, and the path of each row. Rows without one have the first path.
    paths: Vec<Arc<str>>,
    path_of_row: Vec<u32>,
    log: LogTexts,
}

/// Rows of one class.
#[derive(Debug)]
pub struct BlockPart {
    /// Values.
    pub batch: TableBatch,
    /// Index of each row among all rows of the block, sorted.
    pub rows: Vec<u32>,
    /// Column in the batch for each column of the scan.
    pub columns: Arc<[Option<usize>]>,
}

/// Plan of a class, and its column for each column of the scan.
type PlannedColumns = (Arc<TablePlan>, Arc<[Option<usize>]>);

/// Reads a part of the events after the other, on one thread.
pub struct EventReader {
    cursor: Option<BoxedCursor>,
    /// Path of the trace that is read.
    path: Arc<str>,
    log: LogReader,
    /// `true` if the current message was read.
    is_started: bool,
    /// `true` if the events are of all data streams.
    is_merged: bool,
    selection: Selection,
    batches: OrderedBatches,
    plans: HashMap<usize, PlannedColumns>,
}

impl std::fmt::Debug for EventReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl EventScan {
    /// Starts a run that returns some columns. `None` is a column whose values do not matter.
    ///
    /// # Errors
    /// If clocks are not correlated, or the traces cannot be opened again.
    pub fn new(
        query: &Arc<TraceQuery>,
        columns: Vec<Option<EventColumn>>,
        options: &TableOptions,
    ) -> Result<Self, QueryError> {
        query.check_clocks()?;
        let fields = columns.iter().flatten().filter_map(|column| match column {
            EventColumn::Field(column) => Some(column),
            _ => None,
        });
        let names: Vec<&str> =
            fields.flat_map(|column| column.spellings.iter().map(String::as_str)).collect();
        let query = query.without_running(names.iter().copied())?.map_or_else(|| Arc::clone(query), Arc::new);
        let options = options.clone().with_columns(Projection::exact(names.iter().copied()));
        let has_log = columns.iter().flatten().any(EventColumn::is_of_log);
        let has_path = columns.iter().flatten().any(|column| matches!(column, EventColumn::Trace(_)));
        let units = units(&query);
        let is_time = |column: &Option<EventColumn>| column.as_ref().is_some_and(EventColumn::is_time);
        let only_times = columns.len() == 1 && columns.iter().all(is_time);
        let only_times = only_times && query.selection().wants_all_events();
        Ok(Self { query, units, next: AtomicUsize::new(0), columns, options, only_times, has_log, has_path })
    }

    /// Makes one reader return all events, sorted by time.
    #[must_use]
    pub fn by_time(self) -> Self {
        Self { units: vec![ScanUnit::All], ..self }
    }

    /// Returns the number of readers that can read at once.
    #[must_use]
    pub fn most_readers(&self) -> usize {
        self.units.len()
    }

    /// Returns the columns.
    #[must_use]
    pub fn columns(&self) -> &[Option<EventColumn>] {
        &self.columns
    }

    /// Returns `true` if no value matters.
    fn only_counts(&self) -> bool {
        self.columns.iter().all(Option::is_none)
    }
}

impl ReadRows {
    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns `true` without rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the rows of each class.
    #[must_use]
    pub fn parts(&self) -> &[BlockPart] {
        &self.parts
    }

    /// Returns the path of the trace of a row, if a column of the scan needs it.
    #[must_use]
    pub fn path(&self, row: usize) -> &str {
        let index = self.path_of_row.get(row).map_or(0, |index| *index as usize);
        self.paths.get(index).map_or("", |path| path)
    }

    /// Returns the log level of a row, if a column of the scan needs it.
    #[must_use]
    pub fn level(&self, row: usize) -> Option<&'static str> {
        self.log.level(row)
    }

    /// Returns the log message of a row, if a column of the scan needs it.
    #[must_use]
    pub fn message(&self, row: usize) -> Option<&str> {
        self.log.message(row)
    }
}

impl EventReader {
    /// Starts a reader, which takes parts that no other reader of the scan takes.
    #[must_use]
    pub fn new(scan: &EventScan) -> Self {
        let streams: Vec<_> = scan.query.streams().into_iter().map(|part| part.stream).collect();
        Self {
            cursor: None,
            path: Arc::default(),
            log: LogReader::default(),
            is_started: false,
            is_merged: false,
            selection: scan.query.selection().clone(),
            batches: OrderedBatches::new(&streams, scan.options.clone()),
            plans: HashMap::new(),
        }
    }

    /// Returns the next rows, which are not empty. `None` at the end.
    ///
    /// # Errors
    /// If the rows do not form a batch, which would be a bug.
    pub fn read(&mut self, scan: &EventScan) -> io::Result<Option<ReadBlock>> {
        self.read_some(scan, usize::MAX, &mut || Ok(()))
    }

    /// Returns the next rows, about `most` of them. For each message that is read, `check` can end reading with an error.
    ///
    /// # Errors
    /// The error of `check`, or if the rows do not form a batch.
    pub fn read_some(
        &mut self,
        scan: &EventScan,
        most: usize,
        check: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<Option<ReadBlock>> {
        loop {
            if let Some(block) = self.read_part(scan, most, check)? {
                return Ok(Some(block));
            }
            let part = scan.next.fetch_add(1, Ordering::Relaxed);
            if part >= scan.units.len() {
                return Ok(None);
            }
            self.start_part(scan, part);
        }
    }

    /// Starts with a part of the events, by its number below [`EventScan::most_readers`].
    pub fn start_part(&mut self, scan: &EventScan, part: usize) {
        self.path = Arc::default();
        let unit = scan.units.get(part);
        self.cursor = match unit {
            None => None,
            // The clocks were checked before.
            Some(ScanUnit::All) => scan.query.merged().ok(),
            Some(ScanUnit::Stream { trace, stream, packets }) => {
                let opened = scan.query.session().traces().get(*trace);
                self.path = opened.map(|trace| trace.path().into()).unwrap_or_default();
                scan.query.cursor(*trace, *stream, packets.clone())
            }
        };
        self.is_merged = matches!(unit, Some(ScanUnit::All));
        self.is_started = false;
    }

    /// Returns the next rows of the part, as [`Self::read_some`] does. `None` at its end.
    ///
    /// # Errors
    /// As for [`Self::read_some`].
    pub fn read_part(
        &mut self,
        scan: &EventScan,
        most: usize,
        check: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<Option<ReadBlock>> {
        while self.cursor.is_some() {
            if scan.only_counts() {
                check()?;
                let count = self.count();
                if count > 0 {
                    return Ok(Some(ReadBlock::Count(count)));
                }
            } else if scan.only_times {
                let times = self.read_times(most, check)?;
                if !times.is_empty() {
                    return Ok(Some(ReadBlock::Times(times)));
                }
            } else {
                let rows = self.read_rows(scan, most, check)?;
                if rows.rows > 0 {
                    return Ok(Some(ReadBlock::Rows(rows)));
                }
            }
        }
        Ok(None)
    }

    /// Counts some events.
    fn count(&mut self) -> u64 {
        let Some(cursor) = &mut self.cursor else { return 0 };
        if self.selection.wants_all_events() {
            let mut counts = EventCounts::default();
            if cursor.count_events(COUNTED, &mut counts).is_none() {
                self.cursor = None;
            }
            return counts.sum();
        }
        let mut count = 0;
        for _ in 0..COUNTED {
            let Some(head) = cursor.next_head() else {
                self.cursor = None;
                break;
            };
            if head.kind == MessageKind::Event
                && let Some(Message::Event(event)) = cursor.current()
                && self.selection.wants_event(&event)
            {
                count += 1;
            }
        }
        count
    }

    /// Reads up to `most` event times. Most of them come from the headers alone.
    fn read_times(
        &mut self,
        most: usize,
        check: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<Int64Array> {
        let most = most.min(BATCH_ROWS);
        let mut times = Vec::with_capacity(most);
        let mut validity = NullBufferBuilder::new(most);
        while let Some(cursor) = &mut self.cursor
            && times.len() < most
        {
            check()?;
            let before = times.len();
            cursor.skip_times((most - before - 1) as u32, &mut times);
            validity.append_n_non_nulls(times.len() - before);
            if !cursor.advance() {
                self.cursor = None;
            } else if let Some(Message::Event(event)) = cursor.current() {
                let time = event.nanoseconds().and_then(|time| i64::try_from(time).ok());
                validity.append(time.is_some());
                times.push(time.unwrap_or(0));
            }
        }
        Ok(Int64Array::new(times.into(), validity.finish()))
    }

    /// Reads rows up to the next batches, or to the end of the unit.
    fn read_rows(
        &mut self,
        scan: &EventScan,
        most: usize,
        check: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<ReadRows> {
        let mut found = ReadRows { paths: vec![Arc::clone(&self.path)], ..ReadRows::default() };
        let mut paths = (self.is_merged && scan.has_path).then(RowPaths::default);
        let Self { cursor, is_started, selection, batches, log, .. } = self;
        let Some(messages) = cursor else { return Ok(found) };
        let is_plain = selection.wants_all_events();
        let mut failed = Ok(());
        let mut add = |message: &Message<'_>| -> io::Result<bool> {
            let mut is_enough = false;
            match message {
                Message::Event(event) if is_plain || selection.wants_event(event) => {
                    if scan.has_log {
                        log.add(event, &mut found.log);
                    }
                    if let Some(paths) = &mut paths {
                        paths.add(&event.stream.trace.path);
                    }
                    is_enough = batches.add(event)? || batches.rows() >= most;
                }
                Message::PacketBegin(packet) => batches.begin_packet(packet),
                _ => {}
            }
            check()?;
            Ok(is_enough)
        };
        let mut take = |message: &Message<'_>| match add(message) {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => ControlFlow::Break(()),
            Err(error) => {
                failed = Err(error);
                ControlFlow::Break(())
            }
        };
        // The current message was already read.
        let goes_on = !*is_started || messages.advance();
        *is_started = true;
        if !goes_on || !messages.drain_all(&mut take) {
            *cursor = None;
        }
        failed?;
        if let Some(paths) = paths {
            (found.paths, found.path_of_row) = (paths.paths, paths.rows);
        }
        let placed = self.batches.take()?;
        for placed in placed {
            found.rows += placed.rows.len();
            let columns = self.columns_of(&placed.batch.plan, scan);
            found.parts.push(BlockPart { batch: placed.batch, rows: placed.rows, columns });
        }
        Ok(found)
    }

    /// Returns the column in a batch for each column of a chunk.
    fn columns_of(&mut self, plan: &Arc<TablePlan>, scan: &EventScan) -> Arc<[Option<usize>]> {
        if self.plans.len() > MOST_PLANS {
            self.plans.clear();
        }
        // The plan keeps its address while it is in the map.
        let known = self.plans.entry(Arc::as_ptr(plan).addr()).or_insert_with(|| {
            let fields = plan.schema().fields();
            let find = |column: &EventColumn| match column {
                EventColumn::Field(column) => {
                    fields.iter().position(|field| column.takes(field.name(), field.data_type()))
                }
                _ => None,
            };
            let columns = scan.columns.iter().map(|column| column.as_ref().and_then(find));
            (Arc::clone(plan), columns.collect())
        });
        Arc::clone(&known.1)
    }
}

/// Paths of the traces of some rows.
#[derive(Default)]
struct RowPaths {
    paths: Vec<Arc<str>>,
    rows: Vec<u32>,
}

impl RowPaths {
    fn add(&mut self, path: &str) {
        let is_it = |known: &Arc<str>| **known == *path;
        let last = self.rows.last().map(|last| *last as usize);
        let index = match last.filter(|last| self.paths.get(*last).is_some_and(is_it)) {
            Some(last) => last,
            None => self.paths.iter().position(is_it).unwrap_or_else(|| {
                self.paths.push(path.into());
                self.paths.len() - 1
            }),
        };
        self.rows.push(index as u32);
    }
}
