//! Detects reports that are equal to a recent report.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Minimum number of remembered reports.
const WINDOW: usize = 1 << 19;

/// Hashes of recent reports: at least the last [`WINDOW`], at most twice as many.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    recent: HashSet<u64, IdentityHash>,
    older: HashSet<u64, IdentityHash>,
}

impl Duplicates {
    /// Remembers a report. Returns `true` for a duplicate.
    pub(crate) fn is_duplicate(&mut self, hash: u64) -> bool {
        if self.recent.contains(&hash) {
            return true;
        }
        let before = self.older.contains(&hash);
        if self.recent.len() == WINDOW {
            // Reuse the memory of the older ones.
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
        }
        self.recent.insert(hash);
        before
    }
}

type IdentityHash = BuildHasherDefault<IdentityHasher>;

/// Hasher for values that are already hashes.
#[derive(Debug, Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known() {
        let mut duplicates = Duplicates::default();
        let hash = |number: usize| (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let most = 3 * WINDOW;
        for number in 0..most {
            assert!(!duplicates.is_duplicate(hash(number)), "{number}");
        }
        for number in most - WINDOW..most {
            assert!(duplicates.is_duplicate(hash(number)), "{number}");
        }
        assert!(!duplicates.is_duplicate(hash(0)));
        assert!(duplicates.is_duplicate(hash(0)));
        assert!(duplicates.recent.len() <= WINDOW && duplicates.older.len() <= WINDOW);
    }
}
