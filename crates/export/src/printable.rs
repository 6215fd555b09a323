//! Printable characters, and the escaping of all other characters.
//!
//! A character is *printable* unless it is a control character (General_Category Cc), a format character such as a
//! change of direction or a zero-width joiner (Cf), a separator of lines or paragraphs (Zl, Zp), for private use
//! (Co), a surrogate (Cs), unassigned (Cn), or invisible (Default_Ignorable_Code_Point). Spaces of any width and
//! combining marks are printable.
//!
//! All other characters are escaped in one notation: `\n`, `\r`, `\t`, `\x1b` for other ASCII characters, `\u{202e}`
//! for characters beyond ASCII, and `\xff` for an invalid UTF-8 byte. This is for display: backslashes are not escaped,
//! so the text cannot always be parsed back.

use std::borrow::Cow;
use std::io::Write as _;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Invisible characters whose General_Category is letter or mark: Default_Ignorable_Code_Point
/// (`DerivedCoreProperties.txt` of Unicode 17.0), except the categories Cf and Cn.
const INVISIBLE: [(char, char); 9] = [
    ('\u{34f}', '\u{34f}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180d}'),
    ('\u{180f}', '\u{180f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{e0100}', '\u{e01ef}'),
];

/// Set of escaped characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escaping {
    /// Control characters, and line and paragraph separators: every single character that could start a new line or
    /// control a terminal.
    Controls,
    /// All unprintable characters.
    Unprintable,
}

impl Escaping {
    #[inline]
    fn escapes(self, c: char) -> bool {
        match self {
            Self::Controls => c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'),
            Self::Unprintable => !is_printable(c),
        }
    }
}

/// Returns `true` if a terminal shows a character as itself. Unprintable are control characters, format characters
/// such as changes of direction and zero-width joiners, line and paragraph separators, private-use, unassigned and
/// invisible characters. Spaces of any width and combining marks are printable.
#[must_use]
pub fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\0'..='\u{9f}' => false,
        _ => {
            let is_shown = !matches!(
                c.general_category(),
                GeneralCategory::Control
                    | GeneralCategory::Format
                    | GeneralCategory::Surrogate
                    | GeneralCategory::PrivateUse
                    | GeneralCategory::Unassigned
                    | GeneralCategory::LineSeparator
                    | GeneralCategory::ParagraphSeparator
            );
            is_shown && !INVISIBLE.iter().any(|(first, last)| (first..=last).contains(&&c))
        }
    }
}

/// Escapes all characters that are not [printable](is_printable), including line feeds: `\n`, `\r`, `\t`, `\x1b` for
/// other ASCII characters, `\u{202e}` for characters beyond ASCII.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if is_plain(text.as_bytes()) || text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    push(&mut out, text.as_bytes(), Escaping::Unprintable);
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Escapes the text appended from `begin` on, if needed.
#[inline]
pub(crate) fn escape_from(out: &mut Vec<u8>, begin: usize, escaping: Escaping) {
    if !is_plain(out.get(begin..).unwrap_or_default()) {
        escape_any_from(out, begin, escaping);
    }
}

#[cold]
fn escape_any_from(out: &mut Vec<u8>, begin: usize, escaping: Escaping) {
    let is_right = |text: &str| !text.chars().any(|c| escaping.escapes(c));
    if out.get(begin..).is_none_or(|text| std::str::from_utf8(text).is_ok_and(is_right)) {
        return;
    }
    // The escaped text is appended and then replaces the original, without another buffer.
    let end = out.len();
    let mut at = begin;
    while let Some(rest) = out.get(at..end).filter(|rest| !rest.is_empty()) {
        // Enough for the first character, or the first invalid bytes.
        let mut first = [0; 4];
        let length = rest.len().min(first.len());
        first[..length].copy_from_slice(&rest[..length]);
        let Some(chunk) = first[..length].utf8_chunks().next() else { break };
        let length = chunk.valid().chars().next().map_or(chunk.invalid().len(), char::len_utf8);
        push(out, &first[..length], escaping);
        at += length;
    }
    out.drain(begin..end);
}

/// Appends a text, escaped as needed.
fn push(out: &mut Vec<u8>, text: &[u8], escaping: Escaping) {
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if escaping.escapes(c) {
                push_escape(out, c);
            } else {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        push_bytes(out, chunk.invalid());
    }
}

/// Appends the escape of a character.
pub(crate) fn push_escape(out: &mut Vec<u8>, c: char) {
    // Writing to a vector does not fail.
    let _ = match c {
        '\n' => out.write_all(b"\\n"),
        '\r' => out.write_all(b"\\r"),
        '\t' => out.write_all(b"\\t"),
        c if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
        c => write!(out, "\\u{{{:x}}}", u32::from(c)),
    };
}

/// Appends escapes of invalid UTF-8 bytes.
pub(crate) fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Returns `true` if a text is printable ASCII only.
#[inline]
pub(crate) fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let is_plain = |word: u64| {
        let delete = word ^ (ONES * 0x7f);
        // Borrows only come from bytes that match themselves.
        let found = word | word.wrapping_sub(ONES * 0x20) | delete.wrapping_sub(ONES) & !delete;
        found & (ONES << 7) == 0
    };
    let (words, rest) = text.as_chunks();
    match (text.first_chunk(), text.last_chunk()) {
        _ if !words.is_empty() => {
            words.iter().all(|word| is_plain(u64::from_le_bytes(*word)))
                && text.last_chunk().is_none_or(|last| is_plain(u64::from_le_bytes(*last)))
        }
        // The words can overlap.
        (Some(first), Some(last)) => {
            is_plain(u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32)
        }
        _ => rest.iter().all(|byte| matches!(byte, b' '..=b'~')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printable() {
        for c in ['a', ' ', '~', 'é', 'ß', '中', '한', '\u{301}', '\u{a0}', '\u{3000}', '🦀', '€', '\u{fffd}']
        {
            assert!(is_printable(c), "{c:?}");
        }
        let unprintable = [
            '\0',
            '\t',
            '\n',
            '\r',
            '\x1b',
            '\x7f',
            '\u{80}',
            '\u{85}',
            '\u{9b}',
            '\u{9f}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{206f}',
            '\u{3164}',
            '\u{e000}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{fff9}',
            '\u{ffff}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{10ffff}',
        ];
        for c in unprintable {
            assert!(!is_printable(c), "{c:?}");
        }
        assert!(INVISIBLE.is_sorted() && INVISIBLE.iter().all(|(first, last)| first <= last));
    }

    #[test]
    fn one_notation() {
        assert_eq!(printable("plain é 中"), "plain é 中");
        assert_eq!(printable("a\x1b[31m\nb\t\r\u{9b}\u{202e}"), r"a\x1b[31m\nb\t\r\u{9b}\u{202e}");
        let mut out = b"\x1b".to_vec();
        escape_from(&mut out, 1, Escaping::Unprintable);
        out.extend_from_slice(b"\xff\xe2\x80\xe4\xb8\xad\xe2\x80\xae\x7f");
        escape_from(&mut out, 1, Escaping::Unprintable);
        assert_eq!(out, "\x1b\\xff\\xe2\\x80中\\u{202e}\\x7f".as_bytes());
        let mut out = "é\u{202e}\u{200b}".as_bytes().to_vec();
        escape_from(&mut out, 0, Escaping::Controls);
        assert_eq!(out, "é\u{202e}\u{200b}".as_bytes());
        out.extend_from_slice("\u{9b}\u{2028}\u{85}\n\x07".as_bytes());
        escape_from(&mut out, 0, Escaping::Controls);
        assert_eq!(String::from_utf8(out).unwrap(), "é\u{202e}\u{200b}\\u{9b}\\u{2028}\\u{85}\\n\\x07");
    }

    #[test]
    fn plain_texts_are_found_wherever_their_characters_are() {
        for length in 0..20 {
            for place in 0..length {
                for byte in 0..=255u8 {
                    let mut text = vec![b'~'; length];
                    text[place] = byte;
                    assert_eq!(is_plain(&text), matches!(byte, b' '..=b'~'), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn escaping_in_place_is_escaping_anew() {
        // Characters of each length, and invalid bytes: alone, incomplete, surplus.
        let pieces: [&[u8]; 9] = [
            b"a",
            b"\n",
            "é".as_bytes(),
            "\u{202e}".as_bytes(),
            "🦀".as_bytes(),
            b"\xff",
            b"\xe2\x80",
            b"\xf0\x9f\xa6",
            b"\x80",
        ];
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let text = [first, second, third].concat();
                    for escaping in [Escaping::Unprintable, Escaping::Controls] {
                        let mut anew = b"lead".to_vec();
                        push(&mut anew, &text, escaping);
                        let mut in_place = [b"lead", &text[..]].concat();
                        escape_any_from(&mut in_place, 4, escaping);
                        let is_right = |text: &[u8]| {
                            std::str::from_utf8(text)
                                .is_ok_and(|text| !text.chars().any(|c| escaping.escapes(c)))
                        };
                        if !is_right(&text) {
                            assert_eq!(in_place, anew, "{text:?}");
                        }
                    }
                }
            }
        }
    }
}
