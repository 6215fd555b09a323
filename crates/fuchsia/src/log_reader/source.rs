//! Reads the messages of a file.

use std::sync::Arc;

use ichnos_io::{Bytes, Datagrams};
use ichnos_model::clock::ClockValue;
use ichnos_model::cursor::{Head, ResumePoint};
use ichnos_model::decode::PacketBits;
use ichnos_model::message::{BrokenRule, Damage, DamageKind, DataPosition};
use ichnos_model::source::{NextRecord, QueuedMessage, Record as CurrentRecord, StreamLoss};
use ichnos_model::{Event, Scope, Source, Trace, Window};

use super::any;
use super::class::{self, MessageLayout};
use super::components::Components;
use super::known_classes::KnownClasses;
use super::log_options::FuchsiaLogOptions;
use crate::log::{self, CheckOptions, Framer, Framing, LogError, Record};

/// Size of the datagram length field in bytes.
const LENGTH: usize = 4;

/// Fields of the current record that are delivered as values, because the record does not store them as its class
/// describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueScope {
    /// No fields.
    Nothing,
    /// Resource fields: the component.
    Component,
    /// Payload of a record beyond the class limit, and its component if known.
    Arguments,
}

/// Framing that can be read without the framer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuickFraming {
    Records,
    Datagrams,
    None,
}

/// Log bytes, and the position in them.
#[derive(Debug)]
struct LogInput {
    /// Trace that gets the classes of the records.
    trace: Arc<Trace>,
    bytes: Bytes,
    /// Source of further datagrams for a live log.
    live: Option<Datagrams>,
    /// `true` after reporting that no datagram has arrived.
    is_inactive: bool,
    /// Number of input bytes before `bytes`, including datagram lengths.
    base: u64,
    framing: Framing,
    quick_framing: QuickFraming,
    /// Reads everything unusual.
    framer: Framer,
    /// Offset of the next message in `bytes`.
    at: usize,
    /// `true` after reporting that the file was truncated during reading.
    is_loss_reported: bool,
}

/// Reads a log file.
#[derive(Debug)]
pub(super) struct LogSource {
    /// Data stream name.
    name: String,
    input: LogInput,
    classes: KnownClasses,
    /// Components by tag, as named by control records.
    components: Components,
    check: bool,
    /// Wanted time range, in record time units.
    wanted: (i64, i64),
    /// Number of records read, including unreadable records.
    records: u64,
    /// Class of the last record, as an index into `classes`.
    last: usize,
    /// Event record class index.
    index: usize,
    counts_drops: bool,
    /// `true` if records in the class are complete events, without dropped counts and components.
    is_complete: bool,
    /// Byte range of the current record.
    begin: usize,
    end: usize,
    /// Fields of the current record that are delivered as values.
    value_scope: ValueScope,
    key: Vec<u8>,
    /// Nanoseconds at record time 0.
    offset: i128,
    /// Record time of the clock origin.
    clock_begin: i64,
    clock: ClockValue,
    /// Times of the current and the previous record.
    time: i64,
    before: i64,
}

/// Place between two messages.
#[derive(Debug)]
struct LogPlace {
    trace: Arc<Trace>,
    framing: Framing,
    framer: Framer,
    at: usize,
    components: Components,
    records: u64,
    time: i64,
}

/// Help text for a broken rule that makes a record unreadable.
const FATAL_REMEDY: &str = "the program that wrote the record is faulty, or bytes were changed or are \
    missing: copy the file again from its source";

/// Help text for other broken rules.
const REMEDY: &str = "it is read as if it followed the rule; fix the program that wrote it";

impl LogSource {
    pub(super) fn new(
        stream: &ichnos_model::DataStream,
        bytes: &Bytes,
        framing: Framing,
        options: &FuchsiaLogOptions,
        window: Window,
        (most_known, clock_begin): (usize, i64),
    ) -> Self {
        let offset = stream.clock().map_or(0, |clock| clock.nanoseconds(0) - i128::from(clock_begin));
        Self {
            name: stream.name.to_string(),
            input: LogInput {
                trace: Arc::clone(&stream.trace),
                bytes: bytes.clone(),
                live: None,
                is_inactive: false,
                base: 0,
                framing,
                quick_framing: match framing {
                    Framing::Records if !options.check => QuickFraming::Records,
                    Framing::Datagrams if !options.check => QuickFraming::Datagrams,
                    _ => QuickFraming::None,
                },
                framer: Framer::new(framing, 0),
                at: 0,
                is_loss_reported: false,
            },
            classes: KnownClasses::new(most_known),
            components: Components::default(),
            check: options.check,
            wanted: (
                window.begin.map_or(i64::MIN, |begin| to_i64(begin.saturating_sub(offset))),
                window.end.map_or(i64::MAX, |end| to_i64(end.saturating_sub(offset))),
            ),
            records: 0,
            last: usize::MAX,
            index: 0,
            counts_drops: false,
            is_complete: true,
            begin: 0,
            end: 0,
            value_scope: ValueScope::Nothing,
            key: Vec::new(),
            offset,
            clock_begin,
            clock: ClockValue { nanoseconds: 0, cycles: 0 },
            time: 0,
            before: 0,
        }
    }

    /// Continues with live datagrams.
    pub(super) fn listen(mut self, live: Datagrams) -> Self {
        self.input.live = Some(live);
        self
    }

    /// Continues at a place in the same trace.
    pub(super) fn resumed(mut self, trace: &Arc<Trace>, place: &ResumePoint) -> Option<Self> {
        let place: &LogPlace = place.get()?;
        if !Arc::ptr_eq(&place.trace, trace) || place.framing != self.input.framing {
            return None;
        }
        self.input.framer = place.framer.clone();
        self.input.at = place.at;
        self.components = place.components.clone();
        self.records = place.records;
        self.set_time(place.time);
        self.update_completeness();
        Some(self)
    }

    /// Waits for the next datagram. Returns `false` at the end.
    fn receive(&mut self, current: &mut CurrentRecord) -> bool {
        let input = &mut self.input;
        let Some(live) = &input.live else { return false };
        let mut next = live.try_datagram();
        if next.is_none() {
            if !std::mem::replace(&mut input.is_inactive, true) || live.is_pending() {
                let time = (self.records > 0).then_some(self.clock.nanoseconds);
                current.messages.push(QueuedMessage::Inactivity, time);
                return true;
            }
            next = live.next_datagram();
        }
        input.is_inactive = false;
        let dropped = next.as_ref().map_or_else(|| live.dropped(), |next| next.dropped);
        if dropped > 0 {
            let begin = (self.records > 0).then_some(self.clock);
            self.push_discarded(StreamLoss { count: Some(dropped), begin, ..StreamLoss::default() }, current);
        }
        let input = &mut self.input;
        input.base += input.bytes.len() as u64;
        input.at = 0;
        let Some(next) = next else {
            input.bytes = Bytes::default();
            input.live = None;
            return dropped > 0;
        };
        input.bytes = next.framed.into();
        input.framer = Framer::new(input.framing, 0);
        true
    }

    /// Advances to the next event. Returns `None` if the event must be examined.
    #[inline(always)]
    fn quick(&mut self, current: &mut CurrentRecord) -> Option<()> {
        loop {
            let rest = self.input.bytes.get(self.input.at..)?;
            let (begin, own) = match self.input.quick_framing {
                QuickFraming::Records => (self.input.at, rest),
                QuickFraming::Datagrams => {
                    let (length, rest) = rest.split_first_chunk::<LENGTH>()?;
                    (self.input.at + LENGTH, rest.get(..u32::from_le_bytes(*length) as usize)?)
                }
                QuickFraming::None => return None,
            };
            let words = own.as_chunks::<8>().0;
            let (other, size) = match self.classes.get(self.last).map(|known| known.shape.as_ref()) {
                Some(Some(shape)) if let Some(size) = shape.size_of_match(words) => (None, size),
                _ => {
                    let (index, size) = self.classes.find(words)?;
                    (Some(index), size)
                }
            };
            let end = begin + size * 8;
            if self.input.quick_framing == QuickFraming::Datagrams {
                if own.len() != size * 8 || !self.input.is_followed_by_datagram(end) {
                    return None;
                }
            } else if let Some(next) = words.get(size) {
                if !log::follows(None, u64::from_le_bytes(*next)) {
                    return None;
                }
            } else if end != self.input.bytes.len() {
                return None;
            }
            let timestamp = words.get(1).map_or(0, |word| u64::from_le_bytes(*word));
            if let Some(index) = other {
                self.last = index;
                self.choose(class::RECORD_CONTEXT, current);
            }
            self.input.at = end;
            self.records += 1;
            (self.begin, self.end) = (begin, end);
            if self.set_time(timestamp as i64) {
                continue;
            }
            return Some(());
        }
    }

    /// Updates [`Self::is_complete`].
    fn update_completeness(&mut self) {
        self.is_complete = !self.counts_drops && self.components.is_empty();
    }

    /// Adds data from outside the record to the current event. Returns `true` if the event was queued.
    #[inline]
    fn complete(&mut self, current: &mut CurrentRecord) -> bool {
        if !self.components.is_empty() {
            self.look_up_component();
        }
        self.counts_drops && self.queue_dropped(current)
    }

    /// Prepares for events of the class at `last`. `context` is the specific context size in bits.
    fn choose(&mut self, context: u64, current: &mut CurrentRecord) {
        self.value_scope = ValueScope::Nothing;
        current.set_bits(Scope::Payload, context);
        let Some(known) = self.classes.use_class(self.last) else { return };
        (self.index, self.counts_drops) = (known.index, known.counts_drops);
        current.reserve_slots(known.class.slots);
        self.update_completeness();
    }

    /// Returns the clock value for a record time. Times before the clock origin have 0 cycles.
    #[inline]
    fn value(&self, timestamp: i64) -> ClockValue {
        let cycles = u64::try_from(i128::from(timestamp) - i128::from(self.clock_begin)).unwrap_or(0);
        ClockValue { nanoseconds: self.offset + i128::from(timestamp), cycles }
    }

    /// Sets the time of the current event. Returns `true` if it is outside the window.
    #[inline]
    fn set_time(&mut self, timestamp: i64) -> bool {
        self.before = std::mem::replace(&mut self.time, timestamp);
        self.clock = self.value(timestamp);
        timestamp < self.wanted.0 || timestamp > self.wanted.1
    }

    /// Queues the current event after its count of dropped records. Returns `false` if there are none.
    #[cold]
    fn queue_dropped(&mut self, current: &mut CurrentRecord) -> bool {
        let Some(Ok((record, _))) = self.input.bytes.get(self.begin..).map(|bytes| Record::read(bytes, 0))
        else {
            return false;
        };
        let dropped = drops(&record);
        if dropped > 0 {
            self.queue_event(dropped, current);
        }
        dropped > 0
    }

    /// Queues the current event after a count of dropped records, unless the count is 0.
    fn queue_event(&self, dropped: u64, current: &mut CurrentRecord) {
        if dropped > 0 {
            let before = (self.records > 1).then(|| self.value(self.before));
            let begin = before.filter(|before| *before <= self.clock);
            let loss = StreamLoss { count: Some(dropped), thread: None, begin, end: Some(self.clock) };
            self.push_discarded(loss, current);
        }
        current.messages.push(QueuedMessage::Event, Some(self.clock.nanoseconds));
    }

    fn push_discarded(&self, loss: StreamLoss, current: &mut CurrentRecord) {
        let message = QueuedMessage::DiscardedEvents(Box::new(loss));
        current.messages.push(message, Some(self.clock.nanoseconds));
    }

    /// Examines the next item of any kind. Returns `false` at the end.
    #[cold]
    fn slow(&mut self, current: &mut CurrentRecord) -> bool {
        let bytes = self.input.bytes.clone();
        let Some(input) = bytes.get(self.input.at..).filter(|input| !input.is_empty()) else {
            if self.receive(current) {
                return true;
            }
            let lost = bytes.look_for_loss();
            if !lost.is_empty() && !std::mem::replace(&mut self.input.is_loss_reported, true) {
                let damage =
                    Damage::new(&*self.name, lost.start as u64 * 8, DamageKind::Lost { reported: true });
                queue(damage.in_stream(&*self.name).skipping(lost.len() as u64 * 8), current);
                return true;
            }
            return false;
        };
        self.input.framer.go_on_at(self.input.at as u64);
        let mut left = input;
        let found = loop {
            let step = self.input.framer.step(left, true);
            // A step consumes at most the input.
            left = left.get(step.consumed..).unwrap_or_default();
            if step.found.is_some() || step.consumed == 0 {
                break step.found;
            }
        };
        let next = self.input.at + (input.len() - left.len());
        // The framer always finds something at the end of the input, unless nothing is left.
        self.input.at = if found.is_some() { next.max(self.input.at + 1) } else { bytes.len() };
        self.records += 1;
        match found {
            Some(Ok(message)) => self.message(&message, current),
            Some(Err(damage)) => {
                queue(self.damage(&damage.error, damage.offset, damage.skipped), current);
            }
            None => {}
        }
        true
    }

    fn damage(&self, error: &LogError, at: u64, skipped: u64) -> Damage {
        let mut statement = error.statement().to_string();
        if error.at != at {
            statement += &format!(", at byte {}", self.input.base + error.at);
        }
        // Skipped bytes are fatal as well, because a message with a missing part can break another rule.
        let fatal = error.rule.is_fatal() || skipped > 0;
        let rule = BrokenRule {
            name: error.rule.name(),
            statement,
            remedy: if fatal { FATAL_REMEDY } else { REMEDY },
            record: Some(self.records),
            fatal,
        };
        let damage = Damage::new(&*self.name, (self.input.base + at) * 8, rule.into());
        damage.in_stream(&*self.name).skipping(skipped * 8)
    }

    /// Handles a readable message.
    fn message(&mut self, message: &log::Message<'_>, current: &mut CurrentRecord) {
        if self.check {
            message.check(CheckOptions::default(), &mut |error| {
                queue(self.damage(&error, error.at, 0), current);
            });
        }
        if let log::Message::Record { record, .. } = message {
            self.components.name_component(record);
            self.update_completeness();
        }
        let Some(form) = MessageLayout::from_message(message) else { return };
        self.begin = message.offset() as usize;
        self.end = self.input.at;
        let mut key = std::mem::take(&mut self.key);
        form.write_key(&mut key);
        let index = self.classes.class_of(&current.stream, &key, &form);
        self.key = key;
        let context = match message {
            log::Message::Record { .. } => class::RECORD_CONTEXT,
            log::Message::Legacy(_) => class::PACKET_CONTEXT,
        };
        match (index, message) {
            (Some(index), _) => {
                self.last = index;
                self.choose(context, current);
            }
            (None, log::Message::Record { record, behind }) => {
                let Some(index) = self.classes.any(&current.stream) else {
                    return self.refuse(message.offset(), current);
                };
                self.last = index;
                self.choose(context, current);
                self.end = self.begin + record.as_bytes().len() + behind.len();
            }
            (None, log::Message::Legacy(packet)) => return self.refuse(packet.offset(), current),
        }
        let (timestamp, dropped) = match message {
            log::Message::Record { record, .. } => {
                let rolled_out = message.attribution().map_or(0, |attribution| attribution.rolled_out);
                (record.timestamp(), drops(record).saturating_add(rolled_out))
            }
            log::Message::Legacy(packet) => (packet.timestamp(), packet.dropped().into()),
        };
        if self.set_time(timestamp) {
            return;
        }
        if let log::Message::Record { record, .. } = message {
            if index.is_none() {
                current.values.clear();
                any::push(message, record, &mut current.values);
                self.components.push(record.as_bytes(), &mut current.values);
                self.value_scope = ValueScope::Arguments;
            } else if !self.components.is_empty() {
                self.look_up_component();
            }
        }
        self.queue_event(dropped, current);
    }

    /// Reports that the limits are too low for any class.
    fn refuse(&self, at: u64, current: &mut CurrentRecord) {
        let problem = "the limits are too low for the class of this record".to_owned();
        let bit = (self.input.base + at) * 8;
        let damage = Damage::new(&*self.name, bit, DamageKind::Unreadable(problem));
        queue(damage.in_stream(&*self.name), current);
    }

    /// Looks up the component of the current record.
    #[inline(never)]
    fn look_up_component(&mut self) {
        let record = self.input.bytes.get(self.begin..).unwrap_or_default();
        self.value_scope =
            if self.components.look_up(record) { ValueScope::Component } else { ValueScope::Nothing };
    }
}

impl LogInput {
    /// Returns `true` if the bytes at `end` usually follow a datagram.
    #[inline]
    fn is_followed_by_datagram(&self, end: usize) -> bool {
        let rest = self.bytes.get(end..).unwrap_or_default();
        let (Some((length, rest)), true) = (rest.split_first_chunk::<LENGTH>(), rest.len() >= LENGTH + 8)
        else {
            return rest.is_empty();
        };
        let header = rest.first_chunk().map_or(0, |header| u64::from_le_bytes(*header));
        log::follows(Some(u32::from_le_bytes(*length)), header)
    }
}

/// Queues damage for immediate delivery.
fn queue(damage: Damage, current: &mut CurrentRecord) {
    current.messages.push(QueuedMessage::Damage(Box::new(damage)), None);
}

/// Returns the number of records dropped or discarded before this record, from its arguments.
fn drops(record: &Record<'_>) -> u64 {
    let rolled_out = match record.control() {
        Some(control) => control.rolled_out,
        None => record.appended().map(|(attribution, _)| attribution.rolled_out),
    };
    record.known().dropped.saturating_add(rolled_out.unwrap_or(0))
}

impl Source for LogSource {
    #[inline(always)]
    fn next(&mut self, record: &mut CurrentRecord) -> NextRecord {
        loop {
            if self.quick(record).is_some() {
                if !self.is_complete && self.complete(record) {
                    return NextRecord::Messages;
                }
                return NextRecord::Event;
            }
            if !self.slow(record) {
                record.time = Some(self.clock.nanoseconds).filter(|_| self.records > 0);
                return NextRecord::End;
            }
            if !record.messages.is_empty() {
                return NextRecord::Messages;
            }
        }
    }

    #[inline(always)]
    fn checks_events(&self) -> bool {
        true
    }

    #[inline(always)]
    fn event<'e>(&'e self, record: &'e CurrentRecord) -> Option<Event<'e>> {
        let class = &*self.classes.get(self.last)?.class;
        let bits = PacketBits::whole(self.input.bytes.get(self.begin..self.end)?);
        let scopes = record.scopes(bits).with_end(bits.content);
        let scopes = match self.value_scope {
            ValueScope::Nothing => scopes,
            ValueScope::Component => scopes.with_values(self.components.values()),
            ValueScope::Arguments => scopes.with_values(&record.values),
        };
        Some(Event::new(&record.stream, &class.plans, Some(&self.clock), scopes))
    }

    #[inline(always)]
    fn event_head(&self, _: &CurrentRecord) -> Head {
        Head::event(self.index, Some(self.clock.nanoseconds))
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        let input = &self.input;
        (input.base == 0 && input.live.is_none()).then(|| {
            ResumePoint::new(LogPlace {
                trace: Arc::clone(&input.trace),
                framing: input.framing,
                framer: input.framer.clone(),
                at: input.at,
                components: self.components.clone(),
                records: self.records,
                time: self.time,
            })
        })
    }

    fn position(&self) -> Option<DataPosition> {
        Some(DataPosition::at_byte(&*self.name, self.input.base + self.begin as u64))
    }
}

/// Clamps a time to 64 bits.
fn to_i64(nanoseconds: i128) -> i64 {
    nanoseconds.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
