//! Texts with `␀` instead of zeros, where readers would stop.

/// Text in place of a zero byte.
const SHOWN: &[u8] = "␀".as_bytes();

/// Returns the number of bytes that [`put_shown`] puts.
#[inline]
pub(crate) fn shown_size(text: &[u8]) -> usize {
    if has_zero(text) { size_with_zeros(text) } else { text.len() }
}

/// Puts a text, part by part.
#[inline]
pub(crate) fn put_shown(text: &[u8], mut put: impl FnMut(&[u8])) {
    if has_zero(text) { put_with_zeros(text, &mut put) } else { put(text) }
}

#[cold]
#[inline(never)]
fn size_with_zeros(text: &[u8]) -> usize {
    let zeros = text.iter().filter(|byte| **byte == 0).count();
    text.len().saturating_add(zeros.saturating_mul(SHOWN.len() - 1))
}

#[cold]
#[inline(never)]
fn put_with_zeros(text: &[u8], put: &mut dyn FnMut(&[u8])) {
    for (index, part) in text.split(|byte| *byte == 0).enumerate() {
        if index > 0 {
            put(SHOWN);
        }
        put(part);
    }
}

/// Returns `true` if a text has a zero. Each text is asked three times, so this looks at words, of which the last two can
/// share bytes.
#[inline]
fn has_zero(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk() else { return text.contains(&0) };
    let words = text.as_chunks().0;
    words.iter().fold(zeros_in(*last), |found, word| found | zeros_in(*word)) != 0
}

/// Returns another number than 0 if one of the bytes is 0.
#[inline]
fn zeros_in(bytes: [u8; 8]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_ne_bytes(bytes);
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_shown_at_each_place() {
        for length in 0..40 {
            let plain = vec![b'x'; length];
            assert_eq!(shown_size(&plain), length);
            for first in 0..length {
                for second in first..length {
                    let mut text = plain.clone();
                    (text[first], text[second]) = (0, 0);
                    // What a search for zeros could take for one.
                    if second > first + 1 {
                        text[first + 1] = 1;
                    }
                    let mut shown = Vec::new();
                    put_shown(&text, |part| shown.extend_from_slice(part));
                    assert_eq!(shown.len(), shown_size(&text));
                    let expected = String::from_utf8(text).unwrap().replace('\0', "␀");
                    assert_eq!(String::from_utf8(shown).unwrap(), expected);
                }
            }
        }
        assert_eq!(shown_size(&[1, 0x80, 0x81, 0xff, 1, 0x80, 1, 1, 0x80]), 9);
    }
}
