//! A source's current record.

use std::cell::Cell;
use std::sync::Arc;

use crate::class::{DynamicClass, Scope};
use crate::clock::{ClockClass, ClockValue};
use crate::cursor::{Head, MessageKind};
use crate::decode::{DecodeLimits, PacketBits, Position, UNKNOWN};
use crate::event::{Event, EventValues, Scopes};
use crate::message::Damage;
use crate::plan::EventRecordPlans;
use crate::source::{MessageQueue, QueuedMessage, StreamLoss};
use crate::trace::DataStream;

/// The current record of a [`Source`](crate::Source), and the messages delivered before it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Record {
    /// Data stream being read.
    pub stream: Arc<DataStream>,
    /// The event's clock value.
    pub clock: Option<ClockValue>,
    /// Time for messages queued from now on, in nanoseconds from the origin.
    pub time: Option<i128>,
    /// Event values, for scopes that are not bits.
    pub values: EventValues,
    /// Start position of each bit scope, indexed by scope.
    pub begins: [Position; 6],
    /// Memory for values that later fields depend on.
    pub slots: Vec<Cell<i128>>,
    /// Decoding limits.
    pub limits: DecodeLimits,
    /// Messages delivered before the next event.
    pub messages: MessageQueue,
    class: RecordClass,
}

#[derive(Debug)]
enum RecordClass {
    Declared(usize),
    Dynamic(Arc<DynamicClass>),
}

impl Record {
    /// Creates the record of a data stream. The start of the data stream is the first message.
    pub(crate) fn new(stream: Arc<DataStream>, limits: DecodeLimits) -> Self {
        let slots = vec![Cell::new(UNKNOWN); stream.trace.plans.slots()];
        Self {
            stream,
            clock: None,
            time: None,
            values: EventValues::default(),
            begins: [Position::default(); 6],
            slots,
            limits,
            messages: MessageQueue::default(),
            class: RecordClass::Declared(0),
        }
    }

    /// Sets the event record class by its index in the data stream class. Default: the first class.
    pub fn set_class(&mut self, index: usize) {
        self.class = RecordClass::Declared(index);
    }

    /// Sets an event record class that was discovered while reading.
    pub fn set_dynamic_class(&mut self, class: &Arc<DynamicClass>) {
        self.reserve_slots(class.slots);
        self.class = RecordClass::Dynamic(Arc::clone(class));
    }

    /// Sets the time in cycles of the stream's default clock.
    pub fn set_cycles(&mut self, cycles: u64) {
        let value = |clock: &ClockClass| ClockValue { nanoseconds: clock.nanoseconds(cycles), cycles };
        self.set_clock(self.stream.clock().map(value));
    }

    /// Sets the value of the stream's default clock.
    #[inline(always)]
    pub fn set_clock(&mut self, value: Option<ClockValue>) {
        self.clock = value;
        self.time = value.map(|value| value.nanoseconds);
    }

    /// Makes a scope a bit scope that starts at this bit of the source's [bytes](crate::Source::bytes). Does nothing
    /// for [`Scope::Resource`], which always consists of values.
    pub fn set_bits(&mut self, scope: Scope, begin: u64) {
        if let Some(position) = self.begins.get_mut(scope as usize) {
            *position = Position::at(begin);
        }
    }

    /// Provides memory for the values that later fields of a class depend on: see [`DynamicClass::slots`].
    #[inline]
    pub fn reserve_slots(&mut self, count: usize) {
        if self.slots.len() < count {
            self.slots.resize(count, Cell::new(UNKNOWN));
        }
    }

    /// Queues damage at the current time.
    pub fn push_damage(&mut self, damage: Damage) {
        self.messages.push(QueuedMessage::Damage(Box::new(damage)), self.time);
    }

    /// Queues an event loss at the current time.
    pub fn push_discarded_events(&mut self, loss: StreamLoss) {
        self.messages.push(QueuedMessage::DiscardedEvents(Box::new(loss)), self.time);
    }

    /// Queues the source's current event after the messages before it.
    pub fn push_event(&mut self) {
        self.messages.push(QueuedMessage::Event, self.time);
    }

    /// Removes the class, the time and the values.
    pub(crate) fn clear(&mut self) {
        self.class = RecordClass::Declared(0);
        self.clock = None;
        self.values.clear();
        self.begins = [Position::default(); 6];
    }

    /// Returns the plans of the event's class.
    #[inline(always)]
    #[must_use]
    pub fn plans(&self) -> Option<&EventRecordPlans> {
        match &self.class {
            RecordClass::Declared(index) => self.stream.plans().event_records.get(*index),
            RecordClass::Dynamic(class) => Some(&class.plans),
        }
    }

    /// Returns the event. `bytes` contain its bits.
    #[inline(always)]
    #[must_use]
    pub fn event<'e>(&'e self, bytes: &'e [u8]) -> Option<Event<'e>> {
        let scopes = self.scopes(PacketBits::whole(bytes)).with_values(&self.values);
        Some(Event::new(&self.stream, self.plans()?, self.clock.as_ref(), scopes))
    }

    /// Returns the event's bit scopes.
    #[inline(always)]
    #[must_use]
    pub fn scopes<'e>(&'e self, bits: PacketBits<'e>) -> Scopes<'e> {
        Scopes::new(bits, &self.begins, &self.slots, &self.limits)
    }

    /// Returns the event's head.
    #[inline(always)]
    #[must_use]
    pub fn head(&self) -> Head {
        let time = self.clock.map(|clock| clock.nanoseconds);
        match self.plans().and_then(EventRecordPlans::index) {
            Some(index) => Head::event(index, time),
            None => Head::new(MessageKind::Event, time),
        }
    }
}
