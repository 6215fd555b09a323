//! Reports `tracing` spans as operations.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer;
use tracing_subscriber::registry::LookupSpan;

use crate::option::Severity;
use crate::propagation::{Context, EnteredStack, Event, Reporting, SharedContext, Tracer};

/// Reports `tracing` spans and events, as a `tracing-subscriber` layer.
///
/// - A span is one operation at its start and another at its end. Everything in between is a branch that follows the
///   start. The next operation in the parent span follows both the start and the end.
/// - An event is an operation in its span or, without a span, in the current context.
/// - While a span is entered, its context is [current](SharedContext::current) in the thread, so that clients send its
///   metadata.
/// - A span without a parent continues the current context, or starts a task.
/// - The level is the importance of a span or an event: ERROR, WARN (warning), INFO, DEBUG and TRACE (both debug).
///   Tasks that start here have the threshold of the [tracer](Tracer::with_threshold), by default INFO, or [another
///   threshold](Self::with_threshold).
/// - Logs from a reporter are not reported, nor are logs during [a call](SharedContext::with) that uses the context
///   that they belong to or follow, because no other thread can use this context then.
///
/// ```
/// use ichnos_xtrace::propagation::{MemoryReporter, Tracer};
/// use ichnos_xtrace::OperationLayer;
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let collected = MemoryReporter::default();
/// let layer = OperationLayer::new(Tracer::new(collected.clone()));
/// tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
///     let _span = tracing::info_span!("bake", loaf = 3).entered();
///     tracing::warn!(celsius = 300, "too hot");
/// });
/// let reports = collected.take();
/// assert_eq!(reports.len(), 3);
/// assert!(reports[1].contains("\nLabel: too hot\n") && reports[1].contains("\ncelsius: 300\n"));
/// ```
#[derive(Debug)]
pub struct OperationLayer {
    tracer: Arc<Tracer>,
    threshold: Severity,
}

/// Span state.
struct SpanContext {
    own: SharedContext,
    /// Context of the parent span, or the current context.
    above: Option<SharedContext>,
    /// Values recorded after the start.
    late: Vec<(&'static str, String)>,
}

thread_local! {
    static ENTERED: RefCell<EnteredStack> = RefCell::default();
}

/// Performs an action unless a reporter caused it.
fn unless_reporting(action: impl FnOnce()) {
    if let Some(_reporting) = Reporting::begin_first() {
        action();
    }
}

impl OperationLayer {
    /// Creates a layer that reports to a tracer. Tasks that start here have the tracer's threshold.
    pub fn new(tracer: impl Into<Arc<Tracer>>) -> Self {
        let tracer = tracer.into();
        Self { threshold: tracer.threshold(), tracer }
    }

    /// Sets another threshold for tasks that start here.
    #[must_use]
    pub fn with_threshold(self, threshold: Severity) -> Self {
        Self { threshold, ..self }
    }
}

fn severity(metadata: &Metadata<'_>) -> Severity {
    match *metadata.level() {
        Level::ERROR => Severity::ERROR,
        Level::WARN => Severity::WARNING,
        Level::INFO => Severity::INFO,
        _ => Severity::DEBUG,
    }
}

/// Sends an event in a context. Errors are ignored.
fn send(
    context: &mut Context,
    tracer: &Tracer,
    metadata: &Metadata<'_>,
    label: &str,
    add: impl FnOnce(&mut Event<'_>),
) {
    let mut event = context.event_of(tracer, severity(metadata), label).text("Target", metadata.target());
    if event.is_reported() {
        add(&mut event);
        let _ = event.send();
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for OperationLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, registry: layer::Context<'_, S>) {
        let Some(span) = registry.span(id) else { return };
        unless_reporting(|| {
            let above = span.parent().and_then(|parent| {
                parent.extensions().get::<SpanContext>().map(|context| context.own.clone())
            });
            let above = above.or_else(|| if attributes.is_root() { None } else { SharedContext::current() });
            let metadata = attributes.metadata();
            let begin = |context: &mut Context| {
                send(context, &self.tracer, metadata, metadata.name(), |event| {
                    attributes.record(&mut FieldLines(event));
                });
                context.clone()
            };
            let own = match &above {
                Some(above) => above.try_with(begin),
                None => Some(begin(&mut Context::start_with_threshold(self.threshold))),
            };
            // Without a context, the span is skipped.
            let Some(own) = own else { return };
            let context = SpanContext { own: own.into(), above, late: Vec::new() };
            span.extensions_mut().insert(context);
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, registry: layer::Context<'_, S>) {
        let Some(span) = registry.span(id) else { return };
        if span.extensions().get::<SpanContext>().is_none() {
            return;
        }
        // Formatting a value can log in this span. Its extensions must not be locked then.
        let mut late = LateFields(Vec::new());
        values.record(&mut late);
        if let Some(context) = span.extensions_mut().get_mut::<SpanContext>() {
            let mut all = LateFields(std::mem::take(&mut context.late));
            late.0.into_iter().for_each(|(name, value)| all.set(name, value));
            context.late = all.0;
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, registry: layer::Context<'_, S>) {
        let context_of = |id| {
            let span = registry.span(id)?;
            let extensions = span.extensions();
            extensions.get::<SpanContext>().map(|context| context.own.clone())
        };
        let (Some(own), Some(other)) = (context_of(id), context_of(follows)) else { return };
        if !own.is(&other) {
            let Some(other) = other.try_with(|context| context.clone()) else { return };
            // The report mentions a different task.
            let _ = own.try_with(|own| own.join(other));
        }
    }

    fn on_event(&self, event: &tracing_core::Event<'_>, registry: layer::Context<'_, S>) {
        unless_reporting(|| {
            let span = registry
                .event_span(event)
                .and_then(|span| span.extensions().get::<SpanContext>().map(|context| context.own.clone()));
            let Some(context) = span.or_else(SharedContext::current) else { return };
            let metadata = event.metadata();
            let mut message = MessageVisitor(None);
            event.record(&mut message);
            let label = message.0.as_deref().unwrap_or(metadata.name());
            let _ = context.try_with(|context| {
                send(context, &self.tracer, metadata, label, |report| event.record(&mut FieldLines(report)));
            });
        });
    }

    fn on_enter(&self, id: &Id, registry: layer::Context<'_, S>) {
        let Some(span) = registry.span(id) else { return };
        let Some(own) = span.extensions().get::<SpanContext>().map(|context| context.own.clone()) else {
            return;
        };
        // At thread exit, the value can be missing.
        let _ = ENTERED.try_with(|entered| entered.borrow_mut().enter(id.into_u64(), &own));
    }

    fn on_exit(&self, id: &Id, _: layer::Context<'_, S>) {
        // At thread exit, the value can be missing.
        let _ = ENTERED.try_with(|entered| entered.borrow_mut().exit(id.into_u64()));
    }

    fn on_close(&self, id: Id, registry: layer::Context<'_, S>) {
        let Some(span) = registry.span(&id) else { return };
        let Some(SpanContext { own, above, late }) = span.extensions_mut().remove() else { return };
        unless_reporting(|| {
            let metadata = span.metadata();
            let Some(mut context) = own.try_into_inner() else { return };
            send(&mut context, &self.tracer, metadata, &format!("{} ends", metadata.name()), |event| {
                for (name, value) in &late {
                    event.add(name, value);
                }
            });
            if let Some(above) = above {
                // Both have the same task.
                let _ = above.try_with(|above| above.join(context));
            }
        });
    }
}

/// Field with the event label.
const MESSAGE: &str = "message";

struct MessageVisitor(Option<String>);

impl Visit for MessageVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == MESSAGE {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == MESSAGE {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

/// Writes fields as lines.
struct FieldLines<'l, 'e>(&'l mut Event<'e>);

impl Visit for FieldLines<'_, '_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() != MESSAGE {
            self.0.add(field.name(), value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() != MESSAGE {
            self.0.add(field.name(), format_args!("{value:?}"));
        }
    }
}

/// Keeps fields until the span ends.
struct LateFields(Vec<(&'static str, String)>);

impl LateFields {
    fn set(&mut self, name: &'static str, value: String) {
        match self.0.iter_mut().find(|late| late.0 == name) {
            Some(late) => late.1 = value,
            None => self.0.push((name, value)),
        }
    }
}

impl Visit for LateFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field.name(), format!("{value:?}"));
    }
}
