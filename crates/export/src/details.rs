//! Multi-line text with all details of every message, including classes.

mod classes;
mod clock;
mod field_location;
mod fields;
mod lines;
mod resume;
mod text;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_model::clock::ClockValue;
use ichnos_model::event::{Packet, StreamTable};
use ichnos_model::field::FieldContainer;
use ichnos_model::message::Discarded;
use ichnos_model::plan::Plan;
use ichnos_model::{DataStream, Event, Message, Scope, Sink, Trace};

use crate::block::ShortText;
use crate::color::Palette;
use crate::event_stacks::EventStacks;
use crate::printable::printable;
use crate::property;
use crate::repeated::Repeated;
use crate::resume::StreamOrder;
use crate::text_buffer::{TextBuffer, TextWriter};
use clock::DetailsClock;
use fields::IndentedFields;
use lines::FieldLines;
use text::DetailsLines;

/// Options of [`Details`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DetailsOptions {
    /// Write the classes.
    pub metadata: bool,
    /// Write the messages.
    pub data: bool,
    /// Write clock values.
    pub time: bool,
    /// Write trace names.
    pub trace_name: bool,
    /// Write data stream class names.
    pub stream_class_name: bool,
    /// Write namespaces and unique identifiers of data stream classes.
    pub stream_class_namespace: bool,
    /// Write data stream names.
    pub stream_name: bool,
    /// Write UUIDs. Without effect unless [`DetailsOptions::protocol_version`] is 0: otherwise, traces and clocks have
    /// unique identifiers instead, see [`DetailsOptions::uid`].
    pub uuid: bool,
    /// Write unique identifiers.
    pub uid: bool,
    /// Write unique identifiers of traces.
    pub trace_uid: bool,
    /// Version of Babeltrace's message interchange protocol. With 0, namespaces, unique identifiers and properties that
    /// only CTF 2 has are not written.
    pub protocol_version: u64,
    /// Write one line per message, without fields.
    pub compact: bool,
    /// Also write discarded events and packets with an unknown number, for example those before the first kept
    /// packet. Off by default, as in babeltrace2.
    pub uncounted_losses: bool,
    /// Part of the timeline that the messages come from.
    pub part: Arc<DetailsPart>,
    /// Returns `false` for traces without packets. `None` if all traces have packets.
    pub has_packets: Option<fn(&Trace) -> bool>,
    /// Write the call stack frames of events.
    pub stacks: bool,
    /// Write the members of the [resource](Scope::Resource) at the end of the common context.
    pub resource_in_context: bool,
    /// Use colors.
    pub color: bool,
    /// Use the codes of bright colors, for terminals where bold text is not bright.
    pub color_bright_codes: bool,
    /// Escape all unprintable characters in trace texts, as needed for terminals.
    pub printable_only: bool,
}

/// Part of the timeline. The default is the whole timeline.
#[derive(Clone, Debug, Default)]
pub struct DetailsPart {
    /// Times of the data streams that it cuts, by [`DataStream::key`]: they begin or end with it. The times of other
    /// data streams are unknown.
    pub times: HashMap<u32, StreamTimes>,
    /// Data streams by their keys. They are listed from the first message of their trace on, whether they begin later or
    /// not at all. They must have an id or a number.
    pub streams: BTreeMap<u32, Arc<DataStream>>,
    /// Numbers of data streams without an id, by their keys. Others are numbered as they begin.
    pub numbers: HashMap<u32, u128>,
}

/// Times at which a data stream begins and ends, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamTimes {
    /// Begin.
    pub begin: Option<ClockValue>,
    /// End.
    pub end: Option<ClockValue>,
}

impl DetailsOptions {
    /// Returns the times of a data stream.
    fn times_of(&self, key: u32) -> StreamTimes {
        self.part.times.get(&key).copied().unwrap_or_default()
    }

    /// Returns a namespace, if namespaces are written.
    fn namespace<'a>(&self, namespace: Option<&'a str>) -> Option<&'a str> {
        namespace.filter(|_| self.protocol_version > 0)
    }

    /// Returns `true` if unique identifiers are written.
    fn has_uids(&self) -> bool {
        self.uid && self.protocol_version > 0
    }

    /// Returns `true` if UUIDs are written.
    fn has_uuids(&self) -> bool {
        self.uuid && self.protocol_version == 0
    }
}

impl Default for DetailsOptions {
    fn default() -> Self {
        Self {
            metadata: true,
            data: true,
            time: true,
            trace_name: true,
            stream_class_name: true,
            stream_class_namespace: true,
            stream_name: true,
            uuid: true,
            uid: true,
            trace_uid: true,
            protocol_version: 1,
            compact: false,
            uncounted_losses: false,
            part: Arc::default(),
            has_packets: None,
            stacks: false,
            resource_in_context: false,
            color: false,
            color_bright_codes: false,
            printable_only: false,
        }
    }
}

/// Maximum number of data streams of a trace for which each stream start lists all. With more, only new data
/// streams are listed, so that the text does not grow quadratically.
const LISTED_EACH_TIME: usize = 128;

/// Trace state.
#[derive(Debug)]
struct DetailsTraceState {
    trace: Arc<Trace>,
    streams: Vec<ListedStream>,
    /// Number of its data streams without an id.
    without_id: u128,
    /// `true` if its classes were written.
    written: bool,
    /// Number of data streams that a stream start has listed.
    listed: usize,
}

/// Data stream in the list of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ListedStream {
    id: u128,
    class_id: u128,
}

/// Data stream state.
#[derive(Debug)]
struct DetailsStreamState {
    /// Trace index.
    trace: usize,
    /// Line with the data stream of a message.
    tag: Box<[u8]>,
    /// Common context of the previous event.
    context: Repeated,
}

/// Data stream class state.
#[derive(Debug)]
struct DetailsStreamClassState {
    packet: FieldLines,
    common: FieldLines,
    resource: FieldLines,
    has_clock: bool,
    /// `true` for each packet time of the class: begin, end.
    packet_times: (bool, bool),
}

/// Event record class state.
#[derive(Debug)]
struct DetailsClassState {
    /// First line of an event.
    title: ShortText,
    specific: FieldLines,
    payload: FieldLines,
    stacks: EventStacks,
}

/// Start of a data stream, held back until all data streams with the same start time are known, because it lists the
/// data streams of its trace.
#[derive(Debug)]
struct HeldBeginning {
    key: u32,
    name: String,
    class_index: usize,
}

/// Sink that writes every message with all its details.
///
/// ```text
/// [900,859,125,273,445 cycles, 1,565,957,302,180,016,041 ns from origin]
/// {Trace 0, Stream class ID 0, Stream ID 0}
/// Event `my_app:temperature` (Class ID 0):
///   Payload:
///     celsius: 53
/// ```
///
/// The start of a data stream is written with the next message of another kind, because it lists all data streams in
/// its trace.
pub struct Details<W> {
    output: TextBuffer<W>,
    warnings: Box<dyn Write + Send>,
    options: DetailsOptions,
    palette: Palette,
    clock: DetailsClock,
    /// Buffer for field containers.
    containers: Vec<FieldContainer>,
    traces: Vec<DetailsTraceState>,
    /// Indexes in `traces`, by address.
    trace_indexes: HashMap<usize, usize>,
    streams: StreamTable<DetailsStreamState, DetailsStreamClassState, DetailsClassState>,
    beginnings: Vec<HeldBeginning>,
    written: bool,
    /// Data streams that have already started, if the sink was resumed.
    begun: Option<StreamOrder>,
    must_rewrite: bool,
}

impl<W> std::fmt::Debug for Details<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Details").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: TextWriter> Details<W> {
    /// Creates a sink that writes text to `writer` and decoding errors to standard error.
    pub fn new(writer: W, options: DetailsOptions) -> Self {
        let palette =
            Palette::new(options.color, !options.color_bright_codes).printable_only(options.printable_only);
        Self {
            output: TextBuffer::new(writer),
            warnings: Box::new(io::stderr()),
            clock: DetailsClock::new(&palette, options.compact),
            palette,
            options,
            containers: Vec::new(),
            traces: Vec::new(),
            trace_indexes: HashMap::new(),
            streams: StreamTable::default(),
            beginnings: Vec::new(),
            written: false,
            begun: None,
            must_rewrite: false,
        }
    }

    /// Sends decoding errors to `writer`.
    #[must_use]
    pub fn warnings_to(mut self, writer: impl Write + Send + 'static) -> Self {
        self.warnings = Box::new(writer);
        self
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
        self.write_beginnings()?;
        self.output.flush()
    }

    fn lines(&mut self) -> DetailsLines<'_> {
        DetailsLines { out: &mut self.output.buffer, palette: &self.palette, indent: 0 }
    }

    /// Adds the state of a data stream unless it exists.
    #[inline]
    fn prepare(&mut self, stream: &DataStream) {
        if !self.streams.has(stream) {
            self.add_stream(stream);
        }
    }

    /// Lists a starting data stream. Returns its trace index and its id.
    fn list(&mut self, stream: &DataStream) -> (usize, u128) {
        let index = *self.trace_indexes.entry(Arc::as_ptr(&stream.trace).addr()).or_insert_with(|| {
            let trace = Arc::clone(&stream.trace);
            let DetailsPart { streams, numbers, .. } = &*self.options.part;
            let of_trace = streams.values().filter(|other| Arc::ptr_eq(&other.trace, &trace));
            let listed = |other: &Arc<DataStream>| {
                let id = other.id.or_else(|| numbers.get(&other.key).copied())?;
                Some(ListedStream { id, class_id: other.class().id })
            };
            let streams = of_trace.filter_map(listed).collect();
            self.traces.push(DetailsTraceState { trace, streams, without_id: 0, written: false, listed: 0 });
            self.traces.len() - 1
        });
        let trace = &mut self.traces[index];
        // Data streams without an id are numbered.
        let number = || self.options.part.numbers.get(&stream.key).copied();
        let id = stream.id.or_else(number).unwrap_or(trace.without_id);
        trace.without_id += u128::from(stream.id.is_none());
        if !self.options.part.streams.contains_key(&stream.key) {
            trace.streams.push(ListedStream { id, class_id: stream.class().id });
        }
        (index, id)
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let class = stream.class();
        let (index, id) = if self.begun.is_some() { self.started_stream(stream) } else { self.list(stream) };
        let Palette { cyan, bold, bright_cyan, reset, .. } = self.palette;
        let mut tag = Vec::new();
        let _ = if self.options.compact {
            let close = format_args!("{reset}{cyan}}}{reset} ");
            write!(tag, "{cyan}{{{bold}{bright_cyan}{index} {} {id}{close}", class.id)
        } else {
            let open = format_args!("{bold}{bright_cyan}");
            let close = format_args!("{reset}{cyan}");
            let ids = format_args!(
                "{open}{index}{close}, Stream class ID {open}{}{close}, Stream ID {open}{id}{close}",
                class.id
            );
            writeln!(tag, "{cyan}{{Trace {ids}}}{reset}")
        };
        let state = DetailsStreamState { trace: index, tag: tag.into(), context: Repeated::default() };
        self.streams.insert(stream, state, || {
            let (plans, features) = (stream.plans(), classes::StreamFeatures::for_class(class));
            DetailsStreamClassState {
                packet: FieldLines::for_plan(plans.packet_context.as_ref(), &self.palette, "Context"),
                common: FieldLines::for_plan(plans.common_context.as_ref(), &self.palette, "Common context"),
                resource: FieldLines::for_plan(
                    plans.resource.as_ref().filter(|_| self.options.resource_in_context),
                    &self.palette,
                    "",
                ),
                has_clock: class.default_clock.is_some(),
                packet_times: (features.packet_begin_time, features.packet_end_time),
            }
        });
    }

    /// Starts the text of a message, with an empty line in front. Returns the offsets of the empty line and the text.
    #[inline]
    fn begin(&mut self) -> (usize, usize) {
        let start = self.output.buffer.len();
        if self.written && !self.options.compact {
            self.output.buffer.push(b'\n');
        }
        (start, self.output.buffer.len())
    }

    /// Ends the text of a message that [`Details::begin`] started.
    #[inline]
    fn end(&mut self, (start, body): (usize, usize)) -> io::Result<()> {
        if self.output.buffer.len() == body {
            self.output.buffer.truncate(start);
        } else {
            self.written = true;
        }
        self.output.flush_if_full()
    }

    /// Writes the classes of a trace if they have not been written yet.
    fn write_classes(&mut self, trace: usize) {
        // If a trace is not listed, its classes were written before the sink was resumed.
        let Some(part) = self.traces.get_mut(trace) else { return };
        if part.written || !self.options.metadata {
            return;
        }
        part.written = true;
        let trace = Arc::clone(&part.trace);
        if self.options.compact && self.written {
            self.output.buffer.push(b'\n');
        }
        let options = self.options.clone();
        classes::write_trace_class(&mut self.lines(), &trace, &options);
    }

    fn push_time(&mut self, value: Option<&ClockValue>) {
        if self.options.time {
            self.clock.push(&mut self.output.buffer, value);
        }
    }

    /// Appends the line with the data stream of a message.
    fn push_tag(&mut self, key: u32) {
        if let Some((part, _)) = self.streams.get(key) {
            self.output.buffer.extend_from_slice(&part.tag);
        }
    }

    fn push_title(&mut self, title: &str) {
        let Palette { bold, bright_yellow, reset, .. } = self.palette;
        push_all(&mut self.output.buffer, &[bold, bright_yellow, title, reset]);
    }

    fn write_beginnings(&mut self) -> io::Result<()> {
        for beginning in std::mem::take(&mut self.beginnings) {
            self.write_beginning(&beginning)?;
        }
        Ok(())
    }

    fn write_beginning(&mut self, beginning: &HeldBeginning) -> io::Result<()> {
        let key = beginning.key;
        let Some((trace, has_clock)) =
            self.streams.get(key).map(|(part, class)| (part.trace, class.has_clock))
        else {
            return Ok(());
        };
        let bounds = self.begin();
        self.write_classes(trace);
        if self.options.data {
            if self.output.buffer.len() > bounds.1 {
                self.output.buffer.push(b'\n');
            }
            if has_clock {
                self.push_time(self.options.times_of(key).begin.as_ref());
            }
            self.push_tag(key);
            self.push_title("Stream beginning");
            if self.options.compact {
                self.output.buffer.push(b'\n');
            } else {
                self.output.buffer.extend_from_slice(b":\n");
                self.write_stream(beginning, trace);
            }
        }
        self.end(bounds)
    }

    /// Writes the properties of a data stream and its trace.
    fn write_stream(&mut self, beginning: &HeldBeginning, index: usize) {
        let Some(part) = self.traces.get_mut(index) else { return };
        if part.streams.len() <= LISTED_EACH_TIME {
            part.listed = 0;
        }
        part.streams[part.listed..].sort_unstable();
        let listed = std::mem::replace(&mut part.listed, part.streams.len());
        let trace = Arc::clone(&part.trace);
        let streams = std::mem::take(&mut part.streams);
        self.write_properties(beginning, &trace, &streams, listed);
        self.traces[index].streams = streams;
    }

    /// Writes the properties of a data stream and its trace. Lists the `streams` of the trace after the first
    /// `listed` streams.
    fn write_properties(
        &mut self,
        beginning: &HeldBeginning,
        trace: &Trace,
        streams: &[ListedStream],
        listed: usize,
    ) {
        let options = self.options.clone();
        let class = &trace.class;
        let mut lines = self.lines();
        lines.indent = 2;
        if options.stream_name && !beginning.name.is_empty() {
            lines.text_line("Name", &beginning.name);
        }
        if options.stream_class_name
            && let Some(name) = class.data_streams.get(beginning.class_index).and_then(|c| c.name.as_deref())
        {
            lines.text_line("Class name", name);
        }
        lines.indent();
        lines.object("Trace");
        if options.trace_name {
            lines.quoted_name(property::trace_name(trace));
        }
        let trace_uid = property::trace_uid(class).filter(|_| options.trace_uid);
        let uid = trace_uid.clone().filter(|_| options.has_uids());
        let namespace = options.namespace(property::trace_namespace(class));
        lines.identity(namespace, uid.as_deref(), None);
        let uuid = trace_uid.filter(|_| options.has_uuids());
        if uuid.is_none() && class.environment.is_empty() && streams.is_empty() {
            lines.push("\n");
            return;
        }
        lines.push(":\n");
        lines.indent = 4;
        if let Some(uuid) = uuid {
            lines.text_line("UUID", &uuid);
        }
        if !class.environment.is_empty() {
            lines.environment(&class.environment);
        }
        if listed > 0 {
            lines.indent();
            lines.property("Streams listed above");
            lines.push(": ");
            lines.unsigned(listed as u128);
            lines.push("\n");
        }
        for stream in streams.iter().skip(listed) {
            lines.indent();
            lines.object("Stream");
            lines.push(" (ID ");
            lines.unsigned(stream.id);
            lines.push(", Class ID ");
            lines.unsigned(stream.class_id);
            lines.push(")\n");
        }
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.prepare(event.stream);
        let Some((part, _)) = self.streams.get(event.stream.key) else { return Ok(()) };
        let trace = part.trace;
        let bounds = self.begin();
        self.write_classes(trace);
        if !self.options.data {
            return self.end(bounds);
        }
        if self.output.buffer.len() > bounds.1 {
            self.output.buffer.push(b'\n');
        }
        let Some((part, known, classes)) = self.streams.get_mut(event.stream) else { return Ok(()) };
        if known.has_clock && self.options.time {
            self.clock.push(&mut self.output.buffer, event.clock);
        }
        self.output.buffer.extend_from_slice(&part.tag);
        let class = classes.for_event(event, || make_class(event, &self.options, &self.palette));
        let out = &mut self.output.buffer;
        class.title.push(out);
        let failures = &mut self.output.failures;
        let mut write = |out: &mut Vec<u8>, scope: Scope, lines: &FieldLines| {
            let fields = IndentedFields::root(out, &self.palette, lines, &mut self.containers);
            let result = fields.write(|fields| event.visit_members(scope, fields));
            out.push(b'\n');
            result
        };
        if !self.options.compact {
            if let Some(plan) = event.plan(Scope::CommonContext).filter(|_| !known.common.hide_all())
                && !part.context.push_known(out, event, Scope::CommonContext)
            {
                failures.record(part.context.push(out, event, Scope::CommonContext, plan, |out| {
                    write(out, Scope::CommonContext, &known.common)
                }));
            }
            if !known.resource.is_empty() && event.has_resource() {
                part.context.forget();
                // Its lines follow those of the common context.
                out.pop_if(|last| *last == b'\n');
                failures.record(write(out, Scope::Resource, &known.resource));
            }
            for (scope, lines) in
                [(Scope::SpecificContext, &class.specific), (Scope::Payload, &class.payload)]
            {
                if event.plan(scope).is_some() && !lines.hide_all() {
                    failures.record(write(out, scope, lines));
                }
            }
        }
        if !class.stacks.is_empty() {
            out.extend_from_slice(b"  Stack frames:\n");
            class.stacks.push_lines(out, event);
        }
        self.end(bounds)
    }

    fn packet(&mut self, packet: &Packet<'_>, begins: bool) -> io::Result<()> {
        self.prepare(packet.stream);
        let key = packet.stream.key;
        if !self.options.data {
            return Ok(());
        }
        let bounds = self.begin();
        let times = self.streams.get(key).map_or((false, false), |(_, class)| class.packet_times);
        if begins && times.0 {
            self.push_time(packet.begin.as_ref());
        } else if !begins && times.1 {
            self.push_time(packet.end.as_ref());
        }
        self.push_tag(key);
        self.push_title(if begins { "Packet beginning" } else { "Packet end" });
        let Some((_, class)) = self.streams.get(key) else {
            return Ok(());
        };
        let out = &mut self.output.buffer;
        let shown = begins && !self.options.compact && !class.packet.hide_all();
        if shown && packet.plan(Scope::PacketContext).is_some() {
            out.extend_from_slice(b":\n");
            let fields = IndentedFields::root(out, &self.palette, &class.packet, &mut self.containers);
            let result = fields.write(|fields| packet.visit(Scope::PacketContext, fields));
            self.output.failures.record(result);
        }
        out.push(b'\n');
        self.end(bounds)
    }

    fn discarded(&mut self, discarded: &Discarded<'_>, what: &str) -> io::Result<()> {
        self.prepare(discarded.stream);
        if !self.options.data || (discarded.count.is_none() && !self.options.uncounted_losses) {
            return Ok(());
        }
        let bounds = self.begin();
        if let (Some(begin), Some(end)) = (discarded.begin, discarded.end) {
            self.push_time(Some(&begin));
            self.push_time(Some(&end));
        }
        self.push_tag(discarded.stream.key);
        self.push_title("Discarded ");
        self.push_title(what);
        let mut lines = self.lines();
        if let Some(count) = discarded.count {
            lines.push(" (");
            lines.integer(i128::from(count));
            lines.push(" ");
            lines.push(what);
            if let Some(thread) = discarded.thread {
                lines.push(" of thread ");
                lines.integer(i128::from(thread));
            }
            lines.push(")");
        }
        lines.push("\n");
        self.end(bounds)
    }

    fn stream_end(&mut self, stream: &DataStream) -> io::Result<()> {
        self.prepare(stream);
        if self.options.data {
            let bounds = self.begin();
            if self.streams.get(stream.key).is_some_and(|(_, class)| class.has_clock) {
                self.push_time(self.options.times_of(stream.key).end.as_ref());
            }
            self.push_tag(stream.key);
            self.push_title("Stream end\n");
            self.end(bounds)?;
        }
        self.streams.remove(stream);
        Ok(())
    }
}

impl<W: TextWriter> Sink for Details<W> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let Message::StreamBegin(stream) = message {
            self.prepare(stream);
            let name = if self.options.stream_name { stream.name.to_string() } else { String::new() };
            self.beginnings.push(HeldBeginning { key: stream.key, name, class_index: stream.class_index });
            return Ok(ControlFlow::Continue(()));
        }
        if !self.beginnings.is_empty() {
            self.write_beginnings()?;
        }
        match message {
            Message::Event(event) => self.event(event)?,
            Message::PacketBegin(packet) => self.packet(packet, true)?,
            Message::PacketEnd(packet) => self.packet(packet, false)?,
            Message::DiscardedEvents(discarded) => self.discarded(discarded, "events")?,
            Message::DiscardedPackets(discarded) => self.discarded(discarded, "packets")?,
            Message::StreamEnd(stream) => self.stream_end(stream)?,
            Message::Damage(damage) => {
                writeln!(self.warnings, "WARNING: {}", printable(&damage.to_string()))?;
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Details::flush(self)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        self.warnings.flush()?;
        self.output.failures.into_result()
    }
}

fn push_all(out: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        out.extend_from_slice(text.as_bytes());
    }
}

fn make_class(event: &Event<'_>, options: &DetailsOptions, palette: &Palette) -> DetailsClassState {
    let mut title = Vec::new();
    let mut lines = DetailsLines { out: &mut title, palette, indent: 0 };
    lines.object("Event");
    if let Some(name) = &event.class.name {
        lines.push(" `");
        lines.colored(palette.green, name);
        lines.push("`");
    }
    lines.push(if options.compact { " (" } else { " (Class ID " });
    lines.unsigned(event.class.id);
    lines.push(if options.compact { ")\n" } else { "):\n" });
    let lines = |plan: &Option<Plan>, title| FieldLines::for_plan(plan.as_ref(), palette, title);
    DetailsClassState {
        title: ShortText::new(&title),
        specific: lines(&event.plans().specific_context, "Specific context"),
        payload: lines(&event.plans().payload, "Payload"),
        stacks: EventStacks::for_event(event, options.stacks),
    }
}

#[cfg(test)]
mod tests;
