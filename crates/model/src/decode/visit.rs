//! Visits all fields in a plan instance, or skips them.
//!
//! Structures are run step by step. [`Decoder::node`] supports every class and reports errors with their positions. It
//! handles everything beyond [loading bytes](super::bytewise), including steps that do not fit.

use super::bytewise::{Bytewise, Plans, visit_elements};
use super::decoder::Decoder;
use super::error::{DecodeError, DecodeErrorKind};
use super::packet_bits::{DecodeLimits, PacketBits};
use super::position::Position;
use super::slots::{Slots, UNKNOWN};
use crate::class::{ByteOrder, RangeSet, Selectors};
use crate::field::{Field, Visitor};
use crate::plan::steps::{Elements, FixedBlock, Load, NodeId, Op, Plan, Slot, Step, VariantOp, align};

impl Plan {
    /// Decodes an instance at `position`, passes its fields to `visitor`, and moves `position` after it.
    ///
    /// # Errors
    /// Fails if the bits do not fit the plan. `position` is then at the error, and the visitor has received all fields
    /// before it.
    pub fn decode<V: Visitor>(
        &self,
        bits: PacketBits<'_>,
        position: &mut Position,
        slots: &Slots,
        limits: DecodeLimits,
        visitor: &mut V,
    ) -> Result<(), DecodeError> {
        let mut decoder = Decoder::new(self, bits, slots, limits, visitor);
        decoder.at = *position;
        let result = if decoder.skip(self) { Ok(()) } else { decoder.root() };
        *position = decoder.at;
        result
    }
}

/// Runs the present plans as [`Plan::decode`] does: the first at `position`, each other one at the end of the previous
/// one. `begins` receives the start of each, and then the end of the last one. `position` is moved there, or to the
/// error.
///
/// # Errors
/// Fails if the bits do not fit a plan.
#[inline]
pub fn decode_all<'a, V: Visitor>(
    plans: [Option<&'a Plan>; 3],
    bits: PacketBits<'a>,
    position: &mut Position,
    slots: &'a Slots,
    limits: DecodeLimits,
    visitor: &'a mut V,
    mut begins: impl FnMut(usize, Position),
) -> Result<(), DecodeError> {
    let Some(first) = plans.iter().flatten().next() else {
        (0..plans.len()).for_each(|i| begins(i, *position));
        return Ok(());
    };
    let mut decoder = Decoder::new(first, bits, slots, limits, visitor);
    decoder.at = *position;
    for (i, plan) in plans.into_iter().enumerate() {
        begins(i, decoder.at);
        let Some(plan) = plan else { continue };
        if decoder.skip(plan) {
            continue;
        }
        decoder.plan = plan;
        if let Err(error) = decoder.root() {
            *position = decoder.at;
            return Err(error);
        }
    }
    *position = decoder.at;
    Ok(())
}

/// Runs the [joined](crate::plan::EventRecordPlans) steps of an event record, from byte `begin` on. Like [`decode_all`]
/// with its plans, but does not report the root structures. Returns `false` if the steps do not fit.
#[inline(always)]
pub(crate) fn decode_joined<'a, V: Visitor>(
    steps: &'a [Step],
    plans: impl Plans<'a>,
    bytes: &'a [u8],
    begin: usize,
    slots: &'a Slots,
    visitor: &mut V,
) -> bool {
    Bytewise { bytes, slots, plans }.steps(visitor, steps, begin)
}

/// Error when [`decode_joined`] fails for a delivered event. Only events that fit are delivered, so the data has
/// changed.
#[cold]
pub(crate) fn changed_since(bits: PacketBits<'_>, begin: u64) -> Result<(), DecodeError> {
    let left = bits.end().saturating_sub(begin);
    Err(DecodeError { bit: begin, kind: DecodeErrorKind::BeyondContent { needed: left + 8, left } })
}

impl<'a, V: Visitor> Decoder<'a, V> {
    /// Skips an instance, if its values are not wanted and there is an easy way.
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

    /// Decodes the plan's root field.
    #[inline(never)]
    fn root(&mut self) -> Result<(), DecodeError> {
        let root = self.plan.root();
        match &root.op {
            Op::Structure { steps, .. } => {
                if root.alignment > 8 || self.at.bit % 8 != 0 {
                    self.align(root.alignment)?;
                }
                self.structure(self.field(0, self.at.bit), steps)
            }
            _ => self.node(0),
        }
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
            Op::Guid => self.guid(field),
            Op::Structure { steps, .. } => self.structure(field, steps),
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

    #[inline]
    pub(crate) fn structure(&mut self, field: Field<'a>, steps: &'a [Step]) -> Result<(), DecodeError> {
        if V::WANTS_VALUES {
            self.visitor.begin_structure(field);
        }
        let bytewise = self.bytewise();
        // A local variable instead of a decoder field, so that the next byte need not be stored for each step.
        let mut at = self.at.bit.div_ceil(8) as usize;
        let mut has_moved = false;
        for step in steps {
            if let Some(after) = bytewise.step(self.visitor, step, at) {
                at = after;
                has_moved = true;
                continue;
            }
            if has_moved {
                self.at = self.at.at_byte(at as u64 * 8);
                has_moved = false;
            }
            self.any_step(step)?;
            at = self.at.bit.div_ceil(8) as usize;
        }
        if has_moved {
            self.at = self.at.at_byte(at as u64 * 8);
        }
        if V::WANTS_VALUES {
            self.visitor.end_structure(field.with_offset(self.at.bit));
        }
        Ok(())
    }

    #[inline(never)]
    fn any_step(&mut self, step: &'a Step) -> Result<(), DecodeError> {
        match step {
            Step::Block(block) => self.any_block(block, None),
            Step::MixedBlock(block, open_byte) => self.any_block(block, *open_byte),
            Step::Text(node)
            | Step::Utf16Text(node, _)
            | Step::DynamicText(node, _)
            | Step::PrefixedText(node, _)
            | Step::Array(node, ..)
            | Step::Field(node) => self.node(node.id),
        }
    }

    /// Runs a block of any kind.
    fn any_block(&mut self, block: &'a FixedBlock, open_byte: Option<ByteOrder>) -> Result<(), DecodeError> {
        let begin = align(self.at.bit, block.alignment).unwrap_or(u64::MAX);
        let after = begin.wrapping_add(block.size);
        if after > self.end || after < begin {
            if block.has_padding {
                self.at = self.at.at_byte(begin);
                return self.beyond(block.size);
            }
            // Decode the fields one by one, to report the first that does not fit.
            for field in &block.fields {
                self.node(field.node)?;
            }
            return Ok(());
        }
        let bytewise = self.bytewise();
        let fields = if V::WANTS_VALUES { &block.fields } else { &block.saving };
        // The end of the block was checked above.
        let bytes = self.data.get((begin / 8) as usize..).unwrap_or_default();
        let mut left = bytewise.plain_fields(self.visitor, fields, begin, bytes);
        while let Some((field, rest)) = left.split_first() {
            if field.load == Load::Any {
                self.at = self.at.at_byte(begin + field.offset());
                self.node(field.node)?;
            } else {
                bytewise.other_field(self.visitor, block, field, begin, bytes);
            }
            left = bytewise.plain_fields(self.visitor, rest, begin, bytes);
        }
        self.at = self.at.behind(after, open_byte);
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
                visit_elements(self.visitor, field.with_offset(begin), elements, bytes);
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
                    // Count all arrays of a packet together: many small arrays are as much work as a large array, and
                    // nesting would multiply a limit for each array.
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

    /// Error for an element of an array that starts at bit `begin`. If the array has more elements than the content has
    /// bits, or if all are `plain`, the array length is wrong.
    #[cold]
    fn element_error(
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
}
