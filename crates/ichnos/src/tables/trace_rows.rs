//! Rows of a table as record batches.

use std::sync::Arc;

use ichnos_table::RecordRows;
use ichnos_table::arrow_array::RecordBatch;
use ichnos_table::arrow_schema::SchemaRef;

use super::TraceTable;
use super::row_source::{RowSource, row_error};
use super::{class_rows, info_rows, loss_rows, span_rows, stack_rows, task_rows};
use crate::query::{QueryError, TraceQuery};

/// Computes a table. Iterates over its record batches.
pub struct TraceRows {
    query: Arc<TraceQuery>,
    table: TraceTable,
    /// `None` after the last rows.
    source: Option<Box<dyn RowSource>>,
    rows: RecordRows,
}

impl std::fmt::Debug for TraceRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceRows").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl TraceRows {
    /// Starts with all columns.
    ///
    /// # Errors
    /// If the clocks of the traces are not correlated.
    pub fn new(query: Arc<TraceQuery>, table: TraceTable) -> Result<Self, QueryError> {
        Self::with_columns(query, table, |_| true)
    }

    /// Starts with the wanted columns of [`TraceTable::columns`].
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with_columns(
        query: Arc<TraceQuery>,
        table: TraceTable,
        wants: impl Fn(usize) -> bool,
    ) -> Result<Self, QueryError> {
        if matches!(table, TraceTable::Edges | TraceTable::Tasks) {
            query.session().reader()?;
        }
        let source: Box<dyn RowSource> = match table {
            TraceTable::Classes => Box::new(class_rows::ClassRows::new(wants(class_rows::EVENTS))),
            TraceTable::Edges => Box::new(task_rows::EdgeRows::default()),
            TraceTable::Frames => Box::new(stack_rows::StackRows::frames()),
            TraceTable::Info => Box::new(info_rows::InfoRows::default()),
            TraceTable::Losses => Box::new(loss_rows::LossRows::default()),
            TraceTable::Spans => Box::new(span_rows::SpanRows::new(&query)?),
            TraceTable::Stacks => Box::new(stack_rows::StackRows::stacks()),
            TraceTable::Tasks => Box::new(task_rows::TaskRows::default()),
        };
        Ok(Self { query, table, source: Some(source), rows: RecordRows::new(table.columns(), wants) })
    }

    /// Returns the columns of the batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.rows.schema()
    }

    /// Returns the next batch. Asks from time to time whether reading goes on, and otherwise ends it with an error.
    pub fn next_while(
        &mut self,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Option<Result<RecordBatch, QueryError>> {
        let read = self.read(goes_on).transpose()?;
        if read.is_err() {
            self.source = None;
        }
        Some(read)
    }

    fn read(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Result<Option<RecordBatch>, QueryError> {
        loop {
            if let Some(batch) = self.rows.take() {
                return Ok(Some(batch));
            }
            let Some(source) = &mut self.source else { return Ok(None) };
            if !goes_on() {
                return Err(QueryError::interrupted());
            }
            if !source.read(&self.query, &mut self.rows, goes_on)? {
                self.source = None;
                if self.table.has_selection() {
                    self.query.review()?;
                }
                self.rows.flush().map_err(row_error)?;
            }
        }
    }
}

impl Iterator for TraceRows {
    type Item = Result<RecordBatch, QueryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_while(&mut || true)
    }
}
