//! Passes into several outputs at once: the parts of a split trace.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_io::{Lane, MessageOrder, PartTarget, PartsOutput};
use ichnos_model::clock::ClockValue;
use ichnos_model::event::Packet;
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::{DataStream, Event, Message, Sink, Window};

use super::packets::{PacketFlow, PacketSink};
use super::{Pass, PassEnd, PassObserver, PassOptions, PassSummary};
use crate::{Reader, StreamMessages};

/// Number of events between two progress reports.
const STEP: u64 = 1 << 14;

/// Maximum number of damages that wait for the first part. More are reported, but no part receives them.
const MOST_EARLY_DAMAGE: usize = 1 << 16;

/// Rule that assigns messages to parts.
pub enum SplitBy<'s> {
    /// Content of a time range.
    Times {
        /// Start times of all parts except the first, sorted, in nanoseconds from the origin. Part `n` ends before
        /// the `n`th time. Data streams without a clock are in an extra part after the last.
        begins: &'s [i128],
        /// `true` for each part with an event or a loss, by number.
        has_events: &'s [bool],
    },
    /// One part for each data stream, by its index among the read data streams.
    Streams,
    /// Result of a function for each event.
    Events {
        /// Returns the part of an event, or `None` if there are too many parts. `None` interrupts the pass.
        part_of: &'s mut dyn FnMut(&Event<'_>) -> Option<usize>,
        /// Returns the part that reports losses of data streams without read events.
        rest: &'s mut dyn FnMut() -> usize,
    },
}

impl SplitBy<'_> {
    /// Returns the number of the part that contains a time.
    fn at_time(begins: &[i128], time: i128) -> usize {
        begins.partition_point(|begin| *begin <= time)
    }

    /// Returns a part's time window, within the reader's window.
    fn window(&self, number: usize, mut window: Window) -> Window {
        if let Self::Times { begins, .. } = self
            && number <= begins.len()
        {
            let begin = number.checked_sub(1).and_then(|before| begins.get(before)).copied();
            window.begin = [window.begin, begin].into_iter().flatten().max();
            window.end = [window.end, begins.get(number).map(|end| end - 1)].into_iter().flatten().min();
        }
        window
    }
}

/// Several outputs of a pass: see [`Pass::write_parts`].
pub struct Parts<'p, 's> {
    /// Receives the messages.
    pub output: &'p mut dyn PartsOutput,
    /// Message order of the output.
    pub order: MessageOrder,
    /// Rule that assigns messages to numbered parts.
    pub by: SplitBy<'s>,
    /// Describes a part before its first message, by its number and time window.
    pub target: &'p mut dyn FnMut(usize, Window) -> io::Result<PartTarget>,
    /// Part numbers in the order in which they were added to the output, with their event counts.
    pub written: Vec<(usize, u64)>,
}

impl Pass {
    /// Passes each selected event and loss of a reader to one of several parts. A part is added to the output at its
    /// first message. The input is read once, on this thread.
    ///
    /// # Errors
    /// If a part cannot be written. An error of [`PartsOutput::add_part`] is inside the returned error.
    pub fn write_parts(
        &self,
        reader: &Reader<'_>,
        parts: &mut Parts<'_, '_>,
        options: &PassOptions,
        observer: &dyn PassObserver,
    ) -> io::Result<PassSummary> {
        let by_stream = parts.order == MessageOrder::ByStream;
        let window = reader.wanted().next().map(|(_, _, window)| window).unwrap_or_default();
        let writer = PartsWriter {
            parts,
            observer,
            window,
            indexes: HashMap::new(),
            early_damage: Vec::new(),
            examined: 0,
            reported: 0,
        };
        let mut router = PartsRouter { writer, places: Vec::new(), merged: HashMap::new(), copied_into: 0 };
        match by_stream {
            true => self.route_by_stream(reader, &mut router, options),
            false => self.route_merged(reader, &mut router),
        }
    }

    fn route_by_stream(
        &self,
        reader: &Reader<'_>,
        router: &mut PartsRouter<'_, '_, '_>,
        options: &PassOptions,
    ) -> io::Result<PassSummary> {
        self.note_damage_of_traces(reader, router.writer.observer);
        let mut summary = PassSummary::default();
        for (number, lane) in reader.lanes().into_iter().enumerate() {
            let cursor = || reader.stream_cursor(lane.source, lane.index);
            if matches!(router.writer.parts.by, SplitBy::Streams)
                && !cursor().map_or(Ok(false), |cursor| self.has_content(StreamMessages(cursor)))?
            {
                continue;
            }
            let Some(cursor) = cursor() else { continue };
            router.writer.parts.output.begin_lane(Lane::Stream { source: lane.source, stream: lane.number });
            router.places = vec![RoutedStream::new(lane.stream, number)];
            summary += self.run_packets(cursor, router, options.streams.reads_copied)?;
            if !matches!(summary.end, PassEnd::Over) {
                break;
            }
            router.finish_lane()?;
        }
        Ok(summary)
    }

    fn route_merged(
        &self,
        reader: &Reader<'_>,
        router: &mut PartsRouter<'_, '_, '_>,
    ) -> io::Result<PassSummary> {
        let streams = reader.data_streams().into_iter().enumerate();
        router.places = streams.map(|(number, stream)| RoutedStream::new(stream, number)).collect();
        let keys = router.places.iter().enumerate();
        router.merged = keys.map(|(index, place)| (place.stream.key, index)).collect();
        router.writer.parts.output.begin_lane(Lane::All);
        let mut cursor = reader.cursor();
        let summary = self.drain(router, |take| cursor.drain_all(take))?;
        if matches!(summary.end, PassEnd::Over) {
            router.finish_lane()?;
        }
        Ok(summary)
    }

    /// Returns `true` if a data stream contains a selected event or a loss.
    fn has_content(&self, messages: StreamMessages) -> io::Result<bool> {
        let mut has_some = false;
        let pass = Self { stop: self.stop, ..Self::new(self.selection.clone()) };
        pass.run_stream(messages, &mut |message: &Message<'_>| {
            has_some |= matches!(message, Message::Event(_)) || PendingLoss::from_message(message).is_some();
            Ok(if has_some { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(has_some)
    }
}

/// Loss whose part is not known yet.
#[derive(Clone, Copy)]
struct PendingLoss {
    are_packets: bool,
    count: Option<u64>,
    thread: Option<u64>,
    begin: Option<ClockValue>,
    end: Option<ClockValue>,
}

impl PendingLoss {
    fn from_message(message: &Message<'_>) -> Option<Self> {
        let (are_packets, discarded) = match message {
            Message::DiscardedEvents(discarded) => (false, discarded),
            Message::DiscardedPackets(discarded) => (true, discarded),
            _ => return None,
        };
        let Discarded { count, thread, begin, end, .. } = *discarded;
        Some(Self { are_packets, count, thread, begin, end })
    }

    fn message<'m>(&self, stream: &'m DataStream) -> Message<'m> {
        let Self { are_packets, count, thread, begin, end } = *self;
        let discarded = Discarded { stream, count, thread, begin, end };
        if are_packets { Message::DiscardedPackets(discarded) } else { Message::DiscardedEvents(discarded) }
    }

    fn time(&self) -> Option<i128> {
        self.begin.or(self.end).map(|value| value.nanoseconds)
    }
}

/// Position in a data stream.
struct RoutedStream {
    stream: Arc<DataStream>,
    /// Index of the data stream among the read data streams.
    number: usize,
    has_packets: bool,
    pending: Vec<PendingLoss>,
    /// Part of the last event.
    last: Option<usize>,
    /// For parts by time: part with the open packet.
    time_part: usize,
}

impl RoutedStream {
    fn new(stream: Arc<DataStream>, number: usize) -> Self {
        Self { stream, number, has_packets: false, pending: Vec::new(), last: None, time_part: 0 }
    }
}

/// Sink that routes messages to their parts.
struct PartsRouter<'w, 'p, 's> {
    writer: PartsWriter<'w, 'p, 's>,
    /// All data streams if they are merged, otherwise the current data stream.
    places: Vec<RoutedStream>,
    /// Indexes of merged data streams, by key.
    merged: HashMap<u32, usize>,
    /// Index of the part that received the last copied packet.
    copied_into: usize,
}

impl PartsRouter<'_, '_, '_> {
    fn finish_lane(&mut self) -> io::Result<()> {
        let mut places = std::mem::take(&mut self.places);
        places.iter_mut().try_for_each(|place| self.writer.finish_stream(place))?;
        self.writer.parts.output.end_lane()?;
        self.writer.show_progress();
        Ok(())
    }
}

impl Sink for PartsRouter<'_, '_, '_> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let Message::Damage(damage) = message {
            self.writer.observer.note_damage(damage);
        }
        let index = match message {
            _ if self.merged.is_empty() => Some(0),
            Message::Event(event) => self.merged.get(&event.stream.key).copied(),
            Message::DiscardedEvents(lost) | Message::DiscardedPackets(lost) => {
                self.merged.get(&lost.stream.key).copied()
            }
            _ => None,
        };
        if let Some(place) = index.and_then(|index| self.places.get_mut(index)) {
            self.writer.message(message, place)?;
        } else if let Message::Damage(_) = message {
            self.writer.damage(message, None, true)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, _: &Message<'_>, events: u32) -> io::Result<()> {
        self.writer.examined += u64::from(events);
        if self.writer.examined >= STEP {
            self.writer.show_progress();
        }
        Ok(())
    }
}

impl PacketSink for PartsRouter<'_, '_, '_> {
    fn begin_packet(&mut self, packet: &Packet<'_>) -> io::Result<PacketFlow> {
        let Some(place) = self.places.first_mut() else { return Ok(PacketFlow::Read) };
        place.has_packets = true;
        let Some(part) = self.writer.begin_packet(packet, place)? else { return Ok(PacketFlow::Read) };
        self.copied_into = part;
        Ok(PacketFlow::Copied)
    }

    fn copied_message(&mut self, message: &Message<'_>) {
        if let Message::Damage(damage) = message {
            self.writer.observer.note_damage(damage);
        }
        self.writer.parts.output.copied_message(self.copied_into, message);
    }
}

/// Writer of messages to their parts.
struct PartsWriter<'w, 'p, 's> {
    parts: &'w mut Parts<'p, 's>,
    observer: &'w dyn PassObserver,
    window: Window,
    /// Output indexes by part number.
    indexes: HashMap<usize, usize>,
    /// Damage before the first part. The part of the next event receives it.
    early_damage: Vec<Damage>,
    /// Events since the last progress report, and bytes at that report.
    examined: u64,
    reported: u64,
}

impl PartsWriter<'_, '_, '_> {
    /// Returns the output index of a part, and adds a new part.
    fn part(&mut self, number: usize) -> io::Result<usize> {
        if let Some(known) = self.indexes.get(&number) {
            return Ok(*known);
        }
        let window = self.parts.by.window(number, self.window);
        let target = (self.parts.target)(number, window)?;
        let part = self.parts.output.add_part(target).map_err(io::Error::other)?;
        self.indexes.insert(number, part);
        self.parts.written.push((number, 0));
        Ok(part)
    }

    /// Returns the part of an event.
    fn part_of(&mut self, event: &Event<'_>, at: &RoutedStream) -> io::Result<usize> {
        match &mut self.parts.by {
            SplitBy::Streams => Ok(at.number),
            SplitBy::Events { part_of, .. } => part_of(event).ok_or(io::ErrorKind::Interrupted.into()),
            SplitBy::Times { begins, .. } => Ok(match event.nanoseconds() {
                Some(time) => SplitBy::at_time(begins, time),
                None if event.stream.clock().is_none() => begins.len() + 1,
                None => at.last.unwrap_or(0),
            }),
        }
    }

    /// Sends pending losses to a part.
    fn deliver(&mut self, part: usize, at: &mut RoutedStream) -> io::Result<()> {
        for pending in std::mem::take(&mut at.pending) {
            self.parts.output.message(part, &pending.message(&at.stream))?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>, at: &mut RoutedStream) -> io::Result<()> {
        let number = self.part_of(event, at)?;
        if let SplitBy::Times { .. } = self.parts.by
            && at.has_packets
        {
            self.open_part(number, at)?;
        }
        let part = self.part(number)?;
        if !at.pending.is_empty() {
            self.deliver(part, at)?;
        }
        if !self.early_damage.is_empty() && !at.has_packets {
            for damage in std::mem::take(&mut self.early_damage) {
                self.parts.output.message(part, &Message::Damage(&damage))?;
            }
        }
        at.last = Some(number);
        self.parts.written.iter_mut().skip(part).take(1).for_each(|(_, events)| *events += 1);
        self.parts.output.message(part, &Message::Event(*event))
    }

    /// For parts by time: opens the packet in the numbered part, and in the parts before it without events.
    fn open_part(&mut self, number: usize, at: &mut RoutedStream) -> io::Result<()> {
        let SplitBy::Times { has_events, .. } = self.parts.by else { return Ok(()) };
        if number == at.time_part {
            return Ok(());
        }
        let is_there = |number: usize| has_events.get(number).copied().unwrap_or(false);
        if is_there(at.time_part) {
            let part = self.part(at.time_part)?;
            self.parts.output.close_packet(part)?;
        }
        for between in at.time_part + 1..number {
            if is_there(between) {
                let part = self.part(between)?;
                self.parts.output.open_packet(part)?;
                self.parts.output.close_packet(part)?;
            }
        }
        at.time_part = number;
        if is_there(number) {
            let part = self.part(number)?;
            self.parts.output.open_packet(part)?;
        }
        Ok(())
    }

    /// Starts a packet. Returns the index of the part that received a copy of the whole packet.
    fn begin_packet(&mut self, packet: &Packet<'_>, at: &mut RoutedStream) -> io::Result<Option<usize>> {
        let time = |value: Option<ClockValue>| value.map(|value| value.nanoseconds);
        let (begin, end) = (time(packet.begin), time(packet.end));
        // The part number, and flags for content and for the whole packet.
        let (number, is_there, is_whole) = match self.parts.by {
            SplitBy::Events { .. } => (0, false, false),
            SplitBy::Streams => (at.number, true, true),
            SplitBy::Times { begins, has_events } => {
                let is_whole = match at.stream.clock() {
                    None => {
                        at.time_part = begins.len() + 1;
                        true
                    }
                    Some(_) => {
                        at.time_part = begin.map_or(at.time_part, |begin| SplitBy::at_time(begins, begin));
                        begins.is_empty()
                            || begin.zip(end).is_some_and(|(begin, end)| {
                                begin <= end && SplitBy::at_time(begins, end) == at.time_part
                            })
                    }
                };
                (at.time_part, has_events.get(at.time_part).copied().unwrap_or(false), is_whole)
            }
        };
        if matches!(self.parts.by, SplitBy::Events { .. }) || !is_there && at.pending.is_empty() {
            self.parts.output.begin_packet(packet)?;
            return Ok(None);
        }
        let part = self.part(number)?;
        self.deliver(part, at)?;
        if is_whole && self.parts.output.copy_packet(part, packet)? {
            return Ok(Some(part));
        }
        self.parts.output.begin_packet(packet)?;
        self.parts.output.open_packet(part)?;
        Ok(None)
    }

    /// Writes a message of a data stream.
    fn message(&mut self, message: &Message<'_>, at: &mut RoutedStream) -> io::Result<()> {
        match message {
            Message::Event(event) => return self.event(event, at),
            Message::DiscardedEvents(_) | Message::DiscardedPackets(_) => {
                at.pending.extend(PendingLoss::from_message(message));
                if let SplitBy::Times { begins, .. } = self.parts.by
                    && !at.has_packets
                    && let Some(time) = at.pending.iter().find_map(PendingLoss::time)
                {
                    let part = self.part(SplitBy::at_time(begins, time))?;
                    self.deliver(part, at)?;
                }
            }
            Message::PacketEnd(packet) => {
                if let (SplitBy::Times { begins, .. }, Some(end)) = (&self.parts.by, packet.end)
                    && at.stream.clock().is_some()
                {
                    let last = SplitBy::at_time(begins, end.nanoseconds);
                    if last > at.time_part {
                        self.open_part(last, at)?;
                    }
                }
                self.parts.output.end_packet(packet)?;
            }
            Message::Damage(_) => self.damage(message, at.last, !at.has_packets)?,
            _ => {}
        }
        Ok(())
    }

    /// Writes damage to part `last`, the part of the data stream's previous event, or else to the first part. If there
    /// is no part yet, the damage `can_wait` for it.
    fn damage(&mut self, message: &Message<'_>, last: Option<usize>, can_wait: bool) -> io::Result<()> {
        match last.or_else(|| self.parts.written.first().map(|(number, _)| *number)) {
            Some(number) => {
                let part = self.part(number)?;
                self.parts.output.message(part, message)
            }
            None => {
                if let Message::Damage(damage) = message
                    && can_wait
                    && self.early_damage.len() < MOST_EARLY_DAMAGE
                {
                    self.early_damage.push((*damage).clone());
                }
                Ok(())
            }
        }
    }

    /// Writes the losses at the end of a data stream to a part.
    fn finish_stream(&mut self, at: &mut RoutedStream) -> io::Result<()> {
        if at.pending.is_empty() {
            return Ok(());
        }
        let time = at.pending.iter().find_map(PendingLoss::time);
        let number = match &mut self.parts.by {
            SplitBy::Streams => at.number,
            SplitBy::Times { begins, .. } => match time {
                Some(time) => SplitBy::at_time(begins, time),
                None => at.last.unwrap_or(0),
            },
            SplitBy::Events { rest, .. } => at.last.unwrap_or_else(rest),
        };
        let part = self.part(number)?;
        self.deliver(part, at)?;
        self.parts.output.open_packet(part)
    }

    fn show_progress(&mut self) {
        self.observer.progress(None, std::mem::take(&mut self.examined));
        let written = self.parts.output.written();
        self.observer.written(written.saturating_sub(std::mem::replace(&mut self.reported, written)));
    }
}
