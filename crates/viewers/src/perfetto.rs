//! Traces of Perfetto.

mod annotations;
mod ftrace;
mod log_lines;
mod packet_writer;
mod process_tree;
mod samples;
mod schema;
mod sequence;
mod task_states;

use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{DataStream, Event, Message, StreamTable, Value};

use self::annotations::Annotations;
use self::packet_writer::{PacketWriter, describe};
use self::schema::{annotation, clock, event as track_event, packet, trace, track};
use self::sequence::{AllNames, PerfettoClass, Sequence, SequenceId};
use crate::arguments::ArgumentVisitor;
use crate::output_bytes;
use crate::protobuf::{begin, end, push_bytes, push_fixed, push_unsigned};
use ichnos_analysis::events::class::{ContextNames, EventForm, EventPlace, ViewerClass};
use ichnos_analysis::events::flows::{FlowEnd, Flows};
use ichnos_analysis::events::keyed_spans::KeyedSpanIds;
use ichnos_analysis::events::losses::{
    BACKWARDS, BEGIN_MISSING, BEGUN_AGAIN, EXITED, EarlyLosses, LOST_BEGIN, LOST_END, LossNote, NO_TIME,
    UNDECODED, lose_event, lose_part, lose_spans, shown_time,
};
use ichnos_analysis::events::names::{NumberBits, NumberedNames};
use ichnos_analysis::events::nested_spans::NestedSpans;
use ichnos_analysis::events::scheduling::{Scheduling, next_thread};
use ichnos_analysis::events::span_edge::SpanEdge;
use ichnos_analysis::events::tracks::{TraceNumbers, TrackKind, Tracks, track_id};
use ichnos_analysis::tasks::EventContent;
use ichnos_export::parts::has_dates;

/// Sequence of the packets about losses and damage.
const OWN_SEQUENCE: SequenceId = SequenceId { number: 1, machine: 0 };

/// Writes events as packets of Perfetto's trace format: a sequence for each data stream, slices, instants, counters,
/// flows and samples, with all fields as arguments.
///
/// Messages must be sorted by time. Bytes are in [`Perfetto::bytes`] after each message.
#[derive(Debug, Default)]
pub struct Perfetto {
    out: Vec<u8>,
    streams: StreamTable<(Sequence, ContextNames), (), PerfettoClass>,
    names: AllNames,
    tracks: Tracks,
    spans: PerfettoSpans,
    sequences: u32,
    traces: TraceNumbers,
    /// Names of machines.
    machines: NumberedNames,
    /// Machines whose clocks were written.
    snapshots: NumberBits,
    flows: Flows,
    scheduling: Scheduling,
    content: EventContent,
    /// Memory that is used again for each event.
    open: Vec<(usize, u32)>,
    text: Vec<u8>,
    name: String,
    message: String,
    /// Time of the last event, for messages that have none.
    now: Option<u64>,
    /// Time of events before that.
    first_time: Option<u64>,
    early: EarlyLosses,
    losses: LossTable,
}

/// Open spans.
#[derive(Debug, Default)]
struct PerfettoSpans {
    keyed: KeyedSpanIds,
    /// With the times at which they begin.
    nested: NestedSpans<u64>,
}

impl Perfetto {
    /// Creates an empty file. Events before the first time are shown at `first_time`, in nanoseconds since the clock
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
        &self.losses
    }

    /// Takes a message; returns `false` for an event that cannot be shown.
    pub fn message(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => return self.event(event),
            Message::StreamEnd(stream) => self.streams.remove(stream),
            message => {
                if let Some(note) = LossNote::of(message) {
                    match note.time.or(self.now) {
                        Some(time) => self.loss(&note, time),
                        None => self.early.add(note, &mut self.losses),
                    }
                }
            }
        }
        true
    }

    /// Ends the file.
    pub fn finish(&mut self) {
        self.write_early(self.now.or(self.first_time).unwrap_or(0));
    }

    /// Writes the losses before the first time that is known.
    fn write_early(&mut self, time: u64) {
        for note in std::mem::take(&mut self.early.notes) {
            self.loss(&note, time);
        }
    }

    /// Begins the data stream of an event unless it has begun. Returns the time of the event, or `None` if it cannot be
    /// shown.
    fn prepare(&mut self, event: &Event<'_>) -> Option<u64> {
        let Some(time) = shown_time(event.nanoseconds()) else {
            lose_event(&mut self.losses, event, NO_TIME);
            return None;
        };
        // Events without a clock are where the last one with it is.
        let time = time.or(self.now).or(self.first_time).unwrap_or(0);
        self.now = Some(time);
        if !self.early.notes.is_empty() {
            self.write_early(time);
        }
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream, time);
        }
        Some(time)
    }

    fn event(&mut self, event: &Event<'_>) -> bool {
        let Some(time) = self.prepare(event) else { return false };
        let Self { out, streams, names, tracks, spans, losses, scheduling, .. } = self;
        let PerfettoSpans { keyed, nested } = spans;
        let Some(((sequence, known), (), classes)) = streams.get_mut(event.stream) else { return false };
        let class = classes.for_event(event, || PerfettoClass::of(event, names, losses));
        let trace = sequence.trace;
        let mut place = class.class.place(event, known);
        let is_running = wakes_running_thread(scheduling, trace, event, &class.class, &place);
        let has_processors = scheduling.has_processors(trace, &class.class);
        let name = scheduling.event_name(trace, &class.class, place.process, event, &mut self.name);
        scheduling.complete(trace, &class.class, &mut place);
        let mut writer = PacketWriter { out, tracks, spans: keyed, sequence, time };
        match class.class.form_of(event) {
            EventForm::Counter => writer.counters(event, &class.class, &place),
            EventForm::Sample if writer.sample(event, &class.class, &place) => {}
            EventForm::Switch | EventForm::Wakeup
                if writer.scheduling(event, &class.class, &place, has_processors, is_running) => {}
            mut form => {
                let shown = writer.event_track(class, form, event, &place, name);
                let (track, mut is_unbegun) = (shown.id, shown.is_unbegun);
                if shown.is_again {
                    lose_part(losses, event, LossKind::Lowered, "", BEGUN_AGAIN);
                }
                if form == EventForm::End {
                    is_unbegun = !writer.end_nested(nested, track, class.class.edge(name), event, losses);
                }
                if is_unbegun {
                    form = EventForm::Instant;
                    lose_part(losses, event, LossKind::Lowered, "", LOST_BEGIN);
                }
                let begin = writer.out.len();
                let at = writer.begin_event((class, form), names, event, track, name);
                let is_whole = push_arguments(writer.out, &mut self.open, &mut self.text, class, event);
                if is_unbegun {
                    writer.mark(BEGIN_MISSING);
                }
                push_flows(writer.out, &mut self.flows, &mut self.content, &class.class, event, trace);
                if !(writer.end_packet(at) && is_whole) {
                    writer.drop_from(begin);
                    lose_event(losses, event, UNDECODED);
                    return false;
                }
                if form == EventForm::Begin {
                    lose_spans(losses, nested.begin(track, class.class.edge(name), time));
                } else if form == EventForm::Complete {
                    writer.end_complete(track, class.class.duration(event).unwrap_or(0));
                }
                if class.class.form == EventForm::Instant && class.log.are_lines {
                    writer.add_clocks(&mut self.snapshots, time);
                    class.log.message(event, &mut self.message);
                    writer.log_line(event, class, &place, &self.message);
                }
            }
        }
        if let Some(ended) = scheduling.ended_thread(trace, event, &class.class) {
            writer.end_thread(nested, &ended, event, losses);
        }
        scheduling.observe(trace, event, &class.class);
        process_tree::push_changes(out, sequence.id, time, scheduling);
        true
    }

    /// Begins the sequence of a data stream.
    fn add_stream(&mut self, stream: &DataStream, time: u64) {
        self.sequences += 1;
        let host = stream.trace.class.environment("hostname").and_then(Value::as_text).unwrap_or_default();
        let machine = if host.is_empty() { 0 } else { self.machines.number(host) - 1 };
        let id = SequenceId { number: OWN_SEQUENCE.number + self.sequences, machine };
        let trace = self.traces.number(stream);
        self.scheduling.note_changes();
        self.scheduling.add_trace(trace, &stream.trace);
        let sequence = Sequence { id, trace, ..Sequence::default() };
        self.streams.insert(stream, (sequence, ContextNames::default()), || ());
        if has_dates(stream.clock()) && self.snapshots.add(machine) {
            push_clocks(&mut self.out, machine, time);
        }
    }

    /// Writes a loss as an instant on its track.
    fn loss(&mut self, note: &LossNote, time: u64) {
        let id = track_id(TrackKind::Losses, [0, 0]);
        let Self { out, tracks, .. } = self;
        if tracks.is_changed(id, "losses and damage") {
            describe(out, OWN_SEQUENCE, id, None, |out| {
                push_bytes(out, track::NAME, b"losses and damage");
            });
        }
        let at = begin(out, trace::PACKET);
        push_unsigned(out, packet::TIMESTAMP, time);
        OWN_SEQUENCE.push(out);
        let event = begin(out, packet::TRACK_EVENT);
        push_unsigned(out, track_event::TYPE, track_event::INSTANT);
        push_unsigned(out, track_event::TRACK, id);
        push_bytes(out, track_event::NAME, note.name.as_bytes());
        let mut argument = |name: &str, push: &dyn Fn(&mut Vec<u8>)| {
            let at = begin(out, track_event::ANNOTATIONS);
            push_bytes(out, annotation::NAME, name.as_bytes());
            push(out);
            end(out, at);
        };
        for (name, text) in &note.texts {
            argument(name, &|out| push_bytes(out, annotation::STRING, text.as_bytes()));
        }
        for (name, number) in &note.numbers {
            argument(name, &|out| push_unsigned(out, annotation::UNSIGNED, *number));
        }
        end(out, event);
        end(out, at);
    }
}

impl PacketWriter<'_> {
    /// Ends the open span that an end belongs to, and those that are open in it. Returns `false` if there is none.
    fn end_nested(
        &mut self,
        nested: &mut NestedSpans<u64>,
        track: u64,
        edge: SpanEdge,
        event: &Event<'_>,
        losses: &mut LossTable,
    ) -> bool {
        let begin = nested.end(track, edge, |_| {
            self.end_slice(track, true);
            lose_part(losses, event, LossKind::Lowered, "", LOST_END);
        });
        if let Some(begin) = begin.filter(|begin| *begin > self.time) {
            self.time = begin;
            lose_part(losses, event, LossKind::Rounded, "", BACKWARDS);
        }
        begin.is_some()
    }

    /// Removes the packets from this offset on, which cannot be completed.
    fn drop_from(&mut self, begin: usize) {
        self.out.truncate(begin);
        self.sequence.restart();
    }

    /// Writes the clocks of the machine for log lines, unless they were written before.
    fn add_clocks(&mut self, snapshots: &mut NumberBits, time: u64) {
        let machine = self.sequence.id.machine;
        // Lines have dates, whatever the clock of the trace: 0 is 1970.
        if snapshots.add(machine) {
            push_clocks(self.out, machine, time);
        }
    }

    /// Ends the open spans of a thread that has ended.
    fn end_thread(
        &mut self,
        nested: &mut NestedSpans<u64>,
        ended: &EventPlace<'_>,
        event: &Event<'_>,
        losses: &mut LossTable,
    ) {
        let Some(track) = self.thread_track(ended) else { return };
        nested.end_all(track, |_| {
            self.end_slice(track, true);
            lose_part(losses, event, LossKind::Lowered, "", EXITED);
        });
    }
}

/// Returns `true` for a wakeup of a thread that runs.
fn wakes_running_thread<'e>(
    scheduling: &Scheduling,
    trace: u32,
    event: &Event<'e>,
    class: &ViewerClass,
    place: &EventPlace<'e>,
) -> bool {
    let next = next_thread(event, class, place).filter(|_| class.form == EventForm::Wakeup);
    next.is_some_and(|thread| scheduling.runs(trace, thread.number))
}

/// Writes the fields of an event as arguments. Returns `false` if they are not complete.
fn push_arguments(
    out: &mut Vec<u8>,
    open: &mut Vec<(usize, u32)>,
    text: &mut Vec<u8>,
    class: &PerfettoClass,
    event: &Event<'_>,
) -> bool {
    let mut is_whole = true;
    for scope in &class.scopes {
        let annotations = Annotations::new(out, open);
        let mut visitor = ArgumentVisitor::new(annotations, scope, text);
        let visited = event.visit(scope.scope, &mut visitor);
        is_whole &= visited.is_ok() && !visitor.arguments.is_too_large;
    }
    is_whole
}

/// Writes the flows of an event's operations and messages.
fn push_flows(
    out: &mut Vec<u8>,
    flows: &mut Flows,
    content: &mut EventContent,
    class: &ViewerClass,
    event: &Event<'_>,
    trace: u32,
) {
    if let Some(tasks) = &class.tasks {
        tasks.read(event, &[], content);
        flows.find(content, trace, |id, _| push_fixed(out, track_event::FLOWS, id));
    }
    if let Some((end, key)) = class.message(event) {
        let field = match end {
            FlowEnd::Begin => track_event::FLOWS,
            FlowEnd::End => track_event::LAST_FLOWS,
        };
        push_fixed(out, field, flows.message(key));
    }
}

/// Appends that the clock of a machine counts from 1970.
fn push_clocks(out: &mut Vec<u8>, machine: u32, time: u64) {
    let at = begin(out, trace::PACKET);
    SequenceId { machine, ..OWN_SEQUENCE }.push(out);
    let snapshot = begin(out, packet::CLOCK_SNAPSHOT);
    for id in [clock::BOOTTIME, clock::REALTIME] {
        let at = begin(out, clock::CLOCKS);
        push_unsigned(out, clock::ID, id);
        push_unsigned(out, clock::TIMESTAMP, time);
        end(out, at);
    }
    end(out, snapshot);
    end(out, at);
}
