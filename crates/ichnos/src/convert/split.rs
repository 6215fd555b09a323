//! Splits the input into several traces, in one pass.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use ichnos_io::{Lane, MessageOrder, PartTarget, PartsOutput, TraceWriter, WriteReport, WriteSource};
use ichnos_model::lower::LossTable;
use ichnos_model::{ClockValue, Damage, DataStream, Discarded, Event, Message, Packet, StreamCursor, Window};

use super::{ConvertError, ConvertOptions, source};
use crate::pass::{pass_copied_packet, pass_packet};
use crate::{OutputKind, PassNote, Reader, Selection};

/// Definition of a part.
pub enum SplitBy<'s> {
    /// Content of a time range.
    Times {
        /// Begin times of all parts but the first one, in order, in nanoseconds from the origin. Part `n` ends before
        /// the `n`th time; data streams without a clock are in the part after the last one.
        begins: &'s [i128],
        /// `true` for each part with an event or a loss, by number.
        are_there: &'s [bool],
    },
    /// One part per data stream, by its index among the read ones.
    Streams,
    /// Result of a function for each event.
    Events {
        /// Returns the part of an event, or `None` if there are too many parts: then nothing is written.
        part_of: &'s mut dyn FnMut(&Event<'_>) -> Option<usize>,
        /// Returns the part that reports losses of data streams without read events.
        rest: &'s mut dyn FnMut() -> usize,
    },
}

/// Options for writing parts.
pub struct SplitTargets<'s> {
    /// Returns the path of a part, or `None` to write nothing.
    pub path: &'s mut dyn FnMut(usize) -> Option<PathBuf>,
    /// Returns the property that the events of a part of [`SplitBy::Events`] have in common: each part is a trace of
    /// its own.
    pub selected_by: &'s dyn Fn(usize) -> Option<String>,
    /// Receives the number of a completed part, and its report.
    pub finished: &'s mut dyn FnMut(usize, &WriteReport),
}

impl Reader<'_> {
    /// Splits the input into several traces of a format. Each event and each loss is in exactly one of them, and
    /// empty parts are not written.
    ///
    /// # Errors
    /// If the traces cannot be written.
    pub fn split(
        &self,
        writer: &dyn TraceWriter,
        by: SplitBy<'_>,
        targets: SplitTargets<'_>,
        options: &ConvertOptions<'_>,
    ) -> Result<WriteReport, ConvertError> {
        let sources: Vec<WriteSource> =
            self.wanted().map(|(trace, wanted, _)| source(trace, wanted)).collect();
        let mut write = options.write.clone();
        write.leaves_out |= !options.pass.wants_all_events()
            || matches!(by, SplitBy::Events { .. })
            || self.excluded.iter().flatten().any(Option::is_some);
        if !write.leaves_out {
            write.selected_by.clear();
        }
        write.correlated |= self.session.relates_clocks();
        let window = self.wanted().next().map(|(_, _, window)| window).unwrap_or_default();
        write.window = window;
        if let SplitBy::Times { begins: [_, ..], .. } = by {
            // Parts are cut at other times.
            write.window.begin.get_or_insert(i128::MIN);
        }
        for (trace, _, _) in self.wanted() {
            trace.damage().iter().for_each(|damage| report_damage(options, damage));
        }
        if options.verify {
            write.verify = Some(self.verify(options));
        }
        write.stop = options.pass.stop_flag();
        let output = writer.create_parts(sources, &write)?;
        check_strict(&*output, options)?;
        let mut splitter = PartSplitter {
            reader: self,
            options,
            by,
            targets,
            window,
            output,
            parts: HashMap::new(),
            numbers: Vec::new(),
            events: Vec::new(),
            is_refused: false,
            selection: options.pass.selection().clone(),
            examined: 0,
            written: 0,
        };
        match writer.order() {
            MessageOrder::Merged | MessageOrder::Chunks => splitter.merged()?,
            MessageOrder::ByStream => splitter.streams()?,
        }
        if splitter.is_stopped() {
            return Err(ConvertError::Stopped);
        }
        check_strict(&*splitter.output, options)?;
        let counts = splitter.numbers.iter().zip(&splitter.events);
        for (part, (number, selected_events)) in counts.enumerate() {
            let mut report = splitter.output.finish_part(part)?;
            report.selected_events = *selected_events;
            (splitter.targets.finished)(*number, &report);
            if options.pass.is_stopped() {
                return Err(ConvertError::Stopped);
            }
        }
        let mut report = splitter.output.finish()?;
        report.selected_events = splitter.events.iter().sum();
        Ok(report)
    }
}

fn report_damage(options: &ConvertOptions<'_>, damage: &Damage) {
    options.observer.note(PassNote::Damage(Box::new(damage.clone())));
}

fn check_strict(output: &dyn PartsOutput, options: &ConvertOptions<'_>) -> Result<(), ConvertError> {
    let losses = if options.strict { output.losses() } else { LossTable::default() };
    if losses.is_empty() { Ok(()) } else { Err(ConvertError::Losses(losses)) }
}

/// A loss whose part is not known yet.
#[derive(Clone, Copy)]
struct PendingLoss {
    are_packets: bool,
    count: Option<u64>,
    thread: Option<u64>,
    begin: Option<ClockValue>,
    end: Option<ClockValue>,
}

impl PendingLoss {
    fn of(message: &Message<'_>) -> Option<Self> {
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

/// Position of the splitter in a data stream.
struct InStream {
    stream: Arc<DataStream>,
    /// Index of the data stream among the read ones.
    number: usize,
    has_packets: bool,
    pending: Vec<PendingLoss>,
    /// Part of the last event.
    last: Option<usize>,
    /// With times: the part in which the packet is open.
    time_part: usize,
}

impl InStream {
    fn new(stream: Arc<DataStream>, number: usize) -> Self {
        Self { stream, number, has_packets: false, pending: Vec::new(), last: None, time_part: 0 }
    }
}

struct PartSplitter<'r, 'o, 'c, 'b, 't> {
    reader: &'r Reader<'r>,
    options: &'o ConvertOptions<'c>,
    by: SplitBy<'b>,
    targets: SplitTargets<'t>,
    window: Window,
    output: Box<dyn PartsOutput>,
    /// Indexes in the output, by number of the part.
    parts: HashMap<usize, usize>,
    /// Numbers of the parts, in the order of the output, and their numbers of events.
    numbers: Vec<usize>,
    events: Vec<u64>,
    /// `true` if there are too many parts.
    is_refused: bool,
    selection: Selection,
    /// Number of events since progress was shown, and of bytes up to then.
    examined: u64,
    written: u64,
}

impl PartSplitter<'_, '_, '_, '_, '_> {
    fn is_stopped(&self) -> bool {
        self.is_refused || self.options.pass.is_stopped()
    }

    /// Returns the index of a part in the output, added if it is new.
    fn part(&mut self, number: usize) -> Result<usize, ConvertError> {
        if let Some(known) = self.parts.get(&number) {
            return Ok(*known);
        }
        let mut window = self.window;
        if let SplitBy::Times { begins, .. } = &self.by
            && number <= begins.len()
        {
            let begin = number.checked_sub(1).and_then(|before| begins.get(before)).copied();
            window.begin = [window.begin, begin].into_iter().flatten().max();
            window.end = [window.end, begins.get(number).map(|end| end - 1)].into_iter().flatten().min();
        }
        let mut target = PartTarget::default();
        (target.path, target.window) = ((self.targets.path)(number), window);
        if let SplitBy::Events { .. } = self.by {
            target.selected_by = (self.targets.selected_by)(number);
        }
        if let Some(path) = &target.path {
            self.reader.session.check_output(path, OutputKind::Trace)?;
        }
        let part = self.output.add_part(target)?;
        self.parts.insert(number, part);
        self.numbers.push(number);
        self.events.push(0);
        Ok(part)
    }

    /// Returns the number of the part that contains a time.
    fn at_time(begins: &[i128], time: i128) -> usize {
        begins.partition_point(|begin| *begin <= time)
    }

    /// Returns the part of an event, or `None` if there are too many parts.
    fn part_of(&mut self, event: &Event<'_>, at: &InStream) -> Option<usize> {
        match &mut self.by {
            SplitBy::Streams => Some(at.number),
            SplitBy::Events { part_of, .. } => {
                let part = part_of(event);
                self.is_refused |= part.is_none();
                part
            }
            SplitBy::Times { begins, .. } => Some(match event.nanoseconds() {
                Some(time) => Self::at_time(begins, time),
                None if event.stream.clock().is_none() => begins.len() + 1,
                None => at.last.unwrap_or(0),
            }),
        }
    }

    /// Sends pending losses to a part.
    fn deliver(&mut self, part: usize, at: &mut InStream) -> Result<(), ConvertError> {
        for pending in std::mem::take(&mut at.pending) {
            self.output.message(part, &pending.message(&at.stream))?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>, at: &mut InStream) -> Result<(), ConvertError> {
        self.examined += 1;
        if !self.selection.wants_event(event) {
            return Ok(());
        }
        let Some(number) = self.part_of(event, at) else { return Ok(()) };
        if let SplitBy::Times { .. } = self.by
            && at.has_packets
        {
            self.go_to(number, at)?;
        }
        let part = self.part(number)?;
        if !at.pending.is_empty() {
            self.deliver(part, at)?;
        }
        at.last = Some(number);
        self.events.iter_mut().skip(part).take(1).for_each(|events| *events += 1);
        Ok(self.output.message(part, &Message::Event(*event))?)
    }

    /// With times: opens the packet in the part with this number, and without events in parts before it.
    fn go_to(&mut self, number: usize, at: &mut InStream) -> Result<(), ConvertError> {
        let SplitBy::Times { are_there, .. } = self.by else { return Ok(()) };
        if number == at.time_part {
            return Ok(());
        }
        let is_there = |number: usize| are_there.get(number).copied().unwrap_or(false);
        if is_there(at.time_part) {
            let part = self.part(at.time_part)?;
            self.output.close_packet(part)?;
        }
        for between in at.time_part + 1..number {
            if is_there(between) {
                let part = self.part(between)?;
                self.output.open_packet(part)?;
                self.output.close_packet(part)?;
            }
        }
        at.time_part = number;
        if is_there(number) {
            let part = self.part(number)?;
            self.output.open_packet(part)?;
        }
        Ok(())
    }

    /// Begins a packet. Returns the part of the output into which it was copied as a whole.
    fn begin_packet(
        &mut self,
        packet: &Packet<'_>,
        at: &mut InStream,
    ) -> Result<Option<usize>, ConvertError> {
        let time = |value: Option<ClockValue>| value.map(|value| value.nanoseconds);
        let (begin, end) = (time(packet.begin), time(packet.end));
        let part = match &self.by {
            SplitBy::Events { .. } => {
                self.output.begin_packet(packet)?;
                return Ok(None);
            }
            SplitBy::Streams => at.number,
            SplitBy::Times { begins, .. } if at.stream.clock().is_none() => begins.len() + 1,
            SplitBy::Times { begins, .. } => {
                let first = begin.map_or(at.time_part, |begin| Self::at_time(begins, begin));
                at.time_part = first;
                first
            }
        };
        let is_there = match &self.by {
            SplitBy::Times { are_there, .. } => are_there.get(part).copied().unwrap_or(false),
            _ => true,
        };
        if let SplitBy::Times { begins, .. } = &self.by
            && at.stream.clock().is_none()
        {
            at.time_part = begins.len() + 1;
        }
        if !is_there && at.pending.is_empty() {
            self.output.begin_packet(packet)?;
            return Ok(None);
        }
        let is_in_one = match &self.by {
            SplitBy::Times { begins, .. } if at.stream.clock().is_some() => {
                !begins.is_empty()
                    && begin.zip(end).is_some_and(|(begin, end)| {
                        begin <= end && Self::at_time(begins, begin) == Self::at_time(begins, end)
                    })
                    || begins.is_empty()
            }
            _ => true,
        };
        let part = self.part(part)?;
        self.deliver(part, at)?;
        if is_in_one && self.output.copy_packet(part, packet)? {
            return Ok(Some(part));
        }
        self.output.begin_packet(packet)?;
        self.output.open_packet(part)?;
        Ok(None)
    }

    fn message(&mut self, message: &Message<'_>, at: &mut InStream) -> Result<(), ConvertError> {
        match message {
            Message::Event(event) => return self.event(event, at),
            Message::DiscardedEvents(_) | Message::DiscardedPackets(_) => {
                at.pending.extend(PendingLoss::of(message));
                if let SplitBy::Times { begins, .. } = self.by
                    && !at.has_packets
                    && let Some(time) = at.pending.iter().find_map(PendingLoss::time)
                {
                    let part = self.part(Self::at_time(begins, time))?;
                    self.deliver(part, at)?;
                }
            }
            Message::PacketEnd(packet) => {
                if let (SplitBy::Times { begins, .. }, Some(end)) = (&self.by, packet.end)
                    && at.stream.clock().is_some()
                {
                    let last = Self::at_time(begins, end.nanoseconds);
                    if last > at.time_part {
                        self.go_to(last, at)?;
                    }
                }
                self.output.end_packet(packet)?;
            }
            Message::Damage(damage) => {
                report_damage(self.options, damage);
                if let Some(part) = at.last.or_else(|| self.parts.keys().next().copied()) {
                    let part = self.part(part)?;
                    self.output.message(part, message)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes losses at the end of a data stream to a part.
    fn finish_stream(&mut self, at: &mut InStream) -> Result<(), ConvertError> {
        if at.pending.is_empty() {
            return Ok(());
        }
        let time = at.pending.iter().find_map(PendingLoss::time);
        let number = match &mut self.by {
            SplitBy::Streams => at.number,
            SplitBy::Times { begins, .. } => match time {
                Some(time) => Self::at_time(begins, time),
                None => at.last.unwrap_or(0),
            },
            SplitBy::Events { rest, .. } => at.last.unwrap_or_else(rest),
        };
        let part = self.part(number)?;
        self.deliver(part, at)?;
        self.output.open_packet(part)?;
        Ok(())
    }

    fn show_progress(&mut self) {
        let observer = self.options.observer;
        observer.progress(None, std::mem::take(&mut self.examined));
        let written = self.output.written();
        observer.written(written.saturating_sub(std::mem::replace(&mut self.written, written)));
    }

    /// Returns `true` if a data stream contains an event or a loss.
    fn has_content(&mut self, source: usize, stream: usize) -> bool {
        let Some((trace, _, window)) = self.reader.wanted().nth(source) else { return false };
        let Some(cursor) = trace.cursor(stream, window) else { return false };
        let mut cursor = self.reader.excluding(source, stream, cursor);
        let mut has_some = false;
        let (selection, options) = (&mut self.selection, self.options);
        cursor.next_head();
        cursor.drain_all(&mut |message| {
            has_some |= match message {
                Message::Event(event) => selection.wants_event(event),
                Message::DiscardedEvents(_) | Message::DiscardedPackets(_) => true,
                _ => false,
            };
            if has_some || options.pass.is_stopped() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        has_some
    }

    /// Splits one data stream after the other.
    fn streams(&mut self) -> Result<(), ConvertError> {
        let mut number = 0;
        let reader = self.reader;
        for (source, (trace, wanted, window)) in reader.wanted().enumerate() {
            let mut lane = 0;
            let streams = trace.data_streams().into_iter().enumerate().zip(wanted).filter(|(_, is)| **is);
            for ((index, stream), _) in streams {
                if self.is_stopped() {
                    return Ok(());
                }
                let at = InStream::new(stream, number);
                (number, lane) = (number + 1, lane + 1);
                if matches!(self.by, SplitBy::Streams) && !self.has_content(source, index) {
                    continue;
                }
                let Some(cursor) = trace.cursor(index, window) else { continue };
                let cursor = reader.excluding(source, index, cursor);
                self.output.begin_lane(Lane::Stream { source, stream: lane - 1 });
                self.stream(cursor, at)?;
                if self.is_stopped() {
                    return Ok(());
                }
                self.output.end_lane()?;
                self.show_progress();
            }
        }
        Ok(())
    }

    fn stream(
        &mut self,
        mut cursor: ichnos_model::BoxedCursor,
        mut at: InStream,
    ) -> Result<(), ConvertError> {
        let mut has_message = cursor.next_head().is_some();
        while has_message && !self.is_stopped() {
            if let Some(Message::PacketBegin(packet)) = cursor.current() {
                at.has_packets = true;
                if let Some(part) = self.begin_packet(&packet, &mut at)? {
                    let (output, options) = (&mut self.output, self.options);
                    has_message = match self.options.verify {
                        true => pass_copied_packet(&mut cursor, &mut |message| {
                            if let Message::Damage(damage) = message {
                                report_damage(options, damage);
                            }
                            output.copied_message(part, message);
                        }),
                        false => pass_packet(&mut cursor, &|| self.options.pass.is_stopped()),
                    };
                    continue;
                }
            }
            let mut is_first = true;
            let mut result = Ok(());
            let mut is_over = false;
            has_message = cursor.drain_all(&mut |message| {
                if matches!(message, Message::PacketBegin(_)) {
                    if !is_first {
                        return ControlFlow::Break(());
                    }
                    is_first = false;
                    return ControlFlow::Continue(());
                }
                is_first = false;
                result = self.message(message, &mut at);
                is_over = result.is_err() || self.is_stopped();
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            result?;
            if is_over {
                return Ok(());
            }
            self.show_progress();
        }
        self.finish_stream(&mut at)
    }

    /// Splits all data streams merged by time.
    fn merged(&mut self) -> Result<(), ConvertError> {
        let mut streams: HashMap<u32, InStream> = HashMap::new();
        for (number, stream) in self.reader.data_streams().into_iter().enumerate() {
            let key = stream.key;
            let at = InStream::new(stream, number);
            streams.insert(key, at);
        }
        self.output.begin_lane(Lane::All);
        let mut result = Ok(());
        let mut count = 0u32;
        self.reader.cursor().drain_all(&mut |message| {
            let key = match message {
                Message::Event(event) => Some(event.stream.key),
                Message::DiscardedEvents(lost) | Message::DiscardedPackets(lost) => Some(lost.stream.key),
                _ => None,
            };
            match (key.and_then(|key| streams.get_mut(&key)), message) {
                (Some(at), _) => result = self.message(message, at),
                (None, Message::Damage(damage)) => {
                    report_damage(self.options, damage);
                    if let Some(part) = self.parts.values().next().copied() {
                        result = self.output.message(part, message).map_err(ConvertError::from);
                    }
                }
                _ => {}
            }
            count = count.wrapping_add(1);
            if count % (1 << 14) == 0 {
                self.show_progress();
            }
            let is_over = result.is_err() || self.is_stopped();
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        result?;
        if self.is_stopped() {
            return Ok(());
        }
        let mut left: Vec<_> = streams.into_values().filter(|at| !at.pending.is_empty()).collect();
        left.sort_by_key(|at| at.number);
        left.iter_mut().try_for_each(|at| self.finish_stream(at))?;
        Ok(self.output.end_lane()?)
    }
}
