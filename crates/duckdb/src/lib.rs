//! DuckDB extension that reads traces: `SELECT … FROM read_trace('my-trace')`. `docs/sql.md` describes the functions.
//!
//! # From a query to rows
//! 1. **Bind.** A [`TraceQuery`](ichnos::query::TraceQuery) opens the traces and checks the arguments. The columns are the
//!    union of the columns that `ichnos-table` plans for the selected classes.
//! 2. **Scan.** DuckDB says which columns it wants, and only these are decoded. Each thread takes one data stream after
//!    the other, or a part of its packets.
//! 3. **Fill.** An [`EventReader`](ichnos::tables::EventReader) collects the rows of some events. They are copied to
//!    DuckDB's vectors in the order of the events.
//!
//! No panic passes the border to DuckDB: it becomes an error of the query.
#![deny(unsafe_code)]

mod array;
mod arrow_type;
mod column_cache;
#[allow(unsafe_code)]
mod duckdb;
pub mod entry;
mod event_rows;
mod functions;
mod paths;
mod query_texts;
