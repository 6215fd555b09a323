//! Field types in all versions, and event descriptions.

use serde_json::{Value, json};

use crate::builder::{
    Bytes, Event, File, Form, Metadata, Trace, field, field_v2, field_v5, field_v6, kind, tag_v5,
};
use crate::reading::{Read, check, read};

/// Reads two events with this metadata and payload. The second shows that the data after a payload is found, too.
fn read_event(form: Form, metadata: &Metadata, payload: Bytes) -> Read {
    let mut file = File::new(form);
    file.metadata(std::slice::from_ref(metadata));
    if form == Form::V6 {
        file.threads(&[(7, 7, "")]);
    }
    let event = |sequence| Event::new(metadata.id, 7, sequence, sequence.into()).with(payload.clone());
    file.events(true, &[event(1), event(2)]);
    let read = check(&file.end());
    assert_eq!(read.events.len(), 2);
    assert_eq!(read.events[0]["payload"], read.events[1]["payload"]);
    read
}

fn value(form: Form, fields: impl IntoIterator<Item = Bytes>, payload: Bytes) -> Value {
    let read = read_event(form, &Metadata::new(1, "Event", fields), payload);
    assert_eq!(read.damage, Vec::<Value>::new());
    read.events[0]["payload"].clone()
}

/// Returns each type code that all versions share, with its bytes and its value.
fn scalars() -> Vec<(u8, Bytes, Value)> {
    let new = Bytes::new;
    vec![
        // 4 bytes. Any of them may be set.
        (3, new().u32(0), json!(false)),
        (3, new().u32(1), json!(true)),
        (3, new().u32(0x100), json!(true)),
        (4, new().u16(0x20ac), json!("\u{20ac}")),
        (4, new().u16(0), json!("\0")),
        (5, new().u8(0x80), json!(-128)),
        (6, new().u8(0x80), json!(128)),
        (7, new().u16(0x8000), json!(-32_768)),
        (8, new().u16(0x8000), json!(32_768)),
        (9, new().u32(1 << 31), json!(i32::MIN)),
        (10, new().u32(1 << 31), json!(1_u32 << 31)),
        (11, new().u64(1 << 63), json!(i64::MIN)),
        (12, new().u64(1 << 63), json!(1_u64 << 63)),
        (13, new().u32(1.5_f32.to_bits()), json!(1.5)),
        (14, new().u64((-0.25_f64).to_bits()), json!(-0.25)),
        (
            15,
            new().raw(&[3; 16]),
            json!({"$blob": "03030303030303030303030303030303", "media_type": "application/octet-stream"}),
        ),
        // 8 bytes: 100 ns units since 1601. The documents say 16 bytes, but nobody writes them.
        (16, new().u64(133_594_528_890_100_007), json!("2024-05-06T07:08:09.0100007Z")),
        (
            17,
            new().raw(&[3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]),
            json!("00010203-0405-0607-0809-0a0b0c0d0e0f"),
        ),
        (18, new().utf16("a\u{1d11e}b"), json!("a\u{1d11e}b")),
        (18, new().utf16(""), json!("")),
        // Half of a surrogate pair.
        (18, new().u16(0xd834).u16(97).u16(0), json!({"$bytes": "34d86100", "encoding": "utf-16le"})),
    ]
}

/// Compares values. Dates may have another form.
fn is_same(found: &Value, expected: &Value) -> bool {
    found == expected || found.to_string().contains("133594528890100007") || {
        let digits =
            |value: &Value| -> String { value.to_string().chars().filter(char::is_ascii_digit).collect() };
        expected.to_string().contains("2024-05-06T") && digits(found).starts_with(&digits(expected))
    }
}

#[test]
fn every_scalar_type() {
    for form in [Form::V3, Form::V4, Form::V6] {
        for (code, bytes, expected) in scalars() {
            // A byte before and after the field shows that nothing is aligned.
            let fields = [field(form, 6, "before"), field(form, code, "x"), field(form, 6, "behind")];
            let payload = Bytes::new().u8(1).raw(&bytes.0).u8(2);
            let found = value(form, fields, payload);
            assert!(is_same(&found["x"], &expected), "{form:?}, type {code}: {found}, expected {expected}");
            assert_eq!((&found["before"], &found["behind"]), (&json!(1), &json!(2)), "{form:?}, type {code}");
        }
    }
}

/// The same types as array elements and as object members.
#[test]
fn every_scalar_type_in_arrays_and_objects() {
    for (code, bytes, expected) in scalars() {
        let payload = Bytes::new().u8(1).u16(2).raw(&bytes.0).raw(&bytes.0).raw(&bytes.0).u8(2);
        let v6 = [
            field_v6("before", &[6]),
            field_v6("list", &[19, code]),
            field_v6("object", &Bytes::new().u8(1).u16(1).sized(field_v6("x", &[code])).0),
            field_v6("behind", &[6]),
        ];
        let kind = |code: u8| Bytes::new().u32(code.into());
        let object = kind(1).u32(1).raw(&field_v2("x", kind(code)).0);
        let v2 = Bytes::new().u32(4).all([
            field_v2("before", kind(6)),
            field_v2("list", kind(19).raw(&kind(code).0)),
            field_v2("object", object),
            field_v2("behind", kind(6)),
        ]);
        let mut v4 = Metadata::new(1, "Event", []);
        v4.tags = tag_v5(2, v2);
        for (form, metadata) in [(Form::V6, Metadata::new(1, "Event", v6)), (Form::V4, v4)] {
            let read = read_event(form, &metadata, payload.clone());
            let found = &read.events[0]["payload"];
            assert_eq!(read.damage, Vec::<Value>::new(), "{form:?}, type {code}");
            let list = found["list"].as_array().unwrap();
            assert_eq!(list.len(), 2);
            for x in [&list[0], &list[1], &found["object"]["x"]] {
                assert!(is_same(x, &expected), "{form:?}, type {code}: {found}, expected {expected}");
            }
            assert_eq!((&found["before"], &found["behind"]), (&json!(1), &json!(2)), "{form:?}, type {code}");
        }
    }
}

/// Objects in the first kind of description: types before names.
#[test]
fn nested_objects() {
    for form in [Form::V3, Form::V4] {
        let inner =
            Bytes::new().u32(1).u32(2).raw(&field_v5(9, "a").0).raw(&field_v5(18, "b").0).utf16("inner");
        let outer = Bytes::new().u32(1).u32(2).raw(&inner.0).raw(&field_v5(8, "c").0).utf16("outer");
        let payload = Bytes::new().u32(1).utf16("two").u16(3).u8(4);
        let found = value(form, [outer, field_v5(6, "d")], payload);
        assert_eq!(found, json!({"outer": {"inner": {"a": 1, "b": "two"}, "c": 3}, "d": 4}));
    }
}

/// The single unnamed field of a self-describing event is not shown.
#[test]
fn the_unnamed_object_at_the_top() {
    let object = Bytes::new().u32(1).u32(2).raw(&field_v5(9, "a").0).raw(&field_v5(9, "b").0).utf16("");
    assert_eq!(value(Form::V4, [object], Bytes::new().u32(1).u32(2)), json!({"a": 1, "b": 2}));
    let object = Bytes::new().u8(1).u16(1).sized(field_v6("a", &[9]));
    assert_eq!(value(Form::V6, [field_v6("", &object.0)], Bytes::new().u32(1)), json!({"a": 1}));
}

/// Types of version 6.
#[test]
fn types_of_version_6() {
    let new = Bytes::new;
    let cases: Vec<(&[u8], Bytes, Value)> = vec![
        (&[20], new().var(0), json!(0)),
        (&[20], new().var(1), json!(-1)),
        (&[20], new().var(600), json!(300)),
        (&[20], new().var(u64::MAX), json!(i64::MIN)),
        (&[21], new().var(300), json!(300)),
        (&[21], new().var(u64::MAX), json!(u64::MAX)),
        (&[22, 9, 2, 0], new().u32(5).u32(6), json!([5, 6])),
        (&[22, 9, 0, 0], new(), json!([])),
        (&[22, 23, 3, 0], new().raw(b"abc"), json!("abc")),
        (&[22, 4, 2, 0], new().u16(97).u16(98), json!("ab")),
        (&[22, 22, 6, 2, 0, 2, 0], new().raw(&[1, 2, 3, 4]), json!([[1, 2], [3, 4]])),
        (&[23], new().u8(b'x'), json!("x")),
        (&[23], new().u8(0), json!("\0")),
        // A buffer that is longer than its text, also next to fields that are read into values.
        (&[22, 4, 3, 0], new().u16(97).u16(0).u16(98), json!("a")),
        (&[22, 23, 3, 0], new().raw(b"a\0b"), json!("a")),
        (&[19, 23], new().u16(4).raw("\u{1d11e}".as_bytes()), json!("\u{1d11e}")),
        (&[19, 4], new().u16(2).u16(97).u16(98), json!(["a", "b"])),
        (&[19, 20], new().u16(2).var(3).var(4), json!([-2, 2])),
        (&[26], new().u8(0), json!(false)),
        (&[26], new().u8(2), json!(true)),
    ];
    for (kind, bytes, expected) in cases {
        let fields = [field_v6("before", &[6]), field_v6("x", kind), field_v6("behind", &[6])];
        let found = value(Form::V6, fields, new().u8(1).raw(&bytes.0).u8(2));
        assert_eq!(found, json!({"before": 1, "x": expected, "behind": 2}), "{kind:?}");
    }
}

/// Arrays of arrays stay arrays: inner arrays are not wrapped.
#[test]
fn arrays_in_arrays() {
    let payload = Bytes::new().u16(2).u16(1).u8(5).u16(2).u8(6).u8(7);
    let found = value(Form::V6, [field_v6("x", &[19, 19, 6])], payload);
    assert_eq!(found["x"], json!([[5], [6, 7]]));
    let payload = Bytes::new().u16(1).u16(2).u16(0).u16(1).u32(6);
    let found = value(Form::V6, [field_v6("x", &[19, 19, 19, 9])], payload);
    assert_eq!(found["x"], json!([[[], [6]]]));
    let payload = Bytes::new().u16(1).u16(97).u16(0).u16(0);
    let found = value(Form::V6, [field_v6("x", &[22, 19, 4, 2, 0]), field_v6("y", &[4])], payload);
    assert_eq!(found, json!({"x": [["a"], []], "y": "\0"}));
}

/// Version 6 dates have 8 bytes, as they are written, or 16, as the document says, if the payload has this size.
#[test]
fn dates_of_16_bytes() {
    let short = || Bytes::new().u64(133_594_528_890_100_007);
    let long = || [2024, 5, 1, 6, 7, 8, 9, 10].into_iter().fold(Bytes::new(), Bytes::u16);
    let read = |form, payload: Bytes| {
        let fields = [field(form, 6, "a"), field(form, 16, "x"), field(form, 9, "b")];
        let read = read_event(form, &Metadata::new(1, "Event", fields), payload);
        (read.events[0]["payload"].clone(), read.damage.len() + read.longer.len())
    };
    let payload = |date: Bytes| Bytes::new().u8(1).all([date]).u32(2);
    let expected = |date: &str| (json!({"a": 1, "x": date, "b": 2}), 0);
    assert_eq!(read(Form::V6, payload(short())), expected("2024-05-06T07:08:09.010000700Z"));
    assert_eq!(read(Form::V6, payload(long())), expected("2024-05-06T07:08:09.010000000Z"));
    // Before version 6, nobody writes 16 bytes. 16 bytes that are not a date do not match either.
    assert_ne!(read(Form::V4, payload(long())).0["x"], "2024-05-06T07:08:09.010000000Z");
    let no_date = read(Form::V6, payload(Bytes::new().raw(&[0xff; 16])));
    assert_eq!((&no_date.0["b"], no_date.1), (&json!(-1), 1));
}

/// Arrays elsewhere in the payload: relative to the end of the field, or to the start of the payload.
#[test]
fn arrays_elsewhere() {
    let location = |size: u32, position: u32| Bytes::new().u32(size << 16 | position);
    let cases: Vec<(u8, Value)> = vec![
        (23, json!("abcd")),
        (4, json!("\u{6261}\u{6463}")),
        (6, json!([97, 98, 99, 100])),
        (8, json!([0x6261, 0x6463])),
    ];
    for (element, expected) in cases {
        // A byte, the location of 4 bytes, a byte, the elements.
        let fields = |code| [field_v6("a", &[6]), field_v6("x", &[code, element]), field_v6("b", &[6])];
        for (code, position) in [(24, 1), (25, 6)] {
            let payload = Bytes::new().u8(1).all([location(4, position)]).u8(2).raw(b"abcd");
            let found = value(Form::V6, fields(code), payload);
            assert_eq!(found, json!({"a": 1, "x": expected, "b": 2}), "{code} {element}");
        }
        // Outside of the payload.
        for (size, position) in [(5, 6), (4, 7), (0xffff, 0xffff)] {
            let metadata = Metadata::new(1, "Event", fields(25));
            let payload = Bytes::new().u8(1).all([location(size, position)]).u8(2).raw(b"abcd");
            let read = read_event(Form::V6, &metadata, payload);
            assert!(read.events[0]["payload"]["payload"].is_object(), "{:?}", read.events[0]);
            assert_eq!(read.damage.len(), 2);
        }
    }
}

/// A payload that is too short, or has unknown types, is shown as bytes. Later events are read.
#[test]
fn payloads_that_are_not_understood() {
    for form in [Form::V3, Form::V4, Form::V6] {
        let short = Metadata::new(1, "Event", [field(form, 12, "x")]);
        let read = read_event(form, &short, Bytes::new().u32(5));
        assert_eq!(read.events[0]["payload"]["payload"]["$blob"], "05000000", "{form:?}");
        assert_eq!(read.damage.len(), 2);
        assert!(read.damage[0]["message"].as_str().unwrap().contains("does not fit the fields"));
        let unknown = Metadata::new(1, "Event", [field(form, 9, "x"), field(form, 99, "y")]);
        let read = read_event(form, &unknown, Bytes::new().u32(5));
        assert_eq!(read.events[0]["payload"]["payload"]["$blob"], "05000000", "{form:?}");
        assert_eq!(read.damage.len(), 1, "{:?}", read.damage);
        // More bytes than fields.
        let read = read_event(form, &Metadata::new(1, "Event", [field(form, 6, "x")]), Bytes::new().u32(5));
        assert_eq!(
            (&read.events[0]["payload"]["x"], read.damage.len(), read.longer.len()),
            (&json!(5), 0, 1)
        );
    }
}

/// A well-known event in a version newer than known: its additional bytes are one field.
#[test]
fn newer_versions_of_known_events() {
    for form in [Form::V3, Form::V4, Form::V6] {
        let event = |version| {
            let mut metadata = Metadata::new(1, "", []);
            metadata.provider = "Microsoft-Windows-DotNETRuntime".to_owned();
            Metadata { event_id: 1, version, ..metadata }
        };
        let version_2 = || Bytes::new().u32(5).u32(1).u32(0).u32(0).u16(9).u64(77);
        let read = |version, payload| read_event(form, &event(version), payload);
        let newer = read(3, version_2().u16(0xabcd));
        let payload = &newer.events[0]["payload"];
        assert_eq!((&payload["Count"], &payload["ClientSequenceNumber"]), (&json!(5), &json!(77)));
        assert_eq!(payload["unknown_fields"]["$blob"], "cdab");
        assert_eq!((newer.damage.len(), newer.longer.len()), (0, 0), "{form:?}");
        // This version appends nothing.
        let same = read(3, version_2());
        assert_eq!((&same.events[0]["payload"]["unknown_fields"], same.longer.len()), (&Value::Null, 0));
        // A known version does not get this field.
        let known = read(2, version_2().u16(0xabcd));
        assert_eq!((&known.events[0]["payload"]["unknown_fields"], known.longer.len()), (&Value::Null, 1));
    }
}

/// The compiler tier and the method part in method flags are separate fields, wherever flags are read.
#[test]
fn flags_of_methods() {
    for version in [2, 9] {
        let mut metadata = Metadata::new(1, "", []);
        metadata.provider = "Microsoft-Windows-DotNETRuntime".to_owned();
        (metadata.event_id, metadata.version) = (141, version);
        let payload = Bytes::new().u64(1).u64(2).u64(3).u32(4).u32(5).u32(0x1000_018a).u16(6).u64(7);
        let read = read_event(Form::V4, &metadata, payload);
        let payload = &read.events[0]["payload"];
        assert_eq!(payload["MethodFlags"], json!({"bits": 10, "flags": ["Generic", "Jitted"]}), "{version}");
        assert_eq!(payload["OptimizationTier"], json!({"value": 3, "labels": ["QuickJitted"]}));
        assert_eq!(payload["MethodExtent"], json!({"value": 1 << 18, "labels": ["ColdSection"]}));
        assert_eq!((&payload["ClrInstanceID"], &payload["ReJITID"]), (&json!(6), &json!(7)));
        assert_eq!((read.damage.len(), read.longer.len()), (0, 0));
    }
}

/// Metadata that ends after the level lacks fields.
#[test]
fn metadata_that_stops_behind_the_level() {
    let mut file = File::new(Form::V4);
    let row = Event { payload: Metadata::new(1, "Short", []).v5_head().0, ..Event::default() };
    let content =
        crate::builder::block_header(true, (0, 0), 0).all([crate::builder::rows(Form::V4, true, &[row])]);
    file.block(kind::METADATA, &content.0);
    file.events(true, &[Event::new(1, 7, 1, 1)]);
    let read = check(&file.end());
    assert_eq!((read.names(), read.damage.clone()), (vec!["Tests/Short"], vec![]));
}

/// Version 5 tags: opcode, fields, and other tags, which are skipped.
#[test]
fn tags_of_metadata() {
    let mut metadata = Metadata::new(1, "Event", []);
    let fields = Bytes::new().u32(1).raw(&field_v2("x", Bytes::new().u32(9)).0);
    metadata.tags = tag_v5(77, Bytes::new().raw(b"anything"));
    metadata.tags = metadata.tags.raw(&tag_v5(1, Bytes::new().u8(9).u8(99)).0).raw(&tag_v5(2, fields).0);
    let mut file = File::new(Form::V4);
    file.metadata(&[metadata]);
    file.events(true, &[Event::new(1, 7, 1, 1).with(Bytes::new().u32(5))]);
    let bytes = file.end();
    let read = check(&bytes);
    assert_eq!((read.payload("x"), &read.damage), (vec![json!(5)], &vec![]));
    assert_eq!(read.classes[0]["attributes"]["nettrace"]["opcode"], 9, "{:?}", read.classes);
}

/// Bytes after the type of a `V2Params` field are skipped.
#[test]
fn fields_that_grow() {
    let field = |name: &str| {
        let field = Bytes::new().utf16(name).u32(9).raw(b"more");
        Bytes::new().u32(4 + field.0.len() as u32).raw(&field.0)
    };
    let mut metadata = Metadata::new(1, "Event", []);
    metadata.tags = tag_v5(2, Bytes::new().u32(2).all([field("x"), field("y")]));
    let read = read_event(Form::V4, &metadata, Bytes::new().u32(5).u32(6));
    assert_eq!(read.events[0]["payload"], json!({"x": 5, "y": 6}));
    // From version 6.
    let fields = [field_v6("x", &[9, 1, 2, 3]), field_v6("y", &[9])];
    assert_eq!(value(Form::V6, fields, Bytes::new().u32(5).u32(6)), json!({"x": 5, "y": 6}));
}

/// All kinds of optional metadata in version 6. An unknown kind ends them.
#[test]
fn optional_metadata() {
    let mut metadata = Metadata::new(1, "Event", [field_v6("x", &[9])]);
    let tags =
        Bytes::new().u8(1).u8(3).u8(3).u64(0x30).u8(4).text("x is {x}").u8(5).text("words").u8(6).text("k");
    metadata.tags = tags.text("v").u8(7).raw(&[1; 16]);
    (metadata.level, metadata.version, metadata.keywords) = (2, 5, 0x70);
    let mut file = File::new(Form::V6);
    file.metadata(&[metadata.clone()]).threads(&[(7, 7, "")]);
    file.events(true, &[Event::new(1, 7, 1, 1).with(Bytes::new().u32(5))]);
    let bytes = file.end();
    let read = check(&bytes);
    let properties = &read.classes[0]["attributes"]["nettrace"];
    for (name, expected) in [
        ("opcode", json!(3)),
        ("message-template", json!("x is {x}")),
        ("description", json!("words")),
        ("k", json!("v")),
        ("level", json!(2)),
        ("version", json!(5)),
        ("keywords", json!("0x70")),
    ] {
        assert_eq!(properties[name], expected, "{name}: {properties}");
    }
    metadata.tags = Bytes::new().u8(1).u8(3).u8(99).raw(b"whatever follows");
    let read = read_event(Form::V6, &metadata, Bytes::new().u32(5));
    assert_eq!((&read.events[0]["payload"]["x"], read.damage.len()), (&json!(5), 0));
    assert_eq!(read.classes[0]["attributes"]["nettrace"]["opcode"], 3);
    // A row can have more bytes after the optional metadata.
    let row = Metadata::new(1, "Event", [field_v6("x", &[9])]).v6().raw(b"more");
    let mut file = File::new(Form::V6);
    file.block(kind::METADATA, &Bytes::new().u16(0).sized(row).sized(Metadata::new(2, "Next", []).v6()).0);
    file.threads(&[(7, 7, "")]).events(true, &[Event::new(2, 7, 1, 1)]);
    assert_eq!(read_names(&file.end()), ["Tests/Next"]);
}

fn read_names(bytes: &[u8]) -> Vec<String> {
    read(bytes).names().into_iter().map(str::to_owned).collect()
}

/// Trace properties.
#[test]
fn trace_blocks() {
    let environment = |form, trace: &Trace| read(&File::with(form, trace).end()).trace["environment"].clone();
    let mut trace = Trace { pointer_size: 4, ..Trace::default() };
    for form in [Form::V3, Form::V4] {
        // A sampling interval of 0 counts as missing.
        let expected = json!({"process_id": 77, "processors": 4, "pointer_size": 4, "session": "complete"});
        assert_eq!(environment(form, &trace), expected);
    }
    trace.properties = vec![("Machine".to_owned(), "a b".to_owned())];
    let expected = json!({"process_id": 77, "processors": 4, "pointer_size": 4, "Machine": "a b", "session": "complete"});
    assert_eq!(environment(Form::V6, &trace), expected);
}

/// Fields with the same name are distinguished, however many there are.
#[test]
fn fields_of_the_same_name() {
    let fields = [field_v5(6, "a"), field_v5(6, "a"), field_v5(6, "a"), field_v5(6, "a_")];
    let found = value(Form::V4, fields, Bytes::new().raw(&[1, 2, 3, 4]));
    let values: Vec<_> = found.as_object().unwrap().values().cloned().collect();
    assert_eq!(values.len(), 4, "{found}");
}
