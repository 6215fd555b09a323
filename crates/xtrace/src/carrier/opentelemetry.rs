//! Metadata in OpenTelemetry propagators.

use opentelemetry::Context;
use opentelemetry::propagation::text_map_propagator::FieldIter;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};

use crate::dialect::{self, TraceParent, WithState};
use crate::metadata::Metadata;

use super::HEADER;

/// OpenTelemetry propagator for the header `x-trace`. It converts between spans and X-Trace metadata.
///
/// Data that does not fit into a span, for example the end of a 20-byte task, is kept in its tracestate. It is restored
/// when the span or a descendant is written. See [`dialect`].
///
/// ```
/// use std::collections::HashMap;
///
/// use ichnos_xtrace::carrier::opentelemetry::XTracePropagator;
/// use opentelemetry::propagation::TextMapPropagator;
///
/// let propagator = XTracePropagator::new();
/// let text = "1B0102030405060708090A0B0C0D0E0F1011121314A1A2A3A4A5A6A7A8";
/// let request = HashMap::from([("x-trace".to_owned(), text.to_owned())]);
/// let context = propagator.extract(&request);
/// let mut next = HashMap::new();
/// propagator.inject_context(&context, &mut next);
/// assert_eq!(next, request);
/// ```
#[derive(Clone, Debug)]
pub struct XTracePropagator {
    fields: [String; 1],
}

impl XTracePropagator {
    /// Creates the propagator.
    #[must_use]
    pub fn new() -> Self {
        Self { fields: [HEADER.to_owned()] }
    }
}

impl Default for XTracePropagator {
    fn default() -> Self {
        Self::new()
    }
}

impl TextMapPropagator for XTracePropagator {
    fn inject_context(&self, context: &Context, injector: &mut dyn Injector) {
        let span = context.span();
        let span = span.span_context();
        let (trace, id) = (span.trace_id().to_bytes(), span.span_id().to_bytes());
        let Some(parent) = TraceParent::new(trace, id, span.is_sampled()) else { return };
        let state = span.trace_state().header();
        // An invalid tracestate must be dropped, but not the traceparent.
        let state = dialect::TraceState::parse(&state).unwrap_or_default();
        injector.set(HEADER, parent.to_metadata(&state).to_string());
    }

    fn extract_with_context(&self, context: &Context, extractor: &dyn Extractor) -> Context {
        match extractor.get(HEADER).and_then(span_context) {
            Some(span) => context.with_remote_span_context(span),
            None => context.clone(),
        }
    }

    fn fields(&self) -> FieldIter<'_> {
        FieldIter::new(&self.fields)
    }
}

fn span_context(text: &str) -> Option<SpanContext> {
    let metadata = Metadata::parse(text.trim_matches([' ', '\t'])).ok()?.validate().ok()?;
    let with_state = WithState::from_metadata(&metadata).ok()?;
    let mut state = String::new();
    with_state.write_state(&dialect::TraceState::default(), &mut state).ok()?;
    let state = if state.is_empty() { TraceState::NONE } else { state.parse().ok()? };
    let parent = with_state.parent;
    let flags = TraceFlags::default().with_sampled(parent.is_sampled());
    let trace = TraceId::from_bytes(parent.trace_id());
    Some(SpanContext::new(trace, SpanId::from_bytes(parent.parent_id()), flags, true, state))
}
