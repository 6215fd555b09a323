//! `ichnos convert --to otlp-push`: requests arrive once, and everything else is named.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ichnos_testing::find_python;
use serde_json::Value;

use crate::collect_requests::RequestCollector;
use crate::support::{Directory, Run, command, ichnos, root, text};

/// Answer of the receiver to a request.
#[derive(Clone, Debug)]
enum Reply {
    Accept,
    /// Bytes of a whole answer.
    Bytes(Vec<u8>),
    /// No answer, and the end of the connection.
    Close,
    /// No answer until the client gives up.
    Never,
    /// These bytes again and again, without an answer.
    Always(&'static [u8]),
}

fn status(line: &str, headers: &str, body: &[u8]) -> Reply {
    let head = format!("HTTP/1.1 {line}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    Reply::Bytes([head.as_bytes(), body].concat())
}

/// A received request.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    head: String,
    body: Vec<u8>,
}

/// Receiver that answers as it is told, and then accepts everything.
struct FakeReceiver {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    arrived: Receiver<()>,
}

impl FakeReceiver {
    fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let replies: Vec<Reply> = replies.into_iter().collect();
        let replies = Arc::new(Mutex::new(replies.into_iter()));
        let (arriving, arrived) = channel();
        let shared = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(
                    stream,
                    &shared,
                    &mut || replies.lock().unwrap().next().unwrap_or(Reply::Accept),
                    &arriving,
                );
            }
        });
        Self { url, requests, arrived }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Serves the requests of a connection, one after the other.
fn serve(
    mut stream: TcpStream,
    requests: &Mutex<Vec<Request>>,
    reply: &mut dyn FnMut() -> Reply,
    arriving: &Sender<()>,
) {
    let mut bytes = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if !receive(&mut stream, &mut bytes) {
                return;
            }
        };
        let head = String::from_utf8(bytes.drain(..end).collect()).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        let length: usize = length.parse().unwrap();
        while bytes.len() < length {
            if !receive(&mut stream, &mut bytes) {
                return;
            }
        }
        requests.lock().unwrap().push(Request { head, body: bytes.drain(..length).collect() });
        let _ = arriving.send(());
        let answer = match reply() {
            Reply::Accept => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
            Reply::Bytes(answer) => answer,
            Reply::Close => return,
            Reply::Never => {
                let _ = receive(&mut stream, &mut bytes);
                return;
            }
            Reply::Always(part) => {
                while stream.write_all(part).is_ok() {
                    thread::sleep(Duration::from_millis(20));
                }
                return;
            }
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

fn receive(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> bool {
    let mut step = [0; 16 << 10];
    let read = stream.read(&mut step).unwrap_or(0);
    bytes.extend_from_slice(&step[..read]);
    read > 0
}

/// Sends an example to an address, in requests of at least this many bytes.
fn push(url: &str, size: &str, more: &[&str]) -> Run {
    let input = root().join("examples/hello-otlp");
    let base = ["convert", text(&input), "--to", "otlp-push", "-o", url, "--packet-size", size, "--json"];
    ichnos([&base[..], more].concat())
}

fn sent(run: &Run) -> [u64; 6] {
    let report = run.json();
    ["answered", "retries", "acknowledged", "rejected", "unanswered", "unknown"]
        .map(|name| report["sent"][name].as_u64().unwrap())
}

/// Returns the losses that contain a text, with their counts.
fn losses(run: &Run, part: &str) -> Vec<(String, u64)> {
    let report = run.json();
    let losses = report["losses"].as_array().unwrap().iter();
    let found =
        losses.map(|loss| (loss["what"].as_str().unwrap().to_owned(), loss["count"].as_u64().unwrap()));
    found.filter(|(what, _)| what.contains(part)).collect()
}

/// Returns the numbers of spans, log records and counter values in the requests that a file has.
fn elements() -> u64 {
    let directory = Directory::new("push-elements");
    let path = directory.join("all.otlp.jsonl");
    let input = root().join("examples/hello-otlp");
    ichnos(["convert", text(&input), "--to", "otlp", "-o", text(&path)]).expect(0, &[]);
    let content = fs::read_to_string(&path).unwrap();
    let lines = content.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    fn count(value: &Value) -> u64 {
        let Some(object) = value.as_object() else {
            return value.as_array().map_or(0, |list| list.iter().map(count).sum());
        };
        object
            .iter()
            .map(|(name, value)| match name.as_str() {
                "spans" | "logRecords" | "dataPoints" => value.as_array().unwrap().len() as u64,
                _ => count(value),
            })
            .sum()
    }
    lines.map(|line| count(&line)).sum()
}

/// OpenTelemetry's own messages read what arrives, and our own receiver reads the same events.
#[test]
fn requests_arrive_once() {
    let receiver = FakeReceiver::start([]);
    let run = push(&receiver.url, "1K", &["--header", "X-Key=a b", "--header", "Tenant=7"]).expect(0, &[]);
    let requests = receiver.requests();
    let all = elements();
    assert_eq!(sent(&run), [requests.len() as u64, 0, all, 0, 0, 0]);
    assert!(requests.len() > 3, "{}", requests.len());
    for request in &requests {
        for line in
            ["X-Key: a b", "Tenant: 7", "Content-Encoding: gzip", "Content-Type: application/x-protobuf"]
        {
            assert!(request.head.contains(&format!("\r\n{line}\r\n")), "{}", request.head);
        }
    }
    let directory = Directory::new("pushed");
    let collector = RequestCollector::start(&directory.join("stored"));
    let pushed = push(collector.url(), "1M", &[]).expect(0, &[]);
    assert_eq!(sent(&pushed)[2], all);
    collector.end();
    let written = directory.join("written.otlp.jsonl");
    let input = root().join("examples/hello-otlp");
    ichnos(["convert", text(&input), "--to", "otlp", "-o", text(&written)]).expect(0, &[]);
    let lines = |path: &Path| {
        let run = ichnos(["cat", "--format", "log", text(path)]).expect(0, &[]);
        let mut lines: Vec<String> = run.out.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&directory.join("stored")), lines(&written));
    let Some(python) = find_python("requests in OpenTelemetry's messages", "opentelemetry.proto") else {
        return;
    };
    for (number, request) in requests.iter().enumerate() {
        let signal = request.head.split(' ').nth(1).unwrap().rsplit('/').next().unwrap();
        fs::write(directory.join(format!("{number}.{signal}.gz")), &request.body).unwrap();
    }
    let output = Command::new(python).args(["-c", COUNT]).current_dir(&*directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), all.to_string());
}

/// Counts elements with OpenTelemetry's messages, and checks that each resource has a service.
const COUNT: &str = r"
import glob, gzip
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

def read(name, message):
    for path in glob.glob(f'*.{name}.gz'):
        found = message()
        found.ParseFromString(gzip.open(path).read())
        yield found

def services(resources):
    for resource in resources:
        names = [one.value.string_value for one in resource.resource.attributes if one.key == 'service.name']
        assert len(names) == 1 and names[0], resource.resource
        yield resource

count = 0
for request in read('traces', ExportTraceServiceRequest):
    count += sum(len(scope.spans) for one in services(request.resource_spans) for scope in one.scope_spans)
for request in read('logs', ExportLogsServiceRequest):
    count += sum(len(scope.log_records) for one in services(request.resource_logs) for scope in one.scope_logs)
for request in read('metrics', ExportMetricsServiceRequest):
    count += sum(len(data.data_points) for one in services(request.resource_metrics)
                 for scope in one.scope_metrics for metric in scope.metrics
                 for data in (metric.gauge, metric.sum, metric.histogram))
print(count)
";

#[test]
fn busy_receivers_get_the_same_request_again() {
    let busy = |line| status(line, "Retry-After: 0\r\n", b"");
    let receiver = FakeReceiver::start([
        busy("503 Service Unavailable"),
        busy("429 Too Many Requests"),
        busy("502 Bad Gateway"),
        busy("504 Gateway Timeout"),
    ]);
    let run = push(&receiver.url, "1M", &[]).expect(0, &[]);
    let requests = receiver.requests();
    assert_eq!(sent(&run), [requests.len() as u64 - 4, 4, elements(), 0, 0, 0]);
    assert!(requests[..5].iter().all(|request| *request == requests[0]));
    assert!(requests[5..].iter().all(|request| *request != requests[0]));
    // Without a time from the receiver, waits grow until the time is over.
    let receiver = FakeReceiver::start(vec![status("503 Busy", "", b"full"); 50]);
    let begin = Instant::now();
    let message = "the receiver did not accept a request";
    push(&receiver.url, "1M", &["--retry-for", "900ms"])
        .expect(2, &[message, "status 503: full", "0 elements acknowledged in 0 requests"]);
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!((2..=4).contains(&receiver.requests().len()), "{}", receiver.requests().len());
    let receiver = FakeReceiver::start([status("429 Busy", "Retry-After: 3600\r\n", b"")]);
    push(&receiver.url, "1M", &[]).expect(2, &["it asks to wait for 3600 s"]);
}

#[test]
fn rejected_elements_are_losses() {
    let partial = [b"\x0a\x0a\x08\x02\x12\x06".as_slice(), b"no way"].concat();
    let media = "Content-Type: application/x-protobuf\r\n";
    let receiver = FakeReceiver::start([
        status("200 OK", media, &partial),
        status("400 Bad Request", media, b"\x08\x03\x12\x03bad"),
    ]);
    let run = push(&receiver.url, "4K", &[]).expect(0, &["elements rejected"]);
    let [answered, retries, acknowledged, rejected, unanswered, unknown] = sent(&run);
    assert_eq!(acknowledged + rejected, elements());
    assert_eq!((answered, retries), (receiver.requests().len() as u64, 0));
    assert_eq!((unanswered, unknown), (0, 0));
    let found = losses(&run, "rejected by the receiver");
    assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), rejected);
    assert!(rejected > 2 && found.iter().any(|(what, _)| what.contains("no way")), "{found:?}");
    // All requests are refused for the same reason.
    let receiver = FakeReceiver::start(vec![status("401 Unauthorized", "", b"no key"); 9]);
    push(&receiver.url, "4K", &[]).expect(2, &["/v1/", "expected the status 200, found 401: no key"]);
    assert_eq!(receiver.requests().len(), 1);
    let receiver = FakeReceiver::start(vec![status("413 Too Large", "", b""); 99]);
    push(&receiver.url, "1M", &[]).expect(2, &["nothing was acknowledged", "status 413"]);
    let receiver = FakeReceiver::start([status("302 Found", "Location: http://x/\r\n", b"")]);
    push(&receiver.url, "1M", &[]).expect(2, &["redirects are not followed (to `http://x/`)"]);
    let receiver = FakeReceiver::start([status("200 OK", "Content-Type: text/html\r\n", b"<html>")]);
    push(&receiver.url, "1M", &[]).expect(2, &["found the media type `text/html`"]);
}

#[test]
fn requests_without_an_answer_are_not_sent_again() {
    let part = Reply::Bytes(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{".to_vec(),
    );
    let media = "Content-Type: application/json\r\n";
    for (reply, reason) in [
        (Reply::Close, "the connection was closed without an answer"),
        (Reply::Bytes(b"SSH-2.0-x\r\n\r\n".to_vec()), "expected an answer in HTTP"),
        (status("200 OK", media, b"[nothing"), "the answer cannot be decoded"),
        (Reply::Never, "no answer in time"),
        (Reply::Always(b"HTTP/1.1 100 Continue\r\n\r\n"), "no answer in time"),
        (part, ""),
    ] {
        let receiver = FakeReceiver::start([Reply::Accept, reply.clone()]);
        let run = push(&receiver.url, "4K", &["--timeout", "300ms"]);
        assert_eq!(run.code, 0, "{reply:?}: {}", run.err);
        let [answered, retries, acknowledged, rejected, unanswered, unknown] = sent(&run);
        assert_eq!((retries, rejected, unanswered), (0, 0, 1), "{reply:?}");
        assert_eq!(acknowledged + unknown, elements(), "{reply:?}");
        let requests = receiver.requests();
        assert_eq!(answered + 1, requests.len() as u64, "{reply:?}");
        let found = losses(&run, "in a request without an answer, which the receiver may have");
        assert_eq!(found.len(), 1, "{reply:?}");
        assert!(found[0].1 == unknown && found[0].0.contains(reason), "{found:?}");
        assert!(run.err.contains("the receiver may have them"), "{}", run.err);
        let is_repeated = requests.iter().enumerate().any(|(at, request)| requests[..at].contains(request));
        assert!(!is_repeated, "{reply:?}");
    }
}

/// A connection that was closed between two requests is opened again, without a loss.
#[test]
fn closed_connections_are_opened_again() {
    let receiver = FakeReceiver::start(vec![
        Reply::Bytes(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec()
        );
        3
    ]);
    let run = push(&receiver.url, "4K", &[]).expect(0, &[]);
    assert_eq!(sent(&run)[2..], [elements(), 0, 0, 0]);
    let chunks = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let receiver = FakeReceiver::start(vec![Reply::Bytes(chunks.to_vec()); 3]);
    let run = push(&receiver.url, "4K", &[]).expect(0, &[]);
    assert_eq!(sent(&run)[2..], [elements(), 0, 0, 0]);
}

#[test]
fn addresses_and_options_are_checked() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    push(&url, "1M", &["--retry-for", "0s"]).expect(2, &["cannot connect to 127.0.0.1"]);
    push("https://localhost", "1M", &[]).expect(2, &["this program has no TLS"]);
    push("out.txt", "1M", &[]).expect(2, &["expected an address such as http://localhost:4318"]);
    push(&url, "1M", &["--header", "a"]).expect(2, &["expected a header as NAME=VALUE"]);
    push(&url, "1M", &["--header", "Host=a"]).expect(2, &["header `Host`", "part of each request"]);
    push(&url, "1M", &["--header", "A=b\r\nC: d"]).expect(2, &["visible ASCII"]);
    push(&url, "1M", &["--timeout", "soon"]).expect(2, &["expected a duration such as 10s"]);
    push(&url, "1M", &["--verify"]).expect(2, &["--verify must read the output back"]);
    // The address names the format, and nothing is sent to find losses.
    let input = root().join("examples/hello-otlp");
    ichnos(["convert", text(&input), "-o", &url, "--dry-run"]).expect(0, &[]);
    let receiver = FakeReceiver::start([]);
    let fxt = root().join("examples/hello-fxt");
    let run = ichnos(["convert", text(&fxt), "-o", &receiver.url, "--strict"]);
    run.expect(2, &["some data would be lost: nothing was written"]);
    assert!(receiver.requests().is_empty());
    ichnos(["convert", text(&input), "-o", &receiver.url]).expect(0, &["elements acknowledged in"]);
}

/// Ctrl-C ends sending, and says what was sent.
#[cfg(unix)]
#[test]
fn interrupts_say_what_was_sent() {
    let receiver = FakeReceiver::start([Reply::Accept, Reply::Never]);
    let input = root().join("examples/hello-otlp");
    let mut command = command();
    command.args(["convert", text(&input), "-o", &receiver.url, "--packet-size", "4K", "--timeout", "60s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    (0..2).for_each(|_| receiver.arrived.recv_timeout(Duration::from_secs(60)).unwrap());
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("stopped: ") && err.contains("acknowledged in 1 request, 1 request with"), "{err}");
}
