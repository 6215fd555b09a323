//! Packet and event record header parts that come from the source.
//!
//! CTF sources have all parts. Other sources can have some: JSON lines have packet fields on request, and event record
//! header fields only if they are neither an id nor a time.

use std::sync::Arc;

use ichnos_io::WriteOptions;
use ichnos_model::class::{BitField, DataStreamClass, FieldClass, FieldKind, Role, Roles};
use ichnos_model::lower::{Capabilities, Feature, unplaced_roles, without_roles};
use ichnos_model::{Scope, TraceClass};

use super::timestamps::Timestamps;
use crate::metadata::Dialect;

/// Packet and event record header parts that come from the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SourceFrame {
    /// `true` if the source is CTF, so that its packets and headers have everything that CTF needs.
    pub(super) is_ctf: bool,
    /// `true` if packets are created from source packets. Otherwise the source lacks packets.
    pub(super) mirrors: bool,
    /// `true` if its packet headers lack a required data stream class id.
    pub(super) lacks_header: bool,
}

impl SourceFrame {
    /// Returns the frame for a trace that is read from `format`. `format` is empty if it is not read.
    pub(super) fn for_trace(format: &str, class: &TraceClass, options: &WriteOptions) -> Self {
        let has_header = |class: &DataStreamClass| class.event_record_header.is_some();
        let has_context = |class: &DataStreamClass| class.packet_context.is_some();
        let has_packets = class.packet_header.is_some() || class.data_streams.iter().any(has_context);
        if format != "ctf" {
            let header = class.packet_header.as_deref();
            let has_id = header.is_some_and(|header| has_role(header, Role::DataStreamClassId));
            let lacks_header = header.is_none() || !has_id && class.data_streams.len() > 1;
            return Self { is_ctf: false, mirrors: has_packets, lacks_header };
        }
        // A CTF file is a packet even without a header and a context.
        let is_ctf = Dialect::ALL.iter().any(|known| known.title() == class.dialect);
        let has_any = has_packets || class.data_streams.iter().any(has_header);
        Self { is_ctf: true, mirrors: has_any || is_ctf && !options.merge, lacks_header: false }
    }

    /// Returns the fields to add to a data stream class's packets and event record headers.
    pub(super) fn added_fields(self, class: &DataStreamClass, lost: &LostRoles) -> AddedFields {
        let has_clock = class.default_clock.is_some();
        if self.is_ctf {
            // A source without packets also lacks headers.
            let own = !self.mirrors;
            let lost = if own { LostRoles::default() } else { *lost };
            let (header, context) = (lost.event_record_header, lost.packet_context);
            let lacks = |role| !class.packet_context.as_ref().is_some_and(|class| has_role(class, role));
            let (lacks_total, lacks_content) =
                (lacks(Role::PacketTotalLength), lacks(Role::PacketContentLength));
            // Without both sizes, events that end within a byte would be followed by padding.
            let gets_sizes = lost.converts && (lacks_total || lacks_content) && !ends_at_bytes(class);
            return AddedFields {
                class_id: own || header.has(Role::EventRecordClassId),
                timestamp: has_clock
                    && (own || header.has(Role::Timestamp) || lost.after_header.has(Role::Timestamp)),
                total_size: context.has(Role::PacketTotalLength) || gets_sizes && lacks_total,
                content_size: context.has(Role::PacketContentLength) || gets_sizes && lacks_content,
                discarded: context.has(Role::DiscardedEventCounter)
                    || lost.packet_header.has(Role::DiscardedEventCounter)
                        && lacks(Role::DiscardedEventCounter),
                number: context.has(Role::PacketSequenceNumber),
                stream_class_id: lost.packet_header.has(Role::DataStreamClassId),
                stream_id: lost.packet_header.has(Role::DataStreamId),
                widens_sizes: false,
            };
        }
        let header = class.event_record_header.as_deref();
        let context = class.packet_context.as_deref();
        let lacks =
            |class: Option<&FieldClass>, role| !class.is_some_and(|class| has_member_of_role(class, role));
        let says_time = !lacks(header, Role::Timestamp) && Timestamps::for_class(class).are_whole();
        let total_size = self.mirrors && lacks(context, Role::PacketTotalLength);
        let lacks_content = self.mirrors && lacks(context, Role::PacketContentLength);
        AddedFields {
            class_id: !header.is_some_and(|header| has_role(header, Role::EventRecordClassId)),
            timestamp: has_clock && !says_time,
            total_size,
            content_size: lacks_content && (total_size || !ends_at_bytes(class)),
            widens_sizes: self.mirrors,
            ..AddedFields::default()
        }
    }
}

/// Roles that source fields lose, because the dialect does not allow them at their places.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LostRoles {
    packet_header: Roles,
    pub(super) packet_context: Roles,
    event_record_header: Roles,
    /// Roles after the event record header.
    after_header: Roles,
    /// `true` if packets from a proposal dialect become packets in another dialect.
    converts: bool,
}

impl LostRoles {
    /// Returns the roles that packet and event record header fields lose in a data stream class, and the class without
    /// these roles.
    pub(super) fn for_stream(
        trace: &TraceClass,
        class: &DataStreamClass,
        capabilities: &Capabilities,
    ) -> (Self, DataStreamClass) {
        let unplaced = |root: &Option<Arc<FieldClass>>, scope| {
            root.as_ref().map_or(Roles::NONE, |root| unplaced_roles(trace, root, scope, capabilities))
        };
        let mut lost = Self {
            packet_header: unplaced(&trace.packet_header, Scope::PacketHeader),
            packet_context: unplaced(&class.packet_context, Scope::PacketContext),
            event_record_header: unplaced(&class.event_record_header, Scope::EventRecordHeader),
            after_header: Roles::NONE,
            converts: trace.dialect != capabilities.target
                && [Dialect::Prop1, Dialect::Prop2].iter().any(|dialect| dialect.title() == trace.dialect),
        };
        let without =
            |root: &Option<Arc<FieldClass>>, roles| root.as_ref().map(|root| without_roles(root, roles));
        let placed = DataStreamClass {
            packet_context: without(&class.packet_context, lost.packet_context),
            event_record_header: without(&class.event_record_header, lost.event_record_header),
            ..class.clone()
        };
        let is_update = &mut |field: &FieldClass| {
            let clock = field.roles.clock;
            field.roles.has(Role::Timestamp) && clock.is_none_or(|clock| Some(clock) == class.default_clock)
        };
        let events = class.event_records.iter().flat_map(|event| {
            [(&event.specific_context, Scope::SpecificContext), (&event.payload, Scope::Payload)]
        });
        for (root, scope) in events.chain([(&class.common_context, Scope::CommonContext)]) {
            let Some(root) = root.as_ref().filter(|root| root.exists(is_update)) else { continue };
            let is_unplaced = || unplaced_roles(trace, root, scope, capabilities).has(Role::Timestamp);
            if !capabilities.has(Feature::TimestampsAnywhere) || is_unplaced() {
                lost.after_header.insert(Role::Timestamp);
            }
        }
        // Other clocks' times are not packet times.
        for role in [Role::Timestamp, Role::PacketEndTimestamp] {
            let is_time = &mut |field: &FieldClass| {
                field.roles.has(role)
                    && field.roles.clock.is_none_or(|clock| Some(clock) == class.default_clock)
            };
            if !class.packet_context.as_deref().is_some_and(|root| root.exists(is_time)) {
                lost.packet_context.remove(role);
            }
        }
        (lost, placed)
    }

    /// Returns `true` if packets lose a default clock time.
    pub(super) fn times_of_packets(&self) -> bool {
        self.packet_context.has(Role::Timestamp) || self.packet_context.has(Role::PacketEndTimestamp)
    }
}

/// Fields added after the source's fields in packets and event record headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AddedFields {
    /// `true` to add the class id to event record headers.
    pub(super) class_id: bool,
    /// `true` to add the full time to event record headers.
    pub(super) timestamp: bool,
    /// `true` to add the sizes to packet contexts.
    pub(super) total_size: bool,
    pub(super) content_size: bool,
    /// `true` to add the counter of discarded events to packet contexts.
    pub(super) discarded: bool,
    /// `true` to add the packet number to packet contexts.
    pub(super) number: bool,
    /// `true` to add the data stream class id to packet headers.
    pub(super) stream_class_id: bool,
    /// `true` to add the data stream id to packet headers.
    pub(super) stream_id: bool,
    /// `true` to widen short packet size fields, because added fields need room.
    pub(super) widens_sizes: bool,
}

impl AddedFields {
    /// Returns `true` if event record headers get fields.
    pub(super) fn are_in_events(self) -> bool {
        self.class_id || self.timestamp
    }

    /// Returns `true` if packet headers get fields.
    pub(super) fn are_in_packet_headers(self) -> bool {
        self.stream_class_id || self.stream_id
    }

    /// Returns `true` if packet contexts get fields.
    pub(super) fn are_in_packet_contexts(self) -> bool {
        self.total_size || self.content_size || self.discarded || self.number
    }

    /// Returns the changes to a source's data stream class: scope and addition.
    pub(super) fn changes(self, class: &DataStreamClass) -> Vec<(&'static str, &'static str)> {
        let (header, context) = (class.event_record_header.is_some(), class.packet_context.is_some());
        let all = [
            (header && self.class_id, "event.header", "added: the id of the class"),
            (header && self.timestamp, "event.header", "added: the full time"),
            (context && self.total_size, "packet.context", "added: the total size of the packet"),
            (context && self.content_size, "packet.context", "added: the size of the packet's content"),
            (context && self.discarded, "packet.context", "added: the counter of discarded events"),
            (context && self.number, "packet.context", "added: the number of the packet"),
            (self.stream_class_id, "packet.header", "added: the id of the data stream class"),
            (self.stream_id, "packet.header", "added: the id of the data stream"),
        ];
        all.into_iter().filter(|(is, ..)| *is).map(|(_, field, what)| (field, what)).collect()
    }

    /// Returns the layout of a packet context integer with these roles.
    pub(super) fn layout(self, bits: BitField, roles: Roles) -> BitField {
        let is_size = roles.has(Role::PacketTotalLength) || roles.has(Role::PacketContentLength);
        match self.widens_sizes && is_size && bits.length < 32 {
            true => BitField { length: 64, ..bits },
            false => bits,
        }
    }
}

/// Returns `true` if a class has a field with a role, at any depth.
fn has_role(class: &FieldClass, role: Role) -> bool {
    class.roles.has(role)
        || match &class.kind {
            FieldKind::Structure { members, .. } => {
                members.iter().any(|member| has_role(&member.class, role))
            }
            FieldKind::Variant { options, .. } => options.iter().any(|option| has_role(&option.class, role)),
            FieldKind::Optional { field, .. } => has_role(field, role),
            FieldKind::Array { element, .. } => has_role(element, role),
            FieldKind::Union { members, .. } => members.iter().any(|member| has_role(&member.class, role)),
            _ => false,
        }
}

/// Returns `true` if a structure has a member with a role that is always present.
fn has_member_of_role(class: &FieldClass, role: Role) -> bool {
    let FieldKind::Structure { members, .. } = &class.kind else { return false };
    members.iter().any(|member| member.class.roles.has(role))
}

/// Returns `true` if a data stream class's declared event records end at a byte boundary, provided that they begin at
/// one boundary.
fn ends_at_bytes(class: &DataStreamClass) -> bool {
    fn are_bytes(class: &FieldClass) -> bool {
        class.bits().is_none_or(|bits| bits.length % 8 == 0)
            && class.children().all(|child| are_bytes(child.class()))
    }
    let of_stream = [&class.event_record_header, &class.common_context, &class.resource];
    let of_events = class.event_records.iter().flat_map(|event| [&event.specific_context, &event.payload]);
    of_stream.into_iter().chain(of_events).flatten().all(|class| are_bytes(class))
}
