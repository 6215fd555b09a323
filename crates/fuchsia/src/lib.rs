//! Fuchsia's logs: structured log records, and the legacy log packets.
//!
//! [`log`] is the codec. It borrows what it reads, allocates nothing, and needs nothing but `core`
//! (without the feature `std`, which is on by default, only [`log::Splitter`] is missing). With the
//! feature `reader`, the modules `reader` and `writer` make logs a format of ichnos.
//!
//! The module `logger` is for programs that log: with the feature `tracing` it has a layer of
//! `tracing-subscriber`, with the feature `log` a backend of the crate `log`, both of which write records to
//! files and sockets.
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
