//! Writes Arrow IPC streams and files.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Schema};
use ichnos_io::{
    CreateError, FormatOption, JoinResult, Lane, MessageOrder, Output, OutputBlock, PartsOutput, TraceFile,
    Worker, WriteOptions, WriteReport, WriteSource, WriteTarget, WriterFactory, foreign_file,
};
use ichnos_model::DataStream;
use ichnos_model::digest::TraceDigest;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::LossTable;

use crate::output_parts::{check_columns, check_options, record, unsupported};
use crate::table_options::{OPTIONS, TableOptions};
use crate::table_plan::TablePlan;
use crate::table_rows::TableBatch;
use crate::table_worker::{SharedRecord, TableBlock, TableRecord, TableWorker};

/// Writes events with equal columns, for example of one event record class, as Arrow IPC. Files named `.arrow` or
/// `.feather` get the file format, which Polars, pandas and others open by name. Other files (`.arrows`) and pipes get
/// the streaming format.
///
/// The first event defines the schema. An event with other columns is an error. Losses and damage are not written.
#[derive(Clone, Copy, Debug)]
pub struct ArrowIpcWriter;

impl WriterFactory for ArrowIpcWriter {
    fn extensions(&self) -> &'static [&'static str] {
        &["arrows", "arrow", "feather"]
    }

    fn options(&self) -> &'static [FormatOption] {
        &OPTIONS[..3]
    }

    fn drops_events(&self) -> bool {
        false
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        Err(foreign_file(directory, "Arrow IPC is one file"))
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        check_options(options)?;
        let file = TraceFile::create(&target, options)?;
        let columns = TableOptions::set_for("arrow", &options.formats);
        let encoder = Mutex::new(BatchEncoder { format: IpcFormat::from_target(&target), current: None });
        Ok(Box::new(ArrowOutput { file, encoder, columns, record: record(&sources) }))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        _: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        Err(unsupported(&sources, "Arrow", "several streams cannot be written at once"))
    }
}

/// Arrow IPC formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IpcFormat {
    /// Readable while it is being written.
    Stream,
    /// Has a batch index at the end.
    File,
}

impl IpcFormat {
    fn from_target(target: &WriteTarget) -> Self {
        let extension = match target {
            WriteTarget::Complete(path) => path.extension().map(OsStr::to_ascii_lowercase),
            _ => None,
        };
        match extension.as_deref().and_then(OsStr::to_str) {
            Some("arrow" | "feather") => Self::File,
            _ => Self::Stream,
        }
    }
}

/// Writes batches as Arrow IPC to memory.
enum IpcWriter {
    Stream(StreamWriter<Vec<u8>>),
    File(FileWriter<Vec<u8>>),
}

impl IpcWriter {
    fn new(format: IpcFormat, schema: &Schema) -> Result<Self, ArrowError> {
        Ok(match format {
            IpcFormat::Stream => Self::Stream(StreamWriter::try_new(Vec::new(), schema)?),
            IpcFormat::File => Self::File(FileWriter::try_new(Vec::new(), schema)?),
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match self {
            Self::Stream(writer) => writer.write(batch),
            Self::File(writer) => writer.write(batch),
        }
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        match self {
            Self::Stream(writer) => writer.finish(),
            Self::File(writer) => writer.finish(),
        }
    }

    /// Returns the bytes written since the last call.
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Self::Stream(writer) => writer.get_mut(),
            Self::File(writer) => writer.get_mut(),
        })
    }
}

/// Encodes batches.
struct BatchEncoder {
    format: IpcFormat,
    /// Plan for all rows, and the writer. `None` before the first batch.
    current: Option<(Arc<TablePlan>, IpcWriter)>,
}

impl std::fmt::Debug for BatchEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchEncoder").field("format", &self.format).finish_non_exhaustive()
    }
}

impl BatchEncoder {
    /// Encodes a batch and returns the bytes.
    fn write(&mut self, batch: &TableBatch) -> io::Result<Vec<u8>> {
        let (plan, writer) = match &mut self.current {
            Some(current) => current,
            None => {
                let writer = IpcWriter::new(self.format, batch.plan.schema()).map_err(io::Error::other)?;
                self.current.insert((Arc::clone(&batch.plan), writer))
            }
        };
        if !Arc::ptr_eq(plan, &batch.plan) && plan.schema() != batch.plan.schema() {
            let [first, second] = [plan.label(), batch.plan.label()];
            let message = match first == second {
                true => format!("events `{first}` have different columns"),
                false => format!("`{first}` and `{second}` have different columns"),
            };
            let message = format!("{message}: Arrow IPC has one schema; select events of one class");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        writer.write(&batch.batch).map_err(io::Error::other)?;
        Ok(writer.take())
    }

    /// Ends the output and returns the remaining bytes.
    fn finish(self) -> io::Result<Vec<u8>> {
        let mut writer = match self.current {
            Some((_, writer)) => writer,
            // Without events, the output has no columns.
            None => IpcWriter::new(self.format, &Schema::empty()).map_err(io::Error::other)?,
        };
        writer.finish().map_err(io::Error::other)?;
        Ok(writer.take())
    }
}

/// Arrow IPC output in progress.
#[derive(Debug)]
struct ArrowOutput {
    file: TraceFile,
    encoder: Mutex<BatchEncoder>,
    columns: TableOptions,
    record: SharedRecord,
}

impl Output for ArrowOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(TableWorker::new(self.columns.clone(), Arc::clone(&self.record)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        Ok(self.record.lock().ignore_poison().add_stream(&stream) as usize)
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        let mut encoder = self.encoder.lock().ignore_poison();
        let block = TableBlock::from_output(block)?;
        // Events without wanted columns have no rows.
        for batch in block.batches.iter().filter(|batch| !batch.plan.schema().fields().is_empty()) {
            self.file.write_bytes(&encoder.write(batch)?)?;
        }
        Ok(JoinResult::Done)
    }

    fn losses(&self) -> LossTable {
        self.record.lock().ignore_poison().losses.clone()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        check_columns(&self.record.lock().ignore_poison(), &self.columns, "Arrow")?;
        let encoder = self.encoder.into_inner().ignore_poison();
        let rest = encoder.finish().and_then(|bytes| self.file.write_bytes(&bytes));
        rest.map_err(|error| CreateError::Io { path: "Arrow IPC".to_owned(), error })?;
        let TableRecord { losses, undecoded, .. } = std::mem::take(&mut *self.record.lock().ignore_poison());
        let mut report = self.file.finish(losses, &TraceDigest::default())?;
        report.undecoded = undecoded;
        Ok(report)
    }
}
