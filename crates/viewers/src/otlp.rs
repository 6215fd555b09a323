//! Traces of OpenTelemetry: spans, log records and values of counters.
//!
//! | event | becomes |
//! |---|---|
//! | begin, end, event with a duration | a span |
//! | first event of an operation | a span up to the last event of the operation, and of the operations that name it |
//! | causes of an operation | the parent if it is one, or contains the span in time; otherwise links |
//! | message, or event outside of spans | a log record |
//! | other events | an event of the span around them |
//! | counter | a value of a gauge for each of its values |
//! | discarded events and packets, damage | a log record of the scope `losses` |

mod attributes;
mod batch;
mod class;
mod encoding;
mod event_context;
mod ids;
mod log_records;
mod resources;
mod schema;
mod spans;
mod telemetry;

use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{Event, FindMentions, Message, StreamTable};

pub use self::batch::OtlpSignal;
use self::class::OtlpClass;
pub use self::encoding::OtlpEncoding;
use self::event_context::EventContext;
use self::telemetry::Telemetry;
use crate::event_track::event_track;
use crate::output_bytes;
use ichnos_analysis::events::class::ContextNames;
use ichnos_analysis::events::losses::{EarlyLosses, LossNote, NO_TIME, lose_event, lose_part, shown_time};
use ichnos_analysis::events::scheduling::{EventLocation, Scheduling};
use ichnos_analysis::events::tracks::TraceNumbers;
use ichnos_analysis::tasks::EventContent;

/// Loss of the time of an event.
const AT_ORIGIN: &str = "time at the clock's origin -> 1 ns later, because 0 stands for an unknown time";

/// Writes events as requests of OTLP: of spans, of log records and of metrics, with all fields as attributes.
///
/// Messages must be sorted by time. Bytes are in [`Otlp::bytes`] after each message, the last ones after
/// [`Otlp::finish`].
#[derive(Debug)]
pub struct Otlp {
    telemetry: Telemetry,
    /// By data stream: number of its trace.
    streams: StreamTable<(u32, ContextNames), (), OtlpClass>,
    traces: TraceNumbers,
    scheduling: Scheduling,
    content: EventContent,
    find_mentions: Vec<FindMentions>,
    /// Name of the event; a reused buffer.
    name: String,
    /// Time of the last event, for messages that have none.
    now: Option<u64>,
    /// Time of events before that.
    first_time: Option<u64>,
    early: EarlyLosses,
}

impl Otlp {
    /// Makes a writer of one signal or of all. Requests of several signals in protobuf cannot be distinguished. Events
    /// before the first one with a time are at `first_time`, in nanoseconds from the origin of the clock; `None` if it is
    /// unknown: they are at the origin then.
    #[must_use]
    pub fn new(encoding: OtlpEncoding, signal: Option<OtlpSignal>, first_time: Option<u64>) -> Self {
        Self {
            telemetry: Telemetry::new(encoding, signal),
            streams: StreamTable::default(),
            traces: TraceNumbers::default(),
            scheduling: Scheduling::default(),
            content: EventContent::default(),
            find_mentions: Vec::new(),
            name: String::new(),
            now: None,
            first_time,
            early: EarlyLosses::default(),
        }
    }

    /// Searches texts and fields of events without an operation of their own for one that they mention: their log records
    /// have its identifiers.
    #[must_use]
    pub fn with_mentions(self, find_mentions: Vec<FindMentions>) -> Self {
        Self { find_mentions, ..self }
    }

    /// Returns the bytes that were not taken.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.telemetry.out
    }

    /// Takes the bytes.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        output_bytes::take(&mut self.telemetry.out)
    }

    /// Returns the losses so far.
    #[must_use]
    pub fn losses(&self) -> &LossTable {
        &self.telemetry.losses
    }

    /// Returns the number of spans, log records or values so far, also of a signal that is not written. Spans count when they
    /// end, or when the file ends.
    #[must_use]
    pub fn elements(&self, signal: OtlpSignal) -> u64 {
        self.telemetry.elements(signal)
    }

    /// Takes a message; returns `false` for an event that cannot be shown.
    pub fn message(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => return self.event(event),
            Message::StreamEnd(stream) => self.streams.remove(stream),
            message => {
                if let Some(note) = LossNote::of(message) {
                    match note.time.or(self.now) {
                        Some(time) => self.telemetry.loss(&note, time),
                        None => self.early.add(note, &mut self.telemetry.losses),
                    }
                }
            }
        }
        true
    }

    /// Ends the file: writes all open spans.
    pub fn finish(&mut self) {
        self.write_early(self.now.or(self.first_time).unwrap_or(0));
        self.telemetry.finish();
    }

    /// Writes the losses before the first time that is known.
    fn write_early(&mut self, time: u64) {
        for note in std::mem::take(&mut self.early.notes) {
            self.telemetry.loss(&note, time);
        }
    }

    fn event(&mut self, event: &Event<'_>) -> bool {
        let Some(time) = shown_time(event.nanoseconds()) else {
            lose_event(&mut self.telemetry.losses, event, NO_TIME);
            return false;
        };
        let time = time.map(|time| time.max(1));
        if event.nanoseconds() == Some(0) {
            lose_part(&mut self.telemetry.losses, event, LossKind::Rounded, "", AT_ORIGIN);
        }
        // Events without a clock are where the last one with it is.
        let time = time.or(self.now).or(self.first_time).unwrap_or(0);
        self.now = Some(time);
        if !self.early.notes.is_empty() {
            self.write_early(time);
        }
        if !self.streams.has(event.stream) {
            let trace = self.traces.number(event.stream);
            self.scheduling.add_trace(trace, &event.stream.trace);
            self.streams.insert(event.stream, (trace, ContextNames::default()), || ());
        }
        let Self { streams, telemetry, content, find_mentions, scheduling, name, .. } = self;
        let Some(((trace, known), (), classes)) = streams.get_mut(event.stream) else { return false };
        let class = classes.for_event(event, || telemetry.class(event, !find_mentions.is_empty()));
        if let Some(tasks) = &class.class.tasks {
            tasks.read(event, &[], content);
            if let Some(mentions) = class.mentions.as_ref().filter(|_| telemetry.is_new(content, *trace)) {
                mentions.read(event, find_mentions, content);
            }
        } else if let Some(mentions) = &class.mentions {
            mentions.read(event, find_mentions, content);
        }
        let EventLocation { place, own_name, .. } =
            scheduling.locate(*trace, &class.class, event, (known, name));
        let context = EventContext::new(event, class, content, place, time, *trace).named(own_name);
        let is_written = telemetry.event(&context);
        if let Some(ended) = scheduling.ended_thread(*trace, event, &class.class) {
            telemetry.end_thread(event_track(event.stream.key, &ended, *trace).1, time);
        }
        scheduling.observe(*trace, event, &class.class);
        is_written
    }
}
