//! Tests of traces (FXT).

pub mod builder;
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
