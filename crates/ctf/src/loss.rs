//! Loss shown by packet counters.

use ichnos_model::Window;
use ichnos_model::clock::ClockValue;
use ichnos_model::source::StreamLoss;

use crate::packet::Counter;
use crate::packet_entry::PacketEntry;

/// Data discarded by a tracer, and its time range if known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracerLoss {
    /// Number of discarded items. `None`: unknown.
    pub(crate) count: Option<u64>,
    pub(crate) range: Option<(ClockValue, ClockValue)>,
}

impl TracerLoss {
    /// Returns `true` if at least part of the loss is in the window.
    pub(crate) fn is_in(&self, window: &Window) -> bool {
        let Some((begin, end)) = self.range else { return true };
        window.begin.is_none_or(|wanted| end.nanoseconds >= wanted)
            && window.end.is_none_or(|wanted| begin.nanoseconds <= wanted)
    }

    /// Returns the loss's begin time in nanoseconds.
    pub(crate) fn begin(&self) -> Option<i128> {
        self.range.map(|(begin, _)| begin.nanoseconds)
    }
}

impl From<TracerLoss> for StreamLoss {
    fn from(TracerLoss { count, range }: TracerLoss) -> Self {
        let (begin, end) = range.unzip();
        Self { count, thread: None, begin, end }
    }
}

/// Meaning of a counter of discarded events that is smaller than in the previous packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SmallerCounter {
    /// It wrapped or was reset, whatever is possible.
    #[default]
    WrappedOrReset,
    /// It shows no loss, as in Babeltrace.
    Ignored,
}

impl SmallerCounter {
    fn is_ignored(self, before: Counter, now: Counter) -> bool {
        self == Self::Ignored && now.value < before.value
    }
}

/// Returns the number of event records discarded since the previous packet's end, from counter snapshots. The inner
/// value is `None` if the number is unknown.
pub(crate) fn discarded_events(
    before: Option<&PacketEntry>,
    packet: &PacketEntry,
    smaller: SmallerCounter,
) -> Option<Option<u64>> {
    let now = packet.discarded().filter(|_| !packet.is_misplaced())?;
    let count = match before.and_then(|before| before.discarded()) {
        Some(before) if smaller.is_ignored(before, now) => Some(0),
        // A counter that was reset has counted from 0 since.
        Some(before) => Some(now.since(before).unwrap_or(now.value)),
        None => (now.value == 0).then_some(0),
    };
    (count != Some(0)).then_some(count)
}

/// Returns the number of packets missing between two consecutive packets, from sequence numbers.
pub(crate) fn discarded_packets(before: Option<&PacketEntry>, packet: &PacketEntry) -> Option<u64> {
    let missing = packet.sequence()?.since(before?.sequence()?)?.checked_sub(1)?;
    (missing > 0 && !packet.is_misplaced()).then_some(missing)
}
