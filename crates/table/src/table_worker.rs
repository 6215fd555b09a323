//! Worker that converts events to batches.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex};

use ichnos_io::{OutputBlock, Worker, WorkerFlow};
use ichnos_model::class::{DataStreamClass, EventRecordClass};
use ichnos_model::event::{Packet, StreamTable};
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::plan::Plan;
use ichnos_model::stack::StackTable;
use ichnos_model::{DataStream, Event, Message, Scope, Trace};

use crate::field_visitor::IntegerVisitor;
use crate::note::TableNote;
use crate::place_columns::RowPlace;
use crate::stack_hashes::StackHashes;
use crate::table_options::{Projection, TableOptions};
use crate::table_plan::{TablePlan, has_column, packet_integer, packet_processor};
use crate::table_rows::{AddedRow, TableBatch, TableRows};

/// Approximate maximum size of all waiting rows, in bytes.
const MOST_WAITING: usize = 64 << 20;

/// Maximum number of tables for undeclared classes. Above it, all are created again.
const MOST_UNDECLARED: usize = 512;

/// Number of losses and damages that are passed on together.
const NOTES: usize = 1_024;

/// Number of batches that are passed on together when all rows become batches.
const BATCHES: usize = 64;

/// Output of a worker for some messages.
#[derive(Debug, Default)]
pub(crate) struct TableBlock {
    pub(crate) batches: Vec<TableBatch>,
    /// Slots of the batches.
    pub(crate) slots: Vec<u32>,
    pub(crate) notes: Vec<TableNote>,
    /// No more events follow.
    pub(crate) is_last: bool,
    /// Error that ends the output.
    pub(crate) error: Option<io::Error>,
}

impl TableBlock {
    /// Returns a worker's block.
    ///
    /// # Errors
    /// If the worker could not make its batches, which would be a bug.
    pub(crate) fn from_output(block: OutputBlock) -> io::Result<Self> {
        let block = block.data.and_then(|data| data.downcast::<Self>().ok());
        match block.map(|block| *block).unwrap_or_default() {
            Self { error: Some(error), .. } => Err(error),
            block => Ok(block),
        }
    }
}

/// Record that an output shares with its workers.
#[derive(Debug, Default)]
pub(crate) struct TableRecord {
    /// Data streams by number.
    pub(crate) streams: Vec<Arc<DataStream>>,
    /// Data stream number by key.
    numbers: HashMap<u32, u32>,
    pub(crate) losses: LossTable,
    /// Number of events with undecodable fields.
    pub(crate) undecoded: u64,
    /// Column names in all tables, if only some columns are wanted. `None` before the first table.
    pub(crate) found_columns: Option<HashSet<String>>,
    /// Data stream classes whose packet losses are recorded, by trace and index.
    classes: HashSet<(usize, usize)>,
}

impl TableRecord {
    /// Adds a data stream and its packet losses.
    pub(crate) fn add_stream(&mut self, stream: &Arc<DataStream>) -> u32 {
        let number = u32::try_from(self.streams.len()).unwrap_or(u32::MAX);
        self.numbers.insert(stream.key, number);
        self.streams.push(Arc::clone(stream));
        if self.classes.insert((Arc::as_ptr(&stream.trace).addr(), stream.class_index)) {
            self.add_packets(stream);
            self.add_clock(stream);
        }
        number
    }

    /// Adds the packet losses: packet fields without a column.
    fn add_packets(&mut self, stream: &DataStream) {
        self.losses.add_members(Scope::PacketHeader, stream.trace.plans.packet_header.as_ref());
        let Some(plan) = stream.plans().packet_context.as_ref() else { return };
        let in_columns = packet_columns(stream.class(), plan);
        let mut members = LossTable::default();
        members.add_members(Scope::PacketContext, Some(plan));
        for (entry, count) in members.iter().filter(|(entry, _)| !in_columns.contains(&entry.field)) {
            self.losses.add(entry.clone(), count);
        }
    }

    /// Adds a loss if the clock's cycles are not whole nanoseconds.
    fn add_clock(&mut self, stream: &DataStream) {
        let Some(clock) = stream.clock() else { return };
        if !1_000_000_000_u64.is_multiple_of(clock.frequency) {
            let field = format!("clock.{}", clock.id);
            let what = "clock cycles -> nanoseconds, rounded down";
            if !self.losses.iter().any(|(known, _)| known.field == field && known.what == what) {
                self.losses.note(LossKind::Rounded, "", field, what);
            }
        }
    }

    /// Returns the number of the first data stream with a class's stack table. It distinguishes equal stacks of
    /// different traces.
    fn stacks_of(&self, trace: &Trace, class: usize) -> usize {
        let table = trace.stacks_of(class).table;
        first_with(&self.streams, table)
    }
}

/// Returns the number of the first data stream with a stack table.
pub(crate) fn first_with(streams: &[Arc<DataStream>], table: &StackTable) -> usize {
    streams.iter().position(|stream| std::ptr::eq(stream.stacks().table, table)).unwrap_or(0)
}

/// Returns the packet context fields that are columns of event record classes, by their names in the loss table.
fn packet_columns(class: &DataStreamClass, plan: &Plan) -> HashSet<String> {
    let members = class.event_records.iter().flat_map(|class| class.meanings.iter());
    let members: HashSet<usize> = members
        .filter(|(member, meaning)| member.scope == Scope::PacketContext && has_column(*meaning))
        .map(|(member, _)| member.index as usize)
        .collect();
    let nodes = members.into_iter().filter_map(|index| packet_integer(plan, index));
    let nodes = nodes.chain(packet_processor(plan));
    let names = nodes.filter_map(|node| plan.get(node)?.name.as_deref());
    names.map(|name| format!("{}.{name}", Scope::PacketContext.short_name())).collect()
}

/// [`TableRecord`] that an output shares with its workers.
pub(crate) type SharedRecord = Arc<Mutex<TableRecord>>;

/// State of a data stream.
#[derive(Debug, Default)]
struct StreamProgress {
    /// Data stream number.
    number: u32,
    /// Current packet, and number of packets so far.
    packet: Option<u64>,
    packets: u64,
    /// Number of events in the packet so far.
    events: u64,
    /// Current packet's number among all data streams of this worker.
    run: u64,
    context: IntegerVisitor,
}

/// Tables for the events of a data stream class.
#[derive(Debug)]
struct ClassTables {
    trace: Arc<Trace>,
    class_index: usize,
    /// Rows by event record class index.
    rows: Vec<Option<Box<TableRows>>>,
    /// Number of classes that the trace declares, and number of tables for undeclared classes.
    declared: usize,
    undeclared: usize,
    /// Rows for events whose class does not belong to the trace.
    other: Option<Box<TableRows>>,
    /// Class of these rows.
    other_class: Option<EventRecordClass>,
    hashes: StackHashes,
}

impl ClassTables {
    /// Returns `true` if an event has a table.
    #[inline]
    fn has_rows(&self, event: &Event<'_>) -> bool {
        event.class_index().is_some_and(|index| self.rows.get(index).is_some_and(Option::is_some))
    }

    /// Returns the rows of the event record class with this index.
    #[inline]
    fn rows_mut(&mut self, index: Option<usize>) -> Option<&mut TableRows> {
        match index {
            Some(index) => self.rows.get_mut(index)?.as_deref_mut(),
            None => self.other.as_deref_mut(),
        }
    }
}

/// Order of the rows in all tables since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct RowOrder {
    /// Slot of each row.
    pub(crate) rows: Vec<u32>,
    /// Number of slots: tables with rows.
    pub(crate) slots: u32,
}

/// Converts events to batches.
#[derive(Debug)]
pub(crate) struct TableWorker {
    options: TableOptions,
    record: SharedRecord,
    streams: StreamTable<StreamProgress, ClassTables, ()>,
    /// Number of packets in all data streams so far, and number of data streams.
    runs: u64,
    block: TableBlock,
    /// Order of the rows, if it is kept.
    pub(crate) order: Option<RowOrder>,
    /// Data stream class and event record class whose rows become a batch next. All rows after them become batches,
    /// too.
    ending: Option<(usize, usize)>,
    /// Number of events in the block and in waiting rows.
    events: u64,
    /// Approximate size of the waiting rows, in bytes.
    waiting: usize,
    losses: LossTable,
    undecoded: u64,
}

impl TableWorker {
    pub(crate) fn new(options: TableOptions, record: SharedRecord) -> Self {
        Self {
            options,
            record,
            streams: StreamTable::default(),
            runs: 0,
            block: TableBlock::default(),
            order: None,
            ending: None,
            events: 0,
            waiting: 0,
            losses: LossTable::default(),
            undecoded: 0,
        }
    }

    /// Returns the place in a data stream. Adds a new data stream.
    #[inline]
    fn place(&mut self, stream: &DataStream) -> Option<&mut StreamProgress> {
        if !self.streams.has(stream) {
            self.add_stream(stream);
        }
        self.streams.state_mut(stream)
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let Self { streams, record, .. } = self;
        // All data streams were added before the first worker was created.
        let number = record.lock().ignore_poison().numbers.get(&stream.key).copied().unwrap_or(u32::MAX);
        self.runs += 1;
        let place = StreamProgress { number, run: self.runs, ..StreamProgress::default() };
        streams.insert(stream, place, || ClassTables {
            trace: Arc::clone(&stream.trace),
            class_index: stream.class_index,
            rows: Vec::new(),
            declared: stream.class().event_records.len(),
            undeclared: 0,
            other: None,
            other_class: None,
            hashes: StackHashes::new(
                record.lock().ignore_poison().stacks_of(&stream.trace, stream.class_index),
            ),
        });
    }

    pub(crate) fn begin_packet(&mut self, packet: &Packet<'_>) {
        self.runs += 1;
        let run = self.runs;
        let Some(place) = self.place(packet.stream) else { return };
        place.run = run;
        place.packet = Some(packet.sequence_number.or(packet.index).unwrap_or(place.packets));
        place.packets += 1;
        place.events = 0;
        place.context.values.clear();
        // Missing fields of a damaged packet are also missing in the columns.
        let _ = packet.visit(Scope::PacketContext, &mut place.context);
    }

    /// Appends an event to the rows of its class.
    #[inline]
    pub(crate) fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if self.options.partition.is_some() {
            self.prepare(event)?;
            self.begin_partition(event)?;
        }
        // Waiting rows without a class index may belong to another class.
        let mut added = event.class_index().and_then(|_| self.add(event));
        if added.is_none() {
            self.prepare(event)?;
            added = self.add(event);
        }
        match added {
            Some(true) => match self.streams.class_index(event.stream) {
                Some(class) => self.end_batch(class, event.class_index()),
                None => Ok(()),
            },
            _ if self.waiting > MOST_WAITING => {
                self.ending = Some((0, 0));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Appends an event to the rows of its class. Returns `true` if there are enough rows for a batch. Returns `None` without
    /// a table.
    #[inline]
    fn add(&mut self, event: &Event<'_>) -> Option<bool> {
        let (place, tables, _) = self.streams.get_mut(event.stream)?;
        let StreamProgress { number, packet, events, run, context, .. } = place;
        let rows = tables.rows_mut(event.class_index())?;
        let (context, sequence) = (&context.values[..], *events);
        let row = RowPlace { run: *run, stream: *number, packet: *packet, sequence, context };
        if let Some(order) = &mut self.order {
            if rows.is_empty() {
                rows.slot = order.slots;
                order.slots += 1;
            }
            order.rows.push(rows.slot);
        }
        let AddedRow { is_decoded, bytes } = rows.add(event, row);
        *events += 1;
        self.events += 1;
        self.undecoded += u64::from(!is_decoded);
        self.waiting += bytes;
        Some(rows.is_full())
    }

    /// Ends the rows of the event's class if they are in another partition.
    fn begin_partition(&mut self, event: &Event<'_>) -> io::Result<()> {
        let time = event.nanoseconds().and_then(|time| i64::try_from(time).ok());
        let partition = self.options.partition.map(|unit| unit.partition(time));
        let (index, class) = (event.class_index(), self.streams.class_index(event.stream));
        let Some(class) = class else { return Ok(()) };
        let is_other = |rows: &&mut TableRows| !rows.is_empty() && rows.partition != partition;
        let tables = self.streams.class_mut(class);
        if tables.and_then(|tables| tables.rows_mut(index)).as_ref().is_some_and(is_other) {
            self.end_batch(class, index)?;
        }
        if let Some(rows) = self.streams.class_mut(class).and_then(|tables| tables.rows_mut(index)) {
            rows.partition = partition;
        }
        Ok(())
    }

    /// Prepares the tables when a data stream or a class has its first event.
    #[cold]
    fn prepare(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.place(event.stream);
        let Some(class) = self.streams.class_index(event.stream) else { return Ok(()) };
        if self.streams.class(class).is_some_and(|class| class.has_rows(event)) {
            return Ok(());
        }
        self.add_rows(event, class)
    }

    /// Adds the table for an event's class.
    #[cold]
    fn add_rows(&mut self, event: &Event<'_>, class: usize) -> io::Result<()> {
        let last = self.streams.class(class).and_then(|tables| tables.other_class.as_ref());
        match event.class_index() {
            None if last == Some(event.class) => return Ok(()),
            None => self.end_batch(class, None)?,
            Some(index) => self.make_room(class, index)?,
        }
        let plan = TablePlan::new(event, &self.options);
        self.losses.merge(plan.losses().clone());
        if let Projection::Named(_) = self.options.projection {
            let mut record = self.record.lock().ignore_poison();
            let found = record.found_columns.get_or_insert_default();
            found.extend(plan.schema().fields().iter().map(|field| field.name().clone()));
        }
        let rows = Some(Box::new(TableRows::new(Arc::new(plan))));
        let Some(tables) = self.streams.class_mut(class) else { return Ok(()) };
        let Some(index) = event.class_index() else {
            tables.other = rows;
            tables.other_class = Some(event.class.clone());
            return Ok(());
        };
        if tables.rows.len() <= index {
            tables.rows.resize_with(index + 1, || None);
        }
        if let Some(place) = tables.rows.get_mut(index) {
            *place = rows;
        }
        Ok(())
    }

    /// Makes space for the table of an undeclared class.
    fn make_room(&mut self, class: usize, index: usize) -> io::Result<()> {
        let Some(tables) = self.streams.class_mut(class).filter(|tables| index >= tables.declared) else {
            return Ok(());
        };
        tables.undeclared += 1;
        if tables.undeclared <= MOST_UNDECLARED {
            return Ok(());
        }
        tables.undeclared = 1;
        let found = tables.declared..tables.rows.len();
        for index in found.clone() {
            self.end_batch(class, Some(index))?;
        }
        if let Some(tables) = self.streams.class_mut(class) {
            tables.rows.truncate(found.start);
        }
        Ok(())
    }

    /// Makes a batch of a class's rows.
    fn end_batch(&mut self, class: usize, index: Option<usize>) -> io::Result<()> {
        let Some(tables) = self.streams.class_mut(class) else { return Ok(()) };
        let (trace, class_index) = (Arc::clone(&tables.trace), tables.class_index);
        let mut hashes = tables.hashes.take();
        let Some(rows) = tables.rows_mut(index).filter(|rows| rows.size() > 0) else {
            tables.hashes = hashes;
            return Ok(());
        };
        let (size, slot) = (rows.size(), rows.slot);
        let batch = rows.finish(trace.stacks_of(class_index).table, &mut hashes);
        rows.move_losses(&mut self.losses);
        tables.hashes = hashes;
        let batch = batch.map_err(io::Error::other)?;
        self.waiting = self.waiting.saturating_sub(size);
        self.block.batches.push(batch);
        self.block.slots.push(slot);
        Ok(())
    }

    /// Makes batches of some rows, if all rows should become batches.
    fn end_batches(&mut self) -> io::Result<()> {
        while let Some((class, index)) = self.ending
            && self.block.batches.len() < BATCHES
        {
            let Some(tables) = self.streams.class_mut(class) else {
                self.ending = None;
                break;
            };
            let count = tables.rows.len();
            let own = if index < count { Some(index) } else { None };
            self.ending = Some(if index < count { (class, index + 1) } else { (class + 1, 0) });
            self.end_batch(class, own)?;
            if self.block.is_last
                && let (Some(tables), Some(index)) = (self.streams.class_mut(class), own)
                && let Some(rows) = tables.rows.get_mut(index)
            {
                // Batches of very many classes need its memory.
                *rows = None;
            }
        }
        Ok(())
    }

    /// Returns `true` if there is a block.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        !self.block.batches.is_empty() || self.block.notes.len() >= NOTES || self.ending.is_some()
    }

    /// Adds the losses to the record, after the last batch.
    fn record_losses(&mut self) {
        let mut record = self.record.lock().ignore_poison();
        record.losses.merge(std::mem::take(&mut self.losses));
        record.undecoded += std::mem::take(&mut self.undecoded);
    }
}

impl Worker for TableWorker {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        match message {
            Message::Event(event) => self.event(event)?,
            Message::PacketBegin(packet) => self.begin_packet(packet),
            Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss) => {
                let stream = self.place(loss.stream).map(|place| place.number);
                let are_packets = matches!(message, Message::DiscardedPackets(_));
                self.block.notes.extend(stream.map(|stream| TableNote::loss(stream, loss, are_packets)));
            }
            Message::Damage(damage) => {
                self.record.lock().ignore_poison().losses.add_damage(damage);
                self.block.notes.push(TableNote::damage(damage));
            }
            _ => {}
        }
        Ok(if self.is_ready() { WorkerFlow::Block } else { WorkerFlow::Continue })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.ending = Some((0, 0));
        Ok(())
    }

    fn take(&mut self) -> Option<OutputBlock> {
        if let Err(error) = self.end_batches() {
            (self.ending, self.block.error) = (None, Some(error));
        }
        let is_last = self.block.is_last;
        if is_last && self.ending.is_none() {
            self.record_losses();
        }
        let block = std::mem::replace(&mut self.block, TableBlock { is_last, ..TableBlock::default() });
        if block.batches.is_empty() && block.notes.is_empty() && block.error.is_none() {
            return None;
        }
        let events = std::mem::take(&mut self.events);
        Some(OutputBlock { events, data: Some(Box::new(block)), ..OutputBlock::default() })
    }

    fn finish(&mut self) -> io::Result<()> {
        self.block.is_last = true;
        self.ending = Some((0, 0));
        Ok(())
    }
}
