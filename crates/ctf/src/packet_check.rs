//! Checks for a packet as a whole, without its events.

use ichnos_model::DataStream;
use ichnos_model::message::DamageKind;

use crate::packet::{Counter, PacketInfo};
use crate::packet_entry::PacketEntry;
use crate::rule::Rule;

/// A packet and its surroundings in the data stream.
pub(crate) struct PacketCheck<'a> {
    pub(crate) stream: &'a DataStream,
    pub(crate) entry: &'a PacketEntry,
    /// Previous packet in the data stream.
    pub(crate) before: Option<&'a PacketEntry>,
    /// Values read from the packet, for comparison with the entry. `None`: the packet was not read again.
    pub(crate) info: Option<&'a PacketInfo>,
    /// `true` if an end time of 0 means "unknown".
    pub(crate) may_lack_end: bool,
}

impl PacketCheck<'_> {
    /// Number of checks.
    const COUNT: u8 = 6;

    /// Returns all flaws of the packet.
    pub(crate) fn flaws(&self) -> impl Iterator<Item = DamageKind> {
        let count = if self.is_flawless() { 0 } else { Self::COUNT };
        (0..count).filter_map(|number| self.flaw(number))
    }

    /// Returns `true` if the packet lacks flaws, as nearly all packets do.
    fn is_flawless(&self) -> bool {
        self.entry.flaws().is_none()
            && self.is_as_indexed()
            && self.end_before_begin().is_none()
            && self.goes_back(PacketEntry::discarded).is_none()
            && self.goes_back(PacketEntry::sequence).is_none()
    }

    /// Returns the flaw with this number, if the packet has it.
    fn flaw(&self, number: u8) -> Option<DamageKind> {
        let backwards = |counter, (from, to): (u64, u64)| Rule::CounterBackwards { counter, from, to }.into();
        match number {
            0 if self.is_as_indexed() => None,
            0 => match (self.info?.foreign, self.stream.trace.class.uuid) {
                (Some((found, _)), Some(expected)) if !self.entry.is_foreign() => {
                    Some(Rule::Uuid { expected, found }.into())
                }
                _ => match (self.info?.stream_id, self.stream.id) {
                    (Some(found), Some(expected)) if found != expected => {
                        Some(Rule::DataStream { found, expected }.into())
                    }
                    _ => Some(Rule::FalseIndex.into()),
                },
            },
            1 => self.entry.flaws()?.misplaced.map(|begin| Rule::Misplaced { begin }.into()),
            2 => self.end_before_begin().map(|(begin, end)| Rule::EndBeforeBegin { begin, end }.into()),
            3 => {
                let flaws = self.entry.flaws().filter(|flaws| flaws.misplaced.is_none())?;
                Some(Rule::EndAfterNext { end: flaws.late_end?, next: self.entry.end()? }.into())
            }
            4 => {
                let values = self.goes_back(PacketEntry::discarded)?;
                Some(backwards("counter of discarded event records", values))
            }
            5 => Some(backwards("packet sequence number", self.goes_back(PacketEntry::sequence)?)),
            _ => None,
        }
    }

    /// Returns `true` if the packet matches its entry. Only entries from a tracer's index can differ.
    fn is_as_indexed(&self) -> bool {
        // Data streams without an id in their packets can be numbered.
        let is_of_stream = |info: &PacketInfo| info.stream_id.is_none_or(|id| self.stream.id == Some(id));
        self.info.is_none_or(|info| is_of_stream(info) && self.entry.matches(info))
    }

    /// Returns begin and end if the packet ends before it begins.
    fn end_before_begin(&self) -> Option<(u64, u64)> {
        let (begin, end) = self.info.map_or(self.entry.recorded_times(), |info| (info.begin, info.end));
        let (begin, end) = begin.zip(end).filter(|(begin, end)| begin > end)?;
        let is_reported_or_absent = self.entry.has_other_begin() || self.may_lack_end && end == 0;
        (!is_reported_or_absent).then_some((begin, end))
    }

    /// Returns the previous and the current counter value, if the counter goes back.
    #[inline]
    fn goes_back(&self, value: impl Fn(&PacketEntry) -> Option<Counter>) -> Option<(u64, u64)> {
        let (before, now) = (value(self.before?)?, value(self.entry)?);
        (now.since(before).is_none() && !self.entry.is_misplaced()).then_some((before.value, now.value))
    }
}
