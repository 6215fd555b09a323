//! Undoes the escaping by [`ReportWriter`](super::ReportWriter).

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::hex;

/// Unescapes a key or a value from an escaped report by [`ReportWriter`](super::ReportWriter). Also returns the offset
/// of an invalid escape, where the backslash is kept.
#[must_use]
pub fn unescape(text: &[u8]) -> (Cow<'_, [u8]>, Option<usize>) {
    if memchr::memchr(b'\\', text).is_none() {
        return (Cow::Borrowed(text), None);
    }
    let mut out = Vec::with_capacity(text.len());
    let wrong = unescape_into(text, &mut out);
    (Cow::Owned(out), wrong)
}

/// Like [`unescape`], appending to a buffer.
pub(super) fn unescape_into(text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut wrong = None;
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        let (byte, length) = match escape {
            [_, b'\\', ..] => (b'\\', 2),
            [_, b'n', ..] => (b'\n', 2),
            [_, b'r', ..] => (b'\r', 2),
            [_, b'x', high, low, ..] if hex::is_digit(*high) && hex::is_digit(*low) => {
                let mut byte = [0];
                let _ = hex::decode(&[*high, *low], &mut byte);
                (byte[0], 4)
            }
            _ => {
                wrong = wrong.or(Some(text.len() - escape.len()));
                (b'\\', 1)
            }
        };
        out.push(byte);
        // The escape has this length.
        rest = escape.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let texts: [(&str, &[u8], Option<usize>); 6] = [
            ("plain: 1", b"plain: 1", None),
            (r"a\\b\nc\rd\x3A\x20", b"a\\b\nc\rd: ", None),
            (r"\x3a\x00", b":\0", None),
            (r"a\", b"a\\", Some(1)),
            (r"\\\q\x4", br"\\q\x4", Some(2)),
            ("", b"", None),
        ];
        for (text, bytes, wrong) in texts {
            assert_eq!(unescape(text.as_bytes()), (bytes.into(), wrong), "{text}");
        }
    }
}
