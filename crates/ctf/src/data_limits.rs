//! Limits for all data in a trace. Readers refuse data beyond them, and writers do not write it.

use ichnos_model::TraceClass;
use ichnos_model::decode::DecodeLimits;
use ichnos_model::event::Cost;
use ichnos_model::message::DamageKind;

/// Maximum cost of a trace's data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataLimits {
    /// Total size in bits.
    pub(crate) bits: u64,
    /// Maximum number of fields.
    pub(crate) fields: u64,
}

impl DataLimits {
    /// Returns the reason to refuse instances with this cost, if they exceed the limit.
    pub(crate) fn too_many(&self, cost: Cost, what: &'static str) -> Option<DamageKind> {
        let (bits, most) = (self.bits, self.fields);
        let fields = cost.fields_in(bits);
        (fields > most).then_some(DamageKind::TooManyFields { what, bits, fields, most })
    }

    /// Returns the limits for packets in a trace.
    pub(crate) fn packets(self, trace: &TraceClass, limits: DecodeLimits) -> PacketLimits {
        let classes = &trace.data_streams;
        let packets: Vec<Cost> = classes.iter().map(|stream| Cost::for_packet(trace, stream)).collect();
        let events = classes.iter().flat_map(|stream| Cost::for_event_records(trace, stream));
        let empty_elements = packets.iter().copied().chain(events);
        let empty_elements = empty_elements.map(|cost| cost.empty_elements(self.fields)).min();
        let most_packets = packets.iter().map(|cost| cost.instances_in(self.bits)).max();
        let mut packet_limits = PacketLimits {
            limits,
            heads: limits,
            empty_elements: empty_elements.unwrap_or(0),
            refused: packets.iter().find_map(|cost| self.too_many(*cost, "packets")),
        };
        packet_limits.heads = packet_limits.for_each_packet(most_packets.unwrap_or(0));
        packet_limits
    }
}

/// Limits for packets in a trace.
#[derive(Clone, Debug)]
pub(crate) struct PacketLimits {
    limits: DecodeLimits,
    /// Limits for packet headers and contexts, regardless of the packet count.
    pub(crate) heads: DecodeLimits,
    /// Maximum number of zero-size array elements, summed over all packets.
    empty_elements: u64,
    /// Reason to refuse every packet.
    pub(crate) refused: Option<DamageKind>,
}

impl PacketLimits {
    /// Returns the limits for each whole packet if there are this many packets.
    pub(crate) fn for_each_packet(&self, packets: u64) -> DecodeLimits {
        let most = self.empty_elements / packets.max(1);
        DecodeLimits { zero_size_elements: self.limits.zero_size_elements.min(most), ..self.limits }
    }

    /// Returns the limits for event records that are decoded again after their packet was read.
    pub(crate) fn for_events(&self, packets: u64) -> DecodeLimits {
        let mut limits = self.for_each_packet(packets);
        limits.zero_size_elements = limits.zero_size_elements.max(self.heads.zero_size_elements);
        limits
    }
}
