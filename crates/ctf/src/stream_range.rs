//! Time ranges of data streams.
//!
//! Packets give them. Some tracers record wrong end times: then the last event decides. Only the last packet is decoded
//! for this, and only once.

use crate::packet_entry::PacketEntry;
use crate::quirks::Quirk;
use crate::stream_input::{StreamInput, StreamRange};

impl StreamInput {
    /// First and last known time in packets, in nanoseconds.
    #[must_use]
    pub fn time_range(&self) -> Option<(i128, i128)> {
        self.range().known
    }

    /// Returns the times of the data stream.
    pub(crate) fn range(&self) -> StreamRange {
        *self.range.get_or_init(|| self.find_range())
    }

    fn find_range(&self) -> StreamRange {
        let Some(last) = self.packets.len().checked_sub(1) else { return StreamRange::default() };
        let nanoseconds = |cycles: u64| Some(self.clock_value(Some(cycles))?.nanoseconds);
        let outermost = [0, last].map(|packet| self.earlier_begin(packet));
        let is_early = self.packets.get(last).is_some_and(|entry| {
            entry.begin().zip(entry.end()).is_some_and(|(begin, end)| end < begin) && outermost[1].is_none()
        });
        // A packet cannot end before it begins. In LTTng, a packet of a crashed program ends at 0.
        let is_uncertain = is_early || self.rules.quirks.contains(&Quirk::LttngEventAfterPacket);
        let last_event = if is_uncertain { self.last_event(last).and_then(nanoseconds) } else { None };
        let begin = outermost[0].or(self.packets.first().and_then(PacketEntry::begin)).and_then(nanoseconds);
        let end = self.packets.get(last).and_then(PacketEntry::end);
        let end = end.and_then(|end| last_event.or_else(|| nanoseconds(end)));
        StreamRange { known: self.known_range(outermost, last_event), active: begin.zip(end) }
    }

    /// Returns the first and the last known time.
    fn known_range(&self, earlier: [Option<u64>; 2], last_event: Option<i128>) -> Option<(i128, i128)> {
        let last = self.packets.len().checked_sub(1)?;
        let times = self.packets.iter().enumerate().flat_map(|(i, packet)| {
            // Other begin times are within the range, even if they are too late.
            let [first, other] = earlier;
            let earlier = if i == 0 { first } else { other.filter(|_| i == last) };
            let begin = earlier.or(packet.begin());
            // An end before the begin is ignored.
            [begin, packet.end().filter(|end| begin.is_none_or(|begin| begin <= *end))]
        });
        let times = times.filter_map(|cycles| Some(self.clock_value(cycles)?.nanoseconds));
        times.chain(last_event).fold(None, |range, time| {
            let (first, last) = range.unwrap_or((time, time));
            Some((first.min(time), last.max(time)))
        })
    }

    /// Returns the default clock value of the packet's last event record, or of its begin without event records.
    fn last_event(&self, packet: usize) -> Option<u64> {
        let (mut scanner, times) = self.scanner_in(packet)?;
        scanner.scan_to_end();
        let mut last = times.begin?;
        while scanner.next_event() {
            last = scanner.event_clock().map_or(last, |clock| clock.cycles);
        }
        Some(last)
    }
}
