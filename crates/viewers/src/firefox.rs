//! Profiles of Firefox.

mod intervals;
mod marker_class;
mod marker_values;
mod markers;
mod profile_writer;
mod threads;

use std::io;

use ichnos_model::lower::LossTable;
use ichnos_model::{Event, Message, StreamTable};

use self::marker_class::MarkerClass;
use self::profile_writer::{EventAtPlace, ProfileWriter};
use crate::output_bytes;
use ichnos_analysis::events::class::ContextNames;
use ichnos_analysis::events::losses::{EarlyLosses, LossNote, NO_TIME, lose_event, shown_time};
use ichnos_analysis::events::scheduling::{EventLocation, Scheduling};
use ichnos_analysis::events::tracks::TraceNumbers;
use ichnos_analysis::tasks::EventContent;

/// Makes a profile of events for the Firefox Profiler: markers with fields, intervals, samples, counters.
///
/// The profile is in memory as a whole, with at most 16,777,216 values (8 of each event, and one of each field) and
/// 256 MiB of texts; events beyond are losses.
///
/// Messages must be sorted by time. Bytes are in [`Firefox::bytes`] after [`Firefox::finish`].
#[derive(Debug, Default)]
pub struct Firefox {
    out: Vec<u8>,
    writer: ProfileWriter,
    /// By data stream: number of its trace.
    streams: StreamTable<(u32, ContextNames), (), MarkerClass>,
    traces: TraceNumbers,
    scheduling: Scheduling,
    content: EventContent,
    /// Name of the event; a reused buffer.
    name: String,
    /// Time of the last event, for messages that have none.
    now: Option<u64>,
    /// Time of events before that.
    first_time: Option<u64>,
    early: EarlyLosses,
}

impl Firefox {
    /// Creates an empty profile. Events before the first time are shown at `first_time`, in nanoseconds since the clock
    /// origin. If it is `None`, they are shown at the origin.
    #[must_use]
    pub fn new(first_time: Option<u64>) -> Self {
        Self { first_time, ..Self::default() }
    }

    /// Returns the bytes that were not taken.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Takes the bytes.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        output_bytes::take(&mut self.out)
    }

    /// Returns the losses so far.
    #[must_use]
    pub fn losses(&self) -> &LossTable {
        &self.writer.losses
    }

    /// Takes a message; returns `false` for an event that cannot be shown.
    pub fn message(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => return self.event(event),
            Message::StreamEnd(stream) => self.streams.remove(stream),
            message => {
                if let Some(note) = LossNote::of(message) {
                    match note.time.or(self.now) {
                        Some(time) => self.writer.loss(&note, time),
                        None => self.early.add(note, &mut self.writer.losses),
                    }
                }
            }
        }
        true
    }

    /// Ends the profile and makes its bytes.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write_early(self.now.or(self.first_time).unwrap_or(0));
        self.writer.finish(&mut self.out)
    }

    /// Writes the losses before the first time that is known.
    fn write_early(&mut self, time: u64) {
        for note in std::mem::take(&mut self.early.notes) {
            self.writer.loss(&note, time);
        }
    }

    fn event(&mut self, event: &Event<'_>) -> bool {
        let Some(time) = shown_time(event.nanoseconds()) else {
            lose_event(&mut self.writer.losses, event, NO_TIME);
            return false;
        };
        // Events without a clock are where the last one with it is.
        let time = time.or(self.now).or(self.first_time).unwrap_or(0);
        self.now = Some(time);
        if !self.early.notes.is_empty() {
            self.write_early(time);
        }
        if !self.streams.has(event.stream) {
            let trace = self.traces.number(event.stream);
            self.scheduling.add_trace(trace, &event.stream.trace);
            if trace == 0 {
                self.writer.set_title(&event.stream.trace);
            }
            self.streams.insert(event.stream, (trace, ContextNames::default()), || ());
        }
        let Self { streams, writer, content, scheduling, name, .. } = self;
        let Some(((trace, known), (), classes)) = streams.get_mut(event.stream) else { return false };
        let class = classes.for_event(event, || writer.class(event));
        if let Some(tasks) = &class.class.tasks {
            tasks.read(event, &[], content);
            writer.lose_flow(event, content);
        }
        let EventLocation { place, own_name: name, .. } =
            scheduling.locate(*trace, &class.class, event, (known, name));
        let is_written = writer.event(EventAtPlace { event, class, place, trace: *trace, name }, time);
        if let Some(ended) = scheduling.ended_thread(*trace, event, &class.class) {
            writer.end_thread(event, &ended, *trace);
        }
        scheduling.observe(*trace, event, &class.class);
        is_written
    }
}
