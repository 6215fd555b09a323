//! Sinks: text for people ([`Pretty`], [`Details`]), log lines ([`Log`]), tables for other programs ([`Csv`]), and one
//! that decodes everything and writes nothing ([`Null`]). [`parts`] are for text sinks in other crates.
//!
//! Answers: statistics ([`StatsReport`]), states of threads ([`ThreadReport`]), profiles of call stacks ([`StackProfile`]), tasks ([`TaskGraph`],
//! [`TaskTable`], [`TaskDiff`]) and classes of a trace ([`schema`]), as text and as JSON. JSON is written as members of an
//! object, so that it can be a part of any document; [`documents`] has other parts of such documents, and [`text`] what
//! texts for people need.
//!
//! All sinks are [`Sink`](ichnos_model::Sink)s and [`ResumableSink`]s, so that several threads can write the chunks
//! of a timeline. They append to one buffer that is written when it is full; no event needs an allocation.
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as ichnos_export;

mod block;
mod color;
mod csv;
mod details;
pub mod documents;
mod event_stacks;
mod integers;
mod json_fields;
mod json_indenter;
mod log;
mod null;
mod null_statistics;
mod number;
pub mod parts;
mod pretty;
mod printable;
mod property;
mod repeated;
mod resume;
pub mod schema;
pub mod sinks;
mod span_name;
pub mod stacks;
pub mod stats;
pub mod tasks;
mod terminal;
#[cfg(test)]
mod testing;
pub mod text;
mod text_buffer;
pub mod threads;
mod time;
pub mod viewers;
mod xml;

// Everything else has its page in a module; paths in code are short.
pub use json_indenter::JsonIndenter;
pub use printable::{is_printable, printable};
pub use sinks::*;
pub use stacks::*;
pub use stats::*;
pub use tasks::*;
pub use terminal::{TerminalText, TerminalWriter, for_terminal};
pub use threads::*;
pub use time::{JsonTime, duration, rfc3339};
