//! Chrome traces (JSON).

mod class;
mod spans;

use std::io;

use ichnos_json::write::{ObjectWriter, ValueWriter, push_string};
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{DataStream, Event};

use self::class::{ChromeClass, ChromePrefix};
use self::spans::{ChromeName, ChromeSpans, KeyedName, SpanLoss};
use crate::arguments::{ArgumentNames, ContextArguments, ScopeArguments};
use crate::event_track::LastPlace;
use crate::json_arguments::JsonArguments;
use crate::viewer_file::{EventAt, ShownEvent, Viewer, ViewerFile, ViewerStart, start_file};
use ichnos_analysis::events::class::{EventForm, EventPlace, ViewerClass};
use ichnos_analysis::events::counter::CounterNumber;
use ichnos_analysis::events::flows::{FlowEnd, Flows};
use ichnos_analysis::events::losses::{
    BACKWARDS, BEGIN_MISSING, BEGUN_AGAIN, END_MISSING, EXITED, LOST_BEGIN, LOST_END, LossNote, record_loss,
    record_lost_spans, shown_time,
};
use ichnos_analysis::events::scheduling::next_thread;
use ichnos_analysis::events::thread_fields::NamedThread;
use ichnos_analysis::events::tracks::{TrackKind, Tracks, name_key, track_id};
use ichnos_analysis::tasks::EventContent;
use ichnos_export::number;
use ichnos_export::parts::has_dates;

/// Mask of the numbers that replace larger thread and process numbers.
const SHORT: u64 = 0x3fff_ffff;

/// Starts a JSON file in the Chrome trace event format for `chrome://tracing`, Perfetto and other viewers.
#[must_use]
pub fn chrome(start: ViewerStart) -> Box<dyn ViewerFile> {
    start_file(Chrome { has_date: start.has_date, ..Chrome::default() }, start.first_time)
}

/// Viewer that writes events as JSON.
#[derive(Debug, Default)]
struct Chrome {
    out: Vec<u8>,
    names: ArgumentNames,
    tracks: Tracks,
    spans: ChromeSpans,
    has_events: bool,
    flows: Flows,
    content: EventContent,
    /// Reused buffer.
    text: Vec<u8>,
    open: Vec<u8>,
    /// `true` if events before the first timestamp have dates.
    has_date: bool,
    /// Time 0 of the file, once a time is known.
    origin: Option<u64>,
    losses: LossTable,
}

/// Process and thread number of an event.
type ChromeTrack = (u64, u64);

/// State of a data stream.
#[derive(Debug, Default)]
struct ChromeStream {
    /// Track of the last place, with its members in an event.
    track: LastPlace<(ChromeTrack, Vec<u8>)>,
    /// Arguments of the last common context.
    context: ContextArguments,
}

/// Process number for events without a process.
const NO_PROCESS: u64 = 0;

/// Thread of losses and damage. The threads of processors, thread switches and data streams follow it.
const LOSSES: u64 = 0x4000_0000;
const PROCESSORS: u64 = 0x4800_0000;
const SCHEDULING: u64 = 0x5000_0000;
const STREAMS: u64 = 0x6000_0000;

/// Returns a number that fits in 31 bits, the limit of viewers for threads and processes.
fn short(number: u64) -> u64 {
    if i32::try_from(number).is_ok() { number } else { number & SHORT | 0x2000_0000 }
}

/// Returns the track number for spans without keys.
fn span_track((process, thread): ChromeTrack) -> u64 {
    track_id(TrackKind::Thread, [process, thread])
}

/// Role of an event in a span.
#[derive(Debug, Default)]
struct SpanRole<'n> {
    /// Name of the event itself.
    name: Option<&'n str>,
    /// Time at which the event is shown.
    time: u64,
    /// Span with a key.
    span: Option<KeyedName>,
    /// `true` for an end without a start.
    is_unbegun: bool,
    /// `true` for an end that is written without names.
    is_bare: bool,
}

impl SpanRole<'_> {
    /// Starts or ends a span with a key.
    fn keyed(
        &mut self,
        writer: &mut ChromeWriter<'_>,
        spans: &mut ChromeSpans,
        (class, event): (&ChromeClass, &Event<'_>),
        (place, trace, track): (&EventPlace<'_>, u32, ChromeTrack),
        losses: &mut LossTable,
    ) {
        let keyed = spans.keyed(class, event, (place, trace), self.name);
        self.is_unbegun = keyed.is_none();
        let (found, again) = keyed.unzip();
        if let Some(again) = again.flatten() {
            writer.end_keyed(&again, spans.name(&again, None), self.time, track);
            record_loss(losses, event, LossKind::Lowered, "", BEGUN_AGAIN);
        }
        self.span = found;
    }

    /// Starts or ends a span of a track.
    fn nested(
        &mut self,
        writer: &mut ChromeWriter<'_>,
        spans: &mut ChromeSpans,
        (class, event, form): (&ChromeClass, &Event<'_>, EventForm),
        track: ChromeTrack,
        losses: &mut LossTable,
    ) {
        let edge = class.class.edge(self.name);
        let span = (span_track(track), edge, name_key(&class.class.category));
        let time = self.time;
        let ended = spans.begin_or_end(form == EventForm::Begin, span, time, |lost| match lost {
            SpanLoss::Within => {
                writer.end_lost(time, track);
                record_loss(losses, event, LossKind::Lowered, "", LOST_END);
            }
            SpanLoss::Forgotten(count) => record_lost_spans(losses, count),
        });
        self.is_unbegun = ended.is_none();
        let (is_bare, begin) = ended.unwrap_or((false, time));
        self.is_bare = is_bare;
        if begin > time {
            record_loss(losses, event, LossKind::Rounded, "", BACKWARDS);
            self.time = begin;
        }
    }
}

/// Returns the thread track.
fn thread_track(place: &EventPlace<'_>) -> ChromeTrack {
    (place.process.map_or(NO_PROCESS, short), place.thread.map_or(0, short))
}

impl Chrome {
    /// Sets the origin to the second of the first date, since viewers have 53 bits for times.
    fn set_origin(&mut self, has_date: bool, time: u64) {
        self.origin.get_or_insert(if has_date { time - time % 1_000_000_000 } else { 0 });
    }
}

impl Viewer for Chrome {
    type Class = ChromeClass;
    type Stream = ChromeStream;

    const NUMBERS_BEGINNINGS: bool = true;

    fn content(&self) -> (&Vec<u8>, &LossTable) {
        (&self.out, &self.losses)
    }

    fn content_mut(&mut self) -> (&mut Vec<u8>, &mut LossTable) {
        (&mut self.out, &mut self.losses)
    }

    fn class(&mut self, event: &Event<'_>) -> ChromeClass {
        ChromeClass::for_event(event, &mut self.names, &mut self.losses)
    }

    fn viewer_class(class: &ChromeClass) -> &ViewerClass {
        &class.class
    }

    fn stream(&mut self, _: &DataStream, _: u32, _: u64) -> ChromeStream {
        ChromeStream::default()
    }

    fn prepare(&mut self, event: &Event<'_>, time: u64) {
        if self.origin.is_none() {
            let clock = event.stream.clock();
            self.set_origin(clock.map_or(self.has_date, |clock| has_dates(Some(clock))), time);
        }
    }

    fn event(&mut self, shown: &ShownEvent<'_, '_, ChromeClass>, stream: &mut ChromeStream) -> bool {
        let ShownEvent { at: EventAt { event, trace, time }, class, ref location } = *shown;
        let (place, name) = (&location.place, location.own_name);
        let Self { out, names, tracks, spans, losses, has_events, origin, .. } = self;
        let mut writer = ChromeWriter { out, has_events, tracks, origin: origin.unwrap_or(0) };
        let ChromeStream { track: last, context } = stream;
        let track = writer.last_track(last, event.stream, place);
        let mut form = class.class.form_of(event);
        if form == EventForm::Switch && location.has_processor {
            let next = next_thread(event, &class.class, place);
            writer.switch(next, (trace, place.processor), location.previous, time);
        }
        if form == EventForm::Frame {
            let key = class.class.frame_key(event) ^ place.process.unwrap_or_default();
            writer.end_frame(class, key, time, track);
        }
        let mut part = SpanRole { name, time, ..SpanRole::default() };
        match form {
            EventForm::KeyedBegin | EventForm::KeyedEnd => {
                part.keyed(&mut writer, spans, (class, event), (place, trace, track), losses);
            }
            EventForm::Begin | EventForm::End => {
                part.nested(&mut writer, spans, (class, event, form), track, losses);
            }
            _ => {}
        }
        if part.is_unbegun {
            form = EventForm::Instant;
            record_loss(losses, event, LossKind::Lowered, "", LOST_BEGIN);
        }
        writer.begin();
        writer.names(event, (class, form), &part, spans);
        writer.phase_and_time(phase(form), part.time);
        writer.out.extend_from_slice(last.last().map_or(&[][..], |(_, members)| members.as_slice()));
        writer.scope(phase(form));
        writer.ids_and_duration(event, (&class.class, form), place, part.span.map(|span| span.id));
        writer.out.extend_from_slice(b",\"args\":");
        if form == EventForm::Counter {
            writer.values(event, &class.class);
        } else if !push_arguments(shown, names, writer.out, context, (&mut self.text, &mut self.open)) {
            record_loss(losses, event, LossKind::Dropped, "", "undecodable fields");
        }
        if part.is_unbegun {
            writer.add_mark(BEGIN_MISSING);
        }
        writer.out.push(b'}');
        if let Some(tasks) = &class.class.tasks {
            tasks.read(event, &[], &mut self.content);
            self.flows.find(&self.content, trace, |id, end| writer.flow(end, id, time, track));
        }
        if let Some((end, key)) = class.class.message(event) {
            writer.flow(end, self.flows.message(key), time, track);
        }
        true
    }

    fn end_thread(&mut self, at: EventAt<'_, '_>, ended: &EventPlace<'_>, _: &mut ChromeStream) {
        let Self { out, tracks, has_events, origin, spans, losses, .. } = self;
        let mut writer = ChromeWriter { out, has_events, tracks, origin: origin.unwrap_or(0) };
        writer.end_thread(spans, thread_track(ended), (at.event, at.time), losses);
    }

    fn loss(&mut self, note: &LossNote, time: u64) {
        if note.time.and_then(shown_time).is_some() {
            self.set_origin(note.has_date, time);
        }
        let Self { out, tracks, has_events, origin, .. } = self;
        let mut writer = ChromeWriter { out, has_events, tracks, origin: origin.unwrap_or(0) };
        let track = (NO_PROCESS, LOSSES);
        writer.name(track_id(TrackKind::Losses, [0, 0]), "thread_name", track, "losses and damage");
        writer.begin();
        writer.out.extend_from_slice(b"{\"name\":");
        push_string(writer.out, note.name);
        writer.out.extend_from_slice(b",\"cat\":\"losses\"");
        writer.place(phase(EventForm::Instant), time, track);
        writer.out.extend_from_slice(b",\"args\":");
        let mut object = ValueWriter::new(writer.out).object();
        note.texts.iter().for_each(|(name, text)| object.named(name).string(text));
        note.numbers.iter().for_each(|(name, number)| object.named(name).unsigned(*number));
        object.end();
        writer.out.push(b'}');
    }

    fn finish(&mut self) -> io::Result<()> {
        if !self.has_events {
            self.out.extend_from_slice(BEGIN);
        }
        self.out.extend_from_slice(b"\n],\"otherData\":{\"origin_ns\":\"");
        number::push_unsigned(&mut self.out, self.origin.unwrap_or(0));
        self.out.extend_from_slice(b"\"}}\n");
        Ok(())
    }
}

/// Appends the event fields as an object. Returns `false` if a field cannot be decoded.
fn push_arguments(
    shown: &ShownEvent<'_, '_, ChromeClass>,
    names: &ArgumentNames,
    out: &mut Vec<u8>,
    context: &mut ContextArguments,
    (text, open): (&mut Vec<u8>, &mut Vec<u8>),
) -> bool {
    let mut arguments = JsonArguments::new(out, names, open);
    let mut is_whole = true;
    arguments.out.push(b'{');
    for scope in &shown.class.scopes {
        if let Some(members) = context.get(scope, shown.location.context) {
            arguments.push_members(members);
            continue;
        }
        let begin = arguments.position();
        let mut visitor = ScopeArguments::new(arguments, scope, text);
        let is_decoded = shown.at.event.visit_members(scope.scope, &mut visitor).is_ok();
        is_whole &= is_decoded;
        arguments = visitor.arguments;
        arguments.close();
        if let Some(members) = arguments.members(begin).filter(|_| is_decoded) {
            context.keep(scope, shown.location.context, members);
        }
    }
    arguments.out.push(b'}');
    is_whole
}

/// First bytes of the file.
const BEGIN: &[u8] = b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

/// Appends nanoseconds as microseconds with a fraction.
#[inline]
fn push_microseconds(out: &mut Vec<u8>, nanoseconds: u64) {
    number::push_unsigned(out, nanoseconds / 1000);
    let rest = (nanoseconds % 1000) as u32;
    let digit = |place: u32| b'0' + (rest / place % 10) as u8;
    out.extend_from_slice(&[b'.', digit(100), digit(10), digit(1)]);
}

/// Returns the event type (`ph`).
fn phase(form: EventForm) -> u8 {
    match form {
        EventForm::Begin => b'B',
        EventForm::End => b'E',
        EventForm::KeyedBegin | EventForm::Frame => b'b',
        EventForm::KeyedEnd => b'e',
        EventForm::Complete => b'X',
        EventForm::Counter => b'C',
        EventForm::Instant
        | EventForm::Sample
        | EventForm::Switch
        | EventForm::Wakeup
        | EventForm::ThreadStart => b'i',
    }
}

/// Appends the members for a track.
fn push_track(out: &mut Vec<u8>, (process, thread): ChromeTrack) {
    out.extend_from_slice(b",\"pid\":");
    number::push_unsigned(out, process);
    out.extend_from_slice(b",\"tid\":");
    number::push_unsigned(out, thread);
}

/// Writer of events.
struct ChromeWriter<'w> {
    out: &'w mut Vec<u8>,
    has_events: &'w mut bool,
    tracks: &'w mut Tracks,
    /// Time 0 of the file.
    origin: u64,
}

impl ChromeWriter<'_> {
    /// Starts an event with its separator.
    #[inline]
    fn begin(&mut self) {
        let is_first = !std::mem::replace(self.has_events, true);
        self.out.extend_from_slice(if is_first { BEGIN } else { b",\n" });
    }

    /// Writes name and category of an event, and of a span that it starts or ends.
    fn names(
        &mut self,
        event: &Event<'_>,
        (class, form): (&ChromeClass, EventForm),
        part: &SpanRole<'_>,
        spans: &mut ChromeSpans,
    ) {
        let name = part.name;
        if let Some(span) = &part.span {
            return self.push_prefix(&span.prefix, spans.name(span, name));
        }
        match form {
            EventForm::Counter => self.counter(event, class),
            EventForm::End if part.is_bare => self.out.push(b'{'),
            EventForm::Begin | EventForm::End => {
                self.push_prefix(&class.prefix, spans.nested(&class.class, form, name));
            }
            _ => self.push_prefix(&class.prefix, name.map_or(ChromeName::OfClass, ChromeName::Own)),
        }
    }

    /// Writes the category, and the class name or event name.
    #[inline]
    fn push_prefix(&mut self, prefix: &ChromePrefix, name: ChromeName<'_>) {
        let mut category = prefix.text.get(prefix.category_at..).unwrap_or_default();
        match name {
            ChromeName::OfClass => category = &prefix.text,
            ChromeName::Own(name) => {
                self.out.extend_from_slice(b"{\"name\":");
                push_string(self.out, name);
            }
            ChromeName::Nothing => {
                self.out.push(b'{');
                category = category.strip_prefix(b",").unwrap_or(category);
            }
        }
        self.out.extend_from_slice(category);
    }

    /// Writes the event identifier among events of the same name, the span identifier, and the duration.
    fn ids_and_duration(
        &mut self,
        event: &Event<'_>,
        (class, form): (&ViewerClass, EventForm),
        place: &EventPlace<'_>,
        span: Option<u64>,
    ) {
        if let Some(span) = span {
            return self.id(span);
        }
        match form {
            EventForm::Frame => self.id(class.frame_key(event) ^ place.process.unwrap_or_default()),
            EventForm::Counter => self.counter_id(class.counter_number(event), place),
            EventForm::Complete => {
                self.out.extend_from_slice(b",\"dur\":");
                push_microseconds(self.out, class.duration(event).unwrap_or(0));
            }
            _ => {}
        }
    }

    /// Writes one end of a flow.
    fn flow(&mut self, end: FlowEnd, id: u64, time: u64, track: ChromeTrack) {
        self.begin();
        self.out.extend_from_slice(b"{\"name\":\"cause\",\"cat\":\"cause\"");
        self.place(if end == FlowEnd::Begin { b's' } else { b'f' }, time, track);
        self.id(id);
        self.out.extend_from_slice(b",\"bp\":\"e\"}");
    }

    /// Ends the previous frame, if there is one.
    fn end_frame(&mut self, class: &ChromeClass, key: u64, time: u64, track: ChromeTrack) {
        if !self.tracks.is_changed(track_id(TrackKind::Slice, [key, 0]), "") {
            self.begin();
            self.out.extend_from_slice(&class.prefix.text);
            self.place(phase(EventForm::KeyedEnd), time, track);
            self.id(key);
            self.out.push(b'}');
        }
    }

    /// Writes a thread switch as a slice of the processor track. Thread 0 is idle. `before` ran until then.
    fn switch(
        &mut self,
        next: Option<NamedThread<'_>>,
        (trace, processor): (u32, Option<u64>),
        before: Option<u64>,
        time: u64,
    ) {
        let number = u64::from(trace & 0xff) << 16 | processor.unwrap_or(0) & 0xffff;
        let track = (NO_PROCESS, SCHEDULING + number);
        let id = track_id(TrackKind::Processor, [track.0, track.1]);
        self.name_new(id, "thread_name", track, || match processor {
            Some(processor) => format!("CPU {processor} threads"),
            None => "running threads".to_owned(),
        });
        if before.is_some_and(|thread| thread != 0) {
            self.end_innermost(time, track);
        }
        let Some(next) = next.filter(|next| next.number != 0) else { return };
        self.begin();
        self.out.extend_from_slice(b"{\"name\":");
        match &*next.name {
            "" => push_string(self.out, &format!("thread {}", next.number)),
            name => push_string(self.out, name),
        }
        self.out.extend_from_slice(b",\"cat\":\"scheduling\"");
        self.place(phase(EventForm::Begin), time, track);
        self.out.extend_from_slice(b",\"args\":{\"thread\":");
        number::push_unsigned(self.out, next.number);
        self.out.extend_from_slice(b"}}");
    }

    /// Adds an argument with the value `true` to the last event.
    fn add_mark(&mut self, name: &str) {
        if self.out.pop_if(|last| *last == b'}').is_some() {
            let is_empty = self.out.last() == Some(&b'{');
            let mut object = ObjectWriter::resume(self.out, !is_empty);
            object.named(name).boolean(true);
            object.end();
        }
    }

    /// Ends a span with a key whose end is missing in the trace.
    fn end_keyed(&mut self, span: &KeyedName, name: ChromeName<'_>, time: u64, track: ChromeTrack) {
        self.begin();
        self.push_prefix(&span.prefix, name);
        self.place(phase(EventForm::KeyedEnd), time, track);
        self.id(span.id);
        self.out.extend_from_slice(b",\"args\":{}");
        self.add_mark(END_MISSING);
        self.out.push(b'}');
    }

    /// Ends the slices of a thread when the thread ends.
    fn end_thread(
        &mut self,
        spans: &mut ChromeSpans,
        track: ChromeTrack,
        (event, time): (&Event<'_>, u64),
        losses: &mut LossTable,
    ) {
        spans.nested.end_all(span_track(track), |_| {
            self.end_lost(time, track);
            record_loss(losses, event, LossKind::Lowered, "", EXITED);
        });
    }

    /// Ends the innermost slice of a track, whose end is missing in the trace.
    fn end_lost(&mut self, time: u64, track: ChromeTrack) {
        self.begin();
        self.out.push(b'{');
        self.place(phase(EventForm::End), time, track);
        self.out.extend_from_slice(b",\"args\":{}");
        self.add_mark(END_MISSING);
        self.out.push(b'}');
    }

    /// Ends the innermost slice of a track, regardless of its name.
    fn end_innermost(&mut self, time: u64, track: ChromeTrack) {
        self.begin();
        self.out.push(b'{');
        self.place(phase(EventForm::End), time, track);
        self.out.push(b'}');
    }

    /// Writes the type, time and track of an event.
    fn place(&mut self, phase: u8, time: u64, track: ChromeTrack) {
        self.phase_and_time(phase, time);
        push_track(self.out, track);
        self.scope(phase);
    }

    /// Writes the type and time of an event.
    #[inline]
    fn phase_and_time(&mut self, phase: u8, time: u64) {
        let out = &mut *self.out;
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        out.extend_from_slice(b"\"ph\":\"");
        out.push(phase);
        out.extend_from_slice(b"\",\"ts\":");
        push_microseconds(out, time.saturating_sub(self.origin));
    }

    /// Writes the scope of an instant.
    #[inline]
    fn scope(&mut self, phase: u8) {
        if phase == b'i' {
            self.out.extend_from_slice(b",\"s\":\"t\"");
        }
    }

    fn id(&mut self, id: u64) {
        self.out.extend_from_slice(b",\"id\":\"0x");
        number::push_hex_bytes(self.out, &id.to_be_bytes());
        self.out.push(b'"');
    }

    /// Writes the identifier of a counter among counters of the same name and process: its number, and its processor
    /// if known.
    fn counter_id(&mut self, number: u64, place: &EventPlace<'_>) {
        let number = Some(number).filter(|number| *number != 0);
        let processor = place.processor.filter(|_| place.process.is_none());
        if number.is_none() && processor.is_none() {
            return;
        }
        // Viewers show it after the name.
        self.out.extend_from_slice(b",\"id\":\"");
        if let Some(number) = number {
            number::push_unsigned(self.out, number);
        }
        if let Some(processor) = processor {
            let prefix: &[u8] = if number.is_some() { b" CPU " } else { b"CPU " };
            self.out.extend_from_slice(prefix);
            number::push_unsigned(self.out, processor);
        }
        self.out.push(b'"');
    }

    /// Names a new or renamed thread or process.
    fn name(&mut self, id: u64, kind: &str, track: ChromeTrack, name: &str) {
        if self.tracks.is_changed(id, name) && !name.is_empty() {
            self.write_name(kind, track, name);
        }
    }

    fn write_name(&mut self, kind: &str, (process, thread): ChromeTrack, name: &str) {
        self.begin();
        let mut object = ValueWriter::new(self.out).object();
        object.member("name").string(kind);
        object.member("ph").string("M");
        object.unsigned("pid", Some(process));
        object.unsigned("tid", Some(thread));
        let mut arguments = object.member("args").object();
        arguments.member("name").string(name);
        arguments.end();
        object.end();
    }

    /// Names a new thread or process with a constant name.
    fn name_new(&mut self, id: u64, kind: &str, track: ChromeTrack, name: impl FnOnce() -> String) {
        if self.tracks.is_changed(id, "") {
            self.write_name(kind, track, &name());
        }
    }

    /// Returns the track of an event and names it. `last` is the track of the last place in its data stream, and becomes
    /// that of the event.
    #[inline]
    fn last_track(
        &mut self,
        last: &mut LastPlace<(ChromeTrack, Vec<u8>)>,
        stream: &DataStream,
        place: &EventPlace<'_>,
    ) -> ChromeTrack {
        if let Some((track, _)) = last.get(place, self.tracks.changes()) {
            return *track;
        }
        let track = self.track(stream, place);
        let mut members = last.take().map_or_else(Vec::new, |(_, members)| members);
        members.clear();
        push_track(&mut members, track);
        last.set(place, self.tracks.changes(), (track, members));
        track
    }

    /// Returns the track of an event and names it.
    #[inline(never)]
    fn track(&mut self, stream: &DataStream, place: &EventPlace<'_>) -> ChromeTrack {
        let process = place.process.map_or(NO_PROCESS, short);
        let process_id = track_id(TrackKind::Process, [process, 0]);
        let process_track = (process, process);
        match (place.process_name, place.process) {
            (Some(name), _) => self.name(process_id, "process_name", process_track, name),
            (None, Some(number)) if number != process => {
                self.name_new(process_id, "process_name", process_track, || format!("process {number}"));
            }
            (None, None) => {
                self.name_new(process_id, "process_name", process_track, || "unknown process".to_owned());
            }
            _ => {}
        }
        let (thread, kind) = match (place.thread, place.process, place.processor) {
            (Some(thread), ..) => (short(thread), TrackKind::Thread),
            (None, Some(_), _) => (process, TrackKind::Thread),
            (None, None, Some(processor)) => (PROCESSORS + (processor & 0xff_ffff), TrackKind::Processor),
            (None, None, None) => (STREAMS + u64::from(stream.key & 0xff_ffff), TrackKind::Stream),
        };
        let (id, track) = (track_id(kind, [process, thread]), (process, thread));
        match (place.thread_name, kind, place.thread) {
            (Some(name), ..) => self.name(id, "thread_name", track, name),
            (None, TrackKind::Processor, _) => {
                let processor = place.processor.unwrap_or_default();
                self.name_new(id, "thread_name", track, || format!("CPU {processor}"));
            }
            (None, TrackKind::Stream, _) => self.name(id, "thread_name", track, &stream.name),
            (None, _, Some(number)) if number != thread => {
                self.name_new(id, "thread_name", track, || format!("thread {number}"));
            }
            _ => {}
        }
        track
    }

    /// Writes name and category of a counter.
    fn counter(&mut self, event: &Event<'_>, class: &ChromeClass) {
        self.push_prefix(&class.prefix, ChromeName::Own(&class.class.counter_name(event)));
    }

    /// Writes the values of a counter.
    fn values(&mut self, event: &Event<'_>, class: &ViewerClass) {
        self.out.push(b'{');
        let mut object = ObjectWriter::resume(self.out, false);
        class.counter_values(event, |value| match value.number {
            CounterNumber::Integer(number) => object.named(value.member).integer(number),
            // JSON lacks NaN and infinities.
            CounterNumber::Real(number) if number.is_finite() => {
                number::push_shortest(object.named(value.member).raw(), number);
            }
            CounterNumber::Real(_) => {}
        });
        object.end();
    }
}
