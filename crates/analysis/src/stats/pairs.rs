//! Latencies between pairs of events, one of which begins what the other ends.
//!
//! Events that may begin or end something are put into records, by any number of threads. Records are then paired in
//! the order of events, so that the result does not depend on the threads.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use ichnos_model::{
    DataStreamClass, Event, EventRecordClass, EventRole, FieldKind, Meaning, Message, StreamTable,
};

use super::collect::{MOST_NUMBERS, MOST_NUMBERS_OF_GROUP};
use super::distribution::{Distribution, Number};
use super::does;
use super::group::{GroupRow, Groups, TableGroup};
use super::key::{self, ClassKey, GroupBy, GroupValue, KeyField, KnownFields, StreamKey};
use super::own_names::{OwnName, OwnNames, push_name};
use super::spans::{self, NestedSpans, SpanNames, SpanPart};
use crate::events::{NameObjects, NamedObjects, SpanEdge};
use crate::span_name::span_name;

/// Returns `true` if events with this name are selected.
type NamePredicate = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Options for pairing events.
#[derive(Clone)]
#[non_exhaustive]
pub struct PairOptions {
    begins: NamePredicate,
    ends: NamePredicate,
    /// Fields with equal values in both events; see [`find_field`](super::find_field) for names.
    pub keys: Vec<String>,
    /// Both events have to be of the same trace: numbers of threads and processors are unique only there.
    pub within_traces: bool,
    /// Pair what begins and ends a span by the roles of events, whatever their names.
    spans: bool,
    /// What makes a row: of the event that begins.
    pub by: Vec<GroupBy>,
    /// Maximum number of events that wait for their ends.
    pub open: usize,
    /// Maximum number of exact rows.
    pub groups: usize,
    /// Number of longest pairs to keep.
    pub slowest: usize,
    /// Only longer pairs count, in nanoseconds.
    pub longer_than: Option<i128>,
}

impl fmt::Debug for PairOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairOptions").field("keys", &self.keys).field("by", &self.by).finish_non_exhaustive()
    }
}

impl PairOptions {
    /// Pairs events with names for which `begins` and `ends` return `true`.
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

    /// Pairs the events that begin and end spans, by their [role](EventRole): those with equal values of all members that
    /// mean [`Meaning::PairKey`], or else those that are nested in the same thread, process or processor. An event of a
    /// processor without a thread is in the thread that runs there, by events with the role [`EventRole::Switch`].
    #[must_use]
    pub fn spans() -> Self {
        Self { spans: true, ..Self::new(|_| false, |_| false) }
    }

    /// Pairs events within each trace by what they have in common if nothing is named: the thread with its process, or else
    /// the processor, with the machine where events name theirs; where all events that begin a pair have the role to begin
    /// something, and all that end one have the role to end something. Returns `false`, and changes nothing, elsewhere.
    /// `classes`: all event record classes of the traces, with those of their data streams.
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

/// Returns `true` if packets of a data stream contain the processor; see [`find_field`](super::find_field).
fn has_processor(stream: &DataStreamClass) -> bool {
    let context = stream.packet_context.as_deref().map(|class| &class.kind);
    matches!(context, Some(FieldKind::Structure { members, .. }) if members.iter().any(|member| member.name == "cpu_id"))
}

/// Makes records of events.
#[derive(Debug)]
pub struct PairReader {
    options: Arc<PairOptions>,
    streams: StreamTable<StreamKey, (), ClassPart>,
    records: Vec<u8>,
    key: Vec<u8>,
    by: Vec<u8>,
    own: Vec<u8>,
    /// Memory for names.
    text: String,
    known_fields: KnownFields,
}

#[derive(Debug)]
struct ClassPart {
    does: u16,
    keys: Box<[Option<KeyField>]>,
    by: ClassKey,
    name: String,
    own_names: OwnNames,
    /// Of spans.
    span: Option<SpanPart>,
}

/// Minimum size of records to pass on, in bytes.
const BATCH: usize = 64 << 10;

impl PairReader {
    /// Makes a reader without records.
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

    /// Makes a record of a message, if it is a selected event. Returns `true` if there are enough records to pass on.
    #[inline]
    pub fn message(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => self.event(event, None),
            Message::StreamEnd(stream) => self.streams.remove(stream),
            _ => {}
        }
        self.records.len() >= BATCH
    }

    /// Makes a record of an event which is called `name` on a timeline, if it is selected. The timeline can know more names
    /// than the events here. Returns `true` if there are enough records to pass on.
    pub fn named_event(&mut self, event: &Event<'_>, name: &str) -> bool {
        self.event(event, Some(name));
        self.records.len() >= BATCH
    }

    /// Takes the records so far, for [`Pairs::take`].
    #[must_use]
    pub fn take_records(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.records)
    }

    /// Takes the fields of the key and of rows that exist in the class of some selected event.
    #[must_use]
    pub fn take_known_fields(&mut self) -> KnownFields {
        std::mem::take(&mut self.known_fields)
    }

    fn event(&mut self, event: &Event<'_>, name: Option<&str>) {
        if !self.streams.has(event.stream) {
            self.streams.insert(event.stream, StreamKey::new(event.stream), || ());
        }
        let Self { options, streams, records, key, by, own, text, known_fields } = self;
        let (options, Some((stream, _, classes))) = (&**options, streams.get_mut(event.stream)) else {
            return;
        };
        let class = classes.for_event(event, || ClassPart::new(event, options, known_fields));
        if class.does == 0 {
            return;
        }
        let trace = Arc::as_ptr(&event.stream.trace).addr() as u64;
        let mut does = class.does & !does::OBJECT;
        if does != 0 {
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
                    _ => does |= does::NO_KEY,
                }
            }
            by.clear();
            if does & does::BEGIN != 0 {
                class.by.push(by, &options.by, stream, event);
            } else if let Some(span) = class.span.as_ref().filter(|_| does & does::SWITCH != 0) {
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
                does,
                event.nanoseconds(),
                [&key[..], &by[..], class.name.as_bytes(), &own[..]],
            );
        }
        // From here on, as on a timeline.
        if class.does & does::OBJECT != 0 && name.is_none() {
            own.clear();
            if let Some(object) = class.own_names.push_note(own, event, trace) {
                push_record(records, does::OBJECT, Some(0), [&object.to_le_bytes()[..], &[], &[], &own[..]]);
            }
        }
    }
}

/// Appends a record, which [`PairRecord`] reads.
fn push_record(records: &mut Vec<u8>, mut does: u16, time: Option<i128>, parts: [&[u8]; 4]) {
    if time.is_none() {
        does |= does::NO_TIME;
    }
    records.extend_from_slice(&does.to_le_bytes());
    records.extend_from_slice(&time.unwrap_or_default().to_le_bytes());
    for part in parts {
        records.extend_from_slice(&(part.len() as u32).to_le_bytes());
        records.extend_from_slice(part);
    }
}

impl ClassPart {
    #[cold]
    fn new(event: &Event<'_>, options: &PairOptions, known_fields: &mut KnownFields) -> Self {
        if options.spans {
            return Self::of_span(event, options, known_fields);
        }
        let name = event.name();
        let mut does = 0;
        if (options.begins)(name) {
            does |= does::BEGIN;
        }
        if (options.ends)(name) {
            does |= does::END;
        }
        let is_span =
            matches!((does, event.class.role), (does::BEGIN, EventRole::Begin) | (does::END, EventRole::End));
        // An event with two uses keeps its name: it is not the other end of what it begins or ends.
        let name = if is_span { span_name(event) } else { name };
        let name = name[..name.floor_char_boundary(key::MOST_BYTES)].to_owned();
        let keys: Box<[_]> = options.keys.iter().map(|name| KeyField::find(event, name)).collect();
        let by = ClassKey::of_pairs(event, &options.by);
        if does != 0 {
            for (name, field) in options.keys.iter().zip(&keys) {
                if let Some(field) = field {
                    known_fields.entry(name.clone()).or_insert(field.base());
                }
            }
            by.add_known(&options.by, known_fields);
        }
        Self { does, keys, by, name, own_names: OwnNames::of(event, is_span), span: None }.with_objects()
    }

    fn of_span(event: &Event<'_>, options: &PairOptions, known_fields: &mut KnownFields) -> Self {
        let span = SpanPart::new(event);
        let name = span_name(event);
        let name = name[..name.floor_char_boundary(key::MOST_BYTES)].to_owned();
        let by = ClassKey::of_pairs(event, &options.by);
        if span.does & does::BEGIN != 0 {
            by.add_known(&options.by, known_fields);
        }
        let own_names = OwnNames::of(event, span.does & (does::BEGIN | does::END) != 0);
        Self { does: span.does, keys: Box::default(), by, name, own_names, span: Some(span) }.with_objects()
    }

    /// Also makes records of what events say about objects.
    fn with_objects(mut self) -> Self {
        if self.own_names.has_objects() {
            self.does |= does::OBJECT;
        }
        self
    }
}

/// A record of an event, or of what it says about an object, whose key is the key.
#[derive(Clone, Copy)]
struct PairRecord<'r> {
    does: u16,
    time: i128,
    key: &'r [u8],
    by: &'r [u8],
    /// Name of the class.
    name: &'r [u8],
    own_name: OwnName<'r>,
}

impl<'r> PairRecord<'r> {
    fn next(records: &mut &'r [u8]) -> Option<Self> {
        let (does, rest) = records.split_first_chunk()?;
        let (time, mut rest) = rest.split_first_chunk()?;
        let mut part = || {
            let (length, bytes) = rest.split_first_chunk()?;
            let (part, behind) = bytes.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = behind;
            Some(part)
        };
        let (key, by, name, own_name) = (part()?, part()?, part()?, OwnName::of(part()?));
        *records = rest;
        let (does, time) = (u16::from_le_bytes(*does), i128::from_le_bytes(*time));
        Some(Self { does, time, key, by, name, own_name })
    }

    /// Returns the names of the event.
    fn edge(&self) -> SpanEdge<&'r [u8]> {
        let name = self.own_name.text().unwrap_or(self.name);
        SpanEdge { name, kind: self.name, is_unnamed: self.does & does::UNNAMED != 0 }
    }
}

/// Numbers of events without a partner, or that were ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpaired {
    /// Number of begins without an end because another event began the same thing.
    pub begun_again: u64,
    /// Number of begins without an end at the end of the traces.
    pub without_end: u64,
    /// Number of begins that were given up because too many were open.
    pub given_up: u64,
    /// Number of ends without a begin.
    pub without_begin: u64,
    /// Number of events without a key field.
    pub without_key: u64,
    /// Number of events without a time.
    pub without_time: u64,
}

/// Two paired events.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pair {
    /// Time of the first event, in nanoseconds from the origin.
    pub begin: i128,
    /// Time of the second event, in nanoseconds from the origin.
    pub end: i128,
    /// Names of their classes; of events that begin or end spans, the names of the spans on a timeline.
    pub names: [String; 2],
    /// Values of the key.
    pub key: Vec<GroupValue>,
    /// Thread of a span; `None` for other pairs, and where it is not known.
    pub thread: Option<GroupValue>,
}

/// Pairs events.
///
/// An event ends what the last event with the same key began. An event selected by both names ends the open pair, and
/// begins another.
#[derive(Debug)]
pub struct Pairs {
    all: PairRow,
    groups: Groups<PairRow>,
    unpaired: Unpaired,
    open: HashMap<Arc<[u8]>, OpenPair>,
    most_open: usize,
    /// Open pairs, oldest first, and some that are no longer open.
    order: VecDeque<(u64, Arc<[u8]>)>,
    next: u64,
    slowest: BinaryHeap<Reverse<Slow>>,
    most_slow: usize,
    longer_than: Option<i128>,
    nested: NestedSpans,
    /// Names of spans with keys; `None` if events are no spans.
    span_names: Option<SpanNames>,
    /// Number of bytes before the values of keys, which tell traces apart.
    key_begin: usize,
    /// Groups of the rows.
    by: Vec<GroupBy>,
    /// Objects whose names are those of spans.
    objects: NamedObjects,
    /// Memory for names.
    text: String,
}

/// An open pair.
#[derive(Debug)]
struct OpenPair {
    number: u64,
    time: i128,
    by: Box<[u8]>,
    name: Box<[u8]>,
    /// Name of the class, if that is another one.
    kind: Option<Box<[u8]>>,
    /// Time of the spans within this one, in nanoseconds.
    inside: i128,
}

impl OpenPair {
    /// Makes the pair that an event begins. `by` is what its row is of.
    fn new(number: u64, record: &PairRecord<'_>, by: &[GroupBy]) -> Self {
        let SpanEdge { name, kind, .. } = record.edge();
        let by = match record.own_name.text() {
            Some(name) => key::with_name(record.by, by, &String::from_utf8_lossy(name)).into(),
            None => record.by.into(),
        };
        let kind = (kind != name).then(|| kind.into());
        Self { number, time: record.time, by, name: name.into(), kind, inside: 0 }
    }

    /// Returns the names of the event that began it.
    fn edge(&self) -> SpanEdge<&[u8]> {
        let name = &*self.name;
        SpanEdge { name, kind: self.kind.as_deref().unwrap_or(name), is_unnamed: false }
    }

    /// Returns the names of both events. An end without a name of its own has that of what it ends.
    fn into_names(self, end: &PairRecord<'_>) -> [Box<[u8]>; 2] {
        let is_named_once = end.own_name.text().is_none() && end.name == self.edge().kind;
        let end = if is_named_once { self.name.clone() } else { end.edge().name.into() };
        [self.name, end]
    }
}

/// A pair, ordered by its duration; of equal durations, the first one is greater.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slow {
    length: i128,
    number: Reverse<u64>,
    begin: i128,
    names: [Box<[u8]>; 2],
    key: Arc<[u8]>,
}

/// Latencies of a group, and the time without that of spans within them, in nanoseconds.
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

/// A row of [`Pairs`].
#[derive(Debug)]
#[non_exhaustive]
pub struct PairGroup<'p> {
    /// Values common to the events that begin, in the order of [`PairOptions::by`].
    pub key: Vec<GroupValue>,
    /// Maximum number of its pairs that were not counted.
    pub missed: u64,
    /// Durations of its pairs, in nanoseconds.
    pub latencies: &'p Distribution,
    /// Sum of the durations without those of spans within them, in nanoseconds; for pairs that are no spans, the sum.
    pub own_time: i128,
}

impl Pairs {
    /// Makes empty pairs.
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
            nested: NestedSpans::default(),
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

    /// Pairs the records of later events, made by a [`PairReader`].
    pub fn take(&mut self, records: &[u8]) {
        let mut rest = records;
        while let Some(record) = PairRecord::next(&mut rest) {
            if record.does & does::OBJECT != 0 {
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
        if record.does & does::NO_KEY != 0 {
            self.unpaired.without_key += 1;
            return;
        }
        if record.does & does::NO_TIME != 0 {
            self.unpaired.without_time += 1;
            return;
        }
        if record.does & does::SWITCH != 0 {
            self.nested.switch(record.key, record.by, self.most_open);
            return;
        }
        if record.does & does::NESTED != 0 {
            return self.nested_event(record);
        }
        if let Some(names) = self.span_names.take() {
            return self.keyed_event(record, names);
        }
        if record.does & does::END != 0 {
            self.end(record);
        }
        if record.does & does::BEGIN != 0 {
            self.begin(record);
        }
    }

    /// Begins or ends a span of a track. The innermost open span with the name of the end is ended, or, if the end has no
    /// name of its own, the innermost one.
    fn nested_event(&mut self, record: &PairRecord<'_>) {
        let track = self.nested.track(record.does, record.key);
        if record.does & does::BEGIN != 0 {
            let key = self.nested.begin(&track, self.most_open).to_vec();
            return self.begin(&PairRecord { key: &key, ..*record });
        }
        let (open, end) = (&self.open, record.edge());
        // What is within spans that lost their ends is within the span around them.
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

    /// Begins or ends a span with a key.
    fn keyed_event(&mut self, record: &PairRecord<'_>, mut names: SpanNames) {
        let PairRecord { does, key, name, .. } = *record;
        if does & does::BEGIN != 0 {
            self.begin(&PairRecord { key: names.begin(key, name), ..*record });
        } else {
            let open = &self.open;
            let opened = |key: &[u8]| Some(open.get(key)?.number);
            match names.end(key, name, does & does::UNNAMED != 0, opened) {
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

    /// Gives up the oldest open pair.
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
            // An event that also begins is not an end if nothing is open.
            if record.does & does::BEGIN == 0 {
                self.unpaired.without_begin += 1;
            }
            return;
        };
        let length = record.time.saturating_sub(open.time);
        if record.does & does::NESTED != 0
            && let Some(around) = NestedSpans::around(record.key)
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

    /// Returns the durations of all pairs, in nanoseconds. Negative if a clock has gone back.
    #[must_use]
    pub fn latencies(&self) -> &Distribution {
        &self.all.0
    }

    /// Returns the sum of the durations of all spans without those of spans within them, in nanoseconds.
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

    /// Returns the maximum number of pairs of a group without a row; 0 if all have rows.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.groups.missed()
    }

    /// Returns the numbers of unpaired events.
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
