//! Handwritten files: the container, event rows, and tables.

use serde_json::{Value, json};

use crate::builder::{
    Bytes, Event, File, Form, Metadata, Trace, block_header, field, kind, row_compressed, rows,
};
use crate::reading::{Read, check, read, read_unsorted};
use ichnos_analysis::{TaskCollector, TaskOptions, Tasks};
use ichnos_export::{Pretty, PrettyOptions};
use ichnos_flow::{Merge, pump};
use ichnos_model::{OpenedTrace as _, Window};
use ichnos_nettrace::{NettraceFile, NettraceOptions};

const FORMS: [Form; 3] = [Form::V3, Form::V4, Form::V6];

/// Creates a file with metadata 1 and 2: an event with a number, and an event without fields.
fn file(form: Form) -> File {
    let mut file = File::new(form);
    file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number")]), Metadata::new(2, "Empty", [])]);
    if form == Form::V6 {
        file.threads(&[(1, 11, "first"), (2, 22, "second"), (7, 7, "")]);
    }
    file
}

fn number(thread: u64, sequence: u32, time: u64, value: u32) -> Event {
    Event::new(1, thread, sequence, time).with(Bytes::new().u32(value))
}

/// All bytes of a file in order, as the builder writes them and the reader reads them.
#[test]
fn every_byte_of_a_small_file() {
    #[rustfmt::skip]
    let bytes: &[u8] = &[
        // "Nettrace", then 20 and "!FastSerialization.1".
        b'N', b'e', b't', b't', b'r', b'a', b'c', b'e',
        20, 0, 0, 0, b'!', b'F', b'a', b's', b't', b'S', b'e', b'r', b'i', b'a', b'l', b'i', b'z', b'a', b't', b'i',
        b'o', b'n', b'.', b'1',
        // Trace, versions 4 and 4.
        5, 5, 1, 4, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, b'T', b'r', b'a', b'c', b'e', 6,
        0xe8, 7, 5, 0, 1, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0, // 2024-05-06 07:08:09.010
        0xe8, 3, 0, 0, 0, 0, 0, 0, 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0, // tick 1,000; 1 GHz
        8, 0, 0, 0, 77, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 6,
        // MetadataBlock, versions 2 and 2, with 83 bytes from a multiple of 4 bytes on.
        5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0, 13, 0, 0, 0,
        b'M', b'e', b't', b'a', b'd', b'a', b't', b'a', b'B', b'l', b'o', b'c', b'k', 6,
        84, 0, 0, 0, 0,
        20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0x80, 0, 61, // size of the payload, and nothing else
        1, 0, 0, 0, b'P', 0, 0, 0, 5, 0, 0, 0, b'E', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0,
        1, 0, 0, 0, 9, 0, 0, 0, b'n', 0, b'u', 0, b'm', 0, b'b', 0, b'e', 0, b'r', 0, 0, 0,
        0, 0, 0, 0, 1, 0, 0, // too short for a tag: ignored
        6,
        // EventBlock with 35 bytes.
        5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0, 10, 0, 0, 0, b'E', b'v', b'e', b'n', b't', b'B', b'l', b'o', b'c', b'k', 6,
        46, 0, 0, 0, 0,
        20, 0, 1, 0, 0xdc, 5, 0, 0, 0, 0, 0, 0, 0xe6, 5, 0, 0, 0, 0, 0, 0,
        // Metadata 1, sequence number 1, capture thread 300, processor 2, thread 300, 1,500 ticks, sorted, 4 bytes.
        0x80 | 64 | 4 | 2 | 1, 1, 0, 0xac, 2, 2, 0xac, 2, 0xdc, 11, 4, 0xfe, 0xff, 0xff, 0xff,
        // 10 ticks later.
        0, 10, 7, 0, 0, 0,
        // 3 ticks later, after the block's end: an incomplete row.
        0, 3, 7, 0, 0,
        6,
        1,
    ];
    let mut bytes = bytes.to_vec();
    let row = bytes.windows(3).position(|window| window == [0x80, 0, 61]).unwrap();
    assert_eq!(&bytes[row + 3..][..4], [1, 0, 0, 0]);
    let read = check(&bytes);
    assert_eq!(read.payload("number"), [json!(-2), json!(7)]);
    assert_eq!(read.context("thread"), [json!(300), json!(300)]);
    assert_eq!(read.context("processor"), [json!(2), json!(2)]);
    assert_eq!(read.times(), [1_500, 1_510]);
    // 500 ns after the time of the trace block.
    assert_eq!(read.events[0]["ts"], json!(1_714_979_289_010_000_500_u64));
    assert_eq!(read.events[0]["name"], "P/E");
    assert_eq!(read.damage.len(), 1, "{:?}", read.damage);
    // Without the incomplete row, the file is valid.
    let end = bytes.len() - 2;
    bytes.drain(end - 5..end);
    let size = bytes.len() - 2 - 41 - 1 - 4;
    assert_eq!(bytes[size], 46, "{:?}", &bytes[size - 4..size + 4]);
    bytes[size] = 41;
    assert_eq!((check(&bytes).events, check(&bytes).damage), (read.events, vec![]));
}

/// After payloads of all sizes modulo 4, the next event is found, because event sizes include padding.
#[test]
fn uncompressed_events_are_padded() {
    for form in FORMS {
        let mut file = File::new(form);
        file.metadata(&[Metadata::new(1, "Bytes", [field(form, 6, "first")])]);
        threads_if_v6(&mut file, 7);
        let events: Vec<Event> = (1..10u32)
            .map(|i| Event::new(1, 5, i, u64::from(i)).with(Bytes::new().raw(&vec![i as u8; i as usize])))
            .collect();
        file.events(false, &events);
        let read = check(&file.end());
        assert_eq!(read.payload("first"), (1..10).map(Value::from).collect::<Vec<_>>(), "{form:?}");
        assert_eq!((read.lost.len(), read.damage), (0, vec![]), "{form:?}");
    }
}

/// One could also read the document as excluding padding from the size. Such files are also accepted.
#[test]
fn padding_that_is_not_part_of_the_size() {
    let mut file = file(Form::V4);
    let mut content = block_header(false, (1, 3), 0);
    for i in 1..=3 {
        let mut event = number(7, i, i.into(), i);
        event.payload.push(9);
        let row = rows(Form::V4, false, &[event]).0;
        content = content.u32(row.len() as u32 - 4 - 3).raw(&row[4..]);
    }
    file.block(kind::EVENT, &content.0);
    let read = check(&file.end());
    assert_eq!((read.payload("number"), read.damage), (vec![json!(1), json!(2), json!(3)], vec![]));
}

/// If the high bit of the metadata id is set, the event is *not* sorted.
#[test]
fn the_bit_of_sorted_events_is_inverted() {
    for (is_sorted, expected) in [(true, [1, 3, 2]), (false, [1, 2, 3])] {
        let mut file = file(Form::V4);
        let mut events = [number(7, 1, 1, 1), number(7, 2, 3, 3), number(8, 1, 2, 2)];
        // The third event breaks the promise of a sorted second event.
        events[1].is_sorted = is_sorted;
        file.events(false, &events);
        let bytes = file.end();
        let at = bytes.windows(8).rposition(|window| window == 3u64.to_le_bytes()).unwrap();
        assert_eq!(bytes[at - 4 - 4 - 8 - 8 - 4 - 4 + 3], if is_sorted { 0 } else { 0x80 });
        let read = check(&bytes);
        // Nothing is large enough to be released before the end, so events are always sorted by time.
        assert_eq!(read.payload("number"), [json!(1), json!(2), json!(3)], "{expected:?}");
    }
}

/// With flag 2, the number grows by the delta plus 1. Without it, the number grows by 1, except for metadata.
#[test]
fn sequence_numbers() {
    for form in [Form::V4, Form::V6] {
        let mut file = file(form);
        // 1, 2 without the flag, 3 with a delta of 0, 2^32 - 1, then 0, then 1 with the flag.
        let head = |bytes: Bytes, flags: u8| bytes.u8(flags);
        let rows =
            head(block_header(true, (1, 6), 0), 0xc7).var(1).var(0).var(7).var(0).var(7).var(1).var(4).u32(1);
        let rows = rows.u8(0).var(1).u32(2);
        let rows = rows.u8(2).var(0).var(7).var(0).var(1).u32(3);
        let rows = rows.u8(2).var(u64::from(u32::MAX) - 4).var(7).var(0).var(1).u32(4);
        let rows = rows.u8(0).var(1).u32(5);
        let rows = rows.u8(2).var(0).var(7).var(0).var(1).u32(6);
        file.block(kind::EVENT, &rows.0);
        let read = check(&file.end());
        assert_eq!(read.payload("number").len(), 6);
        // From 3 to 2^32 - 1 is more than half the range: not a loss, the thread started again.
        assert_eq!((read.lost(), read.damage), (0, vec![]), "{form:?}");
    }
}

/// Times that go back are deltas that wrap around.
#[test]
fn deltas_wrap_around() {
    for form in [Form::V4, Form::V6] {
        let mut file = file(form);
        file.events(true, &[number(1, 1, 5_000, 1), number(2, 1, 4_000, 2), number(1, 2, u64::MAX >> 2, 3)]);
        let read = check(&file.end());
        assert_eq!(read.times(), [4_000, 5_000, u64::MAX >> 2]);
        assert_eq!((read.payload("number"), read.damage), (vec![json!(2), json!(1), json!(3)], vec![]));
    }
}

/// Block headers can have unknown parts.
#[test]
fn headers_that_grow() {
    let mut file = File::new(Form::V4);
    let metadata = Metadata::new(1, "Number", [field(Form::V4, 9, "number")]);
    let row = Event { payload: metadata.v5().0, ..Event::default() };
    file.block(kind::METADATA, &block_header(true, (0, 0), 7).all([rows(Form::V4, true, &[row])]).0);
    let events = [number(7, 1, 1, 10), number(7, 2, 2, 20)];
    file.block(kind::EVENT, &block_header(true, (1, 2), 13).all([rows(Form::V4, true, &events)]).0);
    assert_eq!(check(&file.end()).payload("number"), [json!(10), json!(20)]);

    // In version 6, the header size excludes itself in metadata blocks, but not in event blocks.
    let mut file = File::new(Form::V6);
    let metadata = Metadata::new(1, "Number", [field(Form::V6, 9, "number")]);
    let content = Bytes::new().u16(5).raw(b"later").sized(metadata.v6());
    file.block(kind::METADATA, &content.0).threads(&[(7, 7, "")]);
    file.block(kind::EVENT, &block_header(true, (1, 2), 3).all([rows(Form::V6, true, &events)]).0);
    let read = check(&file.end());
    assert_eq!((read.payload("number"), read.damage), (vec![json!(10), json!(20)], vec![]));
}

/// Blocks are aligned to the start of the file, including its first 8 bytes.
#[test]
fn blocks_are_aligned_from_the_begin_of_the_file() {
    for form in [Form::V3, Form::V4] {
        for more in 0..4 {
            let mut file = file(form);
            // An unknown block whose name moves the next blocks.
            file.block((0, &"Unknown"[..4 + more]), b"abc");
            let begin = file.bytes.len();
            file.events(false, &[number(7, 1, 1, 0xabcd)]);
            let content =
                file.bytes.windows(4).skip(begin).position(|window| window == 0xabcd_u32.to_le_bytes());
            assert_eq!((begin + content.unwrap()) % 4, 0);
            assert_eq!(check(&file.end()).payload("number"), [json!(0xabcd)]);
        }
    }
}

/// Additions of newer versions are skipped without an error.
#[test]
fn unknown_objects_and_blocks() {
    for form in FORMS {
        let mut file = file(form);
        file.block((9, "NewBlock"), &[5; 77]);
        file.block((200, "AnotherNewBlock"), &[]);
        file.events(true, &[number(7, 1, 1, 10)]);
        file.block((31, "NewBlock"), &[0; 3]);
        let read = check(&file.end());
        assert_eq!((read.payload("number"), read.damage), (vec![json!(10)], vec![]), "{form:?}");
    }
}

/// An object that consists only of tagged values, as the document requires for new objects.
#[test]
fn unknown_objects_of_tagged_values() {
    for form in [Form::V3, Form::V4] {
        let mut file = file(form);
        for tagged in
            [&b""[..], &[8, 1, 9, 1, 2], &[13, 3, 0, 0, 0, b'a', b'b', b'c'], &[11, 6, 6, 6, 6, 6, 6, 6, 6]]
        {
            file.begin_object("Tagged", (1, 1));
            file.bytes.extend_from_slice(tagged);
            file.bytes.push(6);
        }
        file.events(true, &[number(7, 1, 1, 10)]);
        let read = check(&file.end());
        assert_eq!((read.payload("number"), read.damage), (vec![json!(10)], vec![]), "{form:?}");
    }
}

/// Tagged values after the payload of an object.
#[test]
fn tagged_values_behind_a_payload() {
    let tagged: &[u8] = &[8, 1, 9, 1, 2, 10, 1, 2, 3, 4, 11, 1, 2, 3, 4, 5, 6, 7, 8, 14, 2, 0, 0, 0, 6, 6, 6];
    for form in [Form::V3, Form::V4] {
        let mut file = File::new(form);
        file.bytes.pop();
        file.bytes.extend_from_slice(tagged);
        file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number")])]);
        file.events(false, &[number(7, 1, 1, 10)]);
        file.bytes.pop();
        file.bytes.extend_from_slice(tagged);
        file.events(false, &[number(7, 2, 2, 20)]);
        let read = check(&file.end());
        assert_eq!((read.payload("number"), read.damage), (vec![json!(10), json!(20)], vec![]), "{form:?}");
    }
}

#[test]
fn versions_that_are_refused() {
    let open = |bytes: &[u8]| {
        NettraceFile::open("file", bytes.to_vec().into(), &NettraceOptions::default())
            .unwrap_err()
            .to_string()
    };
    for version in [1, 2] {
        let mut file = File::header(Form::V3);
        file.begin_object("Trace", (version, 0));
        file.bytes.extend([0; 48]);
        assert!(
            open(&file.bytes).contains(&format!("version {version} is not supported")),
            "{}",
            open(&file.bytes)
        );
    }
    let mut file = File::new(Form::V6);
    file.bytes[12] = 7;
    assert!(open(&file.bytes).contains("version 7 is too new"), "{}", open(&file.bytes));
    file.bytes[12] = 5;
    assert!(open(&file.bytes).contains("version 5 is not supported"), "{}", open(&file.bytes));
    let mut file = File::header(Form::V4);
    file.begin_object("Trace", (9, 9));
    file.bytes.extend([0; 49]);
    assert!(open(&file.bytes).contains("version 9 is too new"), "{}", open(&file.bytes));
    // A newer minor version is read.
    let mut bytes = self::file(Form::V6);
    bytes.events(true, &[number(7, 1, 1, 10)]);
    let mut bytes = bytes.end();
    bytes[16] = 3;
    assert_eq!(check(&bytes).payload("number"), [json!(10)]);
}

/// Returns the level, version, opcode and keywords in the class of an event.
fn class_attributes(read: &Read, event: usize) -> Value {
    let id = &read.events[event]["id"];
    let class = read.classes.iter().find(|class| class["id"] == *id).unwrap();
    let attributes = &class["attributes"]["nettrace"];
    let members = ["level", "version", "opcode", "keywords"];
    members.iter().map(|name| ((*name).to_owned(), attributes[name].clone())).collect()
}

/// Labels that override metadata: fields follow the overriding version, as do role and severity.
#[test]
fn labels_override_metadata() {
    let mut file = File::new(Form::V6);
    let mut collection = Metadata::new(1, "", []);
    (collection.provider, collection.event_id) = ("Microsoft-Windows-DotNETRuntime".to_owned(), 1);
    (collection.version, collection.keywords) = (0, 1);
    let mut message = Metadata::new(2, "Message", [field(Form::V6, 18, "Message")]);
    message.provider = "Microsoft-Diagnostics-DiagnosticSource".to_owned();
    file.metadata(&[collection, message]).threads(&[(7, 7, "")]);
    let lists = Bytes::new().u32(1).u32(3).u8(0x8a).u8(2);
    let lists = lists.u8(9).u8(1).u8(0x87).u8(2).u8(0x88).u64(0xf000_0000_0004);
    file.block(kind::LABEL_LIST, &lists.0);
    let version_2 = Bytes::new().u32(5).u32(1).u32(0).u32(0).u16(9).u64(77);
    let event = |id, sequence: u32, labels, payload| Event {
        labels,
        ..Event::new(id, 7, sequence, u64::from(sequence)).with(payload)
    };
    let events = [
        event(1, 1, 0, Bytes::new().u32(3).u32(1)),
        event(1, 2, 1, version_2),
        event(2, 3, 0, Bytes::new().utf16("a")),
        event(2, 4, 2, Bytes::new().utf16("b")),
        event(2, 5, 3, Bytes::new().utf16("c")),
    ];
    file.events(true, &events);
    let read = check(&file.end());
    assert_eq!((&read.damage, &read.longer), (&vec![], &vec![]));
    assert_eq!(read.payload("Count"), [json!(3), json!(5), Value::Null, Value::Null, Value::Null]);
    assert_eq!(read.payload("ClientSequenceNumber")[..2], [Value::Null, json!(77)]);
    assert_eq!(class_attributes(&read, 0)["version"], 0);
    assert_eq!(class_attributes(&read, 1), json!({"level": 4, "version": 2, "opcode": 1, "keywords": "0x1"}));
    assert_eq!(
        class_attributes(&read, 2),
        json!({"level": 4, "version": 0, "opcode": null, "keywords": "0x0"})
    );
    assert_eq!(class_attributes(&read, 3), json!({"level": 1, "version": 0, "opcode": 2, "keywords": "0x0"}));
    // Session bits are removed.
    assert_eq!(class_attributes(&read, 4)["keywords"], "0x4");
    let role = |event: usize| {
        let id = &read.events[event]["id"];
        let class = read.classes.iter().find(|class| class["id"] == *id).unwrap();
        (class["role"].clone(), class["log"]["severity"].clone())
    };
    assert_eq!([0, 1].map(role), [(); 2].map(|()| (json!("begin"), Value::Null)));
    let roles = [(Value::Null, json!(4)), (json!("end"), json!(1)), (Value::Null, json!(4))];
    assert_eq!([2, 3, 4].map(role), roles);
}

/// The limit on pairs of classes and overriding labels is not a fault, one pair more is.
#[test]
fn very_many_overriding_labels() {
    for more in [0, 1] {
        let mut file = File::new(Form::V6);
        let classes = ["a", "b", "c", "d"];
        let metadata = classes.into_iter().zip(1..).map(|(name, id)| Metadata::new(id, name, []));
        file.metadata(&metadata.collect::<Vec<_>>()).threads(&[(7, 7, "")]);
        // For each class, each level with 64 versions, then one list with an opcode.
        let lists = 1u32 << 14;
        let mut block = Bytes::new().u32(1).u32(lists + 1);
        for i in 0..lists {
            block = block.u8(7).u8(i as u8).u8(0x89).u8((i >> 8) as u8);
        }
        file.block(kind::LABEL_LIST, &block.u8(0x8a).u8(5).0);
        let pairs = (1..=4).flat_map(|class| (1..=lists).map(move |list| (class, list)));
        // The first list again.
        let pairs = pairs.chain([(1, 1)]).chain((0..more).map(|_| (1, lists + 1)));
        let event = |((class, labels), sequence): ((u32, u32), u32)| Event {
            labels,
            ..Event::new(class, 7, sequence, u64::from(sequence))
        };
        file.events(true, &pairs.zip(1..).map(event).collect::<Vec<_>>());
        let opened = crate::support::Opened::of_bytes("file", file.end().into(), &NettraceOptions::default());
        let damage: Vec<String> = opened.file.damage().iter().map(ToString::to_string).collect();
        let is_reported = damage.iter().any(|damage| damage.contains("too many different labels"));
        assert_eq!(is_reported, more > 0, "{damage:?}");
        // These classes exceed the memory limit, which is reported once.
        assert_eq!(damage.len(), 1 + more, "{damage:?}");
    }
}

/// The level of an event is from the file, even if the runtime's manifest has another level.
#[test]
fn levels_are_those_of_the_file() {
    for form in FORMS {
        let mut file = File::new(form);
        let known = [("Microsoft-DotNETCore-SampleProfiler", 0), ("Microsoft-Windows-DotNETRuntime", 1)];
        let metadata = known.into_iter().zip(1..).map(|((provider, event_id), id)| Metadata {
            provider: provider.to_owned(),
            event_id,
            level: 1 - (id - 1),
            ..Metadata::new(id, "", [])
        });
        file.metadata(&metadata.collect::<Vec<_>>());
        threads_if_v6(&mut file, 7);
        let sample = Event::new(1, 7, 1, 1).with(Bytes::new().u32(2));
        let collection = Event::new(2, 7, 2, 2).with(Bytes::new().u32(3).u32(1));
        file.events(false, &[sample, collection]);
        let read = check(&file.end());
        assert_eq!(
            [0, 1].map(|event| class_attributes(&read, event)["level"].clone()),
            [json!(1), json!(0)],
            "{form:?}"
        );
    }
}

/// Lists with all kinds of labels. The high bit ends a list.
#[test]
fn labels() {
    let mut file = file(Form::V6);
    let activity: [u8; 16] = std::array::from_fn(|i| i as u8);
    let related: [u8; 16] = std::array::from_fn(|i| 0x10 + i as u8);
    let trace: [u8; 16] = std::array::from_fn(|i| 0x20 + i as u8);
    let lists = Bytes::new().u32(5).u32(3);
    let lists = lists.u8(1).raw(&activity).u8(2).raw(&related).u8(3).raw(&trace).u8(0x84).u64(0x1234);
    let lists =
        lists.u8(5).text("key").text("text").u8(6).text("n").var(3).u8(7).u8(1).u8(8).u64(6).u8(9).u8(2);
    let lists = lists.u8(0x8a).u8(3).u8(0x85).text("last").text("");
    file.block(kind::LABEL_LIST, &lists.0);
    let events: Vec<Event> =
        (0..4).map(|i| Event { labels: [0, 5, 6, 7][i as usize], ..number(1, i + 1, i.into(), i) }).collect();
    file.events(true, &events);
    // After a sequence point, the lists are gone.
    file.sequence_point(10, 0, &[]);
    file.events(true, &[Event { labels: 5, ..number(1, 5, 11, 5) }]);
    let read = check(&file.end());
    let null = Value::Null;
    assert_eq!(
        read.context("activity"),
        [
            null.clone(),
            json!("03020100-0504-0706-0809-0a0b0c0d0e0f"),
            null.clone(),
            null.clone(),
            null.clone()
        ]
    );
    assert_eq!(read.context("related_activity")[1], "13121110-1514-1716-1819-1a1b1c1d1e1f");
    // Bytes in order, not a GUID.
    assert_eq!(read.context("trace_id")[1], "202122232425262728292a2b2c2d2e2f");
    assert_eq!(read.context("span_id")[1], 0x1234);
    assert_eq!(read.context("labels")[2], json!([{"name": "key", "value": "text"}]));
    assert_eq!(read.context("numeric_labels")[2], json!([{"name": "n", "value": -2}]));
    let class = json!({"level": 2, "version": 3, "opcode": 1, "keywords": "0x6"});
    assert_eq!(class_attributes(&read, 2), class);
    // If the list overrides nothing, the class follows the metadata.
    let class = json!({"level": 4, "version": 0, "opcode": null, "keywords": "0x0"});
    assert_eq!([0, 1, 3, 4].map(|event| class_attributes(&read, event)), [(); 4].map(|()| class.clone()));
    assert_eq!(read.context("labels")[3], json!([{"name": "last", "value": ""}]));
    assert_eq!(read.context("numeric_labels")[3], null);
    assert_eq!(read.damage.len(), 1, "{:?}", read.damage);
    assert!(
        read.damage[0]["message"].as_str().unwrap().contains("label list, found the unknown index 5"),
        "{:?}",
        read.damage
    );
}

#[test]
fn label_kinds_that_are_not_known() {
    let mut file = file(Form::V6);
    let lists = Bytes::new().u32(1).u32(3).u8(0x87).u8(1).u8(0x8b).raw(&[1, 2, 3]);
    file.block(kind::LABEL_LIST, &lists.0);
    file.events(true, &[Event { labels: 1, ..number(1, 1, 1, 1) }]);
    let read = check(&file.end());
    assert_eq!(
        (class_attributes(&read, 0)["opcode"].clone(), read.context("labels")[0].clone()),
        (json!(1), Value::Null)
    );
    assert_eq!(read.damage.len(), 1);
    assert!(read.damage[0]["message"].as_str().unwrap().contains("known kinds"), "{:?}", read.damage);
}

/// Identifiers that encode an activity path are shown as a path to people, and as GUIDs elsewhere.
#[test]
fn paths_of_activities() {
    // The numbers 1, 2, 3 in process 77, and the same with another checksum.
    let path: [u8; 16] = {
        let numbers = [0x12, 0x30, 0, 0];
        let last = u32::from_le_bytes(numbers).wrapping_add(0x599d_99ad) ^ 77;
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&numbers);
        bytes[12..].copy_from_slice(&last.to_le_bytes());
        bytes
    };
    let mut other = path;
    other[12] ^= 1;
    for form in FORMS {
        let mut file = file(form);
        let mut events = [number(7, 1, 1, 1), number(7, 2, 2, 2)];
        if form == Form::V6 {
            let lists = Bytes::new().u32(1).u32(2).u8(0x81).raw(&path).u8(0x81).raw(&[9; 16]);
            file.block(kind::LABEL_LIST, &lists.0);
            (events[0].labels, events[1].labels) = (1, 2);
        } else {
            (events[0].activity, events[1].activity) = (path, other);
        }
        file.events(false, &events);
        let bytes = file.end();
        assert_eq!(read(&bytes).context("activity")[0], "00003012-0000-0000-0000-0000f2c99d59", "{form:?}");
        let opened = NettraceFile::open("file", bytes.into(), &NettraceOptions::default()).unwrap();
        let mut text = Vec::new();
        let mut pretty = Pretty::new(&mut text, PrettyOptions::default());
        pump(&mut Merge::new(opened.cursors(Window::default())), &mut pretty).unwrap();
        drop(pretty);
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("activity = /#77/1/2/3/"), "{form:?}: {text}");
        let guid = if form == Form::V6 { "09090909-0909" } else { "00003012-0000" };
        assert!(lines[1].contains(&format!("activity = {guid}")), "{form:?}: {text}");
    }
}

/// Events that only runtime threads write name these threads. The first name wins.
#[test]
fn threads_of_the_runtime_have_names() {
    for form in FORMS {
        let mut file = File::new(form);
        let runtime = |id, event_id| Metadata {
            provider: "Microsoft-Windows-DotNETRuntime".to_owned(),
            event_id,
            ..Metadata::new(id, "", [])
        };
        // ThreadPoolWorkerThreadStart, ThreadPoolWorkerThreadAdjustmentSample, GCFinalizersBegin.
        file.metadata(&[runtime(1, 50), runtime(2, 54), runtime(3, 14)]);
        if form == Form::V6 {
            file.threads(&[(5, 5, ""), (6, 6, ""), (7, 7, "")]);
        }
        let events = [(1, 5, 1), (2, 5, 2), (3, 6, 3), (2, 7, 4)];
        let events = events.map(|(id, thread, time)| Event::new(id, thread, time as u32, time));
        file.events(false, &events);
        let opened = NettraceFile::open("threads", file.end().into(), &NettraceOptions::default()).unwrap();
        let trace = opened.trace();
        let names = [4, 5, 6, 7].map(|thread| {
            let of = |process| trace.symbols().thread_name(process, thread).map(|name| name.to_string());
            of(Some(77)).or_else(|| of(None))
        });
        let names = names.map(|name| name.unwrap_or_default());
        let expected = ["", ".NET ThreadPool Worker", ".NET Finalizer Thread", ".NET ThreadPool"];
        assert_eq!(names, expected, "{form:?}");
    }
}

/// Threads with names, processes and more. Unknown parts are skipped.
#[test]
fn threads() {
    let mut file = File::new(Form::V6);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V6, 9, "number")])]);
    let row = |row: Bytes| Bytes::new().sized(row);
    let rows = [
        row(Bytes::new()
            .var(300)
            .u8(1)
            .text("main \u{e4}")
            .u8(2)
            .var(1 << 40)
            .u8(3)
            .var(1 << 50)
            .u8(4)
            .text("k")
            .text("v")),
        row(Bytes::new().var(2).u8(99).raw(b"anything")),
        row(Bytes::new().var(3).u8(3).var(33).u8(99).raw(b"anything")),
    ];
    file.block(kind::THREAD, &Bytes::new().all(rows).0);
    let events = [300, 2, 3, 4].map(|thread| number(thread, 1, thread, 1));
    file.events(true, &events);
    let read = check(&file.end());
    assert_eq!(read.context("thread"), [json!(2), json!(33), json!(4), json!(1_u64 << 50)]);
    assert_eq!(read.context("process")[3], 1_u64 << 40);
    assert_eq!(read.context("thread_name")[3], "main \u{e4}");
    assert_eq!(read.damage.len(), 1);
    assert!(
        read.damage[0]["message"].as_str().unwrap().contains("thread, found the unknown index 4"),
        "{:?}",
        read.damage
    );
}

/// Losses of removed threads are reported, and their indexes are free again.
#[test]
fn removed_threads() {
    let mut file = file(Form::V6);
    file.events(true, &[number(1, 1, 10, 1), number(2, 1, 20, 2)]);
    file.block(kind::REMOVE_THREAD, &Bytes::new().var(1).var(4).var(2).var(1).0);
    file.threads(&[(1, 111, "again")]);
    file.events(true, &[number(1, 1, 30, 3), number(1, 2, 40, 4), number(2, 1, 50, 5)]);
    let read = check(&file.end());
    assert_eq!(read.context("thread"), [json!(11), json!(22), json!(111), json!(111), json!(2)]);
    assert_eq!(read.lost(), 3, "{:?}", read.lost);
    assert_eq!(read.damage.len(), 1, "{:?}", read.damage);
}

/// Flag 1 of a sequence point ends all threads, flag 2 all metadata. Later ids have another meaning.
#[test]
fn flags_of_sequence_points() {
    let other = || Metadata::new(1, "Other", [field(Form::V6, 8, "small")]);
    for flags in 0..4 {
        let mut file = file(Form::V6);
        file.events(true, &[number(1, 1, 10, 1)]);
        file.sequence_point(15, flags, &[(1, 1)]);
        if flags & 2 != 0 {
            file.metadata(&[other()]);
        }
        if flags & 1 != 0 {
            file.threads(&[(1, 1111, "new")]);
        }
        file.events(true, &[number(1, 2, 20, 2)]);
        let read = check(&file.end());
        let expected = if flags & 2 != 0 { ["Tests/Number", "Tests/Other"] } else { ["Tests/Number"; 2] };
        assert_eq!(read.names(), expected, "{flags}");
        assert_eq!(
            read.context("thread"),
            [json!(11), json!(if flags & 1 != 0 { 1111 } else { 11 })],
            "{flags}"
        );
        assert_eq!((read.lost(), read.damage), (0, vec![]), "{flags}");
    }
    // Nothing is known any more.
    let mut file = file(Form::V6);
    file.sequence_point(15, 3, &[]).events(true, &[number(1, 1, 20, 2)]);
    let read = check(&file.end());
    assert_eq!(read.names(), ["unknown event"]);
    assert_eq!(read.damage.len(), 2, "{:?}", read.damage);
}

/// Redefined metadata ids.
#[test]
fn metadata_ids_that_are_defined_again() {
    for form in FORMS {
        let mut file = file(form);
        file.events(true, &[number(1, 1, 10, 1)]);
        file.metadata(&[Metadata::new(1, "Other", [field(form, 8, "small")])]);
        file.events(true, &[number(1, 2, 20, 2)]);
        let read = check(&file.end());
        assert_eq!(read.names(), ["Tests/Number", "Tests/Other"], "{form:?}");
        let again =
            read.damage.iter().filter(|damage| damage["message"].as_str().unwrap().contains("redefined"));
        assert_eq!((again.count(), read.damage.len()), (1, 1), "{form:?} {:?}", read.damage);
        // An equal row is not a redefinition.
        let mut file = self::file(form);
        file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number")])]);
        assert_eq!(check(&file.end()).damage.len(), 0, "{form:?}");
    }
}

/// Numbers that the reference reader cuts are kept.
#[test]
fn large_numbers_are_kept() {
    for form in [Form::V4, Form::V6] {
        let mut file = File::new(form);
        file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number")])]);
        let thread = 0x1234_5678_9abc_def0;
        threads_if_v6(&mut file, thread);
        for compressed in [true, false] {
            let sequence = if compressed { 1 } else { 2 };
            let mut event = number(if form == Form::V6 { 5 } else { thread }, sequence, sequence.into(), 3);
            event.processor = 70_000;
            event.payload.resize(200_000, 7);
            file.events(compressed, &[event]);
        }
        let read = check(&file.end());
        assert_eq!(read.context("thread"), [json!(thread), json!(thread)], "{form:?}");
        assert_eq!(read.context("processor"), [json!(70_000), json!(70_000)]);
        assert_eq!((read.payload("number"), read.damage), (vec![json!(3), json!(3)], vec![]));
    }
}

/// In version 6, adds a thread with index 5 and this id.
fn threads_if_v6(file: &mut File, id: u64) {
    if file.form == Form::V6 {
        file.threads(&[(5, id, "")]);
    }
}

/// More threads than the reference keeps. None of their events is lost.
#[test]
fn many_threads() {
    let mut file = file(Form::V4);
    for round in 0..2u32 {
        let events: Vec<Event> = (0..20_000)
            .map(|thread| number(thread, 1 + round, u64::from(round) * 100_000 + 20_000 - thread, 1))
            .collect();
        file.events(true, &events);
    }
    let read = check(&file.end());
    assert_eq!((read.events.len(), read.lost(), &read.damage), (40_000, 0, &vec![]));
    assert!(read.times().is_sorted());
}

/// Stack frames with 8 and with 4 bytes, empty stacks, unknown ids, and ids after a sequence point.
#[test]
fn stacks() {
    for pointer_size in [8, 4] {
        for form in [Form::V4, Form::V6] {
            let trace = Trace { pointer_size, ..Trace::default() };
            let mut file = File::with(form, &trace);
            file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number")])]);
            if form == Form::V6 {
                file.threads(&[(1, 1, "")]);
            }
            let address = |bytes: Bytes, value: u32| {
                if pointer_size == 4 { bytes.u32(value) } else { bytes.u64(value.into()) }
            };
            let two = address(address(Bytes::new().u32(2 * pointer_size), 0xdead), 0xbeef);
            let one = address(Bytes::new().u32(pointer_size), 0xbeef);
            let block = Bytes::new().u32(10).u32(4).u32(0).all([two, one.clone(), one]);
            file.block(kind::STACK, &block.0);
            let ids = [0, 10, 11, 12, 13, 14, 9];
            let events: Vec<Event> =
                (1..).zip(ids).map(|(i, stack)| Event { stack, ..number(1, i, i.into(), i) }).collect();
            file.events(true, &events);
            file.sequence_point(50, 0, &[(1, 7)]);
            file.events(true, &[Event { stack: 11, ..number(1, 8, 60, 0) }]);
            let read = check(&file.end());
            let stacks = read.context("stack");
            let null = Value::Null;
            let (a, b) = (&stacks[2], &stacks[3]);
            assert!(a.is_u64() && b.is_u64() && a != b, "{stacks:?}");
            let expected = [&null, &null, a, b, b, &null, &null, &null];
            assert_eq!(stacks.iter().collect::<Vec<_>>(), expected);
            let unknown: Vec<_> =
                read.damage.iter().map(|damage| damage["message"].as_str().unwrap()).collect();
            assert!(unknown.iter().all(|message| message.contains("the id of a stack")), "{unknown:?}");
            assert_eq!(unknown.len(), 3, "{unknown:?}");
        }
    }
}

/// Version 3: metadata is among the events, and stacks follow payloads.
#[test]
fn version_3() {
    let mut file = File::new(Form::V3);
    let row = Event {
        payload: Metadata::new(1, "Number", [field(Form::V3, 9, "number")]).v5().0,
        ..Event::default()
    };
    let event = |time: u64, value: u32, addresses: &[u64]| Event {
        addresses: addresses.to_vec(),
        activity: [value as u8; 16],
        ..number(7, 0, time, value)
    };
    file.events(false, &[row, event(30, 1, &[1, 2]), event(10, 2, &[]), event(20, 3, &[1, 2])]);
    file.events(false, &[event(40, 4, &[3])]);
    let read = check(&file.end());
    assert_eq!(read.times(), [30, 10, 20, 40]);
    assert_eq!(read.payload("number"), [1, 2, 3, 4].map(Value::from));
    assert_eq!(read.context("activity")[0], "01010101-0101-0101-0101-010101010101");
    let stacks = read.context("stack");
    assert!(stacks[0].is_u64() && stacks[0] == stacks[2] && stacks[1].is_null() && stacks[3] != stacks[0]);
    assert_eq!(read.context("thread")[0], 7);
    assert!(read.context("processor")[0].is_null());
    assert_eq!(read.damage, Vec::<Value>::new());
}

/// Clocks with other frequencies, and invalid dates.
#[test]
fn clocks() {
    let ts = |trace: &Trace, time: u64| {
        let mut file = File::with(Form::V4, trace);
        file.metadata(&[Metadata::new(1, "Number", [field(Form::V4, 9, "number")])]);
        file.events(true, &[number(1, 1, time, 1)]);
        let read = read(&file.end());
        (read.events[0]["ts"].clone(), read.damage.len())
    };
    let start = 1_714_979_289_010_000_000_u64;
    let usual = Trace::default();
    assert_eq!(ts(&usual, 900), (json!(start - 100), 0), "before the trace began");
    let slow = Trace { frequency: 10_000_000, ..usual.clone() };
    assert_eq!(ts(&slow, 1_007), (json!(start + 700), 0));
    // The frequency of a real machine: 3,124,099 ticks are a second.
    let odd = Trace { frequency: 3_124_099, ..usual.clone() };
    let near = |time: Value, expected: u64| time.as_u64().unwrap().abs_diff(expected) <= 160;
    assert!(near(ts(&odd, 1_000 + 3_124_099).0, start + 1_000_000_000));
    assert!(near(ts(&odd, 1_001).0, start + 320));
    // Files with 1,000 milliseconds and more exist. This is not a valid date, which is reported.
    let mut long = usual.clone();
    long.date[7] = 1_010;
    assert_eq!(ts(&long, 1_000), (json!(start + 1_000_000_000), 1));
    let garbage = Trace { date: [0xffff; 8], ..usual.clone() };
    assert_eq!(ts(&garbage, 1_500), (json!(1_500), 1));
    for frequency in [0, u64::MAX] {
        assert_eq!(ts(&Trace { frequency, ..usual.clone() }, 1_500).1, 1);
    }
}

/// Rows that contain all parts equal rows that omit repeated parts.
#[test]
fn rows_with_all_their_parts() {
    for form in [Form::V4, Form::V6] {
        let events: Vec<Event> = (1..20)
            .map(|i| {
                let mut event = number(1 + u64::from(i) / 7 % 2, 1 + (i - 1) % 7, u64::from(i) * 5, i);
                event.processor = i / 3;
                event
            })
            .collect();
        let mut short = file(form);
        short.events(true, &events);
        let mut content = block_header(true, (5, 95), 0);
        let mut before = Event::default();
        for event in &events {
            content = row_compressed(content, event, &before, form == Form::V6, true);
            before = event.clone();
        }
        let mut long = file(form);
        long.block(kind::EVENT, &content.0);
        let short = short.end();
        // Label list 0 and all-zero GUIDs count as missing.
        assert_eq!(read(&long.end()).events, read(&short).events, "{form:?}");
        assert_eq!(read_unsorted(&short).events.len(), 19);
    }
}

/// Activities in version 4, which repeat if they are omitted.
#[test]
fn activities() {
    let mut file = file(Form::V4);
    let mut events = [number(1, 1, 1, 1), number(1, 2, 2, 2), number(1, 3, 3, 3)];
    events[0].activity = std::array::from_fn(|i| i as u8);
    events[1].activity = events[0].activity;
    events[1].related_activity = [9; 16];
    for compressed in [true, false] {
        file.events(compressed, &events);
        events
            .iter_mut()
            .for_each(|event| (event.time, event.sequence) = (event.time + 10, event.sequence + 3));
    }
    let read = check(&file.end());
    let activities = [
        json!("03020100-0504-0706-0809-0a0b0c0d0e0f"),
        json!("03020100-0504-0706-0809-0a0b0c0d0e0f"),
        Value::Null,
    ];
    assert_eq!(read.context("activity"), [&activities[..], &activities].concat());
    let related = [Value::Null, json!("09090909-0909-0909-0909-090909090909"), Value::Null];
    assert_eq!(read.context("related_activity"), [&related[..], &related].concat());
}

/// Events with OpenTelemetry labels belong to the span, others to their activity. The task is their trace.
#[test]
fn spans_and_activities_are_operations() {
    let activity: [u8; 16] = std::array::from_fn(|i| 1 + i as u8);
    let trace: [u8; 16] = std::array::from_fn(|i| 0x20 + i as u8);
    let lists = Bytes::new().u32(1).u32(4);
    let lists = lists.u8(1).raw(&activity).u8(3).raw(&trace).u8(0x84).u64(0x1234);
    let lists = lists.u8(3).raw(&trace).u8(0x84).u64(0x1234);
    let lists = lists.u8(1).raw(&activity).u8(0x83).raw(&trace);
    let lists = lists.u8(0x83).raw(&trace);
    let mut v6 = file(Form::V6);
    v6.block(kind::LABEL_LIST, &lists.0);
    let events: Vec<Event> = (0..=4).map(|i| Event { labels: i, ..number(1, i + 1, i.into(), i) }).collect();
    v6.events(true, &events);
    let mut v4 = file(Form::V4);
    let mut event = number(1, 1, 1, 1);
    event.activity = activity;
    v4.events(true, &[event, number(1, 2, 2, 2)]);
    let tasks = |bytes: Vec<u8>| {
        let opened = NettraceFile::open("tasks", bytes.into(), &NettraceOptions::default()).unwrap();
        let mut collector = TaskCollector::new(TaskOptions::default());
        pump(&mut Merge::new(opened.cursors(Window::default())), &mut collector).unwrap();
        collector.finish()
    };
    let is_span = "0000000000001234";
    let is_activity = "0403020106050807090A0B0C0D0E0F10";
    let operations = |tasks: &Tasks| -> Vec<(String, u32)> {
        let graph = tasks.graph(0);
        let members = (0..graph.len()).filter_map(|node| graph.member(node));
        members.map(|member| (member.id.to_string(), member.events)).collect()
    };
    let of_v6 = tasks(v6.end());
    assert_eq!(of_v6.len(), 1);
    assert_eq!(of_v6.id(0).unwrap().to_string(), "202122232425262728292A2B2C2D2E2F");
    assert_eq!(operations(&of_v6), [(is_span.to_owned(), 2), (is_activity.to_owned(), 1)]);
    // The last event names only the task.
    assert_eq!(of_v6.summary(0).unwrap().mentions, 1);
    let of_v4 = tasks(v4.end());
    assert_eq!((of_v4.len(), operations(&of_v4)), (1, vec![(is_activity.to_owned(), 1)]));
}
