//! Written logs are read back: log messages unchanged, other events with everything that a log shows.

use std::path::Path;

use ichnos_fuchsia::log::{Encoder, Framing, Messages, Record, Value};
use ichnos_fuchsia::log_reader::{FuchsiaLogOptions, LogTrace};
use ichnos_fuchsia::log_writer::FuchsiaLogWriter;
use ichnos_io::{
    CreateError, Entry, Lane, MessageOrder, Tree, Verify, WriteOptions, WriteReport, WriteSource,
    WriteTarget, WriterFactory,
};
use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, IntegerRange, Length,
    MappingsBuilder, Member,
};
use ichnos_model::clock::ClockClass;
use ichnos_model::cursor::StreamCursor;
use ichnos_model::digest::{StreamDigest, TraceDigest};
use ichnos_model::event::EventValues;
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity, LogText};
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::meaning::Meaning;
use ichnos_model::source::{NextRecord, Record as ModelRecord, RecordTrace};
use ichnos_model::trace::Limits;
use ichnos_model::{Message, OpenedTrace, Scope, Source, Trace, TraceClass, Window};
use ichnos_testing::{Random, cases};

/// Compares a log with the written digest.
fn compare(path: &Path, written: &TraceDigest) -> Result<(), CreateError> {
    let bytes = std::fs::read(path).unwrap();
    let mut digest = StreamDigest::new(written.event_hash);
    if !bytes.is_empty() {
        for mut cursor in open("x", &bytes).cursors(Window::default()) {
            while cursor.next_head().is_some() {
                digest.message(&cursor.current().unwrap());
            }
        }
    }
    written.difference(&digest.finish()).map_or(Ok(()), |found| Err(CreateError::Mismatch(found)))
}

/// Writes traces with one data stream each, one after the other.
fn write(traces: &[&dyn OpenedTrace], dialect: Option<&str>, path: Option<&Path>) -> WriteReport {
    write_compared(traces, dialect, path, Verify::new(compare)).unwrap()
}

fn write_compared(
    traces: &[&dyn OpenedTrace],
    dialect: Option<&str>,
    path: Option<&Path>,
    verify: Verify,
) -> Result<WriteReport, CreateError> {
    let source = |trace: &&dyn OpenedTrace| WriteSource {
        trace: trace.trace().clone(),
        format: trace.format(),
        has_dynamic_classes: trace.has_dynamic_classes(),
        streams: trace.data_streams(),
    };
    let mut options = WriteOptions::default();
    options.dialect = dialect.map(str::to_owned);
    options.verify = Some(verify);
    let target = path.map_or(WriteTarget::Nowhere, |path| WriteTarget::Complete(path.to_owned()));
    assert_eq!(FuchsiaLogWriter.order(), MessageOrder::Merged);
    let output = FuchsiaLogWriter.create(target, traces.iter().map(source).collect(), &options).unwrap();
    let mut encoder = output.worker(Lane::All);
    for mut cursor in traces.iter().flat_map(|trace| trace.cursors(Window::default())) {
        while cursor.next_head().is_some() {
            encoder.message(&cursor.current().unwrap()).unwrap();
            if let Some(block) = encoder.take() {
                output.join(block).unwrap();
            }
        }
    }
    encoder.finish().unwrap();
    while let Some(block) = encoder.take() {
        output.join(block).unwrap();
    }
    drop(encoder);
    assert_eq!(output.losses().is_empty(), output.losses().iter().count() == 0);
    output.finish()
}

/// Returns the written bytes and the losses.
fn written(traces: &[&dyn OpenedTrace], dialect: Option<&str>) -> (Vec<u8>, LossTable) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.log");
    let report = write(traces, dialect, Some(&path));
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!((report.bytes, &report.paths[..]), (bytes.len() as u64, &[path][..]));
    let dry = write(traces, dialect, None);
    assert_eq!((dry.bytes, &dry.losses, dry.paths.len()), (report.bytes, &report.losses, 0));
    (bytes, report.losses)
}

fn open(name: &str, bytes: &[u8]) -> LogTrace {
    let entries = vec![Entry::from_bytes(name, bytes.to_vec())];
    let tree = Tree { name: format!("x/{name}"), entries, problems: Vec::new() };
    let mut options = FuchsiaLogOptions::default();
    options.force = true;
    LogTrace::open(&tree, &options).unwrap()
}

/// A record with random arguments, some with a meaning.
fn random_record(random: &mut Random, buffer: &mut [u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(buffer);
    let severity = random.pick(&[0x10, 0x2e, 0x30, 0x40, 0x50, 0x60]);
    let mut record = encoder.begin(random.number() as i64 >> random.below(60), severity).unwrap();
    if random.is_one_in(3) {
        record.set_tag(random.below(4) as u32);
        record.set_control(random.is_one_in(3));
    }
    record.argument("pid", random.below(1 << 40)).unwrap();
    for _ in 0..random.below(6) {
        let name = random.pick(&[
            "tid",
            "tag",
            "message",
            "file",
            "line",
            "num_dropped",
            "dropped_logs",
            "moniker",
            "url",
            "rolled_out",
            "printf",
            "a",
            "a name of some length",
            "$__moniker",
            "$__rolled_out",
        ]);
        let text = random.pick(&["", "x", "%d text", "core/thing", "\u{e9}\u{1f600}"]);
        let value = match random.below(6) {
            0 => Value::Signed(random.number() as i64),
            1 | 2 => Value::Unsigned(random.below(100)),
            3 => Value::Bool(random.is_one_in(2)),
            4 => Value::Float(random.below(100) as f64 / 8.0),
            _ => text.into(),
        };
        record.argument(name, value).unwrap();
    }
    record.finish();
    encoder.written().to_vec()
}

fn packet(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [random.below(1 << 40), random.below(1 << 40), random.below(1 << 60)] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&(random.below(0x60) as i32).to_le_bytes());
    bytes.extend_from_slice(&(random.below(3) as u32).to_le_bytes());
    for tag in ["a", "bc"].iter().take(random.index(3)) {
        bytes.push(tag.len() as u8);
        bytes.extend_from_slice(tag.as_bytes());
    }
    bytes.extend_from_slice(b"\0hello\0");
    bytes
}

/// A file with random messages in this framing.
fn random_file(random: &mut Random, framing: Framing) -> Vec<u8> {
    let mut buffer = vec![0; 8_000];
    let mut bytes = Vec::new();
    let count = 1 + random.below(12);
    for index in 0..count {
        let record = random_record(random, &mut buffer);
        match framing {
            Framing::Records => bytes.extend(record),
            Framing::ExtendedRecords => {
                bytes.extend(record);
                // The last message can lack its extension.
                if index + 1 < count || index == 0 || random.is_one_in(2) {
                    let count = random.below(3);
                    bytes.extend(4u32.to_le_bytes().into_iter().chain(3u32.to_le_bytes()));
                    bytes.extend(count.to_le_bytes());
                    bytes.extend(b"core\0\0\0\0url\0\0\0\0\0");
                }
            }
            _ => {
                let datagram = if random.is_one_in(3) { packet(random) } else { record };
                bytes.extend((datagram.len() as u32).to_le_bytes());
                bytes.extend(datagram);
            }
        }
    }
    bytes
}

#[test]
fn a_log_stays_the_same() {
    let mut same = 0;
    let done = cases(600, |random| {
        let framing = random.pick(&[Framing::Records, Framing::ExtendedRecords, Framing::Datagrams]);
        let bytes = random_file(random, framing);
        // Bytes that look like another framing are skipped.
        if Framing::recognize(&bytes, true) != Some(framing)
            || Messages::new(&bytes, framing).any(|message| message.is_err())
        {
            return;
        }
        let trace = open("a.log", &bytes);
        let (found, losses) = written(&[&trace], None);
        assert_eq!(losses, LossTable::default());
        assert_eq!(found, bytes, "{framing:?}");
        same += 1;
    });
    assert!(done < 100 || same * 10 > done * 8, "{same} of {done}");
}

#[test]
fn values_that_are_written_wrong_are_found() {
    let mut buffer = [0; 256];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(72, 0x30).unwrap();
    record.set_tag(5);
    record.argument("pid", 4711u64).unwrap();
    record.argument("tag", "rain").unwrap();
    record.argument("message", "it rains!").unwrap();
    record.argument("is_wet", true).unwrap();
    record.argument("celsius", 7.5).unwrap();
    record.finish();
    let bytes = encoder.written().to_vec();
    let place_of = |text: &[u8]| bytes.windows(text.len()).position(|found| found == text).unwrap();
    let is_wet = place_of(b"is_wet");
    let places = [
        ("tag", 2),
        ("severity", 7),
        ("time", 8),
        ("process", place_of(&4711u64.to_le_bytes())),
        ("tag", place_of(b"rain")),
        ("message", place_of(b"it rains!")),
        ("end of the message", place_of(b"!")),
        ("name", place_of(b"celsius")),
        ("number", place_of(&7.5f64.to_le_bytes())),
        ("boolean", is_wet - 4),
    ];
    let copied = open("a.log", &bytes);
    // A source in another format, which must be encoded.
    let members = [Member::new("celsius", FieldClass::signed(64)), Member::new("text", FieldClass::string())];
    let (clock, class) = (ClockClass::since_unix_epoch("wall"), EventRecordClass::new("rain", members));
    let class = TraceClass::new("test 1", [clock], [DataStreamClass::new(Some(0), [class])]);
    let limits = Limits::default();
    let trace = Trace::new(class, "test", &limits).unwrap();
    let encoded = RecordTrace::new("test", trace, &limits).with_stream(0, "s", 0, || {
        let mut values = EventValues::default();
        values.begin(Scope::Payload);
        values.push(7i64);
        values.push("it rains!");
        Made(vec![(7, 0, values)])
    });
    for (trace, places) in [
        (&copied as &dyn OpenedTrace, &places[..]),
        (&encoded, &[("severity", 7), ("message", 32), ("number", 56), ("text", 80)]),
    ] {
        for (what, place) in places {
            let place = *place;
            let directory = tempfile::tempdir().unwrap();
            let verify = Verify::new(move |path, digest| {
                compare(path, digest)?;
                let mut bytes = std::fs::read(path).unwrap();
                bytes[place] ^= 1;
                std::fs::write(path, bytes).unwrap();
                compare(path, digest)
            });
            let path = directory.path().join("x.log");
            let error = write_compared(&[trace], None, Some(&path), verify).unwrap_err();
            let CreateError::Mismatch(problem) = error else { panic!("{error}") };
            let what_differs = if *what == "time" { "times" } else { "values" };
            assert_eq!(problem, format!("event {what_differs} differ"), "{what}");
        }
    }
}

/// Returns the record content that is the same in all framings.
fn message_texts(bytes: &[u8]) -> Vec<String> {
    let framing = Framing::recognize(bytes, true).unwrap();
    let mut message_texts = Vec::new();
    for message in Messages::new(bytes, framing) {
        let message = message.unwrap();
        message_texts.push(match &message {
            ichnos_fuchsia::log::Message::Record { record, .. } => {
                let attribution = message.attribution().filter(|found| found.moniker.is_some());
                let attribution = attribution.or(record.appended().map(|(appended, _)| appended));
                let known = record.known();
                format!(
                    "{} {} {:?} {:?} {} {} {attribution:?}",
                    record.timestamp(),
                    record.raw_severity(),
                    known.pid,
                    known.tid,
                    record.text().without_pairs(),
                    known.dropped,
                )
            }
            ichnos_fuchsia::log::Message::Legacy(packet) => format!(
                "{} {} {:?} {:?} {} {} None",
                packet.timestamp(),
                packet.clamped_severity(),
                Some(packet.pid()),
                Some(packet.tid()),
                packet.message(),
                packet.dropped(),
            ),
            other => panic!("{other:?}"),
        });
    }
    message_texts
}

#[test]
fn messages_say_the_same_in_another_dialect() {
    let mut buffer = [0; 512];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(5, 0x30).unwrap();
    record.argument("pid", 7u64).unwrap();
    record.argument("message", "hi").unwrap();
    record.finish();
    let record = encoder.written().to_vec();
    let extension =
        [&4u32.to_le_bytes()[..], &3u32.to_le_bytes(), &2u64.to_le_bytes(), b"core\0\0\0\0url\0\0\0\0\0"];
    let extended = [&record[..], &extension.concat()].concat();
    let packet = packet(&mut Random::new(3));
    let framed = |messages: &[&[u8]]| -> Vec<u8> {
        messages.iter().flat_map(|one| [&(one.len() as u32).to_le_bytes()[..], one].concat()).collect()
    };
    let datagrams = framed(&[&record, &extended, &packet]);
    let trace = open("d.log", &datagrams);
    for dialect in ["records", "extended-records", "datagrams"] {
        let (bytes, losses) = written(&[&trace], Some(dialect));
        let expected: Vec<String> = message_texts(&datagrams);
        let mut found = message_texts(&bytes);
        if dialect == "extended-records" {
            for (line, is_plain) in found.iter_mut().zip([true, false, true]) {
                // Missing information is explicit.
                let empty = r#" Some(Attribution { moniker: Some(""), url: Some(""), rolled_out: 0 })"#;
                if is_plain && line.ends_with(empty) {
                    *line = line.replace(empty, " None");
                }
            }
        }
        assert_eq!(found, expected, "{dialect}: {losses:?}");
        assert_eq!(bytes == datagrams, dialect == "datagrams");
    }
}

#[test]
fn tags_of_several_logs_do_not_meet() {
    let log = |moniker: &str, message: &str| {
        let mut buffer = vec![0; 512];
        let mut encoder = Encoder::new(&mut buffer);
        let mut control = encoder.begin(1, 0x30).unwrap();
        control.set_tag(3);
        control.set_control(true);
        control.argument("moniker", moniker).unwrap();
        control.finish();
        let mut record = encoder.begin(2, 0x30).unwrap();
        record.set_tag(3);
        record.argument("message", message).unwrap();
        record.finish();
        open(moniker, encoder.written())
    };
    let (a, b) = (log("core/a", "from a"), log("core/b", "from b"));
    let (bytes, losses) = written(&[&a, &b], None);
    assert_eq!(losses.iter().map(|(loss, _)| &*loss.what).collect::<Vec<_>>(), ["2 data streams -> 1"]);
    let trace = open("both", &bytes);
    let mut found = Vec::new();
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.next_head().is_some() {
            if let Message::Event(event) = cursor.current().unwrap()
                && let Some(message) = event.field("payload.message")
            {
                found.push(format!("{message:?} of {:?}", event.field("resource.moniker")));
            }
        }
    }
    assert_eq!(found.len(), 2);
    assert!(found[0].contains("97") || found[0].contains("a"), "{found:?}");
    let components: Vec<&str> = found.iter().map(|line| line.split(" of ").nth(1).unwrap()).collect();
    assert_ne!(components[0], components[1], "{found:?}");
    assert!(!components.contains(&"None"), "{found:?}");
}

// ---------------------------------------------------------------------------------------------
// Events of other formats

/// A scale where small numbers are the most important.
const SCALE: LevelScale = LevelScale(&[
    LevelStep::new(1, LogLevel::Fatal),
    LevelStep::new(2, LogLevel::Error),
    LevelStep::new(3, LogLevel::Warn),
    LevelStep::new(4, LogLevel::Info),
    LevelStep::new(5, LogLevel::Debug),
    LevelStep::new(6, LogLevel::Trace),
]);

/// Appends a random field value, and the resulting arguments.
fn push_random(
    random: &mut Random,
    kind: u64,
    name: &str,
    values: &mut EventValues,
    expected: &mut Vec<(String, String)>,
) {
    let mut say = |name: String, value: String| expected.push((name, value));
    match kind {
        0 => {
            let number = random.number() >> random.below(64);
            values.push(number);
            say(name.to_owned(), format!("u{number}"));
        }
        1 => {
            let number = random.number() as i64 >> random.below(64);
            values.push(number);
            say(name.to_owned(), format!("i{number}"));
        }
        2 => {
            let number = f64::from_bits(random.number());
            values.push(number);
            say(name.to_owned(), format!("f{:x}", number.to_bits()));
        }
        3 => {
            let value = random.is_one_in(2);
            values.push(value);
            say(name.to_owned(), value.to_string());
        }
        4 => {
            let text: String =
                (0..random.below(20)).map(|_| random.pick(&['a', '\u{e9}', '\u{1f600}', ' '])).collect();
            values.push(text.as_str());
            say(name.to_owned(), format!("{text:?}"));
        }
        5 => {
            let number = random.below(4);
            values.push(number);
            // The number, not its name.
            say(name.to_owned(), format!("u{number}"));
        }
        6 => {
            values.begin_structure();
            push_random(random, 0, &format!("{name}.x"), values, expected);
            push_random(random, 4, &format!("{name}.y"), values, expected);
            values.end();
        }
        7 => {
            values.begin_array();
            for index in 0..2 {
                push_random(random, 1, &format!("{name}[{index}]"), values, expected);
            }
            values.end();
        }
        _ => {
            let is_present = random.is_one_in(2);
            values.push_optional(is_present);
            if is_present {
                push_random(random, 0, name, values, expected);
            }
        }
    }
}

fn class_of(kind: u64) -> FieldClass {
    match kind {
        0 => FieldClass::unsigned(64),
        1 => FieldClass::signed(64),
        2 => FieldClass::float(64),
        3 => FieldClass::new(FieldKind::Boolean(BitField::new(8, ByteOrder::LittleEndian, 8))),
        4 => FieldClass::string(),
        5 => {
            let mut mappings = MappingsBuilder::default();
            for (name, value) in [("ONE", 1), ("TWO", 2), ("EVEN", 2)] {
                assert!(mappings.add_name(name));
                mappings.add_range(IntegerRange::single(value));
            }
            let mut class = FieldClass::unsigned(64);
            if let FieldKind::Integer { integer, .. } = &mut class.kind {
                integer.mappings = Some(mappings.finish());
            }
            class
        }
        6 => FieldClass::structure([Member::new("x", class_of(0)), Member::new("y", class_of(4))]),
        7 => FieldClass::new(FieldKind::Array {
            element: class_of(1).into(),
            length: Length::Static(2),
            minimum_alignment: 8,
            element_aligns: true,
        }),
        _ => FieldClass::optional(class_of(0)),
    }
}

/// Delivers prepared records, last first: time, class and values.
struct Made(Vec<(u64, usize, EventValues)>);

impl Source for Made {
    fn next(&mut self, record: &mut ModelRecord) -> NextRecord {
        let Some((time, class, values)) = self.0.pop() else { return NextRecord::End };
        record.set_cycles(time);
        record.set_class(class);
        record.values = values;
        NextRecord::Event
    }
}

/// Record arguments as text.
fn arguments(record: &Record<'_>) -> Vec<(String, String)> {
    let text = |value| match value {
        Value::Signed(value) => format!("i{value}"),
        Value::Unsigned(value) => format!("u{value}"),
        Value::Float(value) => format!("f{:x}", value.to_bits()),
        Value::Bool(value) => value.to_string(),
        Value::Text(value) => format!("{:?}", value.to_string()),
        other => panic!("{other:?}"),
    };
    record.arguments().flatten().map(|argument| (argument.name.to_string(), text(argument.value))).collect()
}

#[test]
fn random_events_are_written_and_read_back() {
    cases(300, |random| {
        const NAMES: [&str; 8] = ["a", "pid", "file", "tag", "", "$__url", "printf", "b.c"];
        let kinds: Vec<u64> = (0..random.below(8)).map(|_| random.below(9)).collect();
        let names: Vec<&str> = kinds.iter().map(|_| random.pick(&NAMES)).collect();
        let mut members: Vec<Member> =
            names.iter().zip(&kinds).map(|(name, kind)| Member::new(*name, class_of(*kind))).collect();
        members.push(Member::new("msg", FieldClass::string()));
        let mut class = EventRecordClass::new("said", members);
        let context =
            [Member::new("level", FieldClass::unsigned(8)), Member::new("thread", FieldClass::unsigned(32))];
        class.specific_context = Some(FieldClass::structure(context).into());
        class.log = Some(LogRole::new(LogSeverity::Member, SCALE).into());
        class.meanings.insert(Scope::SpecificContext, 0, Meaning::Severity);
        class.meanings.insert(Scope::SpecificContext, 1, Meaning::Thread);
        class.meanings.insert(Scope::Payload, kinds.len(), Meaning::Message);
        let clock = ClockClass::since_unix_epoch("wall");
        let class = TraceClass::new("test 1", [clock], [DataStreamClass::new(Some(0), [class])]);

        let mut records = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..random.below(5) {
            let (mut values, mut list) = (EventValues::default(), Vec::new());
            values.clear();
            values.begin(Scope::SpecificContext);
            let (level, thread) = (1 + random.below(6), random.below(1 << 32));
            values.push(level);
            values.push(thread);
            values.begin(Scope::Payload);
            list.push(("tid".to_owned(), format!("u{thread}")));
            for (kind, name) in kinds.iter().zip(&names) {
                push_random(random, *kind, name, &mut values, &mut list);
            }
            let message: String =
                (0..random.below(30)).map(|_| random.pick(&['m', '\u{df}', '\n'])).collect();
            values.push(message.as_str());
            list.push(("message".to_owned(), format!("{message:?}")));
            let severity = [0x60, 0x50, 0x40, 0x30, 0x20, 0x10][level as usize - 1];
            let time = random.below(1 << 62);
            expected.push((time, severity, list));
            records.push((time, 0, values));
        }
        // Records are sorted by time, as in any data stream.
        records.sort_by_key(|(time, ..)| std::cmp::Reverse(*time));
        expected.sort_by_key(|(time, ..)| *time);

        let limits = Limits::default();
        let trace = Trace::new(class, "test", &limits).unwrap();
        let records = std::sync::Mutex::new(Some(records));
        let trace = RecordTrace::new("test", trace, &limits)
            .with_stream(0, "s", 0, move || Made(records.lock().unwrap().clone().unwrap_or_default()));
        let (bytes, losses) = written(&[&trace], None);
        let mut left = &bytes[..];
        let mut count = 0;
        while !left.is_empty() {
            let (record, rest) = Record::read(left, 0).unwrap();
            let mut broken = Vec::new();
            record.check(Default::default(), &mut |error| broken.push(error.rule));
            assert_eq!(broken, []);
            let (time, severity, list) = &expected[count];
            assert_eq!((record.timestamp() as u64, record.raw_severity()), (*time, *severity));
            let found = arguments(&record);
            assert_eq!(found.len(), list.len(), "{found:?} {list:?}");
            for ((found_name, found), (name, value)) in found.iter().zip(list) {
                // A name with a meaning is changed.
                let plain = |name: &str| name.replace('_', "");
                let is_renamed = plain(found_name) == plain(name);
                assert!(found == value && is_renamed, "{found_name}={found}, {name}={value}");
            }
            let known = record.known();
            let messages = list.iter().filter(|(name, _)| name == "message").count();
            assert_eq!((known.tid.is_some(), known.pid, known.file, messages), (true, None, None, 1));
            assert!(!record.is_printf() && record.appended().is_none());
            (left, count) = (rest, count + 1);
        }
        assert_eq!(count, expected.len());
        assert_eq!(losses.omitted(LossKind::Dropped), 0);
        assert_eq!(losses.iter().any(|(loss, _)| loss.what.contains("severity")), count > 0);
    });
}

#[test]
fn what_does_not_fit_is_cut_and_counted() {
    let members = [
        Member::new("first", FieldClass::string()),
        Member::new("second", FieldClass::string()),
        Member::new("third", FieldClass::unsigned(64)),
    ];
    let mut class = EventRecordClass::new("said", members);
    class.log = Some(LogRole::new(LogSeverity::Constant(2), SCALE).into());
    let other = EventRecordClass::new("without a severity", []);
    let clock = ClockClass::since_unix_epoch("wall");
    let stream = DataStreamClass::new(Some(0), [class, other]);
    let limits = Limits::default();
    let trace = Trace::new(TraceClass::new("test 1", [clock], [stream]), "test", &limits).unwrap();
    let trace = RecordTrace::new("test", trace, &limits).with_stream(0, "s", 0, || {
        let mut values = EventValues::default();
        values.begin(Scope::Payload);
        let empty = values.clone();
        values.push("\u{e9}".repeat(20_000).as_str());
        values.push("x");
        values.push(1u64);
        Made(vec![(7, 1, empty), (7, 0, values)])
    });
    let (bytes, losses) = written(&[&trace], None);
    let (record, rest) = Record::read(&bytes, 0).unwrap();
    let (other, rest) = Record::read(rest, 0).unwrap();
    assert!(rest.is_empty());
    assert_eq!(arguments(&other), [("message".to_owned(), "\"without a severity\"".to_owned())]);
    assert_eq!(other.raw_severity(), 0x30);
    let found = arguments(&record);
    assert_eq!((found.len(), &*found[0].0), (1, "first"));
    assert!(found[0].1.ends_with("\u{e9}\"") && found[0].1.len() > 32_000);
    let lines: Vec<String> = losses
        .iter()
        .filter(|(loss, _)| !loss.class.is_empty())
        .map(|(loss, count)| format!("{} {} {} {}: {count}", loss.kind, loss.class, loss.field, loss.what))
        .collect();
    assert_eq!(
        lines,
        [
            "lowered said severity number on another scale -> named severity: 1",
            "lowered without a severity severity none -> INFO: 1",
            "moved without a severity  event record class name -> message: 1",
            "rounded said payload.first text cut: no room in the record: 1",
            "dropped said  event record class name: 1",
            "dropped said payload.second no room in the record: 1",
            "dropped said payload.third no room in the record: 1",
        ]
    );
}

#[test]
fn the_name_of_a_class_is_moved_to_the_message() {
    let mut class = EventRecordClass::new("its name", []);
    let mut role = LogRole::new(LogSeverity::Constant(2), SCALE);
    role.text = Some(LogText::NAME);
    class.log = Some(role.into());
    let stream = DataStreamClass::new(Some(0), [class]);
    let limits = Limits::default();
    let class = TraceClass::new("test 1", [ClockClass::since_unix_epoch("wall")], [stream]);
    let trace = Trace::new(class, "test", &limits).unwrap();
    let trace = RecordTrace::new("test", trace, &limits).with_stream(0, "s", 0, || {
        let mut values = EventValues::default();
        values.begin(Scope::Payload);
        Made(vec![(7, 0, values)])
    });
    let (bytes, losses) = written(&[&trace], None);
    let (record, _) = Record::read(&bytes, 0).unwrap();
    assert_eq!(arguments(&record), [("message".to_owned(), "\"its name\"".to_owned())]);
    let moved = losses.iter().filter(|(loss, _)| loss.kind == LossKind::Moved && loss.class == "its name");
    assert_eq!(
        moved.map(|(loss, _)| &*loss.what).collect::<Vec<_>>(),
        ["event record class name -> message"]
    );
}

/// An empty moniker or URL in an event is not the same as a missing moniker or URL.
#[test]
fn empty_origins_are_not_listed() {
    let meanings = [Meaning::Component, Meaning::ComponentUrl, Meaning::RolledOut, Meaning::Message];
    let listed = |missing: Option<Meaning>| {
        let is_there = |meaning: &&Meaning| Some(**meaning) != missing;
        let members = meanings.iter().filter(is_there).map(|meaning| match meaning {
            Meaning::RolledOut => Member::new("count", FieldClass::unsigned(64)),
            meaning => Member::new(format!("{meaning}"), FieldClass::string()),
        });
        let mut class = EventRecordClass::new("said", members);
        class.log = Some(LogRole::new(LogSeverity::Constant(2), SCALE).into());
        for (index, meaning) in meanings.iter().filter(is_there).enumerate() {
            class.meanings.insert(Scope::Payload, index, *meaning);
        }
        let stream = DataStreamClass::new(Some(0), [class]);
        let limits = Limits::default();
        let class = TraceClass::new("test 1", [ClockClass::since_unix_epoch("wall")], [stream]);
        let trace = Trace::new(class, "test", &limits).unwrap();
        let trace = RecordTrace::new("test", trace, &limits).with_stream(0, "s", 0, move || {
            let mut values = EventValues::default();
            values.begin(Scope::Payload);
            for meaning in meanings.iter().filter(|meaning| Some(**meaning) != missing) {
                match meaning {
                    Meaning::RolledOut => values.push(0u64),
                    _ => values.push(""),
                };
            }
            Made(vec![(7, 0, values)])
        });
        let (_, losses) = written(&[&trace], Some("extended-records"));
        let is_listed = losses.iter().any(|(loss, _)| loss.what.contains("extension with empty texts"));
        (is_listed, losses)
    };
    let (is_listed, losses) = listed(None);
    assert!(!is_listed, "{losses:?}");
    for missing in &meanings[..3] {
        assert!(listed(Some(*missing)).0, "{missing}");
    }
}
