//! Fuchsia traces (FXT) and logs: structured log records and legacy log packets.
//!
//! [`fxt`] and [`log`] are codecs. They borrow their input, allocate nothing, and need only `core`. Without the default
//! feature `std`, only [`log::Splitter`] is missing. The feature `reader` adds the ichnos formats: modules
//! `log_reader` and `log_writer` for logs, `fxt_reader` and `fxt_writer` for traces.
//!
//! The module `logger` is for programs that log. It is a `tracing-subscriber` layer (feature `tracing`) and a backend
//! for the crate `log` (feature `log`). Both write records to files and sockets.
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

pub mod fxt;
#[cfg(feature = "reader")]
pub mod fxt_reader;
#[cfg(feature = "reader")]
pub mod fxt_writer;
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
