//! Random spans, counters, messages and operations, written for viewers and read by them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use ichnos::{OpenOptions, Session};
use ichnos_analysis::stats::{PairOptions, PairReader, Pairs};
use ichnos_flow::pump;
use ichnos_model::meaning::{CauseKind, ClassMap, EventDisplay, EventRole, EventRule, Meaning};
use ichnos_model::{Message, Sink, Window};
use ichnos_testing::Random;
use serde_json::Value as Json;

use crate::viewers::{ERRORS, all_rows, convert, processor};

/// First time. It is a whole second.
const BEGIN: u64 = 1_700_000_000_000_000_000;

const SEEDS: u64 = 200;

/// Slices by process and thread, slices with keys, counters, number of messages.
const QUERIES: [&str; 5] = [
    "select p.pid || ' ' || t.tid || ' ' || s.name || ' ' || (s.ts - {origin}) || ' ' || s.dur || ' ' || s.depth as row
        from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid) join process p using (upid)",
    "select s.name || ' ' || (s.ts - {origin}) || ' ' || s.dur as row from slice s where s.name in ('request', 'reply')",
    "select p.pid || ' ' || (c.ts - {origin}) || ' ' || cast(c.value as int) as row
        from counter c join process_counter_track t on c.track_id = t.id join process p using (upid)",
    "select count(*) as row from flow",
    ERRORS,
];

/// Trace as JSON Lines, with the rows that the queries should return.
#[derive(Default)]
struct Generated {
    text: String,
    rows: [Vec<String>; 3],
    /// Operations with a cause.
    edges: Vec<String>,
    flows: u64,
}

impl Generated {
    fn event(&mut self, time: u64, name: &str, members: &str) {
        let _ = writeln!(self.text, r#"{{"ts":{time},"name":"app:{name}","payload":{{{members}}}}}"#);
    }

    fn row(&mut self, query: usize, row: &str) {
        self.rows[query].push(format!(r#"{{"row":"{row}"}}"#));
    }

    /// Adds a process with three threads.
    fn process(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let pid = 1_000 + seed;
        // Open spans by thread, open requests, messages in transit.
        let mut open: [Vec<(u64, &str)>; 3] = Default::default();
        let (mut requests, mut messages) = (Vec::new(), Vec::new());
        let mut operations: Vec<u64> = Vec::new();
        let mut time = BEGIN + seed * 1_000_000;
        for step in 0..80_u64 {
            time += 1 + random.below(999);
            let from = time - BEGIN;
            let thread = random.index(3);
            let tid = pid * 10 + thread as u64;
            let place = format!(r#""pid":{pid},"tid":{tid}"#);
            let depth = open[thread].len();
            match random.below(9) {
                0 | 1 if depth < 6 => {
                    let name = random.pick(&["parse", "load", "draw"]);
                    open[thread].push((time, name));
                    self.event(time, &format!("{name}_begin"), &place);
                }
                2 | 3 if depth > 0 => self.end(pid, thread, time, &mut open[thread]),
                4 => {
                    // Requests and replies share a few keys.
                    let (kind, id) = (random.pick(&["request", "reply"]), random.below(4));
                    if !requests.iter().any(|(open, key, _)| (*open, *key) == (kind, id)) {
                        requests.push((kind, id, time));
                        self.event(time, &format!("{kind}_begin"), &format!(r#"{place},"id":{id}"#));
                    }
                }
                5 if !requests.is_empty() => {
                    let ended = requests.swap_remove(random.index(requests.len()));
                    self.end_keyed(ended, time, &place);
                }
                7 => {
                    let id = seed * 1_000 + step + 1;
                    let cause = if operations.is_empty() { 0 } else { random.pick(&operations) };
                    if cause != 0 {
                        self.edges.push(format!("{cause} {id}"));
                        self.flows += 1;
                    }
                    operations.push(id);
                    self.event(time, "step", &format!(r#"{place},"id":{id},"after":{cause}"#));
                    self.row(0, &format!("{pid} {tid} step {from} 0 {depth}"));
                }
                6 => {
                    let used = random.below(1_000_000);
                    self.event(time, "memory", &format!(r#"{place},"used":{used}"#));
                    self.row(2, &format!("{pid} {from} {used}"));
                }
                _ => {
                    let is_sent = messages.is_empty() || random.is_one_in(2);
                    let (name, id) = match is_sent {
                        true => ("put", seed * 1_000 + step),
                        false => ("get", messages.swap_remove(0)),
                    };
                    if is_sent {
                        messages.push(id);
                    } else {
                        self.flows += 1;
                    }
                    self.event(time, name, &format!(r#"{place},"id":{id}"#));
                    self.row(0, &format!("{pid} {tid} {name} {from} 0 {depth}"));
                }
            }
        }
        for (thread, open) in open.iter_mut().enumerate() {
            while !open.is_empty() {
                time += 1;
                self.end(pid, thread, time, open);
            }
        }
        for ended in requests {
            time += 1;
            self.end_keyed(ended, time, &format!(r#""pid":{pid},"tid":{}"#, pid * 10));
        }
    }

    fn end_keyed(&mut self, (kind, id, begin): (&str, u64, u64), time: u64, place: &str) {
        self.event(time, &format!("{kind}_end"), &format!(r#"{place},"id":{id}"#));
        self.row(1, &format!("{kind} {} {}", begin - BEGIN, time - begin));
    }

    fn end(&mut self, pid: u64, thread: usize, time: u64, open: &mut Vec<(u64, &str)>) {
        let Some((begin, name)) = open.pop() else { return };
        let tid = pid * 10 + thread as u64;
        self.event(time, &format!("{name}_end"), &format!(r#""pid":{pid},"tid":{tid}"#));
        let (from, depth) = (begin - BEGIN, open.len());
        self.row(0, &format!("{pid} {tid} {name} {from} {} {depth}", time - begin));
    }
}

/// Returns the event map that a user would write.
fn map() -> ClassMap {
    ClassMap::new(|class, stream| {
        let name = class.name.clone().unwrap_or_default();
        let name = name.trim_start_matches("app:");
        let (role, field) = match name {
            "request_begin" | "reply_begin" => (EventRole::Begin, Some(("id", Meaning::PairKey))),
            "request_end" | "reply_end" => (EventRole::End, Some(("id", Meaning::PairKey))),
            "step" => (EventRole::Instant, Some(("id", Meaning::OperationId))),
            "memory" => (EventRole::Counter, Some(("used", Meaning::CounterValue))),
            "put" => (EventRole::Send, Some(("id", Meaning::PairKey))),
            "get" => (EventRole::Receive, Some(("id", Meaning::PairKey))),
            name if name.ends_with("_begin") => (EventRole::Begin, None),
            _ => (EventRole::End, None),
        };
        let mut rule = EventRule::new(role).with("pid", Meaning::Process).with("tid", Meaning::Thread);
        rule.members.extend(field.map(|(field, meaning)| (field.to_owned(), meaning)));
        if name == "step" {
            rule = rule.with("after", Meaning::Cause(CauseKind::Predecessor));
        }
        if role == EventRole::Counter {
            rule = rule.shown(EventDisplay { unit: Some("bytes".to_owned()), ..EventDisplay::default() });
        }
        assert_eq!(rule.apply(class, stream), [0; 0], "{name}");
    })
}

/// Returns the trace for all seeds, in a file in this directory, and the expected rows.
fn random_trace(directory: &Path) -> (Session, Generated) {
    let mut random = Generated::default();
    (0..SEEDS).for_each(|seed| random.process(seed));
    random.rows.iter_mut().for_each(|rows| rows.sort());
    random.edges.sort();
    let path = directory.join("random.jsonl");
    std::fs::write(&path, &random.text).unwrap();
    let mut options = OpenOptions::default();
    options.read.class_map = Some(map());
    (ichnos::open([&path], &options).unwrap(), random)
}

/// Compares rows with the expected rows.
fn check(what: &str, found: &[String], wanted: &[String]) {
    let different = found.iter().zip(wanted).find(|(found, wanted)| found != wanted);
    assert_eq!(different, None, "{what}");
    assert_eq!(found.len(), wanted.len(), "{what}");
    assert!(wanted.len() > 1_000);
}

#[test]
fn random_spans_counters_and_messages_arrive() {
    let Some(processor) = processor("random_spans_counters_and_messages_arrive") else { return };
    let directory = tempfile::tempdir().unwrap();
    let (session, random) = random_trace(directory.path());
    for (viewer, origin) in [("perfetto", BEGIN), ("chrome", 0)] {
        let written: &Path = &convert(&session, viewer, directory.path());
        let queries = QUERIES.map(|query| query.replace("{origin}", &origin.to_string()));
        let mut found = all_rows(&processor, written, &queries.each_ref().map(String::as_str));
        assert_eq!(found.pop().unwrap(), [""; 0], "{viewer}");
        assert_eq!(found.pop().unwrap(), [format!(r#"{{"row":{}}}"#, random.flows)], "{viewer}");
        for (number, (found, wanted)) in found.iter().zip(&random.rows).enumerate() {
            check(&format!("{viewer}, query {number}"), found, wanted);
        }
    }
}

/// Returns rows without the frame of a query's answer and, if requested, without the depth.
fn plain_rows(rows: &[String], has_depth: bool) -> Vec<String> {
    let plain = rows.iter().map(|row| {
        let row: Json = serde_json::from_str(row).unwrap();
        let row = row["row"].as_str().unwrap().to_owned();
        if has_depth { row.rsplit_once(' ').unwrap().0.to_owned() } else { row }
    });
    let mut plain: Vec<String> = plain.collect();
    plain.sort();
    plain
}

/// Phase for markers with a start and an end.
const INTERVAL: u64 = 1;

#[test]
fn random_spans_and_counters_arrive_in_profiles() {
    let directory = tempfile::tempdir().unwrap();
    let (session, random) = random_trace(directory.path());
    let path = convert(&session, "firefox", directory.path());
    let profile: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let nanoseconds = |milliseconds: &Json| (milliseconds.as_f64().unwrap() * 1e6).round() as u64;
    let mut rows: [Vec<String>; 3] = Default::default();
    for thread in profile["threads"].as_array().unwrap() {
        let number = |name: &str| thread[name].as_str().map_or(thread[name].to_string(), str::to_owned);
        let (pid, tid) = (number("pid"), number("tid"));
        let table = &thread["markers"];
        for index in 0..table["length"].as_u64().unwrap() as usize {
            let name = &thread["stringArray"][table["name"][index].as_u64().unwrap() as usize];
            let name = name.as_str().unwrap();
            let begin = nanoseconds(&table["startTime"][index]);
            let length = match table["phase"][index].as_u64() {
                Some(INTERVAL) => nanoseconds(&table["endTime"][index]) - begin,
                _ => 0,
            };
            match name {
                "request" | "reply" => rows[1].push(format!("{name} {begin} {length}")),
                name => rows[0].push(format!("{pid} {tid} {name} {begin} {length}")),
            }
        }
    }
    for counter in profile["counters"].as_array().unwrap() {
        let pid = counter["pid"].as_str().unwrap();
        let samples = &counter["samples"];
        let mut time = 0.0;
        let mut value = 0.0;
        for index in 0..samples["length"].as_u64().unwrap() as usize {
            // Times are also differences.
            time += samples["timeDeltas"][index].as_f64().unwrap();
            value += samples["count"][index].as_f64().unwrap();
            rows[2].push(format!("{pid} {} {value}", nanoseconds(&Json::from(time))));
        }
    }
    for (number, rows) in rows.iter_mut().enumerate() {
        rows.sort();
        check(&format!("rows {number}"), rows, &plain_rows(&random.rows[number], number == 0));
    }
}

/// Returns an attribute of a resource, a span, an event or a log record.
fn attribute(of: &Json, name: &str) -> Option<i64> {
    let all = of["attributes"].as_array().into_iter().flatten();
    let found = all.into_iter().find(|attribute| attribute["key"] == name)?;
    found["value"]["intValue"].as_str().map(|value| value.parse().unwrap())
}

#[test]
fn random_spans_counters_and_edges_arrive_in_opentelemetry() {
    let directory = tempfile::tempdir().unwrap();
    let (session, random) = random_trace(directory.path());
    let path = convert(&session, "otlp", directory.path());
    // Spans by identifier, and separate events.
    let mut spans: BTreeMap<String, (i64, Json)> = BTreeMap::new();
    let mut rows: [Vec<String>; 3] = Default::default();
    let mut instants = Vec::new();
    let since = |time: &Json| time.as_str().unwrap().parse::<u64>().unwrap() - BEGIN;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let request: Json = serde_json::from_str(line).unwrap();
        let (_, resources) = request.as_object().unwrap().iter().next().unwrap();
        for resource in resources.as_array().unwrap() {
            let pid = attribute(&resource["resource"], "process.pid").unwrap();
            let scopes = ["scopeSpans", "scopeLogs", "scopeMetrics"].into_iter();
            let scopes = scopes.flat_map(|name| resource[name].as_array().into_iter().flatten());
            let lists = scopes.flat_map(|scope| scope.as_object().unwrap().iter());
            let elements = lists.flat_map(|(name, list)| {
                let elements = list.as_array().into_iter().flatten();
                elements.map(move |element| (name.as_str(), element))
            });
            for (list, element) in elements {
                match list {
                    "spans" => {
                        let id = element["spanId"].as_str().unwrap().to_owned();
                        assert!(spans.insert(id, (pid, element.clone())).is_none());
                    }
                    "logRecords" => instants.push((pid, element.clone(), None)),
                    "metrics" => {
                        for point in element["gauge"]["dataPoints"].as_array().unwrap() {
                            let value = point["asInt"].as_str().unwrap();
                            rows[2].push(format!("{pid} {} {value}", since(&point["timeUnixNano"])));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    let depth = |span: &Json| {
        let parent = |span: &&Json| Some(&spans[span["parentSpanId"].as_str()?].1);
        std::iter::successors(Some(span), parent).count() - 1
    };
    let mut edges = Vec::new();
    for (pid, span) in spans.values() {
        let (begin, end) = (since(&span["startTimeUnixNano"]), since(&span["endTimeUnixNano"]));
        let (name, length) = (span["name"].as_str().unwrap(), end - begin);
        match name {
            "request" | "reply" => rows[1].push(format!("{name} {begin} {length}")),
            name => {
                let tid = attribute(span, "thread.id").unwrap();
                rows[0].push(format!("{pid} {tid} {name} {begin} {length} {}", depth(span)));
            }
        }
        let inner = span["events"].as_array().into_iter().flatten();
        instants.extend(inner.map(|event| (*pid, event.clone(), Some(span))));
        for link in span["links"].as_array().into_iter().flatten() {
            let (_, cause) = &spans[link["spanId"].as_str().unwrap()];
            assert_eq!(link["traceId"], cause["traceId"]);
            let [cause, effect] = [cause, span].map(|span| attribute(span, "id").unwrap());
            edges.push(format!("{cause} {effect}"));
        }
    }
    for (pid, instant, span) in instants {
        let name = instant["name"].as_str().or(instant["eventName"].as_str()).unwrap();
        let tid = attribute(&instant, "tid").unwrap();
        let depth = span.map_or(0, |span| depth(span) + 1);
        rows[0].push(format!("{pid} {tid} {name} {} 0 {depth}", since(&instant["timeUnixNano"])));
    }
    for (number, rows) in rows.iter_mut().enumerate() {
        rows.sort();
        check(&format!("rows {number}"), rows, &plain_rows(&random.rows[number], false));
    }
    edges.sort();
    check("edges", &edges, &random.edges);
}

/// Sink that reads and pairs span events.
pub(crate) struct SpanPairs {
    pub(crate) reader: PairReader,
    pub(crate) pairs: Pairs,
}

impl Sink for SpanPairs {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<std::ops::ControlFlow<()>> {
        if self.reader.message(message) {
            self.pairs.take(&self.reader.take_records());
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

/// Returns the spans in a trace.
pub(crate) fn span_pairs(session: &Session) -> Pairs {
    let options = Arc::new(PairOptions::spans());
    let mut found = SpanPairs { reader: PairReader::new(Arc::clone(&options)), pairs: Pairs::new(&options) };
    pump(&mut session.cursor(Window::default()).unwrap(), &mut found).unwrap();
    found.pairs.take(&found.reader.take_records());
    found.pairs
}

#[test]
fn random_spans_equal_the_statistics() {
    let directory = tempfile::tempdir().unwrap();
    let (session, random) = random_trace(directory.path());
    let found = span_pairs(&session);
    let lengths = |query: usize| {
        let rows = plain_rows(&random.rows[query], query == 0);
        rows.into_iter()
            .map(|row| row.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
            .collect::<Vec<_>>()
    };
    // Instants have length 0.
    let wanted: Vec<u64> =
        [lengths(0), lengths(1)].concat().into_iter().filter(|length| *length > 0).collect();
    let latencies = found.latencies();
    assert_eq!(latencies.count(), wanted.len() as u64);
    let mean = wanted.iter().sum::<u64>() as f64 / wanted.len() as f64;
    assert!((latencies.mean().unwrap() / mean - 1.0).abs() < 1e-9, "{:?} {mean}", latencies.mean());
    assert_eq!(found.unpaired(), Default::default());
}
