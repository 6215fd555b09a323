//! 8-byte words, the unit of records, arguments and padded texts.

/// A record word, not aligned in memory.
pub(crate) type Word = [u8; 8];

/// Highest bit of each byte, which ASCII text does not use.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Returns the word as a number.
#[inline(always)]
pub(crate) const fn load(word: &Word) -> u64 {
    u64::from_le_bytes(*word)
}

/// Returns the number of words for a length in bytes.
#[inline(always)]
pub(crate) const fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// Returns up to 8 bytes as a number, padded with zeros as in a record.
#[inline(always)]
pub(crate) const fn load_short(bytes: &[u8]) -> u64 {
    // The first and the last bytes can overlap, with the same content.
    match bytes {
        [a, b, c, d, e, f, g, h, ..] => u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
        [a, b, c, d, ..] => {
            let first = u32::from_le_bytes([*a, *b, *c, *d]) as u64;
            match bytes.last_chunk::<4>() {
                Some(last) => first | (u32::from_le_bytes(*last) as u64) << (8 * (bytes.len() - 4)),
                None => first,
            }
        }
        [a, b, c] => *a as u64 | (*b as u64) << 8 | (*c as u64) << 16,
        [a, b] => *a as u64 | (*b as u64) << 8,
        [a] => *a as u64,
        [] => 0,
    }
}

/// Returns the padding bits in the last word of a text with `length` bytes.
#[inline(always)]
pub(crate) const fn padding_bits(length: usize) -> u64 {
    // All bits except in the 1 to 8 used bytes.
    u64::MAX << 1 << (8 * (length.wrapping_sub(1) & 7) + 7)
}

/// Returns `true` if a word is ASCII, padded with zeros after the first `length` bytes (1 to 8).
#[inline(always)]
pub(crate) const fn is_plain_word(word: u64, length: usize) -> bool {
    word & (HIGH_BITS | padding_bits(length)) == 0
}

/// Returns `true` if the words are ASCII, padded with zeros after the first `length` bytes. The number of `words` must
/// match `length`.
#[inline(always)]
pub(crate) fn is_plain(words: &[Word], length: usize) -> bool {
    let (any, last) = match words {
        [one] => (load(one), load(one)),
        [one, two] => (load(one) | load(two), load(two)),
        _ => any_of(words),
    };
    (any & HIGH_BITS) | (last & padding_bits(length)) == 0
}

/// Returns the bitwise OR of the words, and the last word.
#[inline(never)]
fn any_of(words: &[Word]) -> (u64, u64) {
    words.iter().fold((0, 0), |(any, _), word| (any | load(word), load(word)))
}

/// Writes bytes padded with zeros into `room`, which must have their exact size.
#[inline(always)]
pub(crate) fn write_stream(room: &mut [Word], bytes: &[u8]) {
    let (words, rest) = bytes.as_chunks::<8>();
    let (whole, last) = room.split_at_mut(words.len().min(room.len()));
    if let (4.., Some(words)) = (whole.len(), words.get(..whole.len())) {
        whole.copy_from_slice(words);
    } else {
        for (to, from) in whole.iter_mut().zip(words) {
            *to = *from;
        }
    }
    if let [last] = last {
        *last = load_short(rest).to_le_bytes();
    }
}

/// Size of the record header and the timestamp in words.
pub(crate) const RECORD_HEADER: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_words() {
        let text = b"abcdefgh";
        for length in 0..=8 {
            let mut word = [0; 8];
            word[..length].copy_from_slice(&text[..length]);
            assert_eq!(load_short(&text[..length]), load(&word), "{length}");
        }
    }

    #[test]
    fn plain_is_ascii_and_zeros() {
        let words = |bytes: &[u8]| bytes.as_chunks::<8>().0.to_vec();
        assert!(is_plain(&words(b"pid\0\0\0\0\0"), 3));
        assert!(!is_plain(&words(b"pid\0\0\0\0\x01"), 3));
        assert!(is_plain(&words(b"abcdefgh"), 8));
        assert!(is_plain(&words(b"abcdefghi\0\0\0\0\0\0\0"), 9));
        assert!(!is_plain(&words(b"abcdefg\xffi\0\0\0\0\0\0\0"), 9));
        assert!(!is_plain(&words(b"abcdefgh12345678i\0\0j\0\0\0\0"), 17));
        assert!(is_plain(&words(b"abcdefgh12345678i\0\0\0\0\0\0\0"), 17));
        assert!(is_plain(&[], 0));
    }
}
