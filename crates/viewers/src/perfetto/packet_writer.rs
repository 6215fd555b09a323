//! Writes event packets.

use ichnos_model::{DataStream, Event};

use super::schema::{annotation, event as track_event, interned, packet, trace, track};
use super::sequence::{AllNames, PerfettoClass, Sequence, SequenceId};
use crate::arguments::ScopeNames;
use crate::protobuf::{Head, begin, end, push_bytes, push_double, push_signed, push_unsigned};
use ichnos_analysis::events::class::{EventForm, EventPlace, ViewerClass};
use ichnos_analysis::events::keyed_spans::KeyedSpanIds;
use ichnos_analysis::events::losses::END_MISSING;
use ichnos_analysis::events::tracks::{TrackKind, Tracks, name_key, track_id};

/// Writes a track description.
pub(super) fn describe(
    out: &mut Vec<u8>,
    sequence: SequenceId,
    id: u64,
    parent: Option<u64>,
    more: impl FnOnce(&mut Vec<u8>),
) {
    let at = begin(out, trace::PACKET);
    sequence.push(out);
    let descriptor = begin(out, packet::TRACK_DESCRIPTOR);
    push_unsigned(out, track::ID, id);
    if let Some(parent) = parent {
        push_unsigned(out, track::PARENT, parent);
    }
    more(out);
    end(out, descriptor);
    end(out, at);
}

/// Writer of event packets.
pub(super) struct PacketWriter<'w> {
    pub(super) out: &'w mut Vec<u8>,
    pub(super) tracks: &'w mut Tracks,
    pub(super) spans: &'w mut KeyedSpanIds,
    pub(super) sequence: &'w mut Sequence,
    pub(super) time: u64,
}

/// Process and thread number, if both are known and fit: Perfetto has 31 bits for processes, 63 bits for threads.
pub(super) fn process_and_thread(place: &EventPlace<'_>) -> Option<(u64, u64)> {
    let process = place.process.filter(|process| i32::try_from(*process).is_ok())?;
    Some((process, place.thread.filter(|thread| i64::try_from(*thread).is_ok())?))
}

/// Track that shows an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownTrack {
    pub(super) id: u64,
    /// `true` for the end of a span with a key that has no start.
    pub(super) is_unbegun: bool,
    /// `true` for the start of a span whose key is already open, so that the open span has no end.
    pub(super) is_again: bool,
}

impl PacketWriter<'_> {
    /// Describes and returns the track that shows an event. `name` is the name of the event itself.
    pub(super) fn event_track(
        &mut self,
        class: &PerfettoClass,
        form: EventForm,
        event: &Event<'_>,
        place: &EventPlace<'_>,
        name: Option<&str>,
    ) -> ShownTrack {
        let mut shown = ShownTrack { id: 0, is_unbegun: false, is_again: false };
        match form {
            EventForm::KeyedBegin | EventForm::KeyedEnd | EventForm::Frame => {
                match self.slice(class, event, place, name) {
                    None => (shown.id, shown.is_unbegun) = (self.track(event.stream, place), true),
                    Some((track, is_open)) => {
                        shown.id = track;
                        shown.is_again = is_open && form == EventForm::KeyedBegin;
                        if is_open && form != EventForm::KeyedEnd {
                            self.end_slice(track, shown.is_again);
                        }
                    }
                }
            }
            _ => shown.id = self.track(event.stream, place),
        }
        shown
    }

    /// Returns the track number of a thread, or `None` without a thread.
    pub(super) fn thread_track(&self, place: &EventPlace<'_>) -> Option<u64> {
        let number = self.sequence.id;
        Some(match process_and_thread(place) {
            Some((process, thread)) => track_id(TrackKind::Thread, [number.unique_process(process), thread]),
            None => {
                let process = place.process.map_or(0, |process| self.process_track(process));
                track_id(TrackKind::LoneThread, [number.unique_process(process), place.thread?])
            }
        })
    }

    fn process_track(&self, process: u64) -> u64 {
        track_id(TrackKind::Process, [self.sequence.id.unique_process(process), 0])
    }

    /// Describes and returns the track of the thread, or of the process, processor or data stream.
    #[inline]
    pub(super) fn track(&mut self, stream: &DataStream, place: &EventPlace<'_>) -> u64 {
        if let Some(track) = self.sequence.track.get(place, self.tracks.changes()) {
            return *track;
        }
        let track = self.new_track(stream, place);
        self.sequence.track.set(place, self.tracks.changes(), track);
        track
    }

    #[inline(never)]
    fn new_track(&mut self, stream: &DataStream, place: &EventPlace<'_>) -> u64 {
        let Some(id) = self.thread_track(place) else {
            return self.track_without_thread(stream, place);
        };
        let thread = place.thread.unwrap_or_default();
        let name = place.thread_name.unwrap_or_default();
        let number = self.sequence.id;
        let process = self.process(place);
        match process_and_thread(place) {
            Some((process_number, thread)) => {
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
            }
            None => {
                if self.tracks.is_changed(id, name) {
                    let name = match name {
                        "" => format!("thread {thread}"),
                        name => name.to_owned(),
                    };
                    describe(self.out, number, id, process, |out| {
                        push_bytes(out, track::NAME, name.as_bytes());
                    });
                }
            }
        }
        id
    }

    /// Describes and returns the process track of an event.
    fn process(&mut self, place: &EventPlace<'_>) -> Option<u64> {
        let process = place.process?;
        let id = self.process_track(process);
        let name = place.process_name.unwrap_or_default();
        if self.tracks.is_changed(id, name) {
            let is_small = i32::try_from(process).is_ok();
            describe(self.out, self.sequence.id, id, None, |out| {
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

    /// Describes and returns the processor track of an event, or else the track of its process or data stream.
    fn track_without_thread(&mut self, stream: &DataStream, place: &EventPlace<'_>) -> u64 {
        if let Some(process) = self.process(place) {
            return process;
        }
        let trace = self.sequence.trace.into();
        let (id, name) = match place.processor {
            Some(processor) => (track_id(TrackKind::Processor, [trace, processor]), None),
            None => (track_id(TrackKind::Stream, [stream.key.into(), 0]), Some(&*stream.name)),
        };
        if self.tracks.is_changed(id, name.unwrap_or_default()) {
            let processor = place.processor.unwrap_or_default();
            let name = name.map_or_else(|| format!("CPU {processor}"), str::to_owned);
            describe(self.out, self.sequence.id, id, None, |out| {
                push_bytes(out, track::NAME, name.as_bytes());
            });
        }
        id
    }

    /// Starts a packet of the sequence.
    #[inline]
    pub(super) fn begin_packet(&mut self) -> usize {
        let mut head = Head::<64>::new();
        head.begin(trace::PACKET);
        let begins = self.out.len() + head.length();
        head.unsigned(packet::TIMESTAMP, self.time);
        self.sequence.id.put(&mut head);
        let is_first = !std::mem::replace(&mut self.sequence.has_begun, true);
        let flags = if is_first { packet::CLEARED | packet::NEEDS_NAMES } else { packet::NEEDS_NAMES };
        head.unsigned(packet::SEQUENCE_FLAGS, flags);
        head.push_to(self.out);
        begins
    }

    /// Starts the packet of an event up to its arguments. Returns the positions of packet and event.
    #[inline]
    pub(super) fn begin_event(
        &mut self,
        (class, form): (&PerfettoClass, EventForm),
        names: &AllNames,
        event: &Event<'_>,
        track: u64,
        name: Option<&str>,
    ) -> [usize; 2] {
        let packet_at = self.begin_packet();
        let stack = self.stack(event, &class.class);
        let new_stack = stack.filter(|stack| !self.sequence.samples.has(*stack));
        if !self.sequence.classes.has(class.number) || new_stack.is_some() {
            self.new_names((class, names), event, new_stack);
        }
        let (kind, has_name) = match form {
            EventForm::Begin | EventForm::KeyedBegin | EventForm::Complete | EventForm::Frame => {
                (track_event::SLICE_BEGIN, true)
            }
            EventForm::End | EventForm::KeyedEnd => (track_event::SLICE_END, false),
            _ => (track_event::INSTANT, true),
        };
        let mut head = Head::<64>::new();
        head.begin(packet::TRACK_EVENT);
        let begins = self.out.len() + head.length();
        head.unsigned(track_event::TYPE, kind);
        head.unsigned(track_event::TRACK, track);
        match name.filter(|_| has_name) {
            Some(name) => {
                head.push_to(self.out);
                push_bytes(self.out, track_event::NAME, name.as_bytes());
                head = Head::new();
            }
            None if has_name => head.unsigned(track_event::NAME_IID, class.name.into()),
            None => {}
        }
        if has_name && class.category != 0 {
            head.unsigned(track_event::CATEGORY_IIDS, class.category.into());
        }
        if let Some(stack) = stack {
            head.unsigned(track_event::CALL_STACK, u64::from(stack) + 1);
        }
        head.push_to(self.out);
        [packet_at, begins]
    }

    /// Writes the names of a class and a call stack that the sequence has not announced.
    #[inline(never)]
    fn new_names(
        &mut self,
        (class, names): (&PerfettoClass, &AllNames),
        event: &Event<'_>,
        new_stack: Option<u32>,
    ) {
        let at = begin(self.out, packet::INTERNED_DATA);
        if self.sequence.classes.add(class.number) {
            self.announce(class, names);
        }
        if let Some(stack) = new_stack {
            self.call_stack(event, stack);
        }
        end(self.out, at);
    }

    /// Writes the end of a slice that starts at the event time.
    pub(super) fn end_complete(&mut self, track: u64, duration: u64) {
        self.time = self.time.saturating_add(duration).min(i64::MAX as u64);
        self.end_slice(track, false);
    }

    /// Writes the end of a slice. If it `is_lost`, the trace lacks the end.
    pub(super) fn end_slice(&mut self, track: u64, is_lost: bool) {
        let packet_at = self.begin_packet();
        let at = begin(self.out, packet::TRACK_EVENT);
        push_unsigned(self.out, track_event::TYPE, track_event::SLICE_END);
        push_unsigned(self.out, track_event::TRACK, track);
        if is_lost {
            self.mark(END_MISSING);
        }
        self.end_packet([packet_at, at]);
    }

    /// Writes an event argument with the value `true`.
    pub(super) fn mark(&mut self, name: &str) {
        let at = begin(self.out, track_event::ANNOTATIONS);
        push_bytes(self.out, annotation::NAME, name.as_bytes());
        push_unsigned(self.out, annotation::BOOLEAN, 1);
        end(self.out, at);
    }

    /// Describes and returns the track of a slice with a key, and `true` if a slice is open there. Returns `None` for
    /// an end without a start.
    fn slice(
        &mut self,
        class: &PerfettoClass,
        event: &Event<'_>,
        place: &EventPlace<'_>,
        name: Option<&str>,
    ) -> Option<(u64, bool)> {
        // A span can end on another thread.
        let parent = self.process(place);
        let around = self.sequence.id.unique_process(parent.unwrap_or(0));
        // Keys are unique within a trace.
        let trace = u64::from(self.sequence.trace);
        let track = |key: u64| track_id(TrackKind::Slice, [around, key ^ trace]);
        let class_of = &class.class;
        let (id, is_open) = match class_of.form {
            EventForm::Frame => (track(class_of.frame_key(event)), false),
            EventForm::KeyedEnd => {
                (self.spans.end_id(track(class_of.key(event)), class_of.edge(name))?, true)
            }
            _ => self.spans.begin_id(track(class_of.key(event)), class_of.edge(name)),
        };
        let is_new = self.tracks.is_changed(id, "");
        if is_new {
            describe(self.out, self.sequence.id, id, parent, |out| {
                push_bytes(out, track::NAME, class.class.name.as_bytes());
            });
        }
        Some((id, is_open || class_of.form == EventForm::Frame && !is_new))
    }

    /// Writes the class names that the sequence has not announced.
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

    /// Ends the packet of an event. Returns `false` if it is too large.
    pub(super) fn end_packet(&mut self, [packet, event]: [usize; 2]) -> bool {
        end(self.out, event) & end(self.out, packet)
    }

    /// Writes counter values.
    pub(super) fn counters(&mut self, event: &Event<'_>, class: &ViewerClass, place: &EventPlace<'_>) {
        let around = match self.process(place) {
            Some(process) => process,
            None => self.track_without_thread(event.stream, place),
        };
        let named = &*class.counter_name(event);
        let number = class.counter_number(event);
        class.counter_values(event, |value| {
            let name = name_key(named) ^ name_key(value.member).rotate_left(1);
            let id = track_id(TrackKind::Counter, [around, name ^ number.rotate_left(32)]);
            if self.tracks.is_changed(id, "") {
                let mut name = named.to_owned();
                if !value.is_single {
                    name = format!("{name}: {}", value.member);
                }
                if number != 0 {
                    name = format!("{name} ({number})");
                }
                describe(self.out, self.sequence.id, id, Some(around), |out| {
                    push_bytes(out, track::NAME, name.as_bytes());
                    let at = begin(out, track::COUNTER);
                    if let Some(unit) = class.unit(event) {
                        push_bytes(out, track::UNIT_NAME, unit.as_bytes());
                    }
                    end(out, at);
                });
            }
            let packet_at = self.begin_packet();
            let at = begin(self.out, packet::TRACK_EVENT);
            push_unsigned(self.out, track_event::TYPE, track_event::COUNTER);
            push_unsigned(self.out, track_event::TRACK, id);
            match value.number.as_i64() {
                Some(value) => push_signed(self.out, track_event::COUNTER_VALUE, value),
                None => push_double(self.out, track_event::DOUBLE_COUNTER_VALUE, value.number.to_f64()),
            }
            self.end_packet([packet_at, at]);
        });
    }
}

/// Writes a name with its number.
pub(super) fn push_interned(out: &mut Vec<u8>, field: u32, number: u64, name: &str) {
    let at = begin(out, field);
    push_unsigned(out, interned::IID, number);
    push_bytes(out, interned::NAME, name.as_bytes());
    end(out, at);
}
