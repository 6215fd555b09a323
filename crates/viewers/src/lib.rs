//! Traces for viewers: [`Perfetto`], [`Chrome`], `Firefox` (with its feature) and [`Otlp`]; and the [`Timeline`] of
//! `ichnos view`.
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
mod output_bytes;
mod perfetto;
mod protobuf;
mod pyramid;
mod span_stacks;
mod timeline;

pub use chrome::Chrome;
#[cfg(feature = "firefox")]
pub use firefox::Firefox;
pub use ichnos_analysis::events::{
    EventId, SpanSide, StateInterval, ThreadState, ThreadWaker, TimelinePlace,
};
pub use otlp::{Otlp, OtlpEncoding, OtlpSignal};
pub use perfetto::Perfetto;
pub use pyramid::{CounterItem, MOST_LANES, Pyramid, SpanItem};
pub use span_stacks::SpanStackCollector;
pub use timeline::{
    EventLinks, FlowKind, RunningTimes, SpanVisitor, SpanWalk, Timeline, TimelineCounts, TimelineFlow,
    TimelineState, TimelineTrack, TimelineTrackKind, WalkedSpans,
};
