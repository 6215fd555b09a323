//! Tables that the library computes: spans, stacks, tasks, losses, classes and data streams.

use std::sync::Arc;

use arrow_array::RecordBatch;
use ichnos::query::TraceQuery;
use ichnos::tables::{TraceRows, TraceTable};

use crate::batches::{BatchSource, Batches};
use crate::failure::CallFailure;
use crate::interrupts::Interrupts;
use crate::table::PythonTable;

/// Returns a table. Its rows are computed when they are read.
pub(crate) fn table(of: TraceTable, query: &Arc<TraceQuery>) -> PythonTable {
    let query = Arc::clone(query);
    let batches = Batches::new(of.schema(), move || {
        let rows = TraceRows::new(Arc::clone(&query), of)?;
        Ok(Box::new(LibraryRows { rows, interrupts: Interrupts::default() }))
    });
    PythonTable::new(of.name(), batches)
}

struct LibraryRows {
    rows: TraceRows,
    interrupts: Interrupts,
}

impl BatchSource for LibraryRows {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, CallFailure> {
        let Self { rows, interrupts } = self;
        interrupts.during(|goes_on| rows.next_while(goes_on).transpose())
    }
}
