//! Runs the step of one field without the steps before it.

use super::bytewise::{Bytewise, Plans};
use super::position::Position;
use crate::field::Visitor;
use crate::plan::steps::{BlockField, Load, NodeId, Op, Plan, Step};

/// An integer with the same offset in all events of a class: a field in the first block of its scope. Without it,
/// `cargo bench -p ichnos-model -- field/number` takes as long as `field/code`, which visits the scope and takes about
/// 20 times as long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedField {
    /// Scope alignment in bytes, minus one.
    mask: usize,
    /// Block size in bytes.
    size: usize,
    field: BlockField,
}

impl FixedField {
    /// Creates the field for a node, if it is such an integer.
    pub(crate) fn new(plan: &Plan, node: NodeId) -> Option<Self> {
        let Op::Structure { steps, .. } = &plan.root().op else { return None };
        let Some(Step::Block(block) | Step::MixedBlock(block, _)) = steps.first() else { return None };
        let field = block.fields.iter().find(|field| field.node == node)?;
        if !matches!(field.load, Load::I32 | Load::U32 | Load::U64 | Load::Unsigned | Load::Signed) {
            return None;
        }
        let alignment = plan.root().alignment.max(block.alignment).max(8);
        Some(Self {
            mask: usize::try_from(alignment / 8).ok()? - 1,
            size: usize::try_from(block.size.div_ceil(8)).ok()?,
            field: *field,
        })
    }

    /// Visits the field in a scope that starts at `begin` or after it. `bytes` are from the start of the packet. `None`
    /// if the block does not fit.
    #[inline(always)]
    pub(crate) fn visit<'a, V: Visitor>(
        &self,
        plans: impl Plans<'a>,
        packet: &'a [u8],
        begin: Position,
        visitor: &mut V,
    ) -> Option<()> {
        let begin = usize::try_from(begin.bit.div_ceil(8)).ok()?;
        let begin = begin.checked_add(self.mask)? & !self.mask;
        let bytes = packet.get(begin..).filter(|bytes| self.size <= bytes.len())?;
        let bytewise = Bytewise { bytes: packet, slots: &[], plans };
        bytewise.plain_fields(visitor, std::slice::from_ref(&self.field), begin as u64 * 8, bytes);
        Some(())
    }
}
