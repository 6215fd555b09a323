//! Fuchsia's logs: structured log records and the log packets before them.
//!
//! [`log`] is the codec. It borrows what it reads, allocates nothing, and needs nothing but `core`
//! (without the feature `std`, which is on by default, only [`log::Splitter`] is missing). The feature
//! `reader` adds [`reader`](https://docs.rs/ichnos-fuchsia), which puts files of logs behind the model of
//! ichnos.
//!
//! Off by default is the logger: with the feature `tracing` it is a layer of `tracing-subscriber`, with the
//! feature `log` a backend of the crate `log`; it writes records to files and sockets.
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

pub mod log;
#[cfg(feature = "logger")]
pub mod logger;
#[cfg(feature = "reader")]
pub mod reader;
