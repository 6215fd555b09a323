//! Rows that are made one after the other.

use std::io;

use ichnos_table::RecordRows;
use ichnos_table::arrow_schema::DataType;

use crate::query::{QueryError, TraceQuery};

/// Column of a table.
pub(super) type RowColumns = &'static [(&'static str, DataType)];

/// Makes the rows of a table.
pub(super) trait RowSource: Send {
    /// Adds the next rows. Returns `false` at the end.
    fn read(&mut self, query: &TraceQuery, rows: &mut RecordRows) -> Result<bool, QueryError>;
}

/// Returns the error of rows that do not form a batch.
pub(super) fn row_error(error: io::Error) -> QueryError {
    QueryError::new(error.to_string())
}
