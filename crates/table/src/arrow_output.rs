//! Streams of Arrow as an output of a pass.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use ichnos_io::{
    CreateError, FormatOption, Joined, Lane, MessageOrder, Output, OutputBlock, PartsOutput, TraceFile,
    TraceWriter, Worker, WriteOptions, WriteReport, WriteSource, WriteTarget, foreign_file,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, TraceDigest};

use crate::output_parts::{check_columns, check_options, record, unsupported};
use crate::table_options::{OPTIONS, TableOptions};
use crate::table_plan::TablePlan;
use crate::table_rows::TableBatch;
use crate::table_worker::{SharedRecord, TableBlock, TableRecord, TableWorker, lock};

/// Writes events with the same columns, as those of one event record class, as a stream of Arrow (IPC streaming
/// format).
///
/// A stream has one schema: that of the first event. An event with other columns is an error. Losses and damage are not
/// in the stream.
#[derive(Clone, Copy, Debug)]
pub struct ArrowStreamWriter;

impl TraceWriter for ArrowStreamWriter {
    fn extensions(&self) -> &'static [&'static str] {
        &["arrows", "arrow"]
    }

    fn options(&self) -> &'static [FormatOption] {
        &OPTIONS[..3]
    }

    fn drops_events(&self) -> bool {
        false
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        Err(foreign_file(directory, "a stream of Arrow is a file"))
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        check_options(&sources, "Arrow", options)?;
        let file = TraceFile::create(&target, options)?;
        let columns = TableOptions::set_for("arrow", &options.formats);
        Ok(Box::new(ArrowOutput { file, stream: Mutex::default(), columns, record: record(&sources) }))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        _: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        Err(unsupported(&sources, "Arrow", "several streams cannot be written at once"))
    }
}

/// Encodes batches.
#[derive(Default)]
struct BatchStream {
    /// Plan of all rows, and the encoder.
    begun: Option<(Arc<TablePlan>, StreamWriter<Vec<u8>>)>,
}

impl std::fmt::Debug for BatchStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchStream").finish_non_exhaustive()
    }
}

impl BatchStream {
    /// Encodes a batch, and returns the bytes.
    fn write(&mut self, batch: &TableBatch) -> io::Result<Vec<u8>> {
        let (plan, writer) = match &mut self.begun {
            Some(begun) => begun,
            None => {
                let writer =
                    StreamWriter::try_new(Vec::new(), batch.plan.schema()).map_err(io::Error::other)?;
                self.begun.insert((Arc::clone(&batch.plan), writer))
            }
        };
        if !Arc::ptr_eq(plan, &batch.plan) && plan.schema() != batch.plan.schema() {
            let [first, second] = [plan.label(), batch.plan.label()];
            let message = match first == second {
                true => format!("events `{first}` have different columns"),
                false => format!("events `{second}` have other columns than events `{first}`"),
            };
            let message = format!("{message}: a stream of Arrow has one schema; select events of one class");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        writer.write(&batch.batch).map_err(io::Error::other)?;
        Ok(std::mem::take(writer.get_mut()))
    }

    /// Ends the stream, and returns the remaining bytes.
    fn finish(self) -> io::Result<Vec<u8>> {
        let mut writer = match self.begun {
            Some((_, writer)) => writer,
            // Without an event, there are no columns.
            None => StreamWriter::try_new(Vec::new(), &Schema::empty()).map_err(io::Error::other)?,
        };
        writer.finish().map_err(io::Error::other)?;
        Ok(std::mem::take(writer.get_mut()))
    }
}

/// A stream of Arrow that is being written.
#[derive(Debug)]
struct ArrowOutput {
    file: TraceFile,
    stream: Mutex<BatchStream>,
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
        Ok(lock(&self.record).add_stream(&stream) as usize)
    }

    fn join(&self, block: OutputBlock) -> io::Result<Joined> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let block = block.data.and_then(|data| data.downcast::<TableBlock>().ok());
        let batches = block.iter().flat_map(|block| &block.batches);
        // Without a wanted column, events have no row.
        for batch in batches.filter(|batch| !batch.plan.schema().fields().is_empty()) {
            self.file.write_bytes(&stream.write(batch)?)?;
        }
        Ok(Joined::Done)
    }

    fn losses(&self) -> LossTable {
        lock(&self.record).losses.clone()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        check_columns(&lock(&self.record), &self.columns, "Arrow")?;
        let stream = self.stream.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rest = stream.finish().and_then(|bytes| self.file.write_bytes(&bytes));
        rest.map_err(|error| CreateError::Io { path: "the stream of Arrow".to_owned(), error })?;
        let TableRecord { losses, undecoded, .. } = std::mem::take(&mut *lock(&self.record));
        let mut report = self.file.finish(losses, &TraceDigest::default())?;
        report.undecoded = undecoded;
        Ok(report)
    }
}
