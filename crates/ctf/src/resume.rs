//! Suspending and resuming a data stream at a message.

use std::sync::Arc;

use ichnos_model::cursor::{MessageKind, Reopen};
use ichnos_model::decode::Position;
use ichnos_model::source::{NextRecord, Record, SourceCursor};
use ichnos_model::{Cursor, DataStream, Window};

use crate::source::{CtfCursor, CtfSource, EventDelivery};
use crate::stream_input::StreamInput;

/// Current message of a cursor, with the state to find it again. Much smaller than the cursor.
#[derive(Clone, Copy, Debug)]
pub struct ResumePoint {
    kind: ResumeKind,
    packet: u32,
    /// Bit where the event record begins in the packet, or the last bit reached before the packet's end.
    bit: u64,
    /// Default clock value before the event record for [`ResumeKind::Event`], otherwise the time of the last event
    /// before the message.
    cycles: u64,
    /// Begin time of the packet, if its recorded begin is too late.
    earlier_begin: Option<u64>,
    /// First bit of the packet's scannable range, and the default clock value there.
    range_begin: (u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResumeKind {
    PacketBegin,
    Event,
    PacketEnd,
}

/// Returns the resume point for the current message, or `None` if resuming needs more state.
/// Few traces, or few data streams at a time, need more: at loss and damage, at events with wrong times, within a byte,
/// and if clocks other than the default clock exist or clocks continue from packet to packet.
fn resume_point(cursor: &CtfCursor) -> Option<ResumePoint> {
    let source = cursor.source();
    let (scanner, packets) = (&source.scanner, &source.packets);
    let last = scanner.order.last;
    let (kind, at, cycles) = match cursor.head()?.kind {
        MessageKind::PacketBegin => (ResumeKind::PacketBegin, Position::default(), last),
        MessageKind::Event if cursor.is_at_event() => {
            (ResumeKind::Event, scanner.event_begin(), scanner.clock_before())
        }
        // A corrected end may depend on events that are not read again.
        MessageKind::PacketEnd
            if (!source.has_window || !packets.ends_with_event()) && !packets.times().are_corrected =>
        {
            (ResumeKind::PacketEnd, scanner.at(), last)
        }
        _ => return None,
    };
    let is_resumable = scanner.clocks.value().is_some()
        && !scanner.clocks.go_on
        && !scanner.has_other_clocks()
        && !source.is_behind_window
        && scanner.order.is_late_reported() == packets.times().are_corrected
        && packets.has_lost_nothing()
        && at == Position::at(at.bit);
    let packet = u32::try_from(packets.index()).ok()?;
    let earlier_begin = packets.earlier_begin();
    let range_begin = scanner.range_begin().unwrap_or((at.bit, cycles));
    is_resumable.then_some(ResumePoint { kind, packet, bit: at.bit, cycles, earlier_begin, range_begin })
}

impl CtfSource {
    /// Moves to the message of a resume point. If its bytes are lost by now, the damage comes next.
    fn resume(&mut self, record: &mut Record, at: &ResumePoint) -> Option<NextRecord> {
        let queue = &mut record.messages;
        if !self.open_packet(queue, |_| at.earlier_begin) {
            return None;
        }
        match at.kind {
            ResumeKind::Event => {
                self.scanner.go_to(at.bit, at.cycles);
                self.scanner.set_range_begin(at.range_begin);
                self.look_ahead();
                // `look_ahead` has moved it, but the next resume point needs the same value.
                self.scanner.set_range_begin(at.range_begin);
                return (self.scanner.next_event() && self.deliver_event(queue) == EventDelivery::Now)
                    .then_some(NextRecord::Event);
            }
            ResumeKind::PacketBegin => {
                self.scanner.order.last = at.cycles;
                self.queue_packet_begin(queue);
            }
            ResumeKind::PacketEnd => {
                // If the packet ends with its last event, this is its time.
                self.scanner.go_to(at.bit, at.cycles);
                self.scanner.order.last = at.cycles;
                self.queue_packet_end(queue);
            }
        }
        Some(NextRecord::Messages)
    }
}

impl Reopen for StreamInput {
    type Cursor = CtfCursor;
    type Point = ResumePoint;

    fn stream(&self) -> &DataStream {
        &self.stream
    }

    fn open(self: &Arc<Self>, window: Window) -> CtfCursor {
        self.cursor(window)
    }

    fn reopen(self: &Arc<Self>, window: Window, at: &ResumePoint) -> CtfCursor {
        let source = CtfSource::new(self, window, at.packet as usize);
        let (stream, limits) = (Arc::clone(&self.stream), self.rules.limits);
        SourceCursor::resumed(stream, source, window, limits, |source, record| source.resume(record, at))
    }

    fn point(cursor: &CtfCursor) -> Option<ResumePoint> {
        resume_point(cursor)
    }

    fn release(&self) {
        self.files.iter().for_each(|file| file.bytes.release());
    }
}

#[cfg(test)]
mod tests {
    use ichnos_model::cursor::SmallCursor;

    use super::*;

    #[test]
    fn a_cursor_that_waits_is_small() {
        assert!(size_of::<SmallCursor<StreamInput>>() * 5 < size_of::<CtfCursor>());
    }
}
