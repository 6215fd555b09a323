//! Events that were read and wait to be delivered in the order of time.

/// An event or a gap that was read: its positions and properties.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// Time in ticks.
    pub(crate) timestamp: u64,
    /// Thread that the event is about: its id, or its place in the table of threads.
    pub(crate) thread: u64,
    /// Thread that made the event.
    pub(crate) capture_thread: u64,
    /// File offset of the payload; for a gap, the time of the event before it.
    pub(crate) payload: u64,
    /// Distance in bytes from the activity id to the payload, in the same block; 0 without an activity.
    pub(crate) activity: u32,
    /// Distance of the related activity's id.
    pub(crate) related_activity: u32,
    /// Size of the payload in bytes; for a gap, the number of missing events, or 0 if unknown.
    pub(crate) length: u32,
    /// Index of the kind of event, [`GAP`] or [`UNKNOWN_CLASS`].
    pub(crate) class: u32,
    pub(crate) processor: u32,
    /// Id of the stack; in version 3, its size in bytes: it follows the payload.
    pub(crate) stack: u32,
    /// Label list.
    pub(crate) labels: u32,
}

/// Class of entries that are gaps.
pub(crate) const GAP: u32 = u32::MAX;

/// Class of events with unknown metadata.
pub(crate) const UNKNOWN_CLASS: u32 = u32::MAX - 1;

/// Sorts events by time.
///
/// Files have runs of events of one thread each. A sorted event promises that no later event in the file is
/// earlier in time, so that all earlier ones are ready. Events of the same time stay in file order. The promise
/// is not always kept: an event that is too late is delivered as soon as possible.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Waiting events in file order, except those that have been sorted before.
    waiting: Vec<Entry>,
    /// `true` if they are in the order of time.
    is_ascending: bool,
    /// Ready events, and the number of those delivered.
    ready: Vec<Entry>,
    gone: usize,
    /// Lower bound of the times of all further events.
    bound: u64,
    /// Lower bound of the times of waiting events.
    earliest: u64,
    /// Number of waiting events at which to look for ready ones.
    look_at: usize,
    /// Waiting events by time, then by position.
    order: Vec<(u64, u32)>,
}

/// Minimum number of waiting events that are worth sorting.
const FEW: usize = 1 << 10;

/// Maximum number of waiting events, whatever the file promises: with the sorted ones, they take some 11 MB for
/// each cursor, of which each thread may have several. Recorded files have at most 25,000.
pub(crate) const MOST: usize = 60_000;

impl Default for Pending {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            is_ascending: true,
            ready: Vec::new(),
            gone: 0,
            bound: 0,
            earliest: u64::MAX,
            look_at: FEW,
            order: Vec::new(),
        }
    }
}

impl Pending {
    /// Adds an event; returns `true` if ready events should be [released](Self::release).
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: Entry, is_sorted: bool) -> bool {
        if let Some(last) = self.waiting.last() {
            self.is_ascending &= last.timestamp <= entry.timestamp;
        }
        self.waiting.push(entry);
        self.earliest = self.earliest.min(entry.timestamp);
        if is_sorted && entry.timestamp > self.bound {
            self.bound = entry.timestamp;
        }
        let waiting = self.waiting.len();
        waiting >= self.look_at && (self.earliest < self.bound || waiting >= MOST)
    }

    /// Returns the next ready event.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Entry> {
        let entry = *self.ready.get(self.gone)?;
        self.gone += 1;
        Some(entry)
    }

    /// Returns the ready events that were not delivered.
    pub(crate) fn ready(&self) -> &[Entry] {
        self.ready.get(self.gone..).unwrap_or_default()
    }

    /// Marks this many more of them as delivered.
    pub(crate) fn skip(&mut self, count: usize) {
        self.gone += count;
    }

    /// Frees unused memory.
    pub(crate) fn suspend(&mut self) {
        self.ready.drain(..self.gone.min(self.ready.len()));
        self.gone = 0;
        self.ready.shrink_to_fit();
        self.waiting.shrink_to_fit();
        self.order = Vec::new();
    }

    /// Returns `true` if no event is waiting or ready.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.gone >= self.ready.len()
    }

    /// Makes events ready that are earlier than all further ones, or all of them; previous ready ones were
    /// delivered.
    pub(crate) fn release(&mut self, all: bool) {
        self.ready.clear();
        self.gone = 0;
        if self.is_ascending {
            let bound = self.bound;
            let early = self.waiting.partition_point(|entry| entry.timestamp < bound);
            let count = self.count_to_release(early, all);
            if count == self.waiting.len() {
                std::mem::swap(&mut self.ready, &mut self.waiting);
            } else {
                self.ready.extend(self.waiting.drain(..count));
            }
        } else {
            self.release_unsorted(all);
        }
        if all {
            self.bound = 0;
        }
        // They are in the order of time now.
        self.earliest = self.waiting.first().map_or(u64::MAX, |entry| entry.timestamp);
        // Do not look at waiting events too often.
        self.look_at = (2 * self.waiting.len()).clamp(FEW, MOST).max(self.waiting.len() + FEW);
    }

    /// Number of events to make ready, given the number of early ones.
    fn count_to_release(&self, early: usize, all: bool) -> usize {
        let waiting = self.waiting.len();
        if all {
            waiting
        } else if waiting - early >= MOST - MOST / 8 {
            // The file promises too little for too long. If nearly as many remained waiting, they would be sorted
            // again for every few new ones.
            early.max(waiting / 2)
        } else {
            early
        }
    }

    /// Like [`Pending::release`], if waiting events have to be sorted by time; stable. The sort detects the few
    /// runs.
    fn release_unsorted(&mut self, all: bool) {
        let Self { waiting, order, bound, .. } = self;
        order.clear();
        order.extend(waiting.iter().zip(0..).map(|(entry, index)| (entry.timestamp, index)));
        order.sort_by_key(|(timestamp, _)| *timestamp);
        let early = order.partition_point(|(timestamp, _)| *timestamp < *bound);
        let count = self.count_to_release(early, all);
        let Self { waiting, ready, order, .. } = self;
        // All indexes are valid; with a known length, there is no check for free space.
        let nothing = Entry::default();
        ready.extend(order.iter().map(|(_, index)| *waiting.get(*index as usize).unwrap_or(&nothing)));
        waiting.clear();
        waiting.extend(ready.drain(count.min(ready.len())..));
        self.is_ascending = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(timestamp: u64, thread: u64) -> Entry {
        Entry { timestamp, thread, ..Entry::default() }
    }

    fn drain(pending: &mut Pending) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| pending.next().map(|entry| (entry.timestamp, entry.thread))).collect()
    }

    #[test]
    fn runs_of_threads_are_merged_up_to_what_was_promised() {
        let mut pending = Pending::default();
        for (time, thread, is_sorted) in [
            (1, 1, true),
            (5, 1, false),
            (9, 1, false),
            (2, 2, false),
            (5, 2, false),
            (6, 2, true),
            (7, 1, false),
        ] {
            pending.push(entry(time, thread), is_sorted);
        }
        pending.release(false);
        assert_eq!(drain(&mut pending), [(1, 1), (2, 2), (5, 1), (5, 2)]);
        // Too late: it is delivered as soon as possible.
        pending.push(entry(3, 3), false);
        pending.release(false);
        assert_eq!(drain(&mut pending), [(3, 3)]);
        pending.release(true);
        assert_eq!(drain(&mut pending), [(6, 2), (7, 1), (9, 1)]);
        assert!(pending.is_empty());
    }

    #[test]
    fn not_too_many_wait() {
        let mut pending = Pending::default();
        let mut most = 0;
        for time in 0..2_000_000 {
            if pending.push(entry(time, 0), false) {
                pending.release(false);
                drain(&mut pending);
            }
            most = most.max(pending.waiting.len());
        }
        assert!(most <= MOST + FEW, "{most}");
    }

    /// If each mark releases only one event, the others must not wait for ever.
    #[test]
    fn not_too_many_wait_for_promises_that_are_too_small() {
        let mut pending = Pending::default();
        let (mut most, mut gone) = (0, 0);
        for time in 0..2_000_000u64 {
            let is_mark = time % 512 == 0;
            let time = if is_mark { time } else { 1 << 40 | time };
            if pending.push(entry(time, 0), is_mark) {
                pending.release(false);
                gone += drain(&mut pending).len();
            }
            most = most.max(pending.waiting.len());
        }
        pending.release(true);
        assert_eq!(gone + drain(&mut pending).len(), 2_000_000);
        assert!(most <= MOST + FEW, "{most}");
    }
}
