//! Stages between readers and sinks.
#![forbid(unsafe_code)]

mod chunks;
mod merge;

pub use chunks::{ChunkSender, in_order};
pub use merge::{DamageCursor, Merge, pump};
