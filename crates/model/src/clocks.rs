//! Clocks: their classes, and conversion of cycles to nanoseconds.

pub use crate::clock::{ClockArithmetic, ClockClass, ClockOffsets, ClockOrigin, ClockValue};
pub use crate::wall_clock::WallClock;
