//! When a packet begins and ends, as far as it is to be believed.

use crate::packet::PacketInfo;
use crate::packet_entry::PacketEntry;
use crate::quirks::Quirk;
use crate::stream::StreamInput;

/// Values of the default clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketTimes {
    pub(crate) begin: Option<u64>,
    pub(crate) end: Option<u64>,
    /// No event should be later.
    pub(crate) last: Option<u64>,
    /// Whether the packet says other times, which is told as damage of the packet.
    pub(crate) are_mended: bool,
}

impl PacketTimes {
    /// The times that a packet says, where they fit to the packets around it; otherwise those of
    /// its entry, which were made to fit.
    pub(crate) fn of(input: &StreamInput, packet: usize, info: &PacketInfo) -> Self {
        let begin_of = |packet: Option<usize>| input.packets.get(packet?).and_then(PacketEntry::begin);
        let (before, next) = (begin_of(packet.checked_sub(1)), begin_of(packet.checked_add(1)));
        let Some(entry) = input.packets.get(packet) else { return Self::default() };
        let is_after = |time: Option<u64>| time.zip(next).is_some_and(|(time, next)| time > next);
        let is_early = info.begin.zip(before).is_some_and(|(begin, before)| begin < before);
        let has_begin = !entry.has_other_begin() && !is_early && !is_after(info.begin);
        let has_end = entry.flaws().is_none_or(|flaws| flaws.late_end.is_none()) && !is_after(info.end);
        let begin = if has_begin { info.begin } else { entry.begin() };
        let end = if has_end { info.end } else { entry.end() };
        let are_mended = (begin, end) != (info.begin, info.end) || entry.is_misplaced();
        let is_backwards = begin.zip(end).is_some_and(|(begin, end)| begin > end);
        let last = if input.quirks.contains(&Quirk::LttngEventAfterPacket) {
            None
        } else if are_mended {
            end.map(|end| end.max(begin.unwrap_or(end)))
        } else if is_backwards {
            next
        } else {
            end
        };
        Self { begin, end, last, are_mended: are_mended || is_backwards }
    }
}
