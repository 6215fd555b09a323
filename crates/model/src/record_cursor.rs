//! Data streams for formats whose files are a sequence of records.

use std::cell::Cell;
use std::sync::Arc;

use crate::decode::{DecodeLimits, PacketBits, Position, UNKNOWN};
use crate::plan::EventRecordPlans;
use crate::{
    ClockValue, Cursor, Damage, DamageKind, DataStream, Discarded, DynamicClass, Event, EventValues, Head,
    Limits, Message, MessageKind, Scope, Scopes, Window,
};

/// Reads the records of a data stream, in order.
///
/// # For implementations
/// A simple format needs nothing else: [`RecordCursor`] makes a cursor of it, with the messages at the
/// beginning and the end, the time window, and the losses and damage in their places.
pub trait RecordSource: Send {
    /// Reads the next record. An event is written to `record`, which is empty before.
    fn next_record(&mut self, record: &mut Record) -> NextRecord;

    /// Returns the bytes that contain the scopes of the last event, if they are bits: see [`Record::set_bits`].
    fn bytes(&self) -> &[u8] {
        &[]
    }

    /// Returns `true` if times never go back in a sound file. A time that does is then damage, and nothing is
    /// read after the end of a window.
    fn is_ordered(&self) -> bool {
        true
    }
}

/// Result of reading from a [`RecordSource`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextRecord {
    /// An event, stored in the [`Record`].
    Event,
    /// Missing event records between the previous event and the next one, with their number, if known.
    Discarded(Option<u64>),
    /// Unreadable data. The next call continues after it.
    Damage(Damage),
    /// The end of the data.
    End,
}

/// An event read by a [`RecordSource`].
#[derive(Debug, Default)]
pub struct Record {
    class: RecordClass,
    cycles: Option<u64>,
    values: EventValues,
    begins: [Position; 6],
}

#[derive(Debug)]
enum RecordClass {
    Declared(usize),
    Dynamic(Arc<DynamicClass>),
}

impl Default for RecordClass {
    fn default() -> Self {
        Self::Declared(0)
    }
}

impl Record {
    /// Sets the event record class by its index in the data stream class. Default: the first one.
    pub fn set_class(&mut self, index: usize) {
        self.class = RecordClass::Declared(index);
    }

    /// Sets an event record class that was discovered while reading.
    pub fn set_dynamic_class(&mut self, class: &Arc<DynamicClass>) {
        self.class = RecordClass::Dynamic(Arc::clone(class));
    }

    /// Sets the time in cycles of the stream's default clock.
    pub fn set_cycles(&mut self, cycles: u64) {
        self.cycles = Some(cycles);
    }

    /// Returns the values of the event, for scopes that are not bits.
    pub fn values(&mut self) -> &mut EventValues {
        &mut self.values
    }

    /// Makes a scope bits that begin at this bit of the [bytes](RecordSource::bytes) of the source. Does
    /// nothing for [`Scope::Resource`], which never is bits.
    pub fn set_bits(&mut self, scope: Scope, begin: u64) {
        if let Some(position) = self.begins.get_mut(scope as usize) {
            *position = Position::at(begin);
        }
    }

    fn clear(&mut self) {
        self.class = RecordClass::default();
        self.cycles = None;
        self.values.clear();
        self.begins = [Position::default(); 6];
    }

    fn plans<'a>(&'a self, stream: &'a DataStream) -> Option<&'a EventRecordPlans> {
        match &self.class {
            RecordClass::Declared(index) => stream.plans().event_records.get(*index),
            RecordClass::Dynamic(class) => Some(&class.plans),
        }
    }
}

/// The [cursor](Cursor) of a data stream whose records a [`RecordSource`] reads.
#[derive(Debug)]
pub struct RecordCursor<R> {
    stream: Arc<DataStream>,
    source: R,
    window: Window,
    limits: DecodeLimits,
    slots: Vec<Cell<i128>>,
    record: Record,
    clock: Option<ClockValue>,
    /// Clock value of the previous event.
    before: Option<ClockValue>,
    current: CurrentKind,
}

/// Kind of the current message.
#[derive(Debug)]
enum CurrentKind {
    /// The cursor has not moved yet.
    Before,
    StreamBegin,
    Event,
    /// Damage that precedes the event.
    Early(Damage),
    Discarded(Option<u64>),
    Damage(Damage),
    StreamEnd,
    After,
}

impl<R: RecordSource> RecordCursor<R> {
    /// Makes a cursor for the events of `window`.
    #[must_use]
    pub fn new(stream: Arc<DataStream>, source: R, window: Window, limits: &Limits) -> Self {
        let slots = vec![Cell::new(UNKNOWN); stream.trace.plans.slots()];
        Self {
            stream,
            source,
            window,
            limits: limits.into(),
            slots,
            record: Record::default(),
            clock: None,
            before: None,
            current: CurrentKind::Before,
        }
    }

    fn read(&mut self) -> CurrentKind {
        loop {
            self.record.clear();
            match self.source.next_record(&mut self.record) {
                NextRecord::Discarded(count) => return CurrentKind::Discarded(count),
                NextRecord::Damage(damage) => return CurrentKind::Damage(damage),
                NextRecord::End => return CurrentKind::StreamEnd,
                NextRecord::Event => {}
            }
            let clock = self.stream.clock();
            let value = self.record.cycles.zip(clock);
            let value =
                value.map(|(cycles, clock)| ClockValue { nanoseconds: clock.nanoseconds(cycles), cycles });
            self.before = std::mem::replace(&mut self.clock, value);
            if let Some(class) = self.record.plans(&self.stream)
                && let Some(damage) = self.misfit(class)
            {
                return CurrentKind::Damage(damage);
            }
            let time = self.clock.map(|clock| clock.nanoseconds);
            if time.is_some() && time < self.window.begin {
                continue;
            }
            if self.window.end.is_some_and(|end| time > Some(end)) {
                if self.source.is_ordered() {
                    return CurrentKind::StreamEnd;
                }
                continue;
            }
            if self.source.is_ordered()
                && let (Some(before), Some(now)) = (self.before, self.clock)
                && now.nanoseconds < before.nanoseconds
            {
                let kind = DamageKind::ClockBackwards { from: before.cycles, to: now.cycles };
                return CurrentKind::Early(self.damage(kind));
            }
            return CurrentKind::Event;
        }
    }

    /// Finds data that does not fit the class of the record: sinks rely on events that fit.
    fn misfit(&self, plans: &EventRecordPlans) -> Option<Damage> {
        let event = Event::new(&self.stream, plans, None, self.scopes());
        let scopes = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];
        let error = scopes.into_iter().find_map(|scope| event.visit(scope, &mut crate::Skip).err())?;
        Some(Damage { bit: error.bit, ..self.damage(error.kind.into()) })
    }

    fn damage(&self, kind: DamageKind) -> Damage {
        let name = self.stream.name.to_string();
        Damage { file: name.clone(), stream: Some(name), bit: 0, kind, skipped: 0 }
    }

    fn scopes(&self) -> Scopes<'_> {
        let bits = PacketBits::whole(self.source.bytes());
        Scopes::new(bits, &self.record.begins, &self.slots, &self.limits).with_values(&self.record.values)
    }
}

impl<R: RecordSource> Cursor for RecordCursor<R> {
    fn advance(&mut self) -> bool {
        self.current = match &self.current {
            CurrentKind::Before => CurrentKind::StreamBegin,
            CurrentKind::Early(_) => CurrentKind::Event,
            CurrentKind::StreamEnd | CurrentKind::After => CurrentKind::After,
            _ => self.read(),
        };
        !matches!(self.current, CurrentKind::After)
    }

    fn head(&self) -> Option<Head> {
        let time = self.clock.map(|clock| clock.nanoseconds);
        let kind = match &self.current {
            CurrentKind::Before | CurrentKind::After => return None,
            CurrentKind::StreamBegin => MessageKind::StreamBegin,
            CurrentKind::StreamEnd => MessageKind::StreamEnd,
            CurrentKind::Discarded(_) => MessageKind::DiscardedEvents,
            CurrentKind::Damage(_) | CurrentKind::Early(_) => MessageKind::Damage,
            CurrentKind::Event => {
                let index = self.record.plans(&self.stream).and_then(EventRecordPlans::index);
                return Some(match index {
                    Some(index) => Head::event(index, time),
                    None => Head::new(MessageKind::Event, time),
                });
            }
        };
        Some(Head::new(kind, time))
    }

    fn current(&self) -> Option<Message<'_>> {
        Some(match &self.current {
            CurrentKind::Before | CurrentKind::After => return None,
            CurrentKind::StreamBegin => Message::StreamBegin(&self.stream),
            CurrentKind::StreamEnd => Message::StreamEnd(&self.stream),
            CurrentKind::Discarded(count) => Message::DiscardedEvents(Discarded {
                stream: &self.stream,
                count: *count,
                thread: None,
                begin: self.clock,
                end: None,
            }),
            CurrentKind::Damage(damage) | CurrentKind::Early(damage) => Message::Damage(damage),
            CurrentKind::Event => {
                let plans = self.record.plans(&self.stream)?;
                Message::Event(Event::new(&self.stream, plans, self.clock.as_ref(), self.scopes()))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ClockClass, DataStreamClass, EventRecordClass, FieldClass, Member, RecordTrace, Trace, TraceClass,
        TraceInput,
    };

    /// Reads records of two bytes: a kind or a time, and a number.
    struct Pairs {
        bytes: &'static [u8],
        at: usize,
        is_ordered: bool,
        as_values: bool,
    }

    const DISCARDED: u8 = 0xfd;
    const DAMAGED: u8 = 0xfe;
    const MISFIT: u8 = 0xff;

    impl RecordSource for Pairs {
        fn next_record(&mut self, record: &mut Record) -> NextRecord {
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
                    record.values().begin(Scope::Payload);
                    record.values().push("a text");
                }
                time if self.as_values => {
                    record.set_cycles(time.into());
                    record.values().begin(Scope::Payload);
                    record.values().push(u64::from(*number));
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
