//! What is wrong with a packet as a whole, apart from its events.

use ichnos_model::{DamageKind, DataStream};

use crate::packet::{Counter, PacketInfo};
use crate::packet_entry::PacketEntry;

/// A packet, and what is known of it besides.
pub(crate) struct PacketCheck<'a> {
    pub(crate) stream: &'a DataStream,
    pub(crate) entry: &'a PacketEntry,
    /// The packet before in the data stream.
    pub(crate) before: Option<&'a PacketEntry>,
    /// What the packet says where it lies, which the entry should say, too; None: it was not looked
    /// at again.
    pub(crate) info: Option<&'a PacketInfo>,
    /// Whether an end of 0 stands for an unknown one.
    pub(crate) may_lack_end: bool,
}

impl PacketCheck<'_> {
    /// How many things are looked at.
    const COUNT: u8 = 6;

    /// All flaws that it has.
    pub(crate) fn flaws(&self) -> impl Iterator<Item = DamageKind> {
        (0..Self::COUNT).filter_map(|number| self.flaw(number))
    }

    /// The first flaw from a number on, and its number.
    pub(crate) fn first_flaw(&self, from: u8) -> Option<(u8, DamageKind)> {
        (from..Self::COUNT).find_map(|number| Some((number, self.flaw(number)?)))
    }

    /// The flaw of this number, if the packet has it.
    fn flaw(&self, number: u8) -> Option<DamageKind> {
        match number {
            0 => self.other_than_indexed(),
            1 => self.entry.flaws()?.misplaced.map(|begin| DamageKind::Misplaced { begin }),
            2 => self.end_before_begin(),
            3 => {
                let flaws = self.entry.flaws().filter(|flaws| flaws.misplaced.is_none())?;
                Some(DamageKind::EndAfterNext { end: flaws.late_end?, next: self.entry.end()? })
            }
            4 => self.goes_back("counter of discarded event records", PacketEntry::discarded),
            5 => self.goes_back("packet sequence number", PacketEntry::sequence),
            _ => None,
        }
    }

    /// Whether the packet is another one than the entry says: then that is from an index of the
    /// tracer.
    fn other_than_indexed(&self) -> Option<DamageKind> {
        let info = self.info?;
        if let (Some((found, _)), false, Some(expected)) =
            (info.foreign, self.entry.is_foreign(), self.stream.trace.class.uuid)
        {
            return Some(DamageKind::Uuid { expected, found });
        }
        let is_other = info.stream_id != self.stream.id || !self.entry.says(info);
        is_other.then_some(DamageKind::FalseIndex)
    }

    fn end_before_begin(&self) -> Option<DamageKind> {
        let (begin, end) = self.info.map_or(self.entry.said_times(), |info| (info.begin, info.end));
        let (begin, end) = (begin?, end?);
        let is_told_or_absent = self.entry.has_other_begin() || self.may_lack_end && end == 0;
        (begin > end && !is_told_or_absent).then_some(DamageKind::EndBeforeBegin { begin, end })
    }

    fn goes_back(
        &self,
        counter: &'static str,
        value: fn(&PacketEntry) -> Option<Counter>,
    ) -> Option<DamageKind> {
        if self.entry.is_misplaced() {
            return None;
        }
        let (before, now) = (value(self.before?)?, value(self.entry)?);
        let goes_back = now.since(before).is_none();
        goes_back.then_some(DamageKind::CounterBackwards { counter, from: before.value, to: now.value })
    }
}
