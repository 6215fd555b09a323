//! Latencies between start and end events.
//!
//! Any number of threads encode events that may start or end something as records. The records are then paired in event
//! order, so the result does not depend on the threads.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldKind};
use ichnos_model::event::StreamTable;
use ichnos_model::meaning::{EventRole, Meaning};
use ichnos_model::{Event, Message};

use super::collect::{MOST_NUMBERS, MOST_NUMBERS_OF_GROUP};
use super::distribution::{Distribution, Number};
use super::group::{GroupRow, Groups, TableGroup};
use super::key::{self, ClassGroupKey, GroupBy, GroupValue, KeyField, KnownFields, StreamGroupKey};
use super::own_names::{OwnName, OwnNames, push_name};
use super::pair_flags;
use super::spans::{self, NestedSpanKeys, SpanFields, SpanNames};
use crate::events::{NameObjects, NamedObjects, SpanEdge};
use crate::span_name::span_name;

/// Predicate for event names.
type NamePredicate = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Options for pairing events.
#[derive(Clone)]
#[non_exhaustive]
pub struct PairOptions {
    begins: NamePredicate,
    ends: NamePredicate,
    /// Fields with equal values in both events. See [`find_field`](super::find_field) for names.
    pub keys: Vec<String>,
    /// Require both events to be in the same trace. Thread and processor numbers are unique only there.
    pub within_traces: bool,
    /// Pair span events by role, whatever their names.
    spans: bool,
    /// Row grouping, by the start event.
    pub by: Vec<GroupBy>,
    /// Maximum number of start events that wait for their ends.
    pub open: usize,
    /// Limit for exact rows.
    pub groups: usize,
    /// Number of longest pairs.
    pub slowest: usize,
    /// Count only pairs longer than this, in nanoseconds.
    pub longer_than: Option<i128>,
}

impl fmt::Debug for PairOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairOptions").field("keys", &self.keys).field("by", &self.by).finish_non_exhaustive()
    }
}

impl PairOptions {
    /// Pairs events by name: `begins` selects start events, and `ends` selects end events.
    #[must_use]
    pub fn new(
        begins: impl Fn(&str) -> bool + Send + Sync + 'static,
        ends: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            begins: Arc::new(begins),
            ends: Arc::new(ends),
            keys: Vec::new(),
            within_traces: false,
            spans: false,
            by: Vec::new(),
            open: 1 << 20,
            groups: 1_024,
            slowest: 10,
            longer_than: None,
        }
    }

    /// Pairs span events by their [role](EventRole). A class with [`Meaning::PairKey`] members pairs events with equal
    /// values of all these members. Other spans are nested in the same thread, process or processor. An event with a
    /// processor and without a thread belongs to the running thread, as known from [`EventRole::Switch`] events.
    #[must_use]
    pub fn spans() -> Self {
        Self { spans: true, ..Self::new(|_| false, |_| false) }
    }

    /// Chooses a key if the user names none: pairs within a trace must share the thread and its process, or else the
    /// processor, and the machine if all events name it.
    ///
    /// All start events must have the role begin, and all end events the role end. Otherwise returns `false` and
    /// changes nothing. `classes` must contain all event record classes of the traces, each with its data stream class.
    pub fn use_default_key<'c>(
        &mut self,
        classes: impl IntoIterator<Item = (&'c DataStreamClass, &'c EventRecordClass)>,
    ) -> bool {
        const MEANINGS: [Meaning; 4] =
            [Meaning::Machine, Meaning::Process, Meaning::Thread, Meaning::Processor];
        let (mut begins, mut ends) = (false, false);
        let mut all_have = [true; MEANINGS.len()];
        for (stream, class) in classes {
            let name = class.name.as_deref().unwrap_or_default();
            let (begin, end) = ((self.begins)(name), (self.ends)(name));
            if begin && class.role != EventRole::Begin || end && class.role != EventRole::End {
                return false;
            }
            if begin || end {
                for (all_have, meaning) in all_have.iter_mut().zip(MEANINGS) {
                    *all_have &= class.meanings.members(meaning).next().is_some()
                        || meaning == Meaning::Processor && has_processor(stream);
                }
            }
            begins |= begin;
            ends |= end;
        }
        let [have_machines, have_processes, have_threads, have_processors] = all_have;
        if !begins || !ends || !have_threads && !have_processors {
            return false;
        }
        let parts = [
            (have_machines, "machine"),
            (have_threads && have_processes, "process"),
            (have_threads, "thread"),
            (!have_threads, "cpu"),
        ];
        let names = parts.into_iter().filter_map(|(is_part, name)| is_part.then_some(name));
        self.keys = names.map(str::to_owned).collect();
        self.within_traces = true;
        true
    }
}

/// Returns `true` if packets of a data stream contain the processor. See [`find_field`](super::find_field).
fn has_processor(stream: &DataStreamClass) -> bool {
    let context = stream.packet_context.as_deref().map(|class| &class.kind);
    matches!(context, Some(FieldKind::Structure { members, .. }) if members.iter().any(|member| member.name == "cpu_id"))
}

/// Encoder that turns events into records.
#[derive(Debug)]
pub struct PairReader {
    options: Arc<PairOptions>,
    streams: StreamTable<StreamGroupKey, (), PairClass>,
    records: Vec<u8>,
    key: Vec<u8>,
    by: Vec<u8>,
    own: Vec<u8>,
    /// Buffer for names.
    text: String,
    known_fields: KnownFields,
}

#[derive(Debug)]
struct PairClass {
    flags: u16,
    keys: Box<[Option<KeyField>]>,
    by: ClassGroupKey,
    name: String,
    own_names: OwnNames,
    /// Span fields, if the class has span events.
    span: Option<SpanFields>,
}

/// Minimum batch size in bytes.
const BATCH: usize = 64 << 10;

impl PairReader {
    /// Creates a reader.
    #[must_use]
    pub fn new(options: Arc<PairOptions>) -> Self {
        Self {
            options,
            streams: StreamTable::default(),
            records: Vec::new(),
            key: Vec::new(),
            by: Vec::new(),
            own: Vec::new(),
            text: String::new(),
            known_fields: KnownFields::new(),
        }
    }

    /// Encodes a message if it is a selected event. Returns `true` if a batch is full.
    #[inline]
    pub fn message(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => self.event(event, None),
            Message::StreamEnd(stream) => self.streams.remove(stream),
            _ => {}
        }
        self.records.len() >= BATCH
    }

    /// Encodes an event if it is selected. `name` is its name on a timeline, which may know more names than this
    /// reader. Returns `true` if a batch is full.
    pub fn named_event(&mut self, event: &Event<'_>, name: &str) -> bool {
        self.event(event, Some(name));
        self.records.len() >= BATCH
    }

    /// Takes the encoded records, for [`Pairs::take`].
    #[must_use]
    pub fn take_records(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.records)
    }

    /// Takes the names of known fields: key fields and row fields in the class of some selected event.
    #[must_use]
    pub fn take_known_fields(&mut self) -> KnownFields {
        std::mem::take(&mut self.known_fields)
    }

    fn event(&mut self, event: &Event<'_>, name: Option<&str>) {
        if !self.streams.has(event.stream) {
            self.streams.insert(event.stream, StreamGroupKey::new(event.stream), || ());
        }
        let Self { options, streams, records, key, by, own, text, known_fields } = self;
        let (options, Some((stream, _, classes))) = (&**options, streams.get_mut(event.stream)) else {
            return;
        };
        let class = classes.for_event(event, || PairClass::new(event, options, known_fields));
        if class.flags == 0 {
            return;
        }
        let trace = Arc::as_ptr(&event.stream.trace).addr() as u64;
        let mut flags = class.flags & !pair_flags::OBJECT;
        if flags != 0 {
            key.clear();
            match &class.span {
                Some(span) => span.push_place(key, event.stream, trace),
                None if options.within_traces => key.extend_from_slice(&trace.to_le_bytes()),
                None => {}
            }
            let keys = class.span.as_ref().map_or(&class.keys, |span| &span.keys);
            for field in keys {
                match field {
                    Some(field) if field.is_in(event) => field.push(key, event),
                    _ => flags |= pair_flags::NO_KEY,
                }
            }
            by.clear();
            if flags & pair_flags::BEGIN != 0 {
                class.by.push(by, &options.by, stream, event);
            } else if let Some(span) = class.span.as_ref().filter(|_| flags & pair_flags::SWITCH != 0) {
                span.push_next(by, event);
            }
            own.clear();
            match name {
                Some(name) if name == class.name => {}
                Some(name) => push_name(own, NameObjects::default(), Some(name)),
                None => class.own_names.push(own, event, &class.name, trace, text),
            }
            push_record(
                records,
                flags,
                event.nanoseconds(),
                [&key[..], &by[..], class.name.as_bytes(), &own[..]],
            );
        }
        // The rest is the same as on a timeline.
        if class.flags & pair_flags::OBJECT != 0 && name.is_none() {
            own.clear();
            if let Some(object) = class.own_names.push_note(own, event, trace) {
                push_record(
                    records,
                    pair_flags::OBJECT,
                    Some(0),
                    [&object.to_le_bytes()[..], &[], &[], &own[..]],
                );
            }
        }
    }
}

/// Appends a record. [`PairRecord`] decodes it.
fn push_record(records: &mut Vec<u8>, mut flags: u16, time: Option<i128>, parts: [&[u8]; 4]) {
    if time.is_none() {
        flags |= pair_flags::NO_TIME;
    }
    records.extend_from_slice(&flags.to_le_bytes());
    // The flag marks a missing time.
    records.extend_from_slice(&time.unwrap_or_default().to_le_bytes());
    for part in parts {
        records.extend_from_slice(&(part.len() as u32).to_le_bytes());
        records.extend_from_slice(part);
    }
}

impl PairClass {
    #[cold]
    fn new(event: &Event<'_>, options: &PairOptions, known_fields: &mut KnownFields) -> Self {
        if options.spans {
            return Self::for_span(event, options, known_fields);
        }
        let name = event.name();
        let mut flags = 0;
        if (options.begins)(name) {
            flags |= pair_flags::BEGIN;
        }
        if (options.ends)(name) {
            flags |= pair_flags::END;
        }
        let is_span = matches!(
            (flags, event.class.role),
            (pair_flags::BEGIN, EventRole::Begin) | (pair_flags::END, EventRole::End)
        );
        // An event with two uses keeps its name: it must not end what it starts itself.
        let name = if is_span { span_name(event) } else { name };
        let name = name[..name.floor_char_boundary(key::MOST_BYTES)].to_owned();
        let keys: Box<[_]> = options.keys.iter().map(|name| KeyField::find(event, name)).collect();
        let by = ClassGroupKey::for_pairs(event, &options.by);
        if flags != 0 {
            for (name, field) in options.keys.iter().zip(&keys) {
                if let Some(field) = field {
                    known_fields.entry(name.clone()).or_insert(field.base());
                }
            }
            by.add_known(&options.by, known_fields);
        }
        Self { flags, keys, by, name, own_names: OwnNames::from_event(event, is_span), span: None }
            .with_objects()
    }

    fn for_span(event: &Event<'_>, options: &PairOptions, known_fields: &mut KnownFields) -> Self {
        let span = SpanFields::new(event);
        let name = span_name(event);
        let name = name[..name.floor_char_boundary(key::MOST_BYTES)].to_owned();
        let by = ClassGroupKey::for_pairs(event, &options.by);
        if span.flags & pair_flags::BEGIN != 0 {
            by.add_known(&options.by, known_fields);
        }
        let own_names = OwnNames::from_event(event, span.flags & (pair_flags::BEGIN | pair_flags::END) != 0);
        Self { flags: span.flags, keys: Box::default(), by, name, own_names, span: Some(span) }.with_objects()
    }

    /// Also encodes facts about objects.
    fn with_objects(mut self) -> Self {
        if self.own_names.has_objects() {
            self.flags |= pair_flags::OBJECT;
        }
        self
    }
}

/// Record of an event, or of a fact about an object. In the second case, `key` is the object key.
#[derive(Clone, Copy)]
struct PairRecord<'r> {
    flags: u16,
    time: i128,
    key: &'r [u8],
    by: &'r [u8],
    /// Class name.
    name: &'r [u8],
    own_name: OwnName<'r>,
}

impl<'r> PairRecord<'r> {
    fn next(records: &mut &'r [u8]) -> Option<Self> {
        let (flags, rest) = records.split_first_chunk()?;
        let (time, mut rest) = rest.split_first_chunk()?;
        let mut part = || {
            let (length, bytes) = rest.split_first_chunk()?;
            let (part, behind) = bytes.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = behind;
            Some(part)
        };
        let (key, by, name, own_name) = (part()?, part()?, part()?, OwnName::decode(part()?));
        *records = rest;
        let (flags, time) = (u16::from_le_bytes(*flags), i128::from_le_bytes(*time));
        Some(Self { flags, time, key, by, name, own_name })
    }

    /// Returns the names in the event.
    fn edge(&self) -> SpanEdge<&'r [u8]> {
        let name = self.own_name.text().unwrap_or(self.name);
        SpanEdge { name, kind: self.name, is_unnamed: self.flags & pair_flags::UNNAMED != 0 }
    }
}

/// Unpaired and ignored events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpaired {
    /// Starts without an end because the same key started again.
    pub begun_again: u64,
    /// Starts without an end when the traces end.
    pub without_end: u64,
    /// Starts that were dropped because too many were open.
    pub given_up: u64,
    /// Ends without a start.
    pub without_begin: u64,
    /// Events without a key field.
    pub without_key: u64,
    /// Events without a time.
    pub without_time: u64,
}

/// Paired start and end events.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pair {
    /// Start time in nanoseconds from the origin.
    pub begin: i128,
    /// End time in nanoseconds from the origin.
    pub end: i128,
    /// Class names. For spans, the names on a timeline.
    pub names: [String; 2],
    /// Key values.
    pub key: Vec<GroupValue>,
    /// Thread of a span. `None` if unknown, and for other pairs.
    pub thread: Option<GroupValue>,
}

/// Record pairing.
///
/// An event ends what the last event with the same key started. An event selected by both names ends the open pair and
/// starts another.
#[derive(Debug)]
pub struct Pairs {
    all: PairRow,
    groups: Groups<PairRow>,
    unpaired: Unpaired,
    open: HashMap<Arc<[u8]>, OpenPair>,
    most_open: usize,
    /// Open pair keys, oldest first. Also contains pairs that were closed since.
    order: VecDeque<(u64, Arc<[u8]>)>,
    next: u64,
    slowest: BinaryHeap<Reverse<Slow>>,
    most_slow: usize,
    longer_than: Option<i128>,
    nested: NestedSpanKeys,
    /// Keyed span names. `None` if pairs are not spans.
    span_names: Option<SpanNames>,
    /// Length of the key prefix that distinguishes traces, in bytes.
    key_begin: usize,
    /// Row grouping.
    by: Vec<GroupBy>,
    /// Object names for spans.
    objects: NamedObjects,
    /// Buffer for names.
    text: String,
}

/// Open pair.
#[derive(Debug)]
struct OpenPair {
    number: u64,
    time: i128,
    by: Box<[u8]>,
    name: Box<[u8]>,
    /// Class name, if it differs from `name`.
    kind: Option<Box<[u8]>>,
    /// Total duration of the nested spans, in nanoseconds.
    inside: i128,
}

impl OpenPair {
    /// Starts a pair. `by` is the row grouping.
    fn new(number: u64, record: &PairRecord<'_>, by: &[GroupBy]) -> Self {
        let SpanEdge { name, kind, .. } = record.edge();
        let by = match record.own_name.text() {
            Some(name) => key::with_name(record.by, by, &String::from_utf8_lossy(name)).into(),
            None => record.by.into(),
        };
        let kind = (kind != name).then(|| kind.into());
        Self { number, time: record.time, by, name: name.into(), kind, inside: 0 }
    }

    /// Returns the names in the start event.
    fn edge(&self) -> SpanEdge<&[u8]> {
        let name = &*self.name;
        SpanEdge { name, kind: self.kind.as_deref().unwrap_or(name), is_unnamed: false }
    }

    /// Returns both event names. An end event without its own name uses the name of the start.
    fn into_names(self, end: &PairRecord<'_>) -> [Box<[u8]>; 2] {
        let is_named_once = end.own_name.text().is_none() && end.name == self.edge().kind;
        let end = if is_named_once { self.name.clone() } else { end.edge().name.into() };
        [self.name, end]
    }
}

/// Pair ordered by duration. Of equal durations, the earlier pair is greater.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slow {
    length: i128,
    number: Reverse<u64>,
    begin: i128,
    names: [Box<[u8]>; 2],
    key: Arc<[u8]>,
}

/// Latencies and total own time of a group, in nanoseconds.
#[derive(Clone, Debug)]
struct PairRow(Distribution, i128);

impl GroupRow for PairRow {
    fn events(&self) -> u64 {
        self.0.count()
    }

    fn merge(&mut self, later: Self) {
        self.0.merge(later.0);
        self.1 = self.1.saturating_add(later.1);
    }
}

/// Row of [`Pairs`].
#[derive(Debug)]
#[non_exhaustive]
pub struct PairGroup<'p> {
    /// Common values of the start events, in the order of [`PairOptions::by`].
    pub key: Vec<GroupValue>,
    /// Maximum number of uncounted pairs.
    pub missed: u64,
    /// Durations in nanoseconds.
    pub latencies: &'p Distribution,
    /// Total own span time (without nested spans), in nanoseconds. For other pairs, the total duration.
    pub own_time: i128,
}

impl Pairs {
    /// Creates an empty pairing.
    #[must_use]
    pub fn new(options: &PairOptions) -> Self {
        Self {
            all: PairRow(Distribution::new(MOST_NUMBERS), 0),
            groups: Groups::new(options.groups),
            unpaired: Unpaired::default(),
            open: HashMap::new(),
            most_open: options.open.max(1),
            order: VecDeque::new(),
            next: 0,
            slowest: BinaryHeap::new(),
            most_slow: options.slowest,
            longer_than: options.longer_than,
            nested: NestedSpanKeys::default(),
            span_names: options.spans.then(SpanNames::default),
            key_begin: match options {
                PairOptions { spans: true, .. } => spans::PLACE,
                PairOptions { within_traces: true, .. } => size_of::<u64>(),
                _ => 0,
            },
            by: options.by.clone(),
            objects: NamedObjects::default(),
            text: String::new(),
        }
    }

    /// Pairs later records, encoded by a [`PairReader`].
    pub fn take(&mut self, records: &[u8]) {
        let mut rest = records;
        while let Some(record) = PairRecord::next(&mut rest) {
            if record.flags & pair_flags::OBJECT != 0 {
                if let Some(object) = record.key.first_chunk() {
                    record.own_name.take(u64::from_le_bytes(*object), &mut self.objects);
                }
                continue;
            }
            let mut text = std::mem::take(&mut self.text);
            let own_name = record.own_name.known(record.name, &self.objects, &mut text);
            self.event(&PairRecord { own_name, ..record });
            self.text = text;
        }
    }

    fn event(&mut self, record: &PairRecord<'_>) {
        if record.flags & pair_flags::NO_KEY != 0 {
            self.unpaired.without_key += 1;
            return;
        }
        if record.flags & pair_flags::NO_TIME != 0 {
            self.unpaired.without_time += 1;
            return;
        }
        if record.flags & pair_flags::SWITCH != 0 {
            self.nested.switch(record.key, record.by, self.most_open);
            return;
        }
        if record.flags & pair_flags::NESTED != 0 {
            return self.nested_event(record);
        }
        if let Some(names) = self.span_names.take() {
            return self.keyed_event(record, names);
        }
        if record.flags & pair_flags::END != 0 {
            self.end(record);
        }
        if record.flags & pair_flags::BEGIN != 0 {
            self.begin(record);
        }
    }

    /// Starts or ends a nested span. An end closes the innermost open span with its name. An unnamed end closes the
    /// innermost open span.
    fn nested_event(&mut self, record: &PairRecord<'_>) {
        let track = self.nested.track(record.flags, record.key);
        if record.flags & pair_flags::BEGIN != 0 {
            let key = self.nested.begin(&track, self.most_open).to_vec();
            return self.begin(&PairRecord { key: &key, ..*record });
        }
        let (open, end) = (&self.open, record.edge());
        // Time inside spans without end events belongs to the span around them.
        let mut within = 0_i128;
        let is_it = |key: &[u8]| {
            open.get(key).is_some_and(|open| {
                let is_it = end.ends(open.edge());
                if !is_it {
                    within = within.saturating_add(open.inside);
                }
                is_it
            })
        };
        let key = self.nested.end(&track, is_it).map(<[u8]>::to_vec);
        match key {
            Some(key) => {
                if let Some(open) = self.open.get_mut(&*key) {
                    open.inside = open.inside.saturating_add(within);
                }
                self.end(&PairRecord { key: &key, ..*record });
            }
            None => self.unpaired.without_begin += 1,
        }
    }

    /// Starts or ends a keyed span.
    fn keyed_event(&mut self, record: &PairRecord<'_>, mut names: SpanNames) {
        let PairRecord { flags, key, name, .. } = *record;
        if flags & pair_flags::BEGIN != 0 {
            self.begin(&PairRecord { key: names.begin(key, name), ..*record });
        } else {
            let open = &self.open;
            let opened = |key: &[u8]| Some(open.get(key)?.number);
            match names.end(key, name, flags & pair_flags::UNNAMED != 0, opened) {
                Some(key) => self.end(&PairRecord { key, ..*record }),
                None => self.unpaired.without_begin += 1,
            }
        }
        self.span_names = Some(names);
    }

    fn begin(&mut self, record: &PairRecord<'_>) {
        let number = self.next;
        self.next += 1;
        let open = OpenPair::new(number, record, &self.by);
        if let Some(known) = self.open.get_mut(record.key) {
            *known = open;
            self.unpaired.begun_again += 1;
            if let Some((key, _)) = self.open.get_key_value(record.key) {
                self.order.push_back((number, Arc::clone(key)));
            }
        } else {
            if self.open.len() >= self.most_open {
                self.give_up();
            }
            let key: Arc<[u8]> = record.key.into();
            self.open.insert(Arc::clone(&key), open);
            self.order.push_back((number, key));
        }
        if self.order.len() > 2 * self.open.len() + 1_024 {
            let open = &self.open;
            self.order.retain(|(number, key)| open.get(key).is_some_and(|open| open.number == *number));
        }
    }

    /// Drops the oldest open pair.
    #[cold]
    fn give_up(&mut self) {
        while let Some((number, key)) = self.order.pop_front() {
            if self.open.get(&key).is_some_and(|open| open.number == number) {
                self.open.remove(&key);
                self.unpaired.given_up += 1;
                return;
            }
        }
    }

    fn end(&mut self, record: &PairRecord<'_>) {
        let Some((key, open)) = self.open.remove_entry(record.key) else {
            // An event selected by both names only starts if nothing is open.
            if record.flags & pair_flags::BEGIN == 0 {
                self.unpaired.without_begin += 1;
            }
            return;
        };
        let length = record.time.saturating_sub(open.time);
        if record.flags & pair_flags::NESTED != 0
            && let Some(around) = NestedSpanKeys::around(record.key)
            && let Some(around) = self.open.get_mut(&*around)
        {
            around.inside = around.inside.saturating_add(length);
        }
        if self.longer_than.is_some_and(|least| length <= least) {
            return;
        }
        let own = length.saturating_sub(open.inside);
        self.all.0.add(Number::Integer(length));
        self.all.1 = self.all.1.saturating_add(own);
        if !self.by.is_empty() {
            let make = || PairRow(Distribution::new(MOST_NUMBERS_OF_GROUP), 0);
            let index = self.groups.index(&open.by, make);
            if let Some(row) = self.groups.get_mut(index) {
                row.0.add(Number::Integer(length));
                row.1 = row.1.saturating_add(own);
            }
        }
        let is_slow = self.slowest.peek().is_none_or(|Reverse(least)| length > least.length);
        if self.most_slow > 0 && (is_slow || self.slowest.len() < self.most_slow) {
            if self.slowest.len() >= self.most_slow {
                self.slowest.pop();
            }
            let (number, begin) = (Reverse(self.all.0.count()), open.time);
            let names = open.into_names(record);
            self.slowest.push(Reverse(Slow { length, number, begin, names, key }));
        }
    }

    /// Returns the durations of all pairs in nanoseconds. Negative if a clock went back.
    #[must_use]
    pub fn latencies(&self) -> &Distribution {
        &self.all.0
    }

    /// Returns the total own time for all spans (without nested spans), in nanoseconds.
    #[must_use]
    pub fn own_time(&self) -> i128 {
        self.all.1
    }

    /// Returns the rows, in unspecified order.
    pub fn groups(&self) -> impl Iterator<Item = PairGroup<'_>> {
        self.groups.iter().map(|TableGroup { key, missed, row }| PairGroup {
            key: key::decode(key),
            missed: *missed,
            latencies: &row.0,
            own_time: row.1,
        })
    }

    /// Returns the maximum number of pairs in a missing group. 0 if every group has a row.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.groups.missed()
    }

    /// Returns the unpaired event counts.
    #[must_use]
    pub fn unpaired(&self) -> Unpaired {
        Unpaired { without_end: self.open.len() as u64, ..self.unpaired }
    }

    /// Returns the longest pairs, longest first.
    #[must_use]
    pub fn slowest(&self) -> Vec<Pair> {
        let mut slowest: Vec<&Slow> = self.slowest.iter().map(|Reverse(slow)| slow).collect();
        slowest.sort_unstable_by(|a, b| b.cmp(a));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let is_of_thread = |slow: &Slow| self.span_names.is_some() && spans::is_of_thread(&slow.key);
        let values = |slow: &Slow| key::decode(slow.key.get(self.key_begin..).unwrap_or_default());
        let pair = |slow: &Slow| Pair {
            thread: values(slow).pop().filter(|_| is_of_thread(slow)),
            begin: slow.begin,
            end: slow.begin.saturating_add(slow.length),
            names: [text(&slow.names[0]), text(&slow.names[1])],
            key: values(slow),
        };
        slowest.into_iter().map(pair).collect()
    }
}
