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
//! Each module below is about one of these. All names except those of [`decode`], [`lower`], [`memory`],
//! [`running_thread`] and [`plan`] are also names of the crate itself.
#![forbid(unsafe_code)]

mod bits;
pub mod class;
pub mod clock;
pub mod cursor;
pub mod decode;
pub mod digest;
pub mod event;
pub mod field;
pub mod locks;
pub mod log;
pub mod lower;
pub mod meaning;
pub mod memory;
pub mod message;
mod named_enum;
pub mod plan;
mod rule_table;
pub mod running_thread;
pub mod source;
pub mod stack;
pub mod trace;

// Everything has its page in a module; paths in code are short.
pub use class::*;
pub use clock::*;
pub use cursor::*;
pub use digest::*;
pub use event::*;
pub use field::*;
pub use locks::*;
pub use log::*;
pub use meaning::*;
pub use message::*;
pub use named_enum::UnknownName;
pub use source::*;
pub use stack::*;
pub use trace::*;
