//! Queued reporter: reporting never waits, and lost reports are counted.

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
use self::delivery::ReportDelivery;
pub use self::queue::QueueCounts;
use self::queue::{Queue, QueueLimits};
use super::reporter::{MAX_REPORT, Reporter, too_long};

/// [`QueuedReporter`] options.
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
    /// Sets the maximum number of queued or unacknowledged reports. Default: 65,536.
    #[must_use]
    pub fn with_max_reports(mut self, reports: usize) -> Self {
        self.limits.reports = reports;
        self
    }

    /// Sets their maximum size in bytes. Default: 16 MiB.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }

    /// Sets the collectors to ask for acknowledgements.
    #[must_use]
    pub fn with_acknowledgements(mut self, acknowledgements: Acknowledgements) -> Self {
        self.acknowledgements = acknowledgements;
        self
    }

    /// Sets the time after which a connection is closed if the collector neither accepts nor answers anything. The
    /// reports are then sent again. Default: 10 seconds.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience.max(Duration::from_millis(1));
        self
    }

    /// Sets the maximum time for delivering queued reports when the reporter is dropped. Default: 2 seconds.
    #[must_use]
    pub fn with_shutdown(mut self, shutdown: Duration) -> Self {
        self.shutdown = shutdown;
        self
    }

    /// Starts a reporter for a collector at `HOST:PORT`. The first report triggers the name lookup and the connection,
    /// so the collector can start later.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(self, address: impl Into<String>) -> io::Result<QueuedReporter> {
        let queue = Arc::new(Queue::new(self.limits));
        let delivery =
            ReportDelivery::new(Arc::clone(&queue), address.into(), self.acknowledgements, self.patience);
        thread::Builder::new().name("xtrace-reporter".to_owned()).spawn(|| delivery.run())?;
        Ok(QueuedReporter { queue, shutdown: self.shutdown })
    }
}

/// Sends reports through a connection in a separate thread, so that reporting never waits for the collector.
///
/// - `report` adds a report to a queue. If the queue is full, it fails at once and counts the report as dropped. Its
///   event then did not happen: no other report refers to it.
/// - A connection is made when there is a report, and again after it breaks. Pauses between attempts last from 50
///   milliseconds to 5 seconds.
/// - A collector that supports acknowledgements (`ichnos collect`) is asked for them. Unacknowledged reports are sent
///   again over the next connection. So each accepted report is on its disk even if the collector is killed, unless
///   this program ends before. A report can arrive twice, which readers allow.
/// - Historical collectors do not know this question, and close the connection. After three consecutive connections
///   closed in this way, without a failed connection attempt between them, and one connection without a question that
///   stays open, reports are sent without questions. Reports in transit are then lost when the collector ends. The
///   question is asked again after each lost connection, and once a minute. After the first answer, every connection is
///   asked. See [`Acknowledgements`].
/// - Dropping the reporter delivers queued reports, for at most two seconds ([`QueueOptions::with_shutdown`]).
///   [`flush`](Self::flush) waits as long as needed. Call it before [`std::process::exit`], which drops nothing.
/// - After `fork` without `exec`, a process lacks the thread and must start another reporter.
///
/// To flush the reporter or to read its counts, keep it in an [`Arc`]:
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
    /// Starts a reporter with default options for a collector at `HOST:PORT`.
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

    /// Waits until all reports accepted before this call are delivered: acknowledged by the collector, or only sent if
    /// it does not acknowledge.
    ///
    /// # Errors
    /// - [`TimedOut`](io::ErrorKind::TimedOut) if this takes longer. The reports then still wait and are not lost.
    /// - [`Other`](io::ErrorKind::Other), with the number of reports, if reports were given up since the last such
    ///   error:
    ///   [refused](QueueCounts::refused) or [abandoned](QueueCounts::abandoned). All others are delivered.
    pub fn flush(&self, timeout: Duration) -> io::Result<()> {
        self.queue.flush(timeout)
    }

    /// Stops accepting reports, delivers queued reports until the timeout, and returns the final counts. The rest is
    /// [abandoned](QueueCounts::abandoned).
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
