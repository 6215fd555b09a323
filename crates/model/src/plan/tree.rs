//! Plan nodes: the expanded root class.

use std::sync::{Arc, OnceLock};

use super::error::PlanError;
use super::layout::FixedLayout;
use super::steps::{Bits, BitsKind, Node, NodeId, Op, Plan, Slot, Step, TextPrefix, VariableOp, VariantOp};
use crate::class::{
    BitField, ByteOrder, FieldClass, FieldKind, Length, Selectors, StringLength, VariableLengthValue,
};
use crate::memory::{Budget, allocated};
use crate::trace::Limits;

/// Placeholder for an unassigned slot. Compiled plans do not contain it.
const NO_SLOT: Slot = Slot::MAX;

impl Plan {
    /// Builds the node tree. Slots and blocks are added later.
    pub(super) fn tree(
        root: &Arc<FieldClass>,
        budget: &mut PlanBudget,
        limits: &Limits,
    ) -> Result<Self, PlanError> {
        let mut plan =
            Self { nodes: Vec::new(), fixed: None, skip_steps: None, value_steps: OnceLock::new() };
        plan.add(None, root, None, budget, limits.depth, limits)?;
        plan.nodes.shrink_to_fit();
        Ok(plan)
    }

    fn add(
        &mut self,
        name: Option<&str>,
        class: &Arc<FieldClass>,
        parent: Option<NodeId>,
        budget: &mut PlanBudget,
        depth: u32,
        limits: &Limits,
    ) -> Result<NodeId, PlanError> {
        budget.take(name, class, limits)?;
        let depth = depth.checked_sub(1).ok_or(PlanError::Depth(limits.depth))?;
        let id = self.nodes.len() as NodeId;
        self.nodes.push(Node {
            name: name.map(Into::into),
            class: Arc::clone(class),
            roles: class.roles,
            alignment: 1,
            op: Op::Null,
            links: None,
            parent,
            is_option: false,
        });
        let (op, alignment) = self.op(id, class, budget, depth, limits)?;
        let node = &mut self.nodes[id as usize];
        node.alignment = alignment.max(1);
        node.op = op;
        Ok(id)
    }

    /// Adds the inner nodes of a node. Returns the node's operation and alignment.
    fn op(
        &mut self,
        id: NodeId,
        class: &FieldClass,
        budget: &mut PlanBudget,
        depth: u32,
        limits: &Limits,
    ) -> Result<(Op, u64), PlanError> {
        let mut alignment = class.declared_alignment();
        let mut child = |plan: &mut Self, name: Option<&str>, class: &Arc<FieldClass>| {
            plan.add(name, class, Some(id), budget, depth, limits)
        };
        let op = match &class.kind {
            FieldKind::Structure { members, .. } => {
                let mut ids = Vec::with_capacity(members.len());
                for member in members {
                    let member = child(self, Some(&member.name), &member.class)?;
                    alignment = alignment.max(self.node(member).alignment);
                    ids.push(member);
                }
                Op::Structure { members: ids, steps: Vec::new() }
            }
            FieldKind::Array { element, length, element_aligns, .. } => {
                let element = child(self, None, element)?;
                if *element_aligns {
                    alignment = alignment.max(self.node(element).alignment);
                }
                match length {
                    Length::Static(length) => Op::StaticArray { element, length: *length, elements: None },
                    Length::Dynamic(_) => Op::DynamicArray { element, length: NO_SLOT, elements: None },
                }
            }
            FieldKind::Optional { field, ranges, .. } => {
                let field = child(self, None, field)?;
                Op::Optional { field, selector: NO_SLOT, ranges: ranges.clone() }
            }
            FieldKind::Variant { options, .. } => {
                let mut nodes = Vec::with_capacity(options.len());
                for option in options {
                    let node = child(self, option.name.as_deref(), &option.class)?;
                    self.nodes[node as usize].is_option = true;
                    nodes.push(node);
                }
                let selectors = Selectors::new(options.iter().map(|option| &option.ranges));
                let selector = NO_SLOT;
                Op::Variant(Box::new(VariantOp { options: nodes, selectors, selector, choices: Vec::new() }))
            }
            FieldKind::Union { members, .. } => {
                let mut ids = Vec::with_capacity(members.len());
                for member in members {
                    ids.push(child(self, Some(&member.name), &member.class)?);
                }
                Op::Union { members: ids }
            }
            kind => leaf_op(kind),
        };
        Ok((op, alignment))
    }
}

/// Returns the operation for a field without inner fields.
fn leaf_op(kind: &FieldKind) -> Op {
    match kind {
        FieldKind::BitArray(bits) => bits_op(bits, BitsKind::BitArray),
        FieldKind::BitMap { bits, .. } => bits_op(bits, BitsKind::BitMap),
        FieldKind::Boolean(bits) => bits_op(bits, BitsKind::Boolean),
        FieldKind::Integer { bits, integer } if integer.signed => bits_op(bits, BitsKind::Signed),
        FieldKind::Integer { bits, .. } => bits_op(bits, BitsKind::Unsigned),
        FieldKind::Float(bits) => bits_op(bits, BitsKind::Real),
        FieldKind::Padding(bits) => bits_op(bits, BitsKind::Padding),
        FieldKind::VariableLength { value, .. } => Op::Variable(match value {
            VariableLengthValue::BitArray => VariableOp::BitArray,
            VariableLengthValue::Boolean => VariableOp::Boolean,
            VariableLengthValue::Integer(integer) if integer.signed => VariableOp::Signed,
            VariableLengthValue::Integer(_) => VariableOp::Unsigned,
        }),
        FieldKind::String { encoding, length, .. } => match length {
            StringLength::NullTerminated => Op::NullTerminated(*encoding),
            StringLength::Static(length) => Op::StaticText(*encoding, *length),
            StringLength::Dynamic(_) => Op::DynamicText(*encoding, NO_SLOT),
            StringLength::Prefixed { length, gap } => {
                let prefix = TextPrefix {
                    length: length.length.clamp(1, 64),
                    big_endian: length.byte_order == ByteOrder::BigEndian,
                    reversed: length.is_reversed(),
                    text: length.length.clamp(1, 64).saturating_add(*gap),
                };
                Op::PrefixedText(*encoding, prefix)
            }
        },
        FieldKind::Blob { length: Length::Static(length), .. } => Op::StaticBlob(*length),
        FieldKind::Blob { length: Length::Dynamic(_), .. } => Op::DynamicBlob(NO_SLOT),
        FieldKind::Guid { .. } => Op::Guid,
        // Only nulls remain: `Plan::op` handles fields with inner fields.
        _ => Op::Null,
    }
}

fn bits_op(bits: &BitField, kind: BitsKind) -> Op {
    Op::Bits(Bits {
        length: bits.length,
        big_endian: bits.byte_order == ByteOrder::BigEndian,
        reversed: bits.is_reversed(),
        kind,
        saved: false,
    })
}

/// Remaining budget for plans.
pub(super) struct PlanBudget {
    /// Number of remaining field classes.
    classes: u64,
    memory: Budget,
}

impl PlanBudget {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { classes: limits.field_classes, memory: Budget::new(limits.description_bytes) }
    }

    /// Charges a node.
    fn take(&mut self, name: Option<&str>, class: &FieldClass, limits: &Limits) -> Result<(), PlanError> {
        self.classes = self.classes.checked_sub(1).ok_or(PlanError::FieldClasses(limits.field_classes))?;
        let (variant, ranges) = match &class.kind {
            FieldKind::Variant { options, .. } => {
                let ranges: usize = options.iter().map(|option| option.ranges.0.len()).sum();
                (allocated(size_of::<VariantOp>()), ranges)
            }
            _ => (0, 0),
        };
        // Includes its share of the parent's steps, and of temporary data.
        let node = size_of::<Node>() + size_of::<Step>() + size_of::<Option<FixedLayout>>() + 16;
        let name = name.map_or(0, |name| allocated(name.len()));
        self.take_memory(node as u64 + name + variant + 48 * ranges as u64, limits)
    }

    pub(super) fn take_memory(&mut self, bytes: u64, limits: &Limits) -> Result<(), PlanError> {
        if self.memory.take(bytes) { Ok(()) } else { Err(PlanError::Description(limits.description_bytes)) }
    }
}
