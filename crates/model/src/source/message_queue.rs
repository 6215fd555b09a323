//! Messages that a cursor delivers before the next event.

use std::collections::VecDeque;

use crate::clock::ClockValue;
use crate::cursor::MessageKind;
use crate::message::{Damage, Discarded};
use crate::trace::DataStream;

/// A message without the data that the [`Source`](crate::Source) holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueuedMessage {
    /// Start of the data stream.
    StreamBegin,
    /// End of the data stream.
    StreamEnd,
    /// Start of the source's current packet.
    PacketBegin,
    /// End of the source's current packet.
    PacketEnd,
    /// Current event of the source, delivered after other messages.
    Event,
    /// Discarded events.
    DiscardedEvents(Box<StreamLoss>),
    /// Missing packets.
    DiscardedPackets(Box<StreamLoss>),
    /// Unreadable data.
    Damage(Box<Damage>),
    /// A live source has no further messages now: see [`Message::Inactivity`](crate::Message::Inactivity).
    Inactivity,
}

impl QueuedMessage {
    /// Returns the message kind.
    #[must_use]
    pub fn kind(&self) -> MessageKind {
        match self {
            Self::StreamBegin => MessageKind::StreamBegin,
            Self::StreamEnd => MessageKind::StreamEnd,
            Self::PacketBegin => MessageKind::PacketBegin,
            Self::PacketEnd => MessageKind::PacketEnd,
            Self::Event => MessageKind::Event,
            Self::DiscardedEvents(_) => MessageKind::DiscardedEvents,
            Self::DiscardedPackets(_) => MessageKind::DiscardedPackets,
            Self::Damage(_) => MessageKind::Damage,
            Self::Inactivity => MessageKind::Inactivity,
        }
    }
}

/// Discarded data: [`Discarded`] without the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamLoss {
    /// Number of discarded items; `None` if unknown.
    pub count: Option<u64>,
    /// Thread whose events are missing, if known.
    pub thread: Option<u64>,
    /// Start of the loss, if known.
    pub begin: Option<ClockValue>,
    /// End of the loss, if known.
    pub end: Option<ClockValue>,
}

impl StreamLoss {
    /// Returns the loss as a message part of its data stream.
    #[must_use]
    pub fn in_stream(self, stream: &DataStream) -> Discarded<'_> {
        let Self { count, thread, begin, end } = self;
        Discarded { stream, count, thread, begin, end }
    }
}

/// Messages that wait for delivery, in order, and the current message. Each has a time in nanoseconds from the origin;
/// `None` means immediately.
// Events that are on time are never queued: only the source holds them.
#[derive(Clone, Debug, Default)]
pub struct MessageQueue {
    waiting: VecDeque<(QueuedMessage, Option<i128>)>,
    current: Option<(QueuedMessage, Option<i128>)>,
}

impl MessageQueue {
    /// Returns `true` if no message waits. The current message does not count.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the number of waiting messages, without the current message.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Appends a message with its time.
    pub fn push(&mut self, message: QueuedMessage, nanoseconds: Option<i128>) {
        self.waiting.push_back((message, nanoseconds));
    }

    /// Replaces the current message by the next one. Returns `false` if the queue is empty.
    pub(crate) fn advance(&mut self) -> bool {
        self.current = self.waiting.pop_front();
        self.current.is_some()
    }

    /// Returns the current message and its time.
    pub(crate) fn current(&self) -> Option<&(QueuedMessage, Option<i128>)> {
        self.current.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Current message, and number of waiting messages.
    fn state(queue: &MessageQueue) -> (Option<(MessageKind, Option<i128>)>, usize) {
        (queue.current().map(|(message, nanoseconds)| (message.kind(), *nanoseconds)), queue.len())
    }

    #[test]
    fn messages_come_in_their_order() {
        let mut queue = MessageQueue::default();
        assert!(queue.is_empty() && !queue.advance());
        let damage = Damage::new("file", 0, crate::message::DamageKind::EmptyEventRecord);
        queue.push(QueuedMessage::Damage(Box::new(damage)), Some(7));
        queue.push(QueuedMessage::Event, Some(8));
        assert_eq!(state(&queue), (None, 2));
        assert!(queue.advance());
        assert_eq!(state(&queue), (Some((MessageKind::Damage, Some(7))), 1));
        // New messages are queued after the waiting messages.
        queue.push(QueuedMessage::PacketEnd, None);
        assert!(queue.advance() && !queue.is_empty());
        assert_eq!(state(&queue), (Some((MessageKind::Event, Some(8))), 1));
        assert!(queue.advance() && queue.is_empty());
        assert_eq!(state(&queue), (Some((MessageKind::PacketEnd, None)), 0));
        assert!(!queue.advance());
        assert_eq!(state(&queue), (None, 0));
    }

    #[test]
    fn each_message_is_of_its_kind() {
        let loss = Box::new(StreamLoss::default());
        assert_eq!(QueuedMessage::StreamBegin.kind(), MessageKind::StreamBegin);
        assert_eq!(QueuedMessage::StreamEnd.kind(), MessageKind::StreamEnd);
        assert_eq!(QueuedMessage::PacketBegin.kind(), MessageKind::PacketBegin);
        assert_eq!(QueuedMessage::DiscardedEvents(loss.clone()).kind(), MessageKind::DiscardedEvents);
        assert_eq!(QueuedMessage::DiscardedPackets(loss).kind(), MessageKind::DiscardedPackets);
    }
}
