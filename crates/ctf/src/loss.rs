//! What tracers discarded, by what packets count.

use ichnos_model::{ClockValue, Window};

use crate::packet_entry::PacketEntry;

/// What a tracer discarded, and between which times if that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// None: unknown.
    pub(crate) count: Option<u64>,
    pub(crate) range: Option<(ClockValue, ClockValue)>,
}

impl Loss {
    /// Whether the loss, or a part of it, was at a wanted time.
    pub(crate) fn is_in(&self, window: &Window) -> bool {
        let Some((begin, end)) = self.range else { return true };
        window.begin.is_none_or(|wanted| end.nanoseconds >= wanted)
            && window.end.is_none_or(|wanted| begin.nanoseconds <= wanted)
    }

    /// When it began, in nanoseconds.
    pub(crate) fn begin(&self) -> Option<i128> {
        self.range.map(|(begin, _)| begin.nanoseconds)
    }
}

/// The event records that were discarded between the end of the packet before and the end of this
/// one, by the snapshots of the counter. Within: None if their number is unknown.
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
