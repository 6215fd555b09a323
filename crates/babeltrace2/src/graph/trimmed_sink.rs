//! Sink before a sink that shows packets and data streams, with the messages as a trimmer passes them on.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos::model::message::Discarded;
use ichnos::model::source::StreamLoss;
use ichnos::model::{DataStream, Message, Sink};

use crate::graph::trimmed_streams::{TrimmedStream, TrimmedStreams};

/// Progress of a trimmed data stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TrimmedState {
    /// Messages are passed on.
    #[default]
    Open,
    /// In a packet that ends before the window.
    InEarlyPacket,
    /// Its end is passed on after all other messages.
    AtWindowEnd,
    /// Its end was passed on.
    Ended,
}

/// Loss that begins with the window, and comes after the start of a packet that goes on at that time.
struct HeldLoss {
    stream: Arc<DataStream>,
    loss: StreamLoss,
    is_packets: bool,
}

/// Passes trimmed messages to a sink.
///
/// The losses are trimmed by the pass, and the sink itself knows the times of data streams.
pub(crate) struct TrimmedSink<'s, S: ?Sized> {
    sink: &'s mut S,
    streams: TrimmedStreams,
    states: HashMap<u32, TrimmedState>,
    held: Vec<HeldLoss>,
    /// Data streams that end with the window, in the order of their ends.
    ends: Vec<Arc<DataStream>>,
}

impl<'s, S: Sink + ?Sized> TrimmedSink<'s, S> {
    /// Creates a sink before another sink.
    pub(crate) fn new(sink: &'s mut S, streams: TrimmedStreams) -> Self {
        Self { sink, streams, states: HashMap::new(), held: Vec::new(), ends: Vec::new() }
    }

    /// Passes on the held losses, or only the losses in one data stream.
    fn release(&mut self, only: Option<u32>) -> io::Result<()> {
        let (released, held) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|held| only.is_none_or(|key| held.stream.key == key));
        self.held = held;
        let released: Vec<HeldLoss> = released;
        for HeldLoss { stream, loss, is_packets } in released {
            let loss = loss.in_stream(&stream);
            let message =
                if is_packets { Message::DiscardedPackets(loss) } else { Message::DiscardedEvents(loss) };
            let _ = self.sink.message(&message)?;
        }
        Ok(())
    }

    /// Handles a message of a trimmed data stream.
    fn trimmed(&mut self, message: &Message<'_>, trimmed: &TrimmedStream) -> io::Result<ControlFlow<()>> {
        let key = trimmed.stream.key;
        let state = self.states.entry(key).or_default();
        match (*state, message) {
            (TrimmedState::InEarlyPacket, Message::PacketEnd(_)) => *state = TrimmedState::Open,
            (TrimmedState::Open, Message::PacketBegin(packet)) if trimmed.ends_early(packet) => {
                *state = TrimmedState::InEarlyPacket;
            }
            // With a tracer bug, a packet can end before its last event.
            (TrimmedState::InEarlyPacket, Message::Event(_)) => {
                self.release(Some(key))?;
                return self.sink.message(message);
            }
            (TrimmedState::Open, Message::PacketBegin(packet)) if trimmed.is_late(packet.begin) => {
                *state = TrimmedState::AtWindowEnd;
            }
            (TrimmedState::Open, Message::PacketBegin(packet)) => {
                let mut packet = *packet;
                if !trimmed.trim_begin(&mut packet.begin) {
                    self.release(None)?;
                    return self.sink.message(&Message::PacketBegin(packet));
                }
                let _ = self.sink.message(&Message::PacketBegin(packet))?;
                self.release(Some(key))?;
            }
            (TrimmedState::Open, Message::PacketEnd(packet)) => {
                let mut packet = *packet;
                let is_late = trimmed.trim_end(&mut packet.end);
                if is_late {
                    *state = TrimmedState::Ended;
                }
                self.release(None)?;
                let flow = self.sink.message(&Message::PacketEnd(packet))?;
                if !is_late {
                    return Ok(flow);
                }
                return self.sink.message(&Message::StreamEnd(&trimmed.stream));
            }
            (TrimmedState::Open, Message::DiscardedEvents(loss)) if trimmed.begins_with_window(loss) => {
                self.hold(trimmed, loss, false);
            }
            (TrimmedState::Open, Message::DiscardedPackets(loss)) if trimmed.begins_with_window(loss) => {
                self.hold(trimmed, loss, true);
            }
            (TrimmedState::Open | TrimmedState::AtWindowEnd, Message::StreamEnd(_))
                if trimmed.ends_with_window() =>
            {
                *state = TrimmedState::Ended;
                self.ends.push(Arc::clone(&trimmed.stream));
            }
            (TrimmedState::Open, Message::StreamBegin(_)) => return self.sink.message(message),
            (TrimmedState::Open, _) => {
                self.release(None)?;
                return self.sink.message(message);
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn hold(&mut self, trimmed: &TrimmedStream, loss: &Discarded<'_>, is_packets: bool) {
        let Discarded { count, thread, begin, end, .. } = *loss;
        let loss = StreamLoss { count, thread, begin, end };
        self.held.push(HeldLoss { stream: Arc::clone(&trimmed.stream), loss, is_packets });
    }
}

impl<S: Sink + ?Sized> Sink for TrimmedSink<'_, S> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        let streams = self.streams.clone();
        match message.stream().and_then(|stream| streams.get(stream.key)) {
            Some(trimmed) => self.trimmed(message, trimmed),
            // Babeltrace has no such message.
            None if matches!(message, Message::Damage(_)) => Ok(ControlFlow::Continue(())),
            None => self.sink.message(message),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.release(None)?;
        for stream in std::mem::take(&mut self.ends) {
            let _ = self.sink.message(&Message::StreamEnd(&stream))?;
        }
        self.sink.finish()
    }
}
