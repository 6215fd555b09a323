//! Tests of the whole library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod examples;
mod text_output;
mod values;
