//! Reads the events of a file sorted by time.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::class::{DynamicClass, Uuid};
use ichnos_model::clock::{ClockClass, ClockValue};
use ichnos_model::cursor::{Checkpoint, Head, MessageKind};
use ichnos_model::decode::{PacketBits, Position};
use ichnos_model::event::{EventCounts, Packet, Scopes};
use ichnos_model::field::{FieldValue, Skip};
use ichnos_model::message::DataPosition;
use ichnos_model::plan::EventRecordPlans;
use ichnos_model::source::{NextRecord, QueuedMessage, Record, StreamLoss};
use ichnos_model::{DataStream, Event, Scope, Source, Window};

use super::class::{PayloadForm, raw_class};
use super::context::{ContextMembers, push_labels, push_optional};
use super::overrides::Overrides;
use super::payload::{self, PayloadWidths, bytes_behind};
use super::pending::{GAP, PendingEvent};
use super::row_reader::{REPORTED, RowReader, UNKNOWN_THREAD};
use super::symbols::ArrivingSymbols;
use super::tables::{ListLabels, StackLookup, address_space, intern_stack};
use super::trace_file::FileState;
use crate::{Fault, Rule, Version};

/// Class index for events that do not match their own class, or lack a class.
const RAW: usize = usize::MAX;

/// Reads a file.
pub(super) struct EventSource {
    pub(super) rows: RowReader,
    /// Classes with an event that was longer than its fields.
    longer: HashSet<usize>,
    /// Number of events after a later event.
    pub(super) late: u64,
    entry: PendingEvent,
    clock: ClockValue,
    has_time: bool,
    /// Class index of the current event. [`RAW`] stands for `raw`.
    class: usize,
    raw: Option<Arc<DynamicClass>>,
    /// Classes by event kind, in a stream that is still arriving. Files declare their classes.
    pub(super) found: Vec<Option<Arc<DynamicClass>>>,
    /// Names of code addresses, in a stream that is still arriving.
    pub(super) symbols: Option<ArrivingSymbols>,
    context: ContextMembers,
    frames: Vec<u64>,
    /// File range of the current or last segment, if segments are delivered as packets.
    segment: Range<u64>,
    is_in_segment: bool,
}

impl EventSource {
    /// Creates a source at the start of the file, or at the block of a sequence point.
    pub(super) fn new(file: &Arc<FileState>, stream: &DataStream, window: Window, from: Option<u64>) -> Self {
        Self {
            rows: RowReader::new(file, ticks_of(window, stream.clock()), from),
            longer: HashSet::new(),
            late: 0,
            entry: PendingEvent::default(),
            clock: ClockValue { nanoseconds: 0, cycles: 0 },
            has_time: false,
            class: 0,
            raw: None,
            found: Vec::new(),
            symbols: None,
            context: ContextMembers::default(),
            frames: Vec::new(),
            segment: 0..0,
            is_in_segment: false,
        }
    }

    /// Delivers segments, which end at sequence points, as packets.
    pub(super) fn with_segments(mut self) -> Self {
        self.rows.pauses = true;
        self
    }

    /// Queues the end of a segment, or else the start of the next segment. Returns `false` within a segment and at the
    /// end of the file.
    fn pass_segment(&mut self, record: &mut Record) -> bool {
        if !self.rows.is_between {
            return false;
        }
        if self.end_segment(record) {
            return true;
        }
        let Some(segment) = self.rows.take_segment() else { return false };
        (self.segment, self.is_in_segment) = (segment, true);
        record.messages.push(QueuedMessage::PacketBegin, record.time);
        true
    }

    /// Queues the end of the open segment, if there is one.
    fn end_segment(&mut self, record: &mut Record) -> bool {
        let is_open = std::mem::take(&mut self.is_in_segment);
        if is_open {
            record.messages.push(QueuedMessage::PacketEnd, record.time);
        }
        is_open
    }

    #[inline(always)]
    fn set_time(&mut self, ticks: u64, stream: &DataStream) {
        self.clock = self.clock_value(ticks, stream.clock());
        self.has_time = true;
        if ticks < self.rows.latest {
            self.record_early(ticks);
        } else {
            self.rows.latest = ticks;
        }
    }

    #[cold]
    fn record_early(&mut self, ticks: u64) {
        self.late += u64::from(self.entry.class != GAP);
        // Only its events know the position of a gap.
        if self.rows.faults.check && !self.rows.is_unsorted && self.entry.class != GAP {
            let latest = self.rows.latest;
            self.rows.faults.record(Rule::EventOrder, self.entry.payload, || {
                format!("expected a time of {latest} or later, found {ticks}")
            });
        }
    }

    #[inline(always)]
    fn clock_value(&self, cycles: u64, clock: Option<&ClockClass>) -> ClockValue {
        ClockValue { nanoseconds: nanoseconds(self.rows.file.nanoseconds, clock, cycles), cycles }
    }

    /// Skips up to `most` events without faults, while `take` accepts them. Returns their number.
    #[inline(always)]
    fn skip_plain_events(
        &mut self,
        record: &Record,
        most: u32,
        mut take: impl FnMut(&PendingEvent) -> bool,
    ) -> u32 {
        if self.rows.faults.check || !self.found.is_empty() {
            // Each event may break a rule, or have a class that is counted under another number.
            return 0;
        }
        let are_stacks_rows = self.rows.file.index.version != Version::V3;
        let are_threads_indexes = self.are_threads_indexes();
        let mut skipped = 0;
        let mut latest = self.rows.latest;
        while skipped < most
            && let Some(entry) = self.rows.pending.peek()
        {
            // An event with a fault is a message.
            let is_wanted = entry.timestamp >= self.rows.wanted.0
                && entry.timestamp <= self.rows.wanted.1
                && (entry.stack == 0 || !are_stacks_rows || self.rows.stacks.has(entry.stack))
                && (entry.labels == 0 || self.rows.labels.get(entry.labels).is_some())
                && (entry.thread & UNKNOWN_THREAD == 0 || !are_threads_indexes);
            let form = self.rows.file.forms.get(entry.class as usize);
            let plans = record.stream.plans().event_records.get(entry.class as usize);
            let (Some(form), Some(plans), true) = (form, plans, is_wanted) else { break };
            // The payload may be too short for the class.
            let length = 8 * u64::from(entry.length);
            let fits = match (form, &plans.payload) {
                (PayloadForm::Bits, Some(plan)) => match plan.fixed_size() {
                    Some(size) => size <= length,
                    None => {
                        let payload = payload_of(&self.rows.file, entry);
                        plan.end(payload, 0, &record.slots).is_some_and(|end| end <= length)
                    }
                },
                (PayloadForm::Raw, _) => length == 0,
                _ => false,
            };
            if !fits || !take(entry) {
                break;
            }
            latest = latest.max(entry.timestamp);
            self.entry = *entry;
            self.rows.pending.skip();
            skipped += 1;
        }
        if skipped > 0 {
            self.rows.latest = latest;
            self.clock = self.clock_value(self.entry.timestamp, record.stream.clock());
            self.has_time = true;
        }
        skipped
    }

    /// Queues the loss for the current entry, which is a gap.
    fn push_gap(&self, record: &mut Record) {
        let entry = self.entry;
        record.time = Some(self.clock.nanoseconds);
        record.push_discarded_events(StreamLoss {
            count: (entry.length > 0).then_some(entry.length.into()),
            thread: Some(entry.capture_thread),
            begin: (entry.payload != 0).then(|| self.clock_value(entry.payload, record.stream.clock())),
            end: Some(self.clock),
        });
    }

    /// Determines the class of the current event, and writes its value fields.
    #[inline(always)]
    fn make_event(&mut self, record: &mut Record) {
        if self.are_threads_indexes() {
            self.check_references();
        }
        self.add_symbols();
        let stack = if self.entry.stack == 0 { None } else { self.stack(&record.stream) };
        self.write_context(stack, record);
        let index = self.entry.class as usize;
        let Self { rows: RowReader { file, .. }, entry, found, .. } = self;
        let Record { stream, values, slots, .. } = record;
        let payload = payload_of(file, entry);
        let mut is_longer = false;
        let fits = match (file.forms.get(index), plans_of(found, stream, index)) {
            (Some(PayloadForm::Bits), Some(plans)) => match &plans.payload {
                Some(plan) => plan.fixed_size().or_else(|| plan.end(payload, 0, slots)).is_some_and(|end| {
                    let size = 8 * payload.len() as u64;
                    is_longer = end < size;
                    end <= size
                }),
                None => {
                    is_longer = !payload.is_empty();
                    true
                }
            },
            (Some(PayloadForm::Values(fields)), Some(_)) => {
                match payload::read(payload, fields, PayloadWidths::from_index(&file.index), values) {
                    Some(rest) => {
                        is_longer = rest > 0;
                        true
                    }
                    None => false,
                }
            }
            (Some(PayloadForm::Raw), Some(_)) => {
                values.begin(Scope::Payload);
                push_optional(values, raw_payload(&[]));
                payload.is_empty()
            }
            _ => false,
        };
        if fits {
            self.class = index;
            if is_longer {
                self.record_rest(index, record);
            }
        } else {
            self.make_misfit(stack, record);
        }
    }

    /// Adds the names of code addresses in the current event, in a stream that is still arriving.
    #[inline(always)]
    fn add_symbols(&mut self) {
        let class = self.entry.class;
        let Some(symbols) = self.symbols.as_ref().filter(|symbols| symbols.has_names(class)) else { return };
        let process = match self.rows.file.index.version {
            Version::V6(_) => self.rows.threads.get(self.entry.thread).and_then(|row| row.process_id),
            _ => None,
        };
        let payload = payload_of(&self.rows.file, &self.entry);
        symbols.add(class, address_space(process), self.entry.timestamp, payload);
    }

    /// Reports payload bytes after the fields of the current event, once per class.
    #[cold]
    fn record_rest(&mut self, index: usize, record: &Record) {
        if self.longer.contains(&index) {
            return;
        }
        let payload = payload_of(&self.rows.file, &self.entry);
        let plans = plans_of(&self.found, &record.stream, index);
        let (Some(form), Some(plans)) = (self.rows.file.forms.get(index), plans) else { return };
        let layout = plans.payload.as_ref().map(|plan| (plan, &*record.slots, record.limits));
        let rest = bytes_behind(payload, form, layout, PayloadWidths::from_index(&self.rows.file.index));
        if rest == 0 || !self.longer.insert(index) || self.longer.len() > self.most_longer() {
            return;
        }
        let offset = self.entry.payload + (payload.len() - rest) as u64;
        let class = Arc::clone(&plans.class);
        // All classes of this format have names.
        let name = class.name.as_deref().unwrap_or_default();
        let statement = format!("{rest} more bytes than the fields of `{name}`: they are not shown");
        self.rows.faults.waiting.push_back(Fault::new(Rule::Payload, offset, statement));
    }

    /// Returns the maximum number of classes with such reports.
    fn most_longer(&self) -> usize {
        if self.rows.faults.check { REPORTED as usize } else { 10 }
    }

    /// Variant of [`make_event`](Self::make_event) for a payload that seems not to match its class.
    #[cold]
    fn make_misfit(&mut self, stack: Option<u32>, record: &mut Record) {
        let file = Arc::clone(&self.rows.file);
        let index = self.entry.class as usize;
        if matches!(file.forms.get(index), Some(PayloadForm::Bits))
            && let Some(plans) = plans_of(&self.found, &record.stream, index)
            && fits_slowly(plans, payload_of(&file, &self.entry), record)
        {
            self.class = index;
            self.record_rest(index, record);
        } else {
            self.make_raw(&file, stack, record);
        }
    }

    /// Makes the payload of the current event a single field, because it does not match its class or lacks a class.
    #[cold]
    fn make_raw(&mut self, file: &FileState, stack: Option<u32>, record: &mut Record) {
        let entry = self.entry;
        let declared = plans_of(&self.found, &record.stream, entry.class as usize);
        let declared = declared.map(|plans| Arc::clone(&plans.class));
        let is_v6 = matches!(file.index.version, Version::V6(_));
        let class = record.stream.trace.dynamic_classes(record.stream.class_index).and_then(|dynamic| {
            let key = entry.class.to_le_bytes();
            dynamic.last(&key, || raw_class(declared.as_deref(), entry.class, is_v6)).ok().flatten()
        });
        match &declared {
            // The provider could not describe the event. This is not damage.
            Some(_) if matches!(file.forms.get(entry.class as usize), Some(PayloadForm::Raw)) => {}
            Some(class) => self.rows.faults.record(Rule::Payload, entry.payload, || {
                let name = class.name.as_deref().unwrap_or_default();
                format!("the payload of {} bytes does not fit the fields of `{name}`", entry.length)
            }),
            None => self.rows.faults.record(Rule::MetadataId, entry.payload, || {
                "expected metadata before the event, found none".to_owned()
            }),
        }
        let Some(class) = class else { return };
        record.reserve_slots(class.slots);
        self.raw = Some(class);
        self.class = RAW;
        self.context = ContextMembers::default();
        self.write_context(stack, record);
        record.values.begin(Scope::Payload);
        push_optional(&mut record.values, raw_payload(payload_of(file, &entry)));
        self.context = ContextMembers::default();
    }

    /// Writes the common context of the current event with this stack. See `class::common_context`.
    #[inline(always)]
    fn write_context(&mut self, stack: Option<u32>, record: &mut Record) {
        if matches!(self.rows.file.index.version, Version::V6(_)) {
            return self.write_context_v6(stack, record);
        }
        let is_bits = matches!(self.rows.file.forms.get(self.entry.class as usize), Some(PayloadForm::Bits));
        self.context.write(&mut record.values, &self.rows.file, &self.entry, stack);
        if !is_bits {
            // The payload follows, and differs in the next event.
            self.context = ContextMembers::default();
        }
    }

    fn are_threads_indexes(&self) -> bool {
        matches!(self.rows.file.index.version, Version::V6(_))
    }

    /// Records references from the current event to missing threads and labels (version 6).
    fn check_references(&mut self) {
        let entry = self.entry;
        if entry.thread & UNKNOWN_THREAD != 0 {
            let index = entry.thread & !UNKNOWN_THREAD;
            let is_full = self.rows.threads.is_full();
            self.rows.faults.record(Rule::ThreadIndex, entry.payload, || match is_full {
                true => format!("too many threads: the thread with index {index} is unknown"),
                false => format!("expected the index of a thread, found the unknown index {index}"),
            });
        }
        if entry.labels != 0 && self.rows.labels.get(entry.labels).is_none() {
            let (list, is_full) = (entry.labels, self.rows.labels.is_full());
            self.rows.faults.record(Rule::LabelListId, entry.payload, || match is_full {
                true => format!("too many label lists: list {list} is unknown"),
                false => {
                    format!("expected the index of a label list, found the unknown index {list}")
                }
            });
        }
    }

    #[inline(never)]
    fn write_context_v6(&self, stack: Option<u32>, record: &mut Record) {
        static NONE: ListLabels = ListLabels {
            activity: None,
            related_activity: None,
            trace_id: None,
            span_id: None,
            overrides: Overrides::NONE,
            texts: Vec::new(),
            numbers: Vec::new(),
        };
        let entry = self.entry;
        let id = |place: u64| match self.rows.threads.get(place) {
            Some(row) => row.thread_id.unwrap_or(row.index),
            None => place & !UNKNOWN_THREAD,
        };
        let thread = self.rows.threads.get(entry.thread);
        let process = thread.and_then(|thread| thread.process_id);
        let file = &self.rows.file;
        let process_name = process.and_then(|process| {
            file.process_names(&record.stream.trace).get(process, entry.timestamp, &file.bytes)
        });
        let labels = self.rows.labels.get(entry.labels).unwrap_or(&NONE);
        let (own, capture) = (id(entry.thread), id(entry.capture_thread));
        let values = &mut record.values;
        values.clear();
        values.begin(Scope::CommonContext);
        values.push(own);
        push_optional(values, (entry.capture_thread != entry.thread).then_some(capture));
        push_optional(values, (entry.processor != u32::MAX).then_some(entry.processor));
        push_optional(values, stack);
        push_optional(values, labels.activity.map(|id| FieldValue::Guid(Uuid::from_bytes_le(id))));
        push_optional(values, labels.related_activity.map(|id| FieldValue::Guid(Uuid::from_bytes_le(id))));
        push_optional(values, process);
        push_optional(values, process_name.map(FieldValue::Text));
        let name = thread.and_then(|thread| thread.name.as_deref());
        push_optional(values, name.map(|name| FieldValue::Text(name.as_bytes())));
        push_optional(values, labels.trace_id.as_deref().map(|id| FieldValue::Text(id.as_bytes())));
        push_optional(values, labels.span_id);
        let texts = labels.texts.iter();
        push_labels(values, texts.map(|(name, value)| (&**name, FieldValue::Text(value.as_bytes()))));
        let numbers = labels.numbers.iter();
        push_labels(values, numbers.map(|(name, value)| (&**name, FieldValue::Signed(*value))));
        let capture = self.rows.threads.get(entry.capture_thread);
        let capture = capture.filter(|_| entry.capture_thread != entry.thread);
        push_optional(values, capture.and_then(|thread| thread.process_id));
    }

    /// Returns the stack number of the current event.
    #[inline(always)]
    fn stack(&mut self, stream: &DataStream) -> Option<u32> {
        let Self { rows, entry, frames, found, .. } = self;
        let RowReader { file, stacks, threads, .. } = rows;
        let trace = &stream.trace;
        file.intern_stacks(trace);
        let pointer_size = file.index.trace.pointer_size;
        if !found.is_empty() && !matches!(file.index.version, Version::V6(_)) {
            // In the order of the blocks.
            stacks.intern_all(&file.bytes, pointer_size, trace);
        }
        if file.index.version == Version::V3 {
            // The stack follows after the payload and the stack size.
            let begin = (entry.payload + u64::from(entry.length)) as usize + 4;
            let stack = file.bytes.get(begin..begin + entry.stack as usize)?;
            return intern_stack(stack, pointer_size, trace, frames);
        }
        let found = match file.index.version {
            Version::V6(_) => {
                let space = address_space(threads.get(entry.thread).and_then(|row| row.process_id));
                stacks.get_in_space(entry.stack, space, &file.bytes, pointer_size, trace)
            }
            _ => stacks.get(entry.stack, &file.bytes, pointer_size, trace),
        };
        match found {
            StackLookup::Number(number) => Some(number),
            StackLookup::Empty => None,
            StackLookup::Unknown | StackLookup::TooMany => {
                self.record_missing_stack(found);
                None
            }
        }
    }

    #[cold]
    fn record_missing_stack(&mut self, found: StackLookup) {
        let id = self.entry.stack;
        self.rows.faults.record(Rule::StackId, self.entry.payload, || match found {
            StackLookup::TooMany => format!("too many stacks: stack {id} is unknown"),
            _ => format!("expected the id of a stack, found the unknown id {id}"),
        });
    }
}

/// Returns `true` if a payload matches a class. Checks field by field.
fn fits_slowly(plans: &EventRecordPlans, payload: &[u8], record: &Record) -> bool {
    let begins = [Position::default(); 6];
    let scopes = Scopes::new(PacketBits::whole(payload), &begins, &record.slots, &record.limits);
    Event::new(&record.stream, plans, None, scopes).visit(Scope::Payload, &mut Skip).is_ok()
}

/// Returns the plans of an event kind's class, which is declared or found while reading.
#[inline(always)]
fn plans_of<'p>(
    found: &'p [Option<Arc<DynamicClass>>],
    stream: &'p DataStream,
    kind: usize,
) -> Option<&'p EventRecordPlans> {
    match stream.plans().event_records.get(kind) {
        None if !found.is_empty() => found.get(kind)?.as_ref().map(|class| &class.plans),
        declared => declared,
    }
}

/// Returns the value of an undescribed payload.
fn raw_payload(payload: &[u8]) -> Option<FieldValue<'_>> {
    (!payload.is_empty()).then_some(FieldValue::Blob(payload))
}

#[inline(always)]
fn payload_of<'f>(file: &'f FileState, entry: &PendingEvent) -> &'f [u8] {
    let begin = entry.payload as usize;
    // The row was read completely, so the range is valid.
    file.bytes.get(begin..begin + entry.length as usize).unwrap_or_default()
}

/// Returns the first and the last clock cycle in a time window.
pub(crate) fn ticks_of(window: Window, clock: Option<&ClockClass>) -> (u64, u64) {
    let ticks = |time: Option<i128>, default: u64, up: bool| match (time, clock) {
        (Some(time), Some(clock)) => ticks_at(clock, time, up),
        _ => default,
    };
    (ticks(window.begin, 0, true), ticks(window.end, u64::MAX, false))
}

/// Returns the clock cycle at a time, rounded up or down.
fn ticks_at(clock: &ClockClass, time: i128, up: bool) -> u64 {
    // Times increase with cycles.
    let (mut low, mut high) = (0u64, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        let is_before = if up { clock.nanoseconds(middle) < time } else { clock.nanoseconds(middle) <= time };
        if is_before { low = middle + 1 } else { high = middle }
    }
    if up { low } else { low.saturating_sub(1) }
}

/// Converts ticks to nanoseconds. `offset` is the time at zero of a clock with 1 GHz, the most frequent case.
#[inline(always)]
fn nanoseconds(offset: Option<i128>, clock: Option<&ClockClass>, ticks: u64) -> i128 {
    match offset {
        Some(offset) => offset + i128::from(ticks),
        None => clock.map_or(0, |clock| clock.nanoseconds(ticks)),
    }
}

impl Source for EventSource {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        loop {
            while let Some(entry) = self.rows.pending.next() {
                if entry.timestamp < self.rows.wanted.0 || entry.timestamp > self.rows.wanted.1 {
                    continue;
                }
                self.entry = entry;
                self.set_time(entry.timestamp, &record.stream);
                if entry.class == GAP {
                    self.push_gap(record);
                    return NextRecord::Messages;
                }
                self.make_event(record);
                return NextRecord::Event;
            }
            record.time = self.has_time.then_some(self.clock.nanoseconds);
            if let Some(fault) = self.rows.faults.waiting.pop_front() {
                let offset = fault.offset.saturating_add(self.rows.file.removed);
                return NextRecord::Damage(Fault { offset, ..fault }.damage(&self.rows.file.name));
            }
            if self.rows.pauses && self.pass_segment(record) {
                return NextRecord::Messages;
            }
            if !self.rows.fill() && !self.rows.has_more() {
                if self.rows.is_waiting() {
                    return NextRecord::Pending;
                }
                return if self.end_segment(record) { NextRecord::Messages } else { NextRecord::End };
            }
        }
    }

    #[inline(always)]
    fn checks_events(&self) -> bool {
        true
    }

    #[inline(always)]
    fn event<'e>(&'e self, record: &'e Record) -> Option<Event<'e>> {
        let plans = match self.class {
            RAW => &self.raw.as_ref()?.plans,
            index => plans_of(&self.found, &record.stream, index)?,
        };
        let payload = PacketBits::whole(payload_of(&self.rows.file, &self.entry));
        let scopes = record.scopes(payload).with_values(&record.values);
        Some(Event::new(&record.stream, plans, Some(&self.clock), scopes))
    }

    #[inline(always)]
    fn event_head(&self, record: &Record) -> Head {
        let time = self.has_time.then_some(self.clock.nanoseconds);
        let raw = || self.raw.as_ref()?.plans.index();
        let found = || plans_of(&self.found, &record.stream, self.class)?.index();
        match self.class {
            RAW => raw(),
            class if self.found.is_empty() => Some(class),
            _ => found(),
        }
        .map_or_else(|| Head::new(MessageKind::Event, time), |index| Head::event(index, time))
    }

    fn skip_events(&mut self, record: &mut Record, most: u32, counts: &mut EventCounts) -> u32 {
        let mut times: Option<(u64, u64)> = None;
        let skipped = self.skip_plain_events(record, most, |entry| {
            counts.add_class(Some(entry.class as usize));
            let (first, last) = times.unwrap_or((entry.timestamp, entry.timestamp));
            times = Some((first.min(entry.timestamp), last.max(entry.timestamp)));
            true
        });
        if let Some((first, last)) = times {
            let clock = record.stream.clock();
            counts.add_time(self.clock_value(first, clock).nanoseconds);
            counts.add_time(self.clock_value(last, clock).nanoseconds);
        }
        skipped
    }

    fn skip_times(&mut self, record: &mut Record, most: u32, times: &mut Vec<i64>) {
        let stream = Arc::clone(&record.stream);
        let offset = self.rows.file.nanoseconds;
        self.skip_plain_events(record, most, |entry| {
            let time = i64::try_from(nanoseconds(offset, stream.clock(), entry.timestamp)).ok();
            times.extend(time);
            time.is_some()
        });
    }

    fn packet<'p>(&'p self, record: &'p Record) -> Option<Packet<'p>> {
        let range = self.segment.start as usize..self.segment.end as usize;
        let bytes = self.rows.file.bytes.get(range)?;
        let bits = 8 * bytes.len() as u64;
        Some(Packet::new(&record.stream, bits, bits, record.scopes(PacketBits::whole(bytes))))
    }

    fn skip_packet(&mut self, record: &mut Record) -> bool {
        if !self.is_in_segment {
            return false;
        }
        self.rows.skip_segment(self.segment.end);
        self.end_segment(record)
    }

    fn suspend(&mut self) {
        self.rows.pending.suspend();
    }

    fn checkpoint(&self, _: &Record, at: Option<MessageKind>) -> Option<Checkpoint> {
        if at != Some(MessageKind::Event) {
            return None;
        }
        // Already reported faults are not reported again.
        let reported = self.rows.faults.reported.iter();
        let reported = reported.fold(0u64, |sum, count| sum.wrapping_mul(31).wrapping_add(*count));
        let longer = self.longer.iter().map(|class| (*class as u64 + 1).wrapping_mul(0x9e37_79b9));
        let reported = longer.fold(reported, u64::wrapping_add);
        let PendingEvent { payload, timestamp, .. } = self.entry;
        Some(Checkpoint::At([payload, timestamp, self.rows.capture.fingerprint(), reported]))
    }

    fn position(&self) -> Option<DataPosition> {
        // Headers are delta-encoded, so only the payload is independent.
        Some(DataPosition::at_byte(&*self.rows.file.name, self.rows.file.removed + self.entry.payload))
    }
}
