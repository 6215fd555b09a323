//! What is counted of events, and how what was counted of later ones is added.

/// How many events, how large, from when until when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventTotals {
    /// How many.
    pub events: u64,
    /// Sum of the sizes of those of which it is known, in bits.
    bits: u64,
    /// How many events have a size.
    sized: u64,
    times: Option<Times>,
}

/// When events were, in nanoseconds from the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Times {
    /// The earliest and the latest time.
    begin: i128,
    end: i128,
    /// Those of the first and the last event in the order of the merge: only clocks that go back make a
    /// difference.
    first: i128,
    last: i128,
    gap: Option<Gap>,
}

/// The time between two events, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When the event before was, in nanoseconds from the origin.
    pub begin: i128,
    /// How long it was until the next one, in nanoseconds.
    pub length: i128,
}

impl Gap {
    /// The longer one; of two that are as long, the first one.
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
        let Some(time) = time else { return };
        match &mut self.times {
            Some(times) => {
                let gap = Gap { begin: times.last, length: time.saturating_sub(times.last) };
                times.gap = Some(times.gap.map_or(gap, |known| known.longer(gap)));
                times.last = time;
                times.begin = times.begin.min(time);
                times.end = times.end.max(time);
            }
            None => {
                self.times = Some(Times { begin: time, end: time, first: time, last: time, gap: None });
            }
        }
    }

    /// Adds what was counted of events that come later.
    pub(crate) fn merge(&mut self, later: Self) {
        self.events += later.events;
        self.sized += later.sized;
        self.bits = self.bits.saturating_add(later.bits);
        self.times = match (self.times.take(), later.times) {
            (Some(times), Some(later)) => {
                let between = Gap { begin: times.last, length: later.first.saturating_sub(times.last) };
                let gaps = [times.gap, Some(between), later.gap].into_iter().flatten();
                Some(Times {
                    begin: times.begin.min(later.begin),
                    end: times.end.max(later.end),
                    first: times.first,
                    last: later.last,
                    gap: gaps.reduce(Gap::longer),
                })
            }
            (times, later) => times.or(later),
        };
    }

    /// Size of the events in bytes, rounded up, as far as it is known; None if it is of no event.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        (self.sized > 0).then(|| self.bits.div_ceil(8))
    }

    /// The earliest and the latest time, in nanoseconds from the origin; None if no event has one.
    #[must_use]
    pub fn times(&self) -> Option<(i128, i128)> {
        self.times.as_ref().map(|times| (times.begin, times.end))
    }

    /// The longest time between two events; None if there is none.
    #[must_use]
    pub fn largest_gap(&self) -> Option<Gap> {
        self.times.as_ref()?.gap
    }
}

/// What tracers discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Events of which the number is known.
    pub events: u64,
    /// Whether events were discarded of which the number is not known.
    pub unknown_events: bool,
    /// Packets of which the number is known.
    pub packets: u64,
}

impl Loss {
    /// Adds another one.
    pub(crate) fn add(&mut self, other: Self) {
        self.events = self.events.saturating_add(other.events);
        self.unknown_events |= other.unknown_events;
        self.packets = self.packets.saturating_add(other.packets);
    }

    /// Whether nothing was lost.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
