//! Server tests through its HTTP interface.
#![forbid(unsafe_code)]
// Test helpers may panic like tests.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

mod access;
mod browser;
mod cache;
mod client;
mod details;
mod early_times;
mod events;
mod flows;
mod large;
mod named_spans;
mod named_threads;
mod span_flames;
mod state_queries;
mod tasks;
mod thread_states;
mod tiles;
mod trace_file;
