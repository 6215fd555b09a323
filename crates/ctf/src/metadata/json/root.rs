//! Header requirements in the documents. Headers must not contain user fields.

use std::collections::HashSet;
use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, FieldKind, LocationStep, Role};
use ichnos_model::trace::TextPosition;

use crate::metadata::Problems;

/// Returns the position of the class with a role: the class itself or a nested class.
pub(super) fn place_of_role(class: &FieldClass, role: Role) -> Option<TextPosition> {
    if class.roles.has(role) {
        return Some(class.declared_at.0);
    }
    class.children().find_map(|child| place_of_role(child.class(), role))
}

/// Checks that the magic number is the very first packet header field (CTF2-SPEC-2.0, "Roles" of the trace class
/// fragment).
pub(super) fn check_magic_first(header: &FieldClass, problems: &mut Problems) {
    let FieldKind::Structure { members, .. } = &header.kind else { return };
    for (index, member) in members.iter().enumerate() {
        let position = match index {
            0 => member
                .class
                .children()
                .find_map(|child| place_of_role(child.class(), Role::PacketMagicNumber)),
            _ => place_of_role(&member.class, Role::PacketMagicNumber),
        };
        if let Some(position) = position {
            problems.error(position, "the packet magic number must be the first member of the packet header");
        }
    }
}

/// Checks that a packet header or event record header does not contain user fields. Each field must have a role,
/// contain others, or select an option anywhere in the packet (CTF2-SPEC-2.0, "Trace class fragment" and "Data stream
/// class fragment"). Length fields are also accepted. Only the first violation is reported, as a warning, because the
/// field can be decoded like any other.
///
/// `others` contains the classes of all other root fields that may depend on this header's fields.
pub(super) fn check_no_user_fields<'c>(
    header: &'c FieldClass,
    scope: Scope,
    others: impl Iterator<Item = &'c Arc<FieldClass>>,
    problems: &mut Problems,
) {
    let mut needed = HashSet::new();
    collect_needed(header, &mut needed);
    if user_field(header, None, &needed).is_none() {
        return;
    }
    for other in others {
        collect_needed(other, &mut needed);
    }
    if let Some((name, position)) = user_field(header, None, &needed) {
        let message = match name {
            Some(name) => {
                format!("the field `{name}` of the `{scope}` lacks a role, and no other field needs it")
            }
            None => format!("a field of the `{scope}` lacks a role, and no other field needs it"),
        };
        problems.warning(position, message);
    }
}

/// Collects the field names on which other fields depend, in any scope.
fn collect_needed<'c>(class: &'c FieldClass, needed: &mut HashSet<&'c str>) {
    if let Some(LocationStep::Member(name)) =
        class.needed_location().and_then(|location| location.path.last())
    {
        needed.insert(name);
    }
    class.children().for_each(|child| collect_needed(child.class(), needed));
}

fn user_field<'c>(
    class: &'c FieldClass,
    name: Option<&'c str>,
    needed: &HashSet<&str>,
) -> Option<(Option<&'c str>, TextPosition)> {
    match &class.kind {
        FieldKind::Structure { members, .. } => {
            members.iter().find_map(|member| user_field(&member.class, Some(&member.name), needed))
        }
        FieldKind::Optional { field, .. } => user_field(field, name, needed),
        FieldKind::Variant { options, .. } => {
            options.iter().find_map(|option| user_field(&option.class, name, needed))
        }
        _ if !class.roles.is_empty() => None,
        _ if name.is_some_and(|name| needed.contains(name)) => None,
        _ => Some((name, class.declared_at.0)),
    }
}
