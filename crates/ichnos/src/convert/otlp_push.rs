//! Sends spans, log records and counter values to an OpenTelemetry receiver.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::otlp::push::{OtlpPusher, PushError, PushOptions, PushOutcome};
use ichnos_io::{
    CreateError, FormatOption, FormatOptions, JoinResult, Lane, MessageOrder, Output, OutputBlock,
    PartsOutput, SentCounts, Worker, WriteOptions, WriteReport, WriteSource, WriteTarget, WriterFactory,
    foreign_file,
};
use ichnos_model::DataStream;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::LossTable;
use ichnos_viewers::{OtlpSignal, TelemetryRequest, ViewerStart};

use super::telemetry_worker::{SharedLosses, TelemetryWorker, record_lost, request_signal, requests_of};
use super::viewer_file::viewer_start;

/// Name of the format.
pub(super) const OTLP_PUSH: &str = "otlp-push";

const HEADER: &str = "header";
const TIMEOUT: &str = "timeout";
const RETRY_FOR: &str = "retry-for";

const OPTIONS: &[FormatOption] = &[
    FormatOption::texts(HEADER, "Send a header with each request, for example a key")
        .details("The option can be repeated.")
        .value_name("NAME=VALUE")
        .unprefixed(),
    FormatOption::text(TIMEOUT, "Maximum time for a request and its answer [default: 10s]")
        .details("A request without an answer is not sent again, because the receiver may have it.")
        .value_name("DURATION")
        .unprefixed(),
    FormatOption::text(RETRY_FOR, "Time to try again for, if the receiver is not ready [default: 5min]")
        .value_name("DURATION")
        .unprefixed(),
];

/// Default size of requests before compression, and its maximum, in bytes. Receivers accept 20 MiB by default.
const REQUEST: usize = 1 << 20;
const MOST_REQUEST: usize = 16 << 20;

/// Sends to an OpenTelemetry receiver at an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtlpPushWriter;

impl OtlpPushWriter {
    fn push_options(options: &WriteOptions) -> Result<PushOptions, CreateError> {
        let mut push = PushOptions::default();
        for header in options.formats.texts(OTLP_PUSH, HEADER) {
            let pair =
                header.split_once('=').ok_or_else(|| unsupported("expected a header as NAME=VALUE"))?;
            push.headers.push((pair.0.trim().to_owned(), pair.1.trim().to_owned()));
        }
        let time = |name, default| match options.formats.text(OTLP_PUSH, name) {
            Some(text) => duration(text).ok_or_else(|| {
                unsupported(&format!("expected a duration such as 10s or 5min for `{name}`, found `{text}`"))
            }),
            None => Ok(default),
        };
        push.timeout = time(TIMEOUT, push.timeout)?;
        push.retry_for = time(RETRY_FOR, push.retry_for)?;
        push.stop = options.stop;
        Ok(push)
    }
}

fn unsupported(problem: &str) -> CreateError {
    let (trace, dialect) = ("the trace".to_owned(), "OpenTelemetry requests");
    CreateError::Unsupported { trace, dialect, problems: vec![problem.to_owned()] }
}

/// Parses a duration.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * seconds;
    // A year is longer than any program waits.
    Duration::try_from_secs_f64(seconds).ok().filter(|time| time.as_secs() < 366 * 86_400)
}

impl WriterFactory for OtlpPushWriter {
    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }

    fn options(&self) -> &'static [FormatOption] {
        OPTIONS
    }

    fn drops_events(&self) -> bool {
        true
    }

    fn needs_times(&self, _: &FormatOptions) -> bool {
        true
    }

    fn sends(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        Err(foreign_file(directory, "nothing is written there"))
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        if let Some(dialect) = &options.dialect {
            return Err(CreateError::Dialect(dialect.clone()));
        }
        if options.verify.is_some() {
            return Err(CreateError::WriteOnly("sent data"));
        }
        let push = Self::push_options(options)?;
        let sender = match target {
            WriteTarget::Complete(path) | WriteTarget::Live(path) => {
                let named = |error: PushError| CreateError::Io {
                    path: path.display().to_string(),
                    error: io::Error::other(error),
                };
                let pusher = OtlpPusher::new(&path.to_string_lossy(), push).map_err(named)?;
                Some(Sender { pusher, path: path.clone(), reasons: HashMap::new() })
            }
            WriteTarget::Nowhere => None,
        };
        let size = options.packet_size.and_then(|size| usize::try_from(size).ok());
        Ok(Box::new(PushOutput {
            sender: Mutex::new(sender),
            losses: Arc::default(),
            start: viewer_start(options),
            request: size.unwrap_or(REQUEST).clamp(1, MOST_REQUEST),
            streams: Mutex::new(sources.iter().map(|source| source.streams.len()).sum()),
            events: AtomicU64::new(0),
        }))
    }

    fn create_parts(
        &self,
        _: Vec<WriteSource>,
        _: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        Err(unsupported("a receiver takes one output, not parts"))
    }
}

/// Reason why elements were not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lost {
    Rejected,
    Unknown,
}

/// Client with the first reason for each kind of loss.
#[derive(Debug)]
struct Sender {
    pusher: OtlpPusher,
    path: PathBuf,
    /// First reason by signal. Losses of the same kind are one line, whatever the receiver says.
    reasons: HashMap<(u8, Lost), String>,
}

impl Sender {
    /// Sends a request.
    fn send(&mut self, request: &TelemetryRequest, losses: &SharedLosses) -> Result<(), PushError> {
        let TelemetryRequest { signal, elements, bytes, .. } = request;
        let (lost, count, reason) = match self.pusher.push(request_signal(*signal), *elements, bytes)? {
            PushOutcome::Accepted { rejected, reason } => (Lost::Rejected, rejected.min(*elements), reason),
            PushOutcome::Refused { status, reason } if reason.is_empty() => {
                (Lost::Rejected, *elements, format!("status {status}"))
            }
            PushOutcome::Refused { status, reason } => {
                (Lost::Rejected, *elements, format!("status {status}: {reason}"))
            }
            PushOutcome::Unknown { reason } => (Lost::Unknown, *elements, reason),
            _ => return Ok(()),
        };
        if count > 0 {
            let first = self.reasons.entry((*signal as u8, lost)).or_insert(reason);
            let element = match signal {
                OtlpSignal::Traces => "span",
                OtlpSignal::Logs => "log record",
                OtlpSignal::Metrics => "counter value",
            };
            let what = match lost {
                Lost::Rejected => format!("{element} rejected by the receiver: {first}"),
                Lost::Unknown => {
                    format!("{element} in a request without an answer, which the receiver may have: {first}")
                }
            };
            record_lost(losses, &what, count);
        }
        Ok(())
    }

    fn counts(&self) -> SentCounts {
        let counts = self.pusher.counts();
        SentCounts {
            answered: counts.answered,
            retries: counts.retries,
            acknowledged: counts.acknowledged,
            rejected: counts.rejected,
            unanswered: counts.unanswered,
            unknown: counts.unknown,
        }
    }
}

/// Output that sends.
#[derive(Debug)]
struct PushOutput {
    /// `None` if nothing is sent.
    sender: Mutex<Option<Sender>>,
    losses: SharedLosses,
    start: ViewerStart,
    /// Size of requests in bytes.
    request: usize,
    /// Number of data streams.
    streams: Mutex<usize>,
    /// Number of events in the requests.
    events: AtomicU64,
}

impl Output for PushOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(TelemetryWorker::new(self.start, self.request, Arc::clone(&self.losses)))
    }

    fn add_stream(&self, _: usize, _: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut streams = self.streams.lock().ignore_poison();
        *streams += 1;
        Ok(*streams - 1)
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        self.events.fetch_add(block.events, Ordering::Relaxed);
        let mut sender = self.sender.lock().ignore_poison();
        let Some(sender) = &mut *sender else { return Ok(JoinResult::Done) };
        for request in requests_of(block) {
            sender.send(&request, &self.losses).map_err(|error| match error {
                PushError::Stopped => io::Error::new(io::ErrorKind::Interrupted, "stopped"),
                PushError::Io(error) => error,
                error => io::Error::other(error),
            })?;
        }
        Ok(JoinResult::Done)
    }

    fn losses(&self) -> LossTable {
        self.losses.lock().ignore_poison().clone()
    }

    fn sent(&self) -> Option<SentCounts> {
        self.sender.lock().ignore_poison().as_ref().map(Sender::counts)
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let mut report = WriteReport::default();
        report.losses = self.losses();
        report.events = self.events.load(Ordering::Relaxed);
        let Some(sender) = self.sender.into_inner().ignore_poison() else { return Ok(report) };
        let counts = sender.counts();
        report.bytes = sender.pusher.counts().bytes;
        if counts.acknowledged == 0 && counts.rejected + counts.unknown > 0 {
            let mut reasons: Vec<String> = sender.reasons.into_values().collect();
            reasons.sort_unstable();
            reasons.dedup();
            let message = format!("nothing was acknowledged: {}: {}", reasons.join("; "), counts);
            let path = sender.path.display().to_string();
            return Err(CreateError::Io { path, error: io::Error::other(message) });
        }
        report.paths.push(sender.path);
        report.sent = Some(counts);
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("10s"), Some(Duration::from_secs(10)));
        assert_eq!(duration("1.5min"), Some(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        for wrong in ["", "10", "s", "-1s", "1e9s", "9999999999999h", "1..2s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
