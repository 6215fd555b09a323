//! Encoders of a file of reports, or of files of parts.

use std::io;
use std::sync::Arc;

use ichnos_io::{FileEncoders, PartEncoders, Worker};
use ichnos_model::TraceDigest;
use ichnos_model::lower::LossTable;

use super::report_encoder::ReportEncoder;
use super::rules::ReportRules;

/// Makes the encoders of files.
#[derive(Debug)]
pub(super) struct ReportEncoders {
    rules: Arc<ReportRules>,
}

impl ReportEncoders {
    pub(super) fn new(rules: Arc<ReportRules>) -> Self {
        Self { rules }
    }
}

impl PartEncoders for ReportEncoders {
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

impl FileEncoders for ReportEncoders {
    fn total_digest(&self) -> TraceDigest {
        self.rules.digest()
    }
}
