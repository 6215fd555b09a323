//! Packet index of a data stream file, in the layout of LTTng: see `lttng_index`.

use ichnos_io::EncodedPacket;
use ichnos_model::{Field, Packet, Role, Scope, Visitor};

use super::role_values::is_of_other_clock;

/// Size of a version 1.1 entry in bytes.
const ENTRY: u32 = 72;

/// Returns the header of an index.
pub(super) fn header() -> Vec<u8> {
    [0xc1f1_dcc1, 1, 1, ENTRY].iter().flat_map(|number: &u32| number.to_be_bytes()).collect()
}

/// Appends the entry of a packet at an offset in bytes.
pub(super) fn push_entry(out: &mut Vec<u8>, offset: u64, packet: &EncodedPacket, class: u64, stream: u64) {
    let EncodedPacket { total, content, begin, end, discarded, sequence } = *packet;
    for number in [offset, total, content, begin, end, discarded, class, stream, sequence] {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

/// Times in packet fields: the reader may correct a packet's own times for known tracer faults.
#[derive(Debug, Default)]
pub(super) struct RecordedTimes {
    default_clock: Option<u16>,
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl RecordedTimes {
    pub(super) fn of(packet: &Packet<'_>, default_clock: Option<u16>) -> Self {
        let mut times = Self { default_clock, ..Self::default() };
        // Unreadable fields are treated as missing.
        let _ = packet.visit(Scope::PacketContext, &mut times);
        times
    }
}

impl Visitor for RecordedTimes {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        let roles = field.node().roles;
        if is_of_other_clock(roles, self.default_clock) {
            return;
        }
        if roles.has(Role::Timestamp) {
            self.begin = value;
        }
        if roles.has(Role::PacketEndTimestamp) {
            self.end = value;
        }
    }
}
