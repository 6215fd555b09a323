//! Reads traces from memory through the public interface, and records everything that is reported.

use std::ops::ControlFlow;

use ichnos_ctf::trace::{CtfOptions, CtfTrace, OpenResult, open};
use ichnos_io::{Entry, Tree};
use ichnos_model::clock::ClockValue;
use ichnos_model::cursor::{BoxedCursor, DrainEnd, MessageKind, StreamCursor};
use ichnos_model::event::{EventCounts, Packet};
use ichnos_model::field::{Field, Real, Text, Wide};
use ichnos_model::message::Damage;
use ichnos_model::{Cursor, Event, Message, OpenedTrace, Scope, Visitor, Window};

/// Field names, and values as texts that start with their kind.
pub type FieldTexts = Vec<(String, String)>;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageReport {
    StreamBegin(Option<u128>),
    StreamEnd,
    PacketBegin(PacketReport),
    PacketEnd,
    Event(ObservedEvent),
    DiscardedEvents(Option<u64>),
    DiscardedPackets(Option<u64>),
    Damage(Damage),
}

/// Packet values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketReport {
    pub begin: Option<i128>,
    pub end: Option<i128>,
    pub sequence: Option<u64>,
    pub discarded: Option<u64>,
    pub total: u64,
    pub content: u64,
    pub fields: FieldTexts,
}

/// An event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedEvent {
    pub id: u128,
    pub nanoseconds: Option<i128>,
    pub cycles: Option<u64>,
    pub others: Vec<(u16, u64)>,
    pub fields: FieldTexts,
}

/// Collects fields.
#[derive(Default)]
pub struct FieldCollector {
    pub fields: FieldTexts,
    /// Path of open fields. For arrays, the next element's index.
    open: Vec<(String, Option<u64>)>,
}

impl FieldCollector {
    pub fn named(root: &str) -> Self {
        Self { fields: Vec::new(), open: vec![(root.to_owned(), None)] }
    }

    fn path(&mut self, field: Field<'_>) -> String {
        let depth = self.open.len();
        let (parent, index) = self.open.last_mut().expect("a root");
        let mut path = parent.clone();
        if let Some(index) = index {
            path.push_str(&format!("[{index}]"));
            *index += 1;
        } else if let Some(name) = field.name() {
            path.push_str(&if field.node().is_variant_option() {
                format!("<{name}>")
            } else {
                format!(".{name}")
            });
        }
        assert!(depth < 100);
        path
    }

    fn value(&mut self, field: Field<'_>, value: String) {
        let path = self.path(field);
        self.fields.push((path, value));
    }

    fn begin(&mut self, field: Field<'_>, index: Option<u64>) {
        let path = self.path(field);
        self.open.push((path, index));
    }

    fn end(&mut self) {
        self.open.pop();
    }
}

fn text_of(write: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("digits")
}

impl Visitor for FieldCollector {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.value(field, format!("u:{value}"));
    }
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.value(field, format!("s:{value}"));
    }
    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        use ichnos_model::class::{FieldKind, VariableLengthValue};
        let text = match &field.class().kind {
            FieldKind::Integer { .. }
            | FieldKind::VariableLength { value: VariableLengthValue::Integer(_), .. } => {
                let kind = if value.signed { "s" } else { "u" };
                format!("{kind}:{}", text_of(|out| value.write_decimal(out)))
            }
            FieldKind::BitMap { .. } => format!("m:{}", text_of(|out| value.write_radix(4, out))),
            _ => format!("a:{}", text_of(|out| value.write_radix(4, out))),
        };
        self.value(field, text);
    }
    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.value(field, format!("b:{value}"));
    }
    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        self.value(field, format!("a:{bits:x}"));
    }
    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.value(field, format!("m:{bits:x}"));
    }
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        let text = match value {
            Real::Wide(wide) => {
                format!("r:{}={:?}", text_of(|out| wide.write_radix(4, out)), value.to_f64())
            }
            _ => format!("r:{:?}", value.to_f64()),
        };
        self.value(field, text);
    }
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.value(field, format!("t:{}", value.to_str_lossy()));
    }
    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.value(field, format!("x:{digits}"));
    }
    fn null(&mut self, field: Field<'_>) {
        self.value(field, "null".to_owned());
    }
    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field, None);
    }
    fn end_structure(&mut self, _: Field<'_>) {
        self.end();
    }
    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        self.begin(field, Some(0));
        let path = self.open.last().expect("the array").0.clone();
        self.fields.push((path, format!("#{length}")));
    }
    fn end_array(&mut self, _: Field<'_>) {
        self.end();
    }
    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        self.begin(field, None);
        if !present {
            let path = self.open.last().expect("the optional").0.clone();
            self.fields.push((path, "none".to_owned()));
        }
    }
    fn end_optional(&mut self, _: Field<'_>) {
        self.end();
    }
    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.begin(field, None);
    }
    fn end_variant(&mut self, _: Field<'_>) {
        self.end();
    }
    fn begin_union(&mut self, field: Field<'_>) {
        self.begin(field, None);
    }
    fn end_union(&mut self, _: Field<'_>) {
        self.end();
    }
}

const SCOPES: [(Scope, &str); 6] = [
    (Scope::PacketHeader, "header"),
    (Scope::PacketContext, "context"),
    (Scope::EventRecordHeader, "event"),
    (Scope::CommonContext, "common"),
    (Scope::SpecificContext, "specific"),
    (Scope::Payload, "payload"),
];

fn facts(packet: Packet<'_>) -> PacketReport {
    let mut fields = Vec::new();
    for (scope, name) in &SCOPES[..2] {
        let mut collect = FieldCollector::named(name);
        packet.visit(*scope, &mut collect).expect("a delivered packet can be read");
        fields.append(&mut collect.fields);
    }
    PacketReport {
        begin: packet.begin.map(|value| value.nanoseconds),
        end: packet.end.map(|value| value.nanoseconds),
        sequence: packet.sequence_number,
        discarded: packet.discarded_counter,
        total: packet.total_length,
        content: packet.content_length,
        fields,
    }
}

/// All reported values, without structure starts and ends.
#[derive(Default)]
struct FlatValues(Vec<String>);

impl FlatValues {
    fn push(&mut self, field: Field<'_>, what: &str, value: impl std::fmt::Debug) {
        let (name, index, offset, length) = (field.name(), field.index(), field.offset, field.length);
        self.0.push(format!("{what} {name:?} {index} {offset} {length}: {value:?}"));
    }
}

macro_rules! flat {
    ($($method:ident: $type:ty),*) => {
        impl Visitor for FlatValues {
            $(fn $method(&mut self, field: Field<'_>, value: $type) {
                self.push(field, stringify!($method), value);
            })*
            fn boolean(&mut self, field: Field<'_>, value: bool, bits: u64) {
                self.push(field, "boolean", (value, bits));
            }
            fn null(&mut self, field: Field<'_>) {
                self.push(field, "null", ());
            }
            fn end_array(&mut self, field: Field<'_>) {
                self.push(field, "end_array", ());
            }
        }
    };
}

flat!(unsigned: u64, signed: i64, wide: Wide<'_>, bit_array: u64, bit_map: u64, real: Real<'_>,
    text: Text<'_>, blob: &[u8], begin_array: u64);

/// Checks that visiting an event at once equals visiting its scopes.
fn compare_all(event: &Event<'_>) {
    let (mut scopes, mut at_once) = (FlatValues::default(), FlatValues::default());
    for (scope, _) in &SCOPES[3..] {
        event.visit(*scope, &mut scopes).expect("a delivered event can be read");
    }
    event.visit_all(&mut at_once).expect("a delivered event can be read");
    assert_eq!(scopes.0, at_once.0);
}

fn happened(event: Event<'_>) -> ObservedEvent {
    compare_all(&event);
    let mut fields = Vec::new();
    for (scope, name) in &SCOPES[2..] {
        let mut collect = FieldCollector::named(name);
        event.visit(*scope, &mut collect).expect("a delivered event can be read");
        fields.append(&mut collect.fields);
    }
    ObservedEvent {
        id: event.class.id,
        nanoseconds: event.clock.map(|value| value.nanoseconds),
        cycles: event.clock.map(|value| value.cycles),
        others: event.other_clocks.to_vec(),
        fields,
    }
}

/// Creates a tree with these files.
pub fn tree(files: &[(&str, &[u8])]) -> Tree {
    let entries = files.iter().map(|(name, bytes)| Entry::from_bytes(*name, bytes.to_vec())).collect();
    Tree { name: "memory".to_owned(), entries, problems: Vec::new() }
}

/// Opens a trace from metadata and data stream files.
pub fn opened(metadata: &[u8], streams: &[(&str, &[u8])]) -> OpenResult {
    let mut files = vec![("metadata", metadata)];
    files.extend(streams);
    open(&[&tree(&files)], &CtfOptions::default())
}

/// Opens a trace that must exist.
pub fn trace(metadata: &[u8], streams: &[(&str, &[u8])]) -> CtfTrace {
    crate::written_metadata::assert_same(metadata);
    let mut opened = opened(metadata, streams);
    let errors: Vec<String> = opened.errors.iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(opened.traces.len(), 1);
    opened.traces.remove(0)
}

/// Returns the error for a trace that cannot be opened.
pub fn refusal(metadata: &[u8]) -> String {
    let opened = opened(metadata, &[]);
    assert!(opened.traces.is_empty(), "the trace was opened");
    let errors: Vec<String> = opened.errors.iter().map(ToString::to_string).collect();
    errors.join("\n")
}

/// Returns all messages from all data streams. Checks that they do not depend on how a cursor is used.
pub fn observed(trace: &CtfTrace) -> Vec<MessageReport> {
    let cursors = || trace.cursors(Window::default()).into_iter();
    let observed: Vec<MessageReport> = cursors().flat_map(all).collect();
    for step in [0, 1_000_000, u64::MAX] {
        assert_eq!(cursors().flat_map(|cursor| handed_on(cursor, step)).collect::<Vec<_>>(), observed);
    }
    compare_suspended(trace);
    for window in [Window::default(), Window { begin: Some(i128::MIN), end: None }] {
        let mut one_by_one = EventCounts::default();
        for mut cursor in trace.cursors(window) {
            while let Some(head) = cursor.next_head() {
                if head.kind == MessageKind::Event {
                    one_by_one.add(head.class_index(), head.nanoseconds());
                }
            }
        }
        for most in [1, 3, u32::MAX] {
            let mut counts = EventCounts::default();
            let mut others = 0;
            for mut cursor in trace.cursors(window) {
                while let Some(head) = cursor.count_events(most, &mut counts) {
                    others += usize::from(head.kind != MessageKind::Event);
                }
            }
            assert_eq!(counts, one_by_one);
            assert_eq!(others, observed.len() - events(&observed).len());
        }
        let one_by_one = event_times(trace.cursors(window), 0);
        for most in [1, 3, u32::MAX] {
            assert_eq!(event_times(trace.cursors(window), most), one_by_one);
        }
    }
    observed
}

/// Returns the times of all events. Cursors skip up to `most` events at once.
fn event_times(cursors: Vec<BoxedCursor>, most: u32) -> Vec<Option<i128>> {
    let (mut times, mut skipped) = (Vec::new(), Vec::new());
    for mut cursor in cursors {
        loop {
            cursor.skip_times(most, &mut skipped);
            times.extend(skipped.drain(..).map(|time| Some(i128::from(time))));
            if !cursor.advance() {
                break;
            }
            if let Some(Message::Event(event)) = cursor.current() {
                times.push(event.nanoseconds());
            }
        }
    }
    times
}

/// Checks that cursors which are suspended at each message return the same messages, positions and times, in any
/// window.
fn compare_suspended(trace: &CtfTrace) {
    let messages = |mut cursor: BoxedCursor| {
        let mut messages = Vec::new();
        while let Some(head) = cursor.next_head() {
            cursor.suspend();
            assert_eq!(cursor.head(), Some(head));
            let message = cursor.current().map(|message| (one(&message), format!("{:?}", times(&message))));
            messages.push((head, cursor.checkpoint(), message));
            cursor.suspend();
        }
        messages
    };
    let all = |cursors: Vec<BoxedCursor>| cursors.into_iter().map(messages).collect::<Vec<_>>();
    let streams = all(trace.cursors(Window::default()));
    let mut times: Vec<i128> =
        streams.iter().flatten().filter_map(|message| message.0.nanoseconds()).collect();
    times.sort_unstable();
    let third = |n: usize| times.get(times.len() * n / 3).copied();
    for window in
        [Window::default(), Window { begin: third(1), end: third(2) }, Window { begin: None, end: third(1) }]
    {
        for most_open in [0, 1] {
            assert_eq!(all(trace.small_cursors(window, most_open)), all(trace.cursors(window)), "{window:?}");
        }
    }
}

/// Returns a packet's begin and end times.
fn times(message: &Message<'_>) -> Option<(Option<ClockValue>, Option<ClockValue>)> {
    match message {
        Message::PacketBegin(packet) | Message::PacketEnd(packet) => Some((packet.begin, packet.end)),
        _ => None,
    }
}

/// Returns all messages from a cursor. Checks that heads and messages agree.
pub fn all<C: StreamCursor>(mut cursor: C) -> Vec<MessageReport> {
    let mut observed = Vec::new();
    let mut end = None;
    while let Some(head) = cursor.next_head() {
        assert_eq!(cursor.head(), Some(head));
        let message = cursor.current().expect("a message for each head");
        match message {
            Message::PacketBegin(packet) => {
                assert_eq!(head.nanoseconds(), packet.begin.map(|value| value.nanoseconds));
                end = packet.end.map(|value| value.nanoseconds);
            }
            Message::Event(event) => {
                // An event after its packet is delivered at the packet's end.
                let time = event.clock.map(|value| value.nanoseconds);
                assert!(head.nanoseconds() == time || (head.nanoseconds() == end && time > end));
            }
            _ => {}
        }
        let (kind, next) = one(&message);
        assert_eq!(head.kind, kind);
        observed.push(next);
    }
    assert!(cursor.current().is_none(), "nothing is delivered after the end");
    assert!(!cursor.advance(), "the end is the end");
    assert_eq!(cursor.head(), None);
    observed
}

/// Returns all messages by handing on, each time up to `step` after the next message.
fn handed_on<C: StreamCursor>(mut cursor: C, step: u64) -> Vec<MessageReport> {
    let mut observed = Vec::new();
    let mut limit = 0;
    if !cursor.advance() {
        return observed;
    }
    let mut take = |message: &Message<'_>| {
        observed.push(one(message).1);
        ControlFlow::Continue(())
    };
    while let DrainEnd::Limit(order) = cursor.drain(limit, &mut take) {
        assert!(order >= limit && cursor.head().is_some_and(|head| head.sort_key() == order));
        limit = order.saturating_add(step);
    }
    assert_eq!(cursor.head(), None);
    observed
}

fn one(message: &Message<'_>) -> (MessageKind, MessageReport) {
    match message {
        Message::StreamBegin(stream) => (MessageKind::StreamBegin, MessageReport::StreamBegin(stream.id)),
        Message::StreamEnd(_) => (MessageKind::StreamEnd, MessageReport::StreamEnd),
        Message::PacketBegin(packet) => {
            (MessageKind::PacketBegin, MessageReport::PacketBegin(facts(*packet)))
        }
        Message::PacketEnd(_) => (MessageKind::PacketEnd, MessageReport::PacketEnd),
        Message::Event(event) => (MessageKind::Event, MessageReport::Event(happened(*event))),
        Message::DiscardedEvents(lost) => {
            (MessageKind::DiscardedEvents, MessageReport::DiscardedEvents(lost.count))
        }
        Message::DiscardedPackets(lost) => {
            (MessageKind::DiscardedPackets, MessageReport::DiscardedPackets(lost.count))
        }
        Message::Damage(damage) => (MessageKind::Damage, MessageReport::Damage((*damage).clone())),
        _ => panic!("an unknown message"),
    }
}

/// Returns the events among messages.
pub fn events(observed: &[MessageReport]) -> Vec<&ObservedEvent> {
    observed
        .iter()
        .filter_map(|observed| match observed {
            MessageReport::Event(event) => Some(event),
            _ => None,
        })
        .collect()
}

/// Returns the packets among messages.
pub fn packets(observed: &[MessageReport]) -> Vec<&PacketReport> {
    observed
        .iter()
        .filter_map(|observed| match observed {
            MessageReport::PacketBegin(facts) => Some(facts),
            _ => None,
        })
        .collect()
}

/// Returns the damage among messages.
pub fn damage(observed: &[MessageReport]) -> Vec<&Damage> {
    observed
        .iter()
        .filter_map(|observed| match observed {
            MessageReport::Damage(damage) => Some(damage),
            _ => None,
        })
        .collect()
}
