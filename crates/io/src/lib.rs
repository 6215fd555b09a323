//! Where ichnos reads bytes from and writes them to.
//!
//! [`Tree`] is all files below a folder, in an archive, or in what a pipe delivers; [`Entry`] is
//! one of them and [`Bytes`] is its content. [`create()`] is the other direction.
//!
//! This is the only crate of the workspace with `unsafe` code: the memory mapping in `bytes.rs`.
//! A mapped file that another process shortens while it is read ends this process with `SIGBUS`;
//! surviving that is an open issue. Files that only grow, as those of a running tracer do, are
//! safe: what was there at the time of mapping is read.
#![deny(unsafe_op_in_unsafe_fn)]

mod archive;
mod bytes;
mod decompress;
mod error;
mod limits;
mod output;
mod tree;

pub use bytes::Bytes;
pub use error::IoError;
pub use limits::IoLimits;
pub use output::{Output, create};
pub use tree::{Entry, Tree};

#[cfg(test)]
mod testing;
