//! Repair of the packets of a damaged data stream, so that their times and counters are consistent.

use ichnos_model::{DataStream, Packet, Role};

use super::packets::OpenPacket;
use super::placed::Placed;
use super::time_survey::TimeSurvey;
use crate::packet_times::most_cycles;

/// Counters with fewer bits wrap: any value can follow the one before.
const WIDE: u64 = 32;

/// Values of the packets around the one that is written.
#[derive(Debug, Default)]
pub(super) struct Repair {
    /// Largest value of the default clock that is a time of 64 bits.
    most: u64,
    /// Times of all events.
    pub(super) times: TimeSurvey,
    next: PacketValues,
    sequence: Option<u64>,
    discarded: Option<u64>,
    /// Number of events that are counted as discarded, one for each damage that skipped events.
    pub(super) left_out: u64,
}

/// Values of a packet.
#[derive(Clone, Copy, Debug, Default)]
struct PacketValues {
    begin: Option<u64>,
    sequence: Option<u64>,
    discarded: Option<u64>,
}

impl Repair {
    /// Creates the state before the first packet of a data stream.
    pub(super) fn new(stream: &DataStream) -> Self {
        let mut repair = Self { most: most_cycles(stream.clock()), ..Self::default() };
        repair.times = TimeSurvey::new(repair.most_cycles());
        repair
    }

    /// Notes the values of the packet after the one that begins next.
    pub(super) fn look_ahead(&mut self, next: Option<&Packet<'_>>) {
        self.next = next.map_or(PacketValues::default(), |next| PacketValues {
            begin: next.begin.map(|begin| begin.cycles),
            sequence: next.sequence_number,
            discarded: next.discarded_counter,
        });
    }

    /// Returns the largest value of the default clock that is a time of 64 bits; if there is none, the largest of all.
    pub(super) fn most_cycles(&self) -> u64 {
        if self.most == 0 { u64::MAX } else { self.most }
    }

    /// Returns the begin of the packet after the one that begins next, if it is known.
    pub(super) fn next_begin(&self) -> Option<u64> {
        self.next.begin
    }

    /// Notes that unreadable data was skipped; `in_packet`: within a packet that was written up to there.
    pub(super) fn skipped(&mut self, in_packet: bool) {
        // Sequence numbers show missing packets, if there are any.
        if in_packet || self.sequence.is_none() {
            self.left_out = self.left_out.wrapping_add(1);
        }
    }

    /// Corrects the values of a packet after one that ended at `before`; `has_late_events`: it can have
    /// events after its end. Returns the changes.
    pub(super) fn begin(
        &mut self,
        before: u64,
        open: &mut OpenPacket,
        has_late_events: bool,
    ) -> Vec<&'static str> {
        let mut changes = Vec::new();
        let times = self.times.begin_packet();
        let first = times.range.map_or(times.next, |(first, _)| first).max(before);
        let begin = if open.begin > self.most { before } else { open.begin.clamp(before, first) };
        // Without the field, there is no contradiction.
        if begin != open.begin && open.placed.iter().any(|placed| placed.role == Role::Timestamp) {
            changes.push(match begin == before {
                true => "impossible begin time: the end of the packet before",
                false => "begin time after the first event: the time of that",
            });
        }
        (open.begin, open.now) = (begin, begin);
        let last = times.range.map_or(begin, |(_, last)| last.max(begin));
        let most = times.next.max(last).min(self.most_cycles());
        let next = self.next.begin.filter(|next| (last..=most).contains(next));
        open.latest = next.unwrap_or(most);
        let earliest = if has_late_events { begin } else { last };
        open.has_end = open.source_end.is_some_and(|end| (earliest..=open.latest).contains(&end));
        if open.source_end.is_some() && !open.has_end {
            changes.push("impossible end time: the time of the last event");
        }
        for placed in &mut open.placed {
            match placed.role {
                Role::Timestamp => placed.value = open.begin,
                Role::PacketSequenceNumber if is_wide(placed) => {
                    let value = between(self.sequence, placed.value, self.next.sequence, 1, placed.bits());
                    if value != placed.value {
                        changes.push("impossible sequence number: the next one");
                    }
                    placed.value = value;
                    self.sequence = Some(value);
                }
                Role::PacketSequenceNumber => self.sequence = Some(placed.value),
                Role::DiscardedEventCounter if is_wide(placed) => {
                    let value = between(self.discarded, placed.value, self.next.discarded, 0, placed.bits());
                    if value != placed.value {
                        changes.push("impossible counter of discarded events: that of the packet before");
                    }
                    placed.value = value;
                    self.discarded = Some(value);
                }
                _ => {}
            }
        }
        changes
    }
}

fn is_wide(placed: &Placed) -> bool {
    placed.bits() >= WIDE
}

/// Returns a valid value of a counter between those of the packets before and after it, which grow by at
/// least `step`: its own value, if that is valid. `bits` is the width of the counter.
fn between(before: Option<u64>, value: u64, next: Option<u64>, step: u64, bits: u64) -> u64 {
    // If a counter grows by more than half of its range, readers assume that it was reset.
    let half = u64::MAX >> (65 - bits.clamp(2, 64));
    let can_follow = |from: u64, to: u64| to >= from && to - from <= half;
    let least = before.map_or(0, |before| before.saturating_add(step));
    // Ignore the next value if it is invalid itself.
    let most = next.and_then(|next| next.checked_sub(step));
    let most = most.filter(|most| before.is_none() || can_follow(least, *most));
    let follows = before.is_none() || can_follow(least, value);
    if follows && most.is_none_or(|most| can_follow(value, most)) {
        return value;
    }
    match (before, most) {
        (None, Some(most)) => most,
        _ => least,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(between(Some(4), 4, Some(4), 0, 64), 4);
        assert_eq!(between(Some(1), u64::MAX - 5, None, 1, 64), 2);
        assert_eq!(between(Some(1), 0xf000_0000, None, 1, 32), 2);
        assert_eq!(between(Some(u64::MAX), 4, None, 1, 64), u64::MAX);
    }
}
