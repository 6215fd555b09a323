//! Batches of some events, with the place of each row among all events.

use std::io;
use std::sync::{Arc, Mutex};

use ichnos_io::Worker as _;
use ichnos_model::event::Packet;
use ichnos_model::{DataStream, Event};

use crate::table_options::TableOptions;
use crate::table_rows::{BATCH_ROWS, TableBatch};
use crate::table_worker::{RowOrder, TableBlock, TableRecord, TableWorker};

/// Converts events to batches, and keeps their order. For programs that show events of different classes as one table.
#[derive(Debug)]
pub struct OrderedBatches {
    worker: TableWorker,
}

/// Batch of a class.
#[derive(Debug)]
pub struct PlacedBatch {
    /// The batch.
    pub batch: TableBatch,
    /// Index of each row among all rows taken together, sorted.
    pub rows: Vec<u32>,
}

impl OrderedBatches {
    /// Creates the batches of events in data streams. The column `stream` numbers them in this order.
    pub fn new<'s>(streams: impl IntoIterator<Item = &'s Arc<DataStream>>, options: TableOptions) -> Self {
        let mut record = TableRecord::default();
        for stream in streams {
            record.add_stream(stream);
        }
        let mut worker = TableWorker::new(options, Arc::new(Mutex::new(record)));
        worker.order = Some(RowOrder::default());
        Self { worker }
    }

    /// Returns the number of waiting rows.
    #[inline]
    #[must_use]
    pub fn rows(&self) -> usize {
        self.worker.order.as_ref().map_or(0, |order| order.rows.len())
    }

    /// Adds an event. Returns `true` if the rows should be taken.
    ///
    /// # Errors
    /// If the rows do not form a batch, which would be a bug.
    #[inline]
    pub fn add(&mut self, event: &Event<'_>) -> io::Result<bool> {
        self.worker.event(event)?;
        Ok(self.worker.is_ready() || self.rows() >= BATCH_ROWS)
    }

    /// Takes the start of a packet, which has columns. All packets that contain events must be added.
    pub fn begin_packet(&mut self, packet: &Packet<'_>) {
        self.worker.begin_packet(packet);
    }

    /// Returns all waiting rows.
    ///
    /// # Errors
    /// If the rows do not form a batch, which would be a bug.
    pub fn take(&mut self) -> io::Result<Vec<PlacedBatch>> {
        self.worker.flush()?;
        let (mut batches, mut slots) = (Vec::new(), Vec::new());
        while let Some(block) = self.worker.take() {
            let block = TableBlock::from_output(block)?;
            slots.extend(block.slots);
            batches.extend(block.batches.into_iter().map(|batch| PlacedBatch { batch, rows: Vec::new() }));
        }
        let Some(order) = &mut self.worker.order else { return Ok(batches) };
        let RowOrder { rows, slots: count } = std::mem::take(order);
        // Each slot is of one batch.
        let mut batch_of = vec![usize::MAX; count as usize];
        for (batch, slot) in slots.into_iter().enumerate() {
            if let Some(place) = batch_of.get_mut(slot as usize) {
                *place = batch;
            }
        }
        for (row, slot) in (0u32..).zip(&rows) {
            let batch = batch_of.get(*slot as usize).and_then(|batch| batches.get_mut(*batch));
            if let Some(batch) = batch {
                batch.rows.push(row);
            }
        }
        order.rows = rows;
        order.rows.clear();
        Ok(batches)
    }
}
