//! Visitors: receive an event's fields in data order.

use crate::class::{FieldClass, Uuid};
use crate::field::{FieldValue, Real, Text, Wide};
use crate::plan::steps::{Node, NodeId, Plan};

/// The field that a [`Visitor`] is receiving.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    plan: &'a Plan,
    id: NodeId,
    /// Bit offset from the start of the packet.
    pub offset: u64,
    /// Value length in bits for bit fields, 7 for each byte of a variable-length field, and 0 for all others.
    pub length: u64,
}

impl<'a> Field<'a> {
    #[inline(always)]
    pub(crate) fn new(plan: &'a Plan, id: NodeId, offset: u64, length: u64) -> Self {
        Self { plan, id, offset, length }
    }

    #[inline(always)]
    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Moves to another node of the same plan, at the same offset.
    #[inline(always)]
    pub(crate) fn at_node(self, id: NodeId, length: u64) -> Self {
        Self { id, length, ..self }
    }

    /// Returns the same field at another offset.
    #[inline(always)]
    #[must_use]
    pub fn with_offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Returns the same field with another length.
    #[inline(always)]
    #[must_use]
    pub fn with_length(self, length: u64) -> Self {
        Self { length, ..self }
    }

    /// Returns the plan node.
    #[inline]
    #[must_use]
    pub fn node(&self) -> &'a Node {
        self.plan.node(self.id)
    }

    /// Returns the node's index in [`Plan::nodes`].
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.id as usize
    }

    /// Returns the name of the structure or union member. `None` for array elements, variant options and optional
    /// fields.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.node().name.as_deref()
    }

    /// Returns the field class.
    #[must_use]
    pub fn class(&self) -> &'a FieldClass {
        &self.node().class
    }
}

/// Receives a scope's fields in order.
///
/// ```
/// use ichnos_model::field::{Field, FieldValue};
/// use ichnos_model::{Event, Visitor};
///
/// /// Counts values.
/// #[derive(Default)]
/// struct ValueCounter(usize);
///
/// impl Visitor for ValueCounter {
///     fn value(&mut self, _: Field<'_>, _: FieldValue<'_>) {
///         self.0 += 1;
///     }
/// }
///
/// fn count(event: &Event<'_>) -> usize {
///     let mut counter = ValueCounter::default();
///     // Readers deliver only events that can be decoded.
///     let _ = event.visit_all(&mut counter);
///     counter.0
/// }
/// ```
///
/// # For implementations
/// By default, all methods do nothing, with two exceptions. The methods for single values, from [`Visitor::unsigned`]
/// to [`Visitor::null`], call [`Visitor::value`]. Unions are treated as structures.
///
/// Implement [`Visitor::value`] to treat several kinds of values alike, and single methods where a kind differs or is
/// hot. `begin_...` and `end_...` calls nest. Between [`Visitor::begin_variant`] and its end there is exactly one
/// field. Values are borrowed for the call. Visiting cannot be stopped: a visitor that can fail, for example because it
/// writes, must keep its error and return it afterwards.
#[allow(unused_variables)]
pub trait Visitor {
    /// `false` for a visitor that only skips fields. Values are then decoded only if other fields depend on them, and
    /// no method is called.
    const WANTS_VALUES: bool = true;

    /// Receives a value if its own method below is not implemented.
    #[inline]
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {}

    /// Receives an unsigned integer with up to 64 bits, fixed or variable length.
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.value(field, FieldValue::Unsigned(value));
    }
    /// Receives a signed integer with up to 64 bits, fixed or variable length.
    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.value(field, FieldValue::Signed(value));
    }
    /// Receives an integer, bit array or bit map with more than 64 bits.
    #[inline]
    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        self.value(field, FieldValue::Wide(value));
    }
    /// Receives a boolean. `bits` are its lower 64 bits.
    #[inline]
    fn boolean(&mut self, field: Field<'_>, value: bool, bits: u64) {
        self.value(field, FieldValue::Boolean(value));
    }
    /// Receives a bit array with up to 64 bits.
    #[inline]
    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        self.value(field, FieldValue::Bits(bits));
    }
    /// Receives a bit map with up to 64 bits.
    #[inline]
    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.value(field, FieldValue::Bits(bits));
    }
    /// Receives a floating-point number.
    #[inline]
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        self.value(field, FieldValue::Real(value));
    }
    /// Receives a string.
    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.value(field, FieldValue::Text(value.bytes));
    }
    /// Receives a BLOB.
    #[inline]
    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.value(field, FieldValue::Blob(bytes));
    }
    /// Receives a GUID.
    #[inline]
    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        self.value(field, FieldValue::Guid(value));
    }
    /// Receives a null field.
    #[inline]
    fn null(&mut self, field: Field<'_>) {
        self.value(field, FieldValue::Null);
    }

    /// Begins a structure. Its members follow.
    fn begin_structure(&mut self, field: Field<'_>) {}
    /// Ends a structure.
    fn end_structure(&mut self, field: Field<'_>) {}
    /// Begins an array. `length` elements follow.
    fn begin_array(&mut self, field: Field<'_>, length: u64) {}
    /// Receives all elements of an integer array at once. `field` is the first element. `bytes` are the values in
    /// little-endian byte order, `size` bytes each. Returns `false` to receive them one by one.
    #[inline(always)]
    fn integers(&mut self, field: Field<'_>, size: usize, bytes: &[u8]) -> bool {
        false
    }
    /// Ends an array.
    fn end_array(&mut self, field: Field<'_>) {}
    /// Begins an optional field. The field follows if `present`.
    fn begin_optional(&mut self, field: Field<'_>, present: bool, selector: i128) {}
    /// Ends an optional field.
    fn end_optional(&mut self, field: Field<'_>) {}
    /// Begins a variant. The field of option number `option` follows.
    fn begin_variant(&mut self, field: Field<'_>, option: usize, selector: i128) {}
    /// Ends a variant.
    fn end_variant(&mut self, field: Field<'_>) {}
    /// Begins a union. Its members follow, all from the same bits. By default, it is treated as a structure.
    fn begin_union(&mut self, field: Field<'_>) {
        self.begin_structure(field);
    }
    /// Ends a union.
    fn end_union(&mut self, field: Field<'_>) {
        self.end_structure(field);
    }
}

/// Skips fields without reading their values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Skip;

impl Visitor for Skip {
    const WANTS_VALUES: bool = false;
}
