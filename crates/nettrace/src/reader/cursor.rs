//! Reads the events of a file in the order of time.

mod fill;

use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use ichnos_model::decode::{DecodeLimits, PacketBits, Position, UNKNOWN};
use ichnos_model::{
    Checkpoint, ClockValue, Cursor, Damage, DataStream, Discarded, DynamicClass, Event, EventCounts,
    EventValues, FastCursor, FieldValue, Head, Message, MessageKind, Scope, Scopes, Skip, Uuid, Window,
};

use super::capture::CaptureThreads;
use super::class::{PayloadForm, raw_class};
use super::context::{ContextShape, push_optional};
use super::kinds::Kinds;
use super::overrides::Overrides;
use super::payload::{self, PayloadWidths, bytes_behind};
use super::pending::{EventSorter, GAP, PendingEvent};
use super::tables::{LabelTable, ListLabels, Stack, StackBlocks, ThreadTable, address_space};
use super::trace_file::TraceFile;
use crate::{Block, Container, EventRows, Fault, PointHead, Rule, Version};

/// Current message.
#[derive(Debug)]
enum Current {
    Before,
    StreamBegin,
    Event,
    Discarded(Option<u64>, Option<ClockValue>),
    Damage(Damage),
    StreamEnd,
    After,
}

/// Stands for the class of an event that does not match its own class, or has none.
const RAW: usize = usize::MAX;

/// Event block being read.
#[derive(Debug)]
struct OpenEventBlock {
    rows: EventRows,
    times: (u64, u64),
    is_whole: bool,
}

/// Reads a file.
pub(super) struct EventCursor {
    file: Arc<TraceFile>,
    stream: Arc<DataStream>,
    container: Container,
    open: Option<OpenEventBlock>,
    /// A sequence point that was read, and is passed after all events before it.
    barrier: Option<(PointHead, Block)>,
    is_file_read: bool,
    /// Kind of event by metadata id.
    kinds: Kinds,
    threads: ThreadTable,
    labels: LabelTable,
    stacks: StackBlocks,
    capture: CaptureThreads,
    pending: EventSorter,
    is_unsorted: bool,
    check: bool,
    /// Faults to report after the ready events.
    faults: VecDeque<Fault>,
    /// Number of reported faults in single events, by rule.
    reported: [u64; Rule::ALL.len()],
    /// Classes with an event that was longer than its fields.
    longer: HashSet<usize>,
    /// Time window in ticks.
    wanted: (u64, u64),
    /// Offset of the last sequence point before the time window: events before it need not be counted.
    counted_from: u64,
    /// Offset of the sequence point at which reading begins; `None` for the beginning of the file.
    begun_at: Option<u64>,
    entry: PendingEvent,
    clock: ClockValue,
    has_time: bool,
    /// Latest time delivered, in ticks.
    latest: u64,
    events: u64,
    current: Current,
    /// Index of the current event's class; [`RAW`] for `raw`.
    class: usize,
    raw: Option<Arc<DynamicClass>>,
    context: ContextShape,
    values: EventValues,
    begins: [Position; 6],
    slots: Vec<Cell<i128>>,
    limits: DecodeLimits,
    frames: Vec<u64>,
}

/// Bit that marks a thread missing from the table (version 6): the other bits are its index.
const UNKNOWN_THREAD: u64 = 1 << 63;

/// Maximum number of reported faults in single events for each rule if all rules are checked; otherwise one.
const REPORTED: u64 = 1_000;

impl EventCursor {
    /// Creates a cursor at the beginning of the file, or at the block of a sequence point.
    pub(super) fn new(
        file: &Arc<TraceFile>,
        stream: &Arc<DataStream>,
        window: Window,
        from: Option<u64>,
    ) -> Self {
        let clock = stream.clock();
        let ticks = |time: Option<i128>, default: u64, up: bool| match (time, clock) {
            (Some(time), Some(clock)) => ticks_at(clock, time, up),
            _ => default,
        };
        let mut container = file.container.clone();
        if let Some(from) = from {
            container.seek(from);
        }
        let wanted = (ticks(window.begin, 0, true), ticks(window.end, u64::MAX, false));
        let barriers = &file.index.barriers;
        let before = barriers.get(..barriers.partition_point(|barrier| barrier.timestamp < wanted.0));
        let counted_from = before.and_then(<[_]>::last).map_or(0, |barrier| barrier.offset);
        let mut cursor = Self {
            container,
            open: None,
            barrier: None,
            is_file_read: false,
            kinds: Kinds::default(),
            threads: ThreadTable::default(),
            labels: LabelTable::default(),
            stacks: StackBlocks::default(),
            capture: CaptureThreads::new(from.is_none()),
            pending: EventSorter::default(),
            is_unsorted: file.options.unsorted || file.index.version == Version::V3,
            check: file.options.check,
            faults: VecDeque::new(),
            reported: [0; Rule::ALL.len()],
            longer: HashSet::new(),
            wanted,
            counted_from,
            begun_at: from,
            entry: PendingEvent::default(),
            clock: ClockValue { nanoseconds: 0, cycles: 0 },
            has_time: false,
            latest: 0,
            events: 0,
            current: Current::Before,
            class: 0,
            raw: None,
            context: ContextShape::default(),
            values: EventValues::default(),
            begins: [Position::default(); 6],
            slots: vec![Cell::new(UNKNOWN); stream.trace.plans.slots()],
            limits: (&file.options.limits).into(),
            frames: Vec::new(),
            file: Arc::clone(file),
            stream: Arc::clone(stream),
        };
        if let Some(from) = from {
            cursor.prepare(from);
        }
        cursor
    }

    /// Returns the number of missing events, without reading payloads.
    pub(super) fn count_lost(mut self) -> u64 {
        let mut lost = 0u64;
        while self.fill() || self.pending.has_ready() || !self.faults.is_empty() {
            self.faults.clear();
            let gaps = std::iter::from_fn(|| self.pending.next()).filter(|entry| entry.class == GAP);
            lost = gaps.fold(lost, |lost, gap| lost.saturating_add(gap.length.into()));
        }
        lost
    }

    /// Notes a fault in a single event, up to a limit, as every event may have one.
    #[cold]
    fn note_fault(&mut self, rule: Rule, offset: u64, statement: impl FnOnce() -> String) {
        let count = Rule::ALL.iter().position(|known| *known == rule);
        let Some(count) = count.and_then(|index| self.reported.get_mut(index)) else { return };
        *count += 1;
        if *count <= if self.check { REPORTED } else { 1 } {
            self.faults.push_back(Fault::new(rule, offset, statement()));
        }
    }

    /// Advances to the next message.
    fn read(&mut self) -> Current {
        loop {
            while let Some(entry) = self.pending.next() {
                if entry.timestamp < self.wanted.0 || entry.timestamp > self.wanted.1 {
                    continue;
                }
                self.entry = entry;
                self.set_time(entry.timestamp);
                if entry.class == GAP {
                    let after = (entry.payload != 0).then(|| self.clock_value(entry.payload));
                    let count = (entry.length > 0).then_some(entry.length.into());
                    return Current::Discarded(count, after);
                }
                self.make_event();
                return Current::Event;
            }
            if let Some(fault) = self.faults.pop_front() {
                return Current::Damage(fault.damage(&self.file.name));
            }
            if !self.fill() && self.faults.is_empty() && !self.pending.has_ready() {
                return Current::StreamEnd;
            }
        }
    }

    #[inline(always)]
    fn set_time(&mut self, ticks: u64) {
        self.clock = self.clock_value(ticks);
        self.has_time = true;
        if ticks < self.latest {
            self.note_early(ticks);
        } else {
            self.latest = ticks;
        }
    }

    #[cold]
    fn note_early(&mut self, ticks: u64) {
        // The position of a gap is only known from its events.
        if self.check && !self.is_unsorted && self.entry.class != GAP {
            let latest = self.latest;
            self.note_fault(Rule::EventOrder, self.entry.payload, || {
                format!("expected a time of {latest} or later, found {ticks}")
            });
        }
    }

    #[inline(always)]
    fn clock_value(&self, cycles: u64) -> ClockValue {
        let nanoseconds = match self.file.nanoseconds {
            // 1 GHz, the most frequent case.
            Some(offset) => offset + i128::from(cycles),
            None => self.stream.clock().map_or(0, |clock| clock.nanoseconds(cycles)),
        };
        ClockValue { nanoseconds, cycles }
    }

    /// Determines the class of the current event and writes the fields that are values.
    #[inline(always)]
    fn make_event(&mut self) {
        self.events += 1;
        if self.are_threads_indexes() {
            self.check_references();
        }
        let stack = if self.entry.stack == 0 { None } else { self.stack() };
        self.write_context(stack);
        let index = self.entry.class as usize;
        let Self { file, stream, values, slots, entry, .. } = self;
        let payload = payload_of(file, entry);
        let mut is_longer = false;
        let fits = match (file.forms.get(index), stream.plans().event_records.get(index)) {
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
                match payload::read(payload, fields, PayloadWidths::of(&file.index), values) {
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
                self.note_rest(index);
            }
        } else {
            self.make_misfit(stack);
        }
    }

    /// Reports, once for each class, that the payload of the current event continues after its fields.
    #[cold]
    fn note_rest(&mut self, index: usize) {
        if self.longer.contains(&index) {
            return;
        }
        let payload = payload_of(&self.file, &self.entry);
        let plans = self.stream.plans().event_records.get(index);
        let (Some(form), Some(plans)) = (self.file.forms.get(index), plans) else { return };
        let layout = plans.payload.as_ref().map(|plan| (plan, &*self.slots, self.limits));
        let rest = bytes_behind(payload, form, layout, PayloadWidths::of(&self.file.index));
        if rest == 0 || !self.longer.insert(index) || self.longer.len() > self.most_longer() {
            return;
        }
        let offset = self.entry.payload + (payload.len() - rest) as u64;
        let class = Arc::clone(&plans.class);
        let name = class.name.as_deref().unwrap_or_default();
        let statement = format!("{rest} more bytes than the fields of `{name}`: they are not shown");
        self.faults.push_back(Fault::new(Rule::Payload, offset, statement));
    }

    /// Maximum number of classes whose events are reported to be longer than their fields.
    fn most_longer(&self) -> usize {
        if self.check { REPORTED as usize } else { 10 }
    }

    /// Like [`make_event`](Self::make_event), for a payload that does not seem to match its class.
    #[cold]
    fn make_misfit(&mut self, stack: Option<u32>) {
        let file = Arc::clone(&self.file);
        let index = self.entry.class as usize;
        if matches!(file.forms.get(index), Some(PayloadForm::Bits))
            && self.fits_slowly(index, payload_of(&file, &self.entry))
        {
            self.class = index;
            self.note_rest(index);
        } else {
            self.make_raw(&file, stack);
        }
    }

    fn fits_slowly(&self, index: usize, payload: &[u8]) -> bool {
        let plans = self.stream.plans().event_records.get(index);
        let Some(plans) = plans else { return false };
        let begins = [Position::default(); 6];
        let scopes = Scopes::new(PacketBits::whole(payload), &begins, &self.slots, &self.limits);
        Event::new(&self.stream, plans, None, scopes).visit(Scope::Payload, &mut Skip).is_ok()
    }

    /// Makes the payload a single field, as the current event does not match its class, or has none.
    #[cold]
    fn make_raw(&mut self, file: &TraceFile, stack: Option<u32>) {
        let entry = self.entry;
        let declared =
            self.stream.plans().event_records.get(entry.class as usize).map(|plans| Arc::clone(&plans.class));
        let id = (1 << 32) + u128::from(entry.class);
        let is_v6 = matches!(file.index.version, Version::V6(_));
        let class = self.stream.trace.dynamic_classes(self.stream.class_index).and_then(|dynamic| {
            let key = entry.class.to_le_bytes();
            dynamic.last(&key, || raw_class(declared.as_deref(), id, is_v6)).ok().flatten()
        });
        match &declared {
            // Its provider could not describe it, which is not damage.
            Some(_) if matches!(file.forms.get(entry.class as usize), Some(PayloadForm::Raw)) => {}
            Some(class) => self.note_fault(Rule::Payload, entry.payload, || {
                let name = class.name.as_deref().unwrap_or_default();
                format!("the payload of {} bytes does not fit the fields of `{name}`", entry.length)
            }),
            None => self.note_fault(Rule::MetadataId, entry.payload, || {
                "expected metadata before the event, found none".to_owned()
            }),
        }
        let Some(class) = class else { return };
        if self.slots.len() < class.slots {
            self.slots.resize(class.slots, Cell::new(UNKNOWN));
        }
        self.raw = Some(class);
        self.class = RAW;
        self.context = ContextShape::default();
        self.write_context(stack);
        self.values.begin(Scope::Payload);
        push_optional(&mut self.values, raw_payload(payload_of(file, &entry)));
        self.context = ContextShape::default();
    }

    /// Writes the common context of the current event, with this stack: see `class::common_context`.
    #[inline(always)]
    fn write_context(&mut self, stack: Option<u32>) {
        if matches!(self.file.index.version, Version::V6(_)) {
            return self.write_context_v6(stack);
        }
        let is_bits = matches!(self.file.forms.get(self.entry.class as usize), Some(PayloadForm::Bits));
        self.context.write(&mut self.values, &self.file, &self.entry, stack);
        if !is_bits {
            // The payload follows, and is different in the next event.
            self.context = ContextShape::default();
        }
    }

    fn are_threads_indexes(&self) -> bool {
        matches!(self.file.index.version, Version::V6(_))
    }

    /// Notes references of the current event to missing threads and labels (version 6).
    fn check_references(&mut self) {
        let entry = self.entry;
        if entry.thread & UNKNOWN_THREAD != 0 {
            let index = entry.thread & !UNKNOWN_THREAD;
            let is_full = self.threads.is_full();
            self.note_fault(Rule::ThreadIndex, entry.payload, || match is_full {
                true => format!("too many threads: that of index {index} is unknown"),
                false => format!("expected the index of a thread, found the unknown index {index}"),
            });
        }
        if entry.labels != 0 && self.labels.get(entry.labels).is_none() {
            let (list, is_full) = (entry.labels, self.labels.is_full());
            self.note_fault(Rule::LabelListId, entry.payload, || match is_full {
                true => format!("too many lists of labels: list {list} is unknown"),
                false => {
                    format!("expected the index of a list of labels, found the unknown index {list}")
                }
            });
        }
    }

    #[inline(never)]
    fn write_context_v6(&mut self, stack: Option<u32>) {
        static NONE: ListLabels = ListLabels {
            activity: None,
            related_activity: None,
            trace_id: None,
            span_id: None,
            overrides: Overrides::NONE,
            others: Vec::new(),
        };
        let entry = self.entry;
        let id = |place: u64| match self.threads.get(place) {
            Some(row) => row.thread_id.unwrap_or(row.index),
            None => place & !UNKNOWN_THREAD,
        };
        let thread = self.threads.get(entry.thread);
        let process = thread.and_then(|thread| thread.process_id);
        let file = &self.file;
        let process_name = process.and_then(|process| {
            file.process_names(&self.stream.trace).get(process, entry.timestamp, &file.bytes)
        });
        let labels = self.labels.get(entry.labels).unwrap_or(&NONE);
        let (own, capture) = (id(entry.thread), id(entry.capture_thread));
        let values = &mut self.values;
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
        values.push_optional(!labels.others.is_empty());
        if labels.others.is_empty() {
            return;
        }
        values.begin_array();
        for (name, value) in &labels.others {
            values.begin_structure();
            values.push(FieldValue::Text(name.as_bytes()));
            values.push(FieldValue::Text(value.as_bytes()));
            values.end();
        }
        values.end();
    }

    /// Returns the number of the current event's stack.
    #[inline(always)]
    fn stack(&mut self) -> Option<u32> {
        let Self { file, stream, stacks, threads, entry, frames, .. } = self;
        let trace = &stream.trace;
        file.intern_stacks(trace);
        let pointer_size = file.index.trace.pointer_size;
        if file.index.version == Version::V3 {
            // After the payload and the size of the stack.
            let begin = (entry.payload + u64::from(entry.length)) as usize + 4;
            let stack = file.bytes.get(begin..begin + entry.stack as usize)?;
            return super::tables::intern_stack(stack, pointer_size, trace, frames);
        }
        let found = match file.index.version {
            Version::V6(_) => {
                let space = address_space(threads.get(entry.thread).and_then(|row| row.process_id));
                stacks.get_in_space(entry.stack, space, &file.bytes, pointer_size, trace)
            }
            _ => stacks.get(entry.stack, &file.bytes, pointer_size, trace),
        };
        match found {
            Stack::Number(number) => Some(number),
            Stack::Empty => None,
            Stack::Unknown | Stack::TooMany => {
                self.note_missing_stack(found);
                None
            }
        }
    }

    #[cold]
    fn note_missing_stack(&mut self, found: Stack) {
        let id = self.entry.stack;
        self.note_fault(Rule::StackId, self.entry.payload, || match found {
            Stack::TooMany => format!("too many stacks: stack {id} is unknown"),
            _ => format!("expected the id of a stack, found the unknown id {id}"),
        });
    }

    fn scopes<'s>(&'s self) -> Scopes<'s> {
        let payload = payload_of(&self.file, &self.entry);
        Scopes::new(PacketBits::whole(payload), &self.begins, &self.slots, &self.limits)
            .with_values(&self.values)
    }
}

/// Returns the value of a payload that is not described.
fn raw_payload(payload: &[u8]) -> Option<FieldValue<'_>> {
    (!payload.is_empty()).then_some(FieldValue::Blob(payload))
}

#[inline(always)]
fn payload_of<'f>(file: &'f TraceFile, entry: &PendingEvent) -> &'f [u8] {
    let begin = entry.payload as usize;
    file.bytes.get(begin..begin + entry.length as usize).unwrap_or_default()
}

/// Returns the clock's cycles at a time, rounded up or down.
fn ticks_at(clock: &ichnos_model::ClockClass, time: i128, up: bool) -> u64 {
    // Times increase with cycles.
    let (mut low, mut high) = (0u64, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        let is_before = if up { clock.nanoseconds(middle) < time } else { clock.nanoseconds(middle) <= time };
        if is_before { low = middle + 1 } else { high = middle }
    }
    if up { low } else { low.saturating_sub(1) }
}

impl Cursor for EventCursor {
    fn advance(&mut self) -> bool {
        self.current = match &self.current {
            Current::Before => Current::StreamBegin,
            Current::StreamEnd | Current::After => Current::After,
            _ => self.read(),
        };
        !matches!(self.current, Current::After)
    }

    fn head(&self) -> Option<Head> {
        let time = self.has_time.then_some(self.clock.nanoseconds);
        let kind = match &self.current {
            Current::Before | Current::After => return None,
            Current::Event => {
                let raw = || self.raw.as_ref()?.plans.index();
                return Some(match if self.class == RAW { raw() } else { Some(self.class) } {
                    Some(index) => Head::event(index, time),
                    None => Head::new(MessageKind::Event, time),
                });
            }
            Current::StreamBegin => return Some(Head::new(MessageKind::StreamBegin, None)),
            Current::Damage(_) => return Some(Head::new(MessageKind::Damage, time)),
            Current::Discarded(..) => MessageKind::DiscardedEvents,
            Current::StreamEnd => MessageKind::StreamEnd,
        };
        Some(Head::new(kind, time))
    }

    fn current(&self) -> Option<Message<'_>> {
        Some(match &self.current {
            Current::Before | Current::After => return None,
            Current::StreamBegin => Message::StreamBegin(&self.stream),
            Current::StreamEnd => Message::StreamEnd(&self.stream),
            Current::Damage(damage) => Message::Damage(damage),
            Current::Discarded(count, after) => Message::DiscardedEvents(Discarded {
                stream: &self.stream,
                count: *count,
                thread: Some(self.entry.capture_thread),
                begin: *after,
                end: Some(self.clock),
            }),
            Current::Event => {
                let plans = match self.class {
                    RAW => &self.raw.as_ref()?.plans,
                    index => self.stream.plans().event_records.get(index)?,
                };
                Message::Event(Event::new(&self.stream, plans, Some(&self.clock), self.scopes()))
            }
        })
    }
}

impl FastCursor for EventCursor {
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        if self.check {
            // Each event may break a rule.
            return 0;
        }
        let are_stacks_rows = self.file.index.version != Version::V3;
        let are_threads_indexes = self.are_threads_indexes();
        let mut skipped = 0;
        let mut times: Option<(u64, u64)> = None;
        while skipped < most
            && let Some(entry) = self.pending.peek()
        {
            // An event with a fault is a message.
            let is_wanted = entry.timestamp >= self.wanted.0
                && entry.timestamp <= self.wanted.1
                && (entry.stack == 0 || !are_stacks_rows || self.stacks.has(entry.stack))
                && (entry.labels == 0 || self.labels.get(entry.labels).is_some())
                && (entry.thread & UNKNOWN_THREAD == 0 || !are_threads_indexes);
            let form = self.file.forms.get(entry.class as usize);
            let plans = self.stream.plans().event_records.get(entry.class as usize);
            let (Some(form), Some(plans), true) = (form, plans, is_wanted) else { break };
            // The payload may be too short for the class.
            let length = 8 * u64::from(entry.length);
            let fits = match (form, &plans.payload) {
                (PayloadForm::Bits, Some(plan)) => match plan.fixed_size() {
                    Some(size) => size <= length,
                    None => {
                        let payload = payload_of(&self.file, entry);
                        plan.end(payload, 0, &self.slots).is_some_and(|end| end <= length)
                    }
                },
                (PayloadForm::Raw, _) => length == 0,
                _ => false,
            };
            if !fits {
                break;
            }
            counts.add_class(Some(entry.class as usize));
            let (first, last) = times.unwrap_or((entry.timestamp, entry.timestamp));
            times = Some((first.min(entry.timestamp), last.max(entry.timestamp)));
            self.entry = *entry;
            self.pending.skip();
            skipped += 1;
        }
        if let Some((first, last)) = times {
            let last = last.max(self.latest);
            counts.add_time(self.clock_value(first).nanoseconds);
            counts.add_time(self.clock_value(last).nanoseconds);
            self.latest = last;
            self.clock = self.clock_value(self.entry.timestamp);
            self.has_time = true;
            self.events += u64::from(skipped);
        }
        skipped
    }

    fn suspend(&mut self) {
        self.pending.suspend();
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        Some(match &self.current {
            Current::StreamEnd | Current::After => Checkpoint::End,
            Current::Event => {
                // Reported faults are not reported again.
                let reported =
                    self.reported.iter().fold(0u64, |sum, count| sum.wrapping_mul(31).wrapping_add(*count));
                let longer = self.longer.iter().map(|class| (*class as u64 + 1).wrapping_mul(0x9e37_79b9));
                let reported = longer.fold(reported, u64::wrapping_add);
                let PendingEvent { payload, timestamp, .. } = self.entry;
                Checkpoint::At([payload, timestamp, self.capture.fingerprint(), reported])
            }
            _ => return None,
        })
    }
}
