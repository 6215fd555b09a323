//! Input and output of ichnos.
//!
//! A [`Tree`] is all files below a directory, in an archive, or from a pipe; [`Entry`] is one of them and
//! [`Bytes`] is its content. [`Datagrams`] come from a socket. [`create()`] opens an output. A [`Format`] reads
//! a tree, or datagrams, as traces.
//!
//! This is the only crate of the workspace with `unsafe` code: the memory mapping in `mapping.rs` and
//! `bytes.rs`, what guards it in `bus_error.rs`, and questions to the system in `holes.rs`, `signals.rs` and
//! `standard_output.rs`.
//!
//! # Files that change while they are read
//! Large plain files are mapped. Of files that grow, as those of a running tracer do, what was there
//! at the time of mapping is read. Of a file that another process shortens, or whose device fails, what
//! is missing is read as zeros, and [`Bytes::lost`] says; without that, reading it would end this
//! process with the signal `SIGBUS`. On Unix, a handler of that signal is installed for this when the
//! first file is mapped. It takes care of the mappings of this crate only; all else goes to the handler
//! that was there before. A program that installs its own one later should pass on what it does
//! not know. Other systems do not let mapped files become shorter.
#![deny(unsafe_op_in_unsafe_fn)]

mod archive;
#[cfg(unix)]
mod bus_error;
mod bytes;
mod datagrams;
mod decompress;
mod entry;
mod error;
mod format;
mod format_option;
mod hint;
mod holes;
mod limits;
mod links;
mod mapping;
mod output;
mod problem;
mod scan;
#[cfg(unix)]
mod signals;
mod standard_output;
mod store;
mod tar_archive;
mod tree;
mod walk;
mod zip_archive;

pub use bytes::Bytes;
pub use datagrams::{Datagram, Datagrams};
pub use entry::{Entry, FileId, FileStatus};
pub use error::IoError;
pub use format::{EnclosingTrace, Format, Listen, OpenedTraces, OptionConflict, ReadOptions, Refused};
pub use format_option::{FormatOption, FormatOptions, OptionError, OptionKind, OptionValue};
pub use hint::{Hint, OptionHint};
pub use holes::DataRanges;
pub use limits::IoLimits;
pub use output::{Output, create};
pub use problem::TreeProblem;
pub use scan::{ScanProgress, ScanStep};
#[cfg(unix)]
pub use signals::ignores_signal;
pub use tree::{Tree, TreeOptions};

#[cfg(test)]
mod testing;
