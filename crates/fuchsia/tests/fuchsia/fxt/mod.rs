//! Tests of traces (FXT).

pub use ichnos_testing::fxt_file as builder;
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
