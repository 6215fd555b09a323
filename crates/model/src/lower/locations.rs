//! Invalid locations in lowered classes.

use super::capabilities::{Capabilities, Feature};
use super::moves::ScopeMoves;
use crate::class::{
    FieldClass, FieldKind, FieldLocation, IntegerProperties, Length, LocationStep, Scope, StringLength,
    VariantOption,
};
use crate::plan::Plan;
use crate::plan::steps::NodeId;

/// Root fields in a data stream, by scope: source fields and their lowered classes.
#[derive(Clone, Copy, Default)]
pub(super) struct LoweredRoots<'c> {
    classes: [Option<&'c FieldClass>; 6],
    sources: [Option<SourceRoot<'c>>; 6],
}

/// Source root field, and the moves of its fields.
#[derive(Clone, Copy)]
struct SourceRoot<'c> {
    plan: &'c Plan,
    moves: [Option<&'c ScopeMoves>; 2],
}

impl<'c> LoweredRoots<'c> {
    /// Adds a lowered class.
    pub(super) fn add_class(&mut self, scope: Scope, class: Option<&'c FieldClass>) {
        if let Some(root) = self.classes.get_mut(scope as usize) {
            *root = class;
        }
    }

    /// Adds a source root field, and the moves of its fields.
    pub(super) fn add_source(
        &mut self,
        scope: Scope,
        plan: Option<&'c Plan>,
        moves: [Option<&'c ScopeMoves>; 2],
    ) {
        if let (Some(plan), Some(root)) = (plan, self.sources.get_mut(scope as usize)) {
            *root = Some(SourceRoot { plan, moves });
        }
    }

    fn class(&self, scope: Scope) -> Option<&'c FieldClass> {
        self.classes.get(scope as usize).copied().flatten()
    }

    /// Returns the plan of the source root field in a scope.
    pub(super) fn plan(&self, scope: Scope) -> Option<&'c Plan> {
        Some(self.sources.get(scope as usize)?.as_ref()?.plan)
    }

    /// Returns `true` if any member of a scope was renamed.
    pub(super) fn has_renamed(&self, scope: Scope) -> bool {
        let source = self.sources.get(scope as usize).and_then(Option::as_ref);
        let mut moves = source.into_iter().flat_map(|source| source.moves.into_iter().flatten());
        moves.any(|moves| !moves.renamed.is_empty())
    }

    /// Returns the new name of a structure or union member, if it was renamed.
    pub(super) fn renamed(&self, scope: Scope, member: NodeId) -> Option<&'c str> {
        let source = self.sources.get(scope as usize)?.as_ref()?;
        let names = source.moves.into_iter().flatten();
        names.into_iter().find_map(|moves| moves.renamed.get(&member)).map(String::as_str)
    }
}

/// Number of fields that location searches may visit for each field in a class.
const VISITS: u64 = 64;

/// Returns the nodes in a lowered root class whose locations do not lead to a suitable field, in order.
pub(super) fn unfit_locations(
    root: &FieldClass,
    scope: Scope,
    roots: &LoweredRoots<'_>,
    capabilities: &Capabilities,
) -> Vec<NodeId> {
    let mut finder = UnfitLocations {
        capabilities,
        scope,
        roots,
        open: Vec::new(),
        next: 0,
        visits: 1 << 16,
        found: Vec::new(),
    };
    finder.class(root);
    finder.found
}

/// Use of a field by a dependent field.
enum LocationUse<'c> {
    Length,
    /// `true` if the selecting values are listed.
    Presence(bool),
    Tag(&'c [VariantOption]),
}

struct UnfitLocations<'c> {
    capabilities: &'c Capabilities,
    scope: Scope,
    roots: &'c LoweredRoots<'c>,
    /// Classes around the current class, outermost first.
    open: Vec<&'c FieldClass>,
    /// Node of the next class.
    next: NodeId,
    visits: u64,
    found: Vec<NodeId>,
}

impl<'c> UnfitLocations<'c> {
    fn class(&mut self, class: &'c FieldClass) {
        let id = self.next;
        self.next = self.next.saturating_add(1);
        self.visits = self.visits.saturating_add(VISITS);
        let need = match &class.kind {
            FieldKind::String { length: StringLength::Dynamic(location), .. }
            | FieldKind::Blob { length: Length::Dynamic(location), .. }
            | FieldKind::Array { length: Length::Dynamic(location), .. } => {
                Some((location, LocationUse::Length))
            }
            FieldKind::Optional { selector, ranges, .. } => {
                Some((selector, LocationUse::Presence(ranges.is_some())))
            }
            FieldKind::Variant { selector, options, .. } => Some((selector, LocationUse::Tag(options))),
            _ => None,
        };
        if let Some((location, usage)) = need
            && !self.fits(location, &usage)
        {
            self.found.push(id);
        }
        self.open.push(class);
        for child in class.children() {
            self.class(child.class());
        }
        self.open.pop();
    }

    /// Returns `true` if a location leads to a suitable field, or if the search would visit too many fields.
    fn fits(&mut self, location: &FieldLocation, usage: &LocationUse<'_>) -> bool {
        if location.is_by_values() {
            return false;
        }
        let is_tag = matches!(usage, LocationUse::Tag(_));
        if is_tag && !self.capabilities.has(Feature::DistantSelectors) && self.is_distant(location) {
            return false;
        }
        let mut targets = Vec::new();
        let is_any = location.any_option && self.capabilities.has(Feature::AnyOptionLocations);
        if !self.leads(location, is_any, &mut targets) {
            return self.visits == 0;
        }
        match usage {
            LocationUse::Length => {
                let fits = |integer: &IntegerProperties| !integer.signed || is_any;
                targets.iter().all(|class| class.integer().is_some_and(fits))
            }
            LocationUse::Presence(has_ranges) => targets.iter().all(|class| match &class.kind {
                FieldKind::Boolean(_) => !has_ranges,
                _ => *has_ranges && class.integer().is_some(),
            }),
            LocationUse::Tag(options) => {
                let by_range = self.capabilities.has(Feature::RangeSelectors);
                let selects = |class: &&FieldClass| match by_range {
                    true => class.integer().is_some(),
                    false => is_tag_of(class, options),
                };
                if is_any { targets.iter().any(selects) } else { targets.iter().all(selects) }
            }
        }
    }

    /// Follows a location, and adds the fields at its end to `targets`.
    fn leads(&mut self, location: &FieldLocation, is_any: bool, targets: &mut Vec<&'c FieldClass>) -> bool {
        let is_container = |class: &&&FieldClass| {
            matches!(class.kind, FieldKind::Structure { .. } | FieldKind::Union { .. })
        };
        let (parents, names) = direct_path(location);
        let begin = match location.origin {
            None => self.open.iter().rev().filter(is_container).nth(parents).copied(),
            Some(origin) if origin == self.scope => self.open.first().copied(),
            Some(origin) => self.roots.class(origin),
        };
        let is_other = location.origin.is_some_and(|origin| origin != self.scope);
        begin.is_some_and(|begin| self.follow(begin, &names, (is_any, is_other), targets))
    }

    /// Returns `true` if a location leads to a field that is not a member of a structure around the current class.
    fn is_distant(&self, location: &FieldLocation) -> bool {
        let (_, names) = direct_path(location);
        let mut names = names.as_slice();
        if location.origin.is_some_and(|origin| origin != self.scope) {
            return true;
        }
        if location.origin.is_some() {
            // Locations from the root start with the names of the surrounding structures.
            for pair in self.open.windows(2) {
                let Some(members) = pair[0].members() else { break };
                let Some((first, rest)) = names.split_first().filter(|(_, rest)| !rest.is_empty()) else {
                    break;
                };
                let member = members.iter().find(|member| member.is_called(first));
                if !member.is_some_and(|member| std::ptr::eq(&*member.class, pair[1])) {
                    break;
                }
                names = rest;
            }
        }
        names.len() != 1
    }

    fn follow(
        &mut self,
        class: &'c FieldClass,
        names: &[&str],
        (is_any, is_other): (bool, bool),
        targets: &mut Vec<&'c FieldClass>,
    ) -> bool {
        let Some(visits) = self.visits.checked_sub(1) else { return false };
        self.visits = visits;
        let is_around = self.open.iter().any(|open| std::ptr::eq(*open, class));
        let modes = (is_any, is_other);
        match &class.kind {
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                let Some((first, rest)) = names.split_first() else { return false };
                self.visits = self.visits.saturating_sub(members.len() as u64 / 16);
                let member = members.iter().find(|member| member.is_called(first));
                member.is_some_and(|member| self.follow(&member.class, rest, modes, targets))
            }
            FieldKind::Array { element, .. } => {
                is_around && !names.is_empty() && self.follow(element, names, modes, targets)
            }
            FieldKind::Optional { field, .. } => {
                (is_around || self.capabilities.has(Feature::OuterLocations))
                    && self.follow(field, names, modes, targets)
            }
            FieldKind::Variant { .. }
                if !is_around && !self.capabilities.has(Feature::LocationsThroughVariants) =>
            {
                false
            }
            FieldKind::Variant { options, .. } => {
                let mut leads =
                    options.iter().map(|option| self.follow(&option.class, names, modes, targets));
                if is_any { leads.fold(false, |any, leads| any | leads) } else { leads.all(|leads| leads) }
            }
            _ if names.is_empty() => {
                targets.push(class);
                true
            }
            _ => false,
        }
    }
}

/// Returns the number of structures to leave first, and the member names on the way from there.
pub(super) fn direct_path(location: &FieldLocation) -> (usize, Vec<&str>) {
    let (mut parents, mut names) = (0, Vec::new());
    for step in &location.path {
        match step {
            LocationStep::Member(name) => names.push(name.as_str()),
            LocationStep::Parent if names.pop().is_some() => {}
            LocationStep::Parent => parents += 1,
        }
    }
    (parents, names)
}

/// Returns `true` if enumeration labels select options by name.
fn is_tag_of(class: &FieldClass, options: &[VariantOption]) -> bool {
    let Some(mappings) = class.integer().and_then(|integer| integer.mappings.as_ref()) else { return false };
    options.iter().all(|option| {
        let ranges = option.name.as_deref().and_then(|name| mappings.ranges_of(name));
        ranges.is_some_and(|ranges| ranges.to_set() == option.ranges)
    })
}
