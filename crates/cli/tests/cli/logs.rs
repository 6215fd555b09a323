//! Fuchsia logs with all verbs. Other formats without declared classes behave the same.

use std::fs;
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::process::Stdio;

use ichnos_fuchsia::log::Encoder;
use serde_json::{Value, json};

use crate::support::{Directory, Run, command, ichnos, ichnos_with, recorded, root};
use crate::transcript::transcript;

/// Returns the example log.
fn example() -> PathBuf {
    root().join("examples/hello-fuchsia/boot.log")
}

fn path(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the printed events.
fn events(run: &Run) -> Vec<Value> {
    let lines = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == "event").collect()
}

/// Returns an object's members in order, with duplicates.
fn members(json: &str, object: &str) -> Vec<String> {
    let begin = json.find(&format!("\"{object}\":{{")).unwrap() + object.len() + 4;
    let end = begin + json[begin..].find('}').unwrap();
    json[begin..end].split(',').map(str::to_owned).collect()
}

#[test]
fn a_log_is_printed_counted_and_checked() {
    let log = example();
    let log = path(&log);
    let run = ichnos(["cat", log]).expect(0, &["discarded 4 events"]);
    assert_eq!(run.out.lines().count(), 8);
    run.prints(&[
        "[00:00:12.345678901] (+?.?????????) log: { severity = ( \"INFO\" : container = 48 ) }, { pid = 1103, \
         tid = 1105, tag = \"netstack\", message = \"packet sent\", bytes = 1400, port = \"eth0\" }",
        "{ printf = 0, message = \"slowing down to %d%% of %s\",  = 40,  = \"2.4 GHz\", cores = 4 }",
    ]);
    ichnos(["cat", "-fdetails", "-n1", log])
        .expect(0, &[])
        .prints(&["Event `log` (Class ID ", "severity: 48"]);
    ichnos(["info", log]).expect(0, &[]).prints(&["Fuchsia logs", "only known after reading: `--count`"]);
    ichnos(["info", "--count", log]).expect(0, &[]).prints(&[
        "8 events",
        "4 event record classes",
        "log: 3 events",
    ]);
    let info = ichnos(["info", "--count", "--json", log]).expect(0, &[]).json();
    let classes = info["traces"][0]["event_record_classes"].as_array().unwrap().clone();
    assert_eq!(classes.iter().map(|class| class["count"].as_u64().unwrap()).sum::<u64>(), 8);
    assert_eq!((&info["discarded_events"], &info["events"]), (&json!(4), &json!(8)));
    ichnos(["schema", log])
        .expect(0, &[])
        .prints(&["celsius: 64-bit floating-point number", "fan: 1-bit boolean"]);
    let schema = ichnos(["schema", "--json", log]).expect(0, &[]).json();
    let classes = schema["traces"][0]["data_stream_classes"][0]["event_record_classes"].as_array().unwrap();
    assert_eq!(classes.len(), 4);
    ichnos(["check", log]).expect(0, &[]).prints(&["no problems", "8 events"]);
    // The same from a pipe.
    let piped = ichnos_with(["cat", "-"], &fs::read(log).unwrap()).expect(0, &[]);
    assert_eq!(piped.out, ichnos(["cat", log]).out);
}

#[test]
fn windows_patterns_and_limits() {
    let _transcript = transcript!();
    let log = example();
    let log = path(&log);
    let count = |options: &[&str]| {
        let run = ichnos(["cat", "-fjsonl", log].iter().chain(options));
        events(&run).len()
    };
    assert_eq!(count(&["--begin", "12.4", "--end", "12.416"]), 1);
    assert_eq!(count(&["--begin", "+40ms"]), 4);
    assert_eq!(count(&["-n", "3"]), 3);
    assert_eq!(count(&["--event", "log"]), 8);
    assert_eq!(count(&["--event", "other"]), 0);
    assert_eq!(count(&["--stream", "*.log"]), 8);
    assert_eq!(count(&["--threads", "4"]), 8);
    let null = |threads: &str| ichnos(["cat", "-fnull", "--stats", "--threads", threads, log]).err;
    let checksum = |text: String| text.split("checksum ").nth(1).map(str::to_owned);
    assert!(checksum(null("1")).is_some());
    assert_eq!(checksum(null("1")), checksum(null("3")));
}

#[test]
fn a_log_and_another_trace_on_one_time_line() {
    let log = example();
    let trace = root().join("examples/hello-lttng");
    let both = [path(&log), path(&trace)];
    let run = |options: &[&str]| ichnos(["cat", "-fjsonl"].iter().chain(&both).chain(options));
    run(&[]).expect(2, &["--assume-correlated"]);
    let all = |options: &[&str]| {
        let events = events(&run(options).expect(0, &[]));
        let times: Vec<u64> = events.iter().map(|event| event["ts"].as_u64().unwrap()).collect();
        assert!(times.is_sorted());
        let first_log = events.iter().position(|event| event["name"] == "log").unwrap();
        (events.len(), first_log, times[first_log])
    };
    assert_eq!(all(&["--assume-correlated"]), (188, 0, 12_345_678_901));
    // The system start is chosen so that the log overlaps the other trace.
    let (count, first, time) = all(&["--offset", "*.log=2026-11-21 09:21:59.7"]);
    assert_eq!((count, time), (188, 1_795_252_932_045_678_901));
    assert!(first > 0);
    run(&["--offset", "other=1"]).expect(2, &["no path matches `other`"]);
}

/// A path with brackets is a path first, and a pattern only if no path is spelled so.
#[test]
fn offsets_of_paths_with_brackets() {
    let directory = Directory::new("offset-brackets");
    let names = ["b[1].log", "b[1.log", "b1.log"];
    let paths = names.map(|name| directory.join(name));
    paths.iter().for_each(|to| assert!(fs::copy(example(), to).unwrap() > 0));
    let times = |option: &str| {
        let words = [
            "cat",
            "-fjsonl",
            "--assume-correlated",
            path(&paths[0]),
            path(&paths[1]),
            path(&paths[2]),
            "--offset",
        ];
        let events = events(&ichnos(words.iter().chain(&[option])).expect(0, &[]));
        events.iter().filter(|event| event["ts"].as_u64().unwrap() >= 100_000_000_000).count()
    };
    let one = events(&ichnos(["cat", "-fjsonl", path(&paths[2])]).expect(0, &[])).len();
    let option = |name: &str| format!("{}=+100s", path(&directory.join(name)));
    assert_eq!([times(&option("b[1].log")), times(&option("b[1.log"))], [one, one]);
    assert_eq!([times(&option("b?1.log")), times(&option("b*"))], [one, 3 * one]);
    let words = ["cat", path(&paths[2]), "--offset", "other[=1"];
    ichnos(words).expect(2, &["--offset: no path is `other[`", "no valid pattern"]);
}

#[test]
fn options_of_formats() {
    let _transcript = transcript!();
    let log = example();
    let log = path(&log);
    ichnos(["info", "-O", "fuchsia-log.clock=boot", log]);
    ichnos(["info", log]);
    ichnos(["info", "-O", "fuchsia-log.clock=sun", log]);
    ichnos(["info", "-O", "fuchsia-log.moon=full", log]);
    ichnos(["info", "-O", "boot", log]);
    let directory = Directory::new("options-of-formats");
    let text = directory.join("text");
    fs::write(&text, "This is no log.\n").unwrap();
    ichnos(["info", path(&text)]);
    ichnos(["info", "--count", "--from", "fuchsia-log", path(&text)]);
    ichnos(["info", "--from", "ctf", log]);
    ichnos(["info", "--from", "other", log]);
}

#[test]
fn damage_and_rules() {
    let _transcript = transcript!();
    let directory = Directory::new("logs");
    let file = directory.join("a.log");
    let mut bytes = fs::read(example()).unwrap();
    // The type of the first argument in the first record, and reserved bits in the second record.
    bytes[16] |= 0xf;
    let second = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]) >> 4) * 8;
    bytes[second + 6] = 1;
    fs::write(&file, bytes).unwrap();
    let file = path(&file);
    let run = ichnos(["cat", "-fjsonl", file]);
    assert_eq!(events(&run).len(), 7);
    ichnos(["check", file]);
    let findings = ichnos(["check", "--json", file]).json()["findings"].clone();
    assert_eq!(findings[0]["rule"], "argument-type-unknown");
    assert_eq!((&findings[1]["rule"], &findings[1]["record"]), (&json!("record-reserved"), &json!(2)));
    assert_eq!(findings[1]["byte"], json!(second + 6));
    ichnos(["cat", "--strict", file]);
}

/// Returns records like those that programs write.
pub fn records(count: u64) -> Vec<Vec<u8>> {
    let record = |index: u64| {
        let mut buffer = [0; 256];
        let mut encoder = Encoder::new(&mut buffer);
        let message = format!("valve {index} is open");
        let event = ichnos_fuchsia::log::Event {
            timestamp: index as i64,
            severity: 0x30,
            pid: 1_103,
            tid: 1_105,
            message: Some(&message),
            arguments: &[("bar", ichnos_fuchsia::log::Value::Unsigned(index))],
            ..Default::default()
        };
        encoder.event(&event).unwrap();
        encoder.written().to_vec()
    };
    (0..count).map(record).collect()
}

/// One byte is removed anywhere in record 101 of 500: the other 499 are printed, although their positions are no longer
/// multiples of 8 bytes.
#[test]
fn a_missing_byte_loses_one_record() {
    let directory = Directory::new("cut");
    let file = directory.join("a.log");
    let records = records(500);
    let begin: usize = records[..100].iter().map(Vec::len).sum();
    let whole = records.concat();
    for at in (begin..begin + records[100].len()).step_by(13) {
        let mut bytes = whole.clone();
        bytes.remove(at);
        fs::write(&file, bytes).unwrap();
        let run = ichnos(["cat", "-fjsonl", path(&file)]).expect(3, &["record 101 breaks"]);
        let times: Vec<u64> =
            events(&run).iter().map(|event| event["payload"]["bar"].as_u64().unwrap()).collect();
        let expected: Vec<u64> = (0..500).filter(|index| *index != 100).collect();
        assert_eq!(times, expected, "byte {}", at - begin);
        let check = ichnos(["check", "--json", path(&file)]).expect(1, &[]).json();
        assert_eq!(check["findings"].as_array().unwrap().len(), 1);
        assert_eq!(check["findings"][0]["byte"].as_u64().unwrap() / 8, begin as u64 / 8);
    }
}

/// Each distinct list of names takes at most 2 kB.
#[cfg(target_os = "linux")]
#[test]
fn classes_of_records_take_little_memory() {
    const COUNT: usize = 8_000;
    if std::env::var_os("ASAN_OPTIONS").is_some() {
        eprintln!("skipped: the address sanitizer takes memory for itself");
        return;
    }
    let directory = Directory::new("classes");
    let file = directory.join("a.log");
    let write = |distinct: usize| {
        let mut buffer = vec![0; 512];
        let mut bytes = Vec::new();
        for index in 0..COUNT {
            let mut encoder = Encoder::new(&mut buffer);
            let mut record = encoder.begin(index as i64, 0x30).unwrap();
            record.argument("pid", 7u64).unwrap();
            record.argument("tid", 8u64).unwrap();
            record.argument("message", "the valve is open").unwrap();
            for name in ["bar", "celsius", "count"] {
                record.argument(&*format!("{name}_{:05}", index % distinct), 5u64).unwrap();
            }
            record.finish();
            bytes.extend_from_slice(encoder.written());
        }
        fs::write(&file, bytes).unwrap();
    };
    // Peak private memory in bytes.
    let run = |arguments: &[&str]| {
        let mut command = command();
        command.args(arguments).arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let memory = ichnos_testing::PrivateMemory::for_process(child.id());
        assert!(child.wait().unwrap().success());
        memory.peak()
    };
    write(3_000);
    let verbs = [&["cat", "-fnull"][..], &["info", "--count"]];
    let before = verbs.map(run);
    write(COUNT);
    for (arguments, before) in verbs.into_iter().zip(before) {
        let each = run(arguments).saturating_sub(before) / (COUNT as u64 - 3_000);
        eprintln!("{arguments:?}: {each} bytes");
        assert!(each <= 2_000, "{arguments:?}: {each} bytes");
    }
}

#[test]
fn every_lost_record_is_reported() {
    let _transcript = transcript!();
    let log = example();
    ichnos(["cat", "--resource-limit", "depth=1", path(&log)]);
}

/// Datagrams on a socket are printed at once, until Ctrl-C.
#[cfg(unix)]
#[test]
fn a_socket_is_listened_to() {
    let _transcript = transcript!();
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::net::UnixDatagram;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let directory = Directory::new("listen");
    let socket = directory.join("log.sock");
    let address = format!("unixgram:{}", path(&socket));
    let mut child = command()
        .args(["cat", "-fjsonl", "--listen", &address])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !socket.exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(5));
    }
    // The socket already exists.
    ichnos(["cat", "--listen", &address]);
    let sender = UnixDatagram::unbound().unwrap();
    let bytes = fs::read(example()).unwrap();
    let size = |bytes: &[u8]| usize::from(u16::from_le_bytes([bytes[0], bytes[1]]) >> 4) * 8;
    let (first, rest) = bytes.split_at(size(&bytes));
    sender.send_to(first, &socket).unwrap();
    sender.send_to(b"no message", &socket).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = |kind: &str| {
        let line =
            lines.find(|line| line.as_ref().unwrap().contains(&format!("\"type\":\"{kind}\","))).unwrap();
        serde_json::from_str::<Value>(&line.unwrap()).unwrap()
    };
    // The event is printed while the command still waits.
    assert_eq!(next("event")["payload"]["message"], "packet sent");
    // As in a file that contains the length before each datagram.
    assert_eq!(next("damage")["bit"], json!((4 + first.len()) * 8));
    sender.send_to(&rest[..size(rest)], &socket).unwrap();
    assert_eq!(next("event")["payload"]["celsius"], 71.5);
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    next("stream-end");
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    // The exit code reports the damage.
    assert_eq!(child.wait().unwrap().code(), Some(3), "{errors}");
    assert!(!socket.exists());
    ichnos(["cat", "--listen", "tcp:1"]);
    ichnos(["cat", "--listen", &address, "--from", "ctf"]);
    ichnos(["cat"]);
}

/// Each test vector in a datagram, after a valid datagram.
#[test]
fn reference_vectors() {
    let Some(file) = recorded("fuchsia/vectors/vectors.json") else { return };
    let vectors: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let directory = Directory::new("vectors");
    let good = [0x29, 0, 0, 0, 0, 0, 0, 0x30, 1, 0, 0, 0, 0, 0, 0, 0];
    let mut count = 0;
    for vector in vectors.as_array().unwrap() {
        let name = vector["name"].as_str().unwrap();
        if !name.starts_with("log_") && !name.starts_with("legacy_") {
            continue;
        }
        count += 1;
        let hex = vector["hex"].as_str().unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
        let file = directory.join(name);
        let datagram = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
        fs::write(&file, [datagram(&good), datagram(&bytes), datagram(&good)].concat()).unwrap();
        let run = ichnos(["cat", "-fjsonl", path(&file)]);
        let check = ichnos(["check", "--json", path(&file)]);
        let expect = &vector["expect"];
        if !vector["error"].is_null() {
            assert_eq!((run.code, check.code, events(&run).len()), (3, 1, 2), "{name}: {}", run.out);
            let rule = check.json()["findings"][0]["rule"].as_str().map(str::to_owned);
            assert!(rule.is_some_and(|rule| run.err.contains(&rule)), "{name}");
            continue;
        }
        assert_eq!((run.code, check.code), (0, 0), "{name}: {}{}", run.err, check.out);
        let found = events(&run);
        assert_eq!(found.len(), 3, "{name}");
        let line = run.out.lines().filter(|line| line.contains("\"type\":\"event\",")).nth(1).unwrap();
        let (event, payload) = (&found[1], &found[1]["payload"]);
        for (key, expected) in expect.as_object().unwrap() {
            let context = &event["specific_context"];
            match key.as_str() {
                "ts" => assert_eq!(event["ts"], *expected, "{name}"),
                "sev" | "severity" => assert_eq!(context["severity"]["labels"][0], *expected, "{name}"),
                "raw_severity" => assert_eq!(context["severity"]["value"], *expected, "{name}"),
                "tag" => assert_eq!(context["tag"], *expected, "{name}"),
                "args" => {
                    let arguments: Vec<String> = members(line, "payload");
                    let arguments: Vec<String> =
                        arguments.into_iter().filter(|text| !text.is_empty()).collect();
                    let expected = expected.as_array().unwrap().iter().map(|a| format!("{}:{}", a[0], a[2]));
                    assert_eq!(arguments, expected.collect::<Vec<_>>(), "{name}");
                }
                "kvs" => {
                    for (key, value) in expected.as_object().unwrap() {
                        assert_eq!(payload[key], *value, "{name}");
                    }
                }
                "tags" => {
                    let tags = members(line, "payload");
                    let tags: Vec<String> = tags
                        .into_iter()
                        .filter_map(|m| m.strip_prefix("\"tag\":").map(str::to_owned))
                        .collect();
                    let expected = expected.as_array().unwrap().iter().map(Value::to_string);
                    assert_eq!(tags, expected.collect::<Vec<_>>(), "{name}");
                }
                "pid" | "tid" if name.starts_with("legacy") => assert_eq!(context[key], *expected, "{name}"),
                "dropped" => {
                    let lost = format!("\"type\":\"discarded-events\",\"stream\":0,\"count\":{expected}");
                    assert!(run.out.contains(&lost), "{name}");
                }
                "message" if name == "log_invalid_utf8_msg" => {
                    assert_eq!(payload["message"]["$bytes"], "5468697320697320f0908020696e76616c6964");
                }
                "moniker" if name == "log_extended" => assert_eq!(payload["$__moniker"], *expected),
                "url" => assert_eq!(payload["$__url"], *expected),
                "rolled_out" => assert_eq!(payload["$__rolled_out"], *expected),
                "file" | "line" | "pid" | "tid" | "message" | "moniker" => {
                    assert_eq!(payload[key], *expected, "{name} {key}");
                }
                "fmt" => assert_eq!(payload["message"], *expected, "{name}"),
                "pargs" => {
                    let positional = members(line, "payload");
                    let positional = positional.iter().filter_map(|m| m.strip_prefix("\"\":"));
                    let expected: Vec<String> =
                        expected.as_array().unwrap().iter().map(Value::to_string).collect();
                    assert_eq!(positional.collect::<Vec<_>>(), expected, "{name}");
                }
                "control" => assert_eq!(event["name"], "log_control"),
                "printf" => assert_eq!(payload["printf"], 0),
                // Not in this output format, or a note.
                "rendered" | "note" | "size_bytes" => {}
                other => panic!("{name}: {other}"),
            }
        }
    }
    assert!(count >= 34, "{count}");
}

#[test]
fn a_log_named_twice_is_read_once() {
    let _transcript = transcript!();
    let directory = Directory::new("log-twice");
    let (log, link) = (directory.join("boot.log"), directory.join("hard.log"));
    fs::copy(example(), &log).unwrap();
    let (log, link, directory) = (path(&log), path(&link), path(&directory));
    let count = |paths: &[&str]| ichnos([&["cat", "-fnull", "--stats"], paths].concat());
    let twice = "boot.log: file given more than once; it is read once";
    count(&[directory, log]).expect(0, &["8 events in", twice]);
    count(&[log, directory]).expect(0, &["8 events in", twice]);
    count(&[log, log]);
    fs::hard_link(log, link).unwrap();
    count(&[link, log]);
}
