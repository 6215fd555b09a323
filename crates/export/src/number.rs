//! Numbers as text in the formats of `printf`, but faster.

mod exact;

use std::io::Write;

use ichnos_json::write::{ValueWriter, eight_digits};
pub use ichnos_json::write::{push_integer, push_signed, push_unsigned};
use ichnos_model::class::Uuid;
use ichnos_model::field::Field;

use exact::{Binary, Decimal};

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

/// Returns the digits of a number below 10,000.
#[inline(always)]
#[must_use]
pub fn four_digits(number: u32) -> [u8; 4] {
    // Like the digits of larger numbers, by multiplication with the reciprocals of 100 and 10.
    let hundreds = (number * 10_486) >> 20;
    let twos = hundreds | (number - 100 * hundreds) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f;
    (tens | (twos - 10 * tens) << 8 | 0x3030_3030).to_le_bytes()
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

/// Comma and three digits, for the numbers below 1,000.
static GROUPS: [[u8; 4]; 1000] = {
    let mut groups = [[b','; 4]; 1000];
    let mut number = 0;
    while number < 1000 {
        let [hundreds, tens, ones] = [number / 100, number / 10 % 10, number % 10];
        groups[number] = [b',', b'0' + hundreds as u8, b'0' + tens as u8, b'0' + ones as u8];
        number += 1;
    }
    groups
};

/// Returns a comma and three digits for a number below 1,000.
#[inline(always)]
fn group(number: u64) -> [u8; 4] {
    GROUPS.get(number as usize).copied().unwrap_or_default()
}

/// Returns the nine digits of a number below 1,000,000,000, in groups after commas.
#[inline(always)]
pub(crate) fn nine_grouped_digits(number: u32) -> [u8; 12] {
    let number = u64::from(number);
    let mut digits = [0; 12];
    let groups = [group(number / 1_000_000), group(number / 1000 % 1000), group(number % 1000)];
    digits.copy_from_slice(groups.as_flattened());
    digits
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
#[inline]
pub fn push_grouped_unsigned(out: &mut Vec<u8>, magnitude: u128) {
    match u64::try_from(magnitude) {
        Ok(value @ ..10_000) => push_unsigned(out, value),
        Ok(value) => push_groups(out, value),
        Err(_) => push_wide_groups(out, magnitude),
    }
}

/// Appends the groups of a number.
fn push_groups(out: &mut Vec<u8>, mut value: u64) {
    // At most six groups after the first, in the first half of the block.
    let mut block = [0; 48];
    let mut begin = 24;
    while value >= 1000 && begin >= 4 {
        begin -= 4;
        if let Some(place) = block.get_mut(begin..).and_then(<[u8]>::first_chunk_mut) {
            *place = group(value % 1000);
        }
        value /= 1000;
    }
    match value {
        ..100 => push_unsigned(out, value),
        _ => out.extend_from_slice(&group(value)[1..]),
    }
    let end = out.len() + 24 - begin;
    if let Some(groups) = block.get(begin..).and_then(<[u8]>::first_chunk::<24>) {
        out.extend_from_slice(groups);
    }
    out.truncate(end);
}

/// Appends the groups of a number with more than 64 bits.
#[cold]
fn push_wide_groups(out: &mut Vec<u8>, magnitude: u128) {
    let begin = out.len();
    out.extend_from_slice(itoa::Buffer::new().format(magnitude).as_bytes());
    separate(out, begin, 3, b',');
}

/// Appends `0x` and an integer in hexadecimal, with a colon before each group of four digits.
pub fn push_grouped_hex(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(b"0x");
    let groups = (64 - value.leading_zeros()).div_ceil(16).max(1);
    push_bits(out, value >> ((groups - 1) * 16), 4, LOWER);
    for group in (0..groups - 1).rev() {
        let digit = |place: u32| LOWER[(value >> (group * 16 + place * 4)) as usize & 15];
        out.extend_from_slice(&[b':', digit(3), digit(2), digit(1), digit(0)]);
    }
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
    if value.abs() < 1e6 && is_whole(value) {
        return push_signed(out, value as i64);
    }
    if push_not_finite(out, value) {
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let (digits, exponent) = exact::six_digits(value).unwrap_or_else(|| any_six_digits(value.abs()));
    push_six_digits(out, digits, exponent);
}

/// Returns six significant digits of a finite number, and the decimal exponent of the first digit.
#[cold]
fn any_six_digits(value: f64) -> (u32, i32) {
    // Rust's exponent form is correctly rounded: `1.23456e-7`.
    let mut buffer = Small::default();
    let _ = write!(buffer, "{value:.5e}");
    let text = std::str::from_utf8(buffer.bytes()).unwrap_or_default();
    let (digits, exponent) = text.split_once('e').unwrap_or_default();
    let digits = digits.bytes().filter(u8::is_ascii_digit);
    let digits = digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    (digits, exponent.parse().unwrap_or(0))
}

/// Appends a number of six digits without trailing zeros. `exponent` is the decimal exponent of the first digit.
fn push_six_digits(out: &mut Vec<u8>, digits: u32, exponent: i32) {
    // The first digit is in the lowest byte.
    let text = u64::from_le_bytes(eight_digits(digits)) >> 16;
    let significant = 8 - (text ^ 0x3030_3030_3030).leading_zeros() as usize / 8;
    let whole = match exponent {
        0..6 => exponent as usize + 1,
        -4..0 => {
            let end = out.len() + 1 + exponent.unsigned_abs() as usize;
            out.extend_from_slice(b"0.000");
            out.truncate(end);
            0
        }
        _ => 1,
    };
    let end = out.len() + significant.max(whole) + usize::from(significant > whole && whole > 0);
    let with_point = if significant > whole && whole > 0 {
        let (bits, low) = (whole * 8, text & ((1 << (whole * 8)) - 1));
        low | u64::from(b'.') << bits | text >> bits << (bits + 8)
    } else {
        text
    };
    out.extend_from_slice(&with_point.to_le_bytes());
    out.truncate(end);
    if !(-4..6).contains(&exponent) {
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
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
    match Binary::from_double(value).and_then(exact::shortest) {
        Some(decimal) => push_decimal(out, value.is_sign_negative(), decimal),
        None => {
            let _ = write!(out, "{value:?}");
        }
    }
}

/// Appends a number with a fraction.
fn push_decimal(out: &mut Vec<u8>, is_negative: bool, Decimal { digits, fraction }: Decimal) {
    const EIGHT: u64 = 100_000_000;
    if is_negative {
        out.push(b'-');
    }
    let one = exact::power(fraction);
    if fraction > 16 {
        // Below 1.
        out.extend_from_slice(b"0.");
        return push_padded(out, digits, fraction as usize);
    }
    push_unsigned(out, digits / one);
    let left = digits % one * exact::power(16 - fraction);
    let end = out.len() + 1 + fraction as usize;
    out.push(b'.');
    let (first, second) = ((left / EIGHT) as u32, (left % EIGHT) as u32);
    out.extend_from_slice([eight_digits(first), eight_digits(second)].as_flattened());
    out.truncate(end);
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
    match Binary::from_single(value).and_then(exact::shortest) {
        Some(decimal) => push_decimal(out, value.is_sign_negative(), decimal),
        None => {
            let _ = write!(out, "{value:?}");
        }
    }
}

/// Returns `true` if a value below 2^63 is an integer and not -0.
fn is_whole(value: f64) -> bool {
    (value as i64) as f64 == value && (value != 0.0 || value.is_sign_positive())
}

fn push_whole(out: &mut Vec<u8>, value: i64) {
    push_signed(out, value);
    out.extend_from_slice(b".0");
}

/// Appends a number like `printf("%f")`: six digits after the point.
pub fn push_fixed(out: &mut Vec<u8>, value: f64) {
    if push_not_finite(out, value) {
        return;
    }
    let Some(millionths) = exact::millionths(value) else {
        let _ = write!(out, "{value:.6}");
        return;
    };
    if value.is_sign_negative() {
        out.push(b'-');
    }
    push_unsigned(out, millionths / 1_000_000);
    let mut fraction = eight_digits((millionths % 1_000_000) as u32);
    fraction[1] = b'.';
    out.extend_from_slice(&fraction[1..]);
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
    fn four_digits_of_all_numbers() {
        for number in 0..10_000 {
            assert_eq!(four_digits(number), *format!("{number:04}").as_bytes());
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
        for digits in 0..38 {
            for value in [10u128.pow(digits), 10u128.pow(digits) * 10 - 1, 7 << digits, 1234 << (2 * digits)]
            {
                let mut expected = value.to_string();
                for place in (1..expected.len()).rev().filter(|_| value > 9999) {
                    if (value.to_string().len() - place) % 3 == 0 {
                        expected.insert(place, ',');
                    }
                }
                assert_eq!(text(|out| push_grouped_unsigned(out, value)), expected);
            }
        }
        assert_eq!(nine_grouped_digits(12_003_004), *b",012,003,004");
        assert_eq!(text(|out| push_grouped_hex(out, 0xdead_beef)), "0xdead:beef");
        assert_eq!(text(|out| push_grouped_hex(out, 0xfffff)), "0xf:ffff");
        assert_eq!(text(|out| push_grouped_hex(out, 0)), "0x0");
        assert_eq!(text(|out| push_grouped_hex(out, 0x1_0000)), "0x1:0000");
        assert_eq!(text(|out| push_grouped_hex(out, u64::MAX - 15)), "0xffff:ffff:ffff:fff0");
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
