//! Event counts over time.
//!
//! `ichnos view` draws from a `Pyramid`, which does not fit here. A pyramid keeps single items until memory is short,
//! and then merges them in bins of powers of four. Its counts between two times are exact only until then, and depend
//! on the merge order. The counts here need 4 kB per row, and are exact for any number of events, in any order, on any
//! number of threads.

use std::collections::VecDeque;

/// Maximum number of bins in a timeline. A timeline has at least about a tenth of it, unless all events are in one bin.
const MOST_BINS: u64 = 480;

/// Number of bins that are merged into one bin of the next width.
const FACTORS: [i128; 30] = {
    // 1 ns, 2 ns, 10 ns, 20 ns, ..., 10 s, 20 s, and then 1 min, 2 min, 10 min, 20 min, 1 h, 2 h, 12 h, 1 d.
    let mut factors = [0; 30];
    let mut i = 0;
    while i < 20 {
        factors[i] = if i % 2 == 0 { 2 } else { 5 };
        i += 1;
    }
    let further = [2, 3, 2, 5, 2, 3, 2, 6, 2];
    while i < 29 {
        factors[i] = further[i - 20];
        i += 1;
    }
    factors[29] = 10;
    factors
};

/// Returns how many bins of this level are merged into one bin of the next level.
fn factor(level: usize) -> i128 {
    FACTORS.get(level).copied().unwrap_or(10)
}

/// Returns the bin width of a level, in nanoseconds.
fn width(level: usize) -> i128 {
    (0..level).map(factor).fold(1, i128::saturating_mul)
}

/// Event counts in bins of equal width. Bin boundaries are multiples of the width. The width is the smallest of the
/// usual widths (1, 2, 10, 20 ns and so on up to minutes, hours and days) that needs few bins. It depends only on the
/// first and the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeHistogram {
    level: usize,
    width: i128,
    /// Number of the first bin.
    first: i128,
    counts: VecDeque<u64>,
    /// Index and time range of the previous event's bin.
    current: usize,
    from: i128,
    until: i128,
}

impl TimeHistogram {
    /// Adds an event. The time is in nanoseconds from the origin.
    #[inline]
    pub fn add(&mut self, time: i128) {
        if self.from <= time && time < self.until {
            self.counts[self.current] += 1;
        } else {
            self.add_elsewhere(time);
        }
    }

    #[cold]
    fn add_elsewhere(&mut self, time: i128) {
        self.width = self.width.max(1);
        let bin = self.make_room(time);
        let Ok(current) = usize::try_from(bin - self.first) else { return };
        self.counts[current] += 1;
        self.current = current;
        self.from = bin.saturating_mul(self.width);
        self.until = self.from.saturating_add(self.width);
    }

    /// Adds bins up to a time. Returns the bin number for the time.
    fn make_room(&mut self, time: i128) -> i128 {
        loop {
            let bin = time.div_euclid(self.width);
            if self.counts.is_empty() {
                self.first = bin;
                self.counts.push_back(0);
                return bin;
            }
            let last = self.first + (self.counts.len() as i128 - 1);
            let (first, last) = (self.first.min(bin), last.max(bin));
            if last.abs_diff(first) < MOST_BINS.into() {
                while self.first > first {
                    self.counts.push_front(0);
                    self.first -= 1;
                }
                self.counts.resize((last - first) as usize + 1, 0);
                return bin;
            }
            self.coarsen();
        }
    }

    /// Switches to the next width.
    fn coarsen(&mut self) {
        let factor = factor(self.level);
        let mut counts: VecDeque<u64> = VecDeque::new();
        let first = self.first.div_euclid(factor);
        for (i, count) in self.counts.iter().enumerate() {
            let bin = ((self.first.saturating_add(i as i128)).div_euclid(factor) - first) as usize;
            counts.resize(bin + 1, 0);
            counts[bin] += count;
        }
        self.level += 1;
        self.width = width(self.level);
        (self.first, self.counts) = (first, counts);
        // The current bin is invalid now.
        (self.current, self.from, self.until) = (0, 0, 0);
    }

    /// Merges another timeline.
    pub fn merge(&mut self, mut other: Self) {
        if other.counts.is_empty() {
            return;
        }
        if self.counts.is_empty() {
            *self = other;
            return;
        }
        while other.level < self.level {
            other.coarsen();
        }
        while self.level < other.level {
            self.coarsen();
        }
        let last = other.first + (other.counts.len() as i128 - 1);
        for end in [other.first, last] {
            self.make_room(end.saturating_mul(other.width));
        }
        while other.level < self.level {
            other.coarsen();
        }
        // Every bin of `other` has a bin here.
        let offset = usize::try_from(other.first - self.first).unwrap_or(usize::MAX);
        for (own, count) in self.counts.iter_mut().skip(offset).zip(other.counts) {
            *own += count;
        }
        (self.current, self.from, self.until) = (0, 0, 0);
    }

    /// Widens the bins to at least `width` nanoseconds.
    #[must_use]
    pub fn at_least(mut self, width: i128) -> Self {
        while !self.counts.is_empty() && self.width < width {
            self.coarsen();
        }
        self
    }

    /// Widens the bins until there are at most `most`.
    #[must_use]
    pub fn in_bins(mut self, most: usize) -> Self {
        while self.counts.len() > most.max(1) {
            self.coarsen();
        }
        self
    }

    /// Returns the bin width in nanoseconds. 0 if the timeline is empty.
    #[must_use]
    pub fn width(&self) -> i128 {
        if self.counts.is_empty() { 0 } else { self.width }
    }

    /// Returns the start of the first bin, in nanoseconds from the origin.
    #[must_use]
    pub fn begin(&self) -> i128 {
        self.first.saturating_mul(self.width)
    }

    /// Returns the event count of each bin, from the first to the last non-empty bin.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.counts.iter().copied()
    }

    /// Returns the event count of the bin that starts at a time.
    #[must_use]
    pub fn count_at(&self, begin: i128) -> u64 {
        let bin = begin.checked_div_euclid(self.width).and_then(|bin| bin.checked_sub(self.first));
        let bin = bin.and_then(|bin| usize::try_from(bin).ok());
        bin.and_then(|bin| self.counts.get(bin)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    #[test]
    fn widths_are_usual_round_numbers() {
        let seconds = |level| width(level) / 1_000_000_000;
        assert_eq!((0..6).map(width).collect::<Vec<_>>(), [1, 2, 10, 20, 100, 200]);
        let further = [1, 2, 10, 20, 60, 120, 600, 1200, 3600, 7200, 43200, 86400, 864_000, 8_640_000];
        assert_eq!((18..32).map(seconds).collect::<Vec<_>>(), further);
    }

    /// Events in any order and any batches give the same bins and counts.
    #[test]
    fn bins_depend_only_on_times() {
        cases(300, |random| {
            let spread = 1 << random.below(80);
            let base = i128::from(random.number()) - (1 << 62);
            let count = 1 + random.index(200);
            let mut times: Vec<i128> =
                (0..count).map(|_| base + (i128::from(random.number()) << 16).rem_euclid(spread)).collect();
            let make = |times: &[i128]| {
                let mut timeline = TimeHistogram::default();
                times.iter().for_each(|time| timeline.add(*time));
                timeline
            };
            let whole = make(&times);
            let mut merged = TimeHistogram::default();
            times.chunks(1 + random.index(50)).for_each(|part| merged.merge(make(part)));
            times.sort_unstable();
            for found in [&whole, &merged, &make(&times)] {
                let width = found.width();
                assert_eq!((width, found.begin()), (whole.width(), whole.begin()));
                assert!(found.counts().eq(whole.counts()));
                assert!(found.counts().len() as u64 <= MOST_BINS);
                for (i, count) in (0..).zip(found.counts()) {
                    let begin = found.begin() + i * width;
                    let expected = times.iter().filter(|time| begin <= **time && **time < begin + width);
                    assert_eq!((count, found.count_at(begin)), (expected.count() as u64, count));
                }
                assert_eq!(found.counts().sum::<u64>(), count as u64);
                let coarse = (*found).clone().in_bins(7);
                assert!(coarse.counts().len() <= 7 && coarse.counts().sum::<u64>() == count as u64);
                assert!(width == 1 || found.counts().len() as u64 >= MOST_BINS / 10 - 1);
            }
        });
    }

    #[test]
    fn any_time_has_a_place() {
        let mut timeline = TimeHistogram::default();
        for time in [0, i128::from(u64::MAX) * 1_000_000_000, -i128::from(u64::MAX) * 1_000_000_000, 5] {
            timeline.add(time);
        }
        assert_eq!(timeline.counts().sum::<u64>(), 4);
        let mut timeline = TimeHistogram::default();
        [i128::MIN, i128::MAX, 0].into_iter().for_each(|time| timeline.add(time));
        assert_eq!(timeline.counts().sum::<u64>(), 3);
    }
}
