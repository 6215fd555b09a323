//! Carries out a decode plan on the bits of a packet.

use std::cell::Cell;

pub use crate::bits::read_bits;
use crate::bits::{load, reverse, sign_extend, terminator};
use crate::plan::{Bits, BitsKind, Load, NodeId, Op, Part, Plan, Run, Slot, VariableOp, align};
use crate::selectors::Selectors;
use crate::visitor::{Field, Visitor};
use crate::{ByteOrder, RangeSet, Real, StringEncoding, Text, Wide};

/// Values of fields that other fields need, by slot. [`UNKNOWN`] where none was decoded.
pub type Slots = [Cell<i128>];

/// The value of a slot whose field was not decoded.
pub const UNKNOWN: i128 = i128::MIN;

/// Where decoding is in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Offset in bits from the beginning of the packet.
    pub bit: u64,
    /// Byte order of the field before, if this is within a byte: it must not change there.
    pub open_byte: Option<ByteOrder>,
}

/// The bits of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketBits<'a> {
    /// The bytes from the beginning of the packet on.
    pub data: &'a [u8],
    /// Size of the content in bits; the data may end before (then the packet is cut off).
    pub content: u64,
}

impl<'a> PacketBits<'a> {
    /// All of `data` is content.
    #[must_use]
    pub fn whole(data: &'a [u8]) -> Self {
        Self { data, content: data.len() as u64 * 8 }
    }

    /// Where reading must end: at the end of the content or of the data.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.content.min(self.data.len() as u64 * 8)
    }
}

/// Why a field cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct DecodeError {
    /// Offset in bits from the beginning of the packet.
    pub bit: u64,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

/// What can be wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The field would reach beyond the content of its packet.
    #[error("a field of {needed} bits begins here, but the packet's content ends after {left} bits")]
    BeyondContent {
        /// Bits that the field needs.
        needed: u64,
        /// Bits of content that are left.
        left: u64,
    },
    /// The data ends within the packet.
    #[error("a field of {needed} bits begins here, but the data ends after {left} bits")]
    BeyondData {
        /// Bits that the field needs.
        needed: u64,
        /// Bits of data that are left.
        left: u64,
    },
    /// Byte order changes within a byte.
    #[error("a {} field begins within a byte, after a {} one", .to.name(), .from.name())]
    ByteOrderChange {
        /// Byte order of the field before.
        from: ByteOrder,
        /// Byte order of this field.
        to: ByteOrder,
    },
    /// A variable-length integer is longer than allowed.
    #[error("a variable-length integer has more than {0} bits")]
    OversizedInteger(u64),
    /// No option of a variant has this value of the selector.
    #[error("{0} selects no option of the variant")]
    InvalidSelector(i128),
    /// The field that says a length or selects was not decoded before: it is in an optional that
    /// is absent or an option that is not selected.
    #[error("the field that decides on this one is not there")]
    MissingSelector,
    /// The length of a string is no multiple of the size of its code units.
    #[error("a string of {0} bytes cannot consist of code units of {1} bytes")]
    BrokenCodeUnit(u64, u64),
    /// A text begins within a byte, which only PROP-1.0 allows: its document does not say how the
    /// bits of such a text lie, since texts have no byte order.
    #[error("a text begins within a byte")]
    TextWithinByte,
    /// Arrays have too many elements without any bits.
    #[error("a root field has more than {0} array elements of zero size")]
    TooManyEmptyElements(u64),
    /// The members of a union differ in size (PROP-1.0, "Encode a value as a union field").
    #[error("the members of a union take {0} and {1} bits")]
    UnionSizes(u64, u64),
    /// The size of a field overflows.
    #[error("a field is larger than any packet can be")]
    Overflow,
}

/// Limits that decoding needs.
#[derive(Clone, Copy, Debug)]
pub struct WalkLimits {
    /// See [`Limits::integer_bits`](crate::Limits::integer_bits).
    pub integer_bits: u64,
    /// See [`Limits::zero_size_elements`](crate::Limits::zero_size_elements).
    pub zero_size_elements: u64,
}

impl From<&crate::Limits> for WalkLimits {
    fn from(limits: &crate::Limits) -> Self {
        Self { integer_bits: limits.integer_bits, zero_size_elements: limits.zero_size_elements }
    }
}

impl Plan {
    /// Decodes an instance at `position`, telling `visitor` its fields, and moves `position`
    /// behind it.
    ///
    /// # Errors
    /// Where the bits do not fit the plan. `position` is then where the trouble is, and the
    /// visitor was told all fields before it.
    pub fn walk<V: Visitor>(
        &self,
        bits: PacketBits<'_>,
        position: &mut Position,
        slots: &Slots,
        limits: WalkLimits,
        visitor: &mut V,
    ) -> Result<(), DecodeError> {
        if !V::WANTS_VALUES
            && let Some(size) = self.fixed
            && let Some(begin) = align(position.bit, self.nodes[0].alignment)
            && let Some(end) = begin.checked_add(size)
            && end <= bits.end()
            && begin % 8 == 0
            && end % 8 == 0
        {
            *position = Position { bit: end, open_byte: None };
            return Ok(());
        }
        let mut walk = Walk {
            plan: self,
            data: bits.data,
            end: bits.end(),
            bits,
            at: *position,
            slots,
            limits,
            idle: 0,
            visitor,
        };
        let result = walk.node(0);
        *position = walk.at;
        result
    }
}

struct Walk<'a, V> {
    plan: &'a Plan,
    data: &'a [u8],
    /// Where reading must end.
    end: u64,
    bits: PacketBits<'a>,
    at: Position,
    slots: &'a Slots,
    limits: WalkLimits,
    /// Array elements of zero size so far.
    idle: u64,
    visitor: &'a mut V,
}

impl<'a, V: Visitor> Walk<'a, V> {
    fn error<T>(&self, kind: DecodeErrorKind) -> Result<T, DecodeError> {
        Err(DecodeError { bit: self.at.bit, kind })
    }

    /// The error of a field of `needed` bits that does not fit.
    #[cold]
    fn beyond<T>(&self, needed: u64) -> Result<T, DecodeError> {
        let data = self.data.len() as u64 * 8;
        let kind = if self.bits.content <= data {
            DecodeErrorKind::BeyondContent { needed, left: self.bits.content.saturating_sub(self.at.bit) }
        } else {
            DecodeErrorKind::BeyondData { needed, left: data.saturating_sub(self.at.bit) }
        };
        self.error(kind)
    }

    fn align(&mut self, alignment: u64) -> Result<(), DecodeError> {
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
            self.at.open_byte = None;
        }
        Ok(())
    }

    /// Takes `count` whole bytes; the position is at a byte.
    fn take(&mut self, count: u64) -> Result<&'a [u8], DecodeError> {
        let begin = self.at.bit / 8;
        let Some(size) = count.checked_mul(8) else {
            return self.error(DecodeErrorKind::Overflow);
        };
        if size > self.end.saturating_sub(self.at.bit) {
            if self.bits.content > self.end {
                // The bytes that are there belong to the field; the next one is missing.
                self.at.bit = self.end / 8 * 8;
                return self.beyond(8);
            }
            return self.beyond(size);
        }
        let bytes = self.data.get(begin as usize..(begin + count) as usize).unwrap_or_default();
        self.at = Position { bit: self.at.bit + size, open_byte: None };
        Ok(bytes)
    }

    fn slot(&self, slot: Slot) -> Result<i128, DecodeError> {
        match self.slots.get(usize::from(slot)).map(Cell::get) {
            Some(UNKNOWN) | None => self.error(DecodeErrorKind::MissingSelector),
            Some(value) => Ok(value),
        }
    }

    fn length(&self, slot: Slot) -> Result<u64, DecodeError> {
        Ok(u64::try_from(self.slot(slot)?).unwrap_or(u64::MAX))
    }

    fn save(&self, slots: &[Slot], value: i128) {
        for slot in slots {
            if let Some(cell) = self.slots.get(usize::from(*slot)) {
                cell.set(value);
            }
        }
    }

    fn field(&self, id: NodeId, offset: u64) -> Field<'a> {
        Field { node: self.plan.node(id), offset, length: 0 }
    }

    fn node(&mut self, id: NodeId) -> Result<(), DecodeError> {
        let node = self.plan.node(id);
        self.align(node.alignment)?;
        let field = self.field(id, self.at.bit);
        match &node.op {
            Op::Bits(bits) => self.bits(field, *bits),
            Op::Variable(op) => self.variable(field, *op),
            Op::NullTerminated(encoding) => self.null_terminated(field, *encoding),
            Op::StaticText(encoding, length) => self.text(field, *encoding, *length),
            Op::DynamicText(encoding, slot) => self.text(field, *encoding, self.length(*slot)?),
            Op::StaticBlob(length) => self.blob(field, *length),
            Op::DynamicBlob(slot) => self.blob(field, self.length(*slot)?),
            Op::Structure { parts, .. } => self.structure(field, parts),
            Op::StaticArray { element, length } => self.array(field, *element, *length),
            Op::DynamicArray { element, length } => self.array(field, *element, self.length(*length)?),
            Op::Optional { field: inner, selector, ranges } => {
                self.optional(field, *inner, *selector, ranges.as_ref())
            }
            Op::Variant { options, selectors, selector } => {
                self.variant(field, options, selectors, *selector)
            }
            Op::Union { members } => self.union(field, members),
            Op::Null => {
                if V::WANTS_VALUES {
                    self.visitor.null(field);
                }
                Ok(())
            }
        }
    }

    #[inline]
    fn structure(&mut self, field: Field<'a>, parts: &[Part]) -> Result<(), DecodeError> {
        if V::WANTS_VALUES {
            self.visitor.begin_structure(field);
        }
        for part in parts {
            match part {
                Part::Run(run) => self.run(run)?,
                Part::Field(id) => self.node(*id)?,
            }
        }
        if V::WANTS_VALUES {
            self.visitor.end_structure(Field { offset: self.at.bit, ..field });
        }
        Ok(())
    }

    #[inline]
    fn run(&mut self, run: &Run) -> Result<(), DecodeError> {
        let begin = align(self.at.bit, run.alignment).unwrap_or(u64::MAX);
        let fits = self.end.checked_sub(begin).is_some_and(|left| run.size <= left);
        let after = Position { bit: begin.wrapping_add(run.size), open_byte: run.open_byte };
        if !fits {
            // One by one, to tell how far the fields fit.
            for field in &run.fields {
                self.node(field.node)?;
            }
            return Ok(());
        }
        let fields = if V::WANTS_VALUES { &run.fields } else { &run.saving };
        if !fields.is_empty() {
            let data = self.data;
            let bytes = data.get((begin / 8) as usize..(after.bit.div_ceil(8)) as usize).unwrap_or_default();
            for part in fields {
                let at = (part.offset / 8) as usize;
                let node = self.plan.node(part.node);
                let field = Field { node, offset: begin + part.offset, length: part.bits.length };
                match part.load {
                    Load::U8 => self.visitor.unsigned(field, u8::from_le_bytes(load(bytes, at)).into()),
                    Load::U16 => self.visitor.unsigned(field, u16::from_le_bytes(load(bytes, at)).into()),
                    Load::U32 => self.visitor.unsigned(field, u32::from_le_bytes(load(bytes, at)).into()),
                    Load::U64 => self.visitor.unsigned(field, u64::from_le_bytes(load(bytes, at))),
                    Load::I8 => self.visitor.signed(field, i8::from_le_bytes(load(bytes, at)).into()),
                    Load::I16 => self.visitor.signed(field, i16::from_le_bytes(load(bytes, at)).into()),
                    Load::I32 => self.visitor.signed(field, i32::from_le_bytes(load(bytes, at)).into()),
                    Load::I64 => self.visitor.signed(field, i64::from_le_bytes(load(bytes, at))),
                    Load::Bits => {
                        let bits = part.bits;
                        let value = read_bits(data, field.offset, bits.length, bits.big_endian);
                        let value = if bits.reversed { reverse(value, bits.length) } else { value };
                        self.narrow(field, bits, value);
                    }
                    Load::Text(length) => {
                        let raw = bytes.get(at..at + length as usize).unwrap_or_default();
                        let content = memchr::memchr(0, raw).unwrap_or(raw.len());
                        let text = Text { bytes: &raw[..content], raw, encoding: StringEncoding::Utf8 };
                        self.visitor.text(field, text);
                    }
                    Load::Any => {
                        self.at = Position { bit: field.offset, open_byte: None };
                        self.node(part.node)?;
                    }
                }
            }
        }
        self.at = after;
        Ok(())
    }

    /// Fixed-length bits at the current position.
    fn bits(&mut self, field: Field<'a>, bits: Bits) -> Result<(), DecodeError> {
        let field = Field { length: bits.length, ..field };
        if bits.length > self.end.saturating_sub(self.at.bit) {
            return self.beyond(bits.length);
        }
        let order = if bits.big_endian { ByteOrder::BigEndian } else { ByteOrder::LittleEndian };
        if let Some(from) = self.at.open_byte
            && from != order
            && self.at.bit % 8 != 0
        {
            return self.error(DecodeErrorKind::ByteOrderChange { from, to: order });
        }
        if bits.length <= 64 {
            let value = read_bits(self.data, self.at.bit, bits.length, bits.big_endian);
            let value = if bits.reversed { reverse(value, bits.length) } else { value };
            self.narrow(field, bits, value);
        } else if V::WANTS_VALUES || bits.saved {
            self.wide_bits(field, bits);
        }
        self.at.bit += bits.length;
        self.at.open_byte = (self.at.bit % 8 != 0).then_some(order);
        Ok(())
    }

    /// Tells a value of up to 64 bits.
    #[inline]
    fn narrow(&mut self, field: Field<'a>, bits: Bits, value: u64) {
        let signed = |value: u64| {
            let unused = 64 - bits.length;
            ((value << unused) as i64) >> unused
        };
        if bits.saved {
            let value = match bits.kind {
                BitsKind::Signed => i128::from(signed(value)),
                BitsKind::Boolean => i128::from(value != 0),
                _ => i128::from(value),
            };
            self.save(&field.node.saves, value);
        }
        if !V::WANTS_VALUES {
            return;
        }
        match bits.kind {
            BitsKind::Unsigned => self.visitor.unsigned(field, value),
            BitsKind::Signed => self.visitor.signed(field, signed(value)),
            BitsKind::Boolean => self.visitor.boolean(field, value != 0, value),
            BitsKind::BitArray => self.visitor.bit_array(field, value),
            BitsKind::BitMap => self.visitor.bit_map(field, value),
            BitsKind::Real => {
                let real = match bits.length {
                    16 => Real::Half(value as u16),
                    32 => Real::Single(f32::from_bits(value as u32)),
                    _ => Real::Double(f64::from_bits(value)),
                };
                self.visitor.real(field, real);
            }
        }
    }

    #[cold]
    fn wide_bits(&mut self, field: Field<'a>, bits: Bits) {
        // So wide a field may allocate: no tracer writes them often.
        let count = bits.length.div_ceil(64) as usize;
        let mut words = vec![0u64; count];
        for (i, word) in words.iter_mut().enumerate() {
            // Word i holds bits 64 * i and up of the value; big-endian values begin with the top.
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
        if !field.node.saves.is_empty() {
            let value = match bits.kind {
                BitsKind::Boolean => i128::from(is_true),
                _ => wide.as_i128().unwrap_or(i128::MAX),
            };
            self.save(&field.node.saves, value);
        }
        if V::WANTS_VALUES {
            match bits.kind {
                BitsKind::Boolean => self.visitor.boolean(field, is_true, words[0]),
                BitsKind::Real => self.visitor.real(field, Real::Wide(wide)),
                _ => self.visitor.wide(field, wide),
            }
        }
    }

    #[inline(never)]
    fn variable(&mut self, field: Field<'a>, op: VariableOp) -> Result<(), DecodeError> {
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
            // How many bits of the group carry the value: the rest only repeats zero or the sign.
            let used = if byte & 0x80 != 0 {
                7
            } else if signed {
                // With the sign bit: the value of the last group in two's complement.
                let last = ((group << 57) as i64) >> 57;
                65 - u64::from(if last < 0 { last.leading_ones() } else { last.leading_zeros() })
            } else {
                64 - u64::from(group.leading_zeros())
            };
            if shift.saturating_add(used) > self.limits.integer_bits {
                self.at.bit = at as u64 * 8;
                return self.error(DecodeErrorKind::OversizedInteger(self.limits.integer_bits));
            }
            if shift < 64 {
                low |= group << shift;
            }
            if shift + 7 > 64 {
                if wide.is_empty() {
                    wide.push(low);
                }
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
            groups += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let length = groups * 7;
        let field = Field { length, ..field };
        self.at = Position { bit: (begin as u64 + groups) * 8, open_byte: None };
        if !V::WANTS_VALUES && field.node.saves.is_empty() {
            return Ok(());
        }
        if !wide.is_empty() {
            if signed {
                sign_extend(&mut wide, length);
            }
            let fits = if signed {
                let fill = if wide[0] >> 63 == 1 { u64::MAX } else { 0 };
                wide.iter().skip(1).all(|word| *word == fill)
            } else {
                wide.iter().skip(1).all(|word| *word == 0)
            };
            if !fits {
                let wide = Wide { words: &wide, length, signed };
                self.save(&field.node.saves, wide.as_i128().unwrap_or(i128::MAX));
                if V::WANTS_VALUES {
                    match op {
                        VariableOp::Boolean => self.visitor.boolean(field, true, wide.words[0]),
                        _ => self.visitor.wide(field, wide),
                    }
                }
                return Ok(());
            }
            low = wide[0];
        } else if signed && length < 64 {
            let unused = 64 - length;
            low = (((low << unused) as i64) >> unused) as u64;
        }
        let value = match op {
            VariableOp::Signed => i128::from(low as i64),
            VariableOp::Boolean => i128::from(low != 0),
            _ => i128::from(low),
        };
        self.save(&field.node.saves, value);
        if V::WANTS_VALUES {
            match op {
                VariableOp::Unsigned => self.visitor.unsigned(field, low),
                VariableOp::Signed => self.visitor.signed(field, low as i64),
                VariableOp::Boolean => self.visitor.boolean(field, low != 0, low),
                VariableOp::BitArray => self.visitor.bit_array(field, low),
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn null_terminated(&mut self, field: Field<'a>, encoding: StringEncoding) -> Result<(), DecodeError> {
        let begin = (self.at.bit / 8) as usize;
        let data = self.data.get(begin..).unwrap_or_default();
        let unit = encoding.unit();
        let content = terminator(data, unit).unwrap_or(usize::MAX);
        let left = (self.end.saturating_sub(self.at.bit) / 8) as usize;
        if content.checked_add(unit).is_none_or(|size| size > left) {
            if content == usize::MAX {
                if self.bits.content <= self.data.len() as u64 * 8 {
                    // All the data there is would be too little.
                    return self.beyond(data.len() as u64 * 8);
                }
                // The data ends before the string: what is missing is the next code unit.
                self.at.bit += (data.len() / unit * unit * 8) as u64;
                return self.beyond(unit as u64 * 8);
            }
            return self.beyond((content + unit) as u64 * 8);
        }
        self.at = Position { bit: self.at.bit + (content + unit) as u64 * 8, open_byte: None };
        if V::WANTS_VALUES {
            let raw = &data[..content + unit];
            self.visitor.text(field, Text { bytes: &raw[..content], raw, encoding });
        }
        Ok(())
    }

    #[inline(never)]
    fn text(&mut self, field: Field<'a>, encoding: StringEncoding, length: u64) -> Result<(), DecodeError> {
        let raw = match length {
            0 => &[],
            _ if self.at.bit % 8 != 0 => return self.error(DecodeErrorKind::TextWithinByte),
            _ => self.take(length)?,
        };
        let unit = encoding.unit();
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

    #[inline(never)]
    fn blob(&mut self, field: Field<'a>, length: u64) -> Result<(), DecodeError> {
        let bytes = self.take(length)?;
        if V::WANTS_VALUES {
            self.visitor.blob(field, bytes);
        }
        Ok(())
    }

    #[inline(never)]
    fn array(&mut self, field: Field<'a>, element: NodeId, length: u64) -> Result<(), DecodeError> {
        if V::WANTS_VALUES {
            self.visitor.begin_array(field, length);
        }
        let node = self.plan.node(element);
        if let Op::Bits(bits) = node.op
            && matches!(bits.length, 8 | 16 | 32 | 64)
            && node.alignment % 8 == 0
            && node.alignment <= bits.length
            && !bits.saved
            && !bits.reversed
            && length > 0
        {
            self.align(node.alignment)?;
            let size = bits.length / 8;
            let fit = (self.end.saturating_sub(self.at.bit) / bits.length).min(length);
            let begin = self.at.bit;
            self.take(fit * size)?;
            if V::WANTS_VALUES {
                self.elements(Field { node, offset: begin, length: bits.length }, bits, fit);
            }
            if fit < length {
                return self.beyond(bits.length);
            }
        } else {
            for _ in 0..length {
                let before = self.at.bit;
                self.node(element)?;
                if self.at.bit == before {
                    // All arrays together: nested ones would multiply what each may have.
                    self.idle += 1;
                    if self.idle > self.limits.zero_size_elements {
                        return self
                            .error(DecodeErrorKind::TooManyEmptyElements(self.limits.zero_size_elements));
                    }
                }
            }
        }
        if V::WANTS_VALUES {
            self.visitor.end_array(Field { offset: self.at.bit, ..field });
        }
        Ok(())
    }

    /// Tells `count` elements of whole bytes, one after the other, that are seen to be there.
    #[inline]
    fn elements(&mut self, mut field: Field<'a>, bits: Bits, count: u64) {
        macro_rules! each {
            ($method:ident, $type:ty) => {{
                const SIZE: usize = size_of::<$type>();
                let begin = (field.offset / 8) as usize;
                let bytes = self.data.get(begin..begin + count as usize * SIZE).unwrap_or_default();
                for element in bytes.as_chunks::<SIZE>().0 {
                    self.visitor.$method(field, <$type>::from_le_bytes(*element).into());
                    field.offset += SIZE as u64 * 8;
                }
            }};
        }
        match Load::of(&bits, field.offset) {
            Load::U8 => each!(unsigned, u8),
            Load::U16 => each!(unsigned, u16),
            Load::U32 => each!(unsigned, u32),
            Load::U64 => each!(unsigned, u64),
            Load::I8 => each!(signed, i8),
            Load::I16 => each!(signed, i16),
            Load::I32 => each!(signed, i32),
            Load::I64 => each!(signed, i64),
            _ => {
                for _ in 0..count {
                    let value = read_bits(self.data, field.offset, bits.length, bits.big_endian);
                    self.narrow(field, bits, value);
                    field.offset += bits.length;
                }
            }
        }
    }

    #[inline(never)]
    fn optional(
        &mut self,
        field: Field<'a>,
        inner: NodeId,
        selector: Slot,
        ranges: Option<&RangeSet>,
    ) -> Result<(), DecodeError> {
        let selector = self.slot(selector)?;
        self.save(&field.node.clears, UNKNOWN);
        let present = match ranges {
            None => selector != 0,
            Some(ranges) => ranges.contains(selector),
        };
        if V::WANTS_VALUES {
            self.visitor.begin_optional(field, present, selector);
        }
        if present {
            self.node(inner)?;
        }
        if V::WANTS_VALUES {
            self.visitor.end_optional(Field { offset: self.at.bit, ..field });
        }
        Ok(())
    }

    #[inline(never)]
    fn variant(
        &mut self,
        field: Field<'a>,
        options: &[NodeId],
        selectors: &Selectors,
        selector: Slot,
    ) -> Result<(), DecodeError> {
        let selector = self.slot(selector)?;
        self.save(&field.node.clears, UNKNOWN);
        let found = selectors.select(selector);
        let Some((index, option)) = found.and_then(|index| Some((index, options.get(index)?))) else {
            return self.error(DecodeErrorKind::InvalidSelector(selector));
        };
        if V::WANTS_VALUES {
            self.visitor.begin_variant(field, index, selector);
        }
        self.node(*option)?;
        if V::WANTS_VALUES {
            self.visitor.end_variant(Field { offset: self.at.bit, ..field });
        }
        Ok(())
    }

    #[inline(never)]
    fn union(&mut self, field: Field<'a>, members: &[NodeId]) -> Result<(), DecodeError> {
        if V::WANTS_VALUES {
            self.visitor.begin_union(field);
        }
        let begin = self.at;
        let mut after: Option<Position> = None;
        for member in members {
            self.at = begin;
            self.node(*member)?;
            match after {
                Some(after) if after.bit != self.at.bit => {
                    let (a, b) = (after.bit - begin.bit, self.at.bit - begin.bit);
                    return self.error(DecodeErrorKind::UnionSizes(a, b));
                }
                _ => after = Some(self.at),
            }
        }
        if V::WANTS_VALUES {
            self.visitor.end_union(Field { offset: self.at.bit, ..field });
        }
        Ok(())
    }
}
