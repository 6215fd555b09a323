//! The cursor for all formats.

use std::sync::Arc;

use crate::class::Scope;
use crate::clock::ClockValue;
use crate::cursor::{Checkpoint, Cursor, ExcludedClasses, Head, ResumePoint};
use crate::decode::DecodeLimits;
use crate::event::EventCounts;
use crate::field::Skip;
use crate::message::{Damage, DamageKind, DataPosition, Message};
use crate::source::{MessageQueue, NextRecord, QueuedMessage, Record, Source, StreamLoss};
use crate::trace::{DataStream, Window};

/// A [cursor](Cursor) over a [`Source`]. It delivers the start and the end of the data stream, the messages that the
/// source queues, and the events. Unless the source does so itself, it enforces the window, and checks that events fit
/// their classes and are sorted by time.
#[derive(Debug)]
pub struct SourceCursor<S> {
    source: S,
    record: Record,
    current: CurrentMessage,
    /// `true` if the source is at its end.
    is_over: bool,
    /// `true` if the end of the data stream was delivered.
    has_end: bool,
    window: Window,
    /// The previous event's clock value, if the cursor checks the order.
    before: Option<ClockValue>,
}

/// A cursor's current message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CurrentMessage {
    Nothing,
    /// The last event of the source, at its own time.
    Event,
    /// The current message in the queue.
    Queued,
}

impl<S: Source> SourceCursor<S> {
    /// Creates a cursor for the events in `window`.
    #[must_use]
    pub fn new(stream: Arc<DataStream>, source: S, window: Window, limits: impl Into<DecodeLimits>) -> Self {
        let mut cursor = Self::resumed(stream, source, window, limits, |_, _| None);
        cursor.record.messages.push(QueuedMessage::StreamBegin, None);
        cursor
    }

    /// Creates a cursor for the rest of a data stream, without its start. `resume` moves the source there. It returns
    /// [`NextRecord::Event`] if the source's event is the current message, or [`NextRecord::Messages`] if the first
    /// queued message is.
    #[must_use]
    pub fn resumed(
        stream: Arc<DataStream>,
        source: S,
        window: Window,
        limits: impl Into<DecodeLimits>,
        resume: impl FnOnce(&mut S, &mut Record) -> Option<NextRecord>,
    ) -> Self {
        let record = Record::new(stream, limits.into());
        let current = CurrentMessage::Nothing;
        let mut cursor =
            Self { source, record, current, is_over: false, has_end: true, window, before: None };
        match resume(&mut cursor.source, &mut cursor.record) {
            Some(NextRecord::Event) => cursor.current = CurrentMessage::Event,
            Some(NextRecord::Messages) => {
                cursor.deliver_queued();
            }
            _ => {}
        }
        cursor
    }

    /// Omits the end of the data stream, for a cursor over a part of it.
    #[must_use]
    pub fn without_end(self) -> Self {
        Self { has_end: false, ..self }
    }

    /// Ends the cursor: nothing more is read.
    #[must_use]
    pub fn ended(mut self) -> Self {
        (self.is_over, self.has_end) = (true, false);
        self.record.messages = MessageQueue::default();
        self
    }

    /// Returns the source.
    #[inline(always)]
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Returns the current record.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns the source and the record, for a source whose data is still arriving. The current message ends.
    pub fn source_mut(&mut self) -> (&mut S, &mut Record) {
        self.current = CurrentMessage::Nothing;
        (&mut self.source, &mut self.record)
    }

    /// Returns `true` after the end of the source, which is not [`NextRecord::Pending`].
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over && self.record.messages.is_empty()
    }

    /// Returns `true` if the current message is an event that the source delivered at its own time.
    #[must_use]
    pub fn is_at_event(&self) -> bool {
        self.current == CurrentMessage::Event
    }

    /// Leaves the current message, whose data is overwritten by what comes next. Returns `false` if a queued message is
    /// next, or none.
    fn begin_skipping(&mut self) -> bool {
        let is_at_records = self.record.messages.is_empty() && !self.is_over;
        if is_at_records {
            self.current = CurrentMessage::Nothing;
        }
        is_at_records
    }

    /// Returns the kind and the time of the current message if it is from the queue.
    fn queued(&self) -> Option<&(QueuedMessage, Option<i128>)> {
        self.record.messages.current().filter(|_| self.current == CurrentMessage::Queued)
    }

    #[inline(never)]
    fn queued_head(&self) -> Option<Head> {
        let (message, nanoseconds) = self.queued()?;
        Some(match message {
            QueuedMessage::Event => self.source.event_head(&self.record).at(*nanoseconds),
            message => Head::new(message.kind(), *nanoseconds),
        })
    }

    #[inline(never)]
    fn queued_message(&self) -> Option<Message<'_>> {
        let stream = &*self.record.stream;
        let (message, nanoseconds) = self.queued()?;
        Some(match message {
            QueuedMessage::StreamBegin => Message::StreamBegin(stream),
            QueuedMessage::StreamEnd => Message::StreamEnd(stream),
            QueuedMessage::PacketBegin => Message::PacketBegin(self.source.packet(&self.record)?),
            QueuedMessage::PacketEnd => Message::PacketEnd(self.source.packet(&self.record)?),
            QueuedMessage::Event => Message::Event(self.source.event(&self.record)?),
            QueuedMessage::DiscardedEvents(loss) => Message::DiscardedEvents(loss.in_stream(stream)),
            QueuedMessage::DiscardedPackets(loss) => Message::DiscardedPackets(loss.in_stream(stream)),
            QueuedMessage::Damage(damage) => Message::Damage(damage),
            QueuedMessage::Inactivity => Message::Inactivity(*nanoseconds),
        })
    }

    /// Makes the next queued message current. Returns `false` if the queue is empty.
    fn deliver_queued(&mut self) -> bool {
        let has_message = self.record.messages.advance();
        self.current = if has_message { CurrentMessage::Queued } else { CurrentMessage::Nothing };
        has_message
    }

    /// Queues the source's result if it is not an event, and moves to the next queued message. `None` if the queue is
    /// empty and events may follow.
    #[inline(never)]
    fn advance_otherwise(&mut self, next: Option<NextRecord>) -> Option<bool> {
        match next {
            None | Some(NextRecord::Event | NextRecord::Messages) => {}
            Some(NextRecord::Pending) if self.record.messages.is_empty() => {
                self.current = CurrentMessage::Nothing;
                return Some(false);
            }
            Some(NextRecord::Pending) => {}
            Some(NextRecord::Damage(damage)) => self.record.push_damage(damage),
            Some(NextRecord::Discarded(count)) => {
                let loss = StreamLoss { count, begin: self.before, ..StreamLoss::default() };
                self.record.push_discarded_events(loss);
            }
            Some(NextRecord::End) => {
                if !std::mem::replace(&mut self.is_over, true) && self.has_end {
                    self.record.messages.push(QueuedMessage::StreamEnd, self.record.time);
                }
            }
        }
        if self.deliver_queued() {
            return Some(true);
        }
        self.is_over.then_some(false)
    }

    /// Checks an event, if the source does not check events itself. Returns `true` if it can be delivered right away.
    fn admit(&mut self) -> bool {
        let before = std::mem::replace(&mut self.before, self.record.clock);
        self.record.time = self.record.clock.map(|clock| clock.nanoseconds);
        if let Some(damage) = self.misfit() {
            self.record.push_damage(damage);
            return false;
        }
        let time = self.record.time;
        if time.is_some() && time < self.window.begin {
            return false;
        }
        if self.window.end.is_some_and(|end| time > Some(end)) {
            if self.source.is_ordered() {
                self.is_over = true;
                self.record.messages.push(QueuedMessage::StreamEnd, time);
            }
            return false;
        }
        if self.source.is_ordered()
            && let (Some(before), Some(now)) = (before, self.record.clock)
            && now.nanoseconds < before.nanoseconds
        {
            let kind = DamageKind::ClockBackwards { from: before.cycles, to: now.cycles };
            self.record.push_damage(self.damage(kind));
            self.record.push_event();
            return false;
        }
        true
    }

    /// Finds data that does not fit the event's class. Sinks rely on events that fit.
    fn misfit(&self) -> Option<Damage> {
        if self.source.has_fitting_events() {
            return None;
        }
        let event = self.source.event(&self.record)?;
        let scopes = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];
        let error = scopes.into_iter().find_map(|scope| event.visit(scope, &mut Skip).err())?;
        Some(Damage { bit: error.bit, ..self.damage(error.kind.into()) })
    }

    fn damage(&self, kind: DamageKind) -> Damage {
        let name = self.record.stream.name.to_string();
        Damage { file: name.clone(), stream: Some(name), bit: 0, kind, skipped: 0 }
    }
}

impl<S: Source> Cursor for SourceCursor<S> {
    #[inline(always)]
    fn advance(&mut self) -> bool {
        loop {
            // An expression, because a variable with `None` would be dropped for each event.
            let next = if self.record.messages.is_empty() && !self.is_over {
                if !self.source.checks_events() {
                    self.record.clear();
                }
                let found = self.source.next(&mut self.record);
                if matches!(found, NextRecord::Event) && (self.source.checks_events() || self.admit()) {
                    // There is nothing to drop, but the compiler would call the destructor.
                    std::mem::forget(found);
                    self.current = CurrentMessage::Event;
                    return true;
                }
                Some(found)
            } else {
                None
            };
            if let Some(has_message) = self.advance_otherwise(next) {
                return has_message;
            }
        }
    }

    #[inline(always)]
    fn head(&self) -> Option<Head> {
        if self.current == CurrentMessage::Event {
            return Some(self.source.event_head(&self.record));
        }
        self.queued_head()
    }

    #[inline(always)]
    fn current(&self) -> Option<Message<'_>> {
        if self.current == CurrentMessage::Event {
            return Some(Message::Event(self.source.event(&self.record)?));
        }
        self.queued_message()
    }

    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        if self.begin_skipping() { self.source.skip_events(&mut self.record, most, counts) } else { 0 }
    }

    fn skip_times(&mut self, most: u32, times: &mut Vec<i64>) {
        if self.begin_skipping() {
            self.source.skip_times(&mut self.record, most, times);
        }
    }

    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        self.source.exclude(classes);
    }

    fn skip_packet(&mut self) -> bool {
        let is_at_begin =
            self.record.messages.is_empty() && matches!(self.queued(), Some((QueuedMessage::PacketBegin, _)));
        is_at_begin && self.source.skip_packet(&mut self.record)
    }

    #[inline]
    fn prefetch(&self) {
        self.source.prefetch();
    }

    fn suspend(&mut self) {
        self.source.suspend();
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        if self.is_over && self.record.messages.is_empty() {
            return Some(Checkpoint::End);
        }
        self.source.checkpoint(&self.record, self.head().map(|head| head.kind))
    }

    fn position(&self) -> Option<DataPosition> {
        let is_event = match self.current {
            CurrentMessage::Event => true,
            CurrentMessage::Queued => matches!(self.queued(), Some((QueuedMessage::Event, _))),
            CurrentMessage::Nothing => false,
        };
        if is_event { self.source.position() } else { None }
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        if self.record.messages.is_empty() { self.source.resume_point() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{DataStreamClass, EventRecordClass, FieldClass, Member, TraceClass};
    use crate::clock::ClockClass;
    use crate::source::RecordTrace;
    use crate::trace::{Limits, OpenedTrace, Trace};

    /// Reads two-byte records: a kind or a time, and a number.
    struct Pairs {
        bytes: &'static [u8],
        at: usize,
        is_ordered: bool,
        as_values: bool,
    }

    const DISCARDED: u8 = 0xfd;
    const DAMAGED: u8 = 0xfe;
    const MISFIT: u8 = 0xff;

    impl Source for Pairs {
        fn next(&mut self, record: &mut Record) -> NextRecord {
            let Some([kind, number]) = self.bytes.get(self.at..self.at + 2) else { return NextRecord::End };
            let begin = 8 * (self.at as u64 + 1);
            self.at += 2;
            match *kind {
                DISCARDED => return NextRecord::Discarded(Some(u64::from(*number))),
                DAMAGED => {
                    let kind = DamageKind::EmptyEventRecord;
                    return NextRecord::Damage(Damage::new("pairs", begin, kind).skipping(8));
                }
                MISFIT => {
                    record.values.begin(Scope::Payload);
                    record.values.push("a text");
                }
                time if self.as_values => {
                    record.set_cycles(time.into());
                    record.values.begin(Scope::Payload);
                    record.values.push(u64::from(*number));
                }
                time => {
                    record.set_cycles(time.into());
                    record.set_bits(Scope::Payload, begin);
                }
            }
            NextRecord::Event
        }

        fn bytes(&self) -> &[u8] {
            self.bytes
        }

        fn is_ordered(&self) -> bool {
            self.is_ordered
        }
    }

    /// Describes all messages in words.
    fn messages(bytes: &'static [u8], is_ordered: bool, as_values: bool, window: Window) -> Vec<String> {
        let event = EventRecordClass::new("pair", [Member::new("number", FieldClass::unsigned(8))]);
        let stream = DataStreamClass::new(Some(0), [event]);
        let class = TraceClass::new("pairs", [ClockClass::since_unix_epoch("c")], [stream]);
        let trace = Trace::new(class, "t", &Limits::default()).unwrap();
        let source = move || Pairs { bytes, at: 0, is_ordered, as_values };
        let trace = RecordTrace::new("pairs", trace, &Limits::default());
        let trace = trace.with_stream(0, "a", bytes.len() as u64, source).with_stream(1, "no", 0, source);
        assert_eq!((trace.streams().len(), trace.streams()[0].bytes), (1, bytes.len() as u64));
        let mut cursor = trace.cursors(window).remove(0);
        assert!(cursor.head().is_none() && cursor.current().is_none());
        let mut words = Vec::new();
        while let Some(head) = cursor.next_head() {
            words.push(match cursor.current().unwrap() {
                Message::StreamBegin(_) => "begin".to_owned(),
                Message::StreamEnd(_) => "end".to_owned(),
                Message::DiscardedEvents(discarded) => format!("-{}", discarded.count.unwrap()),
                Message::Damage(damage) => damage.kind.to_string(),
                Message::Event(event) => {
                    assert_eq!(head.class_index(), Some(0));
                    let number = event.field("number").unwrap().as_u64().unwrap();
                    format!("{}: {number}", event.clock.unwrap().cycles)
                }
                other => panic!("{other:?}"),
            });
        }
        assert!(!cursor.advance() && cursor.current().is_none());
        words
    }

    #[test]
    fn records_become_messages() {
        let bytes = &[1, 10, DISCARDED, 7, 5, 11, DAMAGED, 0, 3, 12, MISFIT, 0, 6, 13];
        for as_values in [false, true] {
            assert_eq!(
                messages(bytes, true, as_values, Window::default()),
                [
                    "begin",
                    "1: 10",
                    "-7",
                    "5: 11",
                    "an event record of size zero",
                    "the clock goes backwards, from 5 to 3 cycles",
                    "3: 12",
                    "expected an unsigned integer, found a string",
                    "6: 13",
                    "end"
                ]
            );
        }
    }

    #[test]
    fn windows_are_kept() {
        let bytes = &[1, 10, 4, 11, 9, 12, 5, 13];
        let window = Window { begin: Some(2), end: Some(6) };
        assert_eq!(messages(bytes, true, true, window), ["begin", "4: 11", "end"]);
        assert_eq!(messages(bytes, false, true, window), ["begin", "4: 11", "5: 13", "end"]);
        assert_eq!(messages(&[], true, false, window), ["begin", "end"]);
    }

    /// Reads one of many data streams without the others.
    #[test]
    fn a_cursor_alone_is_made_alone() {
        let made = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let event = EventRecordClass::new("pair", [Member::new("number", FieldClass::unsigned(8))]);
        let class = TraceClass::new("pairs", [], [DataStreamClass::new(Some(0), [event])]);
        let trace = Trace::new(class, "t", &Limits::default()).unwrap();
        let mut trace = RecordTrace::new("pairs", trace, &Limits::default());
        for name in ["a", "b", "c"] {
            let made = std::sync::Arc::clone(&made);
            trace = trace.with_stream(0, name, 2, move || {
                made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Pairs { bytes: &[1, 2], at: 0, is_ordered: true, as_values: false }
            });
        }
        let mut cursor = trace.cursor(1, Window::default()).unwrap();
        cursor.next_head();
        assert!(matches!(cursor.current(), Some(Message::StreamBegin(stream)) if &*stream.name == "b"));
        assert!(trace.cursor(3, Window::default()).is_none());
        assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), 1);
    }
}
