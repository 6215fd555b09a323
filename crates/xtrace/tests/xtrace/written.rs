//! Written reports are read back: recorded reports, random reports, and reports from other formats.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use ichnos_io::{
    CreateError, FormatOptions, Lane, Verify, WriteOptions, WriteReport, WriteSource, WriteTarget,
    WriterFactory,
};
use ichnos_model::class::{
    DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation, Length, Member, Value,
};
use ichnos_model::clock::{ClockClass, ClockOffsets};
use ichnos_model::cursor::StreamCursor as _;
use ichnos_model::digest::{StreamDigest, TraceDigest};
use ichnos_model::lower::LossTable;
use ichnos_model::meaning::{CauseKind, Meaning};
use ichnos_model::source::{NextRecord, Record, RecordTrace};
use ichnos_model::trace::Limits;
use ichnos_model::{OpenedTrace, Scope, Source, Trace, TraceClass, Window};
use ichnos_testing::{Random, cases};
use ichnos_xtrace::XTraceWriter;
use ichnos_xtrace::report::{JsonReportsWriter, LineBuffer, ReportWriter, parse_timestamp};

use crate::reader::{open_all, options, words};
use crate::reports::of_text;

pub(crate) fn open(bytes: &[u8], check: bool) -> Box<dyn OpenedTrace> {
    open_all(&[("a", bytes)], &options(check))
}

/// Compares reports with the written digest.
fn compare(path: &Path, written: &TraceDigest) -> Result<(), CreateError> {
    let mut digest = StreamDigest::new(written.event_hash);
    let bytes = fs::read(path).unwrap();
    if !bytes.is_empty() && bytes != b"[]\n" {
        for mut cursor in open(&bytes, true).cursors(Window::default()) {
            while cursor.next_head().is_some() {
                digest.message(&cursor.current().unwrap());
            }
        }
    }
    written.difference(&digest.finish()).map_or(Ok(()), |found| Err(CreateError::Mismatch(found)))
}

fn write_with(trace: &dyn OpenedTrace, change: impl FnOnce(&mut WriteOptions)) -> (Vec<u8>, WriteReport) {
    write_all(&[trace], change)
}

/// Writes traces one after the other.
fn write_all(traces: &[&dyn OpenedTrace], change: impl FnOnce(&mut WriteOptions)) -> (Vec<u8>, WriteReport) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let source = |trace: &&dyn OpenedTrace| WriteSource {
        trace: trace.trace().clone(),
        format: trace.format(),
        has_dynamic_classes: trace.has_dynamic_classes(),
        streams: trace.data_streams(),
    };
    let mut options = WriteOptions::default();
    options.verify = Some(Verify::new(compare));
    change(&mut options);
    let name = format!("written-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let sources = traces.iter().map(source).collect();
    let output = XTraceWriter.create(WriteTarget::Complete(path.clone()), sources, &options).unwrap();
    let mut worker = output.worker(Lane::All);
    for mut cursor in traces.iter().flat_map(|trace| trace.cursors(Window::default())) {
        while cursor.next_head().is_some() {
            worker.message(&cursor.current().unwrap()).unwrap();
            while let Some(block) = worker.take() {
                output.join(block).unwrap();
            }
        }
    }
    worker.finish().unwrap();
    while let Some(block) = worker.take() {
        output.join(block).unwrap();
    }
    drop(worker);
    let report = output.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    (bytes, report)
}

/// Writes a trace in a dialect twice: compared with the result of reading it back, and without the comparison, where
/// reports are written directly from their events.
pub(crate) fn write(trace: &dyn OpenedTrace, dialect: &str) -> (Vec<u8>, WriteReport) {
    let (compared, report) = write_with(trace, |options| options.dialect = Some(dialect.to_owned()));
    let (written, alone) = write_with(trace, |options| {
        options.dialect = Some(dialect.to_owned());
        options.verify = None;
    });
    assert!(written == compared, "as {dialect}");
    assert_eq!((losses(&alone.losses), alone.events), (losses(&report.losses), report.events));
    (compared, report)
}

/// Returns the events of a trace as text, without damage.
pub(crate) fn events(bytes: &[u8]) -> Vec<String> {
    let words = words(&*open(bytes, false), Window::default());
    words.into_iter().filter(|line| line.contains(';')).collect()
}

/// Returns losses by class, change and count.
pub(crate) fn losses(table: &LossTable) -> Vec<String> {
    table
        .iter()
        .map(|(loss, count)| format!("{} {}: {} {count}", loss.class, loss.field, loss.what))
        .collect()
}

#[test]
fn recorded_reports_are_the_same_in_both_dialects() {
    let Some(traces) = ichnos_testing::recorded("xtrace") else { return };
    for name in ["small", "medium", "download"] {
        for file in [format!("brown/text/{name}.txt"), format!("brown/{name}.json")] {
            let bytes = fs::read(traces.join(&file)).unwrap();
            let (trace, expected) = (open(&bytes, true), events(&bytes));
            for dialect in ["text", "json"] {
                let (written, report) = write(&*trace, dialect);
                assert!(report.losses.is_empty(), "{file}: {:?}", losses(&report.losses));
                assert_eq!(report.events, expected.len() as u64);
                assert!(events(&written) == expected, "{file} as {dialect}");
                // Writing again changes nothing, with blocks of any size.
                assert!(write(&*open(&written, true), dialect).0 == written, "{file} as {dialect}");
                let (in_blocks, _) = write_with(&*trace, |options| {
                    options.dialect = Some(dialect.to_owned());
                    options.packet_size = Some(1);
                });
                assert!(in_blocks == written, "{file} as {dialect}");
            }
        }
    }
}

fn any_text(random: &mut Random, is_utf8: bool) -> Vec<u8> {
    let pieces: [&[u8]; 16] = [
        b"a",
        b"Label",
        b" ",
        b"\n",
        b"\r",
        b":",
        b"\\",
        b"\\n",
        b"\"",
        b"\t",
        b"\xC3\xA4",
        b"X-Trace Report ver 1.0",
        b"\xE2\x82\xAC",
        b"=",
        b"\xFF",
        b"\0",
    ];
    let pieces = if is_utf8 { &pieces[..14] } else { &pieces[..] };
    (0..random.index(5)).flat_map(|_| random.pick(pieces).to_vec()).collect()
}

/// Returns a report with any lines.
fn any_report(random: &mut Random, is_utf8: bool) -> LineBuffer {
    const KEYS: [&str; 16] = [
        "X-Trace",
        "Edge",
        "Timestamp",
        "ChainId",
        "ProcessID",
        "ThreadID",
        "Severity",
        "TaskID",
        "EventID",
        "ParentEventID",
        "Escaped",
        "version",
        "reports",
        "Tag",
        "Label",
        "Event",
    ];
    // Readers take causes from both keys in line order, which writing changes to key order.
    let without = random.pick(&["Edge", "ParentEventID"]);
    let mut lines = LineBuffer::default();
    if random.percent(80) {
        lines.push(b"X-Trace", format!("18CAFEBABE{:016X}", random.number()).as_bytes());
    }
    if random.percent(80) {
        lines.push(b"Timestamp", format!("{}.{:03}", random.below(1 << 31), random.below(1000)).as_bytes());
    }
    let number = if random.is_one_in(20) { random.index(600) } else { random.index(12) };
    for _ in 0..number {
        let value = any_text(random, is_utf8);
        let key = Some(random.pick(&KEYS)).filter(|key| *key != without).unwrap_or("Label");
        match random.index(3) {
            0 => lines.push(&any_text(random, true), &value),
            1 => lines.push(key.as_bytes(), &value),
            _ => lines.push(key.as_bytes(), format!("{:08X}", random.number() as u32).as_bytes()),
        }
    }
    lines
}

/// Compares events. At a difference, shows its surroundings.
fn assert_same(found: &[String], expected: &[String], dialect: &str) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let same = found.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
        let part = |text: &str| {
            let bytes = &text.as_bytes()[same.saturating_sub(100)..text.len().min(same + 50)];
            String::from_utf8_lossy(bytes).into_owned()
        };
        assert!(found == expected, "{dialect}: {} for {}", part(found), part(expected));
    }
}

#[test]
fn random_reports_are_the_same_in_both_dialects() {
    cases(100, |random| {
        let is_utf8 = random.percent(70);
        let reports: Vec<LineBuffer> =
            (0..1 + random.index(8)).map(|_| any_report(random, is_utf8)).collect();
        let (mut text, mut json) = (Vec::new(), Vec::new());
        let mut writer = JsonReportsWriter::new();
        for lines in &reports {
            let mut report = ReportWriter::from_lines(&mut text);
            lines.lines().for_each(|line| report.line(line.key, line.value));
            text.push(b'\n');
            writer.report(lines, &mut json);
        }
        writer.end(&mut json);
        let has_head = reports.iter().any(JsonReportsWriter::has_head);
        for bytes in [&text, &json] {
            let (trace, expected) = (open(bytes, true), events(bytes));
            for dialect in ["text", "json"] {
                let (written, report) = write(&*trace, dialect);
                assert_eq!(report.events, reports.len() as u64);
                let is_exact = dialect == "text" || is_utf8 && !has_head;
                let is_reordered = report.losses.iter().any(|(loss, _)| loss.what.starts_with("lines ->"));
                assert!(
                    !is_reordered
                        || dialect == "json" && reports.iter().any(|lines| lines.lines().len() > 256)
                );
                if is_exact && !is_reordered {
                    assert!(report.losses.is_empty(), "{:?}", losses(&report.losses));
                    assert_same(&events(&written), &expected, dialect);
                }
                assert_eq!(events(&written).len(), expected.len());
            }
        }
    });
}

/// Events from another format: a name and the values of the class.
struct Events(Vec<Values>);

#[derive(Clone)]
struct Values {
    time: u64,
    class: usize,
    /// Thread, operation (0 if missing), cause (0 if missing).
    numbers: [u64; 3],
    text: &'static str,
}

impl Source for Events {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        if self.0.is_empty() {
            return NextRecord::End;
        }
        let values = self.0.remove(0);
        record.set_class(values.class);
        record.set_cycles(values.time);
        record.values.begin(Scope::CommonContext);
        record.values.push(values.numbers[0]);
        record.values.begin(Scope::Payload);
        if values.class < 2 {
            record.values.push(values.numbers[1]);
            record.values.push(values.numbers[2]);
        }
        record.values.push(values.text);
        NextRecord::Event
    }
}

/// A trace in another format with the classes `call` with a message, `end`, and `other` without an operation.
fn foreign(events: Vec<Values>) -> RecordTrace {
    let unsigned = || FieldClass::unsigned(64);
    let ids = || [Member::new("op", unsigned()), Member::new("from", unsigned())];
    let text = |name: &str| Member::new(name, FieldClass::string());
    let mut classes = [
        EventRecordClass::new("call", ids().into_iter().chain([text("what")])),
        EventRecordClass::new("end", ids().into_iter().chain([text("Host")])),
        EventRecordClass::new("other", [text("text")]),
    ];
    for class in &mut classes {
        class.meanings.insert(Scope::CommonContext, 0, Meaning::Thread);
    }
    for class in &mut classes[..2] {
        class.meanings.insert(Scope::Payload, 0, Meaning::OperationId);
        class.meanings.insert(Scope::Payload, 1, Meaning::Cause(CauseKind::Parent));
    }
    classes[0].meanings.insert(Scope::Payload, 2, Meaning::Message);
    let context = FieldClass::structure([Member::new("thread", unsigned())]);
    let stream =
        DataStreamClass { common_context: Some(context.into()), ..DataStreamClass::new(Some(0), classes) };
    let clock = ClockClass::since_unix_epoch("c");
    let trace = Trace::new(TraceClass::new("others", [clock], [stream]), "t", &Limits::default()).unwrap();
    RecordTrace::new("others", trace, &Limits::default())
        .with_stream(0, "some/stream", 0, move || Events(events.clone()))
}

fn call(time: u64, operation: u64, from: u64) -> Values {
    Values { time, class: 0, numbers: [7, operation, from], text: "a call" }
}

#[test]
fn operations_of_other_formats_become_reports() {
    let trace = foreign(vec![
        call(1_000_000_001, 0x11, 0),
        call(2_000_000_000, 0x12, 0x11),
        Values { time: 2_500_000_000, class: 2, numbers: [7, 0, 0], text: "lost" },
        Values { time: 3_000_000_000, class: 1, numbers: [8, 0x11, 0x10], text: "two words" },
    ]);
    let (text, report) = write(&trace, "text");
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "X-Trace Report ver 1.0\n\
         X-Trace: 1900000000000000110000000000000011\n\
         Timestamp: 1.000000001\n\
         Class: call\n\
         ThreadID: 7\n\
         Label: a call\n\
         Edge: 0000000000000010, down\n\
         Event: 3.000000000 end ThreadID=8 Host_=\"two words\"\n\
         \n\
         X-Trace Report ver 1.0\n\
         X-Trace: 1900000000000000110000000000000012\n\
         Edge: 0000000000000011, down\n\
         Timestamp: 2.000000000\n\
         Class: call\n\
         ThreadID: 7\n\
         Label: a call\n\n"
    );
    assert_eq!(report.events, 3);
    assert_eq!(
        losses(&report.losses),
        [
            "call : fields -> lines 1",
            "end : event -> line `Event` in the report of its operation 1",
            "end : fields -> lines 1",
            "other : fields -> lines 1",
            "end payload.Host: `Host` -> `Host_` 1",
            "other : event without a task or an operation 1",
        ]
    );
}

#[test]
fn orphans_become_a_chain_for_each_thread() {
    let other = |time, thread| Values { time, class: 2, numbers: [thread, 0, 0], text: "x" };
    let trace = foreign(vec![other(1, 7), other(2, 8), other(3, 7)]);
    let chained = |options: &mut WriteOptions| {
        let mut formats = FormatOptions::default();
        formats.set("xtrace", XTraceWriter.options(), "orphans", "chain".as_ref()).unwrap();
        options.formats = formats;
    };
    let (text, report) = write_with(&trace, chained);
    let reports = of_text(&text);
    let value = |report: usize, key: &str| -> Option<String> {
        let line = reports[report].iter().find(|(name, _)| name == key.as_bytes());
        line.map(|(_, value)| String::from_utf8(value.clone()).unwrap())
    };
    let [first, second, third] = [0, 1, 2].map(|index| value(index, "X-Trace").unwrap());
    assert_eq!((first.get(..26), first.get(26..)), (third.get(..26), Some("0000000000000001")));
    assert_ne!(first[..26], second[..26]);
    assert_eq!(
        [0, 1, 2].map(|index| value(index, "Edge")),
        [None, None, Some("0000000000000001".to_owned())]
    );
    assert!(losses(&report.losses)[0].ends_with("in the chain of its thread 3"), "{report:?}");
    assert_eq!(write_with(&trace, chained).0, text);
}

/// All events are written or counted as losses, and the output is valid.
#[test]
fn random_operations_arrive_or_are_losses() {
    cases(30, |random| {
        let most = if random.is_one_in(10) { 10_000 } else { 40 };
        let operations = 1 + random.below(most);
        let number = random.index(if operations > 40 { 12_000 } else { 300 });
        let all: Vec<Values> = (0..number as u64)
            .map(|time| Values {
                time: 1_000 + time,
                class: random.index(3),
                numbers: [random.below(3), random.below(operations), random.below(operations)],
                text: random.pick(&["", "x", "a b", "line\nbreak", "\u{e4}"]),
            })
            .collect();
        let trace = foreign(all);
        for dialect in ["text", "json"] {
            let (written, report) = write(&trace, dialect);
            let dropped = |what: &str| -> u64 {
                let lost = report.losses.iter().filter(|(loss, _)| loss.what.starts_with(what));
                lost.map(|(_, count)| count).sum()
            };
            assert_eq!(report.events + dropped("event without a task"), number as u64);
            if report.events > 0 {
                assert_eq!(events(&written).len() as u64, report.events - dropped("event -> line"));
            }
        }
    });
}

/// An event that arrives after its report was written gets a separate operation, which follows.
#[test]
fn operations_with_many_and_with_late_events() {
    let mut all: Vec<Values> = (1..=5_000).map(|number| call(number, number, 0)).collect();
    all.push(call(6_000, 1, 0));
    all.extend((0..5_000).map(|number| call(7_000 + number, 5_000, 0)));
    let (text, report) = write(&foreign(all), "text");
    let late = report.losses.iter().find(|(loss, _)| loss.what.starts_with("late event")).unwrap();
    assert!(late.1 > 900, "{late:?}");
    assert_eq!(report.events, 10_001);
    let reports = of_text(&text);
    let after = reports
        .iter()
        .filter(|report| report.iter().any(|(key, value)| key == b"Edge" && value == b"0000000000000001"));
    assert_eq!(after.count(), 1);
}

/// Times on a moved clock equal the event times.
#[test]
fn moved_clocks() {
    let text = b"X-Trace Report ver 1.0\nX-Trace: 10CAFEBABE01020304\nTimestamp: 10.5\nA: b\n\n\
        X-Trace Report ver 1.0\nX-Trace: 10CAFEBABE01020305\nTimestamp: soon\n";
    let mut moved = options(false);
    moved.clock_offsets = ClockOffsets::for_all(2_000_000_000);
    let trace = open_all(&[("a", text)], &moved);
    let (written, report) = write(&*trace, "text");
    let written = String::from_utf8(written).unwrap();
    assert!(
        written.contains("A: b\nTimestamp: 12.500000000\n") && written.contains("Timestamp: soon\n"),
        "{written}"
    );
    assert_eq!(losses(&report.losses), ["report : clock time -> `Timestamp` 1"]);
    assert_eq!(parse_timestamp(b"12.500000000"), Some(12_500_000_000));
}

/// Events that mention an operation in a text become lines of its report, in any order. An operation whose event does
/// so joins the task.
#[test]
fn events_join_the_operations_that_they_mention() {
    let own = open(
        b"X-Trace Report ver 1.0\nX-Trace: 19CAFEBABE000000010102030405060708\nTimestamp: 1.0\nLabel: own\n",
        false,
    );
    let certain = "in 00-0000000000000000cafebabe00000001-0102030405060708-01";
    let uncertain = "in 19CAFEBABE000000010102030405060708";
    let event =
        |class, operation, text| Values { time: 2_000_000_000, class, numbers: [7, operation, 0], text };
    let other = foreign(vec![event(2, 0, certain), event(2, 0, uncertain), event(0, 0x11, certain)]);
    let lines = |bytes: &[u8]| -> Vec<String> {
        let mut lines: Vec<String> =
            String::from_utf8(bytes.to_vec()).unwrap().lines().map(str::to_owned).collect();
        lines.retain(|line| !line.is_empty());
        lines
    };
    let joined = |text| format!("Event: 2.000000000 other ThreadID=7 text=\"{text}\"");
    let expected = [
        "X-Trace Report ver 1.0".to_owned(),
        "X-Trace: 19CAFEBABE000000010102030405060708".to_owned(),
        "Timestamp: 1.0".to_owned(),
        "Label: own".to_owned(),
        joined(certain),
        joined(uncertain),
        "X-Trace Report ver 1.0".to_owned(),
        "X-Trace: 19CAFEBABE000000010000000000000011".to_owned(),
        "Edge: 0102030405060708".to_owned(),
        "Timestamp: 2.000000000".to_owned(),
        "Class: call".to_owned(),
        "ThreadID: 7".to_owned(),
        format!("Label: {certain}"),
    ];
    for traces in [[&*own, &other as &dyn OpenedTrace], [&other, &*own]] {
        let (text, report) = write_all(&traces, |_| {});
        assert_eq!(lines(&text), expected);
        assert_eq!(report.events, 4);
    }
    // A number that can be something else does not name an operation by itself.
    let (text, report) = write(&foreign(vec![event(2, 0, uncertain)]), "text");
    assert!(text.is_empty() && report.events == 0);
}

const OWN: &[u8] =
    b"X-Trace Report ver 1.0\nX-Trace: 19CAFEBABE000000010102030405060708\nTimestamp: 1.0\nLabel: own\n";
const CERTAIN: &str = "in 00-0000000000000000cafebabe00000001-0102030405060708-01";

fn other(text: &'static str) -> Values {
    Values { time: 2_000_000_000, class: 2, numbers: [7, 0, 0], text }
}

fn reports(bytes: &[u8]) -> Vec<Vec<String>> {
    let line = |(key, value): &(Vec<u8>, Vec<u8>)| {
        format!("{}: {}", String::from_utf8_lossy(key), String::from_utf8_lossy(value))
    };
    of_text(bytes).iter().map(|report| report.iter().map(line).collect()).collect()
}

/// A report started by a mention gets the lines of the operation's own event, before the lines of mentions.
#[test]
fn own_events_after_mentions() {
    let mention = "in 00-00000000000000000102030405060708-0102030405060708-01";
    let (text, report) =
        write(&foreign(vec![other(mention), call(3_000_000_000, 0x0102_0304_0506_0708, 0)]), "text");
    let found = reports(&text);
    assert_eq!(
        found,
        [[
            "X-Trace: 1901020304050607080102030405060708".to_owned(),
            "Timestamp: 3.000000000".to_owned(),
            "Class: call".to_owned(),
            "ThreadID: 7".to_owned(),
            "Label: a call".to_owned(),
            format!("Event: 2.000000000 other ThreadID=7 text=\"{mention}\""),
        ]]
    );
    assert_eq!(report.events, 2);
}

/// If a text mentions several operations, a known operation wins at any position.
#[test]
fn mentions_of_several_operations() {
    let own = open(OWN, false);
    let many: String = (1..60).map(|number| format!("10CAFEBABE{number:08X} ")).collect();
    let text: &'static str = format!("{many}19CAFEBABE000000010102030405060708").leak();
    let both: &'static str =
        format!("00-11111111111111111111111111111111-1111111111111111-01 {CERTAIN}").leak();
    let (written, report) = write_all(&[&*own, &foreign(vec![other(text), other(both)])], |_| {});
    let found = reports(&written);
    assert_eq!((found.len(), report.events), (1, 3));
    assert_eq!(found[0].iter().filter(|line| line.starts_with("Event: ")).count(), 2);
}

/// The line `ChainId` takes precedence, as in readers, so reports with several chains are several operations.
#[test]
fn chains_of_reports() {
    let both = [
        "19CAFEBABE000000010102030405060708\nChainId: 0x0001",
        "19CAFEBABE000000010102030405060708\nChainId: 0x0002",
        "19CAFEBABE000000010102030405060708",
    ]
    .map(|lines| format!("X-Trace Report ver 1.0\nX-Trace: {lines}\n\n"))
    .concat();
    let own = open(both.as_bytes(), false);
    let (written, report) = write_all(&[&*own, &foreign(vec![other(CERTAIN)])], |_| {});
    let found = reports(&written);
    assert_eq!((found.len(), report.events), (3, 4));
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
}

/// Reports, copies and other events in any order: each event is written or counted as a loss. `check` accepts the
/// output, except for copies of reports that other events joined, which count as damage.
#[test]
fn random_reports_and_other_events() {
    let mentions: Vec<&'static str> = (1..6)
        .flat_map(|op| {
            let certain = format!("at 00-0000000000000000cafebabe00000001-{op:016x}-01, later");
            let uncertain = format!("19CAFEBABE00000001{op:016X} and 19CAFEBABE00000001{:016X}", op + 1);
            [&*certain.leak(), &*uncertain.leak(), "no mention"]
        })
        .collect();
    cases(60, |random| {
        let mut number = 0;
        let mut any_trace = || -> Box<dyn OpenedTrace> {
            let count = 1 + random.index(8);
            number += count as u64;
            if random.percent(50) {
                let report = |op: u64, chain: u64| {
                    let head = "X-Trace Report ver 1.0\nX-Trace: 19CAFEBABE00000001";
                    let chain = if chain > 0 { format!("ChainId: 0x{chain:04X}\n") } else { String::new() };
                    format!("{head}{op:016X}\nTimestamp: {op}.5\n{chain}Label: {op}\n\n")
                };
                let all = (0..count).map(|_| report(1 + random.below(5), random.below(2)));
                return open(all.collect::<String>().as_bytes(), false);
            }
            let event = |_| Values {
                time: 1_000_000_000,
                class: random.index(3),
                numbers: [random.below(2), random.below(4), random.below(4)],
                text: random.pick(&mentions),
            };
            Box::new(foreign((0..count).map(event).collect()))
        };
        let traces: Vec<Box<dyn OpenedTrace>> = (0..6).map(|_| any_trace()).collect();
        let traces: Vec<&dyn OpenedTrace> = traces.iter().map(|trace| &**trace).collect();
        for dialect in ["text", "json"] {
            let (_, report) = write_all(&traces, |options| options.dialect = Some(dialect.to_owned()));
            let orphans = report.losses.iter().filter(|(loss, _)| loss.what.starts_with("event without"));
            let orphans: u64 = orphans.map(|(_, count)| count).sum();
            assert_eq!(report.events + orphans, number);
        }
    });
}

/// A copy of a report is written unchanged. Nothing joins the first report after it, so that `check` accepts both.
#[test]
fn copies_of_reports_among_other_events() {
    let own = open(OWN, false);
    let mention = foreign(vec![other(CERTAIN)]);
    let (written, report) = write_all(&[&*own, &*own, &mention], |_| {});
    let found = reports(&written);
    assert_eq!((found.len(), report.events), (3, 3));
    assert!(found[0] == found[1] || found[0] == found[2] || found[1] == found[2], "{found:?}");
    assert!(events(&written).len() == 3 && !words(&*open(&written, true), Window::default()).is_empty());
    // In the other order, the copy differs from the report with the event.
    let (written, _) = write_all(&[&*own, &mention, &*own], |_| {});
    assert_eq!(reports(&written).len(), 2);
}

/// Records written by a function, by number.
struct Numbered {
    next: usize,
    count: usize,
    write: fn(&mut Record, usize),
}

impl Source for Numbered {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        if self.next == self.count {
            return NextRecord::End;
        }
        record.set_class(0);
        (self.write)(record, self.next);
        self.next += 1;
        NextRecord::Event
    }
}

/// A trace in another format with a single class.
fn of_class(class: EventRecordClass, count: usize, write: fn(&mut Record, usize)) -> RecordTrace {
    let clock = ClockClass::since_unix_epoch("c");
    let class = TraceClass::new("others", [clock], [DataStreamClass::new(Some(0), [class])]);
    let trace = Trace::new(class, "t", &Limits::default()).unwrap();
    RecordTrace::new("others", trace, &Limits::default()).with_stream(0, "some/stream", 0, move || Numbered {
        next: 0,
        count,
        write,
    })
}

/// Reports that were converted to another format are joined as well.
#[test]
fn reports_of_any_format_are_joined() {
    let class = EventRecordClass::new("report", [Member::new("X-Trace", FieldClass::string())]);
    let converted = of_class(class, 1, |record, _| {
        record.set_cycles(1);
        record.values.begin(Scope::Payload);
        record.values.push("19CAFEBABE000000010102030405060708");
    });
    let (written, report) = write_all(&[&converted, &foreign(vec![other(CERTAIN)])], |_| {});
    let found = reports(&written);
    assert_eq!((found.len(), report.events), (1, 2), "{found:?}");
    assert!(found[0][1].starts_with("Event: "));
}

/// Causes, chains and levels that reports cannot represent.
#[test]
fn values_that_reports_cannot_have() {
    let array_of = |element: FieldClass| {
        FieldClass::new(FieldKind::Array {
            element: element.into(),
            length: Length::Dynamic(Box::new(FieldLocation::by_values())),
            minimum_alignment: 8,
            element_aligns: true,
        })
    };
    let mut class = EventRecordClass::new(
        "deep",
        [
            Member::new("op", FieldClass::unsigned(64)),
            Member::new("from", array_of(FieldClass::unsigned(64))),
            Member::new("chains", array_of(FieldClass::signed(64))),
            Member::new("level", FieldClass::optional(FieldClass::float(64))),
        ],
    );
    let meanings =
        [Meaning::OperationId, Meaning::Cause(CauseKind::Parent), Meaning::CauseChain, Meaning::Severity];
    for (member, meaning) in meanings.into_iter().enumerate() {
        class.meanings.insert(Scope::Payload, member, meaning);
    }
    let trace = of_class(class, 2, |record, number| {
        let values = &mut record.values;
        values.begin(Scope::Payload);
        values.push(number as u64 + 1);
        values.begin_array();
        (0..4_100).for_each(|cause: u64| values.push(cause + 10));
        values.end();
        values.begin_array();
        [7i64, 70_000, -1].into_iter().for_each(|chain| values.push(chain));
        values.end();
        values.push_optional(number == 0);
        if number == 0 {
            values.push(2.5f64);
        }
    });
    let (written, report) = write(&trace, "text");
    let found = reports(&written);
    assert!(found[0].contains(&"Edge: 000000000000000A, down, 0x0007".to_owned()));
    assert!(found[0].contains(&"Edge: 000000000000000B, down".to_owned()));
    let severities = found.iter().flatten().filter(|line| line.starts_with("Severity"));
    assert_eq!(severities.collect::<Vec<_>>(), ["Severity_: 2.5"]);
    let lost = losses(&report.losses);
    for expected in
        ["deep : chain of more than 16 bits 2", "deep : cause beyond the first 4,096 of an event 8"]
    {
        assert!(lost.contains(&expected.to_owned()), "{lost:?}");
    }
}

/// Causes are looked up within their own chain, so that operations from several chains share a task.
#[test]
fn causes_in_other_chains() {
    let names = ["op", "chain", "from", "from_chain"];
    let mut class =
        EventRecordClass::new("call", names.map(|name| Member::new(name, FieldClass::unsigned(64))));
    let meanings =
        [Meaning::OperationId, Meaning::ChainId, Meaning::Cause(CauseKind::Parent), Meaning::CauseChain];
    for (member, meaning) in meanings.into_iter().enumerate() {
        class.meanings.insert(Scope::Payload, member, meaning);
    }
    // The last event is a further event of its operation, and comes from another task.
    let trace = of_class(class, 4, |record, number| {
        record.values.begin(Scope::Payload);
        let events = [[11u64, 1, 0, 0], [20, 3, 0, 0], [12, 2, 11, 1], [12, 2, 20, 3]];
        events[number].into_iter().for_each(|value| record.values.push(value));
    });
    let (written, report) = write(&trace, "text");
    let found = reports(&written);
    assert_eq!(found.len(), 3, "{found:?}");
    let task = |report: usize| found[report][0].rsplit_once("00000000000000").unwrap().0;
    assert_eq!(task(0), task(2));
    assert_ne!(task(0), task(1));
    assert!(found[2].contains(&"Edge: 000000000000000B, down, 0x0001".to_owned()), "{found:?}");
    let lost = losses(&report.losses);
    assert!(lost.contains(&"call : edge from another task 1".to_owned()), "{lost:?}");
}

/// Returns the losses for a trace with an environment. Its class has an array, a header field, and optionally a
/// machine.
fn losses_with(environment: &[(&str, Value)], has_machine: bool) -> Vec<String> {
    let array = FieldKind::Array {
        element: FieldClass::unsigned(64).into(),
        length: Length::Dynamic(Box::new(FieldLocation::by_values())),
        minimum_alignment: 8,
        element_aligns: true,
    };
    let members = [
        Member::new("op", FieldClass::unsigned(64)),
        Member::new("host", FieldClass::string()),
        Member::new("samples", FieldClass::new(array)),
    ];
    let mut class = EventRecordClass::new("call", members);
    class.meanings.insert(Scope::Payload, 0, Meaning::OperationId);
    if has_machine {
        class.meanings.insert(Scope::Payload, 1, Meaning::Machine);
    }
    let header = FieldClass::structure([Member::new("flag", FieldClass::unsigned(8))]);
    let stream = DataStreamClass {
        event_record_header: Some(header.into()),
        ..DataStreamClass::new(Some(0), [class])
    };
    let mut class = TraceClass::new("others", [ClockClass::since_unix_epoch("c")], [stream]);
    class.environment = environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let trace = Trace::new(class, "t", &Limits::default()).unwrap();
    let write_event = |record: &mut Record, _| {
        record.values.begin(Scope::EventRecordHeader);
        record.values.push(1u64);
        record.values.begin(Scope::Payload);
        record.values.push(1u64);
        record.values.push("box");
        record.values.begin_array();
        record.values.end();
    };
    let trace =
        RecordTrace::new("others", trace, &Limits::default())
            .with_stream(0, "some/stream", 0, move || Numbered { next: 0, count: 2, write: write_event });
    losses(&write(&trace, "text").1.losses)
}

/// Everything without a line is a loss, and environment entries only become lines if they have the right type.
#[test]
fn data_without_a_line_is_a_loss() {
    let text = |text: &str| Value::Text(text.to_owned());
    let number = Value::Integer(7);
    let entries =
        |lost: Vec<String>| lost.into_iter().filter(|line| line.contains("environment.")).collect::<Vec<_>>();
    let all = losses_with(&[], false);
    for expected in [" header.flag: data outside events 1", "call : array or structure without elements 2"] {
        assert!(all.contains(&expected.to_owned()), "{all:?}");
    }
    let odd = [
        ("hostname", number.clone()),
        ("procname", number.clone()),
        ("tracer_name", text("t")),
        ("vpid", text("x")),
    ];
    assert_eq!(
        entries(losses_with(&odd, false)),
        [
            " environment.tracer_name: environment -> line of each event 1",
            " environment.hostname: environment entry 1",
            " environment.procname: environment entry 1",
            " environment.vpid: environment entry 1",
        ]
    );
    let usual = [("hostname", text("b")), ("vpid", number)];
    assert_eq!(
        entries(losses_with(&usual, false)),
        [
            " environment.hostname: environment -> line of each event 1",
            " environment.vpid: environment -> line of each event 1",
        ]
    );
    // All events name their machine themselves.
    assert_eq!(
        entries(losses_with(&usual, true)),
        [
            " environment.vpid: environment -> line of each event 1",
            " environment.hostname: environment entry 1",
        ]
    );
}

/// Only the overlong event is lost.
#[test]
fn events_that_are_too_long() {
    let long: &'static str = "x".repeat(17 << 20).leak();
    let medium: &'static str = "y".repeat(2 << 20).leak();
    let event = |text| Values { text, ..call(2_000_000_000, 0x11, 0) };
    let almost: &'static str = "z".repeat((16 << 20) - 30).leak();
    let all = [event("a"), event("b"), event(long), event(medium), event(almost), event("c")];
    let trace = foreign(all.to_vec());
    for dialect in ["text", "json"] {
        let (written, report) = write(&trace, dialect);
        let lost = losses(&report.losses);
        assert_eq!(report.events, 5, "{lost:?}");
        for expected in [
            "fields of an event beyond 16 MiB or 65,536 lines 1",
            "late event of a written operation -> new operation 2",
            "report of more than 16 MiB or 65,536 lines 1",
        ] {
            assert!(lost.contains(&format!("call : {expected}")), "{lost:?}");
        }
        assert_eq!(events(&written).len(), 2);
    }
    // Losses of waiting reports are counted in their class.
    let (written, report) = write(&foreign(vec![event(almost)]), "text");
    assert!(written.is_empty() && report.events == 0);
    let lost = "call : report of more than 16 MiB or 65,536 lines 1".to_owned();
    assert!(losses(&report.losses).contains(&lost));
    // The same for mentions before their report.
    let mention: &'static str = format!("{CERTAIN} {medium}").leak();
    let (written, report) = write_all(&[&foreign(vec![other(mention)]), &*open(OWN, false)], |_| {});
    assert_eq!((reports(&written).len(), report.events), (2, 2));
}
