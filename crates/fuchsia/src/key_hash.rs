//! Fast hash for short texts and numbers, used for lookups on each record.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Hash state that mixes in each word with one multiplication to double width and uses both halves.
///
/// The keys are random, so input cannot force collisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyState {
    key: u64,
    factor: u64,
}

impl Default for KeyState {
    fn default() -> Self {
        let random = RandomState::new();
        // An odd factor keeps all bits in the multiplication.
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
            // The slice length is also hashed, so the rest can be padded.
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
