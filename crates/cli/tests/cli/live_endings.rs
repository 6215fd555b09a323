//! Live inputs that wait, beside others, and how runs with them end.
#![cfg(unix)]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::support::{Directory, command, example, ichnos, text};

/// A command with live inputs.
struct LiveRun {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
}

impl LiveRun {
    fn start(words: &[&str]) -> Self {
        let mut command = command();
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        Self { child, out, err }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    /// Returns the address at which it listens.
    fn address(&mut self) -> String {
        let mut line = String::new();
        while !line.contains("listening on http://") {
            line.clear();
            assert!(self.err.read_line(&mut line).unwrap() > 0, "it does not listen");
        }
        line.trim().rsplit_once("http://").unwrap().1.to_owned()
    }

    fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// Returns the exit code, the rest of the output, and the messages.
    fn wait(mut self) -> (Option<i32>, String, String) {
        let (mut rest, mut messages) = (String::new(), String::new());
        self.out.read_to_string(&mut rest).unwrap();
        self.err.read_to_string(&mut messages).unwrap();
        (self.child.wait().unwrap().code(), rest, messages)
    }
}

/// Returns an address of LTTng at which nobody listens.
fn nobody() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("net://127.0.0.1:{port}/host/h/s")
}

/// Sends a span.
fn post(address: &str, name: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"{name}","startTimeUnixNano":"{now}","endTimeUnixNano":"{now}"}}]}}]}}]}}"#
    );
    let mut stream = TcpStream::connect(address).unwrap();
    let head =
        "POST /v1/traces HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Ctrl-C and `--for` end a wait for a relay daemon.
#[test]
fn a_wait_for_a_relay_daemon_ends() {
    let begin = Instant::now();
    let (code, out, messages) = LiveRun::start(&["cat", &nobody(), "--retry", "1h", "--for", "100ms"]).wait();
    assert_eq!((code, out.as_str()), (Some(0), ""), "{messages}");
    assert!(messages.contains("; trying again"), "{messages}");
    let waiting = LiveRun::start(&["cat", &nobody(), "--retry", "1h", "--patience", "50ms"]);
    let mut err = waiting.err;
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert!(line.contains("cannot connect to the relay daemon"), "{line}");
    line.clear();
    err.read_line(&mut line).unwrap();
    assert!(line.contains("silent for 0.05 s"), "{line}");
    let waiting = LiveRun { err, ..waiting };
    waiting.signal("-INT");
    assert_eq!(waiting.wait().0, Some(0));
    // Without --retry, it is an error at once.
    ichnos(["cat", &nobody()]).expect(2, &["cannot connect to the relay daemon"]);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

/// An input that is not there yet delays no other.
#[test]
fn other_inputs_go_on_while_one_is_waited_for() {
    let words = ["cat", &nobody(), "--retry", "1h", "--patience", "50ms", "--listen", "otlp://127.0.0.1:0"];
    let mut run = LiveRun::start(&words);
    let address = run.address();
    post(&address, "early");
    assert!(run.line().contains("early"));
    post(&address, "later");
    // The first span also has an end.
    assert!((0..3).any(|_| run.line().contains("later")));
    run.signal("-INT");
    let (code, _, messages) = run.wait();
    assert_eq!(code, Some(0), "{messages}");
}

/// A long file beside a live input ends with it.
#[test]
fn files_beside_live_inputs_end_with_them() {
    let directory = Directory::new("live-files");
    let path = directory.join("long.jsonl");
    let mut lines = String::new();
    for time in 0..100_000 {
        writeln!(lines, "{{\"ts\": {time}, \"name\": \"tick\"}}").unwrap();
    }
    std::fs::write(&path, lines).unwrap();
    for end in [&[][..], &["--for", "1ms"]] {
        let words =
            ["cat", text(&path), "--assume-correlated", "--listen", "otlp://127.0.0.1:0", "--patience", "0s"];
        let mut run = LiveRun::start(&[&words[..], end].concat());
        // Its output is full until it is read.
        let first = run.line();
        if end.is_empty() {
            assert!(first.contains("tick"), "{first}");
            run.signal("-INT");
            std::thread::sleep(Duration::from_millis(20));
        }
        let (code, rest, messages) = run.wait();
        assert_eq!(code, Some(0), "{messages}");
        assert!(rest.lines().count() < 50_000, "{}", rest.lines().count());
    }
}

/// What was received is listed after Ctrl-C.
#[test]
fn tasks_are_listed_after_ctrl_c() {
    for (signal, expected) in [("-INT", 0), ("-TERM", 143)] {
        let mut run = LiveRun::start(&["task", "list", "--listen", "otlp://127.0.0.1:0"]);
        let address = run.address();
        post(&address, "checkout");
        run.signal(signal);
        let (code, out, messages) = run.wait();
        assert_eq!(code, Some(expected), "{messages}");
        assert!(out.contains("checkout") && out.contains("1 task"), "{out}{messages}");
    }
}

/// Options that apply to no input are errors.
#[test]
fn options_without_their_input() {
    let file = example("hello-jsonl/requests.jsonl");
    let needs = |options: &[&str], expected: &str| {
        let words = [&["cat", text(&file)], options].concat();
        ichnos(words).expect(2, &[expected]);
    };
    needs(&["--patience", "2s"], "--patience needs a live input: net://HOST/host/NAME/SESSION");
    needs(&["--for", "2s"], "--for needs a live input");
    needs(&["--attach", "now"], "--attach needs a live LTTng session");
    needs(&["--retry", "2s", "--listen", "otlp://127.0.0.1:0"], "--retry needs a live LTTng session");
    needs(&["--attach", "begin", "--follow"], "--attach needs a live LTTng session");
    if cfg!(target_os = "linux") {
        needs(&["--profile", "gc"], "--profile needs a live .NET process: dotnet:PID");
        needs(&["--providers", "A:1:5", "-n", "1"], "--providers needs a live .NET process");
    }
}

/// The clock of a live input can be moved.
#[test]
fn offsets_of_live_inputs() {
    let address = "otlp://127.0.0.1:0";
    let words = ["cat", "--clock-gmt", "--clock-seconds", "--listen", address, "--offset"];
    let moved = format!("{address}=-100000000s");
    let mut run = LiveRun::start(&[&words[..], &[&moved]].concat());
    let target = run.address();
    post(&target, "moved");
    let line = run.line();
    let seconds: u64 = line.trim_start_matches('[').split('.').next().unwrap().parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!((now - 100_000_100..now - 99_999_900).contains(&seconds), "{line}");
    run.signal("-INT");
    let (code, _, messages) = run.wait();
    assert_eq!(code, Some(0), "{messages}");
    ichnos([&words[..], &["net://*=1s"]].concat()).expect(2, &["--offset: no path matches"]);
}
