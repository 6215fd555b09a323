//! Specific contexts with members that move to the payload.

use std::sync::Arc;

use super::capabilities::{Capabilities, Feature};
use crate::class::{EventRecordClass, FieldClass, FieldKind, LocationStep, Scope, StringLength};
use crate::plan::Plan;
use crate::plan::steps::Op;

/// Returns `true` if the specific context of a class must become part of the payload, because other fields depend on
/// its fields and the format does not allow that.
pub(super) fn joins_payload(
    class: &EventRecordClass,
    context: Option<&Plan>,
    payload: Option<&Plan>,
    capabilities: &Capabilities,
) -> bool {
    let Some(context) = context.filter(|_| !capabilities.has(Feature::ContextDependencies)) else {
        return false;
    };
    // Only members of structures can move.
    let is_structure = |plan: &Plan| matches!(plan.root().op, Op::Structure { .. });
    if !is_structure(context) || !payload.is_none_or(is_structure) {
        return false;
    }
    let needs_any = |plan: &Plan| plan.nodes().any(|node| needs_field(&node.class));
    let needs_context = |plan: &Plan| {
        let locations = plan.nodes().filter_map(|node| node.class.needed_location());
        locations.into_iter().any(|location| location.origin == Some(Scope::SpecificContext))
    };
    if !needs_any(context) && !payload.is_some_and(needs_context) {
        return false;
    }
    // Members with equal names are renamed, unless a location refers to the name.
    let names = |root: &Option<Arc<FieldClass>>| -> Vec<String> {
        match root.as_deref().map(|root| &root.kind) {
            Some(FieldKind::Structure { members, .. }) => {
                members.iter().map(|member| member.name.clone()).collect()
            }
            _ => Vec::new(),
        }
    };
    let (own, others) = (names(&class.specific_context), names(&class.payload));
    let mut locations = [Some(context), payload]
        .into_iter()
        .flatten()
        .flat_map(Plan::nodes)
        .filter_map(|node| node.class.needed_location());
    let clashes: Vec<&String> = own.iter().filter(|name| others.contains(name)).collect();
    clashes.is_empty()
        || !locations.any(|location| {
            let has_name =
                |step: &LocationStep| matches!(step, LocationStep::Member(name) if clashes.contains(&name));
            location.path.iter().any(has_name)
        })
}

/// Returns `true` if a field of this kind depends on another field, or gets a field before it.
fn needs_field(class: &FieldClass) -> bool {
    class.needed_location().is_some()
        || matches!(class.kind, FieldKind::String { length: StringLength::Prefixed { .. }, .. })
}
