//! Viewer files and the timeline of `ichnos view`.
//!
//! A [`ViewerFile`] is created by [`perfetto()`], [`chrome()`], `firefox` (with its feature) or [`otlp()`]. The
//! timeline is a [`Timeline`].
//!
//! [`events`](ichnos_analysis::events) maps events to spans, counters and other roles.
#![forbid(unsafe_code)]

mod arguments;
mod chrome;
mod event_track;
#[cfg(feature = "firefox")]
mod firefox;
mod json_arguments;
pub mod log_line;
mod otlp;
mod perfetto;
mod protobuf;
mod pyramid;
mod span_stacks;
mod timeline;
mod viewer_file;

pub use chrome::chrome;
#[cfg(feature = "firefox")]
pub use firefox::firefox;
pub use ichnos_analysis::events::{
    CLOCK_ORIGIN, EventId, SpanSide, StateInterval, ThreadState, ThreadWaker, TimelinePlace,
    nearest_timeline_time, since_origin, timeline_time,
};
pub use otlp::{NoSpans, OtlpEncoding, OtlpOptions, OtlpSignal, TelemetryRequest, TelemetryRequests, otlp};
pub use perfetto::perfetto;
pub use pyramid::{CounterItem, MOST_LANES, Pyramid, SpanItem};
pub use span_stacks::SpanStackCollector;
pub use timeline::{
    EventLinks, FlowKind, RunningTimes, SpanVisitor, SpanWalk, Timeline, TimelineCounts, TimelineFlow,
    TimelineState, TimelineTrack, TimelineTrackKind, WalkedSpans,
};
pub use viewer_file::{ViewerFile, ViewerStart};
