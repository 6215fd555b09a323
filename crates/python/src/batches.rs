//! Record batches one by one, for Python and for Arrow's C stream interface.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};

use crate::failure::CallFailure;

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

/// Texts of the C interface end at a NUL.
pub(crate) fn plain(text: &str) -> String {
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
