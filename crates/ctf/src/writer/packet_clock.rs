//! Start and end timestamps for packets that are created from source packets.

use ichnos_io::WriteOptions;
use ichnos_model::class::{DataStreamClass, Role, Roles};
use ichnos_model::{TraceClass, Window};

use super::capabilities::capabilities;
use super::source_frame::LostRoles;
use super::timestamps::Timestamps;
use crate::metadata::Dialect;
use crate::packet::Clocks;
use crate::packet_times::RecordedTime;

/// `true` if clocks continue from packet to packet, in the source and in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClockContinuity {
    pub(super) source: bool,
    pub(super) output: bool,
}

impl ClockContinuity {
    /// Returns the values for a trace that is written in a dialect.
    pub(super) fn for_trace(trace: &TraceClass, dialect: Dialect) -> Self {
        let goes_on = |dialect| Clocks::go_on_in(dialect, trace);
        let capabilities = capabilities(dialect);
        // In CTF 1.8, begin times in a single data stream class's packets stop all clocks from continuing.
        let gets_begin = |class: &DataStreamClass| {
            let (lost, _) = LostRoles::for_stream(trace, class, &capabilities);
            class.default_clock.is_some() && lost.times_of_packets()
        };
        let stops = dialect == Dialect::Ctf18 && trace.data_streams.iter().any(gets_begin);
        Self { source: goes_on(&trace.dialect), output: goes_on(dialect.title()) && !stops }
    }
}

/// Encoding of the default clock at the start of a data stream's packets.
///
/// If clocks continue from packet to packet (PROP-1.0, CTF 1.8 without begin times), a narrow field is enough. If
/// clocks are 0 before each packet (all others), the field must contain the full value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PacketClock {
    has_clock: bool,
    /// Bits of the source's longest fixed-length start timestamp. 0 if all have a variable length.
    bits: u64,
    /// `true` if a start timestamp has a variable length, and so is encoded with all bits.
    is_variable: bool,
    pub(super) goes_on: ClockContinuity,
    /// `true` if an added packet context member contains the full value.
    pub(super) adds_begin: bool,
    /// `true` if an added packet context member contains the full value at the packet's end.
    pub(super) adds_end: bool,
    /// Roles whose source fields are too narrow, and are widened to 64 bits. An additional field would not be enough:
    /// readers use each field with a clock as a packet time.
    pub(super) widened: Roles,
    /// Bits of the source's longest fixed-length begin and end timestamps.
    pub(super) begin_bits: u64,
    pub(super) end_bits: u64,
}

impl PacketClock {
    /// Returns the clock of a data stream class whose packet context lost field roles. If it `is_ctf`, each source
    /// packet contains enough of its start time.
    pub(super) fn for_stream(
        stream: &DataStreamClass,
        options: &WriteOptions,
        goes_on: ClockContinuity,
        is_ctf: bool,
        lost: &LostRoles,
    ) -> Self {
        // Continuing clocks are PROP-1.0 clocks, and PROP-1.0 keeps all updates.
        let loses_shared = !(goes_on.source && goes_on.output);
        let recorded = |role| RecordedTime::for_role(stream, role, loses_shared);
        let (begin, end) = (recorded(Role::Timestamp), recorded(Role::PacketEndTimestamp));
        let mut clock = Self {
            has_clock: stream.default_clock.is_some(),
            bits: begin.bits,
            is_variable: begin.is_variable,
            begin_bits: begin.bits,
            end_bits: end.bits,
            goes_on,
            ..Self::default()
        };
        let header = Timestamps::for_class(stream);
        clock.adds_begin = match is_ctf {
            true => clock.lacks_begin(options, header),
            false => clock.has_clock && clock.bits != 64 && !clock.is_variable,
        };
        clock.adds_begin |= clock.has_clock && lost.times_of_packets();
        let widens = |recorded: RecordedTime| !recorded.is_variable && (1..64).contains(&recorded.bits);
        // Events in a damaged packet can have times beyond the range of its end timestamp.
        let is_absolute = options.repair && is_ctf && clock.has_clock && !goes_on.output;
        if clock.adds_begin {
            clock.adds_end = lost.packet_context.has(Role::PacketEndTimestamp);
        }
        if (clock.adds_begin || is_absolute) && widens(end) {
            clock.widened.insert(Role::PacketEndTimestamp);
        }
        // An end is only added after a begin.
        if (clock.adds_begin || is_absolute && widens(end)) && widens(begin) && !clock.adds_end {
            clock.widened.insert(Role::Timestamp);
            (clock.bits, clock.adds_begin) = (64, false);
        }
        clock
    }

    /// Returns `true` if packet start timestamps are not enough for the output.
    fn lacks_begin(&self, options: &WriteOptions, header: Timestamps) -> bool {
        let ClockContinuity { source, output } = self.goes_on;
        let stops = source && !output;
        // If several traces are merged, packets of one trace may have begin timestamps. In this case, no clocks
        // continue.
        let joins = options.merge && output;
        let leaves_out = options.leaves_out || options.repair || joins || options.window != Window::default();
        let is_changed = if output {
            leaves_out || options.leaves_out_packets
        } else {
            // The time between two events rarely needs more than 32 bits. If it does, it is a loss.
            leaves_out && self.bits < 32 && !header.are_whole()
        };
        let is_short =
            self.bits != 64 && (stops || !self.is_variable && (options.packet_size.is_some() || is_changed));
        let is_missing = self.bits == 0 && !self.is_variable;
        let differs = source != output || leaves_out;
        self.has_clock && (is_short || is_missing && differs)
    }

    /// Returns `true` if begin timestamps are narrow, and relative to the previous packet's end, unlike in the source.
    pub(super) fn depends_on_ends(&self) -> bool {
        let ClockContinuity { source, output } = self.goes_on;
        output && !source && !self.adds_begin && (1..64).contains(&self.bits)
    }

    /// Returns `true` if readers would decode a later start time, because the previous packet ends later.
    pub(super) fn goes_back(&self, begin: u64, before: u64) -> bool {
        self.depends_on_ends() && begin < before
    }

    /// Returns `true` if a packet that begins at `begin` cannot end at `end`, because its end timestamp is too narrow.
    pub(super) fn lacks_room_for_end(&self, begin: u64, end: u64) -> bool {
        let is_short = (1..64).contains(&self.end_bits) && !self.widened.has(Role::PacketEndTimestamp);
        is_short && self.goes_on.output && end.wrapping_sub(begin) >> self.end_bits != 0
    }

    /// Returns `true` if a packet can begin at `begin` after a packet that ends at `before`.
    pub(super) fn can_begin(&self, begin: u64, before: u64, header: Timestamps) -> bool {
        let has_room = |value: u64| value.checked_shr(self.bits as u32).is_none_or(|rest| rest == 0);
        if !self.has_clock || self.adds_begin || self.is_variable {
            true
        } else if self.goes_on.output {
            self.bits == 0 || has_room(begin.wrapping_sub(before))
        } else {
            has_room(begin) || self.bits == 0 && header.are_whole()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_few_bits() {
        let goes_on = ClockContinuity { source: true, output: true };
        let short = PacketClock { has_clock: true, end_bits: 8, goes_on, ..PacketClock::default() };
        assert!(!short.lacks_room_for_end(7, 262) && short.lacks_room_for_end(7, 263));
        assert!(!PacketClock { end_bits: 64, ..short }.lacks_room_for_end(0, u64::MAX));
        assert!(!PacketClock { end_bits: 0, ..short }.lacks_room_for_end(0, u64::MAX));
    }

    #[test]
    fn packets_begin_where_they_can_say_it() {
        let header = |bits| Timestamps { bits, ..Timestamps::default() };
        let short = PacketClock { has_clock: true, bits: 8, ..PacketClock::default() };
        assert!(short.can_begin(255, 0, header(8)) && !short.can_begin(256, 255, header(8)));
        let goes_on = PacketClock { goes_on: ClockContinuity { source: true, output: true }, ..short };
        assert!(goes_on.can_begin(1000, 745, header(8)) && !goes_on.can_begin(1000, 744, header(8)));
        let nothing = PacketClock { bits: 0, ..short };
        assert!(nothing.can_begin(1000, 0, header(64)) && !nothing.can_begin(1000, 0, header(32)));
        let whole = PacketClock { bits: 64, ..short };
        assert!(whole.can_begin(u64::MAX, 0, header(8)));
        assert!(PacketClock::default().can_begin(u64::MAX, 0, header(8)));
    }
}
