//! Time order of packets in a data stream whose files may contain misplaced or duplicate packets.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};

use ichnos_model::message::Damage;

use crate::packet_entry::PacketEntry;
use crate::rule::Rule;
use crate::stream_input::StreamFile;

/// Ordering rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketOrder {
    /// `true` if times can be compared before the packets are read in sequence.
    pub(crate) has_times: bool,
    /// `true` if the recorded end times are credible.
    pub(crate) has_ends: bool,
}

/// Packets dropped while sorting.
#[derive(Debug, Default)]
pub(crate) struct SkippedPackets {
    /// Damage before and in dropped packets.
    pub(crate) damage: Vec<Damage>,
    /// Number of packets that are also in another file.
    pub(crate) repeated: u64,
    /// Packet pairs with equal bytes, as indexes. The first packet is a copy of the second only if the clock moves
    /// within them.
    pub(crate) equal: Vec<(usize, usize)>,
}

impl SkippedPackets {
    /// Drops a packet that is a copy of a retained packet.
    fn add(&mut self, packet: &PacketEntry, kept: &PacketEntry, files: &[StreamFile]) {
        self.damage.extend(packet.damage_before().iter().cloned());
        self.repeated += u64::from(packet.file != kept.file);
        if let (true, Some(file)) = (packet.file == kept.file, files.get(packet.file as usize)) {
            self.damage.push(Damage {
                file: file.name.to_string(),
                stream: None,
                bit: packet.offset * 8,
                kind: Rule::Copy(kept.offset).into(),
                skipped: packet.available(file.bytes.len() as u64) * 8,
            });
        }
    }

    /// Drops the packets with equal bytes.
    pub(crate) fn drop_equal(
        &mut self,
        packets: Box<[PacketEntry]>,
        files: &[StreamFile],
    ) -> Box<[PacketEntry]> {
        let mut is_kept = vec![true; packets.len()];
        for (index, kept) in std::mem::take(&mut self.equal) {
            self.add(&packets[index], &packets[kept], files);
            is_kept[index] = false;
        }
        let mut is_kept = is_kept.into_iter();
        packets.into_iter().filter(|_| is_kept.next().unwrap_or(true)).collect()
    }
}

impl PacketOrder {
    /// Sorts packets by start time. The input is file by file, in file order. Marks misplaced packets, and returns the
    /// dropped packets.
    /// `begins_are_whole`: packets record all bits of their start time, so it can be compared even if clocks continue
    /// from packet to packet.
    pub(crate) fn apply(
        self,
        packets: &mut Vec<PacketEntry>,
        files: &[StreamFile],
        begins_are_whole: bool,
    ) -> SkippedPackets {
        if !packets.iter().all(|packet| packet.begin().is_some()) {
            return SkippedPackets::default();
        }
        if self.has_times {
            packets.chunk_by_mut(|a, b| a.file == b.file).for_each(find_misplaced);
        }
        packets.sort_by_key(PacketEntry::begin);
        let skipped = drop_copies(packets, files);
        if self.has_ends && (self.has_times || begins_are_whole) {
            limit_ends(packets);
        }
        skipped
    }
}

/// Marks packets whose start times do not fit between their neighbors in the file. If such a packet is in the right
/// place, only its start time is wrong: it starts when the previous packet ends. Other packets are in the wrong place,
/// and their time determines the right place.
fn find_misplaced(packets: &mut [PacketEntry]) {
    if packets.is_sorted_by_key(PacketEntry::begin) {
        return;
    }
    // A start time after the packet's end is less credible.
    let weight =
        |packet: &PacketEntry| 1 + u64::from(packet.end().is_none_or(|end| packet.begin() <= Some(end)));
    let items = packets.iter().map(|packet| (packet.begin(), packet.begin(), weight(packet)));
    let fits = heaviest_in_order(items);
    let mut nexts = vec![None; packets.len()];
    let mut next = None;
    for i in (0..packets.len()).rev() {
        nexts[i] = next;
        if fits[i] {
            next = Some(i);
        }
    }
    let mut before = None;
    for i in 0..packets.len() {
        if fits[i] {
            before = Some(i);
            continue;
        }
        let around = NeighborPackets {
            before: before.and_then(|before: usize| packets.get(before)),
            next: nexts[i].and_then(|next: usize| packets.get(next)),
        };
        let begin = around.begin_within(&packets[i]);
        packets[i].misplace(begin);
    }
}

/// Nearest packets before and after a packet in the file whose times fit.
struct NeighborPackets<'a> {
    before: Option<&'a PacketEntry>,
    next: Option<&'a PacketEntry>,
}

impl NeighborPackets<'_> {
    /// Returns the start time of a packet in the right place, otherwise `None`.
    fn begin_within(&self, packet: &PacketEntry) -> Option<u64> {
        if !self.in_sequence(packet).unwrap_or_else(|| self.end_fits(packet)) {
            return None;
        }
        let end = |packet: &PacketEntry| packet.end().max(packet.begin());
        let begin = self.before.map_or(packet.end(), end)?;
        Some(self.next.and_then(PacketEntry::begin).map_or(begin, |next| begin.min(next)))
    }

    /// Returns `true` if a packet's sequence number is between the neighbors' numbers. `None` if numbers are missing.
    fn in_sequence(&self, packet: &PacketEntry) -> Option<bool> {
        let number = packet.sequence()?;
        let before = self.before.and_then(PacketEntry::sequence);
        let next = self.next.and_then(PacketEntry::sequence);
        Some(match (before, next) {
            (Some(before), Some(next)) => {
                let steps = [number.since(before)?, next.since(number)?];
                !steps.contains(&0) && steps[0].checked_add(steps[1]) == next.since(before)
            }
            (Some(before), None) => number.since(before) == Some(1),
            (None, Some(next)) => next.since(number) == Some(1),
            (None, None) => return None,
        })
    }

    /// Returns `true` if a packet's end is between the neighbors' times.
    fn end_fits(&self, packet: &PacketEntry) -> bool {
        let is_after = self.before.is_none_or(|before| before.end().max(before.begin()) <= packet.end());
        is_after && self.next.is_none_or(|next| packet.end() <= next.begin())
    }
}

/// Marks the heaviest ordered subsequence of a list. Items have a first value, a last value and a weight. In an ordered
/// subsequence, each item begins at or after the previous item's end. Of several heaviest subsequences, the first to
/// end wins.
pub(crate) fn heaviest_in_order<T: Ord + Copy>(items: impl IntoIterator<Item = (T, T, u64)>) -> Vec<bool> {
    // Heaviest subsequence for each last value, with its last item's index. Subsequences that end later are heavier.
    let mut parts: BTreeMap<T, (u64, usize)> = BTreeMap::new();
    let mut before: Vec<Option<usize>> = Vec::new();
    let (mut heaviest, mut at) = (0, None);
    for (i, (first, last, weight)) in items.into_iter().enumerate() {
        let part = parts.range(..=first).next_back().map(|(_, part)| *part);
        before.push(part.map(|(_, end)| end));
        let weight = part.map_or(0, |(weight, _)| weight).saturating_add(weight);
        if weight > heaviest {
            (heaviest, at) = (weight, Some(i));
        }
        if parts.range(..=last).next_back().is_some_and(|(_, (other, _))| *other >= weight) {
            continue;
        }
        while let Some((end, (other, _))) = parts.range(last..).next()
            && *other <= weight
        {
            let end = *end;
            parts.remove(&end);
        }
        parts.insert(last, (weight, i));
    }
    let mut is_in = vec![false; before.len()];
    while let Some(i) = at {
        is_in[i] = true;
        at = before[i];
    }
    is_in
}

/// Drops duplicate packets. Snapshots of the same session overlap, so a packet in several files is read once, from the
/// file that contains most of it. The damage before a copy is still reported. A copy in the same file is reported too,
/// because only damage causes it.
///
/// Packets must be sorted by start time, so that copies are adjacent.
fn drop_copies(packets: &mut Vec<PacketEntry>, files: &[StreamFile]) -> SkippedPackets {
    let mut skipped = SkippedPackets::default();
    let mut retained = RetainedPackets::default();
    let mut all: Vec<PacketEntry> = Vec::with_capacity(packets.len());
    let file_of = |packet: &PacketEntry| files.get(packet.file as usize);
    let available =
        |packet: &PacketEntry| packet.available(file_of(packet).map_or(0, |file| file.bytes.len() as u64));
    let mut rest = packets.drain(..).peekable();
    while let Some(mut packet) = rest.next() {
        let begins_like = |other: Option<&PacketEntry>| other.is_some_and(|o| o.begin() == packet.begin());
        // In a valid file, two packets never begin at the same time.
        if !begins_like(all.last()) {
            retained.clear();
            if !begins_like(rest.peek()) {
                all.push(packet);
                continue;
            }
        }
        match retained.find_or_retain(&packet, &all, files) {
            PacketMatch::Copy(of) => {
                let Some(before) = all.get_mut(of) else { continue };
                if available(&packet) > available(before) {
                    std::mem::swap(before, &mut packet);
                }
                skipped.add(&packet, before, files);
            }
            PacketMatch::Equal(of) => {
                skipped.equal.push((all.len(), of));
                all.push(packet);
            }
            PacketMatch::New => all.push(packet),
        }
    }
    drop(rest);
    *packets = all;
    skipped
}

/// Recorded packet numbers: end, sizes and counters.
type RecordedNumbers = [Option<u64>; 5];

/// Search result, with the index of the retained packet.
enum PacketMatch {
    New,
    Copy(usize),
    /// It has the same bytes, and its end is unknown.
    Equal(usize),
}

/// Different packets with the same start time, as indexes into the retained packets.
#[derive(Default)]
struct RetainedPackets {
    /// Packets with an end and a number. Equal numbers mean equal packets.
    numbered: HashMap<RecordedNumbers, usize>,
    /// Other packets, also keyed by a hash of their bytes, because equal numbers do not prove equality.
    by_bytes: HashMap<(RecordedNumbers, u64), usize>,
    hash: RandomState,
}

impl RetainedPackets {
    fn clear(&mut self) {
        self.numbered.clear();
        self.by_bytes.clear();
    }

    /// Searches the retained packets for this packet's original. Retains the packet if it is new.
    fn find_or_retain(
        &mut self,
        packet: &PacketEntry,
        all: &[PacketEntry],
        files: &[StreamFile],
    ) -> PacketMatch {
        let recorded = [
            packet.end(),
            packet.total(),
            packet.content(),
            packet.sequence().map(|counter| counter.value),
            packet.discarded().map(|counter| counter.value),
        ];
        let is_numbered = packet.sequence().is_some();
        if is_numbered && packet.end().is_some() {
            return match self.numbered.entry(recorded) {
                Entry::Occupied(entry) => PacketMatch::Copy(*entry.get()),
                Entry::Vacant(entry) => {
                    entry.insert(all.len());
                    PacketMatch::New
                }
            };
        }
        // If the clock does not move within a packet, the next packet can contain identical events.
        if !is_numbered && packet.end() == packet.begin() {
            return PacketMatch::New;
        }
        let Some(bytes) = bytes_of(packet, files) else { return PacketMatch::New };
        match self.by_bytes.entry((recorded, self.hash.hash_one(bytes))) {
            Entry::Occupied(entry) => {
                let of = *entry.get();
                if all.get(of).and_then(|other| bytes_of(other, files)) != Some(bytes) {
                    return PacketMatch::New;
                }
                match is_numbered || packet.end().is_some() {
                    true => PacketMatch::Copy(of),
                    false => PacketMatch::Equal(of),
                }
            }
            Entry::Vacant(entry) => {
                entry.insert(all.len());
                PacketMatch::New
            }
        }
    }
}

/// Returns a packet's available bytes.
fn bytes_of<'f>(packet: &PacketEntry, files: &'f [StreamFile]) -> Option<&'f [u8]> {
    let file: &[u8] = &files.get(packet.file as usize)?.bytes;
    let begin = usize::try_from(packet.offset).ok()?;
    let size = usize::try_from(packet.available(file.len() as u64)).ok()?;
    file.get(begin..)?.get(..size)
}

/// Limits packets to end when the next packet begins. Misplaced packets do not limit other packets.
fn limit_ends(packets: &mut [PacketEntry]) {
    let mut next: Option<u64> = None;
    for packet in packets.iter_mut().rev() {
        let is_misplaced = packet.is_misplaced();
        if let (Some(end), Some(next)) = (packet.end(), next)
            && (is_misplaced || packet.begin() <= Some(end))
            && end > next
        {
            packet.end_at(next);
        }
        if !is_misplaced {
            next = packet.begin();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Marks the longest ordered subsequence.
    fn longest(values: &[u8]) -> Vec<bool> {
        heaviest_in_order(values.iter().map(|value| (*value, *value, 1)))
    }

    #[test]
    fn the_longest_part_in_order() {
        assert!(longest(&[]).is_empty());
        let of = |values: &[u8]| -> Vec<u8> {
            longest(values).iter().zip(values).filter(|(is_in, _)| **is_in).map(|(_, v)| *v).collect()
        };
        assert_eq!(of(&[1, 2, 9, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(of(&[1, 2, 0, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(of(&[9, 1, 2]), [1, 2]);
        assert_eq!(of(&[0, 5, 0]), [0, 5]);
        assert_eq!(of(&[1, 1, 2, 2]), [1, 1, 2, 2]);
    }

    #[test]
    fn the_heaviest_part_in_order() {
        // Two light items do not outweigh the heavy items they overlap.
        let items = [(0, 9, 5), (3, 4, 1), (5, 6, 2), (9, 12, 1), (11, 13, 1)];
        assert_eq!(heaviest_in_order(items), [true, false, false, true, false]);
        let items = [(0, 9, 2), (3, 4, 1), (5, 6, 2)];
        assert_eq!(heaviest_in_order(items), [false, true, true]);
    }

    proptest! {
        /// Tries all subsequences: none may be heavier than the marked subsequence.
        #[test]
        fn no_part_in_order_is_heavier(items in proptest::collection::vec((0u8..8, 0u8..3, 1u64..4), 0..9)) {
            let items: Vec<_> = items.iter().map(|(first, length, weight)| (*first, first + length, *weight)).collect();
            let weight = |part: &[(u8, u8, u64)]| part.iter().map(|(.., weight)| weight).sum::<u64>();
            let is_in_order = |part: &[(u8, u8, u64)]| part.windows(2).all(|two| two[0].1 <= two[1].0);
            let parts = (0u32..1 << items.len()).map(|bits| -> Vec<_> {
                items.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, item)| *item).collect()
            });
            let heaviest = parts.filter(|part| is_in_order(part)).map(|part| weight(&part)).max();
            let found = heaviest_in_order(items.clone());
            let part: Vec<_> = items.iter().zip(&found).filter(|(_, is_in)| **is_in).map(|(item, _)| *item).collect();
            prop_assert!(is_in_order(&part));
            prop_assert_eq!(Some(weight(&part)), heaviest);
        }
    }
}
