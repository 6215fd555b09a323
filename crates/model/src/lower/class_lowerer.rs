//! State of lowering a class: the position in it, and the result so far.

use std::borrow::Cow;
use std::collections::HashSet;

use super::absolute::absolute_location;
use super::capabilities::Capabilities;
use super::loss_table::{LossEntry, LossKind, LossTable};
use super::moves::{Fit, NONE, NodeMove};
use super::names::{UniqueNames, identifier};
use super::options::LowerOptions;
use super::roles::unplaced_roles;
use super::trace_lowerer::ForcedFields;
use crate::plan::steps::{NodeId, Op, Plan};
use crate::{FieldClass, FieldLocation, LocationStep, Roles, Scope, TraceClass};

/// Lowers the root class of a scope.
pub(super) struct ClassLowerer<'a> {
    pub(super) capabilities: &'a Capabilities,
    /// `true` if the source has the dialect of the output.
    pub(super) is_same_dialect: bool,
    pub(super) plan: &'a Plan,
    pub(super) scope: Scope,
    /// Default clock of the data stream.
    pub(super) default_clock: Option<u16>,
    /// Name of the class in the loss table.
    pub(super) class_name: &'a str,
    pub(super) losses: &'a mut LossTable,
    /// `true` to annotate properties of fields that their lowered class lacks.
    pub(super) annotates: bool,
    /// `true` if fields must not depend on fields of other scopes.
    pub(super) separates_scopes: bool,
    pub(super) moves: Vec<NodeMove>,
    pub(super) members: Vec<Option<usize>>,
    pub(super) next: NodeId,
    pub(super) fit: Fit,
    pub(super) path: Vec<String>,
    /// Names reserved for later members.
    pub(super) reserved: UniqueNames,
    /// Dropped fields.
    pub(super) left_out: HashSet<NodeId>,
    /// `true` if fields move to another scope than in the source, so that locations begin at the root.
    pub(super) is_elsewhere: bool,
    /// `true` if the specific context becomes a part of the payload.
    pub(super) joins_payload: bool,
    /// Fields in optional fields whose length is in a member before the optional field, with the name of that member.
    pub(super) hoists: Vec<(NodeId, String)>,
    pub(super) forced: &'a ForcedFields,
    /// Roles that no field of this scope keeps.
    pub(super) lost_roles: Roles,
}

impl<'a> ClassLowerer<'a> {
    pub(super) fn new(
        (trace, capabilities, options): (&TraceClass, &'a Capabilities, LowerOptions),
        plan: &'a Plan,
        scope: Scope,
        default_clock: Option<u16>,
        class_name: &'a str,
        losses: &'a mut LossTable,
        forced: &'a ForcedFields,
    ) -> Self {
        Self {
            capabilities,
            is_same_dialect: trace.dialect == capabilities.target,
            plan,
            scope,
            default_clock,
            class_name,
            losses,
            annotates: options.annotates,
            separates_scopes: options.separates_scopes,
            moves: vec![NodeMove::DROPPED; plan.nodes.len()],
            members: Vec::new(),
            next: 0,
            fit: Fit::Same,
            path: Vec::new(),
            reserved: UniqueNames::default(),
            left_out: HashSet::new(),
            is_elsewhere: false,
            joins_payload: false,
            hoists: Vec::new(),
            forced,
            lost_roles: unplaced_roles(trace, &plan.root().class, scope, capabilities),
        }
    }

    pub(super) fn allocate(&mut self) -> NodeId {
        let id = self.next;
        self.next = self.next.saturating_add(1);
        id
    }

    pub(super) fn note(&mut self, fit: Fit) {
        self.fit = self.fit.max(fit);
    }

    pub(super) fn lose(&mut self, kind: LossKind, what: String) {
        let mut field = self.scope.short_name().to_owned();
        for name in &self.path {
            field.push('.');
            field.push_str(name);
        }
        self.losses.add(LossEntry { kind, class: self.class_name.to_owned(), field, what }, 1);
    }

    pub(super) fn lowered(&mut self, fit: Fit, from: &FieldClass, to: &str) {
        self.note(fit);
        self.lose(LossKind::Lowered, format!("{} -> {to}", from.describe()));
    }

    /// Converts a name to one that the format allows.
    pub(super) fn name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        // Members named like a reserved word can be written with an underscore.
        if self.capabilities.identifiers_only { identifier(name, |_| false) } else { Cow::Borrowed(name) }
    }

    /// Converts the location of a field to names that the format allows.
    pub(super) fn location(&self, id: NodeId, location: &FieldLocation) -> Box<FieldLocation> {
        let is_relative = self.is_elsewhere && location.origin.is_none();
        let absolute = is_relative.then(|| absolute_location(self.plan, id, self.scope, location)).flatten();
        let mut location = absolute.unwrap_or_else(|| location.clone());
        location.any_option &= self.capabilities.any_option_locations;
        if location.origin.is_none() {
            let parents = self.added_parents(id, &location);
            location.path.splice(..0, std::iter::repeat_n(LocationStep::Parent, parents));
        }
        if self.joins_payload && location.origin == Some(Scope::SpecificContext) {
            location.origin = Some(Scope::Payload);
        }
        for step in &mut location.path {
            if let LocationStep::Member(name) = step {
                *name = self.name(name).into_owned();
            }
        }
        Box::new(location)
    }

    /// Number of structures that lowering adds between a field and the structure at which its location descends.
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

    /// Returns `true` if fields can be annotated: without attributes, annotations are [stored
    /// elsewhere](super::take_annotations), except for packet headers.
    pub(super) fn can_annotate(&self) -> bool {
        self.capabilities.attributes || self.scope != Scope::PacketHeader
    }
}
