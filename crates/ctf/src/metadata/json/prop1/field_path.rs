//! Resolution of PROP-1.0 field paths relative to their fields.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{
    FieldClass, FieldKind, FieldLocation, Length, LocationStep, Member, Ranges, StringLength, VariantOption,
};
use ichnos_model::trace::TextPosition;

use crate::metadata::{Problems, choices};

/// Root field classes known so far.
pub(super) type EarlierRoots<'c> = [Option<&'c Arc<FieldClass>>; 6];

/// Structure or union on the current path.
struct ContainerFrame<'c> {
    /// Members decoded before the current member.
    before: HashMap<&'c str, &'c Member>,
    /// Length of its path.
    path: usize,
}

/// Makes all paths within a root field absolute, and sets the values that select variant choices.
pub(super) struct PathResolver<'c, 'p> {
    scope: Scope,
    roots: EarlierRoots<'c>,
    frames: Vec<ContainerFrame<'c>>,
    path: Vec<&'c str>,
    problems: &'p mut Problems,
    /// Remaining number of class visits on paths, for the whole metadata.
    visits: &'p mut u64,
}

impl<'c, 'p> PathResolver<'c, 'p> {
    /// Creates a resolver for `scope`. `roots` contains the classes of this scope and all earlier scopes.
    pub(super) fn new(
        scope: Scope,
        roots: EarlierRoots<'c>,
        problems: &'p mut Problems,
        visits: &'p mut u64,
    ) -> Self {
        Self { scope, roots, frames: Vec::new(), path: Vec::new(), problems, visits }
    }

    /// Returns the class with its paths resolved, or `None` if that is impossible.
    pub(super) fn class(&mut self, class: &'c Arc<FieldClass>) -> Option<Arc<FieldClass>> {
        let kind = match &class.kind {
            FieldKind::Structure { members, minimum_alignment } => {
                let members = self.members(members, "field")?;
                FieldKind::Structure { members, minimum_alignment: *minimum_alignment }
            }
            FieldKind::Union { members, alignment } => {
                let members = self.members(members, "field")?;
                FieldKind::Union { members, alignment: *alignment }
            }
            FieldKind::Array { element, length, minimum_alignment, element_aligns } => {
                let resolved_length = match length {
                    Length::Dynamic(location) => {
                        self.location(location).map(|(location, _)| Box::new(location))
                    }
                    Length::Static(_) => None,
                };
                let resolved_element = self.class(element);
                if resolved_length.is_none() && resolved_element.is_none() {
                    return None;
                }
                FieldKind::Array {
                    element: resolved_element.unwrap_or_else(|| element.clone()),
                    length: resolved_length.map_or_else(|| length.clone(), Length::Dynamic),
                    minimum_alignment: *minimum_alignment,
                    element_aligns: *element_aligns,
                }
            }
            FieldKind::String { encoding, length: StringLength::Dynamic(location), alignment } => {
                let (location, _) = self.location(location)?;
                FieldKind::String {
                    encoding: *encoding,
                    length: StringLength::Dynamic(Box::new(location)),
                    alignment: *alignment,
                }
            }
            FieldKind::Variant { options, selector, alignment } => {
                self.variant(options, selector, *alignment, class.declared_at.0)?
            }
            _ => return None,
        };
        Some(Arc::new(FieldClass { kind, ..FieldClass::clone(class) }))
    }

    fn members(&mut self, members: &'c [Member], what: &str) -> Option<Vec<Member>> {
        self.frames.push(ContainerFrame { before: HashMap::new(), path: self.path.len() });
        let mut resolved: Vec<(usize, Arc<FieldClass>)> = Vec::new();
        for (index, member) in members.iter().enumerate() {
            self.path.push(&member.name);
            self.problems.enter(format!("{what} `{}`", member.name));
            if let Some(class) = self.class(&member.class) {
                resolved.push((index, class));
            }
            self.problems.leave();
            self.path.pop();
            if let Some(frame) = self.frames.last_mut() {
                frame.before.insert(&member.name, member);
            }
        }
        self.frames.pop();
        if resolved.is_empty() {
            return None;
        }
        let mut members = members.to_vec();
        for (index, class) in resolved {
            if let Some(member) = members.get_mut(index) {
                member.class = class;
            }
        }
        Some(members)
    }

    fn variant(
        &mut self,
        options: &'c [VariantOption],
        selector: &FieldLocation,
        alignment: u64,
        position: TextPosition,
    ) -> Option<FieldKind> {
        let (selector, targets) = self.location(selector)?;
        // If there are several tags, each selects by its own labels during decoding. Here only the presence of labels
        // matters, so the first tag with labels provides the ranges.
        let mut enumerations: Vec<HashMap<&str, Ranges<'_>>> = Vec::new();
        for labels in targets.iter().filter_map(|target| target.mappings()) {
            let names = options.iter().filter_map(|option| option.name.as_deref());
            enumerations.push(choices::by_option(labels, names));
        }
        if targets.iter().any(|target| target.integer().is_some_and(|it| it.wide_ranges.is_some())) {
            let message = "the tag of a variant has label values with more than 128 bits including their \
                sign, the limit";
            self.problems.error(selector.declared_at.0, message);
            return None;
        }
        if let (Some(target), true) = (targets.first(), enumerations.is_empty()) {
            let message =
                format!("the tag of a variant must be an enumeration; found: {}", target.describe());
            self.problems.error(selector.declared_at.0, message);
            return None;
        }
        let mut resolved = Vec::with_capacity(options.len());
        for option in options {
            // In this dialect, all choices have names.
            let name = option.name.as_deref().unwrap_or_default();
            self.problems.enter(format!("choice `{name}`"));
            let class = self.class(&option.class).unwrap_or_else(|| option.class.clone());
            let ranges = enumerations.iter().find_map(|labels| labels.get(name).copied());
            if ranges.is_none() {
                let message =
                    format!("the tag enumeration lacks the label `{name}`: nothing selects this option");
                self.problems.warning(position, message);
            }
            self.problems.leave();
            if !self.problems.charge(choices::memory_of(ranges), position) {
                return None;
            }
            // A missing label was already reported: nothing selects this option.
            let ranges = ranges.map(Ranges::to_set).unwrap_or_default();
            resolved.push(VariantOption { class, ranges, ..option.clone() });
        }
        Some(FieldKind::Variant { options: resolved, selector: Box::new(selector), alignment })
    }

    /// Returns the absolute location, and the classes of the fields that may be there. There are several classes if the
    /// path passes variants. Reports a problem and returns `None` if the field does not exist.
    fn location(&mut self, location: &FieldLocation) -> Option<(FieldLocation, Vec<&'c FieldClass>)> {
        if *self.visits == 0 {
            return None;
        }
        let path: Vec<&str> = names(location);
        let found = match location.origin {
            Some(scope) if scope > self.scope => {
                let message = format!("`{location}` is decoded later than the field that needs it");
                self.problems.error(location.declared_at.0, message);
                return None;
            }
            Some(scope) => {
                // The choice of an enclosing variant is known, because it is on the current path.
                let around = if scope == self.scope { self.within(0, &path) } else { Vec::new() };
                let root = self.roots.get(scope as usize).copied().flatten().filter(|_| around.is_empty());
                let targets = root.map_or(around, |root| visit(root, &path, self.visits));
                (!targets.is_empty()).then(|| (location.clone(), targets))
            }
            None => self.relative(&path, location),
        };
        if *self.visits == 0 {
            let message = "too many steps to resolve field type paths";
            self.problems.error(location.declared_at.0, message);
            return None;
        }
        if found.is_none() {
            self.problems.error(
                location.declared_at.0,
                format!("unknown field `{location}`: no earlier field has this path"),
            );
        }
        found
    }

    /// Returns the classes of the earlier fields to which a path may lead, starting from an enclosing structure or
    /// union. The current member may be on the path, because it may already contain such fields.
    fn within(&mut self, index: usize, path: &[&str]) -> Vec<&'c FieldClass> {
        let (Some(frame), Some((first, rest))) = (self.frames.get(index), path.split_first()) else {
            return Vec::new();
        };
        match frame.before.get(first) {
            Some(member) => visit(&member.class, rest, self.visits),
            None if self.path.get(frame.path) == Some(first) => self.within(index + 1, rest),
            None => Vec::new(),
        }
    }

    /// Resolves a relative path (CTF2-PROP-1.0, "Field lookup mechanism"): back into the current structure or union,
    /// then back into its parent, and so on.
    fn relative(
        &mut self,
        path: &[&str],
        location: &FieldLocation,
    ) -> Option<(FieldLocation, Vec<&'c FieldClass>)> {
        (0..self.frames.len()).rev().find_map(|index| {
            let targets = self.within(index, path);
            let frame = self.frames.get(index)?;
            if targets.is_empty() {
                return None;
            }
            let parents = self.path.get(..frame.path)?;
            let names = parents.iter().chain(path);
            let path = names.map(|name| LocationStep::Member((*name).to_owned())).collect();
            Some((FieldLocation { origin: Some(self.scope), path, ..location.clone() }, targets))
        })
    }
}

/// Returns the names in a PROP-1.0 location, which does not have parent steps.
pub(super) fn names(location: &FieldLocation) -> Vec<&str> {
    let names = location.path.iter().filter_map(|step| match step {
        LocationStep::Member(name) => Some(name.as_str()),
        LocationStep::Parent => None,
    });
    names.collect()
}

/// Returns the classes of the fields to which a path from a field of class `class` may lead.
pub(super) fn follow<'c>(class: &'c FieldClass, path: &[&str]) -> Vec<&'c FieldClass> {
    visit(class, path, &mut { u64::MAX })
}

/// Follows a path, visiting at most `visits` classes.
fn visit<'c>(class: &'c FieldClass, path: &[&str], visits: &mut u64) -> Vec<&'c FieldClass> {
    if *visits == 0 {
        return Vec::new();
    }
    *visits -= 1;
    match (&class.kind, path.split_first()) {
        (FieldKind::Variant { options, .. }, _) => {
            options.iter().flat_map(|option| visit(&option.class, path, visits)).collect()
        }
        (_, None) => vec![class],
        (FieldKind::Structure { members, .. } | FieldKind::Union { members, .. }, Some((first, rest))) => {
            *visits = visits.saturating_sub(members.len() as u64 / 16);
            match members.iter().find(|member| member.name == *first) {
                Some(member) => visit(&member.class, rest, visits),
                None => Vec::new(),
            }
        }
        (FieldKind::Array { element, .. }, Some(_)) => visit(element, path, visits),
        _ => Vec::new(),
    }
}

/// Applies `work` to the classes of all fields to which a path may lead. Alias uses share classes, so the classes on
/// the path are copied first.
pub(super) fn change(class: &mut Arc<FieldClass>, path: &[&str], work: &mut dyn FnMut(&mut FieldClass)) {
    if follow(class, path).is_empty() {
        return;
    }
    let class = Arc::make_mut(class);
    match (&mut class.kind, path.split_first()) {
        (FieldKind::Variant { options, .. }, _) => {
            for option in options {
                change(&mut option.class, path, work);
            }
        }
        (_, None) => work(class),
        (FieldKind::Structure { members, .. } | FieldKind::Union { members, .. }, Some((first, rest))) => {
            if let Some(member) = members.iter_mut().find(|member| member.name == *first) {
                change(&mut member.class, rest, work);
            }
        }
        (FieldKind::Array { element, .. }, Some(_)) => change(element, path, work),
        _ => {}
    }
}
