//! Compares the compiled layouts of a trace and its lowered trace.

use std::collections::HashMap;

use super::class::fixed_bits;
use crate::class::{FieldKind, RangeSet};
use crate::plan::steps::{BitsKind, Node, NodeId, Op, Slot, VariantOp};
use crate::plan::{EventRecordPlans, Plan};

/// Compares packet scopes in decoding order. The bits of one plan are valid for the other plan if all fields have the
/// same size, alignment and byte order, and take lengths and selectors from the same fields.
#[derive(Debug, Default)]
pub(super) struct LayoutMatch<'b> {
    /// Previously compared scopes.
    before: Option<&'b Self>,
    /// Number of compared fields.
    count: u64,
    /// Digest of the fields saved in each slot, in the source and in the lowered trace.
    source: HashMap<Slot, u64>,
    lowered: HashMap<Slot, u64>,
}

impl<'b> LayoutMatch<'b> {
    /// Starts the comparison of scopes after the scopes in `before`.
    pub(super) fn after(before: &'b Self) -> Self {
        Self { before: Some(before), count: before.count, ..Self::default() }
    }

    /// Returns `true` if two scopes have the same layout.
    pub(super) fn scope(&mut self, source: Option<&Plan>, lowered: Option<&Plan>) -> bool {
        match (source, lowered) {
            (None, None) => true,
            (Some(source), Some(lowered)) => self.field((source, 0), (lowered, 0)),
            _ => false,
        }
    }

    /// Returns `true` if the scopes of an event record class after the common context have the same layout.
    pub(super) fn event(&mut self, source: &EventRecordPlans, lowered: &EventRecordPlans) -> bool {
        self.scope(source.specific_context.as_ref(), lowered.specific_context.as_ref())
            && self.scope(source.payload.as_ref(), lowered.payload.as_ref())
    }

    fn field(&mut self, (source, a): (&Plan, NodeId), (lowered, b): (&Plan, NodeId)) -> bool {
        let (from, to) = (source.node(a), lowered.node(b));
        if from.alignment() != to.alignment() {
            return false;
        }
        self.save(from, to);
        let mut fields = |a: &[NodeId], b: &[NodeId]| self.fields((source, a), (lowered, b));
        match (&from.op, &to.op) {
            (Op::Bits(a), Op::Bits(b)) => {
                let is_signed = |kind| kind == BitsKind::Signed;
                let layout = |bits: &crate::plan::steps::Bits| (bits.length, bits.big_endian, bits.reversed);
                let is_saved = from.is_needed() || to.is_needed();
                layout(a) == layout(b) && (!is_saved || is_signed(a.kind) == is_signed(b.kind))
            }
            (Op::Variable(a), Op::Variable(b)) => a == b || !from.is_needed() && !to.is_needed(),
            (Op::NullTerminated(a), Op::NullTerminated(b)) => a == b,
            (Op::StaticText(a, size), Op::StaticText(b, other)) => (a, size) == (b, other),
            (Op::DynamicText(a, slot), Op::DynamicText(b, other)) => a == b && self.same(*slot, *other),
            (Op::PrefixedText(a, prefix), Op::PrefixedText(b, other)) => (a, prefix) == (b, other),
            (Op::StaticBlob(a), Op::StaticBlob(b)) => a == b,
            (Op::DynamicBlob(a), Op::DynamicBlob(b)) => self.same(*a, *b),
            (Op::Guid, Op::Guid) | (Op::Null, Op::Null) => true,
            (Op::Structure { members: a, .. }, Op::Structure { members: b, .. }) => fields(a, b),
            (Op::Union { members: a }, Op::Union { members: b }) => fields(a, b),
            (
                Op::StaticArray { element: a, length, .. },
                Op::StaticArray { element: b, length: other, .. },
            ) => length == other && fields(&[*a], &[*b]),
            (
                Op::DynamicArray { element: a, length, .. },
                Op::DynamicArray { element: b, length: other, .. },
            ) => fields(&[*a], &[*b]) && self.same(*length, *other),
            (
                Op::Optional { field: a, selector, ranges },
                Op::Optional { field: b, selector: other, ranges: others },
            ) => ranges == others && fields(&[*a], &[*b]) && self.same(*selector, *other),
            (Op::Variant(a), Op::Variant(b)) => {
                fields(&a.options, &b.options) && self.same_selection((from, a), (to, b))
            }
            // A BLOB or byte array instead of the original content.
            _ => {
                let size = fixed_bits(source, a);
                let is_needed = |plan: &Plan, id: NodeId| {
                    plan.within(id as usize).any(|id| plan.get(id).is_some_and(Node::is_needed))
                };
                size.is_some()
                    && size == fixed_bits(lowered, b)
                    && !is_needed(source, a)
                    && !is_needed(lowered, b)
            }
        }
    }

    fn fields(&mut self, (source, a): (&Plan, &[NodeId]), (lowered, b): (&Plan, &[NodeId])) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.field((source, *a), (lowered, *b)))
    }

    /// Records the slots where both traces save a field.
    fn save(&mut self, source: &Node, lowered: &Node) {
        self.count += 1;
        for slot in source.saves() {
            let before = self.source_digest(*slot);
            self.source.insert(*slot, digest(before, self.count));
        }
        for slot in lowered.saves() {
            let before = self.lowered_digest(*slot);
            self.lowered.insert(*slot, digest(before, self.count));
        }
    }

    fn source_digest(&self, slot: Slot) -> u64 {
        let before = || self.before.map_or(0, |before| before.source_digest(slot));
        self.source.get(&slot).copied().unwrap_or_else(before)
    }

    fn lowered_digest(&self, slot: Slot) -> u64 {
        let before = || self.before.map_or(0, |before| before.lowered_digest(slot));
        self.lowered.get(&slot).copied().unwrap_or_else(before)
    }

    /// Returns `true` if both slots save the same fields. Fields in scopes with different layouts are unknown.
    fn same(&self, source: Slot, lowered: Slot) -> bool {
        let digest = self.source_digest(source);
        digest != 0 && digest == self.lowered_digest(lowered)
    }

    fn same_selection(&self, (from, a): (&Node, &VariantOp), (to, b): (&Node, &VariantOp)) -> bool {
        let mut choices = a.choices.iter().zip(&b.choices);
        a.choices.len() == b.choices.len()
            && choices.all(|(a, b)| self.same(a.slot, b.slot) && a.selectors == b.selectors)
            && (!a.choices.is_empty() || self.same(a.selector, b.selector))
            && ranges(from) == ranges(to)
    }
}

/// Values that select variant options.
fn ranges(node: &Node) -> Vec<&RangeSet> {
    match &node.class.kind {
        FieldKind::Variant { options, .. } => options.iter().map(|option| &option.ranges).collect(),
        _ => Vec::new(),
    }
}

/// Adds a field to the digest of fields that save a slot.
fn digest(before: u64, field: u64) -> u64 {
    before.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(field)
}
