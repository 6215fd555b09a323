//! Traces for viewers: a [`ViewerFile`] of [`perfetto()`], [`chrome()`], `firefox` (with its feature) or [`otlp()`]; and the
//! [`Timeline`] of `ichnos view`.
//!
//! [`events`](ichnos_analysis::events) says what an event becomes.
#![forbid(unsafe_code)]

mod arguments;
mod chrome;
mod event_track;
#[cfg(feature = "firefox")]
mod firefox;
mod json_arguments;
mod log_line;
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
    EventId, SpanSide, StateInterval, ThreadState, ThreadWaker, TimelinePlace,
};
pub use otlp::{NoSpans, OtlpEncoding, OtlpOptions, OtlpSignal, otlp};
pub use perfetto::perfetto;
pub use pyramid::{CounterItem, MOST_LANES, Pyramid, SpanItem};
pub use span_stacks::SpanStackCollector;
pub use timeline::{
    EventLinks, FlowKind, RunningTimes, SpanVisitor, SpanWalk, Timeline, TimelineCounts, TimelineFlow,
    TimelineState, TimelineTrack, TimelineTrackKind, WalkedSpans,
};
pub use viewer_file::{ViewerFile, ViewerStart};
