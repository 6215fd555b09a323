//! The receiver, with requests over HTTP.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use ichnos_export::Pretty;
use ichnos_io::ReadOptions;
use ichnos_model::live::{Arrivals, LiveFeed as _, LivePoll};
use ichnos_model::{Message, Sink as _};
use ichnos_otlp::receiver::{OtlpReceiver, ReceiverOptions};
use serde_json::Value as Json;

use crate::encoder::to_protobuf;
use crate::files::{logs, metrics, spans};
use crate::support::{pretty, print, without_deltas};

/// Options for a free port.
pub(crate) fn options() -> ReceiverOptions {
    let mut options = ReceiverOptions::default();
    options.address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    options
}

pub(crate) fn receiver(options: &ReceiverOptions) -> OtlpReceiver {
    OtlpReceiver::bind(options, &ReadOptions::default(), Arrivals::default()).unwrap()
}

/// Answer: status, head, body.
pub(crate) type Answer = (u16, String, Vec<u8>);

/// Reads an answer.
pub(crate) fn read_answer(stream: &mut TcpStream) -> Option<Answer> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut bytes = Vec::new();
    let mut step = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            let head = text[..end].to_owned();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if bytes.len() >= end + 4 + length {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return Some((status, head, bytes[end + 4..].to_vec()));
            }
        }
        match stream.read(&mut step) {
            Ok(0) | Err(_) => return None,
            Ok(length) => bytes.extend_from_slice(&step[..length]),
        }
    }
}

pub(crate) fn connect(receiver: &OtlpReceiver) -> TcpStream {
    TcpStream::connect(receiver.address()).unwrap()
}

/// Sends a request with these headers, and returns the answer.
pub(crate) fn post(stream: &mut TcpStream, path: &str, headers: &str, body: &[u8]) -> Answer {
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    read_answer(stream).unwrap()
}

pub(crate) const JSON: &str = "Content-Type: application/json\r\n";
pub(crate) const PROTOBUF: &str = "Content-Type: application/x-protobuf\r\n";

/// Delivers messages up to the end, as text.
pub(crate) fn drain(receiver: &mut OtlpReceiver) -> String {
    receiver.stop();
    let mut out = Vec::new();
    let mut sink = Pretty::new(&mut out, pretty());
    loop {
        match receiver.poll() {
            LivePoll::Message(_) => {
                let message = receiver.current().unwrap();
                assert!(!matches!(message, Message::Damage(_)), "{message:?}");
                let _ = sink.message(&message).unwrap();
            }
            LivePoll::End => break,
            other => panic!("{other:?}"),
        }
    }
    sink.finish().unwrap();
    drop(sink);
    String::from_utf8(out).unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// All signals in both encodings over one connection. The events are those of files.
#[test]
fn requests_become_events() {
    let mut receiver = receiver(&options());
    let mut stream = connect(&receiver);
    let all: [(&str, Json); 3] = [("/v1/traces", spans()), ("/v1/logs", logs()), ("/v1/metrics", metrics())];
    for (path, request) in &all {
        let (status, head, body) = post(&mut stream, path, JSON, request.to_string().as_bytes());
        assert_eq!((status, &body[..]), (200, &b"{}"[..]), "{head}");
        assert!(head.contains("Content-Type: application/json"), "{head}");
    }
    for (path, request) in &all {
        let packed = gzip(&to_protobuf(request));
        let headers = format!("{PROTOBUF}Content-Encoding: gzip\r\n");
        let (status, head, body) = post(&mut stream, path, &headers, &packed);
        assert_eq!((status, body.len()), (200, 0), "{head}");
        assert!(head.contains("Content-Type: application/x-protobuf"), "{head}");
    }
    assert_eq!((receiver.counts().requests(), receiver.counts().accepted()), (6, 2 * (2 + 3 + 4)));
    let mut lines = without_deltas(&drain(&mut receiver));
    let texts: Vec<String> = all.iter().map(|(_, request)| request.to_string()).collect();
    let files: Vec<(&str, &[u8])> = texts.iter().map(|text| ("a.json", text.as_bytes())).collect();
    let mut expected = without_deltas(&print(&files));
    expected.extend(expected.clone());
    lines.sort();
    expected.sort();
    assert_eq!(lines, expected);
    // Nothing more is taken.
    assert!(TcpStream::connect(receiver.address()).is_err() || read_answer(&mut stream).is_none());
}

#[test]
fn events_are_delivered_by_time_while_requests_arrive() {
    let arrivals = Arrivals::default();
    let mut receiver = OtlpReceiver::bind(&options(), &ReadOptions::default(), arrivals.clone()).unwrap();
    let LivePoll::Pending(Some(first)) = receiver.poll() else { panic!() };
    let mut stream = connect(&receiver);
    let now =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let record = |time: u64| {
        format!(r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"timeUnixNano":"{time}"}}]}}]}}]}}"#)
    };
    let sent = now();
    let started = Instant::now();
    // One from an hour ahead, one from now, one from before.
    for time in [sent + 3_600_000_000_000, sent, sent - 50_000_000] {
        assert_eq!(post(&mut stream, "/v1/logs", JSON, record(time).as_bytes()).0, 200);
    }
    assert_eq!(arrivals.count(), 3);
    let mut times = Vec::new();
    let mut seen = 0;
    while times.len() < 3 && started.elapsed() < Duration::from_secs(60) {
        match receiver.poll() {
            LivePoll::Message(head) => {
                if let Some(Message::Event(event)) = receiver.current() {
                    times.push(event.nanoseconds().unwrap() as u64);
                    // The merge does not wait for events from the future.
                    assert!(head.nanoseconds().unwrap() <= i128::from(now()));
                }
            }
            LivePoll::Pending(until) => {
                assert!(until.unwrap() >= first);
                seen = arrivals.wait(seen, Duration::from_millis(5));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(times, [sent - 50_000_000, sent, sent + 3_600_000_000_000]);
    // The event from the future has come long before its time.
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn chunks_and_slow_clients() {
    let mut receiver = receiver(&options());
    let mut stream = connect(&receiver);
    let body = logs().to_string();
    let mut bytes =
        format!("POST /v1/logs HTTP/1.1\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.as_bytes().chunks(100) {
        bytes.extend_from_slice(format!("{:x};a=b\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\nTrailer: x\r\n\r\n");
    // Two requests in pieces, one after the other.
    for piece in bytes.repeat(2).chunks(61) {
        stream.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(read_answer(&mut stream).unwrap().0, 200);
    while receiver.counts().requests() < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // A client that asks first.
    let mut stream = connect(&receiver);
    let head = format!(
        "POST /v1/logs HTTP/1.1\r\n{JSON}Expect: 100-continue\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    let (status, head, _) = read_answer(&mut stream).unwrap();
    assert!(status == 200 && head.contains("Connection: close"), "{head}");
    assert_eq!(stream.read(&mut answer).unwrap(), 0);
    assert_eq!(drain(&mut receiver).lines().count(), 9);
}

#[test]
fn rejected_elements_are_told() {
    let receiver = receiver(&options());
    let mut stream = connect(&receiver);
    let wrong = logs().to_string().replace("17", "\"x\"");
    let (status, _, body) = post(&mut stream, "/v1/logs", JSON, wrong.as_bytes());
    let body: Json = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, &body["partialSuccess"]["rejectedLogRecords"]), (200, &Json::from("1")));
    let message = body["partialSuccess"]["errorMessage"].as_str().unwrap();
    assert!(message.contains("expected an enumeration value, found `x`"), "{message}");
    // A trace identifier of 3 bytes, in a span without anything else.
    let request = b"\x0a\x0b\x12\x09\x12\x05\x0a\x03abc\x12\x00";
    let (status, _, body) = post(&mut stream, "/v1/traces", PROTOBUF, request);
    assert_eq!((status, &body[..4]), (200, &[0x0a, body.len() as u8 - 2, 0x08, 1][..]));
    assert!(String::from_utf8_lossy(&body).contains("expected an identifier of 16 bytes, found 3"));
    assert_eq!((receiver.counts().accepted(), receiver.counts().rejected()), (3, 2));
}

#[test]
fn wrong_requests_are_refused() {
    let mut options = options();
    options.most_body = 10_000;
    let receiver = receiver(&options);
    let post = |path: &str, headers: &str, body: &[u8]| post(&mut connect(&receiver), path, headers, body);
    let body = logs().to_string();
    let body = body.as_bytes();
    for (status, path, headers, body) in [
        (404, "/v1/profiles", JSON, body),
        (415, "/v1/logs", "Content-Type: text/plain\r\n", body),
        (415, "/v1/logs", "Content-Type: application/json\r\nContent-Encoding: br\r\n", body),
        (400, "/v1/logs", JSON, &b"{\"resourceLogs\": oops}"[..]),
        (400, "/v1/logs", JSON, b"{} {}"),
        (400, "/v1/logs", JSON, b""),
        (400, "/v1/logs", PROTOBUF, body),
        (400, "/v1/logs", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", body),
        (413, "/v1/logs", JSON, &[b' '; 10_001]),
    ] {
        let (found, head, answer) = post(path, headers, body);
        assert_eq!(found, status, "{head}");
        if headers == PROTOBUF {
            assert_eq!(&answer[..3], &[8, 3, 18], "{answer:?}");
        } else {
            let answer: Json = serde_json::from_slice(&answer).unwrap();
            assert!(answer["code"].is_u64() && !answer["message"].as_str().unwrap().is_empty(), "{answer}");
        }
    }
    let mut stream = connect(&receiver);
    stream.write_all(b"GET /v1/logs HTTP/1.1\r\n\r\n").unwrap();
    let (status, head, _) = read_answer(&mut stream).unwrap();
    assert!(status == 405 && head.contains("Allow: POST"), "{head}");
    let mut stream = connect(&receiver);
    stream.write_all(format!("POST /v1/logs HTTP/1.1\r\n{JSON}\r\n").as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().0, 411);
    assert_eq!(receiver.counts().requests(), 0);
}

/// Without memory, clients are told to come again. What is delivered makes room.
#[test]
fn a_full_queue_refuses() {
    let mut options = options();
    options.most_memory = 64 << 10;
    let mut receiver = receiver(&options);
    let mut stream = connect(&receiver);
    let body = logs().to_string();
    let mut accepted = 0;
    let refused = loop {
        let (status, head, _) = post(&mut stream, "/v1/logs", JSON, body.as_bytes());
        match status {
            200 => accepted += 1,
            _ => break (status, head),
        }
    };
    assert!(refused.0 == 429 && refused.1.contains("Retry-After: 1"), "{refused:?}");
    assert!((10..200).contains(&accepted), "{accepted}");
    let begin = Instant::now();
    let mut events = 0;
    while events < 3 * accepted && begin.elapsed() < Duration::from_secs(10) {
        if let LivePoll::Message(_) = receiver.poll() {
            events += usize::from(matches!(receiver.current(), Some(Message::Event(_))));
        }
    }
    assert_eq!(post(&mut connect(&receiver), "/v1/logs", JSON, body.as_bytes()).0, 200);
    assert_eq!(drain(&mut receiver).lines().count(), 3);
    let counts: Arc<_> = receiver.counts();
    assert_eq!((counts.requests() as usize, counts.refused()), (accepted + 1, 1));
}

/// Clients that wait give way to new ones.
#[test]
fn connections_are_limited() {
    let mut options = options();
    options.most_connections = 4;
    let receiver = receiver(&options);
    let mut waiting: Vec<TcpStream> = (0..20).map(|_| connect(&receiver)).collect();
    for stream in &mut waiting {
        // The connection can have been closed.
        let _ = stream.write_all(b"POST /v1/logs HTTP/1.1\r\nContent-Length: 9");
    }
    for _ in 0..3 {
        let begin = Instant::now();
        assert_eq!(post(&mut connect(&receiver), "/v1/logs", JSON, b"{}").0, 200);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }
}
