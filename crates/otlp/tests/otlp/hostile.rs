//! Requests that lie about their sizes, nest deeply, or unpack to much.

use std::io::Write as _;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use ichnos_model::Message;
use ichnos_model::live::{LiveFeed as _, LivePoll};

use crate::http::{JSON, PROTOBUF, connect, drain, gzip, options, post, read_answer, receiver};
use crate::support::{open, print_trace};

/// A field with a length, in protobuf.
fn wrap(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = inner.len();
    while length > 127 {
        out.push(length as u8 | 128);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(inner);
    out
}

/// A value in arrays, in protobuf.
fn nested(levels: usize) -> Vec<u8> {
    let value = (0..levels).fold(Vec::new(), |value, _| wrap(5, &wrap(1, &value)));
    // Body, log record, scope, resource.
    [5, 2, 2, 1].into_iter().fold(value, |inner, number| wrap(number, &inner))
}

fn nested_json(levels: usize) -> String {
    let value = format!("{}{{}}{}", r#"{"arrayValue":{"values":["#.repeat(levels), "]}}".repeat(levels));
    format!(r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"body":{value}}}]}}]}}]}}"#)
}

#[test]
fn deep_values_are_rejected() {
    let mut receiver = receiver(&options());
    let mut stream = connect(&receiver);
    for (levels, rejected) in [(20, 0), (25, 1)] {
        assert_eq!(post(&mut stream, "/v1/logs", PROTOBUF, &nested(levels)).0, 200);
        assert_eq!(post(&mut stream, "/v1/logs", JSON, nested_json(levels).as_bytes()).0, 200);
        assert_eq!(receiver.counts().rejected(), 2 * rejected, "{levels}");
    }
    // So deep that nothing in it can be skipped.
    for levels in [50, 100_000] {
        let body = nested_json(levels);
        assert_eq!(post(&mut connect(&receiver), "/v1/logs", JSON, body.as_bytes()).0, 400, "{levels}");
        let unknown = format!(r#"{{"a":{}"#, "[".repeat(levels));
        assert_eq!(post(&mut connect(&receiver), "/v1/logs", JSON, unknown.as_bytes()).0, 400);
    }
    assert_eq!(post(&mut stream, "/v1/logs", PROTOBUF, &nested(10_000)).0, 200);
    assert_eq!(drain(&mut receiver).lines().count(), 2);
}

/// Each scope takes much more memory than its bytes, and counts.
#[test]
fn many_scopes_and_resources_count_as_memory() {
    let mut options = options();
    options.most_memory = 4 << 20;
    let mut receiver = receiver(&options);
    // A scope with a short name, and one log record.
    let scopes = |count: u32| {
        let scope = |number: u32| wrap(2, &[wrap(1, &wrap(1, &number.to_le_bytes())), wrap(2, &[])].concat());
        wrap(1, &(0..count).flat_map(scope).collect::<Vec<u8>>())
    };
    let resources = |count: u32| -> Vec<u8> {
        let resource = |number: u32| {
            let name = wrap(1, &wrap(1, &[wrap(1, &number.to_le_bytes()), wrap(2, &wrap(1, b"x"))].concat()));
            wrap(1, &[name, wrap(2, &wrap(2, &[]))].concat())
        };
        (0..count).flat_map(resource).collect()
    };
    let send = |body: &[u8]| post(&mut connect(&receiver), "/v1/logs", PROTOBUF, body).0;
    assert_eq!([send(&scopes(10)), send(&resources(10))], [200, 200]);
    let (many, several) = (scopes(20_000), resources(20_000));
    assert!(many.len() < 1 << 20 && several.len() < 1 << 20);
    assert_eq!([send(&many), send(&several)], [429, 429]);
    // The memory was given back.
    assert_eq!(send(&scopes(10)), 200);
    assert_eq!(drain(&mut receiver).lines().count(), 30);
}

/// The sender of a large body that is refused at its start can read the answer.
#[test]
fn large_bodies_are_skipped() {
    let mut options = options();
    options.most_memory = 64 << 10;
    let receiver = receiver(&options);
    let body = vec![b' '; 12 << 20];
    assert_eq!(post(&mut connect(&receiver), "/v1/logs", JSON, &body).0, 429);
}

#[test]
fn bombs_do_not_unpack() {
    let mut options = options();
    options.most_body = 1 << 20;
    let receiver = receiver(&options);
    let headers = format!("{JSON}Content-Encoding: gzip\r\n");
    let bomb = gzip(&vec![b' '; 100 << 20]);
    assert!(bomb.len() < 1 << 20);
    let begin = Instant::now();
    let (status, _, body) = post(&mut connect(&receiver), "/v1/logs", &headers, &bomb);
    assert_eq!(status, 413, "{}", String::from_utf8_lossy(&body));
    // Half of it.
    assert_eq!(post(&mut connect(&receiver), "/v1/logs", &headers, &bomb[..bomb.len() / 200]).0, 400);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    // Very many small elements.
    let records = |count: usize| wrap(1, &wrap(2, &b"\x12\x00".repeat(count)));
    let packed = gzip(&records(1_000_000));
    let headers = format!("{PROTOBUF}Content-Encoding: gzip\r\n");
    assert_eq!(post(&mut connect(&receiver), "/v1/logs", &headers, &packed).0, 200);
    assert_eq!(post(&mut connect(&receiver), "/v1/logs", &headers, &gzip(&records(1_100_000))).0, 400);
    assert_eq!(receiver.counts().accepted(), 1_000_000);
}

#[test]
fn lying_clients_lose_their_connection() {
    let mut options = options();
    options.patience = Duration::from_millis(300);
    options.idle = Duration::from_millis(600);
    let receiver = receiver(&options);
    let answer = |bytes: &[u8], ends: bool| {
        let mut stream = connect(&receiver);
        let _ = stream.write_all(bytes);
        if ends {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        read_answer(&mut stream).map(|(status, ..)| status)
    };
    let begin = format!("POST /v1/logs HTTP/1.1\r\n{JSON}");
    let with = |rest: &str| [begin.as_bytes(), rest.as_bytes()].concat();
    // The rest never comes.
    assert_eq!(answer(&with("Content-Length: 100\r\n\r\n{}"), false), Some(408));
    assert_eq!(answer(&with("Content-Len"), false), Some(408));
    assert_eq!(answer(&with("Content-Length: 100\r\n\r\n{}"), true), None);
    assert_eq!(answer(&with("Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"), false), Some(413));
    assert_eq!(answer(&with("Transfer-Encoding: chunked\r\n\r\nx\r\n"), false), Some(400));
    assert_eq!(answer(&with("Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n"), false), Some(400));
    assert_eq!(
        answer(&with(&format!("Transfer-Encoding: chunked\r\n\r\n{}", "0".repeat(9000))), false),
        Some(400)
    );
    assert_eq!(answer(&with("Content-Length: 18446744073709551615\r\n\r\n"), false), Some(413));
    assert_eq!(answer(&with(&format!("A: {}\r\n\r\n", "x".repeat(20_000))), false), Some(431));
    assert_eq!(answer(b"\x16\x03\x01\x02\x00\x01", false), Some(400));
    assert_eq!(answer(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false), Some(400));
    // Nothing at all.
    assert_eq!(answer(b"", false), None);
    assert_eq!(answer(b"", true), None);
    assert_eq!(receiver.counts().requests(), 0);
    // Nobody else is affected.
    assert_eq!(post(&mut connect(&receiver), "/v1/logs", JSON, b"{}").0, 200);
}

/// Very many resources, scopes and names do not take a data stream or a class each.
#[test]
fn many_resources_share_a_data_stream() {
    let mut receiver = receiver(&options());
    let mut stream = connect(&receiver);
    for batch in 0..20 {
        let resources: Vec<String> = (0..100)
            .map(|number| {
                let number = batch * 100 + number;
                format!(
                    r#"{{"resource":{{"attributes":[{{"key":"k{number}","value":{{"intValue":1}}}}]}},
                    "scopeLogs":[{{"scope":{{"name":"s{number}"}},"logRecords":[
                    {{"eventName":"e{number}","attributes":[{{"key":"a{number}","value":{{"intValue":2}}}}]}}]}}]}}"#
                )
            })
            .collect();
        let body = format!(r#"{{"resourceLogs":[{}]}}"#, resources.join(","));
        assert_eq!(post(&mut stream, "/v1/logs", JSON, body.as_bytes()).0, 200);
    }
    let text = drain(&mut receiver);
    assert_eq!(text.lines().count(), 2000);
    assert!(text.contains("e1999: ") && text.contains("a1999 = 2"), "{text}");
}

/// Texts and attributes that events share are not copied for each of them at any length. What is left out is reported.
#[test]
fn shared_texts_are_limited() {
    const TEMPLATE: &str = r#"{"resourceMetrics":[{"resource":{RESOURCE},"schemaUrl":"RESOURCE_URL",
        "scopeMetrics":[{"scope":{SCOPE},"schemaUrl":"SCOPE_URL","metrics":[{METRIC,"gauge":{"dataPoints":[POINTS]}}]}]}]}"#;
    const PLACES: [(&str, &str); 5] = [
        ("RESOURCE_URL", ""),
        ("RESOURCE", ""),
        ("SCOPE_URL", ""),
        ("SCOPE", ""),
        ("METRIC", r#""name":"m""#),
    ];
    let (long, points) = ("a".repeat(1 << 18), vec![r#"{"asInt":1}"#; 1_000].join(","));
    let cut =
        |what: &str| format!("expected at most 1024 bytes in {what}, found 262144; the rest is left out");
    let left_out = |what: &str| {
        format!("expected at most 65536 bytes of attributes in {what}, found more; 1 of 2 are left out")
    };
    let attribute =
        |key: &str, text: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"{text}"}}}}"#);
    let attributes = [attribute("a", &long), attribute("b", "kept")].join(",");
    let attributes = format!(r#""attributes":[{attributes}]"#);
    let begin = Instant::now();
    for (place, content, statement, shown) in [
        ("METRIC", format!(r#""name":"{long}""#), cut("the name of a metric"), "aaaa: "),
        ("METRIC", format!(r#""name":"m","unit":"{long}""#), cut(r#"the unit of the metric "m""#), "m: "),
        (
            "METRIC",
            format!(r#""name":"m","description":"{long}""#),
            cut(r#"the description of the metric "m""#),
            "m: ",
        ),
        ("SCOPE", format!(r#""name":"{long}""#), cut("the name of a scope"), "otel.scope.name = \"aaaa"),
        (
            "SCOPE",
            format!(r#""version":"{long}""#),
            cut("the version of a scope"),
            "otel.scope.version = \"aaaa",
        ),
        ("SCOPE_URL", long.clone(), cut("the schema URL of a scope"), "otel.scope.schema_url = \"aaaa"),
        ("SCOPE", attributes.clone(), left_out("a scope"), "b = \"kept\""),
        ("RESOURCE_URL", long.clone(), cut("the schema URL of a resource"), "m: "),
        ("RESOURCE", attributes.clone(), left_out("a resource"), "m: "),
    ] {
        let mut request = TEMPLATE.replace("POINTS", &points);
        for (known, default) in PLACES {
            request = request.replace(known, if known == place { &content } else { default });
        }
        let opened = open(&[("a.json", request.as_bytes())]);
        let [damage] = opened.traces[0].damage() else { panic!("{:?}", opened.traces[0].damage()) };
        assert_eq!(damage.kind.to_string(), statement);
        assert!(request.as_bytes()[damage.bit as usize / 8..].starts_with(b"{"), "{damage}");
        let text = print_trace(&*opened.traces[0]);
        assert_eq!(text.lines().count(), 1_000, "{statement}");
        assert!(text.lines().all(|line| line.contains(shown)), "{shown}: {:?}", text.get(..2_000));
        assert!(text.len() < 2_000 * 1_000, "{statement}: {}", text.len());
    }
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
}

/// Exporters send the same metrics again and again.
#[test]
fn what_is_left_out_is_reported_once() {
    let long = "a".repeat(1_025);
    let body = format!(
        r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"m","description":"{long}","gauge":{{"dataPoints":[{{"asInt":1}}]}}}}]}}]}}]}}"#
    );
    let mut receiver = receiver(&options());
    let mut stream = connect(&receiver);
    for _ in 0..2 {
        assert_eq!(post(&mut stream, "/v1/metrics", JSON, body.as_bytes()).0, 200);
    }
    receiver.stop();
    let (mut damage, mut events) = (Vec::new(), 0);
    while let LivePoll::Message(_) = receiver.poll() {
        match receiver.current().unwrap() {
            Message::Damage(found) => damage.push(found.kind.to_string()),
            Message::Event(_) => events += 1,
            _ => {}
        }
    }
    let wanted = r#"expected at most 1024 bytes in the description of the metric "m", found 1025; the rest is left out"#;
    assert_eq!((damage, events), (vec![wanted.to_owned()], 2));
}
