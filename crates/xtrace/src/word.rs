//! Word boundaries, because identifiers in texts must be whole words.

use core::ops::Range;

use crate::hex;

/// Returns `true` if a range of a text is a whole word.
pub(crate) fn is_word(text: &[u8], range: &Range<usize>) -> bool {
    let is_end = match text.get(range.end..) {
        Some([b'-', next, ..]) => !hex::is_digit(*next),
        Some([next, ..]) => !is_word_byte(*next),
        _ => true,
    };
    is_end && is_begin(text, range.start)
}

/// Returns `true` if a word can start at an offset.
pub(crate) fn is_begin(text: &[u8], begin: usize) -> bool {
    match text.get(..begin) {
        Some([.., before, b'-']) => !hex::is_digit(*before),
        Some([.., before]) => !is_word_byte(*before),
        _ => true,
    }
}

/// Returns `true` if a byte can belong to a word.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}
