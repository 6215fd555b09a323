//! Lengths that other fields say, and what is wrong with them.

use super::{DecodeError, DecodeErrorKind, Walk, read_bits};
use crate::ByteOrder;
use crate::plan::{Op, Slot};
use crate::visitor::{Field, Visitor};

impl<'a, V: Visitor> Walk<'a, V> {
    /// The length that a field says.
    pub(super) fn length(&self, slot: Slot) -> Result<u64, DecodeError> {
        match self.slot(slot)? {
            length @ ..0 => self.error(DecodeErrorKind::NegativeLength(length)),
            length => Ok(u64::try_from(length).unwrap_or(u64::MAX)),
        }
    }

    /// The error of a length that another field says, if the content has no room for it.
    pub(super) fn check_length(&self, bytes: u64) -> Result<(), DecodeError> {
        if bytes <= self.bits.content.saturating_sub(self.at.bit) / 8 {
            return Ok(());
        }
        let left = self.end.saturating_sub(self.at.bit);
        self.error(DecodeErrorKind::LengthBeyond { length: bytes, unit: "bytes", left })
    }

    /// The error of an element of an array that begins at bit `begin`: if the array has more elements
    /// than the content has bits, or if all are `plain`, its length is what is wrong.
    #[cold]
    pub(super) fn element_error(
        &self,
        error: DecodeError,
        field: Field<'a>,
        length: u64,
        begin: u64,
        plain: bool,
    ) -> DecodeError {
        let left = self.end.saturating_sub(begin);
        let is_dynamic = matches!(field.node().op, Op::DynamicArray { .. });
        let is_beyond =
            matches!(error.kind, DecodeErrorKind::BeyondContent { .. } | DecodeErrorKind::EndlessString);
        if !is_dynamic || !is_beyond || !(plain || length > left) {
            return error;
        }
        DecodeError { kind: DecodeErrorKind::LengthBeyond { length, unit: "elements", left }, ..error }
    }

    /// Takes `count` bytes from within a byte on, which only PROP-1.0 allows: in the byte order of the
    /// field before, as byte order never changes within a byte.
    #[cold]
    pub(super) fn take_within_byte(&mut self, count: u64) -> Result<Vec<u8>, DecodeError> {
        let left = self.end.saturating_sub(self.at.bit);
        let Some(size) = count.checked_mul(8) else {
            return self.error(DecodeErrorKind::Overflow);
        };
        if size > left {
            if self.bits.content > self.end {
                self.at.bit += left / 8 * 8;
                return self.beyond(8);
            }
            return self.beyond(size);
        }
        let order = self.at.open_byte().unwrap_or(ByteOrder::LittleEndian);
        let byte = |i| read_bits(self.data, self.at.bit + i * 8, 8, order == ByteOrder::BigEndian) as u8;
        let bytes = (0..count).map(byte).collect();
        self.at = self.at.behind(self.at.bit + size, Some(order));
        Ok(bytes)
    }
}
