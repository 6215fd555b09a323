//! State while lowering a class: position and result so far.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::absolute::absolute_location;
use super::capabilities::{Capabilities, Feature};
use super::locations::{LoweredRoots, direct_path};
use super::loss_table::{LossKind, LossTable};
use super::moves::{NONE, NodeMove, ScopeConversion};
use super::names::{UniqueNames, identifier};
use super::options::LowerOptions;
use super::roles::unplaced_roles;
use super::trace_lowerer::{ForcedFields, TraceLowerer};
use crate::class::{FieldClass, FieldKind, FieldLocation, LocationStep, Member, Roles, Scope, TraceClass};
use crate::plan::steps::{Node, NodeId, Op, Plan};

/// Lowers a scope's root class.
pub(super) struct ClassLowerer<'a> {
    pub(super) capabilities: &'a Capabilities,
    pub(super) plan: &'a Plan,
    pub(super) scope: Scope,
    /// Default clock for the data stream.
    pub(super) default_clock: Option<u16>,
    /// Class name in the loss table.
    pub(super) class_name: &'a str,
    pub(super) losses: &'a mut LossTable,
    pub(super) moves: Vec<NodeMove>,
    pub(super) members: Vec<Option<usize>>,
    pub(super) next: NodeId,
    pub(super) conversion: ScopeConversion,
    pub(super) path: Vec<String>,
    /// Names reserved for later members.
    pub(super) reserved: UniqueNames,
    /// Dropped fields.
    pub(super) left_out: HashSet<NodeId>,
    /// `true` if fields move to another scope than in the source, so that locations start at the root.
    pub(super) is_elsewhere: bool,
    /// `true` if the specific context becomes part of the payload.
    pub(super) joins_payload: bool,
    /// Fields inside optionals whose length is in a member before the optional, with the name of that member.
    pub(super) hoists: Vec<(NodeId, String)>,
    pub(super) forced: &'a ForcedFields,
    /// Roles that no field in this scope keeps.
    pub(super) lost_roles: Roles,
    pub(super) input: LowerInput<'a>,
    /// New names of renamed members.
    pub(super) renamed: HashMap<NodeId, String>,
}

/// Trace of a class, and the rules for lowering it.
#[derive(Clone, Copy)]
pub(super) struct LowerInput<'a> {
    pub(super) trace: &'a TraceClass,
    pub(super) options: LowerOptions,
    /// Roles that widen an integer in this scope to 64 bits.
    pub(super) widened_roles: Roles,
    /// Root fields in other scopes, and fields in this scope that were lowered before.
    pub(super) roots: LoweredRoots<'a>,
}

impl TraceLowerer<'_> {
    /// Starts to lower the root class of a scope. `default_clock` belongs to the data stream. The event record class
    /// name is for the loss table.
    pub(super) fn lowerer<'l>(
        &'l mut self,
        plan: &'l Plan,
        (scope, default_clock): (Scope, Option<u16>),
        class_name: &'l str,
        roots: LoweredRoots<'l>,
    ) -> ClassLowerer<'l> {
        let (trace, capabilities) = (&self.source.class, self.capabilities);
        let widened_roles = self.roles_widened_in(scope);
        ClassLowerer {
            capabilities,
            plan,
            scope,
            default_clock,
            class_name,
            losses: &mut *self.losses,
            moves: vec![NodeMove::DROPPED; plan.nodes.len()],
            members: Vec::new(),
            next: 0,
            conversion: ScopeConversion::Same,
            path: Vec::new(),
            reserved: UniqueNames::default(),
            left_out: dropped_counters(plan, scope, self.options.dropped_counters),
            is_elsewhere: false,
            joins_payload: false,
            hoists: Vec::new(),
            forced: &self.forced,
            lost_roles: unplaced_roles(trace, &plan.root().class, scope, capabilities),
            input: LowerInput { trace, options: self.options, widened_roles, roots },
            renamed: HashMap::new(),
        }
    }
}

/// Returns the packet context members with one of these roles.
fn dropped_counters(plan: &Plan, scope: Scope, roles: Roles) -> HashSet<NodeId> {
    if scope != Scope::PacketContext || roles.is_empty() {
        return HashSet::new();
    }
    let is_dropped = |node: &Node| node.parent == Some(0) && roles.iter().any(|role| node.roles.has(role));
    (0..).zip(&plan.nodes).filter(|(_, node)| is_dropped(node)).map(|(id, _)| id).collect()
}

impl ClassLowerer<'_> {
    /// Returns `true` if source and output have the same dialect.
    pub(super) fn is_same_dialect(&self) -> bool {
        self.input.trace.dialect == self.capabilities.target
    }

    pub(super) fn allocate(&mut self) -> NodeId {
        let id = self.next;
        self.next = self.next.saturating_add(1);
        id
    }

    /// Removes the node of the empty structure before a field. The nodes of the field and its inner fields move up by
    /// one.
    pub(super) fn release_pad(&mut self, id: NodeId) {
        let pad = std::mem::replace(&mut self.moves[id as usize].pad, NONE);
        // Nodes are numbered in field order: inner fields come after their field.
        let is_within = |node: &Node| node.parent.is_some_and(|parent| parent >= id);
        let begin = id as usize;
        let within = self.plan.nodes.iter().skip(begin + 1).take_while(|node| is_within(node)).count();
        for target in self.moves[begin..=begin + within].iter_mut().flat_map(NodeMove::targets_mut) {
            if *target != NONE && *target > pad {
                *target -= 1;
            }
        }
        self.next -= 1;
    }

    pub(super) fn record_conversion(&mut self, conversion: ScopeConversion) {
        self.conversion = self.conversion.max(conversion);
    }

    /// Records a loss, and the difference between the lowered class and its source.
    pub(super) fn record_change(
        &mut self,
        conversion: ScopeConversion,
        kind: LossKind,
        what: impl Into<String>,
    ) {
        self.record_conversion(conversion);
        self.record_loss(kind, what);
    }

    pub(super) fn record_loss(&mut self, kind: LossKind, what: impl Into<String>) {
        // If the format lacks a class, it is known from an annotation: it was lowered before, and nothing changes.
        if kind != LossKind::Lowered || !self.is_same_dialect() {
            self.change(kind, what);
        }
    }

    /// Records a change that does not depend on the source dialect.
    pub(super) fn change(&mut self, kind: LossKind, what: impl Into<String>) {
        let mut field = self.scope.short_name().to_owned();
        for name in &self.path {
            field.push('.');
            field.push_str(name);
        }
        self.losses.note(kind, self.class_name, field, what);
    }

    pub(super) fn lowered(&mut self, conversion: ScopeConversion, from: &FieldClass, to: &str) {
        self.record_change(conversion, LossKind::Lowered, format!("{} -> {to}", from.describe()));
    }

    /// Converts a name to an allowed name.
    pub(super) fn name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        // Members with the name of a reserved word can be written with an underscore.
        if self.capabilities.has(Feature::AnyNames) {
            Cow::Borrowed(name)
        } else {
            identifier(name, |_| false)
        }
    }

    /// Converts a field location to allowed names.
    pub(super) fn location(&self, id: NodeId, location: &FieldLocation) -> Box<FieldLocation> {
        let is_relative = self.is_elsewhere && location.origin.is_none();
        let absolute = is_relative.then(|| absolute_location(self.plan, id, self.scope, location)).flatten();
        let mut location = absolute.unwrap_or_else(|| location.clone());
        self.rename(id, &mut location);
        location.any_option &= self.capabilities.has(Feature::AnyOptionLocations);
        if location.origin.is_none() {
            let parents = self.added_parents(id, &location);
            location.path.splice(..0, std::iter::repeat_n(LocationStep::Parent, parents));
        }
        if self.joins_payload && location.origin == Some(Scope::SpecificContext) {
            location.origin = Some(Scope::Payload);
        }
        Box::new(location)
    }

    /// Replaces renamed members in the location that a field needs.
    fn rename(&self, id: NodeId, location: &mut FieldLocation) {
        let (parents, names) = direct_path(location);
        let scope = location.origin.unwrap_or(self.scope);
        let has_renamed =
            scope == self.scope && !self.renamed.is_empty() || self.input.roots.has_renamed(scope);
        if !has_renamed && self.capabilities.has(Feature::AnyNames) {
            return;
        }
        let around: Vec<NodeId> = match scope == self.scope {
            true => std::iter::successors(Some(id), |id| self.plan.node(*id).parent).collect(),
            false => Vec::new(),
        };
        let is_container =
            |id: &NodeId| matches!(self.plan.node(*id).op, Op::Structure { .. } | Op::Union { .. });
        let (scope, plan, begin) = match location.origin {
            Some(origin) if origin != self.scope => (origin, self.input.roots.plan(origin), Some(0)),
            Some(_) => (self.scope, Some(self.plan), Some(0)),
            None => {
                let around =
                    std::iter::successors(self.plan.node(id).parent, |id| self.plan.node(*id).parent);
                (self.scope, Some(self.plan), around.filter(is_container).nth(parents))
            }
        };
        let mut fields: Vec<NodeId> = begin.into_iter().collect();
        let mut renamed = Vec::with_capacity(names.len());
        for name in names {
            let plan = plan.filter(|_| has_renamed);
            let members = plan.map(|plan| members_called(plan, &fields, &around, name)).unwrap_or_default();
            let new_name = members.first().and_then(|member| self.new_name(scope, plan?, *member));
            renamed.push(new_name.unwrap_or_else(|| self.name(name).into_owned()));
            fields = members;
        }
        location.path = std::iter::repeat_n(LocationStep::Parent, parents)
            .chain(renamed.into_iter().map(LocationStep::Member))
            .collect();
    }

    /// Returns the location name of a member, if it was renamed.
    fn new_name(&self, scope: Scope, plan: &Plan, member: NodeId) -> Option<String> {
        let own = if scope == self.scope { self.renamed.get(&member).map(String::as_str) } else { None };
        let name = own.or_else(|| self.input.roots.renamed(scope, member))?;
        let has_underscore = member_of(plan, member).is_some_and(|member| member.has_underscore);
        Some(if has_underscore { format!("_{name}") } else { name.to_owned() })
    }

    /// Number of structures that lowering adds between a field and the structure where its location descends.
    fn added_parents(&self, id: NodeId, location: &FieldLocation) -> usize {
        let mut parents = location.path.iter().take_while(|step| **step == LocationStep::Parent).count();
        let mut added = 0;
        let mut next = Some(id);
        while let Some(id) = next {
            let node = self.plan.node(id);
            if matches!(node.op, Op::Structure { .. }) {
                let Some(less) = parents.checked_sub(1) else { break };
                parents = less;
            }
            added += usize::from(self.moves[id as usize].wrap != NONE);
            next = node.parent;
        }
        added
    }

    /// Returns `true` if fields can be annotated. Without attributes, annotations are [stored
    /// elsewhere](super::take_annotations), except for packet headers.
    pub(super) fn can_annotate(&self) -> bool {
        self.capabilities.has(Feature::Attributes) || self.is_elsewhere || self.scope != Scope::PacketHeader
    }
}

/// Returns the structure or union member with this node.
pub(super) fn member_of(plan: &Plan, id: NodeId) -> Option<&Member> {
    let parent = plan.node(plan.node(id).parent?);
    let (
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. },
        Op::Structure { members: ids, .. } | Op::Union { members: ids },
    ) = (&parent.class.kind, &parent.op)
    else {
        return None;
    };
    // Nodes are numbered in member order.
    members.get(ids.binary_search(&id).ok()?)
}

/// Returns the nodes of all members with this name in structures and unions that are, or are inside, `fields`. In a
/// variant `around` the dependent field, only the option with that field is searched.
fn members_called(plan: &Plan, fields: &[NodeId], around: &[NodeId], name: &str) -> Vec<NodeId> {
    let (mut found, mut open) = (Vec::new(), fields.to_vec());
    while let Some(id) = open.pop() {
        let node = plan.node(id);
        match &node.op {
            Op::Structure { members, .. } | Op::Union { members } => {
                let all = node.class.members().unwrap_or_default();
                let named = members.iter().zip(all).find(|(_, member)| member.is_called(name));
                found.extend(named.map(|(id, _)| *id));
            }
            Op::StaticArray { element, .. } | Op::DynamicArray { element, .. } => open.push(*element),
            Op::Optional { field, .. } => open.push(*field),
            Op::Variant(variant) => match variant.options.iter().find(|option| around.contains(option)) {
                Some(own) => open.push(*own),
                None => open.extend(variant.options.iter().rev()),
            },
            _ => {}
        }
    }
    found
}
