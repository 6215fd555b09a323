//! Leaving off reading a data stream, and going on with it later.

use std::sync::Arc;

use ichnos_model::walk::Position;
use ichnos_model::{Cursor, MessageKind, Window};

use crate::quirks::Quirk;
use crate::stream::{CtfCursor, Current, State};
use crate::stream_input::StreamInput;

/// The message that a cursor is at, and what it takes to find that again: much less than the cursor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResumePoint {
    kind: ResumeKind,
    packet: u32,
    /// Where in the packet the event record begins, or where reading has come to before its end, in bits.
    bit: u64,
    /// [`ResumeKind::Event`]: the value of the default clock before the event record; otherwise the time of
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
    /// Where it is. None where it takes more than that to go on, which is the case for few data streams at a
    /// time, or in few traces: at loss and damage, at events whose times are wrong, with clocks that run on
    /// from packet to packet or beside the default one, within a byte.
    pub(crate) fn resume_point(&self) -> Option<ResumePoint> {
        let (kind, at, cycles) = match self.head()?.kind {
            MessageKind::PacketBegin => (ResumeKind::PacketBegin, Position::default(), self.last_event),
            MessageKind::Event if self.current == Current::Event => {
                (ResumeKind::Event, self.begins[2], self.clock_before)
            }
            MessageKind::PacketEnd if !self.has_window || !self.mends_packet_ends() => {
                (ResumeKind::PacketEnd, self.at, self.last_event)
            }
            _ => return None,
        };
        let is_resumable = self.clocks.value().is_some()
            && !self.clocks.go_on
            && self.rules.records.other_clocks.is_empty()
            && !self.is_late
            && self.is_late_reported == self.opened.times.are_mended
            && self.lost_files.len() == self.input.lost_files().len()
            && at == Position::at(at.bit);
        let packet = u32::try_from(self.packet).ok()?;
        is_resumable.then_some(ResumePoint { kind, packet, bit: at.bit, cycles })
    }

    /// Whether packets end with their last events, by a quirk of the tracer.
    fn mends_packet_ends(&self) -> bool {
        self.has_quirk(Quirk::LttngCrashPacketEnd) || self.has_quirk(Quirk::LttngEventAfterPacket)
    }

    /// Goes to the message of a resume point. Where its bytes are gone by now, there is no message; what comes
    /// next is the damage.
    fn resume(&mut self, at: &ResumePoint) {
        let opened = self.open_packet();
        if let Err(damage) = self.unless_lost(opened) {
            return self.skip_packet(damage);
        }
        match at.kind {
            ResumeKind::Event => {
                self.state = State::InPacket;
                self.at = Position::at(at.bit);
                self.look_ahead();
                self.clocks.set_default(at.cycles);
                if self.next_event() {
                    self.report_event();
                }
            }
            ResumeKind::PacketBegin => {
                self.last_event = at.cycles;
                self.queue_packet_begin();
                self.deliver_queued();
            }
            ResumeKind::PacketEnd => {
                self.at = Position::at(at.bit);
                self.last_event = at.cycles;
                // Where the packet ends with its last event, this is its time.
                self.clocks.set_default(at.cycles);
                self.queue_packet_end();
                self.deliver_queued();
            }
        }
    }
}

impl StreamInput {
    /// A cursor over what is in the window, at the message of a resume point.
    pub(crate) fn cursor_resumed(self: &Arc<Self>, window: Window, at: &ResumePoint) -> CtfCursor {
        let mut cursor = self.cursor_at(window, at.packet as usize);
        cursor.resume(at);
        cursor
    }
}
