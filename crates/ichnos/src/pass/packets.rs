//! Passes over a data stream by packet, so that packets can be copied or skipped without reading their events.

use std::io;
use std::ops::ControlFlow;

use ichnos_model::cursor::{BoxedCursor, MessageKind, StreamCursor as _};
use ichnos_model::event::Packet;
use ichnos_model::{Event, Message, Sink};

use super::{Pass, PassSummary};

/// Treatment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketFlow {
    /// Its messages are passed to the sink.
    Read,
    /// It is skipped.
    Skip,
    /// It was copied as a whole.
    Copied,
}

/// Sink for the messages of a data stream, which sees each packet before its messages.
pub(super) trait PacketSink: Sink {
    /// Handles the start of a packet. If the packet is read, its start also comes as a message.
    fn begin_packet(&mut self, packet: &Packet<'_>) -> io::Result<PacketFlow>;

    /// Handles a message of a copied packet, if these messages are needed.
    fn copied_message(&mut self, message: &Message<'_>);

    /// Returns `true` if further messages are not needed.
    fn is_over(&self) -> bool {
        false
    }
}

/// Stops in front of each packet.
struct PacketGate<'s, S> {
    sink: &'s mut S,
    /// `true` if the next message is the first of its packet.
    is_first: bool,
}

impl<S: Sink> Sink for PacketGate<'_, S> {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if matches!(message, Message::PacketBegin(_)) && !self.is_first {
            return Ok(ControlFlow::Break(()));
        }
        self.is_first = false;
        self.sink.message(message)
    }

    fn precede(&mut self, event: &Event<'_>) {
        self.sink.precede(event);
    }

    fn step(&mut self, message: &Message<'_>, events: u32) -> io::Result<()> {
        self.sink.step(message, events)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl Pass {
    /// Passes the selected messages of a data stream to a sink. With `reads_copied`, the messages of copied packets
    /// are read, too.
    pub(super) fn run_packets<S: PacketSink>(
        &self,
        mut cursor: BoxedCursor,
        sink: &mut S,
        reads_copied: bool,
    ) -> io::Result<PassSummary> {
        let mut gate = PacketGate { sink, is_first: true };
        let mut run = self.start(&mut gate);
        let is_stopped = || self.is_stopped();
        let mut has_message = cursor.next_head().is_some();
        while has_message && !run.has_ended() && !run.sink.sink.is_over() && !is_stopped() {
            if let Some(Message::PacketBegin(packet)) = cursor.current() {
                let sink = &mut *run.sink.sink;
                let flow = sink.begin_packet(&packet)?;
                if flow != PacketFlow::Read {
                    has_message = match flow == PacketFlow::Copied && reads_copied {
                        true => pass_copied_packet(&mut cursor, &mut |message| sink.copied_message(message)),
                        false => pass_packet(&mut cursor, &is_stopped),
                    };
                    continue;
                }
            }
            // Up to the start of the next packet, which becomes the current message.
            run.sink.is_first = true;
            has_message = cursor.drain_all(&mut |message| run.take(message));
        }
        run.finish()
    }
}

/// Moves to the start of the next packet. Sets the cursor to `None` at the end.
pub(super) fn to_next_packet(cursor: &mut Option<BoxedCursor>, is_stopped: &dyn Fn() -> bool) {
    if let Some(cursor) = cursor {
        // If the packet cannot be skipped, its events are read and ignored.
        cursor.skip_packet();
        while let Some(head) = cursor.next_head() {
            if head.kind == MessageKind::PacketBegin || is_stopped() {
                return;
            }
        }
    }
    *cursor = None;
}

/// Moves past the packet whose start is the current message. Returns `false` at the end.
fn pass_packet(cursor: &mut BoxedCursor, is_stopped: &dyn Fn() -> bool) -> bool {
    // If the packet cannot be skipped, its events are read and ignored.
    cursor.skip_packet();
    while let Some(head) = cursor.next_head() {
        if head.kind == MessageKind::PacketEnd {
            return cursor.next_head().is_some();
        }
        if is_stopped() {
            break;
        }
    }
    false
}

/// Moves past a copied packet. `take` receives its messages as written.
fn pass_copied_packet(cursor: &mut BoxedCursor, take: &mut dyn FnMut(&Message<'_>)) -> bool {
    let mut is_behind = false;
    cursor.drain_all(&mut |message| {
        if is_behind {
            return ControlFlow::Break(());
        }
        is_behind = matches!(message, Message::PacketEnd(_));
        take(message);
        ControlFlow::Continue(())
    })
}
