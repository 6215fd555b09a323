//! OpenTelemetry message fields (`opentelemetry/proto` in its repository): JSON names and protobuf numbers.

macro_rules! field {
    ($name:literal, $number:literal) => {
        OtlpField { member: concat!(",\"", $name, "\":"), number: $number }
    };
}

/// `AnyValue`, `ArrayValue`, `KeyValueList`, `KeyValue` (`common/v1`)
pub(super) mod value {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const STRING: OtlpField = field!("stringValue", 1);
    pub(crate) const BOOLEAN: OtlpField = field!("boolValue", 2);
    pub(crate) const INTEGER: OtlpField = field!("intValue", 3);
    pub(crate) const DOUBLE: OtlpField = field!("doubleValue", 4);
    pub(crate) const ARRAY: OtlpField = field!("arrayValue", 5);
    pub(crate) const LIST: OtlpField = field!("kvlistValue", 6);
    pub(crate) const BYTES: OtlpField = field!("bytesValue", 7);
    /// Field of both arrays and lists.
    pub(crate) const VALUES: OtlpField = field!("values", 1);
    pub(crate) const KEY: OtlpField = field!("key", 1);
    pub(crate) const VALUE: OtlpField = field!("value", 2);
}

/// `Resource` and `InstrumentationScope`
pub(super) mod resource {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const ATTRIBUTES: OtlpField = field!("attributes", 1);
    pub(crate) const DROPPED_ATTRIBUTES: OtlpField = field!("droppedAttributesCount", 2);
    pub(crate) const SCOPE_NAME: OtlpField = field!("name", 1);
    pub(crate) const SCOPE_VERSION: OtlpField = field!("version", 2);
    pub(crate) const SCOPE_ATTRIBUTES: OtlpField = field!("attributes", 3);
    pub(crate) const SCOPE_DROPPED_ATTRIBUTES: OtlpField = field!("droppedAttributesCount", 4);
}

/// `TracesData`, `LogsData`, `MetricsData`, and their inner messages, whose field numbers are equal.
pub(super) mod data {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const RESOURCE_SPANS: OtlpField = field!("resourceSpans", 1);
    pub(crate) const RESOURCE_LOGS: OtlpField = field!("resourceLogs", 1);
    pub(crate) const RESOURCE_METRICS: OtlpField = field!("resourceMetrics", 1);
    pub(crate) const RESOURCE: OtlpField = field!("resource", 1);
    pub(crate) const SCOPE_SPANS: OtlpField = field!("scopeSpans", 2);
    pub(crate) const SCOPE_LOGS: OtlpField = field!("scopeLogs", 2);
    pub(crate) const SCOPE_METRICS: OtlpField = field!("scopeMetrics", 2);
    pub(crate) const SCOPE: OtlpField = field!("scope", 1);
    pub(crate) const SPANS: OtlpField = field!("spans", 2);
    pub(crate) const LOG_RECORDS: OtlpField = field!("logRecords", 2);
    pub(crate) const METRICS: OtlpField = field!("metrics", 2);
    /// Of resources and scopes.
    pub(crate) const SCHEMA_URL: OtlpField = field!("schemaUrl", 3);
}

/// `Span` with `Event` and `Link` (`trace/v1`)
pub(super) mod span {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const TRACE_ID: OtlpField = field!("traceId", 1);
    pub(crate) const SPAN_ID: OtlpField = field!("spanId", 2);
    pub(crate) const TRACE_STATE: OtlpField = field!("traceState", 3);
    pub(crate) const PARENT: OtlpField = field!("parentSpanId", 4);
    pub(crate) const NAME: OtlpField = field!("name", 5);
    pub(crate) const KIND: OtlpField = field!("kind", 6);
    /// `SPAN_KIND_INTERNAL`
    pub(crate) const INTERNAL: u64 = 1;
    pub(crate) const START: OtlpField = field!("startTimeUnixNano", 7);
    pub(crate) const END: OtlpField = field!("endTimeUnixNano", 8);
    pub(crate) const ATTRIBUTES: OtlpField = field!("attributes", 9);
    pub(crate) const DROPPED_ATTRIBUTES: OtlpField = field!("droppedAttributesCount", 10);
    pub(crate) const EVENTS: OtlpField = field!("events", 11);
    pub(crate) const DROPPED_EVENTS: OtlpField = field!("droppedEventsCount", 12);
    pub(crate) const LINKS: OtlpField = field!("links", 13);
    pub(crate) const DROPPED_LINKS: OtlpField = field!("droppedLinksCount", 14);
    pub(crate) const STATUS: OtlpField = field!("status", 15);
    pub(crate) const STATUS_MESSAGE: OtlpField = field!("message", 2);
    pub(crate) const STATUS_CODE: OtlpField = field!("code", 3);
    pub(crate) const FLAGS: OtlpField = field!("flags", 16);
    pub(crate) const EVENT_TIME: OtlpField = field!("timeUnixNano", 1);
    pub(crate) const EVENT_NAME: OtlpField = field!("name", 2);
    pub(crate) const EVENT_ATTRIBUTES: OtlpField = field!("attributes", 3);
    pub(crate) const EVENT_DROPPED_ATTRIBUTES: OtlpField = field!("droppedAttributesCount", 4);
    pub(crate) const LINK_TRACE_STATE: OtlpField = field!("traceState", 3);
    pub(crate) const LINK_ATTRIBUTES: OtlpField = field!("attributes", 4);
    pub(crate) const LINK_DROPPED_ATTRIBUTES: OtlpField = field!("droppedAttributesCount", 5);
    pub(crate) const LINK_FLAGS: OtlpField = field!("flags", 6);
}

/// `LogRecord` (`logs/v1`)
pub(super) mod log {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const TIME: OtlpField = field!("timeUnixNano", 1);
    pub(crate) const SEVERITY: OtlpField = field!("severityNumber", 2);
    pub(crate) const SEVERITY_TEXT: OtlpField = field!("severityText", 3);
    pub(crate) const BODY: OtlpField = field!("body", 5);
    pub(crate) const ATTRIBUTES: OtlpField = field!("attributes", 6);
    pub(crate) const DROPPED_ATTRIBUTES: OtlpField = field!("droppedAttributesCount", 7);
    pub(crate) const FLAGS: OtlpField = field!("flags", 8);
    pub(crate) const TRACE_ID: OtlpField = field!("traceId", 9);
    pub(crate) const SPAN_ID: OtlpField = field!("spanId", 10);
    pub(crate) const OBSERVED_TIME: OtlpField = field!("observedTimeUnixNano", 11);
    pub(crate) const EVENT_NAME: OtlpField = field!("eventName", 12);
}

/// `Metric`, `Gauge`, `Sum`, `NumberDataPoint` (`metrics/v1`)
pub(super) mod metric {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const NAME: OtlpField = field!("name", 1);
    pub(crate) const DESCRIPTION: OtlpField = field!("description", 2);
    pub(crate) const UNIT: OtlpField = field!("unit", 3);
    pub(crate) const GAUGE: OtlpField = field!("gauge", 5);
    pub(crate) const SUM: OtlpField = field!("sum", 7);
    pub(crate) const HISTOGRAM: OtlpField = field!("histogram", 9);
    pub(crate) const EXPONENTIAL: OtlpField = field!("exponentialHistogram", 10);
    pub(crate) const SUMMARY: OtlpField = field!("summary", 11);
    /// Of sums and histograms.
    pub(crate) const TEMPORALITY: OtlpField = field!("aggregationTemporality", 2);
    pub(crate) const IS_MONOTONIC: OtlpField = field!("isMonotonic", 3);
    pub(crate) const START: OtlpField = field!("startTimeUnixNano", 2);
    pub(crate) const POINTS: OtlpField = field!("dataPoints", 1);
    pub(crate) const TIME: OtlpField = field!("timeUnixNano", 3);
    pub(crate) const DOUBLE: OtlpField = field!("asDouble", 4);
    pub(crate) const EXEMPLARS: OtlpField = field!("exemplars", 5);
    pub(crate) const INTEGER: OtlpField = field!("asInt", 6);
    pub(crate) const ATTRIBUTES: OtlpField = field!("attributes", 7);
    pub(crate) const FLAGS: OtlpField = field!("flags", 8);
}

/// `HistogramDataPoint`, whose start and time have the numbers of `NumberDataPoint`
pub(super) mod histogram {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const COUNT: OtlpField = field!("count", 4);
    pub(crate) const SUM: OtlpField = field!("sum", 5);
    pub(crate) const BUCKET_COUNTS: OtlpField = field!("bucketCounts", 6);
    pub(crate) const EXPLICIT_BOUNDS: OtlpField = field!("explicitBounds", 7);
    pub(crate) const EXEMPLARS: OtlpField = field!("exemplars", 8);
    pub(crate) const ATTRIBUTES: OtlpField = field!("attributes", 9);
    pub(crate) const FLAGS: OtlpField = field!("flags", 10);
    pub(crate) const MIN: OtlpField = field!("min", 11);
    pub(crate) const MAX: OtlpField = field!("max", 12);
}

/// `ExponentialHistogramDataPoint`, whose count and sum have the numbers of `HistogramDataPoint`, with its `Buckets`
pub(super) mod exponential {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const ATTRIBUTES: OtlpField = field!("attributes", 1);
    pub(crate) const SCALE: OtlpField = field!("scale", 6);
    pub(crate) const ZERO_COUNT: OtlpField = field!("zeroCount", 7);
    pub(crate) const POSITIVE: OtlpField = field!("positive", 8);
    pub(crate) const NEGATIVE: OtlpField = field!("negative", 9);
    pub(crate) const FLAGS: OtlpField = field!("flags", 10);
    pub(crate) const EXEMPLARS: OtlpField = field!("exemplars", 11);
    pub(crate) const MIN: OtlpField = field!("min", 12);
    pub(crate) const MAX: OtlpField = field!("max", 13);
    pub(crate) const ZERO_THRESHOLD: OtlpField = field!("zeroThreshold", 14);
    pub(crate) const OFFSET: OtlpField = field!("offset", 1);
    pub(crate) const BUCKET_COUNTS: OtlpField = field!("bucketCounts", 2);
}

/// `SummaryDataPoint`, whose other fields have the numbers of `NumberDataPoint` and `HistogramDataPoint`, with its
/// `ValueAtQuantile`
pub(super) mod summary {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const QUANTILES: OtlpField = field!("quantileValues", 6);
    pub(crate) const QUANTILE: OtlpField = field!("quantile", 1);
    pub(crate) const VALUE: OtlpField = field!("value", 2);
}

/// `Exemplar`
pub(super) mod exemplar {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const TIME: OtlpField = field!("timeUnixNano", 2);
    pub(crate) const DOUBLE: OtlpField = field!("asDouble", 3);
    pub(crate) const SPAN_ID: OtlpField = field!("spanId", 4);
    pub(crate) const TRACE_ID: OtlpField = field!("traceId", 5);
    pub(crate) const INTEGER: OtlpField = field!("asInt", 6);
    pub(crate) const ATTRIBUTES: OtlpField = field!("filteredAttributes", 7);
}
