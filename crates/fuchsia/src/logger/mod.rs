//! Logger for programs, which writes Fuchsia log records.
//!
//! A [`Logger`] is both a `tracing-subscriber` layer (feature `tracing`) and a backend for the crate `log` (feature
//! `log`).
//! Its clones share one state, so one file contains the events from both in order. It writes to a [`RecordSink`]:
//! - any [`Write`](std::io::Write), in a [`Mutex`](std::sync::Mutex)
//! - a [`RotatingFile`]
//! - a [`DatagramSocket`], which never waits for its reader
//!
//! Files contain consecutive records ([`Framing::Records`](crate::log::Framing::Records)).
//!
//! ```
//! # #[cfg(all(feature = "tracing", feature = "log"))] {
//! use ichnos_fuchsia::logger::{Logger, LoggerOptions, RotatingFile};
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("app.log");
//! // 10 MB, and three older files.
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
//! # Record contents
//! Records have the same arguments as in Fuchsia's Rust library, in this order: `pid`, `tid`, `num_dropped` if records
//! were dropped, `file` and `line`
//! for severity ERROR and above (or [always](LoggerOptions::always_file_and_line)), the target as a `tag`, the message
//! and the fields in
//! event order, and the [tags](LoggerOptions::tags) of the logger.
//!
//! Numbers up to 64 bits, strings and booleans keep their type. All other values become text, formatted with `Debug`
//! (errors with `Display`). A field with the name of a known argument, for example `tag` or `pid`, gets its meaning.
//! Events that the crate `tracing-log` creates from `log` records are written like `log` records.
//!
//! Spans and their fields are not written, the same as in Fuchsia's layer.
//!
//! # Destinations
//! | destination | on failure |
//! |---|---|
//! | any `Write`, in a `Mutex` | drops the record. The bytes written so far remain |
//! | `RotatingFile`: renames `app.log` to `app.log.1` and so on before it becomes too large, and limits the number of old files. Records are not buffered and never split between files | removes the bytes of the record, and drops it. If renaming fails, the file continues to grow, and renaming is tried again each time it has grown by its maximum size |
//! | `DatagramSocket`: a Unix datagram socket. Sending never blocks | drops the record. If the reader has disappeared, the next record connects to the path again |
//!
//! # Losses
//! A record that is too long, or that the sink rejects, is dropped and counted. The next successful record contains the
//! count. Only a file or a writer can block. The logger never panics, and allocates nothing per event.
//!
//! # Processes and threads
//! Process and thread ids come from the operating system. On systems without thread ids, threads are counted. Ids are
//! read
//! once, so a forked process needs a new logger.

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

/// [`Logger`] options.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoggerOptions {
    /// Tags for all records, in addition to the target.
    pub tags: Vec<String>,
    /// `true` to write file and line for every record, not only for severity ERROR and above.
    pub always_file_and_line: bool,
    /// Timestamp clock. Records do not store it.
    pub clock: LogClock,
}

/// Writes events as records.
///
/// Clones share one logger.
#[derive(Clone)]
pub struct Logger(Arc<LoggerState>);

struct LoggerState {
    sink: Box<dyn RecordSink>,
    options: LoggerOptions,
    pid: u64,
    /// Number of records dropped since the last successful record.
    dropped: AtomicU64,
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Logger {
    /// Creates a logger that writes to `sink`.
    pub fn new(sink: impl RecordSink + 'static, options: LoggerOptions) -> Self {
        let (sink, pid) = (Box::new(sink), u64::from(std::process::id()));
        Self(Arc::new(LoggerState { sink, options, pid, dropped: AtomicU64::new(0) }))
    }

    /// Returns the number of records dropped since the last successful record.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Flushes the sink.
    ///
    /// # Errors
    /// If the sink fails.
    pub fn flush(&self) -> std::io::Result<()> {
        self.0.sink.flush()
    }

    /// Returns `true` if records with this severity contain file and line.
    #[cfg(feature = "tracing")]
    fn has_place(&self, severity: crate::log::Severity) -> bool {
        self.0.options.always_file_and_line || severity >= crate::log::Severity::Error
    }

    /// Writes a record with severity, target, file and line from `event`, then the arguments that `fields` appends.
    #[cfg_attr(not(any(feature = "tracing", feature = "log")), expect(dead_code))]
    fn write(
        &self,
        event: &Event<'_>,
        fields: impl FnOnce(&mut RecordEncoder<'_>) -> Result<(), EncodeError>,
    ) {
        let LoggerState { sink, options, pid, dropped } = &*self.0;
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

/// Guard that counts a record as dropped unless it is written.
struct Attempt<'l> {
    dropped: &'l AtomicU64,
    /// Number of records dropped before, for this record to report.
    before: u64,
}

impl<'l> Attempt<'l> {
    #[inline]
    fn begin(dropped: &'l AtomicU64) -> Self {
        // A load is cheaper than a swap, and the number is usually 0.
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
