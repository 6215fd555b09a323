//! A layer for `tracing-subscriber`.

use std::fmt::Debug;

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::description::{EventDescription, EventLevel, MemberDescription};
use crate::dynamic_event::{DynamicEvent, DynamicMember, EventOrigin, record_dynamic};
use crate::recording::{describe_class, is_recording, recording_number};

/// Records spans and events of `tracing`.
///
/// A span is two events, `begin` and `end`, with the span's id as their key, and the parent's id in the first one.
/// Values keep their types: integers, floating-point numbers, Booleans and text. Others are text, as `Debug` writes
/// them. An event has the id of the span that it is in.
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
    _private: (),
}

impl TraceLayer {
    /// Creates a layer. It records while there is a [`Recording`](crate::Recording).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
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
const SPAN: u8 = 254;
const PARENT: u8 = 255;

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for TraceLayer {
    fn enabled(&self, _: &Metadata<'_>, _: Context<'_, S>) -> bool {
        is_recording()
    }

    fn register_callsite(&self, _: &'static Metadata<'static>) -> tracing_core::Interest {
        // Recordings begin and end.
        tracing_core::Interest::sometimes()
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        write(attributes.metadata(), SpanMoment::Begin, |event| {
            event.unsigned("span", SPAN, id.into_u64());
            event.meaning("pair-key");
            let parent = context.span(id).and_then(|span| span.parent()).map(|span| span.id());
            if let Some(parent) = parent {
                event.unsigned("parent", PARENT, parent.into_u64());
                event.meaning("parent");
            }
            attributes.record(&mut FieldVisitor(event));
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        write(span.metadata(), SpanMoment::Record, |event| {
            event.unsigned("span", SPAN, id.into_u64());
            event.meaning("operation-id");
            values.record(&mut FieldVisitor(event));
        });
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        write(event.metadata(), SpanMoment::Event, |out| {
            if let Some(span) = context.event_span(event) {
                out.unsigned("span", SPAN, span.id().into_u64());
                out.meaning("operation-id");
            }
            event.record(&mut FieldVisitor(out));
        });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        write(span.metadata(), SpanMoment::End, |event| {
            event.unsigned("span", SPAN, id.into_u64());
            event.meaning("pair-key");
        });
    }
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
    let members: Vec<MemberDescription<'_>> = members.iter().map(DynamicMember::description).collect();
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
