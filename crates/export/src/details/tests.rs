use ichnos_model::class::{
    Attributes, DisplayBase, EventRecordClass, FieldClass, FieldKind, FieldLocation, IntegerProperties,
    IntegerRange, Length, LocationStep, Mappings, RangeSet, StringLength, Value, VariableLengthValue,
    VariantOption,
};
use ichnos_model::field::StringEncoding;

use super::*;
use crate::testing::{
    Fixture, SharedBytes, bits, class, compare_chunks, guid_dates_characters, integer, send, structure,
    u8_class,
};

fn print(fixture: &Fixture, options: DetailsOptions, payload: &[u8]) -> String {
    let out = SharedBytes::default();
    let mut sink = Details::new(out.clone(), options);
    fixture.begin(&mut sink);
    fixture.packet(&mut sink, 1000, true);
    fixture.event(&mut sink, 12345, payload);
    fixture.packet(&mut sink, 12345, false);
    fixture.end(&mut sink);
    out.text()
}

fn range(lower: i128, upper: i128) -> RangeSet {
    RangeSet(vec![IntegerRange { lower, upper }])
}

#[test]
fn a_whole_stream() {
    let fixture = Fixture::with(structure(vec![("a", u8_class())]), |trace| {
        trace.environment.push(("tracer_name".to_owned(), Value::Text("lttng-ust".to_owned())));
        trace.implied_namespace = Some("lttng.org,2009".to_owned());
    });
    assert_eq!(
        print(&fixture, DetailsOptions::default(), &[1]),
        "\
Trace class:
  Stream class (ID 0):
    Supports packets: Yes
    Packets have beginning default clock snapshot: No
    Packets have end default clock snapshot: No
    Supports discarded events: No
    Supports discarded packets: Yes
    Discarded packets have default clock snapshots: No
    Default clock class:
      Name: clock
      Frequency (Hz): 1,000,000,000
      Precision (cycles): 0
      Offset from origin (s): 0
      Offset from origin (cycles): 0
      Origin: Unix epoch
    Packet context field class: Structure (1 member):
      cpu: Unsigned integer (8-bit, Base 10)
    Event class `ev` (ID 3):
      Log level: Warning
      Payload field class: Structure (1 member):
        a: Unsigned integer (8-bit, Base 10)

[Unknown]
{Trace 0, Stream class ID 0, Stream ID 1}
Stream beginning:
  Name: stream
  Trace `trace` (Namespace `lttng.org,2009`):
    Environment (3 entries):
      hostname: host
      tracer_name: lttng-ust
      vpid: 7
    Stream (ID 1, Class ID 0)

{Trace 0, Stream class ID 0, Stream ID 1}
Packet beginning:
  Context:
    cpu: 2

[12,345 cycles, 12,345 ns from origin]
{Trace 0, Stream class ID 0, Stream ID 1}
Event `ev` (Class ID 3):
  Payload:
    a: 1

{Trace 0, Stream class ID 0, Stream ID 1}
Packet end

[Unknown]
{Trace 0, Stream class ID 0, Stream ID 1}
Stream end
"
    );
}

/// The title of a scope is part of the text of its first field, but is also written without the field.
#[test]
fn scopes_without_their_first_field() {
    let fixture = Fixture::new(structure(vec![("a", integer(64, IntegerProperties::default()))]));
    let out = SharedBytes::default();
    let mut sink = Details::new(out.clone(), DetailsOptions::default());
    fixture.begin(&mut sink);
    fixture.event(&mut sink, 0, &[1, 2, 3]);
    assert!(sink.finish().is_err());
    let text = out.text();
    assert!(text.ends_with("\nEvent `ev` (Class ID 3):\n  Payload:\n"), "{text}");
}

#[test]
fn compact_and_partial() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    let options = DetailsOptions { compact: true, metadata: false, ..DetailsOptions::default() };
    assert_eq!(
        print(&fixture, options, &[1]),
        "\
[Unknown] {0 0 1} Stream beginning
{0 0 1} Packet beginning
[12,345 12,345] {0 0 1} Event `ev` (3)
{0 0 1} Packet end
[Unknown] {0 0 1} Stream end
"
    );
    let options = DetailsOptions { data: false, ..DetailsOptions::default() };
    let text = print(&fixture, options, &[1]);
    assert!(text.starts_with("Trace class:\n") && text.ends_with("a: Unsigned integer (8-bit, Base 10)\n"));
    let options = DetailsOptions { time: false, metadata: false, ..DetailsOptions::default() };
    assert!(!print(&fixture, options, &[1]).contains('['));
}

/// Returns the classes and the fields of a payload.
fn payload(members: Vec<(&str, Arc<FieldClass>)>, bytes: &[u8]) -> (String, String) {
    let text = print(&Fixture::new(structure(members)), DetailsOptions::default(), bytes);
    let classes = text.split_once("Payload field class: ").unwrap().1.split_once("\n\n").unwrap().0;
    let fields = text.split_once("  Payload:").unwrap().1.split_once("\n\n").unwrap().0;
    (classes.replace("\n      ", "\n"), fields.replace("\n  ", "\n"))
}

#[test]
fn scalars() {
    let base = |signed, preferred_base| {
        integer(32, IntegerProperties { signed, preferred_base, ..IntegerProperties::default() })
    };
    let mappings = Mappings::from_iter([("B", range(0, 0)), ("A", range(2, 9)), ("B", range(-5, -1))]);
    let enumeration = IntegerProperties { signed: true, mappings: Some(mappings), ..Default::default() };
    let flags = Mappings::from_iter([("S", range(1, 3)), ("M", range(7, 7))]);
    let string = FieldKind::String {
        encoding: StringEncoding::Utf8,
        length: StringLength::NullTerminated,
        alignment: 8,
    };
    let variable = VariableLengthValue::Integer(IntegerProperties::default());
    let members = vec![
        ("hex", base(false, DisplayBase::Hexadecimal)),
        ("oct", base(true, DisplayBase::Octal)),
        ("enum", integer(8, enumeration)),
        ("map", class(FieldKind::BitMap { bits: bits(8), flags })),
        ("array", class(FieldKind::BitArray(bits(8)))),
        ("bool", class(FieldKind::Boolean(bits(8)))),
        ("single", class(FieldKind::Float(bits(32)))),
        ("s", class(string)),
        ("var", class(FieldKind::VariableLength { value: variable, alignment: 8 })),
        ("wide", integer(128, IntegerProperties::default())),
    ];
    let mut bytes = vec![0xef, 0xbe, 0xad, 0xde, 0xff, 0xff, 0xff, 0xff, 3, 0xff, 0x12, 0];
    bytes.extend_from_slice(&1.5f32.to_le_bytes());
    bytes.extend_from_slice(b"a\"b\0\x80\x01");
    bytes.extend_from_slice(&(u128::from(u64::MAX) + 1).to_le_bytes());
    let (classes, fields) = payload(members, &bytes);
    assert_eq!(
        classes,
        "\
Structure (10 members):
  hex: Unsigned integer (32-bit, Base 16)
  oct: Signed integer (32-bit, Base 8)
  enum: Signed enumeration (8-bit, Base 10, 2 mappings):
    A: [2, 9]
    B: [-5, -1] [0]
  map: Bit array 2 flags):
    M: [7]
    S: [1, 3]
  array: Bit array
  bool: Boolean
  single: Single-precision real
  s: String
  var: Unsigned integer (64-bit, Base 10, Expect small values)
  wide: Unsigned integer (128-bit, Base 10)"
    );
    assert_eq!(
        fields,
        "
  hex: 0xdead:beef
  oct: -01
  enum: 3
  map: 0xff
  array: 0x12
  bool: No
  single: 1.500000
  s: a\"b
  var: 128
  wide: 18,446,744,073,709,551,616"
    );
}

#[test]
fn guids_dates_and_characters() {
    let (members, bytes) = guid_dates_characters();
    let (classes, fields) = payload(members, &bytes);
    assert_eq!(
        classes,
        "\
Structure (7 members):
  id: GUID
  filetime: Signed integer (64-bit, Base 10, Date)
  ticks: Unsigned integer (64-bit, Base 10, Date)
  var: Unsigned integer (64-bit, Base 10, Expect small values, Date)
  none: Signed integer (64-bit, Base 10, Date)
  c: String
  half: String"
    );
    assert_eq!(
        fields,
        "
  id: 6b29fc40-ca47-1067-b31d-00dd010662da
  filetime: 2019-08-16T12:08:20.948091100Z
  ticks: 2019-08-16T12:08:20.948091100Z
  var: 2019-08-16T12:08:20.000000000Z
  none: -9,223,372,036,854,775,808
  c: \u{e9}
  half: \u{fffd}"
    );
}

#[test]
fn compounds_and_locations() {
    let relative = |path: &[Option<&str>]| FieldLocation {
        origin: None,
        path: path
            .iter()
            .map(|step| step.map_or(LocationStep::Parent, |name| LocationStep::Member(name.to_owned())))
            .collect(),
        any_option: false,
        declared_at: Default::default(),
    };
    let array =
        |length| FieldKind::Array { element: u8_class(), length, minimum_alignment: 1, element_aligns: true };
    let option = |name: Option<&str>, value, class| VariantOption {
        name: name.map(str::to_owned),
        class,
        ranges: range(value, value),
        attributes: Attributes::default(),
    };
    let variant = FieldKind::Variant {
        options: vec![option(Some("x"), 2, u8_class()), option(None, 3, structure(vec![]))],
        selector: Box::new(FieldLocation::absolute(Scope::Payload, ["n"])),
        alignment: 1,
    };
    let inner = structure(vec![
        ("m", u8_class()),
        ("up", class(array(Length::Dynamic(Box::new(relative(&[None, Some("n")])))))),
        ("here", class(array(Length::Dynamic(Box::new(relative(&[Some("m")])))))),
    ]);
    let optional = FieldKind::Optional {
        field: u8_class(),
        selector: Box::new(FieldLocation::absolute(Scope::PacketContext, ["cpu"])),
        ranges: Some(range(2, 4)),
    };
    let members = [
        ("n", u8_class()),
        ("v", class(variant)),
        (
            "s",
            class(FieldKind::Array {
                element: inner,
                length: Length::Static(1),
                minimum_alignment: 1,
                element_aligns: true,
            }),
        ),
        ("o", class(optional)),
    ];
    // The packet context is not decoded here, so fields that it selects are shown only as classes.
    let members_without = members[..3].to_vec();
    let (classes, fields) = payload(members_without, &[2, 7, 1, 8, 9, 10]);
    assert_eq!(
        classes,
        "\
Structure (3 members):
  n: Unsigned integer (8-bit, Base 10)
  v: Variant (unsigned integer selector) (2 options, Selector field location [Event payload: n]):
    x: [2]: Unsigned integer (8-bit, Base 10)
    Unnamed: [3]: Structure (0 members)
  s: Static array (Length 1):
    Element: Structure (3 members):
      m: Unsigned integer (8-bit, Base 10)
      up: Dynamic array (with length field) (Length field location [Event payload: n]):
        Element: Unsigned integer (8-bit, Base 10)
      here: Dynamic array (with length field) (Length field location [Event payload: s, m]):
        Element: Unsigned integer (8-bit, Base 10)"
    );
    assert_eq!(
        fields,
        "
  n: 2
  v: 7
  s: Length 1:
    [0]:
      m: 1
      up: Length 2:
        [0]: 8
        [1]: 9
      here: Length 1:
        [0]: 10"
    );
    let options = DetailsOptions { data: false, ..DetailsOptions::default() };
    let text = print(&Fixture::new(structure(vec![("o", members[3].1.clone())])), options, &[]);
    assert_eq!(
        text.split_once("Payload field class: ").unwrap().1.trim_end().replace("\n      ", "\n"),
        "\
Structure (1 member):
  o: Option (unsigned integer selector) (Selector field location [Packet context: cpu]):
    Selector ranges: [2, 4]
    Content: Unsigned integer (8-bit, Base 10)"
    );
}

#[test]
fn attributes() {
    let map = |name: &str, value| Value::Map(vec![(name.to_owned(), value)]);
    let mut with = FieldClass::clone(&u8_class());
    with.attributes.set("ns", map("unit", Value::Text("m".to_owned())));
    let list = Value::Array(vec![Value::Null, Value::Boolean(true), Value::Number("1.5".to_owned())]);
    let fixture = Fixture::with(structure(vec![("a", Arc::new(with))]), |trace| {
        trace.attributes.set("t", list.clone());
        trace.attributes.set("babeltrace.org,2020", map("sink.ctf.fs", Value::Boolean(true)));
        let stream = &mut trace.data_streams[0];
        let mut event = EventRecordClass::clone(&stream.event_records[0]);
        event.log_level = None;
        event.attributes.set("lttng.org,2009", map("log-level", Value::Text("debug:line".to_owned())));
        stream.event_records = vec![Arc::new(event)];
    });
    let text = print(&fixture, DetailsOptions::default(), &[1]);
    assert!(text.starts_with(
        "\
Trace class:
  User attributes:
    t: Length 3:
      [0]: Null
      [1]: Yes
      [2]: 1.500000
  Stream class (ID 0):
"
    ));
    assert!(text.contains(
        "
    Event class `ev` (ID 3):
      User attributes:
        lttng.org,2009:
          log-level: debug:line
      Log level: Debug (line)
      Payload field class: Structure (1 member):
        a: Unsigned integer (8-bit, Base 10):
          User attributes:
            ns:
              unit: m
"
    ));
}

#[test]
fn losses() {
    let fixture = Fixture::new(structure(vec![]));
    let out = SharedBytes::default();
    let options = DetailsOptions { metadata: false, uncounted_losses: true, ..DetailsOptions::default() };
    let mut sink = Details::new(out.clone(), options);
    send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(12345))));
    send(&mut sink, &Message::DiscardedPackets(fixture.discarded(None)));
    sink.finish().unwrap();
    let times = "[1,000,000,000 cycles, 1,000,000,000 ns from origin]\n\
                 [2,000,000,000 cycles, 2,000,000,000 ns from origin]\n";
    assert_eq!(
        out.text(),
        format!(
            "{times}{{Trace 0, Stream class ID 0, Stream ID 1}}\nDiscarded events (12,345 events)\n\n\
             {times}{{Trace 0, Stream class ID 0, Stream ID 1}}\nDiscarded packets\n"
        )
    );
}

#[test]
fn streams_list_each_other() {
    let first = Fixture::new(structure(vec![]));
    let trace = Arc::clone(&first.stream.trace);
    let second = DataStream::new(trace, 0, None, "second").unwrap();
    let out = SharedBytes::default();
    let mut sink = Details::new(out.clone(), DetailsOptions::default());
    first.begin(&mut sink);
    send(&mut sink, &Message::StreamBegin(&second));
    sink.finish().unwrap();
    let listed = "    Stream (ID 0, Class ID 0)\n    Stream (ID 1, Class ID 0)\n";
    assert_eq!(out.text().matches(listed).count(), 2);
}

/// Beyond 128 data streams, a stream beginning lists only new streams.
#[test]
fn many_streams_are_listed_once() {
    let fixture = Fixture::new(structure(vec![]));
    let out = SharedBytes::default();
    let mut sink = Details::new(out.clone(), DetailsOptions::default());
    for id in 0..3000 {
        let trace = Arc::clone(&fixture.stream.trace);
        let stream = DataStream::new(trace, 0, Some(id), "many").unwrap();
        send(&mut sink, &Message::StreamBegin(&stream));
        send(&mut sink, &Message::StreamEnd(&stream));
    }
    sink.finish().unwrap();
    let text = out.text();
    assert_eq!(text.matches("    Stream (ID 127, Class ID 0)\n").count(), 1);
    assert_eq!(text.matches("    Stream (ID 126, Class ID 0)\n").count(), 2);
    assert!(
        text.contains("    Streams listed above: 2999\n    Stream (ID 2999, Class ID 0)\n\n"),
        "{text:.300}"
    );
    let lines = text.matches("    Stream (ID ").count();
    assert_eq!(lines, (1..=128).sum::<usize>() + 3000 - 128);
    // Listing all streams at each beginning would take 100 times as much.
    assert!(text.len() < 2 << 20, "{}", text.len());
}

#[test]
fn chunks() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    for compact in [false, true] {
        let options = DetailsOptions { compact, ..DetailsOptions::default() };
        compare_chunks(
            &fixture,
            3,
            |out| Details::new(out, options.clone()),
            |chunk, sink| {
                if chunk == 0 {
                    fixture.begin(sink);
                } else {
                    fixture.event(sink, 1, &[chunk as u8]);
                }
            },
        );
    }
}

#[test]
fn a_part_of_the_timeline() {
    let fixture = Fixture::new(u8_class());
    let value = |cycles: u64| Some(ClockValue { nanoseconds: cycles.into(), cycles });
    let times = StreamTimes { begin: value(500), end: value(90_000) };
    let stream = |id| DataStream::new(Arc::clone(&fixture.stream.trace), 0, Some(id), "").unwrap();
    let mut streams = [1, 2].map(stream);
    streams[0].key = fixture.stream.key;
    let options = DetailsOptions {
        metadata: false,
        trace_uid: false,
        part: Arc::new(DetailsPart {
            times: [(fixture.stream.key, times)].into(),
            streams: streams.map(|stream| (stream.key, Arc::new(stream))).into(),
            ..DetailsPart::default()
        }),
        has_packets: Some(|_| false),
        ..DetailsOptions::default()
    };
    let text = print(&fixture, DetailsOptions { metadata: true, ..options.clone() }, &[1]);
    assert!(text.contains("Supports packets: No\n    Supports discarded events"), "{text}");
    let text = print(&fixture, options, &[1]);
    assert!(text.starts_with("[500 cycles, 500 ns from origin]\n"), "{text}");
    assert!(text.contains("    Stream (ID 1, Class ID 0)\n    Stream (ID 2, Class ID 0)\n"), "{text}");
    let end =
        "[90,000 cycles, 90,000 ns from origin]\n{Trace 0, Stream class ID 0, Stream ID 1}\nStream end\n";
    assert!(text.ends_with(end), "{text}");
}
