//! Indexes of packets beside the files of a trace.

/// What the files of traces in a tree have as indexes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PacketIndexes {
    /// The indexes.
    pub files: Vec<PacketIndex>,
    /// Why there is none of a file or a trace: a sentence each, with its path.
    pub problems: Vec<String>,
}

/// The index of the packets of a file, as a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketIndex {
    /// Its path from the root of the tree on, with `/` between names.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl PacketIndex {
    /// An index at a path from the root of the tree on.
    pub fn new(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes }
    }
}
