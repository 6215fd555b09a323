//! Queued reporter with collectors that are slow, silent, historical or missing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use ichnos_xtrace::propagation::{
    Acknowledgements, Context, QueueOptions, QueuedReporter, Reporter, TcpReporter, Tracer,
};

/// Long enough for any machine.
const LONG: Duration = Duration::from_secs(60);

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Collector behavior.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Answers questions.
    Acknowledging,
    /// Closes connections at a question.
    Historical,
    /// Refuses reports that start with `no`.
    Refusing,
    /// Closes connections at a report with more bytes than this.
    Short(usize),
    /// Accepts this number of connections and closes them at once.
    Full(usize),
    /// Accepts this number of connections and closes them when data arrives, like a proxy before its collector has
    /// started.
    Late(usize),
}

/// A collector in this process.
struct Server {
    address: SocketAddr,
    reports: Arc<Mutex<Vec<String>>>,
    /// The active connection.
    stream: Arc<Mutex<Option<TcpStream>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    fn start(kind: Kind) -> Self {
        Self::start_at("127.0.0.1:0", kind)
    }

    fn start_at(address: &str, kind: Kind) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let stream = Arc::new(Mutex::new(None));
        let is_over = Arc::new(AtomicBool::new(false));
        let work = {
            let reports = Arc::clone(&reports);
            let (served, is_over) = (Arc::clone(&stream), Arc::clone(&is_over));
            move || {
                for (count, stream) in listener.incoming().enumerate() {
                    let stream = stream.unwrap();
                    *served.lock().unwrap() = Some(stream.try_clone().unwrap());
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    // An error ends the connection.
                    let _ = match kind {
                        Kind::Full(times) if count < times => Ok(()),
                        Kind::Late(times) if count < times => (&stream).read(&mut [0; 4]).map(drop),
                        _ => serve(stream, kind, &reports),
                    };
                    if let Some(stream) = served.lock().unwrap().take() {
                        let _ = stream.shutdown(Shutdown::Both);
                    }
                }
            }
        };
        Self { address, reports, stream, is_over, thread: Some(thread::spawn(work)) }
    }

    fn address(&self) -> String {
        self.address.to_string()
    }

    fn reports(&self) -> Vec<String> {
        self.reports.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(stream) = self.stream.lock().unwrap().take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().unwrap().join();
    }
}

fn serve(mut stream: TcpStream, kind: Kind, reports: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let (mut taken, mut refused) = (0u64, 0u64);
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        match (u32::from_be_bytes(length), kind) {
            (u32::MAX, Kind::Historical) => return Ok(()),
            (u32::MAX, _) => stream.write_all(&[taken.to_be_bytes(), refused.to_be_bytes()].concat())?,
            (length, Kind::Short(longest)) if length as usize > longest => return Ok(()),
            (length, _) => {
                let mut report = vec![0; length as usize];
                stream.read_exact(&mut report)?;
                if kind == Kind::Refusing && report.starts_with(b"no") {
                    refused += 1;
                } else {
                    taken += 1;
                    reports.lock().unwrap().push(String::from_utf8(report).unwrap());
                }
            }
        }
    }
}

#[test]
fn reports_are_acknowledged() {
    let server = Server::start(Kind::Refusing);
    let reporter = Arc::new(QueuedReporter::start(server.address()).unwrap());
    let tracer = Tracer::new(Arc::clone(&reporter));
    let mut context = Context::start();
    for label in ["one", "two"] {
        assert!(context.event(&tracer, label).send().unwrap());
    }
    assert!(reporter.report(&[b'x'; 70_000]).is_err());
    reporter.flush(LONG).unwrap();
    reporter.report(b"no report").unwrap();
    let error = reporter.flush(LONG).unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Other, "1 report was refused".to_owned()));
    // Each error is returned once.
    reporter.flush(LONG).unwrap();
    let counts = reporter.counts();
    assert_eq!((counts.taken, counts.acknowledged, counts.refused, counts.waiting), (3, 2, 1, 0));
    assert_eq!((counts.sent, counts.sent_again, counts.dropped, counts.connections), (0, 0, 0, 1));
    let reports = server.reports();
    assert!(reports[0].contains("\nLabel: one\n") && reports[1].contains("\nLabel: two\n"));
    // Nothing is accepted after the end.
    let counts = reporter.shut_down(LONG);
    assert_eq!(counts.abandoned, 0);
    reporter.flush(LONG).unwrap();
    assert_eq!(reporter.report(b"late").unwrap_err().kind(), ErrorKind::NotConnected);
    assert_eq!(reporter.counts().dropped, 1);
}

/// The reporter connects when the collector starts, and again after a restart, and then delivers everything accepted in
/// between.
#[test]
fn collectors_come_and_go() {
    let (listener, address) = listen();
    drop(listener);
    let reporter = QueuedReporter::start(&*address).unwrap();
    reporter.report(b"early").unwrap();
    assert_eq!(reporter.flush(Duration::from_millis(20)).unwrap_err().kind(), ErrorKind::TimedOut);
    let mut expected = vec!["early".to_owned()];
    for round in 0..3 {
        let server = Server::start_at(&address, Kind::Acknowledging);
        reporter.flush(LONG).unwrap();
        assert_eq!(server.reports(), expected);
        drop(server);
        expected = vec![format!("report {round}")];
        reporter.report(expected[0].as_bytes()).unwrap();
    }
    let counts = reporter.shut_down(Duration::from_millis(100));
    assert_eq!((counts.acknowledged, counts.abandoned, counts.waiting), (3, 1, 0));
    let error = reporter.flush(LONG).unwrap_err();
    let text = "1 report was abandoned when the reporter was shut down";
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Other, text.to_owned()));
    assert_eq!((counts.connections, counts.refused, counts.sent), (3, 0, 0));
}

/// A collector that accepts connections and never reads does not block `report`. Reports that do not fit are dropped
/// and counted.
#[test]
fn a_collector_that_never_reads() {
    let (listener, address) = listen();
    let options = QueueOptions::default().with_max_bytes(100_000).with_max_reports(1_000);
    let options = options.with_acknowledgements(Acknowledgements::Never);
    let reporter = options.with_shutdown(Duration::from_millis(50)).start(address).unwrap();
    let report = [b'x'; 60_000];
    // Until all system buffers are full.
    let (mut last, mut since) = (0, Instant::now());
    while since.elapsed() < Duration::from_millis(500) {
        if reporter.report(&report).is_err() {
            thread::sleep(Duration::from_millis(1));
        }
        let sent = reporter.counts().sent;
        if sent > last {
            (last, since) = (sent, Instant::now());
        }
    }
    let before = reporter.counts();
    assert!(before.waiting > 0 && before.waiting * 60_004 <= 100_000, "{before:?}");
    let begin = Instant::now();
    let mut dropped = 0;
    while dropped < 1_000 {
        if let Err(error) = reporter.report(&report) {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            dropped += 1;
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(reporter.counts().dropped, before.dropped + 1_000);
    // Shutting down respects its limit.
    let begin = Instant::now();
    drop(reporter);
    assert!(begin.elapsed() < Duration::from_secs(5));
    drop(listener);
}

/// A collector that does not answer either. Reports wait, and do not become unacknowledged.
#[test]
fn a_collector_that_never_answers() {
    let (listener, address) = listen();
    let options = QueueOptions::default().with_max_reports(3).with_patience(Duration::from_millis(100));
    let reporter = options.start(address).unwrap();
    let results: Vec<bool> = (0..5).map(|_| reporter.report(b"report").is_ok()).collect();
    assert_eq!(results, [true, true, true, false, false]);
    let begin = Instant::now();
    while reporter.counts().connections < 4 && begin.elapsed() < LONG {
        thread::sleep(Duration::from_millis(10));
    }
    let counts = reporter.shut_down(Duration::from_millis(10));
    assert!(counts.connections >= 4, "{counts:?}");
    assert_eq!((counts.taken, counts.dropped, counts.abandoned), (3, 2, 3));
    assert_eq!((counts.sent, counts.acknowledged, counts.refused), (0, 0, 0));
    drop(listener);
}

/// A historical collector is recognized by its reaction to a question, unless acknowledgements are required.
#[test]
fn historical_collectors() {
    let server = Server::start(Kind::Historical);
    let reporter = QueuedReporter::start(server.address()).unwrap();
    for report in ["one", "two"] {
        reporter.report(report.as_bytes()).unwrap();
    }
    reporter.flush(LONG).unwrap();
    let counts = reporter.counts();
    assert_eq!((counts.sent, counts.acknowledged, counts.connections), (2, 0, 4));
    drop(reporter);
    let begin = Instant::now();
    while server.reports().len() < 2 && begin.elapsed() < LONG {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(server.reports(), ["one", "two"]);

    let options = QueueOptions::default().with_acknowledgements(Acknowledgements::Required);
    let reporter = options.start(server.address()).unwrap();
    reporter.report(b"three").unwrap();
    let begin = Instant::now();
    while reporter.counts().connections < 5 && begin.elapsed() < LONG {
        thread::sleep(Duration::from_millis(10));
    }
    let counts = reporter.shut_down(Duration::from_millis(10));
    assert_eq!((counts.sent, counts.abandoned), (0, 1));
    assert_eq!(server.reports().len(), 2);
}

/// An overloaded collector, and a proxy before its collector has started, are asked again, even if they look like a
/// historical collector. After their first answer, each report is acknowledged.
#[test]
fn collectors_that_are_full() {
    // On busy machines, the first kind can look like the second, and the second like a historical collector.
    for kind in [Kind::Full(6), Kind::Late(4)] {
        let server = Server::start(kind);
        let reporter = QueuedReporter::start(server.address()).unwrap();
        let begin = Instant::now();
        while reporter.counts().acknowledged == 0 {
            assert!(begin.elapsed() < LONG, "{:?}", reporter.counts());
            reporter.report(b"early").unwrap();
            reporter.flush(LONG).unwrap();
        }
        let lost = reporter.counts().sent;
        assert!(kind != Kind::Late(4) || lost > 0);
        for number in 0..100 {
            reporter.report(format!("report {number}").as_bytes()).unwrap();
        }
        reporter.flush(LONG).unwrap();
        let counts = reporter.counts();
        assert_eq!((counts.sent, counts.refused, counts.taken), (lost, 0, lost + counts.acknowledged));
        // With questions, nothing is lost.
        assert!(server.reports().ends_with(&[99].map(|number| format!("report {number}"))));
        assert_eq!(server.reports().len() as u64, counts.acknowledged);
    }
}

/// A report at which the collector closes the connection is found. With acknowledgements, no other report is lost.
#[test]
fn reports_that_collectors_do_not_accept() {
    for acknowledgements in [Acknowledgements::Required, Acknowledgements::Never] {
        let server = Server::start(Kind::Short(50_000));
        let options = QueueOptions::default().with_acknowledgements(acknowledgements);
        let reporter = options.start(server.address()).unwrap();
        let report = |number: usize| {
            let length = if number == 7 { 60_000 } else { 40_000 };
            format!("report {number} {}", "x".repeat(length))
        };
        for number in 0..200 {
            reporter.report(report(number).as_bytes()).unwrap();
        }
        let flushed = reporter.flush(LONG);
        let counts = reporter.counts();
        assert_eq!(flushed.is_err(), counts.refused > 0, "{counts:?}");
        assert_eq!((counts.taken, counts.waiting), (200, 0), "{counts:?}");
        if acknowledgements == Acknowledgements::Never {
            // Reports on a broken connection are lost, but do not block later reports.
            assert_eq!((counts.acknowledged, counts.sent + counts.refused), (0, 200), "{counts:?}");
            continue;
        }
        assert_eq!((counts.acknowledged, counts.refused, counts.sent), (199, 1, 0), "{counts:?}");
        assert!(counts.sent_again > 0, "{counts:?}");
        // Reports that were sent again occur more than once.
        let mut reports = server.reports();
        reports.sort();
        reports.dedup();
        let mut expected: Vec<String> = (0..200).filter(|number| *number != 7).map(report).collect();
        expected.sort();
        assert!(reports == expected);
    }
}

/// Invalid answers are ignored.
#[test]
fn invalid_answers() {
    let (listener, address) = listen();
    let reporter = QueuedReporter::start(address).unwrap();
    reporter.report(b"report").unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().take(3) {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(&[0xFF; 16]);
            let _ = stream.read(&mut [0; 4]);
        }
        sender.send(()).unwrap();
    });
    receiver.recv_timeout(LONG).unwrap();
    let counts = reporter.shut_down(Duration::from_millis(10));
    assert_eq!((counts.acknowledged, counts.refused, counts.sent, counts.abandoned), (0, 0, 0, 1));
}

/// Many threads report at the same time, through a queue that is larger than a block. All reports arrive once and in
/// order.
#[test]
fn threads_share_a_queue() {
    let server = Server::start(Kind::Acknowledging);
    let reporter = QueuedReporter::start(server.address()).unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let reporter = &reporter;
            scope.spawn(move || {
                for number in 0..2_000 {
                    let report = format!("{thread} {number:05} {}", "x".repeat(300));
                    reporter.report(report.as_bytes()).unwrap();
                }
            });
        }
    });
    reporter.flush(LONG).unwrap();
    let counts = reporter.counts();
    assert_eq!((counts.taken, counts.acknowledged, counts.sent_again), (8_000, 8_000, 0));
    let reports = server.reports();
    assert_eq!(reports.len(), 8_000);
    for thread in 0..4 {
        let own = reports.iter().filter(|report| report.starts_with(&format!("{thread} ")));
        let own: Vec<&str> = own.map(|report| &report[..7]).collect();
        assert!(own.len() == 2_000 && own.is_sorted());
    }
}

/// The reporter without a queue waits for a moment, then not at all. Accepted reports are complete.
#[test]
fn without_a_queue_a_stalled_collector_is_not_waited_for() {
    let (listener, address) = listen();
    let reporter = TcpReporter::connect(address).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let report = [b'x'; 60_000];
    let mut taken = 0;
    while reporter.report(&report).is_ok() {
        taken += 1;
    }
    // For a second, the reporter makes no attempt.
    let begin = Instant::now();
    let failed = (0..1_000).filter(|_| reporter.report(&report).is_err()).count();
    let slow = begin.elapsed();
    assert!(failed == 1_000 || slow > Duration::from_millis(900), "{failed} {slow:?}");
    assert!(slow < Duration::from_secs(4), "{slow:?}");
    drop(reporter);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let whole = bytes.chunks_exact(60_004).count();
    assert!(whole == taken && bytes.chunks_exact(60_004).all(|frame| frame[..4] == 60_000u32.to_be_bytes()));
}
