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
    all_words(text, |word| special_bytes(word) | word & HIGH == 0)
}

/// Returns `true` if `is_right` returns `true` for words that together contain all bytes of a text, some of them several
/// times. Short texts are padded with spaces.
#[inline(always)]
pub fn all_words(text: &[u8], is_right: impl Fn(u64) -> bool) -> bool {
    let Some(last) = text.last_chunk() else { return is_right(short_word(text)) };
    let (words, rest) = text.as_chunks();
    for word in words {
        if !is_right(u64::from_le_bytes(*word)) {
            return false;
        }
    }
    rest.is_empty() || is_right(u64::from_le_bytes(*last))
}

/// Returns the bytes of a text with less than eight bytes, padded with spaces.
#[inline(always)]
fn short_word(text: &[u8]) -> u64 {
    const SPACES: u64 = ONES * b' ' as u64;
    match (text.first_chunk(), text.last_chunk(), text) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        (_, _, [first, second, third]) => {
            SPACES << 24 | u64::from(*third) << 16 | u64::from(*second) << 8 | u64::from(*first)
        }
        (_, _, [first, second]) => SPACES << 16 | u64::from(*second) << 8 | u64::from(*first),
        (_, _, [first]) => SPACES << 8 | u64::from(*first),
        _ => SPACES,
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
