//! Answers about traces: statistics ([`StatsReport`]), thread states ([`ThreadReport`]), call stack profiles
//! ([`StackProfile`]), tasks ([`TaskGraph`], [`TaskTable`], [`TaskDiff`]) and the classes of a trace ([`schema`]), as text
//! and as JSON. JSON is written as members of an object, so that it can be a part of any document.
//!
//! [`events`] says what an event means on a timeline, for statistics, threads and viewers alike.
#![forbid(unsafe_code)]

pub mod events;
pub mod schema;
mod span_name;
pub mod stacks;
pub mod stats;
pub mod tasks;
#[cfg(test)]
#[path = "../../export/src/testing.rs"]
#[allow(dead_code)]
mod testing;
pub mod threads;
mod xml;

// Everything has its page in a module. Paths in code are short.
pub use stacks::*;
pub use stats::*;
pub use tasks::*;
pub use threads::*;
