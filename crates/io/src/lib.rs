//! Input and output of ichnos.
//!
//! A [`Tree`] contains all files below a directory, in an archive, or from a pipe. An [`Entry`] is one file, and
//! [`Bytes`] its content. [`Datagrams`] come from a socket. [`create()`] opens an output. A [`Format`] reads a tree, or
//! datagrams, as traces.
//!
//! This is the only crate in the workspace with `unsafe` code: the memory mapping in `mapping.rs` and `bytes.rs`, its
//! guard in `bus_error.rs`, and system calls in `holes.rs`, `signals.rs` and `standard_output.rs`.
//!
//! # Files that change while they are read
//! Files that grow, for example while a tracer is running, are read up to their size at the time of opening.
//!
//! Large files are mapped into memory. On Unix, a mapped file may shrink because of another process, or its device may
//! fail. Reading it then raises the signal `SIGBUS`, which ends the program. Preventing that takes a signal handler. A
//! process has only one, so no library should install it unasked. Programs that read files which may be truncated
//! concurrently should call [`handle_bus_errors`] once, as the command `ichnos` does when it starts. Missing bytes are
//! then read as zeros, and [`Bytes::lost`] reports them. Systems other than Unix do not let mapped files shrink.
#![deny(unsafe_op_in_unsafe_fn)]

mod archive;
#[cfg(unix)]
mod bus_error;
mod bytes;
mod collect;
mod create;
mod datagrams;
mod decompress;
mod directory_part;
mod entry;
mod error;
mod file_names;
mod file_output;
mod file_parts;
mod format;
mod format_option;
mod hint;
mod holes;
mod input_places;
mod kept;
mod limits;
mod links;
mod mapping;
mod message_encoder;
mod output;
mod output_directory;
mod output_file;
mod packet_index;
mod plain_file;
mod problem;
mod read_files;
mod record_sorter;
mod replacement;
mod scan;
mod schema_language;
mod shard;
#[cfg(unix)]
mod signals;
mod standard_output;
mod store;
mod tar_archive;
mod temporary;
mod trace_file;
mod tree;
mod tree_options;
mod unpack_budget;
mod walk;
mod written_class;
mod zip_archive;

pub use bytes::Bytes;
pub use collect::{
    COLLECTION, COLLECTION_HEAD, CollectSettings, REQUESTS, SEGMENT, StoreReport, TaskKey, numbered_file,
};
pub use create::{
    CreateError, FirstTime, PartTarget, PartsOutput, ReaderRules, SentCounts, Verify, VerifyFn, WriteOptions,
    WriteReport, WriteSource, WriteTarget, WriterFactory,
};
pub use datagrams::{Datagram, DatagramStop, Datagrams};
pub use decompress::unpack_zstd;
pub use directory_part::{DirectoryPart, ExistingPart};
pub use entry::{Entry, FileId, FileStatus};
pub use error::IoError;
pub use file_names::FileNames;
pub use file_output::file_output;
pub use file_parts::file_parts;
pub use format::{
    BabeltraceRules, EnclosingTrace, ExplainContext, Format, FormatInfo, Listen, OpenedTraces,
    OptionConflict, ReadOptions, RefusedTrace,
};
pub use format_option::{FormatOption, FormatOptions, OptionError, OptionKind, OptionValue};
pub use hint::{Hint, OptionHint};
pub use holes::DataRanges;
pub use input_places::{InputPlaces, OutputConflict};
pub use kept::{FilePrint, Kept, KeptTrace};
pub use limits::IoLimits;
pub use message_encoder::{EncoderRules, MessageEncoder, encode_message};
pub use output::{
    ChunkStart, EncodedPacket, JoinResult, Lane, MessageOrder, Output, OutputBlock, Worker, WorkerFlow,
};
pub use output_directory::OutputDirectory;
pub use output_file::{OutputFile, create};
pub use packet_index::{PacketIndex, PacketIndexes};
pub use plain_file::{open_linked, open_plain};
pub use problem::TreeProblem;
pub use read_files::{ReadFile, ReadFiles, open_files};
pub use record_sorter::{RecordSorter, SortedRecords, SorterMemory};
pub use replacement::{
    ExistingOutput, ListWritten, foreign_file, interrupted_replacement, plain_files, recover_replacement,
};
pub use scan::{ScanProgress, ScanStep};
pub use schema_language::{SchemaLanguage, WriteSchema, WrittenSchema};
pub use shard::{Shard, ShardError, WriteShard};
#[cfg(unix)]
pub use signals::ignores_signal;
pub use trace_file::{PartFile, TraceFile, written_trace_files};
pub use tree::Tree;
pub use tree_options::TreeOptions;
pub use written_class::{ClassTreatment, WrittenClass};

/// Handles mapped files that shrink while they are read, which otherwise ends the process. For programs that read files
/// which may be truncated concurrently.
///
/// On Unix, this installs a `SIGBUS` handler for the whole process. It handles only the mappings of this crate and
/// passes everything else on to the previous handler. A program that installs its own handler later should likewise
/// pass on other faults. Calling this again does nothing. On other systems, nothing is installed.
///
/// ```
/// ichnos_io::handle_bus_errors()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Fails if the system refuses.
pub fn handle_bus_errors() -> std::io::Result<()> {
    #[cfg(unix)]
    bus_error::handle_bus_errors()?;
    Ok(())
}

#[cfg(test)]
mod testing;
