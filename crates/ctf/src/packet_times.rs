//! Credible packet begin and end times.

use ichnos_model::class::{DataStreamClass, FieldKind, Role};
use ichnos_model::clock::ClockClass;

use crate::packet::PacketInfo;
use crate::packet_entry::PacketEntry;
use crate::quirks::Quirk;
use crate::stream_input::StreamInput;

/// Default clock values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketTimes {
    pub(crate) begin: Option<u64>,
    pub(crate) end: Option<u64>,
    /// Latest possible event time.
    pub(crate) last: Option<u64>,
    /// `true` if the packet records other times, which is reported as damage.
    pub(crate) are_corrected: bool,
}

impl PacketTimes {
    /// Returns the times in the packet, if they match the neighbors. Otherwise returns the entry's times, which were
    /// adjusted.
    pub(crate) fn for_packet(input: &StreamInput, packet: usize, info: &PacketInfo) -> Self {
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

/// Packet context fields with a default clock value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordedTime {
    /// Maximum size in bits of the fields with a fixed length. 0: none exist.
    pub(crate) bits: u64,
    /// `true` if a field has a variable length.
    pub(crate) is_variable: bool,
}

impl RecordedTime {
    /// Returns the fields with a role in a data stream class. `has_shared` includes fields that also update other
    /// clocks. Their values cannot change with the default clock.
    pub(crate) fn for_role(stream: &DataStreamClass, role: Role, has_shared: bool) -> Self {
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
                // Longer fields cannot be rewritten.
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
    /// Returns the last correctly placed packet before the given packet, for comparing loss counters.
    pub(crate) fn packet_before(&self, packet: usize) -> Option<&PacketEntry> {
        // A longer search would take too long in a file of misplaced packets.
        const FURTHEST: usize = 64;
        self.packets.get(..packet)?.iter().rev().take(FURTHEST).find(|before| !before.is_misplaced())
    }
}

/// Returns the largest default clock value whose time fits in 64 bits, or 0 if time begins too early. Uses exact
/// arithmetic, so damage does not depend on the clock arithmetic option.
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

/// Returns `true` if all values of a clock are outside 64-bit times.
pub(crate) fn is_out_of_range(clock: &ClockClass) -> bool {
    clock.nanoseconds(0) > i64::MAX.into() || clock.nanoseconds(u64::MAX) < i64::MIN.into()
}

/// Returns `true` if a time fits in a signed 64-bit number.
pub(crate) fn is_of_64_bits(nanoseconds: i128) -> bool {
    i64::try_from(nanoseconds).is_ok()
}
