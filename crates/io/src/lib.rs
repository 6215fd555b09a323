//! Where ichnos reads bytes from and writes them to.
//!
//! [`Tree`] is all files below a folder, in an archive, or in what a pipe delivers; [`Entry`] is
//! one of them and [`Bytes`] is its content. [`create()`] is the other direction. [`Datagrams`] are what
//! arrives at a socket.
//!
//! This is the only crate of the workspace with `unsafe` code: the memory mapping in `mapping.rs` and
//! `bytes.rs`, and what guards it in `bus_error.rs`.
//!
//! # Files that change while they are read
//! Large plain files are mapped. Of files that grow, as those of a running tracer do, what was there
//! at the time of mapping is read. Of a file that another process shortens, or whose device fails, what
//! is missing is read as zeros, and [`Bytes::lost`] tells; without that, reading it would end this
//! process with the signal `SIGBUS`. On Unix, a handler of that signal is installed for this when the
//! first file is mapped. It takes care of the mappings of this crate only; all else goes to the handler
//! that was there before. A program that installs its own one later should hand on what it does
//! not know. Other systems do not let mapped files become shorter.
#![deny(unsafe_op_in_unsafe_fn)]

mod archive;
#[cfg(unix)]
mod bus_error;
mod bytes;
mod datagrams;
mod decompress;
mod error;
mod limits;
mod links;
mod mapping;
mod output;
mod scan;
mod store;
mod tar_archive;
mod tree;
mod zip_archive;

pub use bytes::Bytes;
pub use datagrams::{Datagram, Datagrams};
pub use error::IoError;
pub use limits::IoLimits;
pub use output::{Output, create};
pub use scan::{ScanProgress, ScanStep};
pub use tree::{Entry, Tree, TreeOptions};

#[cfg(test)]
mod testing;
