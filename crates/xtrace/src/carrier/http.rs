//! Metadata in HTTP headers.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::HEADER;
use crate::dialect::{TraceParent, TraceState, WithState};
use crate::metadata::{MAX_TEXT_LENGTH, Metadata};
use crate::propagation::Context;

/// Header `x-trace`.
pub const X_TRACE: HeaderName = HeaderName::from_static(HEADER);
/// W3C Trace Context header `traceparent`.
pub const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
/// W3C Trace Context header `tracestate`.
pub const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// Headers to read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Headers {
    /// Only `x-trace`.
    #[default]
    XTrace,
    /// `x-trace`, and `traceparent` with `tracestate`. If both are present, `x-trace` is read.
    XTraceAndW3c,
}

/// Returns the context of a received message, or `None` without a valid header. Headers that break a rule are ignored.
#[must_use]
pub fn extract(map: &HeaderMap, headers: Headers) -> Option<Context> {
    let state = if headers == Headers::XTraceAndW3c { trace_state(map) } else { String::new() };
    let metadata = map.get(X_TRACE).and_then(|value| Metadata::parse(value.as_bytes()).ok()?.validate().ok());
    let metadata = match metadata {
        Some(metadata) => metadata,
        None if headers == Headers::XTraceAndW3c => {
            let mut values = map.get_all(TRACE_PARENT).iter();
            // Several `traceparent` headers count as missing (section 3.2 of the recommendation).
            let (Some(value), None) = (values.next(), values.next()) else { return None };
            // An invalid tracestate must be dropped, but not the traceparent.
            let state = TraceState::parse(&state).unwrap_or_default();
            TraceParent::parse(value.as_bytes()).ok()?.to_metadata(&state)
        }
        None => return None,
    };
    let mut context = Context::from_metadata(metadata);
    if TraceState::parse(&state).is_ok() {
        context.set_trace_state(&state);
    }
    Some(context)
}

/// Joins all `tracestate` headers.
fn trace_state(map: &HeaderMap) -> String {
    let values = map.get_all(TRACE_STATE).iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}

/// Writes the last event of a context into message headers, replacing existing headers.
pub fn inject(context: &Context, map: &mut HeaderMap, headers: Headers) {
    let mut text = [0; MAX_TEXT_LENGTH];
    if let Ok(value) = HeaderValue::from_str(context.metadata().write_text(&mut text)) {
        map.insert(X_TRACE, value);
    }
    if headers == Headers::XTrace {
        return;
    }
    map.remove(TRACE_PARENT);
    map.remove(TRACE_STATE);
    // Before the first event, the context lacks an operation.
    let Ok(with_state) = WithState::from_metadata(context.metadata()) else { return };
    if let Ok(value) = HeaderValue::from_str(&with_state.parent.to_string()) {
        map.insert(TRACE_PARENT, value);
    }
    // As on receipt, an invalid tracestate is dropped.
    let incoming = TraceState::parse(context.trace_state()).unwrap_or_default();
    let mut state = String::new();
    // Writing to a string cannot fail.
    let _ = with_state.write_state(&incoming, &mut state);
    if let (false, Ok(value)) = (state.is_empty(), HeaderValue::from_str(&state)) {
        map.insert(TRACE_STATE, value);
    }
}
