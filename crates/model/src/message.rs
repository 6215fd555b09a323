//! Messages: what readers deliver, one after the other, per data stream.

use std::ops::ControlFlow;

use crate::{ClockValue, Damage, DataStream, Event, Packet};

/// What happens next in a data stream.
///
/// Loss and damage are messages like any other: they can be printed, counted and converted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// A data stream begins: the first message of it.
    StreamBegin(&'a DataStream),
    /// A data stream has ended: the last message of it.
    StreamEnd(&'a DataStream),
    /// A packet begins.
    PacketBegin(Packet<'a>),
    /// A packet has ended.
    PacketEnd(Packet<'a>),
    /// An event record.
    Event(Event<'a>),
    /// The producer discarded event records.
    DiscardedEvents(Discarded<'a>),
    /// Packets are missing.
    DiscardedPackets(Discarded<'a>),
    /// Something cannot be read.
    Damage(&'a Damage),
}

impl<'a> Message<'a> {
    /// When, as far as the message itself says, in nanoseconds from the origin of the stream's clock.
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i128> {
        let value = match self {
            Self::Event(event) => event.clock.copied(),
            Self::PacketBegin(packet) => packet.begin,
            Self::PacketEnd(packet) => packet.end,
            Self::DiscardedEvents(discarded) | Self::DiscardedPackets(discarded) => discarded.begin,
            Self::StreamBegin(_) | Self::StreamEnd(_) | Self::Damage(_) => None,
        };
        value.map(|value| value.nanoseconds)
    }

    /// The data stream that it is about; None for damage outside of any.
    #[must_use]
    pub fn stream(&self) -> Option<&'a DataStream> {
        match self {
            Self::StreamBegin(stream) | Self::StreamEnd(stream) => Some(stream),
            Self::PacketBegin(packet) | Self::PacketEnd(packet) => Some(packet.stream),
            Self::Event(event) => Some(event.stream),
            Self::DiscardedEvents(discarded) | Self::DiscardedPackets(discarded) => Some(discarded.stream),
            Self::Damage(_) => None,
        }
    }
}

/// Event records or packets that are missing.
#[derive(Clone, Copy, Debug)]
pub struct Discarded<'a> {
    /// The stream they are missing from.
    pub stream: &'a DataStream,
    /// How many, if that is known.
    pub count: Option<u64>,
    /// The thread that made them, if the format counts them by thread.
    pub thread: Option<u64>,
    /// After when, if that is known.
    pub begin: Option<ClockValue>,
    /// Before when, if that is known.
    pub end: Option<ClockValue>,
}

/// Takes messages: what writes, counts or converts a trace.
///
/// # For implementations
/// The messages of a data stream come in its order, from [`Message::StreamBegin`] to [`Message::StreamEnd`];
/// those of several data streams are merged by time. Everything in a message is borrowed for the call. Keep the
/// state of a data stream in a list by [`DataStream::key`], which is small and used again after its trace is
/// closed. Ignore messages that are unknown: [`Message`] grows. Do not look at the format: what a member says
/// is in [`Meanings`](crate::Meanings).
pub trait Sink {
    /// Takes one message; [`ControlFlow::Break`] if it wants no more.
    ///
    /// # Errors
    /// If it cannot write.
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<ControlFlow<()>>;

    /// Writes what was kept back, so that a reader sees it now: more messages may come.
    ///
    /// # Errors
    /// If it cannot write.
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    /// There are no more messages: writes what is left.
    ///
    /// # Errors
    /// If it cannot write.
    fn finish(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
