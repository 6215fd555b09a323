//! Searches in texts, eight bytes at once.

use ichnos_json::write::all_words;

const ONES: u64 = 0x0101_0101_0101_0101;
const LOW: u64 = ONES * 0x7f;
const HIGH: u64 = ONES << 7;

/// Sets the highest bit of each byte of a word that is not this ASCII character. `low` is the word without the highest
/// bits. The other bits are undefined.
#[inline(always)]
fn differs(low: u64, byte: u8) -> u64 {
    (low ^ (ONES * u64::from(byte))) + LOW
}

/// Returns `true` if a text has one of these ASCII characters.
#[inline(always)]
pub(crate) fn has_any<const N: usize>(text: &[u8], bytes: [u8; N]) -> bool {
    !all_words(text, |word| {
        let low = word & LOW;
        let fine = bytes.iter().fold(HIGH, |fine, byte| fine & differs(low, *byte));
        (fine | word) & HIGH == HIGH
    })
}

/// Returns `true` if a text has control characters, quotes, `\` or `?`.
#[inline(always)]
pub(crate) fn has_c_escapes(text: &[u8]) -> bool {
    !all_words(text, |word| {
        let low = word & LOW;
        let quotes = differs(low, b'"') & differs(low, b'\'') & differs(low, b'\\');
        // `?` and the character 0x7f differ in a bit.
        let others = differs(low | (ONES * 0x40), 0x7f) & (low + ONES * 0x60);
        (quotes & others | word) & HIGH == HIGH
    })
}

/// Returns `true` if a text is printable ASCII without these characters.
#[inline(always)]
pub(crate) fn is_printable_without<const N: usize>(text: &[u8], bytes: [u8; N]) -> bool {
    all_words(text, |word| {
        let low = word & LOW;
        let printable = (low + ONES * 0x60) & differs(low, 0x7f) & !word;
        bytes.iter().fold(printable, |fine, byte| fine & differs(low, *byte)) & HIGH == HIGH
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_in_every_place() {
        for length in 1..20 {
            for place in 0..length {
                for byte in 0..=255u8 {
                    let mut text = vec![b'x'; length];
                    text[place] = byte;
                    let is_escaped = byte < 32 || b"\x7f\"'\\?".contains(&byte);
                    assert_eq!(has_c_escapes(&text), is_escaped, "{text:?}");
                    assert_eq!(has_any(&text, *b",\n"), b",\n".contains(&byte), "{text:?}");
                    let is_right = matches!(byte, b' '..=b'~') && byte != b',';
                    assert_eq!(is_printable_without(&text, *b","), is_right, "{text:?}");
                }
            }
        }
        assert!(!has_c_escapes(b"") && !has_any(b"", *b",") && is_printable_without(b"", *b","));
    }
}
