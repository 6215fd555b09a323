//! Worker that converts messages to OpenTelemetry requests.

use std::io;
use std::sync::{Arc, Mutex};

use crate::otlp::RequestSignal;
use ichnos_io::{OutputBlock, Worker, WorkerFlow};
use ichnos_model::Message;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_viewers::{OtlpSignal, TelemetryRequest, TelemetryRequests, ViewerStart};

use crate::format::formats;

/// Losses that an output shares with its worker.
pub(super) type SharedLosses = Arc<Mutex<LossTable>>;

/// Worker whose blocks are requests.
#[derive(Debug)]
pub(super) struct TelemetryWorker {
    requests: TelemetryRequests,
    losses: SharedLosses,
    /// Number of events since the last block.
    events: u64,
    is_over: bool,
}

impl TelemetryWorker {
    /// Creates a worker. `full` is the minimum size of a full request in bytes. It finds mentioned operations in the
    /// notations of all formats.
    pub(super) fn new(start: ViewerStart, full: usize, losses: SharedLosses) -> Self {
        let find_mentions = formats().filter_map(|format| format.find_mentions).collect();
        Self {
            requests: TelemetryRequests::new(find_mentions, full, start),
            losses,
            events: 0,
            is_over: false,
        }
    }
}

/// Takes the requests of a block.
pub(super) fn requests_of(block: OutputBlock) -> Vec<TelemetryRequest> {
    let requests = block.data.and_then(|data| data.downcast::<Vec<TelemetryRequest>>().ok());
    requests.map_or_else(Vec::new, |requests| *requests)
}

/// Returns the signal of a request.
pub(super) fn request_signal(signal: OtlpSignal) -> RequestSignal {
    match signal {
        OtlpSignal::Traces => RequestSignal::Traces,
        OtlpSignal::Logs => RequestSignal::Logs,
        OtlpSignal::Metrics => RequestSignal::Metrics,
    }
}

/// Adds lost elements.
pub(super) fn record_lost(losses: &SharedLosses, what: &str, count: u64) {
    if count > 0 {
        losses.lock().ignore_poison().note_times(LossKind::Dropped, "", "", what, count);
    }
}

impl Worker for TelemetryWorker {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        if let Message::Damage(damage) = message {
            self.losses.lock().ignore_poison().add_damage(damage);
        }
        let is_written = self.requests.message(message);
        self.events += u64::from(is_written && matches!(message, Message::Event(_)));
        Ok(if self.requests.has_requests() { WorkerFlow::Block } else { WorkerFlow::Continue })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.requests.flush();
        Ok(())
    }

    fn take(&mut self) -> Option<OutputBlock> {
        let is_rest = self.is_over && self.events > 0;
        if !self.requests.has_requests() && !is_rest {
            return None;
        }
        let (requests, events) = (self.requests.take(), std::mem::take(&mut self.events));
        Some(OutputBlock { events, data: Some(Box::new(requests)), ..OutputBlock::default() })
    }

    fn finish(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_over, true) {
            self.requests.finish()?;
            self.losses.lock().ignore_poison().merge(self.requests.losses().clone());
        }
        Ok(())
    }
}
