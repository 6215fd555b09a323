//! The output file, and files of parts.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_io::{
    CreateError, Joined, Lane, MessageOrder, Output, OutputBlock, PartEncoders, TraceFile, Worker,
    WriteOptions, WriteReport, WriteTarget,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, TraceDigest};

use super::rules::{TraceRules, digest};
use super::trace_encoder::TraceEncoder;

/// A trace being written.
#[derive(Debug)]
pub(super) struct FxtOutput {
    rules: Arc<TraceRules>,
    file: TraceFile,
    /// Data streams added so far.
    added: Mutex<Vec<Arc<DataStream>>>,
}

impl FxtOutput {
    pub(super) fn new(
        target: &WriteTarget,
        rules: Arc<TraceRules>,
        options: &WriteOptions,
    ) -> Result<Self, CreateError> {
        Ok(Self { rules, file: TraceFile::create(target, options)?, added: Mutex::default() })
    }
}

impl Output for FxtOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(TraceEncoder::new(Arc::clone(&self.rules)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
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
        let (losses, digest) = (self.losses(), self.rules.digest());
        self.file.finish(losses, &digest)
    }
}

/// Makes the encoders of parts.
#[derive(Debug)]
pub(super) struct FxtParts {
    rules: Arc<TraceRules>,
}

impl FxtParts {
    pub(super) fn new(rules: Arc<TraceRules>) -> Self {
        Self { rules }
    }
}

impl PartEncoders for FxtParts {
    type Encoder = TraceEncoder;

    fn encoder(&mut self) -> TraceEncoder {
        TraceEncoder::new(Arc::clone(&self.rules))
    }

    fn waiting(encoder: &TraceEncoder) -> usize {
        encoder.waiting()
    }

    fn finish(&mut self, encoder: &mut TraceEncoder) -> io::Result<()> {
        encoder.finish_part()
    }

    fn digest(&self, encoder: &TraceEncoder) -> TraceDigest {
        digest(encoder.records())
    }

    fn losses(&self) -> LossTable {
        self.rules.with_losses(|table| table.clone())
    }
}
