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
    /// The earliest time.
    begin: i128,
    /// The latest time, unless the last one is later.
    end: i128,
    /// The first and the last time in the order of the merge: only clocks that go back make a difference.
    first: i128,
    last: i128,
    gap: Option<Gap>,
    /// An event that comes less than this after the last one, and not before it, changes nothing but the last time.
    uneventful: u128,
}

impl Times {
    fn new(time: i128) -> Self {
        Self { begin: time, end: time, first: time, last: time, gap: None, uneventful: 0 }
    }

    #[inline]
    fn add(&mut self, time: i128) {
        // What is earlier is a large number.
        if (time.wrapping_sub(self.last) as u128) < self.uneventful {
            self.last = time;
        } else {
            self.add_any(time);
        }
    }

    #[inline(never)]
    fn add_any(&mut self, time: i128) {
        self.note_gap(Gap { begin: self.last, length: time.saturating_sub(self.last) });
        self.end = self.end.max(self.last).max(time);
        self.begin = self.begin.min(time);
        self.last = time;
    }

    fn note_gap(&mut self, gap: Gap) {
        let longest = self.gap.map_or(gap, |known| known.longer(gap));
        self.gap = Some(longest);
        self.uneventful = u128::try_from(longest.length).map_or(0, |length| length + 1);
    }

    /// Adds those of later events.
    fn merge(&mut self, later: &Self) {
        self.note_gap(Gap { begin: self.last, length: later.first.saturating_sub(self.last) });
        later.gap.into_iter().for_each(|gap| self.note_gap(gap));
        self.end = self.end.max(self.last).max(later.end);
        self.begin = self.begin.min(later.begin);
        self.last = later.last;
    }
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
        match (&mut self.times, time) {
            (Some(times), Some(time)) => times.add(time),
            (None, Some(time)) => self.times = Some(Times::new(time)),
            (_, None) => {}
        }
    }

    /// Adds what was counted of events that come later.
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

    /// Size of the events in bytes, rounded up, as far as it is known; None if it is of no event.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        (self.sized > 0).then(|| self.bits.div_ceil(8))
    }

    /// The earliest and the latest time, in nanoseconds from the origin; None if no event has one.
    #[must_use]
    pub fn times(&self) -> Option<(i128, i128)> {
        self.times.as_ref().map(|times| (times.begin, times.end.max(times.last)))
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
