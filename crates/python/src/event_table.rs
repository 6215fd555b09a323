//! Events of all classes as one table.

use std::sync::Arc;

use arrow_array::builder::{StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use ichnos::query::TraceQuery;
use ichnos::table::{BATCH_ROWS, TableOptions};
use ichnos::tables::{EventColumn, EventReader, EventScan, ReadBlock, ReadRows};

use crate::batches::{BatchSource, Batches};
use crate::column_builder::{ColumnPart, column};
use crate::failure::CallFailure;
use crate::interrupts::Interrupts;
use crate::label_keys::LabelKeys;

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

/// Returns the events as a table with some columns.
pub(crate) fn batches(
    query: &Arc<TraceQuery>,
    columns: Vec<EventColumn>,
    options: &TableOptions,
    order: EventOrder,
) -> Batches {
    let fields = columns.iter().map(|column| Field::new(column.name(), arrow_type(column), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let (query, options, of_table) = (Arc::clone(query), options.clone(), Arc::clone(&schema));
    Batches::new(schema, move || {
        let scan = order.scan(&query, columns.clone(), &options)?;
        let reader = EventReader::new(&scan);
        Ok(Box::new(EventTable {
            scan,
            reader,
            schema: Arc::clone(&of_table),
            interrupts: Interrupts::default(),
        }))
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
        let Some(block) = read else { return Ok(None) };
        let batch = self.batch(&block);
        batch.map(Some).map_err(|error| CallFailure::new(format!("{error}: open the traces again")))
    }
}

impl EventTable {
    fn batch(&self, block: &ReadBlock) -> Result<RecordBatch, ArrowError> {
        let (rows, columns) = match block {
            ReadBlock::Count(count) => (usize::try_from(*count).unwrap_or(usize::MAX), Vec::new()),
            ReadBlock::Rows(rows) => {
                let fields = self.schema.fields().iter().zip(self.scan.columns()).enumerate();
                let columns = fields.map(|(index, (field, of))| match of {
                    Some(EventColumn::Name) => names(rows),
                    Some(EventColumn::Trace(_)) => labels(rows, |row| Some(rows.path(row))),
                    Some(EventColumn::Level(_)) => labels(rows, |row| rows.level(row)),
                    Some(EventColumn::Message(_)) => Ok(messages(rows)),
                    _ => values(rows, index, field.data_type()),
                });
                (rows.len(), columns.collect::<Result<Vec<_>, _>>()?)
            }
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}

/// Returns the values of a field.
fn values(rows: &ReadRows, index: usize, of: &DataType) -> Result<ArrayRef, ArrowError> {
    let parts = rows.parts().iter().filter_map(|part| {
        let place = part.columns.get(index).copied().flatten()?;
        let values = Arc::clone(part.batch.batch.columns().get(place)?);
        Some(ColumnPart { values, rows: &part.rows })
    });
    column(&parts.collect::<Vec<_>>(), rows.len(), of)
}

/// Returns the names of the classes. Several classes can have a name.
fn names(rows: &ReadRows) -> Result<ArrayRef, ArrowError> {
    let mut keys = vec![0i32; rows.len()];
    let mut labels = LabelKeys::default();
    for part in rows.parts() {
        let key = labels.key(part.batch.plan.label());
        for row in &part.rows {
            if let Some(place) = keys.get_mut(*row as usize) {
                *place = key;
            }
        }
    }
    labels.finish(keys, None)
}

/// Returns texts of which there are few.
fn labels<'r>(rows: &'r ReadRows, label: impl Fn(usize) -> Option<&'r str>) -> Result<ArrayRef, ArrowError> {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    for row in 0..rows.len() {
        match label(row) {
            Some(label) => {
                builder.append(label)?;
            }
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn messages(rows: &ReadRows) -> ArrayRef {
    let mut builder = StringBuilder::new();
    (0..rows.len()).for_each(|row| builder.append_option(rows.message(row)));
    Arc::new(builder.finish())
}
