//! Input limits.

/// Limits for trees and decompression. Raise them if all input is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IoLimits {
    /// Maximum unpacked size of all compressed data in one tree, and maximum size of a pipe's data, in bytes. Default:
    /// 16 GiB.
    pub decompressed_bytes: u64,
    /// Maximum ratio between unpacked and packed size of an archive or a compressed file, if the unpacked size exceeds
    /// 64 MiB. Default: 1000.
    pub ratio: u64,
    /// Number of files in a tree. Default: 1,000,000.
    pub entries: usize,
    /// Depth of nested directories. Default: 64.
    pub depth: u32,
}

impl Default for IoLimits {
    fn default() -> Self {
        Self { decompressed_bytes: 16 << 30, ratio: 1000, entries: 1_000_000, depth: 64 }
    }
}

/// Unpacked bytes allowed even for the smallest archive. They cost little, and traces with few events in large packets
/// are almost all padding.
const ANYWAY: u64 = 64 << 20;

impl IoLimits {
    /// Returns the number of unpacked bytes allowed for `packed` bytes.
    #[must_use]
    pub fn unpacked(&self, packed: u64) -> u64 {
        packed.saturating_mul(self.ratio).max(ANYWAY).min(self.decompressed_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_archives_become_less_than_large_ones() {
        let limits = IoLimits::default();
        assert_eq!(limits.unpacked(0), 64 << 20);
        assert_eq!(limits.unpacked(1 << 16), 64 << 20);
        assert_eq!(limits.unpacked(1 << 20), 1000 << 20);
        assert_eq!(limits.unpacked(1 << 60), 16 << 30);
        let tight = IoLimits { decompressed_bytes: 1 << 20, ..limits };
        assert_eq!(tight.unpacked(1 << 16), 1 << 20);
    }
}
