//! Values that a trace lacks. Viewers omit or mark them. A missing value never becomes a meaningful value, such as 0,
//! an empty text or *can run*.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ichnos::convert::ConvertOptions;
use ichnos::{OpenOptions, Session};
use ichnos_analysis::stats::Unpaired;
use ichnos_flow::pump;
use ichnos_model::field::FieldValue;
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity};
use ichnos_model::lower::LossEntry;
use ichnos_model::meaning::{ClassMap, EventRole, EventRule, Meaning};
use ichnos_model::{Message, Sink, Window};
use serde_json::Value as Json;

use crate::otlp::{elements, spans};
use crate::random_spans::span_pairs;
use crate::viewers::{ERRORS, all_rows, convert, processor};

/// Role and meanings for events whose names have this ending.
type RoleRule = (&'static str, EventRole, &'static [(&'static str, Meaning)]);

const RULES: [RoleRule; 9] = [
    ("req_begin", EventRole::Begin, &[("id", Meaning::PairKey), ("tid", Meaning::Thread)]),
    ("req_end", EventRole::End, &[("id", Meaning::PairKey), ("tid", Meaning::Thread)]),
    ("_begin", EventRole::Begin, &[("tid", Meaning::Thread)]),
    ("_end", EventRole::End, &[("tid", Meaning::Thread)]),
    (
        "switch",
        EventRole::Switch,
        &[
            ("cpu", Meaning::Processor),
            ("prev", Meaning::PreviousThread),
            ("prev_name", Meaning::PreviousThreadName),
            ("state", Meaning::PreviousState),
            ("next", Meaning::TargetThread),
            ("next_name", Meaning::TargetThreadName),
        ],
    ),
    ("wake", EventRole::Wakeup, &[("cpu", Meaning::Processor), ("woken", Meaning::TargetThread)]),
    ("used", EventRole::Counter, &[("value", Meaning::CounterValue), ("tid", Meaning::Thread)]),
    ("done", EventRole::Instant, &[("took", Meaning::Duration), ("tid", Meaning::Thread)]),
    (
        "line",
        EventRole::Instant,
        &[("level", Meaning::Severity), ("msg", Meaning::Message), ("tag", Meaning::Tag)],
    ),
];

/// Returns a trace with these lines, in a file in the directory.
fn open(lines: &str, directory: &Path) -> Session {
    const SCALE: LevelScale =
        LevelScale(&[LevelStep::new(10, LogLevel::Debug), LevelStep::new(30, LogLevel::Warn)]);
    let map = ClassMap::new(|class, stream| {
        let name = class.name.clone().unwrap_or_default();
        let Some((_, role, members)) = RULES.iter().find(|(end, ..)| name.ends_with(end)) else { return };
        let mut rule = EventRule::new(*role);
        rule.members.extend(members.iter().map(|(field, meaning)| ((*field).to_owned(), *meaning)));
        // Some members are missing on purpose.
        let missing = rule.apply(class, stream);
        if name == "line" {
            let has_level = !missing.contains(&0);
            let severity = if has_level { LogSeverity::Member } else { LogSeverity::Unknown };
            class.log = Some(Arc::new(LogRole::new(severity, SCALE)));
        }
    });
    let path = directory.join("lines.jsonl");
    std::fs::write(&path, lines).unwrap();
    let mut options = OpenOptions::default();
    options.read.class_map = Some(map);
    ichnos::open([&path], &options).unwrap()
}

/// The end event of a `parse` span was lost, and so was the start event of another `parse` span.
const LOST: &str = r#"{"ts":1000,"name":"load_begin","payload":{"tid":7}}
{"ts":2000,"name":"parse_begin","payload":{"tid":7}}
{"ts":4000,"name":"load_end","payload":{"tid":7}}
{"ts":5000,"name":"save_begin","payload":{"tid":7}}
{"ts":6000,"name":"save_end","payload":{"tid":7}}
{"ts":7000,"name":"load_begin","payload":{"tid":7}}
{"ts":7500,"name":"parse_end","payload":{"tid":7}}
{"ts":8000,"name":"load_end","payload":{"tid":7}}
"#;

/// Spans in this trace: name, start, length.
const ENDED: [(&str, i64, i64); 4] =
    [("load", 1000, 3000), ("load", 7000, 1000), ("parse", 2000, 2000), ("save", 5000, 1000)];

/// Returns the intervals in a Firefox profile.
pub(crate) fn intervals(path: &Path) -> Vec<(String, i64, i64)> {
    let profile: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut found = Vec::new();
    for thread in profile["threads"].as_array().unwrap() {
        let table = &thread["markers"];
        let time = |column: &str, index: usize| (table[column][index].as_f64().unwrap() * 1e6).round() as i64;
        for index in 0..table["length"].as_u64().unwrap() as usize {
            if table["phase"][index] == 1 {
                let name = &thread["stringArray"][table["name"][index].as_u64().unwrap() as usize];
                let begin = time("startTime", index);
                found.push((name.as_str().unwrap().to_owned(), begin, time("endTime", index) - begin));
            }
        }
    }
    found.sort();
    found
}

fn number(of: &Json, name: &str) -> i64 {
    of[name].as_str().unwrap_or_else(|| panic!("no {name}: {of}")).parse().unwrap()
}

/// Returns name, start and length of an OpenTelemetry span.
pub(crate) fn interval(span: &Json) -> (String, i64, i64) {
    let [begin, end] = ["startTimeUnixNano", "endTimeUnixNano"].map(|name| number(span, name));
    (span["name"].as_str().unwrap().to_owned(), begin, end - begin)
}

fn owned(spans: &[(&str, i64, i64)]) -> Vec<(String, i64, i64)> {
    spans.iter().map(|(name, begin, length)| ((*name).to_owned(), *begin, *length)).collect()
}

/// Returns an attribute's value.
pub(crate) fn attribute<'j>(of: &'j Json, name: &str) -> Option<&'j Json> {
    let all = of["attributes"].as_array().into_iter().flatten();
    let found = all.into_iter().find(|attribute| attribute["key"] == name)?;
    found["value"].as_object().unwrap().values().next()
}

/// A lost end does not affect later spans: the span ends with its enclosing span, in every output.
#[test]
fn a_span_without_an_end_ends_with_the_span_around_it() {
    let test = "a_span_without_an_end_ends_with_the_span_around_it";
    let directory = tempfile::tempdir().unwrap();
    let session = open(LOST, directory.path());
    let pairs = span_pairs(&session);
    let mut unpaired = Unpaired::default();
    (unpaired.without_end, unpaired.without_begin) = (1, 1);
    assert_eq!((pairs.latencies().count(), pairs.unpaired()), (3, unpaired));
    let wanted = owned(&ENDED);
    // Intervals in Firefox do not need an end.
    let ended = wanted.iter().filter(|(name, ..)| name != "parse").cloned().collect::<Vec<_>>();
    assert_eq!(intervals(&convert(&session, "firefox", directory.path())), ended);
    let written = spans(&convert(&session, "otlp", directory.path()));
    let mut found: Vec<_> = written.iter().map(interval).collect();
    found.sort();
    assert_eq!(found, wanted);
    for span in &written {
        let is_marked = attribute(span, "ichnos.end_missing") == Some(&Json::Bool(true));
        assert_eq!(is_marked, span["name"] == "parse", "{span}");
        assert_eq!(span["parentSpanId"].is_string(), span["name"] == "parse", "{span}");
    }
    let Some(processor) = processor(test) else { return };
    for viewer in ["perfetto", "chrome"] {
        let path = convert(&session, viewer, directory.path());
        const SLICES: &str = "select name, ts, dur, depth from slice";
        let [slices, errors] = all_rows(&processor, &path, &[SLICES, ERRORS]).try_into().unwrap();
        assert_eq!(errors, [""; 0], "{viewer}");
        let rows = slices.iter().map(|row| serde_json::from_str::<Json>(row).unwrap());
        let mut found: Vec<_> = rows
            .map(|row| {
                let [ts, length, depth] = ["ts", "dur", "depth"].map(|name| row[name].as_i64().unwrap());
                // An end without a start is an instant.
                assert_eq!(depth == 1, row["name"] == "parse", "{viewer}: {row}");
                (row["name"].as_str().unwrap().to_owned(), ts, length)
            })
            .collect();
        found.sort();
        let mut wanted = wanted.clone();
        wanted.insert(3, ("parse".to_owned(), 7500, 0));
        assert_eq!(found, wanted, "{viewer}");
    }
}

/// Open spans at the end of the trace last until then, and are marked.
#[test]
fn open_spans_end_with_the_trace() {
    let directory = tempfile::tempdir().unwrap();
    let lines = r#"{"ts":1795205987000001000,"name":"load_begin","payload":{"tid":7}}
{"ts":1795205987000006000,"name":"save_begin","payload":{"tid":7}}
{"ts":1795205987000007000,"name":"save_end","payload":{"tid":7}}
{"ts":1795205987000009000,"name":"req_begin","payload":{"tid":7,"id":1}}
"#;
    let session = open(lines, directory.path());
    let spans = spans(&convert(&session, "otlp", directory.path()));
    let mut found: Vec<_> = spans
        .iter()
        .map(|span| {
            let (name, begin, length) = interval(span);
            (name, begin - 1_795_205_987_000_000_000, length, attribute(span, "ichnos.end_missing").is_some())
        })
        .collect();
    found.sort();
    let wanted = [("load", 1000, 8000, true), ("req", 9000, 0, true), ("save", 6000, 1000, false)];
    assert_eq!(found, wanted.map(|(name, begin, length, lost)| (name.to_owned(), begin, length, lost)));
}

/// Each event with and without the members that it needs. `null` is missing, too.
const LACKING: &str = r#"{"ts":1000,"name":"switch","payload":{"cpu":1,"prev":7,"prev_name":"a","state":1,"next":8,"next_name":"b"}}
{"ts":2000,"name":"switch","payload":{"next":9}}
{"ts":3000,"name":"switch","payload":{"cpu":1,"next":10}}
{"ts":3100,"name":"switch","payload":{"cpu":1,"prev":10,"next":11}}
{"ts":3200,"name":"switch","payload":{"cpu":1,"next":null}}
{"ts":3300,"name":"wake","payload":{"cpu":5,"woken":12}}
{"ts":3400,"name":"wake","payload":{"cpu":5,"woken":null}}
{"ts":4000,"name":"used","payload":{"value":5,"tid":7}}
{"ts":5000,"name":"used","payload":{"tid":7}}
{"ts":5500,"name":"used","payload":{"value":null,"tid":7}}
{"ts":6000,"name":"req_begin","payload":{"id":5,"tid":7}}
{"ts":6500,"name":"req_begin","payload":{"id":null,"tid":7}}
{"ts":7000,"name":"req_end","payload":{"id":null,"tid":7}}
{"ts":8000,"name":"req_end","payload":{"id":5,"tid":7}}
{"ts":9000,"name":"done","payload":{"took":50,"tid":7}}
{"ts":9100,"name":"done","payload":{"took":null,"tid":7}}
{"ts":9200,"name":"line","payload":{"msg":"hello","level":17,"tag":"app"}}
{"ts":9300,"name":"line","payload":{"msg":"hello"}}
{"ts":9400,"name":"bare","payload":{}}
"#;

/// Protocol Buffers message.
struct ProtobufMessage(Vec<u8>);

/// Field value.
enum ProtobufValue {
    Number(u64),
    Bytes(Vec<u8>),
}

impl ProtobufMessage {
    fn fields(&self) -> Vec<(u64, ProtobufValue)> {
        let mut rest = &self.0[..];
        let mut fields = Vec::new();
        let varint = |rest: &mut &[u8]| {
            let length = rest.iter().position(|byte| *byte < 0x80).unwrap() + 1;
            let (bytes, behind) = rest.split_at(length);
            *rest = behind;
            bytes.iter().rev().fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f))
        };
        while !rest.is_empty() {
            let key = varint(&mut rest);
            let value = match key & 7 {
                0 => ProtobufValue::Number(varint(&mut rest)),
                1 => {
                    let (bytes, behind) = rest.split_first_chunk().unwrap();
                    rest = behind;
                    ProtobufValue::Number(u64::from_le_bytes(*bytes))
                }
                2 => {
                    let length = varint(&mut rest) as usize;
                    let (bytes, behind) = rest.split_at(length);
                    rest = behind;
                    ProtobufValue::Bytes(bytes.to_vec())
                }
                wire => panic!("wire type {wire}"),
            };
            fields.push((key >> 3, value));
        }
        fields
    }

    fn all(&self, number: u64) -> Vec<Self> {
        let fields = self.fields().into_iter().filter(|(of, _)| *of == number);
        fields
            .filter_map(
                |(_, value)| if let ProtobufValue::Bytes(bytes) = value { Some(Self(bytes)) } else { None },
            )
            .collect()
    }

    fn number(&self, number: u64) -> Option<u64> {
        self.fields().into_iter().find(|(of, _)| *of == number).map(|(_, value)| match value {
            ProtobufValue::Number(value) => value,
            ProtobufValue::Bytes(_) => panic!("no number"),
        })
    }

    fn text(&self, number: u64) -> Option<String> {
        self.all(number).pop().map(|text| String::from_utf8(text.0).unwrap())
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Message and field numbers are from Perfetto's repository.
#[test]
fn perfetto_omits_missing_values() {
    let test = "perfetto_omits_missing_values";
    let directory = tempfile::tempdir().unwrap();
    let session = open(LACKING, directory.path());
    let path = convert(&session, "perfetto", directory.path());
    let packets = ProtobufMessage(std::fs::read(&path).unwrap()).all(1);
    // ftrace scheduling, which needs the state: previous name, thread, state, then next name, thread.
    let events = packets.iter().flat_map(|packet| packet.all(1)).flat_map(|bundle| bundle.all(2));
    let switches: Vec<_> = events
        .flat_map(|event| event.all(4))
        .map(|event| (event.text(1), event.number(2), event.number(4), event.text(5), event.number(6)))
        .collect();
    assert_eq!(switches, [(text("a"), Some(7), Some(1), text("b"), Some(8))]);
    // Task states: processor, name, thread, state. Unknown states are omitted.
    let states: Vec<_> = packets
        .iter()
        .flat_map(|packet| packet.all(117))
        .map(|state| (state.number(1), state.text(2), state.number(3), state.number(4)))
        .collect();
    const RUNNABLE: Option<u64> = Some(2);
    const RUNNING: Option<u64> = Some(3);
    assert_eq!(
        states,
        [
            (Some(1), None, Some(10), RUNNING),
            (Some(1), None, Some(11), RUNNING),
            (Some(5), None, Some(12), RUNNABLE),
        ]
    );
    // Log lines: process, thread, tag, priority.
    let lines = packets.iter().flat_map(|packet| packet.all(39)).flat_map(|log| log.all(1));
    let lines: Vec<_> =
        lines.map(|line| (line.number(2), line.number(3), line.text(6), line.number(7))).collect();
    assert_eq!(lines, [(None, None, text("app"), Some(5)), (None, None, text("line"), None)]);
    // Slice starts and ends, with a key and with a duration. Counter values.
    let kinds: Vec<_> =
        packets.iter().flat_map(|packet| packet.all(11)).map(|event| event.number(9).unwrap()).collect();
    let count = |kind: u64| kinds.iter().filter(|of| **of == kind).count();
    assert_eq!([1, 2, 4].map(count), [2, 2, 1]);
    // The process is unknown.
    let mut described = packets.iter().flat_map(|packet| packet.all(60));
    assert!(described.all(|track| track.all(3).is_empty() && track.all(4).is_empty()));
    let Some(processor) = processor(test) else { return };
    let states = "select tid, name, state from thread_state join thread using (utid) where state != 'Running' or state is null";
    let [states, errors] = all_rows(&processor, &path, &[states, ERRORS]).try_into().unwrap();
    assert_eq!(errors, [""; 0]);
    let wanted = [
        r#"{"tid":10,"name":null,"state":null}"#,
        r#"{"tid":12,"name":null,"state":"R"}"#,
        r#"{"tid":7,"name":"a","state":"S"}"#,
    ];
    assert_eq!(states, wanted);
}

#[test]
fn chrome_omits_missing_values() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(LACKING, directory.path());
    let path = convert(&session, "chrome", directory.path());
    let file: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    assert_eq!(["C", "X", "b", "e"].map(|phase| of(phase).len()), [1, 1, 1, 1]);
    let scheduling = of("B").into_iter().map(|event| event["args"]["thread"].as_u64().unwrap());
    assert_eq!(scheduling.collect::<Vec<_>>(), [8, 10, 11]);
    assert_eq!(of("E").len(), 3);
    for name in of("M") {
        assert_ne!(name["args"]["name"], "", "{name}");
    }
    // The format requires a process.
    let processes: Vec<_> = of("M").into_iter().filter(|event| event["name"] == "process_name").collect();
    assert_eq!(processes.len(), 1);
    assert_eq!((&processes[0]["pid"], &processes[0]["args"]["name"]), (&0.into(), &"unknown process".into()));
}

#[test]
fn firefox_omits_missing_values() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(LACKING, directory.path());
    let path = convert(&session, "firefox", directory.path());
    assert_eq!(intervals(&path), owned(&[("done", 9000, 50), ("req", 6000, 2000)]));
    let profile: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let samples: Vec<_> =
        profile["counters"].as_array().unwrap().iter().map(|counter| &counter["samples"]["length"]).collect();
    assert_eq!(samples, [1]);
}

/// Checks rules that programs require for spans, log records and values: identifiers are not zero, times are known, and
/// no span ends before it starts.
pub(crate) fn check_otlp(path: &Path) {
    let is_id = |id: &Json, digits: usize| {
        let id = id.as_str().unwrap_or_default();
        id.len() == digits && id.bytes().any(|digit| digit != b'0')
    };
    let is_time =
        |time: &Json| time.as_str().is_some_and(|time| time.parse::<i64>().is_ok_and(|time| time > 0));
    for span in spans(path) {
        assert!(is_id(&span["traceId"], 32) && is_id(&span["spanId"], 16), "{span}");
        assert!(span["parentSpanId"].is_null() || is_id(&span["parentSpanId"], 16), "{span}");
        assert!(is_time(&span["startTimeUnixNano"]), "{span}");
        assert!(number(&span, "endTimeUnixNano") >= number(&span, "startTimeUnixNano"), "{span}");
        for link in span["links"].as_array().into_iter().flatten() {
            assert!(is_id(&link["traceId"], 32) && is_id(&link["spanId"], 16), "{span}");
        }
        for event in span["events"].as_array().into_iter().flatten() {
            assert!(event["timeUnixNano"].is_null() || is_time(&event["timeUnixNano"]), "{span}");
        }
    }
    for log in elements(path, ["resourceLogs", "scopeLogs", "logRecords"]) {
        assert!(log["timeUnixNano"].is_null() || is_time(&log["timeUnixNano"]), "{log}");
        assert!(log["severityNumber"].is_null() || log["severityNumber"].as_u64().unwrap() > 0, "{log}");
        assert!(log["traceId"].is_null() || is_id(&log["traceId"], 32) && is_id(&log["spanId"], 16), "{log}");
    }
    for metric in elements(path, ["resourceMetrics", "scopeMetrics", "metrics"]) {
        for point in metric["gauge"]["dataPoints"].as_array().unwrap() {
            assert!(point["timeUnixNano"].is_null() || is_time(&point["timeUnixNano"]), "{metric}");
            assert!(point.get("asInt").is_some() != point.get("asDouble").is_some(), "{metric}");
        }
    }
}

#[test]
fn opentelemetry_omits_missing_values() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(LACKING, directory.path());
    let path = convert(&session, "otlp", directory.path());
    check_otlp(&path);
    let mut found: Vec<_> = spans(&path).iter().map(interval).collect();
    found.sort();
    assert_eq!(found, owned(&[("done", 9000, 50), ("req", 6000, 2000)]));
    let logs = elements(&path, ["resourceLogs", "scopeLogs", "logRecords"]);
    let lines: Vec<_> = logs.iter().filter(|log| log["eventName"] == "line").collect();
    let severities: Vec<_> = lines.iter().map(|line| line["severityNumber"].as_u64()).collect();
    assert_eq!(severities, [Some(13), None]);
    assert!(lines.iter().all(|line| attribute(line, "thread.id").is_none()), "{lines:?}");
    let values = elements(&path, ["resourceMetrics", "scopeMetrics", "metrics"]);
    assert_eq!(
        values.iter().map(|metric| metric["gauge"]["dataPoints"].as_array().unwrap().len()).sum::<usize>(),
        1
    );
}

/// The clock origin is 0, which means an unknown time. The same holds for a missing time.
#[test]
fn opentelemetry_keeps_the_origin_of_a_clock_apart_from_no_time() {
    let directory = tempfile::tempdir().unwrap();
    let lines = r#"{"ts":0,"name":"load_begin","payload":{"tid":7}}
{"ts":0,"name":"bare","payload":{"tid":8}}
{"ts":5,"name":"load_end","payload":{"tid":7}}
"#;
    let path = convert(&open(lines, directory.path()), "otlp", directory.path());
    check_otlp(&path);
    assert_eq!(spans(&path).iter().map(interval).collect::<Vec<_>>(), owned(&[("load", 1, 4)]));
    let logs = elements(&path, ["resourceLogs", "scopeLogs", "logRecords"]);
    assert_eq!(logs.iter().map(|log| number(log, "timeUnixNano")).collect::<Vec<_>>(), [1]);
    let lines = r#"{"type":"stream-begin","stream":0,"name":"s","class":{"id":0},"trace":{"path":"t","format":"x"}}
{"type":"event","stream":0,"name":"bare","payload":{}}
{"type":"event","stream":0,"name":"load_begin","payload":{"tid":7}}
"#;
    let path = convert(&open(lines, directory.path()), "otlp", directory.path());
    check_otlp(&path);
    let logs = elements(&path, ["resourceLogs", "scopeLogs", "logRecords"]);
    assert_eq!(logs.iter().map(|log| log["timeUnixNano"].is_null()).collect::<Vec<_>>(), [true]);
}

/// The extension in a Fuchsia record always has these parts.
const NO_EXTENSION: &str = "no moniker, URL or count -> extension with empty texts or 0";

/// Values that a format requires and its writer makes up: format, meaning, and the field and description of the loss.
const NEEDED: &[(&str, Meaning, &str, &str)] = &[
    ("fuchsia-log", Meaning::Severity, "severity", "none -> INFO"),
    ("fuchsia-log", Meaning::Message, "", "event record class name -> message"),
    ("fuchsia-log", Meaning::Component, "", NO_EXTENSION),
    ("fuchsia-log", Meaning::ComponentUrl, "", NO_EXTENSION),
    ("fuchsia-log", Meaning::RolledOut, "", NO_EXTENSION),
    ("fxt", Meaning::Process, "pid", "none -> 0"),
    ("fxt", Meaning::Thread, "tid", "none -> 0"),
    ("nettrace", Meaning::Thread, "thread", "none -> 0"),
];

/// Collector for the meanings of event values.
#[derive(Default)]
struct FoundMeanings {
    events: usize,
    found: BTreeSet<Meaning>,
}

impl Sink for FoundMeanings {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<std::ops::ControlFlow<()>> {
        if let Message::Event(event) = message {
            self.events += 1;
            let has = |meaning: &Meaning| {
                event.meaning(*meaning).is_some_and(|value| !matches!(value, FieldValue::Null))
            };
            self.found.extend(Meaning::ALL.into_iter().filter(has));
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

/// Events that have only a name and a time get nothing else in any format and dialect, unless the loss table lists it.
#[test]
fn formats_omit_missing_values() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(
        "{\"ts\":1000,\"name\":\"bare\",\"payload\":{}}\n{\"ts\":2000,\"name\":\"one\",\"payload\":{\"a\":1}}\n",
        directory.path(),
    );
    for format in ichnos::formats() {
        let Some(writer) = format.writer else { continue };
        let dialects = writer.dialects().iter().map(|dialect| Some(dialect.name.to_owned()));
        for dialect in dialects.chain(writer.dialects().is_empty().then_some(None)) {
            let what = format!("{} {}", format.name, dialect.as_deref().unwrap_or_default());
            let path = directory.path().join(what.replace(' ', "-"));
            let mut options = ConvertOptions::default();
            options.write.dialect = dialect;
            let reader = session.reader().unwrap();
            let report = reader.convert(writer, Some(path.clone()), &options).unwrap();
            let mut written = FoundMeanings::default();
            if report.events > 0 {
                let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
                pump(&mut session.cursor(Window::default()).unwrap(), &mut written).unwrap();
            }
            assert_eq!(written.events as u64, report.events, "{what}");
            for meaning in written.found {
                let needed = NEEDED.iter().find(|(of, needed, ..)| *of == format.name && *needed == meaning);
                let (.., field, loss) = needed.unwrap_or_else(|| panic!("{what}: {meaning:?} is made up"));
                let is_it = |entry: &LossEntry| entry.field == *field && entry.what == *loss;
                let is_listed = report.losses.iter().any(|(entry, _)| is_it(entry));
                assert!(is_listed, "{what}: {meaning:?}: {:?}", report.losses);
            }
        }
    }
}
