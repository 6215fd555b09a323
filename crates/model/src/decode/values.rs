//! Decodes fields without inner fields.

use super::decoder::Decoder;
use super::error::{DecodeError, DecodeErrorKind};
use super::scalar::{guid_of, visit_bits};
use super::slots::MIN;
use crate::bits::{read_bits, reverse, sign_extend, terminator};
use crate::class::ByteOrder;
use crate::field::{Field, Real, StringEncoding, Text, Visitor, Wide};
use crate::plan::steps::{Bits, BitsKind, TextPrefix, VariableOp};

impl<'a, V: Visitor> Decoder<'a, V> {
    /// Decodes fixed-length bits at the current position.
    pub(super) fn bits(&mut self, field: Field<'a>, bits: Bits) -> Result<(), DecodeError> {
        let field = field.with_length(bits.length);
        if bits.length > self.end.saturating_sub(self.at.bit) {
            return self.beyond(bits.length);
        }
        let order = if bits.big_endian { ByteOrder::BigEndian } else { ByteOrder::LittleEndian };
        if let Some(from) = self.at.open_byte()
            && from != order
            && self.at.bit % 8 != 0
        {
            return self.error(DecodeErrorKind::ByteOrderChange { from, to: order });
        }
        if bits.length <= 64 {
            let value = read_bits(self.data, self.at.bit, bits.length, bits.big_endian);
            let value = if bits.reversed { reverse(value, bits.length) } else { value };
            visit_bits(self.visitor, self.slots, field, bits, value);
        } else if V::WANTS_VALUES && bits.kind != BitsKind::Padding || bits.saved {
            self.wide_bits(field, bits);
        }
        let after = self.at.bit + bits.length;
        self.at = self.at.behind(after, (after % 8 != 0).then_some(order));
        Ok(())
    }

    #[cold]
    fn wide_bits(&mut self, field: Field<'a>, bits: Bits) {
        // A field this wide may allocate: no tracer writes them often.
        let count = bits.length.div_ceil(64) as usize;
        let mut words = vec![0u64; count];
        for (i, word) in words.iter_mut().enumerate() {
            // Word i holds bits 64 * i and up of the value. Big-endian values start with the top.
            let low = i as u64 * 64;
            let length = (bits.length - low).min(64);
            let offset = if bits.big_endian { bits.length - low - length } else { low };
            *word = read_bits(self.data, self.at.bit + offset, length, bits.big_endian);
        }
        if bits.reversed {
            let reversed: Vec<u64> = (0..count)
                .map(|i| {
                    let low = i as u64 * 64;
                    (0..(bits.length - low).min(64)).fold(0, |word, b| {
                        let from = bits.length - 1 - (low + b);
                        word | (words[(from / 64) as usize] >> (from % 64) & 1) << b
                    })
                })
                .collect();
            words = reversed;
        }
        let signed = bits.kind == BitsKind::Signed;
        if signed {
            sign_extend(&mut words, bits.length);
        }
        let wide = Wide { words: &words, length: bits.length, signed };
        let is_true = words.iter().any(|word| *word != 0);
        if !field.node().saves().is_empty() {
            let value = match bits.kind {
                BitsKind::Boolean => i128::from(is_true),
                _ => wide.as_i128().unwrap_or(i128::MAX).max(MIN),
            };
            self.save(field.node().saves(), value);
        }
        if V::WANTS_VALUES {
            match bits.kind {
                BitsKind::Boolean => self.visitor.boolean(field, is_true, words[0]),
                BitsKind::Real => self.visitor.real(field, Real::Wide(wide)),
                BitsKind::Padding => {}
                _ => self.visitor.wide(field, wide),
            }
        }
    }

    #[inline(never)]
    pub(super) fn variable(&mut self, field: Field<'a>, op: VariableOp) -> Result<(), DecodeError> {
        let signed = op == VariableOp::Signed;
        let begin = (self.at.bit / 8) as usize;
        let end = (self.end / 8) as usize;
        let mut low = 0u64;
        let mut groups = 0u64;
        let mut wide: Vec<u64> = Vec::new();
        loop {
            let at = begin + groups as usize;
            let Some(byte) = self.data.get(..end).and_then(|data| data.get(at)).copied() else {
                self.at.bit = at as u64 * 8;
                return self.beyond(8);
            };
            let group = u64::from(byte & 0x7f);
            let shift = groups * 7;
            if shift.saturating_add(used_bits(byte, signed)) > self.limits.integer_bits {
                self.at.bit = at as u64 * 8;
                return self.error(DecodeErrorKind::OversizedInteger(self.limits.integer_bits));
            }
            if shift < 64 {
                low |= group << shift;
            }
            if shift + 7 > 64 {
                put_group(&mut wide, low, group, shift);
            }
            groups += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let length = groups * 7;
        let field = field.with_length(length);
        self.at = self.at.at_byte((begin as u64 + groups) * 8);
        if !V::WANTS_VALUES && field.node().saves().is_empty() {
            return Ok(());
        }
        if !wide.is_empty() {
            if signed {
                sign_extend(&mut wide, length);
            }
            let fill = if signed && wide[0] >> 63 == 1 { u64::MAX } else { 0 };
            if wide.iter().skip(1).any(|word| *word != fill) {
                self.wide_variable(field, op, Wide { words: &wide, length, signed });
                return Ok(());
            }
            low = wide[0];
        } else if signed && length < 64 {
            let unused = 64 - length;
            low = (((low << unused) as i64) >> unused) as u64;
        }
        self.narrow_variable(field, op, low);
        Ok(())
    }

    /// Delivers a variable-length value with at most 64 bits.
    #[inline]
    fn narrow_variable(&mut self, field: Field<'a>, op: VariableOp, bits: u64) {
        let value = match op {
            VariableOp::Signed => i128::from(bits as i64),
            VariableOp::Boolean => i128::from(bits != 0),
            _ => i128::from(bits),
        };
        self.save(field.node().saves(), value);
        if V::WANTS_VALUES {
            match op {
                VariableOp::Unsigned => self.visitor.unsigned(field, bits),
                VariableOp::Signed => self.visitor.signed(field, bits as i64),
                VariableOp::Boolean => self.visitor.boolean(field, bits != 0, bits),
                VariableOp::BitArray => self.visitor.bit_array(field, bits),
            }
        }
    }

    /// Delivers a variable-length value with more than 64 bits.
    #[cold]
    fn wide_variable(&mut self, field: Field<'a>, op: VariableOp, wide: Wide<'_>) {
        self.save(field.node().saves(), wide.as_i128().unwrap_or(i128::MAX).max(MIN));
        if V::WANTS_VALUES {
            match op {
                VariableOp::Boolean => self.visitor.boolean(field, true, wide.words[0]),
                _ => self.visitor.wide(field, wide),
            }
        }
    }

    #[inline(never)]
    pub(super) fn null_terminated(
        &mut self,
        field: Field<'a>,
        encoding: StringEncoding,
    ) -> Result<(), DecodeError> {
        let begin = (self.at.bit / 8) as usize;
        // Beyond the data, no terminator is found, which is an error below.
        let data = self.data.get(begin..).unwrap_or_default();
        let unit = encoding.unit();
        let content = terminator(data, unit).unwrap_or(usize::MAX);
        let left = (self.end.saturating_sub(self.at.bit) / 8) as usize;
        if content.checked_add(unit).is_none_or(|size| size > left) {
            if content == usize::MAX {
                if self.bits.content <= self.data.len() as u64 * 8 {
                    return self.error(DecodeErrorKind::EndlessString);
                }
                // The data ends before the string does: the next code unit is missing.
                self.at.bit += (data.len() / unit * unit * 8) as u64;
                return self.beyond(unit as u64 * 8);
            }
            return self.error(DecodeErrorKind::EndlessString);
        }
        self.at = self.at.at_byte(self.at.bit + (content + unit) as u64 * 8);
        if V::WANTS_VALUES {
            let raw = &data[..content + unit];
            self.visitor.text(field, Text { bytes: &raw[..content], raw, encoding });
        }
        Ok(())
    }

    #[inline(never)]
    pub(super) fn text(
        &mut self,
        field: Field<'a>,
        encoding: StringEncoding,
        length: u64,
    ) -> Result<(), DecodeError> {
        let shifted;
        let raw = match length {
            0 => &[],
            _ if self.at.bit % 8 != 0 => {
                shifted = self.take_within_byte(length)?;
                &*shifted
            }
            _ => self.take(length)?,
        };
        let unit = encoding.unit();
        if unit == 1 && !V::WANTS_VALUES {
            return Ok(());
        }
        let content = terminator(raw, unit);
        if content.is_none() && raw.len() % unit != 0 {
            self.at.bit = field.offset;
            return self.error(DecodeErrorKind::BrokenCodeUnit(length, unit as u64));
        }
        if V::WANTS_VALUES {
            let bytes = content.map_or(raw, |content| &raw[..content]);
            self.visitor.text(field, Text { bytes, raw, encoding });
        }
        Ok(())
    }

    /// Decodes a text that starts with its length.
    #[inline(never)]
    pub(super) fn prefixed_text(
        &mut self,
        field: Field<'a>,
        encoding: StringEncoding,
        prefix: TextPrefix,
    ) -> Result<(), DecodeError> {
        let left = self.end.saturating_sub(self.at.bit);
        if prefix.text > left {
            return self.beyond(prefix.text);
        }
        let length = read_bits(self.data, self.at.bit, prefix.length, prefix.big_endian);
        let length = if prefix.reversed { reverse(length, prefix.length) } else { length };
        self.at = self.at.at_byte(self.at.bit + prefix.text);
        let raw = match length {
            0 => &[],
            _ if self.at.bit % 8 != 0 => return self.error(DecodeErrorKind::TextWithinByte),
            _ => self.take(length)?,
        };
        let unit = encoding.unit();
        if raw.len() % unit != 0 {
            self.at.bit = field.offset;
            return self.error(DecodeErrorKind::BrokenCodeUnit(length, unit as u64));
        }
        if V::WANTS_VALUES {
            self.visitor.text(field, Text { bytes: raw, raw, encoding });
        }
        Ok(())
    }

    #[inline(never)]
    pub(super) fn guid(&mut self, field: Field<'a>) -> Result<(), DecodeError> {
        let bytes = self.take(16)?;
        if V::WANTS_VALUES {
            self.visitor.guid(field, guid_of(bytes));
        }
        Ok(())
    }

    #[inline(never)]
    pub(super) fn blob(&mut self, field: Field<'a>, length: u64) -> Result<(), DecodeError> {
        let bytes = self.take(length)?;
        if V::WANTS_VALUES {
            self.visitor.blob(field, bytes);
        }
        Ok(())
    }
}

/// Returns the number of bits in a variable-length integer group that carry the value. The rest of the last group only
/// repeats zero or the sign.
#[inline]
fn used_bits(byte: u8, signed: bool) -> u64 {
    let group = u64::from(byte & 0x7f);
    if byte & 0x80 != 0 {
        7
    } else if signed {
        // Includes the sign bit: the value of the last group in two's complement.
        let last = ((group << 57) as i64) >> 57;
        65 - u64::from(if last < 0 { last.leading_ones() } else { last.leading_zeros() })
    } else {
        64 - u64::from(group.leading_zeros())
    }
}

/// Adds a group to the words of a variable-length integer. `low` is the first word.
#[cold]
fn put_group(wide: &mut Vec<u64>, low: u64, group: u64, shift: u64) {
    let (index, bit) = ((shift / 64) as usize, shift % 64);
    wide.resize(wide.len().max((shift + 6) as usize / 64 + 1), 0);
    wide[0] = low;
    if index > 0 {
        wide[index] |= group << bit;
    }
    if bit > 57 {
        wide[index + 1] |= group >> (64 - bit);
    }
}
