//! Carries out a decode plan on the bits of a packet.

mod length;

use std::cell::Cell;

pub use crate::bits::{Word, first_word, read_bits};
use crate::bits::{reverse, sign_extend, terminator};
use crate::bytewise::{Bytewise, tell_elements};
pub use crate::decode_error::{DecodeError, DecodeErrorKind};
use crate::part::{Elements, Part};
use crate::plan::{Bits, BitsKind, NodeId, Op, Plan, Slot, TextPrefix, VariableOp, VariantOp, align};
pub use crate::position::Position;
use crate::selectors::Selectors;
use crate::visitor::{Field, Visitor};
use crate::{ByteOrder, Event, RangeSet, Real, Scope, StringEncoding, Text, Wide};

/// Values of fields that other fields need, by slot. [`UNKNOWN`] where none was decoded. Values
/// below [`LEAST`] are saved as that.
pub type Slots = [Cell<i128>];

/// The value of a slot whose field was not decoded.
pub const UNKNOWN: i128 = i128::MIN;

/// The least value that a slot takes. So the upper half alone says whether a value is known: to
/// load all of a slot at once shortly after its halves were stored takes long.
pub const LEAST: i128 = i128::MIN + (1 << 64);

/// Whether the value of a slot is one.
#[inline(always)]
pub(crate) fn is_known(value: i128) -> bool {
    (value >> 64) as i64 != i64::MIN
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

    /// The whole bytes up to there.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        let content = usize::try_from(self.content / 8).unwrap_or(usize::MAX);
        &self.data[..content.min(self.data.len())]
    }
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
    /// visitor was given all fields before it.
    pub fn walk<V: Visitor>(
        &self,
        bits: PacketBits<'_>,
        position: &mut Position,
        slots: &Slots,
        limits: WalkLimits,
        visitor: &mut V,
    ) -> Result<(), DecodeError> {
        let mut walk = Walk::new(self, bits, slots, limits, visitor);
        walk.at = *position;
        let result = if walk.skip(self) { Ok(()) } else { walk.root() };
        *position = walk.at;
        result
    }
}

/// Carries out the plans that there are, as [`Plan::walk`] does: the first from `position` on, each
/// other one from where the one before ended. `begins` receives where each begins, and then where the
/// last one ended; `position` is there, too, or where the trouble is.
///
/// # Errors
/// Where the bits do not fit the plan.
#[inline]
pub fn walk_all<'a, V: Visitor>(
    plans: [Option<&'a Plan>; 3],
    bits: PacketBits<'a>,
    position: &mut Position,
    slots: &'a Slots,
    limits: WalkLimits,
    visitor: &'a mut V,
    mut begins: impl FnMut(usize, Position),
) -> Result<(), DecodeError> {
    let Some(first) = plans.iter().flatten().next() else {
        (0..plans.len()).for_each(|i| begins(i, *position));
        return Ok(());
    };
    let mut walk = Walk::new(first, bits, slots, limits, visitor);
    walk.at = *position;
    for (i, plan) in plans.into_iter().enumerate() {
        begins(i, walk.at);
        let Some(plan) = plan else { continue };
        if walk.skip(plan) {
            continue;
        }
        walk.plan = plan;
        if let Err(error) = walk.root() {
            *position = walk.at;
            return Err(error);
        }
    }
    *position = walk.at;
    Ok(())
}

/// Carries out the plans of an event record that are [joined](crate::part::join), as [`walk_all`] does
/// without telling the structures that they are.
///
/// # Errors
/// If the bits do not fit.
#[inline(always)]
pub(crate) fn walk_joined<'a, V: Visitor>(
    parts: &'a [Part],
    event: &'a Event<'a>,
    visitor: &mut V,
) -> Result<(), DecodeError> {
    let scopes = &event.scopes;
    let begin = scopes.begins[Scope::CommonContext as usize].bit.wrapping_add(7) / 8;
    let bytewise = Bytewise { bytes: scopes.bits.bytes(), slots: scopes.slots, plans: event };
    if bytewise.parts(visitor, parts, begin as usize) {
        return Ok(());
    }
    changed_since(scopes.bits, begin * 8)
}

/// What does not fit is not delivered, so something has changed it since.
#[cold]
fn changed_since(bits: PacketBits<'_>, begin: u64) -> Result<(), DecodeError> {
    let left = bits.end().saturating_sub(begin);
    Err(DecodeError { bit: begin, kind: DecodeErrorKind::BeyondContent { needed: left + 8, left } })
}

pub(crate) struct Walk<'a, V> {
    plan: &'a Plan,
    pub(crate) data: &'a [u8],
    /// The whole bytes of the content that are there.
    bytes: &'a [u8],
    /// Where reading must end.
    pub(crate) end: u64,
    bits: PacketBits<'a>,
    pub(crate) at: Position,
    slots: &'a Slots,
    limits: WalkLimits,
    pub(crate) visitor: &'a mut V,
}

impl<'a, V: Visitor> Walk<'a, V> {
    fn new(
        plan: &'a Plan,
        bits: PacketBits<'a>,
        slots: &'a Slots,
        limits: WalkLimits,
        visitor: &'a mut V,
    ) -> Self {
        let (data, end, at, bytes) = (bits.data, bits.end(), Position::default(), bits.bytes());
        Self { plan, data, bytes, end, bits, at, slots, limits, visitor }
    }

    /// Gets past an instance of a plan, if its values are not wanted and there is an easy way.
    #[inline(always)]
    fn skip(&mut self, plan: &Plan) -> bool {
        if V::WANTS_VALUES {
            return false;
        }
        if let Some(size) = plan.fixed {
            if let Some(begin) = align(self.at.bit, plan.root().alignment)
                && let Some(after) = begin.checked_add(size)
                && after <= self.end
                && begin % 8 == 0
                && after % 8 == 0
            {
                self.at = self.at.at_byte(after);
                return true;
            }
        } else if let Some(skip_steps) = &plan.skip_steps
            && let Some(end) = skip_steps.end(self.bytes, self.at.bit, self.slots)
        {
            self.at = self.at.at_byte(end);
            return true;
        }
        false
    }

    /// The root field of the plan.
    #[inline(never)]
    fn root(&mut self) -> Result<(), DecodeError> {
        let root = self.plan.root();
        match &root.op {
            Op::Structure { parts, .. } => {
                if root.alignment > 8 || self.at.bit % 8 != 0 {
                    self.align(root.alignment)?;
                }
                self.structure(self.field(0, self.at.bit), parts)
            }
            _ => self.node(0),
        }
    }

    fn error<T>(&self, kind: DecodeErrorKind) -> Result<T, DecodeError> {
        Err(DecodeError { bit: self.at.bit, kind })
    }

    /// The error of a field of `needed` bits that does not fit.
    #[cold]
    pub(crate) fn beyond<T>(&self, needed: u64) -> Result<T, DecodeError> {
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
            self.at = self.at.at_byte(to);
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
        self.at = self.at.at_byte(self.at.bit + size);
        Ok(bytes)
    }

    fn slot(&self, slot: Slot) -> Result<i128, DecodeError> {
        match self.slots.get(usize::from(slot)).map(Cell::get) {
            Some(value) if is_known(value) => Ok(value),
            _ => self.error(DecodeErrorKind::MissingSelector),
        }
    }

    fn save(&self, slots: &[Slot], value: i128) {
        save(self.slots, slots, value);
    }

    /// For parts that are made of whole bytes.
    #[inline(always)]
    pub(crate) fn bytewise(&self) -> Bytewise<'a, &'a Plan> {
        Bytewise { bytes: self.bytes, slots: self.slots, plans: self.plan }
    }

    #[inline(always)]
    pub(crate) fn field(&self, id: NodeId, offset: u64) -> Field<'a> {
        Field::new(self.plan, id, offset, 0)
    }

    pub(crate) fn node(&mut self, id: NodeId) -> Result<(), DecodeError> {
        let node = self.plan.node(id);
        self.align(node.alignment)?;
        let field = self.field(id, self.at.bit);
        match &node.op {
            Op::Bits(bits) => self.bits(field, *bits),
            Op::Variable(op) => self.variable(field, *op),
            Op::NullTerminated(encoding) => self.null_terminated(field, *encoding),
            Op::StaticText(encoding, length) => self.text(field, *encoding, *length),
            Op::DynamicText(encoding, slot) => {
                let length = self.length(*slot)?;
                self.check_length(length)?;
                self.text(field, *encoding, length)
            }
            Op::PrefixedText(encoding, prefix) => self.prefixed_text(field, *encoding, *prefix),
            Op::StaticBlob(length) => self.blob(field, *length),
            Op::DynamicBlob(slot) => {
                let length = self.length(*slot)?;
                self.check_length(length)?;
                self.blob(field, length)
            }
            Op::Structure { parts, .. } => self.structure(field, parts),
            Op::StaticArray { element, length, elements } => self.array(field, *element, *length, *elements),
            Op::DynamicArray { element, length, elements } => {
                self.array(field, *element, self.length(*length)?, *elements)
            }
            Op::Optional { field: inner, selector, ranges } => {
                self.optional(field, *inner, *selector, ranges.as_ref())
            }
            Op::Variant(variant) => {
                let VariantOp { options, selectors, selector, choices } = &**variant;
                let found = choices.iter().find(|choices| self.slot(choices.slot).is_ok());
                let (selectors, selector) =
                    found.map_or((selectors, *selector), |found| (&found.selectors, found.slot));
                self.variant(field, options, selectors, selector)
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

    /// Fixed-length bits at the current position.
    fn bits(&mut self, field: Field<'a>, bits: Bits) -> Result<(), DecodeError> {
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
            tell_bits(self.visitor, self.slots, field, bits, value);
        } else if V::WANTS_VALUES && bits.kind != BitsKind::Padding || bits.saved {
            self.wide_bits(field, bits);
        }
        let after = self.at.bit + bits.length;
        self.at = self.at.behind(after, (after % 8 != 0).then_some(order));
        Ok(())
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
        if !field.node().saves().is_empty() {
            let value = match bits.kind {
                BitsKind::Boolean => i128::from(is_true),
                _ => wide.as_i128().unwrap_or(i128::MAX).max(LEAST),
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
        let field = field.with_length(length);
        self.at = self.at.at_byte((begin as u64 + groups) * 8);
        if !V::WANTS_VALUES && field.node().saves().is_empty() {
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
                self.save(field.node().saves(), wide.as_i128().unwrap_or(i128::MAX).max(LEAST));
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
        self.save(field.node().saves(), value);
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
                    return self.error(DecodeErrorKind::EndlessString);
                }
                // The data ends before the string: what is missing is the next code unit.
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
    fn text(&mut self, field: Field<'a>, encoding: StringEncoding, length: u64) -> Result<(), DecodeError> {
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

    /// A text that begins with its length.
    #[inline(never)]
    fn prefixed_text(
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
    fn blob(&mut self, field: Field<'a>, length: u64) -> Result<(), DecodeError> {
        let bytes = self.take(length)?;
        if V::WANTS_VALUES {
            self.visitor.blob(field, bytes);
        }
        Ok(())
    }

    #[inline(never)]
    fn array(
        &mut self,
        field: Field<'a>,
        element: NodeId,
        length: u64,
        elements: Option<Elements>,
    ) -> Result<(), DecodeError> {
        if V::WANTS_VALUES {
            self.visitor.begin_array(field, length);
        }
        if let Some(elements) = elements.filter(|_| length > 0) {
            self.align(self.plan.node(element).alignment)?;
            let size = u64::from(elements.size);
            let fit = (self.end.saturating_sub(self.at.bit) / (size * 8)).min(length);
            let begin = self.at.bit;
            let bytes = self.take(fit * size)?;
            if V::WANTS_VALUES {
                tell_elements(self.visitor, field.with_offset(begin), elements, bytes);
            }
            if fit < length {
                let beyond: Result<(), DecodeError> = self.beyond(size * 8);
                return beyond.map_err(|error| self.element_error(error, field, length, begin, true));
            }
        } else {
            let begin = self.at.bit;
            for _ in 0..length {
                let before = self.at.bit;
                if let Err(error) = self.node(element) {
                    return Err(self.element_error(error, field, length, begin, false));
                }
                if self.at.bit == before {
                    // All arrays of a packet together: many small ones are as much work as a large
                    // one, and nested ones would multiply what each may have.
                    let count = self.at.add_empty_element();
                    let most = self.limits.zero_size_elements.saturating_add(before);
                    if u64::from(count) > most || count == Position::MOST_EMPTY_ELEMENTS {
                        return self
                            .error(DecodeErrorKind::TooManyEmptyElements(self.limits.zero_size_elements));
                    }
                }
            }
        }
        if V::WANTS_VALUES {
            self.visitor.end_array(field.with_offset(self.at.bit));
        }
        Ok(())
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
        self.save(field.node().clears(), UNKNOWN);
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
            self.visitor.end_optional(field.with_offset(self.at.bit));
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
        self.save(field.node().clears(), UNKNOWN);
        let found = selectors.select(selector);
        let Some((index, option)) = found.and_then(|index| Some((index, options.get(index)?))) else {
            return self.error(DecodeErrorKind::InvalidSelector(selector));
        };
        if V::WANTS_VALUES {
            self.visitor.begin_variant(field, index, selector);
        }
        self.node(*option)?;
        if V::WANTS_VALUES {
            self.visitor.end_variant(field.with_offset(self.at.bit));
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
            self.visitor.end_union(field.with_offset(self.at.bit));
        }
        Ok(())
    }
}

/// Keeps a value in all of these slots.
fn save(all: &Slots, slots: &[Slot], value: i128) {
    for slot in slots {
        if let Some(cell) = all.get(usize::from(*slot)) {
            cell.set(value);
        }
    }
}

/// Passes a value of up to 64 bits to the visitor.
#[inline]
pub(crate) fn tell_bits<V: Visitor>(
    visitor: &mut V,
    slots: &Slots,
    field: Field<'_>,
    bits: Bits,
    value: u64,
) {
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
        save(slots, field.node().saves(), value);
    }
    if !V::WANTS_VALUES {
        return;
    }
    match bits.kind {
        BitsKind::Unsigned => visitor.unsigned(field, value),
        BitsKind::Signed => visitor.signed(field, signed(value)),
        BitsKind::Boolean => visitor.boolean(field, value != 0, value),
        BitsKind::BitArray => visitor.bit_array(field, value),
        BitsKind::BitMap => visitor.bit_map(field, value),
        BitsKind::Real => visitor.real(field, real(value, bits.length)),
        BitsKind::Padding => {}
    }
}

/// The number that this many bits are.
#[inline(always)]
pub(crate) fn real(bits: u64, length: u64) -> Real<'static> {
    match length {
        16 => Real::Half(bits as u16),
        32 => Real::Single(f32::from_bits(bits as u32)),
        _ => Real::Double(f64::from_bits(bits)),
    }
}
