//! Encodes requests in JSON as protobuf, as OpenTelemetry's messages define it.

use serde_json::Value as Json;

/// Kind of a field.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Id,
    Base64,
    Varint,
    Signed,
    Zigzag,
    Fixed,
    FixedSigned,
    Fixed32,
    Double,
    Bool,
    PackedFixed,
    PackedDouble,
    PackedVarint,
    /// A message, given its fields.
    Message(&'static Schema),
    /// `AnyValue`, whose fields contain it.
    Any,
}

type Schema = [(&'static str, u32, Kind)];

use Kind::*;

static ANY: &Schema = &[
    ("stringValue", 1, Text),
    ("boolValue", 2, Bool),
    ("intValue", 3, Signed),
    ("doubleValue", 4, Double),
    ("arrayValue", 5, Message(ARRAY)),
    ("kvlistValue", 6, Message(LIST)),
    ("bytesValue", 7, Base64),
];
static ARRAY: &Schema = &[("values", 1, Any)];
static LIST: &Schema = &[("values", 1, Message(PAIR))];
static PAIR: &Schema = &[("key", 1, Text), ("value", 2, Any)];
static RESOURCE: &Schema = &[("attributes", 1, Message(PAIR))];
static SCOPE: &Schema = &[("name", 1, Text), ("version", 2, Text), ("attributes", 3, Message(PAIR))];
static EVENT: &Schema = &[
    ("timeUnixNano", 1, Fixed),
    ("name", 2, Text),
    ("attributes", 3, Message(PAIR)),
    ("droppedAttributesCount", 4, Varint),
];
static LINK: &Schema =
    &[("traceId", 1, Id), ("spanId", 2, Id), ("traceState", 3, Text), ("attributes", 4, Message(PAIR))];
static STATUS: &Schema = &[("message", 2, Text), ("code", 3, Varint)];
static SPAN: &Schema = &[
    ("traceId", 1, Id),
    ("spanId", 2, Id),
    ("traceState", 3, Text),
    ("parentSpanId", 4, Id),
    ("name", 5, Text),
    ("kind", 6, Varint),
    ("startTimeUnixNano", 7, Fixed),
    ("endTimeUnixNano", 8, Fixed),
    ("attributes", 9, Message(PAIR)),
    ("droppedAttributesCount", 10, Varint),
    ("events", 11, Message(EVENT)),
    ("droppedEventsCount", 12, Varint),
    ("links", 13, Message(LINK)),
    ("droppedLinksCount", 14, Varint),
    ("status", 15, Message(STATUS)),
    ("flags", 16, Fixed32),
];
static LOG: &Schema = &[
    ("timeUnixNano", 1, Fixed),
    ("severityNumber", 2, Varint),
    ("severityText", 3, Text),
    ("body", 5, Any),
    ("attributes", 6, Message(PAIR)),
    ("droppedAttributesCount", 7, Varint),
    ("flags", 8, Fixed32),
    ("traceId", 9, Id),
    ("spanId", 10, Id),
    ("observedTimeUnixNano", 11, Fixed),
    ("eventName", 12, Text),
];
static EXEMPLAR: &Schema = &[
    ("timeUnixNano", 2, Fixed),
    ("asDouble", 3, Double),
    ("spanId", 4, Id),
    ("traceId", 5, Id),
    ("asInt", 6, FixedSigned),
    ("filteredAttributes", 7, Message(PAIR)),
];
static NUMBER: &Schema = &[
    ("startTimeUnixNano", 2, Fixed),
    ("timeUnixNano", 3, Fixed),
    ("asDouble", 4, Double),
    ("exemplars", 5, Message(EXEMPLAR)),
    ("asInt", 6, FixedSigned),
    ("attributes", 7, Message(PAIR)),
    ("flags", 8, Varint),
];
static HISTOGRAM: &Schema = &[
    ("startTimeUnixNano", 2, Fixed),
    ("timeUnixNano", 3, Fixed),
    ("count", 4, Fixed),
    ("sum", 5, Double),
    ("bucketCounts", 6, PackedFixed),
    ("explicitBounds", 7, PackedDouble),
    ("exemplars", 8, Message(EXEMPLAR)),
    ("attributes", 9, Message(PAIR)),
    ("min", 11, Double),
    ("max", 12, Double),
];
static BUCKETS: &Schema = &[("offset", 1, Zigzag), ("bucketCounts", 2, PackedVarint)];
static EXPONENTIAL: &Schema = &[
    ("attributes", 1, Message(PAIR)),
    ("startTimeUnixNano", 2, Fixed),
    ("timeUnixNano", 3, Fixed),
    ("count", 4, Fixed),
    ("sum", 5, Double),
    ("scale", 6, Zigzag),
    ("zeroCount", 7, Fixed),
    ("positive", 8, Message(BUCKETS)),
    ("negative", 9, Message(BUCKETS)),
    ("exemplars", 11, Message(EXEMPLAR)),
    ("min", 12, Double),
    ("zeroThreshold", 14, Double),
];
static QUANTILE: &Schema = &[("quantile", 1, Double), ("value", 2, Double)];
static SUMMARY: &Schema = &[
    ("timeUnixNano", 3, Fixed),
    ("count", 4, Fixed),
    ("sum", 5, Double),
    ("quantileValues", 6, Message(QUANTILE)),
    ("attributes", 7, Message(PAIR)),
];
static EXPONENTIALS: &Schema =
    &[("dataPoints", 1, Message(EXPONENTIAL)), ("aggregationTemporality", 2, Varint)];
static SUMMARIES: &Schema = &[("dataPoints", 1, Message(SUMMARY))];
static GAUGE: &Schema = &[("dataPoints", 1, Message(NUMBER))];
static SUM: &Schema =
    &[("dataPoints", 1, Message(NUMBER)), ("aggregationTemporality", 2, Varint), ("isMonotonic", 3, Bool)];
static HISTOGRAMS: &Schema = &[("dataPoints", 1, Message(HISTOGRAM)), ("aggregationTemporality", 2, Varint)];
static METRIC: &Schema = &[
    ("name", 1, Text),
    ("description", 2, Text),
    ("unit", 3, Text),
    ("gauge", 5, Message(GAUGE)),
    ("sum", 7, Message(SUM)),
    ("histogram", 9, Message(HISTOGRAMS)),
    ("exponentialHistogram", 10, Message(EXPONENTIALS)),
    ("summary", 11, Message(SUMMARIES)),
];
static SCOPE_SPANS: &Schema =
    &[("scope", 1, Message(SCOPE)), ("spans", 2, Message(SPAN)), ("schemaUrl", 3, Text)];
static SCOPE_LOGS: &Schema = &[("scope", 1, Message(SCOPE)), ("logRecords", 2, Message(LOG))];
static SCOPE_METRICS: &Schema = &[("scope", 1, Message(SCOPE)), ("metrics", 2, Message(METRIC))];
static RESOURCE_SPANS: &Schema =
    &[("resource", 1, Message(RESOURCE)), ("scopeSpans", 2, Message(SCOPE_SPANS)), ("schemaUrl", 3, Text)];
static RESOURCE_LOGS: &Schema = &[("resource", 1, Message(RESOURCE)), ("scopeLogs", 2, Message(SCOPE_LOGS))];
static RESOURCE_METRICS: &Schema =
    &[("resource", 1, Message(RESOURCE)), ("scopeMetrics", 2, Message(SCOPE_METRICS))];
static REQUEST: &Schema = &[
    ("resourceSpans", 1, Message(RESOURCE_SPANS)),
    ("resourceLogs", 1, Message(RESOURCE_LOGS)),
    ("resourceMetrics", 1, Message(RESOURCE_METRICS)),
];

/// Encodes a request of one signal.
pub(crate) fn to_protobuf(request: &Json) -> Vec<u8> {
    let mut out = Vec::new();
    message(request, REQUEST, &mut out);
    out
}

fn message(json: &Json, schema: &Schema, out: &mut Vec<u8>) {
    for (name, value) in json.as_object().unwrap() {
        let Some((_, number, kind)) = schema.iter().find(|(known, ..)| known == name) else {
            // A field of a later version.
            field(1000, &Json::from(7), Varint, out);
            continue;
        };
        match (kind, value) {
            (PackedFixed | PackedDouble | PackedVarint, Json::Array(numbers)) => {
                let mut packed = Vec::new();
                for value in numbers {
                    match kind {
                        PackedVarint => varint(unsigned(value), &mut packed),
                        PackedFixed => packed.extend_from_slice(&unsigned(value).to_le_bytes()),
                        _ => packed.extend_from_slice(&double(value).to_le_bytes()),
                    }
                }
                bytes(*number, &packed, out);
            }
            (_, Json::Array(elements)) => {
                elements.iter().for_each(|element| field(*number, element, *kind, out))
            }
            _ => field(*number, value, *kind, out),
        }
    }
}

fn unsigned(value: &Json) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn signed(value: &Json) -> u64 {
    value.as_i64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap()) as u64
}

fn double(value: &Json) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 2, out);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn field(number: u32, value: &Json, kind: Kind, out: &mut Vec<u8>) {
    let tag = |wire: u64, out: &mut Vec<u8>| varint(u64::from(number) << 3 | wire, out);
    let fixed = |bits: u64, out: &mut Vec<u8>| {
        tag(1, out);
        out.extend_from_slice(&bits.to_le_bytes());
    };
    let mut number_of = |bits: u64| {
        tag(0, out);
        varint(bits, out);
    };
    match kind {
        Varint => number_of(unsigned(value)),
        Signed => number_of(signed(value)),
        Zigzag => number_of(signed(value) << 1 ^ (signed(value) as i64 >> 63) as u64),
        Bool => number_of(value.as_bool().unwrap().into()),
        Fixed => fixed(unsigned(value), out),
        FixedSigned => fixed(signed(value), out),
        Double => fixed(double(value).to_bits(), out),
        Fixed32 => {
            tag(5, out);
            out.extend_from_slice(&(unsigned(value) as u32).to_le_bytes());
        }
        Text => bytes(number, value.as_str().unwrap().as_bytes(), out),
        Id => {
            let digits = value.as_str().unwrap().as_bytes();
            let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
            let id: Vec<u8> = pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
            bytes(number, &id, out);
        }
        Base64 => {
            // The tests have only these bytes.
            assert_eq!(value, "AAH/");
            bytes(number, &[0, 1, 255], out);
        }
        Message(_) | Any => {
            let schema = if let Message(schema) = kind { schema } else { ANY };
            let mut inner = Vec::new();
            message(value, schema, &mut inner);
            bytes(number, &inner, out);
        }
        PackedFixed | PackedDouble | PackedVarint => unreachable!(),
    }
}
