//! Numbers as text in the formats of `printf`, but faster.

use std::io::Write;

use ichnos_json::write::{ValueWriter, eight_digits};
pub use ichnos_json::write::{push_integer, push_signed, push_unsigned};
use ichnos_model::class::Uuid;
use ichnos_model::field::Field;

/// Appends a GUID for display. It is an activity path if it encodes one and its class has activity paths.
pub fn push_guid(out: &mut Vec<u8>, field: &Field<'_>, guid: Uuid) {
    if !field.class().activity_paths.is_some_and(|paths| paths.write(guid, out)) {
        push_uuid(out, guid);
    }
}

/// Appends a UUID: 36 characters, lower case.
pub fn push_uuid(out: &mut Vec<u8>, uuid: Uuid) {
    out.extend_from_slice(uuid.hyphenated().encode_lower(&mut [0; 36]).as_bytes());
}

/// Writes a class or data stream id as JSON: like all integers, a number up to 64 bits.
pub fn write_id(place: ValueWriter<'_>, id: u128) {
    match u64::try_from(id) {
        Ok(id) => place.unsigned(id),
        Err(_) => {
            let mut wide = place.object();
            wide.member("$int").display(id);
            wide.end();
        }
    }
}

/// Appends an integer in decimal, with leading zeros up to at least `width` digits (at most 20).
#[inline]
pub fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value).as_bytes();
    let zeros = width.saturating_sub(digits.len()).min(20);
    out.extend_from_slice(&b"00000000000000000000"[..zeros]);
    out.extend_from_slice(digits);
}

/// Returns a fraction of a second as nine digits. `value` must be below 1,000,000,000.
#[inline(always)]
#[must_use]
pub fn nanoseconds(value: u32) -> [u8; 9] {
    let mut digits = [b'0' + (value / 100_000_000 % 10) as u8; 9];
    digits[1..].copy_from_slice(&eight_digits(value % 100_000_000));
    digits
}

/// Appends a fraction of a second as nine digits. `value` must be below 1,000,000,000.
#[inline]
pub fn push_nanoseconds(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&nanoseconds(value));
}

/// Appends a fraction of a second as six digits. `value` must be below 1,000,000.
#[inline]
pub fn push_microseconds(out: &mut Vec<u8>, value: u32) {
    let [_, _, digits @ ..] = eight_digits(value % 1_000_000);
    out.extend_from_slice(&digits);
}

const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

fn push_bits(out: &mut Vec<u8>, value: u64, bits_per_digit: u32, digits: &[u8; 16]) {
    let significant = 64 - value.leading_zeros();
    let count = significant.div_ceil(bits_per_digit).max(1);
    let mask = (1u64 << bits_per_digit) - 1;
    for i in (0..count).rev() {
        out.push(digits[((value >> (i * bits_per_digit)) & mask) as usize & 15]);
    }
}

/// Upper-case hexadecimal digits of the numbers below 256.
static HEX_PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut number = 0;
    while number < 256 {
        pairs[number] = [UPPER[number >> 4], UPPER[number & 15]];
        number += 1;
    }
    pairs
};

/// Appends an integer in upper-case hexadecimal.
pub fn push_hex_upper(out: &mut Vec<u8>, value: u64) {
    let pairs = value.to_be_bytes().map(|byte| HEX_PAIRS[usize::from(byte)]);
    let digits = u128::from_le_bytes(pairs.as_flattened().try_into().unwrap_or_default());
    // The last digit is written even if it is 0.
    let leading = (value | 1).leading_zeros() / 4;
    // Append a block of fixed size and truncate it.
    let end = out.len() + 16 - leading as usize;
    out.extend_from_slice(&(digits >> (leading * 8)).to_le_bytes());
    out.truncate(end);
}

/// Appends an integer in octal.
pub fn push_octal(out: &mut Vec<u8>, value: u64) {
    push_bits(out, value, 3, UPPER);
}

/// Appends the lower `length` bits of an integer in binary, with leading zeros.
pub fn push_binary(out: &mut Vec<u8>, value: u64, length: u64) {
    for i in (0..length.min(64)).rev() {
        out.push(b'0' + (value >> i & 1) as u8);
    }
}

/// Appends bytes as pairs of lower-case hexadecimal digits.
pub fn push_hex_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(LOWER[usize::from(byte >> 4)]);
        out.push(LOWER[usize::from(byte & 15)]);
    }
}

/// Inserts `separator` between groups of `group` digits, counted from the right, in the text of `out` after `begin`.
pub fn separate(out: &mut Vec<u8>, begin: usize, group: usize, separator: u8) {
    let digits = out.len() - begin;
    let separators = digits.saturating_sub(1) / group;
    if separators == 0 {
        return;
    }
    let mut from = out.len();
    out.resize(from + separators, separator);
    let mut to = out.len();
    for i in 0..digits {
        if i > 0 && i % group == 0 {
            to -= 1;
            out[to] = separator;
        }
        from -= 1;
        to -= 1;
        out[to] = out[from];
    }
}

/// Appends a decimal integer. From five digits on, each group of three digits follows a comma.
#[inline]
pub fn push_grouped(out: &mut Vec<u8>, value: i128) {
    if value < 0 {
        out.push(b'-');
    }
    push_grouped_unsigned(out, value.unsigned_abs());
}

/// Appends an unsigned integer like [`push_grouped`].
pub fn push_grouped_unsigned(out: &mut Vec<u8>, magnitude: u128) {
    let mut buffer = itoa::Buffer::new();
    let digits = match u64::try_from(magnitude) {
        Ok(magnitude) => buffer.format(magnitude),
        Err(_) => buffer.format(magnitude),
    };
    let digits = digits.as_bytes();
    if magnitude <= 9999 {
        return out.extend_from_slice(digits);
    }
    // At most 39 digits and 12 commas.
    let mut grouped = [b','; 52];
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    grouped[..first.len()].copy_from_slice(first);
    let mut length = first.len();
    for group in rest.chunks_exact(3) {
        grouped[length + 1..length + 4].copy_from_slice(group);
        length += 4;
    }
    out.extend_from_slice(&grouped[..length]);
}

/// Appends `0x` and an integer in hexadecimal, with a colon before each group of four digits.
pub fn push_grouped_hex(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(b"0x");
    let begin = out.len();
    push_bits(out, value, 4, LOWER);
    separate(out, begin, 4, b':');
}

/// Appends `0` and an integer in octal, with a colon before each group of three digits.
pub fn push_grouped_octal(out: &mut Vec<u8>, value: u64) {
    out.push(b'0');
    let begin = out.len();
    push_bits(out, value, 3, LOWER);
    separate(out, begin, 3, b':');
}

/// Appends infinity or NaN. Returns `false` if `value` is finite.
fn push_not_finite(out: &mut Vec<u8>, value: f64) -> bool {
    if value.is_finite() {
        return false;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    out.extend_from_slice(if value.is_nan() { b"nan" } else { b"inf" });
    true
}

/// Appends a number like `printf("%g")`: six significant digits, without trailing zeros.
pub fn push_general(out: &mut Vec<u8>, value: f64) {
    if push_not_finite(out, value) {
        return;
    }
    if value.abs() < 1e6 && is_whole(value) {
        return push_signed(out, value as i64);
    }
    // Rust's exponent form is correctly rounded, so use its digits and place the point.
    let mut buffer = Small::default();
    let _ = write!(buffer, "{value:.5e}");
    let text = buffer.bytes();
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    if negative {
        out.push(b'-');
    }
    let Some(e) = memchr::memchr(b'e', text) else {
        return;
    };
    let mut digits = [b'0'; 6];
    digits[0] = text[0];
    for (digit, byte) in digits[1..].iter_mut().zip(text.get(2..e).unwrap_or_default()) {
        *digit = *byte;
    }
    let exponent: i32 = std::str::from_utf8(&text[e + 1..]).ok().and_then(|e| e.parse().ok()).unwrap_or(0);
    let significant = digits.iter().rposition(|digit| *digit != b'0').map_or(1, |last| last + 1);
    if (-4..6).contains(&exponent) {
        if exponent < 0 {
            out.extend_from_slice(&b"0.000"[..1 + exponent.unsigned_abs() as usize]);
            out.extend_from_slice(&digits[..significant]);
        } else {
            let whole = exponent as usize + 1;
            out.extend_from_slice(&digits[..whole]);
            if significant > whole {
                out.push(b'.');
                out.extend_from_slice(&digits[whole..significant]);
            }
        }
    } else {
        out.push(digits[0]);
        if significant > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..significant]);
        }
        out.push(b'e');
        out.push(if exponent < 0 { b'-' } else { b'+' });
        push_padded(out, u64::from(exponent.unsigned_abs()), 2);
    }
}

/// Appends a finite number with the fewest digits that distinguish it from all other 64-bit numbers, and a point or
/// an exponent.
pub fn push_shortest(out: &mut Vec<u8>, value: f64) {
    // Integers below 2^53 need all digits to be distinct from their neighbors. Exponents start at 1e16.
    if value.abs() < 1e15 && is_whole(value) {
        return push_whole(out, value as i64);
    }
    let _ = write!(out, "{value:?}");
}

/// Writes a number as JSON with the fewest digits that distinguish it from all others. NaN and infinities become
/// strings.
pub fn write_real(place: ValueWriter<'_>, value: f64) {
    if !value.is_finite() {
        return place.display(value);
    }
    match value.abs() {
        // Like `serde_json`: exponents start below 1e-5 and have signs.
        1e-5..1e-4 => place.number(&value.to_string()),
        1e16.. => place.number(&format!("{value:?}").replace('e', "e+")),
        _ => push_shortest(place.raw(), value),
    }
}

/// Appends a number like [`push_shortest`], distinguished from other 32-bit numbers.
pub fn push_shortest_single(out: &mut Vec<u8>, value: f32) {
    // Likewise for integers below 2^24.
    if value.abs() < 1e7 && is_whole(value.into()) {
        return push_whole(out, value as i64);
    }
    let _ = write!(out, "{value:?}");
}

/// Returns `true` if the value is an integer and not -0.
fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && (value != 0.0 || value.is_sign_positive())
}

fn push_whole(out: &mut Vec<u8>, value: i64) {
    push_signed(out, value);
    out.extend_from_slice(b".0");
}

/// Appends a number like `printf("%f")`: six digits after the point.
pub fn push_fixed(out: &mut Vec<u8>, value: f64) {
    if !push_not_finite(out, value) {
        let _ = write!(out, "{value:.6}");
    }
}

/// Buffer for the text of one number.
#[derive(Default)]
struct Small {
    bytes: [u8; 32],
    length: usize,
}

impl Small {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Write for Small {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(self.bytes.len() - self.length);
        self.bytes[self.length..self.length + count].copy_from_slice(&bytes[..count]);
        self.length += count;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::Random;

    use super::*;

    fn text(f: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        f(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fractions_of_a_second() {
        for value in (0..30).map(|digits| 1_000_000_007u64.wrapping_mul(digits).wrapping_mul(digits)) {
            let nanoseconds = (value % 1_000_000_000) as u32;
            assert_eq!(text(|out| push_nanoseconds(out, nanoseconds)), format!("{nanoseconds:09}"));
            let microseconds = nanoseconds / 1000;
            assert_eq!(text(|out| push_microseconds(out, microseconds)), format!("{microseconds:06}"));
        }
    }

    #[test]
    fn hexadecimal_integers() {
        for shift in 0..64 {
            for value in [1 << shift, (1 << shift) - 1, 0xfedc_ba98_7654_3210 >> shift] {
                assert_eq!(text(|out| push_hex_upper(out, value)), format!("{value:X}"));
            }
        }
    }

    #[test]
    fn general_floats() {
        // Output of C's printf for %g.
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (100000.0, "100000"),
            (999999.0, "999999"),
            (999999.5, "1e+06"),
            (1e6, "1e+06"),
            (1234567.0, "1.23457e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.000099999951, "0.0001"),
            (123456.5, "123456"),
            (123457.5, "123458"),
            (1.7976931348623157e308, "1.79769e+308"),
            (5e-324, "4.94066e-324"),
            (1e100, "1e+100"),
            (2.7000049, "2.7"),
            (2.5e-7, "2.5e-07"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(text(|out| push_general(out, value)), expected, "{value:?}");
        }
        assert_eq!(text(|out| push_general(out, f64::NAN.abs())), "nan");
        assert_eq!(text(|out| push_general(out, -f64::NAN.abs())), "-nan");
    }

    #[test]
    fn shortest_floats() {
        let mut values = vec![0.0, 0.1, 1.5, 1e7, 16_777_216.0, 123_456_789.0, 1e15, 1e16, 1e300, 5e-324];
        values.extend([9_007_199_254_740_991.0, 999_999_999_999_999.0, 1e-5, 0.0001, f64::MAX]);
        let mut random = Random::new(1);
        for shift in (0..64).chain(0..64) {
            let any = random.number();
            values.extend([(any >> shift) as f64, f64::from_bits(any >> 2), (1u64 << shift) as f64]);
        }
        for value in values.into_iter().flat_map(|value| [value, -value]) {
            assert_eq!(text(|out| push_shortest(out, value)), format!("{value:?}"));
            let single = value as f32;
            if single.is_finite() {
                assert_eq!(text(|out| push_shortest_single(out, single)), format!("{single:?}"));
            }
        }
    }

    #[test]
    fn floats_of_json() {
        let written = |value| text(|out| write_real(ValueWriter::new(out), value));
        for exponent in -320..=307 {
            for digits in ["1", "1.5", "-9.999999999999999", "3.0517578125"] {
                let value: f64 = format!("{digits}e{exponent}").parse().unwrap();
                assert_eq!(written(value), serde_json::to_string(&value).unwrap());
            }
        }
        assert_eq!([0.0, -0.0, f64::INFINITY].map(written), ["0.0", "-0.0", "\"inf\""]);
    }

    #[test]
    fn fixed_floats() {
        assert_eq!(text(|out| push_fixed(out, -17.125)), "-17.125000");
        assert_eq!(text(|out| push_fixed(out, 0.0000005)), "0.000000");
        assert_eq!(text(|out| push_fixed(out, 1e22)), "10000000000000000000000.000000");
    }

    #[test]
    fn grouped_integers() {
        assert_eq!(text(|out| push_grouped(out, 9999)), "9999");
        assert_eq!(text(|out| push_grouped(out, 10000)), "10,000");
        assert_eq!(text(|out| push_grouped(out, -1234567)), "-1,234,567");
        assert_eq!(text(|out| push_grouped(out, i128::from(u64::MAX))), "18,446,744,073,709,551,615");
        assert_eq!(text(|out| push_grouped(out, i128::from(i64::MIN))), "-9,223,372,036,854,775,808");
        assert_eq!(text(|out| push_grouped_hex(out, 0xdead_beef)), "0xdead:beef");
        assert_eq!(text(|out| push_grouped_hex(out, 0xfffff)), "0xf:ffff");
        assert_eq!(text(|out| push_grouped_hex(out, 0)), "0x0");
        assert_eq!(text(|out| push_grouped_octal(out, 0o1234567)), "01:234:567");
    }

    #[test]
    fn other_bases() {
        assert_eq!(text(|out| push_hex_upper(out, u64::MAX)), "FFFFFFFFFFFFFFFF");
        assert_eq!(text(|out| push_octal(out, u64::MAX)), "1777777777777777777777");
        assert_eq!(text(|out| push_binary(out, 0b101, 5)), "00101");
        assert_eq!(text(|out| push_hex_bytes(out, &[0, 0xaf])), "00af");
        assert_eq!(text(|out| push_padded(out, 42, 20)), "00000000000000000042");
        assert_eq!(text(|out| push_nanoseconds(out, 1_020)), "000001020");
    }
}
