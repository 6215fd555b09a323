//! Files with requests.

use serde_json::{Value as Json, json};

use crate::encoder::to_protobuf;
use crate::support::{open, print, print_trace, without_deltas};

pub(crate) const TRACE: &str = "5b8efff798038103d269b633813fc60c";

/// A span with everything, and its child.
pub(crate) fn spans() -> Json {
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": "shop"}},
            {"key": "process.pid", "value": {"intValue": "42"}},
        ]},
        "scopeSpans": [{
            "scope": {"name": "lib", "version": "1.2"},
            "spans": [
                {"traceId": TRACE, "spanId": "00000000000000b2", "parentSpanId": "00000000000000a1",
                 "name": "query", "kind": 3, "startTimeUnixNano": "1000000200", "endTimeUnixNano": "1000000300",
                 "attributes": [{"key": "db.rows", "value": {"intValue": "-5"}}]},
                {"traceId": TRACE, "spanId": "00000000000000a1", "name": "GET /cart", "kind": 2,
                 "startTimeUnixNano": "1000000100", "endTimeUnixNano": "1000000400",
                 "attributes": [
                     {"key": "http.status", "value": {"intValue": "200"}},
                     {"key": "ratio", "value": {"doubleValue": 0.5}},
                     {"key": "cached", "value": {"boolValue": true}},
                     {"key": "raw", "value": {"bytesValue": "AAH/"}},
                     {"key": "tags", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}}},
                     {"key": "mixed", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}},
                     {"key": "user", "value": {"kvlistValue": {"values": [
                         {"key": "id", "value": {"intValue": "7"}}, {"key": "name", "value": {"stringValue": "x"}}]}}},
                     {"key": "kind", "value": {"stringValue": "own"}},
                 ],
                 "links": [{"traceId": TRACE, "spanId": "00000000000000c3", "attributes": []}],
                 "events": [{"timeUnixNano": "1000000350", "name": "exception", "attributes": [
                     {"key": "exception.message", "value": {"stringValue": "oops"}}]}],
                 "status": {"code": 2, "message": "bad"}, "laterField": 7},
            ],
        }],
    }]})
}

const SPANS: &str = r#"[1.000000100] GET /cart:begin: { trace_id = "5b8efff798038103d269b633813fc60c", span_id = "00000000000000a1", linked_span_ids = [ [0] = "00000000000000c3" ] }"#;

pub(crate) fn logs() -> Json {
    json!({"resourceLogs": [{
        "resource": {},
        "scopeLogs": [{"logRecords": [
            {"timeUnixNano": "5", "observedTimeUnixNano": "6", "severityNumber": 17, "severityText": "ERROR",
             "body": {"stringValue": "it failed"}, "traceId": TRACE, "spanId": "00000000000000a1",
             "attributes": [{"key": "code", "value": {"intValue": "3"}}]},
            {"observedTimeUnixNano": "4", "eventName": "login", "body": {"kvlistValue": {"values": [
                {"key": "user", "value": {"stringValue": "x"}}]}}},
            {"body": {"stringValue": "no time"}},
        ]}],
    }]})
}

pub(crate) fn metrics() -> Json {
    json!({"resourceMetrics": [{
        "resource": {},
        "scopeMetrics": [{"scope": {}, "metrics": [
            {"name": "queue", "unit": "{items}", "gauge": {"dataPoints": [
                {"timeUnixNano": "10", "asInt": "-3"}, {"timeUnixNano": "20", "asDouble": 1.5}]}},
            {"name": "requests", "sum": {"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [
                {"startTimeUnixNano": "1", "timeUnixNano": "11", "asInt": "9", "attributes": [
                    {"key": "path", "value": {"stringValue": "/"}}]}]}},
            {"name": "latency", "unit": "s", "histogram": {"aggregationTemporality": 1, "dataPoints": [
                {"timeUnixNano": "12", "count": "3", "sum": 4.5, "min": 1, "max": 2,
                 "bucketCounts": ["1", "2"], "explicitBounds": [1.5]}]}},
        ]}],
    }]})
}

/// Prints a request in all forms of files, which must be equal.
fn print_all(request: &Json) -> Vec<String> {
    let json = request.to_string();
    let protobuf = to_protobuf(request);
    let mut with_length = (protobuf.len() as u32).to_be_bytes().to_vec();
    with_length.extend_from_slice(&protobuf);
    let printed = print(&[("a.json", json.as_bytes())]);
    assert_eq!(print(&[("a.pb", &protobuf)]), printed);
    assert_eq!(print(&[("a.data", &with_length)]), printed);
    let indented = serde_json::to_string_pretty(request).unwrap();
    assert_eq!(print(&[("a.json", indented.as_bytes())]), printed);
    without_deltas(&printed)
}

#[test]
fn spans_are_two_events_each() {
    let lines = print_all(&spans());
    let names: Vec<_> = lines.iter().map(|line| &line[..line.find(": {").unwrap()]).collect();
    let expected = [
        "[1.000000100] GET /cart:begin",
        "[1.000000200] query:begin",
        "[1.000000300] query:end",
        "[1.000000350] exception",
        "[1.000000400] GET /cart:end",
    ];
    assert_eq!(names, expected);
    assert!(lines[0].starts_with(&SPANS[..SPANS.find(" }").unwrap()]), "{}", lines[0]);
    for part in [
        r#"otel.scope.name = "lib", otel.scope.version = "1.2""#,
        r#"span = 0xA1, kind = "server""#,
        r#"links = [ [0] = { trace_id = "5b8efff798038103d269b633813fc60c", span_id = "00000000000000c3" } ]"#,
        r#"http.status = 200, ratio = 0.5, cached = true, raw = { 00 01 ff }, "#,
        r#"tags = [ [0] = "a", [1] = "b" ], mixed = [ [0] = "a", [1] = "1" ], user = { id = 7, name = "x" }"#,
        r#"kind_2 = "own""#,
    ] {
        assert!(lines[0].contains(part), "{part}\n{}", lines[0]);
    }
    assert!(lines[1].contains(r#"parent_span_id = "00000000000000a1""#) && lines[1].contains("db.rows = -5"));
    assert!(lines[3].contains(r#"exception.message = "oops""#), "{}", lines[3]);
    assert!(lines[4].contains(r#"status = "error", status_message = "bad""#), "{}", lines[4]);
}

#[test]
fn log_records_are_events() {
    let lines = print_all(&logs());
    assert!(lines[0].contains(r#"log: { }, { message = "no time" }"#), "{}", lines[0]);
    assert!(lines[1].starts_with("[0.000000004] login: ") && lines[1].contains(r#"body = { user = "x" }"#));
    assert!(
        lines[2]
            .contains(r#"severity = 17, severity_text = "ERROR", message = "it failed", observed_time = "#)
    );
    assert!(lines[2].contains("code = 3"), "{}", lines[2]);
    assert_eq!(lines.len(), 3);
}

/// A span would have the identifier of a trace, and a metric a name.
#[test]
fn bare_log_records_in_protobuf_are_logs() {
    let hello = json!({"stringValue": "hello"});
    for record in [
        json!({"body": hello}),
        json!({"body": hello, "attributes": [{"key": "k", "value": {"intValue": "4"}}]}),
        json!({"body": hello, "traceId": TRACE, "spanId": "00000000000000a1"}),
        json!({"severityText": "hello", "body": {"stringValue": "\n hello, this is the second line of a text"}}),
        json!({"body": {"stringValue": "1 hello 1"}}),
        json!({"severityText": "hello"}),
    ] {
        // The second scope does not show what it has.
        let bare = json!({"logRecords": [record]});
        let timed = json!({"logRecords": [{"timeUnixNano": "4", "body": {"stringValue": "timed"}}]});
        for scopes in [json!([bare]), json!([timed, bare]), json!([bare, timed])] {
            for resource in [json!({"scopeLogs": scopes}), json!({"resource": {}, "scopeLogs": scopes})] {
                let lines = print_all(&json!({"resourceLogs": [resource]}));
                let found = lines.iter().find(|line| line.contains("hello")).unwrap();
                assert!(found.contains("log: "), "{found}");
            }
        }
    }
    let empty = json!({"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": [{}, {}]}]}]});
    let lines = print_all(&empty);
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("log: ")), "{lines:?}");
}

/// A request has one signal, but programs can append requests of others.
#[test]
fn concatenated_requests_keep_their_signals() {
    let bare =
        json!({"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": [{"severityNumber": 9}]}]}]});
    let all = [spans(), bare, metrics()].map(|request| to_protobuf(&request)).concat();
    let lines = without_deltas(&print(&[("a.pb", &all)]));
    assert_eq!(lines.len(), 5 + 1 + 4, "{lines:?}");
    assert!(lines[0].contains("log: { }, { severity = 9 }"), "{}", lines[0]);
}

#[test]
fn data_points_are_counters() {
    let lines = print_all(&metrics());
    let payloads: Vec<_> = lines.iter().map(|line| line.split_once("}, ").unwrap().1).collect();
    assert_eq!(payloads[0], "{ value = -3 }");
    assert!(payloads[1].starts_with(
        r#"{ metric = "requests", series = "path=/", value = 9, temporality = "cumulative", monotonic = true, start_time = "#
    ));
    assert_eq!(
        payloads[2],
        r#"{ count = 3, sum = 4.5, min = 1, max = 2, bucket_counts = [ [0] = 1, [1] = 2 ], explicit_bounds = [ [0] = 1.5 ], temporality = "delta" }"#
    );
    assert_eq!(payloads[3], "{ value = 1.5 }");
}

#[test]
fn files_of_a_directory_are_one_trace() {
    let (spans, logs) = (spans().to_string(), logs().to_string());
    let lines = format!("{spans}\n\n{logs}\n");
    let one = print(&[("all.jsonl", lines.as_bytes())]);
    let two = print(&[("a.json", spans.as_bytes()), ("b.json", logs.as_bytes())]);
    assert_eq!(one, two);
    assert_eq!(one.lines().count(), 8);
    let opened = open(&[("all.jsonl", lines.as_bytes())]);
    let names: Vec<_> =
        opened.traces[0].data_streams().iter().map(|stream| stream.name.to_string()).collect();
    assert_eq!(names, ["shop", "resource"]);
}

#[test]
fn damaged_lines_are_reported() {
    let good = logs().to_string();
    let wrong = good.replace("\"17\"", "17").replace("17", "\"x\"");
    let text = format!("{good}\n{{\"resourceLogs\": oops}}\n{wrong}\n{good}\n{}", &good[..40]);
    let opened = open(&[("a.jsonl", text.as_bytes())]);
    let damage: Vec<String> = opened.traces[0].damage().iter().map(ToString::to_string).collect();
    assert_eq!(damage.len(), 3, "{damage:?}");
    let at = good.len() + 1;
    assert!(damage[0].contains(&format!("a.jsonl: byte {}: expected a value", at + 17)), "{damage:?}");
    assert!(damage[1].contains("expected an enumeration value, found `x`"), "{damage:?}");
    // Other records of the request are read.
    assert_eq!(print_trace(&*opened.traces[0]).lines().count(), 3 + 2 + 3);
}

#[test]
fn wrong_ends_are_moved() {
    let request = json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [
        {"spanId": "00000000000000a1", "name": "a", "startTimeUnixNano": "100", "endTimeUnixNano": "90"},
        {"spanId": "00000000000000a2", "name": "b", "startTimeUnixNano": "95"},
    ]}]}]});
    let lines = print_all(&request);
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("[0.000000095] b:begin") && lines[1].starts_with("[0.000000100] a:begin"));
    assert!(lines[2].starts_with("[0.000000100] a:end") && lines[2].contains("end_time = "), "{lines:?}");
}

#[test]
fn original_names_and_base64_are_accepted() {
    let request = r#"{"resource_spans":[{"scope_spans":[{"spans":[{"trace_id":"W47/95gDgQPSabYzgT/GDA==","name":"a",
        "start_time_unix_nano":1000,"kind":"SPAN_KIND_SERVER","span_id":null}]}]}]}"#;
    let lines = without_deltas(&print(&[("a.json", request.as_bytes())]));
    assert!(lines[0].contains(TRACE) && lines[0].contains("kind = \"server\""), "{lines:?}");
}

/// Exponential histograms have a scale and offsets of 32 bits.
#[test]
fn numbers_beyond_32_bits_are_reported() {
    let request = |scale: i64, offset: i64| {
        let point = json!({"timeUnixNano": "1", "scale": scale, "positive": {"offset": offset}});
        let metric = json!({"name": "a", "exponentialHistogram": {"dataPoints": [point]}});
        json!({"resourceMetrics": [{"resource": {}, "scopeMetrics": [{"metrics": [metric]}]}]})
    };
    let limits = [i64::from(i32::MIN), i64::from(i32::MAX)];
    for (scale, offset, wrong) in [
        (limits[0], limits[1], None),
        (limits[1], limits[0], None),
        (limits[1] + 1, 0, Some("2147483648")),
        (0, limits[0] - 1, Some("-2147483649")),
    ] {
        let request = request(scale, offset);
        let files = [("a.json", request.to_string().into_bytes()), ("a.pb", to_protobuf(&request))];
        for (name, bytes) in files {
            let opened = open(&[(name, &bytes)]);
            let damage: Vec<String> = opened.traces[0].damage().iter().map(ToString::to_string).collect();
            let wanted = wrong.map(|found| format!("expected a signed number of 32 bits, found {found}"));
            assert_eq!(damage.len(), wanted.iter().count(), "{damage:?}");
            assert!(damage.iter().zip(&wanted).all(|(found, wanted)| found.contains(wanted)), "{damage:?}");
        }
    }
}
