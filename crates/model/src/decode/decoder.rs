//! Decoding state and common operations: alignment, bytes, lengths, errors.

use std::cell::Cell;

use super::bytewise::Bytewise;
use super::error::{DecodeError, DecodeErrorKind};
use super::packet_bits::{DecodeLimits, PacketBits};
use super::position::Position;
use super::slots::{Slots, is_known, save};
use crate::bits::read_bits;
use crate::class::ByteOrder;
use crate::field::{Field, Visitor};
use crate::plan::steps::{NodeId, Plan, Slot, align};

/// Runs a plan's steps on packet bits, field by field.
pub(super) struct Decoder<'a, V> {
    pub(super) plan: &'a Plan,
    pub(super) data: &'a [u8],
    /// Available whole bytes of the content.
    pub(super) bytes: &'a [u8],
    /// End of the readable bits.
    pub(super) end: u64,
    pub(super) bits: PacketBits<'a>,
    pub(super) at: Position,
    pub(super) slots: &'a Slots,
    pub(super) limits: DecodeLimits,
    pub(super) visitor: &'a mut V,
}

impl<'a, V: Visitor> Decoder<'a, V> {
    pub(super) fn new(
        plan: &'a Plan,
        bits: PacketBits<'a>,
        slots: &'a Slots,
        limits: DecodeLimits,
        visitor: &'a mut V,
    ) -> Self {
        let (data, end, at, bytes) = (bits.data, bits.end(), Position::default(), bits.bytes());
        Self { plan, data, bytes, end, bits, at, slots, limits, visitor }
    }

    pub(super) fn error<T>(&self, kind: DecodeErrorKind) -> Result<T, DecodeError> {
        Err(DecodeError { bit: self.at.bit, kind })
    }

    /// Error for a field with `needed` bits that does not fit.
    #[cold]
    pub(super) fn beyond<T>(&self, needed: u64) -> Result<T, DecodeError> {
        let data = self.data.len() as u64 * 8;
        let kind = if self.bits.content <= data {
            DecodeErrorKind::BeyondContent { needed, left: self.bits.content.saturating_sub(self.at.bit) }
        } else {
            DecodeErrorKind::BeyondData { needed, left: data.saturating_sub(self.at.bit) }
        };
        self.error(kind)
    }

    pub(super) fn align(&mut self, alignment: u64) -> Result<(), DecodeError> {
        if alignment <= 1 {
            return Ok(());
        }
        let Some(to) = align(self.at.bit, alignment) else {
            return self.error(DecodeErrorKind::Overflow);
        };
        if to > self.end {
            return self.beyond(to - self.at.bit);
        }
        if to != self.at.bit {
            self.at.bit = to;
        }
        if to % 8 == 0 {
            self.at = self.at.at_byte(to);
        }
        Ok(())
    }

    /// Takes `count` whole bytes from a byte boundary.
    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], DecodeError> {
        let begin = self.at.bit / 8;
        let Some(size) = count.checked_mul(8) else {
            return self.error(DecodeErrorKind::Overflow);
        };
        if size > self.end.saturating_sub(self.at.bit) {
            if self.bits.content > self.end {
                // The available bytes belong to the field. The next one is missing.
                self.at.bit = self.end / 8 * 8;
                return self.beyond(8);
            }
            return self.beyond(size);
        }
        let Some(bytes) = self.data.get(begin as usize..(begin + count) as usize) else {
            return self.beyond(size);
        };
        self.at = self.at.at_byte(self.at.bit + size);
        Ok(bytes)
    }

    pub(super) fn slot(&self, slot: Slot) -> Result<i128, DecodeError> {
        match self.slots.get(usize::from(slot)).map(Cell::get) {
            Some(value) if is_known(value) => Ok(value),
            _ => self.error(DecodeErrorKind::MissingSelector),
        }
    }

    pub(super) fn save(&self, slots: &[Slot], value: i128) {
        save(self.slots, slots, value);
    }

    /// Runner for bytewise steps.
    #[inline(always)]
    pub(super) fn bytewise(&self) -> Bytewise<'a, &'a Plan> {
        Bytewise { bytes: self.bytes, slots: self.slots, plans: self.plan }
    }

    #[inline(always)]
    pub(super) fn field(&self, id: NodeId, offset: u64) -> Field<'a> {
        Field::new(self.plan, id, offset, 0)
    }

    /// Length from another field.
    pub(super) fn length(&self, slot: Slot) -> Result<u64, DecodeError> {
        match self.slot(slot)? {
            length @ ..0 => self.error(DecodeErrorKind::NegativeLength(length)),
            length => Ok(u64::try_from(length).unwrap_or(u64::MAX)),
        }
    }

    /// Checks that the content has room for a length from another field.
    pub(super) fn check_length(&self, bytes: u64) -> Result<(), DecodeError> {
        if bytes <= self.bits.content.saturating_sub(self.at.bit) / 8 {
            return Ok(());
        }
        let left = self.end.saturating_sub(self.at.bit);
        self.error(DecodeErrorKind::LengthBeyond { length: bytes, unit: "bytes", left })
    }

    /// Takes `count` bytes from a position within a byte, which only PROP-1.0 allows. The previous field determines the
    /// byte order, since it never changes within a byte.
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
