//! Events with random classes and values are written as CTF in every dialect, and read back unchanged.

use std::cell::Cell;
use std::sync::Arc;

use ichnos::convert::target;
use ichnos::io::{Lane, WriteOptions, WriteSource, WriteTarget};
use ichnos::model::class::{
    DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation, Length, StringLength,
};
use ichnos::model::clock::{ClockClass, ClockValue};
use ichnos::model::decode::{DecodeLimits, PacketBits, Position, UNKNOWN};
use ichnos::model::event::{EventValues, Scopes};
use ichnos::model::trace::Limits;
use ichnos::model::{DataStream, Event, Message, Scope, Sink, Trace, TraceClass, Window};
use ichnos::prelude::Cursor;
use ichnos_jsonl::{JsonLines, JsonLinesOptions};
use proptest::prelude::*;
use serde_json::Value;

use crate::values::{Push, Sample, leaf, sample, structure_of};

/// Returns the same class, with lengths, presence and selected options only in the values.
fn of_values(class: &FieldClass) -> Arc<FieldClass> {
    let mut class = class.clone();
    let inner = |class: &mut Arc<FieldClass>| *class = of_values(class);
    let nowhere = || Box::new(FieldLocation::by_values());
    match &mut class.kind {
        FieldKind::Structure { members, .. } => {
            members.iter_mut().for_each(|member| inner(&mut member.class))
        }
        FieldKind::Array { element, length, .. } => {
            *length = Length::Dynamic(nowhere());
            inner(element);
        }
        FieldKind::Optional { field, selector, .. } => {
            *selector = nowhere();
            inner(field);
        }
        FieldKind::Variant { options, selector, .. } => {
            *selector = nowhere();
            options.iter_mut().for_each(|option| inner(&mut option.class));
        }
        FieldKind::String { length, .. } => *length = StringLength::Dynamic(nowhere()),
        FieldKind::Blob { length, .. } => *length = Length::Dynamic(nowhere()),
        _ => {}
    }
    Arc::new(class)
}

/// Parses events as JSON.
fn events_of(lines: &[u8]) -> Vec<Value> {
    let lines = String::from_utf8_lossy(lines);
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|line| line["type"] == "event").collect()
}

/// Removes dialect differences from a value: absent and empty fields become null.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) if object.is_empty() => Value::Null,
        // Invalid text is replaced if it must be converted to another encoding.
        Value::Object(object) if object.contains_key("$bytes") => Value::from("text that is not valid"),
        Value::String(text) if text.contains('\u{fffd}') => Value::from("text that is not valid"),
        Value::Object(object) => {
            let members = object.iter().map(|(name, value)| (name.clone(), canonical(value)));
            Value::Object(members.filter(|(_, value)| !value.is_null()).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

/// Event as values or as bits.
struct Made<'a> {
    values: &'a EventValues,
    bits: Option<Scopes<'a>>,
    cycles: u64,
}

impl Made<'_> {
    fn feed(&self, stream: &DataStream, take: &mut dyn FnMut(&Message<'_>)) {
        let plans = &stream.plans().event_records[0];
        let scopes = self.bits.unwrap_or_else(|| Scopes::from_values(self.values));
        let nanoseconds = stream.clock().map_or(0, |clock| clock.nanoseconds(self.cycles));
        let clock = ClockValue { nanoseconds, cycles: self.cycles };
        take(&Message::Event(Event::new(stream, plans, Some(&clock), scopes)));
    }
}

/// Function that passes messages to a receiver.
type Feed<'f> = dyn FnMut(&mut dyn FnMut(&Message<'_>)) + 'f;

fn json(feed: &mut Feed<'_>) -> Vec<Value> {
    let mut out = Vec::new();
    let mut sink = JsonLines::new(&mut out, JsonLinesOptions::default());
    feed(&mut |message| assert!(sink.message(message).unwrap().is_continue()));
    sink.finish().unwrap();
    events_of(&out)
}

/// Writes events in all dialects, and compares them after reading.
fn assert_written(stream: &Arc<DataStream>, events: &[Made<'_>], packet_size: Option<u64>) {
    let expected = json(&mut |take| {
        take(&Message::StreamBegin(stream));
        events.iter().for_each(|event| event.feed(stream, take));
        take(&Message::StreamEnd(stream));
    });
    assert_eq!(expected.len(), events.len());
    let expected: Vec<Value> = expected.iter().map(canonical).collect();
    let directory = tempfile::tempdir().unwrap();
    for dialect in ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"] {
        let path = directory.path().join(dialect);
        let writer = target(Some("ctf"), &path, Some(dialect)).unwrap().writer;
        let streams = vec![Arc::clone(stream)];
        let source = WriteSource {
            trace: Arc::clone(&stream.trace),
            format: "test",
            has_dynamic_classes: true,
            streams,
        };
        let mut options = WriteOptions::default();
        options.dialect = Some(dialect.to_owned());
        options.packet_size = packet_size;
        let output = writer.create(WriteTarget::Complete(path.clone()), vec![source], &options).unwrap();
        let mut encoder = output.worker(Lane::Stream { source: 0, stream: 0 });
        for event in events {
            event.feed(stream, &mut |message| {
                encoder.message(message).unwrap();
            });
            while let Some(block) = encoder.take() {
                output.join(block).unwrap();
            }
        }
        encoder.finish().unwrap();
        while let Some(block) = encoder.take() {
            output.join(block).unwrap();
        }
        drop(encoder);
        let report = output.finish().unwrap();
        assert_eq!(report.events, events.len() as u64, "{dialect}: {:?}", report.losses);
        let session = ichnos::open([&path], &ichnos::OpenOptions::default()).unwrap();
        let mut cursor = session.cursor(Window::default()).unwrap();
        let found = json(&mut |take| {
            while cursor.advance() {
                let message = cursor.current().unwrap();
                assert!(!matches!(message, Message::Damage(_)), "{dialect}: {message:?}");
                take(&message);
            }
        });
        let found: Vec<Value> = found.iter().map(canonical).collect();
        for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
            for scope in ["ts", "cycles", "name", "common_context", "payload"] {
                assert_eq!(expected[scope], found[scope], "{dialect}, event {number}, {scope}");
            }
        }
        assert_eq!(found.len(), events.len(), "{dialect}");
    }
}

/// Returns a data stream of a trace with one event record class.
fn stream_of(common_context: Arc<FieldClass>, payload: Arc<FieldClass>) -> Arc<DataStream> {
    let event = EventRecordClass {
        name: Some("event".to_owned()),
        payload: Some(payload),
        ..EventRecordClass::default()
    };
    let stream = DataStreamClass {
        common_context: Some(common_context),
        default_clock: Some(0),
        event_records: vec![Arc::new(event)],
        ..DataStreamClass::default()
    };
    let class = TraceClass {
        dialect: "test".to_owned(),
        clocks: vec![ClockClass::new("clock", 1_000_000_000)],
        data_streams: vec![stream],
        ..TraceClass::default()
    };
    let trace = Arc::new(Trace::new(class, "trace", &Limits::default()).unwrap());
    Arc::new(DataStream::new(trace, 0, None, "stream").unwrap())
}

fn values_of(context: &[Push], payload: &[Push]) -> EventValues {
    let mut values = EventValues::default();
    values.begin(Scope::CommonContext);
    context.iter().for_each(|push| push.to(&mut values));
    values.begin(Scope::Payload);
    payload.iter().for_each(|push| push.to(&mut values));
    values
}

/// Returns event times, mostly sorted.
fn times() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec((1u32..64, any::<u64>()).prop_map(|(shift, time)| time >> shift), 1..6)
}

fn check(context: &[Sample], payload: &[Sample], times: &[u64], packet_size: Option<u64>) {
    let (context_class, context_bytes, context_pushes) = structure_of(context);
    let (payload_class, payload_bytes, payload_pushes) = structure_of(payload);
    let values = values_of(&context_pushes, &payload_pushes);
    // Lanes are merged when read. Times are sorted, so that events keep their order.
    let mut times = times.to_vec();
    times.sort_unstable();

    let stream = stream_of(Arc::clone(&context_class), Arc::clone(&payload_class));
    let data = [&context_bytes[..], &payload_bytes].concat();
    let (context_at, payload_at) = (Position::at(0), Position::at(8 * context_bytes.len() as u64));
    let begins = [context_at, context_at, context_at, context_at, payload_at, payload_at];
    let slots = vec![Cell::new(UNKNOWN); stream.trace.plans.slots()];
    let limits = DecodeLimits::from(&Limits::default());
    let bits = Scopes::new(PacketBits::whole(&data), &begins, &slots, &limits);
    let events = |bits| times.iter().map(move |cycles| (bits, *cycles));
    let made = |(bits, cycles)| Made { values: &values, bits, cycles };
    // Bits and values alternate.
    let mixed: Vec<Made<'_>> = events(Some(bits)).chain(events(None)).map(made).collect();
    let mut mixed = mixed;
    mixed.sort_by_key(|event| event.cycles);
    assert_written(&stream, &mixed, packet_size);

    let stream = stream_of(of_values(&context_class), of_values(&payload_class));
    let only_values: Vec<Made<'_>> = events(None).map(made).collect();
    assert_written(&stream, &only_values, packet_size);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn events_are_written_in_all_dialects(
        context in prop::collection::vec(leaf(), 0..3),
        payload in prop::collection::vec(sample(), 0..6),
        times in times(),
        packet_size in prop::option::of(1u64..2000),
    ) {
        check(&context, &payload, &times, packet_size);
    }
}
