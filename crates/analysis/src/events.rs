//! What events mean on a timeline: spans, counters, instants, thread switches, and the tracks that they belong to.
//!
//! It follows from the [role](ichnos_model::EventRole) of the event's class and the [meanings](ichnos_model::Meaning) of its
//! members alone, whatever its format:
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

pub mod class;
pub mod counter;
pub mod css_color;
pub mod flows;
pub mod keyed_spans;
pub mod losses;
pub mod name_fields;
pub mod named_objects;
pub mod names;
pub mod nested_spans;
pub mod place;
pub mod scheduling;
pub mod span_edge;
pub mod thread_fields;
pub mod thread_state_reader;
pub mod thread_states;
pub mod tracks;

pub use class::ProcessFields;
pub use name_fields::{NameFields, NameObjects};
pub use named_objects::{NamedObjects, ObjectFields, ObjectNote};
pub use place::{EventId, SpanSide, TimelinePlace};
pub use span_edge::SpanEdge;
pub use thread_state_reader::{ThreadNames, ThreadStateReader};
pub use thread_states::{StateInterval, ThreadState, ThreadWaker};
