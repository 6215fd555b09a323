//! Value hash.

use crate::clock::ClockValue;
use crate::decode::first_word;

/// Hash of the visited values in an event record or packet. Names and classes do not count. The order counts.
#[derive(Clone, Copy, Debug)]
pub struct ValueHash(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl ValueHash {
    /// Starts a hash with a number.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x51_7c_c1_b7_27_22_0a_95)
    }

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, value: u64) {
        // The product does not depend on the previous hash, so several values are mixed in at once.
        self.0 = self.0.rotate_left(23).wrapping_add(value.wrapping_mul(FACTOR));
    }

    /// Adds a time, if any.
    #[inline]
    pub fn add_clock(&mut self, value: Option<&ClockValue>) {
        if let Some(value) = value {
            self.add(value.cycles);
            self.add(value.nanoseconds as u64);
        }
    }

    /// Adds bytes and their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.add_bytes(bytes, bytes);
    }

    /// Adds bytes. `raw` begins with them, and may be longer.
    #[inline(always)]
    pub(crate) fn add_bytes(&mut self, bytes: &[u8], raw: &[u8]) {
        self.add(bytes.len() as u64);
        if let (Some(first), 1..8) = (raw.first_chunk::<8>(), bytes.len()) {
            return self.add(u64::from_le_bytes(*first) & !(u64::MAX << (bytes.len() * 8)));
        }
        let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) else {
            return self.add(first_word(bytes));
        };
        // The last eight bytes may overlap those before. The length distinguishes the two.
        self.add(u64::from_le_bytes(*first));
        if bytes.len() > 16 {
            for word in bytes[8..bytes.len() - 1].as_chunks::<8>().0 {
                self.add(u64::from_le_bytes(*word));
            }
        }
        self.add(u64::from_le_bytes(*last));
    }

    /// Returns the hash. Its bits are spread, so that sums of hashes do not cancel out.
    #[must_use]
    pub fn finish(self) -> u64 {
        let hash = (self.0 ^ self.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^ hash >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_however_they_lie() {
        let hash = |bytes: &[u8], raw: &[u8]| {
            let mut hash = ValueHash::new(0);
            hash.add_bytes(bytes, raw);
            hash.finish()
        };
        let all: Vec<u8> = (1..=40).collect();
        for length in 0..=30 {
            let bytes = &all[..length];
            assert_eq!(hash(bytes, bytes), hash(bytes, &all), "{length}");
            for other in 0..length {
                let mut changed = bytes.to_vec();
                changed[other] ^= 0x80;
                assert_ne!(hash(bytes, bytes), hash(&changed, &changed), "{length} {other}");
            }
        }
    }
}
