//! File blocks.

use std::ops::Range;

/// File format version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// `.netperf`: .NET Core 2.1, and newer runtimes on request.
    V3,
    /// `.nettrace` since .NET Core 3.0. Version 5 adds tags to the metadata. Its header contains 4 or 5.
    V4,
    /// Major version 6, with this minor version. Written by one-collect since 2025.
    V6(u32),
}

/// Block kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// Properties of the whole trace.
    Trace,
    /// Events.
    Event,
    /// Event descriptions.
    Metadata,
    /// Call stacks.
    Stack,
    /// Barrier with all threads' sequence numbers.
    SequencePoint,
    /// Threads (version 6).
    Thread,
    /// Ended threads (version 6).
    RemoveThread,
    /// Label lists (version 6).
    LabelList,
    /// A kind unknown to this reader.
    Unknown,
}

/// Block of a file. Offsets are in bytes from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Block kind.
    pub kind: BlockKind,
    /// Block offset.
    pub begin: u64,
    /// Content range.
    pub content: Range<u64>,
    /// `true` if the content is complete.
    pub is_whole: bool,
}
