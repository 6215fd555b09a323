//! Messages: events, losses, damage, and the start and end of data streams and packets. Readers deliver them in order
//! for each data stream.

mod damage;
mod data_position;

use std::ops::ControlFlow;

use crate::clock::ClockValue;
use crate::event::{Event, EventValues, Packet};
use crate::trace::DataStream;

pub use self::damage::{BrokenRule, Damage, DamageKind, remedy};
pub use self::data_position::DataPosition;

/// The next item in a data stream.
///
/// Loss and damage are messages like any other: they can be printed, counted and converted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// Start of a data stream: its first message.
    StreamBegin(&'a DataStream),
    /// End of a data stream: its last message.
    StreamEnd(&'a DataStream),
    /// Start of a packet.
    PacketBegin(Packet<'a>),
    /// End of a packet.
    PacketEnd(Packet<'a>),
    /// An event record.
    Event(Event<'a>),
    /// The producer discarded event records.
    DiscardedEvents(Discarded<'a>),
    /// Packets are missing.
    DiscardedPackets(Discarded<'a>),
    /// Unreadable data.
    Damage(&'a Damage),
    /// A live input has no further messages now. None will be earlier than this time, in nanoseconds from the origin,
    /// except late ones. A pass does not give it to sinks: it flushes them.
    Inactivity(Option<i128>),
}

impl<'a> Message<'a> {
    /// Returns the time recorded in the message, in nanoseconds from the origin of the stream's clock.
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i128> {
        let value = match self {
            Self::Event(event) => event.clock.copied(),
            Self::PacketBegin(packet) => packet.begin,
            Self::PacketEnd(packet) => packet.end,
            Self::DiscardedEvents(discarded) | Self::DiscardedPackets(discarded) => discarded.begin,
            Self::Inactivity(until) => return *until,
            Self::StreamBegin(_) | Self::StreamEnd(_) | Self::Damage(_) => None,
        };
        value.map(|value| value.nanoseconds)
    }

    /// Adds values to an event that consists of bits. Other messages, and events with values from the format, stay
    /// unchanged.
    #[must_use]
    pub fn with_values(self, values: &'a EventValues) -> Self {
        match self {
            Self::Event(mut event) if event.scopes.values.is_none() => {
                event.scopes.values = Some(values);
                Self::Event(event)
            }
            message => message,
        }
    }

    /// Returns the data stream of the message, or `None` for damage outside all data streams, and for
    /// inactivity.
    #[must_use]
    pub fn stream(&self) -> Option<&'a DataStream> {
        match self {
            Self::StreamBegin(stream) | Self::StreamEnd(stream) => Some(stream),
            Self::PacketBegin(packet) | Self::PacketEnd(packet) => Some(packet.stream),
            Self::Event(event) => Some(event.stream),
            Self::DiscardedEvents(discarded) | Self::DiscardedPackets(discarded) => Some(discarded.stream),
            Self::Damage(_) | Self::Inactivity(_) => None,
        }
    }
}

/// Missing event records or packets.
#[derive(Clone, Copy, Debug)]
pub struct Discarded<'a> {
    /// Data stream with the loss.
    pub stream: &'a DataStream,
    /// Number, if known.
    pub count: Option<u64>,
    /// Thread that produced them, if the format counts by thread.
    pub thread: Option<u64>,
    /// Time after which they are missing, if known.
    pub begin: Option<ClockValue>,
    /// Time before which they are missing, if known.
    pub end: Option<ClockValue>,
}

/// Consumes messages, for example to write, count or convert a trace.
///
/// # For implementations
/// The messages of a data stream arrive in order, from [`Message::StreamBegin`] to [`Message::StreamEnd`]. Messages of
/// several data streams are merged by time. Everything in a message is borrowed for the call. Keep the state of a data
/// stream in a list by [`DataStream::key`], which is small and reused after the trace is closed. Unknown messages
/// should be ignored, because [`Message`] grows. A sink should not depend on the format:
/// [`Meanings`](crate::meaning::Meanings) contains what the members mean.
pub trait Sink {
    /// Receives a message. Returns [`ControlFlow::Break`] to stop.
    ///
    /// # Errors
    /// Fails if it cannot write.
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<ControlFlow<()>>;

    /// Receives the event before the first message, if earlier events are skipped.
    fn precede(&mut self, event: &Event<'_>) {
        let _ = event;
    }

    /// Called from time to time before a message. `events` counts the events since the last call, selected or not.
    ///
    /// # Errors
    /// Ends the pass with the error.
    fn step(&mut self, message: &Message<'_>, events: u32) -> std::io::Result<()> {
        let _ = (message, events);
        Ok(())
    }

    /// Writes buffered output, so that a reader can see it now. More messages may follow.
    ///
    /// # Errors
    /// Fails if it cannot write.
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    /// Ends the output after the last message, and writes buffered output.
    ///
    /// # Errors
    /// Fails if it cannot write.
    fn finish(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Function that receives messages.
impl<F: FnMut(&Message<'_>) -> std::io::Result<ControlFlow<()>>> Sink for F {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<ControlFlow<()>> {
        self(message)
    }
}
