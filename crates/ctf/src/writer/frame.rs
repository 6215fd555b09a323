//! Packet headers and contexts and event record headers for traces that have none.

use std::sync::Arc;

use ichnos_model::lower::Capabilities;
use ichnos_model::{
    ByteOrder, DataStreamClass, DisplayBase, FieldClass, FieldKind, Length, Member, Role, Roles, TraceClass,
    Uuid,
};

use super::bit_writer::BitWriter;
use super::packet_clock::PacketClock;

/// Magic number of packets.
const MAGIC: u32 = 0xc1fc_1fc1;

/// Adds what the packets and event records of a trace begin with, where its class has nothing of that.
pub(super) fn add_frame(class: &mut TraceClass, capabilities: &Capabilities) {
    class.packet_header = Some(Arc::new(packet_header(class.uuid.is_some(), capabilities)));
    let member = |role, scope, class| Member::new(role_name(role, scope, capabilities), class);
    for stream in &mut class.data_streams {
        let context = ichnos_model::Scope::PacketContext;
        let mut roles = vec![Role::PacketTotalLength, Role::PacketContentLength];
        if stream.default_clock.is_some() {
            roles.extend([Role::Timestamp, Role::PacketEndTimestamp]);
        }
        roles.extend([Role::DiscardedEventCounter, Role::PacketSequenceNumber]);
        let members = roles.into_iter().map(|role| member(role, context, integer(64, role)));
        stream.packet_context = Some(Arc::new(FieldClass::structure(members)));
        let scope = ichnos_model::Scope::EventRecordHeader;
        let mut members =
            vec![member(Role::EventRecordClassId, scope, integer(64, Role::EventRecordClassId))];
        if stream.default_clock.is_some() {
            members.push(member(Role::Timestamp, scope, integer(64, Role::Timestamp)));
        }
        stream.event_record_header = Some(Arc::new(FieldClass::structure(members)));
    }
}

/// Adds what packets say of the default clock as the last members of their context.
pub(super) fn add_times(class: &mut DataStreamClass, clock: PacketClock, capabilities: &Capabilities) {
    if !clock.adds_begin {
        return;
    }
    let root = class.packet_context.as_deref().map(|root| &root.kind);
    let (mut members, minimum_alignment) = match root {
        Some(FieldKind::Structure { members, minimum_alignment }) => (members.clone(), *minimum_alignment),
        _ => (Vec::new(), 1),
    };
    let scope = ichnos_model::Scope::PacketContext;
    let roles = [
        (true, Role::Timestamp, "timestamp_begin", ""),
        // In CTF 1.8, a name that ends so says that it is the end.
        (clock.adds_end, Role::PacketEndTimestamp, "timestamp_end", "_end"),
    ];
    for (_, role, name, end) in roles.into_iter().filter(|(is_added, ..)| *is_added) {
        let wanted = capabilities.role_name.and_then(|name| name(role, scope)).unwrap_or(name);
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

/// The class of the packet headers that are written where the source has none, or another one than other sources.
pub(super) fn packet_header(has_uuid: bool, capabilities: &Capabilities) -> FieldClass {
    let scope = ichnos_model::Scope::PacketHeader;
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

/// Writes the header of a packet, of the class that [`packet_header`] gives.
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

fn role_name(role: Role, scope: ichnos_model::Scope, capabilities: &Capabilities) -> &'static str {
    match capabilities.role_name {
        Some(name) => name(role, scope).unwrap_or(role.name()),
        None => default_name(role),
    }
}

/// The class of the UUID in packet headers.
fn uuid_class(capabilities: &Capabilities) -> FieldClass {
    let kind = if capabilities.uuid_blobs {
        let media_type = "application/octet-stream".to_owned();
        FieldKind::Blob { length: Length::Static(16), media_type, alignment: 8 }
    } else {
        let element = Arc::new(FieldClass::unsigned(8));
        let length = Length::Static(16);
        FieldKind::Array { element, length, minimum_alignment: 8, element_aligns: true }
    };
    FieldClass { roles: Roles::only(Role::MetadataStreamUuid), ..FieldClass::new(kind) }
}

/// The name of a field with a role, where it is free.
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
