//! Datasets with OpenTelemetry's tables: spans and log records.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos_io::{CreateError, ListWritten, OutputDirectory, WriteOptions, WriteSource};
use ichnos_model::DataStream;
use ichnos_otlp::{LogRow, RequestSignal, RowOrigin, RowVisitor, SpanRow, visit_rows};

use crate::dataset_names::written_files;
use crate::encoders::Encoders;
use crate::otel_columns::{LOGS, LogColumns, SpanColumns, TRACES};
use crate::otel_table::OtelTable;
use crate::output_parts::{check_dates, check_options};
use crate::parquet_dataset::VERSION_KEY;
use crate::table_options::{APPEND, FIELDS, TIMESTAMPS, TableOptions, U64_TYPE};

/// Spans and log records as the tables `otel_traces` and `otel_logs`, in the columns that OpenTelemetry's collector
/// writes to ClickHouse.
#[derive(Debug)]
pub struct OtelDataset {
    // Must be dropped before the directory: nothing may be written after its removal.
    encoders: Encoders,
    directory: OutputDirectory,
    path: PathBuf,
    traces: OtelTable<SpanColumns>,
    logs: OtelTable<LogColumns>,
}

impl OtelDataset {
    /// Creates a dataset at a path.
    ///
    /// # Errors
    /// If it cannot be created, or options are for other tables.
    pub fn create(path: &Path, sources: &[WriteSource], options: &WriteOptions) -> Result<Self, CreateError> {
        Self::check(sources, options)?;
        let list: ListWritten = Arc::new(written_files);
        let directory = OutputDirectory::create(path, options.existing, &list)
            .map_err(|error| CreateError::Io { path: path.display().to_string(), error })?;
        let unit = TableOptions::set_for("parquet", &options.formats).partition;
        let metadata = vec![(VERSION_KEY.to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
        Ok(Self {
            encoders: Encoders::new(options.threads),
            directory,
            path: path.to_owned(),
            traces: OtelTable::new(TRACES, unit, metadata.clone()),
            logs: OtelTable::new(LOGS, unit, metadata),
        })
    }

    /// Checks the options, and the clocks of data streams if partitions need dates.
    ///
    /// # Errors
    /// If a dataset cannot be created with them.
    pub fn check(sources: &[WriteSource], options: &WriteOptions) -> Result<(), CreateError> {
        check_options(options)?;
        check_layout(options)?;
        let columns = TableOptions::set_for("parquet", &options.formats);
        let mut streams = sources.iter().flat_map(|source| &source.streams);
        streams.try_for_each(|stream| check_dates(stream, &columns))
    }

    /// Checks the clock of a data stream if partitions need dates.
    ///
    /// # Errors
    /// If its events do not have dates.
    pub fn check_stream(stream: &DataStream, options: &WriteOptions) -> Result<(), CreateError> {
        check_dates(stream, &TableOptions::set_for("parquet", &options.formats))
    }

    /// Appends the spans or log records of a request in protobuf. Returns what was lost.
    ///
    /// # Errors
    /// If rows cannot be written.
    pub fn write(&mut self, signal: RequestSignal, request: &[u8]) -> io::Result<OtelLosses> {
        let Self { encoders, directory, traces, logs, .. } = self;
        let mut rows =
            RowWriter { directory, encoders, traces, logs, lost: OtelLosses::default(), failure: Ok(()) };
        let visited = visit_rows(request, signal, &mut rows);
        let RowWriter { lost, failure, .. } = rows;
        failure?;
        visited.map_err(io::Error::other)?;
        Ok(lost)
    }

    /// Completes the dataset. Returns its path and its size in bytes.
    ///
    /// # Errors
    /// If the dataset cannot be written.
    pub fn finish(mut self) -> Result<(PathBuf, u64), CreateError> {
        let path = self.path.display().to_string();
        let mut finish = || {
            self.traces.finish(&self.directory, &mut self.encoders)?;
            self.logs.finish(&self.directory, &mut self.encoders)?;
            self.encoders.finish()
        };
        let named = |error| CreateError::Io { path: path.clone(), error };
        let bytes = finish().map_err(named)?;
        Ok((self.directory.finish().map_err(named)?, bytes))
    }
}

/// Parts that the rows of a request lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtelLosses {
    /// Number of elements that cannot be rows.
    pub elements: u64,
    /// Number of rows with values that lack a column: flags, dropped counts, observation times.
    pub values: u64,
}

/// Rejects options for the columns of events.
fn check_layout(options: &WriteOptions) -> Result<(), CreateError> {
    let is_set = |name: &&str| {
        let formats = &options.formats;
        formats.text("parquet", name).is_some() || formats.choice("parquet", name).is_some()
    };
    let set = [FIELDS, TIMESTAMPS, U64_TYPE, APPEND].into_iter().find(is_set);
    let problem = match set {
        Some(name) => format!("the layout `otel` has fixed tables, without the option `{name}`"),
        None if options.shard.is_some() => {
            "spans in the layout `otel` need all events, so it cannot be written in shards".to_owned()
        }
        None => return Ok(()),
    };
    let (trace, dialect) = ("the output".to_owned(), "OpenTelemetry tables");
    Err(CreateError::Unsupported { trace, dialect, problems: vec![problem] })
}

/// Writes rows.
struct RowWriter<'d> {
    directory: &'d OutputDirectory,
    encoders: &'d mut Encoders,
    traces: &'d mut OtelTable<SpanColumns>,
    logs: &'d mut OtelTable<LogColumns>,
    lost: OtelLosses,
    failure: io::Result<()>,
}

impl RowVisitor for RowWriter<'_> {
    fn span(&mut self, origin: &RowOrigin, span: &SpanRow<'_>) {
        let Ok(time) = i64::try_from(span.start) else {
            self.lost.elements += 1;
            return;
        };
        self.lost.values += u64::from(span.has_counts || origin.dropped > 0);
        if self.failure.is_ok() {
            let files = (self.directory, &mut *self.encoders);
            self.failure = self.traces.push(time, files, |columns| columns.push(time, origin, span));
        }
    }

    fn log(&mut self, origin: &RowOrigin, log: &LogRow<'_>) {
        let Ok(time) = i64::try_from(log.time) else {
            self.lost.elements += 1;
            return;
        };
        self.lost.values += u64::from(log.has_counts || origin.dropped > 0);
        if self.failure.is_ok() {
            let files = (self.directory, &mut *self.encoders);
            self.failure = self.logs.push(time, files, |columns| columns.push(time, origin, log));
        }
    }

    fn rejected(&mut self, _: &str) {
        self.lost.elements += 1;
    }
}
