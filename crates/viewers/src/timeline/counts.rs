//! Event counts of a timeline.

/// Event counts of a [`Timeline`](super::Timeline).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineCounts {
    /// Number of events: the sum of the following counts.
    pub events: u64,
    /// Number of events that started a span.
    pub begun: u64,
    /// Number of events that ended a span.
    pub ended: u64,
    /// Number of events that ended a frame and started the next frame.
    pub frames: u64,
    /// Number of events that are whole spans.
    pub complete: u64,
    /// Number of instants: all other events, including ends without a start.
    pub instants: u64,
    /// Number of events with counter values.
    pub counters: u64,
    /// Number of ends whose spans started before the part.
    pub ended_before: u64,
    /// Number of events that cannot be shown, because their times are more than 292 years from the clock origin.
    pub not_shown: u64,
}
