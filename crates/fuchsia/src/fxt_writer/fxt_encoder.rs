//! Encodes messages as FXT records.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use ichnos_io::{ClassTreatment, EncoderRules, MessageEncoder};
use ichnos_model::clock::{ClockClass, ClockValue};
use ichnos_model::digest::{ClassDigest, TraceDigest};
use ichnos_model::event::{ClassList, StreamTable};
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::{DataStream, Event};

use super::class_losses::{ClassLoss, ClassLosses, FxtLoss};
use super::clock_base::{base_of, last_tick};
use super::encode::FxtRecordEncoder;
use super::event_encoder::{EventEncoder, EventReferences};
use super::foreign::{self, ForeignBuffers, ForeignClass};
use super::leaves::Leaves;
use super::own::{self, OwnClass};
use super::record_parts::RecordParts;
use super::rules::{FxtRules, record_hash, timed_hash};
use super::stack_writer::StackWriter;
use super::tables::{WrittenTables, append};
use crate::fxt::{BUFFER_FULL, Initialization};
use crate::fxt_reader::class;
use crate::fxt_reader::index::MOST_STREAMS;
use crate::fxt_reader::key::{RecordForm, RecordKind};

/// Maximum length of a provider name in bytes.
const LONGEST_NAME: usize = 255;

/// Maximum number of FXT classes to keep. Each takes up to 5 kB plus its names.
const MOST_OWN_CLASSES: usize = 8192;

/// An event class, with table references for FXT classes.
type WrittenClass = ichnos_io::WrittenClass<(OwnClass, EventReferences), ForeignClass, ClassLoss>;

/// A data stream.
#[derive(Debug)]
struct WrittenStream {
    /// Index of the provider for its events. `None` if there are too many providers.
    provider: Option<usize>,
    classes: ClassList<WrittenClass>,
    /// Time of the last event.
    last: u64,
    /// Offset in ticks, added to clock cycles.
    offset: i128,
    /// Last tick that can be written.
    end: u64,
}

/// A provider, with the records of one data stream. Beyond the provider limit, several data streams share a provider.
#[derive(Debug)]
struct ProviderOutput {
    /// Provider id. `None` for the only data stream of a trace without providers.
    id: Option<u32>,
    clock: Initialization,
    tables: WrittenTables,
    /// Encoded records that were not taken yet.
    records: Vec<u8>,
    has_begun: bool,
}

/// Encodes messages as FXT records.
#[derive(Debug)]
pub(super) struct FxtEncoder {
    rules: Arc<FxtRules>,
    streams: StreamTable<WrittenStream, (), ()>,
    /// Number of FXT classes.
    own_classes: usize,
    providers: Vec<ProviderOutput>,
    ids: HashSet<u32>,
    /// Smallest untried id for a data stream without an id.
    next_id: u32,
    /// Providers with waiting records, in writing order.
    order: Vec<usize>,
    /// Provider of the last record in the file.
    current: Option<usize>,
    has_magic: bool,
    waiting: usize,
    encoder: FxtRecordEncoder,
    events_encoder: EventEncoder,
    leaves: Leaves,
    buffers: ForeignBuffers,
    stacks: StackWriter,
    parts: RecordParts,
    events: u64,
    digest: ClassDigest,
    /// Time of the current event in nanoseconds, on its own clock. `None` if the record time differs.
    nanoseconds: Option<i128>,
}

impl FxtEncoder {
    /// Starts a data stream when it first appears.
    #[inline(always)]
    fn stream(&mut self, stream: &DataStream) {
        if !self.streams.has(stream) {
            self.add_stream(stream);
        }
    }

    #[inline(never)]
    fn add_stream(&mut self, stream: &DataStream) {
        let base = stream.clock().and_then(|clock| base_of(&stream.trace.class, clock));
        // Without a base time, the offset is added to record ticks.
        let offset = if base.is_none() { stream.clock().map_or(0, ClockClass::origin_cycles) } else { 0 };
        let ticks_per_second = stream.clock().map_or(1_000_000_000, |clock| clock.frequency);
        let clock = Initialization { ticks_per_second, base };
        let end = last_tick(&stream.trace.class, &class::clock(String::new(), clock, None));
        let provider = if self.providers.len() < MOST_STREAMS {
            Some(self.add_provider(stream, clock))
        } else {
            // Readers skip providers beyond the limit, so the latest provider with the same clock gets the records.
            let shared = self.providers.iter().rposition(|provider| provider.clock == clock);
            self.record_loss(if shared.is_some() { FxtLoss::JoinedStream } else { FxtLoss::Stream });
            shared
        };
        let written = WrittenStream { provider, classes: ClassList::default(), last: 0, offset, end };
        self.streams.insert(stream, written, || ());
    }

    /// Adds the provider of a data stream. Returns the provider index.
    fn add_provider(&mut self, stream: &DataStream, clock: Initialization) -> usize {
        let wanted = stream.id.and_then(|id| u32::try_from(id).ok());
        let id = if self.rules.is_alone && wanted.is_none() && stream.class().name.is_none() {
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
            if self.rules.shared.repairs
                && let Cow::Owned(valid) = String::from_utf8_lossy(&name)
            {
                name = Cow::Owned(valid.into_bytes());
            }
            let kept = shorten(&name);
            if kept.len() < name.len() {
                self.record_loss(FxtLoss::StreamName);
            }
            append(&mut records, 8 + kept.len().next_multiple_of(8), |writer| writer.provider(id, kept));
        }
        let size = if clock.base.is_some() { 32 } else { 16 };
        append(&mut records, size, |writer| writer.initialization(&clock));
        self.waiting += records.len();
        let number = self.providers.len();
        self.order.push(number);
        let tables = WrittenTables::default();
        self.providers.push(ProviderOutput { id, clock, tables, records, has_begun: false });
        number
    }

    #[inline]
    fn write_event(&mut self, event: &Event<'_>, index: usize) {
        self.stream(event.stream);
        let stream = self.streams.state_mut(event.stream);
        if stream.is_none_or(|stream| stream.classes.get(index).is_none()) {
            self.begin_class(event, index);
        }
        let Self { streams, providers, rules, events_encoder, nanoseconds, .. } = self;
        let Some(stream) = streams.state_mut(event.stream) else { return };
        let WrittenStream { provider, classes, last, offset, end } = stream;
        let Some(number) = *provider else {
            return self.record_loss(FxtLoss::StreamEvent);
        };
        let Some(ProviderOutput { tables, records, .. }) = providers.get_mut(number) else { return };
        let Some(WrittenClass { treatment, losses, .. }) = classes.get_mut(index) else { return };
        let time = event.clock.map(|clock| ticks(clock, event.stream.clock(), (*offset, *end), losses));
        *nanoseconds = time.and_then(|(_, nanoseconds)| nanoseconds);
        let time = time.map(|(ticks, _)| ticks);
        if let (ClassTreatment::Own((own, references)), Some(time)) = (treatment, time)
            && own.is_event()
            && !rules.shared.repairs
        {
            let before = records.len();
            let is_compared = rules.shared.is_compared;
            let class = (&*own, references);
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
        self.other_event(event, time, (index, number));
    }

    /// Starts an event class in a data stream. When there are too many, all FXT classes are dropped and created again
    /// on use.
    #[inline(never)]
    fn begin_class(&mut self, event: &Event<'_>, index: usize) {
        if self.own_classes >= MOST_OWN_CLASSES {
            self.move_losses();
            let is_kept = |class: &WrittenClass| matches!(class.treatment, ClassTreatment::Foreign(_));
            self.streams.states_mut().for_each(|stream| stream.classes.retain(is_kept));
            self.own_classes = 0;
        }
        let Some(stream) = self.streams.state_mut(event.stream) else { return };
        // Without a provider, the events of a data stream are dropped.
        if stream.provider.is_none() {
            return;
        }
        let class = written_class(event, &self.rules);
        self.own_classes += usize::from(matches!(class.treatment, ClassTreatment::Own(_)));
        *stream.classes.place(index) = Some(Box::new(class));
    }

    /// Splits an event into parts and writes them as a record. `index` is the class index, `number` the provider index.
    #[inline(never)]
    fn other_event(&mut self, event: &Event<'_>, time: Option<u64>, (index, number): (usize, usize)) {
        let Self { streams, providers, leaves, buffers, parts, .. } = self;
        let Some(WrittenStream { classes, last, .. }) = streams.state_mut(event.stream) else { return };
        let Some(WrittenClass { treatment, losses, .. }) = classes.get_mut(index) else { return };
        let has_time = match &*treatment {
            ClassTreatment::Own((own, _)) => own.has_time(),
            ClassTreatment::Foreign(_) => true,
        };
        if has_time != time.is_some() {
            losses.add(if has_time { ClassLoss::Time } else { ClassLoss::OwnTime }, 1);
        }
        let time = time.unwrap_or(*last);
        match &*treatment {
            ClassTreatment::Own((own, _)) if own.is_unknown_and_large() => {
                return losses.add(ClassLoss::LargeRecord, 1);
            }
            ClassTreatment::Own((own, _)) => {
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
        if self.rules.shared.repairs {
            parts.repair(losses);
        }
        *last = parts.ticks.unwrap_or(*last);
        let has_stack = matches!(&*treatment, ClassTreatment::Foreign(foreign) if foreign.stack.is_some());
        self.write_parts(event, index, number);
        if has_stack {
            self.stack(event, index, number);
        }
    }

    /// Writes [`Self::parts`] as the record of an event.
    #[inline(always)]
    fn write_parts(&mut self, event: &Event<'_>, index: usize, number: usize) {
        let Self { streams, providers, encoder, parts, .. } = self;
        let (Some(class), Some(provider)) = (class_of(streams, event, index), providers.get_mut(number))
        else {
            return;
        };
        let ProviderOutput { tables, records, .. } = provider;
        let before = records.len();
        // Table strings do not depend on the record, so they stay even if it lacks room.
        if encoder.encode(parts, tables, &mut class.losses, records) {
            self.events += 1;
            if self.rules.shared.is_compared {
                let nanoseconds = self.nanoseconds_of(number, self.parts.ticks);
                self.digest.add(self.parts.ticks, timed_hash(self.parts.hash(), nanoseconds));
            }
        }
        self.add_waiting(number, before);
    }

    /// Writes the call stack of the last event, after the modules in memory.
    #[inline(never)]
    fn stack(&mut self, event: &Event<'_>, index: usize, number: usize) {
        let Some(WrittenClass { treatment: ClassTreatment::Foreign(foreign), losses, .. }) =
            class_of(&mut self.streams, event, index)
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
                self.write_parts(event, index, number);
            }
            begin(&mut self.parts, RecordKind::Mapping, 0);
            // Flags: readable and executable.
            self.parts.words = [module.id.into(), 5, module.begin, module.size, 0, 0];
            self.write_parts(event, index, number);
        }
        begin(&mut self.parts, RecordKind::Backtrace, thread);
        self.parts.data = self.parts.add(&self.stacks.addresses);
        self.write_parts(event, index, number);
    }

    /// Returns the time of the current record in nanoseconds, using the event's clock if the ticks are exact.
    fn nanoseconds_of(&self, number: usize, ticks: Option<u64>) -> Option<i128> {
        let ticks = ticks?;
        let of_ticks = || {
            let provider = self.providers.get(number)?;
            Some(class::clock(String::new(), provider.clock, None).nanoseconds(ticks))
        };
        self.nanoseconds.or_else(of_ticks)
    }

    /// Counts the bytes that a provider gained since it had `before` bytes.
    #[inline(always)]
    fn add_waiting(&mut self, number: usize, before: usize) {
        let Some(provider) = self.providers.get(number) else { return };
        let added = provider.records.len() - before;
        self.waiting += added;
        if before == 0 && added > 0 {
            self.order.push(number);
        }
    }

    fn record_loss(&self, loss: FxtLoss) {
        self.rules.shared.record_loss(loss);
    }

    /// Moves the class losses to the table.
    fn move_losses(&mut self) {
        for class in self.streams.states_mut().flat_map(|stream| stream.classes.values_mut()) {
            let WrittenClass { name, treatment, losses } = class;
            self.rules.shared.with_losses(|table| match &*treatment {
                ClassTreatment::Own(_) => losses.move_to(name, table),
                ClassTreatment::Foreign(foreign) => {
                    losses.move_with_fields(name, table, |row| foreign.field_of(row));
                }
            });
        }
    }
}

/// Returns the class at an index.
#[inline(always)]
fn class_of<'c>(
    streams: &'c mut StreamTable<WrittenStream, (), ()>,
    event: &Event<'_>,
    index: usize,
) -> Option<&'c mut WrittenClass> {
    streams.state_mut(event.stream)?.classes.get_mut(index)
}

/// Returns the event time in ticks, limited to `end`, and in nanoseconds if the ticks are exact.
fn ticks(
    time: &ClockValue,
    clock: Option<&ClockClass>,
    (offset, end): (i128, u64),
    losses: &mut ClassLosses,
) -> (u64, Option<i128>) {
    let nanoseconds = clock.map(|clock| clock.nanoseconds(time.cycles));
    let ticks = i128::from(time.cycles) + offset;
    let exact = u64::try_from(ticks).ok().filter(|ticks| *ticks <= end);
    // Readers use the first and the last value for times outside the clock range.
    let is_other = matches!(time.cycles, 0 | u64::MAX) && nanoseconds != Some(time.nanoseconds);
    losses.add(ClassLoss::Range, u64::from(exact.is_none() || is_other));
    match exact {
        Some(ticks) => (ticks, nanoseconds),
        None => (if ticks < 0 { 0 } else { end }, None),
    }
}

fn written_class(event: &Event<'_>, rules: &FxtRules) -> WrittenClass {
    let own = OwnClass::from_class(event.class).map(|own| (own, EventReferences::default()));
    WrittenClass::new(event, own, || rules.shared.with_losses(|table| ForeignClass::new(event, table)))
}

/// Returns the provider name for a data stream.
fn name_of_provider(stream: &DataStream) -> Cow<'_, [u8]> {
    class::provider_name(stream.class()).unwrap_or_else(|| {
        let name = stream.name.rsplit('/').next().unwrap_or_default();
        Cow::Borrowed(name.as_bytes())
    })
}

/// Returns the longest prefix that fits into a record, in whole characters.
fn shorten(name: &[u8]) -> &[u8] {
    let most = std::str::from_utf8(name).map_or(LONGEST_NAME, |text| text.floor_char_boundary(LONGEST_NAME));
    name.get(..most).unwrap_or(name)
}

impl MessageEncoder for FxtEncoder {
    type Rules = FxtRules;

    fn shared(rules: &FxtRules) -> &EncoderRules {
        &rules.shared
    }

    fn new(rules: Arc<FxtRules>) -> Self {
        Self {
            rules,
            streams: StreamTable::default(),
            own_classes: 0,
            providers: Vec::new(),
            ids: HashSet::new(),
            next_id: 1,
            order: Vec::new(),
            current: None,
            has_magic: false,
            waiting: 0,
            encoder: FxtRecordEncoder::default(),
            events_encoder: EventEncoder::new(),
            leaves: Leaves::default(),
            buffers: ForeignBuffers::default(),
            stacks: StackWriter::default(),
            parts: RecordParts::new(),
            events: 0,
            digest: ClassDigest::default(),
            nanoseconds: None,
        }
    }

    fn begin_stream(&mut self, stream: &DataStream) {
        self.stream(stream);
    }

    fn event(&mut self, event: &Event<'_>, index: usize) -> io::Result<()> {
        self.write_event(event, index);
        Ok(())
    }

    /// Writes a provider event for a full buffer.
    fn discarded(&mut self, discarded: &Discarded<'_>, shared: &EncoderRules) -> io::Result<()> {
        self.stream(discarded.stream);
        let number = self.streams.state_mut(discarded.stream).and_then(|stream| stream.provider);
        let provider = number.and_then(|number| self.providers.get_mut(number));
        let (Some(number), Some(ProviderOutput { id: Some(id), records, .. })) = (number, provider) else {
            shared.record_loss(FxtLoss::Discarded);
            return Ok(());
        };
        let before = records.len();
        append(records, 8, |writer| writer.provider_event(*id, BUFFER_FULL));
        self.add_waiting(number, before);
        if discarded.count.is_some() {
            shared.record_loss(FxtLoss::DiscardedCount);
        }
        if discarded.thread.is_some() {
            shared.record_loss(FxtLoss::DiscardedThread);
        }
        Ok(())
    }

    fn drops_damaged(&mut self, damage: &Damage, _: &EncoderRules) -> bool {
        // Records that break non-fatal rules are written.
        damage.kind.rule().is_none_or(|rule| rule.fatal)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.move_losses();
        Ok(())
    }

    fn ready(&self) -> usize {
        self.waiting
    }

    fn has_rest(&self) -> bool {
        self.waiting > 0 || !self.has_magic
    }

    /// Takes all waiting records, each after its provider section.
    fn take_bytes(&mut self) -> (Vec<u8>, u64) {
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
        (bytes, std::mem::take(&mut self.events))
    }

    fn take_digest(&mut self) -> TraceDigest {
        TraceDigest::from_hashed(record_hash, std::mem::take(&mut self.digest))
    }
}
