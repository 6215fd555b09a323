//! Packet headers, packet contexts and event record headers for traces without them.

use std::sync::Arc;

use ichnos_model::class::{
    ByteOrder, DataStreamClass, DisplayBase, FieldClass, FieldKind, Length, Member, Role, Roles, Uuid,
};
use ichnos_model::lower::{Capabilities, Feature, RolePlaces};
use ichnos_model::{Scope, TraceClass};

use super::bit_writer::BitWriter;
use super::packet_clock::PacketClock;
use super::source_frame::AddedFields;

/// Packet magic number.
const MAGIC: u32 = 0xc1fc_1fc1;

/// Adds packet headers and contexts to a trace class that lacks them.
pub(super) fn add_packets(class: &mut TraceClass, capabilities: &Capabilities) {
    class.packet_header = Some(Arc::new(packet_header(class.uuid.is_some(), capabilities)));
    let member = |role, scope, class| Member::new(role_name(role, scope, capabilities), class);
    for stream in &mut class.data_streams {
        let context = Scope::PacketContext;
        let mut roles = vec![Role::PacketTotalLength, Role::PacketContentLength];
        if stream.default_clock.is_some() {
            roles.extend([Role::Timestamp, Role::PacketEndTimestamp]);
        }
        roles.extend([Role::DiscardedEventCounter, Role::PacketSequenceNumber]);
        let members = roles.into_iter().map(|role| member(role, context, integer(64, role)));
        stream.packet_context = Some(Arc::new(FieldClass::structure(members)));
    }
}

/// Returns the event record header id size in bits: the minimum for all ids, if the writer chose them.
///
/// Reading can add classes for events that do not match their own class, and a class for events without a class. The
/// size leaves room for these.
fn class_id_bits(class: &DataStreamClass, capabilities: &Capabilities) -> u64 {
    let most = class.event_records.iter().map(|record| record.id).max().unwrap_or(0);
    let most = most.saturating_add(class.event_records.len() as u128 + 1);
    let is_enough = |bits: &u64| u64::from(capabilities.class_id_bits) < 64 && most >> bits == 0;
    [8, 16, 32].into_iter().find(is_enough).unwrap_or(64)
}

/// Adds the data stream id and the data stream class id to a packet header, after the existing members.
pub(super) fn add_stream_ids(class: &mut TraceClass, added: AddedFields, capabilities: &Capabilities) {
    add_members(&mut class.packet_header, added, Scope::PacketHeader, 64, capabilities);
}

/// Adds members to a data stream class's packet context and event record header, after the existing members.
/// `has_dynamic_classes`: further event record classes can be added, with unknown ids.
pub(super) fn add_fields(
    class: &mut DataStreamClass,
    added: AddedFields,
    capabilities: &Capabilities,
    has_dynamic_classes: bool,
) {
    if added.widens_sizes
        && let Some(context) = &mut class.packet_context
        && let FieldKind::Structure { members, .. } = &mut Arc::make_mut(context).kind
    {
        for member in members {
            let roles = member.class.roles;
            if let FieldKind::Integer { bits, .. } = &mut Arc::make_mut(&mut member.class).kind {
                *bits = added.layout(*bits, roles);
            }
        }
    }
    let id_bits = if has_dynamic_classes { 64 } else { class_id_bits(class, capabilities) };
    add_members(&mut class.packet_context, added, Scope::PacketContext, id_bits, capabilities);
    add_members(&mut class.event_record_header, added, Scope::EventRecordHeader, id_bits, capabilities);
}

/// Adds the members for one scope. `id_bits`: size of an event record class id.
fn add_members(
    class: &mut Option<Arc<FieldClass>>,
    added: AddedFields,
    scope: Scope,
    id_bits: u64,
    capabilities: &Capabilities,
) {
    let mut roles = added.in_scope(scope).peekable();
    if roles.peek().is_none() {
        return;
    }
    let (mut members, minimum_alignment) = match class.as_deref().map(|root| &root.kind) {
        Some(FieldKind::Structure { members, minimum_alignment }) => (members.clone(), *minimum_alignment),
        _ => (Vec::new(), 8),
    };
    for role in roles {
        let bits = if role == Role::EventRecordClassId { id_bits } else { 64 };
        let mut name = role_name(role, scope, capabilities).to_owned();
        while members.iter().any(|member| member.name == name) {
            name.push('_');
        }
        members.push(Member::new(name, integer(bits, role)));
    }
    let attributes = class.as_ref().map(|root| root.attributes.clone()).unwrap_or_default();
    let kind = FieldKind::Structure { members, minimum_alignment };
    *class = Some(Arc::new(FieldClass { attributes, ..FieldClass::new(kind) }));
}

/// Adds default clock timestamps as the last packet context members.
pub(super) fn add_times(class: &mut DataStreamClass, clock: PacketClock, capabilities: &Capabilities) {
    if !clock.adds_begin {
        return;
    }
    let root = class.packet_context.as_deref().map(|root| &root.kind);
    let (mut members, minimum_alignment) = match root {
        Some(FieldKind::Structure { members, minimum_alignment }) => (members.clone(), *minimum_alignment),
        _ => (Vec::new(), 1),
    };
    let scope = Scope::PacketContext;
    let roles = [
        (true, Role::Timestamp, "timestamp_begin", ""),
        // In CTF 1.8, this suffix marks the end.
        (clock.adds_end, Role::PacketEndTimestamp, "timestamp_end", "_end"),
    ];
    for (_, role, name, end) in roles.into_iter().filter(|(is_added, ..)| *is_added) {
        let wanted = capabilities.role_name(role, scope).unwrap_or(name);
        let mut name = wanted.to_owned();
        while members.iter().any(|member| member.name == name) {
            name = format!("{name}_{}", end.trim_start_matches('_'));
        }
        members.push(Member::new(name, integer(64, role)));
    }
    let attributes = class.packet_context.as_ref().map(|root| root.attributes.clone()).unwrap_or_default();
    let kind = FieldKind::Structure { members, minimum_alignment };
    class.packet_context = Some(Arc::new(FieldClass { attributes, ..FieldClass::new(kind) }));
}

/// Returns the written packet header class if the source lacks them, or if its class differs from other sources.
pub(super) fn packet_header(has_uuid: bool, capabilities: &Capabilities) -> FieldClass {
    let scope = Scope::PacketHeader;
    let member = |role, class| Member::new(role_name(role, scope, capabilities), class);
    let mut magic = integer(32, Role::PacketMagicNumber);
    if let FieldKind::Integer { integer, .. } = &mut magic.kind {
        integer.preferred_base = DisplayBase::Hexadecimal;
    }
    let mut members = vec![member(Role::PacketMagicNumber, magic)];
    if has_uuid {
        members.push(member(Role::MetadataStreamUuid, uuid_class(capabilities)));
    }
    members.push(member(Role::DataStreamClassId, integer(64, Role::DataStreamClassId)));
    members.push(member(Role::DataStreamId, integer(64, Role::DataStreamId)));
    FieldClass::structure(members)
}

/// Writes a packet header with the class that [`packet_header`] returns.
pub(super) fn put_packet_header(out: &mut BitWriter, uuid: Option<Uuid>, class_id: u64, stream_id: u64) {
    let order = ByteOrder::LittleEndian;
    out.put(MAGIC.into(), 32, order);
    if let Some(uuid) = uuid {
        out.bytes(uuid.as_bytes());
    }
    out.put(class_id, 64, order);
    out.put(stream_id, 64, order);
}

fn integer(bits: u64, role: Role) -> FieldClass {
    FieldClass { roles: Roles::only(role), ..FieldClass::unsigned(bits) }
}

fn role_name(role: Role, scope: Scope, capabilities: &Capabilities) -> &'static str {
    match capabilities.role_places {
        RolePlaces::Names { name, .. } => name(role, scope).unwrap_or(role.name()),
        _ => default_name(role),
    }
}

/// Returns the class of the UUID in packet headers.
fn uuid_class(capabilities: &Capabilities) -> FieldClass {
    let kind = if capabilities.has(Feature::Blobs) {
        let media_type = "application/octet-stream".to_owned();
        FieldKind::Blob { length: Length::Static(16), media_type, alignment: 8 }
    } else {
        let element = Arc::new(FieldClass::unsigned(8));
        let length = Length::Static(16);
        FieldKind::Array { element, length, minimum_alignment: 8, element_aligns: true }
    };
    FieldClass { roles: Roles::only(Role::MetadataStreamUuid), ..FieldClass::new(kind) }
}

/// Returns the name for a field with a role, in dialects that do not prescribe it.
fn default_name(role: Role) -> &'static str {
    match role {
        Role::PacketMagicNumber => "magic",
        Role::MetadataStreamUuid => "uuid",
        Role::DataStreamClassId => "stream_id",
        Role::DataStreamId => "stream_instance_id",
        Role::PacketTotalLength => "packet_size",
        Role::PacketContentLength => "content_size",
        Role::PacketEndTimestamp => "timestamp_end",
        Role::DiscardedEventCounter => "events_discarded",
        Role::PacketSequenceNumber => "packet_seq_num",
        Role::EventRecordClassId => "id",
        Role::Timestamp => "timestamp",
    }
}
