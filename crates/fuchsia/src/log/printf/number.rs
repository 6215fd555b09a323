//! Number formatting as in C's printf.

use core::fmt::{self, Write};

use super::output::{BoundedOutput, Buffer};

/// Number layout: a conversion with known width and precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberLayout {
    pub(super) left: bool,
    pub(super) plus: bool,
    pub(super) space: bool,
    pub(super) alternative: bool,
    pub(super) zero: bool,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
}

/// Sections of a number in writing order.
#[derive(Default)]
struct NumberSections<'n> {
    sign: &'n str,
    /// `0x` or a similar prefix.
    prefix: &'n str,
    /// Zeros before the digits.
    leading: usize,
    digits: &'n str,
    /// Zeros after the digits.
    trailing: usize,
    /// The exponent.
    tail: &'n str,
}

impl NumberLayout {
    /// Pads output of `length` characters with spaces before or after it, up to the width.
    pub(super) fn padded(
        &self,
        out: &mut BoundedOutput<'_>,
        length: usize,
        write: impl FnOnce(&mut BoundedOutput<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let padding = self.width.saturating_sub(length);
        if !self.left {
            out.repeat(b' ', padding)?;
        }
        write(out)?;
        if self.left { out.repeat(b' ', padding) } else { Ok(()) }
    }

    /// Writes a number. `zeros` allows padding with zeros.
    fn number(
        &self,
        out: &mut BoundedOutput<'_>,
        mut number: NumberSections<'_>,
        zeros: bool,
    ) -> fmt::Result {
        let NumberSections { sign, prefix, digits, tail, .. } = number;
        let rest = sign.len() + prefix.len() + digits.len() + tail.len();
        let mut length = rest.saturating_add(number.leading).saturating_add(number.trailing);
        if zeros && self.zero && !self.left {
            number.leading = number.leading.saturating_add(self.width.saturating_sub(length));
            length = length.max(self.width);
        }
        self.padded(out, length, |out| {
            out.write_str(sign)?;
            out.write_str(prefix)?;
            out.repeat(b'0', number.leading)?;
            out.write_str(digits)?;
            out.repeat(b'0', number.trailing)?;
            out.write_str(tail)
        })
    }

    fn sign(&self, is_negative: bool) -> &'static str {
        match (is_negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    /// Writes conversions `d` and `i`.
    pub(super) fn signed(&self, out: &mut BoundedOutput<'_>, value: i64) -> fmt::Result {
        self.integer(out, self.sign(value < 0), "", value.unsigned_abs(), b'u')
    }

    /// Writes conversions `o`, `u`, `x`, `X`, `b` and `B`.
    pub(super) fn unsigned(&self, out: &mut BoundedOutput<'_>, value: u64, letter: u8) -> fmt::Result {
        let prefix = match letter {
            b'x' => "0x",
            b'X' => "0X",
            b'b' => "0b",
            b'B' => "0B",
            _ => "",
        };
        let has_prefix = self.alternative && value != 0;
        self.integer(out, "", if has_prefix { prefix } else { "" }, value, letter)
    }

    /// Writes conversion `p` as in glibc.
    pub(super) fn pointer(&self, out: &mut BoundedOutput<'_>, value: u64) -> fmt::Result {
        if value == 0 {
            const NIL: &str = "(nil)";
            return self.padded(out, NIL.len(), |out| out.write_str(NIL));
        }
        self.integer(out, self.sign(false), "0x", value, b'x')
    }

    fn integer(
        &self,
        out: &mut BoundedOutput<'_>,
        sign: &str,
        prefix: &str,
        value: u64,
        letter: u8,
    ) -> fmt::Result {
        let mut digits = Buffer::<64>::new();
        if value != 0 || self.precision != Some(0) {
            match letter {
                b'o' => write!(digits, "{value:o}"),
                b'x' => write!(digits, "{value:x}"),
                b'X' => write!(digits, "{value:X}"),
                b'b' | b'B' => write!(digits, "{value:b}"),
                _ => write!(digits, "{value}"),
            }?;
        }
        let digits = digits.as_str();
        let mut leading = self.precision.unwrap_or(1).saturating_sub(digits.len());
        if letter == b'o' && self.alternative && leading == 0 && !digits.starts_with('0') {
            leading = 1;
        }
        let number = NumberSections { sign, prefix, leading, digits, ..NumberSections::default() };
        self.number(out, number, self.precision.is_none())
    }

    /// Writes conversions `f`, `e`, `g`, `a` and their uppercase forms.
    pub(super) fn float(&self, out: &mut BoundedOutput<'_>, value: f64, letter: u8) -> fmt::Result {
        if out.is_cut() {
            // Slow formatting is skipped for dropped text.
            return Ok(());
        }
        let sign = self.sign(value.is_sign_negative());
        let is_upper = letter.is_ascii_uppercase();
        if !value.is_finite() {
            let digits = match (value.is_nan(), is_upper) {
                (true, false) => "nan",
                (true, true) => "NAN",
                (false, false) => "inf",
                (false, true) => "INF",
            };
            return self.number(out, NumberSections { sign, digits, ..NumberSections::default() }, false);
        }
        let value = value.abs();
        let mut digits = Buffer::<DIGITS>::new();
        let mut tail = Buffer::<8>::new();
        let precision = self.precision.unwrap_or(6);
        let mut prefix = "";
        let mut trailing = 0;
        match letter.to_ascii_lowercase() {
            b'f' => trailing = self.fixed(&mut digits, value, precision)?,
            b'e' => trailing = self.exponential(&mut digits, &mut tail, value, precision)?,
            b'g' => trailing = self.general(&mut digits, &mut tail, value, precision)?,
            _ => {
                prefix = if is_upper { "0X" } else { "0x" };
                trailing += self.hexadecimal(&mut digits, &mut tail, value)?;
            }
        }
        if is_upper {
            digits.make_uppercase();
            tail.make_uppercase();
        }
        let number = NumberSections {
            sign,
            prefix,
            leading: 0,
            digits: digits.as_str(),
            trailing,
            tail: tail.as_str(),
        };
        self.number(out, number, true)
    }

    /// Writes the digits with a point. Returns the number of zeros that must follow.
    fn fixed(&self, digits: &mut impl Write, value: f64, precision: usize) -> Result<usize, fmt::Error> {
        let exact = precision.min(MOST_DIGITS);
        write!(digits, "{value:.exact$}")?;
        self.point(digits, precision)?;
        Ok(precision - exact)
    }

    /// Writes a point without digits after it, for `#`.
    fn point(&self, digits: &mut impl Write, precision: usize) -> fmt::Result {
        if self.alternative && precision == 0 { digits.write_str(".") } else { Ok(()) }
    }

    fn exponential(
        &self,
        digits: &mut impl Write,
        tail: &mut impl Write,
        value: f64,
        precision: usize,
    ) -> Result<usize, fmt::Error> {
        let exact = precision.min(MOST_DIGITS);
        let (text, exponent) = scientific(value, exact)?;
        digits.write_str(mantissa(&text))?;
        self.point(digits, precision)?;
        write_exponent(tail, exponent)?;
        Ok(precision - exact)
    }

    fn general(
        &self,
        digits: &mut impl Write,
        tail: &mut impl Write,
        value: f64,
        precision: usize,
    ) -> Result<usize, fmt::Error> {
        let precision = precision.max(1);
        let exact = precision.min(MOST_DIGITS);
        let (text, exponent) = scientific(value, exact - 1)?;
        let is_fixed = exponent >= -4 && usize::try_from(exponent).map_or(true, |x| x < precision);
        if self.alternative {
            // Trailing zeros are kept.
            if is_fixed {
                let fraction = (precision as i64 - 1 - i64::from(exponent)) as usize;
                return self.fixed(digits, value, fraction);
            }
            return self.exponential(digits, tail, value, precision - 1);
        }
        if is_fixed {
            let fraction = (exact as i64 - 1 - i64::from(exponent)).max(0) as usize;
            let mut text = Buffer::<DIGITS>::new();
            self.fixed(&mut text, value, fraction)?;
            digits.write_str(without_zeros(text.as_str()))?;
        } else {
            digits.write_str(without_zeros(mantissa(&text)))?;
            write_exponent(tail, exponent)?;
        }
        Ok(0)
    }

    fn hexadecimal(
        &self,
        digits: &mut impl Write,
        tail: &mut impl Write,
        value: f64,
    ) -> Result<usize, fmt::Error> {
        /// Number of hexadecimal digits in the fraction.
        const ALL: usize = 13;
        let bits = value.to_bits();
        let (mut significand, exponent) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
        let exponent = match exponent {
            0 if significand == 0 => 0,
            0 => -1022,
            _ => {
                significand |= 1 << 52;
                exponent - 1023
            }
        };
        let count = self.precision.unwrap_or(ALL);
        if count < ALL {
            // Rounds to nearest, ties to even.
            let dropped = 4 * (ALL - count) as u32;
            let (half, rest) = (1 << (dropped - 1), significand & ((1 << dropped) - 1));
            significand >>= dropped;
            significand += u64::from(rest > half || rest == half && significand & 1 == 1);
            significand <<= dropped;
        }
        let mut text = Buffer::<16>::new();
        let fraction = significand & ((1 << 52) - 1);
        write!(text, "{fraction:013x}")?;
        let shown = match self.precision {
            // The text has 13 digits.
            Some(precision) => text.as_str().get(..precision.min(ALL)).unwrap_or_default(),
            None => text.as_str().trim_end_matches('0'),
        };
        let point = if shown.is_empty() && !self.alternative { "" } else { "." };
        write!(digits, "{}{point}{shown}", significand >> 52)?;
        write!(tail, "p{exponent:+}")?;
        Ok(count.saturating_sub(ALL))
    }
}

/// Maximum number of digits after the point. An f64 has at most 1,074 non-zero digits.
const MOST_DIGITS: usize = 1_080;

/// Space for 309 digits before the point and [`MOST_DIGITS`] after it.
const DIGITS: usize = 1_400;

/// Formats a number with one digit before the point and `precision` digits after it. Returns the exponent as well.
fn scientific(value: f64, precision: usize) -> Result<(Buffer<DIGITS>, i32), fmt::Error> {
    let mut text = Buffer::new();
    write!(text, "{value:.precision$e}")?;
    let exponent = text.as_str().split_once('e').and_then(|(_, exponent)| exponent.parse().ok());
    Ok((text, exponent.ok_or(fmt::Error)?))
}

/// Returns the digits before the exponent.
fn mantissa(text: &Buffer<DIGITS>) -> &str {
    text.as_str().split_once('e').map_or("", |(mantissa, _)| mantissa)
}

/// Writes an exponent with at least two digits, as in C.
fn write_exponent(tail: &mut impl Write, exponent: i32) -> fmt::Result {
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(tail, "e{sign}{:02}", exponent.unsigned_abs())
}

/// Strips trailing zeros of a fraction, and the point if no digits remain after it.
fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}
