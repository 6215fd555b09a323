//! The data model of ichnos, produced by readers of trace formats and consumed by sinks.
//!
//! Terms are those of CTF 2, as far as it has them; the documentation of each format maps its own terms to
//! them.
//!
//! - A [`Trace`] is described by a [`TraceClass`] and consists of [`DataStream`]s.
//! - A reader makes a [`Cursor`] for each data stream, which delivers [`Message`]s: events, losses, damage.
//! - An [`Event`] is borrowed. Its fields are read with [`Event::visit`] and a [`Visitor`], or one at a time
//!   with [`Event::field`].
//! - A [`Sink`] takes messages.
//!
//! Each module below is about one of these. All names but those of [`decode`], [`lower`], [`memory`] and [`plan`] are
//! also names of the crate itself.
#![forbid(unsafe_code)]

mod activity_path;
mod attribute;
mod bits;
mod class_tree;
pub mod classes;
mod clock;
pub mod clocks;
mod cost;
mod cursor;
pub mod cursors;
mod damage;
mod data_position;
pub mod decode;
mod diagnostic;
mod digest;
pub mod digests;
mod dynamic_classes;
mod event;
mod event_builder;
mod event_class_table;
mod event_counts;
mod event_display;
mod event_role;
mod event_rule;
mod event_values;
pub mod events;
mod field_class;
mod field_container;
mod field_path;
mod field_ref;
mod field_value;
pub mod fields;
mod head;
mod identifier;
mod input;
mod limits;
mod listed_thread;
mod location;
mod log;
pub mod logs;
pub mod lower;
mod meaning;
pub mod meanings;
pub mod memory;
mod message;
mod message_queue;
pub mod messages;
mod on_demand;
pub mod plan;
mod range;
mod record;
mod record_trace;
mod role;
pub mod running_thread;
mod selectors;
mod small_cursor;
mod source;
mod source_cursor;
pub mod sources;
mod stack;
pub mod stacks;
mod stream;
mod symbols;
mod text_position;
mod trace_class;
pub mod traces;
mod utf16;
mod value;
mod value_cache;
mod value_hash;
mod value_recorder;
mod visitor;
mod wall_clock;
mod wide_integer;

// Everything has its page in a module; paths in code are short.
pub use classes::*;
pub use clocks::*;
pub use cursors::*;
pub use digests::*;
pub use events::*;
pub use fields::*;
pub use logs::*;
pub use meanings::*;
pub use messages::*;
pub use sources::*;
pub use stacks::*;
pub use traces::*;
