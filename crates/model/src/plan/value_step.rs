//! Steps to visit the values of a root structure.

use super::steps::{BitsKind, NodeId, Op, Plan, ValueStep, ValueStepKind};

impl Plan {
    /// Returns the steps to visit the values of the root structure.
    #[inline(always)]
    pub(crate) fn value_steps(&self) -> &[ValueStep] {
        self.value_steps.get_or_init(|| ValueStep::for_plan(self))
    }
}

impl ValueStep {
    /// Creates the steps of a plan. Only a root structure has steps.
    fn for_plan(plan: &Plan) -> Box<[Self]> {
        match &plan.root().op {
            Op::Structure { members, .. } => members.iter().map(|node| Self::for_node(plan, *node)).collect(),
            _ => Box::default(),
        }
    }

    fn for_node(plan: &Plan, node: NodeId) -> Self {
        let length = |id: NodeId, kind: BitsKind| match &plan.node(id).op {
            Op::Bits(bits) if bits.kind == kind && bits.length <= 64 => Some(bits.length as u8),
            _ => None,
        };
        let kind = match &plan.node(node).op {
            Op::Bits(_) => {
                let unsigned = length(node, BitsKind::Unsigned).map(ValueStepKind::Unsigned);
                unsigned.or_else(|| length(node, BitsKind::Signed).map(ValueStepKind::Signed))
            }
            Op::Optional { field, .. } => {
                let length = length(*field, BitsKind::Unsigned).unwrap_or_default();
                Some(ValueStepKind::Optional(*field, length))
            }
            Op::NullTerminated(encoding)
            | Op::StaticText(encoding, _)
            | Op::DynamicText(encoding, _)
            | Op::PrefixedText(encoding, _) => Some(ValueStepKind::Text(*encoding)),
            _ => None,
        };
        Self { node, kind: kind.unwrap_or(ValueStepKind::Other) }
    }
}
