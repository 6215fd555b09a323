//! Thread waits and their wakeups, in bounded memory.

use std::cmp::Reverse;
use std::collections::HashMap;

use ichnos_analysis::events::ThreadWaker;

/// Maximum number of waits. With more, shorter waits are forgotten.
const MOST: usize = 1 << 18;

/// Initial minimum length when there are too many waits, in nanoseconds, and the factor by which it grows.
const FIRST: u64 = 1 << 10;
const FACTOR: u64 = 4;

/// Wait of a thread.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownWait {
    pub(super) begin: u64,
    pub(super) end: u64,
    /// Name number of the span in which the thread waits.
    pub(super) reason: Option<u32>,
    pub(super) waker: Option<ThreadWaker>,
    pub(super) names: WaitNames,
}

/// Name numbers of a waiting thread, and of the thread that woke it up, at the end of the wait.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitNames {
    pub(super) thread: Option<u32>,
    pub(super) waker: Option<u32>,
}

/// Waits by state track.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Default)]
pub(super) struct WaitTable {
    /// Waits of each track, sorted by end.
    tracks: HashMap<u32, Vec<KnownWait>>,
    number: usize,
    /// Minimum length of the waits that are kept.
    least: u64,
}

impl WaitTable {
    pub(super) fn add(&mut self, track: u32, wait: KnownWait) {
        if wait.end - wait.begin < self.least {
            return;
        }
        self.tracks.entry(track).or_default().push(wait);
        self.number += 1;
        while self.number > MOST {
            self.least = (self.least * FACTOR).max(FIRST);
            self.number = 0;
            self.tracks.retain(|_, waits| {
                waits.retain(|wait| wait.end - wait.begin >= self.least);
                self.number += waits.len();
                !waits.is_empty()
            });
        }
    }

    /// Returns the longest waits that touch a range with their tracks, longest first.
    pub(super) fn longest(&self, begin: u64, end: u64, most: usize) -> Vec<(u32, KnownWait)> {
        let all = self.tracks.iter().flat_map(|(track, waits)| waits.iter().map(move |wait| (*track, *wait)));
        let key = |(track, wait): &(u32, KnownWait)| (Reverse(wait.end - wait.begin), wait.begin, *track);
        let mut found: Vec<_> = all.filter(|(_, wait)| wait.end >= begin && wait.begin <= end).collect();
        if found.len() > most {
            found.select_nth_unstable_by_key(most, key);
            found.truncate(most);
        }
        found.sort_by_key(key);
        found
    }

    /// Returns the first waits that `waker` ended in a range, sorted by end, with their tracks. Only selected tracks
    /// count.
    pub(super) fn ended_by(
        &self,
        waker: ThreadWaker,
        (begin, end): (u64, u64),
        is_wanted: impl Fn(u32) -> bool,
        most: usize,
    ) -> Vec<(u32, u64)> {
        let mut found = Vec::new();
        for (track, waits) in self.tracks.iter().filter(|(track, _)| is_wanted(**track)) {
            let first = waits.partition_point(|wait| wait.end < begin);
            let waits = waits.iter().skip(first).take_while(|wait| wait.end <= end);
            found.extend(waits.filter(|wait| wait.waker == Some(waker)).map(|wait| (wait.end, *track)));
        }
        found.sort_unstable();
        found.truncate(most);
        found.into_iter().map(|(end, track)| (track, end)).collect()
    }

    /// Returns the wait of a track that ends at a time.
    pub(super) fn find(&self, track: u32, end: u64) -> Option<KnownWait> {
        let waits = self.tracks.get(&track)?;
        let wait = waits.get(waits.binary_search_by_key(&end, |wait| wait.end).ok()?)?;
        Some(*wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_ends_waits_of_others() {
        let mut table = WaitTable::default();
        for (track, end, waker) in [(3, 10, 7), (3, 20, 8), (3, 30, 7), (4, 15, 7), (4, 40, 7)] {
            let waker = Some(ThreadWaker::Thread(waker));
            table.add(
                track,
                KnownWait { begin: end - 5, end, reason: None, waker, names: WaitNames::default() },
            );
        }
        let ended = |begin, end, most| table.ended_by(ThreadWaker::Thread(7), (begin, end), |_| true, most);
        assert_eq!(ended(10, 30, 9), [(3, 10), (4, 15), (3, 30)]);
        assert_eq!(ended(11, 40, 1), [(4, 15)]);
        assert_eq!(ended(16, 29, 9), []);
    }

    #[test]
    fn long_waits_are_kept() {
        let mut table = WaitTable::default();
        let wait = |number: u64, length: u64| KnownWait {
            begin: 1_000_000 * number,
            end: 1_000_000 * number + length,
            reason: Some(number as u32),
            waker: None,
            names: WaitNames::default(),
        };
        for number in 0..2 * MOST as u64 {
            let length = if number % 1_000 == 0 { 500_000 } else { 900 };
            table.add((number % 7) as u32, wait(number, length));
        }
        assert!(table.number <= MOST);
        for number in (0..2 * MOST as u64).step_by(1_000) {
            let expected = wait(number, 500_000);
            assert_eq!(table.find((number % 7) as u32, expected.end), Some(expected));
        }
        assert_eq!(table.find(1, 1_000_900), None);
        let longest = table.longest(2_000_000_000, 4_000_000_000, 2);
        let begins: Vec<_> = longest.iter().map(|(_, wait)| wait.begin).collect();
        assert_eq!(begins, [2_000_000_000, 3_000_000_000]);
    }
}
