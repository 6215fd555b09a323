//! Events of all classes as one table.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ichnos::query::TraceQuery;
use ichnos::table::{BATCH_ROWS, INTEGER_KEY, TableOptions};
use ichnos::tables::{EventColumn, EventReader, EventScan};

use crate::batches::{BatchSource, Batches};
use crate::event_batch::batch;
use crate::failure::CallFailure;
use crate::interrupts::Interrupts;
use crate::threaded_batches::ThreadedBatches;

/// Order of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventOrder {
    /// By time.
    Time,
    /// One data stream after the other.
    Stream,
}

impl EventOrder {
    /// Starts a run that returns some columns.
    pub(crate) fn scan(
        self,
        query: &Arc<TraceQuery>,
        columns: Vec<EventColumn>,
        options: &TableOptions,
    ) -> Result<EventScan, CallFailure> {
        let scan = EventScan::new(query, columns.into_iter().map(Some).collect(), options)?;
        Ok(match self {
            Self::Time => scan.by_time(),
            Self::Stream => scan,
        })
    }
}

/// Returns the events as a table with some columns, which several threads make if they need not be sorted.
pub(crate) fn batches(
    query: &Arc<TraceQuery>,
    columns: Vec<EventColumn>,
    options: &TableOptions,
    order: EventOrder,
    threads: usize,
) -> Batches {
    let fields = columns.iter().map(|column| {
        let field = Field::new(column.name(), arrow_type(column), true);
        match column.integer_kind() {
            Some(kind) => field.with_metadata([(INTEGER_KEY.to_owned(), kind.to_owned())].into()),
            None => field,
        }
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let (query, options, of_table) = (Arc::clone(query), options.clone(), Arc::clone(&schema));
    Batches::new(schema, move || {
        let scan = order.scan(&query, columns.clone(), &options)?;
        let schema = Arc::clone(&of_table);
        let threads = threads.min(scan.most_readers());
        if threads > 1 {
            return Ok(Box::new(ThreadedBatches::start(scan, schema, threads)?));
        }
        let reader = EventReader::new(&scan);
        Ok(Box::new(EventTable { scan, reader, schema, interrupts: Interrupts::default() }))
    })
}

/// Names that repeat are a dictionary.
fn arrow_type(column: &EventColumn) -> DataType {
    match column {
        EventColumn::Name | EventColumn::Trace(_) | EventColumn::Level(_) => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        _ => column.data_type().clone(),
    }
}

struct EventTable {
    scan: EventScan,
    reader: EventReader,
    schema: SchemaRef,
    interrupts: Interrupts,
}

impl BatchSource for EventTable {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, CallFailure> {
        let Self { scan, reader, interrupts, .. } = self;
        let read = reader.read_some(scan, BATCH_ROWS, &mut || Ok(interrupts.poll()?))?;
        read.map(|block| batch(&block, scan, &self.schema)).transpose()
    }
}
