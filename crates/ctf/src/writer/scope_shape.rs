//! Shape of a scope.

use ichnos_model::class::FieldKind;
use ichnos_model::plan::{Node, Plan};

/// Properties of a scope that decide whether its bits can be copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopeShape {
    /// Maximum alignment within the scope, at least a byte.
    pub(super) most_alignment: u64,
    pub(super) has_texts: bool,
}

impl ScopeShape {
    pub(super) fn for_plan(plan: &Plan) -> Self {
        let is_text = |node: &Node| matches!(node.class.kind, FieldKind::String { .. });
        Self {
            most_alignment: plan.nodes().map(Node::alignment).fold(8, u64::max),
            has_texts: plan.nodes().any(is_text),
        }
    }
}
