//! Number distributions: exact for few different numbers, otherwise with a small error.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

use ichnos_model::field::FieldValue;

/// Number, stored as an integer if possible. Its representation in the trace does not matter.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Number {
    /// An integer.
    Integer(i128),
    /// Number that is not an integer of up to 128 bits. Never NaN.
    Real(f64),
}

impl Number {
    /// Converts a floating-point number. `None` for NaN.
    #[must_use]
    pub fn from_real(value: f64) -> Option<Self> {
        /// 2 to the power of 127.
        const END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
        if value.is_nan() {
            None
        } else if value.fract() == 0.0 && (-END..END).contains(&value) {
            Some(Self::Integer(value as i128))
        } else {
            Some(Self::Real(value))
        }
    }

    /// Converts a field value. `None` if it is not a number. A boolean is 0 or 1.
    #[must_use]
    pub fn from_value(value: &FieldValue<'_>) -> Option<Self> {
        match value {
            FieldValue::Real(real) => Self::from_real(real.to_f64()),
            FieldValue::Boolean(value) => Some(Self::Integer((*value).into())),
            value => value.as_i128().map(Self::Integer),
        }
    }

    /// Returns the number as a float, rounded.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    /// Returns the bin for this number.
    fn bin(self) -> i32 {
        let (is_negative, exponent, below) = match self {
            Self::Integer(0) => return 0,
            Self::Integer(value) => {
                let magnitude = value.unsigned_abs();
                let exponent = magnitude.ilog2();
                let below = match exponent.checked_sub(STEP_BITS) {
                    Some(shift) => magnitude >> shift,
                    None => magnitude << (STEP_BITS - exponent),
                };
                (value < 0, exponent as i32, below as i32 & (STEPS - 1))
            }
            Self::Real(value) => {
                let (exponent, below) = parts(value.abs());
                (value < 0.0, exponent, below)
            }
        };
        let bin = (exponent - LEAST_EXPONENT) * STEPS + below + 1;
        if is_negative { -bin } else { bin }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            // A float is either between integers that are exact here, or beyond all integers.
            (Self::Integer(a), Self::Real(b)) => (*a as f64).total_cmp(b).then(Ordering::Less),
            (Self::Real(a), Self::Integer(b)) => a.total_cmp(&(*b as f64)).then(Ordering::Greater),
            (Self::Real(a), Self::Real(b)) => a.total_cmp(b),
        }
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Integer(value) => value.hash(state),
            Self::Real(value) => value.to_bits().hash(state),
        }
    }
}

/// Number of bins per power of two, as a power of two.
const STEP_BITS: u32 = 7;
const STEPS: i32 = 1 << STEP_BITS;
/// Exponent for the smallest 64-bit number.
const LEAST_EXPONENT: i32 = -1074;
/// Exponent for the infinity bin.
const INFINITE: i32 = 2_000;

/// Returns the exponent of a positive floating-point number, and its bin within it.
fn parts(value: f64) -> (i32, i32) {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    if value.is_infinite() {
        return (INFINITE, 0);
    }
    let bits = value.to_bits();
    let mantissa = bits & ((1 << MANTISSA) - 1);
    match (bits >> MANTISSA) as i32 {
        0 => {
            // The most significant set bit is the leading one.
            let top = mantissa.checked_ilog2().unwrap_or_default();
            let below = mantissa << (MANTISSA - top) >> (MANTISSA - STEP_BITS);
            (LEAST_EXPONENT + top as i32, below as i32 & (STEPS - 1))
        }
        exponent => (exponent - 1023, (mantissa >> (MANTISSA - STEP_BITS)) as i32),
    }
}

/// Returns the number in the middle of a bin.
fn middle(bin: i32) -> f64 {
    if bin == 0 {
        return 0.0;
    }
    let (exponent, below) = ((bin.abs() - 1) / STEPS + LEAST_EXPONENT, (bin.abs() - 1) % STEPS);
    if exponent == INFINITE {
        return f64::INFINITY.copysign(bin.into());
    }
    let magnitude = (1.0 + (f64::from(below) + 0.5) / f64::from(STEPS)) * f64::from(exponent).exp2();
    magnitude.copysign(bin.into())
}

/// Distribution of numbers, independent of their order.
///
/// With few different numbers, all are kept and everything is exact. With more, each is counted in one of 128 bins per
/// power of two. Quantiles can then be wrong by up to [`Distribution::ERROR`] of their value. Minimum, maximum and mean
/// are always exact, except for rounding of the mean.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Count by number. `None` after the limit was exceeded.
    numbers: Option<HashMap<Number, u64>>,
    /// Count by bin, used after the limit was exceeded.
    bins: HashMap<i32, u64>,
    /// Maximum number of different numbers.
    most: usize,
    count: u64,
    range: Option<(Number, Number)>,
    has_reals: bool,
    /// Integer sum. The total also includes the float sum.
    integers: i128,
    reals: f64,
}

/// Numbers from one power of two up to the next, their negatives, or zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerBin {
    /// Sign and exponent of [`PowerBin::begin`] and [`PowerBin::end`]: the sign is 0 for the bin of 0.
    sign: i32,
    exponent: i32,
    /// Number count.
    pub count: u64,
}

impl PowerBin {
    /// Returns the boundary closest to 0. It is in the bin.
    #[must_use]
    pub fn begin(&self) -> f64 {
        self.bound(self.exponent)
    }

    /// Returns the boundary farthest from 0, a power of two. It is not in the bin.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.bound(self.exponent.saturating_add(1))
    }

    fn bound(&self, exponent: i32) -> f64 {
        let magnitude = if exponent >= INFINITE { f64::INFINITY } else { f64::from(exponent).exp2() };
        f64::from(self.sign) * if self.sign == 0 { 0.0 } else { magnitude }
    }

    /// Returns the number of empty bins before a later bin.
    #[must_use]
    pub fn empty_bins_before(&self, later: &Self) -> u64 {
        let distance = match (self.sign, later.sign) {
            (a, b) if a == b && a != 0 => self.exponent.abs_diff(later.exponent),
            // The number of bins around zero is undefined.
            _ => 1,
        };
        u64::from(distance.saturating_sub(1))
    }
}

impl Distribution {
    /// Maximum relative error of a quantile.
    pub const ERROR: f64 = 1.0 / (2 * STEPS) as f64;

    /// Creates an empty distribution. It is exact for up to `most` different numbers.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            numbers: Some(HashMap::new()),
            bins: HashMap::new(),
            most,
            count: 0,
            range: None,
            has_reals: false,
            integers: 0,
            reals: 0.0,
        }
    }

    /// Adds a number.
    pub fn add(&mut self, number: Number) {
        self.count += 1;
        self.add_to_range(number, number);
        match number {
            Number::Integer(value) => self.add_to_sum(value, 0.0),
            Number::Real(value) => {
                self.has_reals = true;
                self.add_to_sum(0, value);
            }
        }
        self.count_number(number, 1);
    }

    /// Merges another distribution.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.has_reals |= other.has_reals;
        if let Some((least, greatest)) = other.range {
            self.add_to_range(least, greatest);
        }
        self.add_to_sum(other.integers, other.reals);
        match other.numbers {
            Some(numbers) => {
                numbers.into_iter().for_each(|(number, count)| self.count_number(number, count));
            }
            None => {
                self.leave_numbers();
                other.bins.into_iter().for_each(|(bin, count)| self.count_bin(bin, count));
            }
        }
    }

    fn add_to_range(&mut self, least: Number, greatest: Number) {
        self.range = Some(match self.range {
            Some(range) => (range.0.min(least), range.1.max(greatest)),
            None => (least, greatest),
        });
    }

    fn add_to_sum(&mut self, integer: i128, real: f64) {
        self.reals += real;
        match self.integers.checked_add(integer) {
            Some(sum) => self.integers = sum,
            None => self.reals += integer as f64,
        }
    }

    fn count_number(&mut self, number: Number, count: u64) {
        if let Some(numbers) = &mut self.numbers {
            if let Some(known) = numbers.get_mut(&number) {
                *known += count;
                return;
            }
            if numbers.len() < self.most {
                numbers.insert(number, count);
                return;
            }
            self.leave_numbers();
        }
        self.count_bin(number.bin(), count);
    }

    fn count_bin(&mut self, bin: i32, count: u64) {
        *self.bins.entry(bin).or_default() += count;
    }

    /// Switches to bins.
    #[cold]
    fn leave_numbers(&mut self) {
        let numbers = self.numbers.take();
        numbers.into_iter().flatten().for_each(|(number, count)| self.count_bin(number.bin(), count));
    }

    /// Returns how many numbers were added.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest and the largest number. `None` if the distribution is empty.
    #[must_use]
    pub fn range(&self) -> Option<(Number, Number)> {
        self.range
    }

    /// Returns the mean. `None` if the distribution is empty.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.integers as f64 + self.reals) / self.count as f64)
    }

    /// Returns the sum. `None` if the distribution is empty.
    #[must_use]
    pub fn total(&self) -> Option<Number> {
        if self.count == 0 {
            return None;
        }
        if self.reals == 0.0 {
            Some(Number::Integer(self.integers))
        } else {
            Number::from_real(self.integers as f64 + self.reals)
        }
    }

    /// Returns `true` if quantiles are exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.numbers.is_some()
    }

    /// Returns `true` if some number is not an integer.
    #[must_use]
    pub fn has_reals(&self) -> bool {
        self.has_reals
    }

    /// Returns nearest-rank quantiles for ranks in thousandths. A quantile is the smallest number that at least this
    /// share of all numbers does not exceed. Empty if the distribution is empty.
    #[must_use]
    pub fn quantiles(&self, thousandths: &[u64]) -> Vec<Number> {
        let Some((least, greatest)) = self.range else { return Vec::new() };
        let all: Vec<(Number, u64)> = match &self.numbers {
            Some(numbers) => {
                let mut all: Vec<_> = numbers.iter().map(|(number, count)| (*number, *count)).collect();
                all.sort_unstable_by_key(|(number, _)| *number);
                all
            }
            None => {
                let mut all: Vec<_> = self.bins.iter().map(|(bin, count)| (*bin, *count)).collect();
                all.sort_unstable();
                all.into_iter().map(|(bin, count)| (self.number_of(bin), count)).collect()
            }
        };
        let at = |part: &u64| {
            let rank = (u128::from(self.count) * u128::from(*part)).div_ceil(1_000).max(1);
            let mut seen = 0u128;
            let found = all.iter().find(|(_, count)| {
                seen += u128::from(*count);
                seen >= rank
            });
            found.map_or(greatest, |(number, _)| *number).clamp(least, greatest)
        };
        thousandths.iter().map(at).collect()
    }

    /// Returns the number that represents a bin.
    fn number_of(&self, bin: i32) -> Number {
        let middle = middle(bin);
        // The last integer in a bin is less than the next bin's boundary.
        let of_integers = (middle.abs() - 0.5).round().max(0.0).copysign(middle);
        let number = if self.has_reals { middle } else { of_integers };
        Number::from_real(number).unwrap_or(Number::Integer(0))
    }

    /// Returns the counts by power of two, sorted, without empty bins.
    #[must_use]
    pub fn powers(&self) -> Vec<PowerBin> {
        let mut powers: BTreeMap<i32, u64> = BTreeMap::new();
        let mut add = |bin: i32, count: u64| {
            let power = bin.signum() * ((bin.abs() - 1).max(0) / STEPS + 1);
            *powers.entry(if bin == 0 { 0 } else { power }).or_default() += count;
        };
        self.numbers.iter().flatten().for_each(|(number, count)| add(number.bin(), *count));
        self.bins.iter().for_each(|(bin, count)| add(*bin, *count));
        let bin = |(power, count): (i32, u64)| PowerBin {
            sign: power.signum(),
            exponent: power.abs() - 1 + LEAST_EXPONENT,
            count,
        };
        powers.into_iter().map(bin).collect()
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::{Random, cases};

    use super::*;

    fn random(random: &mut Random, reals: bool) -> Number {
        let magnitude = random.number() >> random.below(64);
        let integer = i128::from(magnitude) * if random.is_one_in(3) { -1 } else { 1 };
        if reals && random.is_one_in(2) {
            let scale = [1.0, 0.001, 1e300, 1e-300, 1e-320][random.index(5)];
            return Number::from_real(integer as f64 * scale).unwrap();
        }
        Number::Integer(integer)
    }

    /// Compares everything with a sorted list, both collected at once and merged from parts.
    #[test]
    fn equals_a_sorted_list() {
        cases(300, |seed| {
            let (reals, most) = (seed.is_one_in(2), 1 + seed.index(60));
            let mut numbers: Vec<Number> = (0..1 + seed.index(120)).map(|_| random(seed, reals)).collect();
            let mut whole = Distribution::new(most);
            numbers.iter().for_each(|number| whole.add(*number));
            let mut merged = Distribution::new(most);
            for part in numbers.chunks(1 + seed.index(40)) {
                let mut distribution = Distribution::new(most);
                part.iter().for_each(|number| distribution.add(*number));
                merged.merge(distribution);
            }
            numbers.sort_unstable();
            let mut distinct = numbers.clone();
            distinct.dedup();
            for found in [whole, merged] {
                assert_eq!(found.count(), numbers.len() as u64);
                assert_eq!(found.range(), Some((numbers[0], numbers[numbers.len() - 1])));
                assert_eq!(found.is_exact(), distinct.len() <= most);
                let sum: f64 = numbers.iter().map(|number| number.to_f64()).sum();
                let mean = sum / numbers.len() as f64;
                let size: f64 = numbers.iter().map(|number| number.to_f64().abs()).sum();
                let distance = (found.mean().unwrap() - mean).abs();
                assert!(size.is_infinite() || distance <= 1e-12 * size, "{mean}");
                let parts = [0u64, 1, 500, 900, 990, 999, 1000];
                for (part, value) in parts.iter().zip(found.quantiles(&parts)) {
                    let rank = (*part as usize * numbers.len()).div_ceil(1000).max(1);
                    let (value, expected) = (value.to_f64(), numbers[rank - 1].to_f64());
                    let error = if found.is_exact() { 0.0 } else { Distribution::ERROR * expected.abs() };
                    // The smallest numbers cannot be divided further.
                    let is_near = (value - expected).abs() <= error * 1.000_001 + 5e-324;
                    assert!(value == expected || is_near, "{value} {expected}");
                }
                let mut covered = 0;
                for bin in found.powers() {
                    let (begin, end) = (bin.begin(), bin.end());
                    let is_in = |number: &&Number| {
                        let number = number.to_f64();
                        match begin.total_cmp(&0.0) {
                            Ordering::Equal => number == 0.0,
                            _ if begin.is_infinite() => number == begin,
                            _ if begin > 0.0 => begin <= number && number < end,
                            _ => end < number && number <= begin,
                        }
                    };
                    assert_eq!(bin.count, numbers.iter().filter(is_in).count() as u64, "{begin} {end}");
                    covered += bin.count;
                }
                assert_eq!(covered, found.count());
            }
        });
    }

    #[test]
    fn edges() {
        let mut numbers = Distribution::new(1);
        assert!(numbers.quantiles(&[500]).is_empty() && numbers.mean().is_none());
        for value in [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0] {
            numbers.add(Number::from_real(value).unwrap());
        }
        numbers.add(Number::Integer(i128::MIN));
        numbers.add(Number::Integer(i128::MAX));
        numbers.add(Number::Integer(i128::MAX));
        assert!(Number::from_real(f64::NAN).is_none());
        assert_eq!(numbers.quantiles(&[0, 1000]).map_or_infinite(), (f64::NEG_INFINITY, f64::INFINITY));
        let bins = numbers.powers();
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 9);
        assert_eq!((bins[0].begin(), bins[0].count), (f64::NEG_INFINITY, 1));
        assert_eq!(bins.last().map(|bin| bin.begin()), Some(f64::INFINITY));
        assert!(bins.iter().any(|bin| bin.begin() == 5e-324 && bin.count == 1));
        // -0.0 is 0.
        assert!(bins.iter().any(|bin| bin.begin() == 0.0 && bin.count == 1));
    }

    trait Ends {
        fn map_or_infinite(&self) -> (f64, f64);
    }

    impl Ends for Vec<Number> {
        fn map_or_infinite(&self) -> (f64, f64) {
            (self[0].to_f64(), self[1].to_f64())
        }
    }
}
