//! Changed bytes, and files made to be slow: the reader must not panic or hang, and must read untouched parts.

use std::time::Duration;

use ichnos_nettrace::{NettraceFile, NettraceOptions};
use ichnos_testing::{Random, cases, in_cpu_time};
use serde_json::json;

use crate::builder::{
    Bytes, Event, File, Form, Metadata, block_header, field, field_v2, field_v6, kind, tag_v5,
};
use crate::reading::{check, read};
use crate::truncated::{recorded, skim};

const FORMS: [Form; 3] = [Form::V3, Form::V4, Form::V6];

/// Creates ten blocks with 20 events each. Block `i` has times from `1_000 * i` on. Returns the start of each block.
fn blocks(form: Form) -> (Vec<u8>, Vec<usize>) {
    let mut file = File::new(form);
    file.metadata(&[Metadata::new(1, "Number", [field(form, 12, "number")])]);
    if form == Form::V6 {
        file.threads(&[(1, 11, "a"), (2, 12, "b")]);
    }
    let mut begins = Vec::new();
    for block in 0..10u32 {
        begins.push(file.bytes.len());
        let events = (0..20).map(|i| {
            let number = 20 * block + i;
            let time = u64::from(1_000 * block + 7 * i + 1_000);
            Event::new(1, 1 + u64::from(number % 2), 1 + number / 2, time)
                .with(Bytes::new().u64(0x0101_0101_0101 * u64::from(number)))
        });
        file.events(true, &events.collect::<Vec<_>>());
    }
    begins.push(file.bytes.len());
    (file.end(), begins)
}

/// Returns the number of events in a block.
fn events_of(times: &[i128], block: usize) -> usize {
    let begin = 1_714_979_289_010_000_000 + 1_000 * block as i128;
    times.iter().filter(|time| (begin..begin + 140).contains(time)).count()
}

/// After a changed bit, the following blocks are read. Only a changed size that leads to a false end can hide other
/// blocks.
#[test]
fn changed_bits_touch_one_block() {
    for form in FORMS {
        let (bytes, begins) = blocks(form);
        let (mut hidden, mut changes) = (0, 0);
        for bit in 8 * begins[4]..8 * begins[5] {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let (times, _) = skim(changed.into(), false).unwrap();
            changes += 1;
            for block in (0..10).filter(|block| *block != 4) {
                if events_of(&times, block) < 20 {
                    assert!(block > 4, "{form:?}, bit {bit}: block {block} has {}", events_of(&times, block));
                    hidden += 1;
                }
            }
        }
        println!("{form:?}: {hidden} blocks are hidden by {changes} changes");
        assert!(hidden <= changes / 1_000, "{form:?}: {hidden} of {changes}");
    }
}

/// If one block is overwritten with random bytes, the others are read.
#[test]
fn random_bytes_in_place_of_a_block() {
    let files = FORMS.map(blocks);
    let mut hidden = 0;
    cases(600, |random| {
        let (bytes, begins) = &files[random.index(3)];
        let block = random.index(10);
        let mut changed = bytes.clone();
        let from = begins[block] + random.index(4);
        changed[from..begins[block + 1]].iter_mut().for_each(|byte| *byte = random.number() as u8);
        // A version 6 block may change to an unknown kind.
        let (times, _) = skim(changed.into(), false).unwrap();
        hidden += (0..10).filter(|other| *other != block && events_of(&times, *other) < 20).count();
    });
    println!("{hidden} blocks are hidden");
    assert!(hidden <= 3, "{hidden}");
}

/// If bytes are removed or added, the rest is read.
#[test]
fn missing_and_additional_bytes() {
    let files = FORMS.map(blocks);
    let mut hidden = 0;
    cases(300, |random| {
        let form = random.index(3);
        let (bytes, begins) = &files[form];
        let block = random.index(9);
        let at = begins[block] + 30 + random.index(60);
        let mut changed = bytes.clone();
        if random.is_one_in(2) {
            changed.drain(at..at + 1 + random.index(20));
        } else {
            let more: Vec<u8> = (0..=random.index(50)).map(|_| random.number() as u8).collect();
            changed.splice(at..at, more);
        }
        let (times, damage) = skim(changed.into(), false).unwrap();
        assert!(damage > 0);
        // Blocks are aligned to the start of the file, so the padding of later blocks moves their rows.
        let is_hidden = |other: &usize| *other != block && events_of(&times, *other) < 20;
        hidden += if form == 2 { (0..10).filter(is_hidden).count() } else { 0 };
    });
    assert!(hidden <= 6, "{hidden}");
}

/// Random bytes after the trace block, and changed recorded files, must not cause a panic.
#[test]
fn random_bytes() {
    cases(3_000, |random| {
        let form = random.pick(&FORMS);
        let mut bytes = File::new(form).bytes;
        let length = random.index(400);
        let alphabet = [0, 0, 1, 1, 4, 5, 6, 20, 2, 3, 255, random.number() as u8];
        bytes.extend((0..length).map(|_| random.pick(&alphabet)));
        read(&bytes);
    });
    let Some(bytes) = recorded("runtime/net10.0-custom-only-norundown.nettrace") else { return };
    cases(200, |random| {
        let mut changed = bytes.clone();
        for _ in 0..=random.below(8) {
            let at = random.index(changed.len());
            changed[at] = random.number() as u8;
        }
        for unsorted in [false, true] {
            skim(changed.clone().into(), unsorted);
        }
    });
}

/// Reads a file of a few megabytes, and checks the CPU time. Without optimizations, the limit is much higher.
fn in_time(what: &str, bytes: Vec<u8>) -> usize {
    let seconds = if cfg!(debug_assertions) { 40 } else { 3 };
    let length = bytes.len();
    assert!(length <= 12 << 20, "{what}: {length}");
    in_cpu_time(Duration::from_secs(seconds), what, || {
        let mut options = NettraceOptions::default();
        options.check = true;
        let file = NettraceFile::open("file", bytes.into(), &options);
        file.map_or(0, |file| crate::reading::count(&file))
    })
}

const MIB: usize = if cfg!(debug_assertions) { 1 << 18 } else { 1 << 20 };

fn filled(form: Form, size: usize, piece: &[u8]) -> Vec<u8> {
    let mut bytes = File::new(form).bytes;
    while bytes.len() < size {
        bytes.extend_from_slice(piece);
    }
    bytes
}

#[test]
fn containers_that_were_made_to_be_slow() {
    for form in [Form::V3, Form::V4] {
        let tag = if form == Form::V3 { 4 } else { 5 };
        let object = |name: &str, content: &[u8]| {
            let mut file = File { form, bytes: Vec::new() };
            file.begin_object(name, (2, 2));
            file.bytes.extend_from_slice(content);
            file.bytes
        };
        let cases: [(&str, Vec<u8>); 8] = [
            ("begins", vec![tag, tag, 1]),
            ("begins of objects", vec![tag]),
            ("types without end", object("EventBlock", &[])),
            ("unknown types without end", object("Unknown", &[])),
            ("blocks that are too long", object("EventBlock", &[0xff, 0xff, 0xff, 0])),
            ("negative sizes", object("EventBlock", &[0xff; 4])),
            ("unknown objects with long texts", object("Unknown", &[14, 0xff, 0xff, 0xff, 0])),
            ("values with tags", object("EventBlock", &[0, 0, 0, 0, 8, 6, 8, 7])),
        ];
        for (what, piece) in cases {
            in_time(&format!("{form:?}: {what}"), filled(form, 8 * MIB, &piece));
        }
        // One object with tagged values up to the end.
        let begin = [File::new(form).bytes, object("EventBlock", &[0, 0, 0, 0, 0, 0, 0])].concat();
        in_time("values with tags", [begin, vec![8; 8 * MIB]].concat());
    }
    let headers = [0xff, 0xff, 0xff, 2];
    in_time("V6: headers", filled(Form::V6, 8 * MIB, &headers));
    let empty: &[u8] = &[16, 0, 0, 4];
    in_time(
        "V6: chains that end",
        filled(Form::V6, 8 * MIB, &[empty, &[0; 16], empty, &[0; 16], &[0xff; 4]].concat()),
    );
    for number in [2, 3, 6, 7, 9, 200] {
        in_time(&format!("V6: empty blocks of kind {number}"), filled(Form::V6, 8 * MIB, &[0, 0, 0, number]));
        let block = [&[1, 0, 0, number][..], &[0x55], &[0xff; 3]].concat();
        in_time(&format!("V6: damaged blocks of kind {number}"), filled(Form::V6, 8 * MIB, &block));
    }
    // Blocks that are followed by something else, without any chain.
    in_time("V6: no chain", filled(Form::V6, 8 * MIB, &[1, 0, 0, 7, 0, 1, 0, 0, 1]));
}

#[test]
fn metadata_that_was_made_to_be_slow() {
    let count = MIB / 4;
    for form in FORMS {
        // The same number and version, but different names.
        let rows: Vec<Metadata> = (0..count as u32 / 4)
            .map(|i| Metadata { event_id: 5, ..Metadata::new(i + 1, &format!("{i}"), []) })
            .collect();
        let mut file = File::new(form);
        rows.chunks(10_000).for_each(|rows| {
            file.metadata(rows);
        });
        in_time(&format!("{form:?}: many kinds"), file.end());
        // The same row repeatedly.
        let row = Metadata::new(1, "Number", [field(form, 9, "number")]);
        let mut file = File::new(form);
        for _ in 0..count / 200 {
            file.metadata(&vec![row.clone(); 100]);
            if form == Form::V6 {
                file.sequence_point(1, 2, &[]);
            }
        }
        in_time(&format!("{form:?}: the same kind"), file.end());
        // Very many fields with one name.
        let fields = vec![field(form, 6, "x"); if form == Form::V6 { 8_000 } else { count }];
        let mut file = File::new(form);
        file.metadata(&[Metadata::new(1, "Wide", fields), Metadata::new(2, "Small", [field(form, 6, "x")])]);
        file.events(true, &[Event::new(2, 1, 1, 1).with(Bytes::new().u8(5))]);
        let bytes = file.end();
        in_time(&format!("{form:?}: many fields"), bytes.clone());
        assert_eq!(read(&bytes).payload("x"), [json!(5)], "{form:?}");
    }
}

/// Deep and wide types: events with excessive types are shown as bytes, and other events are read.
#[test]
fn types_that_are_too_much() {
    let nested = |depth: usize, code: u8| [vec![code; depth], vec![6]].concat();
    let fixed = |depth: usize| {
        let mut kind = [vec![22; depth], vec![6]].concat();
        kind.extend([0xff, 0xff].repeat(depth));
        kind
    };
    let mut objects = Bytes::new().raw(&[6]);
    for _ in 0..30 {
        objects = Bytes::new().u8(1).u16(1).sized(field_v6("x", &objects.0));
    }
    let empty = [vec![22; 4], vec![1, 0, 0], [0xff, 0xff].repeat(4)].concat();
    for kind in
        [nested(28, 19), nested(500, 19), nested(29, 24), fixed(3), fixed(8), fixed(28), objects.0, empty]
    {
        let mut file = File::new(Form::V6);
        file.threads(&[(1, 1, "")]);
        file.metadata(&[
            Metadata::new(1, "Much", [field_v6("x", &kind)]),
            Metadata::new(2, "Small", [field_v6("x", &[6])]),
        ]);
        let event = Event::new(1, 1, 1, 1).with(Bytes::new().raw(&[1; 60]));
        file.events(true, &[event, Event::new(2, 1, 2, 2).with(Bytes::new().u8(5))]);
        let read = in_cpu_time(Duration::from_secs(5), "types", || check(&file.end()));
        assert_eq!(read.events.len(), 2, "{kind:?}");
        assert_eq!(read.events[1]["payload"]["x"], 5, "{kind:?}");
    }
    // From version 5.
    let mut kind = Bytes::new();
    for _ in 0..40 {
        kind = kind.u32(19);
    }
    let mut much = Metadata::new(1, "Much", []);
    much.tags = tag_v5(2, Bytes::new().u32(1).raw(&field_v2("x", kind.u32(6)).0));
    let mut file = File::new(Form::V4);
    file.metadata(&[much, Metadata::new(2, "Counts", vec![Bytes::new().u32(1).u32(0x7fff_ffff)])]);
    file.events(true, &[Event::new(1, 1, 1, 1), Event::new(2, 1, 2, 2)]);
    let read = check(&file.end());
    assert_eq!((read.events.len(), read.damage.len()), (2, 2), "{:?}", read.damage);
}

/// Payloads whose fields refer to the same bytes again and again.
#[test]
fn payloads_that_grow() {
    let mut file = File::new(Form::V6);
    file.threads(&[(1, 1, "")]);
    let texts = field_v6("x", &[19, 25, 23]);
    let empty = field_v6("x", &[19, 22, 1, 0, 0, 0xff, 0xff]);
    let near = field_v6("x", &[19, 24, 24, 24, 6]);
    file.metadata(&[
        Metadata::new(1, "Texts", [texts]),
        Metadata::new(2, "Empty", [empty]),
        Metadata::new(3, "Near", [near]),
    ]);
    let location = Bytes::new().u32(0xffff_0000).0;
    let payload = Bytes::new().u16(0xffff).raw(&location.repeat(0xffff));
    let events: Vec<Event> =
        (1..=30u32).map(|i| Event::new(1 + i % 3, 1, i, i.into()).with(payload.clone())).collect();
    file.events(true, &events);
    let count = in_time("payloads", file.end());
    assert_eq!(count, 30);
}

#[test]
fn events_that_were_made_to_be_slow() {
    let number = |form| Metadata::new(1, "Empty", [field(form, 9, "number")]);
    for form in [Form::V4, Form::V6] {
        // Each event is from another thread, with a mark, and times go back.
        for marks in [1, 1_000] {
            let events: Vec<Event> = (0..MIB as u64 / 4)
                .map(|i| Event {
                    is_sorted: i % marks == 0,
                    ..Event::new(1, i % 100_000, 1, 1 << 40 >> (i % 7))
                })
                .collect();
            let mut file = File::new(form);
            file.metadata(&[number(form)]);
            events.chunks(50_000).for_each(|events| {
                file.events(true, events);
            });
            assert_eq!(in_time(&format!("{form:?}: marks {marks}"), file.end()), events.len());
        }
        // Sequence points with many threads that have all lost something.
        let threads: Vec<(u64, u32)> = (0..MIB as u64 / 40).map(|thread| (thread, 7)).collect();
        let mut file = File::new(form);
        for point in 0..10 {
            let threads: Vec<_> = threads.iter().map(|(thread, number)| (*thread, number + point)).collect();
            file.sequence_point(u64::from(point), 0, &threads);
        }
        in_time(&format!("{form:?}: sequence points"), file.end());
        // Many small stack blocks, and events with ids that are in none of them, or alternate.
        let mut file = File::new(form);
        file.metadata(&[number(form)]);
        (0..20_000u32).for_each(|i| {
            file.stacks(3 * i, &[&[u64::from(i)]]);
        });
        let events: Vec<Event> = (0..MIB as u32 / 8)
            .map(|i| Event { stack: i.wrapping_mul(7_919) % 60_000, ..Event::new(1, 1, i + 1, u64::from(i)) })
            .collect();
        file.events(true, &events);
        assert_eq!(in_time(&format!("{form:?}: stacks"), file.end()), events.len());
        // Blocks that claim to have very many stacks.
        let mut file = File::new(form);
        file.metadata(&[number(form)]);
        for i in 0..20_000 {
            file.block(kind::STACK, &Bytes::new().u32(i).u32(u32::MAX).u32(8).u64(i.into()).0);
        }
        file.events(true, &events);
        in_time(&format!("{form:?}: stacks that are not there"), file.end());
        // Rows without metadata.
        let mut file = File::new(form);
        file.block(kind::EVENT, &block_header(true, (0, 0), 0).raw(&vec![0; 4 * MIB]).0);
        in_time(&format!("{form:?}: events without metadata"), file.end());
    }
    // Version 6: threads, removals and labels, two bytes each.
    let mut file = File::new(Form::V6);
    file.block(kind::REMOVE_THREAD, &vec![5; 4 * MIB]);
    let removals = (0..MIB as u64).fold(Bytes::new(), |bytes, thread| bytes.var(thread).var(1_000_000));
    file.block(kind::REMOVE_THREAD, &removals.0);
    in_time("removed threads", file.end());
    let mut file = File::new(Form::V6);
    file.block(kind::LABEL_LIST, &Bytes::new().u32(1).u32(u32::MAX).raw(&[0x87, 1].repeat(4 * MIB)).0);
    in_time("labels", file.end());
    let rows = (0..MIB as u64).fold(Bytes::new(), |bytes, thread| bytes.sized(Bytes::new().var(thread)));
    let mut file = File::new(Form::V6);
    file.block(kind::THREAD, &rows.0);
    in_time("threads", file.end());
    let mut file = File::new(Form::V6);
    for _ in 0..MIB / 20 {
        file.threads(&[(1, 1, "")]).sequence_point(1, 3, &[]);
    }
    in_time("threads and sequence points", file.end());
}

/// Properties of the trace, two bytes each.
#[test]
fn many_properties() {
    let mut file = File::header(Form::V6);
    let head = Bytes::new().raw(&[0; 16]).u64(0).u64(1_000_000_000).u32(8).u32(u32::MAX);
    file.block(kind::TRACE, &head.raw(&vec![0; 4 * MIB]).0);
    in_time("properties", file.end());
    let mut random = Random::new(1);
    let mut properties = Bytes::new().raw(&[0; 16]).u64(0).u64(1_000_000_000).u32(8).u32(5_000);
    for _ in 0..5_000 {
        properties = properties.text(&random.number().to_string()).text("");
    }
    let mut file = File::header(Form::V6);
    file.block(kind::TRACE, &properties.0);
    assert!(read(&file.end()).trace["environment"].as_object().unwrap().len() <= 1_010);
}
