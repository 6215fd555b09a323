//! `cat --format log` and `log-json`: logs from any format.

use std::ffi::OsStr;
use std::path::Path;

use ichnos::fuchsia::log::{Encoder, Event};
use serde_json::Value as Json;

use crate::support::{Directory, Run, ichnos, recorded, root, trace};
use crate::transcript::transcript;

/// The logger example. It logs through `tracing` and `log`.
#[path = "../../../fuchsia/examples/oven.rs"]
#[allow(dead_code)]
mod oven;

fn cat(path: impl AsRef<Path>, options: &[&str]) -> Run {
    let arguments = [OsStr::new("cat"), path.as_ref().as_os_str()];
    ichnos(arguments.into_iter().chain(options.iter().map(OsStr::new)))
}

fn objects(run: &Run) -> Vec<Json> {
    run.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// Returns a record as the Fuchsia archivist delivers it, with its origin appended.
fn extended(event: &Event<'_>, rolled_out: u64, moniker: &str, url: &str) -> Vec<u8> {
    let mut buffer = [0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.event(event).unwrap();
    let mut bytes = encoder.written().to_vec();
    bytes.extend((moniker.len() as u32).to_le_bytes());
    bytes.extend((url.len() as u32).to_le_bytes());
    bytes.extend(rolled_out.to_le_bytes());
    for text in [moniker, url] {
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes
}

#[test]
fn conformance_of_log_lines() {
    let Some(golden) = recorded("fuchsia/goldens/log_record_golden.json") else { return };
    let golden: Json = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
    let directory = Directory::new("log-golden");
    let file = directory.join("log");

    let app = Event {
        severity: 0x30,
        pid: 1001,
        tid: 200,
        dropped: 2,
        file: Some("test file.cc"),
        line: Some(420),
        always_file_and_line: true,
        message: Some("app"),
        arguments: &[("key", "value".into())],
        tags: &["You're", "IT!"],
        ..Event::default()
    };
    std::fs::write(&file, extended(&app, 0, "moniker", "url")).unwrap();
    let lines = objects(&cat(&file, &["--format=log-json"]).expect(0, &[]));
    assert_eq!(lines, [golden["json"].clone()]);

    let some = Event {
        timestamp: 12_345_678_000,
        severity: 0x30,
        pid: 123,
        tid: 456,
        file: Some("some_file.cc"),
        line: Some(420),
        always_file_and_line: true,
        message: Some("some message"),
        arguments: &[("test", "property".into()), ("value", "test".into())],
        tags: &["foo", "bar"],
        ..Event::default()
    };
    for (index, (dropped, rolled_out)) in [(0, 0), (5, 0), (0, 10)].into_iter().enumerate() {
        let bytes = extended(&Event { dropped, ..some }, rolled_out, "moniker", "url");
        std::fs::write(&file, bytes).unwrap();
        let run = cat(&file, &["--format=log"]).expect(0, &[]);
        assert_eq!(run.out.strip_suffix('\n').unwrap(), golden["text"][index].as_str().unwrap());
    }
}

/// A tag that repeats the component name is omitted.
#[test]
fn tags_equal_to_the_component_are_omitted() {
    let _transcript = transcript!();
    let directory = Directory::new("log-tags");
    let event = Event {
        severity: 0x40,
        message: Some("m"),
        tags: &["moniker", "bar", "moniker"],
        ..Event::default()
    };
    std::fs::write(directory.join("log"), extended(&event, 0, "moniker", "url")).unwrap();
    let run = cat(directory.join("log"), &["--format=log"]);
    assert_eq!(run.out, "[00000.000000][0][0][moniker][bar] WARN: m\n");
    let json = objects(&cat(directory.join("log"), &["--format=log-json"]));
    assert_eq!(json[0]["metadata"]["tags"], serde_json::json!(["moniker", "bar", "moniker"]));
}

#[test]
fn records_from_the_example_logger_are_printed() {
    let directory = Directory::new("log-oven");
    let file = directory.join("oven.log");
    oven::bake(&file).unwrap();
    let run = cat(&file, &["--format=log"]).expect(0, &[]);
    let pid = std::process::id();
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 8, "{}", run.out);
    let target = module_path!().to_owned() + "::oven";
    let says = |line: &str, text: &str| {
        let (time, rest) = line.split_once("][").unwrap();
        assert!(time.starts_with('[') && time.len() >= 13, "{line}");
        let rest = rest.strip_prefix(&format!("{pid}][")).unwrap();
        let rest = rest.split_once(']').unwrap().1;
        assert_eq!(rest, format!("[][{target},kitchen] {text}"));
    };
    says(lines[0], "INFO: heating");
    says(lines[1], "DEBUG: still heating minute=1 celsius=65.5");
    says(lines[6], "WARN: too hot celsius=251.25 is_open=false cause=Some(\"thermostat\")");
    assert!(
        lines[7].contains(" ERROR: [fuchsia/examples/oven.rs(") && lines[7].ends_with(")] burnt minutes=7")
    );
    let json = objects(&cat(&file, &["--format=log-json"]).expect(0, &[]));
    assert_eq!(json[6]["payload"]["root"]["keys"]["celsius"], 251.25);
    assert_eq!(json[7]["metadata"]["severity"], "ERROR");
    // The file is valid in every respect.
    ichnos([OsStr::new("check"), OsStr::new("--strict"), file.as_os_str()]).expect(0, &[]);
}

/// A logger at one end of a socket, `cat` at the other end.
#[cfg(unix)]
#[test]
fn records_logged_to_a_socket_are_printed() {
    use ichnos::fuchsia::logger::{DatagramSocket, Logger, LoggerOptions};
    use tracing_subscriber::layer::SubscriberExt;

    let directory = Directory::new("log-socket");
    let path = directory.join("socket");
    let listen = format!("unixgram:{}", path.display());
    let cat = crate::support::command()
        .args(["cat", "--format=log", "--max-events=2", "--listen", &listen])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let socket = (0..500).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        DatagramSocket::connect(&path).ok()
    });
    let logger = Logger::new(socket.expect("a socket"), LoggerOptions::default());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(logger), || {
        tracing::info!(target: "oven", celsius = 95.5, "hot");
        tracing::warn!(target: "oven", "too hot");
    });
    let output = cat.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.split_once("][oven]").unwrap().1).collect();
    assert_eq!(lines, [" INFO: hot celsius=95.5", " WARN: too hot"]);
}

#[test]
fn events_with_a_log_level_are_lines() {
    let path = root().join("examples/hello-lttng");
    let run = cat(&path, &["--format=log", "--stats"]).expect(0, &["180 events in"]);
    // Text in the first event ends its line, and must stay on it.
    assert_eq!(run.out.lines().count(), 180);
    assert!(
        run.out.contains("[1795252931.955525][11290][11296][][hello] DEBUG: hello:tick number=1\n"),
        "{}",
        run.out
    );
    assert!(
        run.out.starts_with(
            "[1795252931.955521][11290][11296][][hello] INFO: hello:greeting balance=0 hash=0 port=8000 \
         text=say \"héllo\"\\t0\\0\\n load=0 half_load=0 mood=CALM first_two=[0, 0] samples=[] initials=say\n"
        ),
        "{}",
        run.out
    );
    let json = cat(&path, &["--format=log-json", "--event=hello:greeting", "--max-events=1"]).expect(0, &[]);
    let json = objects(&json);
    assert_eq!(json.len(), 1);
    assert_eq!(json[0]["metadata"]["timestamp"], 1_795_252_931_955_521_455u64);
    assert_eq!(json[0]["metadata"]["tags"], serde_json::json!(["hello"]));
    assert_eq!(json[0]["payload"]["root"]["message"]["value"], "hello:greeting");
    assert_eq!(json[0]["payload"]["root"]["keys"]["text"], "say \"héllo\"\t0\\0\n");
    assert_eq!(json[0]["payload"]["root"]["keys"].get("_samples_length"), None);
}

#[test]
fn events_without_a_level_and_losses_are_lines() {
    let _transcript = transcript!();
    let directory = trace("log-plain");
    let run = cat(&*directory, &["--format=log"]);
    assert_eq!(run.out.lines().count(), 11);
    assert!(
        run.out.starts_with("[1000000000.000001][][][] demo:tick value=0 text=hello\\x1b[31m\n"),
        "{}",
        run.out
    );
    let loss = "WARN: the tracer discarded 7 events in the data stream ";
    assert!(run.out.contains(loss) && run.out.contains(" [dropped=7]\n"), "{}", run.out);
    assert!(!run.err.contains("discarded"), "{}", run.err);
    let run = cat(&*directory, &["--format=log", "--color=always", "-q"]);
    assert!(run.out.contains("\x1b[33m[1000000003.000000][][][] WARN: "), "{:?}", run.out);
    assert_eq!(objects(&cat(&*directory, &["--format=log-json"])).len(), 11);
}

/// Messages from LTTng's own `tracelog`, and levels from every kind of tracer. The output does not depend on the number
/// of threads.
#[test]
fn recorded_traces_are_logs() {
    let Some(root) = recorded("ctf/real") else { return };
    let mut levels = 0;
    for path in [
        "lttng-ust/discard",
        "lttng-ust/perpid",
        "barectf/assembled/counter-clock__ert__ll",
        "ctf2/session-rot",
        "tracecompass/debuginfo-test-app4",
    ] {
        let path = root.join(path);
        let text = cat(&path, &["--format=log", "-q", "--threads=1"]);
        let json = cat(&path, &["--format=log-json", "-q", "--threads=1"]);
        assert!([0, 3].contains(&text.code) && text.code == json.code, "{}: {}", path.display(), text.err);
        levels +=
            text.out.lines().filter(|line| line.contains("] DEBUG: ") || line.contains("] INFO: ")).count();
        objects(&json);
        for many in [["--threads=2", "--chunk-size=1"], ["--threads=3", "--chunk-size=20000"]] {
            let more = cat(&path, &[&["--format=log", "-q"], &many[..]].concat());
            assert!(more.out == text.out && more.code == text.code, "{}: {many:?}", path.display());
            let more = cat(&path, &[&["--format=log-json", "-q"], &many[..]].concat());
            assert!(more.out == json.out, "{}: {many:?}", path.display());
        }
    }
    assert!(levels > 1_000, "{levels}");
}
