//! The data model of ichnos. Trace format readers produce it, and sinks consume it.
//!
//! The terms are from CTF 2 where it has one. The documentation of each format maps its own terms to them.
//!
//! - A [`Trace`] consists of [`DataStream`]s, and a [`TraceClass`] describes it.
//! - A reader creates a [`Cursor`] for each data stream. It delivers [`Message`]s: events, losses, damage.
//! - An [`Event`] is borrowed. Its fields are read with [`Event::visit`] and a [`Visitor`], or one at a time
//!   with [`Event::field`].
//! - A [`Sink`] receives messages.
//!
//! Each module below covers one of these. The crate root exports all names except those in [`decode`], [`lower`],
//! [`memory`], [`running_thread`] and [`plan`].
#![forbid(unsafe_code)]

mod bits;
pub mod class;
pub mod clock;
pub mod cursor;
pub mod decode;
pub mod digest;
pub mod event;
pub mod field;
mod key_hash;
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

// Documentation has a page for each module, but paths in code stay short.
pub use class::*;
pub use clock::*;
pub use cursor::*;
pub use digest::*;
pub use event::*;
pub use field::*;
pub use key_hash::{KeyHasher, KeyState};
pub use locks::*;
pub use log::*;
pub use meaning::*;
pub use message::*;
pub use named_enum::UnknownName;
pub use source::*;
pub use stack::*;
pub use trace::*;
