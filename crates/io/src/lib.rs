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
//! Of files that grow, as those of a running tracer do, what was there when they were opened is read.
//!
//! Large files are best mapped into memory. But on Unix, a program that reads a mapped file which another
//! process has shortened, or whose device fails, gets the signal `SIGBUS`, which ends it. To prevent that
//! takes a handler of the signal, of which a process has only one: no library should install it unasked.
//! So there are two ways:
//!
//! - A program that calls [`handle_bus_errors`], as the command `ichnos` does when it starts, has its large
//!   files mapped. Of a file that becomes shorter, what is missing is read as zeros, and [`Bytes::lost`] says so.
//! - In a program that does not call it, no signal is touched, and files are read into memory when they are
//!   opened, up to 1 GiB of them at the same time. What happens to a file later does not matter.
//!
//! What is unpacked to temporary files without a name, which no other process can shorten, is mapped either
//! way. Systems other than Unix do not let mapped files become shorter: there, large files are always mapped.
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

/// Handles mapped files that become shorter while they are read, so that large files are mapped from now on
/// rather than read into memory: for programs that read large traces.
///
/// On Unix this installs a handler of the signal `SIGBUS` for the whole process. It takes care of the mappings of
/// this crate only; all else goes to the handler that was there before. A program that installs its own one
/// later should pass on what it does not know. To call this again does nothing. On other systems nothing has to
/// be installed.
///
/// ```
/// ichnos_io::handle_bus_errors()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the system refuses. Files are read into memory then.
pub fn handle_bus_errors() -> std::io::Result<()> {
    #[cfg(unix)]
    bus_error::handle_bus_errors()?;
    Ok(())
}

#[cfg(test)]
mod testing;
