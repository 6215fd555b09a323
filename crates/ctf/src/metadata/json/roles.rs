//! PROP-2.0 and SPEC-2.0 roles: their names, scopes and classes.

use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, FieldKind, Length, Role, Roles, VariableLengthValue};
use ichnos_model::trace::{Diagnostic, TextPosition};

use super::object::{array, listed, text};
use super::text::JsonNode;
use super::vocabulary::Vocabulary;
use crate::metadata::Problems;

/// Role name in a document, and its allowed scopes.
type RoleEntry = (&'static str, Role, &'static [Scope]);

const HEADER: &[Scope] = &[Scope::PacketHeader];
const CONTEXT: &[Scope] = &[Scope::PacketContext];
const EVENT: &[Scope] = &[Scope::EventRecordHeader];

/// SPEC-2.0 roles (CTF2-SPEC-2.0, "Roles" of the trace class and data stream class fragments).
const SPEC2: &[RoleEntry] = &[
    ("packet-magic-number", Role::PacketMagicNumber, HEADER),
    ("metadata-stream-uuid", Role::MetadataStreamUuid, HEADER),
    ("data-stream-class-id", Role::DataStreamClassId, HEADER),
    ("data-stream-id", Role::DataStreamId, HEADER),
    ("packet-total-length", Role::PacketTotalLength, CONTEXT),
    ("packet-content-length", Role::PacketContentLength, CONTEXT),
    ("default-clock-timestamp", Role::Timestamp, &[Scope::PacketContext, Scope::EventRecordHeader]),
    ("packet-end-default-clock-timestamp", Role::PacketEndTimestamp, CONTEXT),
    ("discarded-event-record-counter-snapshot", Role::DiscardedEventCounter, CONTEXT),
    ("packet-sequence-number", Role::PacketSequenceNumber, CONTEXT),
    ("event-record-class-id", Role::EventRecordClassId, EVENT),
];

/// PROP-2.0 roles (CTF2-PROP-2.0, "Roles" of the trace class and data stream class fragments).
const PROP2: &[RoleEntry] = &[
    ("packet-magic-number", Role::PacketMagicNumber, HEADER),
    ("trace-class-uuid", Role::MetadataStreamUuid, HEADER),
    ("data-stream-class-id", Role::DataStreamClassId, HEADER),
    ("data-stream-id", Role::DataStreamId, HEADER),
    ("packet-total-size", Role::PacketTotalLength, CONTEXT),
    ("packet-content-size", Role::PacketContentLength, CONTEXT),
    ("packet-beginning-default-clock-timestamp", Role::Timestamp, CONTEXT),
    ("packet-end-default-clock-timestamp", Role::PacketEndTimestamp, CONTEXT),
    ("discarded-event-record-counter-snapshot", Role::DiscardedEventCounter, CONTEXT),
    ("packet-sequence-number", Role::PacketSequenceNumber, CONTEXT),
    ("event-record-class-id", Role::EventRecordClassId, EVENT),
    ("default-clock-timestamp", Role::Timestamp, EVENT),
];

/// Returns a document's name for a role in a scope, or `None` if the scope lacks the role.
pub(in crate::metadata) fn name_of(role: Role, scope: Scope, vocabulary: Vocabulary) -> Option<&'static str> {
    let table = if vocabulary == Vocabulary::Spec2 { SPEC2 } else { PROP2 };
    table.iter().find(|(_, other, scopes)| *other == role && scopes.contains(&scope)).map(|(name, ..)| *name)
}

/// Roles from a `roles` property, and its position if a release candidate wrote it.
pub(super) struct ReadRoles {
    pub(super) roles: Roles,
    pub(super) release_candidate: Option<TextPosition>,
}

/// Reads a class's `roles` property. `kind` is the class's kind. `scope` is unknown within an alias.
pub(super) fn read(
    node: &JsonNode,
    kind: Option<&FieldKind>,
    scope: Option<Scope>,
    vocabulary: Vocabulary,
    problems: &mut Problems,
) -> ReadRoles {
    let mut read = ReadRoles { roles: Roles::NONE, release_candidate: None };
    // A value of another kind was already reported.
    for element in array(node, problems).unwrap_or_default() {
        let Some(name) = text(element, problems) else { continue };
        let Some((_, role, scopes)) = entry(name, element, vocabulary, &mut read, problems) else { continue };
        if scope.is_some_and(|scope| !scopes.contains(&scope)) {
            refuse_scope(*role, name, scope, scopes, element.position, problems);
            continue;
        }
        if let Some(kind) = kind
            && let Some(expected) = violated(*role, kind)
        {
            let found = FieldClass::new(kind.clone()).describe();
            let message = format!("a field of this class cannot have the role `{name}`");
            problems
                .add(Diagnostic::error(element.position, message).expected(expected, format!("a {found}")));
            continue;
        }
        read.roles.insert(*role);
    }
    read
}

fn entry(
    name: &str,
    node: &JsonNode,
    vocabulary: Vocabulary,
    read: &mut ReadRoles,
    problems: &mut Problems,
) -> Option<&'static RoleEntry> {
    let find = |table: &'static [RoleEntry], name: &str| table.iter().find(|entry| entry.0 == name);
    let found = match vocabulary {
        Vocabulary::Spec2 => find(SPEC2, name).or_else(|| {
            // The first release candidates kept the PROP-2.0 names.
            let entry = find(PROP2, name)?;
            read.release_candidate.get_or_insert(node.position);
            Some(entry)
        }),
        Vocabulary::Prop2 => find(PROP2, name).or_else(|| {
            if name != "trace-type-uuid" {
                return None;
            }
            problems.warning(node.position, "the role `trace-type-uuid` is called `trace-class-uuid`");
            find(PROP2, "trace-class-uuid")
        }),
    };
    if found.is_none() {
        let table = if vocabulary == Vocabulary::Spec2 { SPEC2 } else { PROP2 };
        let names: Vec<&str> = table.iter().map(|entry| entry.0).collect();
        problems
            .add(Diagnostic::error(node.position, "unknown role").expected(listed(&names), node.describe()));
    }
    found
}

fn refuse_scope(
    role: Role,
    name: &str,
    scope: Option<Scope>,
    allowed: &[Scope],
    position: TextPosition,
    problems: &mut Problems,
) {
    let allowed: Vec<&str> = allowed.iter().map(|scope| scope.name()).collect();
    let name = if name.is_empty() { role.name() } else { name };
    let message = format!("the role `{name}` is not allowed here");
    let found = scope.map_or("an alias", Scope::name);
    problems.add(Diagnostic::error(position, message).expected(listed(&allowed), format!("`{found}`")));
}

/// Returns the role's requirement on its class that `kind` violates.
pub(super) fn violated(role: Role, kind: &FieldKind) -> Option<&'static str> {
    let is_uuid = matches!(kind, FieldKind::Blob { length: Length::Static(16), .. });
    let expected = [
        "a fixed-length unsigned integer of 32 bits",
        "a static-length BLOB of 16 bytes",
        "an unsigned integer",
    ];
    violated_of(role, kind, is_uuid, expected)
}

/// Returns the violated requirement on a field. The first requirement applies to magic numbers, the second to UUIDs,
/// the third to other fields. `is_uuid`: the class can be a UUID.
pub(super) fn violated_of(
    role: Role,
    kind: &FieldKind,
    is_uuid: bool,
    [magic, uuid, others]: [&'static str; 3],
) -> Option<&'static str> {
    let is_unsigned = match kind {
        FieldKind::Integer { integer, .. }
        | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => !integer.signed,
        _ => false,
    };
    let is_32_bits = matches!(kind, FieldKind::Integer { bits, .. } if bits.length == 32);
    let (is_right, expected) = match role {
        Role::PacketMagicNumber => (is_unsigned && is_32_bits, magic),
        Role::MetadataStreamUuid => (is_uuid, uuid),
        _ => (is_unsigned, others),
    };
    (!is_right).then_some(expected)
}

/// Refuses roles in a class that are not allowed in `scope`. `position` is the position of an alias use, because the
/// alias did not know the scope.
pub(super) fn check_scope(class: &FieldClass, scope: Scope, position: TextPosition, problems: &mut Problems) {
    for role in class.roles.iter() {
        let scopes: Vec<Scope> =
            SPEC2.iter().filter(|entry| entry.1 == role).flat_map(|entry| entry.2).copied().collect();
        if !scopes.contains(&scope) {
            refuse_scope(role, "", Some(scope), &scopes, position, problems);
        }
    }
    class.children().for_each(|child| check_scope(child.class(), scope, position, problems));
}
