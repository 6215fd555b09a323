//! Packet indexes next to trace files.

/// Indexes for the trace files in a tree.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PacketIndexes {
    /// Index files.
    pub files: Vec<PacketIndex>,
    /// Reasons why a file or a trace has no index, one sentence each, with the path.
    pub problems: Vec<String>,
}

/// Index for a file's packets, as a separate file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketIndex {
    /// Path from the tree root, with `/` between names.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
}

impl PacketIndex {
    /// Creates an index at a path from the tree root.
    pub fn new(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes }
    }
}
