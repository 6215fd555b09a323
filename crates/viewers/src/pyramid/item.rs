//! Lane items.

/// Item that can be merged.
pub(super) trait LaneItem: Copy {
    /// Start time.
    fn begin(&self) -> u64;
    /// End time.
    fn end(&self) -> u64;
    /// Returns `true` if the item can be merged within bins of a width.
    fn is_narrow(&self, width: u64) -> bool;
    /// Adds a later item. Returns `false` if the count would overflow.
    fn absorb(&mut self, later: &Self) -> bool;
}

/// Span or instant, or several merged spans and instants.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanItem {
    /// Start of the first span or instant.
    pub begin: u64,
    /// End of the last span. For an instant, its time.
    pub end: u64,
    /// Length of the longest span in nanoseconds. 0 for instants and for spans without an end.
    pub longest: u64,
    /// Time in nanoseconds under the dominant name, plus the number of its spans and instants. It is approximate if
    /// names alternate.
    pub weight: u64,
    /// Number of spans and instants.
    pub count: u32,
    /// Number of the dominant name, which covers most of the time.
    pub name: u32,
}

impl SpanItem {
    /// Creates an item for a single span or instant.
    #[must_use]
    pub fn new(begin: u64, end: u64, name: u32) -> Self {
        let longest = end.saturating_sub(begin);
        Self { begin, end, longest, weight: longest.saturating_add(1), count: 1, name }
    }

    /// Creates a span without an end, shown until a time.
    #[must_use]
    pub fn open(begin: u64, until: u64, name: u32) -> Self {
        Self { longest: 0, ..Self::new(begin, until, name) }
    }

    /// Returns `true` for a single span without an end, whose length is unknown.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.count == 1 && self.longest == 0 && self.end > self.begin
    }
}

impl LaneItem for SpanItem {
    #[inline]
    fn begin(&self) -> u64 {
        self.begin
    }

    #[inline]
    fn end(&self) -> u64 {
        self.end
    }

    #[inline]
    fn is_narrow(&self, width: u64) -> bool {
        self.count > 1 || self.end.saturating_sub(self.begin) < width
    }

    #[inline]
    fn absorb(&mut self, later: &Self) -> bool {
        let Some(count) = self.count.checked_add(later.count) else { return false };
        self.count = count;
        self.end = self.end.max(later.end);
        self.longest = self.longest.max(later.longest);
        // A name with more than half of the time always remains.
        if self.name == later.name {
            self.weight = self.weight.saturating_add(later.weight);
        } else if later.weight > self.weight {
            (self.name, self.weight) = (later.name, later.weight - self.weight);
        } else {
            self.weight = (self.weight - later.weight).max(1);
        }
        true
    }
}

/// Counter value, or several merged values.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CounterItem {
    /// Time of the first value.
    pub begin: u64,
    /// Time of the last value.
    pub end: u64,
    /// Smallest value.
    pub minimum: f64,
    /// Largest value.
    pub maximum: f64,
    /// Last value.
    pub last: f64,
    /// Number of values.
    pub count: u64,
}

impl CounterItem {
    /// Creates an item for a single value.
    #[must_use]
    pub fn new(time: u64, value: f64) -> Self {
        Self { begin: time, end: time, minimum: value, maximum: value, last: value, count: 1 }
    }
}

impl LaneItem for CounterItem {
    #[inline]
    fn begin(&self) -> u64 {
        self.begin
    }

    #[inline]
    fn end(&self) -> u64 {
        self.end
    }

    #[inline]
    fn is_narrow(&self, _: u64) -> bool {
        true
    }

    #[inline]
    fn absorb(&mut self, later: &Self) -> bool {
        self.end = self.end.max(later.end);
        // `min` and `max` ignore NaN.
        self.minimum = self.minimum.min(later.minimum);
        self.maximum = self.maximum.max(later.maximum);
        self.last = later.last;
        self.count = self.count.saturating_add(later.count);
        true
    }
}
