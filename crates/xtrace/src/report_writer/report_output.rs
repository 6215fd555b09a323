//! The output file, and files of parts.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_io::{
    CreateError, Joined, Lane, MessageOrder, Output, OutputBlock, PartEncoders, TraceFile, Worker,
    WriteOptions, WriteReport, WriteTarget,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, TraceDigest};

use super::report_encoder::ReportEncoder;
use super::rules::ReportRules;

/// A file of reports that is being written.
#[derive(Debug)]
pub(super) struct ReportOutput {
    rules: Arc<ReportRules>,
    file: TraceFile,
    /// Data streams added so far, kept because encoders identify traces by their addresses.
    added: Mutex<Vec<Arc<DataStream>>>,
}

impl ReportOutput {
    pub(super) fn new(
        target: &WriteTarget,
        rules: Arc<ReportRules>,
        options: &WriteOptions,
    ) -> Result<Self, CreateError> {
        let file = TraceFile::create(target, options)?;
        // A terminal would take texts of a trace as commands.
        if file.is_terminal() {
            return Err(CreateError::Terminal);
        }
        Ok(Self { rules, file, added: Mutex::default() })
    }
}

impl Output for ReportOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(ReportEncoder::new(Arc::clone(&self.rules)))
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
pub(super) struct ReportParts {
    rules: Arc<ReportRules>,
}

impl ReportParts {
    pub(super) fn new(rules: Arc<ReportRules>) -> Self {
        Self { rules }
    }
}

impl PartEncoders for ReportParts {
    type Encoder = ReportEncoder;

    fn encoder(&mut self) -> ReportEncoder {
        ReportEncoder::new(Arc::clone(&self.rules))
    }

    fn waiting(encoder: &ReportEncoder) -> usize {
        encoder.waiting()
    }

    fn finish(&mut self, encoder: &mut ReportEncoder) -> io::Result<()> {
        encoder.finish()
    }

    fn digest(&self, encoder: &ReportEncoder) -> TraceDigest {
        encoder.digest()
    }

    fn losses(&self) -> LossTable {
        self.rules.with_losses(|table| table.clone())
    }
}
