//! Events that were read and wait for their turn in time.

/// An event that was read, or a gap: where it lies, and what was found out about it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// When, in ticks.
    pub(crate) timestamp: u64,
    /// The thread that the event is about: its id, or its place in the table of threads.
    pub(crate) thread: u64,
    /// The thread that made the event.
    pub(crate) capture_thread: u64,
    /// Where the payload begins in the file; of a gap, the time of the event before it.
    pub(crate) payload: u64,
    /// How many bytes before the payload the id of the activity is, in the same block; 0 if there is none.
    pub(crate) activity: u32,
    /// The same of the id of the related activity.
    pub(crate) related_activity: u32,
    /// Size of the payload in bytes; of a gap, how many events are missing, 0 if that is not known.
    pub(crate) length: u32,
    /// Index of the kind of event; [`GAP`] or [`UNKNOWN_CLASS`].
    pub(crate) class: u32,
    pub(crate) processor: u32,
    /// Id of the stack; in version 3, its size in bytes: it lies behind the payload.
    pub(crate) stack: u32,
    /// The list of labels.
    pub(crate) labels: u32,
}

/// The class of entries that are gaps.
pub(crate) const GAP: u32 = u32::MAX;

/// The class of events whose metadata is not known.
pub(crate) const UNKNOWN_CLASS: u32 = u32::MAX - 1;

/// Puts events in the order of time.
///
/// Files have runs of events of one thread each. A sorted event says that no event behind it is earlier, so all that
/// are earlier than it can go. Events of the same time stay in the order of the file. The promise is not always kept:
/// an event that is too late comes as soon as it is there.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Those that wait, in the order of the file, but for those that have been sorted before.
    waiting: Vec<Entry>,
    /// Whether they are in the order of time.
    is_ascending: bool,
    /// Those that can go, and how many of them have gone.
    ready: Vec<Entry>,
    gone: usize,
    /// No event behind is earlier than this.
    bound: u64,
    /// The earliest of those that wait, or an earlier time.
    earliest: u64,
    /// How many wait until it is looked for those that can go.
    look_at: usize,
    /// Those that wait by time, and by place among them.
    order: Vec<(u64, u32)>,
}

/// As many as this wait before it is worth the while to sort.
const FEW: usize = 1 << 10;

/// More than this do not wait, whatever the file promises: with what is sorted meanwhile, they take some 11 MB for each
/// cursor, of which several threads have more than one each. Recorded files have 25,000 at most.
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
    /// Adds an event; true if it should be [looked](Self::release) for those that can go.
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

    /// The next one that can go.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Entry> {
        let entry = *self.ready.get(self.gone)?;
        self.gone += 1;
        Some(entry)
    }

    /// Those that can go and have not gone.
    pub(crate) fn ready(&self) -> &[Entry] {
        self.ready.get(self.gone..).unwrap_or_default()
    }

    /// Notes that this many more of them have gone.
    pub(crate) fn skip(&mut self, count: usize) {
        self.gone += count;
    }

    /// Gives back memory that is not in use.
    pub(crate) fn suspend(&mut self) {
        self.ready.drain(..self.gone.min(self.ready.len()));
        self.gone = 0;
        self.ready.shrink_to_fit();
        self.waiting.shrink_to_fit();
        self.order = Vec::new();
    }

    /// Whether none waits or can go.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.gone >= self.ready.len()
    }

    /// Lets those go that are earlier than all that can come; `all`: all of them. Those before have gone.
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
        // What waits is not looked at again and again.
        self.look_at = (2 * self.waiting.len()).clamp(FEW, MOST).max(self.waiting.len() + FEW);
    }

    /// How many can go, if this many are early enough.
    fn count_to_release(&self, early: usize, all: bool) -> usize {
        let waiting = self.waiting.len();
        if all {
            waiting
        } else if waiting - early >= MOST - MOST / 8 {
            // The file promises too little for too long. If nearly as many went on waiting, they would be sorted again
            // for every few that come.
            early.max(waiting / 2)
        } else {
            early
        }
    }

    /// The same where those that wait have to be sorted by time; stable. There are few runs, and they are found.
    fn release_unsorted(&mut self, all: bool) {
        let Self { waiting, order, bound, .. } = self;
        order.clear();
        order.extend(waiting.iter().zip(0..).map(|(entry, index)| (entry.timestamp, index)));
        order.sort_by_key(|(timestamp, _)| *timestamp);
        let early = order.partition_point(|(timestamp, _)| *timestamp < *bound);
        let count = self.count_to_release(early, all);
        let Self { waiting, ready, order, .. } = self;
        // All of them are there; as many as are expected are written without a look at the room left.
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
        // Too late: it comes as soon as it can.
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

    /// Marks that let one event go each do not make the others wait for ever.
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
