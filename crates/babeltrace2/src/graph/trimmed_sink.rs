//! Sink before a sink that shows packets and data streams, with the messages as a trimmer passes them on.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos::model::decode::{DecodeLimits, PacketBits};
use ichnos::model::event::{Packet, Scopes};
use ichnos::model::message::Discarded;
use ichnos::model::source::StreamLoss;
use ichnos::model::trace::Limits;
use ichnos::model::{DataStream, Message, Sink, Window};

use crate::graph::trimmed_streams::{TrimmedStream, TrimmedStreams};

/// Progress of a trimmed data stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TrimmedState {
    /// Messages are passed on.
    #[default]
    Open,
    /// In a packet that was not passed on, because it seems to end before the window.
    InEarlyPacket,
    /// Its end is passed on after all other messages.
    AtWindowEnd,
    /// Its end was passed on.
    Ended,
}

/// Begin or end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowBound {
    Begin,
    End,
}

/// Function for the bounds of a window.
type BoundCall<'s, S> = Box<dyn FnMut(&mut S, WindowBound) + 's>;

/// Loss that begins with the window.
struct HeldLoss {
    window: Window,
    stream: Arc<DataStream>,
    loss: StreamLoss,
    is_packets: bool,
}

/// Passes trimmed messages to a sink.
///
/// The losses are trimmed by the pass, and the sink itself knows the times of data streams.
pub(crate) struct TrimmedSink<'s, S: ?Sized> {
    streams: TrimmedStreams,
    trimmed: TrimmedMessages<'s, S>,
}

/// Trimmed messages on their way to a sink.
///
/// The start of the window comes first: each data stream that goes on at this time begins, at once followed by its
/// packet. Then come the losses that begin with the window, and then everything in the window.
struct TrimmedMessages<'s, S: ?Sized> {
    sink: &'s mut S,
    /// Called at the start and at the end of the window.
    at_bound: Option<BoundCall<'s, S>>,
    has_started: bool,
    has_ended: bool,
    states: HashMap<u32, TrimmedState>,
    /// Data streams that begin with their window, and were not passed on yet.
    begins: Vec<(Window, Arc<DataStream>)>,
    losses: Vec<HeldLoss>,
    /// Data streams that end with the window, in the order of their ends.
    ends: Vec<Arc<DataStream>>,
    has_several_windows: bool,
    /// With several windows: their ends that were not passed on, with their data streams, and the data streams whose
    /// packet has begun.
    due: BTreeSet<(i128, u32)>,
    open_packets: HashSet<u32>,
    /// The sink wants no more messages.
    is_over: bool,
}

impl<'s, S: Sink + ?Sized> TrimmedSink<'s, S> {
    /// Creates a sink before another sink.
    pub(crate) fn new(sink: &'s mut S, streams: TrimmedStreams) -> Self {
        let trimmed = TrimmedMessages {
            sink,
            at_bound: None,
            has_started: false,
            has_ended: false,
            states: HashMap::new(),
            begins: Vec::new(),
            losses: Vec::new(),
            ends: Vec::new(),
            has_several_windows: streams.have_several_windows(),
            due: BTreeSet::new(),
            open_packets: HashSet::new(),
            is_over: false,
        };
        Self { streams, trimmed }
    }

    /// Calls a function before the first message in the window, after what begins with it, and again before what ends
    /// with the window.
    pub(crate) fn at_bounds(mut self, call: impl FnMut(&mut S, WindowBound) + 's) -> Self {
        self.trimmed.at_bound = Some(Box::new(call));
        self
    }
}

impl<S: Sink + ?Sized> TrimmedMessages<'_, S> {
    /// Passes on a message, unless the sink wants no more.
    fn pass(&mut self, message: &Message<'_>) -> io::Result<()> {
        if self.has_several_windows {
            match message {
                Message::PacketBegin(packet) => drop(self.open_packets.insert(packet.stream.key)),
                Message::PacketEnd(packet) => drop(self.open_packets.remove(&packet.stream.key)),
                _ => {}
            }
        }
        if !self.is_over {
            self.is_over = self.sink.message(message)?.is_break();
        }
        Ok(())
    }

    /// Passes on a message in the window, after the start of the window.
    fn pass_in_window(&mut self, message: &Message<'_>, window: Window) -> io::Result<()> {
        self.start_window(Some(window))?;
        self.pass(message)
    }

    /// Passes on what begins with a window or earlier. Traces can have different windows. `None`: all that is left.
    fn start_window(&mut self, window: Option<Window>) -> io::Result<()> {
        let is_due = |other: Window| window.is_none_or(|window| other.begin <= window.begin);
        let begins: Vec<_> = self.begins.extract_if(.., |(window, _)| is_due(*window)).collect();
        for (_, stream) in begins {
            self.pass(&Message::StreamBegin(&stream))?;
        }
        let losses: Vec<_> = self.losses.extract_if(.., |held| is_due(held.window)).collect();
        for HeldLoss { stream, loss, is_packets, .. } in losses {
            let loss = loss.in_stream(&stream);
            let message =
                if is_packets { Message::DiscardedPackets(loss) } else { Message::DiscardedEvents(loss) };
            self.pass(&message)?;
        }
        if let Some(call) = &mut self.at_bound
            && !std::mem::replace(&mut self.has_started, true)
        {
            call(self.sink, WindowBound::Begin);
        }
        Ok(())
    }

    /// Notes that the window ends before the next message.
    fn end_window(&mut self, window: Option<Window>) -> io::Result<()> {
        self.start_window(window)?;
        if let Some(call) = &mut self.at_bound
            && !std::mem::replace(&mut self.has_ended, true)
        {
            call(self.sink, WindowBound::End);
        }
        Ok(())
    }

    /// Handles a message of a trimmed data stream.
    fn message(&mut self, message: &Message<'_>, trimmed: &TrimmedStream) -> io::Result<()> {
        let state = self.states.entry(trimmed.stream.key).or_default();
        match (*state, message) {
            (TrimmedState::Open, Message::StreamBegin(_)) => {
                if self.has_several_windows && trimmed.ends_with_window() {
                    self.due.extend(trimmed.window.end.map(|end| (end, trimmed.stream.key)));
                }
                if !trimmed.begins_with_window() {
                    return self.pass(message);
                }
                self.begins.push((trimmed.window, Arc::clone(&trimmed.stream)));
            }
            (TrimmedState::InEarlyPacket, Message::PacketEnd(packet)) => {
                *state = TrimmedState::Open;
                if !trimmed.is_early(packet.end) {
                    self.begin_packet(*packet, trimmed)?;
                    return self.message(message, trimmed);
                }
            }
            (TrimmedState::Open, Message::PacketBegin(packet)) if trimmed.ends_early(packet) => {
                *state = TrimmedState::InEarlyPacket;
            }
            // With a tracer bug, a packet can end before its last event.
            (TrimmedState::InEarlyPacket, Message::Event(event)) => {
                *state = TrimmedState::Open;
                self.begin_packet(Packet::new(event.stream, 0, 0, event.scopes), trimmed)?;
                return self.pass_in_window(message, trimmed.window);
            }
            (TrimmedState::Open, Message::PacketBegin(packet)) if trimmed.is_late(packet.begin) => {
                *state = TrimmedState::AtWindowEnd;
                self.end_window(Some(trimmed.window))?;
            }
            (TrimmedState::Open, Message::PacketBegin(packet)) => {
                if !trimmed.is_early(packet.begin) {
                    return self.pass_in_window(message, trimmed.window);
                }
                return self.begin_packet(*packet, trimmed);
            }
            (TrimmedState::Open, Message::PacketEnd(packet)) => {
                let mut packet = *packet;
                if !trimmed.trim_end(&mut packet.end) {
                    return self.pass_in_window(&Message::PacketEnd(packet), trimmed.window);
                }
                return self.end_within_packet(packet, trimmed);
            }
            (TrimmedState::Open, Message::DiscardedEvents(loss)) if trimmed.starts_window(loss) => {
                self.hold(trimmed, loss, false);
            }
            (TrimmedState::Open, Message::DiscardedPackets(loss)) if trimmed.starts_window(loss) => {
                self.hold(trimmed, loss, true);
            }
            (TrimmedState::Open | TrimmedState::AtWindowEnd, Message::StreamEnd(_))
                if trimmed.ends_with_window() =>
            {
                *state = TrimmedState::Ended;
                self.ends.push(Arc::clone(&trimmed.stream));
            }
            (TrimmedState::Open, _) => return self.pass_in_window(message, trimmed.window),
            _ => {}
        }
        Ok(())
    }

    /// Passes on the start of a packet that goes on when the window begins, after the start of its data stream.
    fn begin_packet(&mut self, mut packet: Packet<'_>, trimmed: &TrimmedStream) -> io::Result<()> {
        packet.begin = trimmed.begin;
        let key = trimmed.stream.key;
        if let Some(index) = self.begins.iter().position(|(_, stream)| stream.key == key) {
            let (_, stream) = self.begins.remove(index);
            self.pass(&Message::StreamBegin(&stream))?;
        }
        self.pass(&Message::PacketBegin(packet))
    }

    /// Passes on the end of a packet that ends with its window, and then the end of its data stream.
    fn end_within_packet(&mut self, packet: Packet<'_>, trimmed: &TrimmedStream) -> io::Result<()> {
        self.states.insert(trimmed.stream.key, TrimmedState::Ended);
        self.end_window(Some(trimmed.window))?;
        self.pass(&Message::PacketEnd(packet))?;
        self.pass(&Message::StreamEnd(&trimmed.stream))
    }

    /// Passes on the ends of data streams whose window ends before a time in another window.
    fn end_before(&mut self, time: i128, window: Window, streams: &TrimmedStreams) -> io::Result<()> {
        while let Some((end, key)) = self.due.first().copied()
            && end < time
            && let Some(trimmed) = streams.get(key)
            && trimmed.window != window
        {
            self.due.pop_first();
            if self.open_packets.contains(&key) {
                // Its fields were shown at its begin.
                let slots: [Cell<i128>; 0] = [];
                let (begins, limits) = (Default::default(), DecodeLimits::from(&Limits::default()));
                let scopes = Scopes::new(PacketBits { data: &[], content: 0 }, &begins, &slots, &limits);
                let packet = Packet::new(&trimmed.stream, 0, 0, scopes).with_times(None, trimmed.end);
                self.end_within_packet(packet, trimmed)?;
            } else if let Some(index) = self.ends.iter().position(|stream| stream.key == key) {
                let stream = self.ends.remove(index);
                self.end_window(Some(trimmed.window))?;
                self.pass(&Message::StreamEnd(&stream))?;
            }
        }
        Ok(())
    }

    fn hold(&mut self, trimmed: &TrimmedStream, loss: &Discarded<'_>, is_packets: bool) {
        let Discarded { count, thread, begin, end, .. } = *loss;
        let loss = StreamLoss { count, thread, begin, end };
        let (window, stream) = (trimmed.window, Arc::clone(&trimmed.stream));
        self.losses.push(HeldLoss { window, stream, loss, is_packets });
    }
}

impl<S: Sink + ?Sized> Sink for TrimmedSink<'_, S> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message.stream().and_then(|stream| self.streams.get(stream.key)) {
            Some(stream) => {
                if self.trimmed.has_several_windows
                    && let Some(time) = message.nanoseconds()
                {
                    let time = stream.window.end.map_or(time, |end| time.min(end));
                    self.trimmed.end_before(time, stream.window, &self.streams)?;
                }
                self.trimmed.message(message, stream)?;
            }
            // Babeltrace has no such message.
            None if matches!(message, Message::Damage(_)) => {}
            None => self.trimmed.pass(message)?,
        }
        Ok(if self.trimmed.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.trimmed.sink.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.trimmed.start_window(None)?;
        let ends = std::mem::take(&mut self.trimmed.ends);
        if !ends.is_empty() {
            self.trimmed.end_window(None)?;
        }
        for stream in ends {
            self.trimmed.pass(&Message::StreamEnd(&stream))?;
        }
        self.trimmed.sink.finish()
    }
}
