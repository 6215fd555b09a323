//! Arguments and paths that are not UTF-8, as text.
//!
//! Each byte that belongs to no character becomes a character for private use. Such a character in the argument itself
//! is taken for its bytes, so each text means one argument.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Character for the byte 0. Only bytes from 0x80 on occur.
const FIRST: u32 = 0x10_fe00;

/// Returns the character for a byte.
fn escape(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Returns the byte for which a character stands.
fn escaped_byte(c: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(c).checked_sub(FIRST)?).ok()?;
    (!byte.is_ascii()).then_some(byte)
}

/// Returns an argument or a path as text.
pub(crate) fn text_of(native: &OsStr) -> String {
    if let Some(text) = native.to_str()
        && !has_escapes(text)
    {
        return text.to_owned();
    }
    let mut text = String::new();
    for chunk in native.as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match escaped_byte(c) {
                Some(_) => text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(escape)),
                None => text.push(c),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(escape));
    }
    text
}

fn has_escapes(text: &str) -> bool {
    text.chars().any(|c| escaped_byte(c).is_some())
}

/// Returns the bytes that a text means.
pub(crate) fn bytes_of(text: &str) -> Cow<'_, [u8]> {
    if !has_escapes(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match escaped_byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// Returns a text for readers, with U+FFFD for what is not UTF-8.
pub(crate) fn readable(text: &str) -> Cow<'_, str> {
    match bytes_of(text) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Returns the path that a text means.
pub(crate) fn path_of(text: &str) -> PathBuf {
    match bytes_of(text) {
        Cow::Borrowed(_) => PathBuf::from(text),
        Cow::Owned(bytes) => PathBuf::from(native(bytes)),
    }
}

#[cfg(unix)]
fn native(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn native(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn each_argument_is_a_text() {
        let arguments: [&[u8]; 6] = [
            b"a/b",
            "caf\u{e9}".as_bytes(),
            b"caf\xe9/x\xff",
            b"",
            b"\xf4\x8f\xb8\x80",
            b"\xf4\x8f\xba\x80\x80",
        ];
        for bytes in arguments {
            let argument = OsStr::from_bytes(bytes);
            let text = text_of(argument);
            assert_eq!(path_of(&text).as_os_str(), argument, "{text:?}");
            assert_eq!(*bytes_of(&text), *bytes);
            assert_eq!(readable(&text), String::from_utf8_lossy(bytes));
        }
        assert_ne!(text_of(OsStr::from_bytes(b"\xff")), text_of(OsStr::new("\u{10feff}")));
    }
}
