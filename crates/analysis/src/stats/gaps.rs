//! The longest gaps between events.

use super::totals::Gap;

/// Longest gaps between consecutive events, longest first. Equal gaps are sorted by time.
#[derive(Clone, Debug)]
pub struct LongestGaps {
    most: usize,
    /// Time of the first and the last event in merge order.
    times: Option<(i128, i128)>,
    /// Gaps, longest first.
    gaps: Vec<Gap>,
}

impl LongestGaps {
    pub(super) fn new(most: usize) -> Self {
        Self { most, times: None, gaps: Vec::new() }
    }

    /// Returns the gaps, longest first. Simultaneous events do not count as a gap.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    #[inline]
    pub(super) fn add(&mut self, time: i128) {
        let first = match self.times {
            Some((first, last)) => {
                self.add_gap(Gap { begin: last, length: time.saturating_sub(last) });
                first
            }
            None => time,
        };
        self.times = Some((first, time));
    }

    #[inline]
    fn add_gap(&mut self, gap: Gap) {
        let is_full = self.gaps.len() >= self.most;
        let least = if is_full { self.gaps.last().map_or(i128::MAX, |gap| gap.length) } else { 0 };
        if gap.length > least {
            self.insert(gap);
        }
    }

    #[cold]
    fn insert(&mut self, gap: Gap) {
        let at = self.gaps.partition_point(|known| known.length >= gap.length);
        self.gaps.truncate(self.most.saturating_sub(1));
        self.gaps.insert(at.min(self.gaps.len()), gap);
    }

    /// Merges the gaps from later events.
    pub(super) fn merge(&mut self, later: Self) {
        let Some((first, last)) = later.times else { return };
        let begin = match self.times {
            Some((begin, end)) => {
                self.add_gap(Gap { begin: end, length: first.saturating_sub(end) });
                begin
            }
            None => first,
        };
        later.gaps.into_iter().for_each(|gap| self.add_gap(gap));
        self.times = Some((begin, last));
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    /// Compares with a sorted list of all gaps, both collected at once and merged.
    #[test]
    fn the_longest_are_kept() {
        cases(500, |random| {
            let mut time = 0i128;
            let times: Vec<i128> = (0..random.below(200))
                .map(|_| {
                    // Clocks can go back, and times can repeat.
                    time += random.below(12) as i128 - 1;
                    time
                })
                .collect();
            let most = 1 + random.index(8);
            let gaps = times.windows(2).map(|pair| Gap { begin: pair[0], length: pair[1] - pair[0] });
            let mut expected: Vec<Gap> = gaps.filter(|gap| gap.length > 0).collect();
            expected.sort_by_key(|gap| std::cmp::Reverse(gap.length));
            expected.truncate(most);
            let mut whole = LongestGaps::new(most);
            times.iter().for_each(|time| whole.add(*time));
            let mut merged = LongestGaps::new(most);
            for part in times.chunks(1 + random.index(30)) {
                let mut gaps = LongestGaps::new(most);
                part.iter().for_each(|time| gaps.add(*time));
                merged.merge(gaps);
                merged.merge(LongestGaps::new(most));
            }
            assert_eq!((whole.gaps(), merged.gaps()), (&expected[..], &expected[..]));
        });
    }
}
