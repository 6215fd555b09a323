//! Stages between readers and sinks.
#![forbid(unsafe_code)]

mod merge;
mod parts;

pub use merge::{DamageCursor, Merge, pump};
pub use parts::{Outlet, in_order};
