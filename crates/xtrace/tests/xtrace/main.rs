//! Tests of the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod carriers;
mod document;
#[path = "../../examples/figure_1.rs"]
mod figure_1;
mod generated_tasks;
mod operations;
mod propagation;
mod properties;
mod queued;
mod reader;
mod reports;
mod support;
mod vectors;
mod written;
