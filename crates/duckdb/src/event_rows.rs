//! Reads events as rows.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ichnos::Selection;
use ichnos::model::cursor::{BoxedCursor, MessageKind};
use ichnos::model::event::{EventCounts, StreamTable};
use ichnos::model::log::LogLevel;
use ichnos::model::{Event, Message};
use ichnos::table::{OrderedBatches, Projection, TableBatch, TableOptions, TablePlan};
use ichnos::viewers::log_line::LogFields;

use crate::array;
use crate::columns::UnionColumn;
use crate::duckdb::{Chunk, ColumnType, Rows, Vector};
use crate::query::Query;

/// Number of events that are counted at once.
const COUNTED: u32 = 1 << 20;

/// Maximum number of classes whose columns are kept in a thread.
const MOST_PLANS: usize = 1_024;

/// Column of events.
#[derive(Clone, Debug)]
pub(crate) enum EventColumn {
    /// Field or property.
    Field(UnionColumn),
    /// Name of the class.
    Name,
    /// Path of the trace.
    Trace,
    /// Log level.
    Level,
    /// Log message.
    Message,
}

impl EventColumn {
    /// Returns the name and the type.
    pub(crate) fn declaration(&self) -> (String, ColumnType) {
        let text = |name: &str| (name.to_owned(), ColumnType::Text);
        match self {
            Self::Field(column) => (column.name.clone(), column.of.clone()),
            Self::Name => text("event"),
            Self::Trace => text("trace"),
            Self::Level => text("level"),
            Self::Message => text("message"),
        }
    }

    fn is_of_log(&self) -> bool {
        matches!(self, Self::Level | Self::Message)
    }
}

impl From<UnionColumn> for EventColumn {
    fn from(column: UnionColumn) -> Self {
        if column.name == "event" { Self::Name } else { Self::Field(column) }
    }
}

/// Run over the events of a query, shared by all threads.
pub(crate) struct EventScan {
    units: Vec<ScanUnit>,
    next: AtomicUsize,
    /// Columns of a chunk.
    columns: Vec<Option<EventColumn>>,
    options: TableOptions,
    /// `true` if a column is of the log line.
    has_log: bool,
    /// Query without running threads, if they are not needed.
    light: Option<Query>,
}

/// Approximate size of a part of a data stream, in bytes.
const PART: u64 = 4 << 20;

/// Part of the events that one thread reads.
#[derive(Clone, Debug)]
struct ScanUnit {
    trace: usize,
    stream: usize,
    /// Packets, `None` for the whole data stream.
    packets: Option<Range<u64>>,
}

/// Divides all data streams into parts of some packets, where packets can be read alone.
fn units(query: &Query) -> Vec<ScanUnit> {
    let mut units = Vec::new();
    for (number, trace) in query.session.traces().iter().enumerate() {
        let mut stream = 0;
        trace.for_each_stream(&mut |summary| {
            let each = summary.bytes.checked_div(summary.packets).unwrap_or(0).max(1);
            let count = (PART / each).max(1);
            let unit = |packets| ScanUnit { trace: number, stream, packets };
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

/// Batch that waits for the next chunks.
struct ReadyBatch {
    batch: TableBatch,
    rows: Vec<u32>,
    /// Column in the batch for each column of a chunk.
    columns: Arc<[Option<usize>]>,
}

/// Thread of a run.
pub(crate) struct EventThread {
    cursor: Option<BoxedCursor>,
    /// Path of the trace that is read.
    path: String,
    log: LogRows,
    /// `true` if the current message was read.
    is_started: bool,
    selection: Selection,
    batches: OrderedBatches,
    ready: Vec<ReadyBatch>,
    /// Number of rows in the ready batches, and of rows that were copied.
    rows: usize,
    copied: usize,
    plans: HashMap<usize, (Arc<TablePlan>, Arc<[Option<usize>]>)>,
    /// Number of counted events without a row so far.
    counted: u64,
}

impl EventScan {
    /// Starts a run that returns some columns.
    pub(crate) fn new(
        query: &Query,
        all: &[EventColumn],
        columns: &[Option<usize>],
        options: &TableOptions,
    ) -> Result<Self, String> {
        let columns: Vec<Option<EventColumn>> =
            columns.iter().map(|column| column.and_then(|column| all.get(column)).cloned()).collect();
        let fields = columns.iter().flatten().filter_map(|column| match column {
            EventColumn::Field(column) => Some(column),
            _ => None,
        });
        let names: Vec<&str> =
            fields.flat_map(|column| column.spellings.iter().map(String::as_str)).collect();
        let light = query.without_running(names.iter().copied())?;
        let options = options.clone().with_columns(Projection::exact(names.iter().copied()));
        let has_log = columns.iter().flatten().any(EventColumn::is_of_log);
        let units = units(light.as_ref().unwrap_or(query));
        Ok(Self { units, next: AtomicUsize::new(0), columns, options, has_log, light })
    }

    /// Returns the query to read.
    fn query<'q>(&'q self, query: &'q Query) -> &'q Query {
        self.light.as_ref().unwrap_or(query)
    }

    /// Returns the number of threads that can read at once.
    pub(crate) fn threads(&self) -> u64 {
        self.units.len() as u64
    }

    /// Returns `true` if no value matters.
    fn only_counts(&self) -> bool {
        self.columns.iter().all(Option::is_none)
    }
}

impl EventThread {
    pub(crate) fn new(query: &Query, scan: &EventScan) -> Self {
        let query = scan.query(query);
        let streams: Vec<_> = query.streams().into_iter().map(|place| place.stream).collect();
        Self {
            cursor: None,
            path: String::new(),
            log: LogRows::default(),
            is_started: false,
            selection: query.selection.clone(),
            batches: OrderedBatches::new(&streams, scan.options.clone()),
            ready: Vec::new(),
            rows: 0,
            copied: 0,
            plans: HashMap::new(),
            counted: 0,
        }
    }

    /// Fills the next chunk. Returns the number of rows, 0 at the end.
    pub(crate) fn fill(
        &mut self,
        query: &Query,
        scan: &EventScan,
        chunk: &mut Chunk<'_>,
    ) -> Result<usize, String> {
        let query = scan.query(query);
        loop {
            if self.counted > 0 {
                let rows = self.counted.min(chunk.capacity() as u64);
                self.counted -= rows;
                return Ok(rows as usize);
            }
            if self.copied < self.rows {
                return self.copy(scan, chunk);
            }
            if self.cursor.is_none() && !self.next_unit(query, scan) {
                return Ok(0);
            }
            if scan.only_counts() {
                self.count();
            } else {
                self.read(scan).map_err(|error| error.to_string())?;
            }
        }
    }

    /// Starts with the next unit. Returns `false` after the last one.
    fn next_unit(&mut self, query: &Query, scan: &EventScan) -> bool {
        while let Some(unit) = scan.units.get(scan.next.fetch_add(1, Ordering::Relaxed)) {
            self.cursor = query.cursor(unit.trace, unit.stream, unit.packets.clone());
            let trace = query.session.traces().get(unit.trace);
            self.path = trace.map(|trace| trace.path().to_owned()).unwrap_or_default();
            self.is_started = false;
            if self.cursor.is_some() {
                return true;
            }
        }
        false
    }

    /// Counts some events.
    fn count(&mut self) {
        let Some(cursor) = &mut self.cursor else { return };
        if self.selection.wants_all_events() {
            let mut counts = EventCounts::default();
            if cursor.count_events(COUNTED, &mut counts).is_none() {
                self.cursor = None;
            }
            self.counted = counts.sum();
            return;
        }
        for _ in 0..COUNTED {
            let Some(head) = cursor.next_head() else {
                self.cursor = None;
                return;
            };
            if head.kind == MessageKind::Event
                && let Some(Message::Event(event)) = cursor.current()
                && self.selection.wants_event(&event)
            {
                self.counted += 1;
            }
        }
    }

    /// Reads rows up to the next batches, or to the end of the unit.
    fn read(&mut self, scan: &EventScan) -> Result<(), std::io::Error> {
        let Self { cursor, is_started, selection, batches, log, .. } = self;
        log.clear();
        let Some(messages) = cursor else { return Ok(()) };
        let is_plain = selection.wants_all_events();
        let mut failed = Ok(());
        let mut take = |message: &Message<'_>| {
            match message {
                Message::Event(event) if is_plain || selection.wants_event(event) => {
                    if scan.has_log {
                        log.add(event);
                    }
                    match batches.add(event) {
                        Ok(false) => {}
                        Ok(true) => return ControlFlow::Break(()),
                        Err(error) => {
                            failed = Err(error);
                            return ControlFlow::Break(());
                        }
                    }
                }
                Message::PacketBegin(packet) => batches.begin_packet(packet),
                _ => {}
            }
            ControlFlow::Continue(())
        };
        // The current message was already read.
        let goes_on = !*is_started || messages.advance();
        *is_started = true;
        if !goes_on || !messages.drain_all(&mut take) {
            *cursor = None;
        }
        failed?;
        let placed = self.batches.take()?;
        self.ready.clear();
        (self.rows, self.copied) = (0, 0);
        for placed in placed {
            self.rows += placed.rows.len();
            let columns = self.columns_of(&placed.batch.plan, scan);
            self.ready.push(ReadyBatch { batch: placed.batch, rows: placed.rows, columns });
        }
        Ok(())
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
                    fields.iter().position(|field| column.spellings.contains(field.name()))
                }
                _ => None,
            };
            let columns = scan.columns.iter().map(|column| column.as_ref().and_then(find));
            (Arc::clone(plan), columns.collect())
        });
        Arc::clone(&known.1)
    }

    /// Copies the next rows.
    fn copy(&mut self, scan: &EventScan, chunk: &mut Chunk<'_>) -> Result<usize, String> {
        let begin = self.copied;
        let end = self.rows.min(begin + chunk.capacity());
        let (first, last) = (begin as u32, end as u32);
        // Part of each batch, and its rows in the chunk.
        let mut parts = Vec::with_capacity(self.ready.len());
        for ready in &self.ready {
            let from = ready.rows.partition_point(|row| *row < first);
            let to = ready.rows.partition_point(|row| *row < last);
            if let Some(rows) = ready.rows.get(from..to).filter(|rows| !rows.is_empty()) {
                parts.push((ready, from, Rows::new(rows, first)));
            }
        }
        for (index, column) in scan.columns.iter().enumerate() {
            let (Some(column), Some(mut vector)) = (column, chunk.column(index)) else { continue };
            match column {
                EventColumn::Field(column) => {
                    let parts = FieldParts { parts: &parts, index, rows: end - begin };
                    parts.write(&mut vector).map_err(|error| format!("column {}: {error}", column.name))?;
                }
                EventColumn::Name => {
                    for (ready, _, rows) in &parts {
                        vector.write_same(*rows, ready.batch.plan.label().as_bytes());
                    }
                }
                EventColumn::Trace => vector.write_same(Rows::Range(0, end - begin), self.path.as_bytes()),
                EventColumn::Level => self.log.write_levels(&mut vector, begin..end),
                EventColumn::Message => self.log.write_messages(&mut vector, begin..end),
            }
        }
        self.copied = end;
        Ok(end - begin)
    }
}

/// Parts of batches in a chunk, for a field.
struct FieldParts<'p> {
    /// Each batch, the first row in it, and the rows in the chunk.
    parts: &'p [(&'p ReadyBatch, usize, Rows<'p>)],
    index: usize,
    /// Number of rows in the chunk.
    rows: usize,
}

impl FieldParts<'_> {
    fn write(&self, vector: &mut Vector<'_>) -> Result<(), String> {
        let has = |ready: &ReadyBatch| ready.columns.get(self.index).copied().flatten();
        let covered = self.parts.iter().filter(|(ready, ..)| has(ready).is_some());
        if covered.map(|(.., rows)| rows.len()).sum::<usize>() < self.rows {
            vector.clear(self.rows);
        }
        for (ready, from, rows) in self.parts {
            let Some(place) = has(ready) else { continue };
            let Some(values) = ready.batch.batch.columns().get(place) else { continue };
            array::write(vector, *rows, &values.slice(*from, rows.len()))?;
        }
        Ok(())
    }
}

/// Log levels and messages of the rows.
#[derive(Default)]
struct LogRows {
    classes: StreamTable<(), (), LogFields>,
    levels: Vec<Option<LogLevel>>,
    /// All messages, and the end of each. An event without a message has none.
    messages: String,
    ends: Vec<(usize, bool)>,
    text: String,
}

impl LogRows {
    fn clear(&mut self) {
        self.levels.clear();
        self.messages.clear();
        self.ends.clear();
    }

    fn add(&mut self, event: &Event<'_>) {
        if !self.classes.has(event.stream) {
            self.classes.insert(event.stream, (), || ());
        }
        let Some((_, _, classes)) = self.classes.get_mut(event.stream) else { return };
        let fields = classes.for_event(event, || LogFields::for_event(event));
        self.levels.push(fields.level(event));
        let has_message = fields.has_message();
        if has_message {
            fields.message(event, &mut self.text);
            self.messages.push_str(&self.text);
        }
        self.ends.push((self.messages.len(), has_message));
    }

    fn write_levels(&self, vector: &mut Vector<'_>, rows: Range<usize>) {
        for (row, level) in self.levels.get(rows).unwrap_or_default().iter().enumerate() {
            vector.set_valid(row, level.is_some());
            if let Some(level) = level {
                vector.write_bytes(row, level.name().as_bytes());
            }
        }
    }

    fn write_messages(&self, vector: &mut Vector<'_>, rows: Range<usize>) {
        let before = rows.start.checked_sub(1).and_then(|before| self.ends.get(before));
        let mut begin = before.map_or(0, |(end, _)| *end);
        for (row, (end, has_message)) in self.ends.get(rows).unwrap_or_default().iter().enumerate() {
            let text = self.messages.get(begin..*end).filter(|_| *has_message);
            vector.set_valid(row, text.is_some());
            if let Some(text) = text {
                vector.write_bytes(row, text.as_bytes());
            }
            begin = *end;
        }
    }
}
