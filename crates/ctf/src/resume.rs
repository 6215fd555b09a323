//! Suspending and resuming a data stream at a message.

use std::sync::Arc;

use ichnos_model::decode::Position;
use ichnos_model::{Cursor, MessageKind, Window};

use crate::cursor::{CtfCursor, CurrentMessage};
use crate::stream_input::StreamInput;

/// Current message of a cursor, and the state to find it again: much smaller than the cursor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResumePoint {
    kind: ResumeKind,
    packet: u32,
    /// Bit of the packet at which the event record begins, or that was reached before the packet's end.
    bit: u64,
    /// For [`ResumeKind::Event`], value of the default clock before the event record; otherwise the time of
    /// the last event before the message.
    cycles: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResumeKind {
    PacketBegin,
    Event,
    PacketEnd,
}

impl CtfCursor {
    /// Returns the point of the current message, or `None` if resuming needs more than that. This is so for
    /// few data streams at a time, or in few traces: at loss and damage, at events whose times are wrong,
    /// with clocks that continue from packet to packet or beside the default one, within a byte.
    pub(crate) fn resume_point(&self) -> Option<ResumePoint> {
        let last = self.scanner.order.last;
        let (kind, at, cycles) = match self.head()?.kind {
            MessageKind::PacketBegin => (ResumeKind::PacketBegin, Position::default(), last),
            MessageKind::Event if self.current == CurrentMessage::Event => {
                (ResumeKind::Event, self.scanner.event_begin(), self.scanner.clock_before())
            }
            // A corrected end may depend on events that are not read again.
            MessageKind::PacketEnd
                if (!self.has_window || !self.packets.ends_with_event())
                    && !self.packets.times().are_corrected =>
            {
                (ResumeKind::PacketEnd, self.scanner.at(), last)
            }
            _ => return None,
        };
        let is_resumable = self.scanner.clocks.value().is_some()
            && !self.scanner.clocks.go_on
            && !self.scanner.has_other_clocks()
            && !self.is_behind_window
            && self.scanner.order.is_late_reported() == self.packets.times().are_corrected
            && self.packets.has_lost_nothing()
            && at == Position::at(at.bit);
        let packet = u32::try_from(self.packets.index()).ok()?;
        is_resumable.then_some(ResumePoint { kind, packet, bit: at.bit, cycles })
    }

    /// Moves to the message of a resume point. If its bytes are lost by now, the damage comes next.
    fn resume(&mut self, at: &ResumePoint) {
        if !self.open_packet() {
            return;
        }
        match at.kind {
            ResumeKind::Event => {
                self.scanner.go_to(at.bit, at.cycles);
                self.look_ahead();
                if self.scanner.next_event() {
                    self.deliver_event();
                }
            }
            ResumeKind::PacketBegin => {
                self.scanner.order.last = at.cycles;
                self.queue_packet_begin();
                self.deliver_queued();
            }
            ResumeKind::PacketEnd => {
                // If the packet ends with its last event, this is its time.
                self.scanner.go_to(at.bit, at.cycles);
                self.scanner.order.last = at.cycles;
                self.queue_packet_end();
                self.deliver_queued();
            }
        }
    }
}

impl StreamInput {
    /// Returns a cursor over the messages in the window, at the message of a resume point.
    pub(crate) fn cursor_resumed(self: &Arc<Self>, window: Window, at: &ResumePoint) -> CtfCursor {
        let mut cursor = self.cursor_at(window, at.packet as usize);
        cursor.resume(at);
        cursor
    }
}
