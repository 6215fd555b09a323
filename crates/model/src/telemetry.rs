//! OpenTelemetry spans, log records and data points: what readers and writers share.
//!
//! An OpenTelemetry reader sets the [`ElementRole`] of each event record class, and OpenTelemetry writers use it to
//! write the same element again. Other formats keep it as far as they can.

use crate::class::Value;

/// Span kind names, by number.
pub const SPAN_KINDS: [&str; 6] = ["unspecified", "internal", "server", "client", "producer", "consumer"];

/// Status code names, by number.
pub const STATUS_CODES: [&str; 3] = ["unset", "ok", "error"];

/// Aggregation temporality names, by number.
pub const TEMPORALITIES: [&str; 3] = ["unspecified", "delta", "cumulative"];

/// Names of the fields that OpenTelemetry defines.
pub mod element_field {
    /// Identifier of the span as a number.
    pub const SPAN: &str = "span";
    /// Kind of the span.
    pub const KIND: &str = "kind";
    /// Links of the span: structures of the fields `trace_id`, `span_id`, `trace_state`, `flags`, `dropped_attributes`
    /// and `attributes`, each of which can be missing.
    pub const LINKS: &str = "links";
    /// Identifier of the trace, in links and exemplars.
    pub const TRACE_ID: &str = "trace_id";
    /// Identifier of the span, in links and exemplars.
    pub const SPAN_ID: &str = "span_id";
    /// Attributes, in links and exemplars. In exemplars, they are an array of structures: a name and one of the members
    /// `text`, `integer`, `double`, `boolean` and `bytes`.
    pub const ATTRIBUTES: &str = "attributes";
    /// Trace state.
    pub const TRACE_STATE: &str = "trace_state";
    /// Flags.
    pub const FLAGS: &str = "flags";
    /// Number of dropped attributes.
    pub const DROPPED_ATTRIBUTES: &str = "dropped_attributes";
    /// Number of dropped events.
    pub const DROPPED_EVENTS: &str = "dropped_events";
    /// Number of dropped links.
    pub const DROPPED_LINKS: &str = "dropped_links";
    /// Original end of a span that ends before its start.
    pub const END_TIME: &str = "end_time";
    /// Status of the span.
    pub const STATUS: &str = "status";
    /// Message of the status.
    pub const STATUS_MESSAGE: &str = "status_message";
    /// Severity number.
    pub const SEVERITY: &str = "severity";
    /// Severity text.
    pub const SEVERITY_TEXT: &str = "severity_text";
    /// Body that is a text.
    pub const MESSAGE: &str = "message";
    /// Body of another type than text.
    pub const BODY: &str = "body";
    /// Time of observation.
    pub const OBSERVED_TIME: &str = "observed_time";
    /// `true` if the time of the event is the time of observation, because the log record has no time.
    pub const TIME_IS_OBSERVED: &str = "time_is_observed";
    /// Value of a data point, of a quantile or of an exemplar.
    pub const VALUE: &str = "value";
    /// Number of values of a histogram or a summary.
    pub const COUNT: &str = "count";
    /// Sum of the values of a histogram or a summary.
    pub const SUM: &str = "sum";
    /// Smallest value of a histogram.
    pub const MIN: &str = "min";
    /// Largest value of a histogram.
    pub const MAX: &str = "max";
    /// Counts of the buckets of a histogram.
    pub const BUCKET_COUNTS: &str = "bucket_counts";
    /// Bounds of the buckets of a histogram.
    pub const EXPLICIT_BOUNDS: &str = "explicit_bounds";
    /// Scale of an exponential histogram.
    pub const SCALE: &str = "scale";
    /// Number of values of an exponential histogram that count as zero.
    pub const ZERO_COUNT: &str = "zero_count";
    /// Largest absolute value that counts as zero in an exponential histogram.
    pub const ZERO_THRESHOLD: &str = "zero_threshold";
    /// Number of the first bucket for positive values in an exponential histogram.
    pub const POSITIVE_OFFSET: &str = "positive_offset";
    /// Counts of the buckets for positive values in an exponential histogram.
    pub const POSITIVE_COUNTS: &str = "positive_counts";
    /// Number of the first bucket for negative values in an exponential histogram.
    pub const NEGATIVE_OFFSET: &str = "negative_offset";
    /// Counts of the buckets for negative values in an exponential histogram.
    pub const NEGATIVE_COUNTS: &str = "negative_counts";
    /// Quantiles of a summary: structures of the fields `quantile` and `value`.
    pub const QUANTILES: &str = "quantiles";
    /// Quantile, in quantiles.
    pub const QUANTILE: &str = "quantile";
    /// Exemplars of a data point: structures of the fields `time`, `value`, `trace_id`, `span_id` and `attributes`, each
    /// of which can be missing.
    pub const EXEMPLARS: &str = "exemplars";
    /// Name of an attribute, in exemplars.
    pub const NAME: &str = "name";
    /// Text of an attribute, in exemplars.
    pub const TEXT: &str = "text";
    /// Integer of an attribute, in exemplars.
    pub const INTEGER: &str = "integer";
    /// Floating-point number of an attribute, in exemplars.
    pub const DOUBLE: &str = "double";
    /// Boolean of an attribute, in exemplars.
    pub const BOOLEAN: &str = "boolean";
    /// Bytes of an attribute, in exemplars.
    pub const BYTES: &str = "bytes";
    /// Time, in exemplars.
    pub const TIME: &str = "time";
    /// Temporality of a metric.
    pub const TEMPORALITY: &str = "temporality";
    /// `true` for a monotonic metric.
    pub const MONOTONIC: &str = "monotonic";
    /// Unit of a metric, in classes that events share beyond the limits.
    pub const UNIT: &str = "unit";
    /// Description of a metric, in classes that events share beyond the limits.
    pub const DESCRIPTION: &str = "description";
    /// Array with the names and texts of all fields, in classes that events share beyond the limits.
    pub const FIELDS: &str = "fields";
    /// Number of the first fields that are not attributes, in classes that events share beyond the limits.
    pub const OWN_FIELDS: &str = "own_fields";
    /// Start of the time that a data point covers.
    pub const START_TIME: &str = "start_time";
    /// Name of the scope, in the specific context.
    pub const SCOPE_NAME: &str = "otel.scope.name";
    /// Version of the scope, in the specific context.
    pub const SCOPE_VERSION: &str = "otel.scope.version";
    /// URL of the scope's schema, in the specific context.
    pub const SCOPE_SCHEMA: &str = "otel.scope.schema_url";
    /// Number of dropped attributes of the scope, in the specific context.
    pub const SCOPE_DROPPED: &str = "otel.scope.dropped_attributes";
    /// URL of the resource's schema, in the resource.
    pub const RESOURCE_SCHEMA: &str = "otel.resource.schema_url";
    /// Number of dropped attributes of the resource, in the resource.
    pub const RESOURCE_DROPPED: &str = "otel.resource.dropped_attributes";

    /// All fields that OpenTelemetry defines for a scope.
    pub const OF_SCOPE: [&str; 4] = [SCOPE_NAME, SCOPE_VERSION, SCOPE_SCHEMA, SCOPE_DROPPED];
    /// All fields that OpenTelemetry defines for a resource.
    pub const OF_RESOURCE: [&str; 2] = [RESOURCE_SCHEMA, RESOURCE_DROPPED];
}

crate::named_enum! {
    /// Part of an OpenTelemetry element that an event is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ElementPart: "part of an element" {
        /// Start of a span.
        SpanBegin = "span start",
        /// End of a span.
        SpanEnd = "span end",
        /// Event of a span.
        SpanEvent = "span event",
        /// Log record.
        LogRecord = "log record",
        /// Data point of a gauge.
        Gauge = "gauge",
        /// Data point of a sum.
        Sum = "sum",
        /// Data point of a histogram.
        Histogram = "histogram",
        /// Data point of an exponential histogram.
        ExponentialHistogram = "exponential histogram",
        /// Data point of a summary.
        Summary = "summary",
    }
}

impl ElementPart {
    /// Returns `true` for a data point of a metric.
    #[must_use]
    pub fn is_point(self) -> bool {
        matches!(self, Self::Gauge | Self::Sum | Self::Histogram | Self::ExponentialHistogram | Self::Summary)
    }
}

/// The events of a class come from OpenTelemetry elements.
///
/// The payload has the fields that OpenTelemetry defines, named as in [`element_field`], and the attributes. A field with
/// its default value is missing. The common context has the identifiers, the specific context the scope, and the
/// resource the resource. In formats without resources, the common context has its attributes, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementRole {
    /// Part.
    pub part: ElementPart,
    /// Name of the span, of its event, of the log record's event, or of the metric. Empty if it is unnamed.
    pub name: String,
    /// Description of the metric. Empty if it is unnamed.
    pub description: String,
    /// Names of the payload members that are not attributes.
    pub own: Vec<String>,
    /// Payload members whose names differ from their attribute keys, with these keys.
    pub renamed: Vec<(String, String)>,
    /// The same for members of the resource. A member that is listed is an attribute, whatever its name.
    pub renamed_in_resource: Vec<(String, String)>,
    /// The same for members of the scope, in the specific context.
    pub renamed_in_scope: Vec<(String, String)>,
    /// `true` if some values became texts, because the types in an array or a list differ.
    pub has_lowered_values: bool,
    /// `true` if attributes of the resource or scope became texts, because there were too many.
    pub has_changed_origin: bool,
    /// `true` if metadata of the metric, entities of the resource, or long texts and attributes were not read.
    pub has_unread_fields: bool,
    /// `true` if there were too many classes: the payload has the names and texts of all fields in an array.
    pub is_shared: bool,
}

impl ElementRole {
    /// Returns the name of the attribute in a payload member. `None` for other members.
    #[must_use]
    pub fn attribute<'n>(&'n self, member: &'n str) -> Option<&'n str> {
        if self.own.iter().any(|own| own == member) {
            return None;
        }
        let renamed = self.renamed.iter().find(|(renamed, _)| renamed == member);
        Some(renamed.map_or(member, |(_, original)| original))
    }

    /// Converts the role to a map.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let text = |text: &str| Value::Text(text.to_owned());
        let mut entries = vec![
            (PART, text(self.part.name())),
            (NAME, text(&self.name)),
            (OWN, Value::Array(self.own.iter().map(|name| text(name)).collect())),
        ];
        if !self.description.is_empty() {
            entries.push((DESCRIPTION, text(&self.description)));
        }
        for (entry, renamed) in [
            (RENAMED, &self.renamed),
            (RENAMED_IN_RESOURCE, &self.renamed_in_resource),
            (RENAMED_IN_SCOPE, &self.renamed_in_scope),
        ] {
            let renamed = renamed.iter();
            let renamed = renamed.map(|(member, name)| Value::Array(vec![text(member), text(name)]));
            let renamed: Vec<Value> = renamed.collect();
            if !renamed.is_empty() {
                entries.push((entry, Value::Array(renamed)));
            }
        }
        for (name, is_set) in [
            (LOWERED, self.has_lowered_values),
            (CHANGED_ORIGIN, self.has_changed_origin),
            (UNREAD, self.has_unread_fields),
            (SHARED, self.is_shared),
        ] {
            if is_set {
                entries.push((name, Value::Boolean(true)));
            }
        }
        Value::Map(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Reads the role from a map. `None` if it is unknown.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_text().map(str::to_owned);
        let list = |name: &str| match value.get(name) {
            Some(Value::Array(list)) => list.as_slice(),
            _ => &[],
        };
        let pair = |pair: &Value| match pair {
            Value::Array(pair) => match pair.as_slice() {
                [member, name] => Some((text(member)?, text(name)?)),
                _ => None,
            },
            _ => None,
        };
        let is_set = |name: &str| value.get(name) == Some(&Value::Boolean(true));
        Some(Self {
            part: ElementPart::from_name(value.get(PART)?.as_text()?)?,
            name: value.get(NAME).and_then(text)?,
            description: value.get(DESCRIPTION).and_then(text).unwrap_or_default(),
            own: list(OWN).iter().filter_map(text).collect(),
            renamed: list(RENAMED).iter().filter_map(pair).collect(),
            renamed_in_resource: list(RENAMED_IN_RESOURCE).iter().filter_map(pair).collect(),
            renamed_in_scope: list(RENAMED_IN_SCOPE).iter().filter_map(pair).collect(),
            has_lowered_values: is_set(LOWERED),
            has_changed_origin: is_set(CHANGED_ORIGIN),
            has_unread_fields: is_set(UNREAD),
            is_shared: is_set(SHARED),
        })
    }
}

/// Entry names.
const PART: &str = "part";
const NAME: &str = "name";
const OWN: &str = "own";
const DESCRIPTION: &str = "description";
const RENAMED: &str = "renamed";
const RENAMED_IN_RESOURCE: &str = "renamed-in-resource";
const RENAMED_IN_SCOPE: &str = "renamed-in-scope";
const LOWERED: &str = "lowered";
const CHANGED_ORIGIN: &str = "changed-origin";
const UNREAD: &str = "unread";
const SHARED: &str = "shared";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_kept_as_values() {
        let role = ElementRole {
            part: ElementPart::SpanBegin,
            name: "GET".to_owned(),
            own: vec!["span".to_owned(), "kind".to_owned()],
            description: "text".to_owned(),
            renamed: vec![("kind_2".to_owned(), "kind".to_owned())],
            renamed_in_resource: vec![("a_2".to_owned(), "a".to_owned())],
            renamed_in_scope: vec![("b".to_owned(), "b".to_owned())],
            has_lowered_values: true,
            has_changed_origin: true,
            has_unread_fields: true,
            is_shared: false,
        };
        assert_eq!(ElementRole::from_value(&role.to_value()), Some(role.clone()));
        let names = ["kind", "kind_2", "a"].map(|member| role.attribute(member));
        assert_eq!(names, [None, Some("kind"), Some("a")]);
        for wrong in [Value::Null, Value::Map(vec![]), Value::Map(vec![("part".to_owned(), Value::Null)])] {
            assert_eq!(ElementRole::from_value(&wrong), None);
        }
    }
}
