//! User fields in packet headers and event record headers. They move to the context after the header.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::absolute::needed_slot;
use super::capabilities::Feature;
use super::locations::LoweredRoots;
use super::loss_table::LossKind;
use super::moves::{ScopeConversion, ScopeMoves};
use super::names::UniqueNames;
use super::roles::unplaced_roles;
use super::trace_lowerer::{LoweredScope, TraceLowerer};
use crate::class::{Child, FieldClass, FieldKind, LocationStep, Role, Roles, Scope};
use crate::plan::Plan;
use crate::plan::steps::{NodeId, Op};

/// A lowered header, and the moves of its fields to a context.
pub(super) struct LoweredHeader {
    pub(super) class: Option<Arc<FieldClass>>,
    pub(super) moves: ScopeMoves,
    /// Fields that move.
    pub(super) moved: HashSet<NodeId>,
}

/// A lowered context, and the moves of header fields into it.
pub(super) struct LoweredContext {
    pub(super) class: Option<Arc<FieldClass>>,
    pub(super) moves: ScopeMoves,
    /// Header field moves. These fields precede the context's fields.
    pub(super) of_header: Option<ScopeMoves>,
}

impl TraceLowerer<'_> {
    /// Lowers a header without the fields that are not allowed in it.
    pub(super) fn header(
        &mut self,
        plan: Option<&Plan>,
        (scope, stream): (Scope, usize),
        clock: Option<u16>,
        roots: LoweredRoots<'_>,
    ) -> LoweredHeader {
        let Some(plan) = plan else {
            return LoweredHeader { class: None, moves: ScopeMoves::default(), moved: HashSet::new() };
        };
        let mut moved = HashSet::new();
        if !self.capabilities.has(Feature::UserHeaderFields) && !self.is_same_dialect() {
            let user_fields = self.user_fields(plan, scope, clock);
            user_fields.collect(&mut moved);
            let unneeded = self.unneeded.iter().filter(|(of, index, _)| (*of, *index) == (scope, stream));
            moved.extend(unneeded.map(|(_, _, field)| *field));
        }
        // A root user field moves as a whole.
        if moved.contains(&0) {
            let moves = ScopeMoves { conversion: ScopeConversion::Moved, ..ScopeMoves::default() };
            return LoweredHeader { class: None, moves, moved };
        }
        let attempt = |this: &mut Self| {
            let mut lowerer = this.lowerer(plan, (scope, clock), "", roots);
            lowerer.left_out.clone_from(&moved);
            lowerer.lower()
        };
        let (class, moves) = self.settle(roots, attempt, |(class, moves)| {
            vec![LoweredScope { scope, class: Some(class), moves: [(scope, Some(moves)), (scope, None)] }]
        });
        LoweredHeader { class: Some(class), moves, moved }
    }

    /// Finds fields without a role that stay in a lowered header although no other field in the lowered trace depends
    /// on them: the dependent fields got what they need elsewhere.
    pub(super) fn find_unneeded(
        &mut self,
        class: Option<&FieldClass>,
        moves: &ScopeMoves,
        (scope, stream): (Scope, usize),
        needed: &HashSet<&str>,
    ) {
        let source = &self.source.plans;
        let plan = match scope {
            Scope::PacketHeader => source.packet_header.as_ref(),
            _ => source.data_streams.get(stream).and_then(|plans| plans.event_record_header.as_ref()),
        };
        let (Some(class), Some(plan)) = (class, plan) else { return };
        if self.capabilities.has(Feature::UserHeaderFields) || self.is_same_dialect() {
            return;
        }
        let clock = self.source.class.data_streams.get(stream).and_then(|class| class.default_clock);
        let user_fields = self.user_fields(plan, scope, clock.filter(|_| scope != Scope::PacketHeader));
        let mut fields = HashSet::new();
        collect_unneeded((class, None), needed, &mut 0, &mut fields);
        let mut unneeded = Vec::new();
        for (source, moves) in (0..).zip(moves.moves.iter()) {
            if fields.contains(&moves.target) {
                let within_root = |id: &NodeId| {
                    let around = std::iter::successors(plan.node(*id).parent, |id| plan.node(*id).parent);
                    around.into_iter().all(|id| matches!(plan.node(id).op, Op::Structure { .. }))
                };
                let around = std::iter::successors(Some(source), |id| plan.node(*id).parent);
                let outermost = around.into_iter().find(within_root);
                // A field with a role stays, together with everything in the same variant.
                let has_role =
                    |id: &NodeId| user_fields.within(*id).iter().any(|id| user_fields.has_role(*id));
                unneeded.extend(outermost.filter(|id| !has_role(id)).map(|field| (scope, stream, field)));
            }
        }
        self.unneeded.extend(unneeded);
    }

    /// Finds the user fields in a header.
    fn user_fields<'p>(&self, plan: &'p Plan, scope: Scope, clock: Option<u16>) -> UserFields<'p> {
        let only_clock = (!self.capabilities.has(Feature::SeveralClocks)).then_some(clock);
        let lost = unplaced_roles(&self.source.class, &plan.root().class, scope, self.capabilities);
        UserFields { plan, only_clock, lost, has_unions: self.capabilities.has(Feature::Unions) }
    }

    /// Lowers the context after a header, with the fields that move there.
    pub(super) fn context_after(
        &mut self,
        (header, header_scope, header_plan): (&LoweredHeader, Scope, Option<&Plan>),
        (plan, scope): (Option<&Plan>, Scope),
        clock: Option<u16>,
        roots: LoweredRoots<'_>,
    ) -> LoweredContext {
        let attempt =
            |this: &mut Self| this.context((header, header_scope, header_plan), (plan, scope), clock, roots);
        self.settle(roots, attempt, |context| {
            let moves = [(scope, Some(&context.moves)), (header_scope, context.of_header.as_ref())];
            vec![LoweredScope { scope, class: context.class.as_deref(), moves }]
        })
    }

    fn context(
        &mut self,
        (header, header_scope, header_plan): (&LoweredHeader, Scope, Option<&Plan>),
        (plan, scope): (Option<&Plan>, Scope),
        clock: Option<u16>,
        roots: LoweredRoots<'_>,
    ) -> LoweredContext {
        let header_plan = header_plan.filter(|_| !header.moved.is_empty());
        let Some(header_plan) = header_plan else {
            let (class, moves) = self.scope(plan, scope, clock, ("", roots)).unzip();
            return LoweredContext { class, moves: moves.unwrap_or_default(), of_header: None };
        };
        let minimum_alignment = match plan.map(|plan| &plan.root().class.kind) {
            Some(FieldKind::Structure { minimum_alignment, .. }) => *minimum_alignment,
            _ => 1,
        };
        let (mut members, mut next) = (Vec::new(), 1);
        let mut lowerer = self.lowerer(header_plan, (header_scope, clock), "", roots);
        // Locations may need context members by their names.
        lowerer.reserved = plan.map(member_names).unwrap_or_default();
        let of_header = Some(lowerer.lower_some_into(&header.moved, &mut next, &mut members));
        let moves = match plan {
            Some(plan) => {
                self.lowerer(plan, (scope, clock), "", roots).lower_members_into(&mut next, &mut members)
            }
            None => ScopeMoves { conversion: ScopeConversion::Moved, ..ScopeMoves::default() },
        };
        let what = format!("fields without a role -> {}", scope.name());
        let field = header_scope.short_name();
        self.losses.note_times(LossKind::Moved, "", field, what, header.moved.len() as u64);
        let class = FieldClass::new(FieldKind::Structure { members, minimum_alignment });
        LoweredContext { class: Some(Arc::new(class)), moves, of_header }
    }
}

/// Member names in the root structure of a plan.
pub(super) fn member_names(plan: &Plan) -> UniqueNames {
    let Op::Structure { members, .. } = &plan.root().op else { return UniqueNames::default() };
    members.iter().filter_map(|id| Some(plan.node(*id).name.as_deref()?.to_owned())).collect()
}

/// Returns field names that other fields depend on.
pub(super) fn needed_names<'c>(roots: impl Iterator<Item = &'c Arc<FieldClass>>) -> HashSet<&'c str> {
    let mut needed = HashSet::new();
    roots.for_each(|root| collect_needed(root, &mut needed));
    needed
}

fn collect_needed<'c>(class: &'c FieldClass, needed: &mut HashSet<&'c str>) {
    let path = class.needed_location().map(|location| location.path.as_slice());
    if let Some([.., LocationStep::Member(name)]) = path {
        needed.insert(name);
    }
    class.children().for_each(|child| collect_needed(child.class(), needed));
}

/// Collects the nodes of unneeded fields without a role, numbered from `next`. Array elements and union members belong
/// to their container as a whole: they have an empty `name`.
fn collect_unneeded(
    (class, name): (&FieldClass, Option<Cow<'_, str>>),
    needed: &HashSet<&str>,
    next: &mut NodeId,
    found: &mut HashSet<NodeId>,
) {
    let id = *next;
    *next = next.saturating_add(1);
    let is_around = matches!(
        class.kind,
        FieldKind::Structure { .. } | FieldKind::Optional { .. } | FieldKind::Variant { .. }
    );
    if !is_around && class.roles.is_empty() && name.as_deref().is_some_and(|name| !needed.contains(name)) {
        found.insert(id);
    }
    for child in class.children() {
        let name = match child {
            Child::Member(member) => Some(member.location_name()),
            _ => name.clone(),
        };
        collect_unneeded((child.class(), name.filter(|_| is_around)), needed, next, found);
    }
}

/// Fields without roles that no other field depends on.
struct UserFields<'p> {
    plan: &'p Plan,
    /// Single clock that fields can update, if there is only one.
    only_clock: Option<Option<u16>>,
    /// Roles that no field keeps.
    lost: Roles,
    /// `true` if the format supports unions.
    has_unions: bool,
}

impl UserFields<'_> {
    /// Collects the outermost user fields in the root field that occur once in each header.
    fn collect(&self, found: &mut HashSet<NodeId>) {
        let mut fields = Vec::new();
        self.outermost(0, &mut fields);
        let mut needed = HashSet::new();
        for id in fields.into_iter().rev() {
            let within = self.within(id);
            let saves = |id: &NodeId| self.plan.node(*id).saves().iter().any(|slot| needed.contains(slot));
            let stays = within.iter().any(|id| self.has_role(*id)) || within.iter().any(saves);
            // Fields that move can still find what they need in the header.
            needed.extend(within.iter().filter_map(|id| needed_slot(&self.plan.node(*id).op)));
            if !stays && has_fields(self.plan, id) {
                found.insert(id);
            }
        }
    }

    /// Appends the fields that are not structures and are only inside structures.
    fn outermost(&self, id: NodeId, fields: &mut Vec<NodeId>) {
        match &self.plan.node(id).op {
            Op::Structure { members, .. } => members.iter().for_each(|id| self.outermost(*id, fields)),
            _ => fields.push(id),
        }
    }

    /// Returns a field and its inner fields. A union that is lowered to bytes has no inner fields.
    fn within(&self, id: NodeId) -> Vec<NodeId> {
        let mut all = vec![id];
        let mut at = 0;
        while let Some(id) = all.get(at) {
            let op = &self.plan.node(*id).op;
            if self.has_unions || !matches!(op, Op::Union { .. }) {
                all.extend(inner(op));
            }
            at += 1;
        }
        all
    }

    fn has_role(&self, id: NodeId) -> bool {
        let mut roles = self.plan.node(id).class.roles;
        if roles.clock.is_some() && self.only_clock.is_some_and(|clock| clock != roles.clock) {
            roles.remove(Role::Timestamp);
            roles.remove(Role::PacketEndTimestamp);
        }
        self.lost.iter().for_each(|role| roles.remove(role));
        !roles.is_empty()
    }
}

/// Returns `true` if a field contains more than structures, optionals and variants.
fn has_fields(plan: &Plan, id: NodeId) -> bool {
    match &plan.node(id).op {
        op @ (Op::Structure { .. } | Op::Optional { .. } | Op::Variant(_)) => {
            inner(op).iter().any(|id| has_fields(plan, *id))
        }
        _ => true,
    }
}

/// Direct children of a field.
fn inner(op: &Op) -> Vec<NodeId> {
    match op {
        Op::Structure { members, .. } | Op::Union { members } => members.to_vec(),
        Op::StaticArray { element, .. } | Op::DynamicArray { element, .. } => vec![*element],
        Op::Optional { field, .. } => vec![*field],
        Op::Variant(variant) => variant.options.to_vec(),
        _ => Vec::new(),
    }
}
