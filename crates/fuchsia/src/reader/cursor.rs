//! Reads the messages of a file, one after the other.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::Arc;

use ichnos_io::{Bytes, Datagrams};
use ichnos_model::decode::{DecodeLimits, PacketBits, Position, UNKNOWN};
use ichnos_model::{
    BrokenRule, ClockValue, Cursor, Damage, DamageKind, DataStream, Discarded, DynamicClass, Event,
    EventValues, FastCursor, Head, Message, MessageKind, Scope, Scopes, Window,
};

use super::any;
use super::class::{self, Form};
use super::components::Components;
use super::open_options::OpenOptions;
use super::shape::{self, RecordShape};
use crate::log::{self, CheckOptions, Framer, Framing, LogError, Record};

/// Size of the length field before a datagram.
const LENGTH: usize = 4;

/// Next step of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Begin,
    Reading,
    /// Queued items are reported before reading continues.
    Reporting,
    End,
    Done,
}

/// Item to report before reading continues.
#[derive(Debug)]
enum Queued {
    Damage(Damage),
    /// Number of records dropped before the current one.
    Discarded(u64),
    /// Number of datagrams dropped after the current one.
    Missed(u64),
    /// The current event.
    Event,
}

/// Fields of the current record that are values, because they are not stored in it as its class says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// No fields.
    Nothing,
    /// Resource: the component.
    Component,
    /// Payload of a record of any class, and its component if known.
    Arguments,
}

/// Minimum number of classes that a cursor keeps.
const FEWEST_KNOWN: usize = 8;

/// A class in use, and the shape of its records.
#[derive(Debug)]
struct KnownClass {
    class: Arc<DynamicClass>,
    /// Index among the dynamic classes.
    dynamic: usize,
    /// Hash of the shape, if `by_hash` has it.
    hash: Option<u64>,
    /// `true` if a record of it was read since the last eviction check.
    was_met: bool,
    /// `None` if records of the class have to be examined one by one.
    shape: Option<RecordShape>,
    /// `true` if records contain a number of records dropped before them.
    counts_drops: bool,
    /// Index of the class.
    index: usize,
}

/// Reads a file of log messages.
#[derive(Debug)]
pub(super) struct LogCursor {
    stream: Arc<DataStream>,
    bytes: Bytes,
    /// Source of further datagrams for a live log.
    live: Option<Datagrams>,
    /// Number of input bytes before `bytes`, including the lengths of their datagrams.
    base: u64,
    framing: Framing,
    /// The framing, if records in it can be read without the framer.
    quick_framing: Option<Framing>,
    /// Reads everything that is unusual.
    framer: Framer,
    check: bool,
    limits: DecodeLimits,
    /// Time range to read, in time units of the records.
    wanted: (i64, i64),
    phase: Phase,
    /// Offset of the next message in `bytes`.
    at: usize,
    /// Number of records read, including unreadable ones.
    records: u64,
    /// Classes in use; unused ones are evicted when there are too many.
    known: Vec<KnownClass>,
    /// Maximum number of known classes.
    most_known: usize,
    /// Next eviction candidate.
    hand: usize,
    by_dynamic: HashMap<usize, usize>,
    /// Components of tags, as given by control records.
    components: Components,
    by_hash: HashMap<u64, usize, BuildHasherDefault<NoHash>>,
    seed: u64,
    /// Index in `known` of the class of the last record.
    last: usize,
    /// Index of that class, and whether its records contain numbers of dropped records.
    index: usize,
    counts_drops: bool,
    /// Range of the current record in `bytes`.
    begin: usize,
    end: usize,
    /// Fields of the current record that are values.
    beside: Beside,
    /// Arguments of a record of any class.
    arguments: EventValues,
    key: Vec<u8>,
    begins: [Position; 6],
    slots: Vec<Cell<i128>>,
    /// Nanoseconds at time 0 of the records.
    offset: i128,
    clock: ClockValue,
    /// Time of the previous record, in time units of the records.
    before: i64,
    queue: VecDeque<Queued>,
    current: Option<Queued>,
    current_kind: Option<MessageKind>,
    /// `true` if it was reported that the file was truncated while being read.
    is_loss_told: bool,
}

/// Remedy for a broken rule that makes a record unreadable.
const FATAL_REMEDY: &str = "the program that wrote the record is faulty, or bytes were changed or are missing: get \
                            the file again from where it was recorded";

/// Remedy for other broken rules.
const REMEDY: &str = "it is read as if the rule were kept; the program that wrote it should be corrected";

impl LogCursor {
    pub(super) fn new(
        stream: &Arc<DataStream>,
        bytes: &Bytes,
        framing: Framing,
        options: &OpenOptions,
        window: Window,
        most_known: usize,
    ) -> Self {
        let offset = stream.clock().map_or(0, |clock| clock.nanoseconds(0));
        Self {
            stream: Arc::clone(stream),
            bytes: bytes.clone(),
            live: None,
            base: 0,
            framing,
            quick_framing: Some(framing).filter(|_| !options.check),
            framer: Framer::new(framing, 0),
            limits: (&options.limits).into(),
            wanted: (
                window.begin.map_or(i64::MIN, |begin| to_i64(begin.saturating_sub(offset))),
                window.end.map_or(i64::MAX, |end| to_i64(end.saturating_sub(offset))),
            ),
            phase: Phase::Begin,
            at: 0,
            records: 0,
            known: Vec::new(),
            most_known: most_known.max(FEWEST_KNOWN),
            hand: 0,
            by_dynamic: HashMap::new(),
            components: Components::default(),
            by_hash: HashMap::default(),
            seed: std::hash::RandomState::new().hash_one(0),
            last: usize::MAX,
            index: 0,
            counts_drops: false,
            check: options.check,
            begin: 0,
            end: 0,
            beside: Beside::Nothing,
            arguments: EventValues::default(),
            key: Vec::new(),
            begins: [Position::default(); 6],
            slots: Vec::new(),
            offset,
            clock: ClockValue { nanoseconds: 0, cycles: 0 },
            before: 0,
            queue: VecDeque::new(),
            current: None,
            current_kind: None,
            is_loss_told: false,
        }
    }

    /// Continues with datagrams that arrive.
    pub(super) fn listen(mut self, live: Datagrams) -> Self {
        self.live = Some(live);
        self
    }

    /// Waits for the next datagram; returns `false` if no more come.
    fn receive(&mut self) -> bool {
        let Some(live) = &self.live else { return false };
        let next = live.next_datagram();
        let dropped = next.as_ref().map_or_else(|| live.dropped(), |next| next.dropped);
        if dropped > 0 {
            self.queue.push_back(Queued::Missed(dropped));
        }
        self.base += self.bytes.len() as u64;
        self.at = 0;
        let Some(next) = next else {
            self.bytes = Bytes::default();
            self.live = None;
            return dropped > 0;
        };
        self.bytes = next.framed.into();
        self.framer = Framer::new(self.framing, 0);
        true
    }

    /// Advances to the next event; returns `None` if it has to be examined.
    #[inline(always)]
    fn quick(&mut self) -> Option<()> {
        loop {
            let rest = self.bytes.get(self.at..)?;
            let (begin, own) = match self.quick_framing {
                Some(Framing::Records) => (self.at, rest),
                Some(Framing::Datagrams) => {
                    let (length, rest) = rest.split_first_chunk::<LENGTH>()?;
                    (self.at + LENGTH, rest.get(..u32::from_le_bytes(*length) as usize)?)
                }
                _ => return None,
            };
            let words = own.as_chunks::<8>().0;
            let (index, size) = match self.known.get(self.last).map(|known| known.shape.as_ref()) {
                Some(Some(shape)) if let Some(size) = shape.size_of_match(words) => (self.last, size),
                _ => self.other(words)?,
            };
            let end = begin + size * 8;
            if self.quick_framing == Some(Framing::Datagrams) {
                if own.len() != size * 8 || !self.is_followed_by_datagram(end) {
                    return None;
                }
            } else if let Some(next) = words.get(size) {
                if !log::follows(None, u64::from_le_bytes(*next)) {
                    return None;
                }
            } else if end != self.bytes.len() {
                return None;
            }
            let timestamp = words.get(1).map_or(0, |word| u64::from_le_bytes(*word));
            if index != self.last {
                self.last = index;
                self.choose(class::RECORD_CONTEXT);
            }
            self.at = end;
            self.records += 1;
            (self.begin, self.end) = (begin, end);
            if self.note_time(timestamp as i64) {
                continue;
            }
            if !self.components.is_empty() {
                self.look_up_component();
            }
            self.deliver_event();
            return Some(());
        }
    }

    /// Returns `true` if a datagram that ends at `end` is followed by what usually follows one.
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

    /// Returns the class of a record unlike the previous one, and its size in words.
    #[inline(never)]
    fn other(&self, words: &[[u8; 8]]) -> Option<(usize, usize)> {
        let index = *self.by_hash.get(&shape::hash(words, self.seed))?;
        let size = self.known.get(index)?.shape.as_ref()?.size_of_match(words)?;
        Some((index, size))
    }

    /// Prepares for events of the class at `last`, with a specific context of `context` bits.
    fn choose(&mut self, context: u64) {
        self.beside = Beside::Nothing;
        self.begins[Scope::Payload as usize].bit = context;
        let Some(known) = self.known.get_mut(self.last) else { return };
        known.was_met = true;
        (self.index, self.counts_drops) = (known.index, known.counts_drops);
        if self.slots.len() < known.class.slots {
            self.slots.resize(known.class.slots, Cell::new(UNKNOWN));
        }
    }

    #[inline]
    fn value(&self, timestamp: i64) -> ClockValue {
        ClockValue { nanoseconds: self.offset + i128::from(timestamp), cycles: timestamp as u64 }
    }

    /// Sets the time of the current event; returns `true` if it is outside the window.
    #[inline]
    fn note_time(&mut self, timestamp: i64) -> bool {
        self.before = self.clock.cycles as i64;
        self.clock = self.value(timestamp);
        timestamp < self.wanted.0 || timestamp > self.wanted.1
    }

    #[inline]
    fn deliver_event(&mut self) {
        self.current_kind = Some(MessageKind::Event);
        if self.counts_drops {
            self.report_dropped();
        }
    }

    /// Queues the number of records dropped before the current one, if any.
    #[cold]
    fn report_dropped(&mut self) {
        let Some(Ok((record, _))) = self.bytes.get(self.begin..).map(|bytes| Record::read(bytes, 0)) else {
            return;
        };
        let dropped = drops(&record);
        if dropped > 0 {
            self.queue.push_back(Queued::Discarded(dropped));
            self.queue.push_back(Queued::Event);
            self.report_next();
        }
    }

    /// Moves on to the next queued item; returns `false` if the queue is empty.
    #[cold]
    fn report_next(&mut self) -> bool {
        let Some(next) = self.queue.pop_front() else {
            self.phase = Phase::Reading;
            return false;
        };
        self.phase = Phase::Reporting;
        self.current_kind = Some(match &next {
            Queued::Damage(_) => MessageKind::Damage,
            Queued::Discarded(_) | Queued::Missed(_) => MessageKind::DiscardedEvents,
            Queued::Event => MessageKind::Event,
        });
        if !matches!(next, Queued::Event) {
            self.current = Some(next);
        }
        true
    }

    /// Examines the next item, whatever it is; returns `false` at the end.
    #[cold]
    fn slow(&mut self) -> bool {
        let bytes = self.bytes.clone();
        let Some(input) = bytes.get(self.at..).filter(|input| !input.is_empty()) else {
            if self.receive() {
                return true;
            }
            let lost = bytes.look_for_loss();
            if !lost.is_empty() && !self.is_loss_told {
                self.is_loss_told = true;
                let kind = DamageKind::Lost { reported: true };
                self.queue.push_back(Queued::Damage(Damage {
                    file: self.stream.name.to_string(),
                    stream: Some(self.stream.name.to_string()),
                    bit: lost.start as u64 * 8,
                    kind,
                    skipped: lost.len() as u64 * 8,
                }));
            }
            return false;
        };
        self.framer.go_on_at(self.at as u64);
        let mut left = input;
        let found = loop {
            let step = self.framer.step(left, true);
            left = left.get(step.consumed..).unwrap_or_default();
            if step.found.is_some() || step.consumed == 0 {
                break step.found;
            }
        };
        let next = self.at + (input.len() - left.len());
        // At the end of the input, the framer always finds something unless nothing is left.
        self.at = if found.is_some() { next.max(self.at + 1) } else { bytes.len() };
        self.records += 1;
        match found {
            Some(Ok(message)) => self.message(&message),
            Some(Err(damage)) => {
                let damage = self.damage(&damage.error, damage.offset, damage.skipped);
                self.queue.push_back(Queued::Damage(damage));
            }
            None => {}
        }
        true
    }

    fn damage(&self, error: &LogError, at: u64, skipped: u64) -> Damage {
        let mut statement = error.statement().to_string();
        if error.at != at {
            statement += &format!(", at byte {}", self.base + error.at);
        }
        // Skipped bytes are fatal, too: part of a message whose rest is missing may break another rule.
        let fatal = error.rule.is_fatal() || skipped > 0;
        Damage {
            file: self.stream.name.to_string(),
            stream: Some(self.stream.name.to_string()),
            bit: (self.base + at) * 8,
            kind: BrokenRule {
                name: error.rule.name(),
                statement,
                remedy: if fatal { FATAL_REMEDY } else { REMEDY },
                record: Some(self.records),
                fatal,
            }
            .into(),
            skipped: skipped * 8,
        }
    }

    /// Handles a readable message.
    fn message(&mut self, message: &log::Message<'_>) {
        if self.check {
            message.check(CheckOptions::default(), &mut |error| {
                self.queue.push_back(Queued::Damage(self.damage(&error, error.at, 0)));
            });
        }
        if let log::Message::Record { record, .. } = message {
            self.components.note(record);
        }
        let Some(form) = Form::of(message) else { return };
        self.begin = message.offset() as usize;
        self.end = self.at;
        let mut key = std::mem::take(&mut self.key);
        form.write_key(&mut key);
        let index = self.class_of(&key, &form);
        self.key = key;
        let context = match message {
            log::Message::Record { .. } => class::RECORD_CONTEXT,
            log::Message::Legacy(_) => class::PACKET_CONTEXT,
        };
        match (index, message) {
            (Some(index), _) => {
                self.last = index;
                self.choose(context);
            }
            (None, log::Message::Record { record, behind }) => {
                let Some(index) = self.any() else { return self.refuse(message.offset()) };
                self.last = index;
                self.choose(context);
                self.end = self.begin + record.as_bytes().len() + behind.len();
            }
            (None, log::Message::Legacy(packet)) => return self.refuse(packet.offset()),
        }
        let (timestamp, dropped) = match message {
            log::Message::Record { record, .. } => {
                let rolled_out = message.attribution().map_or(0, |attribution| attribution.rolled_out);
                (record.timestamp(), drops(record).saturating_add(rolled_out))
            }
            log::Message::Legacy(packet) => (packet.timestamp(), packet.dropped().into()),
        };
        if self.note_time(timestamp) {
            return;
        }
        if let log::Message::Record { record, .. } = message {
            if index.is_none() {
                self.arguments.clear();
                any::push(message, record, &mut self.arguments);
                self.components.push(record.as_bytes(), &mut self.arguments);
                self.beside = Beside::Arguments;
            } else if !self.components.is_empty() {
                self.look_up_component();
            }
        }
        if dropped > 0 {
            self.queue.push_back(Queued::Discarded(dropped));
        }
        self.queue.push_back(Queued::Event);
    }

    /// Reports that the limits are too low for any class.
    fn refuse(&mut self, at: u64) {
        let problem = "the limits are too low for the class of this record".to_owned();
        self.queue.push_back(Queued::Damage(Damage {
            file: self.stream.name.to_string(),
            stream: Some(self.stream.name.to_string()),
            bit: (self.base + at) * 8,
            kind: DamageKind::Unreadable(problem),
            skipped: 0,
        }));
    }

    /// Looks up the component of the current record's tag.
    #[inline(never)]
    fn look_up_component(&mut self) {
        let record = self.bytes.get(self.begin..).unwrap_or_default();
        self.beside = if self.components.look_up(record) { Beside::Component } else { Beside::Nothing };
    }

    /// Returns the known class of a message, or `None` if there are too many classes.
    fn class_of(&mut self, key: &[u8], form: &Form<'_>) -> Option<usize> {
        let dynamic = self.stream.trace.dynamic_classes(self.stream.class_index)?;
        // The largest record makes no class that cannot be compiled.
        let dynamic = dynamic.index(key, matches!(form, Form::Legacy(_)))?;
        self.by_dynamic.get(&dynamic).copied().or_else(|| self.add(dynamic, Some(form)))
    }

    /// Returns the known class of records beyond the limit of classes.
    fn any(&mut self) -> Option<usize> {
        let dynamic =
            self.stream.trace.dynamic_classes(self.stream.class_index)?.index(class::ANY_KEY, true)?;
        self.by_dynamic.get(&dynamic).copied().or_else(|| self.add(dynamic, None))
    }

    /// Adds a class to the known ones: that of messages of a form, if given.
    fn add(&mut self, dynamic: usize, form: Option<&Form<'_>>) -> Option<usize> {
        let classes = self.stream.trace.dynamic_classes(self.stream.class_index)?;
        let class = classes.get(dynamic).ok().flatten()?;
        let record = match form {
            Some(Form::Record(record)) => Some(record),
            _ => None,
        };
        let shape = record.and_then(RecordShape::of);
        let hash = record.filter(|_| shape.is_some()).map(|record| {
            let words = record.as_bytes().as_chunks::<8>().0;
            shape::hash(words, self.seed)
        });
        let counts_drops = match form {
            None => false,
            Some(Form::Record(record)) => counts_drops(record),
            Some(_) => true,
        };
        let known = KnownClass {
            dynamic,
            hash: hash.filter(|hash| !self.by_hash.contains_key(hash)),
            was_met: true,
            shape,
            counts_drops,
            index: class.plans.index().unwrap_or(usize::MAX),
            class,
        };
        let place = self.make_room();
        self.by_dynamic.insert(dynamic, place);
        if let Some(hash) = known.hash {
            self.by_hash.insert(hash, place);
        }
        match self.known.get_mut(place) {
            Some(old) => *old = known,
            None => self.known.push(known),
        }
        Some(place)
    }

    /// Returns the index for one more known class, possibly evicting one that is unused.
    fn make_room(&mut self) -> usize {
        if self.known.len() < self.most_known {
            return self.known.len();
        }
        loop {
            self.hand = if self.hand + 1 < self.known.len() { self.hand + 1 } else { 0 };
            let Some(known) = self.known.get_mut(self.hand) else { return self.known.len() };
            if !std::mem::take(&mut known.was_met) {
                self.by_dynamic.remove(&known.dynamic);
                if let Some(hash) = known.hash {
                    self.by_hash.remove(&hash);
                }
                return self.hand;
            }
        }
    }
}

/// Number of records dropped or discarded before this one, by its arguments.
fn drops(record: &Record<'_>) -> u64 {
    let rolled_out = match record.control() {
        Some(control) => control.rolled_out,
        None => record.appended().map(|(attribution, _)| attribution.rolled_out),
    };
    record.known().dropped.saturating_add(rolled_out.unwrap_or(0))
}

/// Returns `true` if records like this one contain a number of records dropped before them.
fn counts_drops(record: &Record<'_>) -> bool {
    let is_count = |argument: &log::Argument<'_>| {
        argument.meaning() == log::Meaning::Dropped
            || argument.name == "$__rolled_out"
            || record.is_control() && argument.name == "rolled_out"
    };
    record.arguments().flatten().any(|argument| is_count(&argument))
}

impl LogCursor {
    /// Advances when a record has to be examined or reading has ended; returns whether there is a message, or
    /// `None` if the next record may be like the previous one.
    #[inline(never)]
    fn advance_any(&mut self) -> Option<bool> {
        loop {
            match self.phase {
                Phase::Begin => {
                    self.phase = Phase::Reading;
                    self.current_kind = Some(MessageKind::StreamBegin);
                }
                Phase::Reporting => {
                    if !self.report_next() {
                        return None;
                    }
                }
                Phase::Reading => {
                    // Queued items are reported first.
                    let is_end = self.queue.is_empty() && !self.slow();
                    // Queued items come before the end.
                    if !self.report_next() {
                        if !is_end {
                            return None;
                        }
                        self.phase = Phase::End;
                        continue;
                    }
                }
                Phase::End => {
                    self.phase = Phase::Done;
                    self.current_kind = Some(MessageKind::StreamEnd);
                }
                Phase::Done => self.current_kind = None,
            }
            return Some(self.current_kind.is_some());
        }
    }

    #[inline(always)]
    fn current_event(&self) -> Option<Event<'_>> {
        let class = &*self.known.get(self.last)?.class;
        let bits = PacketBits::whole(self.bytes.get(self.begin..self.end)?);
        let scopes = Scopes::new(bits, &self.begins, &self.slots, &self.limits).with_end(bits.content);
        let scopes = match self.beside {
            Beside::Nothing => scopes,
            Beside::Component => scopes.with_values(self.components.values()),
            Beside::Arguments => scopes.with_values(&self.arguments),
        };
        Some(Event::new(&self.stream, &class.plans, Some(&self.clock), scopes))
    }

    /// Returns the current message if it is not an event.
    #[inline(never)]
    fn other_message(&self) -> Option<Message<'_>> {
        Some(match self.current_kind? {
            MessageKind::StreamBegin => Message::StreamBegin(&self.stream),
            MessageKind::StreamEnd => Message::StreamEnd(&self.stream),
            MessageKind::Damage => match self.current.as_ref()? {
                Queued::Damage(damage) => Message::Damage(damage),
                _ => return None,
            },
            MessageKind::DiscardedEvents => match self.current.as_ref()? {
                Queued::Discarded(count) => Message::DiscardedEvents(Discarded {
                    stream: &self.stream,
                    count: Some(*count),
                    thread: None,
                    begin: (self.records > 1)
                        .then(|| self.value(self.before))
                        .filter(|before| *before <= self.clock),
                    end: Some(self.clock),
                }),
                Queued::Missed(count) => Message::DiscardedEvents(Discarded {
                    stream: &self.stream,
                    count: Some(*count),
                    thread: None,
                    begin: (self.records > 0).then_some(self.clock),
                    end: None,
                }),
                _ => return None,
            },
            _ => return None,
        })
    }
}

impl Cursor for LogCursor {
    #[inline(always)]
    fn advance(&mut self) -> bool {
        loop {
            if self.phase == Phase::Reading && self.quick().is_some() {
                return true;
            }
            if let Some(is_there) = self.advance_any() {
                return is_there;
            }
        }
    }

    #[inline(always)]
    fn head(&self) -> Option<Head> {
        let time = Some(self.clock.nanoseconds);
        Some(match self.current_kind? {
            MessageKind::Event => Head::event(self.index, time),
            kind @ MessageKind::DiscardedEvents => Head::new(kind, time),
            kind @ MessageKind::StreamEnd => Head::new(kind, time.filter(|_| self.records > 0)),
            kind => Head::new(kind, None),
        })
    }

    #[inline(always)]
    fn current(&self) -> Option<Message<'_>> {
        if self.current_kind == Some(MessageKind::Event) {
            return Some(Message::Event(self.current_event()?));
        }
        self.other_message()
    }
}

impl FastCursor for LogCursor {}

/// Clamps a time to 64 bits.
fn to_i64(nanoseconds: i128) -> i64 {
    nanoseconds.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Hasher for keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct NoHash(u64);

impl Hasher for NoHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}
