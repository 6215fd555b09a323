//! Fuchsia's logs: structured log records and the log packets before them.
//!
//! [`log`] is the codec. It borrows what it reads, allocates nothing, and needs nothing but `core`
//! (without the feature `std`, which is on by default, only [`log::Splitter`] is missing).
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

pub mod log;
