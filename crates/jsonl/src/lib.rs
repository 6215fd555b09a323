//! Traces as JSON Lines. A reader for lines from ichnos, or from any program that writes one line per event, and the
//! sink [`JsonLines`]. `docs/jsonl.md` documents the format.
//!
//! # Mapping from lines to the model
//!
//! | format | model |
//! |---|---|
//! | lines `stream-begin` with equal `trace` | trace |
//! | line `stream-begin` | data stream with its default clock (equal `class`: same data stream class) |
//! | line `event-class` with `fields` | event record class, declared |
//! | line `event-class` without `fields`, or event without it | event record class, derived from the event's shape |
//! | line `event` | event record: values |
//! | lines `packet-begin`, `packet-end` | packet, whose header and context also belong to its events |
//! | lines `discarded-events`, `discarded-packets` | loss |
//! | line `stack` | call stack in the trace's table |
//! | line `damage` | damage |
//! | unreadable line | damage, and reading continues with the next line |
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
