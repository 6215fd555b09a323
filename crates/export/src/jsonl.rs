//! One JSON object per line and message, for other programs. `docs/jsonl.md` describes the format.

mod classes;
pub(crate) mod fields;
pub(crate) mod keys;
mod meanings;
mod opening;
mod resume;

use std::io;
use std::ops::ControlFlow;

use ichnos_model::decode::DecodeError;
use ichnos_model::{
    Attributes, ClockClass, ClockOrigin, ClockValue, Damage, DataStream, Discarded, Event, EventRecordClass,
    EventRole, FieldRef, LogText, Message, Packet, Scope, Sink, Trace, Uuid, UuidOf, Value, ValueCache,
};

use crate::event_stacks::EventStacks;
use crate::integers::Integers;
use crate::number;
use crate::output::{Output, TextWriter};
use crate::property;
use crate::repeated::Repeated;
use crate::stream_table::StreamTable;
use crate::time::{JsonTime, TimeWriter};
use fields::{FieldWriter, Scratch, push_escaped, push_string};
use keys::Keys;
use opening::Openings;
use resume::{Introduced, Resumed, Subject, introduce};
pub use resume::{Introduction, JsonLinesState};

/// Options of [`JsonLines`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JsonLinesOptions {
    /// Lines for the begin and the end of data streams, and for event record classes.
    pub streams: bool,
    /// Lines for the begin and the end of packets.
    pub packets: bool,
    /// Lines for discarded events, discarded packets and damage.
    pub losses: bool,
    /// The frames of call stacks in each event, with their symbols at its time, instead of lines for stacks.
    pub stacks: bool,
    /// Clock values in cycles, in addition to times.
    pub cycles: bool,
    /// Format of times: the members `ts` and `time`.
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

/// State of a data stream. There can be very many.
#[derive(Debug)]
struct StreamState {
    /// Number of the data stream in lines.
    number: u64,
    introduced: Introduced,
    /// Present if events have a common context.
    common_context: Option<Box<Repeated>>,
}

/// State of a data stream class.
#[derive(Debug)]
struct StreamClassState {
    time: TimeWriter,
    /// Keys of event record headers, if these have more than the fields written for all events.
    header: Option<Keys>,
    common: Keys,
    resource: Keys,
    /// Texts of common contexts that are values.
    common_contexts: ValueCache,
    /// Texts of the members of resources.
    resources: ValueCache,
}

/// Largest number of common contexts and of resources whose texts are kept, for each data stream class.
const MOST_TEXTS: usize = 256;

/// What is known of an event record class.
#[derive(Debug)]
struct ClassState {
    /// Text between time and scopes.
    identity: Box<[u8]>,
    specific: Keys,
    payload: Keys,
    /// Members that are numbers of call stacks, for lines of stacks.
    stacks: Box<[FieldRef]>,
    /// The same members, for frames in the events.
    frames: EventStacks,
    /// Formats the message, unless it is just a member or the name of the class.
    message: Option<LogText>,
}

impl ClassState {
    fn of(event: &Event<'_>, with_frames: bool) -> Self {
        let class = event.class;
        let mut out = Vec::new();
        push_key(&mut out, "id");
        number::push_id(&mut out, class.id);
        push_text(&mut out, "name", class.name.as_deref());
        push_log_level(&mut out, class);
        Self {
            identity: out.into(),
            specific: Keys::of(event.plan(Scope::SpecificContext)),
            payload: Keys::of(event.plan(Scope::Payload)),
            stacks: if with_frames { Box::default() } else { meanings::stack_fields(event) },
            frames: EventStacks::of(event, with_frames),
            message: meanings::written_message(event.class),
        }
    }
}

/// Writes one JSON object per line and message; `docs/jsonl.md` describes the format.
///
/// ```text
/// {"type":"event-class","stream":0,"id":0,"name":"my_app:temperature"}
/// {"type":"event","stream":0,"ts":1565957302180016041,"cycles":900859125273445,"id":0,"name":"my_app:temperature","payload":{"celsius":53}}
/// ```
pub struct JsonLines<W> {
    output: Output<W>,
    options: JsonLinesOptions,
    scratch: Scratch,
    streams: StreamTable<StreamState, StreamClassState, ClassState>,
    next_stream: u64,
    openings: Openings,
    /// `None` if nothing was written before.
    resumed: Option<Resumed>,
}

impl<W> std::fmt::Debug for JsonLines<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonLines").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: TextWriter> JsonLines<W> {
    /// Writes to `writer`.
    pub fn new(writer: W, options: JsonLinesOptions) -> Self {
        Self {
            output: Output::new(writer).with_integers(options.integers),
            options,
            scratch: Scratch::default(),
            streams: StreamTable::default(),
            next_stream: 0,
            openings: Openings::default(),
            resumed: None,
        }
    }

    /// Returns the writer.
    pub fn writer(&self) -> &W {
        self.output.writer()
    }

    /// Passes all bytes to the writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Adds the state of a data stream unless it exists.
    #[inline]
    fn prepare(&mut self, stream: &DataStream) {
        if !self.streams.has(stream) {
            self.add_stream(stream);
        }
    }

    /// Numbers a data stream and introduces it.
    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let (number, introduced) = match &mut self.resumed {
            Some(resumed) => resumed.begun(stream),
            None => (self.next_stream, Introduced::default()),
        };
        self.next_stream += 1;
        let plans = stream.plans();
        let part = StreamState {
            number,
            introduced,
            common_context: plans.common_context.is_some().then(Box::default),
        };
        self.streams.insert(stream, part, || {
            let header = plans.event_record_header.as_ref().filter(|plan| property::has_plain_field(plan));
            StreamClassState {
                time: TimeWriter::new(self.options.time, stream.clock()),
                header: header.map(|plan| Keys::of(Some(plan))),
                common: Keys::of(plans.common_context.as_ref()),
                resource: Keys::of(plans.resource.as_ref()),
                common_contexts: ValueCache::new(&[Scope::CommonContext], MOST_TEXTS),
                resources: ValueCache::new(&[Scope::Resource], MOST_TEXTS),
            }
        });
        if self.options.streams && self.resumed.is_none() {
            push_stream(&mut self.output.buffer, stream, number, self.options.packets);
        }
    }

    /// Begins a line about a data stream.
    fn begin(&mut self, kind: &str, stream: &DataStream) {
        self.prepare(stream);
        let number = self.streams.get(stream.key).map_or(0, |(part, _)| part.number);
        let out = &mut self.output.buffer;
        for text in ["{\"type\":\"", kind, "\",\"stream\":"] {
            out.extend_from_slice(text.as_bytes());
        }
        number::push_unsigned(out, number);
    }

    fn end(&mut self) -> io::Result<()> {
        self.output.buffer.extend_from_slice(b"}\n");
        self.output.flush_if_full()
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.prepare(event.stream);
        let Some((part, known, classes)) = self.streams.get_mut(event.stream) else {
            return Ok(());
        };
        let class = classes.of(event, || ClassState::of(event, self.options.stacks));
        if let Some(index) = event.class_index()
            && part.introduced.add_class(index)
            && self.options.streams
        {
            let subject = Subject::EventClass(index);
            let stream = part.number;
            introduce(&mut self.output, &mut self.resumed, stream, subject, |out| {
                push_class(out, event, stream);
            });
        }
        for field in &class.stacks {
            if let Some(stack) = meanings::stack(event, field)
                && part.introduced.add_stack(stack)
            {
                let subject = Subject::Stack(stack);
                let stream = part.number;
                introduce(&mut self.output, &mut self.resumed, stream, subject, |out| {
                    meanings::push_stack(out, event, stack, stream);
                });
            }
        }
        let out = &mut self.output.buffer;
        self.openings.push(out, part.number, event.clock, &mut known.time, self.options.cycles);
        out.extend_from_slice(&class.identity);
        if !event.other_clocks.is_empty() {
            push_other_clocks(out, event);
        }
        let scratch = &mut self.scratch;
        let mut write = |out: &mut Vec<u8>, scope: Scope, keys: &Keys| {
            let mut writer = FieldWriter::new(out, scratch, keys);
            let result = event.visit(scope, &mut writer);
            writer.finish(result.is_err());
            result
        };
        let failures = &mut self.output.failures;
        if let Some(keys) = &known.header {
            out.extend_from_slice(b",\"header\":");
            failures.note(write(out, Scope::EventRecordHeader, keys));
        }
        if let (Some(plan), Some(repeated)) = (event.plan(Scope::CommonContext), &mut part.common_context) {
            let keys = &known.common;
            let write = |out: &mut Vec<u8>| {
                out.extend_from_slice(b",\"common_context\":");
                write(out, Scope::CommonContext, keys)
            };
            failures.note(match event.scopes.values {
                Some(values) if values.has(Scope::CommonContext) => {
                    known.common_contexts.push(out, event, write)
                }
                _ => repeated.push(out, event, Scope::CommonContext, plan, write),
            });
        }
        if event.plan(Scope::SpecificContext).is_some() {
            out.extend_from_slice(b",\"specific_context\":");
            failures.note(write(out, Scope::SpecificContext, &class.specific));
        }
        if event.plan(Scope::Payload).is_some() {
            out.extend_from_slice(b",\"payload\":");
            failures.note(write(out, Scope::Payload, &class.payload));
        }
        if class.message.is_some() || event.has_resource() {
            failures.note(push_resource(out, scratch, event, known, class.message));
        }
        class.frames.push_json(out, event);
        self.end()
    }

    fn packet(&mut self, packet: &Packet<'_>, begins: bool) -> io::Result<()> {
        if !self.options.packets {
            return Ok(());
        }
        self.begin(if begins { "packet-begin" } else { "packet-end" }, packet.stream);
        let out = &mut self.output.buffer;
        if let (Some(value), Some((_, class, _))) =
            (if begins { packet.begin } else { packet.end }, self.streams.get_mut(packet.stream))
        {
            out.push(b',');
            push_clock(out, value, &mut class.time, self.options.cycles);
        }
        let mut numbers = vec![("sequence_number", packet.sequence_number)];
        if !begins {
            // These are not final until the packet has ended.
            numbers.push(("discarded_counter", packet.discarded_counter));
            numbers.push(("content_bits", Some(packet.content_length)));
            numbers.push(("total_bits", Some(packet.total_length)));
        }
        for (name, value) in numbers {
            if let Some(value) = value {
                push_key(out, name);
                number::push_unsigned(out, value);
            }
        }
        if begins {
            for (scope, name) in [(Scope::PacketHeader, "header"), (Scope::PacketContext, "context")] {
                if packet.plan(scope).is_some() {
                    push_key(out, name);
                    let keys = Keys::of(packet.plan(scope));
                    let mut writer = FieldWriter::new(out, &mut self.scratch, &keys);
                    let result = packet.visit(scope, &mut writer);
                    writer.finish(result.is_err());
                    self.output.failures.note(result);
                }
            }
        }
        self.end()
    }

    fn discarded(&mut self, kind: &str, discarded: &Discarded<'_>) -> io::Result<()> {
        if !self.options.losses {
            return Ok(());
        }
        self.begin(kind, discarded.stream);
        let out = &mut self.output.buffer;
        push_key(out, "count");
        match discarded.count {
            Some(count) => number::push_unsigned(out, count),
            None => out.extend_from_slice(b"null"),
        }
        if let Some(thread) = discarded.thread {
            push_key(out, "thread");
            number::push_unsigned(out, thread);
        }
        for (name, value) in [("begin", discarded.begin), ("end", discarded.end)] {
            if let (Some(value), Some((_, class, _))) = (value, self.streams.get_mut(discarded.stream)) {
                push_key(out, name);
                out.push(b'{');
                push_clock(out, value, &mut class.time, self.options.cycles);
                out.push(b'}');
            }
        }
        self.end()
    }

    fn damage(&mut self, damage: &Damage) -> io::Result<()> {
        if !self.options.losses {
            return Ok(());
        }
        let out = &mut self.output.buffer;
        out.extend_from_slice(b"{\"type\":\"damage\",\"file\":");
        push_string(out, &damage.file);
        if let Some(stream) = &damage.stream {
            push_key(out, "stream_name");
            push_string(out, stream);
        }
        push_key(out, "bit");
        number::push_unsigned(out, damage.bit);
        push_key(out, "skipped_bits");
        number::push_unsigned(out, damage.skipped);
        push_key(out, "message");
        push_string(out, &damage.kind.to_string());
        self.end()
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
                    self.begin("stream-end", stream);
                    self.end()?;
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

/// Appends the resource of an event, and the message formatted from its fields.
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
            // The members of its object.
            out.pop();
            let mut writer = FieldWriter::new(out, scratch, keys);
            let result = event.visit(Scope::Resource, &mut writer);
            writer.finish(result.is_err());
            out.pop();
            result
        });
    }
    if let Some(message) = message {
        if out.len() > begin {
            out.push(b',');
        }
        out.extend_from_slice(b"\"message\":\"");
        // Writing to a vector does not fail.
        let _ = (message.write)(event, &mut Escaped(out));
        out.push(b'"');
    }
    out.push(b'}');
    result
}

/// Writes escaped text between the quotation marks of a string.
struct Escaped<'o>(&'o mut Vec<u8>);

impl std::fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        push_escaped(self.0, text.as_bytes());
        Ok(())
    }
}

/// Appends a comma and a member name that needs no escaping.
fn push_key(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn push_text(out: &mut Vec<u8>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        push_key(out, name);
        push_string(out, text);
    }
}

/// Appends the members of a clock value.
fn push_clock(out: &mut Vec<u8>, value: ClockValue, time: &mut TimeWriter, cycles: bool) {
    out.extend_from_slice(b"\"ts\":");
    time.push(out, value.nanoseconds);
    if cycles {
        out.extend_from_slice(b",\"cycles\":");
        number::push_unsigned(out, value.cycles);
    }
}

/// Appends the name of a log level, or its number if it has no name.
fn push_log_level(out: &mut Vec<u8>, class: &EventRecordClass) {
    match (property::log_level(class), class.log_level) {
        (Some(level), _) => push_text(out, "log_level", Some(level.attribute)),
        (None, Some(number)) => {
            push_key(out, "log_level");
            number::push_signed(out, number);
        }
        (None, None) => {}
    }
}

#[cold]
fn push_other_clocks(out: &mut Vec<u8>, event: &Event<'_>) {
    let clocks = &event.stream.trace.class.clocks;
    push_key(out, "other_clocks");
    out.push(b'{');
    let known = event.other_clocks.iter().filter_map(|(index, cycles)| {
        let clock = clocks.get(usize::from(*index))?;
        Some((clock, *cycles))
    });
    for (i, (clock, cycles)) in known.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(out, &clock.id);
        out.push(b':');
        number::push_unsigned(out, cycles);
    }
    out.push(b'}');
}

/// Appends the line that introduces an event record class.
fn push_class(out: &mut Vec<u8>, event: &Event<'_>, stream: u64) {
    let class = event.class;
    out.extend_from_slice(b"{\"type\":\"event-class\",\"stream\":");
    number::push_unsigned(out, stream);
    push_key(out, "id");
    number::push_id(out, class.id);
    push_identity(out, &class.namespace, &class.name, &class.uid);
    push_log_level(out, class);
    push_text(out, "emf_uri", property::emf_uri(class));
    push_text(out, "role", (class.role != EventRole::Instant).then(|| class.role.name()));
    meanings::push_meanings(out, event);
    push_attributes(out, &class.attributes);
    meanings::push_log_role(out, class);
    if class.is_undescribed {
        push_key(out, "undescribed");
        out.extend_from_slice(b"true");
    }
    classes::push_event_fields(out, event);
    out.extend_from_slice(b"}\n");
}

fn push_identity(out: &mut Vec<u8>, namespace: &Option<String>, name: &Option<String>, uid: &Option<String>) {
    push_text(out, "namespace", namespace.as_deref());
    push_text(out, "name", name.as_deref());
    push_text(out, "uid", uid.as_deref());
}

fn push_uuid(out: &mut Vec<u8>, uuid: Option<Uuid>) {
    if let Some(uuid) = uuid {
        push_text(out, "uuid", Some(&uuid.to_string()));
    }
}

fn push_attributes(out: &mut Vec<u8>, attributes: &Attributes) {
    if !attributes.is_empty() {
        push_key(out, "attributes");
        push_map(out, attributes.entries());
    }
}

/// Appends the line that introduces a data stream.
fn push_stream(out: &mut Vec<u8>, stream: &DataStream, number: u64, with_packets: bool) {
    let class = stream.class();
    out.extend_from_slice(b"{\"type\":\"stream-begin\",\"stream\":");
    number::push_unsigned(out, number);
    push_text(out, "name", Some(&stream.name));
    if let Some(id) = stream.id {
        push_key(out, "id");
        number::push_id(out, id);
    }
    out.extend_from_slice(b",\"class\":{\"id\":");
    number::push_id(out, class.id);
    push_identity(out, &class.namespace, &class.name, &class.uid);
    push_attributes(out, &class.attributes);
    classes::push_stream_fields(out, stream, with_packets);
    out.push(b'}');
    push_key(out, "trace");
    push_trace(out, &stream.trace);
    if let Some(clock) = stream.clock() {
        push_key(out, "clock");
        push_clock_class(out, clock);
    }
    let clocks = &stream.trace.class.clocks;
    let others = class.other_clocks.iter().filter(|clock| Some(**clock) != class.default_clock);
    let mut others = others.filter_map(|clock| clocks.get(usize::from(*clock))).peekable();
    if others.peek().is_some() {
        push_key(out, "other_clocks");
        for (i, clock) in others.enumerate() {
            out.push(if i == 0 { b'[' } else { b',' });
            push_clock_class(out, clock);
        }
        out.push(b']');
    }
    out.extend_from_slice(b"}\n");
}

fn push_trace(out: &mut Vec<u8>, trace: &Trace) {
    let class = &trace.class;
    out.extend_from_slice(b"{\"path\":");
    push_string(out, &trace.path);
    push_text(out, "format", Some(&class.dialect));
    push_identity(out, &class.namespace, &class.name, &class.uid);
    push_text(out, "implied_namespace", class.implied_namespace.as_deref());
    push_text(out, "label", Some(&*trace.name).filter(|name| !name.is_empty()));
    push_uuid(out, class.uuid);
    let uuid_of = match class.uuid_of {
        UuidOf::TraceClass => Some("trace-class"),
        UuidOf::MetadataStream => Some("metadata-stream"),
        _ => None,
    };
    push_text(out, "uuid_of", uuid_of.filter(|_| class.uuid.is_some()));
    push_key(out, "environment");
    push_map(out, &class.environment);
    push_attributes(out, &class.attributes);
    if !class.call_sites.is_empty() {
        push_key(out, "call_sites");
        push_list(out, &class.call_sites);
    }
    out.push(b'}');
}

fn push_clock_class(out: &mut Vec<u8>, clock: &ClockClass) {
    out.extend_from_slice(b"{\"id\":");
    push_string(out, &clock.id);
    push_identity(out, &clock.namespace, &clock.name, &clock.uid);
    push_uuid(out, clock.uuid);
    push_text(out, "description", clock.description.as_deref());
    push_key(out, "frequency");
    number::push_unsigned(out, clock.frequency);
    for (name, value) in [("precision", clock.precision), ("accuracy", clock.accuracy)] {
        if let Some(value) = value {
            push_key(out, name);
            number::push_unsigned(out, value);
        }
    }
    push_key(out, "offset_seconds");
    number::push_signed(out, clock.offset_seconds);
    push_key(out, "offset_cycles");
    number::push_unsigned(out, clock.offset_cycles);
    match &clock.origin {
        ClockOrigin::UnixEpoch => push_text(out, "origin", Some("unix-epoch")),
        ClockOrigin::Named { namespace, name, uid } => {
            push_key(out, "origin");
            out.push(b'{');
            if let Some(namespace) = namespace {
                out.extend_from_slice(b"\"namespace\":");
                push_string(out, namespace);
                out.push(b',');
            }
            out.extend_from_slice(b"\"name\":");
            push_string(out, name);
            push_text(out, "uid", Some(uid));
            out.push(b'}');
        }
        ClockOrigin::Unknown => {}
    }
    push_attributes(out, &clock.attributes);
    out.push(b'}');
}

fn push_list(out: &mut Vec<u8>, elements: &[Value]) {
    out.push(b'[');
    for (i, element) in elements.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_value(out, element);
    }
    out.push(b']');
}

fn push_map(out: &mut Vec<u8>, entries: &[(String, Value)]) {
    out.push(b'{');
    for (i, (name, value)) in entries.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(out, name);
        out.push(b':');
        push_value(out, value);
    }
    out.push(b'}');
}

fn push_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Boolean(true) => out.extend_from_slice(b"true"),
        Value::Boolean(false) => out.extend_from_slice(b"false"),
        Value::Integer(integer) => number::push_i128(out, *integer),
        Value::Number(text) => out.extend_from_slice(text.as_bytes()),
        Value::Text(text) => push_string(out, text),
        Value::Array(elements) => push_list(out, elements),
        Value::Map(entries) => push_map(out, entries),
    }
}

#[cfg(test)]
mod tests;
