//! The command as a user runs it: the built binary on small traces that are made here, and on
//! recorded ones where they are there (`ICHNOS_TRACES`, by default `../shared/traces` beside the
//! project).
// Helpers of tests are tests.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

mod cat;
mod damaged;
mod differential;
mod documents;
mod errors;
mod inspect;
mod limits;
mod log_lines;
mod logs;
mod quirks;
mod recorded;
mod structure;
mod support;
#[cfg(target_os = "linux")]
mod threads;
#[cfg(unix)]
mod truncated;
