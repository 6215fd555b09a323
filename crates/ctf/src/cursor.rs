//! The cursor that reads a data stream.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use ichnos_model::decode::DecodeErrorKind;
use ichnos_model::{
    Checkpoint, ClockValue, Cursor, Damage, DamageKind, DataStream, Discarded, EventCounts, ExcludedClasses,
    FastCursor, Head, Message, Window,
};

use crate::event_order::OutOfOrder;
use crate::event_scanner::EventScanner;
use crate::loss::TracerLoss;
use crate::message_queue::{MessageQueue, PendingMessage, TimedMessage};
use crate::packet::Clocks;
use crate::packet_reader::PacketReader;
use crate::stream_input::StreamInput;

impl StreamInput {
    /// Returns a cursor over the messages in the window.
    #[must_use]
    pub fn cursor(self: &Arc<Self>, window: Window) -> CtfCursor {
        let goes_on = Clocks::of(&self.stream.trace.class).go_on;
        let begin = window.begin.filter(|_| !goes_on);
        self.cursor_at(window, begin.map_or(0, |begin| self.first_packet(begin)))
    }

    /// Returns a cursor over the messages of some packets in the window. The first packet also has the
    /// messages that begin the data stream, the last one those that end it.
    pub(crate) fn cursor_of(self: &Arc<Self>, window: Window, packets: Range<usize>) -> CtfCursor {
        let begin = window.begin.map_or(0, |begin| self.first_packet(begin));
        let mut cursor = self.cursor_at(window, packets.start.max(begin.min(packets.end)));
        if packets.start > 0 {
            cursor.state = NextAction::BeforePacket(0);
        }
        cursor.packets.end_at(packets.end);
        cursor
    }

    /// Returns a cursor over the messages in the window, beginning at the packet with index `first`.
    pub(crate) fn cursor_at(self: &Arc<Self>, window: Window, first: usize) -> CtfCursor {
        CtfCursor {
            packets: PacketReader::new(self, first),
            scanner: EventScanner::new(&self.stream, &self.rules),
            queue: MessageQueue::default(),
            state: NextAction::Begin,
            current: CurrentMessage::Nothing,
            has_window: window.begin.is_some() || window.end.is_some(),
            excluded: None,
            window,
            is_behind_window: false,
        }
    }
}

/// Next action of a cursor when its queue is empty and there is nothing to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextAction {
    Begin,
    /// Holds the number of damages before the next packet that were queued.
    BeforePacket(usize),
    /// Event records are scanned.
    InPacket,
    /// The end of the packet was queued.
    AfterPacket,
    /// Holds the number of damages after all packets that were queued.
    AfterPackets(usize),
    /// The window ended; the rest of the data stream is not read.
    AfterWindow,
    Done,
}

impl NextAction {
    /// Returns two numbers that are unique to the state.
    fn numbers(self) -> (u64, u64) {
        let (kind, which) = match self {
            Self::Begin => (0, 0),
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

/// Current message of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CurrentMessage {
    Nothing,
    /// The event record that was scanned last, at its own time.
    Event,
    /// The current message of the queue.
    Queued,
}

/// Reads a data stream message by message. The scanner finds the event records packet by packet; a queue
/// delivers all other messages.
// Data that events do not need is boxed, so that the rest of a thousand cursors fits into the processor's caches.
#[derive(Debug)]
pub struct CtfCursor {
    pub(crate) packets: PacketReader,
    pub(crate) scanner: EventScanner,
    queue: MessageQueue,
    pub(crate) state: NextAction,
    pub(crate) current: CurrentMessage,
    window: Window,
    pub(crate) has_window: bool,
    /// `true` if the last event came after the window.
    pub(crate) is_behind_window: bool,
    excluded: Option<Box<Excluded>>,
}

/// Event records to skip.
#[derive(Clone, Debug)]
struct Excluded {
    classes: Arc<ExcludedClasses>,
    /// Values of the default clock at which they are skipped; `None` to check them one by one.
    times: Option<RangeInclusive<u64>>,
}

impl CtfCursor {
    /// Returns the data stream that the cursor reads.
    #[must_use]
    pub fn stream(&self) -> &Arc<DataStream> {
        &self.packets.input().stream
    }

    /// Makes the event record that was scanned last the current message, or queues it. Returns `false` if it
    /// is not in the window.
    #[inline(always)]
    pub(crate) fn deliver_event(&mut self) -> bool {
        if let Some(time) = self.scanner.event_clock() {
            if self.has_window && !self.admit(time.nanoseconds) {
                return false;
            }
            if !self.scanner.order.allows(time.cycles) {
                return self.deliver_out_of_order(time);
            }
            self.scanner.order.last = time.cycles;
        }
        self.current = CurrentMessage::Event;
        true
    }

    /// Returns `true` if the current message is an excluded event record on time, and then skips the excluded
    /// ones after it.
    #[inline(always)]
    fn skip_excluded(&mut self) -> bool {
        let Some(excluded) = &self.excluded else { return false };
        let is_excluded =
            self.current == CurrentMessage::Event && excluded.classes.has(self.scanner.event_class());
        if let (true, Some(times)) = (is_excluded, &excluded.times) {
            self.scanner.skip_excluded(&excluded.classes, times);
        }
        is_excluded
    }

    /// Returns `true` if an event of this time is in the window; notes if the event is after it.
    fn admit(&mut self, nanoseconds: i128) -> bool {
        if self.window.begin.is_some_and(|begin| nanoseconds < begin) {
            return false;
        }
        // Applies to this event only: a clock that is wrong here may be right again later.
        self.is_behind_window = self.window.end.is_some_and(|end| nanoseconds > end);
        !self.is_behind_window
    }

    /// Queues the event record that was scanned last after the damage of its time, and delivers the first
    /// message of the queue.
    #[cold]
    fn deliver_out_of_order(&mut self, time: ClockValue) -> bool {
        let packet_end = self.scanner.order.packet_end();
        // Damage has the same time in every arithmetic in which events can be shown.
        let clock = self.packets.input().stream.clock();
        let exact = clock.map_or(time.nanoseconds, |clock| clock.nanoseconds(time.cycles));
        let exact = ClockValue { nanoseconds: exact, ..time };
        let OutOfOrder { damage, at_packet_end } = self.scanner.order.note_out_of_order(exact);
        let end = self.packets.input().clock_value(at_packet_end.then_some(packet_end));
        let nanoseconds = end.unwrap_or(time).nanoseconds;
        if let Some(kind) = damage {
            let begin = self.scanner.event_begin().bit;
            self.queue_damage(self.packets.damage(begin, begin, kind));
        }
        self.queue.push(PendingMessage::Event, Some(nanoseconds));
        self.deliver_queued()
    }

    /// Makes the next message of the queue the current one. Returns `false` if the queue is empty.
    pub(crate) fn deliver_queued(&mut self) -> bool {
        let has_message = self.queue.advance();
        self.current = if has_message { CurrentMessage::Queued } else { CurrentMessage::Nothing };
        has_message
    }

    /// Moves to the next message that is not an event on time. Returns `None` if event records may follow.
    #[inline(never)]
    fn advance_otherwise(&mut self) -> Option<bool> {
        loop {
            if self.deliver_queued() {
                return Some(true);
            }
            match self.state {
                NextAction::Begin => {
                    self.state = NextAction::BeforePacket(0);
                    self.queue.push(PendingMessage::StreamBegin, None);
                }
                NextAction::BeforePacket(0) if !self.packets.has_packet() => {
                    self.state = if self.packets.is_partial() {
                        NextAction::Done
                    } else {
                        NextAction::AfterPackets(0)
                    };
                }
                NextAction::BeforePacket(0) if self.is_past_window() && self.packets.is_partial() => {
                    self.state = NextAction::Done;
                }
                NextAction::BeforePacket(0) if self.is_past_window() => self.state = NextAction::AfterWindow,
                NextAction::BeforePacket(which) => match self.packets.damage_before(which) {
                    Some(damage) => {
                        self.state = NextAction::BeforePacket(which + 1);
                        self.queue_damage(damage);
                    }
                    None => self.enter_packet(),
                },
                NextAction::InPacket if self.packets.is_lost() || self.scanner.is_broken() => {
                    self.leave_packet()
                }
                NextAction::InPacket if self.scanner.has_more() => {
                    self.look_ahead();
                    return None;
                }
                NextAction::InPacket => self.leave_packet(),
                NextAction::AfterPacket => {
                    self.packets.advance();
                    self.state = NextAction::BeforePacket(0);
                }
                NextAction::AfterPackets(which) => match self.packets.input().rest.get(which).cloned() {
                    Some(damage) => {
                        self.state = NextAction::AfterPackets(which + 1);
                        self.queue_damage(damage);
                    }
                    None => self.queue_stream_end(),
                },
                NextAction::AfterWindow => self.queue_stream_end(),
                NextAction::Done => return Some(false),
            }
        }
    }

    /// Returns `true` if no event from the next packet on can be in the window.
    fn is_past_window(&self) -> bool {
        self.window.end.is_some_and(|end| self.packets.is_past(end, self.is_behind_window))
    }

    /// Opens the packet. Returns `false` if it cannot be read, after queuing the damage to report.
    pub(crate) fn open_packet(&mut self) -> bool {
        self.scanner.order.before_packet();
        let (slots, clocks) = self.scanner.decode_state();
        match self.packets.open(slots, clocks) {
            Ok(content) => {
                let times = self.packets.times();
                self.scanner.order.in_packet(times.last, times.are_corrected);
                self.scanner.enter_packet(content);
                self.look_ahead();
                self.state = NextAction::InPacket;
                true
            }
            Err(damage) => {
                if let Some(damage) = damage {
                    self.queue_damage(damage);
                }
                self.packets.advance();
                self.state = NextAction::BeforePacket(0);
                false
            }
        }
    }

    /// Extends the scannable range of the packet up to the next check that the file still has its bytes.
    pub(crate) fn look_ahead(&mut self) {
        let readable = self.packets.readable(self.scanner.at().bit, self.scanner.content_end());
        self.scanner.scan_up_to(readable);
    }

    /// Opens the next packet and queues the messages before its first event record.
    fn enter_packet(&mut self) {
        if !self.open_packet() {
            return;
        }
        for damage in self.packets.flaws() {
            self.queue_damage(damage);
        }
        if let Some(loss) = self.packets.discarded_events().filter(|loss| loss.is_in(&self.window)) {
            self.queue.push(PendingMessage::DiscardedEvents(Box::new(loss)), loss.begin());
        }
        if let Some(loss) = self.packets.discarded_packets().filter(|loss| loss.is_in(&self.window)) {
            self.queue.push(PendingMessage::DiscardedPackets(Box::new(loss)), loss.begin());
        }
        self.queue_packet_begin();
    }

    /// Queues the beginning of the open packet.
    pub(crate) fn queue_packet_begin(&mut self) {
        if !self.packets.begins_with_event() {
            let order = &mut self.scanner.order;
            order.last = order.last.max(self.packets.earliest_event());
        } else if let Some(first) = self.scanner.next_time() {
            self.packets.begin_by(first);
        }
        self.queue.push(PendingMessage::PacketBegin, self.packets.begin_time());
    }

    /// Queues the damage after the last readable event record, and the end of the packet.
    fn leave_packet(&mut self) {
        let broken = self.scanner.take_broken();
        if self.packets.is_lost() {
            // The broken event record was not reported, because its bytes were missing.
            if let Some(damage) = self.packets.report_lost_events(self.scanner.at().bit) {
                self.queue_damage(damage);
            }
            return self.queue_packet_end();
        }
        if let Some((bit, kind)) = broken {
            let missing = matches!(kind, DamageKind::Field(DecodeErrorKind::BeyondData { .. }));
            if let (true, Some(damage)) = (missing, self.packets.cut_off_within(self.scanner.at().bit)) {
                // The data ends within an event record: there is no other damage.
                self.queue_damage(damage);
                return self.queue_packet_end();
            }
            self.queue_damage(self.packets.damage(bit, self.scanner.content_end(), kind));
        }
        if let Some(damage) = self.packets.cut_off() {
            self.queue_damage(damage);
        }
        self.queue_packet_end();
    }

    /// Queues the end of the packet, after which none of its event records are scanned.
    pub(crate) fn queue_packet_end(&mut self) {
        self.state = NextAction::AfterPacket;
        self.packets.close(&mut self.scanner.clocks, self.scanner.order.last);
        self.scanner.leave_packet();
        if self.packets.is_misplaced() {
            // Later packets may be earlier or later: that was reported.
            self.scanner.order.last = 0;
        }
        self.queue.push(PendingMessage::PacketEnd, self.packets.end_time());
    }

    /// Queues the unreported losses of files, and the end of the data stream.
    fn queue_stream_end(&mut self) {
        self.state = NextAction::Done;
        while let Some(damage) = self.packets.report_lost_file() {
            self.queue_damage(damage);
        }
        self.queue.push(PendingMessage::StreamEnd, None);
    }

    /// Queues damage at the current time.
    fn queue_damage(&mut self, damage: Damage) {
        let damage = damage.in_stream(&*self.stream().name);
        let now = self.scanner.clocks.value().map(|now| now.min(self.scanner.order.packet_end()));
        let time = self.packets.input().clock_value(now).map(|value| value.nanoseconds);
        self.queue.push(PendingMessage::Damage(Box::new(damage)), time);
    }
}

impl Cursor for CtfCursor {
    #[inline(always)]
    fn advance(&mut self) -> bool {
        loop {
            // Outside of packets there is nothing to scan.
            if self.queue.is_empty() && self.scanner.next_event() {
                if self.deliver_event() && !self.skip_excluded() {
                    return true;
                }
                continue;
            }
            if let Some(has_message) = self.advance_otherwise() {
                return has_message;
            }
        }
    }

    #[inline(always)]
    fn current(&self) -> Option<Message<'_>> {
        if self.current == CurrentMessage::Event {
            return Some(Message::Event(self.scanner.event()));
        }
        self.queued_message()
    }

    #[inline(always)]
    fn head(&self) -> Option<Head> {
        if self.current == CurrentMessage::Event {
            let time = self.scanner.event_clock().map(|value| value.nanoseconds);
            return Some(Head::event(self.scanner.event_class(), time));
        }
        self.queued_head()
    }
}

impl FastCursor for CtfCursor {
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        if !self.queue.is_empty() || self.has_window || self.excluded.is_some() {
            return 0;
        }
        // The event before needs lengths and selectors that are overwritten now.
        self.current = CurrentMessage::Nothing;
        self.scanner.skip_plain_events(most, counts)
    }

    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        let times = self.scanner.range_of(self.window);
        self.excluded = Some(Box::new(Excluded { classes: Arc::clone(classes), times }));
    }

    fn skip_packet(&mut self) -> bool {
        let is_at_begin = self.queue.is_empty()
            && matches!(self.queued().map(|queued| &queued.message), Some(PendingMessage::PacketBegin));
        if !is_at_begin || self.state != NextAction::InPacket || !self.packets.is_plain() {
            return false;
        }
        self.queue_packet_end();
        true
    }

    fn prefetch(&self) {
        self.scanner.prefetch();
    }

    // The clock needs no number of its own: each packet sets it.
    fn checkpoint(&self) -> Option<Checkpoint> {
        if self.state == NextAction::Done && self.queue.is_empty() {
            return Some(Checkpoint::End);
        }
        let (state, which) = self.state.numbers();
        let state = which << 32 | (self.queue.len() as u64) << 8 | state;
        let order = &self.scanner.order;
        let state = state << 1 | u64::from(order.is_late_reported());
        Some(Checkpoint::At([self.packets.index() as u64, state, self.scanner.at().bit, order.last]))
    }
}

impl CtfCursor {
    /// Returns the current message if it is in the queue.
    fn queued(&self) -> Option<&TimedMessage> {
        self.queue.current().filter(|_| self.current == CurrentMessage::Queued)
    }

    #[inline(never)]
    fn queued_head(&self) -> Option<Head> {
        let TimedMessage { message, nanoseconds } = self.queued()?;
        Some(match message {
            PendingMessage::Event => Head::event(self.scanner.event_class(), *nanoseconds),
            message => Head::new(message.kind(), *nanoseconds),
        })
    }

    #[inline(never)]
    fn queued_message(&self) -> Option<Message<'_>> {
        let stream = &**self.stream();
        let discarded = |loss: &TracerLoss| {
            let (begin, end) = loss.range.unzip();
            Discarded { stream, count: loss.count, thread: None, begin, end }
        };
        let packet = || self.packets.packet(self.scanner.scopes(), self.scanner.data_bits());
        Some(match &self.queued()?.message {
            PendingMessage::StreamBegin => Message::StreamBegin(stream),
            PendingMessage::StreamEnd => Message::StreamEnd(stream),
            PendingMessage::PacketBegin => Message::PacketBegin(packet()),
            PendingMessage::PacketEnd => Message::PacketEnd(packet()),
            PendingMessage::Event => Message::Event(self.scanner.event()),
            PendingMessage::DiscardedEvents(loss) => Message::DiscardedEvents(discarded(loss)),
            PendingMessage::DiscardedPackets(loss) => Message::DiscardedPackets(discarded(loss)),
            PendingMessage::Damage(damage) => Message::Damage(damage),
        })
    }
}

#[cfg(test)]
mod tests {
    use ichnos_model::MessageKind;

    use super::*;
    use crate::test_stream::{PacketFields, packet, stream};

    /// Two packets with a loss between them, and an event after the end of its packet.
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
            if let Some(point) = cursor.resume_point() {
                let again = input.cursor_resumed(Window::default(), &point);
                assert_eq!((again.head(), again.checkpoint()), (cursor.head(), checkpoint));
                resumed += 1;
            }
        }
        assert_eq!(checkpoints.last(), Some(&Some(Checkpoint::End)));
        assert_eq!(resumed, 5);
    }
}
