//! Packets that arrived together.

use std::sync::Arc;

use ichnos_model::cursor::{Head, MessageKind};
use ichnos_model::event::Packet;
use ichnos_model::message::Damage;
use ichnos_model::source::SourceCursor;
use ichnos_model::{Cursor as _, Message, Window};

use crate::event_order::EventOrder;
use crate::packet::Clocks;
use crate::packet_entry::PacketEntry;
use crate::source::{CtfCursor, CtfSource};
use crate::stream_input::StreamInput;

/// State that carries over from one packet to the next in a data stream.
#[derive(Clone, Debug)]
pub(super) struct PacketState {
    /// Last packet.
    pub(super) before: Option<PacketEntry>,
    order: EventOrder,
    /// Clocks, unless they have changed since.
    pub(super) clocks: Option<Clocks>,
    /// Number of packets.
    packets: u64,
}

/// Reads packets of a data stream that arrived together: usually one. Its messages equal those from a cursor over the
/// whole data stream.
#[derive(Debug)]
pub(super) struct ArrivedPackets {
    input: Arc<StreamInput>,
    cursor: CtfCursor,
    /// Index of the first packet in the input, and in the data stream.
    first: (u64, u64),
    /// Offset in the file of the first byte.
    offset: u64,
    /// Current damage, at its position in the file.
    damage: Option<Damage>,
}

impl ArrivedPackets {
    /// Creates the reader. The input contains the last packet of `state`, if there is one, and the new packets. Their
    /// first byte is at `offset` of a file. `begins`: the data stream begins.
    pub(super) fn new(
        input: Arc<StreamInput>,
        state: Option<PacketState>,
        offset: u64,
        begins: bool,
    ) -> Self {
        let before = state.as_ref().is_some_and(|state| state.before.is_some());
        let first = usize::from(before);
        let mut source = CtfSource::new(&input, Window::default(), first);
        let mut packets = 0;
        if let Some(state) = state {
            packets = state.packets;
            source.scanner.order = state.order;
            if let Some(clocks) = state.clocks {
                source.scanner.clocks = clocks;
            }
        }
        let (stream, limits) = (Arc::clone(&input.stream), input.rules.limits);
        let cursor = match begins {
            true => SourceCursor::new(stream, source, Window::default(), limits),
            false => SourceCursor::resumed(stream, source, Window::default(), limits, |_, _| None),
        };
        let cursor = cursor.without_end();
        Self { input, cursor, first: (first as u64, packets), offset, damage: None }
    }

    /// Moves to the next message.
    pub(super) fn next(&mut self) -> Option<Head> {
        if !self.cursor.advance() {
            return None;
        }
        let head = self.cursor.head()?;
        if head.kind == MessageKind::Damage
            && let Some(Message::Damage(damage)) = self.cursor.current()
        {
            let bit = damage.bit.saturating_add(self.offset.saturating_mul(8));
            self.damage = Some(Damage { bit, ..damage.clone() });
        }
        Some(head)
    }

    /// Returns the current message.
    pub(super) fn current(&self) -> Option<Message<'_>> {
        Some(match self.cursor.current()? {
            Message::Damage(_) => Message::Damage(self.damage.as_ref()?),
            Message::PacketBegin(packet) => Message::PacketBegin(self.numbered(packet)),
            Message::PacketEnd(packet) => Message::PacketEnd(self.numbered(packet)),
            message => message,
        })
    }

    fn numbered<'a>(&self, packet: Packet<'a>) -> Packet<'a> {
        let mut packet = packet;
        let (in_input, in_stream) = self.first;
        packet.index = packet.index.map(|index| index.saturating_sub(in_input).saturating_add(in_stream));
        packet
    }

    /// Returns the time that the data stream has reached after all packets, and what the next packets need.
    pub(super) fn finish(self) -> (Option<i128>, PacketState) {
        let source = self.cursor.source();
        let (in_input, in_stream) = self.first;
        let read = self.input.packets.get(usize::try_from(in_input).unwrap_or(usize::MAX)..);
        let read = read.unwrap_or_default();
        let last_event = Some(source.scanner.order.last).filter(|last| *last > 0);
        let end = read.iter().filter_map(PacketEntry::end).chain(last_event).max();
        let state = PacketState {
            before: self.input.packets.last().cloned(),
            order: source.scanner.order.clone(),
            clocks: Some(source.scanner.clocks.clone()),
            packets: in_stream.saturating_add(read.len() as u64),
        };
        (self.input.clock_value(end).map(|end| end.nanoseconds), state)
    }
}
