//! One line for each event, in the usual terminal format.

mod class_prefix;
mod fields;
mod labels;
mod resume;
mod stamp;

use std::io::{self, Write};
use std::ops::ControlFlow;

use ichnos_model::clock::ClockValue;
use ichnos_model::decode::DecodeError;
use ichnos_model::event::StreamTable;
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::plan::Plan;
use ichnos_model::{DataStream, Event, Message, Scope, Sink};

use crate::block::ShortText;
use crate::color::Palette;
use crate::event_stacks::EventStacks;
use crate::number;
use crate::printable::printable;
use crate::property;
use crate::repeated::Repeated;
use crate::resume::ResumableSink as _;
use crate::text_buffer::{TextBuffer, TextWriter};
use crate::time::ClockDisplay;
use class_prefix::class_prefix;
use fields::{FieldPrinter, PrettyScratch};
use labels::{FieldLabels, LabelForm};
use resume::ResumedPretty;
pub use resume::{DeltaCause, PrettyState};
use stamp::Stamp;

/// Event and trace properties that [`Pretty`] shows before the event name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrettyFields {
    /// Trace name.
    pub trace: bool,
    /// `hostname` of the environment.
    pub hostname: bool,
    /// `domain` of the environment.
    pub domain: bool,
    /// `procname` of the environment.
    pub procname: bool,
    /// `vpid` of the environment.
    pub vpid: bool,
    /// Log level.
    pub log_level: bool,
    /// Eclipse Modeling Framework URI.
    pub emf: bool,
    /// Call site. It is never shown, and its name is accepted for compatibility.
    pub call_site: bool,
}

impl PrettyFields {
    /// All properties.
    pub const ALL: Self = Self {
        trace: true,
        hostname: true,
        domain: true,
        procname: true,
        vpid: true,
        log_level: true,
        emf: true,
        call_site: true,
    };

    /// No properties.
    pub const NONE: Self = Self {
        trace: false,
        hostname: false,
        domain: false,
        procname: false,
        vpid: false,
        log_level: false,
        emf: false,
        call_site: false,
    };

    /// Adds the property with this name (`trace`, `trace:hostname`, `trace:domain`, `trace:procname`, `trace:vpid`,
    /// `loglevel`, `emf`, `callsite`) or all properties (`all`). Returns `false` if the name is unknown.
    pub fn insert(&mut self, name: &str) -> bool {
        match name {
            "all" => *self = Self::ALL,
            "trace" => self.trace = true,
            "trace:hostname" => self.hostname = true,
            "trace:domain" => self.domain = true,
            "trace:procname" => self.procname = true,
            "trace:vpid" => self.vpid = true,
            "loglevel" => self.log_level = true,
            "emf" => self.emf = true,
            "callsite" => self.call_site = true,
            _ => return false,
        }
        true
    }
}

impl Default for PrettyFields {
    /// Enables host name, process name and process id.
    fn default() -> Self {
        Self { hostname: true, procname: true, vpid: true, ..Self::NONE }
    }
}

/// Places in which [`Pretty`] shows names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrettyNames {
    /// Payload members.
    pub payload: bool,
    /// Context members.
    pub context: bool,
    /// Scopes.
    pub scope: bool,
    /// Properties before the scopes.
    pub header: bool,
}

impl PrettyNames {
    /// All places.
    pub const ALL: Self = Self { payload: true, context: true, scope: true, header: true };

    /// No places.
    pub const NONE: Self = Self { payload: false, context: false, scope: false, header: false };

    /// Adds the place with this name (`payload`, `context` or `args`, `scope`, `header`) or all places (`all`).
    /// Returns `false` if the name is unknown.
    pub fn insert(&mut self, name: &str) -> bool {
        match name {
            "all" => *self = Self::ALL,
            "payload" => self.payload = true,
            "context" => self.context = true,
            "args" => (self.payload, self.context) = (true, true),
            "scope" => self.scope = true,
            "header" => self.header = true,
            _ => return false,
        }
        true
    }
}

impl Default for PrettyNames {
    /// Enables payload and context member names.
    fn default() -> Self {
        Self { payload: true, context: true, ..Self::NONE }
    }
}

/// Options of [`Pretty`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PrettyOptions {
    /// Write times in cycles of the clock.
    pub clock_cycles: bool,
    /// Write times with their date.
    pub clock_date: bool,
    /// Write times in UTC instead of local time.
    pub clock_gmt: bool,
    /// Write times in seconds since the clock origin.
    pub clock_seconds: bool,
    /// Do not write the time since the previous event.
    pub no_delta: bool,
    /// Write the time since a later event as Babeltrace 2 does: modulo 2<sup>64</sup>, and `?` for the largest number.
    pub unsigned_deltas: bool,
    /// Properties before the name.
    pub fields: PrettyFields,
    /// Places with names.
    pub names: PrettyNames,
    /// Use colors.
    pub color: bool,
    /// Use colors in warnings.
    pub color_warnings: bool,
    /// Use the codes of bright colors, for terminals where bold text is not bright.
    pub color_bright_codes: bool,
    /// Escape all unprintable characters in trace texts, as needed for terminals. Warnings are always escaped.
    pub printable_only: bool,
    /// Version of Babeltrace's message interchange protocol. Warnings have the UUID of a trace with 0, and its unique
    /// identifier with 1.
    pub protocol_version: u64,
    /// Accepted without effect, as in babeltrace2.
    pub verbose: bool,
    /// Split enumeration values without a name into named bits.
    pub enum_flags: bool,
    /// Write the call stack frames of each event, in lines below its line.
    pub stacks: bool,
    /// Write the members of the [resource](Scope::Resource) at the end of the common context.
    pub resource_in_context: bool,
}

impl PrettyOptions {
    /// Returns `true` if text is not plain.
    #[inline]
    fn is_styled(&self) -> bool {
        self.color | self.printable_only
    }

    fn delta_form(&self) -> DeltaForm {
        DeltaForm { cycles: self.clock_cycles, unsigned: self.unsigned_deltas }
    }

    fn label_form<'a>(&self, palette: &'a Palette, names: bool) -> LabelForm<'a> {
        LabelForm { palette, names, color: self.color }
    }
}

/// State of an event record class.
#[derive(Debug)]
struct PrettyClassState {
    /// Text between time and scopes.
    prefix: ShortText,
    specific: FieldLabels,
    payload: FieldLabels,
    stacks: EventStacks,
}

/// State of a data stream class.
#[derive(Debug)]
struct PrettyStreamClassState {
    packet: FieldLabels,
    common: FieldLabels,
    resource: FieldLabels,
}

impl PrettyStreamClassState {
    /// Returns `true` if the packet context or the common context is shown.
    #[inline]
    fn has_contexts(&self) -> bool {
        self.common.is_shown() || self.packet.is_shown()
    }
}

/// State of a data stream.
#[derive(Debug)]
struct PrettyStreamState {
    /// Packet context and common context of the previous event in the same packet.
    contexts: Repeated,
    packet: PacketText,
}

impl PrettyStreamState {
    /// Resets the state when another packet starts, or this packet has ended.
    fn change_packet(&mut self, begins: bool) {
        (self.packet.is_known, self.packet.is_open) = (false, begins);
        self.contexts.forget();
    }
}

/// Text of the packet context.
#[derive(Debug)]
struct PacketText {
    text: Vec<u8>,
    /// `true` if the text belongs to the current packet.
    is_known: bool,
    /// `true` if the text can be kept until the packet ends.
    is_open: bool,
}

impl PacketText {
    /// Appends the text. `write` writes it unless it is known.
    fn push(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.is_known {
            out.extend_from_slice(&self.text);
            return Ok(());
        }
        let begin = out.len();
        let result = write(out);
        self.text.clear();
        self.text.extend_from_slice(&out[begin..]);
        self.is_known = self.is_open;
        result
    }
}

/// Writer of event scopes.
struct ScopePrinter<'p> {
    options: &'p PrettyOptions,
    palette: &'p Palette,
    scratch: &'p mut PrettyScratch,
}

impl ScopePrinter<'_> {
    /// Writes a scope. `names` is `true` if its members are named.
    #[inline(always)]
    fn print<const STYLED: bool>(
        &mut self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        scope: Scope,
        labels: &FieldLabels,
        names: bool,
    ) -> Result<(), DecodeError> {
        let flags = self.options.enum_flags;
        let printer = FieldPrinter::<STYLED>::new(out, self.palette, labels, names, flags, self.scratch);
        printer.write(|printer| event.visit_members(scope, printer))
    }
}

impl ScopePrinter<'_> {
    /// Writes the event contexts, if they differ from the contexts of the previous event.
    #[inline(never)]
    fn contexts<const STYLED: bool>(
        &mut self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        part: &mut PrettyStreamState,
        known: &PrettyStreamClassState,
    ) -> Result<(), DecodeError> {
        let names = self.options.names.context;
        let PrettyStreamState { contexts, packet } = part;
        let is_packet_open = packet.is_open;
        let mut push_packet_context = |out: &mut Vec<u8>, printer: &mut Self| {
            packet.push(out, |out| {
                printer.print_other::<STYLED>(out, event, Scope::PacketContext, &known.packet, names)
            })
        };
        let Some(plan) = event.plan(Scope::CommonContext).filter(|_| known.common.is_shown()) else {
            return push_packet_context(out, self);
        };
        let result = contexts.push(out, event, Scope::CommonContext, plan, |out| {
            let mut packet = Ok(());
            if known.packet.is_shown() {
                packet = push_packet_context(out, self);
                out.extend_from_slice(b", ");
            }
            packet.and(self.print_other::<STYLED>(out, event, Scope::CommonContext, &known.common, names))
        });
        let has_resource = known.resource.is_shown() && event.has_resource();
        if has_resource || !is_packet_open {
            contexts.forget();
        }
        if has_resource {
            result.and(self.push_resource::<STYLED>(out, event, &known.resource))
        } else {
            result
        }
    }

    /// Appends the members of the resource to the common context, which is the last text.
    fn push_resource<const STYLED: bool>(
        &mut self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        labels: &FieldLabels,
    ) -> Result<(), DecodeError> {
        let end = out.len();
        let names = self.options.names.context;
        let result = self.print_other::<STYLED>(out, event, Scope::Resource, labels, names);
        // Two structures become one.
        if let Some(begin) = end.checked_sub(2)
            && out.get(begin..).is_some_and(|text| text.starts_with(b" }{"))
        {
            out.splice(begin..=end, *b",");
        }
        result
    }

    /// Writes a scope that few classes have, or that is kept.
    #[inline(never)]
    fn print_other<const STYLED: bool>(
        &mut self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        scope: Scope,
        labels: &FieldLabels,
        names: bool,
    ) -> Result<(), DecodeError> {
        self.print::<STYLED>(out, event, scope, labels, names)
    }
}

/// Sink that writes one line for each event. Losses and damage go to a second writer.
///
/// ```text
/// [12:08:20.948091100] (+0.000000011) host my_app:temperature: { cpu_id = 0 }, { celsius = 53 }
/// ```
pub struct Pretty<W> {
    output: TextBuffer<W>,
    warnings: Box<dyn Write + Send>,
    options: PrettyOptions,
    palette: Palette,
    clock: ClockDisplay,
    scratch: PrettyScratch,
    streams: StreamTable<PrettyStreamState, PrettyStreamClassState, PrettyClassState>,
    past: PrettyState,
    /// Stamp of the last event.
    stamp: Option<Stamp>,
    /// `None` if all earlier lines are known.
    resumed: Option<ResumedPretty>,
}

impl<W: std::fmt::Debug> std::fmt::Debug for Pretty<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pretty").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: TextWriter> Pretty<W> {
    /// Creates a sink that writes events to `writer`, and warnings to standard error.
    pub fn new(writer: W, options: PrettyOptions) -> Self {
        Self {
            output: TextBuffer::new(writer),
            warnings: Box::new(io::stderr()),
            palette: Palette::new(options.color, !options.color_bright_codes)
                .printable_only(options.printable_only),
            clock: ClockDisplay::new(options.clock_seconds, options.clock_date, options.clock_gmt),
            options,
            scratch: PrettyScratch::default(),
            streams: StreamTable::default(),
            past: PrettyState::default(),
            stamp: None,
            resumed: None,
        }
    }

    /// Sends warnings to `writer`.
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
        self.output.flush()
    }

    /// Adds the state of a data stream unless it exists.
    #[inline]
    fn prepare(&mut self, stream: &DataStream) {
        if !self.streams.has(stream) {
            self.add_stream(stream);
        }
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let part = PrettyStreamState {
            contexts: Repeated::default(),
            // A resumed sink starts in the middle of a packet.
            packet: PacketText { text: Vec::new(), is_known: false, is_open: self.resumed.is_some() },
        };
        self.streams.insert(stream, part, || {
            let plans = stream.plans();
            let form = self.options.label_form(&self.palette, self.options.names.context);
            let title = |scope| scope_title(scope, &self.options, &self.palette);
            PrettyStreamClassState {
                packet: FieldLabels::for_plan(
                    plans.packet_context.as_ref(),
                    form,
                    &title("stream.packet.context"),
                ),
                common: FieldLabels::for_plan(
                    plans.common_context.as_ref(),
                    form,
                    &title("stream.event.context"),
                ),
                resource: FieldLabels::for_plan(
                    plans.resource.as_ref().filter(|_| self.options.resource_in_context),
                    form,
                    b"",
                ),
            }
        });
    }

    /// Writes the line of an event. With `STYLED`, it has colors or escaping.
    fn event<const STYLED: bool>(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.prepare(event.stream);
        let has_clock = event.stream.class().default_clock.is_some();
        if has_clock {
            self.push_time(event.clock);
        }
        let Some((part, known, classes)) = self.streams.get_mut(event.stream) else {
            return Ok(());
        };
        let class =
            classes.for_event(event, || make_class(event, has_clock, &self.options, &self.palette, known));
        let out = &mut self.output.buffer;
        class.prefix.push(out);
        let names = self.options.names;
        let mut printer =
            ScopePrinter { options: &self.options, palette: &self.palette, scratch: &mut self.scratch };
        let failures = &mut self.output.failures;
        let is_repeated = part.contexts.push_known(out, event, Scope::CommonContext);
        if !is_repeated && known.has_contexts() {
            failures.record(printer.contexts::<STYLED>(out, event, part, known));
        }
        let PrettyClassState { specific, payload, .. } = class;
        if specific.is_shown() {
            let scope = Scope::SpecificContext;
            failures.record(printer.print_other::<STYLED>(out, event, scope, specific, names.context));
        }
        if payload.is_shown() {
            failures.record(printer.print::<STYLED>(out, event, Scope::Payload, payload, names.payload));
        }
        out.push(b'\n');
        class.stacks.push_lines(out, event);
        self.output.flush_if_full()
    }

    /// Appends the event time, and the time since the previous event.
    #[inline]
    fn push_time(&mut self, value: Option<&ClockValue>) {
        if let (Some(stamp), Some(value)) = (&mut self.stamp, value)
            && let Ok(now) = u64::try_from(value.nanoseconds)
            && let Some(delta) = stamp.push(&mut self.output.buffer, now)
        {
            self.past = PrettyState::after(now, delta);
        } else {
            self.push_any_time(value);
        }
    }

    #[inline(never)]
    fn push_any_time(&mut self, value: Option<&ClockValue>) {
        self.stamp = None;
        let out = &mut self.output.buffer;
        let begin = out.len();
        let header_names = self.options.names.header;
        let palette = &self.palette;
        if header_names {
            push_name(out, palette, "timestamp");
        } else {
            out.push(b'[');
        }
        out.extend_from_slice(palette.bold.as_bytes());
        out.extend_from_slice(palette.bright_yellow.as_bytes());
        let cycles = self.options.clock_cycles;
        if cycles {
            match value {
                Some(value) => number::push_padded(out, value.cycles, 20),
                None => out.extend_from_slice(b"????????????????????"),
            }
        } else {
            self.clock.push(out, value);
        }
        let fraction = out.len().checked_sub(begin + 9);
        let now = value.map(|value| if cycles { value.cycles.into() } else { value.nanoseconds });
        if let Some(now) = now {
            self.past.advance(now);
        }
        out.extend_from_slice(palette.reset.as_bytes());
        if !header_names {
            out.extend_from_slice(b"] ");
        }
        if self.options.no_delta {
            return;
        }
        if header_names {
            out.extend_from_slice(b", ");
            push_name(out, palette, "delta");
        } else {
            out.push(b'(');
        }
        // After the sign.
        let delta_begin = out.len() - begin + 1;
        let mut delta = None;
        match &mut self.resumed {
            Some(resumed) if !resumed.has_event => {
                resumed.first_event(self.output.position(), now, self.options.delta_form());
            }
            _ => {
                delta = self.past.delta;
                push_delta(&mut self.output.buffer, delta, self.options.delta_form());
            }
        }
        let out = &mut self.output.buffer;
        if !header_names {
            out.extend_from_slice(b") ");
        }
        let delta = delta.filter(|delta| *delta >= 0);
        if let (Some(value), Some(fraction), Some(_), false) = (value, fraction, delta, cycles) {
            self.stamp = Stamp::new(value.nanoseconds, &out[begin..], fraction, delta_begin);
        }
    }

    /// Warns about missing events or packets.
    fn discarded(&mut self, discarded: &Discarded<'_>, what: &str) -> io::Result<()> {
        let stream = discarded.stream;
        let palette = Palette::new(self.options.color_warnings, !self.options.color_bright_codes);
        let mut line = Vec::with_capacity(256);
        let out = &mut line;
        let Palette { yellow, bold, reset, .. } = palette;
        write!(out, "{yellow}{bold}WARNING{reset}{yellow}: ")?;
        match discarded.count {
            Some(1) => write!(out, "Tracer discarded 1 {what} ")?,
            Some(count) => write!(out, "Tracer discarded {count} {what}s ")?,
            None => write!(out, "Tracer may have discarded {what}s ")?,
        }
        if let Some(thread) = discarded.thread {
            write!(out, "of thread {thread} ")?;
        }
        match (discarded.begin, discarded.end) {
            (Some(begin), Some(end)) => {
                out.extend_from_slice(b"between [");
                self.clock.push(out, Some(&begin));
                out.extend_from_slice(b"] and [");
                self.clock.push(out, Some(&end));
                out.push(b']');
            }
            _ => out.extend_from_slice(b"(unknown time range)"),
        }
        write!(
            out,
            " in trace \"{}\" ",
            printable(property::trace_name(&stream.trace).unwrap_or("(unknown)"))
        )?;
        let class = &stream.trace.class;
        match (self.options.protocol_version, class.uuid, property::trace_uid(class)) {
            (0, Some(uuid), _) => write!(out, "(UUID: {uuid}) ")?,
            (0, None, _) => out.extend_from_slice(b"(no UUID) "),
            (_, _, Some(uid)) => write!(out, "(UID: {}) ", printable(&uid))?,
            (_, _, None) => out.extend_from_slice(b"(no UID) "),
        }
        let name = printable(if stream.name.is_empty() { "(unknown)" } else { &stream.name });
        write!(out, "within stream \"{name}\" (stream class ID: {}, ", stream.class().id)?;
        match stream.id {
            Some(id) => write!(out, "stream ID: {id}")?,
            None => out.extend_from_slice(b"no stream ID"),
        }
        writeln!(out, ").{reset}")?;
        if self.must_rewrite() {
            // Unlike text, a warning is visible immediately, and this warning can be wrong.
            return Ok(());
        }
        self.warnings.write_all(&line)
    }

    fn damage(&mut self, damage: &Damage) -> io::Result<()> {
        let Palette { yellow, bold, reset, .. } =
            Palette::new(self.options.color_warnings, !self.options.color_bright_codes);
        let damage = damage.to_string();
        writeln!(self.warnings, "{yellow}{bold}WARNING{reset}{yellow}: {}{reset}", printable(&damage))
    }
}

impl<W: TextWriter> Sink for Pretty<W> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) if self.options.is_styled() => self.event::<true>(event)?,
            Message::Event(event) => self.event::<false>(event)?,
            Message::PacketBegin(packet) => {
                self.prepare(packet.stream);
                if let Some((part, ..)) = self.streams.get_mut(packet.stream) {
                    part.change_packet(true);
                }
            }
            Message::PacketEnd(packet) => {
                if let Some((part, ..)) = self.streams.get_mut(packet.stream) {
                    part.change_packet(false);
                }
            }
            Message::StreamEnd(stream) => self.streams.remove(stream),
            Message::DiscardedEvents(discarded) => self.discarded(discarded, "event")?,
            Message::DiscardedPackets(discarded) => self.discarded(discarded, "packet")?,
            Message::Damage(damage) => self.damage(damage)?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Records an event that comes before the first line. That line then has the time since the event.
    fn precede(&mut self, event: &Event<'_>) {
        if let (Some(value), Some(_)) = (event.clock, event.stream.class().default_clock) {
            let cycles = self.options.clock_cycles;
            self.past.advance(if cycles { value.cycles.into() } else { value.nanoseconds });
            self.stamp = None;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Pretty::flush(self)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.warnings.flush()?;
        self.output.failures.into_result()
    }
}

/// Form of the time between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DeltaForm {
    /// In cycles of the clock.
    cycles: bool,
    /// See [`PrettyOptions::unsigned_deltas`].
    unsigned: bool,
}

/// Appends the time between two events with its sign. An event can be earlier than the previous event.
#[inline]
fn push_delta(out: &mut Vec<u8>, delta: Option<i128>, form: DeltaForm) {
    let DeltaForm { cycles, unsigned } = form;
    let delta = match delta {
        Some(delta) if unsigned && delta < 0 => {
            Some(delta.rem_euclid(1 << 64)).filter(|delta| *delta != u64::MAX.into())
        }
        delta => delta,
    };
    out.push(if delta.is_some_and(|delta| delta < 0) { b'-' } else { b'+' });
    match delta.map(i128::unsigned_abs) {
        None if cycles => out.extend_from_slice(b"????????????"),
        None => out.extend_from_slice(b"?.?????????"),
        Some(delta) if cycles => number::push_padded(out, u64::try_from(delta).unwrap_or(u64::MAX), 12),
        Some(delta) => {
            number::push_integer(out, (delta / 1_000_000_000) as i128);
            out.push(b'.');
            number::push_nanoseconds(out, (delta % 1_000_000_000) as u32);
        }
    }
}

fn push_name(out: &mut Vec<u8>, palette: &Palette, name: &str) {
    for text in [palette.bold, name, palette.reset, " = "] {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Returns the text before a scope.
fn scope_title(title: &str, options: &PrettyOptions, palette: &Palette) -> Vec<u8> {
    let mut text = Vec::new();
    if options.names.scope {
        push_name(&mut text, palette, title);
    }
    text
}

fn make_class(
    event: &Event<'_>,
    has_clock: bool,
    options: &PrettyOptions,
    palette: &Palette,
    known: &PrettyStreamClassState,
) -> PrettyClassState {
    let mut is_first = !known.has_contexts();
    let mut labels = |plan: &Option<Plan>, title, names| {
        let mut before = if is_first { Vec::new() } else { b", ".to_vec() };
        before.extend(scope_title(title, options, palette));
        let labels = FieldLabels::for_plan(plan.as_ref(), options.label_form(palette, names), &before);
        is_first &= !labels.is_shown();
        labels
    };
    PrettyClassState {
        prefix: ShortText::new(&class_prefix(event, has_clock, options, palette)),
        specific: labels(&event.plans().specific_context, "event.context", options.names.context),
        payload: labels(&event.plans().payload, "event.fields", options.names.payload),
        stacks: EventStacks::for_event(event, options.stacks),
    }
}

#[cfg(test)]
mod tests;
