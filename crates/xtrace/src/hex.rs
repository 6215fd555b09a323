//! Hexadecimal text (section 3 of the document): two digits per byte, written in uppercase, read in any case.

/// Table value for bytes that are not digits.
const NONE: u8 = 0xFF;

/// Digit values.
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

/// Two digits for each byte.
static UPPER: [[u8; 2]; 256] = pairs(b"0123456789ABCDEF");

/// Returns `true` for a digit in any case.
pub(crate) const fn is_digit(byte: u8) -> bool {
    VALUES[byte as usize] != NONE
}

/// Decodes digit pairs until `text` or `out` ends. Returns `None` at a byte that is not a digit.
#[inline]
pub(crate) fn decode(text: &[u8], out: &mut [u8]) -> Option<()> {
    let (lines, places) = (text.as_chunks::<16>().0, out.as_chunks_mut::<8>().0);
    let count = lines.len().min(places.len());
    let mut bad = 0;
    for (line, place) in lines.iter().zip(places) {
        bad |= decode_16(line, place);
    }
    let (text, out) = (&text[16 * count..], &mut out[8 * count..]);
    if bad != 0 {
        return None;
    }
    // Digits are checked together at the end, because a branch per digit is slower.
    let mut all = 0;
    for (pair, byte) in text.as_chunks::<2>().0.iter().zip(out) {
        let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
        all |= high | low;
        *byte = high << 4 | low & 15;
    }
    (all != NONE).then_some(())
}

/// Decodes 16 digits. The result is 0 if all are digits.
///
/// Without branches and tables, the compiler generates a few vector instructions.
#[inline]
fn decode_16(line: &[u8; 16], out: &mut [u8; 8]) -> u8 {
    let mut values = [0; 16];
    let mut bad = [0; 16];
    for index in 0..16 {
        let digit = line[index].wrapping_sub(b'0');
        let letter = (line[index] | 0x20).wrapping_sub(b'a');
        let is_digit = if digit < 10 { 0xFF } else { 0 };
        let is_letter = if letter < 6 { 0xFF } else { 0 };
        values[index] = is_digit & digit | is_letter & letter.wrapping_add(10);
        bad[index] = !(is_digit | is_letter);
    }
    for (byte, pair) in out.iter_mut().zip(values.as_chunks::<2>().0) {
        *byte = pair[0] << 4 | pair[1];
    }
    bad.iter().fold(0, |all, one| all | one)
}

/// Encodes bytes until `bytes` or `out` ends.
#[inline]
pub(crate) fn encode(bytes: &[u8], out: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(out.as_chunks_mut::<2>().0) {
        *pair = UPPER[usize::from(*byte)];
    }
}

/// Returns encoded text, which is ASCII.
#[inline]
pub(crate) fn as_str(text: &[u8]) -> &str {
    core::str::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_every_byte() {
        for length in 0..40 {
            let bytes: Vec<u8> = (0..length).map(|index| (index * 37 + 11) as u8).collect();
            let mut text = vec![0; 2 * length];
            encode(&bytes, &mut text);
            let mut out = vec![0xEE; length + 3];
            assert_eq!(decode(&text, &mut out), Some(()));
            assert_eq!(out[..length], bytes);
            assert_eq!(out[length..], [0xEE; 3]);
            let small: Vec<u8> = text.to_ascii_lowercase();
            assert_eq!(decode(&small, &mut out[..length / 2]), Some(()));
            for at in 0..text.len() {
                for other in 0..=255 {
                    let right = std::mem::replace(&mut text[at], other);
                    let result = decode(&text, &mut out);
                    assert_eq!(result.is_some(), other.is_ascii_hexdigit(), "{other} at {at}");
                    text[at] = right;
                }
            }
        }
    }
}
