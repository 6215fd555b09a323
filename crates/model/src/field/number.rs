//! Numbers that a visitor receives, except integers with at most 64 bits.

/// A value with more than 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Wide<'a> {
    /// Bits, 64 at a time, least significant first. If signed, the sign fills the last word.
    pub words: &'a [u64],
    /// Number of bits in the packet.
    pub length: u64,
    /// `true` for two's complement.
    pub signed: bool,
}

impl Wide<'_> {
    /// Returns `true` for negative values.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.signed && self.words.last().is_some_and(|word| word >> 63 == 1)
    }

    /// Returns the value if it fits.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        let fill = if self.is_negative() { u64::MAX } else { 0 };
        let word = |i: usize| self.words.get(i).copied().unwrap_or(fill);
        if self.words.iter().skip(2).any(|word| *word != fill) {
            return None;
        }
        let value = (u128::from(word(1)) << 64 | u128::from(word(0))) as i128;
        ((value < 0) == (fill != 0)).then_some(value)
    }

    /// Returns the value if it is not negative and fits.
    #[must_use]
    pub fn as_u128(&self) -> Option<u128> {
        let word = |i: usize| u128::from(self.words.get(i).copied().unwrap_or(0));
        let fits = !self.is_negative() && self.words.iter().skip(2).all(|word| *word == 0);
        fits.then(|| word(1) << 64 | word(0))
    }

    /// Appends the value in decimal.
    pub fn write_decimal(&self, out: &mut Vec<u8>) {
        let mut words = self.magnitude(out);
        // Divide by 10^19 repeatedly: each remainder is 19 digits, from the right.
        const CHUNK: u64 = 10_000_000_000_000_000_000;
        let mut chunks = Vec::new();
        while !words.is_empty() {
            let mut rest = 0u128;
            for word in words.iter_mut().rev() {
                let value = rest << 64 | u128::from(*word);
                *word = (value / u128::from(CHUNK)) as u64;
                rest = value % u128::from(CHUNK);
            }
            chunks.push(rest as u64);
            while words.last() == Some(&0) {
                words.pop();
            }
        }
        let mut digits = String::new();
        for (i, chunk) in chunks.iter().rev().enumerate() {
            digits.push_str(&if i == 0 { chunk.to_string() } else { format!("{chunk:019}") });
        }
        out.extend_from_slice(if digits.is_empty() { b"0" } else { digits.as_bytes() });
    }

    /// Appends the value in a base of 2, 8 or 16, in lower case, with a minus sign if
    /// negative.
    pub fn write_radix(&self, bits_per_digit: u32, out: &mut Vec<u8>) {
        let words = self.magnitude(out);
        let total = words.len() as u32 * 64;
        let mut digits: Vec<u8> = (0..total.div_ceil(bits_per_digit))
            .map(|i| {
                let digit = (0..bits_per_digit).fold(0u8, |digit, b| {
                    let bit = i * bits_per_digit + b;
                    let word = words.get((bit / 64) as usize).copied().unwrap_or(0);
                    digit | (((word >> (bit % 64)) & 1) as u8) << b
                });
                b"0123456789abcdef"[usize::from(digit)]
            })
            .collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            digits.push(b'0');
        }
        out.extend(digits.iter().rev());
    }

    /// Writes a minus sign if needed and returns the words of the magnitude without leading zeros.
    fn magnitude(&self, out: &mut Vec<u8>) -> Vec<u64> {
        let mut words = self.words.to_vec();
        if self.is_negative() {
            out.push(b'-');
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        while words.last() == Some(&0) {
            words.pop();
        }
        words
    }
}

/// A floating-point number (IEEE 754-2008).
#[derive(Clone, Copy, Debug)]
pub enum Real<'a> {
    /// binary16.
    Half(u16),
    /// binary32.
    Single(f32),
    /// binary64.
    Double(f64),
    /// binary128 and wider, as bits.
    Wide(Wide<'a>),
}

impl Real<'_> {
    /// Converts a finite value to binary16. Returns `None` if binary16 cannot represent it exactly.
    #[must_use]
    pub fn exact_half(value: f64) -> Option<Self> {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let magnitude = u16::try_from((value.abs() * 2f64.powi(-1008)).to_bits() >> 42).ok()?;
        let half = Self::Half(sign | magnitude);
        (value.is_finite() && magnitude < 0x7c00 && half.to_f64() == value).then_some(half)
    }

    /// Returns the nearest binary64 number. Exact for binary16 and binary32. A wider number is truncated, not rounded,
    /// and becomes infinite if its exponent does not fit.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        match *self {
            Self::Half(bits) => half_to_f64(bits),
            Self::Single(value) => f64::from(value),
            Self::Double(value) => value,
            Self::Wide(wide) => wide_to_f64(wide),
        }
    }
}

fn half_to_f64(bits: u16) -> f64 {
    let magnitude = bits & 0x7fff;
    let value = match magnitude {
        0x7c01.. => return f64::NAN,
        0x7c00 => f64::INFINITY,
        // Move exponent and fraction to their place. Then only the bias differs: 1023 - 15.
        _ => f64::from_bits(u64::from(magnitude) << 42) * 2f64.powi(1008),
    };
    if bits == magnitude { value } else { -value }
}

fn wide_to_f64(wide: Wide<'_>) -> f64 {
    let length = wide.length;
    // IEEE 754-2008, table 3.5: binary128 has 15 bits of exponent, binary{k} beyond it
    // round(4 * log2(k)) - 13.
    let exponent_bits = if length == 128 { 15 } else { (4.0 * (length as f64).log2()).round() as u64 - 13 };
    let bit = |i: u64| wide.words.get((i / 64) as usize).map_or(0, |word| word >> (i % 64) & 1);
    let fraction_bits = length - 1 - exponent_bits;
    let exponent = (0..exponent_bits).fold(0i64, |e, i| e | (bit(fraction_bits + i) as i64) << i);
    let fraction = (0..52).fold(0u64, |f, i| f | bit(fraction_bits - 52 + i) << i);
    let fraction_is_zero = (0..fraction_bits).all(|i| bit(i) == 0);
    let sign = bit(length - 1) << 63;
    let most = (1i64 << exponent_bits) - 1;
    let bias = most >> 1;
    if exponent == most {
        return if fraction_is_zero { f64::from_bits(sign | 0x7ff << 52) } else { f64::NAN };
    }
    let exponent = exponent - bias;
    match exponent {
        -1022..=1023 => f64::from_bits(sign | ((exponent + 1023) as u64) << 52 | fraction),
        1024.. => f64::from_bits(sign | 0x7ff << 52),
        // Subnormal in binary64: shift the fraction, with its hidden bit, to the right.
        _ => {
            let shift = -1022 - exponent;
            let significand = 1u64 << 52 | fraction;
            f64::from_bits(sign | if shift < 53 { significand >> shift } else { 0 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(words: &[u64], signed: bool) -> String {
        let mut out = Vec::new();
        Wide { words, length: words.len() as u64 * 64, signed }.write_decimal(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn wide_integers_in_decimal() {
        assert_eq!(decimal(&[0, 1], false), "18446744073709551616");
        assert_eq!(decimal(&[0, 0], false), "0");
        assert_eq!(decimal(&[u64::MAX, u64::MAX], true), "-1");
        assert_eq!(decimal(&[u64::MAX, u64::MAX], false), u128::MAX.to_string());
        assert_eq!(decimal(&[0, 1 << 63], true), i128::MIN.to_string());
        assert_eq!(decimal(&[0, 0, 1], false), "340282366920938463463374607431768211456");
    }

    #[test]
    fn wide_integers_in_other_bases() {
        let hex = |words: &[u64]| {
            let mut out = Vec::new();
            Wide { words, length: 128, signed: false }.write_radix(4, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(hex(&[0xabc, 0x12]), "120000000000000abc");
        let mut out = Vec::new();
        Wide { words: &[0, 1], length: 128, signed: false }.write_radix(3, &mut out);
        assert_eq!(out, b"2000000000000000000000");
    }

    #[test]
    fn half_precision() {
        assert_eq!(Real::Half(0x3c00).to_f64(), 1.0);
        assert_eq!(Real::Half(0xc000).to_f64(), -2.0);
        assert_eq!(Real::Half(0x7bff).to_f64(), 65504.0);
        assert_eq!(Real::Half(1).to_f64(), 5.960_464_477_539_063e-8);
        assert!(Real::Half(0x7c01).to_f64().is_nan());
        for bits in 0..=u16::MAX {
            let value = Real::Half(bits).to_f64();
            if value.is_finite() {
                assert!(
                    matches!(Real::exact_half(value), Some(Real::Half(found)) if found == bits),
                    "{value}"
                );
            }
        }
        for value in [0.1, 65536.0, -1e300, f64::MIN_POSITIVE, f64::from_bits(1), f64::INFINITY, f64::NAN] {
            assert!(Real::exact_half(value).is_none(), "{value}");
        }
    }

    #[test]
    fn quadruple_precision() {
        // 1.5 in binary128: exponent 0x3fff, first fraction bit set.
        let real = |high: u64| Real::Wide(Wide { words: &[0, high], length: 128, signed: false }).to_f64();
        assert_eq!(real(0x3fff_8000_0000_0000), 1.5);
        assert_eq!(real(0xc000_0000_0000_0000), -2.0);
        assert_eq!(real(0x7fff_0000_0000_0000), f64::INFINITY);
        assert_eq!(real(0), 0.0);
    }
}
