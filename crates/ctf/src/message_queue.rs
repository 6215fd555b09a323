//! What a cursor has to deliver before it reads the next event record.

use std::collections::VecDeque;

use ichnos_model::{Damage, MessageKind};

use crate::loss::Loss;

/// A message, with what of it the cursor does not hold anyway.
#[derive(Debug)]
pub(crate) enum Pending {
    StreamBegin,
    StreamEnd,
    /// Of the packet that is open.
    PacketBegin,
    PacketEnd,
    /// The event record that was scanned last, at another time than its own, or after what is wrong with it.
    Event,
    DiscardedEvents(Box<Loss>),
    DiscardedPackets(Box<Loss>),
    Damage(Box<Damage>),
}

impl Pending {
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

/// A message in the queue and its time in nanoseconds; None: at once.
#[derive(Debug)]
pub(crate) struct TimedMessage {
    pub(crate) message: Pending,
    pub(crate) nanoseconds: Option<i128>,
}

/// The messages that a cursor delivers before it reads the next event record, in their order, and the one
/// that it delivers now.
// Events that are on time never come here: nothing of them is kept but what the scanner holds.
#[derive(Debug, Default)]
pub(crate) struct MessageQueue {
    waiting: VecDeque<TimedMessage>,
    current: Option<TimedMessage>,
}

impl MessageQueue {
    /// Whether no message waits, whatever the current one is.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many messages wait behind the current one.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Puts a message behind those that wait.
    pub(crate) fn push(&mut self, message: Pending, nanoseconds: Option<i128>) {
        self.waiting.push_back(TimedMessage { message, nanoseconds });
    }

    /// Makes the next message the current one; false if none waits, then there is no current one, either.
    pub(crate) fn advance(&mut self) -> bool {
        self.current = self.waiting.pop_front();
        self.current.is_some()
    }

    /// The message that is delivered now.
    pub(crate) fn current(&self) -> Option<&TimedMessage> {
        self.current.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is current, and how many wait.
    fn state(queue: &MessageQueue) -> (Option<(MessageKind, Option<i128>)>, usize) {
        let current = queue.current().map(|current| (current.message.kind(), current.nanoseconds));
        (current, queue.len())
    }

    #[test]
    fn messages_come_in_their_order() {
        let mut queue = MessageQueue::default();
        assert!(queue.is_empty() && !queue.advance());
        let damage = Damage::new("file", 0, ichnos_model::DamageKind::EmptyEventRecord);
        queue.push(Pending::Damage(Box::new(damage)), Some(7));
        queue.push(Pending::Event, Some(8));
        assert_eq!(state(&queue), (None, 2));
        assert!(queue.advance());
        assert_eq!(state(&queue), (Some((MessageKind::Damage, Some(7))), 1));
        // What comes in between waits behind what waits already.
        queue.push(Pending::PacketEnd, None);
        assert!(queue.advance() && !queue.is_empty());
        assert_eq!(state(&queue), (Some((MessageKind::Event, Some(8))), 1));
        assert!(queue.advance() && queue.is_empty());
        assert_eq!(state(&queue), (Some((MessageKind::PacketEnd, None)), 0));
        assert!(!queue.advance());
        assert_eq!(state(&queue), (None, 0));
    }

    #[test]
    fn each_message_is_of_its_kind() {
        let loss = || Box::new(Loss { count: None, range: None });
        assert_eq!(Pending::StreamBegin.kind(), MessageKind::StreamBegin);
        assert_eq!(Pending::StreamEnd.kind(), MessageKind::StreamEnd);
        assert_eq!(Pending::PacketBegin.kind(), MessageKind::PacketBegin);
        assert_eq!(Pending::DiscardedEvents(loss()).kind(), MessageKind::DiscardedEvents);
        assert_eq!(Pending::DiscardedPackets(loss()).kind(), MessageKind::DiscardedPackets);
    }
}
