//! Tests of the reader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod encoder;
mod files;
mod messages;
mod properties;
mod support;
