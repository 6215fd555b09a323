//! Rows that are made one after the other.

use std::io;

use ichnos_model::Message;
use ichnos_model::cursor::{BoxedCursor, MessageKind};
use ichnos_model::event::EventCounts;
use ichnos_table::RecordRows;
use ichnos_table::arrow_schema::DataType;

use crate::query::{QueryError, TraceQuery};

/// Column of a table.
pub(super) type RowColumns = &'static [(&'static str, DataType)];

/// Number of events between two questions whether reading goes on.
pub(super) const STEP: u32 = 1 << 16;

/// Makes the rows of a table.
pub(super) trait RowSource: Send {
    /// Adds the next rows. Returns `false` at the end. Long reading ends with an error if `goes_on` returns `false`.
    fn read(
        &mut self,
        query: &TraceQuery,
        rows: &mut RecordRows,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, QueryError>;
}

/// Counts the events of a data stream, and passes on its other messages.
pub(super) fn count_events(
    mut cursor: BoxedCursor,
    counts: &mut EventCounts,
    goes_on: &mut dyn FnMut() -> bool,
    mut take: impl FnMut(&Message<'_>) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    while let Some(head) = cursor.count_events(STEP, counts) {
        if head.kind == MessageKind::Event {
            if !goes_on() {
                return Err(QueryError::interrupted());
            }
        } else if let Some(message) = cursor.current() {
            take(&message)?;
        }
    }
    Ok(())
}

/// Returns the error of rows that do not form a batch.
pub(super) fn row_error(error: io::Error) -> QueryError {
    QueryError::new(error.to_string())
}
