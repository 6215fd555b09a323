//! `ichnos collect --listen otlp://`: acknowledged requests are stored, and every other verb reads them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ichnos_testing::{Random, sample_size};
use serde_json::Value;

use crate::http_client::{HttpClient, LogEncoding};
use crate::support::{Directory, command, gzip, ichnos, text};

/// Running collector.
pub struct RequestCollector {
    child: Child,
    out: BufReader<ChildStdout>,
    url: String,
}

impl RequestCollector {
    pub fn start(directory: &Path) -> Self {
        Self::start_by(command(), directory)
    }

    /// Starts the collector by a command that passes its arguments on.
    fn start_by(mut command: Command, directory: &Path) -> Self {
        command.args(["collect", "--listen", "otlp://127.0.0.1:0", "--json", "-o"]).arg(directory);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let listening = line(&mut out);
        assert_eq!(listening["state"], "listening");
        Self { url: listening["otlp"][0].as_str().unwrap().to_owned(), child, out }
    }

    fn connect(&self) -> HttpClient {
        HttpClient::connect(&self.url).unwrap()
    }

    /// Returns its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends the collector by a signal. Returns its statistics.
    pub fn end(mut self) -> Value {
        let kill = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let ended = line(&mut self.out);
        assert_eq!(ended["state"], "ended");
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((self.child.wait().unwrap().code(), &*err), (Some(0), ""));
        ended
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn line(out: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// Returns the messages of all log records in a directory.
fn messages(directory: &Path) -> Vec<String> {
    let run = ichnos(["cat", "--format", "jsonl", text(directory)]);
    let lines = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = lines.filter_map(|line| Some(line["payload"]["message"].as_str()?.to_owned()));
    found.collect()
}

#[test]
fn collected_requests_are_read() {
    let directory = Directory::new("collect-requests");
    let target = directory.join("new/requests");
    let collector = RequestCollector::start(&target);
    let mut client = collector.connect();
    assert!(client.log(LogEncoding::Json, &[(1_000, "one"), (3_000, "three")]).unwrap());
    assert!(client.log(LogEncoding::Protobuf, &[(2_000, "two")]).unwrap());
    let packed = gzip(&crate::http_client::protobuf(&[(4_000, "four")]));
    let headers = "Content-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\n";
    assert_eq!(client.post("/v1/logs", headers, &packed).unwrap(), (200, Vec::new()));
    // A span with an identifier of the wrong size.
    let json = "Content-Type: application/json\r\n";
    let spans = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [
        {"traceId": "00000000000000000000000000000001", "spanId": "0000000000000002", "name": "buy",
         "startTimeUnixNano": "5000", "endTimeUnixNano": "6000"}, {"spanId": "7"}]}]}]}"#;
    let (status, answer) = client.post("/v1/traces", json, spans.as_bytes()).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!((status, &answer["partialSuccess"]["rejectedSpans"]), (200, &"1".into()), "{answer}");
    assert_eq!(client.post("/v1/logs", json, b"{}").unwrap().0, 200);
    // A growing directory can be read, even during a write.
    assert_eq!(messages(&target), ["one", "two", "three", "four"]);
    assert_eq!(collector.connect().post("/v1/logs", json, b"{\"resourceLogs\"").unwrap().0, 400);
    // Another collector cannot write to the same directory.
    let other = ["collect", "--listen", "otlp://127.0.0.1:0", "-o", text(&target)];
    ichnos(other).expect(2, &["in use by another collector"]);

    let ended = collector.end();
    let number = |name: &str| ended[name].as_u64().unwrap();
    assert_eq!((number("requests"), number("elements"), number("rejected_elements")), (5, 5, 1));
    assert_eq!((number("refused_requests"), number("not_written")), (1, 0));
    let info = ichnos(["info", "--json", "--count", text(&target)]).json();
    assert_eq!(info["events"], 6);
    let names: BTreeSet<String> =
        fs::read_dir(&target).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["00000001.json.requests", "00000002.logs.requests", "collection"]
    );
    let lines = directory.join("all.jsonl");
    ichnos(["convert", text(&target), "-o", text(&lines)]);
    assert_eq!(messages(&lines), ["one", "two", "three", "four"]);
    // Reports need another directory.
    ichnos(["collect", "--tcp=0", "-o", text(&target)]).expect(2, &["found otlp"]);
}

/// The end of a request that was being written when the collector was killed is moved away.
#[test]
fn unfinished_requests_are_moved_away() {
    let directory = Directory::new("collect-unfinished");
    let target = directory.join("requests");
    let collector = RequestCollector::start(&target);
    for encoding in [LogEncoding::Json, LogEncoding::Protobuf] {
        assert!(collector.connect().log(encoding, &[(1, "whole")]).unwrap());
    }
    collector.kill();
    for name in ["00000001.json.requests", "00000002.logs.requests"] {
        let whole = fs::read(target.join(name)).unwrap();
        fs::write(target.join(name), [&whole[..], &whole[..whole.len() - 9]].concat()).unwrap();
    }
    ichnos(["cat", text(&target)])
        .expect(3, &["00000001.json.requests: byte", "00000002.logs.requests: byte"]);
    let mut command = command();
    command.args(["collect", "--listen", "otlp://127.0.0.1:0", "--json", "-o"]).arg(&target);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    line(&mut BufReader::new(child.stdout.take().unwrap()));
    child.kill().unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    child.wait().unwrap();
    assert_eq!(err.matches("of an unfinished request to").count(), 2, "{err}");
    assert_eq!(messages(&target).iter().filter(|message| *message == "whole").count(), 2);
    assert!(target.join("00000001.json.damaged").is_file() && target.join("00000002.logs.damaged").is_file());
}

/// A request that cannot be written is refused, and nothing of it stays.
#[test]
fn a_full_disk_refuses_requests() {
    let directory = Directory::on_disk("collect-requests-full");
    let target = directory.join("requests");
    let mut limited = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    limited.args(["-c", script, env!("CARGO_BIN_EXE_ichnos")]);
    let mut collector = RequestCollector::start_by(limited, &target);
    let mut client = collector.connect();
    let long = "x".repeat(20_000);
    let acknowledged = (0..10).filter(|_| client.log(LogEncoding::Json, &[(1, &long)]).unwrap()).count();
    assert!((1..10).contains(&acknowledged));
    collector.child.kill().unwrap();
    collector.child.wait().unwrap();
    assert_eq!(messages(&target).len(), acknowledged);
    ichnos(["check", text(&target)]).expect(0, &[]);
}

/// Client that sends numbered log records, and remembers which were acknowledged.
fn send(client: u64, url: &Mutex<String>, stop: &AtomicBool) -> BTreeSet<String> {
    let mut random = Random::new(client);
    let mut acknowledged = BTreeSet::new();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let address = url.lock().unwrap().clone();
        let Ok(mut connection) = HttpClient::connect(&address) else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        while !stop.load(Ordering::Relaxed) {
            let names: Vec<String> =
                (0..1 + random.below(200)).map(|index| format!("{client} {}", number + index)).collect();
            number += names.len() as u64;
            let records: Vec<(u64, &str)> = names.iter().map(|name| (number, name.as_str())).collect();
            let encoding = if random.is_one_in(2) { LogEncoding::Json } else { LogEncoding::Protobuf };
            match connection.log(encoding, &records) {
                Ok(true) => acknowledged.extend(names),
                Ok(false) => {}
                Err(_) => break,
            }
        }
    }
    acknowledged
}

/// Killed at random instants under load, the collector loses nothing that it acknowledged.
#[test]
fn nothing_acknowledged_is_lost() {
    let directory = Directory::on_disk("collect-requests-killed");
    let target = directory.join("requests");
    let mut random = Random::new(5);
    let mut collector = RequestCollector::start(&target);
    let url = Arc::new(Mutex::new(collector.url.clone()));
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (url, stop) = (Arc::clone(&url), Arc::clone(&stop));
            std::thread::spawn(move || send(client, &url, &stop))
        })
        .collect();
    let kills = sample_size(3, 20);
    for _ in 0..kills {
        std::thread::sleep(Duration::from_micros(20_000 + random.below(150_000)));
        collector.kill();
        collector = RequestCollector::start(&target);
        *url.lock().unwrap() = collector.url.clone();
    }
    std::thread::sleep(Duration::from_millis(50));
    stop.store(true, Ordering::Relaxed);
    let acknowledged: Vec<String> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    collector.end();
    let stored: BTreeSet<String> = messages(&target).into_iter().collect();
    let lost: Vec<&String> = acknowledged.iter().filter(|name| !stored.contains(*name)).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    assert!(acknowledged.len() > 1_000, "only {} were acknowledged", acknowledged.len());
    eprintln!("{kills} kills: {} acknowledged, {} stored, 0 lost", acknowledged.len(), stored.len());
}
