//! Thread that sends reports.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::random;
use super::asking::{Acknowledgements, ConnectionPlan, FIRST_REPORTS, QuestionPolicy};
use super::connection::{Answer, CollectorConnection, DeliveryFailure};
use super::queue::{FrameBlock, LENGTH, Queue};

/// Pause after the first failure, and maximum pause.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// Number of consecutive times that a collector must close its connection at reports before one of them counts as
/// unwanted.
const PROOFS: u32 = 3;

/// Number of consecutive times that a collector must close its connection at a single report before it is given up.
const LAST_PROOFS: u32 = 6;

/// Maximum number of bytes to send between two questions.
const CHUNK: usize = 256 << 10;

/// Sends queued reports to a collector.
#[derive(Debug)]
pub(super) struct ReportDelivery {
    queue: Arc<Queue>,
    address: String,
    patience: Duration,
    connection: Option<CollectorConnection>,
    asking: QuestionPolicy,
    /// Number of consecutive times that the collector closed the connection after receiving the next reports.
    closed_at_reports: u32,
    /// Maximum number of reports to send at once. It is reduced while searching for a refused report.
    most_reports: u64,
    failures: u32,
}

impl ReportDelivery {
    pub(super) fn new(
        queue: Arc<Queue>,
        address: String,
        acknowledgements: Acknowledgements,
        patience: Duration,
    ) -> Self {
        Self {
            queue,
            address,
            patience,
            connection: None,
            asking: QuestionPolicy::new(acknowledgements),
            closed_at_reports: 0,
            most_reports: u64::MAX,
            failures: 0,
        }
    }

    pub(super) fn run(mut self) {
        while let Some(block) = self.queue.take() {
            if !self.deliver(&block) {
                break;
            }
            self.queue.recycle(block);
        }
        self.queue.end();
    }

    /// Delivers the reports in a block. Returns `false` when the thread must end.
    fn deliver(&mut self, block: &FrameBlock) -> bool {
        let mut rest = &block.frames[..];
        // Number of sent reports that may have to be sent again.
        let mut sent = 0;
        while !rest.is_empty() {
            if self.queue.is_over() {
                return false;
            }
            let connection = self.connection();
            let first_reports = connection.as_ref().ok().and_then(|connection| connection.first_reports);
            let most = first_reports.unwrap_or(u64::MAX).min(self.most_reports);
            let (length, reports) = chunk(rest, most);
            let (frames, others) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            let result = connection.and_then(|connection| self.send(connection, frames, reports, &mut sent));
            let is_unwanted = result.is_err() && self.is_unwanted(&result, reports);
            match result {
                Ok(None) => self.queue.done(reports, length, |counts| counts.sent += reports),
                Ok(Some(answer)) => self.queue.done(reports, length, |counts| {
                    counts.acknowledged += answer.reports;
                    counts.refused += answer.refused;
                }),
                Err(_) if is_unwanted => self.queue.done(reports, length, |counts| counts.refused += reports),
                Err(_) => {
                    self.connection = None;
                    let pause = self.next_pause();
                    if !self.queue.pause(pause) {
                        return false;
                    }
                    continue;
                }
            }
            (self.failures, self.closed_at_reports) = (0, 0);
            sent = sent.saturating_sub(reports);
            self.most_reports = self.most_reports.saturating_mul(2);
            rest = others;
        }
        true
    }

    /// Sends reports, and asks for their result. Returns `None` if the result cannot be known. `sent` is the number of
    /// next reports that were sent before.
    fn send(
        &mut self,
        mut connection: CollectorConnection,
        frames: &[u8],
        reports: u64,
        sent: &mut u64,
    ) -> Result<Option<Answer>, DeliveryFailure> {
        let again = reports.min(*sent);
        if again > 0 {
            self.queue.count(|counts| counts.sent_again += again);
        }
        *sent = reports.max(*sent);
        if !connection.is_acknowledged {
            connection
                .send(frames, &self.queue, self.patience)
                .inspect_err(|_| self.asking.lost_unacknowledged())?;
            self.connection = Some(connection);
            return Ok(None);
        }
        connection.send(frames, &self.queue, self.patience)?;
        let answer = connection.ask(reports, &self.queue, self.patience)?;
        self.connection = Some(connection);
        Ok(Some(answer))
    }

    /// Returns the connection for the next reports: the previous connection if it is open, otherwise a new connection.
    fn connection(&mut self) -> Result<CollectorConnection, DeliveryFailure> {
        let Some(mut connection) = self.connection.take() else { return self.connect() };
        let is_lost = connection.is_closed();
        if connection.is_acknowledged {
            return if is_lost { self.connect() } else { Ok(connection) };
        }
        let is_first = connection.first_reports.take().is_some();
        if is_lost
            || is_first && connection.stay_open(self.admission(), &self.queue).is_err()
            || self.asking.is_to_repeat(connection.age())
        {
            self.asking.lost_unacknowledged();
            // Everything sent is read before the end of the connection.
            drop(connection);
            return self.connect();
        }
        Ok(connection)
    }

    /// Returns the time for which a connection must stay open.
    fn admission(&self) -> Duration {
        self.asking.plan().admission.min(self.patience)
    }

    /// Creates a connection. If the collector is asked, it has answered.
    fn connect(&mut self) -> Result<CollectorConnection, DeliveryFailure> {
        let connected = CollectorConnection::new(&self.address, &self.queue, self.patience);
        let mut connection = connected.inspect_err(|_| {
            self.closed_at_reports = 0;
            self.asking.not_connected();
        })?;
        self.queue.count(|counts| counts.connections += 1);
        let ConnectionPlan { asks, .. } = self.asking.plan();
        if let Err(failure) = connection.stay_open(self.admission(), &self.queue) {
            if failure == DeliveryFailure::Closed {
                self.asking.closed_before_question();
            }
            return Err(DeliveryFailure::NotConnected);
        }
        if !asks {
            connection.first_reports = self.asking.is_historical().then_some(FIRST_REPORTS);
            return Ok(connection);
        }
        let begin = Instant::now();
        match connection.ask(0, &self.queue, self.patience) {
            Ok(_) => {
                self.asking.answered();
                connection.is_acknowledged = true;
                Ok(connection)
            }
            Err(DeliveryFailure::Closed) => {
                self.asking.closed_at_question(begin.elapsed());
                Err(DeliveryFailure::NotConnected)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Checks if one of the sent reports makes a reachable collector close its connection. Returns `true` if this
    /// report was found, otherwise reduces the number of reports for the next attempt.
    fn is_unwanted(&mut self, result: &Result<Option<Answer>, DeliveryFailure>, reports: u64) -> bool {
        if !matches!(result, Err(DeliveryFailure::Closed)) {
            return false;
        }
        self.closed_at_reports += 1;
        let proofs = if reports == 1 { LAST_PROOFS } else { PROOFS };
        if self.closed_at_reports < proofs {
            return false;
        }
        (self.closed_at_reports, self.failures) = (0, 0);
        self.most_reports = (reports / 2).max(1);
        reports == 1
    }

    /// Returns a pause that grows with consecutive failures. Half of it is random, so that many programs do not retry
    /// at once.
    fn next_pause(&mut self) -> Duration {
        let (first, longest) = PAUSES;
        let pause = first.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        let share = f64::from(u16::from_be_bytes(random::any())) / f64::from(u16::MAX);
        pause.mul_f64(0.5 + 0.5 * share)
    }
}

/// Returns the number of bytes and reports to send at once, at least one report.
fn chunk(frames: &[u8], most_reports: u64) -> (usize, u64) {
    let (mut end, mut reports) = (0, 0);
    while reports < most_reports
        && let Some(length) = frames.get(end..).and_then(|rest| rest.first_chunk::<LENGTH>())
    {
        let next = end + LENGTH + u32::from_be_bytes(*length) as usize;
        if reports > 0 && next > CHUNK {
            break;
        }
        (end, reports) = (next, reports + 1);
    }
    (end, reports)
}
