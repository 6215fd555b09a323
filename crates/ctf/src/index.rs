//! The packet index of a data stream file: where packets are and what they say of themselves,
//! from headers and contexts alone.

use std::cell::Cell;
use std::collections::HashMap;

use ichnos_model::walk::UNKNOWN;
use ichnos_model::{ByteOrder, Damage, DamageKind, FieldKind, Role, TraceClass};

use crate::packet::{Clocks, Counter, PACKET_MAGIC, PacketDecoder, PacketInfo};
use crate::packet_entry::PacketEntry;

/// A packet that was found in a file, and which data stream it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct FoundPacket {
    /// Index of the data stream class.
    pub(crate) class: usize,
    pub(crate) stream_id: Option<u64>,
    pub(crate) entry: PacketEntry,
}

/// Finds the packets of a file. After something that is no packet, goes on at the next place
/// that begins like one: magic number, UUID and sizes must fit. Each is handed to `take`, as long as
/// it takes them; what cannot be read at the end is the result.
pub(crate) fn scan(
    decoder: &PacketDecoder<'_>,
    name: &str,
    data: &[u8],
    mut take: impl FnMut(FoundPacket) -> Result<(), TooMany>,
) -> Option<Damage> {
    let slots = vec![Cell::new(UNKNOWN); decoder.plans.slots()];
    let mut clocks = Clocks::of(decoder.class);
    // Where clocks go on, those of each data stream at the end of its packet before.
    let mut clocks_after: HashMap<(usize, Option<u64>), Clocks> = HashMap::new();
    let mut offset = 0usize;
    let mut damage: Option<Box<Damage>> = None;
    let mut is_foreign = false;
    while offset < data.len() {
        let rest = &data[offset..];
        match decoder.decode(rest, &slots, &mut clocks) {
            Ok(mut info) => {
                if clocks.go_on {
                    let stream = (info.class, info.stream_id);
                    let before = clocks_after.remove(&stream);
                    clocks = before.unwrap_or_else(|| Clocks::of(decoder.class));
                    if let Ok(again) = decoder.decode(rest, &slots, &mut clocks) {
                        info = again;
                    }
                    if let Some(end) = info.end {
                        clocks.set_default(end);
                    }
                    clocks_after.insert(stream, clocks.clone());
                }
                // Packets with a foreign UUID are read: who copies streams and metadata together
                // knows that they fit. But it is told, once a file.
                if let (false, Some((found, bit)), Some(expected)) =
                    (is_foreign, info.foreign, decoder.class.uuid)
                {
                    is_foreign = true;
                    damage.get_or_insert_with(|| {
                        Box::new(Damage {
                            file: name.to_owned(),
                            stream: None,
                            bit: offset as u64 * 8 + bit,
                            kind: DamageKind::Uuid { expected, found },
                            skipped: 0,
                        })
                    });
                }
                let entry = PacketEntry::new(offset as u64, &info, damage.take());
                let size = entry.available(data.len() as u64) as usize;
                if let Err(TooMany(most)) =
                    take(FoundPacket { class: info.class, stream_id: info.stream_id, entry })
                {
                    return Some(Damage {
                        file: name.to_owned(),
                        stream: None,
                        bit: offset as u64 * 8,
                        kind: DamageKind::TooManyPackets(most),
                        skipped: (data.len() - offset) as u64 * 8,
                    });
                }
                // `decode` saw to it that a packet is not empty, but for one without any field.
                offset = if info.total.is_some() { offset + size.max(1) } else { data.len() };
            }
            Err(error) => {
                let next = next_packet(decoder, &data[offset..], is_foreign, &slots)
                    .map_or(data.len(), |next| offset + next);
                let bit = offset as u64 * 8 + error.bit;
                let found = Damage {
                    file: name.to_owned(),
                    stream: None,
                    bit,
                    kind: error.kind,
                    skipped: (next as u64 * 8).saturating_sub(bit),
                };
                if next == data.len() {
                    return Some(found);
                }
                damage = Some(Box::new(found));
                offset = next;
            }
        }
    }
    None
}

/// There are more packets than the limits allow: so many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooMany(pub(crate) u64);

/// The next place after the first byte where a whole packet header and context can be read, if
/// packets have a magic number to look for. One with a foreign UUID only if there is no other.
fn next_packet(
    decoder: &PacketDecoder<'_>,
    data: &[u8],
    accept_foreign: bool,
    slots: &[Cell<i128>],
) -> Option<usize> {
    let magic = magic_bytes(decoder.class)?;
    let mut clocks = Clocks::of(decoder.class);
    let mut foreign = None;
    let mut places = memchr::memmem::find_iter(data.get(1..)?, &magic).map(|at| at + 1).peekable();
    while let Some(at) = places.next() {
        // The header and the context of a packet end before the next one begins. Without this,
        // data full of magic numbers would be read to its end from each of them.
        let end = places.peek().copied().unwrap_or(data.len());
        if let Ok(info) = decoder.decode(&data[at..end], slots, &mut clocks) {
            if accept_foreign || info.foreign.is_none() {
                return Some(at);
            }
            foreign = foreign.or(Some(at));
        }
    }
    foreign
}

/// The bytes that packets begin with.
fn magic_bytes(class: &TraceClass) -> Option<[u8; 4]> {
    let FieldKind::Structure { members, .. } = &class.packet_header.as_ref()?.kind else { return None };
    let first = &members.first()?.class;
    match &first.kind {
        FieldKind::Integer { bits, .. } if first.roles.has(Role::PacketMagicNumber) && bits.length == 32 => {
            let magic = PACKET_MAGIC as u32;
            Some(match bits.byte_order {
                ByteOrder::LittleEndian => magic.to_le_bytes(),
                ByteOrder::BigEndian => magic.to_be_bytes(),
            })
        }
        _ => None,
    }
}

/// Finds the packets of a file with the index that LTTng wrote for it, if that is true: its
/// entries must lie one after the other from the beginning to the end of the file, and must say
/// what the packets say. Some are compared here, spread over the file, and each when its packet is
/// read: an index is for not having to look at all of a large file.
///
/// The layout is LTTng's own, not part of CTF: all numbers big-endian; a header of magic number
/// 0xc1f1dcc1, major and minor version and entry size; entries of byte offset, packet and content
/// size in bits, clock values at begin and end, discarded events, data stream class id, and from
/// version 1.1 on data stream id and sequence number.
pub(crate) fn from_lttng_index(
    decoder: &PacketDecoder<'_>,
    data: &[u8],
    index: &[u8],
) -> Option<Vec<FoundPacket>> {
    const HEADER: usize = 16;
    /// How many entries are compared at least, if there are so many.
    const COMPARED: usize = 64;
    let number =
        |at: usize| index.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    let (magic, major, minor, size) = (number(0)?, number(4)?, number(8)?, number(12)? as usize);
    if magic != 0xc1f1_dcc1 || major != 1 || size < if minor == 0 { 56 } else { 72 } || size > 4096 {
        return None;
    }
    let entries = index.get(HEADER..)?;
    if entries.is_empty() || entries.len() % size != 0 {
        return None;
    }
    let slots = vec![Cell::new(UNKNOWN); decoder.plans.slots()];
    let mut clocks = Clocks::of(decoder.class);
    if clocks.go_on {
        return None;
    }
    let header = decoder.plans.packet_header.as_ref();
    let has_stream_ids =
        header.is_some_and(|plan| plan.nodes().any(|node| node.roles.has(Role::DataStreamId)));
    let count = entries.len() / size;
    let mut found = Vec::with_capacity(count);
    let mut end = 0u64;
    for (i, entry) in entries.chunks_exact(size).enumerate() {
        let field = |n: usize| {
            entry.get(n * 8..n * 8 + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
        };
        let (offset, total, content) = (field(0)?, field(1)?, field(2)?);
        if offset != end || total % 8 != 0 || total == 0 || content > total {
            return None;
        }
        end = offset.checked_add(total / 8)?;
        if end > data.len() as u64 {
            return None;
        }
        let class_id = field(6)?;
        let class = decoder.class.data_streams.iter().position(|class| class.id == class_id)?;
        let has = |role| has_role(decoder, class, role);
        let counter = |role, value: Option<u64>| {
            Some(Counter { value: value?, width: width_of(decoder, class, role)? })
        };
        // Stream ids and sequence numbers of all ones say that there is none.
        let known = |value: Option<u64>| value.filter(|value| *value != u64::MAX);
        let stream_id = known(field(7)).filter(|_| has_stream_ids);
        let info = PacketInfo {
            class,
            stream_id,
            total: Some(total),
            content: Some(content),
            begin: field(3).filter(|_| has(Role::Timestamp)),
            end: field(4).filter(|_| has(Role::PacketEndTimestamp)),
            discarded: counter(Role::DiscardedEventCounter, field(5)),
            sequence: counter(Role::PacketSequenceNumber, known(field(8))),
            ..PacketInfo::default()
        };
        let entry = PacketEntry::new(offset, &info, None);
        if i % (count / COMPARED).max(1) == 0 || i + 1 == count {
            let said = decoder.decode(data.get(offset as usize..)?, &slots, &mut clocks).ok()?;
            let same = (said.class, said.stream_id) == (class, stream_id) && entry.says(&said);
            // That UUIDs differ is told by those who scan.
            if !same || said.foreign.is_some() {
                return None;
            }
        }
        found.push(FoundPacket { class, stream_id, entry });
    }
    (end == data.len() as u64).then_some(found)
}

fn has_role(decoder: &PacketDecoder<'_>, class: usize, role: Role) -> bool {
    width_of(decoder, class, role).is_some()
}

/// Width of the packet context field with a role.
fn width_of(decoder: &PacketDecoder<'_>, class: usize, role: Role) -> Option<u64> {
    let plan = decoder.plans.data_streams.get(class)?.packet_context.as_ref()?;
    plan.nodes().filter(|node| node.roles.has(role)).find_map(|node| match &node.class.kind {
        FieldKind::Integer { bits, .. } => Some(bits.length),
        FieldKind::VariableLength { .. } => Some(64),
        _ => None,
    })
}

/// The damage of a packet that the end of its file cuts off.
pub(crate) fn cut_off(name: &str, entry: &PacketEntry, file_size: u64) -> Option<Damage> {
    let total = entry.total()?;
    let available = file_size.saturating_sub(entry.offset).saturating_mul(8);
    (total > available).then(|| Damage {
        file: name.to_owned(),
        stream: None,
        bit: entry.offset * 8 + available,
        kind: DamageKind::CutOff { total, available },
        skipped: 0,
    })
}
