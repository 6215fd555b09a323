//! Writes the packet index of a data stream file, in the layout of LTTng: see `lttng_index`.

use ichnos_io::EncodedPacket;

/// Size of an entry in bytes: that of version 1.1.
const ENTRY: u32 = 72;

/// The header of an index.
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
