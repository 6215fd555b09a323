//! OpenTelemetry message fields (`opentelemetry/proto` in its repository): JSON names and protobuf numbers.

/// `AnyValue`, `ArrayValue`, `KeyValueList`, `KeyValue` (`common/v1`)
pub(super) mod value {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const STRING: OtlpField = OtlpField::new("stringValue", 1);
    pub(crate) const BOOLEAN: OtlpField = OtlpField::new("boolValue", 2);
    pub(crate) const INTEGER: OtlpField = OtlpField::new("intValue", 3);
    pub(crate) const DOUBLE: OtlpField = OtlpField::new("doubleValue", 4);
    pub(crate) const ARRAY: OtlpField = OtlpField::new("arrayValue", 5);
    pub(crate) const LIST: OtlpField = OtlpField::new("kvlistValue", 6);
    /// Field of both arrays and lists.
    pub(crate) const VALUES: OtlpField = OtlpField::new("values", 1);
    pub(crate) const KEY: OtlpField = OtlpField::new("key", 1);
    pub(crate) const VALUE: OtlpField = OtlpField::new("value", 2);
}

/// `Resource` and `InstrumentationScope`
pub(super) mod resource {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const ATTRIBUTES: OtlpField = OtlpField::new("attributes", 1);
    pub(crate) const SCOPE_NAME: OtlpField = OtlpField::new("name", 1);
}

/// `TracesData`, `LogsData`, `MetricsData`, and their inner messages, whose field numbers are equal.
pub(super) mod data {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const RESOURCE_SPANS: OtlpField = OtlpField::new("resourceSpans", 1);
    pub(crate) const RESOURCE_LOGS: OtlpField = OtlpField::new("resourceLogs", 1);
    pub(crate) const RESOURCE_METRICS: OtlpField = OtlpField::new("resourceMetrics", 1);
    pub(crate) const RESOURCE: OtlpField = OtlpField::new("resource", 1);
    pub(crate) const SCOPE_SPANS: OtlpField = OtlpField::new("scopeSpans", 2);
    pub(crate) const SCOPE_LOGS: OtlpField = OtlpField::new("scopeLogs", 2);
    pub(crate) const SCOPE_METRICS: OtlpField = OtlpField::new("scopeMetrics", 2);
    pub(crate) const SCOPE: OtlpField = OtlpField::new("scope", 1);
    pub(crate) const SPANS: OtlpField = OtlpField::new("spans", 2);
    pub(crate) const LOG_RECORDS: OtlpField = OtlpField::new("logRecords", 2);
    pub(crate) const METRICS: OtlpField = OtlpField::new("metrics", 2);
}

/// `Span` with `Event` and `Link` (`trace/v1`)
pub(super) mod span {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const TRACE_ID: OtlpField = OtlpField::new("traceId", 1);
    pub(crate) const SPAN_ID: OtlpField = OtlpField::new("spanId", 2);
    pub(crate) const PARENT: OtlpField = OtlpField::new("parentSpanId", 4);
    pub(crate) const NAME: OtlpField = OtlpField::new("name", 5);
    pub(crate) const KIND: OtlpField = OtlpField::new("kind", 6);
    /// `SPAN_KIND_INTERNAL`
    pub(crate) const INTERNAL: u64 = 1;
    pub(crate) const START: OtlpField = OtlpField::new("startTimeUnixNano", 7);
    pub(crate) const END: OtlpField = OtlpField::new("endTimeUnixNano", 8);
    pub(crate) const ATTRIBUTES: OtlpField = OtlpField::new("attributes", 9);
    pub(crate) const EVENTS: OtlpField = OtlpField::new("events", 11);
    pub(crate) const LINKS: OtlpField = OtlpField::new("links", 13);
    pub(crate) const EVENT_TIME: OtlpField = OtlpField::new("timeUnixNano", 1);
    pub(crate) const EVENT_NAME: OtlpField = OtlpField::new("name", 2);
    pub(crate) const EVENT_ATTRIBUTES: OtlpField = OtlpField::new("attributes", 3);
}

/// `LogRecord` (`logs/v1`)
pub(super) mod log {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const TIME: OtlpField = OtlpField::new("timeUnixNano", 1);
    pub(crate) const SEVERITY: OtlpField = OtlpField::new("severityNumber", 2);
    pub(crate) const SEVERITY_TEXT: OtlpField = OtlpField::new("severityText", 3);
    pub(crate) const BODY: OtlpField = OtlpField::new("body", 5);
    pub(crate) const ATTRIBUTES: OtlpField = OtlpField::new("attributes", 6);
    pub(crate) const TRACE_ID: OtlpField = OtlpField::new("traceId", 9);
    pub(crate) const SPAN_ID: OtlpField = OtlpField::new("spanId", 10);
    pub(crate) const EVENT_NAME: OtlpField = OtlpField::new("eventName", 12);
}

/// `Metric`, `Gauge`, `NumberDataPoint` (`metrics/v1`)
pub(super) mod metric {
    use crate::otlp::encoding::OtlpField;

    pub(crate) const NAME: OtlpField = OtlpField::new("name", 1);
    pub(crate) const UNIT: OtlpField = OtlpField::new("unit", 3);
    pub(crate) const GAUGE: OtlpField = OtlpField::new("gauge", 5);
    pub(crate) const POINTS: OtlpField = OtlpField::new("dataPoints", 1);
    pub(crate) const TIME: OtlpField = OtlpField::new("timeUnixNano", 3);
    pub(crate) const DOUBLE: OtlpField = OtlpField::new("asDouble", 4);
    pub(crate) const INTEGER: OtlpField = OtlpField::new("asInt", 6);
    pub(crate) const ATTRIBUTES: OtlpField = OtlpField::new("attributes", 7);
}
