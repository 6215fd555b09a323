//! FXT tests.

/// Trace builder.
pub mod builder {
    pub use ichnos_testing::fxt_file::{FxtBuilder as Builder, *};
}
mod capture;
mod clocks;
mod damaged;
pub mod document;
pub mod dump;
mod killed;
mod losses;
pub mod properties;
mod sections;
pub mod trace_processor;
mod vectors;
mod windows;
pub mod writer;
