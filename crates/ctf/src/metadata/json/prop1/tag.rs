//! PROP-1.0 field tags, which become roles.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{ClockUpdate, FieldClass, FieldKind, Length, Role};
use ichnos_model::trace::{Diagnostic, TextPosition};

use super::super::class_parts::element_label;
use super::super::object::{Object, UnknownProperties, array, listed, refuse, text};
use super::super::roles::violated_of;
use super::super::text::JsonNode;
use super::field_path::{change, follow, names};
use super::field_type::{SCOPES, absolute_path, is_byte};
use crate::metadata::Problems;

/// Fragment with tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FragmentKind {
    Trace,
    DataStream,
    EventRecord,
}

impl FragmentKind {
    /// Scopes to which its tags may apply.
    const fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Trace => &[Scope::PacketHeader],
            Self::DataStream => &[Scope::PacketContext, Scope::EventRecordHeader, Scope::CommonContext],
            Self::EventRecord => &[Scope::SpecificContext, Scope::Payload],
        }
    }
}

const NOW: &str = "update-data-stream-clock-now";
const AFTER: &str = "update-data-stream-clock-after-packet";
const DISCARDED: &str = "discarded-event-record-count";

/// Tag names with their roles, and the scopes to which they may apply.
pub(in crate::metadata) const TAGS: [(&str, Role, &[Scope]); 11] = [
    ("magic", Role::PacketMagicNumber, &[Scope::PacketHeader]),
    ("uuid", Role::MetadataStreamUuid, &[Scope::PacketHeader]),
    ("data-stream-class-id", Role::DataStreamClassId, &[Scope::PacketHeader]),
    ("data-stream-id", Role::DataStreamId, &[Scope::PacketHeader]),
    ("packet-total-size", Role::PacketTotalLength, &[Scope::PacketContext]),
    ("packet-content-size", Role::PacketContentLength, &[Scope::PacketContext]),
    ("packet-sequence-number", Role::PacketSequenceNumber, &[Scope::PacketContext]),
    (DISCARDED, Role::DiscardedEventCounter, &[Scope::PacketHeader, Scope::PacketContext]),
    ("event-record-class-id", Role::EventRecordClassId, &[Scope::EventRecordHeader]),
    (NOW, Role::Timestamp, &Scope::DECODED),
    (AFTER, Role::PacketEndTimestamp, &[Scope::PacketContext]),
];

/// Clock named by a tag: the tag's scope, and the clock index.
pub(super) type ClockUse = (Scope, u16);

/// Reads `tags` and sets the roles of the located classes. Returns the clocks that tags name.
pub(super) fn apply(
    node: &JsonNode,
    owner: FragmentKind,
    roots: &mut [Option<Arc<FieldClass>>; 6],
    clocks: &HashMap<String, u16>,
    problems: &mut Problems,
) -> Vec<ClockUse> {
    let mut uses = Vec::new();
    // A value of another kind was already reported.
    for (index, element) in array(node, problems).unwrap_or_default().iter().enumerate() {
        problems.enter(element_label("tag", "tag", element, index));
        uses.extend(apply_one(element, owner, roots, clocks, problems));
        problems.leave();
    }
    uses
}

fn apply_one(
    node: &JsonNode,
    owner: FragmentKind,
    roots: &mut [Option<Arc<FieldClass>>; 6],
    clocks: &HashMap<String, u16>,
    problems: &mut Problems,
) -> Option<ClockUse> {
    let mut object = Object::open(node, problems)?;
    let tag_node = object.require("tag", problems);
    let path = object.require("path", problems);
    let name = tag_node.and_then(|node| text(node, problems));
    let location = path.and_then(|node| absolute_path(node, problems));
    let clock = match name {
        Some(NOW | AFTER) => Some(object.require("data-stream-clock-class-name", problems)),
        _ => None,
    };
    if name == Some(DISCARDED) {
        match object.get("reason") {
            None => problems.warning(object.position, "the property `reason` is missing: read as `legacy`"),
            Some(node) => {
                if text(node, problems).is_some_and(|reason| reason != "legacy") {
                    refuse(node, "`legacy`", problems);
                }
            }
        }
    }
    object.finish(UnknownProperties::Ignore, problems);
    let clock = match clock {
        Some(node) => Some(clock_index(node?, clocks, problems)?),
        None => None,
    };
    let (name, location, tag_node) = (name?, location?, tag_node?);
    let Some((_, role, only)) = TAGS.iter().find(|(known, _, _)| *known == name) else {
        let names = TAGS.map(|(name, _, _)| name);
        let error = Diagnostic::error(tag_node.position, "unknown tag");
        problems.add(error.expected(listed(&names), tag_node.describe()));
        return None;
    };
    let scope = location.origin?;
    let allowed = owner.scopes().contains(&scope) && only.contains(&scope);
    if !allowed {
        let scopes: Vec<&str> = SCOPES
            .iter()
            .filter(|(_, scope)| owner.scopes().contains(scope) && only.contains(scope))
            .map(|(name, _)| *name)
            .collect();
        let found = SCOPES.iter().find(|(_, other)| *other == scope).map_or("", |(name, _)| *name);
        let message = format!("the tag `{name}` is not allowed for fields of this scope in this fragment");
        let error = Diagnostic::error(location.declared_at.0, message);
        problems.add(error.expected(listed(&scopes), format!("`{found}`")));
        return None;
    }
    let path = names(&location);
    let root = roots.get_mut(scope as usize)?.as_mut();
    let Some(root) = root.filter(|root| !follow(root, &path).is_empty()) else {
        problems.error(location.declared_at.0, format!("the tag is for the unknown field `{location}`"));
        return None;
    };
    if *role == Role::PacketMagicNumber && !is_first(root, &path) {
        problems
            .error(location.declared_at.0, "the magic number must be the first field of the packet header");
    }
    let position = location.declared_at.0;
    change(root, &path, &mut |class| mark(class, *role, clock, position, problems));
    clock.map(|clock| (scope, clock))
}

fn clock_index(node: &JsonNode, clocks: &HashMap<String, u16>, problems: &mut Problems) -> Option<u16> {
    let name = text(node, problems)?;
    let index = clocks.get(name).copied();
    if index.is_none() {
        problems.error(
            node.position,
            format!("unknown data stream clock class `{name}`: no earlier fragment declares it"),
        );
    }
    index
}

/// Returns `true` if a path leads to the first field in a header.
fn is_first(root: &FieldClass, path: &[&str]) -> bool {
    match (&root.kind, path) {
        (FieldKind::Structure { members, .. }, [name]) => {
            members.first().is_some_and(|member| member.name == *name)
        }
        (_, []) => true,
        _ => false,
    }
}

fn mark(
    class: &mut FieldClass,
    role: Role,
    clock: Option<u16>,
    position: TextPosition,
    problems: &mut Problems,
) {
    if let Some(expected) = violated(role, &class.kind) {
        let error = Diagnostic::error(position, "the tagged field has the wrong type");
        problems.add(error.expected(expected, format!("a {}", class.describe())));
        return;
    }
    if role == Role::PacketMagicNumber && class.integer().is_some_and(|integer| integer.mappings.is_some()) {
        let warning = Diagnostic::warning(position, "the magic number must be a plain integer");
        problems.add(warning.expected("an unsigned `int` of 32 bits", format!("a {}", class.describe())));
    }
    match clock {
        Some(clock) => class.add_clock_update(ClockUpdate { role, clock }),
        None => class.roles.insert(role),
    }
}

/// Returns the tag's requirement on the field class that `kind` violates.
fn violated(role: Role, kind: &FieldKind) -> Option<&'static str> {
    let is_uuid = matches!(kind, FieldKind::Array { element, length: Length::Static(16), .. }
        if is_byte(element) && element.alignment() % 8 == 0);
    let expected = [
        "an unsigned `int` of 32 bits",
        "an `array` of 16 `int` of 8 bits that align to 8 bits",
        "an unsigned integer or enumeration",
    ];
    violated_of(role, kind, is_uuid, expected)
}
