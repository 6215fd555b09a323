//! One JSON object per line and message, for other programs. The format is in `docs/jsonl.md`.

mod fields;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_model::{
    ClockOrigin, ClockValue, Damage, DataStream, Discarded, Event, Message, Packet, Scope, Sink, Trace, Value,
};

use crate::number;
use crate::output::Output;
use crate::property;
use fields::{FieldWriter, Scratch, push_string};

/// What [`JsonLines`] writes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JsonLinesOptions {
    /// Lines for the begin and the end of data streams.
    pub streams: bool,
    /// Lines for the begin and the end of packets.
    pub packets: bool,
    /// Lines for discarded events, discarded packets and damage.
    pub losses: bool,
    /// Clock values in cycles, beside nanoseconds.
    pub cycles: bool,
}

impl Default for JsonLinesOptions {
    fn default() -> Self {
        Self { streams: true, packets: false, losses: true, cycles: true }
    }
}

/// What is known of a data stream.
#[derive(Debug)]
struct StreamPart {
    /// Keeps the classes where they are.
    _trace: Arc<Trace>,
    /// Number that the lines call it by.
    number: u64,
    /// How the lines of its events begin.
    prefix: Vec<u8>,
    /// By index of the event record class: what stands between time and scopes.
    classes: Vec<Option<Box<[u8]>>>,
}

/// Writes one JSON object per line and message; the documentation of the project has the format.
///
/// ```text
/// {"type":"event","stream":0,"ts":1565957302180016041,"cycles":900859125273445,"id":0,"name":"my_app:temperature","payload":{"celsius":53}}
/// ```
pub struct JsonLines<W> {
    output: Output<W>,
    options: JsonLinesOptions,
    scratch: Scratch,
    streams: Vec<Option<Box<StreamPart>>>,
    next_stream: u64,
}

impl<W> std::fmt::Debug for JsonLines<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonLines").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: Write> JsonLines<W> {
    /// Writes to `writer`.
    pub fn new(writer: W, options: JsonLinesOptions) -> Self {
        Self {
            output: Output::new(writer),
            options,
            scratch: Scratch::default(),
            streams: Vec::new(),
            next_stream: 0,
        }
    }

    /// The writer.
    pub fn writer(&self) -> &W {
        self.output.writer()
    }

    /// Hands all bytes on to the writer.
    ///
    /// # Errors
    /// If it cannot write.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Makes sure that the part of a data stream is there; gives its key.
    #[inline]
    fn prepare(&mut self, stream: &DataStream) -> usize {
        let key = stream.key as usize;
        if self.streams.get(key).is_none_or(Option::is_none) {
            self.add_stream(stream);
        }
        key
    }

    /// Numbers a data stream and introduces it.
    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let key = stream.key as usize;
        if self.streams.len() <= key {
            self.streams.resize_with(key + 1, || None);
        }
        let number = self.next_stream;
        self.next_stream += 1;
        let prefix = format!("{{\"type\":\"event\",\"stream\":{number}").into_bytes();
        self.streams[key] = Some(Box::new(StreamPart {
            _trace: Arc::clone(&stream.trace),
            number,
            prefix,
            classes: Vec::new(),
        }));
        if self.options.streams {
            push_stream(&mut self.output.buffer, stream, number);
        }
    }

    fn number(&self, key: usize) -> u64 {
        self.streams.get(key).and_then(|part| part.as_deref()).map_or(0, |part| part.number)
    }

    /// Begins a line about a data stream.
    fn begin(&mut self, kind: &str, stream: &DataStream) {
        let key = self.prepare(stream);
        let number = self.number(key);
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
        let key = self.prepare(event.stream);
        let Some(Some(part)) = self.streams.get_mut(key) else {
            return Ok(());
        };
        let out = &mut self.output.buffer;
        out.extend_from_slice(&part.prefix);
        push_clock(out, event.clock, self.options.cycles);
        match property::class_index(event.stream, event.plans) {
            Some(index) => {
                if part.classes.len() <= index {
                    part.classes.resize_with(index + 1, || None);
                }
                out.extend_from_slice(part.classes[index].get_or_insert_with(|| class_part(event)));
            }
            None => out.extend_from_slice(&class_part(event)),
        }
        let scopes = [
            (Scope::CommonContext, ",\"common_context\":"),
            (Scope::SpecificContext, ",\"specific_context\":"),
            (Scope::Payload, ",\"payload\":"),
        ];
        for (scope, name) in scopes {
            if event.plan(scope).is_some() {
                out.extend_from_slice(name.as_bytes());
                let mut writer = FieldWriter::new(out, &mut self.scratch);
                let result = event.visit(scope, &mut writer);
                writer.finish(result.is_err());
            }
        }
        self.end()
    }

    fn packet(&mut self, packet: &Packet<'_>, begins: bool) -> io::Result<()> {
        if !self.options.packets {
            return Ok(());
        }
        self.begin(if begins { "packet-begin" } else { "packet-end" }, packet.stream);
        let out = &mut self.output.buffer;
        push_clock(out, if begins { packet.begin } else { packet.end }, self.options.cycles);
        let mut numbers = vec![("sequence_number", packet.sequence_number)];
        if !begins {
            // Until a packet has ended, nobody knows these for sure.
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
                    let mut writer = FieldWriter::new(out, &mut self.scratch);
                    let result = packet.visit(scope, &mut writer);
                    writer.finish(result.is_err());
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
        for (name, value) in [("begin", discarded.begin), ("end", discarded.end)] {
            if let Some(value) = value {
                push_key(out, name);
                out.extend_from_slice(b"{\"ts\":");
                number::push_i128(out, value.nanoseconds);
                if self.options.cycles {
                    push_key(out, "cycles");
                    number::push_unsigned(out, value.cycles);
                }
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

impl<W: Write> Sink for JsonLines<W> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => self.event(event)?,
            Message::PacketBegin(packet) => self.packet(packet, true)?,
            Message::PacketEnd(packet) => self.packet(packet, false)?,
            Message::StreamBegin(stream) => {
                self.prepare(stream);
                self.output.flush_if_full()?;
            }
            Message::StreamEnd(stream) if self.options.streams => {
                self.begin("stream-end", stream);
                self.end()?;
            }
            Message::DiscardedEvents(discarded) => self.discarded("discarded-events", discarded)?,
            Message::DiscardedPackets(discarded) => self.discarded("discarded-packets", discarded)?,
            Message::Damage(damage) => self.damage(damage)?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Appends a comma and the name of a member that needs no escapes.
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

#[inline]
fn push_clock(out: &mut Vec<u8>, value: Option<ClockValue>, cycles: bool) {
    let Some(value) = value else {
        return;
    };
    out.extend_from_slice(b",\"ts\":");
    number::push_i128(out, value.nanoseconds);
    if cycles {
        out.extend_from_slice(b",\"cycles\":");
        number::push_unsigned(out, value.cycles);
    }
}

/// What stands between the time and the scopes of all events of a class.
fn class_part(event: &Event<'_>) -> Box<[u8]> {
    let class = event.class;
    let mut out = Vec::new();
    push_key(&mut out, "id");
    number::push_unsigned(&mut out, class.id);
    push_text(&mut out, "namespace", class.namespace.as_deref());
    push_text(&mut out, "name", class.name.as_deref());
    push_text(&mut out, "uid", class.uid.as_deref());
    push_text(&mut out, "log_level", property::log_level(class).map(|level| level.attribute));
    push_text(&mut out, "emf_uri", property::emf_uri(class));
    out.into_boxed_slice()
}

/// Appends the line that introduces a data stream.
fn push_stream(out: &mut Vec<u8>, stream: &DataStream, number: u64) {
    let (trace, class) = (&stream.trace.class, stream.class());
    out.extend_from_slice(b"{\"type\":\"stream-begin\",\"stream\":");
    number::push_unsigned(out, number);
    push_text(out, "name", Some(&stream.name));
    push_key(out, "class");
    number::push_unsigned(out, class.id);
    if let Some(id) = stream.id {
        push_key(out, "id");
        number::push_unsigned(out, id);
    }
    out.extend_from_slice(b",\"trace\":{\"path\":");
    push_string(out, &stream.trace.path);
    push_text(out, "format", Some(&trace.dialect));
    push_text(out, "namespace", property::trace_namespace(trace));
    push_text(out, "name", trace.name.as_deref());
    push_text(out, "uid", property::trace_uid(trace).as_deref());
    out.extend_from_slice(b",\"environment\":{");
    for (i, (name, value)) in trace.environment.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(out, name);
        out.push(b':');
        push_value(out, value);
    }
    out.extend_from_slice(b"}}");
    if let Some(clock) = stream.clock() {
        out.extend_from_slice(b",\"clock\":{\"frequency\":");
        number::push_unsigned(out, clock.frequency);
        push_text(out, "name", clock.name.as_deref());
        push_text(out, "uid", clock.uid.as_deref());
        push_key(out, "offset_seconds");
        number::push_signed(out, clock.offset_seconds);
        push_key(out, "offset_cycles");
        number::push_unsigned(out, clock.offset_cycles);
        let origin = match &clock.origin {
            ClockOrigin::UnixEpoch => Some("unix-epoch"),
            ClockOrigin::Named { name, .. } => Some(name.as_str()),
            ClockOrigin::Unknown => None,
        };
        push_text(out, "origin", origin);
        out.push(b'}');
    }
    out.extend_from_slice(b"}\n");
}

fn push_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Boolean(true) => out.extend_from_slice(b"true"),
        Value::Boolean(false) => out.extend_from_slice(b"false"),
        Value::Integer(integer) => number::push_i128(out, *integer),
        Value::Number(text) => out.extend_from_slice(text.as_bytes()),
        Value::Text(text) => push_string(out, text),
        Value::Array(elements) => {
            out.push(b'[');
            for (i, element) in elements.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                push_value(out, element);
            }
            out.push(b']');
        }
        Value::Map(entries) => {
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
    }
}

#[cfg(test)]
mod tests;
