//! Event places on a timeline.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use super::timeline_time::{nearest_timeline_time, since_origin};

/// Span side that an event marks.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanSide {
    /// Starts a span.
    Begin,
    /// Ends a span.
    End,
    /// Is a whole span.
    Whole,
    /// Ends a frame and starts the next one.
    Frame,
}

/// Event id. Its text is `STREAM:TIME:POSITION`, with the nanoseconds since the clock origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// Data stream number on the timeline.
    pub stream: u32,
    /// [Timeline time](mod@super::timeline_time).
    pub time: u64,
    /// Position among the events of the data stream at this time.
    pub position: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.stream, since_origin(self.time), self.position)
    }
}

impl FromStr for EventId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let mut parts = text.splitn(3, ':');
        let mut part = || parts.next().unwrap_or_default();
        let (stream, time) = (part().parse()?, part().parse::<i64>()?);
        Ok(Self { stream, time: nearest_timeline_time(time.into()), position: part().parse()? })
    }
}

/// Event place on a timeline.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelinePlace {
    /// Track number.
    pub track: u32,
    /// [Timeline time](mod@super::timeline_time).
    pub time: u64,
    /// Name number.
    pub name: u32,
    /// Data stream number on the timeline.
    pub stream: u32,
    /// Position among the events of the data stream at this time, including events that are not shown.
    pub position: u64,
    /// Span side. `None` for other events.
    pub side: Option<SpanSide>,
    /// Number that both ends of a keyed span share. 0 for other events.
    pub key: u64,
}

impl TimelinePlace {
    /// Returns the event id.
    #[must_use]
    pub fn event(&self) -> EventId {
        let Self { stream, time, position, .. } = *self;
        EventId { stream, time, position }
    }
}

/// Event counter for the last time of a data stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamPositions {
    last: u64,
    next: u64,
}

impl StreamPositions {
    /// Returns the position of the next event, given its time.
    #[inline]
    pub fn next(&mut self, time: u64) -> u64 {
        if self.last != time {
            (self.last, self.next) = (time, 0);
        }
        self.next += 1;
        self.next - 1
    }
}
