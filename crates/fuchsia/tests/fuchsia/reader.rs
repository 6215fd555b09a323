//! The reader delivers the same as the codec: each message in order, with all values, and the same damage, for every
//! way of reading.

use std::ops::ControlFlow;

use ichnos_fuchsia::log::{self, Encoder, Framing, Messages};
use ichnos_fuchsia::log_reader::{FuchsiaLogOptions, LogTrace, probe};
use ichnos_io::{Entry, Tree};
use ichnos_model::class::{FieldKind, StringLength};
use ichnos_model::cursor::{DrainEnd, MessageKind, StreamCursor};
use ichnos_model::event::EventCounts;
use ichnos_model::field::{Field, Real, Text};
use ichnos_model::meaning::Meaning;
use ichnos_model::message::DamageKind;
use ichnos_model::{Cursor, Event, Message, OpenedTrace, Scope, Visitor, Window};
use ichnos_testing::Random;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::properties::{Parts, framing, parts};

fn tree(bytes: &[u8]) -> Tree {
    let entries = vec![Entry::from_bytes("a.log", bytes.to_vec())];
    Tree { name: "x/a.log".to_owned(), entries, problems: Vec::new() }
}

fn open(bytes: &[u8], options: &FuchsiaLogOptions) -> LogTrace {
    LogTrace::open(&tree(bytes), options).unwrap()
}

fn forced() -> FuchsiaLogOptions {
    let mut options = FuchsiaLogOptions::default();
    options.force = true;
    options
}

/// Scope values with names, as text. Array arguments appear as members.
#[derive(Default)]
struct Values {
    list: Vec<String>,
    /// Name of the next value, if it differs from the member name.
    name: Option<String>,
}

impl Values {
    fn of(event: &Event<'_>, scope: Scope) -> Vec<String> {
        let mut values = Self::default();
        event.visit(scope, &mut values).unwrap();
        values.list
    }

    fn push(&mut self, field: Field<'_>, value: &str) {
        let own = field.name().unwrap_or_default().to_owned();
        let name = self.name.take().unwrap_or(own);
        self.list.push(format!("{name}={value}"));
    }
}

impl Visitor for Values {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.push(field, &format!("u{value}"));
    }
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.push(field, &format!("i{value}"));
    }
    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.push(field, &format!("{value}"));
    }
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        let Real::Double(value) = value else { panic!("{value:?}") };
        self.push(field, &format!("f{:x}", value.to_bits()));
    }
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let is_option = field.node().is_variant_option();
        if self.name.is_none() && !is_option && field.name() == Some("name") && self.is_in_array(field) {
            self.name = Some(value.to_str_lossy().into_owned());
        } else {
            self.push(field, &format!("{:?}", value.bytes.escape_ascii().to_string()));
        }
    }
    fn null(&mut self, field: Field<'_>) {
        self.push(field, "null");
    }
}

impl Values {
    /// Returns `true` for a field in an array of arguments, where types precede names.
    fn is_in_array(&self, field: Field<'_>) -> bool {
        matches!(&field.class().kind, FieldKind::String { length: StringLength::Prefixed { length, .. }, .. }
            if length.length == 16)
    }
}

/// Returns the reader results.
fn read(trace: &LogTrace) -> Vec<String> {
    let found = moved_through(trace);
    let mut counts = EventCounts::default();
    let (mut handed_on, mut others) = (0, 0);
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.count_events(3, &mut counts).is_some_and(|head| {
            others += usize::from(is_reported(head.kind));
            true
        }) {}
    }
    for mut cursor in trace.cursors(Window::default()) {
        let mut limit = 0;
        let mut take = |message: &Message<'_>| {
            handed_on += usize::from(matches!(message, Message::Event(_)) || is_reported(kind_of(message)));
            ControlFlow::Continue(())
        };
        while let DrainEnd::Limit(order) = cursor.drain(limit, &mut take) {
            limit = order.saturating_add(1_000);
        }
        assert!(cursor.head().is_none() && !cursor.advance());
    }
    assert_eq!((counts.sum() as usize + others, handed_on), (found.len(), found.len()));
    found
}

/// Returns `true` for reported messages other than events.
fn is_reported(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::DiscardedEvents | MessageKind::Damage)
}

fn kind_of(message: &Message<'_>) -> MessageKind {
    match message {
        Message::DiscardedEvents(_) => MessageKind::DiscardedEvents,
        Message::Damage(_) => MessageKind::Damage,
        _ => MessageKind::StreamBegin,
    }
}

fn moved_through(trace: &LogTrace) -> Vec<String> {
    let mut found = Vec::new();
    for mut cursor in trace.cursors(Window::default()) {
        while let Some(head) = cursor.next_head() {
            match cursor.current().unwrap() {
                Message::Event(event) => {
                    assert_eq!(head.nanoseconds(), event.clock.map(|clock| clock.nanoseconds));
                    assert_eq!(head.class_index(), event.class_index());
                    let time = event.clock.unwrap().nanoseconds;
                    let context = Values::of(&event, Scope::SpecificContext);
                    let mut all = Values::default();
                    event.visit_all(&mut all).unwrap();
                    assert_eq!(all.list, [&context[..], &Values::of(&event, Scope::Payload)].concat());
                    let context: Vec<String> = context.into_iter().filter(|v| v != "tag=u0").collect();
                    found.push(format!("{time} {context:?} {:?}", Values::of(&event, Scope::Payload)));
                }
                Message::DiscardedEvents(discarded) => {
                    found.push(format!("dropped {}", discarded.count.unwrap()));
                }
                Message::Damage(damage) => {
                    let DamageKind::Rule(rule) = &damage.kind else { panic!("{damage}") };
                    assert!(rule.fatal, "{damage}");
                    found.push(format!("damage {} {} {}", damage.bit / 8, damage.skipped / 8, rule.name));
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns the codec results.
fn expected(bytes: &[u8], framing: Framing) -> Vec<String> {
    let mut found = Vec::new();
    for message in Messages::new(bytes, framing) {
        let message = match message {
            Ok(message) => message,
            Err(damage) => {
                found.push(format!("damage {} {} {}", damage.offset, damage.skipped, damage.error.rule));
                continue;
            }
        };
        let text = |text: log::Text<'_>| format!("{:?}", text.as_bytes().escape_ascii().to_string());
        let (time, dropped, context, mut values);
        match &message {
            log::Message::Record { record, .. } => {
                let attribution = message.attribution();
                let control = record.control().and_then(|control| control.rolled_out).unwrap_or(0);
                let appended = record.appended().map_or(0, |(appended, _)| appended.rolled_out);
                let appended = if record.is_control() { 0 } else { appended };
                let behind = attribution.map_or(0, |attribution| attribution.rolled_out);
                dropped = record
                    .known()
                    .dropped
                    .saturating_add(control.saturating_add(appended))
                    .saturating_add(behind);
                time = record.timestamp();
                let severity = format!("severity=u{}", record.raw_severity());
                let tag = format!("tag=u{}", record.tag());
                context = if record.tag() != 0 { vec![tag, severity] } else { vec![severity] };
                values = record
                    .arguments()
                    .map(|argument| {
                        let argument = argument.unwrap();
                        let value = match argument.value {
                            log::Value::Null => "null".to_owned(),
                            log::Value::Signed(value) => format!("i{value}"),
                            log::Value::Unsigned(value) => format!("u{value}"),
                            log::Value::Float(value) => format!("f{:x}", value.to_bits()),
                            log::Value::Bool(value) => value.to_string(),
                            log::Value::Text(value) => text(value),
                            other => panic!("{other:?}"),
                        };
                        format!("{}={value}", argument.name)
                    })
                    .collect::<Vec<String>>();
                if let Some(attribution) = attribution {
                    values.push(format!("$__rolled_out=u{}", attribution.rolled_out));
                    // Strings whose length is in another field end at the first U+0000.
                    let cut = |text: log::Text<'_>| {
                        let text = text.to_string();
                        format!(
                            "{:?}",
                            text.split('\0').next().unwrap().as_bytes().escape_ascii().to_string()
                        )
                    };
                    values.push(format!("$__moniker={}", cut(attribution.moniker.unwrap())));
                    values.push(format!("$__url={}", cut(attribution.url.unwrap())));
                }
            }
            log::Message::Legacy(packet) => {
                dropped = packet.dropped().into();
                time = packet.timestamp();
                context = vec![
                    format!("pid=u{}", packet.pid()),
                    format!("tid=u{}", packet.tid()),
                    format!("severity=i{}", packet.raw_severity()),
                    format!("dropped=u{}", packet.dropped()),
                ];
                values = packet.tags().map(|tag| format!("tag={}", text(tag))).collect();
                values.push(format!("message={}", text(packet.message())));
            }
            other => panic!("{other:?}"),
        }
        if dropped > 0 {
            found.push(format!("dropped {dropped}"));
        }
        found.push(format!("{time} {context:?} {values:?}"));
    }
    found
}

fn compare(bytes: &[u8], options: &FuchsiaLogOptions) {
    let framing = Framing::recognize(bytes, true).unwrap_or(Framing::Records);
    assert_eq!(read(&open(bytes, options)), expected(bytes, framing));
}

fn framed(records: &[Vec<u8>], framing: Framing) -> Vec<u8> {
    let frame = |record: &Vec<u8>| match framing {
        Framing::Records => record.clone(),
        Framing::ExtendedRecords => {
            let mut bytes = record.clone();
            bytes.extend_from_slice(&[7, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
            bytes.extend_from_slice(b"core/ab\0fuchsia:x\0\0\0\0\0\0\0");
            bytes
        }
        _ => [&(record.len() as u32).to_le_bytes()[..], record].concat(),
    };
    records.iter().flat_map(frame).collect()
}

/// Records with many repeated shapes, as in real logs, and with small changes.
fn logs() -> impl Strategy<Value = Vec<u8>> {
    let framing = prop::sample::select(&[Framing::Records, Framing::ExtendedRecords, Framing::Datagrams]);
    let kinds = vec(parts(), 1..5);
    let order = vec((any::<prop::sample::Index>(), 1usize..4), 1..12);
    let damage = vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (framing, kinds, order, damage).prop_map(|(framing, kinds, order, damage)| {
        let kinds: Vec<Vec<u8>> = kinds.iter().map(Parts::encode).collect();
        let records: Vec<Vec<u8>> =
            order.iter().flat_map(|(index, count)| vec![index.get(&kinds).clone(); *count]).collect();
        let mut bytes = framed(&records, framing);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_reader_gives_what_the_codec_gives(bytes in logs()) {
        compare(&bytes, &forced());
    }

    #[test]
    fn so_it_does_when_classes_are_compiled_again_and_again(kinds in vec(parts(), 8..14), framing in framing()) {
        let mut options = forced();
        options.compiled_classes = 0;
        let records: Vec<Vec<u8>> = kinds.iter().map(Parts::encode).collect();
        compare(&framed(&[&records[..], &records, &records].concat(), framing), &options);
    }

    #[test]
    fn so_it_does_when_there_are_too_many_classes(kinds in vec(parts(), 1..8), framing in framing()) {
        let mut options = forced();
        options.limits.dynamic_event_record_classes = 2;
        let records: Vec<Vec<u8>> = kinds.iter().map(Parts::encode).collect();
        compare(&framed(&[&records[..], &records].concat(), framing), &options);
    }
}

/// Advances by a number of messages.
trait Steps: StreamCursor {
    fn by_steps(&mut self, count: usize) {
        (0..count).for_each(|_| assert!(self.advance()));
    }
}

impl<C: StreamCursor> Steps for C {}

/// Returns a record with three arguments.
fn record(time: i64, name: &str, value: log::Value<'_>) -> Vec<u8> {
    let mut buffer = [0; 400];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(time, 0x30).unwrap();
    record.argument("pid", 7u64).unwrap();
    record.argument("message", "sent").unwrap();
    record.argument(name, value).unwrap();
    record.finish();
    encoder.written().to_vec()
}

#[test]
fn both_readers_accept_texts_beyond_ascii() {
    let texts = ["a", "größe", "日本語のログ", "", "\u{0}x"];
    let mut bytes: Vec<u8> = texts.iter().flat_map(|text| record(1, "k", (*text).into())).collect();
    let mut broken = record(2, "k", "grün".into());
    // Inside a character, in a value other than the message.
    let at = broken.len() - 6;
    broken[at] = b'x';
    bytes.extend(broken);
    bytes.extend(record(3, "k", "b".into()));
    compare(&bytes, &FuchsiaLogOptions::default());
    assert!(
        read(&open(&bytes, &FuchsiaLogOptions::default())).iter().any(|line| line.contains("value-utf8"))
    );
}

#[test]
fn classes_do_not_depend_on_order() {
    let ids = |records: &[Vec<u8>]| {
        let trace = open(&records.concat(), &FuchsiaLogOptions::default());
        read(&trace);
        let class = trace.trace().class_with_dynamic();
        class.data_streams[0].event_records.iter().map(|class| class.id).collect::<Vec<u128>>()
    };
    let (a, b) = (record(1, "a", 1u64.into()), record(2, "b", true.into()));
    let both = ids(&[a.clone(), b.clone(), a.clone()]);
    assert_eq!(both.len(), 2);
    assert_eq!(both, ids(&[b, a]));
}

#[test]
fn meanings_are_reported() {
    let mut buffer = [0; 400];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(5, 0x40).unwrap();
    record.argument("printf", 0u64).unwrap();
    record.argument("message", "%d of %s").unwrap();
    record.argument("", 3u64).unwrap();
    record.argument("tag", "net").unwrap();
    record.argument("", "ten").unwrap();
    record.argument("size", 4u64).unwrap();
    record.argument("$__moniker", "core/net").unwrap();
    record.finish();
    let trace = open(encoder.written(), &FuchsiaLogOptions::default());
    let mut cursor = trace.cursors(Window::default()).pop().unwrap();
    cursor.by_steps(2);
    let Some(Message::Event(event)) = cursor.current() else { panic!() };
    let role = event.class.log.as_deref().unwrap();
    // Padding precedes each value: argument header and name.
    use Meaning::{Component, Rendered, Tag};
    let meanings: Vec<_> = (0..7).map(|i| event.class.meanings.get(Scope::Payload, 2 * i + 1)).collect();
    let expected =
        [Some(Rendered), Some(Rendered), Some(Rendered), Some(Tag), Some(Rendered), None, Some(Component)];
    assert_eq!(meanings, expected);
    assert_eq!(event.class.meanings.get(Scope::SpecificContext, 1), Some(Meaning::Severity));
    assert_eq!(role.scale.level(0x40).name(), "WARN");
    let mut text = String::new();
    (role.text.unwrap().write)(&event, &mut text).unwrap();
    assert_eq!(text, "3 of ten");
    let plan = event.plan(Scope::Payload).unwrap();
    let node = plan.nodes().nth(plan.member(11).unwrap()).unwrap();
    assert_eq!(node.name.as_deref(), Some("size"));
}

/// Beyond the class limit, no data is lost: values that usually have their own place in a line are in the text.
#[test]
fn records_beyond_the_class_limit_have_their_text() {
    let mut options = FuchsiaLogOptions::default();
    options.limits.dynamic_event_record_classes = 0;
    let text = |bytes: &[u8]| {
        let trace = open(bytes, &options);
        let mut cursor = trace.cursors(Window::default()).pop().unwrap();
        while !matches!(cursor.current(), Some(Message::Event(_))) {
            cursor.next_head().unwrap();
        }
        let Some(Message::Event(event)) = cursor.current() else { panic!() };
        let mut text = String::new();
        (event.class.log.as_ref().unwrap().text.unwrap().write)(&event, &mut text).unwrap();
        assert_eq!(trace.trace().event_records(0).count(), 1);
        text
    };
    let records = [record(1, "a", 1u64.into()), record(2, "b", true.into())];
    assert_eq!(text(&records.concat()), "sent pid=7 a=1");
    assert_eq!(text(&records[1]), "sent pid=7 b=true");
    let extended = framed(&records, Framing::ExtendedRecords);
    assert_eq!(text(&extended), "sent pid=7 a=1 $__rolled_out=2 $__moniker=core/ab $__url=fuchsia:x");
    compare(&extended, &options);
}

#[test]
fn windows_apply_to_each_record() {
    let times = [5, 1, 9, 3, 7];
    let bytes: Vec<u8> = times.iter().flat_map(|time| record(*time, "num_dropped", 1u64.into())).collect();
    let trace = open(&bytes, &FuchsiaLogOptions::default());
    let window = Window { begin: Some(3), end: Some(7) };
    let mut cursor = trace.cursors(window).pop().unwrap();
    let mut found = Vec::new();
    while cursor.advance() {
        match cursor.current().unwrap() {
            Message::Event(event) => found.push(event.clock.unwrap().nanoseconds),
            Message::DiscardedEvents(_) => found.push(0),
            _ => {}
        }
    }
    assert_eq!(found, [0, 5, 0, 3, 0, 7]);
}

/// The clock starts at the earliest time in the first 256 KiB, in whole seconds.
#[test]
fn times_before_the_clock_origin_have_0_cycles() {
    let bytes_of = |times: &[i64]| -> Vec<u8> {
        times.iter().flat_map(|time| record(*time, "a", 1u64.into())).collect()
    };
    let values = |bytes: &[u8]| {
        let mut cursor = open(bytes, &FuchsiaLogOptions::default()).cursors(Window::default()).pop().unwrap();
        let mut values = Vec::new();
        while cursor.advance() {
            if let Message::Event(event) = cursor.current().unwrap() {
                values.push(event.clock.map(|clock| (clock.nanoseconds, clock.cycles)).unwrap());
            }
        }
        values
    };
    let second = 1_000_000_000;
    assert_eq!(values(&bytes_of(&[-1, 1])), [(-1, second - 1), (1, second + 1)]);
    let extremes = values(&bytes_of(&[i64::MIN + 1_000_000_000, i64::MAX]));
    assert!(extremes[0].1 < second && extremes[1].1 > u64::MAX - 2 * second, "{extremes:?}");
    let mut many = bytes_of(&[5]);
    many = many.repeat((256 << 10) / many.len() + 1);
    many.extend(bytes_of(&[-7, 6]));
    let late = values(&many);
    assert_eq!(late[late.len() - 3..], [(5, 5), (-7, 0), (6, 6)]);
}

#[test]
fn a_check_tells_all_rules_and_reading_goes_on() {
    let mut reserved = record(1, "a", 1u64.into());
    reserved[6] = 1;
    let mut bad = record(2, "a", 1u64.into());
    // The type of the first argument.
    bad[16] |= 0xf;
    let null = record(3, "n", log::Value::Null);
    let bytes = [reserved, bad, null, record(4, "a", 1u64.into())].concat();
    let reported = |check: bool| {
        let mut options = FuchsiaLogOptions::default();
        options.check = check;
        let trace = open(&bytes, &options);
        let mut cursor = trace.cursors(Window::default()).pop().unwrap();
        let (mut rules, mut events) = (Vec::new(), 0);
        while cursor.advance() {
            match cursor.current().unwrap() {
                Message::Damage(damage) => {
                    let DamageKind::Rule(rule) = &damage.kind else { panic!("{damage}") };
                    rules.push((rule.name, rule.record.unwrap(), damage.bit / 8));
                }
                Message::Event(_) => events += 1,
                _ => {}
            }
        }
        assert_eq!(events, 3);
        rules
    };
    let size = record(2, "a", 1u64.into()).len() as u64;
    assert_eq!(reported(false), [("argument-type-unknown", 2, size)]);
    let all = reported(true);
    let names: Vec<_> = all.iter().map(|(name, record, _)| (*name, *record)).collect();
    assert_eq!(names, [("record-reserved", 1), ("argument-type-unknown", 2), ("argument-type-null", 3)]);
    assert_eq!(all[0].2, 6);
}

/// Moniker of the component for a record tag.
fn moniker_of(event: &Event<'_>) -> Option<String> {
    event.field("resource.moniker")?.as_str().map(str::to_owned)
}

#[test]
fn tags_refer_to_components_from_control_records() {
    let mut buffer = vec![0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    let mut write = |tag: u32, moniker: Option<&str>| {
        let mut record = encoder.begin(1, 0x30).unwrap();
        record.set_tag(tag);
        record.set_control(moniker.is_some());
        let (name, value) = moniker.map_or(("message", "hi"), |moniker| ("moniker", moniker));
        record.argument(name, value).unwrap();
        record.finish();
    };
    write(5, None);
    write(5, Some("core/foo"));
    [5, 6, 5, 0].iter().for_each(|tag| write(*tag, None));
    write(6, Some("core/bar"));
    write(5, Some("core/other"));
    [5, 6].iter().for_each(|tag| write(*tag, None));
    let trace = open(encoder.written(), &forced());
    let mut found = Vec::new();
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current() {
                found.push(moniker_of(&event).unwrap_or_default());
            }
        }
    }
    // A control record contains its component.
    let (foo, bar, other) = ("core/foo", "core/bar", "core/other");
    assert_eq!(found, ["", "", foo, "", foo, "", "", "", other, bar]);
}

/// Also true for records beyond the class limit, with arguments as values, and for tag 0.
#[test]
fn all_records_with_a_known_tag_have_their_component() {
    let mut buffer = [0; 1024];
    let mut encoder = Encoder::new(&mut buffer);
    for (is_control, name, value) in
        [(false, "message", "before"), (true, "url", "fuchsia:x"), (false, "message", "after")]
    {
        let mut record = encoder.begin(1, 0x30).unwrap();
        record.set_control(is_control);
        record.argument(name, value).unwrap();
        record.argument("size", 5u64).unwrap();
        record.finish();
    }
    for (classes, paths) in [(100, ["message", "size"]), (0, ["arguments.0.value", "arguments.1.value"])] {
        let mut options = forced();
        options.limits.dynamic_event_record_classes = classes;
        let mut found = Vec::new();
        for mut cursor in open(encoder.written(), &options).cursors(Window::default()) {
            while cursor.advance() {
                if let Some(Message::Event(event)) = cursor.current() {
                    let texts = [paths[0], "resource.moniker", "url", "resource.url"];
                    let texts = texts.map(|path| event.field(path)?.as_str().map(str::to_owned));
                    found.push((texts.map(Option::unwrap_or_default), event.has_resource()));
                    assert_eq!(event.field(paths[1]).unwrap().as_u64(), Some(5));
                }
            }
        }
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], (["before", "", "", ""].map(str::to_owned), false));
        assert!(!found[1].1);
        // The URL is not a field of the record.
        assert_eq!(found[2], (["after", "", "fuchsia:x", "fuchsia:x"].map(str::to_owned), true));
    }
}

#[test]
fn a_tag_may_get_a_new_component_again_and_again() {
    let moniker = |number: usize| format!("{number:0>30000}");
    let mut bytes = Vec::new();
    // Together these exceed the limit.
    for number in 0..700 {
        let mut buffer = vec![0; 40_000];
        let mut encoder = Encoder::new(&mut buffer);
        let mut record = encoder.begin(1, 0x30).unwrap();
        record.set_tag(5);
        record.set_control(true);
        record.argument("moniker", &*moniker(number)).unwrap();
        record.finish();
        let mut record = encoder.begin(1, 0x30).unwrap();
        record.set_tag(5);
        record.finish();
        bytes.extend_from_slice(encoder.written());
    }
    let mut last = None;
    for mut cursor in open(&bytes, &forced()).cursors(Window::default()) {
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current() {
                last = moniker_of(&event);
            }
        }
    }
    assert_eq!(last, Some(moniker(699)));
}

#[test]
fn a_damaged_record_among_many_loses_itself_only() {
    let records: Vec<Vec<u8>> = (0..10_000).map(|i| record(i, "k", (i as u64).into())).collect();
    for byte in [0, 1, 16, 17, 18, 24, 40, 41] {
        let mut records = records.clone();
        records[5_000][byte] ^= 0xff;
        let found = read(&open(&records.concat(), &FuchsiaLogOptions::default()));
        let events = found.iter().filter(|line| !line.starts_with("damage")).count();
        assert_eq!(events, 9_999, "{byte}");
        assert_eq!(found.len(), 10_000, "{byte}");
    }
}

#[test]
fn other_files_are_ignored() {
    let text = include_str!("reader.rs").as_bytes();
    let random = Random::new(1).bytes(300_000);
    let zeros = vec![0; 100_000];
    for other in [text, &random, &zeros, b"", b"\x29"] {
        assert!(!probe(&tree(other), &FuchsiaLogOptions::default()));
    }
    let log = record(1, "a", 1u64.into());
    assert!(probe(&tree(&log), &FuchsiaLogOptions::default()));
    let entries = vec![Entry::from_bytes("notes.txt", text.to_vec()), Entry::from_bytes("b/x", log)];
    let directory = Tree { name: "f".to_owned(), entries, problems: Vec::new() };
    let trace = LogTrace::open(&directory, &FuchsiaLogOptions::default()).unwrap();
    let streams = trace.streams();
    assert_eq!(streams.iter().map(|stream| &*stream.stream.name).collect::<Vec<_>>(), ["f/b/x"]);
}

/// Programs can contain bytes that look like packets: matching lengths and zeros, then anything.
#[test]
fn programs_are_not_logs() {
    let packet = [&[0; 32][..], b"\0@\x80\0"].concat();
    let framed = |payload: &[u8]| [&(payload.len() as u32).to_le_bytes()[..], payload].concat();
    let long = framed(&[&packet[..], &[0x0f; 2_000], &[0]].concat());
    let program = [&b"\x7fELF\x02\x01\x01\0"[..], &framed(&packet), &long, &long].concat();
    assert!(!probe(&tree(&program), &FuchsiaLogOptions::default()));
    let log = [b"\x7fELF\x02\x01\x01\0".to_vec(), framed(&packet).repeat(3)].concat();
    assert!(probe(&tree(&log), &FuchsiaLogOptions::default()));
}

/// When more datagrams arrive than can wait, each is an event or counted as dropped.
#[cfg(unix)]
#[test]
fn dropped_datagrams_are_counted() {
    use std::os::unix::net::UnixDatagram;
    use std::sync::atomic::{AtomicBool, Ordering};

    static STOP: AtomicBool = AtomicBool::new(false);
    const SENT: u64 = 4_096 + 200;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let datagrams = ichnos_io::Datagrams::at_unix_socket(&path, &STOP).unwrap();
    let sender = UnixDatagram::unbound().unwrap();
    let mut buffer = [0; 64];
    for time in 0..SENT {
        let mut encoder = Encoder::new(&mut buffer);
        let mut record = encoder.begin(time as i64, 0x30).unwrap();
        record.argument("n", time).unwrap();
        record.finish();
        sender.send_to(encoder.written(), &path).unwrap();
    }
    STOP.store(true, Ordering::Relaxed);
    let trace = LogTrace::listen(datagrams, &FuchsiaLogOptions::default()).unwrap();
    let (mut events, mut dropped, mut last) = (0, 0, None);
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            match cursor.current().unwrap() {
                Message::Event(_) => events += 1,
                Message::DiscardedEvents(discarded) => dropped += discarded.count.unwrap(),
                Message::Damage(damage) => panic!("{damage}"),
                _ => {}
            }
            last = cursor.head().map(|head| head.kind);
        }
    }
    assert_eq!((events + dropped, last), (SENT, Some(MessageKind::StreamEnd)));
    // Otherwise the test has no effect.
    assert!(events >= 4_096 && dropped > 0, "{events} {dropped}");
}
