//! Indexes of packets beside the files of a trace.

/// Indexes for the files of traces in a tree.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PacketIndexes {
    /// Index files.
    pub files: Vec<PacketIndex>,
    /// Reasons why a file or a trace has no index: a sentence each, with its path.
    pub problems: Vec<String>,
}

/// The index of a file's packets, as a separate file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketIndex {
    /// Path from the root of the tree, with `/` between names.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
}

impl PacketIndex {
    /// Makes an index at a path from the root of the tree.
    pub fn new(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes }
    }
}
