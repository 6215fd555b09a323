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
            let has_id = header.is_some_and(|header| header.has_role(Role::DataStreamClassId));
            let lacks_header = header.is_none() || !has_id && class.data_streams.len() > 1;
            return Self { is_ctf: false, mirrors: has_packets, lacks_header };
        }
        // A CTF file is a packet even without a header and a context.
        let is_ctf = Dialect::ALL.iter().any(|known| known.title() == class.dialect);
        let has_any = has_packets || class.data_streams.iter().any(has_header);
        Self { is_ctf: true, mirrors: has_any || is_ctf && !options.merge, lacks_header: false }
    }

    /// Returns the fields to add to a data stream class's packets and event record headers.
    pub(super) fn added_fields(
        self,
        class: &DataStreamClass,
        lost: &LostRoles,
        options: &WriteOptions,
    ) -> AddedFields {
        let has_clock = class.default_clock.is_some();
        if self.is_ctf {
            // A source without packets also lacks headers.
            let own = !self.mirrors;
            let lost = if own { LostRoles::default() } else { *lost };
            let context = lost.packet_context;
            let lacks = |role| !class.packet_context.as_ref().is_some_and(|class| class.has_role(role));
            let lacks_size = lacks(Role::PacketTotalLength) || lacks(Role::PacketContentLength);
            // Without both sizes, events that end within a byte would be followed by padding.
            let gets_sizes = lost.converts && lacks_size && !ends_at_bytes(class);
            let is_recounted = |role| !own && options.all_recounted().has(role) && !lacks(role);
            let numbers_packets = !own && options.numbers_packets;
            return AddedFields::new(false, |role| match role {
                Role::DataStreamClassId | Role::DataStreamId => lost.packet_header.has(role),
                Role::PacketTotalLength | Role::PacketContentLength => {
                    context.has(role) || gets_sizes && lacks(role)
                }
                Role::DiscardedEventCounter => {
                    context.has(role) || is_recounted(role) || lost.packet_header.has(role) && lacks(role)
                }
                Role::PacketSequenceNumber => {
                    context.has(role) || is_recounted(role) || numbers_packets && lacks(role)
                }
                Role::EventRecordClassId => own || lost.event_record_header.has(role),
                Role::Timestamp => {
                    let is_lost = lost.event_record_header.has(role) || lost.after_header.has(role);
                    has_clock && (own || is_lost)
                }
                _ => false,
            });
        }
        let header = class.event_record_header.as_deref();
        let context = class.packet_context.as_deref();
        let lacks =
            |class: Option<&FieldClass>, role| !class.is_some_and(|class| has_member_of_role(class, role));
        let says_time = !lacks(header, Role::Timestamp) && Timestamps::for_class(class).are_whole();
        let lacks_size = |role| self.mirrors && lacks(context, role);
        AddedFields::new(self.mirrors, |role| match role {
            Role::PacketTotalLength => lacks_size(role),
            Role::PacketContentLength => {
                lacks_size(role) && (lacks_size(Role::PacketTotalLength) || !ends_at_bytes(class))
            }
            Role::EventRecordClassId => !header.is_some_and(|header| header.has_role(role)),
            Role::Timestamp => has_clock && !says_time,
            _ => false,
        })
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

/// Fields that can be added: their place, role and loss.
const ADDITIONS: [(Scope, Role, &str); 8] = [
    (Scope::EventRecordHeader, Role::EventRecordClassId, "added: the id of the class"),
    (Scope::EventRecordHeader, Role::Timestamp, "added: the full time"),
    (Scope::PacketContext, Role::PacketTotalLength, "added: the total size of the packet"),
    (Scope::PacketContext, Role::PacketContentLength, "added: the size of the packet's content"),
    (Scope::PacketContext, Role::DiscardedEventCounter, "added: the counter of discarded events"),
    (Scope::PacketContext, Role::PacketSequenceNumber, "added: the number of the packet"),
    (Scope::PacketHeader, Role::DataStreamClassId, "added: the id of the data stream class"),
    (Scope::PacketHeader, Role::DataStreamId, "added: the id of the data stream"),
];

/// Fields added after the source's fields in packets and event record headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AddedFields {
    /// Roles in [`ADDITIONS`].
    roles: Roles,
    /// `true` to widen short packet size fields, because added fields need room.
    pub(super) widens_sizes: bool,
}

impl AddedFields {
    fn new(widens_sizes: bool, is_added: impl Fn(Role) -> bool) -> Self {
        let roles = ADDITIONS.into_iter().map(|(_, role, _)| role).filter(|role| is_added(*role)).collect();
        Self { roles, widens_sizes }
    }

    /// Returns `true` if a field with a role is added.
    #[inline]
    pub(super) fn has(self, role: Role) -> bool {
        self.roles.has(role)
    }

    /// Returns `true` if event record headers get fields.
    #[inline]
    pub(super) fn are_in_events(self) -> bool {
        self.has(Role::EventRecordClassId) || self.has(Role::Timestamp)
    }

    /// Returns the roles of the fields added to a scope.
    pub(super) fn in_scope(self, scope: Scope) -> impl Iterator<Item = Role> {
        let additions = ADDITIONS.into_iter().filter(move |(place, ..)| *place == scope);
        additions.map(|(_, role, _)| role).filter(move |role| self.has(*role))
    }

    /// Returns the changes to a source's data stream class: scope and addition.
    pub(super) fn changes(
        self,
        class: &DataStreamClass,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (has_header, has_context) = (class.event_record_header.is_some(), class.packet_context.is_some());
        let additions = ADDITIONS.into_iter().filter(move |(_, role, _)| self.has(*role));
        additions.filter_map(move |(scope, _, what)| match scope {
            Scope::EventRecordHeader => has_header.then_some(("event.header", what)),
            Scope::PacketContext => has_context.then_some((scope.short_name(), what)),
            _ => Some((scope.short_name(), what)),
        })
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
