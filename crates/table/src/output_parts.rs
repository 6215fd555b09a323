//! Functions shared by all table outputs.

use std::sync::{Arc, Mutex};

use ichnos_io::{CreateError, WriteOptions, WriteSource};
use ichnos_model::DataStream;
use ichnos_model::clock::ClockOrigin;

use crate::table_options::{Projection, TableOptions};
use crate::table_worker::{SharedRecord, TableRecord};

/// Rejects options that only traces support.
pub(crate) fn check_options(options: &WriteOptions) -> Result<(), CreateError> {
    if let Some(unknown) = &options.dialect {
        return Err(CreateError::Dialect(unknown.clone()));
    }
    match options.verify {
        Some(_) => Err(CreateError::WriteOnly("tables")),
        None => Ok(()),
    }
}

/// Creates the error for sources that cannot be written in the requested way.
pub(crate) fn unsupported(sources: &[WriteSource], dialect: &'static str, problem: &str) -> CreateError {
    let trace = sources.first().map_or_else(String::new, |source| source.trace.name.clone());
    CreateError::Unsupported { trace, dialect, problems: vec![problem.to_owned()] }
}

/// Rejects wanted columns that exist in no event. Without events, all columns are accepted.
pub(crate) fn check_columns(
    record: &TableRecord,
    options: &TableOptions,
    dialect: &'static str,
) -> Result<(), CreateError> {
    let Projection::Named(wanted) = &options.projection else { return Ok(()) };
    let Some(found) = &record.found_columns else { return Ok(()) };
    let mut unknown: Vec<&str> = wanted.difference(found).map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    // Hash sets have no order.
    unknown.sort_unstable();
    let trace = record.streams.first().map_or_else(String::new, |stream| stream.trace.name.clone());
    let problem = |name: &str| format!("no event has a column `{name}`");
    Err(CreateError::Unsupported { trace, dialect, problems: unknown.into_iter().map(problem).collect() })
}

/// Rejects events without a date, if partitions need one.
pub(crate) fn check_dates(stream: &DataStream, options: &TableOptions) -> Result<(), CreateError> {
    let problem = match stream.clock() {
        _ if options.partition.is_none() => return Ok(()),
        Some(clock) if clock.origin == ClockOrigin::UnixEpoch => return Ok(()),
        Some(_) => "partitions need dates, but its clock does not count from 1970-01-01",
        None => "partitions need dates, but its events do not have a clock",
    };
    let (trace, problems) = (stream.trace.name.clone(), vec![problem.to_owned()]);
    Err(CreateError::Unsupported { trace, dialect: "Parquet with partitions", problems })
}

/// Creates the shared record with the data streams from all sources.
pub(crate) fn record(sources: &[WriteSource]) -> SharedRecord {
    let mut record = TableRecord::default();
    for stream in sources.iter().flat_map(|source| &source.streams) {
        record.add_stream(stream);
    }
    Arc::new(Mutex::new(record))
}
