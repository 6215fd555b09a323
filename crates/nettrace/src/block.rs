//! Blocks of a file.

use std::ops::Range;

/// Version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// `.netperf`: .NET Core 2.1, and newer runtimes on request.
    V3,
    /// `.nettrace` since .NET Core 3.0. Version 5 is the same with tags in its metadata; files have 4 or 5 in their header.
    V4,
    /// Written by one-collect since 2025: major version 6, and this minor version.
    V6(u32),
}

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// Properties of the whole trace.
    Trace,
    /// Events.
    Event,
    /// Descriptions of events.
    Metadata,
    /// Call stacks.
    Stack,
    /// A barrier, with sequence numbers of threads.
    SequencePoint,
    /// Threads (version 6).
    Thread,
    /// Threads that have ended (version 6).
    RemoveThread,
    /// Lists of labels (version 6).
    LabelList,
    /// A kind unknown to this reader.
    Unknown,
}

/// A block of a file. Offsets are in bytes from the beginning of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Kind of the block.
    pub kind: BlockKind,
    /// Offset of the block.
    pub begin: u64,
    /// Range of its content.
    pub content: Range<u64>,
    /// `true` if the content is complete.
    pub is_whole: bool,
}
