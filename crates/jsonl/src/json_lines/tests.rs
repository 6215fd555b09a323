use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{
    DisplayBase, FieldClass, FieldKind, FieldLocation, IntegerProperties, IntegerRange, Length, Mappings,
    RangeSet, Role, StringLength, Uuid, Value,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::field::StringEncoding;
use ichnos_model::meaning::{CauseKind, Meaning};
use ichnos_model::message::DamageKind;
use ichnos_model::stack::Frame;

use super::*;
use crate::testing::{
    Fixture, SharedBytes, bits, class, compare_chunks, guid_dates_characters, integer, send, structure,
    u8_class,
};

fn print(fixture: &Fixture, options: JsonLinesOptions, payload: &[u8]) -> String {
    let out = SharedBytes::default();
    let mut sink = JsonLines::new(out.clone(), options);
    fixture.begin(&mut sink);
    fixture.packet(&mut sink, 1000, true);
    fixture.event(&mut sink, 1000, payload);
    fixture.packet(&mut sink, 2000, false);
    fixture.end(&mut sink);
    out.text()
}

/// Returns the payload of the only event.
fn payload(members: Vec<(&str, Arc<FieldClass>)>, bytes: &[u8]) -> String {
    let options = JsonLinesOptions { streams: false, ..JsonLinesOptions::default() };
    let text = print(&Fixture::new(structure(members)), options, bytes);
    text.split_once("\"payload\":").unwrap().1.strip_suffix("}\n").unwrap().to_owned()
}

#[test]
fn all_lines() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    let options = JsonLinesOptions { packets: true, ..JsonLinesOptions::default() };
    assert_eq!(
        print(&fixture, options, &[1]),
        r#"{"type":"stream-begin","stream":0,"name":"stream","id":1,"class":{"id":0,"fields":{"context":{"type":"structure","minimum_alignment":1,"members":[{"name":"number","class":{"type":"integer","length":8,"roles":["packet-sequence-number"]}},{"name":"cpu","class":{"type":"integer","length":8}}]}}},"trace":{"path":"path/trace","format":"CTF 1.8","label":"trace","environment":{"hostname":"host","vpid":7}},"clock":{"id":"clock","name":"clock","frequency":1000000000,"offset_seconds":0,"offset_cycles":0,"origin":"unix-epoch"}}
{"type":"packet-begin","stream":0,"ts":1000,"cycles":1000,"sequence_number":9,"context":{"number":9,"cpu":2}}
{"type":"event-class","stream":0,"id":3,"name":"ev","log_level":"warning","fields":{"payload":{"type":"structure","minimum_alignment":1,"members":[{"name":"a","class":{"type":"integer","length":8}}]}}}
{"type":"event","stream":0,"ts":1000,"cycles":1000,"id":3,"name":"ev","log_level":"warning","payload":{"a":1}}
{"type":"packet-end","stream":0,"ts":2000,"cycles":2000,"sequence_number":9,"content_bits":120,"total_bits":128}
{"type":"stream-end","stream":0}
"#
    );
    let options = JsonLinesOptions { streams: false, cycles: false, ..JsonLinesOptions::default() };
    assert_eq!(
        print(&fixture, options, &[1]),
        "{\"type\":\"event\",\"stream\":0,\"ts\":1000,\"id\":3,\"name\":\"ev\",\"log_level\":\"warning\",\
         \"payload\":{\"a\":1}}\n"
    );
}

/// All declarations of a trace are written once.
#[test]
fn everything_about_classes() {
    let text = |text: &str| Some(text.to_owned());
    let attributes = |name: &str| Attributes::from_iter([(name.to_owned(), Value::Array(vec![Value::Null]))]);
    let uuid = |byte: u8| Some(Uuid::from_bytes([byte; 16]));
    let fixture = Fixture::with(structure(vec![("a", u8_class())]), |trace| {
        (trace.namespace, trace.name, trace.uid, trace.uuid) = (text("tn"), text("t"), text("tu"), uuid(1));
        trace.attributes = attributes("of the trace");
        trace.call_sites = vec![Value::Map(vec![("name".to_owned(), Value::Text("ev".to_owned()))])];
        let clock = &mut trace.clocks[0];
        (clock.namespace, clock.uid, clock.uuid) = (text("cn"), text("cu"), uuid(2));
        (clock.description, clock.precision, clock.accuracy) = (text("for \"people\""), Some(5), Some(6));
        clock.origin =
            ClockOrigin::Named { namespace: text("on"), name: "o".to_owned(), uid: "ou".to_owned() };
        clock.attributes = attributes("of the clock");
        trace.clocks.push(ClockClass::new("second", 7));
        trace.data_streams[0].other_clocks.push(1);
        let stream = &mut trace.data_streams[0];
        (stream.namespace, stream.name, stream.uid) = (text("sn"), text("s"), text("su"));
        stream.attributes = attributes("of the stream");
        let event = Arc::make_mut(&mut stream.event_records[0]);
        (event.namespace, event.uid, event.emf_uri) = (text("en"), text("eu"), text("http://e"));
        event.log_level = Some(99);
        event.attributes = attributes("of the event");
    });
    let out = SharedBytes::default();
    let mut sink = JsonLines::new(out.clone(), JsonLinesOptions::default());
    fixture.begin(&mut sink);
    fixture.event_at(&mut sink, 1000, &[(1, 42)], &[1]);
    fixture.event(&mut sink, 2000, &[2]);
    fixture.end(&mut sink);
    assert_eq!(
        out.text(),
        r#"{"type":"stream-begin","stream":0,"name":"stream","id":1,"class":{"id":0,"namespace":"sn","name":"s","uid":"su","attributes":{"of the stream":[null]}},"trace":{"path":"path/trace","format":"CTF 1.8","namespace":"tn","name":"t","uid":"tu","label":"trace","uuid":"01010101-0101-0101-0101-010101010101","environment":{"hostname":"host","vpid":7},"attributes":{"of the trace":[null]},"call_sites":[{"name":"ev"}]},"clock":{"id":"clock","namespace":"cn","name":"clock","uid":"cu","uuid":"02020202-0202-0202-0202-020202020202","description":"for \"people\"","frequency":1000000000,"precision":5,"accuracy":6,"offset_seconds":0,"offset_cycles":0,"origin":{"namespace":"on","name":"o","uid":"ou"},"attributes":{"of the clock":[null]}},"other_clocks":[{"id":"second","frequency":7,"offset_seconds":0,"offset_cycles":0}]}
{"type":"event-class","stream":0,"id":3,"namespace":"en","name":"ev","uid":"eu","log_level":99,"emf_uri":"http://e","attributes":{"of the event":[null]},"fields":{"payload":{"type":"structure","minimum_alignment":1,"members":[{"name":"a","class":{"type":"integer","length":8}}]}}}
{"type":"event","stream":0,"ts":1000,"cycles":1000,"id":3,"name":"ev","log_level":99,"other_clocks":{"second":42},"payload":{"a":1}}
{"type":"event","stream":0,"ts":2000,"cycles":2000,"id":3,"name":"ev","log_level":99,"payload":{"a":2}}
{"type":"stream-end","stream":0}
"#
    );
    for line in out.text().lines() {
        assert_eq!(line.matches('{').count(), line.matches('}').count());
    }
}

#[test]
fn losses_and_damage() {
    let fixture = Fixture::new(structure(vec![]));
    let out = SharedBytes::default();
    let options = JsonLinesOptions { streams: false, ..JsonLinesOptions::default() };
    let mut sink = JsonLines::new(out.clone(), options);
    send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(5))));
    let unknown = Discarded { begin: None, end: None, ..fixture.discarded(None) };
    send(&mut sink, &Message::DiscardedPackets(unknown));
    let damage = Damage {
        file: "a\\b".to_owned(),
        stream: Some("s".to_owned()),
        bit: 81,
        kind: DamageKind::EmptyEventRecord,
        skipped: 7,
    };
    send(&mut sink, &Message::Damage(&damage));
    sink.finish().unwrap();
    assert_eq!(
        out.text(),
        r#"{"type":"discarded-events","stream":0,"count":5,"begin":{"ts":1000000000,"cycles":1000000000},"end":{"ts":2000000000,"cycles":2000000000}}
{"type":"discarded-packets","stream":0,"count":null}
{"type":"damage","file":"a\\b","stream_name":"s","bit":81,"skipped_bits":7,"message":"an event record of size zero"}
"#
    );
}

#[test]
fn numbers() {
    let signed = IntegerProperties { signed: true, ..IntegerProperties::default() };
    let hex = IntegerProperties { preferred_base: DisplayBase::Hexadecimal, ..IntegerProperties::default() };
    let members = vec![
        ("max", integer(64, hex)),
        ("min", integer(64, signed.clone())),
        ("wide", integer(72, signed)),
        ("f", class(FieldKind::Float(bits(32)))),
        ("d", class(FieldKind::Float(bits(64)))),
        ("big", class(FieldKind::Float(bits(64)))),
        ("nan", class(FieldKind::Float(bits(64)))),
        ("inf", class(FieldKind::Float(bits(64)))),
        ("quad", class(FieldKind::Float(bits(128)))),
    ];
    let mut bytes = u64::MAX.to_le_bytes().to_vec();
    bytes.extend_from_slice(&i64::MIN.to_le_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0xff]);
    bytes.extend_from_slice(&0.1f32.to_le_bytes());
    for value in [1.0, 1e300, f64::NAN, f64::NEG_INFINITY] {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes.extend_from_slice(&(0x3fff_8000u128 << 96 | 1).to_le_bytes());
    assert_eq!(
        payload(members, &bytes),
        r#"{"max":18446744073709551615,"min":-9223372036854775808,"wide":{"$int":"-18446744073709551616"},"f":0.1,"d":1.0,"big":1e300,"nan":{"$float":"NaN"},"inf":{"$float":"-Infinity"},"quad":{"$float128":"3fff8000000000000000000000000001"}}"#
    );
}

#[test]
fn guids_dates_and_characters() {
    let (members, bytes) = guid_dates_characters();
    assert_eq!(
        payload(members, &bytes),
        r#"{"id":"6b29fc40-ca47-1067-b31d-00dd010662da","filetime":"2019-08-16T12:08:20.948091100Z","ticks":"2019-08-16T12:08:20.948091100Z","var":"2019-08-16T12:08:20.000000000Z","none":-9223372036854775808,"c":"é","half":{"$bytes":"3dd8","encoding":"utf-16le"}}"#
    );
}

#[test]
fn everything_else() {
    let set = |lower, upper| RangeSet(vec![IntegerRange { lower, upper }]);
    let mappings = Mappings::from_iter([("B\"", set(0, 9)), ("A", set(1, 1))]);
    let enumeration = IntegerProperties { mappings: Some(mappings.clone()), ..IntegerProperties::default() };
    let string = |length| class(FieldKind::String { encoding: StringEncoding::Utf8, length, alignment: 8 });
    let blob = FieldKind::Blob { length: Length::Static(2), media_type: "x/y".to_owned(), alignment: 8 };
    let optional = |value| FieldKind::Optional {
        field: u8_class(),
        selector: Box::new(FieldLocation::absolute(Scope::Payload, ["e"])),
        ranges: Some(RangeSet(vec![IntegerRange::single(value)])),
    };
    let array = FieldKind::Array {
        element: u8_class(),
        length: Length::Static(2),
        minimum_alignment: 1,
        element_aligns: true,
    };
    let members = vec![
        ("e", integer(8, enumeration)),
        ("m", class(FieldKind::BitMap { bits: bits(8), flags: mappings })),
        ("b", class(FieldKind::BitArray(bits(8)))),
        ("t", class(FieldKind::Boolean(bits(8)))),
        ("s", string(StringLength::NullTerminated)),
        ("bad", string(StringLength::Static(2))),
        ("blob", class(blob)),
        ("a", class(array)),
        ("some", class(optional(1))),
        ("none", class(optional(2))),
        ("x\n", structure(vec![])),
    ];
    let bytes = b"\x01\x02\xff\x01\x01\"\\\xc3\xa9\0\xff\xfe\xab\x00\x05\x06\x07";
    assert_eq!(
        payload(members, bytes),
        "{\"e\":{\"value\":1,\"labels\":[\"B\\\"\",\"A\"]},\"m\":{\"bits\":2,\"flags\":[\"B\\\"\",\"A\"]},\
         \"b\":{\"bits\":255},\"t\":true,\"s\":\"\\u0001\\\"\\\\\u{e9}\",\"bad\":{\"$bytes\":\"fffe\"},\
         \"blob\":{\"$blob\":\"ab00\",\"media_type\":\"x/y\"},\"a\":[5,6],\"some\":7,\"none\":null,\
         \"x\\n\":{}}"
    );
}

/// Fields that are not reported have no commas.
#[test]
fn padding_between_members() {
    let padding = || class(FieldKind::Padding(bits(8)));
    let inner = structure(vec![("p", padding()), ("b", u8_class()), ("q", padding()), ("c", u8_class())]);
    let members = vec![("p", padding()), ("a", u8_class()), ("q", padding()), ("s", inner)];
    assert_eq!(payload(members, &[1, 2, 3, 4, 5, 6, 7]), r#"{"a":2,"s":{"b":5,"c":7}}"#);
}

#[test]
fn what_cannot_be_decoded_leaves_valid_lines() {
    let inner = structure(vec![("a", u8_class()), ("b", integer(64, IntegerProperties::default()))]);
    let fixture = Fixture::new(structure(vec![("n", u8_class()), ("s", inner)]));
    let out = SharedBytes::default();
    let mut sink = JsonLines::new(out.clone(), JsonLinesOptions::default());
    fixture.event(&mut sink, 0, &[1, 2, 3]);
    assert!(sink.finish().is_err());
    assert!(out.text().ends_with(",\"payload\":{\"n\":1,\"s\":{\"a\":2}}}\n"), "{}", out.text());
}

/// Event record headers are written only if they have fields other than id and time.
#[test]
fn headers_with_fields_of_their_own() {
    let print_header = |flags: bool| {
        let fixture = Fixture::with(structure(vec![("a", u8_class()), ("b", u8_class())]), |trace| {
            let mut id = FieldClass::clone(&u8_class());
            id.roles.insert(Role::EventRecordClassId);
            let mut members = vec![("id", Arc::new(id))];
            if flags {
                members.push(("flags", u8_class()));
            }
            trace.data_streams[0].event_record_header = Some(structure(members));
        });
        let options = JsonLinesOptions { streams: false, ..JsonLinesOptions::default() };
        print(&fixture, options, &[3, 7])
    };
    assert!(
        print_header(true).contains(r#","header":{"id":3,"flags":7},"payload""#),
        "{}",
        print_header(true)
    );
    assert!(!print_header(false).contains("header"), "{}", print_header(false));
}

/// Other forms for readers with 53-bit numbers, and for people who read dates.
#[test]
fn integers_and_times_in_other_forms() {
    let hex = || integer(64, IntegerProperties::default());
    let fixture = Fixture::new(structure(vec![("9007199254740993", hex()), ("b", hex())]));
    let bytes = [(1u64 << 53) + 1, (1 << 53) - 1].map(u64::to_le_bytes).concat();
    let show = |integers, time| {
        let options = JsonLinesOptions { packets: true, integers, time, ..JsonLinesOptions::default() };
        let out = SharedBytes::default();
        let mut sink = JsonLines::new(out.clone(), options);
        fixture.begin(&mut sink);
        fixture.packet(&mut sink, 1000, true);
        fixture.event(&mut sink, 1_565_957_300_948_091_100, &bytes);
        fixture.event(&mut sink, 1_565_957_300_948_091_101, &bytes);
        send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(5))));
        fixture.end(&mut sink);
        let text = out.text();
        let mut lines = text.lines().map(str::to_owned).filter(|line| !line.contains("event-class"));
        [lines.next().unwrap(), lines.nth(1).unwrap(), lines.next().unwrap(), lines.next().unwrap()]
    };
    let [begin, first, second, lost] = show(Integers::Number, JsonTime::Iso);
    assert!(begin.contains(r#""frequency":1000000000,"#), "{begin}");
    for (line, digit) in [(first, 0), (second, 1)] {
        assert!(
            line.starts_with(&format!(
                r#"{{"type":"event","stream":0,"ts":"2019-08-16T12:08:20.94809110{digit}Z","cycles":15659573009480911"#
            )),
            "{line}"
        );
    }
    assert_eq!(
        lost,
        r#"{"type":"discarded-events","stream":0,"count":5,"begin":{"ts":"1970-01-01T00:00:01.000000000Z","cycles":1000000000},"end":{"ts":"1970-01-01T00:00:02.000000000Z","cycles":2000000000}}"#
    );
    let [begin, first, _, _] = show(Integers::Auto, JsonTime::Both);
    assert!(begin.contains(r#""frequency":1000000000,"#), "{begin}");
    assert_eq!(
        first,
        r#"{"type":"event","stream":0,"ts":"1565957300948091100","time":"2019-08-16T12:08:20.948091100Z","cycles":"1565957300948091100","id":3,"name":"ev","log_level":"warning","payload":{"9007199254740993":"9007199254740993","b":9007199254740991}}"#
    );
    let [begin, _, second, _] = show(Integers::String, JsonTime::Nanoseconds);
    assert!(begin.contains(r#""frequency":"1000000000","offset_seconds":"0","#), "{begin}");
    assert_eq!(
        second,
        r#"{"type":"event","stream":"0","ts":"1565957300948091101","cycles":"1565957300948091101","id":"3","name":"ev","log_level":"warning","payload":{"9007199254740993":"9007199254740993","b":"9007199254740991"}}"#
    );
}

/// Clocks with another origin have no dates.
#[test]
fn times_without_dates() {
    let fixture = Fixture::with(structure(vec![]), |trace| trace.clocks[0].origin = ClockOrigin::Unknown);
    for time in [JsonTime::Iso, JsonTime::Both] {
        let options = JsonLinesOptions { time, ..JsonLinesOptions::default() };
        assert_eq!(print(&fixture, options, &[]), print(&fixture, JsonLinesOptions::default(), &[]));
    }
}

#[test]
fn meanings_and_stacks() {
    let members = vec![("who", u8_class()), ("stack", u8_class()), ("cause", u8_class())];
    let fixture = Fixture::with(structure(members), |trace| {
        trace.environment.clear();
        let class = Arc::make_mut(&mut trace.data_streams[0].event_records[0]);
        class.meanings.insert(Scope::Payload, 0, Meaning::Thread);
        class.meanings.insert(Scope::Payload, 1, Meaning::Stack);
        class.meanings.insert(Scope::Payload, 2, Meaning::Cause(CauseKind::Parent));
        class.meanings.insert(Scope::PacketContext, 1, Meaning::Processor);
    });
    let stacks = &fixture.stream.trace.stacks;
    let main = Frame::at(4096).with_symbol("main").with_module("app");
    assert_eq!(stacks.intern([main, Frame::at(0x7fff_0000_0000), Frame::default()]), Some(2));
    let out = SharedBytes::default();
    let mut sink = JsonLines::new(out.clone(), JsonLinesOptions { cycles: false, ..Default::default() });
    for (time, stack) in [(1, 0), (2, 2), (3, 0), (4, 99)] {
        fixture.event(&mut sink, time, &[7, stack, 5]);
    }
    fixture.end(&mut sink);
    let text = out.text();
    let (_, lines) = text.split_once('\n').unwrap();
    let event = |time: u8, stack: u8| {
        format!(
            "{{\"type\":\"event\",\"stream\":0,\"ts\":{time},\"id\":3,\"name\":\"ev\",\"log_level\":\"warning\",\
             \"payload\":{{\"who\":7,\"stack\":{stack},\"cause\":5}}}}\n"
        )
    };
    let stack = |number: u8, frames: &str| {
        format!("{{\"type\":\"stack\",\"stream\":0,\"stack\":{number},\"frames\":[{frames}]}}\n")
    };
    let main = r#"{"address":4096,"symbol":"main","module":"app"}"#;
    let class = r#"{"type":"event-class","stream":0,"id":3,"name":"ev","log_level":"warning","meanings":{"context":{"cpu":"processor"},"payload":{"who":"thread","stack":"stack","cause":"parent"}},"fields":{"payload":{"type":"structure","minimum_alignment":1,"members":[{"name":"who","class":{"type":"integer","length":8}},{"name":"stack","class":{"type":"integer","length":8}},{"name":"cause","class":{"type":"integer","length":8}}]}}}"#;
    let expected = [
        format!("{class}\n"),
        stack(0, main),
        event(1, 0),
        stack(2, &format!(r#"{{}},{{"address":140733193388032}},{main}"#))
            .replace("]}\n", "],\"callers\":[1,0]}\n"),
        event(2, 2),
        event(3, 0),
        stack(99, ""),
        event(4, 99),
        "{\"type\":\"stream-end\",\"stream\":0}\n".to_owned(),
    ];
    assert_eq!(lines, expected.concat());
}

/// Introductions appear once with any chunks, and data streams keep their numbers.
#[test]
fn chunks() {
    let fixture = Fixture::with(structure(vec![("stack", u8_class())]), |trace| {
        let class = Arc::make_mut(&mut trace.data_streams[0].event_records[0]);
        class.meanings.insert(Scope::Payload, 0, Meaning::Stack);
    });
    assert_eq!(fixture.stream.trace.stacks.intern([Frame::at(4096), Frame::at(1), Frame::at(2)]), Some(2));
    let stacks: [&[u8]; 4] = [&[0, 1], &[1, 2, 1], &[], &[0, 2]];
    for integers in [Integers::Number, Integers::String] {
        let options = JsonLinesOptions { packets: true, integers, ..Default::default() };
        let resolved = compare_chunks(
            &fixture,
            stacks.len(),
            |out| JsonLines::new(out, options.clone()),
            |chunk, sink| {
                if chunk == 0 {
                    fixture.begin(sink);
                }
                for stack in stacks[chunk] {
                    fixture.event(sink, 5, &[*stack]);
                }
                fixture.packet(sink, 6, false);
            },
        );
        // One class and two stacks in each of two chunks.
        assert_eq!(resolved, 6);
    }
}

/// Frames in an event have the symbols at its time, and replace stack lines.
#[test]
fn frames_as_a_member() {
    let fixture = Fixture::with(structure(vec![("stack", u8_class()), ("x", u8_class())]), |trace| {
        let class = Arc::make_mut(&mut trace.data_streams[0].event_records[0]);
        class.meanings.insert(Scope::Payload, 0, Meaning::Stack);
    });
    assert_eq!(fixture.stream.trace.stacks.intern([Frame::named("a\nb"), Frame::at(0x20)]), Some(1));
    let out = SharedBytes::default();
    let mut sink = JsonLines::new(out.clone(), JsonLinesOptions { stacks: true, ..Default::default() });
    fixture.event(&mut sink, 5, &[1, 1]);
    fixture.end(&mut sink);
    let frames = r#","stacks":{"stack":[{"address":32},{"symbol":"a\nb"}]}}"#;
    assert!(out.text().contains(&format!("{frames}\n")), "{}", out.text());
    assert!(!out.text().contains(r#"{"type":"stack""#), "{}", out.text());
}

#[test]
fn reports_undecoded_fields() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    fixture.reports_what_is_undecoded(&mut JsonLines::new(io::sink(), JsonLinesOptions::default()));
}
