//! OpenTelemetry traces: spans, log records and counter values.
//!
//! | event | becomes |
//! |---|---|
//! | start, end, event with a duration | a span |
//! | first event of an operation | a span until the last event of the operation or of its inner operations |
//! | causes of an operation | the parent, if it is the recorded parent or contains the span in time, otherwise links |
//! | message, or event outside spans | a log record |
//! | other events | an event of the enclosing span |
//! | counter | a gauge value for each of its values |
//! | discarded events and packets, damage | a log record in the scope `losses` |
//! | part of an OpenTelemetry element | the element as it was read |

mod attributes;
mod batch;
mod class;
mod data_points;
mod element_class;
mod elements;
mod encoding;
mod event_context;
mod ids;
mod log_records;
mod message_sink;
mod number_sink;
mod origin_pairs;
mod origins;
mod point_value;
mod requests;
mod resources;
mod schema;
mod spans;
mod telemetry;

use std::fmt;
use std::io;

use ichnos_model::lower::LossTable;
use ichnos_model::meaning::FindMentions;
use ichnos_model::{DataStream, Event};

use self::batch::FULL;
pub use self::batch::{OtlpSignal, TelemetryRequest};
use self::class::OtlpClass;
pub use self::encoding::OtlpEncoding;
use self::event_context::EventContext;
pub use self::requests::TelemetryRequests;
use self::telemetry::{OtlpStream, Telemetry};
use crate::event_track::event_track;
use crate::viewer_file::{EventAt, ShownEvent, Viewer, ViewerFile, ViewerStart, start_file};
use ichnos_analysis::events::class::{EventPlace, ViewerClass};
use ichnos_analysis::events::losses::LossNote;
use ichnos_analysis::tasks::EventContent;

/// Options of [`otlp()`].
#[derive(Clone, Debug, Default)]
pub struct OtlpOptions {
    /// Request encoding.
    pub encoding: OtlpEncoding,
    /// Signal to write, or `None` for all. In protobuf, requests of different signals cannot be distinguished.
    pub signal: Option<OtlpSignal>,
    /// `true` if a file without spans, but with other signals, is an error: [`NoSpans`].
    pub needs_spans: bool,
    /// Functions that search texts and fields for operations that an event mentions. Log records get the identifiers
    /// of the operation.
    pub find_mentions: Vec<FindMentions>,
}

/// Error for a trace without spans. Requests are span requests by default in protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoSpans {
    /// Number of log records in the signal `logs`.
    pub log_records: u64,
    /// Number of counter values in the signal `metrics`.
    pub values: u64,
}

impl fmt::Display for NoSpans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { log_records, values } = self;
        write!(
            f,
            "no spans to write, the default signal of OpenTelemetry in protobuf; the trace has {log_records} log \
             records and {values} counter values"
        )
    }
}

impl std::error::Error for NoSpans {}

/// Starts a file of OTLP requests: spans, log records and metrics, with all fields as attributes.
#[must_use]
pub fn otlp(options: OtlpOptions, start: ViewerStart) -> Box<dyn ViewerFile> {
    let OtlpOptions { encoding, signal, needs_spans, find_mentions } = options;
    let telemetry = Telemetry::new(encoding, signal, FULL);
    let otlp = Otlp { telemetry, content: EventContent::default(), find_mentions, needs_spans };
    start_file(otlp, start.first_time)
}

/// Viewer that writes events as requests.
#[derive(Debug)]
struct Otlp {
    telemetry: Telemetry,
    content: EventContent,
    find_mentions: Vec<FindMentions>,
    needs_spans: bool,
}

impl Viewer for Otlp {
    type Class = OtlpClass;
    type Stream = OtlpStream;

    const AT_ORIGIN: Option<&'static str> =
        Some("time at the clock's origin -> 1 ns later, because 0 stands for an unknown time");

    fn content(&self) -> (&Vec<u8>, &LossTable) {
        (&self.telemetry.out, &self.telemetry.losses)
    }

    fn content_mut(&mut self) -> (&mut Vec<u8>, &mut LossTable) {
        (&mut self.telemetry.out, &mut self.telemetry.losses)
    }

    fn class(&mut self, event: &Event<'_>) -> OtlpClass {
        self.telemetry.class(event, !self.find_mentions.is_empty())
    }

    fn viewer_class(class: &OtlpClass) -> &ViewerClass {
        &class.class
    }

    fn stream(&mut self, _: &DataStream, _: u32, _: u64) -> OtlpStream {
        OtlpStream::default()
    }

    fn event(&mut self, shown: &ShownEvent<'_, '_, OtlpClass>, stream: &mut OtlpStream) -> bool {
        let ShownEvent { at: EventAt { event, trace, time }, class, ref location } = *shown;
        let Self { telemetry, content, find_mentions, .. } = self;
        if let Some(tasks) = &class.class.tasks {
            tasks.read(event, &[], content);
            if let Some(mentions) = class.mentions.as_ref().filter(|_| telemetry.is_new(content, trace)) {
                mentions.read(event, find_mentions, content);
            }
        } else if let Some(mentions) = &class.mentions {
            mentions.read(event, find_mentions, content);
        }
        telemetry.event(&EventContext::new(event, class, content, location, time, trace), stream)
    }

    fn end_thread(&mut self, at: EventAt<'_, '_>, ended: &EventPlace<'_>, _: &mut OtlpStream) {
        let (_, track) = event_track(at.event.stream.key, ended, at.trace);
        self.telemetry.end_thread(track, at.time);
    }

    fn loss(&mut self, note: &LossNote, time: u64) {
        self.telemetry.loss(note, time);
    }

    fn finish(&mut self) -> io::Result<()> {
        self.telemetry.finish();
        let [spans, log_records, values] = OtlpSignal::ALL.map(|signal| self.telemetry.elements(signal));
        match (self.needs_spans && spans == 0, log_records + values) {
            (true, 1..) => Err(io::Error::new(io::ErrorKind::InvalidInput, NoSpans { log_records, values })),
            _ => Ok(()),
        }
    }
}
