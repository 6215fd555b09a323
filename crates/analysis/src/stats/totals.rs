//! Event totals.

/// Event count, sizes and times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventTotals {
    /// Event count.
    pub events: u64,
    /// Total of the known sizes, in bits.
    bits: u64,
    /// Number of events with a known size.
    sized: u64,
    times: Option<TotalTimes>,
}

/// Event times, in nanoseconds from the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TotalTimes {
    /// Earliest time.
    begin: i128,
    /// Latest time, unless `last` is later.
    end: i128,
    /// First and last time in merge order. They differ from the time range only if a clock went back.
    first: i128,
    last: i128,
    gap: Option<Gap>,
    /// Distance from `last` below which a later event only changes `last`.
    uneventful: u128,
}

impl TotalTimes {
    fn new(time: i128) -> Self {
        Self { begin: time, end: time, first: time, last: time, gap: None, uneventful: 0 }
    }

    #[inline]
    fn add(&mut self, time: i128) {
        // Earlier times wrap to a large number.
        if (time.wrapping_sub(self.last) as u128) < self.uneventful {
            self.last = time;
        } else {
            self.add_any(time);
        }
    }

    #[inline(never)]
    fn add_any(&mut self, time: i128) {
        self.add_gap(Gap { begin: self.last, length: time.saturating_sub(self.last) });
        self.end = self.end.max(self.last).max(time);
        self.begin = self.begin.min(time);
        self.last = time;
    }

    fn add_gap(&mut self, gap: Gap) {
        let longest = self.gap.map_or(gap, |known| known.longer(gap));
        self.gap = Some(longest);
        self.uneventful = u128::try_from(longest.length).map_or(0, |length| length + 1);
    }

    /// Merges times from later events.
    fn merge(&mut self, later: &Self) {
        self.add_gap(Gap { begin: self.last, length: later.first.saturating_sub(self.last) });
        later.gap.into_iter().for_each(|gap| self.add_gap(gap));
        self.end = self.end.max(self.last).max(later.end);
        self.begin = self.begin.min(later.begin);
        self.last = later.last;
    }
}

/// Time between two consecutive events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Time of the first event, in nanoseconds from the origin.
    pub begin: i128,
    /// Time until the next event, in nanoseconds.
    pub length: i128,
}

impl Gap {
    /// Returns the longer gap. If both are equal, the first.
    fn longer(self, later: Self) -> Self {
        if later.length > self.length { later } else { self }
    }
}

impl EventTotals {
    #[inline]
    pub(crate) fn add(&mut self, bits: Option<u64>, time: Option<i128>) {
        self.events += 1;
        if let Some(bits) = bits {
            self.sized += 1;
            self.bits = self.bits.saturating_add(bits);
        }
        match (&mut self.times, time) {
            (Some(times), Some(time)) => times.add(time),
            (None, Some(time)) => self.times = Some(TotalTimes::new(time)),
            (_, None) => {}
        }
    }

    /// Merges totals from later events.
    pub(crate) fn merge(&mut self, later: Self) {
        self.events += later.events;
        self.sized += later.sized;
        self.bits = self.bits.saturating_add(later.bits);
        match (&mut self.times, later.times) {
            (Some(times), Some(later)) => times.merge(&later),
            (None, later) => self.times = later,
            (_, None) => {}
        }
    }

    /// Returns the total known size in bytes, rounded up. `None` if no size is known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        (self.sized > 0).then(|| self.bits.div_ceil(8))
    }

    /// Returns the earliest and latest time, in nanoseconds from the origin. `None` if no event has a time.
    #[must_use]
    pub fn times(&self) -> Option<(i128, i128)> {
        self.times.as_ref().map(|times| (times.begin, times.end.max(times.last)))
    }

    /// Returns the longest gap, if there is one.
    #[must_use]
    pub fn largest_gap(&self) -> Option<Gap> {
        self.times.as_ref()?.gap
    }
}

/// Losses reported by tracers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedLosses {
    /// Discarded events, as far as known.
    pub events: u64,
    /// `true` if an unknown number of events was discarded.
    pub unknown_events: bool,
    /// Discarded packets, as far as known.
    pub packets: u64,
}

impl ReportedLosses {
    /// Adds another loss.
    pub(crate) fn add(&mut self, other: Self) {
        self.events = self.events.saturating_add(other.events);
        self.unknown_events |= other.unknown_events;
        self.packets = self.packets.saturating_add(other.packets);
    }

    /// Returns `true` if nothing was lost.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
