//! Call stacks and their frames.

use std::sync::Arc;

use ichnos_model::event::EventCounts;
use ichnos_model::{DataStream, Window};
use ichnos_table::arrow_schema::DataType;
use ichnos_table::{RecordRows, write_stacks};

use super::row_source::{RowColumns, RowSource, count_events, row_error};
use crate::query::{QueryError, TraceQuery};

/// Columns of call stacks.
pub(super) const STACK_COLUMNS: RowColumns =
    &[("stack", DataType::Int64), ("caller", DataType::Int64), ("frame", DataType::Int64)];

/// Columns of frames.
pub(super) const FRAME_COLUMNS: RowColumns = &[
    ("frame", DataType::Int64),
    ("address", DataType::UInt64),
    ("symbol", DataType::Utf8),
    ("module", DataType::Utf8),
    ("address_space", DataType::Int64),
];

/// Makes all rows at once. Stacks are known once the events were read.
pub(super) struct StackRows {
    /// Name of the table in a dataset.
    table: &'static str,
}

impl StackRows {
    pub(super) fn stacks() -> Self {
        Self { table: "_stacks" }
    }

    pub(super) fn frames() -> Self {
        Self { table: "_frames" }
    }
}

impl RowSource for StackRows {
    fn read(
        &mut self,
        query: &TraceQuery,
        rows: &mut RecordRows,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, QueryError> {
        let parts = query.streams();
        for part in &parts {
            if let Some(cursor) = part.trace.cursor(part.index, Window::default()) {
                count_events(cursor, &mut EventCounts::default(), goes_on, |_| Ok(()))?;
            }
        }
        let streams: Vec<Arc<DataStream>> = parts.into_iter().map(|part| part.stream).collect();
        let written = write_stacks(&streams, &mut |table, batch| {
            if table == self.table { rows.add_batch(&batch) } else { Ok(()) }
        });
        written.map_err(row_error)?;
        Ok(false)
    }
}
