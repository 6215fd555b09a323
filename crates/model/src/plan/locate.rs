//! Resolves field locations.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::iter::once;
use std::sync::Arc;

use super::dead_end::{DeadEnd, FieldPurpose, LocationFault};
use super::error::LocationRule;
use super::steps::{NodeId, Op, Plan};
use crate::class::{
    FieldClass, FieldKind, FieldLocation, LocationStep, Mappings, Member, RangeSet, Ranges, Scope,
    VariableLengthValue, VariantOption,
};

/// Scope plans that a field can refer to, indexed by scope.
pub(super) type ScopePlans<'a> = [Option<&'a Plan>; 6];

/// Steps charged for each range if one of several selectors selects, because the ranges take memory.
const CHOICE_STEPS: usize = 64;

/// Maximum number of target fields per location that are checked against rules.
const MOST_TARGETS: usize = 16;

/// Members of large structures, as indexes sorted by name. A linear search would take members times locations.
pub(super) struct MemberNames {
    by_class: RefCell<HashMap<*const FieldClass, Vec<u32>>>,
    /// Remaining search steps. At 0, all results are invalid.
    steps: Cell<u64>,
}

impl MemberNames {
    /// Creates the index with a budget of `steps`.
    pub(super) fn new(steps: u64) -> Self {
        Self { by_class: RefCell::default(), steps: Cell::new(steps) }
    }

    /// Returns `true` if no steps remain. All results are invalid then.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps.get() == 0
    }

    /// Maximum number of members for a linear search.
    const FEW: usize = 16;

    /// Index of the first member called `name` in a class with these members.
    fn index(&self, class: &Arc<FieldClass>, members: &[Member], name: &str) -> Option<usize> {
        if members.len() <= Self::FEW {
            return members.iter().position(|member| member.is_called(name));
        }
        let mut all = self.by_class.borrow_mut();
        // The classes stay in place while they are compiled.
        let order = all.entry(Arc::as_ptr(class)).or_insert_with(|| {
            let mut order: Vec<u32> = (0..).take(members.len()).collect();
            order.sort_by_key(|index| &members[*index as usize].name);
            order
        });
        let find = |name: &str, has_underscore: bool| {
            let begin = order.partition_point(|index| *members[*index as usize].name < *name);
            let same = order[begin..].iter().map(|index| (*index as usize, &members[*index as usize]));
            let mut same = same.take_while(|(_, member)| *member.name == *name);
            same.find(|(_, member)| member.has_underscore == has_underscore).map(|(index, _)| index)
        };
        let found = [find(name, false), name.strip_prefix('_').and_then(|name| find(name, true))];
        found.into_iter().flatten().min()
    }
}

/// Search for the field that a dependent field needs.
pub(super) struct Search<'a> {
    pub(super) names: &'a MemberNames,
    pub(super) scopes: &'a ScopePlans<'a>,
    /// The dependent field's scope.
    pub(super) scope: Scope,
    pub(super) plan: &'a Plan,
    pub(super) dependent: NodeId,
    pub(super) location: &'a FieldLocation,
    pub(super) need: FieldPurpose,
}

impl<'a> Search<'a> {
    pub(super) fn run(&self) -> Result<(Scope, Vec<NodeId>), LocationFault> {
        let scope = self.location.origin.unwrap_or(self.scope);
        let fault_at_location = |reason: String, found: &str| LocationFault {
            position: self.location.declared_at.0,
            reason,
            expected: "an earlier field",
            found: found.to_owned(),
        };
        if scope > self.scope {
            return Err(fault_at_location(format!("{scope} is decoded later"), scope.name()));
        }
        let Some(plan) = self.scopes[scope as usize] else {
            return Err(fault_at_location(format!("there is no {scope}"), "no such root field"));
        };
        let begin = match self.location.origin {
            Some(_) => 0,
            None => match self.structure_around(self.plan.node(self.dependent).parent) {
                Some(structure) => structure,
                None => {
                    return Err(fault_at_location("no structure contains the field".to_owned(), "none"));
                }
            },
        };
        let mut at = vec![begin];
        let path = without_detours(&self.location.path);
        let last = path.len().saturating_sub(1);
        for (i, step) in path.into_iter().enumerate() {
            let mut next = Vec::new();
            let followed = self.follow(at, &mut next, |id, next| match step {
                LocationStep::Parent => match self.structure_around(plan.node(id).parent) {
                    Some(parent) => {
                        next.push(parent);
                        Ok(())
                    }
                    None => Err(DeadEnd::LeavesRoot(id)),
                },
                LocationStep::Member(name) => self.member(plan, scope, id, name, i == last, next),
            });
            followed.map_err(|end| end.describe(plan, self.need))?;
            at = next;
        }
        let mut targets = Vec::new();
        let followed = self.follow(at, &mut targets, |id, targets| self.targets(plan, scope, id, targets));
        followed.map_err(|end| end.describe(plan, self.need))?;
        targets.sort_unstable();
        targets.dedup();
        Ok((scope, targets))
    }

    /// Returns a rule that the field breaks. The rule in all documents is checked first.
    pub(super) fn broken_rule(
        &self,
        scope: Scope,
        targets: &[NodeId],
    ) -> Option<(LocationRule, &'static str)> {
        let plan = self.scopes[scope as usize]?;
        // If there are very many targets, they are similar, so checking some of them is enough.
        let targets = targets.get(..MOST_TARGETS).unwrap_or(targets);
        let ranges: &mut dyn Iterator<Item = &RangeSet> = match &self.plan.node(self.dependent).class.kind {
            FieldKind::Optional { ranges, .. } => &mut ranges.iter(),
            FieldKind::Variant { options, .. } => &mut options.iter().map(|option| &option.ranges),
            _ => &mut std::iter::empty(),
        };
        let is_unsigned = |id: &NodeId| plan.node(*id).class.integer().is_some_and(|it| !it.signed);
        if !self.location.any_option
            && targets.iter().all(is_unsigned)
            && ranges.flat_map(|set| &set.0).any(|range| range.lower < 0)
        {
            let reason = "a range begins below 0, but the selector field is unsigned";
            return Some((LocationRule::NoNegativeRange, reason));
        }
        if scope != self.scope {
            let is_in_optional =
                |id: NodeId| ancestors(plan, id).any(|id| matches!(plan.node(id).op, Op::Optional { .. }));
            return targets.iter().any(|id| is_in_optional(*id)).then_some((
                LocationRule::NoOptional,
                "a field of another root field must not be in an optional",
            ));
        }
        let encloses = |around: NodeId, id: NodeId| ancestors(plan, id).any(|other| other == around);
        let all_in = |around: NodeId| targets.iter().all(|id| encloses(around, *id));
        ancestors(plan, self.dependent).find_map(|around| match plan.node(around).op {
            Op::StaticArray { .. } | Op::DynamicArray { .. } if !all_in(around) => {
                Some((LocationRule::SameElement, "a field within an array needs a field outside its element"))
            }
            Op::Optional { .. } if !all_in(around) && !self.are_selectors(around, scope, targets) => Some((
                LocationRule::SameOptional,
                "a field within an optional needs a field outside this optional",
            )),
            _ => None,
        })
    }

    /// Returns `true` if all these fields also select an optional, so that a field within the optional knows them
    /// whenever it exists. In a PROP-2.0 example ("Optional field class"), an optional and its variant share a
    /// selector.
    fn are_selectors(&self, optional: NodeId, scope: Scope, targets: &[NodeId]) -> bool {
        let FieldKind::Optional { selector, .. } = &self.plan.node(optional).class.kind else { return false };
        let search = Self { dependent: optional, location: selector, ..*self };
        search.run().is_ok_and(|(other, found)| {
            other == scope && targets.iter().all(|target| found.binary_search(target).is_ok())
        })
    }

    /// Returns the selecting values by target and option. Under PROP-1.0 rules, an option's values are those labeled
    /// with its name. `None` if they are the same for all targets.
    pub(super) fn choices(&self, scope: Scope, targets: &[NodeId]) -> Option<Vec<Vec<RangeSet>>> {
        let FieldKind::Variant { options, .. } = &self.plan.node(self.dependent).class.kind else {
            return None;
        };
        let plan = self.scopes[scope as usize]?;
        if targets.len() < 2 || !self.location.any_option {
            return None;
        }
        let mut choices: Vec<Vec<RangeSet>> = Vec::with_capacity(targets.len());
        for target in targets {
            let mappings = plan.node(*target).class.integer().and_then(|integer| integer.mappings.as_ref());
            let (labels, ranges) = mappings.map_or((0, 0), |mappings| (mappings.len(), mappings.ranges()));
            self.count(CHOICE_STEPS * (1 + options.len() + labels + ranges));
            if self.names.is_exhausted() {
                return None;
            }
            let by_label: HashMap<&str, Ranges<'_>> = mappings
                .into_iter()
                .flat_map(Mappings::iter)
                .map(|label| (label.name, label.ranges))
                .collect();
            let of_option = |option: &VariantOption| {
                let label = option.name.as_deref().and_then(|name| by_label.get(name));
                // Nothing selects an option without a label.
                label.map(|ranges| ranges.to_set()).unwrap_or_default()
            };
            choices.push(options.iter().map(of_option).collect());
        }
        choices.windows(2).any(|pair| pair[0] != pair[1]).then_some(choices)
    }

    fn count(&self, steps: usize) {
        let left = self.names.steps.get().saturating_sub(steps as u64);
        self.names.steps.set(left);
    }

    /// Continues from all `ids`. If the location allows it, one that fits is enough.
    fn follow(
        &self,
        ids: Vec<NodeId>,
        found: &mut Vec<NodeId>,
        step: impl Fn(NodeId, &mut Vec<NodeId>) -> Result<(), DeadEnd<'a>>,
    ) -> Result<(), DeadEnd<'a>> {
        let before = found.len();
        let mut dead_end = None;
        for id in ids {
            self.count(1);
            if self.names.is_exhausted() {
                return Ok(());
            }
            match step(id, found) {
                Err(one) if self.location.any_option => dead_end = dead_end.or(Some(one)),
                result => result?,
            }
        }
        match dead_end {
            Some(dead_end) if found.len() == before => Err(dead_end),
            _ => Ok(()),
        }
    }

    /// Nearest structure around `id`, within the scope of the dependent field.
    fn structure_around(&self, mut id: Option<NodeId>) -> Option<NodeId> {
        while let Some(node) = id {
            if matches!(self.plan.node(node).op, Op::Structure { .. }) {
                return Some(node);
            }
            id = self.plan.node(node).parent;
        }
        None
    }

    /// Returns `true` if `id` encloses the dependent field.
    fn encloses(&self, scope: Scope, id: NodeId) -> bool {
        if scope != self.scope {
            return false;
        }
        let mut at = Some(self.dependent);
        while let Some(node) = at {
            if node == id {
                return true;
            }
            at = self.plan.node(node).parent;
        }
        false
    }

    /// Finds the members called `name` in the node, through arrays, optionals and variants.
    fn member(
        &self,
        plan: &Plan,
        scope: Scope,
        id: NodeId,
        name: &'a str,
        is_last: bool,
        found: &mut Vec<NodeId>,
    ) -> Result<(), DeadEnd<'a>> {
        let node = plan.node(id);
        match &node.op {
            Op::Structure { members, .. } | Op::Union { members } => {
                let (FieldKind::Structure { members: classes, .. }
                | FieldKind::Union { members: classes, .. }) = &node.class.kind
                else {
                    return Ok(());
                };
                let index = self.names.index(&node.class, classes, name);
                match index.and_then(|index| members.get(index)) {
                    Some(member) => {
                        found.push(*member);
                        Ok(())
                    }
                    None => Err(DeadEnd::NoMember { structure: id, name, is_last }),
                }
            }
            Op::Optional { field, .. } => self.member(plan, scope, *field, name, is_last, found),
            Op::Variant(variant) => {
                let options = self.options(scope, id, &variant.options);
                self.follow(options, found, |option, found| {
                    self.member(plan, scope, option, name, is_last, found)
                })
            }
            Op::StaticArray { element, .. } | Op::DynamicArray { element, .. } => {
                if !self.encloses(scope, id) {
                    return Err(DeadEnd::OtherElement(id));
                }
                self.member(plan, scope, *element, name, is_last, found)
            }
            _ => Err(DeadEnd::NoStructure { node: id, name }),
        }
    }

    /// Possible options of a variant. If an option encloses the dependent field, only this option is possible, since it
    /// is selected.
    fn options(&self, scope: Scope, variant: NodeId, options: &[NodeId]) -> Vec<NodeId> {
        let is_option = |id: &NodeId| self.plan.node(*id).parent == Some(variant);
        let own = match scope == self.scope {
            true => once(self.dependent).chain(ancestors(self.plan, self.dependent)).find(is_option),
            false => None,
        };
        own.map_or_else(|| options.to_vec(), |option| vec![option])
    }

    /// Finds the fields with the value: the node, or its alternatives.
    fn targets(
        &self,
        plan: &Plan,
        scope: Scope,
        id: NodeId,
        targets: &mut Vec<NodeId>,
    ) -> Result<(), DeadEnd<'a>> {
        let node = plan.node(id);
        match &node.op {
            Op::Optional { field, .. } => return self.targets(plan, scope, *field, targets),
            Op::Variant(variant) => {
                let options = self.options(scope, id, &variant.options);
                return self
                    .follow(options, targets, |option, targets| self.targets(plan, scope, option, targets));
            }
            Op::StaticArray { .. } | Op::DynamicArray { .. } if !self.encloses(scope, id) => {
                return Err(DeadEnd::OtherElement(id));
            }
            _ => {}
        }
        let integer = match &node.class.kind {
            FieldKind::Integer { integer, .. } => Some(integer),
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => Some(integer),
            _ => None,
        };
        let is_hidden = matches!(&node.class.kind, FieldKind::Padding(bits) if bits.length <= 64);
        let is_boolean = matches!(
            &node.class.kind,
            FieldKind::Boolean(_) | FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. }
        );
        let fits = match self.need {
            FieldPurpose::Length => {
                is_hidden || integer.is_some_and(|integer| !integer.signed || self.location.any_option)
            }
            FieldPurpose::IntegerSelector => is_hidden || integer.is_some(),
            FieldPurpose::BooleanSelector => is_boolean,
        };
        if !fits {
            return Err(DeadEnd::WrongKind(id));
        }
        if scope == self.scope && id >= self.dependent {
            return Err(DeadEnd::Later(id));
        }
        targets.push(id);
        Ok(())
    }
}

/// A node's ancestors, innermost first.
fn ancestors(plan: &Plan, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    std::iter::successors(plan.node(id).parent, |id| plan.node(*id).parent)
}

/// Path without detours: steps into a member and back out of it do not require the member to exist.
fn without_detours(path: &[LocationStep]) -> Vec<&LocationStep> {
    let mut steps: Vec<&LocationStep> = Vec::new();
    for step in path {
        match (steps.last(), step) {
            (Some(LocationStep::Member(_)), LocationStep::Parent) => {
                steps.pop();
            }
            _ => steps.push(step),
        }
    }
    steps
}
