//! What tracers discarded, by what packets count.

use ichnos_model::ClockValue;

use crate::packet_entry::PacketEntry;
use crate::stream::CtfCursor;

/// What a tracer discarded, and between which times if that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// None: unknown.
    pub(crate) count: Option<u64>,
    pub(crate) range: Option<(ClockValue, ClockValue)>,
}

impl CtfCursor {
    /// Whether the loss, or a part of it, was at a wanted time.
    pub(crate) fn is_in_window(&self, loss: &Loss) -> bool {
        let Some((begin, end)) = loss.range else { return true };
        self.window.begin.is_none_or(|wanted| end.nanoseconds >= wanted)
            && self.window.end.is_none_or(|wanted| begin.nanoseconds <= wanted)
    }

    /// What was discarded before or in the current packet.
    pub(crate) fn discarded_events(&self) -> Option<Loss> {
        let before = self.input.packet_before(self.packet);
        let count = discarded_events(before, self.entry())?;
        // What was lost before anything is known has no other beginning than this packet's.
        let begin = match before.filter(|before| before.discarded().is_some()) {
            Some(before) => before.end(),
            None => self.opened.times.begin,
        };
        Some(self.loss(count, begin, self.opened.times.end))
    }

    /// The packets that are missing before the current one, by sequence numbers.
    pub(crate) fn discarded_packets(&self) -> Option<Loss> {
        let before = self.input.packet_before(self.packet);
        let count = discarded_packets(before, self.entry())?;
        Some(self.loss(Some(count), before?.end(), self.opened.times.begin))
    }

    fn loss(&self, count: Option<u64>, begin: Option<u64>, end: Option<u64>) -> Loss {
        let value = |cycles| self.input.clock_value(cycles);
        // Both times or none: half a range says nothing, nor does one that ends before it begins.
        let range = value(begin).zip(value(end)).filter(|(begin, end)| begin.cycles <= end.cycles);
        Loss { count, range }
    }
}

/// The event records that were discarded between the end of the packet before and the end of this
/// one, by the snapshots of the counter. Within: None if nobody knows how many.
pub(crate) fn discarded_events(before: Option<&PacketEntry>, packet: &PacketEntry) -> Option<Option<u64>> {
    let now = packet.discarded().filter(|_| !packet.is_misplaced())?;
    let count = match before.and_then(|before| before.discarded()) {
        // A counter that was set back has counted from 0 since.
        Some(before) => Some(now.since(before).unwrap_or(now.value)),
        None => (now.value == 0).then_some(0),
    };
    (count != Some(0)).then_some(count)
}

/// How many packets are missing between two that follow each other, by sequence numbers.
pub(crate) fn discarded_packets(before: Option<&PacketEntry>, packet: &PacketEntry) -> Option<u64> {
    let missing = packet.sequence()?.since(before?.sequence()?)?.checked_sub(1)?;
    (missing > 0 && !packet.is_misplaced()).then_some(missing)
}
