//! Live .NET processes: a runtime in a thread, and real runtimes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ichnos::dotnet_diagnostics::messages::{Command, Header, Reply, SessionOptions};
use ichnos::dotnet_diagnostics::processes::{self, Process};
use ichnos::dotnet_diagnostics::providers::{Providers, Rundown};
use ichnos::dotnet_diagnostics::{Session, Timeouts};
use ichnos::live::dotnet::{self, DotnetFeed, DotnetInput, DotnetOptions};
use ichnos::model::live::{Arrivals, LiveFeed, LivePoll};
use ichnos::model::{Event, Message, Scope};
use ichnos_testing::nettrace_file::{Bytes, File, FileEvent, FileMetadata, FileVersion, field};
use ichnos_testing::{DotnetRuntimes, TraceEventLibrary};

const LONG: Duration = Duration::from_secs(20);

/// Runtime in a thread. It sends what the test gives it.
struct FakeRuntime {
    directory: tempfile::TempDir,
    parts: Sender<Vec<u8>>,
    commands: Receiver<Command>,
}

impl FakeRuntime {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let (parts, from_test) = channel::<Vec<u8>>();
        let (to_test, commands) = channel();
        thread::spawn(move || {
            let mut session = listener.accept().unwrap().0;
            let command = request(&mut session);
            session.write_all(&Reply::Ok(7_u64.to_le_bytes().to_vec()).encode().unwrap()).unwrap();
            to_test.send(command).unwrap();
            thread::spawn(move || {
                let mut stop = listener.accept().unwrap().0;
                let _ = to_test.send(request(&mut stop));
                let _ = stop.write_all(&Reply::Ok(7_u64.to_le_bytes().to_vec()).encode().unwrap());
            });
            for part in from_test {
                if session.write_all(&part).is_err() {
                    break;
                }
            }
        });
        Self { directory, parts, commands }
    }

    fn open(&self) -> Result<DotnetInput, dotnet::DotnetError> {
        let socket = self.directory.path().join("socket");
        let user = std::fs::metadata(&socket).unwrap().uid();
        let process =
            Process { pid: 77, user, socket, command_line: "shop -x".to_owned(), ..Process::default() };
        dotnet::open_process(process, &options(&["A"]), &Arrivals::default())
    }

    fn send(&self, part: Vec<u8>) {
        self.parts.send(part).unwrap();
    }
}

fn request(stream: &mut UnixStream) -> Command {
    let mut header = [0; Header::LENGTH];
    stream.read_exact(&mut header).unwrap();
    let header = Header::decode(&header).unwrap();
    stream.read_exact(&mut vec![0; header.payload]).unwrap();
    Command::from_code(header.set, header.id).unwrap()
}

fn options(providers: &[&str]) -> DotnetOptions {
    let mut options = DotnetOptions::default();
    options.session = session_options(providers);
    options.timeouts = Timeouts { reply: LONG, rundown: LONG, read: LONG };
    options
}

fn session_options(providers: &[&str]) -> SessionOptions {
    let mut providers = Providers::new(&[], providers).unwrap();
    providers.set_rundown(Rundown::Omitted);
    SessionOptions { providers, ..SessionOptions::default() }
}

/// Writes a stream part by part. The time of an event is also its sequence number.
struct Parts(File);

impl Parts {
    /// Returns the writer, and the start of the stream.
    fn new() -> (Self, Vec<u8>) {
        let mut file = File::new(FileVersion::V4);
        file.metadata(&[FileMetadata::new(1, "Number", [field(FileVersion::V4, 9, "number")])]);
        let start = file.bytes.clone();
        (Self(file), start)
    }

    fn events(&mut self, times: &[u64]) -> Vec<u8> {
        let begin = self.0.bytes.len();
        let events: Vec<FileEvent> = times
            .iter()
            .enumerate()
            .map(|(index, time)| {
                let number = u32::try_from(*time).unwrap();
                let event = FileEvent::new(1, 9, number - 1_000, *time).with(Bytes::new().u32(number));
                if index == 0 { event.sorted() } else { event }
            })
            .collect();
        self.0.events(true, &events);
        self.0.bytes[begin..].to_vec()
    }
}

/// Polls until something other than a pending message comes, or until the time is over.
fn next(feed: &mut DotnetFeed, patience: Duration) -> LivePoll {
    let start = Instant::now();
    loop {
        match feed.poll() {
            LivePoll::Pending(_) if start.elapsed() < patience => thread::sleep(Duration::from_millis(1)),
            poll => return poll,
        }
    }
}

/// Returns the numbers of the next events.
#[track_caller]
fn numbers(feed: &mut DotnetFeed, count: usize) -> Vec<u64> {
    let mut numbers = Vec::new();
    while numbers.len() < count {
        let poll = next(feed, LONG);
        assert!(matches!(poll, LivePoll::Message(_)), "{poll:?} after {numbers:?}");
        if let Some(Message::Event(event)) = feed.current() {
            numbers.push(event.field("number").unwrap().as_u64().unwrap());
        }
    }
    numbers
}

#[test]
fn events_arrive_while_the_process_runs() {
    let runtime = FakeRuntime::start();
    let (mut parts, start) = Parts::new();
    runtime.send(start);
    let DotnetInput { name, stream, mut feed, .. } = runtime.open().unwrap();
    assert_eq!(runtime.commands.recv_timeout(LONG), Ok(Command::CollectTracing2));
    assert_eq!((&*name, &*stream.name), ("dotnet:77", "dotnet:77"));
    let command_line = stream.trace.class.environment("command_line").unwrap();
    assert_eq!(command_line.as_text(), Some("shop -x"));
    assert!(matches!(next(&mut feed, LONG), LivePoll::Message(_)));
    assert!(matches!(feed.current(), Some(Message::StreamBegin(_))));

    // The pause after a flush is enough.
    runtime.send(parts.events(&[1_001, 1_002]));
    assert_eq!(numbers(&mut feed, 2), [1_001, 1_002]);
    // And so is the next flush.
    runtime.send(parts.events(&[1_003, 1_004]));
    runtime.send(parts.events(&[1_005]));
    assert_eq!(numbers(&mut feed, 2), [1_003, 1_004]);
    assert_eq!(numbers(&mut feed, 1), [1_005]);
    // A longer pause promises that no earlier event comes.
    let start = Instant::now();
    let promised = loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i128;
        match feed.poll() {
            LivePoll::Pending(Some(time)) if time > now - 600_000_000 => break (time, now),
            LivePoll::Pending(_) => assert!(start.elapsed() < LONG, "no promise"),
            other => panic!("{other:?}"),
        }
        thread::sleep(Duration::from_millis(1));
    };
    assert!(promised.0 < promised.1 - 300_000_000, "{promised:?}");

    feed.stop();
    assert_eq!(runtime.commands.recv_timeout(LONG), Ok(Command::StopTracing));
    let mut last = parts.events(&[1_006]);
    last.push(1);
    runtime.send(last);
    drop(runtime.parts);
    assert_eq!(numbers(&mut feed, 1), [1_006]);
    assert!(matches!(next(&mut feed, LONG), LivePoll::Message(_)));
    assert!(matches!(feed.current(), Some(Message::StreamEnd(_))));
    assert_eq!((next(&mut feed, LONG), feed.late()), (LivePoll::End, 0));
}

#[test]
fn other_streams_are_refused() {
    let runtime = FakeRuntime::start();
    runtime.send(b"HTTP/1.1 400 Bad Request".to_vec());
    let error = runtime.open().unwrap_err().to_string();
    assert!(error.starts_with("the stream of process 77 cannot be read: not an EventPipe file"), "{error}");
    let runtime = FakeRuntime::start();
    runtime.send(b"Nettrace".to_vec());
    drop(runtime.parts);
    let socket = runtime.directory.path().join("socket");
    let user = std::fs::metadata(&socket).unwrap().uid();
    let process = Process { pid: 77, user, socket, ..Process::default() };
    let error =
        dotnet::open_process(process, &options(&["A"]), &Arrivals::default()).unwrap_err().to_string();
    assert!(error.contains("the file ends after 8 bytes"), "{error}");
}

#[test]
fn a_dropped_feed_stops_the_session() {
    let runtime = FakeRuntime::start();
    let (mut parts, start) = Parts::new();
    runtime.send(start);
    let input = runtime.open().unwrap();
    assert_eq!(runtime.commands.recv_timeout(LONG), Ok(Command::CollectTracing2));
    // More than the inbox takes.
    let big: Vec<u64> = (1_001..400_000).collect();
    runtime.send(parts.events(&big));
    thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    drop(input);
    assert!(start.elapsed() < LONG);
    assert_eq!(runtime.commands.recv_timeout(LONG), Ok(Command::StopTracing));
}

/// Process that is killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Events of a provider by thread, as text.
type ByThread = BTreeMap<u64, Vec<String>>;

fn add(events: &mut ByThread, event: &Event<'_>) {
    // The runtime writes it at the end of each session, into all open sessions.
    if event.name().ends_with("/ProcessInfo") {
        return;
    }
    let thread = event.field("thread").unwrap().as_u64().unwrap();
    let mut text = Vec::new();
    let mut pretty = ichnos::export::Pretty::new(&mut text, ichnos::export::PrettyOptions::default());
    let _ = ichnos::model::Sink::message(&mut pretty, &Message::Event(*event)).unwrap();
    ichnos::model::Sink::finish(&mut pretty).unwrap();
    drop(pretty);
    let text = String::from_utf8(text).unwrap();
    // Without the time and the common context, whose stack numbers depend on the other events.
    let (head, payload) = text.split_once(": {").unwrap();
    let name = head.rsplit_once("] ").map_or(head, |(_, name)| name);
    let payload = payload.split_once("}, ").map_or("", |(_, payload)| payload);
    assert!(event.plan(Scope::Payload).is_some());
    events.entry(thread).or_default().push(format!("{name} {payload}"));
}

/// Events of the workload's threads: their names and values.
type Worked = BTreeMap<u64, Vec<String>>;

/// Describes an event of the workload's threads.
fn worked(name: &str, number: Option<i64>, text: Option<&str>) -> Option<String> {
    let is_it = matches!(name, "Tick" | "Text");
    is_it.then(|| format!("{name} {number:?} {text:?}"))
}

fn add_worked(events: &mut Worked, event: &Event<'_>) {
    let number = event.field("n").and_then(|number| number.as_i64());
    // ASCII in UTF-16.
    let text = event.field("s").and_then(|text| Some(text.as_str()?.replace('\0', "")));
    let name = event.name().strip_prefix("Toolkit-Test/").unwrap_or_default();
    if let Some(described) = worked(name, number, text.as_deref()) {
        let thread = event.field("thread").unwrap().as_u64().unwrap();
        events.entry(thread).or_default().push(described);
    }
}

/// Compares live events with what Microsoft's library reads from the recording.
fn compare_with_trace_event(library: &TraceEventLibrary, file: &Path, live: &Worked) {
    let output = file.with_extension("jsonl");
    let dump = library.dump(file, &output).unwrap();
    assert_eq!((dump.lost, &*dump.error), (0, ""));
    let mut found = Worked::new();
    for row in dump.rows.lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let fields = &row["f"];
        if row["p"] == "Toolkit-Test"
            && let Some(described) =
                worked(row["n"].as_str().unwrap(), fields["n"].as_i64(), fields["s"].as_str())
        {
            found.entry(row["tid"].as_u64().unwrap()).or_default().push(described);
        }
    }
    assert!(found.values().map(Vec::len).sum::<usize>() > 6_000);
    assert_eq!(live, &found);
}

/// A live input and a recording of the same process have the same events, also for Microsoft's library.
#[test]
fn live_events_are_the_recorded_events() {
    let test = "live_events_are_the_recorded_events";
    let Some(runtimes) = DotnetRuntimes::find(test) else { return };
    for version in DotnetRuntimes::VERSIONS {
        let mut child = runtimes.workload(version, 3_000, Duration::from_secs(3)).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let app = Killed(child);
        let providers = ["Toolkit-Test:ffffffffffffffff:5"];
        let process = processes::find(&app.0.id().to_string(), LONG).unwrap();
        let timeouts = options(&providers).timeouts;
        let mut session =
            Session::start(&process.endpoint(), &session_options(&providers), timeouts).unwrap();
        let recorder = thread::spawn(move || {
            let mut bytes = Vec::new();
            session.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let arrivals = Arrivals::default();
        let DotnetInput { mut feed, .. } =
            dotnet::open_process(process, &options(&providers), &arrivals).unwrap();
        let (mut live, mut latencies, mut last) = (ByThread::new(), Vec::new(), i128::MIN);
        let mut live_work = Worked::new();
        loop {
            match feed.poll() {
                LivePoll::Message(head) => {
                    if let Some(Message::Event(event)) = feed.current() {
                        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i128;
                        let time = head.nanoseconds().unwrap();
                        assert!(time >= last, "{time} after {last}");
                        last = time;
                        latencies.push((now - time) / 1_000_000);
                        add(&mut live, &event);
                        add_worked(&mut live_work, &event);
                    }
                }
                LivePoll::Pending(_) => drop(arrivals.wait(arrivals.count(), Duration::from_millis(10))),
                LivePoll::End => break,
                other => panic!("{other:?}"),
            }
        }
        let bytes = recorder.join().unwrap();
        let mut recorded = ByThread::new();
        let file = tempfile::tempdir().unwrap();
        let path = file.path().join("x.nettrace");
        std::fs::write(&path, &bytes).unwrap();
        let session = ichnos::open([&path], &ichnos::OpenOptions::default()).unwrap();
        let mut events = session.events().unwrap();
        while let Some(event) = events.next_event() {
            add(&mut recorded, &event);
        }
        let count: usize = live.values().map(Vec::len).sum();
        assert!(count > 6_000, "{version}: {count}");
        for (thread, events) in &recorded {
            assert_eq!(live.get(thread).map(Vec::len), Some(events.len()), "{version}: thread {thread}");
        }
        assert_eq!(live, recorded, "{version}");
        if let Some(library) = TraceEventLibrary::find(test) {
            compare_with_trace_event(&library, &path, &live_work);
        }
        assert_eq!(feed.late(), 0, "{version}");
        latencies.sort_unstable();
        println!(
            "{version}: {count} events, latency {} to {} ms, median {} ms",
            latencies[0],
            latencies[count - 1],
            latencies[count / 2]
        );
    }
}
