//! Tests of the reader and the receiver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod encoder;
mod files;
mod hostile;
mod http;
mod messages;
mod properties;
mod support;
