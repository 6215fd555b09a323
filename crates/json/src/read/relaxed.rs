//! Reader for text that is almost JSON.

use alloc::vec::Vec;

use super::{Error, ErrorKind, MAX_DEPTH, Reader, Result, Text};

/// A string as written in the text, between its quotes. It can contain any bytes except line feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelaxedString<'a> {
    /// Bytes between the quotes, with their escapes.
    pub raw: &'a [u8],
    /// Offset of the first byte.
    pub offset: usize,
}

impl<'a, T: Text + ?Sized> Reader<'a, T> {
    /// Reads a string in which only quotes and backslashes must be escaped. A line feed is an error, so that a missing
    /// quote does not consume the rest of the text. `expected` describes the string in the error.
    ///
    /// ```
    /// use ichnos_json::read::Reader;
    ///
    /// let mut text = Vec::new();
    /// Reader::new(&b"\"\xff\t\\ud800\\n\""[..]).relaxed_string("a string")?.push_to(&mut text)?;
    /// assert_eq!(text, b"\xff\t\xef\xbf\xbd\n");
    /// # Ok::<(), ichnos_json::read::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the string or its closing quote is missing.
    pub fn relaxed_string(&mut self, expected: &'static str) -> Result<RelaxedString<'a>> {
        self.expect(b'"', expected)?;
        let bytes = self.text.as_bytes();
        let offset = self.offset;
        loop {
            // After an escape at the end of the text, nothing is left, and the search fails.
            let rest = bytes.get(self.offset..).unwrap_or_default();
            let found = memchr::memchr3(b'"', b'\\', b'\n', rest);
            self.offset = found.map_or(bytes.len(), |at| self.offset + at);
            match bytes.get(self.offset) {
                Some(b'"') => {
                    let raw = bytes.get(offset..self.offset).unwrap_or_default();
                    self.offset += 1;
                    return Ok(RelaxedString { raw, offset });
                }
                Some(b'\\') => self.offset += 2,
                _ => return self.fail(ErrorKind::UnclosedString),
            }
        }
    }

    /// Skips a value with few checks: brackets must match, up to a depth of at most [`MAX_DEPTH`], and strings must
    /// end. Returns its text.
    ///
    /// # Errors
    /// Fails if the value or its end is missing.
    pub fn skip_relaxed(&mut self, depth: u32) -> Result<&'a T> {
        const EXPECTED: &str = "a value";
        let first = self.peek();
        let begin = self.offset;
        match first {
            Some(b'"') => {
                self.relaxed_string(EXPECTED)?;
            }
            Some(b'[' | b'{') => self.skip_brackets(depth.min(MAX_DEPTH))?,
            _ => {
                let rest = self.text.as_bytes().get(begin..).unwrap_or_default();
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                let text = rest.get(..length).unwrap_or_default();
                let is_of_number =
                    |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                let is_number = text.iter().any(u8::is_ascii_digit) && text.iter().all(is_of_number);
                if !is_number && !matches!(text, b"null" | b"true" | b"false") {
                    return self.error(EXPECTED);
                }
                self.offset += length;
            }
        }
        Ok(self.since(begin))
    }

    fn skip_brackets(&mut self, most: u32) -> Result<()> {
        const EXPECTED: &str = "the closing bracket";
        let (mut braces, mut depth) = (0u128, 0);
        loop {
            match self.text.as_bytes().get(self.offset) {
                Some(b'"') => {
                    self.relaxed_string(EXPECTED)?;
                    continue;
                }
                Some(byte @ (b'[' | b'{')) => {
                    if depth == most {
                        return self.fail(ErrorKind::Depth);
                    }
                    depth += 1;
                    braces = braces << 1 | u128::from(*byte == b'{');
                }
                Some(byte @ (b']' | b'}')) => {
                    if braces & 1 != u128::from(*byte == b'}') {
                        return self.error(EXPECTED);
                    }
                    depth -= 1;
                    braces >>= 1;
                    if depth == 0 {
                        self.offset += 1;
                        return Ok(());
                    }
                }
                Some(_) => {}
                None => return self.error(EXPECTED),
            }
            self.offset += 1;
        }
    }
}

impl RelaxedString<'_> {
    /// Appends the bytes without escapes, which are never more than the string itself has. Half a surrogate pair
    /// becomes U+FFFD.
    ///
    /// # Errors
    /// Fails if an escape is unknown.
    pub fn push_to(self, out: &mut Vec<u8>) -> Result<()> {
        let mut rest = self.raw;
        while let Some(found) = memchr::memchr(b'\\', rest) {
            let (plain, escape) = rest.split_at(found);
            out.extend_from_slice(plain);
            let mut reader = Reader::new(escape);
            let c = match reader.escape() {
                Ok(c) => c,
                Err(Error { kind: ErrorKind::LoneSurrogate(_), .. }) => {
                    // Anything can follow half a pair.
                    reader.offset = 6;
                    char::REPLACEMENT_CHARACTER
                }
                Err(_) => {
                    let offset = self.offset + self.raw.len() - escape.len();
                    return Err(Error { offset, kind: ErrorKind::Unexpected("an escape") });
                }
            };
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = escape.get(reader.offset..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
        Ok(())
    }
}
