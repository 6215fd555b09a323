//! Protocol Buffers, as far as OpenTelemetry's messages need them.

use crate::fault::{Decoded, RequestFault};

/// Value of a protobuf field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    /// Text, bytes, a message, or packed numbers, with their offset in the request.
    Bytes(&'a [u8], usize),
}

/// Reads the fields of a message.
#[derive(Clone, Debug)]
pub(crate) struct WireReader<'a> {
    bytes: &'a [u8],
    /// Offset of the remaining bytes in the request.
    at: usize,
}

impl<'a> WireReader<'a> {
    /// Creates a reader for a message at an offset of the request.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Returns the number and the value of the next field, or `None` at the end of the message.
    pub(crate) fn field(&mut self) -> Decoded<Option<(u32, WireValue<'a>)>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let begin = self.at;
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let Some(number) = number else {
            return Err(RequestFault::new(
                begin,
                format!("expected a field number below 2^29, found {}", tag >> 3),
            ));
        };
        let value = match tag & 7 {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(self.fixed()?),
            5 => WireValue::Fixed32(u32::from_le_bytes(self.array()?)),
            2 => {
                let (length_at, length) = (self.at, self.varint()?);
                let found = usize::try_from(length).ok().and_then(|length| self.take(length));
                let Some((bytes, at)) = found else {
                    let message =
                        format!("expected {length} bytes of field {number}, found {}", self.bytes.len());
                    return Err(RequestFault::new(length_at, message));
                };
                WireValue::Bytes(bytes, at)
            }
            kind => {
                return Err(RequestFault::new(
                    begin,
                    format!("expected the wire type 0, 1, 2 or 5, found {kind}"),
                ));
            }
        };
        Ok(Some((number, value)))
    }

    /// Returns a varint.
    pub(crate) fn varint(&mut self) -> Decoded<u64> {
        let begin = self.at;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(RequestFault::new(begin, "expected a varint of at most 10 bytes"))
    }

    /// Returns a little-endian number of 8 bytes.
    pub(crate) fn fixed(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Returns the remaining bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns `true` at the end.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, length: usize) -> Option<(&'a [u8], usize)> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        let at = self.at;
        (self.bytes, self.at) = (rest, at + length);
        Some((taken, at))
    }

    fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let Some((bytes, rest)) = self.bytes.split_first_chunk::<N>() else {
            let message = format!("expected {N} more bytes, found {}", self.bytes.len());
            return Err(RequestFault::new(self.at, message));
        };
        (self.bytes, self.at) = (rest, self.at + N);
        Ok(*bytes)
    }
}
