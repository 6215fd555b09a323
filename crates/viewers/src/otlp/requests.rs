//! Separate requests, for receivers and stores.

use std::io;

use ichnos_analysis::tasks::EventContent;
use ichnos_model::Message;
use ichnos_model::lower::LossTable;
use ichnos_model::meaning::FindMentions;

use super::Otlp;
use super::batch::TelemetryRequest;
use super::encoding::OtlpEncoding;
use super::telemetry::Telemetry;
use crate::viewer_file::{EventFile, ViewerFile as _, ViewerStart};

/// Converts messages to requests of all signals, as [`otlp()`](super::otlp()) does for a file.
#[derive(Debug)]
pub struct TelemetryRequests {
    file: EventFile<Otlp>,
}

impl TelemetryRequests {
    /// Starts requests of at least `full` bytes, except for the last ones. Only the last element can exceed this size.
    /// For `find_mentions`, see [`OtlpOptions`](super::OtlpOptions).
    #[must_use]
    pub fn new(find_mentions: Vec<FindMentions>, full: usize, start: ViewerStart) -> Self {
        let mut telemetry = Telemetry::new(OtlpEncoding::Protobuf, None, full);
        telemetry.requests = Some(Vec::new());
        let otlp = Otlp { telemetry, content: EventContent::default(), find_mentions, needs_spans: false };
        Self { file: EventFile::new(otlp, start.first_time) }
    }

    /// Takes a message. Returns `false` for an event that cannot be shown.
    pub fn message(&mut self, message: &Message<'_>) -> bool {
        self.file.message(message)
    }

    /// Completes the requests of all elements so far. Open spans stay open.
    pub fn flush(&mut self) {
        self.file.viewer.telemetry.flush(true);
    }

    /// Ends all spans, and completes the last requests.
    ///
    /// # Errors
    /// Never, at present.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.finish()
    }

    /// Returns `true` if there are complete requests.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        self.file.viewer.telemetry.requests.as_ref().is_some_and(|requests| !requests.is_empty())
    }

    /// Takes the complete requests.
    pub fn take(&mut self) -> Vec<TelemetryRequest> {
        self.file.viewer.telemetry.requests.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the losses so far.
    #[must_use]
    pub fn losses(&self) -> &LossTable {
        self.file.losses()
    }
}
