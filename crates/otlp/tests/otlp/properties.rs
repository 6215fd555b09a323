//! Any request is read as it was written, in both encodings.

use ichnos_testing::{Random, cases};
use serde_json::{Map, Value as Json, json};

use crate::encoder::to_protobuf;
use crate::support::{open, print, print_trace};

fn hex(random: &mut Random, bytes: usize) -> String {
    (0..bytes).map(|_| format!("{:02x}", random.number() as u8)).collect()
}

fn text(random: &mut Random) -> &'static str {
    random.pick(&["", "a", "GET /x", "\"\\\n", "ünï", "{\"a\":1}", "1", "name"])
}

fn any(random: &mut Random, depth: u32) -> Json {
    match random.below(if depth > 2 { 6 } else { 8 }) {
        0 => json!({}),
        1 => json!({"stringValue": text(random)}),
        2 => json!({"boolValue": random.below(2) == 0}),
        3 => json!({"intValue": (random.number() as i64).to_string()}),
        4 => json!({"doubleValue": random.pick(&[0.0, -1.5, 1e300, 5e-324])}),
        5 => json!({"bytesValue": "AAH/"}),
        6 => {
            let values: Vec<Json> = (0..random.below(4)).map(|_| any(random, depth + 1)).collect();
            json!({"arrayValue": {"values": values}})
        }
        _ => json!({"kvlistValue": {"values": attributes(random, depth + 1)}}),
    }
}

fn attributes(random: &mut Random, depth: u32) -> Vec<Json> {
    (0..random.below(4))
        .map(|_| {
            // A resource with an empty name is not recognized in protobuf.
            let key = random.pick(&["a", "b", "kind", "thread.id", "x.y", "message", "z"]);
            json!({"key": key, "value": any(random, depth)})
        })
        .collect()
}

/// Adds fields at random.
fn some(random: &mut Random, fields: Json) -> Json {
    let Json::Object(fields) = fields else { unreachable!() };
    let kept: Map<String, Json> = fields.into_iter().filter(|_| random.below(4) > 0).collect();
    Json::Object(kept)
}

fn time(random: &mut Random) -> String {
    (1_700_000_000_000_000_000 + random.below(1_000_000_000)).to_string()
}

fn span(random: &mut Random) -> Json {
    let event = json!({"timeUnixNano": time(random), "name": text(random), "attributes": attributes(random, 0),
        "droppedAttributesCount": 2});
    let link = json!({"traceId": hex(random, 16), "spanId": hex(random, 8), "traceState": text(random),
        "attributes": attributes(random, 0)});
    let fields = json!({
        "traceId": hex(random, 16), "spanId": hex(random, 8), "parentSpanId": hex(random, 8),
        "traceState": text(random), "name": text(random), "kind": random.below(8),
        "endTimeUnixNano": time(random), "attributes": attributes(random, 0),
        "droppedAttributesCount": random.below(3), "events": [some(random, event)], "droppedEventsCount": 1,
        "links": [some(random, link)], "status": {"code": random.below(4), "message": text(random)},
        "flags": 257, "unknown": 7,
    });
    let mut span = some(random, fields);
    // The time shows the signal.
    span["startTimeUnixNano"] = time(random).into();
    span
}

fn log(random: &mut Random) -> Json {
    let fields = json!({
        "severityNumber": random.below(26), "severityText": text(random), "body": any(random, 0),
        "attributes": attributes(random, 0), "traceId": hex(random, 16), "spanId": hex(random, 8),
        "observedTimeUnixNano": time(random), "eventName": text(random), "flags": 1, "droppedAttributesCount": 3,
    });
    let mut log = some(random, fields);
    log["timeUnixNano"] = time(random).into();
    log
}

/// Adds fields at random, and a time.
fn timed(random: &mut Random, fields: Json) -> Json {
    let mut point = some(random, fields);
    point["timeUnixNano"] = time(random).into();
    point
}

fn exemplars(random: &mut Random) -> Vec<Json> {
    let count = random.below(3);
    let mut exemplar = || {
        let mut fields = json!({"traceId": hex(random, 16), "spanId": hex(random, 8),
            "filteredAttributes": attributes(random, 1)});
        match random.below(3) {
            0 => fields["asInt"] = "-7".into(),
            1 => fields["asDouble"] = 0.5.into(),
            _ => {}
        }
        some(random, fields)
    };
    (0..count).map(|_| exemplar()).collect()
}

fn metric(random: &mut Random) -> Json {
    let mut number = json!({"asInt": (random.number() as i64).to_string(), "attributes": attributes(random, 0),
        "startTimeUnixNano": time(random), "exemplars": exemplars(random)});
    number["timeUnixNano"] = time(random).into();
    let histogram = json!({"timeUnixNano": time(random), "count": "3", "sum": 1.5, "min": -1.0,
        "bucketCounts": ["1", "2", random.number().to_string()], "explicitBounds": [0.5, 1.5],
        "exemplars": exemplars(random),
        "attributes": attributes(random, 0)});
    let exponential = json!({"count": "3", "scale": random.below(9) as i64 - 4,
        "zeroCount": random.below(2).to_string(), "zeroThreshold": 0.5, "exemplars": exemplars(random),
        "positive": {"offset": random.below(3) as i64 - 1, "bucketCounts": [random.number().to_string(), "0"]},
        "negative": {"bucketCounts": []}, "attributes": attributes(random, 0)});
    let quantiles: Vec<Json> =
        (0..random.below(3)).map(|_| json!({"quantile": 0.5, "value": random.pick(&[0.0, -2.5])})).collect();
    let summary = json!({"count": "3", "sum": 1.5, "quantileValues": quantiles});
    let mut metric = json!({"name": text(random), "unit": text(random), "description": text(random)});
    match random.below(5) {
        2 => {
            metric["exponentialHistogram"] =
                json!({"dataPoints": [timed(random, exponential)], "aggregationTemporality": 1});
        }
        3 => metric["summary"] = json!({"dataPoints": [timed(random, summary)]}),
        0 => metric["gauge"] = json!({"dataPoints": [number]}),
        1 => {
            metric["sum"] = json!({"dataPoints": [number], "aggregationTemporality": random.below(4), "isMonotonic": true});
        }
        _ => metric["histogram"] = json!({"dataPoints": [histogram], "aggregationTemporality": 1}),
    }
    metric
}

fn request(random: &mut Random) -> Json {
    let (outer, inner, elements) = random.pick(&[
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
        ("resourceMetrics", "scopeMetrics", "metrics"),
    ]);
    let resources: Vec<Json> = (0..1 + random.below(3))
        .map(|_| {
            let all: Vec<Json> = (0..1 + random.below(4))
                .map(|_| match elements {
                    "spans" => span(random),
                    "logRecords" => log(random),
                    _ => metric(random),
                })
                .collect();
            let scope =
                json!({"name": text(random), "version": text(random), "attributes": attributes(random, 0)});
            // The order of fields does not matter.
            let scope = json!({elements: all, "scope": some(random, scope)});
            json!({"resource": {"attributes": attributes(random, 0)}, inner: [scope]})
        })
        .collect();
    json!({outer: resources})
}

/// Both encodings have the same events, and the JSON of all texts and numbers occurs in them.
#[test]
fn both_encodings_have_the_same_events() {
    cases(600, |random| {
        let request = request(random);
        let json = request.to_string();
        let printed = print(&[("a.json", json.as_bytes())]);
        assert_eq!(print(&[("a.pb", &to_protobuf(&request))]), printed, "{json}");
        let spans =
            json.matches("\"startTimeUnixNano\"").count() + json.matches("\"endTimeUnixNano\"").count();
        let events = json.matches("\"timeUnixNano\"").count();
        // Names can contain line breaks.
        let lines = printed.lines().filter(|line| line.starts_with("[1") || line.starts_with("[?")).count();
        if json.starts_with("{\"resourceSpans\"") {
            assert!(lines >= spans.max(events), "{json}\n{printed}");
        } else {
            assert_eq!(lines, events, "{json}\n{printed}");
        }
    });
}

/// Drops most fields of an element.
fn drop_fields(random: &mut Random, element: &mut Json) {
    let Json::Object(fields) = element else { unreachable!() };
    fields.retain(|_, _| random.below(3) == 0);
}

/// Returns `true` if a span has a field that no other element has.
fn is_surely_span(span: &Json) -> bool {
    let some = |name: &str| span.get(name).is_some();
    [
        "startTimeUnixNano",
        "endTimeUnixNano",
        "kind",
        "droppedAttributesCount",
        "droppedEventsCount",
        "links",
        "flags",
    ]
    .into_iter()
    .any(some)
        || some("status")
        || some("parentSpanId")
        || (some("traceId") && some("spanId"))
}

/// Returns `true` if a metric has a name that no identifier is, or data that is surely a point.
fn is_surely_metric(metric: &Json) -> bool {
    metric.get("name").is_some()
        || ["gauge", "sum", "histogram"].iter().any(|data| metric.get(data).is_some())
}

/// Requests in protobuf whose elements lack most fields have the signal that any of the elements shows.
#[test]
fn signals_of_sparse_requests_are_guessed() {
    cases(800, |random| {
        let mut request = request(random);
        let (outer, resources) = request.as_object_mut().unwrap().iter_mut().next().unwrap();
        let (inner, name) = match outer.as_str() {
            "resourceSpans" => ("scopeSpans", "spans"),
            "resourceLogs" => ("scopeLogs", "logRecords"),
            _ => ("scopeMetrics", "metrics"),
        };
        let is_log = name == "logRecords";
        let mut is_sure = is_log;
        for resource in resources.as_array_mut().unwrap() {
            for element in resource[inner][0][name].as_array_mut().unwrap() {
                drop_fields(random, element);
                is_sure |= match name {
                    "spans" => is_surely_span(element),
                    "metrics" => is_surely_metric(element),
                    _ => false,
                };
            }
        }
        if !is_sure {
            return;
        }
        let json = request.to_string();
        assert_eq!(
            print(&[("a.pb", &to_protobuf(&request))]),
            print(&[("a.json", json.as_bytes())]),
            "{json}"
        );
    });
}

/// Any changed byte gives damage or another event, never a panic.
#[test]
fn changed_bytes_are_read() {
    cases(1_500, |random| {
        let request = request(random);
        let mut bytes =
            if random.below(2) == 0 { request.to_string().into_bytes() } else { to_protobuf(&request) };
        // The beginning is recognized.
        for _ in 0..1 + random.below(4) {
            let at = random.index(bytes.len());
            match random.below(3) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = random.number() as u8,
                _ => bytes.insert(at, random.number() as u8),
            }
        }
        let tree = ichnos_io::Tree {
            name: "tree".to_owned(),
            entries: vec![ichnos_io::Entry::from_bytes("a", bytes)],
            problems: Vec::new(),
        };
        let mut options = ichnos_io::ReadOptions::default();
        options.force = true;
        let opened = ichnos_io::Format::open(&ichnos_otlp::OtlpRequests, &[&tree], &options);
        for trace in &opened.traces {
            let _ = print_trace(&**trace);
        }
    });
}

/// Every beginning of a request is read up to its end.
#[test]
fn truncated_requests_are_read() {
    let request = crate::files::spans();
    let json = request.to_string();
    for end in 20..json.len() {
        let opened = open(&[("a.json", &json.as_bytes()[..end])]);
        assert_eq!(opened.traces[0].damage().len(), 1, "{end}");
    }
    let protobuf = to_protobuf(&request);
    for end in 40..protobuf.len() {
        let opened = open(&[("a.pb", &protobuf[..end])]);
        assert!(!opened.traces[0].damage().is_empty(), "{end}");
    }
}
