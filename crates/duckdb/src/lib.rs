//! DuckDB extension that reads traces: `SELECT … FROM read_trace('my-trace')`. `docs/sql.md` describes the functions.
//!
//! # From a query to rows
//! 1. **Bind.** A [`Query`](query::Query) opens the traces and checks the arguments. The columns are the union of the
//!    columns that `ichnos-table` plans for the selected classes.
//! 2. **Scan.** DuckDB says which columns it wants, and only these are decoded. Each thread takes one data stream after
//!    the other, or a part of its packets.
//! 3. **Fill.** [`OrderedBatches`](ichnos::table::OrderedBatches) collects the rows of some events. They are copied to
//!    DuckDB's vectors in the order of the events.
//!
//! No panic passes the border to DuckDB: it becomes an error of the query.
#![deny(unsafe_code)]

mod array;
mod column_cache;
mod columns;
#[allow(unsafe_code)]
mod duckdb;
pub mod entry;
mod event_rows;
mod functions;
mod paths;
mod query;
mod rows;
#[allow(dead_code)]
#[path = "../../cli/src/args/time.rs"]
mod time;
#[path = "../../cli/src/input/time_bounds.rs"]
mod time_bounds;
