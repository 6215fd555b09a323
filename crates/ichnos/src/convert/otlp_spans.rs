//! Requests of spans in protobuf, where no signal was selected.

use std::io;

use ichnos_model::Message;
use ichnos_model::lower::LossTable;
use ichnos_viewers::{Otlp, OtlpSignal};

use super::viewer_file::ViewerContent;

/// A trace without spans cannot be written as a request of spans, which is the default in protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no spans to write, the default signal of OpenTelemetry in protobuf; the trace has {log_records} log records and \
     {values} counter values"
)]
#[non_exhaustive]
pub struct NoSpans {
    /// Number of log records that the signal `logs` would have.
    pub log_records: u64,
    /// Number of counter values that the signal `metrics` would have.
    pub values: u64,
}

/// Spans in protobuf; it fails at the end if there are none, but elements of other signals.
#[derive(Debug)]
pub(super) struct OtlpSpans(Otlp);

impl OtlpSpans {
    /// Makes them of a writer of spans.
    pub(super) fn new(writer: Otlp) -> Self {
        Self(writer)
    }
}

impl ViewerContent for OtlpSpans {
    fn message(&mut self, message: &Message<'_>) -> bool {
        self.0.message(message)
    }

    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn take_bytes(&mut self) -> Vec<u8> {
        self.0.take_bytes()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish();
        let [spans, log_records, values] = OtlpSignal::ALL.map(|signal| self.0.elements(signal));
        match (spans, log_records + values) {
            (0, 1..) => Err(io::Error::new(io::ErrorKind::InvalidInput, NoSpans { log_records, values })),
            _ => Ok(()),
        }
    }

    fn losses(&self) -> &LossTable {
        self.0.losses()
    }
}
