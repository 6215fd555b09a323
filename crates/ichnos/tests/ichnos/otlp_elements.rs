//! OpenTelemetry input is written as it was read.

use std::path::{Path, PathBuf};
use std::process::Command;

use ichnos::convert::ConvertOptions;
use ichnos_testing::find_python;

use crate::otlp::convert;
use crate::viewers::{examples, open, writer};

/// Requests with all fields and value types.
fn elements() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ichnos/elements.otlp.jsonl")
}

/// Requests with everything that data points can have, and with attributes named like fields of ichnos.
fn more_elements() -> PathBuf {
    elements().with_file_name("more_elements.otlp.jsonl")
}

/// OpenTelemetry's own messages are equal element by element, each with its resource and scope.
#[test]
fn elements_arrive_as_they_were() {
    let module = "opentelemetry.proto.trace.v1.trace_pb2";
    let Some(python) = find_python("elements_arrive_as_they_were", module) else { return };
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("otlp.py");
    std::fs::write(&script, include_str!("otlp.py")).unwrap();
    let read = |paths: &[PathBuf]| {
        let output = Command::new(&python).arg(&script).args(paths).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for input in [elements(), more_elements(), examples().join("hello-otlp/shop.otlp.jsonl")] {
        let wanted = read(std::slice::from_ref(&input));
        assert!(wanted.len() >= 10, "{}", wanted.len());
        let session = open(&input);
        let json = directory.path().join("all.jsonl");
        convert(&session, "otlp", None, &json);
        let protobuf = ["traces", "logs", "metrics"].map(|signal| {
            let path = directory.path().join(format!("all.{signal}"));
            convert(&session, "otlp-protobuf", Some(signal), &path);
            path
        });
        for found in [read(std::slice::from_ref(&json)), read(&protobuf)] {
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!(found, wanted);
            }
            assert_eq!(found.len(), wanted.len());
        }
    }
}

/// Returns the losses of a conversion.
fn losses(requests: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in.otlp.jsonl");
    std::fs::write(&path, requests).unwrap();
    let session = open(&path);
    let options = ConvertOptions::default();
    let report = session.reader().unwrap().convert(writer("otlp"), None, &options).unwrap();
    report.losses.iter().map(|(loss, count)| format!("{count} {}", loss.what)).collect()
}

#[test]
fn what_elements_lose_is_listed() {
    for input in [elements(), more_elements()] {
        assert_eq!(losses(&std::fs::read_to_string(input).unwrap()), [""; 0]);
    }
    let spans = |fields: &str| {
        let ids = r#""traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174""#;
        let times = r#""startTimeUnixNano":"1000","endTimeUnixNano":"2000""#;
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{ids},{times},{fields}}}]}}]}}]}}"#)
    };
    let mixed = r#"[{"intValue":"1"},{"stringValue":"a"}]"#;
    let mixed = format!(r#""attributes":[{{"key":"a","value":{{"arrayValue":{{"values":{mixed}}}}}}}]"#);
    for (fields, loss) in [
        (mixed.as_str(), "1 list or array without a common type, or of an exemplar -> texts"),
        (
            r#""events":[{"timeUnixNano":"999","name":"early"},{"timeUnixNano":"2001","name":"late"}]"#,
            "1 span event outside the time of its span -> log record",
        ),
    ] {
        let found = losses(&spans(fields));
        assert!(found.iter().any(|found| found == loss), "{found:?}");
    }
    let resource = mixed.replace("attributes", "resource\":{\"attributes") + "},";
    let found =
        losses(&spans("").replace(",}", "}").replace("\"scopeSpans\"", &(resource + "\"scopeSpans\"")));
    assert!(found.iter().any(|found| found.contains("without a common type")), "{found:?}");
}

const UNREAD: &str =
    "metadata of a metric, entities of a resource, or long texts and attributes that events share";

#[test]
fn unread_fields_are_listed() {
    let request = |resource: &str, metric: &str| {
        format!(
            r#"{{"resourceMetrics":[{{"resource":{{{resource}}},"scopeMetrics":[{{"metrics":[{{"name":"a",{metric}"gauge":{{"dataPoints":[{{"timeUnixNano":"1000","asInt":"1"}}]}}}}]}}]}}]}}"#
        )
    };
    assert_eq!(losses(&request("", "")), [""; 0]);
    let metadata = r#""metadata":[{"key":"a","value":{"stringValue":"b"}}],"#;
    let entities = r#""entityRefs":[{"type":"host","idKeys":["host.id"]}]"#;
    let description = format!(r#""description":"{}","#, "a".repeat(1_025));
    let long = format!(r#""attributes":[{{"key":"a","value":{{"stringValue":"{}"}}}}]"#, "a".repeat(1 << 16));
    for (resource, metric, damage) in [
        ("", metadata, None),
        (entities, "", None),
        (
            "",
            &*description,
            Some("at most 1024 bytes in the description of the metric \"a\", found 1025; the rest is"),
        ),
        (&*long, "", Some("at most 65536 bytes of attributes in a resource, found more; 1 of 1 are")),
    ] {
        let damage = damage.map(|damage| format!("1 damaged data: expected {damage} left out"));
        let expected: Vec<String> = damage.into_iter().chain([format!("1 {UNREAD}")]).collect();
        assert_eq!(losses(&request(resource, metric)), expected);
    }
    // Smaller attributes are kept.
    let small = r#"[{"key":"b","value":{"stringValue":"kept"}},"#;
    let found = round_trip(&request(&long.replace('[', small), ""));
    assert!(found[0].contains("kept") && found[0].contains(r#""droppedAttributesCount":1"#), "{found:?}");
}

#[test]
fn changed_attributes_of_resources_are_listed() {
    let resource = |attributes: &[String]| {
        let attributes = attributes.join(",");
        let ids = r#""traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174""#;
        let times = r#""startTimeUnixNano":"1000","endTimeUnixNano":"2000""#;
        losses(&format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{attributes}]}},"scopeSpans":[{{"spans":[{{{ids},{times}}}]}}]}}]}}"#
        ))
    };
    let attribute = |name: &str, kind: &str| format!(r#"{{"key":"{name}","value":{{"{kind}":"1"}}}}"#);
    let many = |kind| (0..300).map(|number| attribute(&format!("a{number}"), kind)).collect::<Vec<_>>();
    let own = attribute("otel.resource.schema_url", "stringValue");
    for attributes in [many("intValue"), [many("stringValue"), vec![own]].concat()] {
        let found = resource(&attributes);
        assert!(
            found.iter().any(|found| found.contains("attributes of a resource or scope: too many")),
            "{found:?}"
        );
    }
    assert_eq!(resource(&many("stringValue")), [""; 0]);
    assert_eq!(resource(&[attribute("a", "intValue"), attribute("a", "intValue")]), [""; 0]);
}

/// If too many spans are open, the oldest is written without its end, which becomes a log record with its status.
#[test]
fn ends_of_spans_beyond_the_limit_are_listed() {
    let spans: Vec<String> = (0..16_386)
        .map(|number| {
            let ids =
                format!(r#""traceId":"5b8efff798038103d269b633813fc60c","spanId":"{:016x}""#, number + 1);
            let (begin, end) = (1_000 + number, 100_000 + number);
            let status = r#""status":{"code":2,"message":"no"}"#;
            format!(r#"{{{ids},"startTimeUnixNano":"{begin}","endTimeUnixNano":"{end}",{status}}}"#)
        })
        .collect();
    let request = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    let found = losses(&request);
    for loss in ["more than 16,384 spans, or 64 MiB, were open", "end of a span that was written early"] {
        let is_it = |found: &&String| found.starts_with("2 ") && found.contains(loss);
        assert!(found.iter().any(|found| is_it(&found)), "{found:?}");
    }
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.otlp.jsonl"), directory.path().join("out.jsonl"));
    std::fs::write(&input, &request).unwrap();
    convert(&open(&input), "otlp", None, &output);
    let text = std::fs::read_to_string(&output).unwrap();
    let status = r#"{"key":"end.status","value":{"stringValue":"error"}}"#;
    let message = r#"{"key":"end.status_message","value":{"stringValue":"no"}}"#;
    assert_eq!([status, message].map(|attribute| text.matches(attribute).count()), [2, 2]);
}

/// Both sides of a remote call can share their identifiers, in one service or two. Spans can lack them.
#[test]
fn spans_with_the_same_identifiers_keep_their_ends() {
    let span = |ids: &str, name: &str, begin: u32, end: u32, status: u32| {
        format!(
            r#"{{{ids}"name":"{name}","startTimeUnixNano":"{begin}","status":{{"code":{status}}},"endTimeUnixNano":"{end}"}}"#
        )
    };
    let request = |services: &[&[String]]| {
        let service = |(number, spans): (usize, &&[String])| {
            let name = format!(r#"{{"key":"service.name","value":{{"stringValue":"s{number}"}}}}"#);
            let (name, spans) = (format!(r#"{{"attributes":[{name}]}}"#), spans.join(","));
            format!(r#"{{"resource":{name},"scopeSpans":[{{"scope":{{"name":"a"}},"spans":[{spans}]}}]}}"#)
        };
        let services: Vec<_> = services.iter().enumerate().map(service).collect();
        format!(r#"{{"resourceSpans":[{}]}}"#, services.join(","))
    };
    let ids = r#""traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","#;
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.otlp.jsonl"), directory.path().join("out.jsonl"));
    for ids in [ids, ""] {
        let [client, server] = [("client", 1000, 2000, 1), ("server", 1500, 3000, 2)]
            .map(|(name, begin, end, status)| span(ids, name, begin, end, status));
        let same = span(ids, "client", 1500, 3000, 2);
        let mut requests = vec![
            request(&[&[client.clone(), server.clone()]]),
            request(&[std::slice::from_ref(&client), &[server]]),
        ];
        if !ids.is_empty() {
            requests.push(request(&[std::slice::from_ref(&client), std::slice::from_ref(&same)]));
        }
        for text in requests {
            std::fs::write(&input, &text).unwrap();
            convert(&open(&input), "otlp", None, &output);
            let sorted = |text: &str| {
                let mut elements = crate::otlp::all_elements(text);
                elements.sort();
                elements
            };
            assert_eq!(sorted(&std::fs::read_to_string(&output).unwrap()), sorted(&text));
            assert_eq!(losses(&text), [""; 0], "{text}");
        }
        let found = losses(&request(&[&[client, same]]));
        assert!(found.iter().any(|found| found.contains("the innermost ends first")), "{found:?}");
    }
}

/// CTF 2 and JSON Lines keep elements on the way.
#[test]
fn other_formats_keep_elements() {
    let directory = tempfile::tempdir().unwrap();
    let lines = |input: &Path, name: &str| -> Vec<String> {
        let path = directory.path().join(name);
        convert(&open(input), "otlp", None, &path);
        let text = std::fs::read_to_string(path).unwrap();
        let mut elements = crate::otlp::all_elements(&text);
        elements.sort();
        elements
    };
    // CTF has no null, and no arrays in arrays.
    for (number, (format, input)) in [
        ("ctf", examples().join("hello-otlp")),
        ("jsonl", elements()),
        ("ctf", more_elements()),
        ("jsonl", more_elements()),
    ]
    .into_iter()
    .enumerate()
    {
        let wanted = lines(&input, "direct.otlp.jsonl");
        assert!(wanted.len() >= 10, "{}", wanted.len());
        let target = directory.path().join(number.to_string());
        let options = ConvertOptions::default();
        let format_writer = ichnos::convert::target(Some(format), &target, None).unwrap().writer;
        open(&input).reader().unwrap().convert(format_writer, Some(target.clone()), &options).unwrap();
        let found = lines(&target, "back.otlp.jsonl");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "{format}");
        }
        assert_eq!(found.len(), wanted.len(), "{format}");
    }
}

/// Converts a request to OTLP.
fn round_trip(request: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.otlp.jsonl"), directory.path().join("out.jsonl"));
    std::fs::write(&input, request).unwrap();
    convert(&open(&input), "otlp", None, &output);
    let mut elements = crate::otlp::all_elements(&std::fs::read_to_string(output).unwrap());
    elements.sort();
    elements
}

fn metrics(scope: &str, metrics: &str) -> String {
    format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"scope":{{{scope}}},"metrics":[{metrics}]}}]}}]}}"#)
}

#[test]
fn exemplars_of_both_number_types_keep_their_values() {
    let exemplars = r#"[{"asInt":"0"},{"asDouble":"Infinity"},{"asDouble":"NaN"},{"asDouble":1}]"#;
    let point = format!(r#"{{"timeUnixNano":"1000","asInt":"1","exemplars":{exemplars}}}"#);
    let found = round_trip(&metrics("", &format!(r#"{{"name":"a","gauge":{{"dataPoints":[{point}]}}}}"#)));
    let wanted = exemplars.replace("\":1}", "\":1.0}");
    assert!(found[0].contains(&wanted), "{found:?}");
}

/// Events that are too large for a class of their own have texts, but keep what messages have fields for.
#[test]
fn shared_classes_keep_fields() {
    let attribute = |name: &str| format!(r#"{{"key":"{name}","value":{{"stringValue":"user"}}}}"#);
    let many: Vec<String> = (0..1_100).map(|number| attribute(&format!("k{number}"))).collect();
    let point = |fields: &str, first: &[&str]| {
        let first: Vec<String> = first.iter().map(|name| attribute(name)).collect();
        let attributes = [first, many.clone()].concat().join(",");
        format!(r#"{{"dataPoints":[{{"timeUnixNano":"1000",{fields},"attributes":[{attributes}]}}]"#)
    };
    let head = r#""name":"a","description":"text","unit":"s""#;
    let scope = format!(r#""name":"lib","attributes":[{}]"#, attribute("otel.scope.version"));
    let buckets = r#""count":"1","sum":"Infinity","bucketCounts":["1"],"explicitBounds":[],"min":1.0"#;
    for (kind, point, fields) in [
        (
            "gauge",
            point(r#""asDouble":"Infinity""#, &["scale", "value"]) + "}",
            &[r#""asDouble":"Infinity""#][..],
        ),
        (
            "histogram",
            point(buckets, &["temporality"]) + r#","aggregationTemporality":2}"#,
            &[r#""sum":"Infinity""#, r#""min":1.0"#, r#""aggregationTemporality":2"#],
        ),
    ] {
        let found = round_trip(&metrics(&scope, &format!(r#"{{{head},"{kind}":{point}}}"#)));
        let found = &found[0];
        for field in
            fields.iter().copied().chain([r#""unit":"s""#, r#""description":"text""#, r#""name":"lib""#])
        {
            assert!(found.contains(field), "{field}: {}", &found[..400]);
        }
        assert!(!found.contains(r#""version""#), "{}", &found[..400]);
        let names: &[&str] =
            if kind == "gauge" { &["scale", "value", "k1099"] } else { &["temporality", "k1099"] };
        for name in names.iter().chain(&["otel.scope.version"]) {
            assert_eq!(found.matches(&attribute(name)).count(), 1, "{name}: {}", &found[..400]);
        }
    }
}

/// Names and descriptions from other formats have no limit.
#[test]
fn long_descriptions_of_metrics_are_read_once() {
    let points: Vec<String> =
        (0..1_000).map(|time| format!(r#"{{"timeUnixNano":"{time}","asInt":"1"}}"#)).collect();
    let metric = format!(
        r#"{{"name":"a","description":"DESCRIPTION","gauge":{{"dataPoints":[{}]}}}}"#,
        points.join(",")
    );
    let directory = tempfile::tempdir().unwrap();
    let [input, lines, output] =
        ["in.otlp.jsonl", "in.jsonl", "out.otlp.jsonl"].map(|name| directory.path().join(name));
    std::fs::write(&input, metrics("", &metric)).unwrap();
    convert(&open(&input), "jsonl", None, &lines);
    let long = "a".repeat(4 << 20);
    let text = std::fs::read_to_string(&lines).unwrap();
    std::fs::write(&lines, text.replace("DESCRIPTION", &long)).unwrap();
    convert(&open(&lines), "otlp", None, &output);
    let found = std::fs::read_to_string(output).unwrap();
    // Once in each request.
    assert!((1..4).contains(&found.matches(&long).count()));
    assert_eq!(found.matches("asInt").count(), 1_000);
}
