//! Visits an event's values with its class plans.

use super::{Cell, EventValues};
use crate::class::{FieldKind, Scope};
use crate::decode::{DecodeError, DecodeErrorKind};
use crate::field::{Field, Real, StringEncoding, Text, Visitor, Wide};
use crate::plan::steps::{BitsKind, NodeId, Op, Plan, VariableOp};
use crate::plan::steps::{ValueStep, ValueStepKind};

impl EventValues {
    /// Passes all fields in a scope to `visitor`.
    ///
    /// # Errors
    /// Fails if the values do not fit the class.
    // Most scopes are bits and are visited inline.
    #[inline(never)]
    pub(crate) fn visit<V: Visitor>(
        &self,
        scope: Scope,
        plan: &Plan,
        visitor: &mut V,
    ) -> Result<(), DecodeError> {
        self.visit_inline(scope, plan, visitor)
    }

    /// Like [`visit`](Self::visit), for callers that are functions of their own.
    #[inline(always)]
    pub(crate) fn visit_inline<V: Visitor>(
        &self,
        scope: Scope,
        plan: &Plan,
        visitor: &mut V,
    ) -> Result<(), DecodeError> {
        self.visit_checked(scope, plan, visitor).map_err(|KindMismatch { expected, found, .. }| DecodeError {
            bit: 0,
            kind: DecodeErrorKind::Mismatch { expected, found },
        })
    }

    /// Like [`visit`](Self::visit), but returns the field that does not fit.
    #[inline(always)]
    pub(crate) fn visit_checked<V: Visitor>(
        &self,
        scope: Scope,
        plan: &Plan,
        visitor: &mut V,
    ) -> Result<(), KindMismatch> {
        let Some(range) = self.range(scope) else { return Ok(()) };
        // Scope ranges are always within the cells.
        let cells = self.cells.get(range).unwrap_or_default();
        let mut visit = ValueVisit { plan, values: self, cells, at: 0, visitor };
        match &plan.root().op {
            Op::Structure { .. } => {
                visit.visitor.begin_structure(visit.field(0));
                visit.steps(plan.value_steps())?;
                visit.visitor.end_structure(visit.field(0));
            }
            _ => visit.node(0)?,
        }
        visit.at = 0;
        if visit.cells.is_empty() { Ok(()) } else { visit.mismatch("no more values", "more values") }
    }
}

/// A value whose kind differs from its class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindMismatch {
    /// Plan node.
    pub(crate) node: NodeId,
    pub(crate) expected: &'static str,
    pub(crate) found: &'static str,
}

/// Walks a scope's values and its class plan together.
struct ValueVisit<'a, V> {
    plan: &'a Plan,
    values: &'a EventValues,
    /// Remaining cells.
    cells: &'a [Cell],
    /// The current value's node.
    at: NodeId,
    visitor: &'a mut V,
}

impl<'a, V: Visitor> ValueVisit<'a, V> {
    fn field(&self, id: NodeId) -> Field<'a> {
        Field::new(self.plan, id, 0, 0)
    }

    fn mismatch<T>(&self, expected: &'static str, found: &'static str) -> Result<T, KindMismatch> {
        Err(KindMismatch { node: self.at, expected, found })
    }

    fn next(&mut self) -> Result<Cell, KindMismatch> {
        let Some((first, rest)) = self.cells.split_first() else {
            return self.mismatch("a value", "no more values");
        };
        self.cells = rest;
        Ok(*first)
    }

    /// Visits the members of the root structure. Most values have a step of their own, which does the same as
    /// [`node`](Self::node). Without these steps, reading all fields of a nettrace file takes a tenth longer.
    #[inline(always)]
    fn steps(&mut self, steps: &'a [ValueStep]) -> Result<(), KindMismatch> {
        let mut cells = self.cells;
        for step in steps {
            let field = self.field(step.node);
            cells = match (step.kind, cells) {
                (ValueStepKind::Unsigned(length), [Cell::Unsigned(value), rest @ ..]) => {
                    self.visitor.unsigned(field.with_length(length.into()), *value);
                    rest
                }
                (ValueStepKind::Signed(length), [Cell::Signed(value), rest @ ..]) => {
                    self.visitor.signed(field.with_length(length.into()), *value);
                    rest
                }
                (ValueStepKind::Text(encoding), [Cell::Text { begin, length }, rest @ ..]) => {
                    self.text(field, encoding, *begin, *length);
                    rest
                }
                (ValueStepKind::Optional(..), [Cell::Optional { is_present: false }, rest @ ..]) => {
                    self.visitor.begin_optional(field, false, 0);
                    self.visitor.end_optional(field);
                    rest
                }
                (
                    ValueStepKind::Optional(inner, length),
                    [Cell::Optional { is_present: true }, Cell::Unsigned(value), rest @ ..],
                ) if length > 0 => {
                    self.visitor.begin_optional(field, true, 1);
                    self.visitor.unsigned(self.field(inner).with_length(length.into()), *value);
                    self.visitor.end_optional(field);
                    rest
                }
                _ => {
                    self.cells = cells;
                    self.node(step.node)?;
                    self.cells
                }
            };
        }
        self.cells = cells;
        Ok(())
    }

    fn members(&mut self, members: &'a [NodeId]) -> Result<(), KindMismatch> {
        members.iter().try_for_each(|id| self.node(*id))
    }

    fn node(&mut self, id: NodeId) -> Result<(), KindMismatch> {
        let plan = self.plan;
        let op = &plan.node(id).op;
        if plan.is_padding(id) {
            return Ok(());
        }
        self.at = id;
        let field = self.field(id);
        let cell = self.next()?;
        match (op, cell) {
            (Op::Bits(bits), cell) => self.bits(field.with_length(bits.length), bits.kind, bits.length, cell),
            (Op::Variable(op), cell) => {
                let kind = match op {
                    VariableOp::Unsigned => BitsKind::Unsigned,
                    VariableOp::Signed => BitsKind::Signed,
                    VariableOp::Boolean => BitsKind::Boolean,
                    VariableOp::BitArray => BitsKind::BitArray,
                };
                self.bits(field.with_length(cell.variable_length()), kind, 64, cell)
            }
            (
                Op::NullTerminated(encoding)
                | Op::StaticText(encoding, _)
                | Op::DynamicText(encoding, _)
                | Op::PrefixedText(encoding, _),
                Cell::Text { begin, length },
            ) => {
                self.text(field, *encoding, begin, length);
                Ok(())
            }
            (Op::StaticBlob(_) | Op::DynamicBlob(_), Cell::Blob { begin, length }) => {
                self.visitor.blob(field, self.values.bytes_at(begin, length));
                Ok(())
            }
            (Op::Guid, Cell::Guid(value)) => {
                self.visitor.guid(field, value);
                Ok(())
            }
            (Op::Structure { members, .. }, Cell::Structure { members: count }) if members.len() >= count => {
                self.visitor.begin_structure(field);
                self.members(members)?;
                self.visitor.end_structure(field);
                Ok(())
            }
            (Op::Union { members }, Cell::Structure { members: count }) if members.len() == count => {
                self.visitor.begin_union(field);
                self.members(members)?;
                self.visitor.end_union(field);
                Ok(())
            }
            (Op::Null, Cell::Null) => {
                self.visitor.null(field);
                Ok(())
            }
            (op, cell) => self.nested(field, op, cell),
        }
    }

    /// Visits an array, an optional or a variant.
    #[inline]
    fn nested(&mut self, field: Field<'_>, op: &Op, cell: Cell) -> Result<(), KindMismatch> {
        match (op, cell) {
            (Op::StaticArray { length, .. }, Cell::Array { elements }) if *length != elements as u64 => {
                self.mismatch("the number of elements in the class", "a different number of elements")
            }
            (
                Op::StaticArray { element, .. } | Op::DynamicArray { element, .. },
                Cell::Array { elements },
            ) => {
                self.visitor.begin_array(field, elements as u64);
                for _ in 0..elements {
                    self.node(*element)?;
                }
                self.visitor.end_array(field);
                Ok(())
            }
            (Op::Optional { field: inner, .. }, Cell::Optional { is_present }) => {
                self.visitor.begin_optional(field, is_present, is_present.into());
                if is_present {
                    self.node(*inner)?;
                }
                self.visitor.end_optional(field);
                Ok(())
            }
            (Op::Variant(variant), Cell::Variant { option }) => {
                let Some(inner) = variant.options.get(option) else {
                    return self.mismatch("an option of the variant", "an invalid index");
                };
                self.visitor.begin_variant(field, option, selector_of(field, option));
                self.node(*inner)?;
                self.visitor.end_variant(field);
                Ok(())
            }
            (op, cell) => self.mismatch(op.value_kind(), cell.kind()),
        }
    }

    fn text(&mut self, field: Field<'_>, encoding: StringEncoding, begin: usize, length: usize) {
        let bytes = self.values.bytes_at(begin, length);
        self.visitor.text(field, Text { bytes, raw: bytes, encoding });
    }

    /// Visits a value with at most `most` bits, fixed or variable length.
    fn bits(&mut self, field: Field<'_>, kind: BitsKind, most: u64, cell: Cell) -> Result<(), KindMismatch> {
        match (kind, cell) {
            (BitsKind::Unsigned, Cell::Unsigned(value)) if most <= 64 => self.visitor.unsigned(field, value),
            (BitsKind::Signed, Cell::Signed(value)) if most <= 64 => self.visitor.signed(field, value),
            (BitsKind::Boolean, Cell::Boolean(value)) => self.visitor.boolean(field, value, value.into()),
            (BitsKind::BitArray, Cell::Bits(bits)) if most <= 64 => self.visitor.bit_array(field, bits),
            (BitsKind::BitMap, Cell::Bits(bits)) if most <= 64 => self.visitor.bit_map(field, bits),
            (BitsKind::Real, Cell::Half(bits)) if most == 16 => self.visitor.real(field, Real::Half(bits)),
            (BitsKind::Real, Cell::Single(value)) if most == 32 => {
                self.visitor.real(field, Real::Single(value))
            }
            (BitsKind::Real, Cell::Double(value)) if most == 64 => {
                self.visitor.real(field, Real::Double(value))
            }
            (_, Cell::Wide { begin, length, signed, is_real }) if is_real == (kind == BitsKind::Real) => {
                let length = u64::from(length);
                let end = begin + usize::try_from(length.div_ceil(64)).unwrap_or(usize::MAX);
                // Cells refer only to words of their own values.
                let words = self.values.words.get(begin..end).unwrap_or_default();
                let wide = Wide { words, length, signed };
                if wide.is_negative() && kind != BitsKind::Signed {
                    return self.mismatch(kind.value_kind(), "a negative number");
                }
                let wide = Wide { signed: kind == BitsKind::Signed, ..wide };
                match kind {
                    BitsKind::Real => self.visitor.real(field, Real::Wide(wide)),
                    BitsKind::Boolean | BitsKind::Padding => {
                        return self.mismatch("a boolean", cell.kind());
                    }
                    _ => self.visitor.wide(field, wide),
                }
            }
            (kind, cell) => return self.mismatch(kind.value_kind(), cell.kind()),
        }
        Ok(())
    }
}

/// Lowest selector value for a variant option.
fn selector_of(field: Field<'_>, option: usize) -> i128 {
    match &field.class().kind {
        FieldKind::Variant { options, .. } => {
            let ranges = options.get(option).map(|option| &option.ranges);
            ranges.and_then(|ranges| ranges.0.first()).map_or(0, |range| range.lower)
        }
        _ => 0,
    }
}

impl Cell {
    /// Value kind, for errors.
    fn kind(self) -> &'static str {
        match self {
            Self::Null => "no value",
            Self::Unsigned(_) => "an unsigned integer",
            Self::Signed(_) => "a signed integer",
            Self::Boolean(_) => "a boolean",
            Self::Bits(_) => "bits",
            Self::Half(_) => "a 16-bit floating-point number",
            Self::Single(_) => "a 32-bit floating-point number",
            Self::Double(_) => "a 64-bit floating-point number",
            Self::Guid(_) => "a GUID",
            Self::Wide { is_real: true, .. } => "a floating-point number with more than 64 bits",
            Self::Wide { .. } => "a number with more than 64 bits",
            Self::Text { .. } => "a string",
            Self::Blob { .. } => "a BLOB",
            Self::Structure { .. } => "a structure",
            Self::Array { .. } => "an array",
            Self::Optional { .. } => "an optional",
            Self::Variant { .. } => "a variant",
        }
    }

    /// Number of bits of the value as a variable-length integer: 7 for each byte.
    fn variable_length(self) -> u64 {
        let bits = match self {
            Self::Unsigned(value) | Self::Bits(value) => 64 - u64::from(value.leading_zeros()),
            Self::Signed(value) => {
                65 - u64::from(if value < 0 { value.leading_ones() } else { value.leading_zeros() })
            }
            Self::Wide { length, .. } => length.into(),
            _ => 1,
        };
        bits.max(1).div_ceil(7) * 7
    }
}

impl BitsKind {
    fn value_kind(self) -> &'static str {
        match self {
            Self::Unsigned => "an unsigned integer",
            Self::Signed => "a signed integer",
            Self::Boolean => "a boolean",
            Self::BitArray | Self::BitMap => "bits",
            Self::Real => "a floating-point number with the size of its class",
            Self::Padding => "no value",
        }
    }
}

impl Op {
    /// Field value kind, for errors.
    fn value_kind(&self) -> &'static str {
        match self {
            Self::Bits(bits) => bits.kind.value_kind(),
            Self::Variable(VariableOp::Unsigned) => "an unsigned integer",
            Self::Variable(VariableOp::Signed) => "a signed integer",
            Self::Variable(VariableOp::Boolean) => "a boolean",
            Self::Variable(VariableOp::BitArray) => "bits",
            Self::NullTerminated(_)
            | Self::StaticText(..)
            | Self::DynamicText(..)
            | Self::PrefixedText(..) => "a string",
            Self::StaticBlob(_) | Self::DynamicBlob(_) => "a BLOB",
            Self::Guid => "a GUID",
            Self::Structure { .. } => "a structure with the members of its class",
            Self::Union { .. } => "a union with the members of its class",
            Self::StaticArray { .. } | Self::DynamicArray { .. } => "an array",
            Self::Optional { .. } => "an optional",
            Self::Variant(_) => "a variant",
            Self::Null => "no value",
        }
    }
}
