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
//! # Modules
//! Each item belongs to a module, for example [`class::FieldClass`] or [`field::FieldValue`]. The crate root also
//! exports the twelve names that most readers and sinks use: [`Cursor`], [`DataStream`], [`Event`], [`Message`],
//! [`OpenedTrace`], [`Scope`], [`Sink`], [`Source`], [`Trace`], [`TraceClass`], [`Visitor`] and [`Window`].
//!
//! | task | modules |
//! |---|---|
//! | Describe traces | [`class`], [`clock`], [`log`], [`meaning`], [`stack`], [`telemetry`], [`trace`] |
//! | Read events and their values | [`cursor`], [`event`], [`field`], [`message`], [`running_thread`] |
//! | Add a format | [`source`], [`live`], [`plan`], [`decode`], [`memory`] |
//! | Write a format | [`lower`], [`digest`] |
//! | Code shared by all crates | [`locks`], [`mod@named_enum`], and the macros |
#![forbid(unsafe_code)]

mod bits;
pub mod call_chain;
pub mod class;
pub mod clock;
pub mod cursor;
pub mod decode;
pub mod digest;
pub mod event;
pub mod field;
pub mod key_hash;
pub mod live;
pub mod locks;
pub mod log;
pub mod lower;
pub mod meaning;
pub mod memory;
pub mod message;
pub mod named_enum;
pub mod plan;
mod rule_table;
pub mod running_thread;
pub mod source;
pub mod stack;
pub mod telemetry;
pub mod trace;

pub use class::{Scope, TraceClass};
pub use cursor::Cursor;
pub use event::Event;
pub use field::Visitor;
pub use message::{Message, Sink};
pub use source::Source;
pub use trace::{DataStream, OpenedTrace, Trace, Window};
