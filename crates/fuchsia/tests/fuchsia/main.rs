//! End-to-end tests of the Fuchsia crate, over what is made here and over the vectors that lie beside the
//! project.
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
