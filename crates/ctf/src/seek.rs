//! Reading a data stream from the middle.

use std::sync::Arc;

use ichnos_model::trace::{SplitPoint, advance_to};
use ichnos_model::{DataStream, Window};

use crate::packet::Clocks;
use crate::packet_entry::PacketEntry;
use crate::quirks::Quirk;
use crate::source::CtfCursor;
use crate::stream_input::StreamInput;

/// Returns `true` if packets in a data stream can be decoded without earlier packets.
pub(crate) fn packets_stand_alone(stream: &DataStream, packets: &[PacketEntry], quirks: &[Quirk]) -> bool {
    !Clocks::for_trace(&stream.trace.class).go_on
        && stream.clock().is_some()
        && packets.iter().all(|packet| packet.begin().is_some())
        // Such packets begin earlier than recorded.
        && !quirks.contains(&Quirk::BarectfEventBeforePacket)
}

impl StreamInput {
    /// See [`ichnos_model::OpenedTrace::split_points`].
    pub(crate) fn split_points(&self, grain: u64) -> Option<Vec<SplitPoint>> {
        if self.stream.clock().is_none() {
            // Without a clock, all messages come at once.
            return Some(Vec::new());
        }
        if !self.packets_stand_alone {
            return None;
        }
        let mut split_points: Vec<SplitPoint> = Vec::new();
        let (mut bytes, mut largest) = (0u64, 0);
        for (i, packet) in self.packets.iter().enumerate() {
            if bytes >= grain
                && let Some(time) = self.begin_of(i)
            {
                split_points.push(SplitPoint { time, bytes, overlap: largest / 2 });
                (bytes, largest) = (0, 0);
            }
            let size = packet.available(self.file_size(packet));
            bytes = bytes.saturating_add(size);
            largest = largest.max(size);
        }
        if let Some((_, end)) = self.time_range() {
            split_points.push(SplitPoint { time: end, bytes, overlap: largest / 2 });
        }
        Some(split_points)
    }

    /// Returns a cursor at the first message at `begin` or later.
    pub(crate) fn cursor_from(self: &Arc<Self>, window: Window, begin: i128) -> CtfCursor {
        if self.stream.clock().is_none() {
            return self.cursor_at(window, 0).ended();
        }
        let mut cursor = if self.packets_stand_alone {
            let after = self.packets.partition_point(|packet| {
                self.clock_value(packet.begin()).is_some_and(|value| value.nanoseconds < begin)
            });
            // Last packet that begins before `begin`.
            self.cursor_at(window, after.saturating_sub(1))
        } else {
            self.cursor(window)
        };
        advance_to(&mut cursor, begin);
        cursor
    }
}
