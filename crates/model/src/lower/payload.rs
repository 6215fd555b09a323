//! Payloads with additional members: context members and the message.

use std::sync::Arc;

use super::header::member_names;
use super::locations::LoweredRoots;
use super::loss_table::LossKind;
use super::moves::{ScopeConversion, ScopeMoves};
use super::trace_lowerer::TraceLowerer;
use crate::class::{EventRecordClass, FieldClass, FieldKind, Member, Scope};
use crate::log::LogRole;
use crate::meaning::Meaning;
use crate::plan::Plan;
use crate::plan::steps::NodeId;

impl TraceLowerer<'_> {
    /// Lowers the specific context of a class into its payload, before the payload's own members.
    pub(super) fn joined(
        &mut self,
        class: &mut EventRecordClass,
        context: Option<&Plan>,
        payload: Option<&Plan>,
        clock: Option<u16>,
        (name, roots): (&str, LoweredRoots<'_>),
    ) -> (ScopeMoves, ScopeMoves) {
        let (mut members, mut next, mut alignment) = (Vec::new(), 1, 1);
        let mut lower = |plan: Option<&Plan>, scope, roots: LoweredRoots<'_>| {
            let Some(plan) = plan else { return ScopeMoves::default() };
            if let FieldKind::Structure { minimum_alignment, .. } = &plan.root().class.kind {
                alignment = alignment.max(*minimum_alignment);
            }
            let mut lowerer = self.lowerer(plan, (scope, clock), name, roots);
            lowerer.joins_payload = true;
            if scope == Scope::SpecificContext {
                lowerer.reserved = payload.map(member_names).unwrap_or_default();
            }
            lowerer.lower_members_into(&mut next, &mut members)
        };
        let moves = lower(context, Scope::SpecificContext, roots);
        let mut with_context = roots;
        with_context.add_source(Scope::SpecificContext, context, [Some(&moves), None]);
        let payload = lower(payload, Scope::Payload, with_context);
        let root = FieldClass::new(FieldKind::Structure { members, minimum_alignment: alignment });
        (class.specific_context, class.payload) = (None, Some(Arc::new(root)));
        let field = Scope::SpecificContext.short_name();
        self.losses.note(LossKind::Moved, name, field, "specific context -> payload");
        (moves, payload)
    }

    /// Adds a member with the whole message to the payload and returns its node.
    pub(super) fn add_message(&mut self, class: &mut EventRecordClass, moves: &mut ScopeMoves) -> NodeId {
        let (mut members, minimum_alignment) = match class.payload.as_deref().map(|root| &root.kind) {
            Some(FieldKind::Structure { members, minimum_alignment }) => {
                (members.clone(), *minimum_alignment)
            }
            _ => (Vec::new(), 8),
        };
        let node = class.payload.as_deref().map_or(1, count_nodes);
        let mut name = "log_message".to_owned();
        while members.iter().any(|member| member.name == name) {
            name.push('_');
        }
        class.meanings.insert(Scope::Payload, members.len(), Meaning::Message);
        members.push(Member::new(name, FieldClass::string()));
        class.payload = Some(Arc::new(FieldClass::new(FieldKind::Structure { members, minimum_alignment })));
        if let Some(log) = &class.log {
            class.log = Some(Arc::new(LogRole { text: None, ..(**log).clone() }));
        }
        moves.conversion = ScopeConversion::Moved;
        let what = "message of several fields -> a member";
        self.losses.note(LossKind::Lowered, class.name.clone().unwrap_or_default(), "payload", what);
        node
    }
}

/// Returns the number of plan nodes for a class.
fn count_nodes(class: &FieldClass) -> NodeId {
    class.children().map(|child| count_nodes(child.class())).fold(1, NodeId::saturating_add)
}
