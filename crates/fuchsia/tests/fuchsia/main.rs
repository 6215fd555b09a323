//! End-to-end tests for the Fuchsia crate, with generated data and with recorded vectors next to the project.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod document;
mod encoder;
mod framing;
mod fxt;
mod legacy;
mod logger;
mod missing_bytes;
mod newer;
mod printf;
mod properties;
mod reader;
mod support;
mod vectors;
mod writer;
