//! JSON writer: appends to a buffer that the caller owns.
//!
//! A [`ValueWriter`] is the place for one value. [`ObjectWriter`] and [`ArrayWriter`] write the separators between
//! members and elements, and provide the places for their values:
//!
//! ```
//! use ichnos_json::write::ValueWriter;
//!
//! let mut out = Vec::new();
//! let mut object = ValueWriter::new(&mut out).object();
//! object.member("name").string("caf\u{e9} \"x\"");
//! let mut list = object.member("list").array();
//! list.element().unsigned(1);
//! list.element().signed(-1);
//! list.element().object().end();
//! list.end();
//! object.member("none").null();
//! object.end();
//! assert_eq!(String::from_utf8_lossy(&out), r#"{"name":"café \"x\"","list":[1,-1,{}],"none":null}"#);
//! ```
//!
//! Values are escaped. [`ObjectWriter::named`] also escapes names, for arbitrary text. [`ObjectWriter::member`] is for
//! the fixed names in a format. Functions that begin with `push` append a single token, for writers that keep track of
//! separators themselves.
//!
//! # Escapes
//! Only quotes, backslashes and control characters are escaped, as RFC 8259 requires: `\"`, `\\`, `\n`, `\r`, `\t`,
//! otherwise `\u001f`. [`write_printable`] also escapes terminal control characters, and characters that some readers
//! treat as line ends.
//!
//! # Integers
//! Integers are written with all their digits. Readers that keep only 53 bits round them.

use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use crate::scan::{is_plain_ascii, plain_length};

mod base64;
mod decimal;

pub use crate::scan::all_words;
pub use base64::push_base64;
pub use decimal::{eight_digits, push_integer, push_signed, push_unsigned};

/// Appends a string in quotes.
#[inline]
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    push_utf8(out, text.as_bytes());
}

/// Appends a string in quotes. `text` must be UTF-8.
#[inline]
pub fn push_utf8(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

/// Appends the inside of a string. `text` must be UTF-8.
#[inline]
pub fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let length = plain_length(text);
    let (plain, rest) = text.split_at_checked(length).unwrap_or((text, &[]));
    out.extend_from_slice(plain);
    if !rest.is_empty() {
        push_special(out, rest);
    }
}

/// Appends the inside of a string, from its first special byte on.
#[inline(never)]
fn push_special(out: &mut Vec<u8>, mut text: &[u8]) {
    while let Some((byte, rest)) = text.split_first() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                let digit = |value: u8| value + if value < 10 { b'0' } else { b'a' - 10 };
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
            }
        }
        let length = plain_length(rest);
        let (plain, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        out.extend_from_slice(plain);
        text = behind;
    }
}

/// Appends a string in quotes if it is ASCII without escapes. Otherwise returns `false` and appends nothing.
///
/// If it returns `true`, strings that may not be UTF-8 need no other check.
#[inline]
pub fn push_plain(out: &mut Vec<u8>, text: &[u8]) -> bool {
    if !is_plain_ascii(text) {
        return false;
    }
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
    true
}

/// Returns `true` if the inside of a string is ASCII without escapes.
#[inline]
#[must_use]
pub fn is_plain(text: &[u8]) -> bool {
    is_plain_ascii(text)
}

/// Writes a string in quotes for people. Also escapes U+007F to U+009F, which can control terminals, and U+2028 and
/// U+2029, which some readers treat as line ends.
///
/// # Errors
/// Fails if `out` cannot be written to.
pub fn write_printable(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(c))?;
            }
            _ => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

/// Formatter target that escapes its input as the inside of a string.
#[derive(Debug)]
pub struct Escaped<'o>(pub &'o mut Vec<u8>);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        push_escaped(self.0, text.as_bytes());
        Ok(())
    }
}

/// Place for one value.
#[derive(Debug)]
#[must_use = "a value is missing until it is written"]
pub struct ValueWriter<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> ValueWriter<'o> {
    /// Creates a place at the end of a buffer.
    #[inline]
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Returns the buffer, for a value written by other means. Exactly one value must be appended.
    #[inline]
    #[must_use]
    pub fn raw(self) -> &'o mut Vec<u8> {
        self.out
    }

    /// Writes a string.
    #[inline]
    pub fn string(self, text: &str) {
        push_string(self.out, text);
    }

    /// Writes a string. `text` must be UTF-8.
    #[inline]
    pub fn utf8(self, text: &[u8]) {
        push_utf8(self.out, text);
    }

    /// Writes formatted text as a string.
    pub fn display(self, text: impl fmt::Display) {
        self.out.push(b'"');
        // Writing to a `Vec` cannot fail.
        let _ = write!(Escaped(self.out), "{text}");
        self.out.push(b'"');
    }

    /// Writes an unsigned integer.
    #[inline]
    pub fn unsigned(self, value: u64) {
        push_unsigned(self.out, value);
    }

    /// Writes a signed integer.
    #[inline]
    pub fn signed(self, value: i64) {
        push_signed(self.out, value);
    }

    /// Writes an integer of up to 128 bits.
    #[inline]
    pub fn integer(self, value: i128) {
        push_integer(self.out, value);
    }

    /// Writes the text of a number.
    #[inline]
    pub fn number(self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes `true` or `false`.
    #[inline]
    pub fn boolean(self, value: bool) {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// Writes `null`.
    #[inline]
    pub fn null(self) {
        self.out.extend_from_slice(b"null");
    }

    /// Writes a value with `write`, or `null` if it is missing.
    #[inline]
    pub fn or_null<T>(self, value: Option<T>, write: impl FnOnce(Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.null(),
        }
    }

    /// Begins an object.
    #[inline]
    pub fn object(self) -> ObjectWriter<'o> {
        self.out.push(b'{');
        ObjectWriter { out: self.out, layout: Separation::Compact, has_members: false }
    }

    /// Begins an object with one line per member. The first member follows the brace directly.
    pub fn object_of_lines(self) -> ObjectWriter<'o> {
        ObjectWriter { layout: Separation::Lines, ..self.object() }
    }

    /// Begins an array.
    #[inline]
    pub fn array(self) -> ArrayWriter<'o> {
        self.out.push(b'[');
        ArrayWriter { out: self.out, layout: Separation::Compact, has_elements: false }
    }

    /// Begins an array with one line per element.
    pub fn array_of_lines(self) -> ArrayWriter<'o> {
        ArrayWriter { layout: Separation::Lines, ..self.array() }
    }

    /// Writes an array of strings.
    pub fn strings<S: AsRef<str>>(self, texts: impl IntoIterator<Item = S>) {
        let mut array = self.array();
        for text in texts {
            let (element, text) = (array.element(), text.as_ref());
            // Most texts are plain.
            if !push_plain(element.out, text.as_bytes()) {
                element.string(text);
            }
        }
        array.end();
    }
}

/// White space between members or elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separation {
    /// No white space.
    Compact,
    /// One line each, except for the first member of an object.
    Lines,
}

/// An object being written.
#[derive(Debug)]
#[must_use = "an object is incomplete until its `end`"]
pub struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    layout: Separation,
    has_members: bool,
}

impl<'o> ObjectWriter<'o> {
    /// Continues an object that was begun by other means.
    #[inline]
    pub fn resume(out: &'o mut Vec<u8>, has_members: bool) -> Self {
        Self { out, layout: Separation::Compact, has_members }
    }

    /// Writes a name that needs no escapes. Returns the place for its value.
    #[inline]
    pub fn member(&mut self, name: &'static str) -> ValueWriter<'_> {
        debug_assert!(is_plain_ascii(name.as_bytes()), "the name {name:?} needs escapes");
        self.begin_name();
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        ValueWriter { out: self.out }
    }

    /// Writes a name with its escapes. Returns the place for its value.
    #[inline]
    pub fn named(&mut self, name: &str) -> ValueWriter<'_> {
        self.begin_name();
        push_escaped(self.out, name.as_bytes());
        self.out.extend_from_slice(b"\":");
        ValueWriter { out: self.out }
    }

    /// Appends the separator and the opening quote of a name.
    #[inline]
    fn begin_name(&mut self) {
        match (core::mem::replace(&mut self.has_members, true), self.layout) {
            (false, _) => self.out.push(b'"'),
            (true, Separation::Compact) => self.out.extend_from_slice(b",\""),
            (true, Separation::Lines) => self.out.extend_from_slice(b",\n\""),
        }
    }

    /// Writes a string member if the value exists.
    #[inline]
    pub fn string(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.member(name).string(text);
        }
    }

    /// Writes an unsigned integer member if the value exists.
    #[inline]
    pub fn unsigned(&mut self, name: &'static str, value: Option<u64>) {
        if let Some(value) = value {
            self.member(name).unsigned(value);
        }
    }

    /// Writes an integer member of up to 128 bits if the value exists.
    #[inline]
    pub fn integer(&mut self, name: &'static str, value: Option<i128>) {
        if let Some(value) = value {
            self.member(name).integer(value);
        }
    }

    /// Returns `true` if the object has members.
    #[inline]
    #[must_use]
    pub fn has_members(&self) -> bool {
        self.has_members
    }

    /// Returns the buffer. Complete members must be passed to the writer, or appended with their commas.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Ends the object.
    #[inline]
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// An array being written.
#[derive(Debug)]
#[must_use = "an array is incomplete until its `end`"]
pub struct ArrayWriter<'o> {
    out: &'o mut Vec<u8>,
    layout: Separation,
    has_elements: bool,
}

impl ArrayWriter<'_> {
    /// Returns the place for the next element.
    #[inline]
    pub fn element(&mut self) -> ValueWriter<'_> {
        if core::mem::replace(&mut self.has_elements, true) {
            self.out.push(b',');
        }
        if self.layout == Separation::Lines {
            self.out.push(b'\n');
        }
        ValueWriter { out: self.out }
    }

    /// Returns the buffer, to pass on complete elements.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Ends the array.
    #[inline]
    pub fn end(self) {
        self.out.push(b']');
    }
}

#[cfg(test)]
mod tests;
