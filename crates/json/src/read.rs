//! Pull reader for JSON text.
//!
//! A [`Reader`] is a position in a text. Each method reads one token or one value and moves the reader forward. To read
//! a value later, clone the reader. Objects and arrays are loops:
//!
//! ```
//! use ichnos_json::read::Reader;
//!
//! let mut reader = Reader::new(r#"{"id": 7, "tags": ["a", "b\n"], "rest": [1, {"x": null}]}"#);
//! let mut tags = Vec::new();
//! let mut first_member = true;
//! reader.expect(b'{', "an object")?;
//! while let Some(name) = reader.key(&mut first_member)? {
//!     if name.is("tags") {
//!         let mut first_element = true;
//!         reader.expect(b'[', "an array")?;
//!         while reader.element(&mut first_element)? {
//!             tags.push(reader.string()?.text());
//!         }
//!     } else {
//!         reader.skip()?;
//!     }
//! }
//! assert_eq!(tags, ["a", "b\n"]);
//! # Ok::<(), ichnos_json::read::Error>(())
//! ```
//!
//! # Text
//! Text in a `str` is known to be UTF-8. For bytes, the reader checks each string, and reports the position of invalid
//! bytes.
//!
//! # Strictness
//! The methods accept only RFC 8259. [`Reader::skip`] rejects the same errors as reading. The caller sees duplicate
//! names. Two methods, [`Reader::skip_relaxed`] and [`Reader::relaxed_string`], are for texts from programs that do not
//! write correct JSON.
//!
//! # Numbers
//! A number is read as text ([`Reader::number`]), which preserves integers of any size and all digits of a fraction.
//!
//! # Limits
//! The nesting depth is limited to [`MAX_DEPTH`], or to the argument of [`Reader::skip_within`]. Only [`Raw::text`] and
//! the caller's buffers take memory.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;
use core::ops::Range;

use crate::scan::plain_length;

mod error;
mod relaxed;

pub use error::{Error, ErrorKind};
pub use relaxed::RelaxedString;

/// Maximum nesting depth of arrays and objects.
pub const MAX_DEPTH: u32 = 128;

/// Reader result.
pub type Result<T> = core::result::Result<T, Error>;

/// Text types that a [`Reader`] can read: `str` or `[u8]`.
pub trait Text: sealed::Sealed {
    /// Returns the bytes of the text.
    fn as_bytes(&self) -> &[u8];

    /// Returns a part of the text; empty if the range is out of bounds.
    fn part(&self, range: Range<usize>) -> &Self;

    /// Returns a part of the text as a string.
    ///
    /// # Errors
    /// Returns the number of valid bytes if the part is not valid UTF-8.
    fn string(&self, range: Range<usize>) -> core::result::Result<&str, usize>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for str {}
    impl Sealed for [u8] {}
}

impl Text for str {
    #[inline]
    fn as_bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    #[inline]
    fn part(&self, range: Range<usize>) -> &Self {
        self.get(range).unwrap_or_default()
    }

    #[inline]
    fn string(&self, range: Range<usize>) -> core::result::Result<&str, usize> {
        Ok(self.part(range))
    }
}

impl Text for [u8] {
    #[inline]
    fn as_bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn part(&self, range: Range<usize>) -> &Self {
        self.get(range).unwrap_or_default()
    }

    #[inline]
    fn string(&self, range: Range<usize>) -> core::result::Result<&str, usize> {
        core::str::from_utf8(self.part(range)).map_err(|error| error.valid_up_to())
    }
}

/// Position in a JSON text.
///
/// Methods skip white space before they read.
pub struct Reader<'a, T: ?Sized = str> {
    text: &'a T,
    offset: usize,
}

impl<T: ?Sized> Clone for Reader<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        Self { text: self.text, offset: self.offset }
    }
}

impl<T: ?Sized> fmt::Debug for Reader<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl<'a, T: Text + ?Sized> Reader<'a, T> {
    /// Creates a reader at the start of a text.
    #[inline]
    pub fn new(text: &'a T) -> Self {
        Self { text, offset: 0 }
    }

    /// Returns the whole text.
    #[inline]
    #[must_use]
    pub fn text(&self) -> &'a T {
        self.text
    }

    /// Returns the number of bytes before the position.
    #[inline]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Moves to another offset.
    #[inline]
    pub fn seek(&mut self, offset: usize) {
        self.offset = offset;
    }

    /// Returns the text from an offset to the position.
    #[inline]
    #[must_use]
    pub fn since(&self, begin: usize) -> &'a T {
        self.text.part(begin..self.offset)
    }

    /// Returns an error at the position. `expected` describes the missing item.
    pub fn error<V>(&self, expected: &'static str) -> Result<V> {
        self.fail(ErrorKind::Unexpected(expected))
    }

    fn fail<V>(&self, kind: ErrorKind) -> Result<V> {
        Err(Error { offset: self.offset, kind })
    }

    /// Skips white space. Returns the byte after it, or `None` at the end of the text.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.offset) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.offset += 1;
        }
        None
    }

    /// Reads a byte if it is next. Returns `true` if so.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.offset += usize::from(is_it);
        is_it
    }

    /// Reads a byte, described by `expected` in the error.
    ///
    /// # Errors
    /// Fails if something else is next.
    #[inline]
    pub fn expect(&mut self, byte: u8, expected: &'static str) -> Result<()> {
        if self.take(byte) { Ok(()) } else { self.error(expected) }
    }

    /// Reads `true`, `false` or `null` if it is next. Returns `true` if so. The start of a longer word does not count.
    #[inline]
    pub fn literal(&mut self, literal: &str) -> bool {
        self.peek();
        // Beyond the text, nothing is next.
        let rest = self.text.as_bytes().get(self.offset..).unwrap_or_default();
        let is_it = rest
            .strip_prefix(literal.as_bytes())
            .is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric));
        self.offset += if is_it { literal.len() } else { 0 };
        is_it
    }

    /// Moves to the next member of an object after its `{`. Returns the name, or `None` after the `}`.
    ///
    /// # Errors
    /// Fails if the object is not valid JSON up to the value of the member.
    #[inline]
    pub fn key(&mut self, is_first: &mut bool) -> Result<Option<Raw<'a>>> {
        if !self.next(b'}', is_first, "`,` or `}`")? {
            return Ok(None);
        }
        self.name().map(Some)
    }

    /// Moves to the next member of an object like [`Reader::key`], but only up to its name. Returns `false` after the
    /// `}`.
    ///
    /// # Errors
    /// Fails if there is neither a comma nor a brace.
    #[inline]
    pub fn member(&mut self, is_first: &mut bool) -> Result<bool> {
        self.next(b'}', is_first, "`,` or `}`")
    }

    /// Reads a member name and the colon after it.
    ///
    /// # Errors
    /// Fails if the string or the colon is missing.
    #[inline]
    pub fn name(&mut self) -> Result<Raw<'a>> {
        let name = self.quoted("a property name")?;
        self.expect(b':', "`:`")?;
        Ok(name)
    }

    /// Moves to the next element of an array after its `[`. Returns `false` after the `]`.
    ///
    /// # Errors
    /// Fails if there is neither a comma nor a bracket.
    #[inline]
    pub fn element(&mut self, is_first: &mut bool) -> Result<bool> {
        self.next(b']', is_first, "`,` or `]`")
    }

    #[inline(always)]
    fn next(&mut self, close: u8, is_first: &mut bool, expected: &'static str) -> Result<bool> {
        if self.take(close) {
            return Ok(false);
        }
        if !core::mem::replace(is_first, false) {
            self.expect(b',', expected)?;
        }
        Ok(true)
    }

    /// Reads a string.
    ///
    /// # Errors
    /// Fails if the string is missing, or is not valid JSON.
    #[inline]
    pub fn string(&mut self) -> Result<Raw<'a>> {
        self.quoted("a string")
    }

    #[inline]
    fn quoted(&mut self, expected: &'static str) -> Result<Raw<'a>> {
        self.expect(b'"', expected)?;
        let begin = self.offset;
        let bytes = self.text.as_bytes();
        self.offset += plain_length(bytes.get(begin..).unwrap_or_default());
        if bytes.get(self.offset) != Some(&b'"') {
            return self.quoted_with_escapes(begin);
        }
        let text = self.raw(begin)?;
        self.offset += 1;
        Ok(Raw { text, has_escapes: false })
    }

    /// Returns the string from `begin` to the position.
    #[inline]
    fn raw(&self, begin: usize) -> Result<&'a str> {
        let invalid = |valid| Error { offset: begin + valid, kind: ErrorKind::InvalidUtf8 };
        self.text.string(begin..self.offset).map_err(invalid)
    }

    /// Reads the rest of a string from a byte before its end.
    #[inline(never)]
    fn quoted_with_escapes(&mut self, begin: usize) -> Result<Raw<'a>> {
        let bytes = self.text.as_bytes();
        loop {
            let failed = match bytes.get(self.offset) {
                Some(b'"') => {
                    let text = self.raw(begin)?;
                    self.offset += 1;
                    return Ok(Raw { text, has_escapes: true });
                }
                Some(b'\\') => self.escape().map(drop),
                Some(control @ 0..0x20) => self.fail(ErrorKind::ControlCharacter(*control)),
                Some(_) => {
                    self.offset += plain_length(bytes.get(self.offset..).unwrap_or_default());
                    Ok(())
                }
                None => self.fail(ErrorKind::UnclosedString),
            };
            if let Err(error) = failed {
                // If there are two errors, the first one is reported.
                self.offset = error.offset.min(self.text.as_bytes().len());
                self.raw(begin)?;
                return Err(error);
            }
        }
    }

    /// Reads an escape and returns its character.
    fn escape(&mut self) -> Result<char> {
        let backslash = self.offset;
        self.offset += 1;
        let simple = match self.text.as_bytes().get(self.offset) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(backslash),
            _ => return self.error("one of `\"\\/bfnrtu` after a backslash"),
        };
        self.offset += 1;
        Ok(simple)
    }

    fn unicode_escape(&mut self, backslash: usize) -> Result<char> {
        self.offset += 1;
        let unit = self.hex_digits()?;
        let mut code = u32::from(unit);
        if let 0xd800..0xdc00 = unit
            && self.text.as_bytes().get(self.offset..).is_some_and(|rest| rest.starts_with(b"\\u"))
        {
            self.offset += 2;
            let low = self.hex_digits()?;
            if let 0xdc00..0xe000 = low {
                code = 0x1_0000 + ((code - 0xd800) << 10 | (u32::from(low) - 0xdc00));
            }
        }
        // The remaining code points are half surrogate pairs.
        char::from_u32(code).ok_or(Error { offset: backslash, kind: ErrorKind::LoneSurrogate(unit) })
    }

    fn hex_digits(&mut self) -> Result<u16> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.text.as_bytes().get(self.offset);
            let Some(digit) = digit.and_then(|digit| char::from(*digit).to_digit(16)) else {
                return self.error("a hexadecimal digit");
            };
            value = value << 4 | digit as u16;
            self.offset += 1;
        }
        Ok(value)
    }

    /// Reads a number and returns its text.
    ///
    /// # Errors
    /// Fails if the number is missing, or is not valid JSON.
    #[inline]
    pub fn number(&mut self) -> Result<&'a str> {
        self.peek();
        let begin = self.offset;
        let bytes = self.text.as_bytes();
        let digits = |at: &mut usize| {
            let from = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            *at > from
        };
        let mut at = begin + usize::from(bytes.get(begin) == Some(&b'-'));
        let is_zero = bytes.get(at) == Some(&b'0');
        let first = at;
        if !digits(&mut at) {
            if at == begin {
                return self.error("a value");
            }
            self.offset = at;
            return self.error("a digit");
        }
        if is_zero && at > first + 1 {
            return self.fail(ErrorKind::LeadingZero);
        }
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            if !digits(&mut at) {
                self.offset = at;
                return self.error("a digit");
            }
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            if !digits(&mut at) {
                self.offset = at;
                return self.error("a digit");
            }
        }
        self.offset = at;
        self.raw(begin)
    }

    /// Skips a value and returns its text.
    ///
    /// # Errors
    /// Fails if the value is missing, is not valid JSON, or nests deeper than [`MAX_DEPTH`].
    #[inline]
    pub fn skip(&mut self) -> Result<&'a T> {
        self.skip_within(MAX_DEPTH)
    }

    /// Skips a value with a maximum nesting depth, at most [`MAX_DEPTH`], and returns its text.
    ///
    /// # Errors
    /// See [`Reader::skip`].
    pub fn skip_within(&mut self, depth: u32) -> Result<&'a T> {
        self.peek();
        let begin = self.offset;
        self.skip_nested(depth.min(MAX_DEPTH))?;
        Ok(self.since(begin))
    }

    fn skip_nested(&mut self, depth: u32) -> Result<()> {
        let mut is_first = true;
        match self.peek() {
            Some(b'{') => {
                let depth = self.enter(depth)?;
                while self.key(&mut is_first)?.is_some() {
                    self.skip_nested(depth)?;
                }
            }
            Some(b'[') => {
                let depth = self.enter(depth)?;
                while self.element(&mut is_first)? {
                    self.skip_nested(depth)?;
                }
            }
            Some(b'"') => {
                self.string()?;
            }
            Some(b't' | b'f' | b'n') => {
                if !self.literal("true") && !self.literal("false") && !self.literal("null") {
                    return self.error("a value");
                }
            }
            _ => {
                self.number()?;
            }
        }
        Ok(())
    }

    /// Reads the next bracket or brace. Returns the remaining depth inside it.
    ///
    /// # Errors
    /// Fails if no depth remains.
    #[inline]
    pub fn enter(&mut self, depth: u32) -> Result<u32> {
        let Some(depth) = depth.checked_sub(1) else { return self.fail(ErrorKind::Depth) };
        self.offset += 1;
        Ok(depth)
    }
}

/// A string as written in the text, between its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    text: &'a str,
    has_escapes: bool,
}

impl<'a> Raw<'a> {
    /// Returns the text between the quotes, with its escapes.
    #[inline]
    #[must_use]
    pub fn as_written(self) -> &'a str {
        self.text
    }

    /// Returns the text without escapes; borrowed if there were none.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        if !self.has_escapes {
            return Cow::Borrowed(self.text);
        }
        let mut text = String::with_capacity(self.text.len());
        self.push_to(&mut text);
        Cow::Owned(text)
    }

    /// Appends the text without escapes.
    pub fn push_to(self, out: &mut String) {
        let mut reader = Reader::new(self.text);
        loop {
            let begin = reader.offset;
            let rest = self.text.as_bytes().get(begin..).unwrap_or_default();
            reader.offset = memchr::memchr(b'\\', rest).map_or(self.text.len(), |at| begin + at);
            out.push_str(reader.since(begin));
            if reader.offset == self.text.len() {
                return;
            }
            // The escapes are known to be valid.
            let Ok(c) = reader.escape() else { return };
            out.push(c);
        }
    }

    /// Returns `true` if the text without escapes equals `text`.
    #[inline]
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        if self.has_escapes { self.text() == text } else { self.text == text }
    }

    /// Returns the text if it needs no unescaping.
    #[inline]
    #[must_use]
    pub fn plain(self) -> Option<&'a str> {
        (!self.has_escapes).then_some(self.text)
    }
}

/// Returns `true` if a text is a JSON number (RFC 8259, section 6).
#[must_use]
pub fn is_number(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.number().is_ok_and(|number| number.len() == text.len())
}

#[cfg(test)]
mod tests;
