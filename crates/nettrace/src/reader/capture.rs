//! Event counts per thread. They reveal missing events.

use std::collections::HashMap;

use ichnos_model::key_hash::KeyState;

/// Threads that emit events, and their event counts.
#[derive(Debug, Default)]
pub(crate) struct CaptureThreads {
    threads: HashMap<u64, ThreadCount, KeyState>,
    /// The previous event's thread. It is temporarily not in the list.
    current: Option<(u64, ThreadCount)>,
    /// `true` if a thread outside of the list has certainly not emitted events yet.
    is_complete: bool,
}

/// A thread's event count.
#[derive(Clone, Copy, Debug)]
struct ThreadCount {
    /// Sequence number of its last event.
    sequence: u32,
    /// Time of that event in ticks. 0 if the event was not seen.
    timestamp: u64,
}

/// Missing events in a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventGap {
    /// Number of events, greater than 0. `None` if unknown.
    pub(crate) count: Option<u32>,
    /// Time of the previous event in ticks. 0 without a previous event.
    pub(crate) after: u64,
}

/// Maximum number of threads counted at a time. Recorded traces have thousands. Losses in additional threads are not
/// detected.
const MOST_THREADS: usize = 1 << 18;

impl CaptureThreads {
    /// Starts without threads. `is_complete` means that the file is read from its start.
    pub(crate) fn new(is_complete: bool) -> Self {
        Self { is_complete, ..Self::default() }
    }

    /// Counts an event. Returns the gap before it.
    #[inline(always)]
    pub(crate) fn record(
        &mut self,
        thread: u64,
        sequence: u32,
        timestamp: u64,
        are_ids_recycled: bool,
    ) -> Option<EventGap> {
        match &mut self.current {
            Some((current, counted))
                if *current == thread && counted.sequence.wrapping_add(1) == sequence =>
            {
                *counted = ThreadCount { sequence, timestamp };
                None
            }
            _ => self.record_other(thread, sequence, timestamp, are_ids_recycled),
        }
    }

    #[inline(never)]
    fn record_other(
        &mut self,
        thread: u64,
        sequence: u32,
        timestamp: u64,
        are_ids_recycled: bool,
    ) -> Option<EventGap> {
        if let Some((before, counted)) = self.current.take() {
            self.insert(before, counted);
        }
        let known = self.insert(thread, ThreadCount { sequence, timestamp });
        self.current = Some((thread, ThreadCount { sequence, timestamp }));
        let (last, after) = match known {
            Some(counted) => (counted.sequence, counted.timestamp),
            // Sequence numbers start at 1, so the thread has emitted events before this one. The reference reader
            // starts counting at the first event. To agree with its totals, this loss has no number. 0, or a number in
            // the upper half, belongs to a counter that wraps around.
            None if self.is_complete && (2..1 << 31).contains(&sequence) => {
                return Some(EventGap { count: None, after: 0 });
            }
            None => return None,
        };
        let count = sequence.wrapping_sub(last).wrapping_sub(1);
        if count < 1 << 31 {
            return (count > 0).then_some(EventGap { count: Some(count), after });
        }
        // Sequence numbers start again at 1 if the id was reused for another thread. Otherwise an event was repeated.
        let count = if are_ids_recycled { sequence.wrapping_sub(1) } else { 0 };
        (count > 0 && count < 1 << 31).then_some(EventGap { count: Some(count), after: 0 })
    }

    /// Records the minimum sequence number of a thread at a time in ticks. Returns the gap.
    pub(crate) fn record_bound(&mut self, thread: u64, sequence: u32, time: u64) -> Option<EventGap> {
        self.settle();
        let (last, after) = match self.threads.get(&thread) {
            Some(counted) => (counted.sequence, counted.timestamp),
            None if self.is_complete => (0, 0),
            None => (sequence, 0),
        };
        let count = sequence.wrapping_sub(last);
        let is_behind = count < 1 << 31;
        let sequence = if is_behind { sequence } else { last };
        self.insert(thread, ThreadCount { sequence, timestamp: time });
        (is_behind && count > 0).then_some(EventGap { count: Some(count), after })
    }

    /// Returns the sequence number of a known thread.
    pub(crate) fn sequence(&self, thread: u64) -> Option<u32> {
        let current = self.current.filter(|(current, _)| *current == thread).map(|(_, counted)| counted);
        current.or_else(|| self.threads.get(&thread).copied()).map(|counted| counted.sequence)
    }

    /// Returns the known threads in any order.
    pub(crate) fn threads(&mut self) -> impl Iterator<Item = u64> {
        self.settle();
        self.threads.keys().copied()
    }

    /// Returns `true` if all threads are known.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Keeps only these threads, because the others have ended. From here on, all threads are known.
    pub(crate) fn retain(&mut self, threads: impl Iterator<Item = u64>) {
        self.settle();
        let kept = threads.filter_map(|thread| Some((thread, *self.threads.get(&thread)?)));
        self.threads = kept.collect();
        self.is_complete = true;
    }

    /// Treats all threads as known from here on.
    pub(crate) fn assume_complete(&mut self) {
        self.is_complete = true;
    }

    /// Removes an ended thread.
    pub(crate) fn remove(&mut self, thread: u64) {
        self.settle();
        self.threads.remove(&thread);
    }

    /// Forgets all counts, because events were skipped.
    pub(crate) fn forget(&mut self) {
        self.current = None;
        self.threads.clear();
        self.is_complete = false;
    }

    /// Returns a state hash, for comparing two readers.
    pub(crate) fn fingerprint(&self) -> u64 {
        let current = self.current.iter().map(|(id, counted)| (*id, *counted));
        let others = self.threads.iter().map(|(id, counted)| (*id, *counted));
        let others = others.filter(|(id, _)| self.current.is_none_or(|(current, _)| current != *id));
        let hash = |(id, counted): (u64, ThreadCount)| {
            let mixed = (id ^ u64::from(counted.sequence) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ counted.timestamp).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 29
        };
        current.chain(others).map(hash).fold(u64::from(self.is_complete), u64::wrapping_add)
    }

    fn settle(&mut self) {
        if let Some((thread, counted)) = self.current.take() {
            self.insert(thread, counted);
        }
    }

    fn insert(&mut self, thread: u64, counted: ThreadCount) -> Option<ThreadCount> {
        if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&thread) {
            self.is_complete = false;
            return None;
        }
        self.threads.insert(thread, counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_threads_that_begin_again() {
        let mut threads = CaptureThreads::new(true);
        assert_eq!(threads.record(7, 1, 10, true), None);
        assert_eq!(threads.record(7, 2, 11, true), None);
        assert_eq!(threads.record(8, 3, 12, true), Some(EventGap { count: None, after: 0 }));
        assert_eq!(threads.record(7, 6, 13, true), Some(EventGap { count: Some(3), after: 11 }));
        assert_eq!(threads.record(7, 1, 14, true), None);
        assert_eq!(threads.record(7, 2, 15, true), None);
        assert_eq!(threads.record_bound(7, 5, 16), Some(EventGap { count: Some(3), after: 15 }));
        assert_eq!(threads.record_bound(8, 3, 16), None);
        assert_eq!(threads.record_bound(9, 4, 16), Some(EventGap { count: Some(4), after: 0 }));
        threads.retain([7, 8].into_iter());
        assert_eq!(threads.record(9, 1, 20, true), None);
        assert_eq!(threads.record(7, 6, 20, true), None);
    }

    #[test]
    fn numbers_begin_again_at_zero_after_the_greatest() {
        let mut threads = CaptureThreads::new(false);
        assert_eq!(threads.record(7, u32::MAX - 1, 10, true), None);
        assert_eq!(threads.record(7, 0, 10, true), Some(EventGap { count: Some(1), after: 10 }));
    }

    /// The same in a file that is read from its start, with other threads.
    #[test]
    fn a_count_that_wraps_around_is_no_loss() {
        let mut threads = CaptureThreads::new(true);
        for (thread, sequence) in [(8, 1), (7, u32::MAX - 1), (8, 2), (7, u32::MAX), (8, 3), (7, 0), (7, 1)] {
            assert_eq!(threads.record(thread, sequence, 10, true), None, "{sequence}");
        }
        assert_eq!(threads.record(9, 0, 10, true), None);
        assert_eq!(threads.record_bound(6, u32::MAX, 10), None);
        assert_eq!(threads.record(6, 0, 11, true), None);
        assert_eq!(threads.record_bound(6, 0, 12), None);
        assert_eq!(threads.record(6, 1, 13, true), None);
        // A later gap is reported as usual.
        assert_eq!(threads.record(7, 4, 20, true), Some(EventGap { count: Some(2), after: 10 }));
    }
}
