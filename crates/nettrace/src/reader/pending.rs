//! Events that wait to be delivered, sorted by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Event or gap: its place in the file, and its properties outside of the payload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingEvent {
    /// Time in ticks.
    pub(crate) timestamp: u64,
    /// Thread that the event is about: its id, or its place in the thread table.
    pub(crate) thread: u64,
    /// Thread that emitted the event.
    pub(crate) capture_thread: u64,
    /// Start of the payload in the file. For a gap, the time of the previous event.
    pub(crate) payload: u64,
    /// Number of bytes from the activity id, in the same block, to the payload. 0 without an activity.
    pub(crate) activity: u32,
    /// Number of bytes from the related activity's id to the payload.
    pub(crate) related_activity: u32,
    /// Payload size in bytes. For a gap, the number of missing events, or 0 if unknown.
    pub(crate) length: u32,
    /// Index of the event kind, [`GAP`] or [`UNKNOWN_CLASS`].
    pub(crate) class: u32,
    pub(crate) processor: u32,
    /// Stack id. In version 3, the size of the stack after the payload, in bytes.
    pub(crate) stack: u32,
    /// Label list id.
    pub(crate) labels: u32,
}

/// Class for gaps.
pub(crate) const GAP: u32 = u32::MAX;

/// Class for events with unknown metadata.
pub(crate) const UNKNOWN_CLASS: u32 = u32::MAX - 1;

impl PendingEvent {
    /// Returns the file offset of the first byte that the event refers to. `None` for a gap.
    fn first_byte(&self) -> Option<u64> {
        let before = self.activity.max(self.related_activity);
        (self.class != GAP).then(|| self.payload.saturating_sub(before.into()))
    }
}

/// Sorts events by time.
///
/// A file consists of runs. Each has events of one thread, sorted by time. A sorted event promises that all later
/// events in the file have the same or a later time, so all earlier events can be released. Events with equal times
/// stay in file order. Some files break the promise: then a late event is delivered at once.
///
/// Entries do not move while they wait. Runs that continue each other form chains, about one chain per thread. The
/// chains are merged while events are delivered.
#[derive(Debug)]
pub(crate) struct EventSorter {
    /// Entries in file order. Some of them may be delivered already.
    entries: Vec<PendingEvent>,
    /// Undelivered entries, as ascending runs in file order.
    runs: Vec<EntryRun>,
    /// First entry of each chain except the current chain.
    heads: BinaryHeap<Reverse<ChainHead>>,
    /// Last time and last run of the newest chains.
    tails: Vec<(u64, usize)>,
    /// Run of the next entry.
    run: usize,
    /// Index of the next entry.
    at: usize,
    /// End of the entries in the run that can be delivered without comparing chains.
    until: usize,
    /// Number of released entries.
    ready: usize,
    /// Number of delivered entries that are still in `entries`.
    gone: usize,
    /// All following events in the file have this time or a later time.
    bound: u64,
    /// Lower bound for the time of each waiting entry.
    earliest: u64,
    /// Number of waiting entries from which on [`EventSorter::push`] requests a release.
    look_at: usize,
}

/// Entries sorted by time.
#[derive(Clone, Debug)]
struct EntryRun {
    /// Indexes of the undelivered entries.
    begin: usize,
    end: usize,
    /// Next run in the chain.
    next: Option<usize>,
}

/// First entry of a chain: time, index, run.
type ChainHead = (u64, usize, usize);

/// Index for a missing run.
const NO_RUN: usize = usize::MAX;

/// Number of waiting entries below which a release does not pay.
const FEW: usize = 1 << 10;

/// Maximum number of waiting entries, even if the file promises less. With delivered entries, they take up to 8 MB per
/// cursor. Each thread may have several cursors. In recorded files, up to 25,000 entries wait.
pub(crate) const MOST: usize = 60_000;

/// Number of chains that a run is compared with. Limits the search in a file whose times go back all the time.
const TAILS: usize = 32;

/// Number of entries that are compared ahead.
const AHEAD: usize = 32;

impl Default for EventSorter {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            runs: Vec::new(),
            heads: BinaryHeap::new(),
            tails: Vec::new(),
            run: NO_RUN,
            at: 0,
            until: 0,
            ready: 0,
            gone: 0,
            bound: 0,
            earliest: u64::MAX,
            look_at: FEW,
        }
    }
}

impl EventSorter {
    /// Adds an entry. Returns `true` if entries should be [released](Self::release).
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: PendingEvent, is_sorted: bool) -> bool {
        let index = self.entries.len();
        let continues = self.entries.last().is_some_and(|last| last.timestamp <= entry.timestamp);
        match self.runs.last_mut() {
            Some(run) if continues && run.end == index => run.end += 1,
            _ => self.runs.push(EntryRun { begin: index, end: index + 1, next: None }),
        }
        self.entries.push(entry);
        self.earliest = self.earliest.min(entry.timestamp);
        if is_sorted && entry.timestamp > self.bound {
            self.bound = entry.timestamp;
        }
        let waiting = self.entries.len() - self.gone;
        waiting >= self.look_at && (self.earliest < self.bound || waiting >= MOST)
    }

    /// Returns and removes the next released entry.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<PendingEvent> {
        let entry = *self.peek()?;
        self.skip();
        Some(entry)
    }

    /// Returns the next released entry.
    #[inline(always)]
    pub(crate) fn peek(&mut self) -> Option<&PendingEvent> {
        if self.ready == 0 {
            self.compact();
            return None;
        }
        if self.at == self.until {
            self.choose_run();
        }
        self.entries.get(self.at)
    }

    /// Removes the entry that [`EventSorter::peek`] has returned.
    #[inline(always)]
    pub(crate) fn skip(&mut self) {
        self.at += 1;
        self.gone += 1;
        self.ready -= 1;
    }

    /// Returns `true` if released entries remain.
    pub(crate) fn has_ready(&self) -> bool {
        self.ready > 0
    }

    /// Returns `true` without any entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.len() == self.gone
    }

    /// Returns the time in ticks from which on all later events of the file are, or 0 if unknown.
    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// Returns the file offset of the first byte that waiting entries refer to. All released entries must be delivered.
    pub(crate) fn first_byte(&mut self) -> Option<u64> {
        self.compact();
        self.entries.iter().filter_map(PendingEvent::first_byte).min()
    }

    /// Moves all entries to the front of the file by this number of bytes. All released entries must be delivered.
    pub(crate) fn move_to_front(&mut self, bytes: u64) {
        self.compact();
        let entries = self.entries.iter_mut().filter(|entry| entry.class != GAP);
        entries.for_each(|entry| entry.payload = entry.payload.saturating_sub(bytes));
    }

    /// Frees unused memory.
    pub(crate) fn suspend(&mut self) {
        self.compact();
        self.chain_runs();
        self.entries.shrink_to_fit();
        self.runs.shrink_to_fit();
        self.heads.shrink_to_fit();
    }

    /// Releases the entries that are earlier than all following events. With `all`, releases all entries. Earlier
    /// releases must be delivered.
    pub(crate) fn release(&mut self, all: bool) {
        self.compact();
        let Self { entries, runs, bound, .. } = self;
        let (mut early, mut earliest) = (0, u64::MAX);
        for run in &*runs {
            // Runs are ranges of the entries.
            let entries = entries.get(run.begin..run.end).unwrap_or_default();
            let count = entries.partition_point(|entry| entry.timestamp < *bound);
            early += count;
            earliest = entries.get(count).map_or(earliest, |entry| earliest.min(entry.timestamp));
        }
        self.ready = self.count_to_release(early, all);
        if all {
            self.bound = 0;
            earliest = u64::MAX;
        }
        self.earliest = earliest;
        self.chain_runs();
        let left = self.entries.len() - self.ready;
        // Do not compare the waiting entries again and again.
        self.look_at = (2 * left).clamp(FEW, MOST).max(left + FEW);
    }

    /// Returns the number of entries to release if this many are early enough.
    fn count_to_release(&self, early: usize, all: bool) -> usize {
        let waiting = self.entries.len();
        if all {
            waiting
        } else if waiting - early >= MOST - MOST / 8 {
            // The file promises too little for too long. If nearly as many entries kept waiting, they would be compared
            // again for every few new entries.
            early.max(waiting / 2)
        } else {
            early
        }
    }

    /// Removes delivered entries.
    fn compact(&mut self) {
        if self.gone == 0 {
            return;
        }
        if let Some(run) = self.runs.get_mut(self.run) {
            run.begin = self.at;
        }
        let Self { entries, runs, .. } = self;
        let mut kept = 0;
        runs.retain_mut(|run| {
            let count = run.end - run.begin;
            entries.copy_within(run.begin..run.end, kept);
            (run.begin, run.end) = (kept, kept + count);
            kept += count;
            count > 0
        });
        entries.truncate(kept);
        self.gone = 0;
        (self.run, self.at, self.until) = (NO_RUN, 0, 0);
    }

    /// Chains runs that continue each other. Must be called before entries are delivered.
    fn chain_runs(&mut self) {
        let Self { entries, runs, heads, tails, .. } = self;
        heads.clear();
        tails.clear();
        let time = |index: usize| entries.get(index).map_or(0, |entry| entry.timestamp);
        let mut oldest = 0;
        for index in 0..runs.len() {
            let Some(run) = runs.get_mut(index) else { break };
            run.next = None;
            let (begin, first, last) = (run.begin, time(run.begin), time(run.end - 1));
            let before = tails.iter_mut().filter(|(time, _)| *time <= first).max_by_key(|(time, _)| *time);
            if let Some(tail) = before {
                let (_, before) = std::mem::replace(tail, (last, index));
                if let Some(before) = runs.get_mut(before) {
                    before.next = Some(index);
                }
                continue;
            }
            heads.push(Reverse((first, begin, index)));
            if tails.len() < TAILS {
                tails.push((last, index));
            } else if let Some(tail) = tails.get_mut(oldest % TAILS) {
                *tail = (last, index);
                oldest += 1;
            }
        }
        (self.run, self.at, self.until) = (NO_RUN, 0, 0);
    }

    /// Chooses the chain of the next entry, and finds how far the chain can be read before another chain has an earlier
    /// entry.
    #[inline(never)]
    fn choose_run(&mut self) {
        let Self { entries, runs, heads, run, at, .. } = self;
        let time = |index: usize| entries.get(index).map_or(u64::MAX, |entry| entry.timestamp);
        let rest = runs.get_mut(*run).and_then(|current| {
            current.begin = *at;
            if *at < current.end { Some((*run, *at)) } else { current.next.map(|next| (next, usize::MAX)) }
        });
        let rest = rest.and_then(|(run, at)| {
            let begin = runs.get(run)?.begin;
            let at = at.min(begin);
            Some((time(at), at, run))
        });
        let chosen = match (rest, heads.peek_mut()) {
            (Some(rest), Some(mut first)) if first.0 < rest => std::mem::replace(&mut first.0, rest),
            (Some(rest), _) => rest,
            (None, Some(first)) => PeekMut::pop(first).0,
            (None, None) => (0, entries.len(), NO_RUN),
        };
        (_, *at, *run) = chosen;
        let limit = heads.peek().map_or((u64::MAX, usize::MAX), |Reverse((time, at, _))| (*time, *at));
        let end = runs.get(*run).map_or(*at, |run| run.end).min(*at + AHEAD);
        self.until = *at + 1;
        while self.until < end && (time(self.until), self.until) < limit {
            self.until += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(timestamp: u64, thread: u64) -> PendingEvent {
        PendingEvent { timestamp, thread, ..PendingEvent::default() }
    }

    fn drain(pending: &mut EventSorter) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| pending.next().map(|entry| (entry.timestamp, entry.thread))).collect()
    }

    #[test]
    fn runs_of_threads_are_merged_up_to_what_was_promised() {
        let mut pending = EventSorter::default();
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
        // A late entry is delivered as soon as possible.
        pending.push(entry(3, 3), false);
        pending.release(false);
        assert_eq!(drain(&mut pending), [(3, 3)]);
        pending.release(true);
        assert_eq!(drain(&mut pending), [(6, 2), (7, 1), (9, 1)]);
        assert!(pending.is_empty());
    }

    /// A stable sort of all waiting entries gives the same order.
    #[test]
    fn entries_go_as_if_they_were_sorted() {
        let mut random = 1u64;
        let mut next = move |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        for round in 0..200 {
            let (mut pending, mut sorted) = (EventSorter::default(), Vec::new());
            let (threads, spread) = (1 + next(60), 1 + next(100));
            let mut times = vec![0u64; threads as usize];
            let (mut bound, mut number) = (0, 0);
            for _ in 0..next(60) {
                let thread = next(threads) as usize;
                for _ in 0..next(40) {
                    times[thread] = (times[thread] + next(spread)).saturating_sub(next(spread) / 4);
                    let is_sorted = next(50) == 0;
                    pending.push(entry(times[thread], number), is_sorted);
                    sorted.push((times[thread], number));
                    bound = bound.max(if is_sorted { times[thread] } else { 0 });
                    number += 1;
                }
                let all = next(8) == 0;
                pending.release(all);
                if next(4) == 0 {
                    pending.next().into_iter().for_each(|entry| {
                        sorted.sort_by_key(|(time, _)| *time);
                        assert_eq!((entry.timestamp, entry.thread), sorted.remove(0));
                    });
                    pending.suspend();
                }
                sorted.sort_by_key(|(time, _)| *time);
                let count = sorted.iter().filter(|(time, _)| all || *time < bound).count();
                let expected: Vec<_> = sorted.drain(..count).collect();
                assert_eq!(drain(&mut pending), expected, "round {round}");
                assert_eq!(pending.is_empty(), sorted.is_empty());
                bound = if all { 0 } else { bound };
            }
        }
    }

    #[test]
    fn not_too_many_wait() {
        let mut pending = EventSorter::default();
        let mut most = 0;
        for time in 0..2_000_000 {
            if pending.push(entry(time, 0), false) {
                pending.release(false);
                drain(&mut pending);
            }
            most = most.max(pending.entries.len() - pending.gone);
        }
        assert!(most <= MOST + FEW, "{most}");
    }

    /// If each mark releases only one event, the others must not wait forever.
    #[test]
    fn not_too_many_wait_for_promises_that_are_too_small() {
        let mut pending = EventSorter::default();
        let (mut most, mut gone) = (0, 0);
        for time in 0..2_000_000u64 {
            let is_mark = time % 512 == 0;
            let time = if is_mark { time } else { 1 << 40 | time };
            if pending.push(entry(time, 0), is_mark) {
                pending.release(false);
                gone += drain(&mut pending).len();
            }
            most = most.max(pending.entries.len() - pending.gone);
        }
        pending.release(true);
        assert_eq!(gone + drain(&mut pending).len(), 2_000_000);
        assert!(most <= MOST + FEW, "{most}");
    }
}
