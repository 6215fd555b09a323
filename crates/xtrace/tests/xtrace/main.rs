//! Tests of the crate as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod document;
mod properties;
mod reader;
mod reports;
mod support;
mod vectors;
