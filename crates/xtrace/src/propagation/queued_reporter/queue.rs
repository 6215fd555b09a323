//! Report queue.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::reporter::lock;

/// Maximum block size in bytes, unless a single report is larger. A block is sent and acknowledged as a whole.
const BLOCK: usize = 256 << 10;

/// Time for which the first report waits for others, so that they are sent together.
const LINGER: Duration = Duration::from_millis(5);

/// Maximum time to wait for a thread that does not end in time.
const GRACE: Duration = Duration::from_millis(200);

/// Report counts of a [`QueuedReporter`](super::QueuedReporter) since it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueueCounts {
    /// Accepted reports, where `report` returned `Ok`.
    pub taken: u64,
    /// Reports that were not accepted because the queue was full or the reporter was shut down. `report` returned an
    /// error.
    pub dropped: u64,
    /// Accepted reports that are not yet delivered.
    pub waiting: u64,
    /// Reports delivered to a collector that does not acknowledge.
    pub sent: u64,
    /// Reports acknowledged by a collector, which has them on disk.
    pub acknowledged: u64,
    /// Reports that a collector refused, or that repeatedly made it close its connection.
    pub refused: u64,
    /// Accepted reports that were not delivered before shutdown. The collector may have them.
    pub abandoned: u64,
    /// Number of repeated sends, because the connection broke before the acknowledgement.
    pub sent_again: u64,
    /// Number of connections made.
    pub connections: u64,
}

impl QueueCounts {
    fn undelivered(&self) -> Undelivered {
        Undelivered { refused: self.refused, abandoned: self.abandoned }
    }
}

/// Counts of accepted reports that will not be delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Undelivered {
    refused: u64,
    abandoned: u64,
}

impl Undelivered {
    fn check(self) -> io::Result<()> {
        let reports = |number: u64, what: &str| match number {
            0 => None,
            1 => Some(format!("1 report was {what}")),
            _ => Some(format!("{number} reports were {what}")),
        };
        let refused = reports(self.refused, "refused");
        let abandoned = reports(self.abandoned, "abandoned when the reporter was shut down");
        match refused.into_iter().chain(abandoned).collect::<Vec<_>>() {
            texts if texts.is_empty() => Ok(()),
            texts => Err(io::Error::other(texts.join(", "))),
        }
    }
}

/// Queue limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueLimits {
    pub(super) reports: usize,
    pub(super) bytes: usize,
}

/// Reports, each after its length.
#[derive(Debug, Default)]
pub(super) struct FrameBlock {
    pub(super) frames: Vec<u8>,
    pub(super) reports: u64,
}

#[derive(Debug, Default)]
struct QueueState {
    blocks: VecDeque<FrameBlock>,
    /// A delivered block, kept to reuse its memory.
    free: Option<FrameBlock>,
    /// Size of the waiting reports in bytes, including reports being sent.
    bytes: usize,
    counts: QueueCounts,
    /// Number of reports that were delivered or dropped, sorted by acceptance.
    done: u64,
    /// Value of `done` that `flush` waits for.
    flushed_to: u64,
    /// Undelivered reports that a flush error has already mentioned.
    reported: Undelivered,
    /// `true` if the queue accepts no more reports.
    is_closed: bool,
    /// Deadline for delivering the rest. `None` without a limit.
    deadline: Option<Instant>,
    has_ended: bool,
}

/// Waiting reports, shared by the reporting threads and the sending thread.
#[derive(Debug)]
pub(super) struct Queue {
    limits: QueueLimits,
    state: Mutex<QueueState>,
    /// Notified when the thread has work.
    work: Condvar,
    /// Notified when reports were delivered.
    progress: Condvar,
}

impl Queue {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self { limits, state: Mutex::default(), work: Condvar::new(), progress: Condvar::new() }
    }

    pub(super) fn counts(&self) -> QueueCounts {
        lock(&self.state).counts
    }

    pub(super) fn push(&self, report: &[u8]) -> io::Result<()> {
        let Ok(length) = u32::try_from(report.len()) else { return Err(io::ErrorKind::InvalidInput.into()) };
        let size = LENGTH + report.len();
        let state = &mut *lock(&self.state);
        if state.is_closed {
            state.counts.dropped += 1;
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the reporter was shut down"));
        }
        if state.counts.waiting >= self.limits.reports as u64
            || self.limits.bytes.saturating_sub(state.bytes) < size
        {
            state.counts.dropped += 1;
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "the queue of reports is full"));
        }
        if state.blocks.back().is_none_or(|block| block.frames.len() + size > BLOCK) {
            // Without a free block, a new one is allocated.
            let block = state.free.take().unwrap_or_default();
            state.blocks.push_back(block);
            // The thread waits for the first report, and for a full block.
            self.work.notify_one();
        }
        if let Some(block) = state.blocks.back_mut() {
            block.frames.extend_from_slice(&length.to_be_bytes());
            block.frames.extend_from_slice(report);
            block.reports += 1;
        }
        state.bytes += size;
        state.counts.taken += 1;
        state.counts.waiting += 1;
        Ok(())
    }

    /// Waits for the next reports to send. Returns `None` at the end.
    pub(super) fn take(&self) -> Option<FrameBlock> {
        let idle = |state: &mut QueueState| state.blocks.is_empty() && !state.is_closed;
        let state = self.work.wait_while(lock(&self.state), idle);
        let is_filling = |state: &mut QueueState| {
            state.blocks.len() == 1 && state.flushed_to <= state.done && !state.is_closed
        };
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let waited = self.work.wait_timeout_while(state, LINGER, is_filling);
        waited.unwrap_or_else(PoisonError::into_inner).0.blocks.pop_front()
    }

    /// Changes the counts.
    pub(super) fn count(&self, change: impl FnOnce(&mut QueueCounts)) {
        change(&mut lock(&self.state).counts);
    }

    /// Marks reports as done. `change` counts their result.
    pub(super) fn done(&self, reports: u64, bytes: usize, change: impl FnOnce(&mut QueueCounts)) {
        let state = &mut *lock(&self.state);
        // After the end, they were already dropped.
        if !state.has_ended {
            state.finish(reports, bytes);
            change(&mut state.counts);
            self.progress.notify_all();
        }
    }

    /// Reuses the memory of a block when all its reports are done.
    pub(super) fn recycle(&self, mut block: FrameBlock) {
        block.frames.clear();
        block.frames.shrink_to(BLOCK);
        block.reports = 0;
        lock(&self.state).free = Some(block);
    }

    /// Drops all waiting reports, including reports that have left the queue, and notifies waiting callers.
    pub(super) fn end(&self) {
        let state = &mut *lock(&self.state);
        state.is_closed = true;
        state.has_ended = true;
        let waiting = state.counts.waiting;
        state.finish(waiting, state.bytes);
        state.counts.abandoned += waiting;
        state.blocks = VecDeque::new();
        state.free = None;
        self.progress.notify_all();
    }

    /// Waits until all reports accepted before this call are done.
    ///
    /// # Errors
    /// If it takes longer, or if reports were given up since the last such error.
    pub(super) fn flush(&self, timeout: Duration) -> io::Result<()> {
        let mut state = lock(&self.state);
        let target = state.counts.taken;
        state.flushed_to = state.flushed_to.max(target);
        self.work.notify_one();
        let waited = self.progress.wait_timeout_while(state, timeout, |state| state.done < target);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.done < target {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let undelivered = state.counts.undelivered();
        let before = std::mem::replace(&mut state.reported, undelivered);
        Undelivered {
            refused: undelivered.refused - before.refused,
            abandoned: undelivered.abandoned - before.abandoned,
        }
        .check()
    }

    /// Stops accepting reports, and waits until the rest is delivered, or dropped at the deadline.
    pub(super) fn shut_down(&self, deadline: Option<Instant>) {
        let mut state = lock(&self.state);
        // The earliest deadline wins.
        state.deadline = match (state.is_closed, state.deadline) {
            (true, Some(earlier)) => Some(deadline.map_or(earlier, |deadline| deadline.min(earlier))),
            _ => deadline,
        };
        state.is_closed = true;
        self.work.notify_one();
        let Some(deadline) = state.deadline else {
            drop(self.progress.wait_while(state, |state| !state.has_ended));
            return;
        };
        // The system may be looking up a name, which cannot be interrupted.
        let patience = deadline.saturating_duration_since(Instant::now()) + GRACE;
        drop(self.progress.wait_timeout_while(state, patience, |state| !state.has_ended));
        self.end();
    }

    /// Returns `true` when the thread must end, even with waiting reports.
    pub(super) fn is_over(&self) -> bool {
        let state = lock(&self.state);
        state.has_ended
            || state.is_closed && state.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Pauses, only briefly at the end. Returns `false` when the thread must end.
    pub(super) fn pause(&self, pause: Duration) -> bool {
        const LAST: Duration = Duration::from_millis(50);
        let state = lock(&self.state);
        let was_closed = state.is_closed;
        let pause = if was_closed { pause.min(LAST) } else { pause };
        drop(self.work.wait_timeout_while(state, pause, |state| state.is_closed == was_closed));
        !self.is_over()
    }
}

impl QueueState {
    fn finish(&mut self, reports: u64, bytes: usize) {
        self.counts.waiting = self.counts.waiting.saturating_sub(reports);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.done += reports;
    }
}

/// Size of the length field before a report in bytes.
pub(super) const LENGTH: usize = size_of::<u32>();
