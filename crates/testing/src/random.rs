//! Seeded random numbers.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Seeded random number generator.
#[derive(Debug)]
pub struct Random {
    seed: u64,
    rng: TestRng,
}

/// Calls `case` with the random numbers for each seed below `count`. If `ICHNOS_SEED` is set, uses only this seed.
/// Returns the number of cases. If a case fails, its seed is printed.
///
/// # Panics
/// If the variable is not a number.
pub fn cases(count: u64, mut case: impl FnMut(&mut Random)) -> u64 {
    let seeds = match std::env::var("ICHNOS_SEED") {
        Ok(seed) => {
            let Ok(seed) = seed.parse() else { panic!("ICHNOS_SEED={seed} is not a number") };
            seed..=seed
        }
        Err(_) if count == 0 => return 0,
        Err(_) => 0..=count - 1,
    };
    let done = seeds.end() - seeds.start() + 1;
    for seed in seeds {
        let _seed = FailedSeed(seed);
        case(&mut Random::new(seed));
    }
    done
}

/// Seed that is printed if its case fails.
struct FailedSeed(u64);

impl Drop for FailedSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was the case of seed {0}: ICHNOS_SEED={0} repeats it alone", self.0);
        }
    }
}

impl Random {
    /// Creates a generator. Equal seeds give equal numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self { seed, rng: TestRng::from_seed(RngAlgorithm::ChaCha, &bytes) }
    }

    /// Creates a generator that takes its numbers from bytes, for fuzzing. After the last byte, all numbers are 0.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self { seed: 0, rng: TestRng::from_seed(RngAlgorithm::PassThrough, bytes) }
    }

    /// Returns the seed. In [`cases`], it is the case number.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns any number.
    pub fn number(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Returns a number below `end`, or 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The high half of the product is as uniform as possible.
        ((u128::from(self.number()) * u128::from(end)) >> 64) as u64
    }

    /// Returns an index below `len`.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns a random element. `from` must not be empty.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// Returns `true` in one of `times` cases.
    pub fn is_one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns `true` in this percentage of cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns any byte.
    pub fn byte(&mut self) -> u8 {
        self.number() as u8
    }

    /// Returns any bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            [random.number(), random.below(10), random.pick(&[1, 2, 3]), random.bytes(1)[0].into()]
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }

    #[test]
    fn all_values_occur() {
        let mut random = Random::new(0);
        let mut counts = [0; 5];
        (0..5_000).for_each(|_| counts[random.index(5)] += 1);
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert!(!random.percent(0) && random.percent(100) && random.is_one_in(1));
    }

    #[test]
    fn each_case_has_a_seed() {
        if std::env::var_os("ICHNOS_SEED").is_some() {
            return;
        }
        let mut numbers = Vec::new();
        assert_eq!(cases(10, |random| numbers.push(random.number())), 10);
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 10);
        assert_eq!(cases(0, |_| unreachable!()), 0);
    }
}
