//! Reporter with a queue: reporting never waits, and lost reports are counted.

mod asking;
mod connection;
mod delivery;
mod queue;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub use self::asking::Acknowledgements;
use self::delivery::Delivery;
pub use self::queue::QueueCounts;
use self::queue::{Queue, QueueLimits};
use super::reporter::{MAX_REPORT, Reporter, too_long};

/// Options of a [`QueuedReporter`].
///
/// ```no_run
/// use std::time::Duration;
///
/// use ichnos_xtrace::propagation::{QueueOptions, Tracer};
///
/// let reporter = QueueOptions::default().with_max_reports(10_000).start("collector.example:7831")?;
/// let tracer = Tracer::new(reporter);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QueueOptions {
    limits: QueueLimits,
    acknowledgements: Acknowledgements,
    patience: Duration,
    shutdown: Duration,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            limits: QueueLimits { reports: 65_536, bytes: 16 << 20 },
            acknowledgements: Acknowledgements::default(),
            patience: Duration::from_secs(10),
            shutdown: Duration::from_secs(2),
        }
    }
}

impl QueueOptions {
    /// Sets the maximum number of reports that are queued or not yet acknowledged: 65,536 by default.
    #[must_use]
    pub fn with_max_reports(mut self, reports: usize) -> Self {
        self.limits.reports = reports;
        self
    }

    /// Sets the maximum number of their bytes: 16 MiB by default.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }

    /// Sets which collectors are asked for acknowledgements.
    #[must_use]
    pub fn with_acknowledgements(mut self, acknowledgements: Acknowledgements) -> Self {
        self.acknowledgements = acknowledgements;
        self
    }

    /// Sets the time after which a connection is closed if the collector neither accepts nor answers anything:
    /// 10 seconds by default. The reports are then sent again.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience.max(Duration::from_millis(1));
        self
    }

    /// Sets the maximum time for delivering queued reports when the reporter is dropped: 2 seconds by default.
    #[must_use]
    pub fn with_shutdown(mut self, shutdown: Duration) -> Self {
        self.shutdown = shutdown;
        self
    }

    /// Starts a reporter to a collector at `HOST:PORT`. The name is looked up, and a connection made, at the
    /// first report: the collector may start later.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(self, address: impl Into<String>) -> io::Result<QueuedReporter> {
        let queue = Arc::new(Queue::new(self.limits));
        let delivery =
            Delivery::new(Arc::clone(&queue), address.into(), self.acknowledgements, self.patience);
        thread::Builder::new().name("xtrace-reporter".to_owned()).spawn(|| delivery.run())?;
        Ok(QueuedReporter { queue, shutdown: self.shutdown })
    }
}

/// Sends reports through a connection in a separate thread: reporting never waits for the collector.
///
/// - `report` adds a report to a queue. If the queue is full, it fails at once, the report is counted as
///   dropped, and its event did not happen: no other report refers to it.
/// - Connections are made when there is a report, and again after they break, with pauses of 50 milliseconds to
///   5 seconds between attempts.
/// - A collector that supports it (`ichnos collect`) is asked for acknowledgements; unacknowledged reports are
///   sent again over the next connection. So each accepted report is on its disk even if the collector is killed,
///   unless this program ends before. A report may be there twice, which readers allow.
/// - Historical collectors do not know that question, and close the connection. After three consecutive connections
///   closed like this, without a failed attempt to connect between them, and one that stays open without a question, reports
///   are sent without questions: reports in transit when such a collector ends are lost. The question is asked again after
///   each connection that was lost, and once a minute. Once a collector has answered, all are asked. See
///   [`Acknowledgements`].
/// - Dropping the reporter delivers queued reports, for at most two seconds ([`QueueOptions::with_shutdown`]).
///   [`flush`](Self::flush) waits as long as needed: call it before [`std::process::exit`], which drops nothing.
/// - After `fork` without `exec`, a process lacks the thread, and has to start a reporter of its own.
///
/// Keep it in an [`Arc`] to flush it or to read its counts:
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use ichnos_xtrace::propagation::{Context, QueueOptions, Tracer};
///
/// // Nobody listens there, but reporting does not wait.
/// let options = QueueOptions::default().with_shutdown(Duration::from_millis(10));
/// let reporter = Arc::new(options.start("127.0.0.1:1")?);
/// let tracer = Tracer::new(Arc::clone(&reporter));
/// Context::start().event(&tracer, "begin").send()?;
/// assert!(reporter.flush(Duration::from_millis(10)).is_err());
/// assert_eq!((reporter.counts().waiting, reporter.counts().dropped), (1, 0));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct QueuedReporter {
    queue: Arc<Queue>,
    shutdown: Duration,
}

impl QueuedReporter {
    /// Starts a reporter with the default options to a collector at `HOST:PORT`.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(address: impl Into<String>) -> io::Result<Self> {
        QueueOptions::default().start(address)
    }

    /// Returns the current counts.
    #[must_use]
    pub fn counts(&self) -> QueueCounts {
        self.queue.counts()
    }

    /// Waits until all reports that were taken before this call are delivered: acknowledged by the collector; or sent, if it
    /// does not acknowledge.
    ///
    /// # Errors
    /// - [`TimedOut`](io::ErrorKind::TimedOut) if that takes longer. They still wait then, and are not lost.
    /// - [`Other`](io::ErrorKind::Other), with their number, if reports were given up since the last such error:
    ///   [refused](QueueCounts::refused) or [abandoned](QueueCounts::abandoned). All others are delivered.
    pub fn flush(&self, timeout: Duration) -> io::Result<()> {
        self.queue.flush(timeout)
    }

    /// Accepts no more reports, delivers queued ones until the timeout, and returns the final counts: the rest
    /// is [abandoned](QueueCounts::abandoned).
    pub fn shut_down(&self, timeout: Duration) -> QueueCounts {
        self.queue.shut_down(Instant::now().checked_add(timeout));
        self.counts()
    }
}

impl Reporter for QueuedReporter {
    fn report(&self, report: &[u8]) -> io::Result<()> {
        if report.len() > MAX_REPORT {
            return Err(too_long(report.len()));
        }
        self.queue.push(report)
    }
}

impl Drop for QueuedReporter {
    fn drop(&mut self) {
        self.shut_down(self.shutdown);
    }
}

impl fmt::Debug for QueuedReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuedReporter").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
