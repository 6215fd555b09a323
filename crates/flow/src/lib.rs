//! Stages between readers and sinks.
#![forbid(unsafe_code)]

mod merge;

pub use merge::{DamageCursor, Merge, pump};
