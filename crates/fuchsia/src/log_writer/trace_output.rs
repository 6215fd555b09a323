//! The output file.

use std::io;
use std::sync::{Arc, Mutex};

use ichnos_io::{
    CreateError, Joined, Lane, MessageOrder, Output, OutputBlock, TraceFile, Worker, WriteOptions,
    WriteReport, WriteSource, WriteTarget,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, IgnorePoison as _};

use super::log_rules::{KEPT_METADATA, LogRules, loss, note_clock};
use super::record_encoder::LogEncoder;
use super::record_hash::record_hash;
use crate::log::Framing;

/// A log being written.
#[derive(Debug)]
pub(super) struct LogOutput {
    rules: Arc<LogRules>,
    file: TraceFile,
    /// Data streams added so far, kept because encoders identify traces by their addresses.
    added: Mutex<Vec<Arc<DataStream>>>,
}

impl LogOutput {
    pub(super) fn new(
        target: &WriteTarget,
        sources: &[WriteSource],
        framing: Framing,
        options: &WriteOptions,
    ) -> Result<Self, CreateError> {
        let rules = LogRules::new(sources, framing, options);
        let file = TraceFile::create(target, options)?;
        Ok(Self { rules: Arc::new(rules), file, added: Mutex::default() })
    }
}

impl Output for LogOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(LogEncoder::new(Arc::clone(&self.rules)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut added = self.added.lock().ignore_poison();
        if let Some(clock) = stream.clock()
            && !added.iter().any(|known| known.clock() == Some(clock))
        {
            let mut lose = |kind, field: &str, what: &str| {
                self.rules.with_losses(|table| table.add(loss(kind, field, what), 1));
            };
            note_clock(clock, &mut lose);
            self.rules.with_losses(|table| table.add_clock_metadata(clock, KEPT_METADATA));
        }
        added.push(stream);
        Ok(added.len() - 1)
    }

    fn join(&self, block: OutputBlock) -> io::Result<Joined> {
        self.file.write(&block)?;
        Ok(Joined::Done)
    }

    fn losses(&self) -> LossTable {
        self.rules.with_losses(|table| table.clone())
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let mut digest = self.rules.digest();
        digest.event_hash = Some(record_hash);
        digest.discarded_events = None;
        let losses = self.losses();
        self.file.finish(losses, &digest)
    }
}
