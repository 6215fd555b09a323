//! Writes one JSON object per line and message, for other programs. `docs/jsonl.md` describes the format.

mod classes;
mod meanings;
mod opening;
mod resume;

use std::io;
use std::ops::ControlFlow;

use ichnos_export::documents::{write_identity, write_uuid};
use ichnos_export::parts::{
    EventStacks, FieldWriter, Keys, Repeated, Scratch, TextBuffer, TimeWriter, emf_uri, has_plain_field,
    log_level_name, write_id,
};
use ichnos_export::{Integers, JsonTime, TextWriter};
use ichnos_json::write::{Escaped, ObjectWriter, ValueWriter};
use ichnos_model::class::{Attributes, EventRecordClass, UuidOf};
use ichnos_model::clock::ClockValue;
use ichnos_model::decode::DecodeError;
use ichnos_model::event::{Packet, StreamTable, ValueCache};
use ichnos_model::field::FieldRef;
use ichnos_model::log::LogText;
use ichnos_model::meaning::EventRole;
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::plan::Plan;
use ichnos_model::{DataStream, Event, Message, Scope, Sink, Trace};

use crate::description::write_clock_class;
use crate::members::{write_list, write_map, write_value};
use opening::OpeningCache;
pub use resume::{Introduction, JsonLinesState};
use resume::{ResumptionState, StreamIntroductions, Subject, introduce};

/// Options of [`JsonLines`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JsonLinesOptions {
    /// Writes lines for the start and the end of data streams, and for event record classes.
    pub streams: bool,
    /// Writes lines for the start and the end of packets.
    pub packets: bool,
    /// Writes lines for discarded events, discarded packets and damage.
    pub losses: bool,
    /// Writes call stack frames in each event, with their symbols at its time, instead of stack lines.
    pub stacks: bool,
    /// Writes clock values in cycles, in addition to times.
    pub cycles: bool,
    /// Format of the members `ts` and `time`.
    pub time: JsonTime,
    /// Representation of all integers.
    pub integers: Integers,
}

impl Default for JsonLinesOptions {
    fn default() -> Self {
        Self {
            streams: true,
            packets: false,
            losses: true,
            stacks: false,
            cycles: true,
            time: JsonTime::default(),
            integers: Integers::default(),
        }
    }
}

/// Data stream state. Must be small, because there can be very many.
#[derive(Debug)]
struct LineStreamState {
    /// Number of the data stream in lines.
    number: u64,
    introduced: StreamIntroductions,
    /// Set if events have a common context.
    common_context: Option<Box<Repeated>>,
}

impl LineStreamState {
    /// Writes the lines that an event needs and that were not written before: its class, if `with_classes`, and its
    /// call stacks.
    #[inline]
    fn introduce<W: TextWriter>(
        &mut self,
        output: &mut TextBuffer<W>,
        resumed: &mut Option<ResumptionState>,
        event: &Event<'_>,
        class: &ClassState,
        with_classes: bool,
    ) {
        let stream = self.number;
        if let Some(index) = event.class_index()
            && self.introduced.add_class(index)
            && with_classes
        {
            introduce(output, resumed, stream, Subject::EventClass(index), |out| {
                push_class(out, event, stream);
            });
        }
        for field in &class.stacks {
            if let Some(stack) = meanings::stack(event, field)
                && self.introduced.add_stack(stack)
            {
                introduce(output, resumed, stream, Subject::Stack(stack), |out| {
                    meanings::push_stack(out, event, stack, stream);
                });
            }
        }
    }
}

/// Data stream class state.
#[derive(Debug)]
struct StreamClassState {
    time: TimeWriter,
    /// Keys in the event record header, if its fields are not only those that every event line has.
    header: Option<Keys>,
    common: Keys,
    resource: Keys,
    /// JSON texts for recent common contexts.
    common_contexts: ValueCache,
    /// JSON texts for recent resources, without the braces.
    resources: ValueCache,
}

/// Maximum number of cached texts per data stream class, for common contexts and for resources.
const MOST_TEXTS: usize = 256;

/// Event record class state.
#[derive(Debug)]
struct ClassState {
    /// Text between the time and the scopes.
    identity: Box<[u8]>,
    specific: Keys,
    payload: Keys,
    /// Members with call stack numbers, for stack lines.
    stacks: Box<[FieldRef]>,
    /// The same members, for frames in the events.
    frames: EventStacks,
    /// Formats the message. `None` if it is equal to a member or to the class name.
    message: Option<LogText>,
}

impl ClassState {
    fn from_event(event: &Event<'_>, with_frames: bool) -> Self {
        let class = event.class;
        let mut out = Vec::new();
        let mut line = ObjectWriter::resume(&mut out, true);
        write_id(line.member("id"), class.id);
        line.string("name", class.name.as_deref());
        write_log_level(&mut line, class);
        Self {
            identity: out.into(),
            specific: Keys::for_scope(event.plan(Scope::SpecificContext), ",\"specific_context\":"),
            payload: Keys::for_scope(event.plan(Scope::Payload), ",\"payload\":"),
            stacks: if with_frames { Box::default() } else { meanings::stack_fields(event) },
            frames: EventStacks::for_event(event, with_frames),
            message: meanings::written_message(event.class),
        }
    }
}

/// Writes one JSON object per line and message. `docs/jsonl.md` describes the format.
///
/// ```text
/// {"type":"event-class","stream":0,"id":0,"name":"my_app:temperature"}
/// {"type":"event","stream":0,"ts":1565957302180016041,"cycles":900859125273445,"id":0,"name":"my_app:temperature","payload":{"celsius":53}}
/// ```
pub struct JsonLines<W> {
    output: TextBuffer<W>,
    options: JsonLinesOptions,
    scratch: Scratch,
    streams: StreamTable<LineStreamState, StreamClassState, ClassState>,
    next_stream: u64,
    openings: OpeningCache,
    /// `None` if this is the start of the output.
    resumed: Option<ResumptionState>,
}

impl<W> std::fmt::Debug for JsonLines<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonLines").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: TextWriter> JsonLines<W> {
    /// Creates a sink that writes to `writer`.
    pub fn new(writer: W, options: JsonLinesOptions) -> Self {
        Self {
            output: TextBuffer::new(writer).with_integers(options.integers),
            options,
            scratch: Scratch::default(),
            streams: StreamTable::default(),
            next_stream: 0,
            openings: OpeningCache::default(),
            resumed: None,
        }
    }

    /// Returns the writer.
    pub fn writer(&self) -> &W {
        self.output.writer()
    }

    /// Frees the buffer, which grows again with the next lines. For programs with very many sinks.
    pub(crate) fn without_room(mut self) -> Self {
        self.output.buffer = Vec::new();
        self
    }

    /// Returns the writer, mutably.
    pub(crate) fn writer_mut(&mut self) -> &mut W {
        self.output.writer_mut()
    }

    /// Returns the number of buffered bytes.
    pub(crate) fn waiting(&self) -> usize {
        self.output.buffer.len()
    }

    /// Returns the number of NaN values whose sign or payload bits are lost, because lines contain `NaN`.
    pub(crate) fn inexact_nans(&self) -> u64 {
        self.scratch.inexact_nans
    }

    /// Returns `true` if a data stream has started and not ended.
    pub(crate) fn has_begun(&self, stream: &DataStream) -> bool {
        self.streams.has(stream)
    }

    /// Passes all buffered bytes to the writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Adds state for a data stream, unless it exists.
    #[inline]
    fn prepare(&mut self, stream: &DataStream) {
        if !self.streams.has(stream) {
            self.add_stream(stream);
        }
    }

    /// Assigns a number to a data stream, and writes its line.
    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let (number, introduced) = match &mut self.resumed {
            Some(resumed) => resumed.resume_stream(stream),
            None => (self.next_stream, StreamIntroductions::default()),
        };
        self.next_stream += 1;
        let plans = stream.plans();
        let part = LineStreamState {
            number,
            introduced,
            common_context: plans.common_context.is_some().then(Box::default),
        };
        self.streams.insert(stream, part, || {
            let header = plans.event_record_header.as_ref().filter(|plan| has_plain_field(plan));
            StreamClassState {
                time: TimeWriter::new(self.options.time, stream.clock()),
                header: header.map(|plan| Keys::for_scope(Some(plan), ",\"header\":")),
                common: Keys::for_scope(plans.common_context.as_ref(), ",\"common_context\":"),
                resource: Keys::for_plan(plans.resource.as_ref()),
                common_contexts: ValueCache::new(&[Scope::CommonContext], MOST_TEXTS),
                resources: ValueCache::new(&[Scope::Resource], MOST_TEXTS),
            }
        });
        if self.options.streams && self.resumed.is_none() {
            push_stream(&mut self.output.buffer, stream, number, self.options.packets);
        }
    }

    /// Returns the number of a data stream in lines.
    fn number_of(&mut self, stream: &DataStream) -> u64 {
        self.prepare(stream);
        self.streams.get(stream.key).map_or(0, |(part, _)| part.number)
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.prepare(event.stream);
        let Some((part, known, classes)) = self.streams.get_mut(event.stream) else {
            return Ok(());
        };
        let class = classes.for_event(event, || ClassState::from_event(event, self.options.stacks));
        part.introduce(&mut self.output, &mut self.resumed, event, class, self.options.streams);
        let out = &mut self.output.buffer;
        self.openings.push(out, part.number, event.clock, &mut known.time, self.options.cycles);
        out.extend_from_slice(&class.identity);
        if !event.other_clocks.is_empty() {
            push_other_clocks(out, event);
        }
        let scratch = &mut self.scratch;
        let failures = &mut self.output.failures;
        if let Some(keys) = &known.header {
            failures.record(push_scope(out, scratch, event, Scope::EventRecordHeader, keys));
        }
        if let (Some(plan), Some(repeated)) = (event.plan(Scope::CommonContext), &mut part.common_context)
            && !repeated.push_known(out, event, Scope::CommonContext)
        {
            failures.record(push_common_context(out, scratch, event, known, (repeated, plan)));
        }
        if event.plan(Scope::SpecificContext).is_some() {
            failures.record(push_scope(out, scratch, event, Scope::SpecificContext, &class.specific));
        }
        if event.plan(Scope::Payload).is_some() {
            let writer = FieldWriter::new(out, scratch, &class.payload);
            failures.record(writer.write(|writer| event.visit_members(Scope::Payload, writer)));
        }
        if class.message.is_some() || event.has_resource() {
            failures.record(push_resource(out, scratch, event, known, class.message));
        }
        if !class.frames.is_empty() {
            class.frames.push_json(out, event);
        }
        out.extend_from_slice(b"}\n");
        self.output.flush_if_full()
    }

    fn packet(&mut self, packet: &Packet<'_>, begins: bool) -> io::Result<()> {
        if !self.options.packets {
            return Ok(());
        }
        let number = self.number_of(packet.stream);
        let kind = if begins { "packet-begin" } else { "packet-end" };
        let mut line = begin(&mut self.output.buffer, kind, number);
        if let (Some(value), Some((_, class, _))) =
            (if begins { packet.begin } else { packet.end }, self.streams.get_mut(packet.stream))
        {
            write_clock(&mut line, value, &mut class.time, self.options.cycles);
        }
        line.unsigned("sequence_number", packet.sequence_number);
        if !begins {
            // These counters are not final until the packet has ended.
            line.unsigned("discarded_counter", packet.discarded_counter);
            line.unsigned("content_bits", Some(packet.content_length));
            line.unsigned("total_bits", Some(packet.total_length));
        }
        if begins {
            for (scope, name) in [(Scope::PacketHeader, "header"), (Scope::PacketContext, "context")] {
                if packet.plan(scope).is_some() {
                    let keys = Keys::for_plan(packet.plan(scope));
                    let writer = FieldWriter::new(line.member(name).raw(), &mut self.scratch, &keys);
                    self.output.failures.record(writer.write(|writer| packet.visit(scope, writer)));
                }
            }
        }
        end(line);
        self.output.flush_if_full()
    }

    fn discarded(&mut self, kind: &str, discarded: &Discarded<'_>) -> io::Result<()> {
        if !self.options.losses {
            return Ok(());
        }
        let number = self.number_of(discarded.stream);
        let mut line = begin(&mut self.output.buffer, kind, number);
        line.member("count").or_null(discarded.count, ValueWriter::unsigned);
        line.unsigned("thread", discarded.thread);
        for (name, value) in [("begin", discarded.begin), ("end", discarded.end)] {
            if let (Some(value), Some((_, class, _))) = (value, self.streams.get_mut(discarded.stream)) {
                let mut clock = line.member(name).object();
                write_clock(&mut clock, value, &mut class.time, self.options.cycles);
                clock.end();
            }
        }
        end(line);
        self.output.flush_if_full()
    }

    fn damage(&mut self, damage: &Damage) -> io::Result<()> {
        if !self.options.losses {
            return Ok(());
        }
        let mut line = ValueWriter::new(&mut self.output.buffer).object();
        line.member("type").string("damage");
        line.member("file").string(&damage.file);
        line.string("stream_name", damage.stream.as_deref());
        line.member("bit").unsigned(damage.bit);
        line.member("skipped_bits").unsigned(damage.skipped);
        line.member("message").display(&damage.kind);
        end(line);
        self.output.flush_if_full()
    }
}

impl<W: TextWriter> Sink for JsonLines<W> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => self.event(event)?,
            Message::PacketBegin(packet) => self.packet(packet, true)?,
            Message::PacketEnd(packet) => self.packet(packet, false)?,
            Message::StreamBegin(stream) => {
                self.prepare(stream);
                self.output.flush_if_full()?;
            }
            Message::StreamEnd(stream) => {
                if self.options.streams {
                    let number = self.number_of(stream);
                    end(begin(&mut self.output.buffer, "stream-end", number));
                    self.output.flush_if_full()?;
                }
                self.streams.remove(stream);
            }
            Message::DiscardedEvents(discarded) => self.discarded("discarded-events", discarded)?,
            Message::DiscardedPackets(discarded) => self.discarded("discarded-packets", discarded)?,
            Message::Damage(damage) => self.damage(damage)?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn flush(&mut self) -> io::Result<()> {
        JsonLines::flush(self)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.output.failures.into_result()
    }
}

/// Appends a scope that few events have, or that is kept.
#[inline(never)]
fn push_scope(
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
    event: &Event<'_>,
    scope: Scope,
    keys: &Keys,
) -> Result<(), DecodeError> {
    FieldWriter::new(out, scratch, keys).write(|writer| event.visit_members(scope, writer))
}

/// Appends the common context of an event, and keeps its text.
#[inline(never)]
fn push_common_context(
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
    event: &Event<'_>,
    known: &mut StreamClassState,
    (repeated, plan): (&mut Repeated, &Plan),
) -> Result<(), DecodeError> {
    let StreamClassState { common, common_contexts, .. } = known;
    let write = |out: &mut Vec<u8>| push_scope(out, scratch, event, Scope::CommonContext, common);
    match event.scopes.values {
        Some(values) if values.has(Scope::CommonContext) => common_contexts.push(out, event, write),
        _ => repeated.push(out, event, Scope::CommonContext, plan, write),
    }
}

/// Appends an event's resource, and the message that is formatted from its fields.
#[inline(never)]
fn push_resource(
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
    event: &Event<'_>,
    known: &mut StreamClassState,
    message: Option<LogText>,
) -> Result<(), DecodeError> {
    out.extend_from_slice(b",\"resource\":{");
    let begin = out.len();
    let mut result = Ok(());
    if event.has_resource() {
        let StreamClassState { resource: keys, resources, .. } = known;
        result = resources.push(out, event, |out| {
            // Removes the end of the resource object, so that members can follow.
            out.pop();
            let result =
                FieldWriter::new(out, scratch, keys).write(|writer| event.visit(Scope::Resource, writer));
            out.pop();
            result
        });
    }
    if let Some(message) = message {
        if out.len() > begin {
            out.push(b',');
        }
        out.extend_from_slice(b"\"message\":\"");
        // Writing to a vector never fails.
        let _ = (message.write)(event, &mut Escaped(out));
        out.push(b'"');
    }
    out.push(b'}');
    result
}

/// Starts a line about a data stream.
fn begin<'o>(out: &'o mut Vec<u8>, kind: &str, stream: u64) -> ObjectWriter<'o> {
    let mut line = ValueWriter::new(out).object();
    line.member("type").string(kind);
    line.member("stream").unsigned(stream);
    line
}

/// Ends a line.
fn end(mut line: ObjectWriter<'_>) {
    line.buffer().extend_from_slice(b"}\n");
}

/// Writes a clock value's members.
fn write_clock(object: &mut ObjectWriter<'_>, value: ClockValue, time: &mut TimeWriter, cycles: bool) {
    time.push(object.member("ts").raw(), value.nanoseconds);
    object.unsigned("cycles", cycles.then_some(value.cycles));
}

/// Writes a log level as its name, or as a number without a name.
fn write_log_level(line: &mut ObjectWriter<'_>, class: &EventRecordClass) {
    match (log_level_name(class), class.log_level) {
        (Some(name), _) => line.member("log_level").string(name),
        (None, Some(number)) => line.member("log_level").signed(number),
        (None, None) => {}
    }
}

#[cold]
fn push_other_clocks(out: &mut Vec<u8>, event: &Event<'_>) {
    let clocks = &event.stream.trace.class.clocks;
    let mut line = ObjectWriter::resume(out, true);
    let mut object = line.member("other_clocks").object();
    for (index, cycles) in event.other_clocks {
        if let Some(clock) = clocks.get(usize::from(*index)) {
            object.named(&clock.id).unsigned(*cycles);
        }
    }
    object.end();
}

/// Appends the line for an event record class.
fn push_class(out: &mut Vec<u8>, event: &Event<'_>, stream: u64) {
    let class = event.class;
    let mut line = begin(out, "event-class", stream);
    write_id(line.member("id"), class.id);
    write_identity(&mut line, &class.namespace, &class.name, &class.uid);
    write_log_level(&mut line, class);
    line.string("emf_uri", emf_uri(class));
    line.string("role", (class.role != EventRole::Instant).then(|| class.role.name()));
    if let Some(display) = &class.display {
        write_value(line.member("display"), &display.to_value());
    }
    if let Some(element) = &class.element {
        write_value(line.member("element"), &element.to_value());
    }
    meanings::write_meanings(&mut line, event);
    write_attributes(&mut line, &class.attributes);
    meanings::write_log_role(&mut line, class);
    if class.is_undescribed {
        line.member("undescribed").boolean(true);
    }
    classes::write_event_fields(&mut line, event);
    end(line);
}

fn write_attributes(object: &mut ObjectWriter<'_>, attributes: &Attributes) {
    if !attributes.is_empty() {
        write_map(object.member("attributes"), attributes.entries());
    }
}

/// Appends the line for a data stream.
fn push_stream(out: &mut Vec<u8>, stream: &DataStream, number: u64, with_packets: bool) {
    let class = stream.class();
    let mut line = begin(out, "stream-begin", number);
    line.member("name").string(&stream.name);
    if let Some(id) = stream.id {
        write_id(line.member("id"), id);
    }
    let mut object = line.member("class").object();
    write_id(object.member("id"), class.id);
    write_identity(&mut object, &class.namespace, &class.name, &class.uid);
    write_attributes(&mut object, &class.attributes);
    classes::write_stream_fields(&mut object, stream, with_packets);
    object.end();
    write_trace(line.member("trace"), &stream.trace);
    if let Some(clock) = stream.clock() {
        write_clock_class(line.member("clock"), clock);
    }
    let clocks = &stream.trace.class.clocks;
    let others = class.other_clocks.iter().filter(|clock| Some(**clock) != class.default_clock);
    let mut others = others.filter_map(|clock| clocks.get(usize::from(*clock))).peekable();
    if others.peek().is_some() {
        let mut list = line.member("other_clocks").array();
        others.for_each(|clock| write_clock_class(list.element(), clock));
        list.end();
    }
    end(line);
}

fn write_trace(place: ValueWriter<'_>, trace: &Trace) {
    let class = &trace.class;
    let mut object = place.object();
    object.member("path").string(&trace.path);
    object.member("format").string(&class.dialect);
    write_identity(&mut object, &class.namespace, &class.name, &class.uid);
    object.string("implied_namespace", class.implied_namespace.as_deref());
    object.string("label", Some(&*trace.name).filter(|name| !name.is_empty()));
    write_uuid(&mut object, class.uuid);
    let uuid_of = Some(class.uuid_of).filter(|of| *of != UuidOf::Trace && class.uuid.is_some());
    object.string("uuid_of", uuid_of.map(UuidOf::name));
    write_map(object.member("environment"), &class.environment);
    write_attributes(&mut object, &class.attributes);
    if !class.call_sites.is_empty() {
        write_list(object.member("call_sites"), &class.call_sites);
    }
    object.end();
}

#[cfg(test)]
mod tests;
