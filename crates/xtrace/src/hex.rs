//! Hexadecimal text, as section 3 of the document has it: two digits a byte, upper case out, any case in.

/// What is not a digit.
const NONE: u8 = 0xFF;

/// Values of digits.
static VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789ABCDEF"[value as usize] as usize] = value;
        values[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    values
};

const fn pairs(digits: &[u8; 16]) -> [[u8; 2]; 256] {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
}

/// The two digits of each byte.
static UPPER: [[u8; 2]; 256] = pairs(b"0123456789ABCDEF");

/// Whether it is a digit, in any case.
pub(crate) const fn is_digit(byte: u8) -> bool {
    VALUES[byte as usize] != NONE
}

/// Decodes pairs of digits until one of both is at its end; None if something is not a digit.
#[inline]
pub(crate) fn decode(text: &[u8], out: &mut [u8]) -> Option<()> {
    // Digits are looked at together in the end: a branch for each costs more than all of them.
    let mut all = 0;
    for (pair, byte) in text.as_chunks::<2>().0.iter().zip(out) {
        let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
        all |= high | low;
        *byte = high << 4 | low & 15;
    }
    (all != NONE).then_some(())
}

/// Encodes bytes until one of both is at its end.
#[inline]
pub(crate) fn encode(bytes: &[u8], out: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(out.as_chunks_mut::<2>().0) {
        *pair = UPPER[usize::from(*byte)];
    }
}

/// Text that was encoded here is ASCII.
#[inline]
pub(crate) fn as_str(text: &[u8]) -> &str {
    core::str::from_utf8(text).unwrap_or_default()
}
