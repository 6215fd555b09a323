//! Answers about traces as text and JSON: statistics ([`StatsReport`]), thread states ([`ThreadReport`]), call stack
//! profiles ([`StackProfile`]), tasks ([`TaskGraph`], [`TaskTable`], [`TaskDiff`]) and trace classes ([`schema`]). JSON
//! is written as object members, so that it can be part of any document.
//!
//! [`events`] turns events into timeline elements for statistics, threads and viewers.
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
