//! Tests of traces (FXT).

pub mod builder;
mod capture;
mod damaged;
mod document;
pub mod dump;
mod properties;
mod sections;
pub mod trace_processor;
mod vectors;
