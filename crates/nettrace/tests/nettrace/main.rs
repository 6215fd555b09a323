//! End-to-end tests of the reader: what it makes of recorded files, compared with what the reference reader,
//! TraceEvent, made of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod baselines;
mod comparison;
mod counts;
mod differences;
mod dumps;
mod reference;
mod support;
mod typed;
mod workload;
