//! Limits of the input.

/// Limits of trees and of decompression. Raise them if all input is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IoLimits {
    /// Total bytes that the compressed data of one tree may become, and that a pipe may deliver. Default: 16
    /// GiB.
    pub decompressed_bytes: u64,
    /// Maximum ratio of the unpacked to the packed size of an archive or a compressed file. Default: 1000.
    pub ratio: u64,
    /// Maximum ratio for the smallest ones, raised by one for each 64 packed bytes, up to `ratio`: a file of
    /// a few bytes should not cost as much as a large one. Default: 128.
    pub small_ratio: u64,
    /// Number of files in a tree. Default: 1,000,000.
    pub entries: usize,
    /// Depth of nested directories. Default: 64.
    pub depth: u32,
}

impl Default for IoLimits {
    fn default() -> Self {
        Self { decompressed_bytes: 16 << 30, ratio: 1000, small_ratio: 128, entries: 1_000_000, depth: 64 }
    }
}

/// Bytes that even the smallest archive may become: empty archives are mostly padding.
const ANYWAY: u64 = 64 << 10;

impl IoLimits {
    /// Returns the number of bytes that this many packed ones may become.
    #[must_use]
    pub fn unpacked(&self, packed: u64) -> u64 {
        let ratio = self.ratio.min(self.small_ratio.saturating_add(packed / 64));
        packed.saturating_mul(ratio).max(ANYWAY).min(self.decompressed_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_archives_become_less() {
        let limits = IoLimits::default();
        assert_eq!(limits.unpacked(0), 64 << 10);
        assert_eq!(limits.unpacked(1 << 10), 144 << 10);
        assert_eq!(limits.unpacked(1 << 16), 1000 << 16);
        assert_eq!(limits.unpacked(1 << 60), 16 << 30);
        let trusting = IoLimits { ratio: 5000, small_ratio: 5000, ..limits };
        assert_eq!(trusting.unpacked(1 << 10), 5000 << 10);
    }
}
