//! Events and answers as tables, for SQL, Python and other programs that use Arrow.
//!
//! - [`EventScan`] and [`EventReader`] read events with the union of the columns of all classes, on several threads.
//! - [`TraceTable`] lists the other tables: spans, stacks, tasks, losses, classes and data streams. [`TraceRows`] computes
//!   their record batches.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ichnos::query::{QueryError, QueryTexts};
//! use ichnos::tables::{TraceRows, TraceTable};
//!
//! # fn print(path: std::path::PathBuf) -> Result<(), QueryError> {
//! let query = TraceTable::Spans.open(QueryTexts::new([path]))?;
//! for batch in TraceRows::new(Arc::new(query), TraceTable::Spans)? {
//!     println!("{} spans", batch?.num_rows());
//! }
//! # Ok(())
//! # }
//! ```

mod class_rows;
mod event_columns;
mod event_scan;
mod info_rows;
mod log_texts;
mod loss_rows;
mod row_source;
mod span_rows;
mod stack_rows;
mod task_rows;
mod trace_rows;
mod trace_table;

pub use class_rows::find_classes;
pub use event_columns::{ColumnShape, EventColumn, FoundClasses, UnionColumn, all_columns, shared_columns};
pub use event_scan::{BlockPart, EventReader, EventScan, ReadBlock, ReadRows};
pub use trace_rows::TraceRows;
pub use trace_table::TraceTable;
