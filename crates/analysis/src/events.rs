//! Timeline elements made from events: spans, counters, instants, thread switches, and their tracks.
//!
//! The [role](ichnos_model::meaning::EventRole) of an event class and the [meanings](ichnos_model::meaning::Meaning) of
//! its members decide, for every format:
//!
//! | event | becomes |
//! |---|---|
//! | begin, end without a key | start and end of a slice on its thread's track |
//! | begin, end with a key | start and end of a slice on a separate track |
//! | counter | a value for each counter value |
//! | sample with a call stack | a sample |
//! | other events | an instant on the thread's track |
//! | operation with causes | flow ends |
//! | discarded events and packets, damage | an instant on the track *losses and damage* |
//!
//! An event without a thread goes to the track of its process, else of its processor, else of its data stream.

pub mod class;
pub mod counter;
pub mod css_color;
pub mod event_place;
pub mod flows;
pub mod keyed_spans;
pub mod last_context;
pub mod losses;
pub mod name_fields;
pub mod named_objects;
pub mod names;
pub mod nested_spans;
pub mod place;
pub mod scheduling;
pub mod span_edge;
pub mod text_field;
pub mod thread_fields;
pub mod thread_state_reader;
pub mod thread_states;
pub mod timeline_time;
pub mod tracks;

pub use class::ProcessFields;
pub use name_fields::{NameFields, NameObjects};
pub use named_objects::{NamedObjects, ObjectFields, ObjectNote};
pub use place::{EventId, SpanSide, TimelinePlace};
pub use span_edge::SpanEdge;
pub use thread_state_reader::{ThreadNames, ThreadStateReader};
pub use thread_states::{StateInterval, ThreadState, ThreadWaker};
pub use timeline_time::{CLOCK_ORIGIN, nearest_timeline_time, since_origin, timeline_time};
