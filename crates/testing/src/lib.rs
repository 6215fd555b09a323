//! What tests of several crates use: [random numbers](Random) of a seed, and [a limit of CPU time](in_cpu_time),
//! which does not depend on the load of the machine.
#![forbid(unsafe_code)]
// Helpers of tests are tests.
#![allow(clippy::panic)]

mod cpu_time;
mod random;

pub use cpu_time::in_cpu_time;
pub use random::{Random, cases};
