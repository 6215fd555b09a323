//! Encodes messages as records.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use ichnos_io::{OutputBlock, Worker, WorkerFlow};
use ichnos_model::lower::{LossEntry, LossKind};
use ichnos_model::{ClassDigest, ClockClass, ClockOrigin, DataStream, Event, Message};

use super::encode::RecordEncoder;
use super::foreign::{self, EventLosses, ForeignClass};
use super::leaves::Leaves;
use super::own::{self, OwnClass};
use super::record_parts::RecordParts;
use super::rules::TraceRules;
use super::tables::{WrittenTables, push_stream, push_word};
use crate::fxt::{BaseTime, MAGIC, record_kind};
use crate::fxt_reader::class;

/// Maximum size of the name of a provider.
const LONGEST_NAME: usize = 255;

/// Treatment of a class of events.
#[derive(Debug)]
enum ClassTreatment {
    Own(OwnClass),
    Foreign(Box<ForeignClass>),
}

/// Kinds of losses that are counted by class.
const LOSSES: [(LossKind, &str); 8] = [
    (LossKind::Rounded, "no time: that of the record before, or 0"),
    (LossKind::Lowered, "more than 15 arguments -> text"),
    (LossKind::Dropped, "arguments: no room in the record"),
    (LossKind::Dropped, "record: no room for its names"),
    (LossKind::Dropped, "name of the thread, in place of its number"),
    (LossKind::Dropped, "fields that cannot be decoded"),
    (LossKind::Rounded, "time before the origin or of more than 64 bits"),
    (LossKind::Dropped, "time: records of this kind have none"),
];

/// Indexes of [`LOSSES`].
mod lost {
    pub(super) const TIME: usize = 0;
    pub(super) const TEXTS: usize = 1;
    pub(super) const ARGUMENTS: usize = 2;
    pub(super) const RECORD: usize = 3;
    pub(super) const THREAD: usize = 4;
    pub(super) const FIELDS: usize = 5;
    pub(super) const RANGE: usize = 6;
    pub(super) const OWN_TIME: usize = 7;
}

/// A class of events, and the losses of its events.
#[derive(Debug)]
struct WrittenClass {
    name: String,
    treatment: ClassTreatment,
    losses: [u64; LOSSES.len()],
}

/// A data stream: records of a provider.
#[derive(Debug)]
struct Provider {
    /// `None` for the only data stream of a trace without providers.
    id: Option<u32>,
    tables: WrittenTables,
    classes: Vec<Option<Box<WrittenClass>>>,
    /// Records that wait to be taken.
    records: Vec<u8>,
    has_begun: bool,
    /// Time of the last event.
    last: u64,
    /// Ticks to add to cycles.
    offset: i128,
}

/// Encodes messages as records.
#[derive(Debug)]
pub(super) struct TraceEncoder {
    rules: Arc<TraceRules>,
    /// By the key of the data stream.
    providers: Vec<Option<Box<Provider>>>,
    ids: HashSet<u32>,
    /// Lowest id that was not tried for a data stream without one.
    next_id: u32,
    /// Data streams with waiting records, in the order in which they are written.
    order: Vec<usize>,
    /// Data stream of the last record in the file.
    current: Option<usize>,
    has_magic: bool,
    waiting: usize,
    encoder: RecordEncoder,
    leaves: Leaves,
    parts: RecordParts,
    events: u64,
    digest: ClassDigest,
    is_flushed: bool,
}

impl TraceEncoder {
    pub(super) fn new(rules: Arc<TraceRules>) -> Self {
        Self {
            rules,
            providers: Vec::new(),
            ids: HashSet::new(),
            next_id: 1,
            order: Vec::new(),
            current: None,
            has_magic: false,
            waiting: 0,
            encoder: RecordEncoder::default(),
            leaves: Leaves::default(),
            parts: RecordParts::new(),
            events: 0,
            digest: ClassDigest::default(),
            is_flushed: false,
        }
    }

    /// Returns the number of encoded bytes that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the digest of written records that are not counted elsewhere.
    pub(super) fn records(&self) -> ClassDigest {
        self.digest
    }

    /// Finishes a part, whose records are counted by [`Self::records`] and nowhere else.
    pub(super) fn finish_part(&mut self) -> io::Result<()> {
        let records = self.digest;
        self.finish()?;
        self.digest = records;
        Ok(())
    }

    /// Returns the provider of a data stream.
    fn provider(&mut self, stream: &DataStream) -> usize {
        let key = stream.key as usize;
        if self.providers.len() <= key {
            self.providers.resize_with(key + 1, || None);
        }
        if self.providers.get(key).is_none_or(|provider| provider.is_some()) {
            return key;
        }
        let wanted = stream.id.and_then(|id| u32::try_from(id).ok());
        let id = if self.rules.is_alone() && wanted.is_none() && stream.class().name.is_none() {
            None
        } else {
            let is_free = |id: &u32| !self.ids.contains(id);
            let id = wanted.filter(is_free).or_else(|| (self.next_id..=u32::MAX).find(is_free)).unwrap_or(0);
            if wanted != Some(id) {
                self.next_id = id.saturating_add(1);
            }
            self.ids.insert(id);
            Some(id)
        };
        let mut provider = Provider {
            id,
            tables: WrittenTables::default(),
            classes: Vec::new(),
            records: Vec::new(),
            has_begun: false,
            last: 0,
            offset: 0,
        };
        let frequency = stream.clock().map_or(1_000_000_000, |clock| clock.frequency);
        let base = stream.clock().and_then(epoch_base);
        if base.is_none() {
            provider.offset = stream.clock().map_or(0, offset_of);
        }
        if let Some(id) = id {
            let name = name_of_provider(stream);
            let words = 1 + name.len().div_ceil(8) as u64;
            let header = words << 4 | 1 << 16 | u64::from(id) << 20 | (name.len() as u64) << 52;
            push_word(&mut provider.records, header);
            push_stream(&mut provider.records, &name);
        }
        match base {
            None => {
                push_word(&mut provider.records, record_kind::INITIALIZATION | 2 << 4);
                push_word(&mut provider.records, frequency);
            }
            Some(base) => {
                push_word(&mut provider.records, record_kind::INITIALIZATION | 4 << 4);
                let words = [frequency, base.ticks, base.unix_nanoseconds];
                words.into_iter().for_each(|word| push_word(&mut provider.records, word));
            }
        }
        self.waiting += provider.records.len();
        self.order.push(key);
        if let Some(place) = self.providers.get_mut(key) {
            *place = Some(Box::new(provider));
        }
        key
    }

    fn event(&mut self, event: &Event<'_>) {
        let key = self.provider(event.stream);
        let Some(index) = event.class_index() else {
            return self.lose(LossKind::Dropped, "event of an unknown class");
        };
        let Self { providers, rules, encoder, leaves, parts, .. } = self;
        let Some(Some(provider)) = providers.get_mut(key) else { return };
        let Provider { tables, classes, records, last, offset, .. } = &mut **provider;
        if classes.len() <= index {
            classes.resize_with(index + 1, || None);
        }
        let Some(place) = classes.get_mut(index) else { return };
        let class = place.get_or_insert_with(|| Box::new(written_class(event, rules)));
        let before = records.len();
        // Strings of the tables do not depend on the record: they stay if it has no room.
        let losses = &mut class.losses;
        let time = event.clock.map(|clock| ticks(clock.cycles, *offset, losses));
        let has_time = match &class.treatment {
            ClassTreatment::Own(own) => own.has_time(),
            ClassTreatment::Foreign(_) => true,
        };
        if has_time != time.is_some() {
            losses[if has_time { lost::TIME } else { lost::OWN_TIME }] += 1;
        }
        let time = time.unwrap_or(*last);
        let is_written = match &class.treatment {
            ClassTreatment::Own(own) => own::read(event, own, Some(time), leaves, parts).is_some(),
            ClassTreatment::Foreign(foreign) => {
                count(losses, foreign::read(event, foreign, time, leaves, parts));
                true
            }
        };
        if !is_written {
            losses[lost::FIELDS] += 1;
            return;
        }
        *last = parts.ticks.unwrap_or(*last);
        match encoder.encode(parts, tables, records) {
            Some(dropped) => losses[lost::ARGUMENTS] += dropped,
            None => {
                losses[lost::RECORD] += 1;
                return self.add_waiting(key, before);
            }
        }
        self.events += 1;
        if self.rules.is_compared() {
            self.digest.add(self.parts.ticks, self.parts.hash());
        }
        self.add_waiting(key, before);
    }

    /// Counts the records of a provider that were added to `before` bytes.
    fn add_waiting(&mut self, key: usize, before: usize) {
        let Some(Some(provider)) = self.providers.get(key) else { return };
        self.waiting += provider.records.len() - before;
        if before == 0 {
            self.order.push(key);
        }
    }

    /// Writes that the buffer of a provider was full.
    fn discarded(&mut self, stream: &DataStream, count: Option<u64>) {
        let key = self.provider(stream);
        let Some(Some(provider)) = self.providers.get_mut(key) else { return };
        let before = provider.records.len();
        match provider.id {
            Some(id) => {
                push_word(&mut provider.records, 1 << 4 | 3 << 16 | u64::from(id) << 20);
                self.add_waiting(key, before);
                if count.is_some() {
                    self.lose(LossKind::Dropped, "number of discarded events");
                }
            }
            None => self.lose(LossKind::Dropped, "loss of events"),
        }
    }

    fn lose(&self, kind: LossKind, what: &str) {
        let loss = LossEntry { kind, class: String::new(), field: String::new(), what: what.to_owned() };
        self.rules.with_losses(|table| table.add(loss, 1));
    }

    /// Moves the losses of all classes to the table.
    fn name_losses(&mut self) {
        let classes = self.providers.iter_mut().flatten().flat_map(|provider| &mut provider.classes);
        for class in classes.flatten() {
            for ((kind, what), count) in LOSSES.into_iter().zip(&mut class.losses) {
                if *count > 0 {
                    let (class, what) = (class.name.clone(), what.to_owned());
                    let loss = LossEntry { kind, class, field: String::new(), what };
                    self.rules.with_losses(|table| table.add(loss, *count));
                }
                *count = 0;
            }
        }
    }

    /// Returns all waiting records, each after the section of its provider.
    fn block(&mut self) -> OutputBlock {
        let mut bytes = Vec::with_capacity(self.waiting + 64);
        if !std::mem::replace(&mut self.has_magic, true) {
            push_word(&mut bytes, MAGIC);
        }
        for key in std::mem::take(&mut self.order) {
            let Some(Some(provider)) = self.providers.get_mut(key) else { continue };
            let is_new = !std::mem::replace(&mut provider.has_begun, true);
            if let Some(id) = provider.id
                && !is_new
                && self.current != Some(key)
            {
                push_word(&mut bytes, 1 << 4 | 2 << 16 | u64::from(id) << 20);
            }
            self.current = Some(key);
            bytes.append(&mut provider.records);
        }
        self.waiting = 0;
        OutputBlock { bytes, events: std::mem::take(&mut self.events), ..OutputBlock::default() }
    }
}

/// Returns the ticks of a time in cycles.
fn ticks(cycles: u64, offset: i128, losses: &mut [u64; LOSSES.len()]) -> u64 {
    let ticks = i128::from(cycles) + offset;
    u64::try_from(ticks).unwrap_or_else(|_| {
        losses[lost::RANGE] += 1;
        if ticks < 0 { 0 } else { u64::MAX }
    })
}

fn count(losses: &mut [u64; LOSSES.len()], event: EventLosses) {
    losses[lost::TEXTS] += u64::from(event.has_texts);
    losses[lost::THREAD] += u64::from(event.has_thread_name);
    losses[lost::FIELDS] += u64::from(event.is_undecodable);
}

fn written_class(event: &Event<'_>, rules: &TraceRules) -> WrittenClass {
    let treatment = match OwnClass::of(event.class) {
        Some(own) => ClassTreatment::Own(own),
        None => rules.with_losses(|table| ClassTreatment::Foreign(Box::new(ForeignClass::of(event, table)))),
    };
    WrittenClass { name: event.name().to_owned(), treatment, losses: [0; LOSSES.len()] }
}

/// Returns the ticks from the origin of a clock to its tick 0, which records add to theirs where no base time does.
fn offset_of(clock: &ClockClass) -> i128 {
    i128::from(clock.offset_seconds) * i128::from(clock.frequency) + i128::from(clock.offset_cycles)
}

/// Returns the first time of a clock from 1970 on whose ticks are whole nanoseconds: readers find the same offset from
/// it. `None` if the clock does not count from 1970, or if there is no such time in 64 bits.
pub(super) fn epoch_base(clock: &ClockClass) -> Option<BaseTime> {
    const BILLION: u64 = 1_000_000_000;
    if clock.origin != ClockOrigin::UnixEpoch {
        return None;
    }
    // So many ticks are a whole number of nanoseconds, and no lower number is.
    let step = i128::from(clock.frequency / common_divisor(clock.frequency, BILLION));
    let offset = offset_of(clock);
    let earliest = (-offset).max(0);
    let ticks = earliest + (-(offset + earliest)).rem_euclid(step);
    let ticks = u64::try_from(ticks).ok()?;
    let unix_nanoseconds = u64::try_from(clock.nanoseconds(ticks)).ok()?;
    Some(BaseTime { ticks, unix_nanoseconds })
}

/// Returns the greatest common divisor of two numbers, of which one is greater than 0.
fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

/// Returns the name of the provider of a data stream.
fn name_of_provider(stream: &DataStream) -> Cow<'_, [u8]> {
    let own = class::provider_name(stream.class());
    let mut name = own.unwrap_or_else(|| {
        let name = stream.name.rsplit('/').next().unwrap_or_default();
        Cow::Borrowed(name.as_bytes())
    });
    if let Ok(text) = std::str::from_utf8(&name) {
        let most = text.floor_char_boundary(LONGEST_NAME);
        if most < name.len() {
            name.to_mut().truncate(most);
        }
    }
    name
}

impl Worker for TraceEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        match message {
            Message::StreamBegin(stream) => {
                self.provider(stream);
            }
            Message::Event(event) => self.event(event),
            Message::DiscardedEvents(discarded) => self.discarded(discarded.stream, discarded.count),
            Message::DiscardedPackets(_) => self.lose(LossKind::Dropped, "loss of packets"),
            Message::Damage(damage) => {
                self.lose(LossKind::Dropped, &format!("damaged data: {}", damage.kind));
            }
            _ => {}
        }
        let is_full = self.waiting >= self.rules.block_bytes();
        Ok(if is_full { WorkerFlow::Block } else { WorkerFlow::Continue })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.is_flushed = true;
        Ok(())
    }

    fn take(&mut self) -> Option<OutputBlock> {
        let is_flushed = std::mem::take(&mut self.is_flushed);
        let is_due =
            self.waiting >= self.rules.block_bytes() || is_flushed && (self.waiting > 0 || !self.has_magic);
        is_due.then(|| self.block())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.name_losses();
        self.rules.add_records(std::mem::take(&mut self.digest));
        self.is_flushed = true;
        Ok(())
    }
}
