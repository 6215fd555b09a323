//! Spans and log records as rows of plain values, for tables.

use std::borrow::Cow;

use ichnos_json::write::push_base64;

use crate::any_value::{AnyValue, NamedValue};
use crate::digits::to_hex;
use crate::input::lossy;

/// Attribute keys and values. Bytes are base64, other values than texts are JSON, and
/// floating-point numbers are as in JavaScript.
pub type TextPairs<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// Resource and scope of the rows that follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowOrigin {
    /// Attribute `service.name` of the resource, empty without it.
    pub service: String,
    /// Attributes of the resource.
    pub resource: TextPairs<'static>,
    /// Scope name.
    pub scope: String,
    /// Scope version.
    pub scope_version: String,
    /// Attributes of the scope.
    pub scope_attributes: TextPairs<'static>,
    /// URL of the schema of the resource.
    pub resource_schema: String,
    /// URL of the schema of the scope.
    pub scope_schema: String,
    /// Number of attributes that the resource and the scope lost before.
    pub dropped: u64,
}

/// A span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanRow<'a> {
    /// Start in nanoseconds since 1970.
    pub start: u64,
    /// End in nanoseconds since 1970.
    pub end: u64,
    /// Trace identifier in hexadecimal digits.
    pub trace_id: String,
    /// Span identifier in hexadecimal digits.
    pub span_id: String,
    /// Parent span identifier in hexadecimal digits, empty without a parent.
    pub parent_id: String,
    /// Trace state.
    pub trace_state: Cow<'a, str>,
    /// Name.
    pub name: Cow<'a, str>,
    /// Number of the kind.
    pub kind: u64,
    /// Number of the status.
    pub status: u64,
    /// Message of the status.
    pub status_message: Cow<'a, str>,
    /// Attributes.
    pub attributes: TextPairs<'a>,
    /// Events: time, name and attributes.
    pub events: Vec<(u64, Cow<'a, str>, TextPairs<'a>)>,
    /// Links.
    pub links: Vec<LinkRow<'a>>,
    /// `true` if it has flags, or counts dropped attributes, events or links.
    pub has_counts: bool,
}

/// A link to another span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkRow<'a> {
    /// Trace identifier in hexadecimal digits.
    pub trace_id: String,
    /// Span identifier in hexadecimal digits.
    pub span_id: String,
    /// Trace state.
    pub trace_state: Cow<'a, str>,
    /// Attributes.
    pub attributes: TextPairs<'a>,
}

/// A log record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogRow<'a> {
    /// Time, or else the time of observation, in nanoseconds since 1970.
    pub time: u64,
    /// Trace identifier in hexadecimal digits, empty without a span.
    pub trace_id: String,
    /// Span identifier in hexadecimal digits, empty without a span.
    pub span_id: String,
    /// Flags.
    pub flags: u64,
    /// Severity number, 0 without a severity.
    pub severity: u64,
    /// Severity text.
    pub severity_text: Cow<'a, str>,
    /// Body. Other values than texts are JSON.
    pub body: Cow<'a, str>,
    /// Attributes.
    pub attributes: TextPairs<'a>,
    /// Event name.
    pub event_name: Cow<'a, str>,
    /// `true` if it has a number of dropped attributes, or a time of observation beside its time.
    pub has_counts: bool,
}

/// Returns an identifier in hexadecimal digits. Empty if it is missing or zero.
pub(crate) fn id_text(id: Option<&[u8]>) -> String {
    id.filter(|id| id.iter().any(|byte| *byte != 0)).map_or_else(String::new, to_hex)
}

/// Returns attributes as texts.
pub(crate) fn text_pairs<'v>(attributes: &'v [NamedValue<'_>]) -> TextPairs<'v> {
    attributes.iter().map(|pair| (Cow::Borrowed(&*pair.name), value_text(&pair.value))).collect()
}

/// Returns a value as a text.
pub(crate) fn value_text<'v>(value: &'v AnyValue<'_>) -> Cow<'v, str> {
    match value {
        AnyValue::Nothing => Cow::Borrowed(""),
        AnyValue::Double(number) => Cow::Owned(number_text(*number)),
        AnyValue::Bytes(bytes) => {
            let mut digits = Vec::new();
            push_base64(&mut digits, bytes);
            lossy(Cow::Owned(digits))
        }
        value => lossy(value.to_text()),
    }
}

/// Returns a number as in JavaScript and in Go's JSON.
fn number_text(number: f64) -> String {
    let size = number.abs();
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number.is_infinite() => if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        _ if size == 0.0 || (1e-6..1e21).contains(&size) => number.to_string(),
        _ if size < 1.0 => format!("{number:e}"),
        _ => format!("{number:e}").replace('e', "e+"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_texts() {
        for (number, text) in
            [(2.0, "2"), (-0.5, "-0.5"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-7, "1e-7")]
        {
            assert_eq!(number_text(number), text);
        }
        assert_eq!(number_text(f64::NEG_INFINITY), "-Infinity");
        let list = AnyValue::Array(vec![AnyValue::Integer(1), AnyValue::text("a")]);
        assert_eq!(value_text(&list), r#"[1,"a"]"#);
        assert_eq!(value_text(&AnyValue::Boolean(true)), "true");
        assert_eq!((id_text(Some(&[0; 8])), id_text(None)), (String::new(), String::new()));
        assert_eq!(id_text(Some(&[0, 10])), "000a");
    }
}
