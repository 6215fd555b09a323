//! Logs: one line per event, as text or JSON, like Fuchsia's log tools. `docs/log.md` describes the formats.

mod collect;
mod json;
mod pairs;
mod parts;
mod resume;
mod text;

use std::cell::OnceCell;
use std::io;
use std::ops::ControlFlow;

use ichnos_model::class::Value;
use ichnos_model::clock::ClockValue;
use ichnos_model::event::StreamTable;
use ichnos_model::field::FieldContainer;
use ichnos_model::log::{LogLevel, LogSeverity};
use ichnos_model::meaning::Meaning;
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::{DataStream, Event, Message, Scope, Sink};

use crate::color::Palette;
use crate::event_stacks::EventStacks;
use crate::integers::Integers;
use crate::json_fields::{FieldWriter, Keys, Scratch};
use crate::text_buffer::{Failures, TextBuffer, TextWriter};
use crate::time::{self, JsonTime};
use collect::{PartCollector, ShownParts, Treatments};
use pairs::{PairPrefixes, PairWriter};
use parts::{LineParts, NumericPart, SignedNumber, TextualPart};
use resume::ResumedLog;
pub use resume::{FirstMessage, LogState};
use text::LineStart;

/// Line format of [`Log`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogForm {
    /// Text.
    #[default]
    Text,
    /// JSON object: a `Data<Logs>` of the Fuchsia diagnostics service.
    Json,
}

/// Options of [`Log`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LogOptions {
    /// Line format.
    pub form: LogForm,
    /// Use colors by severity, in text.
    pub color: bool,
    /// Use the codes of bright colors, for terminals where bold text is not bright.
    pub color_bright_codes: bool,
    /// Escape all unprintable characters, as needed for terminals. Control characters and line feeds are always
    /// escaped.
    pub printable_only: bool,
    /// Time format in JSON: the members `timestamp` and `time`.
    pub time: JsonTime,
    /// Representation of all integers in JSON.
    pub integers: Integers,
    /// Write the call stack frames of events.
    pub stacks: bool,
    /// Write times since the Unix epoch as date and time of day, in text.
    pub clock_date: bool,
    /// Write dates in GMT instead of local time.
    pub clock_gmt: bool,
}

impl LogOptions {
    /// Returns `true` if the times of a data stream are written as dates.
    fn has_dates(&self, stream: &DataStream) -> bool {
        let is_wanted = match self.form {
            LogForm::Text => self.clock_date,
            LogForm::Json => self.time != JsonTime::Nanoseconds,
        };
        is_wanted && time::has_dates(stream.clock())
    }
}

/// Prefixes for the pairs of a scope.
#[derive(Debug)]
enum LinePrefix {
    Text(PairPrefixes),
    Json(Keys),
}

/// State for a scope of an event record class: field treatments and prefixes.
#[derive(Debug)]
struct ScopeState {
    treatments: Treatments,
    prefix: LinePrefix,
}

/// State of an event record class.
#[derive(Debug)]
struct LogClassState {
    /// Scopes with displayed fields.
    scopes: Vec<ScopeState>,
    /// Resource scope, if a part of it is displayed. It is created for the first event with a resource.
    resource: OnceCell<Option<ScopeState>>,
    /// Class name, for events that are not log records.
    name: Option<String>,
    /// Process, if only the trace environment contains it.
    process: Option<SignedNumber>,
    /// Process name.
    process_name: Option<String>,
    /// `true` if times are also written as dates.
    has_dates: bool,
    stacks: EventStacks,
}

impl LogClassState {
    fn for_event(event: &Event<'_>, options: &LogOptions, palette: &Palette) -> Self {
        let role = event.class.log.as_deref();
        let scopes = [
            Scope::PacketContext,
            Scope::EventRecordHeader,
            Scope::CommonContext,
            Scope::SpecificContext,
            Scope::Payload,
        ];
        // Packet scopes do not belong to a single line.
        let skipped = if role.is_none() { 2 } else { 0 };
        let scopes = scopes.into_iter().skip(skipped);
        let scopes = scopes.filter_map(|scope| ScopeState::for_scope(event, scope, options, palette));
        let environment = |name: &str| event.stream.trace.class.environment(name).filter(|_| role.is_some());
        let process = match environment("vpid") {
            Some(Value::Integer(number)) if !means(event, Meaning::Process) => {
                i64::try_from(*number).ok().map(SignedNumber::Signed)
            }
            _ => None,
        };
        let process_name = environment("procname").and_then(Value::as_text).map(str::to_owned);
        Self {
            scopes: scopes.collect(),
            resource: OnceCell::new(),
            name: role.is_none().then(|| event.class.name.as_deref().unwrap_or("<unknown>").to_owned()),
            process,
            process_name: process_name.filter(|_| !means(event, Meaning::ProcessName)),
            has_dates: options.has_dates(event.stream),
            stacks: EventStacks::for_event(event, options.stacks),
        }
    }
}

impl ScopeState {
    /// Returns `None` if no field of the scope is displayed.
    fn for_scope(event: &Event<'_>, scope: Scope, options: &LogOptions, palette: &Palette) -> Option<Self> {
        let is_text = options.form == LogForm::Text;
        let lines_need_files = is_text && !means(event, Meaning::File);
        let plan = event.plan(scope);
        let meanings = event.class.log.as_deref().map(|_| &event.class.meanings);
        let shown = ShownParts { lines_need_files, thread_names: is_text, component_urls: !is_text };
        let treatments = Treatments::for_scope(scope, plan, meanings, shown)?;
        let prefix = if is_text {
            LinePrefix::Text(PairPrefixes::for_plan(plan, palette.log_escaping()))
        } else {
            LinePrefix::Json(Keys::for_members(plan))
        };
        Some(Self { treatments, prefix })
    }
}

/// Returns `true` if a member of a log record class has this meaning.
fn means(event: &Event<'_>, meaning: Meaning) -> bool {
    event.class.log.is_some() && event.class.meanings.members(meaning).next().is_some()
}

/// Sorted fields of an event, reused for all events to avoid allocations.
#[derive(Debug, Default)]
struct Sorter {
    parts: LineParts,
    /// Pairs of names and values in the line format.
    pairs: Vec<u8>,
    /// Buffer for field containers.
    containers: Vec<FieldContainer>,
    scratch: Scratch,
}

impl Sorter {
    /// Sorts the fields of an event. `resource` creates [`LogClassState::resource`].
    fn sort(
        &mut self,
        event: &Event<'_>,
        class: &LogClassState,
        resource: impl FnOnce() -> Option<ScopeState>,
        failures: &mut Failures,
    ) {
        let Self { parts, pairs, .. } = self;
        parts.clear();
        pairs.clear();
        parts.process = class.process;
        if let Some(name) = &class.process_name {
            parts.say(TextualPart::Tag, name);
        }
        // The fields of the event itself come later and take precedence.
        let resource =
            if event.has_resource() { class.resource.get_or_init(resource).as_ref() } else { None };
        let mut others = class.scopes.iter();
        let mut next = resource.or_else(|| others.next());
        while let Some(ScopeState { treatments, prefix }) = next {
            failures.record(match prefix {
                LinePrefix::Text(names) => {
                    let pairs = PairWriter::new(pairs, names, &mut self.containers);
                    event.visit(treatments.scope, &mut PartCollector { treatments, parts, pairs })
                }
                LinePrefix::Json(keys) => {
                    let any = !pairs.is_empty();
                    let pairs = FieldWriter::within(pairs, &mut self.scratch, keys, any);
                    let mut collector = PartCollector { treatments, parts, pairs };
                    let result = event.visit(treatments.scope, &mut collector);
                    if result.is_err() {
                        collector.pairs.finish();
                    }
                    result
                }
            });
            next = others.next();
        }
    }
}

/// Loss that the next event can report itself.
#[derive(Clone, Debug)]
struct UnreportedLoss {
    stream: u32,
    name: String,
    count: u64,
    time: Option<i128>,
    has_date: bool,
}

/// Line content besides its parts.
struct LineContent<'l> {
    /// Time in nanoseconds.
    time: Option<i128>,
    /// `true` to write the time as a date: instead of seconds in text, and in addition to nanoseconds in JSON.
    has_date: bool,
    level: Option<LogLevel>,
    /// Severity number, if it is more precise than the level.
    raw: Option<i64>,
    parts: &'l LineParts,
    /// Pairs of names and values in the line format.
    pairs: &'l [u8],
    /// Description of unreadable data.
    damage: Option<&'l str>,
}

/// Sink that writes one log line for each event. Events that are not log records become lines without severity, with
/// name and fields. Losses and damage are lines, too.
///
/// ```text
/// [00012.345678][123][456][core/oven][baker] WARN: [oven.rs(42)] too hot celsius=95.5 [dropped=5]
/// ```
pub struct Log<W> {
    output: TextBuffer<W>,
    options: LogOptions,
    palette: Palette,
    /// State by data stream key.
    streams: StreamTable<(), (), LogClassState>,
    sorter: Sorter,
    beginning: LineStart,
    loss: Option<UnreportedLoss>,
    has_message: bool,
    resumed: ResumedLog,
}

impl<W> std::fmt::Debug for Log<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: TextWriter> Log<W> {
    /// Creates a sink that writes to `writer`.
    pub fn new(writer: W, options: LogOptions) -> Self {
        let keeps_bytes = options.printable_only && options.form == LogForm::Text;
        Self {
            output: TextBuffer::new(writer).with_integers(match options.form {
                LogForm::Text => Integers::Number,
                LogForm::Json => options.integers,
            }),
            palette: Palette::new(options.color, !options.color_bright_codes)
                .printable_only(options.printable_only),
            beginning: LineStart::new(options.time, options.clock_gmt),
            options,
            streams: StreamTable::default(),
            sorter: Sorter { parts: LineParts::new(keeps_bytes), ..Sorter::default() },
            loss: None,
            has_message: false,
            resumed: ResumedLog::No,
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

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.begin_message();
        if !self.streams.has(event.stream) {
            self.streams.insert(event.stream, (), || ());
        }
        let Some((.., classes)) = self.streams.get_mut(event.stream) else { return Ok(()) };
        let class =
            classes.for_event(event, || LogClassState::for_event(event, &self.options, &self.palette));
        let resource = || ScopeState::for_scope(event, Scope::Resource, &self.options, &self.palette);
        self.sorter.sort(event, class, resource, &mut self.output.failures);
        let has_date = class.has_dates;
        let parts = &mut self.sorter.parts;
        let (mut level, mut raw) = (None, None);
        if let Some(role) = event.class.log.as_deref() {
            let number = match role.severity {
                LogSeverity::Constant(number) => Some(number),
                LogSeverity::Member => parts.severity,
                _ => None,
            };
            level = number.map(|number| role.scale.level(number));
            raw = number.filter(|number| !role.scale.is_exact(*number));
            if let Some(text) = role.text {
                parts.render(TextualPart::Message, |out| (text.write)(event, out));
            }
        } else if let Some(name) = &class.name {
            parts.say(TextualPart::Message, name);
        }
        let reported = parts.dropped.saturating_add(parts.rolled_out);
        if let Some(loss) = self.loss.take()
            && !(loss.stream == event.stream.key && loss.count == reported)
        {
            // The loss comes first, so the parts of the event must wait.
            let parts = std::mem::take(&mut self.sorter.parts);
            self.lost(&loss);
            self.sorter.parts = parts;
        }
        let time = event.clock.map(|clock| clock.nanoseconds);
        let Sorter { parts, pairs, .. } = &self.sorter;
        let line = LineContent { time, has_date, level, raw, parts, pairs, damage: None };
        line.push(&mut self.output.buffer, self.options.form, &self.palette, &mut self.beginning);
        if self.options.stacks {
            self.push_stacks(event);
        }
        self.output.flush_if_full()
    }

    /// Appends the call stacks of an event after its line.
    #[cold]
    fn push_stacks(&mut self, event: &Event<'_>) {
        let Some((.., classes)) = self.streams.get_mut(event.stream) else { return };
        let class =
            classes.for_event(event, || LogClassState::for_event(event, &self.options, &self.palette));
        let out = &mut self.output.buffer;
        match self.options.form {
            LogForm::Text => class.stacks.push_lines(out, event),
            LogForm::Json => {
                // They are inside the object that ends the line.
                const END: &[u8] = b"}\n";
                if out.ends_with(END) {
                    out.truncate(out.len() - END.len());
                    class.stacks.push_json(out, event);
                    out.extend_from_slice(END);
                }
            }
        }
    }

    /// Writes a loss that no event reports.
    #[cold]
    fn write_loss(&mut self) {
        if let Some(loss) = self.loss.take() {
            self.lost(&loss);
        }
    }

    fn lost(&mut self, loss: &UnreportedLoss) {
        let what = match loss.count {
            1 => "1 event".to_owned(),
            count => format!("{count} events"),
        };
        let parts = &mut self.sorter.parts;
        parts.clear();
        parts.number(NumericPart::Dropped, SignedNumber::Unsigned(loss.count));
        self.say(loss.time, loss.has_date, LogLevel::Warn, &discarded(&what, &loss.name));
    }

    /// Writes a line that is not an event.
    fn say(&mut self, time: Option<i128>, has_date: bool, level: LogLevel, message: &str) {
        let parts = &mut self.sorter.parts;
        parts.say(TextualPart::Message, message);
        let damage = (level == LogLevel::Error).then_some(message);
        let line = LineContent { time, has_date, level: Some(level), raw: None, parts, pairs: &[], damage };
        line.push(&mut self.output.buffer, self.options.form, &self.palette, &mut self.beginning);
    }

    fn discarded(&mut self, found: &Discarded<'_>, what: &str) -> io::Result<()> {
        self.begin_message();
        self.write_loss();
        let time = found.end.or(found.begin).map(|clock: ClockValue| clock.nanoseconds);
        let stream: &DataStream = found.stream;
        let has_date = self.options.has_dates(stream);
        match found.count {
            Some(count) if what == "event" => {
                self.loss = Some(UnreportedLoss {
                    stream: stream.key,
                    name: stream.name.to_string(),
                    count,
                    time,
                    has_date,
                });
            }
            count => {
                let what = match count {
                    None => format!("an unknown number of {what}s"),
                    Some(1) => format!("1 {what}"),
                    Some(count) => format!("{count} {what}s"),
                };
                self.sorter.parts.clear();
                self.say(time, has_date, LogLevel::Warn, &discarded(&what, &stream.name));
            }
        }
        self.output.flush_if_full()
    }

    fn damage(&mut self, damage: &Damage) -> io::Result<()> {
        self.begin_message();
        self.write_loss();
        self.sorter.parts.clear();
        let message = format!("{}: {}", damage.location(), damage.kind);
        self.say(None, false, LogLevel::Error, &message);
        self.output.flush_if_full()
    }
}

fn discarded(what: &str, stream: &str) -> String {
    format!("the tracer discarded {what} in the data stream {stream}")
}

impl LineContent<'_> {
    #[inline]
    fn push(&self, out: &mut Vec<u8>, form: LogForm, palette: &Palette, beginning: &mut LineStart) {
        match form {
            LogForm::Text => self.push_text(out, palette, beginning),
            LogForm::Json => self.push_json(out, &mut beginning.dates),
        }
    }
}

impl<W: TextWriter> Sink for Log<W> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => self.event(event)?,
            Message::StreamEnd(stream) => self.streams.remove(stream),
            Message::DiscardedEvents(found) => self.discarded(found, "event")?,
            Message::DiscardedPackets(found) => self.discarded(found, "packet")?,
            Message::Damage(damage) => self.damage(damage)?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Log::flush(self)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.begin_message();
        self.write_loss();
        self.output.flush()?;
        self.output.failures.into_result()
    }
}

#[cfg(test)]
mod tests;
