//! Fuchsia's logs: structured log records, and the legacy log packets.
//!
//! [`log`] is the codec. It borrows its input, allocates nothing, and needs only `core` (without the feature
//! `std`, which is on by default, only [`log::Splitter`] is missing). With the feature `reader`, the modules
//! `reader` and `writer` make logs a format of ichnos.
//!
//! The module `logger` is for programs that log: a layer of `tracing-subscriber` (feature `tracing`) and a
//! backend of the crate `log` (feature `log`), both of which write records to files and sockets.
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

pub mod log;
#[cfg(feature = "logger")]
pub mod logger;
#[cfg(feature = "reader")]
pub mod reader;
#[cfg(feature = "reader")]
pub mod writer;

#[cfg(feature = "reader")]
pub use reader::FuchsiaLog;
