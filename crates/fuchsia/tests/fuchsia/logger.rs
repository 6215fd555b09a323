//! Logger: written records decode to the logged events, losses are counted, and file sizes are limited.

use std::fs;
use std::io;
use std::sync::{Arc, Mutex};

use ichnos_fuchsia::log::{CheckOptions, Framing, Message, Messages, Record};
use ichnos_fuchsia::logger::{LogClock, Logger, LoggerOptions, RecordSink, RotatingFile};
use log::Log;
use tracing::{debug, error, info, trace, warn};
use tracing_subscriber::layer::SubscriberExt;

/// Sink that keeps records until it is told to fail.
#[derive(Default)]
struct MemorySink {
    records: Mutex<Vec<Vec<u8>>>,
    is_full: Mutex<bool>,
}

impl RecordSink for MemorySink {
    fn write(&self, record: &[u8]) -> io::Result<()> {
        if *self.is_full.lock().unwrap() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.records.lock().unwrap().push(record.to_vec());
        Ok(())
    }
}

impl MemorySink {
    fn take(&self) -> Vec<String> {
        self.records.lock().unwrap().drain(..).map(|record| show(&record)).collect()
    }
}

/// Formats a record without its variable parts: `SEVERITY name:type=value...`.
fn show(bytes: &[u8]) -> String {
    let (record, rest) = Record::read(bytes, 0).unwrap();
    assert!(rest.is_empty() && record.timestamp() > 0);
    record.check(CheckOptions::default(), &mut |error| panic!("{error}"));
    let mut arguments = record.arguments().map(Result::unwrap);
    let [pid, tid] = [arguments.next().unwrap(), arguments.next().unwrap()];
    assert_eq!((pid.name.as_str(), tid.name.as_str()), ("pid", "tid"));
    assert_eq!(pid.value, u64::from(std::process::id()).into());
    let kinds = ["null", "", "", "i64", "u64", "f64", "str", "", "", "bool"];
    arguments.fold(record.severity().to_string(), |shown, argument| {
        let kind = kinds[usize::from(argument.value.kind())];
        format!("{shown} {}:{kind}={}", argument.name, argument.value)
    })
}

/// Returns a logger and its sink.
fn kept(options: LoggerOptions) -> (Logger, Arc<MemorySink>) {
    let kept = Arc::new(MemorySink::default());
    (Logger::new(Arc::clone(&kept), options), kept)
}

fn with_layer(logger: &Logger, log: impl FnOnce()) {
    tracing::subscriber::with_default(tracing_subscriber::registry().with(logger.clone()), log);
}

/// Logs one record through the crate `log`.
fn to_log(
    logger: &Logger,
    level: log::Level,
    args: std::fmt::Arguments<'_>,
    pairs: &[(&str, log::kv::Value)],
) {
    let mut record = log::Record::builder();
    record.args(args).level(level).target("target").file(Some("../../src/a.rs")).line(Some(7));
    Log::log(logger, &record.key_values(&pairs).build());
}

#[test]
fn the_layer_writes_events() {
    let (logger, kept) = kept(LoggerOptions::default());
    let mut line = 0;
    with_layer(&logger, || {
        let error = io::Error::other("no oil");
        let error: &(dyn std::error::Error + 'static) = &error;
        let span = tracing::info_span!("in a span", of = "no interest").entered();
        trace!(target: "t", count = 123, "whoa this is {}", "noisy");
        debug!(target: "t", maybe = true, unsigned = 5u8, float = -0.5, "plain");
        info!(target: "t", debug = ?Some(1), display = %"text", error);
        drop(span);
        warn!(target: "t", wide = 1i128 << 100, narrow = -5i128, unsigned = 5u128, empty = "");
        (line, _) = (line!(), error!(target: "t", message = "explicit", tag = "mine"));
    });
    assert_eq!(
        kept.take(),
        [
            "TRACE tag:str=t message:str=whoa this is noisy count:i64=123",
            "DEBUG tag:str=t message:str=plain maybe:bool=true unsigned:u64=5 float:f64=-0.5",
            "INFO tag:str=t debug:str=Some(1) display:str=text error:str=no oil",
            "WARN tag:str=t wide:str=1267650600228229401496703205376 narrow:i64=-5 unsigned:u64=5 empty:str=",
            &format!(
                "ERROR file:str={} line:u64={line} tag:str=t message:str=explicit tag:str=mine",
                file!().rsplit("../").next().unwrap()
            ),
        ]
    );
}

#[test]
fn the_backend_writes_events() {
    let (logger, kept) = kept(LoggerOptions::default());
    let pairs = [
        ("unsigned", 5u64.into()),
        ("signed", (-5i64).into()),
        ("float", 0.5.into()),
        ("bool", true.into()),
        ("text", "abc".into()),
        ("wide", log::kv::Value::from(&(1i128 << 100))),
        ("char", 'x'.into()),
        ("debug", log::kv::Value::from_debug(&Some(1))),
    ];
    to_log(&logger, log::Level::Info, format_args!("hello {}", pairs.len()), &pairs);
    for level in [log::Level::Trace, log::Level::Debug, log::Level::Warn, log::Level::Error] {
        to_log(&logger, level, format_args!("plain"), &[]);
    }
    assert_eq!(
        kept.take(),
        [
            "INFO tag:str=target message:str=hello 8 unsigned:u64=5 signed:i64=-5 float:f64=0.5 bool:bool=true \
             text:str=abc wide:str=1267650600228229401496703205376 char:str=x debug:str=Some(1)",
            "TRACE tag:str=target message:str=plain",
            "DEBUG tag:str=target message:str=plain",
            "WARN tag:str=target message:str=plain",
            "ERROR file:str=src/a.rs line:u64=7 tag:str=target message:str=plain",
        ]
    );
}

#[test]
fn options() {
    let mut options = LoggerOptions::default();
    options.tags = vec!["a".to_owned(), "b".to_owned()];
    options.always_file_and_line = true;
    options.clock = LogClock::Boot;
    let (logger, kept) = kept(options);
    to_log(&logger, log::Level::Info, format_args!("hello"), &[]);
    let expected = "INFO file:str=src/a.rs line:u64=7 tag:str=target message:str=hello tag:str=a tag:str=b";
    assert_eq!(kept.take(), [expected]);
}

#[test]
fn events_of_the_bridge_are_written_as_records_of_log() {
    let (logger, kept) = kept(LoggerOptions::default());
    with_layer(&logger, || {
        for level in [log::Level::Info, log::Level::Error] {
            let mut record = log::Record::builder();
            record.args(format_args!("hello")).level(level).target("t").module_path(Some("m"));
            tracing_log::format_trace(&record.file(Some("f")).line(Some(5)).build()).unwrap();
        }
        info!(target: "log", "hello");
    });
    let mut found = kept.take();
    // The bridge determines the field order.
    for record in &mut found {
        let mut words: Vec<&str> = record.split(' ').collect();
        words[1..].sort_unstable();
        *record = words.join(" ");
    }
    assert_eq!(
        found,
        [
            "INFO message:str=hello tag:str=t",
            "ERROR file:str=f line:u64=5 message:str=hello tag:str=t",
            "INFO message:str=hello tag:str=log",
        ]
    );
}

#[test]
fn the_next_record_counts_dropped_records() {
    let (logger, kept) = kept(LoggerOptions::default());
    let say = |text: &str| to_log(&logger, log::Level::Info, format_args!("{text}"), &[]);
    say("first");
    *kept.is_full.lock().unwrap() = true;
    (0..3).for_each(|_| say("lost"));
    assert_eq!(logger.dropped(), 3);
    *kept.is_full.lock().unwrap() = false;
    // Longer than a record, in single texts and in total.
    say(&"x".repeat(40_000));
    say(&"x".repeat(32_760 - 16));
    let long = "x".repeat(20_000);
    to_log(&logger, log::Level::Info, format_args!("lost"), &[("a", (*long).into()), ("b", (*long).into())]);
    say("last");
    say("and no more");
    assert_eq!(logger.dropped(), 0);
    let (first, last) =
        ("INFO tag:str=target message:str=first", "INFO num_dropped:u64=6 tag:str=target message:str=last");
    assert_eq!(kept.take(), [first, last, "INFO tag:str=target message:str=and no more"]);
}

/// A value whose formatting logs or fails.
enum Nasty<'l> {
    Talking(&'l Logger),
    Panicking,
}

impl std::fmt::Display for Nasty<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Nasty::Talking(logger) => to_log(logger, log::Level::Info, format_args!("within"), &[]),
            Nasty::Panicking => panic!("on purpose"),
        }
        f.write_str("around")
    }
}

#[test]
fn values_may_log_and_panic() {
    let (logger, kept) = kept(LoggerOptions::default());
    to_log(&logger, log::Level::Info, format_args!("{}", Nasty::Talking(&logger)), &[]);
    let say = || to_log(&logger, log::Level::Info, format_args!("{}", Nasty::Panicking), &[]);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(say)).unwrap_err();
    to_log(&logger, log::Level::Info, format_args!("after"), &[]);
    let messages = ["within", "around"].map(|message| format!("INFO tag:str=target message:str={message}"));
    let after = "INFO num_dropped:u64=1 tag:str=target message:str=after".to_owned();
    assert_eq!(kept.take(), [messages.as_slice(), &[after]].concat());
}

#[test]
fn threads_write_whole_records() {
    let buffer = Arc::new(Mutex::new(Vec::new()));
    let logger = Logger::new(Arc::clone(&buffer), LoggerOptions::default());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let logger = &logger;
            scope.spawn(move || {
                for number in 0..500u64 {
                    let pairs = [("thread", thread.into()), ("number", number.into())];
                    to_log(logger, log::Level::Info, format_args!("hello"), &pairs);
                }
            });
        }
    });
    let bytes = buffer.lock().unwrap().clone();
    let mut next = std::collections::BTreeMap::new();
    for message in Messages::new(&bytes, Framing::Records) {
        let Ok(Message::Record { record, .. }) = message else { panic!("{message:?}") };
        let tid = record.known().tid.unwrap();
        let number = record.arguments().map(Result::unwrap).find(|argument| argument.name == "number");
        let expected = next.entry(tid).or_insert(0u64);
        assert_eq!(number.unwrap().value, (*expected).into());
        *expected += 1;
    }
    assert_eq!(next.into_values().collect::<Vec<_>>(), [500; 4]);
}

/// Returns the messages of a file.
fn messages(path: impl AsRef<std::path::Path>) -> Vec<String> {
    let bytes = fs::read(path).unwrap();
    // A single record could also be an extended record.
    assert!(matches!(Framing::recognize(&bytes, true), Some(Framing::Records | Framing::ExtendedRecords)));
    Messages::new(&bytes, Framing::Records)
        .filter_map(Result::ok)
        .map(|message| match message {
            Message::Record { record, .. } => record.text().to_string(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn files_rotate() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    // 16 + 4 * 24 bytes: four records go into a file.
    let file = RotatingFile::open(&path, 5 * 112 - 1, 2).unwrap();
    let logger = Logger::new(file, LoggerOptions::default());
    let say = |number: u32| to_log(&logger, log::Level::Info, format_args!("{number:02}"), &[]);
    (0..18).for_each(say);
    let numbers = |range: std::ops::Range<u32>| range.map(|n| format!("{n:02}")).collect::<Vec<_>>();
    let old = |number| directory.path().join(format!("app.log.{number}"));
    assert_eq!(messages(&path), numbers(16..18));
    assert_eq!(messages(old(1)), numbers(12..16));
    assert_eq!(messages(old(2)), numbers(8..12));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);

    // An existing file is continued, even after a truncated record.
    drop(logger);
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 5);
    fs::write(&path, &bytes).unwrap();
    let logger = Logger::new(RotatingFile::open(&path, 1_000, 2).unwrap(), LoggerOptions::default());
    to_log(&logger, log::Level::Info, format_args!("next"), &[]);
    let found = messages(&path);
    assert!(found.first().unwrap() == "16" && found.last().unwrap() == "next", "{found:?}");
}

#[test]
fn files_without_old_files_are_emptied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let logger = Logger::new(RotatingFile::open(&path, 250, 0).unwrap(), LoggerOptions::default());
    for number in 0..5 {
        to_log(&logger, log::Level::Info, format_args!("{number}"), &[]);
    }
    assert_eq!(messages(&path), ["4"]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    // A record larger than the file limit gets its own file.
    to_log(&logger, log::Level::Info, format_args!("{}", "x".repeat(1_000)), &[]);
    assert_eq!(messages(&path), ["x".repeat(1_000)]);
}

#[test]
fn files_that_cannot_be_renamed_grow() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let logger = Logger::new(RotatingFile::open(&path, 250, 1).unwrap(), LoggerOptions::default());
    // A directory with content blocks the path.
    fs::create_dir_all(directory.path().join("app.log.1/x")).unwrap();
    let say = |number: u32| to_log(&logger, log::Level::Info, format_args!("{number}"), &[]);
    (0..5).for_each(say);
    assert_eq!(messages(&path), ["0", "1", "2", "3", "4"]);
    fs::remove_dir_all(directory.path().join("app.log.1")).unwrap();
    (5..9).for_each(say);
    assert_eq!(logger.dropped(), 0);
    assert!(directory.path().join("app.log.1").is_file());
}

#[cfg(unix)]
mod sockets {
    use std::os::unix::net::UnixDatagram;

    use ichnos_fuchsia::logger::DatagramSocket;

    use super::*;

    fn receive(socket: &UnixDatagram) -> Option<String> {
        let mut buffer = [0; 32_768];
        socket.set_nonblocking(true).unwrap();
        let length = socket.recv(&mut buffer).ok()?;
        Some(show(&buffer[..length]))
    }

    #[test]
    fn a_full_socket_does_not_block_and_drops_are_counted() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let logger = Logger::new(DatagramSocket::new(ours).unwrap(), LoggerOptions::default());
        let say = |number: u64| to_log(&logger, log::Level::Info, format_args!("{number}"), &[]);
        let mut sent = 0;
        while logger.dropped() < 10 {
            say(sent);
            sent += 1;
            assert!(sent < 1_000_000, "the socket takes everything");
        }
        // Makes room, then logs again.
        for number in 0..sent - 10 {
            assert_eq!(receive(&theirs).unwrap(), format!("INFO tag:str=target message:str={number}"));
        }
        assert_eq!(receive(&theirs), None);
        say(sent);
        say(sent + 1);
        let expected = format!("INFO num_dropped:u64=10 tag:str=target message:str={sent}");
        assert_eq!(receive(&theirs).unwrap(), expected);
        assert_eq!(receive(&theirs).unwrap(), format!("INFO tag:str=target message:str={}", sent + 1));
        assert_eq!(logger.dropped(), 0);
    }

    #[test]
    fn a_reader_that_comes_back_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        assert!(DatagramSocket::connect(&path).is_err());
        let first = UnixDatagram::bind(&path).unwrap();
        let logger = Logger::new(DatagramSocket::connect(&path).unwrap(), LoggerOptions::default());
        let say = |text: &str| to_log(&logger, log::Level::Info, format_args!("{text}"), &[]);
        say("one");
        assert_eq!(receive(&first).unwrap(), "INFO tag:str=target message:str=one");
        drop(first);
        fs::remove_file(&path).unwrap();
        say("two");
        say("three");
        assert_eq!(logger.dropped(), 2);
        let second = UnixDatagram::bind(&path).unwrap();
        say("four");
        assert_eq!(receive(&second).unwrap(), "INFO num_dropped:u64=2 tag:str=target message:str=four");
    }
}
