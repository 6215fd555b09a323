//! Locations from a scope root.

use crate::class::{FieldLocation, LocationStep, Scope};
use crate::plan::Plan;
use crate::plan::steps::{NodeId, Op, Slot};

/// Converts the location of a needed field in the same scope to a location from the root.
pub(super) fn absolute_location(
    plan: &Plan,
    dependent: NodeId,
    scope: Scope,
    location: &FieldLocation,
) -> Option<FieldLocation> {
    let slot = needed_slot(&plan.node(dependent).op)?;
    let (_, target) = plan.nodes.iter().zip(0..).find(|(node, _)| node.saves().contains(&slot))?;
    let around = std::iter::successors(Some(target), |id| plan.node(*id).parent);
    let is_member = |id: &NodeId| {
        plan.node(*id).parent.is_some_and(|parent| matches!(plan.node(parent).op, Op::Structure { .. }))
    };
    let mut path: Vec<LocationStep> = around
        .filter(is_member)
        .filter_map(|id| Some(LocationStep::Member(plan.node(id).name.as_deref()?.to_owned())))
        .collect();
    path.reverse();
    Some(FieldLocation { origin: Some(scope), path, ..location.clone() })
}

/// Slot of the field that an operation depends on.
pub(super) fn needed_slot(op: &Op) -> Option<Slot> {
    match op {
        Op::DynamicText(_, slot) | Op::DynamicBlob(slot) => Some(*slot),
        Op::DynamicArray { length, .. } => Some(*length),
        Op::Optional { selector, .. } => Some(*selector),
        Op::Variant(variant) => Some(variant.selector),
        _ => None,
    }
}
