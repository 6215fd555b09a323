//! `ichnos collect`: reports that were sent are stored, and every other verb reads them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use ichnos::collect::SYNC;
use serde_json::Value;

use crate::support::{Directory, command, ichnos, ichnos_in, recorded};

/// Running collector.
struct Collector {
    child: Child,
    out: BufReader<ChildStdout>,
    udp: String,
    tcp: String,
}

impl Collector {
    fn start(directory: &Path) -> Self {
        Self::start_with(directory, &[])
    }

    fn start_with(directory: &Path, options: &[&str]) -> Self {
        let mut command = command();
        command
            .args(["collect", "--udp", "0", "--tcp", "0", "--json"])
            .args(options)
            .arg("-o")
            .arg(directory);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let listening = line(&mut out);
        assert_eq!(listening["state"], "listening");
        let address = |protocol: &str| listening[protocol][0].as_str().unwrap().to_owned();
        Self { udp: address("udp"), tcp: address("tcp"), child, out }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.tcp).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Ends the collector by a signal. Returns its statistics and messages.
    fn end(mut self, signal: &str) -> (Value, String) {
        assert!(
            Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success()
        );
        let ended = line(&mut self.out);
        assert_eq!(ended["state"], "ended");
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{err}");
        (ended, err)
    }

    fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        err
    }
}

fn line(out: &mut impl BufRead) -> Value {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

fn report(task: u32, operation: u32) -> String {
    format!(
        "X-Trace Report ver 1.0\nX-Trace: 10{task:08X}{operation:08X}\nEdge: {:08X}\n\
         Timestamp: 1500000000.{operation:03}\nLabel: step {operation}\n",
        operation - 1
    )
}

fn send(stream: &mut TcpStream, report: &str) {
    let length = (report.len() as u32).to_be_bytes();
    stream.write_all(&[&length, report.as_bytes()].concat()).unwrap();
}

/// Waits until everything is on disk. Returns the number of stored and rejected reports.
fn sync(stream: &mut TcpStream) -> (u64, u64) {
    stream.write_all(&SYNC.to_be_bytes()).unwrap();
    let mut answer = [0; 16];
    stream.read_exact(&mut answer).unwrap();
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
    (number(&answer[..8]), number(&answer[8..]))
}

#[test]
fn collected_reports_are_read() {
    let directory = Directory::new("collect");
    let target = directory.join("new/reports");
    let collector = Collector::start(&target);
    let mut stream = collector.connect();
    for operation in 1..=20 {
        send(&mut stream, &report(0xCAFE_BABE, operation));
    }
    // A report as other libraries write it, a duplicate, and an invalid report.
    send(&mut stream, &report(0x0A0B_0C0D, 1).replace('\n', "\r\n"));
    send(&mut stream, &report(0xCAFE_BABE, 7));
    send(&mut stream, "GET / HTTP/1.1");
    assert_eq!(sync(&mut stream), (22, 1));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for operation in 21..=30 {
        socket.send_to(report(0xCAFE_BABE, operation).as_bytes(), &collector.udp).unwrap();
    }
    socket.send_to(b"X-Trace Report ver 1.0\nLabel: of nothing\n", &collector.udp).unwrap();
    // A growing trace can be read.
    let while_it_runs = ichnos(["cat".as_ref(), target.as_os_str()]).expect(0, &[]);
    assert!(while_it_runs.out.lines().count() >= 22, "{}", while_it_runs.out);
    // Another process cannot write to the same directory.
    let other = ichnos(["collect".as_ref(), "--tcp=0".as_ref(), "-o".as_ref(), target.as_os_str()]);
    other.expect(2, &["in use by another collector"]);

    let (ended, err) = collector.end("-TERM");
    assert!(err.is_empty(), "{err}");
    let number = |name: &str| ended[name].as_u64().unwrap();
    assert_eq!((number("reports"), number("duplicates"), number("tasks")), (32, 1, 2));
    assert_eq!((number("refused"), number("datagrams"), number("kernel_drops")), (2, 11, 0));
    let out = ichnos(["cat".as_ref(), "--format=jsonl".as_ref(), target.as_os_str()]).expect(0, &[]).out;
    assert_eq!(out.lines().filter(|line| line.contains("\"step ")).count(), 32, "{out}");
    let info =
        ichnos(["info".as_ref(), "--json".as_ref(), "--count".as_ref(), target.as_os_str()]).expect(0, &[]);
    assert_eq!(info.json()["events"], 32);
    ichnos(["check".as_ref(), target.as_os_str()]).expect(0, &[]);

    // The index is rebuilt from the segments.
    std::fs::remove_file(target.join("index.redb")).unwrap();
    let again = ichnos(["collect".as_ref(), "--rebuild-index".as_ref(), "-o".as_ref(), target.as_os_str()]);
    assert_eq!(again.expect(0, &[]).out, "the index has 2 tasks\n");
    let index = ichnos::collect::open_index(&target).unwrap();
    let tasks = index.tasks().unwrap();
    let tasks: Vec<_> = tasks.iter().map(|task| (task.key.to_string(), task.reports)).collect();
    assert_eq!(tasks, [("0A0B0C0D".to_owned(), 1), ("CAFEBABE".to_owned(), 31)]);
}

/// Reports acknowledged before a kill are stored, and collecting continues.
#[test]
fn killed_and_started_again() {
    let directory = Directory::new("collect-killed");
    let target = directory.join("reports");
    for round in 0..5 {
        let collector = Collector::start(&target);
        let mut stream = collector.connect();
        for operation in 1..=50 {
            send(&mut stream, &report(0xCAFE_BABE, 100 * round + operation));
        }
        assert_eq!(sync(&mut stream), (50, 0));
        collector.kill();
    }
    let (ended, err) = Collector::start(&target).end("-INT");
    assert!(err.is_empty(), "what was acknowledged has checksums: {err}");
    assert_eq!(ended["tasks"], 1);
    let info =
        ichnos(["info".as_ref(), "--json".as_ref(), "--count".as_ref(), target.as_os_str()]).expect(0, &[]);
    assert_eq!(info.json()["events"], 250);
}

/// Readers accept all reports that were acknowledged.
#[test]
fn reports_beyond_the_limits_of_readers_are_refused() {
    let directory = Directory::new("collect-large");
    let target = directory.join("reports");
    let collector = Collector::start_with(&target, &["--report-size=2M"]);
    let mut stream = collector.connect();
    send(&mut stream, &format!("{}{}", report(0xCAFE_BABE, 1), "a: b\n".repeat(70_000)));
    send(&mut stream, &format!("{}{}", report(0xCAFE_BABE, 2), "a: b\n".repeat(65_000)));
    assert_eq!(sync(&mut stream), (1, 1));
    let (ended, _) = collector.end("-TERM");
    assert_eq!((&ended["reports"], &ended["refused"]), (&1.into(), &1.into()));
    let info =
        ichnos(["info".as_ref(), "--json".as_ref(), "--count".as_ref(), target.as_os_str()]).expect(0, &[]);
    assert_eq!(info.json()["events"], 1);
    ichnos(["check".as_ref(), target.as_os_str()]).expect(0, &[]);
}

#[test]
fn impossible_requests() {
    let directory = Directory::new("collect-wrong");
    std::fs::write(directory.join("file"), "").unwrap();
    let collect = |arguments: &[&str], name: &str| {
        let all = ["collect"].iter().chain(arguments).map(|text| (*text).into());
        ichnos(all.chain([std::ffi::OsString::from("-o"), directory.join(name).into()]))
    };
    collect(&["--tcp=0"], "file").expect(2, &["file: "]);
    collect(&["--tcp=203.0.113.1:7"], "new")
        .expect(2, &["TCP 203.0.113.1:7: ", "--udp and --tcp set the addresses"]);
    collect(&["--udp=localhost"], "new").expect(2, &["expected a port or an address"]);
    collect(&["--rebuild-index"], "new").expect(2, &["not a collector directory"]);
    collect(&["--from=nothing"], "new").expect(2, &["invalid value 'nothing'"]);
    // Nothing was created.
    assert!(!directory.join("new").exists());
    ichnos(["collect"]).expect(2, &["--output <DIR>"]);
}

/// Recorded reports are sent one by one. Their graph equals the graph of the recorded file.
#[test]
fn recorded_reports() {
    let Some(recorded) = recorded("xtrace/brown/text") else { return };
    for (name, nodes, edges, depth) in
        [("small", 166, 218, 49), ("medium", 849, 1_009, 109), ("download", 839, 888, 693)]
    {
        let path = recorded.join(name).with_extension("txt");
        let text = std::fs::read_to_string(&path).unwrap();
        let directory = Directory::new("collect-recorded");
        let target = directory.join("reports");
        let collector = Collector::start(&target);
        let mut stream = collector.connect();
        let mut sent = 0;
        for report in text.split("X-Trace Report ver 1.0").skip(1) {
            send(&mut stream, &format!("X-Trace Report ver 1.0{report}"));
            sent += 1;
        }
        assert_eq!(sync(&mut stream), (sent, 0), "{name}");
        let (ended, _) = collector.end("-TERM");
        assert_eq!((&ended["reports"], &ended["tasks"]), (&sent.into(), &1.into()), "{name}");
        let task = |path: &Path| {
            let list = ichnos(["task".as_ref(), "list".as_ref(), "--json".as_ref(), path.as_os_str()]);
            list.expect(0, &[]).json()["tasks"][0].clone()
        };
        let found = task(&target);
        let figures = (&found["nodes"], &found["edges"], &found["depth"]);
        assert_eq!(figures, (&nodes.into(), &edges.into(), &depth.into()), "{name}");
        assert_eq!(found, task(&path), "{name}");
    }
}

/// An incomplete report at the end of a growing segment is ignored.
#[test]
fn half_a_report_is_not_read() {
    let directory = Directory::new("half");
    let whole = report(1, 1);
    let text = format!("{whole}\n{}", &report(1, 2)[..60]);
    std::fs::write(directory.join("00000001.reports"), &text).unwrap();
    let collection = directory.join("collection");
    std::fs::write(&collection, "ichnos collection 1\nformat: xtrace\n").unwrap();
    let file = std::fs::File::open(&collection).unwrap();
    let events =
        |path: &str, code| ichnos_in(&directory, ["cat", path]).expect(code, &[]).out.lines().count();
    // No collector is running, so the end is final.
    assert_eq!(events(".", 3), 2);
    file.lock().unwrap();
    assert_eq!(events(".", 0), 1);
    assert_eq!(events("00000001.reports", 0), 1);
    // A file from another program is complete, whatever its end.
    let foreign = format!("{whole}\n{}", report(1, 2).trim_end());
    for name in ["mine.txt", "1.reports", "00000001.reports.txt", "x0000001.reports", "00000001.damaged"] {
        std::fs::write(directory.join(name), &foreign).unwrap();
        assert_eq!(events(name, 0), 2, "{name}");
    }
}

/// A task in a collected directory is the same with and without the index.
#[test]
fn one_task_of_the_index() {
    let directory = Directory::new("indexed");
    let collector = Collector::start(&directory);
    let mut stream = collector.connect();
    for task in 1..=40 {
        for operation in 1..=9 {
            send(&mut stream, &report(task, operation));
        }
    }
    // An edge from an operation that exists only in another task.
    send(&mut stream, &report(0x99, 5));
    assert_eq!(sync(&mut stream), (361, 0));
    drop(stream);
    collector.end("-TERM");
    let segment = directory.join("00000001.reports");
    let copy = directory.join("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(&segment, copy.join("all.reports")).unwrap();
    let all = copy.join("all.reports");
    let run = |verb: &[&str], path: &Path| {
        let arguments = [&["task"], verb].concat().into_iter().map(Into::into);
        ichnos(arguments.chain([path.as_os_str().to_owned()])).expect(0, &[]).out
    };
    let verbs: [&[&str]; 5] = [
        &["show", "00000007"],
        &["show", "00000007", "--json"],
        &["path", "0000001F", "--json"],
        &["diff", "00000003", "00000004"],
        &["show", "00000099"],
    ];
    let expected: Vec<String> = verbs.iter().map(|verb| run(verb, &all)).collect();
    // With another file, the whole directory is read. The copy duplicates each report.
    std::fs::remove_dir_all(&copy).unwrap();
    for (verb, expected) in verbs.iter().zip(&expected) {
        assert_eq!(run(verb, &directory), *expected, "{verb:?}");
    }
    // Reports without an index entry are not read.
    let text = std::fs::read_to_string(&segment).unwrap();
    std::fs::write(&segment, text.replace("step 5", "STEP 5")).unwrap();
    let without_index = run(verbs[0], &directory);
    assert!(without_index.contains("STEP 5"));
    // Only a search for events that name the task reads everything.
    std::fs::write(&segment, text.replacen("X-Trace: 1000000008", "X-Trace: 1000000007", 9)).unwrap();
    assert_eq!(run(&[verbs[0], &["--no-search"]].concat(), &directory), expected[0]);
}

/// Damage and joined events are the same with and without the index, reported once and at the same place.
#[test]
fn indexed_tasks_equal_those_from_all_reports() {
    let directory = Directory::new("index-agrees");
    let collector = Collector::start(&directory);
    let mut stream = collector.connect();
    for operation in 1..=3 {
        send(&mut stream, &report(7, operation));
        send(&mut stream, &report(8, operation));
    }
    let head = |task: u32, operation: u32| {
        format!("X-Trace Report ver 1.0\nX-Trace: 10{task:08X}{operation:08X}\nLabel: said\n")
    };
    // An event without an operation that names one in another task, and an invalid time with a known edge from nothing.
    send(&mut stream, &(head(9, 0) + "Note: 100000000700000002\n"));
    send(&mut stream, &(head(9, 5) + "Timestamp: yesterday\nEdge: 0A0B0C0D\n"));
    assert_eq!(sync(&mut stream), (8, 0));
    drop(stream);
    collector.end("-TERM");
    let all = Directory::new("index-agrees-all");
    std::fs::copy(directory.join("00000001.reports"), all.join("00000001.reports")).unwrap();
    let run = |task: &str, path: &Path| {
        let arguments = ["task", "show", task].map(Into::into);
        ichnos(arguments.into_iter().chain([path.as_os_str().to_owned()]))
    };
    let expected = ["00000007", "00000009"].map(|task| run(task, &all));
    let joined = run("00000007", &directory).expect(0, &[]);
    assert!(joined.out.contains("1 joined event") && joined.out == expected[0].out, "{}", joined.out);
    let damaged = run("00000009", &directory).expect(3, &["00000001.reports: byte"]);
    assert_eq!(damaged.out, expected[1].out);
    assert_eq!(damaged.err.matches("yesterday").count(), 1, "{}", damaged.err);
}
