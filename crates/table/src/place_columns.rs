//! Columns for the time and the place of events, which are not fields.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::ArrowError;

use crate::table_plan::{MeaningSource, TablePlan};
use crate::validity::ValidityBuilder;

/// Place of an event in its data stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowPlace<'p> {
    /// Packet number, counted over all data streams so far, from 1 on.
    pub(crate) run: u64,
    /// Data stream number.
    pub(crate) stream: u32,
    /// Packet number in the data stream.
    pub(crate) packet: Option<u64>,
    /// Event index in the packet, or in the data stream without packets.
    pub(crate) sequence: u64,
    /// Packet context integers, by node index.
    pub(crate) context: &'p [Option<i128>],
}

/// Integers that wait to become an array.
#[derive(Debug)]
struct IntegerColumn<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    validity: ValidityBuilder,
}

impl<T: ArrowPrimitiveType> IntegerColumn<T> {
    fn new() -> Self {
        Self { values: Vec::new(), validity: ValidityBuilder::new() }
    }

    fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
    }

    #[inline]
    fn push(&mut self, value: Option<T::Native>) {
        if value.is_none() {
            self.validity.push_null(self.values.len());
        }
        self.values.push(value.unwrap_or_default());
    }

    /// Appends a value several times.
    fn push_repeated(&mut self, value: Option<T::Native>, count: usize) {
        let len = self.values.len() + count;
        if value.is_none() {
            self.validity.push_nulls(self.values.len(), count);
        }
        self.values.resize(len, value.unwrap_or_default());
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let values = std::mem::take(&mut self.values);
        let nulls = self.validity.finish(values.len());
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?))
    }
}

/// Wanted columns for the time and the place of events, and for integers of their packets.
#[derive(Debug)]
pub(crate) struct PlaceColumns {
    times: Option<IntegerColumn<Int64Type>>,
    streams: Option<IntegerColumn<Int32Type>>,
    packets: Option<IntegerColumn<Int64Type>>,
    sequences: Option<IntegerColumn<Int64Type>>,
    /// Columns for meanings whose values are in the packet context.
    context: Vec<ContextColumn>,
    run: PacketRun,
    /// Number of packets with numbers or context integers that do not fit.
    pub(crate) lost_packets: u64,
}

/// Column for a packet context integer.
#[derive(Debug)]
struct ContextColumn {
    /// Node index.
    node: usize,
    /// Current packet's value.
    value: Option<i64>,
    integers: IntegerColumn<Int64Type>,
}

/// Latest rows from one packet. They are equal except for the time and the index in the packet. They become column
/// values at the end of the packet, because packets have many events.
#[derive(Clone, Copy, Debug, Default)]
struct PacketRun {
    /// Packet number, counted over all data streams. 0 without a packet.
    run: u64,
    rows: usize,
    stream: u32,
    packet: Option<i64>,
    /// Values in a row that do not fit.
    lost: u64,
}

impl PlaceColumns {
    pub(crate) fn new(plan: &TablePlan) -> Self {
        let wants = |name: &str| plan.properties.contains(&name);
        let context = plan.meanings.iter().filter_map(|meaning| match meaning.source {
            MeaningSource::PacketContext(node) => {
                Some(ContextColumn { node, value: None, integers: IntegerColumn::new() })
            }
            MeaningSource::Field(_) | MeaningSource::Constant(_) => None,
        });
        Self {
            times: plan.has_times().then(IntegerColumn::new),
            streams: wants("stream").then(IntegerColumn::new),
            packets: wants("packet").then(IntegerColumn::new),
            sequences: wants("seq").then(IntegerColumn::new),
            context: context.collect(),
            run: PacketRun::default(),
            lost_packets: 0,
        }
    }

    /// Reserves space for a number of rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        let columns = [&mut self.times, &mut self.packets, &mut self.sequences];
        columns.into_iter().flatten().for_each(|column| column.reserve(rows));
        self.streams.iter_mut().for_each(|column| column.reserve(rows));
        self.context.iter_mut().for_each(|column| column.integers.reserve(rows));
    }

    /// Appends an event's place, and its time if it is known and fits.
    #[inline]
    pub(crate) fn add(&mut self, time: Option<i64>, place: RowPlace<'_>) {
        if let Some(times) = &mut self.times {
            times.push(time);
        }
        if let Some(sequences) = &mut self.sequences {
            sequences.push(i64::try_from(place.sequence).ok());
        }
        if place.run != self.run.run {
            self.begin_run(place);
        }
        self.run.rows += 1;
    }

    /// Starts the rows of another packet.
    #[inline(never)]
    fn begin_run(&mut self, place: RowPlace<'_>) {
        self.end_run();
        let packet = place.packet.and_then(|packet| i64::try_from(packet).ok());
        let mut lost = u64::from(self.packets.is_some() && place.packet.is_some() && packet.is_none());
        for column in &mut self.context {
            let value = place.context.get(column.node).copied().flatten();
            column.value = value.and_then(|value| i64::try_from(value).ok());
            lost += u64::from(value.is_some() && column.value.is_none());
        }
        self.run = PacketRun { run: place.run, rows: 0, stream: place.stream, packet, lost };
    }

    /// Appends the values for a packet's rows.
    fn end_run(&mut self) {
        let PacketRun { rows, stream, packet, lost, .. } = self.run;
        if rows == 0 {
            return;
        }
        if let Some(streams) = &mut self.streams {
            // Stream numbers are list indexes, which always fit.
            streams.push_repeated(Some(stream as i32), rows);
        }
        if let Some(packets) = &mut self.packets {
            packets.push_repeated(packet, rows);
        }
        for column in &mut self.context {
            column.integers.push_repeated(column.value, rows);
        }
        self.lost_packets += lost * rows as u64;
        self.run.rows = 0;
    }

    /// Returns a property's column, and starts a new column. Returns `None` for an unwanted column.
    pub(crate) fn finish(&mut self, name: &str) -> Result<Option<ArrayRef>, ArrowError> {
        self.end_run();
        let integers = match name {
            "ts" => &mut self.times,
            "packet" => &mut self.packets,
            "seq" => &mut self.sequences,
            "stream" => return self.streams.as_mut().map(IntegerColumn::finish).transpose(),
            _ => return Ok(None),
        };
        integers.as_mut().map(IntegerColumn::finish).transpose()
    }

    /// Returns the packet context columns, and starts new columns.
    pub(crate) fn finish_context(&mut self) -> impl Iterator<Item = Result<ArrayRef, ArrowError>> {
        self.end_run();
        self.context.iter_mut().map(|column| column.integers.finish())
    }
}
