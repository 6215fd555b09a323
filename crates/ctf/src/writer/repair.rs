//! Repairs packets in a damaged data stream, so that their times and counters are consistent.

use ichnos_model::DataStream;
use ichnos_model::class::Role;
use ichnos_model::event::Packet;

use super::packet_clock::PacketClock;
use super::packets::OpenPacket;
use super::time_survey::TimeSurvey;
use crate::packet_times::most_cycles;

/// Minimum counter width in bits without wrapping. After a narrower counter, any value can follow.
const WIDE: u64 = 32;

/// Minimum counter width in bits for comparing values.
const NARROW: u64 = 8;

/// Minimum sequence number width in bits for rare wrapping. After a narrower number, any number can follow.
const SELDOM_TURNS: u64 = 16;

/// Values of the packets around the written packet.
#[derive(Debug, Default)]
pub(super) struct PacketRepair {
    /// Largest default clock value whose time fits in 64 bits.
    most: u64,
    /// Duration of a default clock cycle, rounded up.
    nanoseconds_per_cycle: Option<u64>,
    /// Times of all events.
    pub(super) times: TimeSurvey,
    next: PacketValues,
    sequence: Option<u64>,
    discarded: Option<u64>,
    /// Number of events counted as discarded: one for each damage that skipped events.
    pub(super) left_out: u64,
}

/// Packet values.
#[derive(Clone, Copy, Debug, Default)]
struct PacketValues {
    begin: Option<u64>,
    sequence: Option<u64>,
    discarded: Option<u64>,
}

impl PacketRepair {
    /// Creates the state before a data stream's first packet.
    pub(super) fn new(stream: &DataStream) -> Self {
        let mut repair = Self { most: most_cycles(stream.clock()), ..Self::default() };
        let nanoseconds = |frequency: u64| 1_000_000_000_u64.div_ceil(frequency.max(1));
        repair.nanoseconds_per_cycle = stream.clock().map(|clock| nanoseconds(clock.frequency));
        repair.times = TimeSurvey::new(repair.most_cycles());
        repair
    }

    /// Stores the values of the packet after the next packet.
    pub(super) fn look_ahead(&mut self, next: Option<&Packet<'_>>) {
        self.next = next.map_or(PacketValues::default(), |next| PacketValues {
            begin: next.begin.map(|begin| begin.cycles),
            sequence: next.sequence_number,
            discarded: next.discarded_counter,
        });
    }

    /// Returns the largest default clock value whose time fits in 64 bits, or else the largest value.
    pub(super) fn most_cycles(&self) -> u64 {
        if self.most == 0 { u64::MAX } else { self.most }
    }

    /// Returns the start time of the packet after the next packet, if known.
    pub(super) fn next_begin(&self) -> Option<u64> {
        self.next.begin
    }

    /// Returns how many events or packets can be lost while the default clock counts some cycles.
    fn most_losses(&self, cycles: u64) -> Option<u64> {
        // Tracers need at least a nanosecond to record an event.
        Some(cycles.saturating_add(1).saturating_mul(self.nanoseconds_per_cycle?))
    }

    /// Records skipped unreadable data. `in_packet`: inside a packet that was written up to this data.
    pub(super) fn skipped(&mut self, in_packet: bool) {
        // Sequence numbers, if any, show missing packets.
        if in_packet || self.sequence.is_none() {
            self.left_out = self.left_out.wrapping_add(1);
        }
    }

    /// Corrects the values of a packet after a packet that ended at `before`. `has_late_events`: the packet can contain
    /// events after its end. Returns the changes.
    pub(super) fn begin(
        &mut self,
        before: u64,
        open: &mut OpenPacket,
        clock: &PacketClock,
        has_late_events: bool,
    ) -> Vec<&'static str> {
        let mut changes = Vec::new();
        let times = self.times.begin_packet();
        let first = times.range.map_or(times.next, |(first, _)| first).max(before);
        let begin = if open.begin > self.most { before } else { open.begin.clamp(before, first) };
        // A missing field cannot contradict the events.
        if begin != open.begin && open.placed.iter().any(|placed| placed.role == Role::Timestamp) {
            changes.push(match begin == before {
                true => "impossible begin time: used the previous packet's end",
                false => "begin time after the first event: used that event's time",
            });
        }
        (open.begin, open.now) = (begin, begin);
        let last = times.range.map_or(begin, |(_, last)| last.max(begin));
        let most = times.next.max(last).min(self.most_cycles());
        let next = self.next.begin.filter(|next| (last..=most).contains(next));
        open.latest = next.unwrap_or(most);
        let earliest = if has_late_events { begin } else { last };
        open.has_end = open.source_end.is_some_and(|end| {
            (earliest..=open.latest).contains(&end) && !clock.lacks_room_for_end(open.begin, end)
        });
        if open.source_end.is_some() && !open.has_end {
            changes.push("impossible end time: used the last event's time");
        }
        let end = open.source_end.filter(|_| open.has_end).unwrap_or(last);
        // Wrong times do not allow conclusions about counters.
        let cycles = changes.is_empty().then(|| end.saturating_sub(before));
        let room = cycles.and_then(|cycles| self.most_losses(cycles));
        self.count(open, room, &mut changes);
        changes
    }

    /// Corrects a packet's counters, which can grow by up to `room` since the previous packet.
    fn count(&mut self, open: &mut OpenPacket, room: Option<u64>, changes: &mut Vec<&'static str>) {
        for placed in &mut open.placed {
            let (known, next, step, what) = match placed.role {
                Role::Timestamp => {
                    placed.value = open.begin;
                    continue;
                }
                Role::PacketSequenceNumber => {
                    let what = "impossible sequence number: used the next number";
                    (&mut self.sequence, self.next.sequence, 1, what)
                }
                Role::DiscardedEventCounter => {
                    let what = "impossible counter of discarded events: used the previous packet's";
                    (&mut self.discarded, self.next.discarded, 0, what)
                }
                _ => continue,
            };
            let bounds = CounterBounds { before: *known, next, step, room };
            let value = bounds.possible(placed.value, placed.bits());
            if value != placed.value {
                changes.push(what);
            }
            placed.value = value;
            *known = Some(value);
        }
    }
}

/// Counter values in the surrounding packets, and how far the counter can grow.
struct CounterBounds {
    before: Option<u64>,
    next: Option<u64>,
    /// Minimum growth from packet to packet.
    step: u64,
    /// Maximum further growth since the previous packet, if known.
    room: Option<u64>,
}

impl CounterBounds {
    /// Returns a valid counter value with this number of bits: its own value, if it is valid.
    fn possible(&self, value: u64, bits: u64) -> u64 {
        match bits {
            ..NARROW => value,
            NARROW..WIDE => self.possible_narrow(value, bits),
            _ => self.possible_wide(value, bits),
        }
    }

    /// Returns a valid value for a narrow counter. Any value can follow another. But if the surrounding sequence
    /// numbers are close to each other, the number between them is unlikely to be a full turn away. A counter of
    /// discarded events can wrap inside a packet.
    fn possible_narrow(&self, value: u64, bits: u64) -> u64 {
        /// Fraction of the range in which the surrounding values count as close to each other.
        const NEAR: u64 = 16;
        let most = (1 << bits) - 1;
        let since = |from: u64, to: u64| to.wrapping_sub(from) & most;
        let Some(before) = self.before else { return value };
        let next = self.next.filter(|_| self.step > 0 && bits >= SELDOM_TURNS);
        let is_far = next.is_some_and(|next| {
            let all = since(before, next);
            (2 * self.step..=most / NEAR).contains(&all) && since(before, value) > all - self.step
        });
        let is_fast = self.room.is_some_and(|room| since(before, value).saturating_sub(self.step) > room);
        if is_far || is_fast { before.wrapping_add(self.step) & most } else { value }
    }

    fn possible_wide(&self, value: u64, bits: u64) -> u64 {
        let Self { before, step, .. } = *self;
        // If a counter grows by more than half its range, readers assume that it was reset.
        let half = u64::MAX >> (65 - bits.clamp(2, 64));
        let can_follow = |from: u64, to: u64| to >= from && to - from <= half;
        let least = before.map_or(0, |before| before.saturating_add(step));
        // Ignores the next value if it is invalid itself.
        let most = self.next.and_then(|next| next.checked_sub(step));
        let most = most.filter(|most| match before {
            Some(_) => can_follow(least, *most),
            None => most.saturating_sub(value) <= half,
        });
        let has_room = |value: u64| self.room.is_none_or(|room| value - least <= room);
        let follows = before.is_none() || can_follow(least, value) && has_room(value);
        if follows && most.is_none_or(|most| can_follow(value, most)) {
            return value;
        }
        match (before, most) {
            (None, Some(most)) => most,
            _ => least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(before: Option<u64>, value: u64, next: Option<u64>, step: u64, bits: u64) -> u64 {
        CounterBounds { before, next, step, room: None }.possible(value, bits)
    }

    #[test]
    fn counters_fit_between_others() {
        assert_eq!(between(Some(4), 5, Some(6), 1, 64), 5);
        assert_eq!(between(Some(4), 7, Some(9), 1, 64), 7);
        assert_eq!(between(Some(4), 900, Some(6), 1, 64), 5);
        assert_eq!(between(Some(4), 3, Some(6), 1, 64), 5);
        // The next value is invalid.
        assert_eq!(between(Some(4), 5, Some(2), 1, 64), 5);
        assert_eq!(between(Some(4), 5, Some(900), 1, 64), 5);
        assert_eq!(between(None, 900, Some(6), 1, 64), 5);
        assert_eq!(between(None, 900, None, 1, 64), 900);
        assert_eq!(between(None, 0, Some(u64::MAX), 1, 64), 0);
        assert_eq!(between(Some(4), 4, Some(4), 0, 64), 4);
        assert_eq!(between(Some(1), u64::MAX - 5, None, 1, 64), 2);
        assert_eq!(between(Some(1), 0xf000_0000, None, 1, 32), 2);
        assert_eq!(between(Some(u64::MAX), 4, None, 1, 64), u64::MAX);
    }

    #[test]
    fn narrow_sequence_numbers_are_near_those_around_them() {
        assert_eq!(between(Some(4), 5, Some(6), 1, 16), 5);
        assert_eq!(between(Some(4), 200, Some(6), 1, 16), 5);
        assert_eq!(between(Some(0xfffe), 7, Some(0), 1, 16), 0xffff);
        // A counter with 8 bits wraps often, and a counter of discarded events can wrap inside a packet.
        assert_eq!(between(Some(4), 200, Some(6), 1, 8), 200);
        assert_eq!(between(Some(100), 5, Some(105), 0, 8), 5);
        assert_eq!(between(Some(9), 0x8009, Some(9), 0, 16), 0x8009);
        // The surrounding values are not close to each other.
        assert_eq!(between(Some(0), 200, Some(0x8000), 1, 16), 200);
        assert_eq!(between(Some(4), 200, None, 1, 16), 200);
    }

    #[test]
    fn counters_grow_no_faster_than_time() {
        let possible = |value, bits| {
            CounterBounds { before: Some(7), next: None, step: 1, room: Some(100) }.possible(value, bits)
        };
        assert_eq!((possible(108, 64), possible(109, 64)), (108, 8));
        assert_eq!((possible(108, 8), possible(109, 8)), (108, 8));
    }
}
