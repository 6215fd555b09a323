//! Rules of the documents that readers do not need, and that `check` reports.

use crate::builder::{Bytes, Event, File, Form, Metadata, Trace, field, field_v2, kind, tag_v5};
use crate::reading::{check, read_with};
use ichnos_model::OpenedTrace as _;
use ichnos_model::message::{Damage, DamageKind};
use ichnos_nettrace::{NettraceFile, NettraceOptions};

/// Returns the names of the broken rules in the metadata and the blocks.
fn rules(bytes: &[u8], check: bool) -> Vec<&'static str> {
    let mut options = NettraceOptions::default();
    options.check = check;
    let file = NettraceFile::open("file", bytes.to_vec().into(), &options).unwrap();
    let name = |damage: &Damage| match &damage.kind {
        DamageKind::Rule(rule) => rule.name,
        kind => panic!("{kind}"),
    };
    file.damage().iter().map(name).collect()
}

fn number(sequence: u32, time: u64) -> Event {
    Event::new(1, 7, sequence, time).with(Bytes::new().u32(5))
}

fn file(trace: &Trace) -> File {
    let mut file = File::with(Form::V4, trace);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V4, 9, "number")])]);
    file.events(true, &[number(1, 2_000), number(2, 3_000)]);
    file
}

#[test]
fn dates_that_do_not_exist() {
    let none: &[&str] = &[];
    let cases: [([u16; 8], &[&str]); 6] = [
        ([2024, 2, 4, 29, 7, 8, 9, 999], none),
        ([2024, 2, 5, 30, 7, 8, 9, 10], &["trace-block"]),
        ([2023, 2, 3, 29, 7, 8, 9, 10], &["trace-block"]),
        ([2024, 5, 1, 6, 7, 8, 60, 10], &["trace-block"]),
        ([2024, 5, 1, 6, 7, 8, 9, 65_535], &["trace-block"]),
        ([0, 5, 1, 6, 7, 8, 9, 10], &["trace-block"]),
    ];
    for (date, expected) in cases {
        let bytes = file(&Trace { date, ..Trace::default() }).end();
        for check in [true, false] {
            assert_eq!(rules(&bytes, check), expected, "{date:?}");
        }
    }
}

#[test]
fn pointers_of_an_impossible_size() {
    let trace = Trace { pointer_size: 8_323_080, ..Trace::default() };
    let bytes = file(&trace).end();
    assert_eq!(rules(&bytes, true), ["trace-block"]);
    assert_eq!(check(&bytes).trace["environment"]["pointer_size"], 8);
}

#[test]
fn bytes_after_the_end() {
    let whole = file(&Trace::default()).end();
    for (rest, found) in [
        (whole.clone(), "another recording"),
        (vec![0; 100], "100 zeros"),
        (b"something else".to_vec(), "14 bytes"),
    ] {
        let bytes = [whole.clone(), rest].concat();
        assert_eq!(rules(&bytes, false), ["after-end"]);
        let read = check(&bytes);
        assert!(read.damage[0]["message"].as_str().unwrap().contains(found), "{}", read.damage[0]);
        assert_eq!(read.events.len(), 2);
    }
    let mut v6 = File::new(Form::V6).end();
    v6.push(1);
    assert_eq!(rules(&v6, false), ["after-end"]);
}

/// If a file is cut in its header or its trace block, all of its events are read. Blocks are aligned to the missing
/// start.
#[test]
fn files_without_their_beginning() {
    for form in [Form::V3, Form::V4, Form::V6] {
        let header = File::header(form).bytes.len();
        let mut file = File::new(form);
        let trace_end = file.bytes.len();
        if form == Form::V6 {
            file.threads(&[(7, 70, "main")]);
        }
        file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number")])]);
        let is_compressed = form != Form::V3;
        file.events(is_compressed, &[number(1, 2_000)]).events(is_compressed, &[number(2, 3_000)]);
        let whole = file.end();
        let expected = check(&whole);
        assert_eq!(expected.names(), ["Tests/Number"; 2]);
        for cut in 1..=trace_end {
            let bytes = &whole[cut..];
            let read = check(bytes);
            assert_eq!(read.names(), expected.names(), "{form:?} {cut}");
            assert_eq!(read.payload("number"), expected.payload("number"), "{form:?} {cut}");
            assert_eq!(read.times(), expected.times(), "{form:?} {cut}");
            let is_first =
                |text: &str| read.damage.iter().any(|one| one["message"].as_str().unwrap().contains(text));
            assert!(is_first("expected `Nettrace`, found a block at byte "), "{form:?} {cut}");
            // The date is in the trace block.
            let has_trace = cut <= header;
            assert_eq!(is_first("expected a trace block"), !has_trace, "{form:?} {cut}");
            let times = |read: &crate::reading::Read| {
                read.events.iter().map(|event| event["ts"].clone()).collect::<Vec<_>>()
            };
            assert_eq!(times(&read) == times(&expected), has_trace, "{form:?} {cut}");
        }
        let mut options = NettraceOptions::default();
        (options.frequency, options.pointer_size) = (Some(10_000_000), Some(4));
        let read = read_with(&whole[trace_end..], &options);
        assert_eq!(read.events[0]["ts"], 200_000);
        assert_eq!(read.trace["environment"]["pointer_size"], 4);
    }
}

#[test]
fn sequence_points_in_another_order() {
    let mut file = file(&Trace::default());
    file.sequence_point(3_000, 0, &[(7, 2)]).sequence_point(3_000, 0, &[(7, 2)]);
    assert_eq!(rules(&file.clone().end(), true), [] as [&str; 0]);
    file.sequence_point(2_999, 0, &[(7, 2)]);
    assert_eq!(rules(&file.end(), true), ["sequence-point-order"]);
}

#[test]
fn blocks_without_events() {
    let mut file = file(&Trace::default());
    file.events(true, &[]);
    assert_eq!(rules(&file.end(), true), ["empty-block"]);
}

/// Creates a file with a metadata row that ends with these tags, and an event with this payload.
fn tagged(fields: Vec<Bytes>, tags: Bytes, payload: Bytes) -> Vec<u8> {
    let row = Metadata { tags, ..Metadata::new(1, "Number", fields) };
    let mut file = File::new(Form::V4);
    file.metadata(&[row]).events(true, &[Event::new(1, 7, 1, 2_000).with(payload)]);
    file.end()
}

#[test]
fn tags_of_metadata() {
    let payload = || Bytes::new().u32(5);
    let fields = || vec![field(Form::V4, 9, "number")];
    let tag = || tag_v5(2, Bytes::new().u32(1).raw(&field_v2("number", Bytes::new().u32(9)).0));
    let opcode = || tag_v5(1, Bytes::new().u8(10));
    let none: [&str; 0] = [];
    assert_eq!(rules(&tagged(fields(), opcode(), payload()), true), none);
    assert_eq!(rules(&tagged(vec![], tag(), payload()), true), none);
    // Both field lists.
    let both = tagged(fields(), tag(), payload());
    assert_eq!(rules(&both, true), ["metadata-tag"]);
    assert_eq!(check(&both).payload("number"), [5]);
    // A tag that is longer than its row.
    let long = Bytes::new().u32(100).u8(1).u8(10);
    assert_eq!(rules(&tagged(fields(), long, payload()), true), ["metadata-tag"]);
}

/// Fields in the document's order: the type, the element type, and then the name.
#[test]
fn fields_of_a_tag_in_the_form_of_the_document() {
    let tag = tag_v5(2, Bytes::new().u32(2).u32(19).u32(9).utf16("list").u32(9).utf16("number"));
    let bytes = tagged(vec![], tag, Bytes::new().u16(2).u32(4).u32(5).u32(6));
    let read = check(&bytes);
    assert_eq!(read.damage.len(), 0);
    assert_eq!(
        (read.payload("list"), read.payload("number")),
        (vec![serde_json::json!([4, 5])], vec![6.into()])
    );
}

/// one-collect wrote the event version as a named label before the document had a kind for it.
#[test]
fn a_label_with_the_name_of_the_version() {
    let mut file = File::new(Form::V6);
    let mut row = Metadata::new(1, "", []);
    (row.provider, row.event_id) = ("Microsoft-Windows-DotNETRuntime".to_owned(), 10);
    file.metadata(&[row]).threads(&[(1, 11, "first")]);
    let label = Bytes::new().u32(1).u32(1).u8(0x86).text("Version").var(8);
    file.block(kind::LABEL_LIST, &label.0);
    let payload = Bytes::new().u32(7).u32(0).u16(1).u64(9).u64(3).utf16("String").u32(0).u64(5).u64(4);
    file.events(true, &[Event { labels: 1, ..Event::new(1, 1, 1, 2_000) }.with(payload)]);
    let read = check(&file.end());
    assert_eq!((read.damage.len(), read.longer.len()), (0, 0), "{read:?}");
    assert_eq!(read.payload("TypeName"), ["String"]);
}
