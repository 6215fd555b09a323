//! Connections to scripted relay daemons, and to LTTng's.
#![forbid(unsafe_code)]
// Test helpers count as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod connections;
// LTTng's daemons need Unix.
#[cfg(unix)]
mod recordings;
