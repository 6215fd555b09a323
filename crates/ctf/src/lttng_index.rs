//! Packet index that LTTng writes next to a data stream file, `index/NAME.idx`.
//!
//! The layout is LTTng's own, not part of CTF. All numbers are big-endian. The header contains the magic number
//! 0xc1f1dcc1, major and minor version, and the entry size. Each entry contains the byte offset, packet and content
//! size in bits, begin and end clock values, discarded events, and the data stream class id. From version 1.1 on, it
//! also contains the data stream id and the sequence number.

use std::cell::Cell;
use std::sync::Arc;

use ichnos_model::TraceClass;
use ichnos_model::class::{FieldClass, FieldKind, Role};
use ichnos_model::decode::UNKNOWN;

use crate::index::ScannedPacket;
use crate::packet::{Clocks, Counter, PacketDecoder, PacketInfo};
use crate::packet_entry::PacketEntry;

const MAGIC: u32 = 0xc1f1_dcc1;
/// Header size in bytes.
const HEADER: usize = 16;
/// Minimum number of entries to compare. Shorter indexes are compared completely.
const COMPARED: usize = 64;

/// Reason to reject an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LttngIndexError {
    #[error("its magic number is missing")]
    NoIndex,
    #[error("its version {0}.{1} is unknown")]
    Version(u32, u32),
    #[error("invalid entry size {0}")]
    EntrySize(usize),
    #[error("it ends within an entry")]
    PartialEntry,
    #[error("entry {entry} starts at byte {offset} of the data, but the previous entry ends at byte {end}")]
    Gap { entry: usize, offset: u64, end: u64 },
    #[error("entry {entry} has invalid sizes: {total} bits, {content} of them content")]
    Size { entry: usize, total: u64, content: u64 },
    #[error("its packets end at byte {end}, but the data ends at byte {size}")]
    End { end: u64, size: u64 },
    #[error("entry {entry} names the unknown data stream class {class}")]
    Class { entry: usize, class: u64 },
    #[error("entry {entry} does not match the packet at byte {offset}")]
    Packet { entry: usize, offset: u64 },
}

/// Finds a file's packets with its LTTng index, if the index is correct. Its entries must cover the file without gaps,
/// and must match the packets.
/// An index avoids reading all of a large file. So only a sample of packets spread over the file is compared now, and
/// all packets with unexpected times or counters. Each other packet is compared when it is read.
///
/// Returns `None` if the index may be correct, but cannot be used.
pub(crate) fn packets(
    decoder: &PacketDecoder<'_>,
    data: &[u8],
    index: &[u8],
) -> Result<Option<Vec<ScannedPacket>>, LttngIndexError> {
    let size = entry_size(index)?;
    let entries = index.get(HEADER..).ok_or(LttngIndexError::NoIndex)?;
    if entries.len() % size != 0 {
        return Err(LttngIndexError::PartialEntry);
    }
    let mut clocks = Clocks::for_trace(decoder.class);
    if clocks.go_on {
        return Ok(None);
    }
    let slots = vec![Cell::new(UNKNOWN); decoder.plans.slots()];
    let reader = EntryReader::new(decoder);
    let count = entries.len() / size;
    let mut found: Vec<ScannedPacket> = Vec::with_capacity(count);
    let mut end = 0u64;
    let mut was_compared = true;
    for (i, entry) in entries.chunks_exact(size).enumerate() {
        let packet = reader.packet(i, entry)?;
        if !reader.widths.get(packet.class).is_some_and(|widths| widths.has_size) {
            // The entry covers the rest of the file.
            return Ok(None);
        }
        let offset = packet.entry.offset;
        if offset != end {
            return Err(LttngIndexError::Gap { entry: i, offset, end });
        }
        end = offset.saturating_add(packet.entry.total().unwrap_or(0) / 8);
        if end > data.len() as u64 {
            return Err(LttngIndexError::End { end, size: data.len() as u64 });
        }
        let mut compare = |i: usize, packet: &ScannedPacket| {
            let error = LttngIndexError::Packet { entry: i, offset: packet.entry.offset };
            let rest = data.get(packet.entry.offset as usize..).ok_or(error)?;
            let recorded = decoder.decode(rest, &slots, &mut clocks).map_err(|_| error)?;
            let same = (recorded.class, recorded.stream_id) == (packet.class, packet.stream_id);
            let is_foreign = recorded.foreign.is_some();
            if is_foreign || same && packet.entry.matches(&recorded) { Ok(is_foreign) } else { Err(error) }
        };
        let is_odd = found.last().is_some_and(|before| !follows(before, &packet));
        let is_compared = is_odd || i % (count / COMPARED).max(1) == 0 || i + 1 == count;
        if is_odd
            && !was_compared
            && let Some(before) = found.last()
        {
            compare(i - 1, before)?;
        }
        // The scan reports differing UUIDs.
        if is_compared && compare(i, &packet)? {
            return Ok(None);
        }
        was_compared = is_compared;
        found.push(packet);
    }
    if end != data.len() as u64 {
        return Err(LttngIndexError::End { end, size: data.len() as u64 });
    }
    Ok(Some(found))
}

/// Reason to write packets without an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoIndex {
    #[error(
        "the packet at byte {0} does not have a size in whole bytes, or extends beyond the end of the file"
    )]
    Size(u64),
    #[error("an id of a data stream or its class has more than 64 bits")]
    Id,
}

/// Writes the packet index for a file of `size` bytes. The version is 1.1 if the trace has data stream ids or sequence
/// numbers, otherwise 1.0, like LTTng since 2.8. Older LTTng versions always wrote 1.0, so the version of the index
/// `before` is kept.
pub(crate) fn write(
    class: &TraceClass,
    packets: &[ScannedPacket],
    size: u64,
    before: &[u8],
) -> Result<Vec<u8>, NoIndex> {
    let has = |class: Option<&Arc<FieldClass>>, role| match class.map(|class| &class.kind) {
        Some(FieldKind::Structure { members, .. }) => {
            members.iter().any(|member| member.class.roles.has(role))
        }
        _ => false,
    };
    let contexts = || class.data_streams.iter().map(|stream| stream.packet_context.as_ref());
    let minor = match entry_size(before) {
        Ok(56) => 0,
        Ok(72) => 1,
        _ => u32::from(
            has(class.packet_header.as_ref(), Role::DataStreamId)
                || contexts().any(|context| has(context, Role::PacketSequenceNumber)),
        ),
    };
    let count = if minor == 0 { 7u32 } else { 9 };
    let mut out: Vec<u8> =
        [MAGIC, 1, minor, count * 8].iter().flat_map(|number| number.to_be_bytes()).collect();
    for ScannedPacket { class: index, stream_id, entry } in packets {
        let end = entry.offset + entry.available(size);
        let total = entry.total().unwrap_or((end - entry.offset) * 8);
        if total % 8 != 0 || total == 0 || entry.offset.checked_add(total / 8) != Some(end) {
            return Err(NoIndex::Size(entry.offset));
        }
        let class_id = class.data_streams.get(*index).map_or(0, |class| class.id);
        let id = |id: u128| u64::try_from(id).map_err(|_| NoIndex::Id);
        let (begin, recorded_end) = entry.recorded_times();
        let numbers = [
            entry.offset,
            total,
            entry.content().unwrap_or(total),
            begin.unwrap_or(0),
            recorded_end.unwrap_or(0),
            entry.discarded().map_or(0, |counter| counter.value),
            id(class_id)?,
            stream_id.map_or(Ok(u64::MAX), id)?,
            entry.sequence().map_or(u64::MAX, |counter| counter.value),
        ];
        let numbers = numbers.iter().take(count as usize);
        numbers.for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    }
    Ok(out)
}

/// Returns the entry size in bytes, from the header.
fn entry_size(index: &[u8]) -> Result<usize, LttngIndexError> {
    let number =
        |at: usize| index.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    let header = || Some((number(0)?, number(4)?, number(8)?, number(12)? as usize));
    match header() {
        Some((MAGIC, 1, minor, size)) => {
            let least = if minor == 0 { 56 } else { 72 };
            if (least..=4096).contains(&size) { Ok(size) } else { Err(LttngIndexError::EntrySize(size)) }
        }
        Some((MAGIC, major, minor, _)) => Err(LttngIndexError::Version(major, minor)),
        _ => Err(LttngIndexError::NoIndex),
    }
}

/// Returns `true` if a packet looks like the other packet's successor in its data stream.
fn follows(before: &ScannedPacket, packet: &ScannedPacket) -> bool {
    let (a, b) = (&before.entry, &packet.entry);
    let goes_on = |a: Option<u64>, b: Option<u64>| a.zip(b).is_none_or(|(a, b)| a <= b);
    let grows = |a: Option<Counter>, b: Option<Counter>| a.zip(b).is_none_or(|(a, b)| b.since(a).is_some());
    let steps = |a: Option<Counter>, b: Option<Counter>| a.zip(b).is_none_or(|(a, b)| b.since(a) == Some(1));
    (before.class, before.stream_id) == (packet.class, packet.stream_id)
        && goes_on(a.end().or(a.begin()), b.begin())
        && goes_on(b.begin(), b.end())
        && grows(a.discarded(), b.discarded())
        && steps(a.sequence(), b.sequence())
}

/// Metadata for comparing entries with packets.
struct EntryReader<'a> {
    decoder: &'a PacketDecoder<'a>,
    has_stream_ids: bool,
    /// Field widths by data stream class index.
    widths: Vec<ContextWidths>,
}

/// Packet context field widths. `None`: the field is missing.
struct ContextWidths {
    /// `true` if there is a field for the packet size or the content size.
    has_size: bool,
    begin: Option<u64>,
    end: Option<u64>,
    discarded: Option<u64>,
    sequence: Option<u64>,
}

impl<'a> EntryReader<'a> {
    fn new(decoder: &'a PacketDecoder<'a>) -> Self {
        let header = decoder.plans.packet_header.as_ref();
        let has_stream_ids =
            header.is_some_and(|plan| plan.nodes().any(|node| node.roles.has(Role::DataStreamId)));
        let width = |class| move |role| width_of(decoder, class, role);
        let widths = |class: usize| {
            let width = width(class);
            // Without a clock, timestamps are ordinary numbers.
            let has_clock =
                decoder.class.data_streams.get(class).is_some_and(|class| class.default_clock.is_some());
            ContextWidths {
                has_size: [Role::PacketTotalLength, Role::PacketContentLength]
                    .into_iter()
                    .any(|role| width(role).is_some()),
                begin: width(Role::Timestamp).filter(|_| has_clock),
                end: width(Role::PacketEndTimestamp).filter(|_| has_clock),
                discarded: width(Role::DiscardedEventCounter),
                sequence: width(Role::PacketSequenceNumber),
            }
        };
        let widths = (0..decoder.class.data_streams.len()).map(widths).collect();
        Self { decoder, has_stream_ids, widths }
    }

    /// Returns the packet for an entry.
    fn packet(&self, number: usize, entry: &[u8]) -> Result<ScannedPacket, LttngIndexError> {
        let field = |n: usize| {
            entry.get(n * 8..n * 8 + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
        };
        let needed = |n: usize| field(n).ok_or(LttngIndexError::PartialEntry);
        let (offset, total, content) = (needed(0)?, needed(1)?, needed(2)?);
        if total % 8 != 0 || total == 0 || content > total {
            return Err(LttngIndexError::Size { entry: number, total, content });
        }
        let id = needed(6)?;
        let class = self.decoder.class.data_streams.iter().position(|class| class.id == id.into());
        let unknown = LttngIndexError::Class { entry: number, class: id };
        let (class, widths) =
            class.and_then(|class| Some((class, self.widths.get(class)?))).ok_or(unknown)?;
        let counter = |width: Option<u64>, value: Option<u64>| Some(Counter { value: value?, width: width? });
        // Stream ids and sequence numbers of all ones mean "missing".
        let known = |value: Option<u64>| value.filter(|value| *value != u64::MAX);
        let stream_id = known(field(7)).filter(|_| self.has_stream_ids).map(u128::from);
        let info = PacketInfo {
            class,
            stream_id,
            total: Some(total),
            content: Some(content),
            begin: field(3).filter(|_| widths.begin.is_some()),
            end: field(4).filter(|_| widths.end.is_some()),
            discarded: counter(widths.discarded, field(5)),
            sequence: counter(widths.sequence, known(field(8))),
            ..PacketInfo::default()
        };
        Ok(ScannedPacket { class, stream_id, entry: PacketEntry::new(offset, &info, Vec::new()) })
    }
}

/// Returns the width of the packet context field with a role.
fn width_of(decoder: &PacketDecoder<'_>, class: usize, role: Role) -> Option<u64> {
    let plan = decoder.plans.data_streams.get(class)?.packet_context.as_ref()?;
    plan.nodes().filter(|node| node.roles.has(role)).find_map(|node| match &node.class.kind {
        FieldKind::Integer { bits, .. } => Some(bits.length),
        FieldKind::VariableLength { .. } => Some(64),
        _ => None,
    })
}
