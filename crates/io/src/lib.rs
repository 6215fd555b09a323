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
//! Large files are mapped into memory. On Unix, a program that reads a mapped file which another process has
//! shortened, or whose device fails, gets the signal `SIGBUS`, which ends it. To prevent that takes a handler of
//! the signal, of which a process has only one: no library should install it unasked. So a program that reads
//! files which others may shorten calls [`handle_bus_errors`] once, as the command `ichnos` does when it starts.
//! Then, what is missing is read as zeros, and [`Bytes::lost`] says so. Systems other than Unix do not let mapped
//! files become shorter.
#![deny(unsafe_op_in_unsafe_fn)]

mod archive;
#[cfg(unix)]
mod bus_error;
mod bytes;
mod collect;
mod create;
mod datagrams;
mod decompress;
mod entry;
mod error;
mod file_names;
mod format;
mod format_option;
mod hint;
mod holes;
mod input_places;
mod limits;
mod links;
mod mapping;
mod output;
mod output_directory;
mod packet_index;
mod plain_file;
mod problem;
mod replacement;
mod scan;
mod schema_language;
#[cfg(unix)]
mod signals;
mod standard_output;
mod store;
mod tar_archive;
mod tree;
mod walk;
mod zip_archive;

pub use bytes::Bytes;
pub use collect::{COLLECTION, COLLECTION_HEAD, Collect, SEGMENT, StoreReport, TaskKey, numbered_file};
pub use create::{
    CreateError, EncodedBlock, EncodedPacket, Encoder, Lane, MessageOrder, PartTarget, PartsOutput,
    TraceOutput, TraceWriter, Verify, VerifyFn, WriteOptions, WriteReport, WriteSource, WriteTarget,
};
pub use datagrams::{Datagram, Datagrams};
pub use entry::{Entry, FileId, FileStatus};
pub use error::IoError;
pub use file_names::FileNames;
pub use format::{EnclosingTrace, Format, Listen, OpenedTraces, OptionConflict, ReadOptions, Refused};
pub use format_option::{FormatOption, FormatOptions, OptionError, OptionKind, OptionValue};
pub use hint::{Hint, OptionHint};
pub use holes::DataRanges;
pub use input_places::{InputPlaces, OutputConflict};
pub use limits::IoLimits;
pub use output::{Output, create};
pub use output_directory::OutputDirectory;
pub use packet_index::{PacketIndex, PacketIndexes};
pub use plain_file::{open_linked, open_plain};
pub use problem::TreeProblem;
pub use replacement::{
    Existing, ListWritten, foreign_file, interrupted_replacement, plain_files, recover_replacement,
};
pub use scan::{ScanProgress, ScanStep};
pub use schema_language::{SchemaLanguage, WriteSchema, WrittenSchema};
#[cfg(unix)]
pub use signals::ignores_signal;
pub use tree::{Tree, TreeOptions};

/// Handles mapped files that become shorter while they are read, which else ends the process: for programs that
/// read files which other programs may shorten.
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
/// If the system refuses.
pub fn handle_bus_errors() -> std::io::Result<()> {
    #[cfg(unix)]
    bus_error::handle_bus_errors()?;
    Ok(())
}

#[cfg(test)]
mod testing;
