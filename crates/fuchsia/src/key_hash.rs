//! Hash of short texts and numbers, for tables that are asked for each record.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Hashes words in a few steps: each is mixed in with a multiplication to twice the width, of which both halves are
/// used. The keys are random, so that no input can choose texts with equal hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyState {
    key: u64,
    factor: u64,
}

impl Default for KeyState {
    fn default() -> Self {
        let random = RandomState::new();
        // The factor is odd, so that the multiplication loses nothing.
        Self { key: random.hash_one(0), factor: random.hash_one(1) | 1 }
    }
}

impl BuildHasher for KeyState {
    type Hasher = KeyHasher;

    #[inline]
    fn build_hasher(&self) -> KeyHasher {
        KeyHasher { state: self.key, factor: self.factor }
    }
}

/// State of a hash.
pub(crate) struct KeyHasher {
    state: u64,
    factor: u64,
}

impl Hasher for KeyHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            // The length of a slice is a part of its hash, so the rest may be padded.
            self.write_u64(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.state ^ value) * u128::from(self.factor);
        self.state = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}
