//! Traces as JSON Lines: a reader for lines from ichnos or any program that writes a line for each event, and the sink
//! [`JsonLines`]. The format is documented in `docs/jsonl.md`.
//!
//! # Mapping of lines to the model
//!
//! | format | model |
//! |---|---|
//! | lines `stream-begin` with equal `trace` | trace |
//! | line `stream-begin` | data stream; its clock is the default one; equal `class` are one data stream class |
//! | line `event-class` with `fields` | event record class, declared |
//! | line `event-class` without them, or event without such a line | event record class found while reading, from the shape of the event |
//! | line `event` | event record: values |
//! | lines `packet-begin`, `packet-end` | packet, whose header and context are those of events in it, too |
//! | lines `discarded-events`, `discarded-packets` | loss |
//! | line `stack` | call stack in the table of the trace |
//! | line `damage` | damage |
//! | line that cannot be read | damage; reading continues with the next line |
#![forbid(unsafe_code)]

mod class_ids;
mod description;
mod event;
mod fault;
mod field_class;
mod format;
mod index;
mod json_lines;
mod line;
mod marks;
mod members;
mod number_set;
mod open;
mod recognition;
mod rule;
mod selectors;
mod shape;
mod source;
mod stacks;
mod stream;
#[cfg(test)]
#[path = "../../export/src/testing.rs"]
#[allow(dead_code)]
mod testing;
mod time;
mod trace;
mod values;
mod variants;
mod writer;

pub use format::JsonLinesFormat;
pub use json_lines::{Introduction, JsonLines, JsonLinesOptions, JsonLinesState};
pub use writer::JsonLinesWriter;
