//! Live inputs: how a run ends, what a terminal shows, and traces that are written while they are received.

#[cfg(unix)]
use std::fs::OpenOptions;
#[cfg(unix)]
use std::io::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::http_client::{HttpClient, LogEncoding};
use crate::support::{Directory, Run, command, example, ichnos, text};
use crate::terminal::with_terminal;

/// Command that receives OpenTelemetry requests.
struct Receiving {
    child: Child,
    err: BufReader<ChildStderr>,
    client: HttpClient,
}

impl Receiving {
    fn start(words: &[&str]) -> Self {
        let mut command = command();
        command.args(words).args(["--listen", "otlp://127.0.0.1:0", "-v"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on http://") {
            line.clear();
            assert_ne!(err.read_line(&mut line).unwrap(), 0);
        }
        let url = line.trim_end().rsplit(' ').next().unwrap_or_default();
        let client = HttpClient::connect(url).unwrap_or_else(|error| panic!("{line}: {error}"));
        Self { child, err, client }
    }

    fn log(&mut self, messages: &[&str]) {
        let now = nanoseconds();
        let records: Vec<(u64, &str)> =
            messages.iter().zip(now..).map(|(text, time)| (time, *text)).collect();
        assert!(self.client.log(LogEncoding::Protobuf, &records).unwrap());
    }

    /// Waits for the end. Returns the exit code, the output and the messages.
    fn wait(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.err.read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }

    fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }
}

fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

#[test]
fn until_an_event_comes() {
    let mut receiving = Receiving::start(&["cat", "--until", "message == 'stop'", "--for", "60s"]);
    receiving.log(&["go"]);
    receiving.log(&["go on", "stop", "further"]);
    let (code, out, err) = receiving.wait();
    assert_eq!(code, Some(0), "{err}");
    let found: Vec<&str> = ["\"go\"", "\"go on\"", "\"stop\"", "\"further\""]
        .into_iter()
        .filter(|text| out.contains(text))
        .collect();
    assert_eq!(found, ["\"go\"", "\"go on\"", "\"stop\""], "{out}");

    let mut receiving = Receiving::start(&["cat", "--until", "message == 'stop'", "--for", "2s"]);
    receiving.log(&["go"]);
    let (code, out, err) = receiving.wait();
    assert!(out.contains("\"go\"") && err.contains("--until: no event matched"), "{out}{err}");
    assert_eq!(code, Some(1));
}

/// The same in other verbs.
#[test]
fn until_an_event_is_counted_or_written() {
    let mut receiving = Receiving::start(&["stats", "--until", "message == 'stop'", "--for", "60s"]);
    receiving.log(&["go", "stop"]);
    let (code, out, err) = receiving.wait();
    assert!(code == Some(0) && out.contains("log"), "{out}{err}");
    let directory = Directory::new("live-until");
    for (name, length, code) in [("ctf", "60s", 0), ("lines.jsonl", "60s", 0), ("all.txt", "300ms", 1)] {
        let path = directory.join(name);
        let words = ["convert", "--until", "message == 'stop'", "--for", length, "-o", text(&path)];
        let mut receiving = Receiving::start(&words);
        receiving.log(&["go"]);
        if code == 0 {
            receiving.log(&["stop"]);
        }
        let (found, out, err) = receiving.wait();
        assert_eq!(found, Some(code), "{name}: {out}{err}");
    }
    assert_eq!(messages(&directory.join("lines.jsonl")), ["go", "stop"]);
    assert_eq!(messages(&directory.join("ctf")), ["go", "stop"]);
    let file = example("hello-lttng");
    ichnos(["convert", "--until", "number == 3", text(&file), "-o", text(&directory.join("x"))])
        .expect(2, &["--until ends live input"]);
}

/// OpenTelemetry and growing files in one order, from two clocks that count from 1970.
#[cfg(unix)]
#[test]
fn receivers_and_growing_files_in_one_order() {
    let directory = Directory::new("live-mixed");
    let path = directory.join("logs");
    let words = ["cat", "--follow", text(&path), "--interval", "5ms", "--patience", "60s", "-n", "4"];
    let mut receiving = Receiving::start(&words);
    let append = |name: &str| {
        std::fs::create_dir_all(&path).unwrap();
        let mut file = OpenOptions::new().create(true).append(true).open(path.join("log.jsonl")).unwrap();
        writeln!(file, "{{\"ts\": {}, \"name\": \"{name}\"}}", nanoseconds()).unwrap();
    };
    receiving.log(&["one"]);
    append("two");
    receiving.log(&["three"]);
    append("four");
    let (code, out, err) = receiving.wait();
    assert_eq!(code, Some(0), "{out}{err}");
    let places: Vec<_> = ["\"one\"", "two", "\"three\"", "four"].iter().map(|word| out.find(word)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{out}");
    // Files that do not exist yet are not waited for.
    let missing = directory.join("missing");
    let words = ["cat", "--follow", text(&missing), "--patience", "10ms", "-n", "1"];
    let mut receiving = Receiving::start(&words);
    receiving.log(&["alone"]);
    let (code, out, err) = receiving.wait();
    assert!(code == Some(0) && out.contains("alone"), "{out}{err}");
    let run = ichnos(["cat", "--listen", "otlp://127.0.0.1:0", "--follow"]);
    run.expect(2, &["--follow needs the path of files"]);
}

/// Datagrams and OpenTelemetry.
#[cfg(unix)]
#[test]
fn two_receivers() {
    let directory = Directory::new("live-receivers");
    let socket = directory.join("socket");
    let address = format!("unixgram:{}", text(&socket));
    let words =
        ["cat", "--listen", &address, "--assume-correlated", "--patience", "10ms", "-n", "2", "-fjsonl"];
    let mut receiving = Receiving::start(&words);
    let bytes = std::fs::read(example("hello-fuchsia/boot.log")).unwrap();
    let size = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]) >> 4) * 8;
    let sender = std::os::unix::net::UnixDatagram::unbound().unwrap();
    wait_until("a socket", || sender.send_to(&bytes[..size], &socket).is_ok());
    receiving.log(&["one"]);
    let (code, out, err) = receiving.wait();
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(out.matches("\"type\":\"event\"").count(), 2, "{out}");
    assert!(out.contains("\"one\"") && !socket.exists(), "{out}");
}

/// Files end like live inputs.
#[test]
fn until_an_event_in_a_file() {
    let path = example("hello-lttng");
    let all = ichnos(["cat", text(&path)]).out;
    let stopped = |until: &str, code: i32, parts: &[&str]| -> Run {
        ichnos(["cat", "--until", until, text(&path)]).expect(code, parts)
    };
    let Run { out, .. } = stopped("number == 3", 0, &[]);
    assert!(all.starts_with(&out) && out.lines().count() < all.lines().count() && !out.is_empty(), "{out}");
    let last = ichnos(["cat", "--filter", "number == 3", "-n", "1", text(&path)]).out;
    let fields = |text: &str| text.lines().last().unwrap().split_once(") ").unwrap().1.to_owned();
    assert_eq!(fields(&out), fields(&last));
    assert_eq!(stopped("number == 999999", 1, &["no event matched"]).out, all);
    stopped("index ==", 2, &["--until"]);
}

/// Returns a free port. Another program could take it, but hardly does.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Runs a command on a terminal, and sends log records to it.
fn on_terminal(words: &[&str], length: &str) -> String {
    let address = format!("127.0.0.1:{}", free_port());
    let mut command = command();
    command.args(words).args(["--listen", &format!("otlp://{address}"), "--for", length]);
    let sender = thread::spawn(move || {
        let mut client = loop {
            match HttpClient::connect(&address) {
                Ok(client) => break client,
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        };
        for number in 0.. {
            // Half of them are late.
            let time = nanoseconds() - (number % 2) * 3_000_000_000;
            match client.log(LogEncoding::Json, &[(time, &format!("line {number}"))]) {
                Ok(true) => thread::sleep(Duration::from_millis(20)),
                _ => return,
            }
        }
    });
    let (code, bytes) = with_terminal(command);
    sender.join().unwrap();
    assert_eq!(code, 0);
    String::from_utf8(bytes).unwrap()
}

/// Returns what a terminal shows at the end, without the lines that were cleared.
fn shown(text: &str) -> Vec<String> {
    text.split('\n').map(|line| line.rsplit('\r').next().unwrap().replace("\u{1b}[K", "")).collect()
}

/// Returns the output with enough of what is asked for. On a busy machine, it takes longer.
fn on_terminal_with(words: &[&str], lengths: [&str; 2], has_enough: fn(&str) -> bool) -> String {
    let text = on_terminal(words, lengths[0]);
    if has_enough(&text) { text } else { on_terminal(words, lengths[1]) }
}

/// The rate and the lag are below the events, and disappear.
#[test]
fn rate_on_a_terminal() {
    let has_enough = |text: &str| text.matches("message = ").count() > 10 && text.contains(" late");
    let text = on_terminal_with(&["cat", "--color", "never"], ["1200ms", "10s"], has_enough);
    let status: Vec<&str> = text.split('\r').filter(|part| part.contains(" per second, ")).collect();
    assert!(!status.is_empty() && status.iter().all(|line| line.contains(" s behind")), "{text}");
    assert!(status.iter().any(|line| line.contains(" late")), "{text}");
    let lines = shown(&text);
    let (events, others): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.contains("message = "));
    assert!(events.len() > 10, "{text}");
    let is_whole = |line: &str| line.starts_with('[') && line.ends_with('}');
    assert!(events.iter().all(|line| is_whole(line)), "{text}");
    assert!(others.iter().all(|line| line.is_empty() || line.starts_with("note: ")), "{others:?}");
    assert!(others.iter().any(|line| line.contains(" came late: ")), "{others:?}");
}

#[test]
fn statistics_are_refreshed_on_a_terminal() {
    let has_enough = |text: &str| text.split("\u{1b}[J").filter(|part| part.contains("log")).count() >= 2;
    let text = on_terminal_with(&["stats", "--color", "never"], ["2500ms", "15s"], has_enough);
    let parts: Vec<&str> = text.split("\u{1b}[J").collect();
    assert!(parts.len() >= 2, "{text}");
    // The last one replaces the others, and has more events.
    let tables: Vec<&str> = parts.iter().copied().filter(|part| part.contains("log")).collect();
    assert!(tables.len() >= 2 && tables.first() != tables.last(), "{text}");
    let piped = Receiving::start(&["stats", "--for", "100ms"]);
    let (code, out, _) = piped.wait();
    assert!(code == Some(1) && !out.contains('\u{1b}'), "{out}");
}

/// Returns the messages in a trace.
fn messages(path: &Path) -> Vec<String> {
    let out = ichnos(["cat", "--format", "jsonl", text(path)]).expect(0, &[]).out;
    let lines = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter_map(|line| Some(line["payload"]["message"].as_str()?.to_owned())).collect()
}

/// Waits until a condition is true.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}");
}

/// Live input is written in formats that can grow. What was written can be read even if the command is killed.
#[test]
fn live_input_is_written() {
    let directory = Directory::new("live-written");
    for name in ["ctf", "lines.jsonl", "all.nettrace", "all.fxt"] {
        let path = directory.join(name);
        let mut receiving = Receiving::start(&["convert", "-o", text(&path)]);
        receiving.log(&["one"]);
        receiving.log(&["two", "three"]);
        // Of three seconds ago.
        let late = nanoseconds() - 3_000_000_000;
        assert!(receiving.client.log(LogEncoding::Json, &[(late, "late")]).unwrap());
        receiving.signal("-INT");
        let (code, _, err) = receiving.wait();
        assert_eq!(code, Some(0), "{name}: {err}");
        let found = ichnos(["info", "--json", "--count", text(&path)]).expect(0, &[]).json();
        assert_eq!(found["events"], 4, "{name}: {found}");
    }
    let lines = messages(&directory.join("lines.jsonl"));
    assert!(lines.len() == 4 && lines.contains(&"late".to_owned()), "{lines:?}");
    assert_eq!(messages(&directory.join("ctf")).len(), 4);
    for name in ["killed", "killed.jsonl"] {
        let path = directory.join(name);
        let mut receiving = Receiving::start(&["convert", "-o", text(&path)]);
        receiving.log(&["one", "two"]);
        // The file of a format without packets is created before.
        let written = || {
            let info = ichnos(["info", "--json", "--count", text(&path)]);
            serde_json::from_str(&info.out).is_ok_and(|info: serde_json::Value| info["events"] == 2)
        };
        wait_until(name, written);
        receiving.signal("-KILL");
        receiving.wait();
        assert_eq!(messages(&path), ["one", "two"], "{name}");
        let repaired = directory.join(format!("repaired-{name}"));
        ichnos(["repair", text(&path), "-o", text(&repaired)]).expect(0, &[]);
        assert_eq!(messages(&repaired), ["one", "two"], "{name}");
    }
    // `record` does the same.
    let path = directory.join("recorded.jsonl");
    let mut receiving = Receiving::start(&["record", "-o", text(&path)]);
    receiving.log(&["one"]);
    receiving.signal("-INT");
    let (code, _, err) = receiving.wait();
    assert_eq!((code, messages(&path)), (Some(0), vec!["one".to_owned()]), "{err}");
    ichnos(["convert", "--listen", "otlp://127.0.0.1:0", "--force", "-o", text(&directory.join("ctf"))])
        .expect(2, &["live input needs a new directory"]);
}
