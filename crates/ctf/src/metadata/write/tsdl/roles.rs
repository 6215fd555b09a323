//! Roles in TSDL: names and clocks stand for them (CTF 1.8, sections 5, 6 and 8).

use ichnos_model::{FieldClass, FieldKind, Length, Role, Roles, Scope};

/// What a field is called, and whether it is a member of a root field itself.
#[derive(Clone, Copy)]
pub(super) struct Slot<'n> {
    pub(super) name: &'n str,
    pub(super) is_direct: bool,
}

impl Slot<'_> {
    /// Of what has no name.
    pub(super) const NONE: Self = Self { name: "", is_direct: false };
}

/// The roles that a field of a class has at its place if it is mapped to a clock, or to none; None: there a field of
/// this class is a timestamp, so it cannot be mapped to none.
pub(super) fn implied(class: &FieldClass, scope: Scope, slot: Slot<'_>, clock: Option<u16>) -> Option<Roles> {
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

/// The role that the name of an unsigned integer stands for, but for timestamps.
fn of_name(scope: Scope, slot: Slot<'_>) -> Option<Role> {
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

/// Whether an unsigned integer of this name is a timestamp even if it names no clock.
fn is_timestamp(scope: Scope, name: &str) -> bool {
    match scope {
        Scope::PacketContext => matches!(name, "timestamp_begin" | "timestamp_end"),
        Scope::EventRecordHeader => name == "timestamp",
        _ => false,
    }
}

/// Whether it is an array of sixteen bytes.
fn is_uuid(class: &FieldClass) -> bool {
    let FieldKind::Array { element, length: Length::Static(16), .. } = &class.kind else { return false };
    matches!(&element.kind, FieldKind::Integer { bits, .. } if bits.length == 8 && bits.alignment == 8)
}

/// The name that a field must have in CTF 1.8 to have a role in a scope, and whether it must be a member of the root
/// field itself. A timestamp in a packet context that ends nothing may have any name that does not end in `_end`, and
/// one in another scope any name. None: there is no such role in the scope.
///
/// ```
/// use ichnos_ctf::metadata::write::tsdl_name_of_role;
/// use ichnos_model::{Role, Scope};
///
/// let (header, context) = (Scope::PacketHeader, Scope::PacketContext);
/// assert_eq!(tsdl_name_of_role(Role::PacketMagicNumber, header), Some(("magic", true)));
/// assert_eq!(tsdl_name_of_role(Role::PacketEndTimestamp, context), Some(("timestamp_end", false)));
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
        (Scope::PacketContext, Role::PacketEndTimestamp) => ("timestamp_end", false),
        (Scope::EventRecordHeader, Role::EventRecordClassId) => ("id", false),
        (scope, Role::Timestamp) if scope != Scope::Resource => ("timestamp", false),
        _ => return None,
    })
}
