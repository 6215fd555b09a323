//! TSDL roles, which names and clocks imply (CTF 1.8, sections 5, 6 and 8).

use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, FieldKind, Length, Role, Roles};

/// Field name. `is_direct` is `true` for a direct member of a root field.
#[derive(Clone, Copy)]
pub(super) struct FieldSlot<'n> {
    pub(super) name: &'n str,
    pub(super) is_direct: bool,
}

impl FieldSlot<'_> {
    /// Field without a name.
    pub(super) const NONE: Self = Self { name: "", is_direct: false };
}

/// Returns the roles that a field's class, place and clock imply. Returns `None` if the field is a timestamp at its
/// place, so that it must be mapped to a clock.
pub(super) fn implied(
    class: &FieldClass,
    scope: Scope,
    slot: FieldSlot<'_>,
    clock: Option<u16>,
) -> Option<Roles> {
    let mut roles = Roles::NONE;
    let FieldKind::Integer { integer, .. } = &class.kind else {
        if scope == Scope::PacketHeader && slot.is_direct && slot.name == "uuid" && is_uuid(class) {
            roles.insert(Role::MetadataStreamUuid);
        }
        return Some(roles);
    };
    if integer.signed {
        return Some(roles);
    }
    if let Some(role) = of_name(scope, slot) {
        roles.insert(role);
    }
    if let Some(clock) = clock {
        roles.clock = Some(clock);
        let ends = scope == Scope::PacketContext && slot.name.ends_with("_end");
        roles.insert(if ends { Role::PacketEndTimestamp } else { Role::Timestamp });
    } else if is_timestamp(scope, slot.name) {
        return None;
    }
    Some(roles)
}

/// Returns the role that an unsigned integer's name implies, except for timestamps.
fn of_name(scope: Scope, slot: FieldSlot<'_>) -> Option<Role> {
    Some(match (scope, slot.is_direct, slot.name) {
        (Scope::PacketHeader, true, "magic") => Role::PacketMagicNumber,
        (Scope::PacketHeader, _, "stream_id") => Role::DataStreamClassId,
        (Scope::PacketHeader, _, "stream_instance_id") => Role::DataStreamId,
        (Scope::PacketContext, true, "packet_size") => Role::PacketTotalLength,
        (Scope::PacketContext, true, "content_size") => Role::PacketContentLength,
        (Scope::PacketContext, true, "events_discarded") => Role::DiscardedEventCounter,
        (Scope::PacketContext, true, "packet_seq_num") => Role::PacketSequenceNumber,
        (Scope::EventRecordHeader, _, "id") => Role::EventRecordClassId,
        _ => return None,
    })
}

/// Returns `true` if an unsigned integer with this name is a timestamp even without a clock.
fn is_timestamp(scope: Scope, name: &str) -> bool {
    match scope {
        Scope::PacketContext => matches!(name, "timestamp_begin" | "timestamp_end"),
        Scope::EventRecordHeader => name == "timestamp",
        _ => false,
    }
}

/// Returns `true` if a class is an array of sixteen bytes.
fn is_uuid(class: &FieldClass) -> bool {
    let FieldKind::Array { element, length: Length::Static(16), .. } = &class.kind else { return false };
    matches!(&element.kind, FieldKind::Integer { bits, .. } if bits.length == 8 && bits.alignment == 8)
}

/// Returns the name of a field with a role in a CTF 1.8 scope, or `None` if the scope lacks the role. The flag is
/// `true` if the field must be a direct member of the root field.
///
/// In a packet context, a timestamp other than the end time can have any name without the suffix `_end`. In other
/// scopes, a timestamp can have any name.
///
/// ```
/// use ichnos_ctf::metadata::write::tsdl_name_of_role;
/// use ichnos_model::Scope;
/// use ichnos_model::class::Role;
///
/// let (header, context) = (Scope::PacketHeader, Scope::PacketContext);
/// assert_eq!(tsdl_name_of_role(Role::PacketMagicNumber, header), Some(("magic", true)));
/// assert_eq!(tsdl_name_of_role(Role::PacketEndTimestamp, context), Some(("timestamp_end", true)));
/// assert_eq!(tsdl_name_of_role(Role::PacketMagicNumber, context), None);
/// ```
#[must_use]
pub fn tsdl_name_of_role(role: Role, scope: Scope) -> Option<(&'static str, bool)> {
    Some(match (scope, role) {
        (Scope::PacketHeader, Role::PacketMagicNumber) => ("magic", true),
        (Scope::PacketHeader, Role::MetadataStreamUuid) => ("uuid", true),
        (Scope::PacketHeader, Role::DataStreamClassId) => ("stream_id", false),
        (Scope::PacketHeader, Role::DataStreamId) => ("stream_instance_id", false),
        (Scope::PacketContext, Role::PacketTotalLength) => ("packet_size", true),
        (Scope::PacketContext, Role::PacketContentLength) => ("content_size", true),
        (Scope::PacketContext, Role::DiscardedEventCounter) => ("events_discarded", true),
        (Scope::PacketContext, Role::PacketSequenceNumber) => ("packet_seq_num", true),
        (Scope::PacketContext, Role::Timestamp) => ("timestamp_begin", false),
        // Babeltrace treats a nested field as a time before the first event.
        (Scope::PacketContext, Role::PacketEndTimestamp) => ("timestamp_end", true),
        (Scope::EventRecordHeader, Role::EventRecordClassId) => ("id", false),
        (scope, Role::Timestamp) if scope != Scope::Resource => ("timestamp", false),
        _ => return None,
    })
}
