//! Losses are in the table, and everything else stays the same.

use std::sync::Arc;

use ichnos_fuchsia::fxt::{Record, Records};
use ichnos_model::class::{
    DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation, Length, Member,
};
use ichnos_model::clock::ClockClass;
use ichnos_model::field::FieldValue;
use ichnos_model::lower::LossTable;
use ichnos_model::meaning::{EventRole, Meaning};
use ichnos_model::source::{NextRecord, Record as ModelRecord, RecordTrace};
use ichnos_model::stack::{Frame, Symbol, Symbols};
use ichnos_model::trace::Limits;
use ichnos_model::{OpenedTrace, Scope, Source, Trace, TraceClass};

use super::builder::{Body, Builder, body, header, inline};
use super::dump::{messages, open};
use super::writer::{assert_same, write};

/// Returns losses as `KIND COUNT CLASS FIELD WHAT`.
fn lines(losses: &LossTable) -> Vec<String> {
    let line = |(loss, count): (&ichnos_model::lower::LossEntry, u64)| {
        format!("{} {count} {} {} {}", loss.kind, loss.class, loss.field, loss.what)
    };
    losses.iter().map(line).collect()
}

/// Events with values from a function.
struct Events<F>(F, Vec<(usize, u64)>);

impl<F: FnMut(usize, &mut ModelRecord) + Send> Source for Events<F> {
    fn next(&mut self, record: &mut ModelRecord) -> NextRecord {
        let Some((class, cycles)) = self.1.pop() else { return NextRecord::End };
        record.set_class(class);
        record.set_cycles(cycles);
        (self.0)(class, record);
        NextRecord::Event
    }
}

#[test]
fn more_data_streams_than_a_file_may_have_share_a_provider() {
    let clocks = [ClockClass::new("a", 1_000), ClockClass::new("b", 2_000)];
    let streams = [0, 1].map(|clock| DataStreamClass::new(Some(clock), [EventRecordClass::new("e", [])]));
    let class = TraceClass::new("others", clocks, streams);
    let limits = Limits::default();
    let mut trace = RecordTrace::new("others", Trace::new(class, "t", &limits).unwrap(), &limits);
    for number in 0..1_031u64 {
        let source = move || Events(|_, _: &mut ModelRecord| {}, vec![(0, number)]);
        trace = trace.with_stream(usize::from(number == 1_030), &format!("s{number}"), 0, source);
    }
    let (written, losses) = write(&trace);
    assert_eq!(
        lines(&losses).iter().filter(|line| line.contains("1,024")).collect::<Vec<_>>(),
        [
            "lowered 6   data stream beyond 1,024 -> part of another data stream",
            "dropped 1   data stream beyond 1,024: no other data stream has its clock",
            "dropped 1   event of a data stream beyond 1,024",
        ]
    );
    let again = open(&written);
    assert!(again.damage().is_empty());
    assert_eq!(again.streams().len(), 1_024);
    let mut events = messages(&again);
    events.sort_by_key(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(events, (0..1_030).map(|number| format!("{number} e | pid=0 tid=0")).collect::<Vec<_>>());
}

#[test]
fn names_that_are_not_utf8_stay_the_same() {
    let mut builder = Builder::new();
    builder.record(header(0, &[(16, 1), (20, 3), (52, 2)]), body().stream(b"p\xff"));
    builder.record(header(2, &[(16, 1), (32, 3)]), body().stream(b"ab\x80"));
    builder.record(header(2, &[(16, 2), (32, 1)]), body().stream(b"\xfe"));
    // An argument name and a text.
    let argument = |kind: u64, low: u64, value: Body| {
        let size = 1 + value.0.len() as u64 / 8;
        let mut all = body().word(header(kind, &[(4, size), (16, 1), (32, low)]));
        all.0.extend(value.0);
        all
    };
    let mut all = body().words(&[5, 1, 2]);
    all.0.extend(argument(6, 2, body()).0);
    all.0.extend(argument(7, 0, body().word(9)).0);
    builder.record(header(4, &[(16, 2), (20, 2), (32, 1), (48, 2)]), all);
    let written = assert_same(&builder.bytes);
    let strings: Vec<_> = Records::new(&written)
        .filter_map(|found| match found.unwrap().record {
            Record::String(string) => Some(string.string),
            _ => None,
        })
        .collect();
    assert_eq!(strings, [b"ab\x80".as_slice(), b"\xfe"]);
    assert_eq!(written[8..24], builder.bytes[8..24]);
    assert_eq!(
        messages(&open(&written)),
        ["5 ab\u{fffd}:\u{fffd}:begin | pid=1 tid=2 |  | ab\u{fffd}='\\xfe' ab\u{fffd}=9"]
    );
}

#[test]
fn unread_content_is_counted() {
    let mut builder = Builder::new();
    builder.event(0, 1, ["c", "n"], vec![], &[]);
    assert!(write(&open(&builder.bytes)).1.is_empty());
    // Reserved record bits, words after a record, reserved argument bits, and words after an argument.
    builder.record(header(7, &[(50, 1)]), body().word(1));
    builder.event(2, 2, ["c", "n"], vec![], &[77]);
    builder.event(2, 3, ["c", "n"], vec![body().argument(0, "a", 1, body())], &[]);
    builder.event(2, 4, ["c", "n"], vec![body().argument(1, "a", 1, body().word(5))], &[]);
    let expected =
        "dropped 4   records with reserved bits, or bytes after their known content: without these";
    assert_eq!(lines(&write(&open(&builder.bytes)).1), [expected]);
}

#[test]
fn records_of_unknown_types_have_losses() {
    let mut builder = Builder::new();
    builder.provider(4, "p").event(0, 1, ["c", "n"], vec![], &[]);
    builder.record(14, body().word(1)).record(14, body());
    builder.record(header(0, &[(16, 9)]), body());
    builder.record(header(0, &[(16, 3), (20, 4), (52, 5)]), body());
    builder.record(header(15, &[(36, 1)]), body().word(1));
    let trace = open(&builder.bytes);
    let (written, losses) = write(&trace);
    assert_eq!(
        lines(&losses),
        [
            "rounded 2 unknown_record  string and thread indexes: the tables differ",
            "dropped 1 unknown_record  large record of an unknown type: not read",
        ]
    );
    let mut expected = messages(&trace);
    expected.pop();
    assert_eq!(messages(&open(&written)), expected);
}

/// A trace from another format: a span with a text key, and with a process and a thread that are not FXT numbers.
fn others(process: i64, thread: &'static str, keys: usize) -> RecordTrace {
    let members = |count| (0..count).map(|number| Member::new(format!("key{number}"), FieldClass::string()));
    let mut classes = [EventRole::Begin, EventRole::End].map(|role| EventRecordClass {
        role,
        ..EventRecordClass::new("app:work", members(keys).chain([Member::new("odd", FieldClass::string())]))
    });
    for class in &mut classes {
        class.meanings.insert(Scope::CommonContext, 0, Meaning::Process);
        class.meanings.insert(Scope::CommonContext, 1, Meaning::Thread);
        (0..keys).for_each(|key| class.meanings.insert(Scope::Payload, key, Meaning::PairKey));
    }
    let context = [Member::new("pid", FieldClass::signed(64)), Member::new("tid", FieldClass::string())];
    let stream = DataStreamClass {
        common_context: Some(FieldClass::structure(context).into()),
        ..DataStreamClass::new(Some(0), classes)
    };
    let class = TraceClass::new("others", [ClockClass::new("c", 1_000)], [stream]);
    let limits = Limits::default();
    let trace = Trace::new(class, "t", &limits).unwrap();
    RecordTrace::new("others", trace, &limits).with_stream(0, "s", 0, move || {
        let values = move |_, record: &mut ModelRecord| {
            record.values.begin(Scope::CommonContext);
            record.values.push(process);
            record.values.push(thread);
            record.values.begin(Scope::Payload);
            (0..keys).for_each(|key| record.values.push(["alpha", "beta"][key]));
            record.values.push(FieldValue::Text(b"a\xffb"));
        };
        Events(values, vec![(1, 20), (0, 10)])
    })
}

#[test]
fn non_numeric_ids_become_arguments() {
    let (written, losses) = write(&others(-1, "main", 1));
    let of_ids: Vec<_> = lines(&losses).into_iter().filter(|line| !line.contains("fields ->")).collect();
    assert_eq!(
        of_ids,
        [
            "lowered 2 app:work key0 non-numeric or negative key -> argument, and a derived number",
            "lowered 2 app:work pid non-numeric or negative process id -> argument",
            "lowered 2 app:work tid non-numeric or negative thread id -> argument",
            "rounded 2 app:work  text that is not UTF-8 -> U+FFFD",
        ]
    );
    let read = messages(&open(&written));
    let arguments = "key0='alpha' odd='a\\xef\\xbf\\xbdb' pid=-1 tid='main'";
    let id = |line: &str| line.split("async_id=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    // Start and end share a number.
    let key = id(&read[0]);
    assert_ne!(key, "0");
    assert_eq!(
        read,
        [
            format!("10 app:work:async_begin | pid=0 tid=0 | async_id={key} | {arguments}"),
            format!("20 app:work:async_end | pid=0 tid=0 | async_id={key} | {arguments}"),
        ]
    );
    // A key with two fields combines both.
    let both = messages(&open(&write(&others(5, "main", 2)).0));
    assert_ne!(id(&both[0]), key);
    assert_eq!(id(&both[0]), id(&both[1]));
    assert!(both[0].contains("pid=5") && both[0].contains("key0='alpha' key1='beta'"), "{both:?}");
}

/// Call stacks from other formats become backtraces, after the modules in memory at that time.
#[test]
fn call_stacks_are_backtraces() {
    let members = [Member::new("n", FieldClass::unsigned(8)), Member::new("stack", FieldClass::unsigned(32))];
    let mut class = EventRecordClass::new("app:sample", members);
    class.meanings.insert(Scope::Payload, 1, Meaning::Stack);
    class.meanings.insert(Scope::CommonContext, 0, Meaning::Process);
    let context = [Member::new("pid", FieldClass::unsigned(32))];
    let stream = DataStreamClass {
        common_context: Some(FieldClass::structure(context).into()),
        ..DataStreamClass::new(Some(0), [class])
    };
    let class = TraceClass::new("others", [ClockClass::new("c", 1_000_000_000)], [stream]);
    let limits = Limits::default();
    let trace = Trace::new(class, "t", &limits).unwrap();
    let frame = |address: u64| Frame::at(address).in_space(3);
    let deep = trace.stacks.intern((0..300).map(frame)).unwrap();
    let mixed = trace.stacks.intern([Frame::named("main"), frame(0x1010), frame(0x9000)]).unwrap();
    let named = trace.stacks.intern([Frame::named("main")]).unwrap();
    trace.set_symbols(|| {
        let module = |begin, from, name: &str| {
            (3, Symbol { begin, end: begin + 0x100, from, module: Some(name.into()), ..Symbol::default() })
        };
        let function = Symbol { name: Some("f".into()), ..module(0x1000, 0, "ignored").1 };
        let other = (4, module(0x1000, 0, "other").1);
        let later = module(0x9000, 25, "later");
        Symbols::new([module(0x1000, i128::MIN, "so"), module(0x2000, 5, "so"), later, other, (3, function)])
    });
    let trace = RecordTrace::new("others", trace, &limits).with_stream(0, "s", 0, move || {
        let mut number = 0;
        let values = move |_, record: &mut ModelRecord| {
            record.values.begin(Scope::CommonContext);
            record.values.push(50u64);
            record.values.begin(Scope::Payload);
            record.values.push(number as u64);
            record.values.push([mixed, named, deep, 99_999][number]);
            number += 1;
        };
        Events(values, vec![(0, 40), (0, 30), (0, 20), (0, 10)])
    });
    let (written, losses) = write(&trace);
    let read = open(&written);
    assert_eq!(
        messages(&read),
        [
            "10 app:sample | pid=50 tid=0 |  | n=0",
            "10 module | pid=50 |  | module_id=0 name='so' build_id=x''",
            "10 mapping | pid=50 |  | module_id=0 flags=5 begin=4096 size=256 module_address=0",
            "10 mapping | pid=50 |  | module_id=0 flags=5 begin=8192 size=256 module_address=0",
            "10 backtrace | pid=50 tid=0 |  | stack=1 flags=0",
            "20 app:sample | pid=50 tid=0 |  | n=1",
            "30 app:sample | pid=50 tid=0 |  | n=2",
            "30 module | pid=50 |  | module_id=1 name='later' build_id=x''",
            "30 mapping | pid=50 |  | module_id=1 flags=5 begin=36864 size=256 module_address=0",
            "30 backtrace | pid=50 tid=0 |  | stack=256 flags=0",
            "40 app:sample | pid=50 tid=0 |  | n=3",
        ]
    );
    let names = |stack, time| -> Vec<_> {
        let frames = read.trace().frames(stack, Some(time)).into_iter();
        frames.map(|frame| (frame.address.unwrap(), frame.module.map(|name| name.to_string()))).collect()
    };
    assert_eq!(names(1, 10), [(0x9000, None), (0x1010, Some("so".to_owned()))]);
    assert_eq!(names(256, 30)[0].0, 299);
    assert_eq!(names(256, 30).len(), 255);
    let of_stacks: Vec<_> = lines(&losses).into_iter().filter(|line| line.contains("stack")).collect();
    assert_eq!(
        of_stacks,
        [
            "lowered 1 app:sample stack call stack -> backtrace, without function names, and without modules \
            that lack an address range",
            "dropped 47 app:sample  call stack frames without an address, or beyond 255",
        ]
    );
}

/// BLOBs and messages stay the same up to the maximum record size.
#[test]
fn long_data_stay_the_same() {
    for length in [32_000, 32_001, 32_700, 32_736] {
        let data = vec![b'x'; length];
        let mut builder = Builder::new();
        let fields = [(16, inline("b")), (32, length as u64), (48, 1)];
        builder.record(header(5, &fields), body().text("b").stream(&data));
        let words = if length > 32_728 { &[3][..] } else { &[3, 1, 2] };
        builder.thread(1, 1, 2);
        let thread = u64::from(length > 32_728);
        builder.record(header(9, &[(16, length as u64), (32, thread)]), body().words(words).stream(&data));
        assert_same(&builder.bytes);
    }
    // The maximum argument count that fits into a record.
    let mut builder = Builder::new();
    let large = vec![b'y'; 32_680];
    let argument = body().argument(10, "a", 32_680, body().stream(&large));
    builder.event(1, 1, ["c", "n"], vec![argument], &[7]);
    assert_eq!(builder.bytes.len(), 8 + 8 * 4_094);
    assert_same(&builder.bytes);
}

/// Data outside of events and empty fields are in the table, except for data that records can hold.
#[test]
fn data_without_an_argument_is_a_loss() {
    let array = || {
        FieldClass::new(FieldKind::Array {
            element: FieldClass::unsigned(64).into(),
            length: Length::Dynamic(Box::new(FieldLocation::by_values())),
            minimum_alignment: 8,
            element_aligns: true,
        })
    };
    let members = [Member::new("samples", array()), Member::new("stack", array())];
    let mut class = EventRecordClass::new("call", members);
    class.meanings.insert(Scope::Payload, 1, Meaning::Hidden);
    class.meanings.insert(Scope::EventRecordHeader, 0, Meaning::Thread);
    let structure = |names: &[&str]| {
        let members = names.iter().map(|name| Member::new(*name, FieldClass::unsigned(64)));
        Some(FieldClass::structure(members.collect::<Vec<_>>()).into())
    };
    let stream = DataStreamClass {
        event_record_header: structure(&["tid", "flag"]),
        packet_context: structure(&["cpu"]),
        ..DataStreamClass::new(Some(0), [class])
    };
    let class = TraceClass::new("others", [ClockClass::new("c", 1_000)], [stream]);
    let limits = Limits::default();
    let trace = Trace::new(class, "t", &limits).unwrap();
    let trace = RecordTrace::new("others", trace, &limits).with_stream(0, "s", 0, move || {
        let values = move |_, record: &mut ModelRecord| {
            record.values.begin(Scope::EventRecordHeader);
            record.values.push(7u64);
            record.values.push(1u64);
            record.values.begin(Scope::Payload);
            for _ in 0..2 {
                record.values.begin_array();
                record.values.end();
            }
        };
        Events(values, vec![(0, 20), (0, 10)])
    });
    let (written, losses) = write(&trace);
    let dropped: Vec<_> = lines(&losses).into_iter().filter(|line| line.starts_with("dropped")).collect();
    assert_eq!(
        dropped,
        [
            "dropped 1  header.flag data outside events",
            "dropped 1  packet.context.cpu data outside events",
            "dropped 2 call  array or structure without elements",
        ]
    );
    assert!(messages(&open(&written))[0].contains("tid=7"));
}

/// A trace with an FXT class and one event whose data is too large for its record.
fn larger(record: impl FnOnce(&mut Builder), values: fn(&mut ModelRecord)) -> RecordTrace {
    changed(record, |_| {}, values)
}

/// A trace with a changed FXT class and one event.
fn changed(
    record: impl FnOnce(&mut Builder),
    change: impl FnOnce(&mut EventRecordClass),
    values: fn(&mut ModelRecord),
) -> RecordTrace {
    let mut builder = Builder::new();
    record(&mut builder);
    let read = open(&builder.bytes);
    assert_eq!(messages(&read).len(), 1);
    let mut class = Arc::unwrap_or_clone(read.trace().event_records(0).next().unwrap());
    change(&mut class);
    let mut whole = read.trace().class.clone();
    whole.data_streams[0].event_records = vec![class.into()];
    let limits = Limits::default();
    let trace = Trace::new(whole, "t", &limits).unwrap();
    RecordTrace::new("others", trace, &limits).with_stream(0, "s", 0, move || {
        let values = move |_, record: &mut ModelRecord| {
            record.values.begin(Scope::CommonContext);
            record.values.push_optional(false);
            record.values.push_optional(false);
            values(record);
        };
        Events(values, vec![(0, 10)])
    })
}

/// Other formats can have FXT classes that records cannot represent. They must not fill the tables.
#[test]
fn more_arguments_than_records_have() {
    const COUNT: usize = 40;
    let members = (0..COUNT).map(|number| Member::new(format!("m{number}"), FieldClass::unsigned(64)));
    let payload = FieldClass::structure(members).into();
    let instant = |builder: &mut Builder| {
        builder.event(0, 1, ["c", "n"], vec![], &[]);
    };
    let change = |class: &mut EventRecordClass| class.payload = Some(payload);
    let trace = changed(instant, change, |record| {
        record.values.begin(Scope::Payload);
        (0..COUNT as u64).for_each(|number| record.values.push(number));
    });
    let (written, losses) = write(&trace);
    assert_eq!(lines(&losses), ["dropped 25 c:n  arguments: no room in the record"]);
    let arguments: Vec<_> = (0..15).map(|number| format!("m{number}={number}")).collect();
    let expected = format!("10 c:n | pid=0 tid=0 |  | {}", arguments.join(" "));
    assert_eq!(messages(&open(&written)), [expected]);
    let strings =
        Records::new(&written).filter(|found| matches!(found.as_ref().unwrap().record, Record::String(_)));
    assert_eq!(strings.count(), 2 + 15);
}

/// The number of a counter is its first field, even if it is not numeric.
#[test]
fn non_numeric_counters() {
    let counter = |builder: &mut Builder| {
        builder.event(1, 1, ["c", "n"], vec![], &[7]);
    };
    let change = |class: &mut EventRecordClass| {
        let members =
            [Member::new("ratio", FieldClass::float(64)), Member::new("id", FieldClass::unsigned(64))];
        class.specific_context = Some(FieldClass::structure(members).into());
    };
    let trace = changed(counter, change, |record| {
        record.values.begin(Scope::SpecificContext);
        record.values.push(0.5f64);
        record.values.push(9u64);
        record.values.begin(Scope::Payload);
    });
    let (written, losses) = write(&trace);
    assert_eq!(lines(&losses), ["dropped 1 c:n  undecodable fields"]);
    assert_eq!(messages(&open(&written)), [""; 0]);
}

#[test]
fn larger_blobs_are_large_records() {
    let blob = |builder: &mut Builder| {
        builder.record(header(5, &[(16, inline("b")), (48, 2)]), body().text("b"));
    };
    let trace = larger(blob, |record| {
        record.values.begin(Scope::Payload);
        record.values.push("b");
        record.values.push(2u64);
        record.values.push(FieldValue::Blob(&[b'z'; 40_000]));
    });
    let (written, losses) = write(&trace);
    assert_eq!(
        lines(&losses),
        [
            "lowered 1 blob  BLOB of more than 32 KiB -> large BLOB, without its type",
            "dropped 1 blob  time: records of this kind lack a time",
        ]
    );
    let line = messages(&open(&written)).remove(0);
    assert!(
        line.starts_with("- large_blob |  | category='' name='b' | size=40000 data=x'zz"),
        "{}",
        &line[..80]
    );
}

#[test]
fn longer_messages_are_cut() {
    let log = |builder: &mut Builder| {
        builder.record(header(9, &[(16, 1)]), body().words(&[1, 1, 2]).text("m"));
    };
    // The cut would be inside a character.
    let trace = larger(log, |record| {
        record.values.begin(Scope::Payload);
        record.values.push(&*"\u{20ac}".repeat(20_000));
    });
    let (written, losses) = write(&trace);
    assert_eq!(lines(&losses), ["dropped 1 log  rest of a message: no room in the record"]);
    let line = messages(&open(&written)).remove(0);
    let message = line.split("message='").nth(1).unwrap().trim_end_matches('\'');
    assert_eq!(message.len() / "\\xe2\\x82\\xac".len(), 32_744 / 3);
    assert!(message.ends_with("\\xe2\\x82\\xac"));
}
