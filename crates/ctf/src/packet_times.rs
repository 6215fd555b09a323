//! Credible begin and end times of packets.

use ichnos_model::{ClockClass, DataStreamClass, FieldKind, Role};

use crate::packet::PacketInfo;
use crate::packet_entry::PacketEntry;
use crate::quirks::Quirk;
use crate::stream_input::StreamInput;

/// Values of the default clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketTimes {
    pub(crate) begin: Option<u64>,
    pub(crate) end: Option<u64>,
    /// Latest time of an event.
    pub(crate) last: Option<u64>,
    /// `true` if the packet contains other times, which is reported as damage of the packet.
    pub(crate) are_corrected: bool,
}

impl PacketTimes {
    /// Returns the times in the packet, if they fit to the packets around it; otherwise those of its entry,
    /// which were made to fit.
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
        let are_corrected = (begin, end) != (info.begin, info.end) || entry.is_misplaced();
        let is_backwards = begin.zip(end).is_some_and(|(begin, end)| begin > end);
        let last = if input.rules.quirks.contains(&Quirk::LttngEventAfterPacket) {
            None
        } else if are_corrected {
            end.map(|end| end.max(begin.unwrap_or(end)))
        } else if is_backwards {
            next
        } else {
            end
        };
        Self { begin, end, last, are_corrected: are_corrected || is_backwards }
    }
}

/// Fields of a packet context with a value of the default clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordedTime {
    /// Bits of the longest one of a fixed length; 0: there is none.
    pub(crate) bits: u64,
    /// `true` if there is one of a variable length.
    pub(crate) is_variable: bool,
}

impl RecordedTime {
    /// Returns the fields of a data stream class that have a role. `has_shared` also counts fields that update further
    /// clocks, whose values cannot change with the default clock.
    pub(crate) fn of(stream: &DataStreamClass, role: Role, has_shared: bool) -> Self {
        let mut recorded = Self::default();
        let root = stream.packet_context.as_deref().map(|root| &root.kind);
        let Some(FieldKind::Structure { members, .. }) = root else { return recorded };
        for member in members {
            let roles = member.class.roles;
            let is_of_other = roles.clock.is_some() && roles.clock != stream.default_clock;
            if !roles.has(role) || is_of_other || roles.has_further_clocks() && !has_shared {
                continue;
            }
            match &member.class.kind {
                // Longer ones cannot be rewritten.
                FieldKind::Integer { bits, .. } if bits.length <= 64 => {
                    recorded.bits = recorded.bits.max(bits.length)
                }
                FieldKind::VariableLength { .. } => recorded.is_variable = true,
                _ => {}
            }
        }
        recorded
    }
}

impl StreamInput {
    /// Returns the packet before the given one whose counters show the loss since then.
    pub(crate) fn packet_before(&self, packet: usize) -> Option<&PacketEntry> {
        // Not further than that: a file of misplaced packets would take too long.
        const FURTHEST: usize = 64;
        self.packets.get(..packet)?.iter().rev().take(FURTHEST).find(|before| !before.is_misplaced())
    }
}

/// Returns the largest value of a default clock that is a time of 64 bits; 0 if time begins too early. The
/// arithmetic is exact, so that damage does not depend on the arithmetic in which times are shown.
pub(crate) fn most_cycles(clock: Option<&ClockClass>) -> u64 {
    let fits = |cycles| clock.is_none_or(|clock| is_of_64_bits(clock.nanoseconds(cycles)));
    if !fits(0) || fits(u64::MAX) {
        return if fits(0) { u64::MAX } else { 0 };
    }
    let (mut most, mut too_many) = (0, u64::MAX);
    while too_many - most > 1 {
        let middle = most + (too_many - most) / 2;
        *(if fits(middle) { &mut most } else { &mut too_many }) = middle;
    }
    most
}

/// Returns `true` if no value of a clock is a time of 64 bits.
pub(crate) fn is_out_of_range(clock: &ClockClass) -> bool {
    clock.nanoseconds(0) > i64::MAX.into() || clock.nanoseconds(u64::MAX) < i64::MIN.into()
}

/// Returns `true` if a time fits in a signed number of 64 bits.
pub(crate) fn is_of_64_bits(nanoseconds: i128) -> bool {
    i64::try_from(nanoseconds).is_ok()
}
