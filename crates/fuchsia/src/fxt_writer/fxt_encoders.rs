//! Encoders of a file, or of files of parts.

use std::io;
use std::sync::Arc;

use ichnos_io::{FileEncoders, PartEncoders};
use ichnos_model::TraceDigest;
use ichnos_model::lower::LossTable;

use super::rules::{TraceRules, digest};
use super::trace_encoder::TraceEncoder;

/// Makes the encoders of files.
#[derive(Debug)]
pub(super) struct FxtEncoders {
    rules: Arc<TraceRules>,
}

impl FxtEncoders {
    pub(super) fn new(rules: Arc<TraceRules>) -> Self {
        Self { rules }
    }
}

impl PartEncoders for FxtEncoders {
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

impl FileEncoders for FxtEncoders {
    fn total_digest(&self) -> TraceDigest {
        self.rules.digest()
    }
}
