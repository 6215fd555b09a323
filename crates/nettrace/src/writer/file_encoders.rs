//! Encoders of a file, or of files of parts.

use std::io;
use std::sync::Arc;

use ichnos_io::{FileEncoders, MessageOrder, PartEncoders};
use ichnos_model::TraceDigest;
use ichnos_model::lower::LossTable;

use super::rules::{TraceRules, digest};
use super::trace_encoder::TraceEncoder;

/// Makes the encoders of files.
#[derive(Debug)]
pub(super) struct TraceEncoders {
    rules: Arc<TraceRules>,
}

impl TraceEncoders {
    pub(super) fn new(rules: Arc<TraceRules>) -> Self {
        Self { rules }
    }
}

impl PartEncoders for TraceEncoders {
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
        digest(encoder.written())
    }

    fn losses(&self) -> LossTable {
        self.rules.with_losses(|table| table.clone())
    }
}

impl FileEncoders for TraceEncoders {
    fn order(&self) -> MessageOrder {
        if self.rules.segments.is_some() { MessageOrder::Segments } else { MessageOrder::Merged }
    }

    fn total_digest(&self) -> TraceDigest {
        self.rules.digest()
    }
}
