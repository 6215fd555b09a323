//! Spans with lost starts and ends, overlapping spans, and spans with equal names and times: every output contains the
//! spans that `stats --spans` measures, with the same lengths.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use ichnos::convert::ConvertOptions;
use ichnos::{OpenOptions, Session};
use ichnos_analysis::stats::{PairOptions, PairReader, Pairs};
use ichnos_flow::pump;
use ichnos_model::Window;
use ichnos_model::meaning::{ClassMap, EventRole, EventRule, Meaning};
use ichnos_testing::Random;
use ichnos_viewers::{CLOCK_ORIGIN, Timeline, since_origin};
use serde_json::Value as Json;

use crate::missing::{attribute, interval, intervals};
use crate::otlp::spans;
use crate::random_spans::SpanPairs;
use crate::viewers::{ERRORS, all_rows, convert, processor, writer};

/// Name, start and length of a span.
type Row = (String, i64, i64);

const NESTED: [&str; 3] = ["load", "parse", "save"];
const KEYED: [&str; 2] = ["request", "reply"];
const PROCESSES: u64 = 40;
const STEPS: u64 = 250;

/// Returns a trace with start and end events at random.
fn random_trace(directory: &Path) -> Session {
    let mut text = String::new();
    let mut random = Random::new(7);
    let mut time = 1_000;
    for process in 1..=PROCESSES {
        for _ in 0..STEPS {
            time += random.pick(&[0, 0, 1, 2, 5, 100]);
            let tid = process * 10 + random.below(2);
            let side = random.pick(&["begin", "end"]);
            let (name, key) = match random.below(3) {
                0 => (random.pick(&KEYED), format!(r#","id":{}"#, random.below(3))),
                _ => (random.pick(&NESTED), String::new()),
            };
            let _ = writeln!(
                text,
                r#"{{"ts":{time},"name":"{name}_{side}","payload":{{"pid":{process},"tid":{tid}{key}}}}}"#
            );
        }
    }
    trace_of(&text, directory)
}

/// Returns a trace from lines with names that end in `_begin` and `_end`.
fn trace_of(lines: &str, directory: &Path) -> Session {
    let path = directory.join("random.jsonl");
    std::fs::write(&path, lines).unwrap();
    let mut options = OpenOptions::default();
    options.read.class_map = Some(ClassMap::new(|class, stream| {
        let name = class.name.clone().unwrap_or_default();
        let role = if name.ends_with("_begin") { EventRole::Begin } else { EventRole::End };
        let mut rule = EventRule::new(role).with("pid", Meaning::Process).with("tid", Meaning::Thread);
        if KEYED.iter().any(|keyed| name.starts_with(keyed)) {
            rule = rule.with("id", Meaning::PairKey);
        }
        assert_eq!(rule.apply(class, stream), [0; 0], "{name}");
    }));
    ichnos::open([&path], &options).unwrap()
}

/// Returns the spans that the statistics measure.
fn measured(session: &Session) -> Vec<Row> {
    let mut options = PairOptions::spans();
    options.slowest = usize::MAX;
    let options = Arc::new(options);
    let mut found = SpanPairs { reader: PairReader::new(Arc::clone(&options)), pairs: Pairs::new(&options) };
    pump(&mut session.cursor(Window::default()).unwrap(), &mut found).unwrap();
    found.pairs.take(&found.reader.take_records());
    let unpaired = found.pairs.unpaired();
    assert!(unpaired.begun_again > 100 && unpaired.without_begin > 100, "{unpaired:?}");
    let rows = found.pairs.slowest().into_iter().map(|pair| {
        let length = pair.end - pair.begin;
        (pair.names[0].clone(), pair.begin as i64, length as i64)
    });
    sorted(rows)
}

fn sorted(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.into_iter().collect();
    rows.sort();
    rows
}

fn check(what: &str, found: &[Row], wanted: &[Row]) {
    let different = found.iter().zip(wanted).find(|(found, wanted)| found != wanted);
    assert_eq!(different, None, "{what}");
    assert_eq!(found.len(), wanted.len(), "{what}");
}

/// Spans with both ends have the lengths that the statistics measure. Spans without an end are marked.
#[test]
fn spans_have_the_lengths_of_statistics() {
    let test = "spans_have_the_lengths_of_statistics";
    let directory = tempfile::tempdir().unwrap();
    let session = random_trace(directory.path());
    let wanted = measured(&session);
    assert!(wanted.len() > 1_000 && wanted.iter().any(|(.., length)| *length == 0));
    check("Firefox", &intervals(&convert(&session, "firefox", directory.path())), &wanted);
    let written = spans(&convert(&session, "otlp", directory.path()));
    let ended = written.iter().filter(|span| attribute(span, "ichnos.end_missing").is_none());
    check("OpenTelemetry", &sorted(ended.map(interval)), &wanted);
    // The timeline in `view` does not distinguish spans without a length from instants.
    let mut timeline = Timeline::new(1 << 30);
    pump(&mut session.cursor(Window::default()).unwrap(), &mut timeline).unwrap();
    let mut shown = Vec::new();
    for track in 0..timeline.tracks().len() as u32 {
        for (_, item) in timeline.spans(track, CLOCK_ORIGIN, CLOCK_ORIGIN + 1_000_000, 1_000_000) {
            assert_eq!(item.is_open(), item.longest == 0 && item.end > item.begin, "{item:?}");
            if item.longest > 0 {
                shown.push((
                    timeline.name(item.name).to_owned(),
                    since_origin(item.begin),
                    item.longest as i64,
                ));
            }
        }
    }
    let with_length = wanted.iter().filter(|(.., length)| *length > 0).cloned();
    check("view", &sorted(shown), &sorted(with_length));
    let Some(processor) = processor(test) else { return };
    for (viewer, lead) in [("perfetto", "debug.ichnos_"), ("chrome", "args.ichnos.")] {
        let path = convert(&session, viewer, directory.path());
        let query = format!(
            "select name, ts, dur from slice where dur >= 0
            and extract_arg(arg_set_id, '{lead}end_missing') is null
            and extract_arg(arg_set_id, '{lead}begin_missing') is null"
        );
        let [slices, errors] = all_rows(&processor, &path, &[&query, ERRORS]).try_into().unwrap();
        assert_eq!(errors, [""; 0], "{viewer}");
        let rows = slices.iter().map(|row| {
            let row: Json = serde_json::from_str(row).unwrap();
            let [begin, length] = ["ts", "dur"].map(|name| row[name].as_i64().unwrap());
            (row["name"].as_str().unwrap().to_owned(), begin, length)
        });
        check(viewer, &sorted(rows), &wanted);
    }
}

/// The scheduler ends thread 7 in a system call, and another thread gets its number.
const EXIT: &str = r#"{"ts":1000,"name":"switch","payload":{"cpu":1,"prev":0,"state":0,"next":7}}
{"ts":2000,"name":"exit_begin","payload":{"cpu":1}}
{"ts":5000,"name":"switch","payload":{"cpu":1,"prev":7,"state":64,"next":8}}
{"ts":6000,"name":"switch","payload":{"cpu":1,"prev":8,"state":1,"next":7}}
{"ts":7000,"name":"read_begin","payload":{"cpu":1}}
{"ts":8000,"name":"read_end","payload":{"cpu":1}}
{"ts":9000,"name":"exit_end","payload":{"cpu":1}}
"#;

fn exit_trace(directory: &Path) -> Session {
    let path = directory.join("exit.jsonl");
    std::fs::write(&path, EXIT).unwrap();
    let mut options = OpenOptions::default();
    options.read.class_map = Some(ClassMap::new(|class, stream| {
        let name = class.name.clone().unwrap_or_default();
        let rule = match name.as_str() {
            "switch" => EventRule::new(EventRole::Switch)
                .with("prev", Meaning::PreviousThread)
                .with("state", Meaning::PreviousState)
                .with("next", Meaning::TargetThread),
            name if name.ends_with("_begin") => EventRule::new(EventRole::Begin),
            _ => EventRule::new(EventRole::End),
        };
        assert_eq!(rule.with("cpu", Meaning::Processor).apply(class, stream), [0; 0], "{name}");
    }));
    ichnos::open([&path], &options).unwrap()
}

/// A thread's spans end with the thread: no later thread with its number continues them.
#[test]
fn spans_end_with_their_thread() {
    let directory = tempfile::tempdir().unwrap();
    let session = exit_trace(directory.path());
    let read = || ("read".to_owned(), 7000, 1000);
    let path = convert(&session, "firefox", directory.path());
    assert_eq!(intervals(&path), [read()]);
    let written = spans(&convert(&session, "otlp", directory.path()));
    let rows = written.iter().map(|span| (interval(span), attribute(span, "ichnos.end_missing").is_some()));
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows, [(("exit".to_owned(), 2000, 3000), true), (read(), false)]);
    assert!(written.iter().all(|span| span["parentSpanId"].is_null()));
    let mut timeline = Timeline::new(1 << 20);
    pump(&mut session.cursor(Window::default()).unwrap(), &mut timeline).unwrap();
    let thread = timeline.tracks().iter().position(|track| &*track.name == "thread 7").unwrap() as u32;
    let items = timeline.spans(thread, CLOCK_ORIGIN, CLOCK_ORIGIN + 10_000, 10_000);
    let rows = items.iter().map(|(lane, item)| {
        let [begin, end] = [item.begin, item.end].map(since_origin);
        (*lane, timeline.name(item.name).to_owned(), begin, end, item.longest, item.is_open())
    });
    let mut rows: Vec<_> = rows.filter(|(.., begin, end, _, _)| begin < end).collect();
    rows.sort_by_key(|row| row.2);
    let wanted = [("exit", 2000, 5000, 0, true), ("read", 7000, 8000, 1000, false)];
    let wanted =
        wanted.map(|(name, begin, end, longest, open)| (0, name.to_owned(), begin, end, longest, open));
    assert_eq!(rows, wanted);
    let Some(processor) = processor("spans_end_with_their_thread") else { return };
    for (viewer, lead) in [("perfetto", "debug.ichnos_"), ("chrome", "args.ichnos.")] {
        let path = convert(&session, viewer, directory.path());
        let query = format!(
            "select name, ts, dur, depth, extract_arg(arg_set_id, '{lead}end_missing') as lost from slice
            where name in ('exit', 'read') and dur != 0"
        );
        let found = all_rows(&processor, &path, &[&query]).concat();
        let found: Vec<Json> = found.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
        let rows = found.iter().map(|row| {
            let number = |name: &str| row[name].as_i64().unwrap();
            assert_eq!(number("depth"), 0, "{row}");
            (row["name"].as_str().unwrap(), number("ts"), number("dur"), !row["lost"].is_null())
        });
        let wanted = [("exit", 2000, 3000, true), ("read", 7000, 1000, false)];
        assert_eq!(rows.collect::<Vec<_>>(), wanted, "{viewer}");
    }
}

/// A clock went back: a span ends before it starts.
const BACKWARDS: &str = r#"{"ts":5000,"name":"load_begin","payload":{"pid":1,"tid":7}}
{"ts":4000,"name":"load_end","payload":{"pid":1,"tid":7}}
{"ts":6000,"name":"save_begin","payload":{"pid":1,"tid":7}}
{"ts":7000,"name":"save_end","payload":{"pid":1,"tid":7}}
"#;

/// An end before its start is a loss, and the span has length 0.
#[test]
fn an_end_before_its_start_is_a_loss() {
    let directory = tempfile::tempdir().unwrap();
    let session = trace_of(BACKWARDS, directory.path());
    for viewer in ["perfetto", "chrome", "firefox", "otlp"] {
        let reader = session.reader().unwrap();
        let report = reader.convert(writer(viewer), None, &ConvertOptions::default()).unwrap();
        let losses = report.losses.iter().filter(|(entry, _)| entry.what.starts_with("span end before"));
        assert_eq!(losses.map(|(_, count)| count).sum::<u64>(), 1, "{viewer}");
    }
    let wanted = [("load".to_owned(), 5000, 0), ("save".to_owned(), 6000, 1000)];
    assert_eq!(intervals(&convert(&session, "firefox", directory.path())), wanted);
    let Some(processor) = processor("an_end_before_its_start_is_a_loss") else { return };
    for viewer in ["perfetto", "chrome"] {
        let path = convert(&session, viewer, directory.path());
        let rows = all_rows(&processor, &path, &["select name, ts, dur from slice"]).concat();
        let wanted = [r#"{"name":"load","ts":5000,"dur":0}"#, r#"{"name":"save","ts":6000,"dur":1000}"#];
        assert_eq!(rows, wanted, "{viewer}");
    }
}
