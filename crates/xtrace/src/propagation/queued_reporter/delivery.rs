//! Thread that sends reports.

use std::sync::Arc;
use std::time::Duration;

use super::super::random;
use super::Acknowledgements;
use super::connection::{Answer, Connection, Failure, LENGTH};
use super::queue::{Block, Queue};

/// Pause after the first failure, and the longest pause.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// So many times in a row must a collector close its connection at a question to be taken for one that does not know
/// questions, or at reports for one that does not want one of them.
const PROOFS: u32 = 3;

/// So many times in a row must it close its connection at a single report for this to be given up.
const LAST_PROOFS: u32 = 6;

/// Time for which a connection stays open if the collector has room for it.
const ADMISSION: Duration = Duration::from_millis(50);

/// The most that is sent between two questions.
const CHUNK: usize = 256 << 10;

/// Sends reports of a queue to a collector.
#[derive(Debug)]
pub(super) struct Delivery {
    queue: Arc<Queue>,
    address: String,
    patience: Duration,
    connection: Option<Connection>,
    acknowledgements: Acknowledgements,
    /// Set if the collector is asked for acknowledgements.
    asks: bool,
    /// Set once it has answered.
    has_answered: bool,
    /// Number of times in a row that the collector closed the connection at the first question.
    closed_at_question: u32,
    /// Number of times in a row that it closed the connection after it got the next reports.
    closed_at_reports: u32,
    /// Maximum number of reports sent at once: reduced while searching for a refused one.
    most_reports: u64,
    failures: u32,
}

impl Delivery {
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
            acknowledgements,
            asks: acknowledgements != Acknowledgements::Never,
            has_answered: false,
            closed_at_question: 0,
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

    /// Delivers the reports of a block; returns `false` when the thread has to end.
    fn deliver(&mut self, block: &Block) -> bool {
        let mut rest = &block.frames[..];
        // Number of reports sent that may have to be sent again.
        let mut sent = 0;
        while !rest.is_empty() {
            if self.queue.is_over() {
                return false;
            }
            let (length, reports) = chunk(rest, self.most_reports);
            let (frames, others) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            let result = self.send(frames, reports, &mut sent);
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

    /// Sends reports, and asks what became of them; None if that cannot be known. `sent` is how many of the next reports
    /// were sent before.
    fn send(&mut self, frames: &[u8], reports: u64, sent: &mut u64) -> Result<Option<Answer>, Failure> {
        if self.connection.as_ref().is_some_and(Connection::is_closed) {
            self.connection = None;
        }
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let again = reports.min(*sent);
        if again > 0 {
            self.queue.count(|counts| counts.sent_again += again);
        }
        *sent = reports.max(*sent);
        connection.send(frames, &self.queue, self.patience)?;
        let answer =
            if self.asks { Some(connection.ask(reports, &self.queue, self.patience)?) } else { None };
        self.connection = Some(connection);
        Ok(answer)
    }

    /// A connection whose collector has answered if it is asked at all.
    fn connect(&mut self) -> Result<Connection, Failure> {
        let connected = Connection::new(&self.address, &self.queue, self.patience);
        let mut connection = connected.inspect_err(|_| {
            // It ended, and what comes after it may be another one.
            (self.closed_at_question, self.closed_at_reports) = (0, 0);
            self.asks = self.acknowledgements != Acknowledgements::Never;
        })?;
        self.queue.count(|counts| counts.connections += 1);
        if !self.asks {
            return Ok(connection);
        }
        // One that has too many connections closes them before any question.
        if self.closed_at_question > 0 && (!self.queue.pause(ADMISSION) || connection.is_closed()) {
            return Err(Failure::NotConnected);
        }
        match connection.ask(0, &self.queue, self.patience) {
            Ok(_) => {
                (self.has_answered, self.closed_at_question) = (true, 0);
                Ok(connection)
            }
            Err(Failure::Closed) => {
                self.closed_at_question += 1;
                let may_fall_back = self.acknowledgements == Acknowledgements::IfKnown && !self.has_answered;
                self.asks = self.closed_at_question < PROOFS || !may_fall_back;
                Err(Failure::NotConnected)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Checks if one of the sent reports makes a reachable collector close its connection: returns `true` if
    /// that report was found, otherwise sends fewer of them the next time.
    fn is_unwanted(&mut self, result: &Result<Option<Answer>, Failure>, reports: u64) -> bool {
        if !matches!(result, Err(Failure::Closed)) {
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

    /// Returns a pause that grows with consecutive failures, half of it random, so that many programs do not
    /// retry at once.
    fn next_pause(&mut self) -> Duration {
        let (first, longest) = PAUSES;
        let pause = first.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        let share = f64::from(u16::from_be_bytes(random::any())) / f64::from(u16::MAX);
        pause.mul_f64(0.5 + 0.5 * share)
    }
}

/// Returns the bytes and the number of reports to send at once: at least one report.
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
