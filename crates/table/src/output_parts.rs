//! Parts that the outputs share.

use std::sync::{Arc, Mutex};

use ichnos_io::{CreateError, WriteOptions, WriteSource};

use crate::table_worker::{SharedRecord, TableRecord};

/// Refuses options that only traces have.
pub(crate) fn check_options(
    sources: &[WriteSource],
    dialect: &'static str,
    options: &WriteOptions,
) -> Result<(), CreateError> {
    if let Some(unknown) = &options.dialect {
        return Err(CreateError::Dialect(unknown.clone()));
    }
    match options.verify {
        Some(_) => Err(unsupported(sources, dialect, "tables cannot be read again to verify them")),
        None => Ok(()),
    }
}

/// Makes the error for sources that cannot be written in some way.
pub(crate) fn unsupported(sources: &[WriteSource], dialect: &'static str, problem: &str) -> CreateError {
    let trace = sources.first().map_or_else(String::new, |source| source.trace.name.clone());
    CreateError::Unsupported { trace, dialect, problems: vec![problem.to_owned()] }
}

/// Begins the record of an output with the data streams of its sources.
pub(crate) fn record(sources: &[WriteSource]) -> SharedRecord {
    let mut record = TableRecord::default();
    for stream in sources.iter().flat_map(|source| &source.streams) {
        record.add_stream(stream);
    }
    Arc::new(Mutex::new(record))
}
