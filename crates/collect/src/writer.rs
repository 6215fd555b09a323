//! Writes reports to the disk.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::batch::{Batch, SyncQuestion};
use crate::directory::CollectorDirectory;
use crate::duplicates::Duplicates;
use crate::segment::Segment;
use crate::shared::CollectorState;
use crate::{CollectError, Notice, directory};

/// Pause between two attempts to write.
const RETRY: Duration = Duration::from_millis(250);

/// Maximum time for the last attempts when stopping.
const LAST_TRIES: Duration = Duration::from_secs(2);

/// Interval between periodic checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Number of reports at which a segment is closed, because they are indexed together.
const SEGMENT_REPORTS: u64 = 1 << 18;

/// Writes reports to the disk. Unflushed reports stay in memory, so that they can be written again.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    shared: Arc<CollectorState>,
    directory: Arc<CollectorDirectory>,
    batches: Receiver<Batch>,
    /// Tells the indexer which segments are closed.
    closed: Sender<u32>,
    answers: AnswerSender,
    duplicates: Duplicates,
    segment: Option<Segment>,
    /// Unflushed reports.
    pending: Vec<u8>,
    reports: u64,
    repeated: u64,
    syncs: Vec<SyncQuestion>,
    /// Arrival time for the oldest pending report.
    since: Option<Instant>,
    /// First failure time. `None` while writing works.
    failing: Option<Instant>,
}

/// Sends answers about flushed reports to connections.
#[derive(Debug)]
pub(crate) struct AnswerSender {
    pub(crate) done: Sender<SyncQuestion>,
    /// `None` without TCP.
    pub(crate) waker: Option<Arc<mio::Waker>>,
}

impl SegmentWriter {
    pub(crate) fn new(
        shared: Arc<CollectorState>,
        directory: Arc<CollectorDirectory>,
        batches: Receiver<Batch>,
        closed: Sender<u32>,
        answers: AnswerSender,
    ) -> Self {
        Self {
            shared,
            directory,
            batches,
            closed,
            answers,
            duplicates: Duplicates::default(),
            segment: None,
            pending: Vec::new(),
            reports: 0,
            repeated: 0,
            syncs: Vec::new(),
            since: None,
            failing: None,
        }
    }

    /// Writes until all senders are gone.
    pub(crate) fn run(mut self) {
        loop {
            let is_over = match self.batches.recv_timeout(self.patience()) {
                Ok(batch) => {
                    self.take(batch);
                    self.take_waiting();
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            if !self.write(is_over) {
                self.give_up();
                return;
            }
            if is_over {
                self.close_segment();
                return;
            }
            self.close_full_segment();
        }
    }

    /// Returns the time until the next action.
    fn patience(&self) -> Duration {
        let age = self.shared.options.flush_age;
        self.since.map_or(CHECK_INTERVAL, |since| age.saturating_sub(since.elapsed()).min(CHECK_INTERVAL))
    }

    fn take(&mut self, batch: Batch) {
        if self.pending.is_empty() {
            self.pending = batch.text;
        } else {
            self.pending.extend_from_slice(&batch.text);
        }
        self.reports += batch.hashes.len() as u64;
        self.repeated +=
            batch.hashes.into_iter().filter(|hash| self.duplicates.is_duplicate(*hash)).count() as u64;
        self.syncs.extend(batch.syncs);
        self.since.get_or_insert_with(Instant::now);
    }

    /// Takes as many waiting batches as are flushed together.
    fn take_waiting(&mut self) {
        while self.pending.len() < self.shared.options.flush_bytes
            && let Ok(batch) = self.batches.try_recv()
        {
            self.take(batch);
        }
    }

    /// Returns `true` if it is time to flush.
    fn is_due(&self) -> bool {
        let options = &self.shared.options;
        !self.syncs.is_empty()
            || self.pending.len() >= options.flush_bytes
            || self.since.is_some_and(|since| since.elapsed() >= options.flush_age)
    }

    /// Writes pending reports, and flushes them if it is time, however long that takes. Returns `false` if writing
    /// fails until the end.
    fn write(&mut self, is_over: bool) -> bool {
        loop {
            let Err(error) = self.try_write(is_over) else {
                if self.failing.take().is_some() {
                    self.shared.notice(&Notice::WritesAgain);
                }
                return true;
            };
            if self.failing.is_none() {
                self.shared.notice(&Notice::CannotWrite { error: error.to_string() });
            }
            // When stopping, earlier failures do not count, so that there are some last attempts.
            let since = self.failing.get_or_insert_with(Instant::now);
            if self.shared.is_stopping() {
                if since.elapsed() >= LAST_TRIES {
                    return false;
                }
            } else {
                *since = Instant::now();
            }
            std::thread::sleep(RETRY);
        }
    }

    fn try_write(&mut self, is_over: bool) -> Result<(), CollectError> {
        if self.failing.is_some() {
            self.directory.check()?;
        }
        if !self.pending.is_empty() {
            let segment = match &mut self.segment {
                Some(segment) => segment,
                None => {
                    // Other processes do not write to this directory, but they may write to its replacement.
                    self.directory.check()?;
                    let path = self.directory.path();
                    let number = directory::next_number(path)?;
                    let new = Segment::create(path, number);
                    self.segment.insert(new.map_err(CollectError::at(path))?)
                }
            };
            let path = segment.path.clone();
            segment.write(&self.pending).map_err(CollectError::at(&path))?;
        }
        if is_over || self.is_due() {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), CollectError> {
        let counters = &self.shared.counters;
        if let (Some(segment), false) = (&mut self.segment, self.pending.is_empty()) {
            let path = segment.path.clone();
            if let Err(error) = segment.flush(&self.pending, self.reports) {
                // The segment was moved with its directory, which may come back, or alone. If alone, the next attempt
                // creates another segment.
                if !segment.is_in_place().unwrap_or(true) {
                    self.directory.check()?;
                    self.segment = None;
                }
                return Err(CollectError::File { path, error });
            }
            counters.reports.add(self.reports);
            counters.duplicates.add(self.repeated);
            counters.bytes.add(self.pending.len() as u64);
            counters.flushes.add(1);
        }
        self.pending.clear();
        // A batch may have been unusually long.
        self.pending.shrink_to(2 * self.shared.options.flush_bytes);
        (self.reports, self.repeated, self.since) = (0, 0, None);
        if !self.syncs.is_empty() {
            counters.syncs.add(self.syncs.iter().map(|sync| u64::from(sync.count)).sum());
            for sync in self.syncs.drain(..) {
                // The connection may be gone.
                let _ = self.answers.done.send(sync);
            }
            if let Some(waker) = &self.answers.waker {
                let _ = waker.wake();
            }
        }
        Ok(())
    }

    fn close_full_segment(&mut self) {
        let options = &self.shared.options;
        let is_over = |segment: &Segment| {
            segment.length() >= options.segment_bytes
                || segment.reports() >= SEGMENT_REPORTS
                || segment.start_time().elapsed() >= options.segment_age
        };
        if self.pending.is_empty() && self.segment.as_ref().is_some_and(is_over) {
            self.close_segment();
        }
    }

    fn close_segment(&mut self) {
        let Some(segment) = self.segment.take() else { return };
        let (number, path) = (segment.number, segment.path.clone());
        if let Err(error) = segment.close() {
            // All reports are on the disk. Without checksums, the next start checks them one by one.
            let error = CollectError::File { path, error };
            self.shared.notice(&Notice::NotClosed { error: error.to_string() });
        }
        let _ = self.closed.send(number);
    }

    /// Reports that data could not be written before the end.
    fn give_up(self) {
        // Receiving threads may wait for space. This loop ends when they have ended.
        let waiting: u64 = self.batches.iter().map(|batch| batch.hashes.len() as u64).sum();
        let reports = self.reports + waiting;
        self.shared.counters.not_written.add(reports);
        self.shared.notice(&Notice::NotWritten { reports });
        // The segment is not closed properly, so the next start recovers its reports.
    }
}
