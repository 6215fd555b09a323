//! Places of events on a timeline.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// Part of a span that an event is.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanSide {
    /// Begin of a span.
    Begin,
    /// End of a span.
    End,
    /// Whole span.
    Whole,
    /// End of a frame, and begin of the next one.
    Frame,
}

/// Identifier of an event; as text `STREAM:TIME:POSITION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// Number of the data stream: see [`number_streams`](Timeline::number_streams).
    pub stream: u32,
    /// Time in nanoseconds since the origin of the clock.
    pub time: u64,
    /// Position among the events of the data stream at this time.
    pub position: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.stream, self.time, self.position)
    }
}

impl FromStr for EventId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let mut parts = text.splitn(3, ':');
        let mut part = || parts.next().unwrap_or_default();
        Ok(Self { stream: part().parse()?, time: part().parse()?, position: part().parse()? })
    }
}

/// Place of an event.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelinePlace {
    /// Number of the track.
    pub track: u32,
    /// Time in nanoseconds since the origin of the clock.
    pub time: u64,
    /// Number of the name.
    pub name: u32,
    /// Number of the data stream: see [`number_streams`](Timeline::number_streams).
    pub stream: u32,
    /// Position among the events of the data stream at this time, those that were passed over included.
    pub position: u64,
    /// Part of a span; `None` for other events.
    pub side: Option<SpanSide>,
    /// Number that begin and end of a span have in common if it has a key, 0 for other events.
    pub key: u64,
}

impl TimelinePlace {
    /// Returns the identifier of the event.
    #[must_use]
    pub fn event(&self) -> EventId {
        let Self { stream, time, position, .. } = *self;
        EventId { stream, time, position }
    }
}

/// Number of events at the last time of a data stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamPositions {
    last: u64,
    next: u64,
}

impl StreamPositions {
    /// Returns the position of the next event, which is at this time.
    #[inline]
    pub fn next(&mut self, time: u64) -> u64 {
        if self.last != time {
            (self.last, self.next) = (time, 0);
        }
        self.next += 1;
        self.next - 1
    }
}
