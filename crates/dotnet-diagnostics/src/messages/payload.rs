//! Values in payloads: little-endian numbers, and UTF-16 texts with a length before them.

use super::message_error::MessageError;

/// Reads the values in a payload.
#[derive(Debug)]
pub(crate) struct PayloadReader<'a> {
    rest: &'a [u8],
}

impl<'a> PayloadReader<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    fn take(&mut self, length: u64, field: &'static str) -> Result<&'a [u8], MessageError> {
        let at = usize::try_from(length).ok();
        let parts = at.and_then(|at| self.rest.split_at_checked(at));
        let left = self.rest.len();
        let (value, rest) = parts.ok_or(MessageError::Truncated { field, needed: length, left })?;
        self.rest = rest;
        Ok(value)
    }

    pub(crate) fn bytes<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], MessageError> {
        let mut value = [0; N];
        value.copy_from_slice(self.take(N as u64, field)?);
        Ok(value)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, MessageError> {
        self.bytes(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, MessageError> {
        self.bytes(field).map(u64::from_le_bytes)
    }

    /// Reads a text without its final NUL. Invalid UTF-16 becomes U+FFFD.
    pub(crate) fn text(&mut self, field: &'static str) -> Result<String, MessageError> {
        let units = self.u32(field)?;
        let bytes = self.take(u64::from(units) * 2, field)?;
        let units = bytes.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit));
        let mut text: String =
            char::decode_utf16(units).map(|result| result.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if text.ends_with('\0') {
            text.pop();
        }
        Ok(text)
    }
}

/// Appends a text with its length and a final NUL. An empty text has only a length.
pub(crate) fn push_text(payload: &mut Vec<u8>, text: &str) -> Result<(), MessageError> {
    if text.is_empty() {
        payload.extend(0_u32.to_le_bytes());
        return Ok(());
    }
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let limit = u64::from(u32::MAX);
    let length = units.len() as u64;
    let count = u32::try_from(length).map_err(|_| MessageError::Limit { field: "text", length, limit })?;
    payload.extend(count.to_le_bytes());
    payload.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in ["", "a", "h\u{e9}llo \u{1f600}", "a\0b"] {
            let mut payload = Vec::new();
            push_text(&mut payload, text).unwrap();
            let mut reader = PayloadReader::new(&payload);
            assert_eq!(reader.text("text").unwrap(), text);
            assert!(reader.rest.is_empty(), "{text:?}");
        }
    }

    #[test]
    fn texts_of_other_writers() {
        for (bytes, text) in
            [(&b"\x01\0\0\0\0\0"[..], ""), (b"\x01\0\0\0A\0", "A"), (b"\x02\0\0\0\0\xd8\0\0", "\u{fffd}")]
        {
            assert_eq!(PayloadReader::new(bytes).text("text").unwrap(), text);
        }
    }

    #[test]
    fn lengths_are_checked() {
        for (bytes, needed, left) in [
            (&b""[..], 4, 0),
            (b"\x01\0\0", 4, 3),
            (b"\x01\0\0\0", 2, 0),
            (b"\x02\0\0\0A\0\0", 4, 3),
            (b"\xff\xff\xff\xffA\0", 8_589_934_590, 2),
        ] {
            let error = PayloadReader::new(bytes).text("text").unwrap_err();
            assert_eq!(error, MessageError::Truncated { field: "text", needed, left }, "{bytes:?}");
        }
    }
}
