//! Span state of the layer.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing_core::dispatcher;
use tracing_subscriber::Registry;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::span_context::SpanContext;

/// Span state of the layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedSpan {
    /// Number in this process. The registry uses its own numbers again.
    pub(crate) number: u64,
    /// Identity among programs.
    pub(crate) context: Option<SpanContext>,
}

impl RecordedSpan {
    /// Numbers a span.
    pub(crate) fn new(context: Option<SpanContext>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        Self { number: COUNT.fetch_add(1, Ordering::Relaxed), context }
    }

    /// Returns the state of a span.
    pub(crate) fn get<'s, S: LookupSpan<'s>>(span: &SpanRef<'s, S>) -> Option<Self> {
        span.extensions().get::<Self>().copied()
    }

    /// Returns the state of a span. A span that began before the recording gets a number now.
    pub(crate) fn get_or_number<'s, S: LookupSpan<'s>>(span: &SpanRef<'s, S>) -> Self {
        if let Some(known) = Self::get(span) {
            return known;
        }
        let new = Self::new(None);
        span.extensions_mut().replace(new);
        new
    }
}

impl SpanContext {
    /// Returns the context of the current span of `tracing`, if the layer gave it one.
    #[must_use]
    pub fn current() -> Option<Self> {
        dispatcher::get_default(|dispatch| {
            let current = dispatch.current_span();
            let span = dispatch.downcast_ref::<Registry>()?.span(current.id()?)?;
            RecordedSpan::get(&span)?.context
        })
    }
}
