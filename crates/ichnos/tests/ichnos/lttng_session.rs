//! Live sessions of LTTng, compared with the directory that the relay daemon writes.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ichnos::export::{Pretty, PrettyOptions};
use ichnos::live::lttng::{
    LttngFeed, LttngLiveError, LttngLiveOptions, RelayAddress, SeekPosition, sessions,
};
use ichnos::model::live::{LiveObserver, LiveOptions};
use ichnos::prelude::*;
use ichnos_testing::Lttng;

/// Text that is still there after its writer was dropped.
#[derive(Clone, Default)]
struct SharedText(Arc<Mutex<Vec<u8>>>);

impl Write for SharedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Messages as text: events as `cat` prints them, packets and losses with their numbers.
struct Lines {
    text: SharedText,
    events: Pretty<SharedText>,
    others: Vec<String>,
    streams: usize,
    /// Time of the last event, and number of events before it.
    latest: Option<i128>,
    late: usize,
}

impl Lines {
    fn new() -> Self {
        let mut options = PrettyOptions::default();
        options.no_delta = true;
        options.clock_cycles = true;
        let text = SharedText::default();
        let events = Pretty::new(text.clone(), options);
        Self { text, events, others: Vec::new(), streams: 0, latest: None, late: 0 }
    }

    /// Returns all lines, sorted.
    fn sorted(self) -> Vec<String> {
        let text = String::from_utf8(self.text.0.lock().unwrap().clone()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).chain(self.others).collect();
        lines.sort_unstable();
        lines
    }
}

impl Sink for Lines {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => {
                self.late += usize::from(event.nanoseconds() < self.latest);
                self.latest = self.latest.max(event.nanoseconds());
                return self.events.message(message);
            }
            Message::PacketBegin(packet) | Message::PacketEnd(packet) => self.others.push(format!(
                "packet {:?} {:?} {:?} {:?} {:?} {:?} {}",
                packet.stream.class().id,
                packet.stream.id,
                packet.begin,
                packet.end,
                packet.sequence_number,
                packet.discarded_counter,
                packet.content_length
            )),
            Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss) => {
                self.others.push(format!("lost {:?} {:?} {:?}", loss.count, loss.begin, loss.end));
            }
            Message::Damage(damage) => self.others.push(damage.to_string()),
            Message::StreamBegin(_) => self.streams += 1,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.events.finish()
    }
}

/// Keeps the error that ended an input.
#[derive(Default)]
struct Errors(Mutex<Vec<String>>);

impl LiveObserver for Errors {
    fn failed(&self, _: &str, error: &str) {
        self.0.lock().unwrap().push(error.to_owned());
    }
}

fn options() -> LttngLiveOptions {
    let mut options = LttngLiveOptions::default();
    options.retry = Duration::from_secs(30);
    options
}

/// Reads a session to its end, in a thread. Returns its messages and its errors.
fn read(address: &str, options: LttngLiveOptions) -> JoinHandle<(Lines, Vec<String>)> {
    let address: RelayAddress = address.parse().unwrap();
    thread::spawn(move || {
        let errors = Arc::new(Errors::default());
        let mut live = LiveOptions::default();
        live.observer = Arc::clone(&errors) as Arc<dyn LiveObserver>;
        let open = OpenOptions::default();
        let read = ichnos::io::ReadOptions::default();
        let feed = LttngFeed::open(&address, &options, &read, &live).unwrap();
        let trace = feed.into_trace(&address, live).unwrap();
        let session = Session::of_live(vec![Box::new(trace)], &open);
        let mut lines = Lines::new();
        session.reader().unwrap().pass().run(&mut lines).unwrap();
        drop(session);
        let errors = std::mem::take(&mut *errors.0.lock().unwrap());
        (lines, errors)
    })
}

/// Reads the directory of the relay daemon.
fn read_directory(lttng: &Lttng) -> Vec<String> {
    let session = open([lttng.traces()], &OpenOptions::default()).unwrap();
    let mut lines = Lines::new();
    session.reader().unwrap().pass().run(&mut lines).unwrap();
    assert_eq!(lines.late, 0);
    lines.sorted()
}

#[track_caller]
fn expect_equal(live: &[String], directory: &[String]) {
    let difference = live.iter().zip(directory).find(|(live, directory)| live != directory);
    assert_eq!(difference, None);
    assert_eq!(live.len(), directory.len());
}

/// Returns how many lines are only in the first list, and how many only in the second.
fn differences(a: &[String], b: &[String]) -> (usize, usize) {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    a.iter().for_each(|line| *counts.entry(line).or_default() += 1);
    b.iter().for_each(|line| *counts.entry(line).or_default() -= 1);
    let sum = |sign: i64| counts.values().map(|count| (count * sign).max(0) as usize).sum();
    (sum(1), sum(-1))
}

fn is_event(line: &&String) -> bool {
    line.starts_with('[')
}

fn end(lttng: &Lttng) {
    lttng.lttng("stop");
    lttng.lttng("destroy");
}

/// 120,000 events in four data streams and two processes.
#[test]
fn a_session_equals_its_directory() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("whole", "--buffers-uid");
    let address = lttng.address("whole");
    let reader = read(&address, options());
    lttng.hello(50_000, 2);
    lttng.hello(10_000, 2);
    let listed = sessions(&address.parse().unwrap(), &options()).unwrap();
    assert_eq!(listed.iter().map(|session| &*session.name).collect::<Vec<_>>(), ["whole"]);
    end(&lttng);
    let (lines, errors) = reader.join().unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(lines.late, 0);
    assert!(lines.streams >= 3, "{}", lines.streams);
    let live = lines.sorted();
    expect_equal(&live, &read_directory(&lttng));
    assert_eq!(live.iter().filter(is_event).count(), 120_000);
}

/// Metadata grows with each program, and so do the classes of open data streams.
#[test]
fn events_are_enabled_while_reading() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.create("grows", 100_000);
    lttng.lttng("enable-event --userspace hello:tick");
    lttng.lttng("start");
    let reader = read(&lttng.address("grows"), options());
    lttng.hello(2_000, 2);
    thread::sleep(Duration::from_millis(500));
    lttng.lttng("enable-event --userspace hello:greeting");
    lttng.hello(2_000, 2);
    end(&lttng);
    let (lines, errors) = reader.join().unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    let live = lines.sorted();
    expect_equal(&live, &read_directory(&lttng));
    assert!(live.iter().any(|line| line.contains("hello:greeting")));
}

/// Reading from now on leaves out what the relay daemon has already.
#[test]
fn reading_from_now_on() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("now", "--buffers-uid");
    lttng.hello(4_000, 2);
    thread::sleep(Duration::from_millis(1000));
    let mut options = options();
    options.from = SeekPosition::Last;
    let reader = read(&lttng.address("now"), options);
    thread::sleep(Duration::from_millis(1000));
    lttng.hello(4_000, 2);
    end(&lttng);
    let (lines, errors) = reader.join().unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    let (live, directory) = (lines.sorted(), read_directory(&lttng));
    let events = |lines: &[String]| lines.iter().filter(is_event).cloned().collect::<Vec<_>>();
    let (only_live, only_there) = differences(&events(&live), &events(&directory));
    assert_eq!(only_live, 0);
    assert!((1..=12_000).contains(&only_there), "{only_there}");
}

/// Each process has a trace of its own. LTTng 2.13's relay daemon can drop the last packets of a process that has
/// exited, but nothing else is missing.
#[test]
fn processes_with_their_own_buffers() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("processes", "--buffers-pid");
    let reader = read(&lttng.address("processes"), options());
    for _ in 0..3 {
        lttng.hello(20_000, 2);
    }
    end(&lttng);
    let (lines, errors) = reader.join().unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    let (live, directory) = (lines.sorted(), read_directory(&lttng));
    let (only_live, only_there) = differences(&live, &directory);
    eprintln!("{} lines, {only_there} only in the directory", live.len());
    assert_eq!(only_live, 0);
    assert!(live.iter().filter(is_event).count() > 60_000);
}

/// What arrived before the relay daemon was killed is delivered, and the error after it.
#[test]
fn a_relay_daemon_that_is_killed() {
    let Some(mut lttng) = Lttng::start() else { return };
    lttng.start_session("killed", "--buffers-uid");
    let mut options = options();
    options.retry = Duration::from_secs(2);
    let reader = read(&lttng.address("killed"), options);
    lttng.hello(2_000, 2);
    thread::sleep(Duration::from_millis(1_000));
    lttng.kill_relay();
    let (lines, errors) = reader.join().unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("after 2s"), "{errors:?}");
    let (live, directory) = (lines.sorted(), read_directory(&lttng));
    assert_eq!(differences(&live, &directory).0, 0);
    assert!(live.iter().filter(is_event).count() > 1_000);
}

/// Passes bytes on between a client and a relay daemon. [`Self::cut`] breaks all its connections.
struct Proxy {
    address: String,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn new(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let target: RelayAddress = to.parse().unwrap();
        let address = to.replace(&format!(":{}/", target.port), &format!(":{port}/"));
        let open = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&open);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, relay) =
                    (client.unwrap(), TcpStream::connect(("127.0.0.1", target.port)).unwrap());
                let ends = [client.try_clone().unwrap(), relay.try_clone().unwrap()];
                kept.lock().unwrap().extend(ends);
                let back = (relay.try_clone().unwrap(), client.try_clone().unwrap());
                for (mut from, mut to) in [(client, relay), back] {
                    thread::spawn(move || {
                        let mut buffer = [0; 4096];
                        while let Ok(length @ 1..) = from.read(&mut buffer) {
                            if to.write_all(&buffer[..length]).is_err() {
                                break;
                            }
                        }
                    });
                }
            }
        });
        Self { address, open }
    }

    fn cut(&self) {
        for socket in self.open.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// Nothing is lost and nothing read twice when the connection breaks.
#[test]
fn lost_connections_are_restored() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("restored", "--buffers-uid");
    let proxy = Proxy::new(&lttng.address("restored"));
    let reader = read(&proxy.address, options());
    for _ in 0..3 {
        lttng.hello(5_000, 2);
        proxy.cut();
        lttng.hello(1_000, 2);
    }
    thread::sleep(Duration::from_millis(1_000));
    end(&lttng);
    let (lines, errors) = reader.join().unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(lines.late, 0);
    expect_equal(&lines.sorted(), &read_directory(&lttng));
}

/// A session is waited for, but not a relay daemon.
#[test]
fn only_sessions_are_waited_for() {
    let mut options = options();
    options.retries_only_session = true;
    let open = |address: &str| {
        let read = ichnos::io::ReadOptions::default();
        LttngFeed::open(&address.parse().unwrap(), &options, &read, &Default::default())
    };
    let begin = Instant::now();
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = open(&format!("net4://{unused}/host/a/b")).err().unwrap();
    assert!(matches!(error, LttngLiveError::Connection(_)), "{error}");
    assert!(begin.elapsed() < options.retry);
    let Some(mut lttng) = Lttng::start() else { return };
    let reader = read(&lttng.address("late"), options);
    thread::sleep(Duration::from_millis(200));
    lttng.start_session("late", "--buffers-uid");
    lttng.hello(2_000, 2);
    thread::sleep(Duration::from_millis(1_000));
    let begin = Instant::now();
    lttng.kill_relay();
    let (lines, errors) = reader.join().unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(begin.elapsed() < options.retry, "{errors:?}");
    assert!(lines.sorted().iter().any(|line| is_event(&line)));
}

#[test]
fn sessions_that_do_not_exist() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("there", "--buffers-uid");
    lttng.hello(1, 1);
    let fail = |address: &str| {
        let (options, read) = (LttngLiveOptions::default(), ichnos::io::ReadOptions::default());
        LttngFeed::open(&address.parse().unwrap(), &options, &read, &Default::default()).err().unwrap()
    };
    let there = lttng.address("there");
    let error = fail(&there.replace("there", "elsewhere"));
    assert!(matches!(error, LttngLiveError::UnknownSession(_)), "{error}");
    assert!(error.to_string().contains("/there"), "{error}");
    let (relay, _) = there.split_once("/host").unwrap();
    assert!(matches!(fail(relay), LttngLiveError::NoSessionGiven(list) if list.len() == 1));
}
