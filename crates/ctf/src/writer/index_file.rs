//! Packet index for a data stream file, in LTTng's layout (see `lttng_index`).

use ichnos_io::{EncodedPacket, OutputBlock};
use ichnos_model::class::Role;
use ichnos_model::event::Packet;
use ichnos_model::field::Field;
use ichnos_model::{Scope, Visitor};

use super::encoder_config::{EncoderConfig, WriteRule};
use super::role_values::is_of_other_clock;

/// Version 1.1 entry size in bytes.
const ENTRY: u32 = 72;

/// Returns an index header.
pub(super) fn header() -> Vec<u8> {
    [0xc1f1_dcc1, 1, 1, ENTRY].iter().flat_map(|number: &u32| number.to_be_bytes()).collect()
}

/// Adds a block's packets to its file's size, and to the file's index if indexes are written.
pub(super) fn add_block(index: &mut Vec<u8>, size: &mut u64, block: &OutputBlock, config: &EncoderConfig) {
    let class_id = config.header.class_id;
    let stream_id = config.header.written_stream_id(config, block.part);
    for packet in &block.packets {
        if config.has(WriteRule::Index) {
            if index.is_empty() {
                index.extend(header());
            }
            let EncodedPacket { total, content, begin, end, discarded, sequence } = *packet;
            for number in [*size, total, content, begin, end, discarded, class_id, stream_id, sequence] {
                index.extend_from_slice(&number.to_be_bytes());
            }
        }
        *size += packet.total / 8;
    }
}

/// Times in packet fields. The reader may have corrected them for known tracer bugs.
#[derive(Debug, Default)]
pub(super) struct RecordedTimes {
    default_clock: Option<u16>,
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl RecordedTimes {
    pub(super) fn from_packet(packet: &Packet<'_>, default_clock: Option<u16>) -> Self {
        let mut times = Self { default_clock, ..Self::default() };
        // Unreadable fields count as missing.
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
