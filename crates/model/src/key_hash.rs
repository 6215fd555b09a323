//! Fast hash for short texts and numbers, used for lookups on each record.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Hash state that mixes in each word with one multiplication to double width and uses both halves.
///
/// The keys of [`KeyState::default`] are random, so input cannot force collisions.
///
/// ```
/// use std::collections::HashMap;
/// use ichnos_model::key_hash::KeyState;
///
/// let mut numbers: HashMap<&str, u32, KeyState> = HashMap::default();
/// numbers.insert("one", 1);
/// assert_eq!(numbers.get("one"), Some(&1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KeyState {
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

impl KeyState {
    /// Returns a state with constant keys, whose hashes are the same in every run.
    #[must_use]
    pub const fn constant() -> Self {
        Self { key: 0x243f_6a88_85a3_08d3, factor: 0x9e37_79b9_7f4a_7c15 }
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
#[derive(Clone, Copy, Debug)]
pub struct KeyHasher {
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
            // The length comes first, since `str` does not hash its own length.
            self.write_u64(rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_differ() {
        let state = KeyState::default();
        let texts = ["", "a", "\0a", "b", "ab", "ba", "12345678", "123456789", "12345678\0"];
        let mut hashes: Vec<u64> = texts.iter().map(|text| state.hash_one(text)).collect();
        assert_eq!(hashes, texts.map(|text| state.hash_one(text)));
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), texts.len());
        assert_eq!(KeyState::constant().hash_one(7u32), KeyState::constant().hash_one(7u32));
        assert_ne!(KeyState::constant().hash_one((1u32, 2u32)), KeyState::constant().hash_one((2u32, 1u32)));
    }
}
