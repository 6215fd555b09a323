//! Reading a data stream from the middle on.

use std::sync::Arc;

use ichnos_model::{Cut, DataStream, Place, Window, advance_to};

use crate::packet::Clocks;
use crate::packet_entry::PacketEntry;
use crate::quirks::Quirk;
use crate::stream::{Phase, StreamCursor};
use crate::stream_input::StreamInput;

/// Whether what a packet of a data stream says can be understood without those before it.
pub(crate) fn packets_stand_alone(stream: &DataStream, packets: &[PacketEntry], quirks: &[Quirk]) -> bool {
    !Clocks::of(&stream.trace.class).go_on
        && stream.clock().is_some()
        && packets.iter().all(|packet| packet.begin().is_some())
        // Such packets begin earlier than they say.
        && !quirks.contains(&Quirk::BarectfEventBeforePacket)
}

impl StreamInput {
    /// See [`ichnos_model::TraceInput::cuts`].
    pub(crate) fn cuts(&self, grain: u64) -> Option<Vec<Cut>> {
        if self.stream.clock().is_none() {
            // All of it comes at once.
            return Some(Vec::new());
        }
        if !self.packets_stand_alone {
            return None;
        }
        let mut cuts: Vec<Cut> = Vec::new();
        let (mut bytes, mut largest) = (0u64, 0);
        for (i, packet) in self.packets.iter().enumerate() {
            if bytes >= grain
                && let Some(time) = self.begin_of(i)
            {
                cuts.push(Cut { time, bytes, overlap: largest / 2 });
                (bytes, largest) = (0, 0);
            }
            let size = packet.available(self.file_size(packet));
            bytes = bytes.saturating_add(size);
            largest = largest.max(size);
        }
        if let Some((_, end)) = self.time_range() {
            cuts.push(Cut { time: end, bytes, overlap: largest / 2 });
        }
        Some(cuts)
    }

    /// A cursor at the first message at `begin` or later.
    pub(crate) fn cursor_from(self: &Arc<Self>, window: Window, begin: i128) -> StreamCursor {
        if self.stream.clock().is_none() {
            let mut cursor = self.cursor_at(window, 0);
            cursor.phase = Phase::Done;
            return cursor;
        }
        let mut cursor = if self.packets_stand_alone {
            let after = self.packets.partition_point(|packet| {
                self.clock_value(packet.begin()).is_some_and(|value| value.nanoseconds < begin)
            });
            // The last packet that begins before.
            self.cursor_at(window, after.saturating_sub(1))
        } else {
            self.cursor(window)
        };
        advance_to(&mut cursor, begin);
        cursor
    }
}

impl StreamCursor {
    /// See [`ichnos_model::Cursor::place`]. The clock needs no place of its own: each packet sets it.
    pub(crate) fn place_in_stream(&self) -> Place {
        if self.phase == Phase::Done {
            return Place::End;
        }
        let phase = self.phase.number() << 1 | u64::from(self.is_late_told);
        Place::At([self.packet as u64, phase, self.at.bit, self.last_event])
    }
}
