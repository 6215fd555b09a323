//! Time ranges of data streams.
//!
//! Packets give them. Some tracers record wrong end times: then the last event decides. Only the last packet is decoded
//! for this, and only once.

use crate::quirks::Quirk;
use crate::stream_input::{StreamInput, StreamRange};

impl StreamInput {
    /// First and last time in packets, in nanoseconds. Returns `None` if the first packet lacks a begin time or the last
    /// packet lacks an end time.
    #[must_use]
    pub fn time_range(&self) -> Option<(i128, i128)> {
        self.range().packets
    }

    /// Returns the times of the data stream.
    pub(crate) fn range(&self) -> StreamRange {
        *self.range.get_or_init(|| self.find_range().unwrap_or_default())
    }

    fn find_range(&self) -> Option<StreamRange> {
        let last = self.packets.len().checked_sub(1)?;
        let nanoseconds = |cycles: u64| Some(self.clock_value(Some(cycles))?.nanoseconds);
        let begin = self.earlier_begin(0).or(self.packets.first()?.begin())?;
        let entry = self.packets.get(last)?;
        let (end, is_late) = (entry.end()?, self.rules.quirks.contains(&Quirk::LttngEventAfterPacket));
        // A packet cannot end before it begins. In LTTng, a packet of a crashed program ends at 0.
        let is_early = entry.begin().is_some_and(|begin| end < begin) && self.earlier_begin(last).is_none();
        let last_event = if is_late || is_early { self.last_event(last) } else { None };
        let end = last_event.filter(|event| is_early || *event > end).unwrap_or(end);
        Some(StreamRange {
            packets: Some((nanoseconds(begin)?, nanoseconds(end)?)),
            last_event: last_event.and_then(nanoseconds),
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
