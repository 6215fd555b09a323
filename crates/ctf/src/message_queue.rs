//! Queue of messages that a cursor delivers before the next event record.

use std::collections::VecDeque;

use ichnos_model::{Damage, MessageKind};

use crate::loss::TracerLoss;

/// Message with the data that the cursor itself does not hold.
#[derive(Debug)]
pub(crate) enum PendingMessage {
    StreamBegin,
    StreamEnd,
    /// Begin of the open packet.
    PacketBegin,
    PacketEnd,
    /// The event record that was scanned last, delivered at another time than its own, or after its damage.
    Event,
    DiscardedEvents(Box<TracerLoss>),
    DiscardedPackets(Box<TracerLoss>),
    Damage(Box<Damage>),
}

impl PendingMessage {
    pub(crate) fn kind(&self) -> MessageKind {
        match self {
            Self::StreamBegin => MessageKind::StreamBegin,
            Self::StreamEnd => MessageKind::StreamEnd,
            Self::PacketBegin => MessageKind::PacketBegin,
            Self::PacketEnd => MessageKind::PacketEnd,
            Self::Event => MessageKind::Event,
            Self::DiscardedEvents(_) => MessageKind::DiscardedEvents,
            Self::DiscardedPackets(_) => MessageKind::DiscardedPackets,
            Self::Damage(_) => MessageKind::Damage,
        }
    }
}

/// Message in the queue and its time in nanoseconds; `None`: at once.
#[derive(Debug)]
pub(crate) struct TimedMessage {
    pub(crate) message: PendingMessage,
    pub(crate) nanoseconds: Option<i128>,
}

/// Messages that a cursor delivers in order before it reads the next event record, and the current one.
// Events that are on time are never queued: only the scanner holds them.
#[derive(Debug, Default)]
pub(crate) struct MessageQueue {
    waiting: VecDeque<TimedMessage>,
    current: Option<TimedMessage>,
}

impl MessageQueue {
    /// Returns `true` if no message waits, regardless of the current one.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the number of messages that wait after the current one.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Appends a message to those that wait.
    pub(crate) fn push(&mut self, message: PendingMessage, nanoseconds: Option<i128>) {
        self.waiting.push_back(TimedMessage { message, nanoseconds });
    }

    /// Replaces the current message by the next one. Returns `false` if there is none.
    pub(crate) fn advance(&mut self) -> bool {
        self.current = self.waiting.pop_front();
        self.current.is_some()
    }

    /// Returns the message that is delivered now.
    pub(crate) fn current(&self) -> Option<&TimedMessage> {
        self.current.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Current message, and number of waiting ones.
    fn state(queue: &MessageQueue) -> (Option<(MessageKind, Option<i128>)>, usize) {
        let current = queue.current().map(|current| (current.message.kind(), current.nanoseconds));
        (current, queue.len())
    }

    #[test]
    fn messages_come_in_their_order() {
        let mut queue = MessageQueue::default();
        assert!(queue.is_empty() && !queue.advance());
        let damage = Damage::new("file", 0, ichnos_model::DamageKind::EmptyEventRecord);
        queue.push(PendingMessage::Damage(Box::new(damage)), Some(7));
        queue.push(PendingMessage::Event, Some(8));
        assert_eq!(state(&queue), (None, 2));
        assert!(queue.advance());
        assert_eq!(state(&queue), (Some((MessageKind::Damage, Some(7))), 1));
        // New messages are queued after the waiting ones.
        queue.push(PendingMessage::PacketEnd, None);
        assert!(queue.advance() && !queue.is_empty());
        assert_eq!(state(&queue), (Some((MessageKind::Event, Some(8))), 1));
        assert!(queue.advance() && queue.is_empty());
        assert_eq!(state(&queue), (Some((MessageKind::PacketEnd, None)), 0));
        assert!(!queue.advance());
        assert_eq!(state(&queue), (None, 0));
    }

    #[test]
    fn each_message_is_of_its_kind() {
        let loss = || Box::new(TracerLoss { count: None, range: None });
        assert_eq!(PendingMessage::StreamBegin.kind(), MessageKind::StreamBegin);
        assert_eq!(PendingMessage::StreamEnd.kind(), MessageKind::StreamEnd);
        assert_eq!(PendingMessage::PacketBegin.kind(), MessageKind::PacketBegin);
        assert_eq!(PendingMessage::DiscardedEvents(loss()).kind(), MessageKind::DiscardedEvents);
        assert_eq!(PendingMessage::DiscardedPackets(loss()).kind(), MessageKind::DiscardedPackets);
    }
}
