//! Live inputs: how a run ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::http_client::{HttpClient, LogEncoding};
use crate::support::{Run, command, example, ichnos, text};

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
        err.read_line(&mut line).unwrap();
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

    let mut receiving = Receiving::start(&["cat", "--until", "message == 'stop'", "--for", "300ms"]);
    receiving.log(&["go"]);
    let (code, out, err) = receiving.wait();
    assert!(out.contains("\"go\"") && err.contains("--until: no event matched"), "{out}{err}");
    assert_eq!(code, Some(1));
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
