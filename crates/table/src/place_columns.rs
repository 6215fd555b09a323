//! Columns that are no fields: the time and the place of an event.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::ArrowError;

use crate::table_plan::{MeaningSource, TablePlan};
use crate::validity::Validity;

/// Place of an event in its data stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowPlace<'p> {
    /// Number of the data stream.
    pub(crate) stream: u32,
    /// Number of the packet.
    pub(crate) packet: Option<u64>,
    /// Index of the event in the packet, or in the data stream if there are no packets.
    pub(crate) sequence: u64,
    /// IntegerColumn of the packet context, by index of the node.
    pub(crate) context: &'p [Option<i128>],
}

/// IntegerColumn that wait to become an array.
#[derive(Debug)]
struct IntegerColumn<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    validity: Validity,
}

impl<T: ArrowPrimitiveType> IntegerColumn<T> {
    fn new() -> Self {
        Self { values: Vec::new(), validity: Validity::new() }
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

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let values = std::mem::take(&mut self.values);
        let nulls = self.validity.finish(values.len());
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?))
    }
}

/// Wanted columns of the time and the place of events, and of integers of their packets.
#[derive(Debug)]
pub(crate) struct PlaceColumns {
    times: Option<IntegerColumn<Int64Type>>,
    streams: Option<IntegerColumn<Int32Type>>,
    packets: Option<IntegerColumn<Int64Type>>,
    sequences: Option<IntegerColumn<Int64Type>>,
    /// Columns of meanings whose values are in the packet context, with the index of the node.
    context: Vec<(usize, IntegerColumn<Int64Type>)>,
    /// Numbers of packets, and integers of the packet context, that do not fit.
    pub(crate) lost_packets: u64,
}

impl PlaceColumns {
    pub(crate) fn new(plan: &TablePlan) -> Self {
        let wants = |name: &str| plan.properties.contains(&name);
        let context = plan.meanings.iter().filter_map(|meaning| match meaning.source {
            MeaningSource::PacketContext(node) => Some((node, IntegerColumn::new())),
            MeaningSource::Field(_) | MeaningSource::Constant(_) => None,
        });
        Self {
            times: plan.has_times().then(IntegerColumn::new),
            streams: wants("stream").then(IntegerColumn::new),
            packets: wants("packet").then(IntegerColumn::new),
            sequences: wants("seq").then(IntegerColumn::new),
            context: context.collect(),
            lost_packets: 0,
        }
    }

    /// Makes room for a number of rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        let columns = [&mut self.times, &mut self.packets, &mut self.sequences];
        columns.into_iter().flatten().for_each(|column| column.reserve(rows));
        self.streams.iter_mut().for_each(|column| column.reserve(rows));
        self.context.iter_mut().for_each(|(_, column)| column.reserve(rows));
    }

    /// Adds the time, if it is known and fits, and the place of an event.
    #[inline]
    pub(crate) fn add(&mut self, time: Option<i64>, place: RowPlace<'_>) {
        if let Some(times) = &mut self.times {
            times.push(time);
        }
        if let Some(streams) = &mut self.streams {
            // Numbers are those of a list.
            streams.push(Some(place.stream as i32));
        }
        if let Some(packets) = &mut self.packets {
            let packet = place.packet.and_then(|packet| i64::try_from(packet).ok());
            self.lost_packets += u64::from(place.packet.is_some() && packet.is_none());
            packets.push(packet);
        }
        if let Some(sequences) = &mut self.sequences {
            sequences.push(i64::try_from(place.sequence).ok());
        }
        for (node, column) in &mut self.context {
            let value = place.context.get(*node).copied().flatten();
            let fitting = value.and_then(|value| i64::try_from(value).ok());
            self.lost_packets += u64::from(value.is_some() && fitting.is_none());
            column.push(fitting);
        }
    }

    /// Returns the column of a property with this name, and begins a new one; `None` if it is not wanted.
    pub(crate) fn finish(&mut self, name: &str) -> Result<Option<ArrayRef>, ArrowError> {
        let integers = match name {
            "ts" => &mut self.times,
            "packet" => &mut self.packets,
            "seq" => &mut self.sequences,
            "stream" => return self.streams.as_mut().map(IntegerColumn::finish).transpose(),
            _ => return Ok(None),
        };
        integers.as_mut().map(IntegerColumn::finish).transpose()
    }

    /// Returns the columns of the packet context, and begins new ones.
    pub(crate) fn finish_context(&mut self) -> impl Iterator<Item = Result<ArrayRef, ArrowError>> {
        self.context.iter_mut().map(|(_, column)| column.finish())
    }
}
