//! Lookup of fields named by lengths and tags (CTF 1.8, section 7.3.2).

use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, FieldKind, FieldLocation, LocationStep, Member};

use super::ast::PathLocation;

/// Structure being built. The members built so far can be found.
pub(super) struct OpenStructure {
    /// Id of the body being instantiated.
    pub(super) body: u32,
    /// Next frame to search for names missing here.
    pub(super) parent: Option<usize>,
    /// Names from the root field to this structure.
    pub(super) path: Vec<String>,
    pub(super) members: Vec<Member>,
}

/// Fields visible at a location.
pub(super) struct VisibleFields<'a> {
    /// Scope of the root field being built.
    pub(super) scope: Scope,
    /// Enclosing structures, the root field first.
    pub(super) frames: &'a [OpenStructure],
    /// Frame where relative locations begin.
    pub(super) innermost: Option<usize>,
    /// Complete root fields, indexed like [`Scope::DECODED`].
    pub(super) roots: &'a [Option<Arc<FieldClass>>; 6],
}

/// Resolved location, and the classes there.
pub(super) struct ResolvedLocation {
    pub(super) location: FieldLocation,
    /// Classes at the location. There are several if it passes variants, and none if the field does not exist, which
    /// the check of the whole trace class reports.
    pub(super) classes: Vec<Arc<FieldClass>>,
}

/// Returns a scope's prefix in absolute locations.
pub(crate) const fn location_prefix(scope: Scope) -> Option<&'static str> {
    Some(match scope {
        Scope::PacketHeader => "trace.packet.header",
        Scope::PacketContext => "stream.packet.context",
        Scope::EventRecordHeader => "stream.event.header",
        Scope::CommonContext => "stream.event.context",
        Scope::SpecificContext => "event.context",
        Scope::Payload => "event.fields",
        Scope::Resource => return None,
    })
}

/// Returns the root field at the start of an absolute location, and the rest of the location.
pub(super) fn absolute(names: &[String]) -> Option<(Scope, &[String])> {
    Scope::DECODED.into_iter().find_map(|scope| {
        let mut words = location_prefix(scope)?.split('.');
        let rest = words.try_fold(names, |names, word| {
            names.split_first().filter(|(name, _)| *name == word).map(|(_, rest)| rest)
        });
        Some((scope, rest?))
    })
}

impl VisibleFields<'_> {
    /// Looks up a location. Returns `None` for a relative location with an unknown first name. `budget` is the
    /// remaining number of class visits.
    pub(super) fn find(&self, location: &PathLocation, budget: &mut u64) -> Option<ResolvedLocation> {
        let (scope, path, classes) = match absolute(&location.names) {
            Some((scope, rest)) => {
                let (path, classes) = self.find_absolute(scope, rest, budget);
                (scope, path, classes)
            }
            None => {
                let (path, classes) = self.find_relative(&location.names, budget)?;
                (self.scope, path, classes)
            }
        };
        let location = FieldLocation {
            origin: Some(scope),
            path: path.into_iter().map(LocationStep::Member).collect(),
            any_option: false,
            declared_at: location.at.into(),
        };
        Some(ResolvedLocation { location, classes })
    }

    fn find_absolute(
        &self,
        scope: Scope,
        names: &[String],
        budget: &mut u64,
    ) -> (Vec<String>, Vec<Arc<FieldClass>>) {
        let mut classes = Vec::new();
        let path = if scope == self.scope {
            // The location leaves the unfinished part of the tree at the deepest enclosing structure on its path. If
            // two options have fields with the same name, this is the option selected here.
            let frame = self
                .frames
                .iter()
                .rev()
                .find(|frame| frame.path.len() < names.len() && names.starts_with(&frame.path));
            frame.and_then(|frame| {
                let (head, rest) = names.split_at_checked(frame.path.len())?;
                let rest = follow_member(&frame.members, rest, budget, &mut classes)?;
                Some([head, &rest].concat())
            })
        } else {
            let root = Scope::DECODED.iter().position(|other| *other == scope);
            let root = root.and_then(|index| self.roots.get(index)).and_then(Option::as_ref);
            root.and_then(|root| follow(root, names, budget, &mut classes))
        };
        (path.unwrap_or_else(|| names.to_vec()), classes)
    }

    fn find_relative(
        &self,
        names: &[String],
        budget: &mut u64,
    ) -> Option<(Vec<String>, Vec<Arc<FieldClass>>)> {
        let first = names.first()?;
        let mut next = self.innermost;
        while let Some(frame) = next.and_then(|index| self.frames.get(index)) {
            *budget = budget.saturating_sub(1 + frame.members.len() as u64 / 64);
            if frame.members.iter().any(|member| member.is_called(first)) {
                let mut classes = Vec::new();
                let rest = follow_member(&frame.members, names, budget, &mut classes);
                return Some((
                    [frame.path.as_slice(), &rest.unwrap_or_else(|| names.to_vec())].concat(),
                    classes,
                ));
            }
            next = frame.parent;
        }
        None
    }
}

/// Follows names, starting from a member. Returns `None` if the field does not exist.
fn follow_member(
    members: &[Member],
    names: &[String],
    budget: &mut u64,
    classes: &mut Vec<Arc<FieldClass>>,
) -> Option<Vec<String>> {
    let (first, rest) = names.split_first()?;
    let member = members.iter().find(|member| member.is_called(first))?;
    let mut path = vec![first.clone()];
    path.extend(follow(&member.class, rest, budget, classes)?);
    Some(path)
}

/// Follows names into a class, through array elements and variant options. Returns the names in the spelling of field
/// locations, because some producers also name the option.
fn follow(
    class: &Arc<FieldClass>,
    names: &[String],
    budget: &mut u64,
    classes: &mut Vec<Arc<FieldClass>>,
) -> Option<Vec<String>> {
    *budget = budget.checked_sub(1)?;
    match &class.kind {
        FieldKind::Array { element, .. } => follow(element, names, budget, classes),
        FieldKind::Variant { options, .. } => {
            let mut path = None;
            for option in options {
                let found = follow(&option.class, names, budget, classes);
                path = path.or(found);
            }
            path.or_else(|| {
                let (first, rest) = names.split_first()?;
                let shown = shown(first);
                let option = options.iter().find(|option| option.name.as_deref() == Some(shown))?;
                follow(&option.class, rest, budget, classes)
            })
        }
        FieldKind::Structure { members, .. } if !names.is_empty() => {
            *budget = budget.saturating_sub(members.len() as u64 / 64);
            follow_member(members, names, budget, classes)
        }
        _ if names.is_empty() => {
            classes.push(Arc::clone(class));
            Some(Vec::new())
        }
        _ => None,
    }
}

/// Returns a name for display. Removes the underscore that producers put before names that could be reserved words (CTF
/// 1.8, sections 4.2.1 and 7.3.2).
pub(super) fn shown(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}
