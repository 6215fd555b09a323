//! Fields of OpenTelemetry's messages (`opentelemetry/proto` in its repository).

/// Requests (`ExportTraceServiceRequest` and the others), whose fields in protobuf have equal numbers. In JSON, the
/// fields differ.
pub(crate) mod request {
    use crate::input::FieldName;

    pub(crate) const SPANS: u32 = 1;
    pub(crate) const LOGS: u32 = 2;
    pub(crate) const METRICS: u32 = 3;
    /// Names with numbers of our own.
    pub(crate) const JSON: &[FieldName] =
        &[("resourceSpans", SPANS), ("resourceLogs", LOGS), ("resourceMetrics", METRICS)];
    pub(crate) const PROTOBUF: &[FieldName] = &[("", 1)];
}

/// `ResourceSpans` and the others.
pub(crate) mod resource_elements {
    use crate::input::FieldName;

    pub(crate) const RESOURCE: u32 = 1;
    pub(crate) const HEAD: &[FieldName] = &[("resource", RESOURCE), ("schemaUrl", 3)];
    pub(crate) const SCOPES: [&[FieldName]; 3] =
        [&[("scopeSpans", 2)], &[("scopeLogs", 2)], &[("scopeMetrics", 2)]];
}

/// `ScopeSpans` and the others.
pub(crate) mod scope_elements {
    use crate::input::FieldName;

    pub(crate) const SCOPE: u32 = 1;
    pub(crate) const HEAD: &[FieldName] = &[("scope", SCOPE), ("schemaUrl", 3)];
    pub(crate) const ELEMENTS: [&[FieldName]; 3] = [&[("spans", 2)], &[("logRecords", 2)], &[("metrics", 2)]];
}

/// `Resource`
pub(crate) mod resource {
    use crate::input::FieldName;

    pub(crate) const ATTRIBUTES: u32 = 1;
    pub(crate) const ENTITIES: u32 = 3;
    pub(crate) const FIELDS: &[FieldName] =
        &[("attributes", ATTRIBUTES), ("droppedAttributesCount", 2), ("entityRefs", ENTITIES)];
}

/// `InstrumentationScope`
pub(crate) mod scope {
    use crate::input::FieldName;

    pub(crate) const NAME: u32 = 1;
    pub(crate) const VERSION: u32 = 2;
    pub(crate) const ATTRIBUTES: u32 = 3;
    pub(crate) const FIELDS: &[FieldName] =
        &[("name", NAME), ("version", VERSION), ("attributes", ATTRIBUTES), ("droppedAttributesCount", 4)];
}

/// `KeyValue`, `AnyValue`, `ArrayValue`, `KeyValueList`
pub(crate) mod value {
    use crate::input::FieldName;

    pub(crate) const KEY: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
    pub(crate) const PAIR: &[FieldName] = &[("key", KEY), ("value", VALUE)];
    pub(crate) const TEXT: u32 = 1;
    pub(crate) const BOOLEAN: u32 = 2;
    pub(crate) const INTEGER: u32 = 3;
    pub(crate) const DOUBLE: u32 = 4;
    pub(crate) const ARRAY: u32 = 5;
    pub(crate) const LIST: u32 = 6;
    pub(crate) const BYTES: u32 = 7;
    pub(crate) const ANY: &[FieldName] = &[
        ("stringValue", TEXT),
        ("boolValue", BOOLEAN),
        ("intValue", INTEGER),
        ("doubleValue", DOUBLE),
        ("arrayValue", ARRAY),
        ("kvlistValue", LIST),
        ("bytesValue", BYTES),
    ];
    /// Of arrays and lists.
    pub(crate) const VALUES: &[FieldName] = &[("values", 1)];
}

/// `Span`
pub(crate) mod span {
    use crate::input::FieldName;

    pub(crate) const TRACE_ID: u32 = 1;
    pub(crate) const SPAN_ID: u32 = 2;
    pub(crate) const TRACE_STATE: u32 = 3;
    pub(crate) const PARENT: u32 = 4;
    pub(crate) const NAME: u32 = 5;
    pub(crate) const KIND: u32 = 6;
    pub(crate) const START: u32 = 7;
    pub(crate) const END: u32 = 8;
    pub(crate) const ATTRIBUTES: u32 = 9;
    pub(crate) const DROPPED_ATTRIBUTES: u32 = 10;
    pub(crate) const EVENTS: u32 = 11;
    pub(crate) const DROPPED_EVENTS: u32 = 12;
    pub(crate) const LINKS: u32 = 13;
    pub(crate) const DROPPED_LINKS: u32 = 14;
    pub(crate) const STATUS: u32 = 15;
    pub(crate) const FLAGS: u32 = 16;
    pub(crate) const FIELDS: &[FieldName] = &[
        ("traceId", TRACE_ID),
        ("spanId", SPAN_ID),
        ("traceState", TRACE_STATE),
        ("parentSpanId", PARENT),
        ("name", NAME),
        ("kind", KIND),
        ("startTimeUnixNano", START),
        ("endTimeUnixNano", END),
        ("attributes", ATTRIBUTES),
        ("droppedAttributesCount", DROPPED_ATTRIBUTES),
        ("events", EVENTS),
        ("droppedEventsCount", DROPPED_EVENTS),
        ("links", LINKS),
        ("droppedLinksCount", DROPPED_LINKS),
        ("status", STATUS),
        ("flags", FLAGS),
    ];
}

/// `Status`
pub(crate) mod status {
    use crate::input::FieldName;

    pub(crate) const MESSAGE: u32 = 2;
    pub(crate) const CODE: u32 = 3;
    pub(crate) const FIELDS: &[FieldName] = &[("message", MESSAGE), ("code", CODE)];
}

/// `Span.Event`
pub(crate) mod span_event {
    use crate::input::FieldName;

    pub(crate) const TIME: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const ATTRIBUTES: u32 = 3;
    pub(crate) const DROPPED_ATTRIBUTES: u32 = 4;
    pub(crate) const FIELDS: &[FieldName] = &[
        ("timeUnixNano", TIME),
        ("name", NAME),
        ("attributes", ATTRIBUTES),
        ("droppedAttributesCount", DROPPED_ATTRIBUTES),
    ];
}

/// `Span.Link`
pub(crate) mod link {
    use crate::input::FieldName;

    pub(crate) const TRACE_ID: u32 = 1;
    pub(crate) const SPAN_ID: u32 = 2;
    pub(crate) const TRACE_STATE: u32 = 3;
    pub(crate) const ATTRIBUTES: u32 = 4;
    pub(crate) const DROPPED_ATTRIBUTES: u32 = 5;
    pub(crate) const FLAGS: u32 = 6;
    pub(crate) const FIELDS: &[FieldName] = &[
        ("traceId", TRACE_ID),
        ("spanId", SPAN_ID),
        ("traceState", TRACE_STATE),
        ("attributes", ATTRIBUTES),
        ("droppedAttributesCount", DROPPED_ATTRIBUTES),
        ("flags", FLAGS),
    ];
}

/// `LogRecord`
pub(crate) mod log {
    use crate::input::FieldName;

    pub(crate) const TIME: u32 = 1;
    pub(crate) const SEVERITY: u32 = 2;
    pub(crate) const SEVERITY_TEXT: u32 = 3;
    pub(crate) const BODY: u32 = 5;
    pub(crate) const ATTRIBUTES: u32 = 6;
    pub(crate) const DROPPED_ATTRIBUTES: u32 = 7;
    pub(crate) const FLAGS: u32 = 8;
    pub(crate) const TRACE_ID: u32 = 9;
    pub(crate) const SPAN_ID: u32 = 10;
    pub(crate) const OBSERVED_TIME: u32 = 11;
    pub(crate) const EVENT_NAME: u32 = 12;
    pub(crate) const FIELDS: &[FieldName] = &[
        ("timeUnixNano", TIME),
        ("severityNumber", SEVERITY),
        ("severityText", SEVERITY_TEXT),
        ("body", BODY),
        ("attributes", ATTRIBUTES),
        ("droppedAttributesCount", DROPPED_ATTRIBUTES),
        ("flags", FLAGS),
        ("traceId", TRACE_ID),
        ("spanId", SPAN_ID),
        ("observedTimeUnixNano", OBSERVED_TIME),
        ("eventName", EVENT_NAME),
    ];
    /// Ends of the names of severities, from 0 on. No name is the end of an earlier one.
    pub(crate) const SEVERITIES: [&str; 25] = [
        "unspecified",
        "trace",
        "trace2",
        "trace3",
        "trace4",
        "debug",
        "debug2",
        "debug3",
        "debug4",
        "info",
        "info2",
        "info3",
        "info4",
        "warn",
        "warn2",
        "warn3",
        "warn4",
        "error",
        "error2",
        "error3",
        "error4",
        "fatal",
        "fatal2",
        "fatal3",
        "fatal4",
    ];
}

/// `Metric`, and the messages with its data points, whose fields have equal numbers.
pub(crate) mod metric {
    use crate::input::FieldName;

    pub(crate) const NAME: u32 = 1;
    pub(crate) const DESCRIPTION: u32 = 2;
    pub(crate) const UNIT: u32 = 3;
    pub(crate) const GAUGE: u32 = 5;
    pub(crate) const SUM: u32 = 7;
    pub(crate) const HISTOGRAM: u32 = 9;
    pub(crate) const EXPONENTIAL: u32 = 10;
    pub(crate) const SUMMARY: u32 = 11;
    pub(crate) const METADATA: u32 = 12;
    pub(crate) const FIELDS: &[FieldName] = &[
        ("name", NAME),
        ("description", DESCRIPTION),
        ("unit", UNIT),
        ("gauge", GAUGE),
        ("sum", SUM),
        ("histogram", HISTOGRAM),
        ("exponentialHistogram", EXPONENTIAL),
        ("summary", SUMMARY),
        ("metadata", METADATA),
    ];
    pub(crate) const POINTS: &[FieldName] = &[("dataPoints", 1)];
    pub(crate) const TEMPORALITY: u32 = 2;
    pub(crate) const IS_MONOTONIC: u32 = 3;
    pub(crate) const DATA: &[FieldName] =
        &[("aggregationTemporality", TEMPORALITY), ("isMonotonic", IS_MONOTONIC)];
}

/// Data points. `NumberDataPoint`, `HistogramDataPoint`, `ExponentialHistogramDataPoint` and `SummaryDataPoint` have
/// different numbers.
pub(crate) mod point {
    use crate::input::FieldName;

    pub(crate) const NUMBER: &[FieldName] = &[
        ("startTimeUnixNano", 2),
        ("timeUnixNano", 3),
        ("asDouble", 4),
        ("exemplars", 5),
        ("asInt", 6),
        ("attributes", 7),
        ("flags", 8),
    ];
    pub(crate) const HISTOGRAM: &[FieldName] = &[
        ("startTimeUnixNano", 2),
        ("timeUnixNano", 3),
        ("count", 4),
        ("sum", 5),
        ("bucketCounts", 6),
        ("explicitBounds", 7),
        ("exemplars", 8),
        ("attributes", 9),
        ("flags", 10),
        ("min", 11),
        ("max", 12),
    ];
    pub(crate) const EXPONENTIAL: &[FieldName] = &[
        ("attributes", 1),
        ("startTimeUnixNano", 2),
        ("timeUnixNano", 3),
        ("count", 4),
        ("sum", 5),
        ("scale", 6),
        ("zeroCount", 7),
        ("positive", 8),
        ("negative", 9),
        ("flags", 10),
        ("exemplars", 11),
        ("min", 12),
        ("max", 13),
        ("zeroThreshold", 14),
    ];
    /// `Buckets` of exponential histograms.
    pub(crate) const OFFSET: u32 = 1;
    pub(crate) const BUCKETS: &[FieldName] = &[("offset", OFFSET), ("bucketCounts", 2)];
    pub(crate) const SUMMARY: &[FieldName] = &[
        ("startTimeUnixNano", 2),
        ("timeUnixNano", 3),
        ("count", 4),
        ("sum", 5),
        ("quantileValues", 6),
        ("attributes", 7),
        ("flags", 8),
    ];
    /// `ValueAtQuantile`
    pub(crate) const QUANTILE: u32 = 1;
    pub(crate) const QUANTILES: &[FieldName] = &[("quantile", QUANTILE), ("value", 2)];
}

/// `Exemplar`
pub(crate) mod exemplar {
    use crate::input::FieldName;

    pub(crate) const TIME: u32 = 2;
    pub(crate) const DOUBLE: u32 = 3;
    pub(crate) const SPAN_ID: u32 = 4;
    pub(crate) const TRACE_ID: u32 = 5;
    pub(crate) const INTEGER: u32 = 6;
    pub(crate) const ATTRIBUTES: u32 = 7;
    pub(crate) const FIELDS: &[FieldName] = &[
        ("timeUnixNano", TIME),
        ("asDouble", DOUBLE),
        ("spanId", SPAN_ID),
        ("traceId", TRACE_ID),
        ("asInt", INTEGER),
        ("filteredAttributes", ATTRIBUTES),
    ];
}
