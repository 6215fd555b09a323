//! Finds the targets of field locations, because dialects spell paths differently.

use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, FieldKind, FieldLocation, LocationStep, Member};

use super::unsupported::Refusals;

/// Root field classes, by scope.
pub(super) type RootClasses<'c> = [Option<&'c FieldClass>; 6];

/// Root field: its property name in a dialect, its scope, its class.
pub(super) type RootField<'c> = (&'static str, Scope, &'c Option<Arc<FieldClass>>);

/// Structure or union whose members are being written.
struct OpenContainer<'c> {
    members: &'c [Member],
    /// Number of members on its path from the root field.
    depth: usize,
}

/// Writer position in a root field.
pub(super) struct RootPosition<'c> {
    /// Current scope.
    pub(super) scope: Scope,
    /// Classes of all root fields, including the current root field.
    pub(super) roots: RootClasses<'c>,
    frames: Vec<OpenContainer<'c>>,
    path: Vec<&'c Member>,
}

/// Location target.
pub(super) struct PathTarget<'c> {
    /// Target scope.
    pub(super) scope: Scope,
    /// Members on the path from the root field to the target.
    pub(super) members: Vec<&'c Member>,
    /// Length of the common path to a structure that also contains the field with the location, if it exists.
    pub(super) shared: Option<usize>,
    /// Path length to an enclosing structure, if the target is its member and its name alone is enough: no structure in
    /// between has a member with this name.
    pub(super) around: Option<usize>,
    /// Classes of the fields that may be there. There are several if the path leads through variants.
    pub(super) classes: Vec<&'c FieldClass>,
    /// `true` if the path leads to a field for all variant selections on it.
    pub(super) fits_all: bool,
}

impl<'c> RootPosition<'c> {
    /// Creates a position at a root field.
    pub(super) fn new(scope: Scope, roots: RootClasses<'c>) -> Self {
        Self { scope, roots, frames: Vec::new(), path: Vec::new() }
    }

    /// Returns `true` if direct members of the root field are being written.
    pub(super) fn is_direct(&self) -> bool {
        self.frames.len() == 1
    }

    /// Enters a structure or a union.
    pub(super) fn enter_structure(&mut self, members: &'c [Member]) {
        self.frames.push(OpenContainer { members, depth: self.path.len() });
    }

    /// Leaves the innermost structure or union.
    pub(super) fn leave_structure(&mut self) {
        self.frames.pop();
    }

    /// Enters a member of the innermost structure.
    pub(super) fn enter_member(&mut self, member: &'c Member) {
        self.path.push(member);
    }

    /// Leaves the member.
    pub(super) fn leave_member(&mut self) {
        self.path.pop();
    }

    /// Returns a location's target. Refuses a location that cannot be written. `visits` is the remaining number of
    /// class visits.
    pub(super) fn target(
        &self,
        location: &FieldLocation,
        visits: &mut u64,
        refusals: &mut Refusals,
    ) -> Option<PathTarget<'c>> {
        if location.is_by_values() {
            refusals.refuse("a field without a length in the data: only its values determine it");
            return None;
        }
        let target = self.find(location, visits);
        if target.is_none() {
            refusals.refuse(format!("the field location {location}, which does not lead to a field"));
        }
        target
    }

    /// Returns a location's target, for dialects whose locations must lead to a single field for all variant selections
    /// on the path.
    pub(super) fn single_target(
        &self,
        location: &FieldLocation,
        visits: &mut u64,
        refusals: &mut Refusals,
    ) -> Option<PathTarget<'c>> {
        let target = self.target(location, visits, refusals)?;
        if target.members.is_empty() {
            refusals.refuse("a field location that is a root field");
            return None;
        }
        if location.any_option && (!target.fits_all || !agree(&target.classes)) {
            refusals.refuse(format!("field location {location} is valid only for some variant options"));
        }
        Some(target)
    }

    /// Returns `None` if the target is missing, or if the names on the path differ between targets.
    fn find(&self, location: &FieldLocation, visits: &mut u64) -> Option<PathTarget<'c>> {
        let innermost = self.frames.last().map(|frame| frame.depth);
        let mut level = self.frames.len().checked_sub(1);
        let mut names: Vec<&str> = Vec::new();
        for step in &location.path {
            match step {
                LocationStep::Member(name) => names.push(name),
                LocationStep::Parent if names.pop().is_some() => {}
                LocationStep::Parent if location.origin.is_none() => level = level?.checked_sub(1),
                LocationStep::Parent => return None,
            }
        }
        let found = match location.origin {
            None => self.within(level?, &names, visits),
            Some(scope) if scope == self.scope => {
                // The path leaves the enclosing structures at the deepest structure it passes.
                let around = (0..self.frames.len()).rev().find_map(|level| {
                    let depth = self.frames.get(level)?.depth;
                    let (head, rest) = names.split_at_checked(depth)?;
                    let is_on_the_way =
                        self.path.iter().zip(head).all(|(member, name)| member.is_called(name));
                    if !is_on_the_way || rest.is_empty() {
                        return None;
                    }
                    self.within(level, rest, visits)
                });
                around.or_else(|| self.in_root(scope, &names, visits))
            }
            Some(scope) => self.in_root(scope, &names, visits),
        };
        let mut target = found.filter(|_| *visits > 0)?;
        // A root field other than a structure lacks enclosing structures.
        if let Some(around) = innermost.and_then(|depth| self.path.get(..depth)) {
            let is_around = target.scope == self.scope
                && target.members.len() == around.len() + 1
                && around.iter().zip(&target.members).all(|(a, b)| std::ptr::eq(*a, *b));
            target.shared = is_around.then_some(around.len());
        }
        target.around = self.level_around(&target);
        Some(target)
    }

    /// See [`PathTarget::around`].
    fn level_around(&self, target: &PathTarget<'c>) -> Option<usize> {
        let (last, before) = target.members.split_last()?;
        if target.scope != self.scope {
            return None;
        }
        let level = self.frames.iter().rposition(|frame| {
            frame.depth == before.len()
                && self.path.iter().zip(before).all(|(a, b)| std::ptr::eq(*a, *b))
                && frame.members.iter().any(|member| std::ptr::eq(member, *last))
        })?;
        let mut inner = self.frames.iter().skip(level + 1).flat_map(|frame| frame.members);
        (!inner.any(|member| member.name == last.name)).then_some(before.len())
    }

    fn within(&self, level: usize, names: &[&str], visits: &mut u64) -> Option<PathTarget<'c>> {
        let frame = self.frames.get(level)?;
        let mut found = follow_member(frame.members, names, visits)?;
        let mut members = self.path.get(..frame.depth)?.to_vec();
        members.append(&mut found.members);
        Some(PathTarget { scope: self.scope, members, ..found })
    }

    fn in_root(&self, scope: Scope, names: &[&str], visits: &mut u64) -> Option<PathTarget<'c>> {
        let root = self.roots.get(scope as usize).copied().flatten()?;
        Some(PathTarget { scope, ..follow(root, names, visits)? })
    }
}

/// Returns `true` if any of the fields can replace the others.
fn agree(classes: &[&FieldClass]) -> bool {
    let mut mappings = classes.iter().map(|class| class.integer().map(|integer| &integer.mappings));
    let first = mappings.next();
    mappings.all(|other| Some(other) == first)
}

fn follow_member<'c>(members: &'c [Member], names: &[&str], visits: &mut u64) -> Option<PathTarget<'c>> {
    let (first, rest) = names.split_first()?;
    *visits = visits.saturating_sub(members.len() as u64 / 16);
    let member = members.iter().find(|member| member.is_called(first))?;
    let mut found = follow(&member.class, rest, visits)?;
    found.members.insert(0, member);
    Some(found)
}

/// Follows names into a class, through array elements, optionals and variant options.
fn follow<'c>(class: &'c FieldClass, names: &[&str], visits: &mut u64) -> Option<PathTarget<'c>> {
    *visits = visits.checked_sub(1)?;
    match &class.kind {
        FieldKind::Array { element, .. } if !names.is_empty() => follow(element, names, visits),
        FieldKind::Optional { field, .. } => follow(field, names, visits),
        FieldKind::Variant { options, .. } => {
            let mut all: Option<PathTarget<'c>> = None;
            let mut fits_all = true;
            for option in options {
                let Some(found) = follow(&option.class, names, visits) else {
                    fits_all = false;
                    continue;
                };
                match &mut all {
                    None => all = Some(found),
                    Some(all) => {
                        let spelled = |target: &PathTarget<'c>| -> Vec<bool> {
                            target.members.iter().map(|member| member.has_underscore).collect()
                        };
                        if spelled(all) != spelled(&found) {
                            return None;
                        }
                        all.fits_all &= found.fits_all;
                        all.classes.extend(found.classes);
                    }
                }
            }
            all.map(|all| PathTarget { fits_all: all.fits_all && fits_all, ..all })
        }
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } if !names.is_empty() => {
            follow_member(members, names, visits)
        }
        _ if names.is_empty() => Some(PathTarget {
            scope: Scope::PacketHeader,
            members: Vec::new(),
            shared: None,
            around: None,
            classes: vec![class],
            fits_all: true,
        }),
        _ => None,
    }
}
