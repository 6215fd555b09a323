//! Searches for the bytes that end or interrupt the plain text of a string.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// Marks the highest bit of quotes, backslashes and control characters in a word. Bytes after the first marked one (in
/// higher bits) can be marked wrongly.
#[inline(always)]
const fn special_bytes(word: u64) -> u64 {
    const fn zero(word: u64) -> u64 {
        word.wrapping_sub(ONES) & !word
    }
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (control | zero(word ^ (ONES * b'"' as u64)) | zero(word ^ (ONES * b'\\' as u64))) & HIGH
}

/// Quotes, backslashes and control characters.
static IS_SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_special(byte as u8);
        byte += 1;
    }
    table
};

/// Returns `true` for quotes, backslashes and control characters.
#[inline(always)]
pub(crate) const fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// Number of bytes before the first quote, backslash or control character.
#[inline]
pub(crate) fn plain_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let found = special_bytes(u64::from_le_bytes(*word));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| IS_SPECIAL[usize::from(*byte)]).unwrap_or(rest.len())
}

/// Returns `true` if a text is ASCII without quotes, backslashes and control characters.
#[inline]
pub(crate) fn is_plain_ascii(text: &[u8]) -> bool {
    let is_plain = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        special_bytes(word) | word & HIGH == 0
    };
    let (words, rest) = text.as_chunks();
    words.iter().all(is_plain)
        && match text.last_chunk() {
            Some(last) => rest.is_empty() || is_plain(last),
            None => rest.iter().all(|byte| byte.is_ascii() && !is_special(*byte)),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_in_every_place() {
        for length in 0..20 {
            for place in 0..length {
                for byte in 0..=255 {
                    let mut text = [b' '; 20];
                    text[place] = byte;
                    let text = &text[..length];
                    let expected = if is_special(byte) { place } else { length };
                    assert_eq!(plain_length(text), expected, "{text:?}");
                    assert_eq!(is_plain_ascii(text), byte.is_ascii() && !is_special(byte), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn the_first_of_two_bytes_is_found() {
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let text = [b'a', first, second, b'a', b'a', b'a', b'a', b'a', b'a'];
                let expected = text.iter().position(|byte| is_special(*byte)).unwrap_or(text.len());
                assert_eq!(plain_length(&text), expected, "{text:?}");
            }
        }
    }
}
