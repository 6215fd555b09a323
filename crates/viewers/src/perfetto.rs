//! Perfetto traces.

mod annotations;
mod ftrace;
mod log_lines;
mod packet_writer;
mod process_tree;
mod samples;
mod schema;
mod sequence;
mod task_states;

use ichnos_model::class::Value;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{DataStream, Event};

use self::annotations::Annotations;
use self::packet_writer::{PacketWriter, describe};
use self::schema::{annotation, clock, event as track_event, packet, trace, track};
use self::sequence::{AllNames, PerfettoClass, Sequence, SequenceId};
use crate::arguments::{ScopeArguments, ScopeNames};
use crate::protobuf::{begin, end, push_bytes, push_fixed, push_unsigned};
use crate::viewer_file::{EventAt, ShownEvent, Viewer, ViewerFile, ViewerStart, start_file};
use ichnos_analysis::events::class::{EventForm, EventPlace, ViewerClass};
use ichnos_analysis::events::flows::{FlowEnd, Flows};
use ichnos_analysis::events::keyed_spans::KeyedSpanIds;
use ichnos_analysis::events::losses::{
    BACKWARDS, BEGIN_MISSING, BEGUN_AGAIN, EXITED, LOST_BEGIN, LOST_END, LossNote, UNDECODED, record_loss,
    record_lost_event, record_lost_spans,
};
use ichnos_analysis::events::names::{NumberBits, NumberedNames};
use ichnos_analysis::events::nested_spans::NestedSpans;
use ichnos_analysis::events::scheduling::Scheduling;
use ichnos_analysis::events::tracks::{TrackKind, Tracks, track_id};
use ichnos_analysis::tasks::EventContent;
use ichnos_export::parts::has_dates;

/// Packet sequence of losses and damage.
const OWN_SEQUENCE: SequenceId = SequenceId { number: 1, machine: 0 };

/// Starts a file of packets in the Perfetto trace format: one sequence for each data stream. It has slices, instants,
/// counters, flows and samples, with all fields as arguments.
#[must_use]
pub fn perfetto(start: ViewerStart) -> Box<dyn ViewerFile> {
    start_file(Perfetto::default(), start.first_time)
}

/// Viewer that writes events as packets.
#[derive(Debug, Default)]
struct Perfetto {
    out: Vec<u8>,
    names: AllNames,
    tracks: Tracks,
    spans: PerfettoSpans,
    sequences: u32,
    /// Machine names.
    machines: NumberedNames,
    /// Machines with a clock snapshot.
    snapshots: NumberBits,
    flows: Flows,
    content: EventContent,
    /// Reused buffer.
    open: Vec<(usize, u32)>,
    text: Vec<u8>,
    message: String,
    losses: LossTable,
}

/// Open spans.
#[derive(Debug, Default)]
struct PerfettoSpans {
    keyed: KeyedSpanIds,
    /// Spans without keys, with their start times.
    nested: NestedSpans<u64>,
}

impl Viewer for Perfetto {
    type Class = PerfettoClass;
    type Stream = Sequence;

    const FOLLOWS_THREADS: bool = true;

    fn content(&self) -> (&Vec<u8>, &LossTable) {
        (&self.out, &self.losses)
    }

    fn content_mut(&mut self) -> (&mut Vec<u8>, &mut LossTable) {
        (&mut self.out, &mut self.losses)
    }

    fn class(&mut self, event: &Event<'_>) -> PerfettoClass {
        PerfettoClass::for_event(event, &mut self.names, &mut self.losses)
    }

    fn viewer_class(class: &PerfettoClass) -> &ViewerClass {
        &class.class
    }

    fn stream(&mut self, stream: &DataStream, trace: u32, time: u64) -> Sequence {
        self.sequences += 1;
        let host = stream.trace.class.environment("hostname").and_then(Value::as_text).unwrap_or_default();
        let machine = if host.is_empty() { 0 } else { self.machines.number(host) - 1 };
        let id = SequenceId { number: OWN_SEQUENCE.number + self.sequences, machine };
        if has_dates(stream.clock()) && self.snapshots.add(machine) {
            push_clocks(&mut self.out, machine, time);
        }
        Sequence { id, trace, ..Sequence::default() }
    }

    fn event(&mut self, shown: &ShownEvent<'_, '_, PerfettoClass>, sequence: &mut Sequence) -> bool {
        let ShownEvent { at: EventAt { event, time, .. }, class, ref location } = *shown;
        let Self { out, tracks, spans, .. } = self;
        let mut writer =
            PacketWriter { out, tracks, spans: &mut spans.keyed, sequence: &mut *sequence, time };
        match class.class.form_of(event) {
            EventForm::Counter => writer.counters(event, &class.class, &location.place),
            EventForm::Sample if writer.sample(event, &class.class, &location.place) => {}
            EventForm::Switch | EventForm::Wakeup if writer.scheduling(event, &class.class, location) => {}
            form => {
                if form == EventForm::ThreadStart {
                    // The event itself is also shown.
                    writer.scheduling(event, &class.class, location);
                }
                return self.track_event(shown, form, sequence);
            }
        }
        true
    }

    fn end_thread(&mut self, at: EventAt<'_, '_>, ended: &EventPlace<'_>, sequence: &mut Sequence) {
        let Self { out, tracks, spans: PerfettoSpans { keyed, nested }, losses, .. } = self;
        let mut writer = PacketWriter { out, tracks, spans: keyed, sequence, time: at.time };
        if let Some(track) = writer.thread_track(ended) {
            nested.end_all(track, |_| {
                writer.end_slice(track, true);
                record_loss(losses, at.event, LossKind::Lowered, "", EXITED);
            });
        }
    }

    fn follow_threads(&mut self, sequence: &Sequence, time: u64, scheduling: &mut Scheduling) {
        process_tree::push_changes(&mut self.out, sequence.id, time, scheduling);
    }

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

/// Appends the fields of the scopes as annotations. `context` is the number of the event's common context, if known.
/// Returns `false` if some fields cannot be decoded or are too large.
fn push_annotations(
    writer: &mut PacketWriter<'_>,
    event: &Event<'_>,
    scopes: &[ScopeNames],
    context: Option<u64>,
    (open, text): (&mut Vec<(usize, u32)>, &mut Vec<u8>),
) -> bool {
    let mut are_whole = true;
    for scope in scopes {
        if let Some(bytes) = writer.sequence.context.get(scope, context) {
            writer.out.extend_from_slice(bytes);
            continue;
        }
        let begin = writer.out.len();
        let mut visitor = ScopeArguments::new(Annotations::new(writer.out, open), scope, text);
        let is_decoded = event.visit_members(scope.scope, &mut visitor).is_ok();
        if is_decoded && !visitor.arguments.is_too_large {
            let bytes = writer.out.get(begin..).unwrap_or_default();
            writer.sequence.context.keep(scope, context, bytes);
        } else {
            are_whole = false;
        }
    }
    are_whole
}

impl Perfetto {
    /// Writes an event on its track as a slice start, a slice end or an instant. Returns `false` if it cannot be
    /// shown.
    fn track_event(
        &mut self,
        shown: &ShownEvent<'_, '_, PerfettoClass>,
        mut form: EventForm,
        sequence: &mut Sequence,
    ) -> bool {
        let ShownEvent { at: EventAt { event, trace, time }, class, ref location } = *shown;
        let (place, name) = (&location.place, location.own_name);
        let Self { out, tracks, spans: PerfettoSpans { keyed, nested }, names, losses, .. } = self;
        let mut writer = PacketWriter { out, tracks, spans: keyed, sequence, time };
        let shown = writer.event_track(class, form, event, place, name);
        let (track, mut is_unbegun) = (shown.id, shown.is_unbegun);
        if shown.is_again {
            record_loss(losses, event, LossKind::Lowered, "", BEGUN_AGAIN);
        }
        if form == EventForm::End {
            let ended = nested.end(track, class.class.edge(name), |_| {
                writer.end_slice(track, true);
                record_loss(losses, event, LossKind::Lowered, "", LOST_END);
            });
            is_unbegun = ended.is_none();
            if let Some(begin) = ended.filter(|begin| *begin > time) {
                writer.time = begin;
                record_loss(losses, event, LossKind::Rounded, "", BACKWARDS);
            }
        }
        if is_unbegun {
            form = EventForm::Instant;
            record_loss(losses, event, LossKind::Lowered, "", LOST_BEGIN);
        }
        let begin = writer.out.len();
        let at = writer.begin_event((class, form), names, event, track, name);
        let buffers = (&mut self.open, &mut self.text);
        let is_whole = push_annotations(&mut writer, event, &class.scopes, location.context, buffers);
        if is_unbegun {
            writer.mark(BEGIN_MISSING);
        }
        push_flows((event, &class.class, trace), &mut self.flows, &mut self.content, writer.out);
        if !(writer.end_packet(at) && is_whole) {
            writer.out.truncate(begin);
            writer.sequence.restart();
            record_lost_event(losses, event, UNDECODED);
            return false;
        }
        if form == EventForm::Begin {
            record_lost_spans(losses, nested.begin(track, class.class.edge(name), time));
        } else if form == EventForm::Complete {
            writer.end_complete(track, class.class.duration(event).unwrap_or(0));
        }
        if class.class.form == EventForm::Instant && class.log.are_lines {
            let machine = writer.sequence.id.machine;
            // Log lines have dates for any trace clock. Time 0 is 1970.
            if self.snapshots.add(machine) {
                push_clocks(writer.out, machine, time);
            }
            class.log.message(event, &mut self.message);
            writer.log_line(event, class, place, &self.message);
        }
        true
    }
}

/// Appends the flows of an event.
fn push_flows(
    (event, class, trace): (&Event<'_>, &ViewerClass, u32),
    flows: &mut Flows,
    content: &mut EventContent,
    out: &mut Vec<u8>,
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

/// Appends a clock snapshot. The clock of each machine starts in 1970.
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
