//! Packets whose recorded begin time is later than their events.

use crate::event_scanner::EventScanner;
use crate::packet_reader::PacketContent;
use crate::packet_times::PacketTimes;
use crate::stream_input::StreamInput;

impl StreamInput {
    /// Returns the packet's begin time if the recorded time is too late, see [`EventScanner::earlier_begin`].
    pub(crate) fn earlier_begin(&self, packet: usize) -> Option<u64> {
        let (scanner, times) = self.scanner_in(packet)?;
        let (begin, end) = times.begin.zip(times.end)?;
        scanner.earlier_begin(begin, end, self.end_before(packet))
    }

    /// Returns a scanner before the first event record of a packet, and the packet's times. Returns `None` if the packet
    /// cannot be decoded without earlier packets, or its start time is unknown.
    pub(crate) fn scanner_in(&self, packet: usize) -> Option<(EventScanner, PacketTimes)> {
        let entry = self.packets.get(packet)?;
        let file = &self.files.get(entry.file as usize)?.bytes;
        let mut scanner = EventScanner::new(&self.stream, &self.rules);
        let (slots, clocks) = scanner.decode_state();
        if clocks.go_on {
            return None;
        }
        let offset = usize::try_from(entry.offset).ok()?;
        let size = usize::try_from(entry.available(file.len() as u64)).ok()?;
        let data = file.slice(offset..offset.checked_add(size)?);
        let info = self.decoder().decode(&data, slots, clocks).ok()?;
        let times = PacketTimes::for_packet(self, packet, &info);
        clocks.set_default(times.begin.filter(|_| info.class == self.stream.class_index)?);
        let content = info.content.unwrap_or(data.len() as u64 * 8);
        scanner.enter_packet(PacketContent { data, end: content, begins: info.begins });
        Some((scanner, times))
    }
}
