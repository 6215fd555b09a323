//! Fuchsia traces (FXT) and logs: structured log records, and the legacy log packets.
//!
//! [`fxt`] and [`log`] are the codecs. They borrow their input, allocate nothing, and need only `core` (without the feature
//! `std`, which is on by default, only [`log::Splitter`] is missing). With the feature `reader`, the modules
//! `log_reader` and `log_writer` make logs a format of ichnos, `fxt_reader` and `fxt_writer` traces.
//!
//! The module `logger` is for programs that log: a layer of `tracing-subscriber` (feature `tracing`) and a
//! backend of the crate `log` (feature `log`), both of which write records to files and sockets.
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

pub mod fxt;
#[cfg(feature = "reader")]
pub mod fxt_reader;
#[cfg(feature = "reader")]
pub mod fxt_writer;
#[cfg(feature = "reader")]
mod key_hash;
pub mod log;
#[cfg(feature = "reader")]
pub mod log_reader;
#[cfg(feature = "reader")]
pub mod log_writer;
#[cfg(feature = "logger")]
pub mod logger;
mod rule;

#[cfg(feature = "reader")]
pub use fxt_reader::Fxt;
#[cfg(feature = "reader")]
pub use log_reader::FuchsiaLog;
