//! Passes batches to programs that use Arrow.

use std::io;
use std::sync::{Arc, Mutex};

use ichnos_io::{CreateError, JoinResult, Lane, MessageOrder, Output, OutputBlock, Worker, WriteReport};
use ichnos_model::DataStream;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::LossTable;

use crate::table_options::TableOptions;
use crate::table_rows::TableBatch;
use crate::table_worker::{SharedRecord, TableBlock, TableRecord, TableWorker};

/// Passes event batches to a function. Batches of one class are sorted by time. Batches of different classes arrive as
/// they become full.
///
/// The column `stream` numbers the data streams in the order of their addition.
pub struct BatchOutput<F> {
    take: Mutex<F>,
    options: TableOptions,
    record: SharedRecord,
}

impl<F> std::fmt::Debug for BatchOutput<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchOutput").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<F: FnMut(TableBatch) -> io::Result<()> + Send> BatchOutput<F> {
    /// Passes the wanted columns of the data streams' events to `take`.
    pub fn new<'s>(
        streams: impl IntoIterator<Item = &'s Arc<DataStream>>,
        options: TableOptions,
        take: F,
    ) -> Self {
        let mut record = TableRecord::default();
        for stream in streams {
            record.add_stream(stream);
        }
        Self { take: Mutex::new(take), options, record: Arc::new(Mutex::new(record)) }
    }
}

impl<F: FnMut(TableBatch) -> io::Result<()> + Send> Output for BatchOutput<F> {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(TableWorker::new(self.options.clone(), Arc::clone(&self.record)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        Ok(self.record.lock().ignore_poison().add_stream(&stream) as usize)
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        let mut take = self.take.lock().ignore_poison();
        for batch in TableBlock::from_output(block)?.batches {
            take(batch)?;
        }
        Ok(JoinResult::Done)
    }

    fn losses(&self) -> LossTable {
        self.record.lock().ignore_poison().losses.clone()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let TableRecord { losses, undecoded, .. } = std::mem::take(&mut *self.record.lock().ignore_poison());
        let mut report = WriteReport::default();
        (report.losses, report.undecoded) = (losses, undecoded);
        Ok(report)
    }
}
