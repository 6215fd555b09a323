//! Numbers of events of a timeline.

/// Numbers of what a [`Timeline`](super::Timeline) has taken.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineCounts {
    /// Number of events: the sum of the next ones.
    pub events: u64,
    /// Number of events that began a span.
    pub begun: u64,
    /// Number of events that ended a span.
    pub ended: u64,
    /// Number of events that ended a frame, and began the next one.
    pub frames: u64,
    /// Number of events that are a span.
    pub complete: u64,
    /// Number of instants: other events, among them ends of nothing.
    pub instants: u64,
    /// Number of events with values of counters.
    pub counters: u64,
    /// Number of ends of spans that began before the part of the trace.
    pub ended_before: u64,
    /// Number of events that cannot be shown: their times are before the origin of the clock, or too late.
    pub not_shown: u64,
}
