//! Exact decimal digits of floating-point numbers of usual sizes, by integer arithmetic. `core::fmt` supports all
//! numbers, but takes several times as many instructions.

/// Powers of ten that fit into 64 bits.
static POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// Powers of ten from 10^-5 on, rounded.
static ROUNDED_POWERS: [f64; 22] = [
    1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
    1e14, 1e15, 1e16,
];

/// Returns a power of ten up to 10^19.
#[inline(always)]
pub(super) fn power(exponent: u32) -> u64 {
    POWERS.get(exponent as usize).copied().unwrap_or(1)
}

/// The magnitude of a number that is not an integer in general: `mantissa / 2^shift`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binary {
    mantissa: u64,
    shift: u32,
    /// Number of mantissa bits.
    bits: u32,
}

impl Binary {
    /// Returns `None` for numbers below 2^-60 or above 2^52.
    #[inline]
    pub(super) fn from_double(value: f64) -> Option<Self> {
        let bits = value.to_bits();
        let shift = 1075u32.wrapping_sub((bits >> 52 & 0x7ff) as u32);
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        (1..=112).contains(&shift).then_some(Self { mantissa, shift, bits: 53 })
    }

    /// Returns `None` for numbers below 2^-60 or above 2^23.
    #[inline]
    pub(super) fn from_single(value: f32) -> Option<Self> {
        let bits = value.to_bits();
        let shift = 150u32.wrapping_sub(bits >> 23 & 0xff);
        let mantissa = u64::from(bits & ((1 << 23) - 1) | 1 << 23);
        (1..=83).contains(&shift).then_some(Self { mantissa, shift, bits: 24 })
    }

    /// Returns the decimal exponent of the number, or one less.
    #[inline]
    fn exponent(self) -> i32 {
        // A bit has about 0.30103 digits.
        ((self.bits as i32 - 1 - self.shift as i32) * 1233) >> 12
    }

    /// Rounds `scaled / 2^shift`, with ties to even.
    #[inline]
    fn round(self, scaled: u128) -> u64 {
        let (whole, rest) = ((scaled >> self.shift) as u64, scaled & ((1 << self.shift) - 1));
        let half = 1 << (self.shift - 1);
        whole + u64::from(rest > half || rest == half && whole % 2 == 1)
    }

    /// Rounds the number divided by `divisor`, an even number, with ties to even.
    #[inline]
    fn round_quotient(self, divisor: u64) -> u64 {
        let whole = self.mantissa >> self.shift;
        let (quotient, rest) = (whole / divisor, whole % divisor);
        let has_fraction = whole << self.shift != self.mantissa;
        let half = divisor / 2;
        quotient + u64::from(rest > half || rest == half && (has_fraction || quotient % 2 == 1))
    }
}

/// Rounds a number to six significant digits. Returns them as an integer from 100,000 to 999,999, and the decimal
/// exponent of the first digit. Returns `None` for small and large numbers.
#[inline]
pub(super) fn six_digits(value: f64) -> Option<(u32, i32)> {
    let value = value.abs();
    if !(1e-5..1e15).contains(&value) {
        return None;
    }
    let binary = Binary::from_double(value)?;
    let estimate = binary.exponent();
    // Rounding makes up for the rounded powers below 1: the only number between the power and the rounded one has the
    // digits of the power.
    let next = ROUNDED_POWERS.get(usize::try_from(estimate + 6).ok()?)?;
    let exponent = estimate + i32::from(value >= *next);
    let digits = match u32::try_from(5 - exponent) {
        Ok(scale) => binary.round(u128::from(binary.mantissa) * u128::from(power(scale))),
        Err(_) => binary.round_quotient(power((exponent - 5).unsigned_abs())),
    };
    match digits {
        ..100_000 => None,
        100_000..1_000_000 => Some((digits as u32, exponent)),
        _ => Some((100_000, exponent + 1)),
    }
}

/// Rounds a number to millionths and returns their number. Returns `None` for large and very small numbers.
#[inline]
pub(super) fn millionths(value: f64) -> Option<u64> {
    if value == 0.0 {
        return Some(0);
    }
    let binary = Binary::from_double(value).filter(|binary| binary.shift >= 10)?;
    Some(binary.round(u128::from(binary.mantissa) * 1_000_000))
}

/// Decimal number: `digits / 10^fraction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) digits: u64,
    pub(super) fraction: u32,
}

/// Returns the decimal number with the fewest digits that distinguish it from all other numbers of the same type, and
/// of these the closest. Returns `None` if there are two, for integers, and for numbers below 2^-13.
#[inline]
pub(super) fn shortest(binary: Binary) -> Option<Decimal> {
    let Binary { mantissa, shift, bits } = binary;
    if shift > bits + 12 {
        return None;
    }
    // 17 or 18 digits, at least as many as distinguish the number.
    let mut fraction = u32::try_from(16 - binary.exponent()).ok()?;
    let scale = u128::from(power(fraction / 2)) * u128::from(power(fraction - fraction / 2));
    // All decimal numbers closer than half the distance to the next number stand for the number, and those at this
    // distance if the mantissa is even. In quarters, because the lower one is half as far away at a power of two.
    let scaled = u128::from(mantissa) * scale * 4;
    let (lower, upper) = (scale * if mantissa == 1 << (bits - 1) { 1 } else { 2 }, scale * 2);
    let shift = shift + 2;
    let mask = (1u128 << shift) - 1;
    let outside = u128::from(mantissa % 2 == 1);
    let mut low = ((scaled - lower + mask + outside) >> shift) as u64;
    let mut high = ((scaled + upper - outside) >> shift) as u64;
    let mut unit = 1;
    let mut shorten = |by: u64, digits: u32| {
        let (shorter_low, shorter_high) = (low.div_ceil(by), high / by);
        let is_possible = shorter_low <= shorter_high && fraction > digits;
        if is_possible {
            (low, high, unit, fraction) = (shorter_low, shorter_high, unit * by, fraction - digits);
        }
        is_possible
    };
    if shorten(100_000_000, 8) {
        shorten(10_000, 4);
    }
    while shorten(10, 1) {}
    let whole = (scaled >> shift) as u64;
    let (digits, rest) = (whole / unit, whole % unit);
    // Two halves, and the part after them.
    let (twice, part) = if unit == 1 {
        (((scaled >> (shift - 1)) & 1) as u64, scaled & (mask >> 1))
    } else {
        (rest * 2 / unit, u128::from(rest * 2 % unit) | scaled & mask)
    };
    if twice == 1 && part == 0 {
        return None;
    }
    Some(Decimal { digits: (digits + twice).clamp(low, high), fraction })
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let (mut known, mut known_general) = (0, 0);
        let count = cases(100_000, |random| {
            let mantissa = random.number() >> random.below(64);
            let scale = [1.0, 2.0, 8.0, 10.0, 100.0, 3.0, 1e6, 1e9, 1024.0, 65536.0][random.index(10)];
            let value = match random.below(4) {
                0 => f64::from_bits(((1023 - 20 + random.below(75)) << 52) | random.number() >> 12),
                1 => f64::from_bits(((1023 - 20 + random.below(75)) << 52) | random.below(3)),
                2 => (mantissa as f64 / scale).abs(),
                _ => ((mantissa % 10_000_000) as f64 + 0.5) / scale,
            };
            if let Some(decimal) =
                Binary::from_double(value).filter(|_| value.fract() != 0.0).and_then(shortest)
            {
                known += 1;
                let text = format!("{}e-{}", decimal.digits, decimal.fraction);
                assert_eq!(text.parse(), Ok(value), "{value:?}");
                let digits: String = format!("{value:?}").split('e').next().unwrap().replace('.', "");
                assert_eq!(decimal.digits.to_string(), digits.trim_start_matches('0'), "{value:?}");
            }
            let single = value as f32;
            if let Some(decimal) =
                Binary::from_single(single).filter(|_| single.fract() != 0.0).and_then(shortest)
            {
                let text = format!("{}e-{}", decimal.digits, decimal.fraction);
                assert_eq!(text.parse(), Ok(single), "{single:?}");
                let digits: String = format!("{single:?}").split('e').next().unwrap().replace('.', "");
                assert_eq!(decimal.digits.to_string(), digits.trim_start_matches('0'), "{single:?}");
            }
            if let Some((digits, exponent)) = six_digits(value) {
                known_general += 1;
                let (first, rest) = (digits / 100_000, digits % 100_000);
                assert_eq!(format!("{first}.{rest:05}e{exponent}"), format!("{value:.5e}"));
            }
            if let Some(millionths) = millionths(value) {
                let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
                assert_eq!(text, format!("{value:.6}"));
            }
        });
        assert!(count < 100_000 || known > 10_000 && known_general > 10_000, "{known} {known_general}");
    }

    #[test]
    fn ties_are_left_to_others() {
        // Two numbers with 17 digits are equally close.
        assert_eq!(Binary::from_double(1_125_899_906_842_624.0 + 0.25).and_then(shortest), None);
        assert_eq!(six_digits(123_456.5), Some((123_456, 5)));
        assert_eq!(six_digits(123_457.5), Some((123_458, 5)));
        assert_eq!(six_digits(999_999.5), Some((100_000, 6)));
        assert_eq!(six_digits(12_345_650.0), Some((123_456, 7)));
        assert_eq!(six_digits(12_345_650.25), Some((123_457, 7)));
        assert_eq!(millionths(0.000_000_5), Some(0));
    }
}
