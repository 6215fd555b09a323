//! Text values, as passed to a visitor.

use std::borrow::Cow;

use super::utf16;

crate::named_enum! {
    /// String encoding. Names are from CTF2-SPEC-2.0.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum StringEncoding {
        #[default]
        Utf8 = "utf-8",
        Utf16Be = "utf-16be",
        Utf16Le = "utf-16le",
        Utf32Be = "utf-32be",
        Utf32Le = "utf-32le",
    }
}

impl StringEncoding {
    /// Returns the code unit size in bytes: 1, 2 or 4.
    #[must_use]
    pub const fn unit(self) -> usize {
        match self {
            Self::Utf8 => 1,
            Self::Utf16Be | Self::Utf16Le => 2,
            Self::Utf32Be | Self::Utf32Le => 4,
        }
    }
}

/// A string as stored in its packet.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Bytes before the first U+0000.
    pub bytes: &'a [u8],
    /// All bytes of the field, including the terminating U+0000 and the garbage after it.
    pub raw: &'a [u8],
    /// Character encoding.
    pub encoding: StringEncoding,
}

impl<'a> Text<'a> {
    /// Returns the text without a copy, if it is valid UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&'a str> {
        match self.encoding {
            StringEncoding::Utf8 => std::str::from_utf8(self.bytes).ok(),
            _ => None,
        }
    }

    /// Returns the text in UTF-8, with U+FFFD for invalid parts.
    #[must_use]
    pub fn to_str_lossy(&self) -> Cow<'a, str> {
        match self.encoding {
            StringEncoding::Utf8 => String::from_utf8_lossy(self.bytes),
            _ => {
                let mut text = Vec::new();
                self.write_utf8(&mut text);
                // `write_utf8` only writes valid text.
                Cow::Owned(String::from_utf8(text).unwrap_or_default())
            }
        }
    }

    /// Appends the text in UTF-8, with U+FFFD for invalid parts. Returns `false` if anything was invalid.
    pub fn write_utf8(&self, out: &mut Vec<u8>) -> bool {
        match self.encoding {
            StringEncoding::Utf8 => {
                let mut is_valid = true;
                for chunk in self.bytes.utf8_chunks() {
                    out.extend_from_slice(chunk.valid().as_bytes());
                    if !chunk.invalid().is_empty() {
                        is_valid = false;
                        out.extend_from_slice("\u{fffd}".as_bytes());
                    }
                }
                is_valid
            }
            StringEncoding::Utf16Le => utf16::push_utf8::<false>(out, self.bytes),
            StringEncoding::Utf16Be => utf16::push_utf8::<true>(out, self.bytes),
            StringEncoding::Utf32Le | StringEncoding::Utf32Be => {
                let mut is_valid = true;
                for c in self.characters() {
                    is_valid &= c.is_some();
                    let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                is_valid
            }
        }
    }

    /// Returns `true` if the text is valid in its encoding.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self.encoding {
            StringEncoding::Utf8 => std::str::from_utf8(self.bytes).is_ok(),
            _ => self.characters().all(|c| c.is_some()),
        }
    }

    /// Characters of a UTF-16 or UTF-32 text; `None` for invalid characters.
    fn characters(&self) -> impl Iterator<Item = Option<char>> + 'a {
        let (bytes, encoding) = (self.bytes, self.encoding);
        let big = matches!(encoding, StringEncoding::Utf16Be | StringEncoding::Utf32Be);
        let unit = encoding.unit();
        let units = bytes.chunks(unit).map(move |chunk| {
            if chunk.len() < unit {
                // Half a code unit at the end becomes a value that is invalid in both encodings.
                return 0xdfff;
            }
            let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
            if big { chunk.iter().fold(0, fold) } else { chunk.iter().rev().fold(0, fold) }
        });
        Characters { units: units.peekable(), utf16: unit == 2 }
    }
}

struct Characters<I: Iterator<Item = u32>> {
    units: std::iter::Peekable<I>,
    utf16: bool,
}

impl<I: Iterator<Item = u32>> Iterator for Characters<I> {
    type Item = Option<char>;

    fn next(&mut self) -> Option<Option<char>> {
        let first = self.units.next()?;
        if self.utf16 && (0xd800..0xdc00).contains(&first) {
            let second = self.units.next_if(|unit| (0xdc00..0xe000).contains(unit));
            return Some(
                second.and_then(|second| {
                    char::from_u32(0x10000 + ((first - 0xd800) << 10 | (second - 0xdc00)))
                }),
            );
        }
        Some(char::from_u32(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_and_utf32() {
        let text = |bytes, encoding| Text { bytes, raw: bytes, encoding };
        let pair = text(&[0xd8, 0x3d, 0xde, 0x00], StringEncoding::Utf16Be);
        assert_eq!(pair.to_str_lossy(), "😀");
        let broken = text(&[0x3d, 0xd8, b'a', 0], StringEncoding::Utf16Le);
        assert_eq!(broken.to_str_lossy(), "\u{fffd}a");
        assert!(!broken.is_valid());
        assert_eq!(text(&[0, 0, 0, b'x'], StringEncoding::Utf32Be).to_str_lossy(), "x");
        assert!(!text(b"\xff", StringEncoding::Utf8).is_valid());
    }
}
