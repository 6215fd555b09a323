//! Sessions, ports and launched programs with fake runtimes, which also lie, and with real runtimes.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
// Test helpers count as tests.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

mod fake_runtime;
mod hostile;
mod launching;
mod real_runtimes;
mod requests;
mod sessions;
