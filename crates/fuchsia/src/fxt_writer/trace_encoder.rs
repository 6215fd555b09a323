//! Encodes messages as records.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use ichnos_io::{OutputBlock, Worker, WorkerFlow};
use ichnos_model::lower::{LossEntry, LossKind};
use ichnos_model::{ClassDigest, ClockClass, ClockValue, DataStream, Discarded, Event, Message};

use super::class_losses::{ClassLoss, ClassLosses};
use super::clock_base::{base_of, last_tick, offset_of};
use super::encode::RecordEncoder;
use super::event_encoder::{EventEncoder, EventReferences};
use super::foreign::{self, ForeignBuffers, ForeignClass};
use super::leaves::Leaves;
use super::own::{self, OwnClass};
use super::record_parts::RecordParts;
use super::rules::{TraceRules, timed_hash};
use super::stack_writer::StackWriter;
use super::tables::{WrittenTables, append};
use crate::fxt::{BUFFER_FULL, Initialization};
use crate::fxt_reader::class;
use crate::fxt_reader::index::MOST_STREAMS;
use crate::fxt_reader::key::{RecordForm, RecordKind};

/// Maximum size of the name of a provider.
const LONGEST_NAME: usize = 255;

/// Maximum number of classes of this format that are kept: up to 5 kB each, besides their names.
const MOST_OWN_CLASSES: usize = 8192;

/// Treatment of a class of events.
#[derive(Debug)]
enum ClassTreatment {
    Own(OwnClass),
    Foreign(Box<ForeignClass>),
}

/// A class of events, and the losses of its events.
#[derive(Debug)]
struct WrittenClass {
    name: String,
    treatment: ClassTreatment,
    losses: ClassLosses,
    references: EventReferences,
}

/// A data stream.
#[derive(Debug)]
struct WrittenStream {
    /// Index of the provider whose records its events become; `None` if there are too many.
    provider: Option<usize>,
    classes: Vec<Option<Box<WrittenClass>>>,
    /// Time of the last event.
    last: u64,
    /// Ticks to add to cycles.
    offset: i128,
    /// Last tick that is written.
    end: u64,
}

/// A provider: the records of a data stream, or of several if there are too many.
#[derive(Debug)]
struct Provider {
    /// `None` for the only data stream of a trace without providers.
    id: Option<u32>,
    clock: Initialization,
    tables: WrittenTables,
    /// Records that wait to be taken.
    records: Vec<u8>,
    has_begun: bool,
}

/// Encodes messages as records.
#[derive(Debug)]
pub(super) struct TraceEncoder {
    rules: Arc<TraceRules>,
    /// By the key of the data stream.
    streams: Vec<Option<Box<WrittenStream>>>,
    /// Number of classes of this format.
    own_classes: usize,
    providers: Vec<Provider>,
    ids: HashSet<u32>,
    /// Lowest id that was not tried for a data stream without one.
    next_id: u32,
    /// Providers with waiting records, in the order in which they are written.
    order: Vec<usize>,
    /// Provider of the last record in the file.
    current: Option<usize>,
    has_magic: bool,
    waiting: usize,
    encoder: RecordEncoder,
    events_encoder: EventEncoder,
    leaves: Leaves,
    buffers: ForeignBuffers,
    stacks: StackWriter,
    parts: RecordParts,
    events: u64,
    digest: ClassDigest,
    /// Time of the current event in nanoseconds by its own clock. `None` if its record has another time.
    nanoseconds: Option<i128>,
    is_flushed: bool,
}

impl TraceEncoder {
    pub(super) fn new(rules: Arc<TraceRules>) -> Self {
        Self {
            rules,
            streams: Vec::new(),
            own_classes: 0,
            providers: Vec::new(),
            ids: HashSet::new(),
            next_id: 1,
            order: Vec::new(),
            current: None,
            has_magic: false,
            waiting: 0,
            encoder: RecordEncoder::default(),
            events_encoder: EventEncoder::new(),
            leaves: Leaves::default(),
            buffers: ForeignBuffers::default(),
            stacks: StackWriter::default(),
            parts: RecordParts::new(),
            events: 0,
            digest: ClassDigest::default(),
            nanoseconds: None,
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

    /// Begins a data stream, unless it has begun; returns its key.
    #[inline(always)]
    fn stream(&mut self, stream: &DataStream) -> usize {
        let key = stream.key as usize;
        if self.streams.get(key).is_none_or(Option::is_none) {
            self.begin_stream(stream, key);
        }
        key
    }

    #[inline(never)]
    fn begin_stream(&mut self, stream: &DataStream, key: usize) {
        if self.streams.len() <= key {
            self.streams.resize_with(key + 1, || None);
        }
        let base = stream.clock().and_then(|clock| base_of(&stream.trace.class, clock));
        let offset = if base.is_none() { stream.clock().map_or(0, offset_of) } else { 0 };
        let ticks_per_second = stream.clock().map_or(1_000_000_000, |clock| clock.frequency);
        let clock = Initialization { ticks_per_second, base };
        let end = last_tick(&stream.trace.class, &class::clock(String::new(), clock, None));
        let provider = if self.providers.len() < MOST_STREAMS {
            Some(self.add_provider(stream, clock))
        } else {
            // Readers skip more providers: the latest one with the same clock has their records.
            let shared = self.providers.iter().rposition(|provider| provider.clock == clock);
            let (kind, what) = match shared {
                Some(_) => (LossKind::Lowered, "data stream beyond 1,024 -> part of another data stream"),
                None => (LossKind::Dropped, "data stream beyond 1,024: no other data stream has its clock"),
            };
            self.lose(kind, what);
            shared
        };
        if let Some(place) = self.streams.get_mut(key) {
            *place = Some(Box::new(WrittenStream { provider, classes: Vec::new(), last: 0, offset, end }));
        }
    }

    /// Adds the provider of a data stream; returns its index.
    fn add_provider(&mut self, stream: &DataStream, clock: Initialization) -> usize {
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
        let mut records = Vec::new();
        if let Some(id) = id {
            let mut name = name_of_provider(stream);
            if self.rules.repairs()
                && let Cow::Owned(valid) = String::from_utf8_lossy(&name)
            {
                name = Cow::Owned(valid.into_bytes());
            }
            let kept = shorten(&name);
            if kept.len() < name.len() {
                self.lose(LossKind::Dropped, "name of a data stream: bytes beyond 255");
            }
            append(&mut records, 8 + kept.len().next_multiple_of(8), |writer| writer.provider(id, kept));
        }
        let size = if clock.base.is_some() { 32 } else { 16 };
        append(&mut records, size, |writer| writer.initialization(&clock));
        self.waiting += records.len();
        let number = self.providers.len();
        self.order.push(number);
        let tables = WrittenTables::default();
        self.providers.push(Provider { id, clock, tables, records, has_begun: false });
        number
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        let key = self.stream(event.stream);
        let Some(index) = event.class_index() else {
            return self.lose(LossKind::Dropped, "event of an unknown class");
        };
        let stream = self.streams.get(key).and_then(Option::as_ref);
        if stream.is_none_or(|stream| stream.classes.get(index).is_none_or(Option::is_none)) {
            self.begin_class(event, key, index);
        }
        let Self { streams, providers, rules, events_encoder, nanoseconds, .. } = self;
        let Some(Some(stream)) = streams.get_mut(key) else { return };
        let WrittenStream { provider, classes, last, offset, end } = &mut **stream;
        let Some(number) = *provider else {
            return self.lose(LossKind::Dropped, "event of a data stream beyond 1,024");
        };
        let Some(Provider { tables, records, .. }) = providers.get_mut(number) else { return };
        let Some(Some(class)) = classes.get_mut(index) else { return };
        let WrittenClass { treatment, losses, references, .. } = &mut **class;
        let time = event.clock.map(|clock| ticks(clock, event.stream.clock(), (*offset, *end), losses));
        *nanoseconds = time.and_then(|(_, nanoseconds)| nanoseconds);
        let time = time.map(|(ticks, _)| ticks);
        if let (ClassTreatment::Own(own), Some(time)) = (&*treatment, time)
            && own.is_event()
            && !rules.repairs()
        {
            let before = records.len();
            let is_compared = rules.is_compared();
            let class = (own, references);
            let hash = events_encoder.encode(event, class, time, (tables, records), is_compared);
            if let Some(hash) = hash {
                *last = time;
                self.events += 1;
                if is_compared {
                    let nanoseconds = self.nanoseconds_of(number, Some(time));
                    self.digest.add(Some(time), timed_hash(hash, nanoseconds));
                }
            }
            // Strings stay in the tables, even if the event was not encoded.
            self.add_waiting(number, before);
            if hash.is_some() {
                return;
            }
        }
        self.other_event(event, time, (key, index, number));
    }

    /// Begins a class of a data stream. When there are too many, those of this format are forgotten: they are made again
    /// when they are needed.
    #[inline(never)]
    fn begin_class(&mut self, event: &Event<'_>, key: usize, index: usize) {
        if self.own_classes >= MOST_OWN_CLASSES {
            self.name_losses();
            let classes = self.streams.iter_mut().flatten().flat_map(|stream| &mut stream.classes);
            let is_own = |class: &WrittenClass| matches!(class.treatment, ClassTreatment::Own(_));
            for place in classes.filter(|place| place.as_deref().is_some_and(is_own)) {
                *place = None;
            }
            self.own_classes = 0;
        }
        let Some(Some(stream)) = self.streams.get_mut(key) else { return };
        // Events of a data stream without a provider are dropped.
        if stream.provider.is_none() {
            return;
        }
        if stream.classes.len() <= index {
            stream.classes.resize_with(index + 1, || None);
        }
        let class = written_class(event, &self.rules);
        self.own_classes += usize::from(matches!(class.treatment, ClassTreatment::Own(_)));
        if let Some(place) = stream.classes.get_mut(index) {
            *place = Some(Box::new(class));
        }
    }

    /// Takes an event apart and writes its parts: an event of the class at an index of a data stream, with a key and the
    /// number of a provider.
    #[inline(never)]
    fn other_event(
        &mut self,
        event: &Event<'_>,
        time: Option<u64>,
        (key, index, number): (usize, usize, usize),
    ) {
        let Self { streams, providers, leaves, buffers, parts, .. } = self;
        let Some(Some(stream)) = streams.get_mut(key) else { return };
        let WrittenStream { classes, last, .. } = &mut **stream;
        let Some(Some(class)) = classes.get_mut(index) else { return };
        let WrittenClass { treatment, losses, .. } = &mut **class;
        let has_time = match &*treatment {
            ClassTreatment::Own(own) => own.has_time(),
            ClassTreatment::Foreign(_) => true,
        };
        if has_time != time.is_some() {
            losses.add(if has_time { ClassLoss::Time } else { ClassLoss::OwnTime }, 1);
        }
        let time = time.unwrap_or(*last);
        match &*treatment {
            ClassTreatment::Own(own) if own.is_unknown_and_large() => {
                return losses.add(ClassLoss::LargeRecord, 1);
            }
            ClassTreatment::Own(own) => {
                if own::read(event, own, Some(time), leaves, parts).is_none() {
                    return losses.add(ClassLoss::Fields, 1);
                }
                let id = providers.get(number).and_then(|provider| provider.id);
                own::refer_to_tables(parts, id, losses);
            }
            ClassTreatment::Foreign(foreign) => {
                foreign::read(event, foreign, time, (leaves, buffers), parts, losses);
            }
        }
        if self.rules.repairs() {
            parts.repair(losses);
        }
        *last = parts.ticks.unwrap_or(*last);
        let has_stack = matches!(&*treatment, ClassTreatment::Foreign(foreign) if foreign.stack.is_some());
        self.write_parts(key, index, number);
        if has_stack {
            self.stack(event, key, index, number);
        }
    }

    /// Writes [`Self::parts`] as a record of an event of a class of a data stream.
    #[inline(always)]
    fn write_parts(&mut self, key: usize, index: usize, number: usize) {
        let Self { streams, providers, encoder, parts, .. } = self;
        let (Some(class), Some(provider)) = (class_of(streams, key, index), providers.get_mut(number)) else {
            return;
        };
        let Provider { tables, records, .. } = provider;
        let before = records.len();
        // Strings of the tables do not depend on the record: they stay if it has no room.
        if encoder.encode(parts, tables, &mut class.losses, records) {
            self.events += 1;
            if self.rules.is_compared() {
                let nanoseconds = self.nanoseconds_of(number, self.parts.ticks);
                self.digest.add(self.parts.ticks, timed_hash(self.parts.hash(), nanoseconds));
            }
        }
        self.add_waiting(number, before);
    }

    /// Writes the call stack of the event whose record was written last, after the modules that are in memory.
    #[inline(never)]
    fn stack(&mut self, event: &Event<'_>, key: usize, index: usize, number: usize) {
        let Some(WrittenClass { treatment: ClassTreatment::Foreign(foreign), losses, .. }) =
            class_of(&mut self.streams, key, index)
        else {
            return;
        };
        let Some(field) = &foreign.stack else { return };
        let Some(space) = self.stacks.read(event, field, losses) else { return };
        let RecordParts { ticks, process, thread, .. } = self.parts;
        let begin = |parts: &mut RecordParts, kind, thread| {
            parts.begin(RecordForm::new(kind), ticks);
            (parts.process, parts.thread) = (process, thread);
        };
        while let Some(module) = self.stacks.next_module(event, space, number, process) {
            if module.is_new {
                begin(&mut self.parts, RecordKind::Module, 0);
                self.parts.words[0] = module.id.into();
                self.parts.name = self.parts.add(module.name.as_bytes());
                self.write_parts(key, index, number);
            }
            begin(&mut self.parts, RecordKind::Mapping, 0);
            // Readable and executable.
            self.parts.words = [module.id.into(), 5, module.begin, module.size, 0, 0];
            self.write_parts(key, index, number);
        }
        begin(&mut self.parts, RecordKind::Backtrace, thread);
        self.parts.data = self.parts.add(&self.stacks.addresses);
        self.write_parts(key, index, number);
    }

    /// Returns the time of the current record in nanoseconds, by the event's clock if its ticks are exact.
    fn nanoseconds_of(&self, number: usize, ticks: Option<u64>) -> Option<i128> {
        let ticks = ticks?;
        let of_ticks = || {
            let provider = self.providers.get(number)?;
            Some(class::clock(String::new(), provider.clock, None).nanoseconds(ticks))
        };
        self.nanoseconds.or_else(of_ticks)
    }

    /// Counts the records of a provider that were added to `before` bytes.
    #[inline(always)]
    fn add_waiting(&mut self, number: usize, before: usize) {
        let Some(provider) = self.providers.get(number) else { return };
        let added = provider.records.len() - before;
        self.waiting += added;
        if before == 0 && added > 0 {
            self.order.push(number);
        }
    }

    /// Writes that the buffer of a provider was full.
    fn discarded(&mut self, discarded: &Discarded<'_>) {
        let key = self.stream(discarded.stream);
        let number = self.streams.get(key).and_then(|stream| stream.as_ref()?.provider);
        let provider = number.and_then(|number| self.providers.get_mut(number));
        let (Some(number), Some(Provider { id: Some(id), records, .. })) = (number, provider) else {
            return self.lose(LossKind::Dropped, "loss of events");
        };
        let before = records.len();
        append(records, 8, |writer| writer.provider_event(*id, BUFFER_FULL));
        self.add_waiting(number, before);
        if discarded.count.is_some() {
            self.lose(LossKind::Dropped, "number of discarded events");
        }
        if discarded.thread.is_some() {
            self.lose(LossKind::Dropped, "thread of discarded events");
        }
    }

    fn lose(&self, kind: LossKind, what: &str) {
        let loss = LossEntry { kind, class: String::new(), field: String::new(), what: what.to_owned() };
        self.rules.with_losses(|table| table.add(loss, 1));
    }

    /// Moves the losses of all classes to the table.
    fn name_losses(&mut self) {
        let classes = self.streams.iter_mut().flatten().flat_map(|stream| &mut stream.classes);
        for class in classes.flatten() {
            let WrittenClass { name, losses, .. } = &mut **class;
            self.rules.with_losses(|table| losses.take(name, table));
        }
    }

    /// Returns all waiting records, each after the section of its provider.
    fn block(&mut self) -> OutputBlock {
        let mut bytes = Vec::with_capacity(self.waiting + 64);
        if !std::mem::replace(&mut self.has_magic, true) {
            append(&mut bytes, 8, |writer| writer.magic());
        }
        for number in self.order.drain(..) {
            let Some(provider) = self.providers.get_mut(number) else { continue };
            let is_new = !std::mem::replace(&mut provider.has_begun, true);
            if let Some(id) = provider.id
                && !is_new
                && self.current != Some(number)
            {
                append(&mut bytes, 8, |writer| writer.section(id));
            }
            self.current = Some(number);
            bytes.append(&mut provider.records);
        }
        self.waiting = 0;
        OutputBlock { bytes, events: std::mem::take(&mut self.events), ..OutputBlock::default() }
    }
}

/// Returns a class of a data stream.
#[inline(always)]
fn class_of(
    streams: &mut [Option<Box<WrittenStream>>],
    key: usize,
    index: usize,
) -> Option<&mut WrittenClass> {
    streams.get_mut(key)?.as_mut()?.classes.get_mut(index)?.as_deref_mut()
}

/// Returns the ticks of an event, at most `end`. The second number is the time in nanoseconds if the ticks are exact.
fn ticks(
    time: &ClockValue,
    clock: Option<&ClockClass>,
    (offset, end): (i128, u64),
    losses: &mut ClassLosses,
) -> (u64, Option<i128>) {
    let nanoseconds = clock.map(|clock| clock.nanoseconds(time.cycles));
    let ticks = i128::from(time.cycles) + offset;
    let exact = u64::try_from(ticks).ok().filter(|ticks| *ticks <= end);
    // Readers take the first and the last value for times outside of the clock's range.
    let is_other = matches!(time.cycles, 0 | u64::MAX) && nanoseconds != Some(time.nanoseconds);
    losses.note(ClassLoss::Range, exact.is_none() || is_other);
    match exact {
        Some(ticks) => (ticks, nanoseconds),
        None => (if ticks < 0 { 0 } else { end }, None),
    }
}

fn written_class(event: &Event<'_>, rules: &TraceRules) -> WrittenClass {
    let mut losses = ClassLosses::default();
    let treatment = match OwnClass::of(event.class) {
        Some(own) => ClassTreatment::Own(own),
        None => {
            let foreign = rules.with_losses(|table| ForeignClass::of(event, table));
            losses.ids = foreign.id_names();
            ClassTreatment::Foreign(Box::new(foreign))
        }
    };
    let references = EventReferences::default();
    WrittenClass { name: event.name().to_owned(), treatment, losses, references }
}

/// Returns the name of the provider of a data stream.
fn name_of_provider(stream: &DataStream) -> Cow<'_, [u8]> {
    class::provider_name(stream.class()).unwrap_or_else(|| {
        let name = stream.name.rsplit('/').next().unwrap_or_default();
        Cow::Borrowed(name.as_bytes())
    })
}

/// Returns the beginning of a name that a record has room for, in whole characters.
fn shorten(name: &[u8]) -> &[u8] {
    let most = std::str::from_utf8(name).map_or(LONGEST_NAME, |text| text.floor_char_boundary(LONGEST_NAME));
    name.get(..most).unwrap_or(name)
}

impl Worker for TraceEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        match message {
            Message::StreamBegin(stream) => {
                self.stream(stream);
            }
            Message::Event(event) => self.event(event),
            Message::DiscardedEvents(discarded) => self.discarded(discarded),
            Message::DiscardedPackets(_) => self.lose(LossKind::Dropped, "loss of packets"),
            // Records that break other rules are written.
            Message::Damage(damage) if damage.kind.rule().is_none_or(|rule| rule.fatal) => {
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
