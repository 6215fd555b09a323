//! Locations of length and selector fields.

use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, FieldKind, Member};

use super::text::DetailsLines;

/// Finds a structure member, through classes that are transparent to field locations.
pub(crate) fn find_member<'a>(class: &'a FieldClass, wanted: &dyn Fn(&Member) -> bool) -> Option<&'a Member> {
    match &class.kind {
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            members.iter().find(|member| wanted(member))
        }
        FieldKind::Array { element, .. } => find_member(element, wanted),
        FieldKind::Optional { field, .. } => find_member(field, wanted),
        FieldKind::Variant { options, .. } => {
            options.iter().find_map(|option| find_member(&option.class, wanted))
        }
        _ => None,
    }
}

/// Writes the location of the field that `title` describes. `names` are the member names on the way to it. With the root
/// class of its scope, the location is a path of indexes, as in version 0 of Babeltrace's message interchange protocol.
pub(crate) fn write_field_location(
    lines: &mut DetailsLines<'_>,
    title: &str,
    scope: Scope,
    names: &[&str],
    root: Option<&FieldClass>,
) {
    lines.push(title);
    lines.push(if root.is_none() { " field location [" } else { " field path [" });
    lines.text(match scope {
        Scope::PacketHeader => "Packet header",
        Scope::PacketContext => "Packet context",
        Scope::EventRecordHeader => "Event header",
        Scope::CommonContext => "Event common context",
        Scope::SpecificContext => "Event specific context",
        Scope::Payload => "Event payload",
        Scope::Resource => "Resource",
    });
    lines.push(": ");
    let indexes = root.map(|root| field_path(root, names));
    let steps = indexes.iter().flatten().map(String::as_str);
    let names = names.iter().copied().filter(|_| indexes.is_none());
    for (i, step) in names.chain(steps).enumerate() {
        if i > 0 {
            lines.push(", ");
        }
        lines.text(step);
    }
    lines.push("]");
}

/// Returns the steps from the root class of a scope to a field. Empty if a name is unknown.
fn field_path(root: &FieldClass, names: &[&str]) -> Vec<String> {
    let mut steps = Vec::new();
    let mut class = Some(root);
    for name in names {
        class = class.and_then(|class| find(class, name, &mut steps));
        if class.is_none() {
            return Vec::new();
        }
    }
    steps
}

/// Finds a structure member, and appends the steps to it.
fn find<'a>(class: &'a FieldClass, name: &str, steps: &mut Vec<String>) -> Option<&'a FieldClass> {
    let begin = steps.len();
    let found = match &class.kind {
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            let index = members.iter().position(|member| member.name == name)?;
            steps.push(index.to_string());
            Some(&*members[index].class)
        }
        FieldKind::Array { element, .. } => {
            steps.push("<current>".to_owned());
            find(element, name, steps)
        }
        FieldKind::Optional { field, .. } => find(field, name, steps),
        FieldKind::Variant { options, .. } => options.iter().enumerate().find_map(|(index, option)| {
            steps.push(index.to_string());
            let found = find(&option.class, name, steps);
            if found.is_none() {
                steps.truncate(begin);
            }
            found
        }),
        _ => None,
    };
    if found.is_none() {
        steps.truncate(begin);
    }
    found
}
