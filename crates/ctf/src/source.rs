//! Source of a data stream's messages.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use ichnos_model::clock::ClockValue;
use ichnos_model::cursor::{Checkpoint, ExcludedClasses, Head, MessageKind};
use ichnos_model::decode::DecodeErrorKind;
use ichnos_model::event::{EventCounts, Packet};
use ichnos_model::message::{Damage, DamageKind, DataPosition};
use ichnos_model::source::{MessageQueue, NextRecord, QueuedMessage, Record, SourceCursor};
use ichnos_model::{DataStream, Event, Source, Window};

use crate::event_order::OrderViolation;
use crate::event_scanner::EventScanner;
use crate::overwritten::BLOCK;
use crate::packet::Clocks;
use crate::packet_reader::PacketReader;
use crate::rule::{Overwritten, Rule};
use crate::stream_input::StreamInput;

impl StreamInput {
    /// Returns a cursor over the messages in a window.
    #[must_use]
    pub fn cursor(self: &Arc<Self>, window: Window) -> CtfCursor {
        let goes_on = Clocks::for_trace(&self.stream.trace.class).go_on;
        let begin = window.begin.filter(|_| !goes_on);
        self.cursor_at(window, begin.map_or(0, |begin| self.first_packet(begin)))
    }

    /// Returns a cursor over the messages from a packet range in a window. If the range contains the first packet, the
    /// cursor also starts the data stream. If it contains the last packet, the cursor also ends it.
    pub(crate) fn cursor_of(self: &Arc<Self>, window: Window, packets: Range<usize>) -> CtfCursor {
        let begin = window.begin.map_or(0, |begin| self.first_packet(begin));
        let mut source = CtfSource::new(self, window, packets.start.max(begin.min(packets.end)));
        source.packets.end_at(packets.end);
        let is_partial = source.packets.is_partial();
        let (stream, limits) = (Arc::clone(&self.stream), self.rules.limits);
        let cursor = match packets.start {
            0 => SourceCursor::new(stream, source, window, limits),
            _ => SourceCursor::resumed(stream, source, window, limits, |_, _| None),
        };
        if is_partial { cursor.without_end() } else { cursor }
    }

    /// Returns a cursor over the messages in a window, starting with packet `first`.
    pub(crate) fn cursor_at(self: &Arc<Self>, window: Window, first: usize) -> CtfCursor {
        let source = CtfSource::new(self, window, first);
        SourceCursor::new(Arc::clone(&self.stream), source, window, self.rules.limits)
    }
}

/// Cursor over a data stream's messages.
pub type CtfCursor = SourceCursor<CtfSource>;

/// Next action of a source when its queue is empty and nothing is left to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextAction {
    /// Contains the number of already queued damages before the next packet.
    BeforePacket(usize),
    /// Event records are being scanned.
    InPacket,
    /// The packet end was queued.
    AfterPacket,
    /// Contains the number of already queued damages after the last packet.
    AfterPackets(usize),
    /// The window has ended, so the rest of the data stream is not read.
    AfterWindow,
    Done,
}

impl NextAction {
    /// Returns two numbers that identify the state.
    fn numbers(self) -> (u64, u64) {
        let (kind, which) = match self {
            Self::BeforePacket(which) => (1, which),
            Self::InPacket => (2, 0),
            Self::AfterPacket => (3, 0),
            Self::AfterPackets(which) => (4, which),
            Self::AfterWindow => (5, 0),
            Self::Done => (6, 0),
        };
        (kind, which as u64)
    }
}

/// Reads a data stream packet by packet. The scanner finds the event records, and everything else is queued.
// Data that events do not need is boxed, so that the rest of a thousand cursors fits into the processor's caches.
#[derive(Debug)]
pub struct CtfSource {
    pub(crate) packets: PacketReader,
    pub(crate) scanner: EventScanner,
    state: NextAction,
    window: Window,
    pub(crate) has_window: bool,
    /// `true` if the last event was after the window.
    pub(crate) is_behind_window: bool,
    /// First overwritten bit in the packet, and the overwriting content.
    overwritten: Option<(u64, Overwritten)>,
    /// Bit in the packet up to which blocks have been examined.
    judged: u64,
    excluded: Option<Box<ExcludedEvents>>,
}

/// Delivery of a scanned event record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventDelivery {
    /// Delivered at its own time.
    Now,
    /// Queued.
    Queued,
    /// Dropped, because it is outside the window.
    Omitted,
}

/// Event records to skip.
#[derive(Clone, Debug)]
struct ExcludedEvents {
    classes: Arc<ExcludedClasses>,
    /// Default clock values at which they are skipped. `None` to check them one by one.
    times: Option<RangeInclusive<u64>>,
}

impl CtfSource {
    /// Creates a source that starts with packet `first`.
    pub(crate) fn new(input: &Arc<StreamInput>, window: Window, first: usize) -> Self {
        Self {
            packets: PacketReader::new(input, first),
            scanner: EventScanner::new(&input.stream, &input.rules),
            state: NextAction::BeforePacket(0),
            has_window: window.begin.is_some() || window.end.is_some(),
            overwritten: None,
            judged: 0,
            excluded: None,
            window,
            is_behind_window: false,
        }
    }

    /// Returns the data stream being read.
    #[must_use]
    pub fn stream(&self) -> &Arc<DataStream> {
        &self.packets.input().stream
    }

    /// Delivers the last scanned event record.
    #[inline(always)]
    pub(crate) fn deliver_event(&mut self, queue: &mut MessageQueue) -> EventDelivery {
        if let Some(time) = self.scanner.event_clock() {
            if self.has_window && !self.admit(time.nanoseconds) {
                return EventDelivery::Omitted;
            }
            if !self.scanner.order.allows(time.cycles) {
                if self.scanner.is_uniform_from_last() {
                    self.scanner.break_last(Rule::Overwritten(Overwritten::Rest).into());
                    return EventDelivery::Omitted;
                }
                self.queue_out_of_order(time, queue);
                return EventDelivery::Queued;
            }
            self.scanner.order.last = time.cycles;
        }
        EventDelivery::Now
    }

    /// Returns `true` if the last scanned event record, which is on time, is excluded. In this case also skips the
    /// excluded event records after it.
    #[inline(always)]
    fn skip_excluded(&mut self) -> bool {
        let Some(excluded) = &self.excluded else { return false };
        let is_excluded = excluded.classes.has(self.scanner.event_class());
        if let (true, Some(times)) = (is_excluded, &excluded.times) {
            self.scanner.skip_excluded(&excluded.classes, times);
        }
        is_excluded
    }

    /// Returns `true` if an event time is in the window. Remembers if it is after the window.
    fn admit(&mut self, nanoseconds: i128) -> bool {
        if self.window.begin.is_some_and(|begin| nanoseconds < begin) {
            return false;
        }
        // This applies to this event only, because a wrong clock value may be followed by right values.
        self.is_behind_window = self.window.end.is_some_and(|end| nanoseconds > end);
        !self.is_behind_window
    }

    /// Queues the last scanned event record, after the damage of its time.
    #[cold]
    fn queue_out_of_order(&mut self, time: ClockValue, queue: &mut MessageQueue) {
        let packet_end = self.scanner.order.packet_end();
        // Damage must not depend on the clock arithmetic option for event times.
        let clock = self.packets.input().stream.clock();
        let exact = clock.map_or(time.nanoseconds, |clock| clock.nanoseconds(time.cycles));
        let exact = ClockValue { nanoseconds: exact, ..time };
        let OrderViolation { damage, at_packet_end } = self.scanner.order.record_out_of_order(exact);
        let end = self.packets.input().clock_value(at_packet_end.then_some(packet_end));
        let nanoseconds = end.unwrap_or(time).nanoseconds;
        if let Some(kind) = damage {
            let begin = self.scanner.event_begin().bit;
            self.queue_damage(self.packets.damage(begin, begin, kind), queue);
        }
        queue.push(QueuedMessage::Event, Some(nanoseconds));
    }

    /// Queues the next messages other than punctual events, and returns [`NextRecord::Messages`]. Returns `None` if
    /// event records may follow.
    #[inline(never)]
    fn read_otherwise(&mut self, queue: &mut MessageQueue) -> Option<NextRecord> {
        loop {
            if !queue.is_empty() {
                return Some(NextRecord::Messages);
            }
            match self.state {
                NextAction::BeforePacket(0) if !self.packets.has_packet() => {
                    self.state = if self.packets.is_partial() {
                        NextAction::Done
                    } else {
                        NextAction::AfterPackets(0)
                    };
                }
                NextAction::BeforePacket(0) if self.is_past_window() => self.leave_window(queue),
                NextAction::BeforePacket(which) => match self.packets.damage_before(which) {
                    Some(damage) => {
                        self.state = NextAction::BeforePacket(which + 1);
                        self.queue_damage(damage, queue);
                    }
                    None => self.enter_packet(queue),
                },
                NextAction::InPacket if self.packets.is_lost() || self.scanner.is_broken() => {
                    self.leave_packet(queue)
                }
                NextAction::InPacket if self.scanner.has_more() => {
                    self.look_ahead();
                    return None;
                }
                NextAction::InPacket => self.leave_packet(queue),
                NextAction::AfterPacket => {
                    self.packets.advance();
                    self.state = NextAction::BeforePacket(0);
                }
                NextAction::AfterPackets(which) => match self.packets.input().rest.get(which).cloned() {
                    Some(damage) => {
                        self.state = NextAction::AfterPackets(which + 1);
                        self.queue_damage(damage, queue);
                    }
                    None => self.queue_lost_files(queue),
                },
                NextAction::AfterWindow => self.queue_lost_files(queue),
                NextAction::Done => return Some(NextRecord::End),
            }
        }
    }

    /// Returns `true` if all events from the next packet on are after the window.
    fn is_past_window(&self) -> bool {
        self.window.end.is_some_and(|end| self.packets.is_past(end, self.is_behind_window))
    }

    /// Opens the packet, and sets its begin time to the result of `earlier_begin`. If it cannot be read, queues its
    /// damage and returns `false`.
    pub(crate) fn open_packet(
        &mut self,
        queue: &mut MessageQueue,
        earlier_begin: impl FnOnce(&Self) -> Option<u64>,
    ) -> bool {
        self.scanner.order.before_packet();
        self.overwritten = None;
        let (slots, clocks) = self.scanner.decode_state();
        match self.packets.open(slots, clocks) {
            Ok(content) => {
                self.scanner.enter_packet(content);
                self.judged = self.scanner.at().bit;
                if let Some(begin) = earlier_begin(self) {
                    self.packets.correct_begin(begin);
                    self.scanner.clocks.set_default(begin);
                }
                let times = self.packets.times();
                self.scanner.order.in_packet(times.last, times.are_corrected);
                if self.packets.has_unknown_content() {
                    let latest = times.last.unwrap_or(u64::MAX);
                    let end = self.scanner.end_content_by_events(latest, &self.packets.bytes_before());
                    self.packets.end_content(end);
                }
                self.state = NextAction::InPacket;
                true
            }
            Err(damage) => {
                if let Some(damage) = damage {
                    self.queue_damage(damage, queue);
                }
                self.packets.advance();
                self.state = NextAction::BeforePacket(0);
                false
            }
        }
    }

    /// Extends the packet's scannable range up to the next check that the file still has its bytes.
    pub(crate) fn look_ahead(&mut self) {
        let at = self.scanner.at().bit;
        let mut readable = self.packets.readable(at, self.scanner.content_end());
        if let Some((_, found)) = self.overwritten.filter(|(begin, _)| *begin <= at) {
            return self.scanner.break_here(Rule::Overwritten(found).into());
        }
        // An event record can end in an unexamined block.
        let from = at.saturating_sub(8 * (BLOCK as u64 - 1)).max(self.judged).min(at);
        let mut blocks = from..readable.end;
        // The last event record in an intact block can end in the next block.
        for _ in 0..2 {
            let Some((bits, found)) = self.packets.suspicious_block(blocks.clone()) else { break };
            match self.scanner.overwritten_from(bits.clone(), found) {
                Some(begin) if begin <= at => {
                    return self.scanner.break_here(Rule::Overwritten(found).into());
                }
                Some(begin) => {
                    self.overwritten = Some((begin, found));
                    readable.end = readable.end.min(begin);
                    break;
                }
                None => {
                    readable.end = readable.end.min(bits.end);
                    blocks = bits.end..bits.end + 8;
                }
            }
        }
        self.judged = readable.end;
        self.scanner.scan_up_to(readable);
    }

    /// Opens the next packet and queues the messages before its first event record.
    fn enter_packet(&mut self, queue: &mut MessageQueue) {
        let earlier_begin = |source: &Self| {
            let (begin, end, earliest) = source.packets.recorded_times()?;
            source.scanner.earlier_begin(begin, end, earliest)
        };
        if !self.open_packet(queue, earlier_begin) {
            return;
        }
        self.look_ahead();
        for damage in self.packets.flaws() {
            self.queue_damage(damage, queue);
        }
        self.queue_losses(queue);
        self.queue_packet_begin(queue);
    }

    /// Queues the losses that the open packet shows, as far as they are in the window.
    fn queue_losses(&self, queue: &mut MessageQueue) {
        if let Some(loss) = self.packets.discarded_events().filter(|loss| loss.is_in(&self.window)) {
            queue.push(QueuedMessage::DiscardedEvents(Box::new(loss.into())), loss.begin());
        }
        if let Some(loss) = self.packets.discarded_packets().filter(|loss| loss.is_in(&self.window)) {
            queue.push(QueuedMessage::DiscardedPackets(Box::new(loss.into())), loss.begin());
        }
    }

    /// Ends the window before the next packet. Only that packet shows the losses that begin in the window.
    fn leave_window(&mut self, queue: &mut MessageQueue) {
        let (slots, clocks) = self.scanner.decode_state();
        // The clock stays at the last packet's end.
        if self.packets.peek(slots, &mut clocks.clone()) {
            self.queue_losses(queue);
        }
        self.state = if self.packets.is_partial() { NextAction::Done } else { NextAction::AfterWindow };
    }

    /// Queues the open packet's start.
    pub(crate) fn queue_packet_begin(&mut self, queue: &mut MessageQueue) {
        if !self.packets.begins_with_event() {
            let order = &mut self.scanner.order;
            order.last = order.last.max(self.packets.earliest_event());
        } else if let Some(first) = self.scanner.next_time() {
            self.packets.begin_by(first);
        }
        queue.push(QueuedMessage::PacketBegin, self.packets.begin_time());
    }

    /// Queues the damage after the last readable event record, and the packet's end.
    fn leave_packet(&mut self, queue: &mut MessageQueue) {
        let broken = self.scanner.take_broken();
        if self.packets.is_lost() {
            // The broken event record was not reported, because its bytes were missing.
            if let Some(damage) = self.packets.report_lost_events(self.scanner.at().bit) {
                self.queue_damage(damage, queue);
            }
            return self.queue_packet_end(queue);
        }
        if let Some((bit, kind)) = broken {
            let missing = matches!(kind, DamageKind::Field(DecodeErrorKind::BeyondData { .. }));
            if let (true, Some(damage)) = (missing, self.packets.cut_off_within(self.scanner.at().bit)) {
                // The data ends within an event record, so there is no other damage.
                self.queue_damage(damage, queue);
                return self.queue_packet_end(queue);
            }
            self.queue_damage(self.packets.damage(bit, self.scanner.content_end(), kind), queue);
        }
        if let Some(damage) = self.packets.cut_off() {
            self.queue_damage(damage, queue);
        }
        self.queue_packet_end(queue);
    }

    /// Queues the packet's end. No more event records are scanned in it.
    pub(crate) fn queue_packet_end(&mut self, queue: &mut MessageQueue) {
        self.state = NextAction::AfterPacket;
        self.packets.close(&mut self.scanner.clocks, self.scanner.order.last);
        self.scanner.leave_packet();
        if self.packets.is_misplaced() {
            // Later packets may be earlier or later, which was already reported.
            self.scanner.order.last = 0;
        }
        queue.push(QueuedMessage::PacketEnd, self.packets.end_time());
    }

    /// Queues the unreported file losses at the data stream's end.
    fn queue_lost_files(&mut self, queue: &mut MessageQueue) {
        self.state = NextAction::Done;
        while let Some(damage) = self.packets.report_lost_file() {
            self.queue_damage(damage, queue);
        }
    }

    /// Queues damage at the current time.
    fn queue_damage(&self, damage: Damage, queue: &mut MessageQueue) {
        let damage = damage.in_stream(&*self.stream().name);
        let now = self.scanner.clocks.value().map(|now| now.min(self.scanner.order.packet_end()));
        let time = self.packets.input().clock_value(now).map(|value| value.nanoseconds);
        queue.push(QueuedMessage::Damage(Box::new(damage)), time);
    }
}

impl Source for CtfSource {
    #[inline(always)]
    fn next(&mut self, record: &mut Record) -> NextRecord {
        loop {
            if self.scanner.next_event() {
                match self.deliver_event(&mut record.messages) {
                    EventDelivery::Now if !self.skip_excluded() => return NextRecord::Event,
                    EventDelivery::Queued => return NextRecord::Messages,
                    _ => {}
                }
            } else if let Some(next) = self.read_otherwise(&mut record.messages) {
                return next;
            }
        }
    }

    #[inline(always)]
    fn checks_events(&self) -> bool {
        true
    }

    #[inline(always)]
    fn event<'e>(&'e self, _: &'e Record) -> Option<Event<'e>> {
        Some(self.scanner.event())
    }

    #[inline(always)]
    fn event_head(&self, _: &Record) -> Head {
        let time = self.scanner.event_clock().map(|value| value.nanoseconds);
        Head::event(self.scanner.event_class(), time)
    }

    fn packet<'p>(&'p self, _: &'p Record) -> Option<Packet<'p>> {
        Some(self.packets.packet(self.scanner.scopes(), self.scanner.data_bits()))
    }

    fn skip_events(&mut self, _: &mut Record, most: u32, counts: &mut EventCounts) -> u32 {
        if self.has_window || self.excluded.is_some() {
            return 0;
        }
        self.scanner.skip_plain_events(most, counts)
    }

    fn skip_times(&mut self, _: &mut Record, most: u32, times: &mut Vec<i64>) {
        if !self.has_window && self.excluded.is_none() {
            self.scanner.skip_times(most, times);
        }
    }

    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        let times = self.scanner.range_of(self.window);
        self.excluded = Some(Box::new(ExcludedEvents { classes: Arc::clone(classes), times }));
    }

    fn skip_packet(&mut self, record: &mut Record) -> bool {
        let is_skippable = self.state == NextAction::InPacket && self.packets.is_plain();
        if is_skippable {
            self.queue_packet_end(&mut record.messages);
        }
        is_skippable
    }

    fn prefetch(&self) {
        self.scanner.prefetch();
    }

    // The clock value is not stored, because each packet sets it.
    fn checkpoint(&self, record: &Record, _: Option<MessageKind>) -> Option<Checkpoint> {
        let (state, which) = self.state.numbers();
        let state = which << 32 | (record.messages.len() as u64) << 8 | state;
        let order = &self.scanner.order;
        let state = state << 1 | u64::from(order.is_late_reported());
        Some(Checkpoint::At([self.packets.index() as u64, state, self.scanner.at().bit, order.last]))
    }

    fn position(&self) -> Option<DataPosition> {
        Some(self.packets.position(self.scanner.event_begin().bit))
    }
}

#[cfg(test)]
mod tests {
    use ichnos_model::Cursor;
    use ichnos_model::cursor::{MessageKind, Reopen};

    use super::*;
    use crate::test_stream::{PacketFields, packet, stream};

    /// Two packets with a loss between them, and an event after its packet's end.
    fn input() -> Arc<StreamInput> {
        let first = PacketFields { begin: 10, end: 20, sequence: 0, discarded: 0 };
        let second = PacketFields { begin: 30, end: 40, sequence: 2, discarded: 1 };
        stream([packet(first, &[0, 11, 1]), packet(second, &[0, 31, 1, 0, 45, 2])].concat())
    }

    #[test]
    fn messages_come_in_order() {
        let mut cursor = input().cursor(Window::default());
        let mut messages = Vec::new();
        while cursor.advance() {
            let head = cursor.head().unwrap();
            assert!(cursor.current().is_some());
            messages.push((head.kind, head.nanoseconds()));
        }
        use MessageKind::{
            Damage, DiscardedEvents, DiscardedPackets, Event, PacketBegin, PacketEnd, StreamBegin, StreamEnd,
        };
        let expected = [
            (StreamBegin, None),
            (PacketBegin, Some(10)),
            (Event, Some(11)),
            (PacketEnd, Some(20)),
            (DiscardedEvents, Some(20)),
            (DiscardedPackets, Some(20)),
            (PacketBegin, Some(30)),
            (Event, Some(31)),
            (Damage, Some(40)),
            (Event, Some(40)),
            (PacketEnd, Some(40)),
            (StreamEnd, None),
        ];
        assert_eq!(messages, expected);
        assert!(!cursor.advance() && cursor.head().is_none() && cursor.current().is_none());
    }

    #[test]
    fn a_window_that_ends_before_a_packet_has_its_losses() {
        let losses = |begin, end| {
            let mut cursor = input().cursor(Window { begin, end: Some(end) });
            let mut losses = Vec::new();
            while cursor.advance() {
                let head = cursor.head().unwrap();
                if matches!(head.kind, MessageKind::DiscardedEvents | MessageKind::DiscardedPackets) {
                    losses.push((head.kind, head.nanoseconds()));
                }
            }
            losses
        };
        let both = [(MessageKind::DiscardedEvents, Some(20)), (MessageKind::DiscardedPackets, Some(20))];
        for end in [20, 25, 29, 30, 40] {
            assert_eq!(losses(None, end), both, "{end}");
        }
        assert_eq!(losses(None, 19), []);
        assert_eq!(losses(Some(22), 25), both);
    }

    #[test]
    fn each_message_has_its_checkpoint() {
        let input = input();
        let mut cursor = input.cursor(Window::default());
        let mut checkpoints = Vec::new();
        let mut resumed = 0;
        while cursor.advance() {
            let checkpoint = cursor.checkpoint();
            assert!(!checkpoints.contains(&checkpoint), "{checkpoint:?}");
            checkpoints.push(checkpoint);
            // A cursor resumed at the same message continues identically.
            if let Some(point) = StreamInput::point(&cursor) {
                let again = input.reopen(Window::default(), &point);
                assert_eq!((again.head(), again.checkpoint()), (cursor.head(), checkpoint));
                resumed += 1;
            }
        }
        assert_eq!(checkpoints.last(), Some(&Some(Checkpoint::End)));
        assert_eq!(resumed, 5);
    }
}
