//! Tests of the server, through its addresses.
#![forbid(unsafe_code)]
// Helpers of tests are tests.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

mod access;
mod browser;
mod cache;
mod client;
mod details;
mod events;
mod flows;
mod large;
mod named_spans;
mod state_queries;
mod tasks;
mod thread_states;
mod tiles;
mod trace_file;
