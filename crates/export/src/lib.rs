//! Sinks: text for people ([`Pretty`], [`Details`]), log lines ([`Log`]), tables for other programs ([`Csv`]), and a
//! sink that decodes everything and writes nothing ([`Null`]). [`parts`] are for text sinks in other crates.
//!
//! [`documents`] has parts of JSON documents. [`text`] has parts of text for people.
//!
//! All sinks are [`Sink`](ichnos_model::Sink)s and [`ResumableSink`]s, so that several threads can write the chunks
//! of a timeline. They append to one buffer, which is written when it is full. Events need no allocations.
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as ichnos_export;

mod block;
mod color;
mod csv;
mod details;
pub mod documents;
mod event_stacks;
mod field_place;
mod integer_elements;
mod integers;
mod json_fields;
mod json_indenter;
mod log;
mod null;
mod null_statistics;
pub mod number;
pub mod parts;
mod pretty;
mod printable;
mod property;
mod recent_number;
mod repeated;
mod resume;
mod scan;
pub mod sinks;
mod terminal;
#[cfg(test)]
mod testing;
pub mod text;
mod text_buffer;
mod time;

// Everything else has its page in a module. The paths here are shorter.
pub use json_indenter::JsonIndenter;
pub use printable::{is_printable, printable};
pub use sinks::*;
pub use terminal::{TerminalText, TerminalWriter, for_terminal};
pub use time::{JsonTime, duration, rfc3339};
