//! Traces of Perfetto.

mod annotations;
mod samples;
mod schema;

use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, Discarded, Event, Message};

use self::annotations::Annotations;
use self::samples::SampleNames;
use self::schema::{annotation, clock, event as track_event, interned, packet, trace, track};
use super::arguments::{ArgumentVisitor, ScopeNames};
use super::class::{EventForm, EventPlace, ViewerClass};
use super::flows::Flows;
use super::names::{Names, Numbers};
use super::protobuf::{begin, end, push_bytes, push_double, push_fixed, push_signed, push_unsigned};
use super::tracks::{TrackKind, Tracks, name_key, track_id};
use super::{NO_TIME, UNDECODED, lose_event, lose_parts, shown_time};
use crate::stream_table::StreamTable;
use crate::tasks::EventContent;
use crate::time::has_dates;

/// Sequence of the packets about losses and damage.
const OWN_SEQUENCE: u32 = 1;

/// Writes events as packets of Perfetto's trace format: a sequence for each data stream, slices, instants, counters,
/// flows and samples, with all fields as arguments.
///
/// Messages are to be in order of time. Bytes are in [`Perfetto::bytes`] after each message.
#[derive(Debug, Default)]
pub struct Perfetto {
    out: Vec<u8>,
    streams: StreamTable<Sequence, (), PerfettoClass>,
    names: AllNames,
    tracks: Tracks,
    sequences: u32,
    has_snapshot: bool,
    flows: Flows,
    content: EventContent,
    /// Memory that is used again for each event.
    open: Vec<(usize, u32)>,
    text: Vec<u8>,
    /// Time of the last event, for messages that have none.
    now: u64,
    losses: LossTable,
}

/// All names, by their kind.
#[derive(Debug, Default)]
struct AllNames {
    events: Names,
    categories: Names,
    annotations: Names,
    classes: u32,
}

/// State of the sequence of a data stream.
#[derive(Debug, Default)]
struct Sequence {
    number: u32,
    /// `true` if a packet was written.
    has_begun: bool,
    /// Classes whose names were announced, and those names.
    classes: Numbers,
    events: Numbers,
    categories: Numbers,
    annotations: Numbers,
    samples: SampleNames,
}

/// An event record class with numbers of names.
#[derive(Debug)]
struct PerfettoClass {
    class: ViewerClass,
    number: u32,
    name: u32,
    /// 0 without one.
    category: u32,
    scopes: Vec<ScopeNames>,
}

impl PerfettoClass {
    fn of(event: &Event<'_>, names: &mut AllNames, losses: &mut LossTable) -> Self {
        let class = ViewerClass::of(event);
        lose_parts(losses, event, &class);
        names.classes += 1;
        let scopes = ScopeNames::all(event, &class, &mut names.annotations);
        Self {
            number: names.classes,
            name: names.events.number(&class.name),
            category: match &*class.category {
                "" => 0,
                category => names.categories.number(category),
            },
            scopes,
            class,
        }
    }
}

impl Perfetto {
    /// Returns the bytes that were not taken.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Takes the bytes.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        let capacity = self.out.capacity();
        std::mem::replace(&mut self.out, Vec::with_capacity(capacity))
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
            Message::DiscardedEvents(discarded) => self.discarded("discarded events", discarded),
            Message::DiscardedPackets(discarded) => self.discarded("discarded packets", discarded),
            Message::Damage(damage) => {
                let texts = [("problem", damage.kind.to_string()), ("file", damage.file.clone())];
                self.loss("damage", self.now, &texts, &[("byte", damage.bit / 8)]);
            }
            _ => {}
        }
        true
    }

    fn event(&mut self, event: &Event<'_>) -> bool {
        let Some(time) = shown_time(event.nanoseconds()) else {
            lose_event(&mut self.losses, event, NO_TIME);
            return false;
        };
        // Events without a clock are where the last one with it is.
        let time = time.unwrap_or(self.now);
        self.now = time;
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream, time);
        }
        let Self { out, streams, names, tracks, losses, .. } = self;
        let Some((sequence, (), classes)) = streams.get_mut(event.stream) else { return false };
        let class = classes.of(event, || PerfettoClass::of(event, names, losses));
        let place = class.class.place(event);
        let mut writer = PacketWriter { out, tracks, sequence, time };
        match class.class.form {
            EventForm::Counter => writer.counters(event, &class.class, &place),
            EventForm::Sample if writer.sample(event, &class.class, &place) => {}
            form => {
                let track = writer.track(event.stream, &place);
                let begin = writer.out.len();
                let at = writer.begin_event(class, names, event, track);
                let mut is_whole = true;
                for scope in &class.scopes {
                    let annotations = Annotations::new(writer.out, &mut self.open);
                    let mut visitor = ArgumentVisitor::new(annotations, scope, &mut self.text);
                    let visited = event.visit(scope.scope, &mut visitor);
                    is_whole &= visited.is_ok() && !visitor.arguments.is_too_large;
                }
                if let Some(tasks) = &class.class.tasks {
                    tasks.read(event, &[], &mut self.content);
                    let out = &mut *writer.out;
                    self.flows.find(&self.content, event, |id, _| push_fixed(out, track_event::FLOWS, id));
                }
                if !(writer.end_packet(at) && is_whole) {
                    writer.out.truncate(begin);
                    lose_event(losses, event, UNDECODED);
                    return false;
                }
                if form == EventForm::Complete {
                    writer.end_complete(track, class.class.duration(event));
                }
            }
        }
        true
    }

    /// Begins the sequence of a data stream.
    fn add_stream(&mut self, stream: &DataStream, time: u64) {
        self.sequences += 1;
        let number = OWN_SEQUENCE + self.sequences;
        self.streams.insert(stream, Sequence { number, ..Sequence::default() }, || ());
        if has_dates(stream.clock()) && !std::mem::replace(&mut self.has_snapshot, true) {
            let out = &mut self.out;
            let at = begin(out, trace::PACKET);
            push_unsigned(out, packet::SEQUENCE_ID, OWN_SEQUENCE.into());
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
    }

    fn discarded(&mut self, name: &str, discarded: &Discarded<'_>) {
        let time = discarded.begin.or(discarded.end).and_then(|time| u64::try_from(time.nanoseconds).ok());
        let counts = discarded.count.map(|count| ("count", count));
        let thread = discarded.thread.map(|thread| ("thread", thread));
        let numbers: Vec<(&str, u64)> = counts.into_iter().chain(thread).collect();
        let texts = [("stream", discarded.stream.name.to_string())];
        self.loss(name, time.unwrap_or(self.now), &texts, &numbers);
    }

    /// Writes a loss as an instant on its track.
    fn loss(&mut self, name: &str, time: u64, texts: &[(&str, String)], numbers: &[(&str, u64)]) {
        let id = track_id(TrackKind::Losses, [0, 0]);
        let Self { out, tracks, .. } = self;
        if tracks.is_changed(id, "losses and damage") {
            describe(out, OWN_SEQUENCE, id, None, |out| {
                push_bytes(out, track::NAME, b"losses and damage");
            });
        }
        let at = begin(out, trace::PACKET);
        push_unsigned(out, packet::TIMESTAMP, time);
        push_unsigned(out, packet::SEQUENCE_ID, OWN_SEQUENCE.into());
        let event = begin(out, packet::TRACK_EVENT);
        push_unsigned(out, track_event::TYPE, track_event::INSTANT);
        push_unsigned(out, track_event::TRACK, id);
        push_bytes(out, track_event::NAME, name.as_bytes());
        let mut argument = |name: &str, push: &dyn Fn(&mut Vec<u8>)| {
            let at = begin(out, track_event::ANNOTATIONS);
            push_bytes(out, annotation::NAME, name.as_bytes());
            push(out);
            end(out, at);
        };
        for (name, text) in texts {
            argument(name, &|out| push_bytes(out, annotation::STRING, text.as_bytes()));
        }
        for (name, number) in numbers {
            argument(name, &|out| push_unsigned(out, annotation::UNSIGNED, *number));
        }
        end(out, event);
        end(out, at);
    }
}

/// Writes the description of a track.
fn describe(out: &mut Vec<u8>, sequence: u32, id: u64, parent: Option<u64>, more: impl FnOnce(&mut Vec<u8>)) {
    let at = begin(out, trace::PACKET);
    push_unsigned(out, packet::SEQUENCE_ID, sequence.into());
    let descriptor = begin(out, packet::TRACK_DESCRIPTOR);
    push_unsigned(out, track::ID, id);
    if let Some(parent) = parent {
        push_unsigned(out, track::PARENT, parent);
    }
    more(out);
    end(out, descriptor);
    end(out, at);
}

/// Writes the packets of an event.
struct PacketWriter<'w> {
    out: &'w mut Vec<u8>,
    tracks: &'w mut Tracks,
    sequence: &'w mut Sequence,
    time: u64,
}

/// Numbers of a process and a thread, if both are known and fit: Perfetto has 31 bits for processes, 63 for threads.
fn process_and_thread(place: &EventPlace<'_>) -> Option<(u64, u64)> {
    let process = place.process.filter(|process| i32::try_from(*process).is_ok())?;
    Some((process, place.thread.filter(|thread| i64::try_from(*thread).is_ok())?))
}

impl PacketWriter<'_> {
    /// Returns the track of an event, described.
    fn track(&mut self, stream: &DataStream, place: &EventPlace<'_>) -> u64 {
        if place.thread.is_none() {
            return self.track_without_thread(stream, place);
        }
        let thread = place.thread.unwrap_or_default();
        let name = place.thread_name.unwrap_or_default();
        let number = self.sequence.number;
        let process = self.process(place);
        match process_and_thread(place) {
            Some((process_number, thread)) => {
                let id = track_id(TrackKind::Thread, [process_number, thread]);
                if self.tracks.is_changed(id, name) {
                    describe(self.out, number, id, process, |out| {
                        let at = begin(out, track::THREAD);
                        push_unsigned(out, track::THREAD_PROCESS, process_number);
                        push_unsigned(out, track::THREAD_ID, thread);
                        if !name.is_empty() {
                            push_bytes(out, track::THREAD_NAME, name.as_bytes());
                        }
                        end(out, at);
                    });
                }
                id
            }
            None => {
                let id = track_id(TrackKind::LoneThread, [process.unwrap_or(0), thread]);
                if self.tracks.is_changed(id, name) {
                    let name = match name {
                        "" => format!("thread {thread}"),
                        name => name.to_owned(),
                    };
                    describe(self.out, number, id, process, |out| {
                        push_bytes(out, track::NAME, name.as_bytes());
                    });
                }
                id
            }
        }
    }

    /// Returns the track of the process of an event, described.
    fn process(&mut self, place: &EventPlace<'_>) -> Option<u64> {
        let process = place.process?;
        let id = track_id(TrackKind::Process, [process, 0]);
        let name = place.process_name.unwrap_or_default();
        if self.tracks.is_changed(id, name) {
            let is_small = i32::try_from(process).is_ok();
            describe(self.out, self.sequence.number, id, None, |out| {
                if !is_small {
                    let name = if name.is_empty() { format!("process {process}") } else { name.to_owned() };
                    return push_bytes(out, track::NAME, name.as_bytes());
                }
                let at = begin(out, track::PROCESS);
                push_unsigned(out, track::PROCESS_ID, process);
                if !name.is_empty() {
                    push_bytes(out, track::PROCESS_NAME, name.as_bytes());
                }
                end(out, at);
            });
        }
        Some(id)
    }

    /// Returns the track of the processor of an event, or else of its process or data stream, described.
    fn track_without_thread(&mut self, stream: &DataStream, place: &EventPlace<'_>) -> u64 {
        if let Some(process) = self.process(place) {
            return process;
        }
        let trace = std::ptr::from_ref(&*stream.trace).addr() as u64;
        let (id, name) = match place.processor {
            Some(processor) => (track_id(TrackKind::Processor, [trace, processor]), None),
            None => (track_id(TrackKind::Stream, [stream.key.into(), 0]), Some(&*stream.name)),
        };
        if self.tracks.is_changed(id, name.unwrap_or_default()) {
            let processor = place.processor.unwrap_or_default();
            let name = name.map_or_else(|| format!("CPU {processor}"), str::to_owned);
            describe(self.out, self.sequence.number, id, None, |out| {
                push_bytes(out, track::NAME, name.as_bytes());
            });
        }
        id
    }

    /// Begins a packet of the sequence.
    fn begin_packet(&mut self) -> usize {
        let at = begin(self.out, trace::PACKET);
        push_unsigned(self.out, packet::TIMESTAMP, self.time);
        push_unsigned(self.out, packet::SEQUENCE_ID, self.sequence.number.into());
        let is_first = !std::mem::replace(&mut self.sequence.has_begun, true);
        let flags = if is_first { packet::CLEARED | packet::NEEDS_NAMES } else { packet::NEEDS_NAMES };
        push_unsigned(self.out, packet::SEQUENCE_FLAGS, flags);
        at
    }

    /// Begins the packet of an event, up to its arguments; returns the positions of packet and event.
    fn begin_event(
        &mut self,
        class: &PerfettoClass,
        names: &AllNames,
        event: &Event<'_>,
        thread: u64,
    ) -> [usize; 2] {
        let form = class.class.form;
        let track = match form {
            EventForm::KeyedBegin | EventForm::KeyedEnd => self.slice(class, event, thread),
            _ => thread,
        };
        let packet_at = self.begin_packet();
        let stack = class.class.stack(event);
        let new_stack = stack.filter(|stack| self.sequence.samples.is_new(*stack));
        let is_new = self.sequence.classes.add(class.number);
        if is_new || new_stack.is_some() {
            let at = begin(self.out, packet::INTERNED_DATA);
            if is_new {
                self.announce(class, names);
            }
            if let Some(stack) = new_stack {
                self.call_stack(event, stack);
            }
            end(self.out, at);
        }
        let at = begin(self.out, packet::TRACK_EVENT);
        let (kind, has_name) = match form {
            EventForm::Begin | EventForm::KeyedBegin | EventForm::Complete => {
                (track_event::SLICE_BEGIN, true)
            }
            EventForm::End | EventForm::KeyedEnd => (track_event::SLICE_END, false),
            _ => (track_event::INSTANT, true),
        };
        push_unsigned(self.out, track_event::TYPE, kind);
        push_unsigned(self.out, track_event::TRACK, track);
        if has_name {
            push_unsigned(self.out, track_event::NAME_IID, class.name.into());
            if class.category != 0 {
                push_unsigned(self.out, track_event::CATEGORY_IIDS, class.category.into());
            }
        }
        if let Some(stack) = stack {
            push_unsigned(self.out, track_event::CALL_STACK, u64::from(stack) + 1);
        }
        [packet_at, at]
    }

    /// Writes the end of a slice that begins at the time of the event.
    fn end_complete(&mut self, track: u64, duration: u64) {
        self.time = self.time.saturating_add(duration);
        let packet_at = self.begin_packet();
        let at = begin(self.out, packet::TRACK_EVENT);
        push_unsigned(self.out, track_event::TYPE, track_event::SLICE_END);
        push_unsigned(self.out, track_event::TRACK, track);
        self.end_packet([packet_at, at]);
    }

    /// Returns the track of a slice with a key, described.
    fn slice(&mut self, class: &PerfettoClass, event: &Event<'_>, around: u64) -> u64 {
        let parent = around;
        // Spans can end on another thread than they began.
        let process = self.process(&class.class.place(event)).unwrap_or(0);
        let id = track_id(TrackKind::Slice, [process, class.class.key(event)]);
        if self.tracks.is_changed(id, "") {
            let parent = if process == 0 { None } else { Some(parent) };
            describe(self.out, self.sequence.number, id, parent, |out| {
                push_bytes(out, track::NAME, class.class.name.as_bytes());
            });
        }
        id
    }

    /// Writes the names of a class that the sequence did not announce.
    fn announce(&mut self, class: &PerfettoClass, names: &AllNames) {
        let Sequence { events, categories, annotations, .. } = &mut *self.sequence;
        let mut push = |field, number: u32, name: &str| push_interned(self.out, field, number.into(), name);
        if events.add(class.name) {
            push(interned::EVENT_NAMES, class.name, names.events.name(class.name));
        }
        if class.category != 0 && categories.add(class.category) {
            push(interned::CATEGORIES, class.category, names.categories.name(class.category));
        }
        for number in class.scopes.iter().flat_map(ScopeNames::numbers) {
            if annotations.add(number) {
                push(interned::ANNOTATION_NAMES, number, names.annotations.name(number));
            }
        }
    }

    /// Ends the packet of an event; returns `false` if it is too large.
    fn end_packet(&mut self, [packet, event]: [usize; 2]) -> bool {
        end(self.out, event) & end(self.out, packet)
    }

    /// Writes the values of counters.
    fn counters(&mut self, event: &Event<'_>, class: &ViewerClass, place: &EventPlace<'_>) {
        let around = match self.process(place) {
            Some(process) => process,
            None => self.track_without_thread(event.stream, place),
        };
        let named = class.counter_name(event).unwrap_or(&class.name);
        let key = class.key(event);
        for (member, field) in &class.counters {
            let Some(value) = event.get(field) else { continue };
            let text;
            let name = match class.counters.len() {
                1 => named,
                _ => {
                    text = format!("{named}: {member}");
                    &text
                }
            };
            let id = track_id(TrackKind::Counter, [around, name_key(name) ^ key]);
            if self.tracks.is_changed(id, name) {
                describe(self.out, self.sequence.number, id, Some(around), |out| {
                    push_bytes(out, track::NAME, name.as_bytes());
                    let at = begin(out, track::COUNTER);
                    end(out, at);
                });
            }
            let packet_at = self.begin_packet();
            let at = begin(self.out, packet::TRACK_EVENT);
            push_unsigned(self.out, track_event::TYPE, track_event::COUNTER);
            push_unsigned(self.out, track_event::TRACK, id);
            match value.as_i64() {
                Some(value) => push_signed(self.out, track_event::COUNTER_VALUE, value),
                None => {
                    let value = value.as_f64().unwrap_or_default();
                    push_double(self.out, track_event::DOUBLE_COUNTER_VALUE, value);
                }
            }
            self.end_packet([packet_at, at]);
        }
    }
}

/// Writes a name with its number.
fn push_interned(out: &mut Vec<u8>, field: u32, number: u64, name: &str) {
    let at = begin(out, field);
    push_unsigned(out, interned::IID, number);
    push_bytes(out, interned::NAME, name.as_bytes());
    end(out, at);
}
