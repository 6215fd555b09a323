//! Hashes that are the same on every machine and in every run.

/// FNV-1a with 64 bits, whose bits are mixed at the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes, whose number counts, too.
    #[must_use]
    pub(crate) fn with(self, bytes: &[u8]) -> Self {
        let mut hash = self.0;
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(hash)
    }

    /// Returns the hash of everything added.
    pub(crate) fn hash(self) -> u64 {
        // The finalizer of MurmurHash3.
        let mut hash = self.0;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    }
}
