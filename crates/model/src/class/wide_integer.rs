//! Integers of any size, as bounds of named values.

use std::cmp::Ordering;
use std::fmt;

use crate::class::Mappings;
use crate::field::Wide;

/// An integer of any size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WideInteger {
    is_negative: bool,
    /// Absolute value in 64-bit words, lowest first. The last word is not 0.
    words: Box<[u64]>,
}

impl WideInteger {
    /// Parses digits in a base from 2 to 16, with a minus sign if negative. `None` if they are invalid.
    #[must_use]
    pub fn parse(text: &str, base: u32) -> Option<Self> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        if digits.is_empty() {
            return None;
        }
        // Read as many digits at once as fit in 32 bits, which takes a fraction of the steps.
        let most = (1..).take_while(|count| u64::from(base).pow(*count) <= 1 << 32).last()? as usize;
        let mut words: Vec<u64> = Vec::new();
        for chunk in digits.as_bytes().chunks(most) {
            let (mut value, mut scale) = (0u64, 1u64);
            for digit in chunk {
                value = value * u64::from(base) + u64::from(char::from(*digit).to_digit(base)?);
                scale *= u64::from(base);
            }
            let mut carry = u128::from(value);
            for word in &mut words {
                carry += u128::from(*word) * u128::from(scale);
                *word = carry as u64;
                carry >>= 64;
            }
            if carry != 0 {
                words.push(carry as u64);
            }
        }
        Some(Self { is_negative: is_negative && !words.is_empty(), words: words.into() })
    }

    /// Returns the number of bits without the sign.
    #[must_use]
    pub fn bits(&self) -> u64 {
        let last = self.words.last().map_or(0, |word| u64::from(word.leading_zeros()));
        (self.words.len() as u64 * 64).saturating_sub(last)
    }

    /// Returns the value if it fits.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        let word = |i: usize| u128::from(self.words.get(i).copied().unwrap_or(0));
        let magnitude = word(0) | word(1) << 64;
        if self.words.len() > 2 {
            return None;
        }
        if self.is_negative { 0i128.checked_sub_unsigned(magnitude) } else { i128::try_from(magnitude).ok() }
    }

    /// Returns the value if it is not negative and fits.
    #[must_use]
    pub fn as_u128(&self) -> Option<u128> {
        let word = |i: usize| u128::from(self.words.get(i).copied().unwrap_or(0));
        (!self.is_negative && self.words.len() <= 2).then(|| word(0) | word(1) << 64)
    }

    /// Returns the nearest integer in the range of `i128`.
    #[must_use]
    pub fn clamped(&self) -> i128 {
        self.as_i128().unwrap_or(if self.is_negative { i128::MIN } else { i128::MAX })
    }
}

impl From<i128> for WideInteger {
    fn from(value: i128) -> Self {
        let magnitude = value.unsigned_abs();
        Self::from_words(value < 0, vec![magnitude as u64, (magnitude >> 64) as u64])
    }
}

impl From<Wide<'_>> for WideInteger {
    fn from(value: Wide<'_>) -> Self {
        let is_negative = value.is_negative();
        let mut words = value.words.to_vec();
        if is_negative {
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        Self::from_words(is_negative, words)
    }
}

impl WideInteger {
    fn from_words(is_negative: bool, mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { is_negative, words: words.into() }
    }
}

impl PartialOrd for WideInteger {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WideInteger {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_size = || {
            let lengths = self.words.len().cmp(&other.words.len());
            lengths.then_with(|| self.words.iter().rev().cmp(other.words.iter().rev()))
        };
        match (self.is_negative, other.is_negative) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => by_size(),
            (true, true) => by_size().reverse(),
        }
    }
}

impl fmt::Display for WideInteger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = Vec::new();
        let length = self.words.len() as u64 * 64;
        Wide { words: &self.words, length, signed: false }.write_decimal(&mut digits);
        let sign = if self.is_negative { "-" } else { "" };
        write!(f, "{sign}{}", String::from_utf8_lossy(&digits))
    }
}

/// Range of values beyond `i128` that a [mapping](crate::class::Mapping) names. Its part within `i128` is also in the
/// mapping's ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideRange {
    /// Mapping index in the integer field class.
    pub mapping: usize,
    /// Smallest value.
    pub lower: WideInteger,
    /// Largest value, at least `lower`.
    pub upper: WideInteger,
}

impl fmt::Display for WideRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lower == self.upper {
            write!(f, "{}", self.lower)
        } else {
            write!(f, "{}..{}", self.lower, self.upper)
        }
    }
}

/// Names of a value in mappings and wide ranges, in mapping order.
pub(crate) fn names_of<'m>(mappings: &'m Mappings, wide: &[WideRange], value: Wide<'_>) -> Vec<&'m str> {
    if let Some(value) = value.as_i128() {
        return mappings.names_of(value).collect();
    }
    let value = WideInteger::from(value);
    let mut found: Vec<usize> = wide
        .iter()
        .filter(|range| range.lower <= value && value <= range.upper)
        .map(|range| range.mapping)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().filter_map(|index| Some(mappings.get(index)?.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> WideInteger {
        WideInteger::parse(text, 10).unwrap()
    }

    #[test]
    fn digits_of_any_base() {
        for (text, base, expected) in [
            ("340282366920938463463374607431768211455", 10, "340282366920938463463374607431768211455"),
            ("ffffffffffffffffffffffffffffffff", 16, "340282366920938463463374607431768211455"),
            ("-100000000000000000000000000000000", 16, "-340282366920938463463374607431768211456"),
            ("-0", 10, "0"),
            ("0000000000000000000000000000000000000000000000000000000000000012", 8, "10"),
            ("101", 2, "5"),
        ] {
            assert_eq!(WideInteger::parse(text, base).unwrap().to_string(), expected);
        }
        for (text, base) in [("", 10), ("-", 10), ("12a", 10), ("8", 8), ("--1", 10), ("+1", 10)] {
            assert_eq!(WideInteger::parse(text, base), None, "{text}");
        }
        assert_eq!(parse(&"9".repeat(500)).to_string(), "9".repeat(500));
    }

    #[test]
    fn order_and_size() {
        let sorted = ["-340282366920938463463374607431768211456", "-1", "0", "1", "18446744073709551616"];
        for pair in sorted.windows(2) {
            assert!(parse(pair[0]) < parse(pair[1]), "{pair:?}");
        }
        assert_eq!(parse("-1").as_i128(), Some(-1));
        assert_eq!(parse(&i128::MIN.to_string()).as_i128(), Some(i128::MIN));
        assert_eq!(parse(&u128::MAX.to_string()).as_i128(), None);
        assert_eq!(parse(&u128::MAX.to_string()).as_u128(), Some(u128::MAX));
        assert_eq!(parse("-1").as_u128(), None);
        assert_eq!(parse(&u128::MAX.to_string()).clamped(), i128::MAX);
        assert_eq!((parse("0").bits(), parse("255").bits()), (0, 8));
        assert_eq!(parse("18446744073709551616").bits(), 65);
        assert_eq!(WideInteger::from(i128::MIN), parse(&i128::MIN.to_string()));
    }
}
