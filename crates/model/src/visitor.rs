//! How sinks get the fields of an event: one after the other, in the order they lie there.

use crate::plan::steps::{Node, NodeId, Plan};
use crate::{FieldClass, Real, Text, Uuid, Wide};

/// The field that a [`Visitor`] is being given.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    plan: &'a Plan,
    id: NodeId,
    /// Where the field begins, in bits from the beginning of the packet.
    pub offset: u64,
    /// Of fields of bits: how many bits the value has. Of a variable-length one that is 7 for
    /// each byte. 0 for all others.
    pub length: u64,
}

impl<'a> Field<'a> {
    #[inline(always)]
    pub(crate) fn new(plan: &'a Plan, id: NodeId, offset: u64, length: u64) -> Self {
        Self { plan, id, offset, length }
    }

    /// The field of another node of the same plan, at the same offset.
    #[inline(always)]
    pub(crate) fn of_plan(self, id: NodeId, length: u64) -> Self {
        Self { id, length, ..self }
    }

    /// The same field at another offset.
    #[inline(always)]
    #[must_use]
    pub fn with_offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// The same field with another length.
    #[inline(always)]
    #[must_use]
    pub fn with_length(self, length: u64) -> Self {
        Self { length, ..self }
    }

    /// The node of the decode plan.
    #[inline]
    #[must_use]
    pub fn node(&self) -> &'a Node {
        self.plan.node(self.id)
    }

    /// Which of the nodes that is, in the order of [`Plan::nodes`].
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.id as usize
    }

    /// Name of the structure or union member; None for elements of arrays, options of variants
    /// and fields of optionals.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.node().name.as_deref()
    }

    /// Class of the field.
    #[must_use]
    pub fn class(&self) -> &'a FieldClass {
        &self.node().class
    }
}

/// Receives the fields of a scope in order.
///
/// # For implementations
/// All methods do nothing unless they are overridden: implement those for the kinds of fields that are needed.
/// Methods `begin_...` and `end_...` nest; between [`Visitor::begin_variant`] and its end there is one field.
/// Values are borrowed for the call. Visiting cannot be stopped: a visitor that can fail, because it writes
/// somewhere, keeps its error and returns it afterwards.
#[allow(unused_variables)]
pub trait Visitor {
    /// False for a visitor that only skips the fields: then no value is decoded that no other field depends
    /// on, and no method is called.
    const WANTS_VALUES: bool = true;

    /// An unsigned integer of up to 64 bits, fixed or variable length.
    fn unsigned(&mut self, field: Field<'_>, value: u64) {}
    /// A signed integer of up to 64 bits, fixed or variable length.
    fn signed(&mut self, field: Field<'_>, value: i64) {}
    /// An integer, bit array or bit map of more than 64 bits.
    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {}
    /// A boolean; `bits` are its lower 64 bits.
    fn boolean(&mut self, field: Field<'_>, value: bool, bits: u64) {}
    /// A bit array of up to 64 bits.
    fn bit_array(&mut self, field: Field<'_>, bits: u64) {}
    /// A bit map of up to 64 bits.
    fn bit_map(&mut self, field: Field<'_>, bits: u64) {}
    /// A floating-point number.
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {}
    /// A string.
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {}
    /// A BLOB.
    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {}
    /// A GUID.
    fn guid(&mut self, field: Field<'_>, value: Uuid) {}
    /// A null field.
    fn null(&mut self, field: Field<'_>) {}

    /// A structure begins: its members follow.
    fn begin_structure(&mut self, field: Field<'_>) {}
    /// A structure has ended.
    fn end_structure(&mut self, field: Field<'_>) {}
    /// An array of `length` elements begins: its elements follow.
    fn begin_array(&mut self, field: Field<'_>, length: u64) {}
    /// An array has ended.
    fn end_array(&mut self, field: Field<'_>) {}
    /// An optional field begins; if `present`, the field follows.
    fn begin_optional(&mut self, field: Field<'_>, present: bool, selector: i128) {}
    /// An optional field has ended.
    fn end_optional(&mut self, field: Field<'_>) {}
    /// A variant begins: the field of the option with this index follows.
    fn begin_variant(&mut self, field: Field<'_>, option: usize, selector: i128) {}
    /// A variant has ended.
    fn end_variant(&mut self, field: Field<'_>) {}
    /// A union begins: its members follow, all from the same bits.
    fn begin_union(&mut self, field: Field<'_>) {}
    /// A union has ended.
    fn end_union(&mut self, field: Field<'_>) {}
}

/// Gets past fields without looking at them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Skip;

impl Visitor for Skip {
    const WANTS_VALUES: bool = false;
}
