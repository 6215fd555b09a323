//! Record names and strings.

use core::fmt::{self, Write};

use super::word::load_short;

/// A string. It is UTF-8, except for record messages, which can have any bytes.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
    /// `true` for the longer form of an empty string, an inline string without bytes.
    is_inline_empty: bool,
}

/// Highest bit of a reference, which marks inline text.
pub(crate) const INLINE: u16 = 1 << 15;

/// Returns the text length in bytes from a reference, or `None` if it is reserved.
#[inline(always)]
pub(crate) const fn length_of(reference: u16) -> Option<usize> {
    if reference != 0 && reference < INLINE {
        return None;
    }
    Some((reference & !INLINE) as usize)
}

/// Returns the reference for a text length of at most 32,767 bytes.
#[inline(always)]
pub(crate) const fn reference(length: usize) -> u16 {
    if length == 0 { 0 } else { length as u16 | INLINE }
}

impl<'a> Text<'a> {
    #[inline(always)]
    pub(crate) const fn read(bytes: &'a [u8], reference: u16) -> Self {
        Self { bytes, is_inline_empty: reference == INLINE }
    }

    /// Returns the bytes.
    #[inline]
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the text, or `None` if it is not UTF-8. Only messages can be invalid.
    #[inline]
    #[must_use]
    pub const fn as_str(self) -> Option<&'a str> {
        match core::str::from_utf8(self.bytes) {
            Ok(text) => Some(text),
            Err(_) => None,
        }
    }

    /// Returns the length in bytes.
    #[inline]
    #[must_use]
    pub const fn len(self) -> usize {
        self.bytes.len()
    }

    /// Returns `true` if the text is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the reference for this text, which must have at most 32,767 bytes.
    #[inline(always)]
    pub(crate) const fn reference(self) -> u16 {
        if self.is_inline_empty { INLINE } else { reference(self.bytes.len()) }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), is_inline_empty: false }
    }
}

impl<'a> From<&'a [u8]> for Text<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, is_inline_empty: false }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Text<'_> {}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.bytes == other.as_bytes()
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.bytes == other.as_bytes()
    }
}

/// Shows invalid UTF-8 as U+FFFD.
impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_lossy(self.bytes, f)
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes.escape_ascii())
    }
}

/// Writes text, with U+FFFD for invalid UTF-8.
pub(crate) fn write_lossy(bytes: &[u8], out: &mut (impl Write + ?Sized)) -> fmt::Result {
    for chunk in bytes.utf8_chunks() {
        out.write_str(chunk.valid())?;
        if !chunk.invalid().is_empty() {
            out.write_char(char::REPLACEMENT_CHARACTER)?;
        }
    }
    Ok(())
}

/// Argument name in UTF-8.
#[derive(Clone, Copy)]
pub struct Name<'a> {
    text: Text<'a>,
    /// First 8 bytes, padded with zeros, for fast comparison.
    word: u64,
}

impl<'a> Name<'a> {
    #[inline(always)]
    pub(crate) const fn read(bytes: &'a [u8], reference: u16, word: u64) -> Self {
        Self { text: Text::read(bytes, reference), word }
    }

    /// Returns the name. Readers have checked that it is UTF-8.
    #[inline]
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        match self.text.as_str() {
            Some(name) => name,
            None => "",
        }
    }

    /// Returns the bytes.
    #[inline]
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.text.bytes
    }

    /// Returns the length in bytes.
    #[inline]
    #[must_use]
    pub const fn len(self) -> usize {
        self.text.bytes.len()
    }

    /// Returns `true` if the name is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.text.bytes.is_empty()
    }

    #[inline(always)]
    pub(crate) const fn text(self) -> Text<'a> {
        self.text
    }

    /// Returns the first 8 bytes, padded with zeros.
    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.word
    }

    /// Compares the name with `name`, a compile-time constant.
    #[inline(always)]
    pub(crate) fn is(self, name: &str) -> bool {
        let name = name.as_bytes();
        self.len() == name.len()
            && self.word == load_short(name)
            && (name.len() <= 8 || self.text.bytes.get(8..) == name.get(8..))
    }
}

impl<'a> From<&'a str> for Name<'a> {
    #[inline(always)]
    fn from(name: &'a str) -> Self {
        Self { text: name.into(), word: load_short(name.as_bytes()) }
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Name<'_> {}

impl PartialEq<str> for Name<'_> {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        self.text.bytes == other.as_bytes()
    }
}

impl PartialEq<&str> for Name<'_> {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        self.text.bytes == other.as_bytes()
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lossy_text_has_one_mark_for_each_broken_sequence() {
        assert_eq!(Text::from(&b"This is \xf0\x90\x80 invalid"[..]).to_string(), "This is \u{fffd} invalid");
        assert_eq!(Text::from(&b"\xff\xfe"[..]).to_string(), "\u{fffd}\u{fffd}");
        assert_eq!(Text::from("grüße").to_string(), "grüße");
    }

    #[test]
    fn references() {
        assert_eq!(length_of(0), Some(0));
        assert_eq!(length_of(1), None);
        assert_eq!(length_of(0x7fff), None);
        assert_eq!(length_of(0x8000), Some(0));
        assert_eq!(length_of(0xffff), Some(32_767));
        assert_eq!(Text::from("").reference(), 0);
        assert_eq!(Text::read(b"", 0x8000).reference(), 0x8000);
        assert_eq!(Text::from("abc").reference(), 0x8003);
    }

    #[test]
    fn names_are_compared_whole() {
        for name in ["", "pid", "message", "12345678", "num_dropped"] {
            assert!(Name::from(name).is(name), "{name}");
        }
        assert!(!Name::from("num_dropper").is("num_dropped"));
        assert!(!Name::from("pid").is("pid\0"));
        assert!(!Name::from("num_drop").is("num_dropped"));
    }
}
