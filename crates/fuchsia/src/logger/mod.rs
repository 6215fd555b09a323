//! Programs that log in records.
//!
//! A [`Logger`] is both a layer of `tracing-subscriber` (feature `tracing`) and a backend of the crate `log`
//! (feature `log`). Its clones are the same logger, so that one file has what both say, in order. It writes
//! to a [`RecordSink`]:
//! - any [`Write`](std::io::Write), in a [`Mutex`](std::sync::Mutex);
//! - a [`RotatingFile`];
//! - a [`DatagramSocket`], without ever waiting for its reader.
//!
//! Files have records one behind the other ([`Framing::Records`](crate::log::Framing::Records)).
//!
//! ```
//! # #[cfg(all(feature = "tracing", feature = "log"))] {
//! use ichnos_fuchsia::logger::{Logger, LoggerOptions, RotatingFile};
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("app.log");
//! // 10 MB, and the three files before.
//! let file = RotatingFile::open(&path, 10_000_000, 3)?;
//! let logger = Logger::new(file, LoggerOptions::default());
//! log::set_boxed_logger(Box::new(logger.clone()))?;
//! log::set_max_level(log::LevelFilter::Info);
//! tracing::subscriber::set_global_default(tracing_subscriber::registry().with(logger))?;
//!
//! tracing::warn!(celsius = 95.5, "too hot");
//! log::info!("cooling");
//! # Ok(())
//! # }
//! # main().unwrap();
//! # }
//! ```
//!
//! # What is written
//! As Fuchsia's Rust library does it: `pid`, `tid`, `num_dropped` if something was dropped, `file` and `line`
//! from ERROR on (or [always](LoggerOptions::always_file_and_line)), the target as a `tag`, the message and
//! the fields in the order of the event, and the [tags](LoggerOptions::tags) of the logger.
//!
//! Numbers of up to 64 bits, strings and booleans keep their type, everything else is text as its `Debug`
//! (errors: `Display`) has it. Fields whose names mean something in a record (`tag`, `pid`) do so here, too.
//! Events that the crate `tracing-log` made of records of `log` are written as those were.
//!
//! Spans are not written, and nor are their fields; Fuchsia's layer does it like that.
//!
//! # What is lost
//! A record that the sink does not take, or that is longer than a record can be, is dropped and counted;
//! the count goes into the next record that gets through. Nothing here waits but a file or a writer that
//! does, nothing panics, and nothing is allocated per event.
//!
//! # Processes and threads
//! Numbers of the process and of threads are those of the operating system (on systems without such numbers,
//! threads are counted), and are asked for once: a process that forks needs a new logger.

mod clock;
#[cfg(unix)]
mod datagram_socket;
#[cfg(feature = "log")]
mod log_backend;
mod rotating_file;
mod sink;
mod thread;
#[cfg(feature = "tracing")]
mod tracing_layer;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::log::{EncodeError, Encoder, Event, RecordEncoder};

pub use clock::LogClock;
#[cfg(unix)]
pub use datagram_socket::DatagramSocket;
pub use rotating_file::RotatingFile;
pub use sink::RecordSink;

/// How a [`Logger`] writes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoggerOptions {
    /// Tags of all records, besides the target of each.
    pub tags: Vec<String>,
    /// Whether each record says where in the source it comes from, rather than only those from ERROR on.
    pub always_file_and_line: bool,
    /// The clock of the timestamps. Records do not say which it was.
    pub clock: LogClock,
}

/// Writes events as records.
///
/// Clones are the same logger.
#[derive(Clone)]
pub struct Logger(Arc<Shared>);

struct Shared {
    sink: Box<dyn RecordSink>,
    options: LoggerOptions,
    pid: u64,
    /// How many records did not get through since the last one that did.
    dropped: AtomicU64,
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Logger {
    /// Writes to `sink`.
    pub fn new(sink: impl RecordSink + 'static, options: LoggerOptions) -> Self {
        let (sink, pid) = (Box::new(sink), u64::from(std::process::id()));
        Self(Arc::new(Shared { sink, options, pid, dropped: AtomicU64::new(0) }))
    }

    /// How many records were dropped since the last one that got through.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Has the sink write what it keeps.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn flush(&self) -> std::io::Result<()> {
        self.0.sink.flush()
    }

    /// Whether a record of this severity says where in the source it comes from.
    #[cfg(feature = "tracing")]
    fn has_place(&self, severity: crate::log::Severity) -> bool {
        self.0.options.always_file_and_line || severity >= crate::log::Severity::Error
    }

    /// Writes a record that has what `event` says of severity, target, file and line, and behind that what
    /// `fields` appends.
    #[cfg_attr(not(any(feature = "tracing", feature = "log")), expect(dead_code))]
    fn write(
        &self,
        event: &Event<'_>,
        fields: impl FnOnce(&mut RecordEncoder<'_>) -> Result<(), EncodeError>,
    ) {
        let Shared { sink, options, pid, dropped } = &*self.0;
        let attempt = Attempt::begin(dropped);
        let event = Event {
            timestamp: options.clock.now(),
            pid: *pid,
            tid: thread::id(),
            dropped: attempt.before,
            always_file_and_line: options.always_file_and_line,
            ..*event
        };
        let is_through = thread::with_buffer(|buffer| {
            let mut encoder = Encoder::new(buffer);
            let mut record = encoder.begin(event.timestamp, event.severity).ok()?;
            event.each_before_message(|name, value| record.argument(name, value)).ok()?;
            fields(&mut record).ok()?;
            options.tags.iter().try_for_each(|tag| record.argument("tag", tag.as_str())).ok()?;
            record.finish();
            sink.write(encoder.written()).ok()
        });
        if is_through.is_some() {
            attempt.succeeded();
        }
    }
}

/// Counts a record as dropped, unless it gets through.
struct Attempt<'l> {
    dropped: &'l AtomicU64,
    /// How many were dropped before, which the record is to say.
    before: u64,
}

impl<'l> Attempt<'l> {
    #[inline]
    fn begin(dropped: &'l AtomicU64) -> Self {
        // Looking is cheaper than taking, and mostly there is nothing to take.
        let before = match dropped.load(Ordering::Relaxed) {
            0 => 0,
            _ => dropped.swap(0, Ordering::Relaxed),
        };
        Self { dropped, before }
    }

    #[inline]
    fn succeeded(self) {
        std::mem::forget(self);
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.dropped.fetch_add(self.before.saturating_add(1), Ordering::Relaxed);
    }
}
