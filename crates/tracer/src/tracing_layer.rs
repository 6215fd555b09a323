//! A layer for `tracing-subscriber`.

use std::fmt::Debug;

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Interest, Level, Metadata, Subscriber};
use tracing_subscriber::filter::Filtered;
use tracing_subscriber::layer::{Context, Filter, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::description::{EventDescription, EventLevel, MemberDescription};
use crate::dynamic_event::{DynamicEvent, DynamicMember, EventOrigin, record_dynamic, unique_names};
use crate::recorded_span::RecordedSpan;
use crate::recording::{describe_class, is_recording, recording_number};
use crate::span_context::SpanContext;

/// Records spans and events of `tracing`.
///
/// A span is two events, `begin` and `end`, with the span's number as their key. Values keep their types: integers,
/// floating-point numbers, Booleans and text. Others are text, as `Debug` writes them. An event has the identifier of
/// its span, and a span has its parent's identifier.
///
/// A span that continues the trace of another program ([`SpanContext`]), and all spans and events in it, have the
/// identifier of this trace, too. `ichnos task` shows them together with the events of the other program.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let subscriber = tracing_subscriber::registry().with(ichnos_tracer::TraceLayer::new());
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("trace");
/// let recording = ichnos_tracer::Recording::start(ichnos_tracer::RecordingOptions::new(path))?;
/// tracing::subscriber::with_default(subscriber, || {
///     let _span = tracing::info_span!("request", id = 7).entered();
///     tracing::info!(bytes = 512, "answered");
/// });
/// recording.finish();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceLayer {
    starts_traces: bool,
}

impl TraceLayer {
    /// Creates a layer. It records while there is a [`Recording`](crate::Recording).
    ///
    /// Without a recording, it still costs as much as any layer, unless it is [`filtered`](Self::filtered).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives spans without a parent an identity among programs, too, so that [`SpanContext::current`] always has it.
    #[must_use]
    pub fn with_new_traces(mut self) -> Self {
        self.starts_traces = true;
        self
    }

    /// Adds a filter that disables spans and events without a recording, for this layer alone.
    pub fn filtered<S: Subscriber + for<'l> LookupSpan<'l>>(self) -> Filtered<Self, RecordingFilter, S> {
        self.with_filter(RecordingFilter::default())
    }

    /// Returns the identity of a new span.
    fn context(self, header: Option<SpanContext>, parent: Option<RecordedSpan>) -> SpanOrigin {
        let attached = || if parent.is_none() { SpanContext::attached() } else { None };
        let remote = header.or_else(attached);
        let above = remote.or(parent.and_then(|parent| parent.context));
        let own = match above {
            Some(above) => Some(above.child()),
            None if self.starts_traces => Some(SpanContext::random()),
            None => None,
        };
        let parent_id = match above {
            Some(above) => Some(SpanId::Global(above.span_id())),
            None => parent.map(|parent| SpanId::Local(parent.number)),
        };
        SpanOrigin { own: RecordedSpan::new(own), parent: parent_id }
    }
}

/// Disables spans and events while there is no recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordingFilter {
    _private: (),
}

impl<S> Filter<S> for RecordingFilter {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        is_recording()
    }

    fn callsite_enabled(&self, _: &'static Metadata<'static>) -> Interest {
        // It is asked again when a recording begins or ends.
        if is_recording() { Interest::always() } else { Interest::never() }
    }
}

/// Identifier of a span.
enum SpanId {
    /// Number in this process.
    Local(u64),
    /// Identifier among programs.
    Global([u8; 8]),
}

/// A new span.
struct SpanOrigin {
    own: RecordedSpan,
    parent: Option<SpanId>,
}

/// What happened to a span, or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpanMoment {
    Event,
    Begin,
    Record,
    End,
}

/// Numbers of names that no field has.
const SPAN: u8 = 252;
const TRACE_ID: u8 = 253;
const SPAN_ID: u8 = 254;
const PARENT_ID: u8 = 255;

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for TraceLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|_| is_recording()) else { return };
        let metadata = attributes.metadata();
        let mut header = HeaderVisitor(None);
        if metadata.fields().field(TRACEPARENT).is_some() {
            attributes.record(&mut header);
        }
        let parent = span.parent().map(|parent| RecordedSpan::get_or_number(&parent));
        let SpanOrigin { own, parent } = self.context(header.0, parent);
        span.extensions_mut().replace(own);
        write(metadata, SpanMoment::Begin, |event| {
            add_key(event, own);
            add_ids(event, own);
            match parent {
                Some(SpanId::Local(number)) => event.unsigned("parent_span_id", PARENT_ID, number),
                Some(SpanId::Global(id)) => event.span_id("parent_span_id", PARENT_ID, id),
                None => {}
            }
            if parent.is_some() {
                event.meaning("parent");
            }
            attributes.record(&mut FieldVisitor(event));
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|_| is_recording()) else { return };
        let own = RecordedSpan::get_or_number(&span);
        write(span.metadata(), SpanMoment::Record, |event| {
            add_ids(event, own);
            values.record(&mut FieldVisitor(event));
        });
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if !is_recording() {
            return;
        }
        let span = context.event_span(event).map(|span| RecordedSpan::get_or_number(&span));
        write(event.metadata(), SpanMoment::Event, |out| {
            if let Some(span) = span {
                add_ids(out, span);
            }
            event.record(&mut FieldVisitor(out));
        });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id).filter(|_| is_recording()) else { return };
        let own = RecordedSpan::get_or_number(&span);
        write(span.metadata(), SpanMoment::End, |event| {
            add_key(event, own);
            add_ids(event, own);
        });
    }
}

/// Adds what the beginning and the end of a span share.
fn add_key(event: &mut DynamicEvent, span: RecordedSpan) {
    event.unsigned("span", SPAN, span.number);
    event.meaning("pair-key");
}

/// Adds the identifiers of a span.
fn add_ids(event: &mut DynamicEvent, span: RecordedSpan) {
    match span.context {
        Some(context) => {
            event.trace_id("trace_id", TRACE_ID, context.trace_id());
            event.meaning("task-id");
            event.span_id("span_id", SPAN_ID, context.span_id());
        }
        None => event.unsigned("span_id", SPAN_ID, span.number),
    }
    event.meaning("operation-id");
}

/// Records an event of a place in the program.
fn write(metadata: &'static Metadata<'static>, moment: SpanMoment, fill: impl FnOnce(&mut DynamicEvent)) {
    let Some(recording) = recording_number() else { return };
    let place = std::ptr::from_ref(metadata) as usize;
    let origin = EventOrigin { recording, kind: moment as u8, place };
    record_dynamic(origin, fill, |members| describe(recording, metadata, moment, members));
}

/// Describes the class of events of a place.
fn describe(recording: u16, metadata: &Metadata<'_>, moment: SpanMoment, members: &[DynamicMember]) -> u16 {
    let names = unique_names(members);
    let members: Vec<MemberDescription<'_>> =
        members.iter().zip(&names).map(|(member, name)| member.description(name)).collect();
    // Events without a name are called after their line.
    let is_unnamed = moment == SpanMoment::Event && metadata.name().starts_with("event ");
    let name = if is_unnamed { metadata.target() } else { metadata.name() };
    let line = metadata.line().map(|line| line.to_string());
    let facts = [
        ("target", Some(metadata.target())),
        ("module", metadata.module_path()),
        ("file", metadata.file()),
        ("line", line.as_deref()),
    ];
    let facts: Vec<_> = facts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    let class = EventDescription::new(name, &members).with_level(level(metadata.level())).with_facts(&facts);
    let class = match moment {
        SpanMoment::Event | SpanMoment::Record => class,
        SpanMoment::Begin => class.with_role("begin").with_span_name(name),
        SpanMoment::End => class.with_role("end").with_span_name(name),
    };
    describe_class(recording, &class)
}

fn level(level: &Level) -> EventLevel {
    match *level {
        Level::ERROR => EventLevel::Error,
        Level::WARN => EventLevel::Warning,
        Level::INFO => EventLevel::Info,
        _ => EventLevel::Debug,
    }
}

/// Field with the span of another program.
const TRACEPARENT: &str = "traceparent";

/// Reads the field `traceparent`.
struct HeaderVisitor(Option<SpanContext>);

impl Visit for HeaderVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == TRACEPARENT {
            self.0 = value.parse().ok();
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == TRACEPARENT {
            self.record_str(field, &format!("{value:?}"));
        }
    }
}

/// Adds fields of `tracing` to an event.
struct FieldVisitor<'a>(&'a mut DynamicEvent);

/// Returns the number of a field among the fields of its place. There are at most 32.
fn number(field: &Field) -> u8 {
    field.index() as u8
}

impl Visit for FieldVisitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.float(field.name(), number(field), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.signed(field.name(), number(field), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.unsigned(field.name(), number(field), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.boolean(field.name(), number(field), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.text(field.name(), number(field), value);
        self.message(field);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.debug(field.name(), number(field), value);
        self.message(field);
    }
}

impl FieldVisitor<'_> {
    fn message(&mut self, field: &Field) {
        if field.name() == "message" {
            self.0.meaning("message");
        }
    }
}
