//! How much is read before it is refused.

/// Limits of trees and of decompression. Whoever reads only trusted input may raise them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IoLimits {
    /// Bytes that all compressed data of one tree may become, and that a pipe may deliver.
    /// Default: 16 GiB.
    pub decompressed_bytes: u64,
    /// How many times larger than its compressed form data may become, once there are more than
    /// 64 MiB of it. Default: 1000.
    pub ratio: u64,
    /// Number of files in a tree. Default: 1,000,000.
    pub entries: usize,
    /// Depth of nested folders. Default: 64.
    pub depth: u32,
}

impl Default for IoLimits {
    fn default() -> Self {
        Self { decompressed_bytes: 16 << 30, ratio: 1000, entries: 1_000_000, depth: 64 }
    }
}
