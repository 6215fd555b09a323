//! Batches with events from all classes.

use std::sync::Arc;

use arrow_array::builder::{StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use ichnos::tables::{EventColumn, EventScan, ReadBlock, ReadRows};

use crate::column_builder::{ColumnPart, column};
use crate::failure::CallFailure;
use crate::label_keys::LabelKeys;

/// Returns the rows of a block as a batch.
pub(crate) fn batch(
    block: &ReadBlock,
    scan: &EventScan,
    schema: &SchemaRef,
) -> Result<RecordBatch, CallFailure> {
    let made = match block {
        ReadBlock::Count(count) => Ok((usize::try_from(*count).unwrap_or(usize::MAX), Vec::new())),
        ReadBlock::Times(times) => Ok((times.len(), vec![Arc::new(times.clone()) as ArrayRef])),
        ReadBlock::Rows(rows) => {
            let fields = schema.fields().iter().zip(scan.columns()).enumerate();
            let columns = fields.map(|(index, (field, of))| match of {
                Some(EventColumn::Name) => names(rows),
                Some(EventColumn::Trace(_)) => labels(rows, |row| Some(rows.path(row))),
                Some(EventColumn::Level(_)) => labels(rows, |row| rows.level(row)),
                Some(EventColumn::Message(_)) => Ok(messages(rows)),
                _ => values(rows, index, field.data_type()),
            });
            columns.collect::<Result<Vec<_>, _>>().map(|columns| (rows.len(), columns))
        }
    };
    let made = made.and_then(|(rows, columns)| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
    });
    made.map_err(|error| CallFailure::new(format!("{error}: open the traces again")))
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
