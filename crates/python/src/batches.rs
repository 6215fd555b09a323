//! Record batches one by one, for Python and for Arrow's C stream interface.

use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use crate::failure::{CallFailure, caught};

/// Batches that are made when they are needed.
pub(crate) trait BatchSource: Send {
    /// Returns the next batch. `None` after the last one.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, CallFailure>;
}

/// Table whose batches can be read any number of times.
#[derive(Clone)]
pub(crate) struct Batches {
    pub(crate) schema: SchemaRef,
    start: Arc<dyn Fn() -> Result<Box<dyn BatchSource>, CallFailure> + Send + Sync>,
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Batches {
    /// Creates a table with a function that starts reading it.
    pub(crate) fn new(
        schema: SchemaRef,
        start: impl Fn() -> Result<Box<dyn BatchSource>, CallFailure> + Send + Sync + 'static,
    ) -> Self {
        Self { schema, start: Arc::new(start) }
    }

    /// Creates a table whose batches are known.
    pub(crate) fn known(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let batches = Arc::new(batches);
        Self::new(schema, move || Ok(Box::new(KnownBatches { batches: Arc::clone(&batches), next: 0 })))
    }

    /// Starts with the first batch.
    pub(crate) fn start(&self) -> Result<Box<dyn BatchSource>, CallFailure> {
        (self.start)()
    }

    /// Starts a stream for other programs.
    pub(crate) fn stream(&self) -> Result<BatchStream, CallFailure> {
        Ok(BatchStream { schema: without_nul(&self.schema), source: Some(self.start()?) })
    }
}

struct KnownBatches {
    batches: Arc<Vec<RecordBatch>>,
    next: usize,
}

impl BatchSource for KnownBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, CallFailure> {
        self.next += 1;
        Ok(self.batches.get(self.next - 1).cloned())
    }
}

/// Stream of batches. It ends after an error.
pub(crate) struct BatchStream {
    schema: SchemaRef,
    source: Option<Box<dyn BatchSource>>,
}

impl Iterator for BatchStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let source = self.source.as_mut()?;
        let found = caught(|| source.next_batch());
        let found = found.map_err(|failure| ArrowError::ComputeError(plain(failure.message())));
        let found = found.and_then(|batch| match batch {
            Some(batch) => {
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let (schema, columns) = (Arc::clone(&self.schema), batch.columns().to_vec());
                RecordBatch::try_new_with_options(schema, columns, &options).map(Some)
            }
            None => Ok(None),
        });
        if !matches!(found, Ok(Some(_))) {
            self.source = None;
        }
        found.transpose()
    }
}

impl RecordBatchReader for BatchStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Texts of the C interface end at a NUL.
fn plain(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns a schema that the C interface can express.
pub(crate) fn without_nul(schema: &SchemaRef) -> SchemaRef {
    if !schema.fields().iter().any(|field| field.name().contains('\0')) {
        return Arc::clone(schema);
    }
    let fields = schema.fields().iter().map(|field| Field::clone(field).with_name(plain(field.name())));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
