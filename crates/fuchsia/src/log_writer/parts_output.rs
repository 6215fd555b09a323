//! Encoders of several logs at once, one for each part of a trace.

use std::io;
use std::sync::Arc;

use ichnos_io::{PartEncoders, Worker};
use ichnos_model::lower::LossTable;
use ichnos_model::{Message, TraceDigest};

use super::log_rules::LogRules;
use super::record_encoder::LogEncoder;
use super::record_hash::record_hash;

/// Makes encoders that share a buffer.
#[derive(Debug)]
pub(super) struct LogParts {
    rules: Arc<LogRules>,
    /// Buffer for a record.
    room: Box<[u8]>,
}

impl LogParts {
    pub(super) fn new(rules: LogRules) -> Self {
        Self { rules: Arc::new(rules), room: LogEncoder::room() }
    }
}

impl PartEncoders for LogParts {
    type Encoder = LogEncoder;

    fn encoder(&mut self) -> LogEncoder {
        LogEncoder::without_room(Arc::clone(&self.rules))
    }

    fn waiting(encoder: &LogEncoder) -> usize {
        encoder.waiting()
    }

    fn message(&mut self, encoder: &mut LogEncoder, message: &Message<'_>) -> io::Result<()> {
        encoder.swap_room(&mut self.room);
        let result = encoder.message(message);
        encoder.swap_room(&mut self.room);
        result.map(drop)
    }

    fn finish(&mut self, encoder: &mut LogEncoder) -> io::Result<()> {
        encoder.finish_part()
    }

    fn digest(&self, encoder: &LogEncoder) -> TraceDigest {
        let mut digest = TraceDigest::default();
        digest.event_hash = Some(record_hash);
        digest.discarded_events = None;
        digest.damages = self.rules.damages();
        digest.add_class("", encoder.records());
        digest
    }

    fn losses(&self) -> LossTable {
        self.rules.with_losses(|table| table.clone())
    }
}
