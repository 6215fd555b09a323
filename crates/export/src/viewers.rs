//! Traces for viewers: [`Perfetto`], [`Chrome`], `Firefox` (with its feature) and [`Otlp`]; and the [`Timeline`] of
//! `ichnos view`.
//!
//! What an event is to a viewer follows from the [role](ichnos_model::EventRole) of its class and the
//! [meanings](ichnos_model::Meaning) of its members alone, whatever its format:
//!
//! | event | becomes |
//! |---|---|
//! | begin, end without a key | begin and end of a slice of its thread |
//! | begin, end with a key | begin and end of a slice of a track of its own |
//! | counter | a value of a counter for each of its values |
//! | sample with a call stack | a sample |
//! | other events | an instant of the thread |
//! | operation with causes | ends of flows |
//! | discarded events and packets, damage | an instant of the track *losses and damage* |
//!
//! An event without a thread is on the track of its process, else of its processor, else of its data stream.

mod arguments;
mod chrome;
mod class;
mod counter;
mod css_color;
mod event_track;
#[cfg(feature = "firefox")]
mod firefox;
mod flows;
mod json_arguments;
mod keyed_spans;
mod log_line;
mod losses;
mod name_fields;
mod named_objects;
mod names;
mod nested_spans;
mod otlp;
mod output_bytes;
mod perfetto;
mod protobuf;
mod scheduling;
mod span_edge;
mod thread_fields;
mod thread_state_reader;
mod thread_states;
mod timeline;
mod tracks;

pub use chrome::Chrome;
pub(crate) use class::ProcessFields;
#[cfg(feature = "firefox")]
pub use firefox::Firefox;
pub(crate) use name_fields::{NameFields, NameObjects};
pub(crate) use named_objects::{NamedObjects, ObjectFields, ObjectNote};
pub use otlp::{Otlp, OtlpEncoding, OtlpSignal};
pub use perfetto::Perfetto;
pub(crate) use span_edge::SpanEdge;
pub use thread_state_reader::{ThreadNames, ThreadStateReader};
pub use thread_states::{StateInterval, ThreadState, ThreadWaker};
pub use timeline::{
    EventId, EventLinks, FlowKind, RunningTimes, SpanSide, SpanVisitor, SpanWalk, Timeline, TimelineCounts,
    TimelineFlow, TimelinePlace, TimelineState, TimelineTrack, TimelineTrackKind, WalkedSpans,
};
