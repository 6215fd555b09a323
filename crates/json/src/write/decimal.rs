//! Decimal integers, without the overhead of `core::fmt`.

use alloc::vec::Vec;

/// Digits for the numbers below 100.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Returns the two digits of a number below 100.
#[inline(always)]
fn pair(number: u32) -> [u8; 2] {
    PAIRS.get(number as usize).copied().unwrap_or_default()
}

/// Returns the digits of a number below 100,000,000, first digit in the lowest byte.
#[inline(always)]
fn eight_values(number: u32) -> u64 {
    // Divides halves, quarters and eighths of the word at once, by multiplication with the divisor's reciprocal. This
    // is exact for numbers this small.
    let fours = u64::from(number / 10_000) | u64::from(number % 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}

const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// Returns the eight digits of a number below 100,000,000.
#[inline(always)]
#[must_use]
pub fn eight_digits(number: u32) -> [u8; 8] {
    (eight_values(number) | ZEROS).to_le_bytes()
}

/// Appends an unsigned integer in decimal.
#[inline]
pub fn push_unsigned(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
    } else if value < 100 {
        out.extend_from_slice(&pair(value as u32));
    } else {
        push_large(out, value);
    }
}

/// Limit of the eight lowest digits.
const EIGHT: u64 = 100_000_000;

/// Appends a number of at least three digits.
#[inline(never)]
fn push_large(out: &mut Vec<u8>, value: u64) {
    if value < EIGHT {
        push_up_to_eight(out, value as u32);
    } else {
        push_larger(out, value);
    }
}

/// Appends a number of at least nine digits. Not inlined, because it takes more registers.
#[inline(never)]
fn push_larger(out: &mut Vec<u8>, value: u64) {
    let (high, low) = (value / EIGHT, eight_digits((value % EIGHT) as u32));
    if high >= EIGHT {
        push_up_to_eight(out, (high / EIGHT) as u32);
        return out.extend_from_slice([eight_digits((high % EIGHT) as u32), low].as_flattened());
    }
    let values = eight_values(high as u32);
    let leading = values.trailing_zeros() / 8;
    let digits = u128::from(values | ZEROS) | u128::from(u64::from_le_bytes(low)) << 64;
    let end = out.len() + 16 - leading as usize;
    out.extend_from_slice(&(digits >> (leading * 8)).to_le_bytes());
    out.truncate(end);
}

/// Appends a number below 100,000,000.
#[inline(always)]
fn push_up_to_eight(out: &mut Vec<u8>, value: u32) {
    let values = eight_values(value);
    // Computed before the digits, since the next append waits for the length. A decimal digit has about 3.32 bits.
    const POWERS: [u32; 16] =
        [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 0, 0, 0, 0, 0, 0, 0];
    let digits = ((32 - (value | 1).leading_zeros()) * 1233) >> 12;
    let leading = 7 + u32::from(value | 1 < POWERS[digits as usize & 15]) - digits;
    // Append a block of fixed size and truncate it.
    let end = out.len() + 8 - leading as usize;
    out.extend_from_slice(&((values | ZEROS) >> (leading * 8)).to_le_bytes());
    out.truncate(end);
}

/// Appends a signed integer in decimal.
#[inline]
pub fn push_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_unsigned(out, value.unsigned_abs());
}

/// Appends an integer of up to 128 bits in decimal.
#[inline]
pub fn push_integer(out: &mut Vec<u8>, value: i128) {
    match i64::try_from(value) {
        Ok(value) => push_signed(out, value),
        Err(_) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
    }
}
