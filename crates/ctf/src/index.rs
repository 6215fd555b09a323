//! Packet index of a data stream file: packet locations and properties, from headers and contexts alone.
//!
//! A packet's size is trusted if its end meets another packet or the end of the file. Otherwise, either the size is
//! wrong or the bytes after it are damaged. A packet that begins inside this one decides between both. So the scan
//! searches byte by byte only around errors, and reads no byte more than a few times.

mod unmarked;

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use ichnos_io::Bytes;
use ichnos_model::TraceClass;
use ichnos_model::class::{ByteOrder, FieldKind, Role, Uuid};
use ichnos_model::decode::UNKNOWN;
use ichnos_model::message::{Damage, DamageKind};
use memchr::memmem::Finder;

use crate::dump::{leading_text, quoted};
use crate::overwritten::BLOCK;
use crate::packet::{Clocks, PACKET_MAGIC, PacketDecoder, PacketError, PacketInfo, WrongHead};
use crate::packet_entry::PacketEntry;
use crate::rule::Rule;

/// Packet found in a file, and its data stream.
#[derive(Clone, Debug)]
pub(crate) struct ScannedPacket {
    /// Data stream class index.
    pub(crate) class: usize,
    pub(crate) stream_id: Option<u128>,
    pub(crate) entry: PacketEntry,
}

/// The packet count exceeds this limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooManyPackets(pub(crate) u64);

/// Finds all packets in a file. After other bytes, continues at the next packet with a matching magic number, UUID and
/// sizes.
/// Passes each packet to `take`, as long as it accepts them. Returns the damage at the end. `progress` regularly
/// receives the number of scanned bytes.
pub(crate) fn scan(
    decoder: &PacketDecoder<'_>,
    name: &str,
    data: &Bytes,
    progress: &dyn Fn(usize),
    take: impl FnMut(ScannedPacket) -> Result<(), TooManyPackets>,
) -> Option<Damage> {
    let scan = PacketScan {
        decoder,
        name,
        data,
        progress,
        magic: magic_bytes(decoder.class),
        has_order: unmarked::has_order(decoder.class),
        searches: 0,
        slots: vec![Cell::new(UNKNOWN); decoder.plans.slots()],
        clocks: Clocks::for_trace(decoder.class),
        clocks_after: HashMap::new(),
        foreign: None,
        takes_any: false,
        before: Vec::new(),
        pending: None,
        size_before: None,
        largest: 0,
        take,
    };
    scan.run().unwrap_or_else(Some)
}

struct PacketScan<'a, T> {
    decoder: &'a PacketDecoder<'a>,
    name: &'a str,
    data: &'a Bytes,
    progress: &'a dyn Fn(usize),
    /// Magic number of packets.
    magic: Option<[u8; 4]>,
    /// `true` if each packet has a time or a sequence number.
    has_order: bool,
    /// Number of searches for packets without a magic number.
    searches: usize,
    slots: Vec<Cell<i128>>,
    clocks: Clocks,
    /// Clocks of each data stream after its last packet, if clocks continue from packet to packet.
    clocks_after: HashMap<(usize, Option<u128>), Clocks>,
    /// UUID of the last packet, if it differs from the metadata's UUID.
    foreign: Option<Uuid>,
    /// `true` if no packet from this recording follows, so that any packet is accepted.
    takes_any: bool,
    /// Damage to report before the next packet.
    before: Vec<Damage>,
    /// Last packet.
    pending: Option<PendingPacket>,
    /// Size in bytes of the packet before the pending packet, and the maximum size before it.
    size_before: Option<u64>,
    largest: u64,
    take: T,
}

/// Undelivered packet: the bytes after it must show first whether its size can be right.
struct PendingPacket {
    found: ScannedPacket,
    /// End of its context, and end of the packet, if possible.
    begin: usize,
    end: usize,
    /// `true` if it ends before its recorded size.
    is_cut: bool,
    /// Clocks of its data stream before it, if clocks continue from packet to packet.
    clocks_before: Option<Clocks>,
}

impl PendingPacket {
    /// Returns the offset from which to search for a packet inside this one. The context is included: if this packet is
    /// truncated there, another packet may begin in it.
    fn inside(&self) -> usize {
        self.found.entry.offset as usize + 1
    }
}

/// Offsets accepted as packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AcceptedOffsets {
    /// Packets with the recording's UUID. If packets lack UUIDs, packets that end before the given offset.
    Sure(usize),
    /// Preferably sure packets, otherwise any.
    Any,
}

impl<T: FnMut(ScannedPacket) -> Result<(), TooManyPackets>> PacketScan<'_, T> {
    /// Returns the damage at the end, or an error if there are too many packets.
    fn run(mut self) -> Result<Option<Damage>, Damage> {
        let mut offset = 0;
        loop {
            if offset >= self.data.len() {
                match self.packet_within_last() {
                    Some(at) => offset = self.cut_held(at),
                    None => break,
                }
            }
            let found = self.decode(offset).or_else(|error| self.corrected(offset).ok_or(error));
            if let Some(at) = self.packet_within_held(offset, found.as_ref().ok()) {
                offset = self.cut_held(at);
                continue;
            }
            self.release()?;
            match found {
                Ok(info) => offset = self.hold(offset, info),
                Err(error) => {
                    let next = self.next_packet(offset + 1, self.data.len(), AcceptedOffsets::Any);
                    let end = next.unwrap_or(self.data.len());
                    let error = self.hole(offset, end).or_else(|| self.text(offset, end)).unwrap_or(error);
                    let damage = self.damage(offset, end, error);
                    match next {
                        Some(next) => offset = next,
                        None => return Ok(Some(damage)),
                    }
                    self.before.push(damage);
                }
            }
        }
        self.release()?;
        Ok(None)
    }

    fn damage(&self, offset: usize, next: usize, error: PacketError) -> Damage {
        let bit = offset as u64 * 8 + error.bit;
        let skipped = (next as u64 * 8).saturating_sub(bit);
        Damage { file: self.name.to_owned(), stream: None, bit, kind: error.kind, skipped }
    }

    /// Returns the damage between packets, if it is a hole in a sparse file: zeros without written bytes.
    fn hole(&self, offset: usize, next: usize) -> Option<PacketError> {
        // Holes begin at file system blocks.
        const LARGEST_BLOCK: usize = 64 << 10;
        let holes = Some(self.data.bytes_in_holes(offset..next)).filter(|holes| *holes > 0)?;
        let begin = self.data.data_ranges(offset).next().filter(|data| data.start == offset);
        let before = self.data.get(offset..begin.map_or(offset, |data| data.end))?;
        let is_hole = before.len() <= LARGEST_BLOCK && before.iter().all(|byte| *byte == 0);
        is_hole.then_some(PacketError { bit: 0, kind: DamageKind::Hole(holes) })
    }

    /// Returns the damage between packets, if it is a text.
    fn text(&self, offset: usize, next: usize) -> Option<PacketError> {
        let text = leading_text(self.data.get(offset..next)?)?;
        Some(PacketError { bit: 0, kind: Rule::Text(quoted(text)).into() })
    }

    fn decode(&mut self, offset: usize) -> Result<PacketInfo, PacketError> {
        // At the end of the data, decoding an empty packet fails.
        let rest = self.data.get(offset..).unwrap_or_default();
        // Stop early at bytes that do not begin like a packet.
        if let (Some(magic), Some(found)) = (self.magic, rest.first_chunk::<4>())
            && magic != *found
        {
            let is_little = magic == (PACKET_MAGIC as u32).to_le_bytes();
            let found = if is_little { u32::from_le_bytes(*found) } else { u32::from_be_bytes(*found) };
            return Err(PacketError { bit: 0, kind: Rule::Magic(found.into()).into() });
        }
        let info = self.decoder.decode(rest, &self.slots, &mut self.clocks)?;
        match self.is_in_copy(offset, &info) {
            true => Err(PacketError { bit: 0, kind: Rule::Copy((offset - BLOCK) as u64).into() }),
            false => Ok(info),
        }
    }

    /// Returns the packet that must begin at an offset, if a single header or context value is wrong and the
    /// surrounding bytes show the correct value.
    fn corrected(&mut self, offset: usize) -> Option<PacketInfo> {
        let info = self.doubtful(offset, self.data.len())?;
        if info.foreign.is_some() {
            return None;
        }
        match info.wrong? {
            WrongHead::Class(_) => self.is_only_class(offset, &info).then_some(info),
            // The events show how much of it is padding.
            WrongHead::Sizes { .. } | WrongHead::Content { .. }
                if self.end_by_total(offset, &info).is_some() =>
            {
                Some(PacketInfo { content: info.total, ..info })
            }
            WrongHead::Content { .. } => None,
            WrongHead::Sizes { .. } | WrongHead::Total { .. } | WrongHead::PartialByte(_) => {
                self.with_usual_size(offset, info)
            }
        }
    }

    /// Returns the packet at an offset, if it ends before `end`. One of its values may be wrong.
    fn doubtful(&mut self, offset: usize, end: usize) -> Option<PacketInfo> {
        let data = self.data.get(offset..end)?;
        let info = self.decoder.decode_doubtful(data, &self.slots, &mut self.clocks).ok()?;
        (!self.is_in_copy(offset, &info)).then_some(info)
    }

    /// Returns `true` if a packet with an unknown class belongs to the only known class. Its neighbors in the file must
    /// belong to that class, with sequence numbers that continue across it. The check is needed because files can
    /// contain packets with a class that the metadata lacks.
    fn is_only_class(&mut self, offset: usize, info: &PacketInfo) -> bool {
        let (Some(end), Some(sequence)) = (self.end_by_total(offset, info), info.sequence) else {
            return false;
        };
        let next = if end < self.data.len() { Some(self.decode(end).ok()) } else { None };
        let next_is_right = next.is_none_or(|next| {
            next.filter(|next| next.foreign.is_none() && next.stream_id == info.stream_id)
                .and_then(|next| next.sequence?.since(sequence))
                .is_some_and(|step| step == 1)
        });
        let before = self.pending.as_ref().map(|pending| &pending.found);
        let before_is_right = before.is_none_or(|before| {
            let is_right = !before.entry.is_corrected() && !before.entry.is_foreign();
            let step = before.entry.sequence().and_then(|before| sequence.since(before));
            is_right && before.stream_id == info.stream_id && step == Some(1)
        });
        next_is_right && before_is_right && (before.is_some() || next.is_some())
    }

    /// Returns the packet's end by its total size, if another packet or the end of the file is there.
    fn end_by_total(&self, offset: usize, info: &PacketInfo) -> Option<usize> {
        let total = info.total.filter(|total| *total >= info.begins[2].bit.max(1))?;
        let end = offset.checked_add(usize::try_from(total / 8).ok()?)?;
        self.begins_packet(end).then_some(end)
    }

    /// Corrects a wrong total size up to the next packet, if that size is usual and no packet seems to be missing in
    /// between. The next packet may be wrong too: otherwise it would lie inside this one.
    fn with_usual_size(&mut self, offset: usize, info: PacketInfo) -> Option<PacketInfo> {
        let next = self.next_doubtful(offset + 1);
        let size = next.as_ref().map_or(self.data.len(), |(next, _)| *next) - offset;
        let content = info.content.unwrap_or(8 * size as u64);
        let has_room = (info.begins[2].bit.max(1)..=8 * size as u64).contains(&content);
        let before = self.pending.as_ref().map(|pending| pending.end - pending.found.entry.offset as usize);
        let next = next.map(|(_, next)| next);
        let of_stream = next.filter(|next| (next.class, next.stream_id) == (info.class, info.stream_id));
        let sequences = of_stream.and_then(|next| info.sequence.zip(next.sequence));
        // Packet sizes differ where bytes are missing. Packets that fill their buffer end at a page boundary.
        let is_usual = before == Some(size)
            || size % BLOCK == 0 && if next.is_some() { sequences.is_some() } else { before.is_none() };
        let is_next = sequences.is_none_or(|(own, next)| next.since(own) == Some(1));
        let total = Some(8 * size as u64);
        (is_usual && is_next && has_room).then_some(PacketInfo { total, content: Some(content), ..info })
    }

    /// Returns the first packet from an offset on, and its offset. One of its values may be wrong. The scan continues
    /// there or later, so no byte is searched twice.
    fn next_doubtful(&mut self, from: usize) -> Option<(usize, PacketInfo)> {
        let data = self.data;
        let Some(magic) = self.magic else {
            let at = self.unmarked_after(from.checked_sub(1)?)?;
            return Some((at, self.doubtful(at, data.len())?));
        };
        let finder = Finder::new(&magic);
        let mut places = places_of(&finder, data, self.progress, from).peekable();
        while let Some(at) = places.next() {
            let end = places.peek().copied().unwrap_or(data.len());
            if let Some(info) = self.doubtful(at, end) {
                return Some((at, info));
            }
        }
        None
    }

    /// Returns `true` if a packet begins in a block that copies the previous block, and the packet extends past the
    /// block: the rest of the packet is foreign. Only packets with times are checked, because without times, equal
    /// packets may have been recorded.
    fn is_in_copy(&self, offset: usize, info: &PacketInfo) -> bool {
        let begin = offset - offset % BLOCK;
        let is_unique = info.begin.is_some() && (info.sequence.is_some() || info.begin != info.end);
        let before = begin.checked_sub(BLOCK).and_then(|before| self.data.get(before..begin));
        let is_whole = offset == begin && info.total.is_some_and(|total| total <= 8 * BLOCK as u64);
        !is_whole && is_unique && before.is_some() && self.data.get(begin..begin + BLOCK) == before
    }

    /// Holds a packet until the bytes after it are known. Returns its end.
    fn hold(&mut self, offset: usize, mut info: PacketInfo) -> usize {
        let mut clocks_before = None;
        if self.clocks.go_on {
            let stream = (info.class, info.stream_id);
            clocks_before = self.clocks_after.remove(&stream);
            self.clocks = clocks_before.clone().unwrap_or_else(|| Clocks::for_trace(self.decoder.class));
            // The packet was found at this offset, so the data is longer.
            let rest = self.data.get(offset..).unwrap_or_default();
            if let Ok(again) = self.decoder.decode_doubtful(rest, &self.slots, &mut self.clocks) {
                info = PacketInfo { total: info.total, content: info.content, ..again };
            }
            self.clocks.end_packet();
            if let Some(end) = info.end {
                self.clocks.set_default(end);
            }
            self.clocks_after.insert(stream, self.clocks.clone());
        }
        // Packets with a foreign UUID are read: users who copy streams and metadata together know that they match. But
        // each run of such packets is reported once.
        let foreign = info.foreign.map(|(found, _)| found);
        if let (Some((found, bit)), Some(expected)) = (info.foreign, self.decoder.class.uuid)
            && foreign != self.foreign
        {
            let kind = Rule::Uuid { expected, found }.into();
            let damage = self.damage(offset, 0, PacketError { bit, kind });
            self.before.push(damage);
        }
        self.foreign = foreign;
        let left = self.data.len() - offset;
        let entry = PacketEntry::new(offset as u64, &info, std::mem::take(&mut self.before));
        let size = entry.available(left as u64 + offset as u64) as usize;
        // `decode` rejects empty packets, except a packet without fields.
        let end = offset + if info.total.is_some() { size.max(1) } else { left };
        let begin = offset + (info.begins[2].bit.div_ceil(8) as usize).clamp(1, left.max(1));
        let found = ScannedPacket { class: info.class, stream_id: info.stream_id, entry };
        self.pending = Some(PendingPacket { found, begin, end, is_cut: false, clocks_before });
        end
    }

    /// Delivers the pending packet.
    fn release(&mut self) -> Result<(), Damage> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let offset = pending.found.entry.offset;
        let size = pending.end as u64 - offset;
        self.size_before = Some(size);
        self.largest = self.largest.max(size);
        (self.take)(pending.found).map_err(|TooManyPackets(most)| Damage {
            file: self.name.to_owned(),
            stream: None,
            bit: offset * 8,
            kind: DamageKind::TooManyPackets(most),
            skipped: (self.data.len() as u64 - offset) * 8,
        })
    }

    /// Ends the pending packet at the start of another packet.
    fn cut_held(&mut self, at: usize) -> usize {
        let Some(mut pending) = self.pending.take() else { return at };
        let offset = pending.found.entry.offset as usize;
        if at < pending.begin
            && let Some(rest) = self.data.get(offset..at)
            && let Err(error) =
                self.decoder.decode(rest, &self.slots, &mut Clocks::for_trace(self.decoder.class))
        {
            // All its bytes belong to the other packet, so it is not a packet itself.
            let stream = (pending.found.class, pending.found.stream_id);
            self.clocks_after.remove(&stream);
            self.clocks_after.extend(pending.clocks_before.map(|clocks| (stream, clocks)));
            self.before = pending.found.entry.damage_before().to_vec();
            let damage = self.damage(offset, at, error);
            self.before.push(damage);
            return at;
        }
        pending.found.entry.flaws_mut().room = Some((at - offset) as u64);
        pending.end = at;
        pending.is_cut = true;
        self.pending = Some(pending);
        at
    }

    /// Returns a packet that begins inside the pending packet. Searches only if no readable packet follows, or if
    /// packets seem to be missing.
    fn packet_within_held(&mut self, offset: usize, next: Option<&PacketInfo>) -> Option<usize> {
        let pending = self.pending.as_ref().filter(|pending| !pending.is_cut && pending.end == offset)?;
        let (begin, most) = match next {
            None => (pending.inside(), self.data.len()),
            Some(next) if self.seems_to_lack(pending, next) => (pending.inside(), pending.end),
            Some(_) => return None,
        };
        self.next_packet(begin, offset, AcceptedOffsets::Sure(most))
    }

    /// Returns a packet that begins inside the last packet in the file. Searches only if the last packet extends beyond
    /// the file, is larger than all others, or is the only packet and has padding.
    fn packet_within_last(&mut self) -> Option<usize> {
        let pending = self.pending.as_ref().filter(|pending| !pending.is_cut)?;
        let entry = &pending.found.entry;
        if entry.total().is_none() && entry.content().is_some() {
            // The packet ends with its data stream (PROP-1.0).
            return None;
        }
        let is_cut_off = entry.cut_off("", self.data.len() as u64).is_some();
        let size = pending.end as u64 - entry.offset;
        let begin = if is_cut_off || size > self.largest && self.largest > 0 {
            pending.inside()
        } else if self.largest == 0 {
            pending.begin.max(usize::try_from(entry.offset + entry.content()?.div_ceil(8)).ok()?)
        } else {
            return None;
        };
        let content_end = entry.offset.saturating_add(entry.content().unwrap_or(u64::MAX).div_ceil(8));
        let end = pending.end;
        let at = self.next_packet(begin, self.data.len(), AcceptedOffsets::Sure(self.data.len()))?;
        let is_begun = at as u64 >= content_end && self.is_empty_until(at, end);
        (!is_begun).then_some(at)
    }

    /// Returns `true` if a packet has no event records and ends at an offset. A tracer that was killed there had begun the
    /// packet in the padding of the last one, but had not ended the last one before it: nothing is lost.
    fn is_empty_until(&self, at: usize, end: usize) -> bool {
        let rest = self.data.get(at..end).unwrap_or_default();
        let found = self.decoder.decode(rest, &self.slots, &mut Clocks::for_trace(self.decoder.class));
        found.is_ok_and(|info| {
            info.content == Some(info.begins[2].bit) && info.total == Some(8 * rest.len() as u64)
        })
    }

    /// Returns `true` if packets seem to be missing between the pending and the next packet. Tracers lose packets too,
    /// so a search is worthwhile only if the size is unusual.
    fn seems_to_lack(&self, pending: &PendingPacket, next: &PacketInfo) -> bool {
        let entry = &pending.found.entry;
        let size = pending.end as u64 - entry.offset;
        let is_same_stream = (next.class, next.stream_id) == (pending.found.class, pending.found.stream_id);
        match (entry.sequence(), next.sequence) {
            (Some(before), Some(after)) if is_same_stream => {
                after.since(before) != Some(1) && self.size_before != Some(size)
            }
            // The next packet's size may also be too large.
            _ if self.largest > 0 => size > self.largest,
            _ => size > next.total.unwrap_or(0) / 8,
        }
    }

    /// Returns the first offset from `from` and before `to` with a complete packet header and context.
    fn next_packet(&mut self, from: usize, to: usize, wanted: AcceptedOffsets) -> Option<usize> {
        let Some(magic) = self.magic else {
            return match wanted {
                AcceptedOffsets::Sure(_) => self.unmarked_within(from, to),
                AcceptedOffsets::Any => self.unmarked_after(from.checked_sub(1)?),
            };
        };
        let mut clocks = Clocks::for_trace(self.decoder.class);
        let mut any = None;
        let finder = Finder::new(&magic);
        let mut places = places_of(&finder, self.data, self.progress, from).peekable();
        while let Some(at) = places.next().filter(|at| *at < to) {
            // A packet's header and context end before the next packet begins. Without this limit, data full of magic
            // numbers would be read to its end from each magic number.
            let end = places.peek().copied().unwrap_or(self.data.len());
            let Ok(info) = self.decoder.decode(&self.data[at..end], &self.slots, &mut clocks) else {
                continue;
            };
            if self.is_in_copy(at, &info) {
                continue;
            }
            let most = if let AcceptedOffsets::Sure(most) = wanted { most } else { self.data.len() };
            let is_in_run = info.foreign.is_some_and(|(found, _)| Some(found) == self.foreign);
            let fits =
                || info.total.is_some_and(|total| total / 8 <= (most as u64).saturating_sub(at as u64));
            if info.is_own || is_in_run || (info.foreign.is_none() && fits()) {
                return Some(at);
            }
            if wanted == AcceptedOffsets::Any {
                any = any.or(Some(at));
                if self.takes_any {
                    break;
                }
            }
        }
        if wanted == AcceptedOffsets::Any {
            // No better packet follows, so the next search can be shorter.
            self.takes_any = true;
        }
        any
    }
}

/// Returns the magic number offsets from an offset on, except in holes of a sparse file.
fn places_of<'a>(
    finder: &'a Finder<'a>,
    data: &'a Bytes,
    progress: &'a dyn Fn(usize),
    from: usize,
) -> impl Iterator<Item = usize> + 'a {
    let search = move |part: Range<usize>| {
        progress(part.start);
        // Release the part that was already searched.
        data.release_part(part.len());
        // A magic number that begins in this part may end after it.
        let end = part.end.saturating_add(finder.needle().len() - 1).min(data.len());
        // Parts are always within the data.
        let bytes = data.get(part.start..end).unwrap_or_default();
        finder.find_iter(bytes).map(move |at| part.start + at)
    };
    data.data_ranges(from).flat_map(parts_of).flat_map(search)
}

/// Splits a range into parts that are searched in sequence.
fn parts_of(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    const PART: usize = 1 << 20;
    range.clone().step_by(PART).map(move |begin| begin..range.end.min(begin + PART))
}

/// Returns the magic number of packets.
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
