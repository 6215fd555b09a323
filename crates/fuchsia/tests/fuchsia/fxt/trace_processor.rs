//! Compares how ichnos and Google's trace processor read random traces.

use std::collections::HashMap;
use std::path::Path;

use ichnos_fuchsia::fxt_reader::FxtTrace;
use ichnos_model::field::{Field, Real, Text};
use ichnos_model::{Cursor, Event, Message, OpenedTrace, Scope, Visitor, Window};
use ichnos_testing::{Random, TraceProcessor};
use serde_json::{Map, Value as Json, json};

use super::builder::{Body, Builder, body, header};
use super::dump::open;

/// Finds the trace processor.
pub fn find(test: &str) -> Option<TraceProcessor> {
    TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// Returns the rows for queries in one list.
fn query(processor: &TraceProcessor, trace: &Path, queries: &[&str]) -> Vec<Json> {
    processor.query(trace, queries).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the rows for [`QUERIES`], sorted.
pub fn tables(processor: &TraceProcessor, trace: &Path) -> Vec<String> {
    let mut rows: Vec<String> = query(processor, trace, &QUERIES).iter().map(Json::to_string).collect();
    rows.sort();
    rows
}

const QUERIES: [&str; 7] = [
    "select 'slice' as kind, ts, dur, name, category from slice",
    "select 'arg' as kind, s.ts as ts, s.name as name, a.flat_key as key, a.int_value as int, a.string_value as text, a.real_value as real
     from slice s join args a using (arg_set_id)",
    "select 'thread' as kind, tid, pid, t.name as name, p.name as process from thread t join process p using (upid) where tid > 0 and tid != pid",
    "select 'counter' as kind, c.ts as ts, c.value as value, t.name as name from counter c join counter_track t on t.id = c.track_id",
    "select 'flow' as kind, o.ts as begin, i.ts as end from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id",
    "select 'sched' as kind, ts, dur, ucpu as cpu, tid, end_state as state from sched_slice join thread using (utid)",
    "select 'error' as kind, name, value from stats where value > 0 and severity = 'error'",
];

/// A random trace that the trace processor reads without guessing: spans are nested, and all times differ.
struct Maker<'r> {
    random: &'r mut Random,
    builder: Builder,
    now: u64,
    ids: u64,
    /// Started flows.
    flows: Vec<u64>,
    running: u64,
}

const NAMES: [&str; 8] = ["gfx", "input", "Frame", "Draw", "Wait", "a", "b", "value"];
const THREADS: u64 = 3;

impl Maker<'_> {
    fn tick(&mut self) -> u64 {
        self.now += 1 + self.random.below(1_000);
        self.now
    }

    fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    fn arguments(&mut self) -> Vec<Body> {
        let names = ["i32", "u32", "i64", "u64", "f64", "text", "indexed", "bool"];
        (0..8)
            .filter_map(|kind: u64| {
                if !self.random.is_one_in(4) {
                    return None;
                }
                let (name, number) = (names[kind as usize], self.random.number());
                let word = |kind, value| body().argument(kind, name, 0, body().word(value));
                Some(match kind {
                    0 => body().argument(1, name, number & 0xffff_ffff, body()),
                    1 => body().argument(2, name, number & 0xffff_ffff, body()),
                    2 => word(3, number),
                    3 => word(4, number >> 1),
                    4 => word(5, (number as i32 as f64 / 8.0).to_bits()),
                    5 => body().argument(6, name, 0x8003, body().text("abc")),
                    6 => body().argument(6, name, 1 + number % 8, body()),
                    _ => body().argument(9, name, number & 1, body()),
                })
            })
            .collect()
    }

    fn event(&mut self, kind: u64, ticks: u64, thread: u64, name: u64, arguments: Vec<Body>, data: &[u64]) {
        let category = if matches!(kind, 8..=10) { 1 } else { 1 + self.random.below(2) };
        self.event_of(category, kind, ticks, thread, name, arguments, data);
    }

    #[allow(clippy::too_many_arguments)]
    fn event_of(
        &mut self,
        category: u64,
        kind: u64,
        ticks: u64,
        thread: u64,
        name: u64,
        arguments: Vec<Body>,
        data: &[u64],
    ) {
        let fields = [(16, kind), (20, arguments.len() as u64), (24, thread), (32, category), (48, name)];
        let mut all = body().word(ticks);
        arguments.into_iter().for_each(|argument| all.0.extend(argument.0));
        self.builder.record(header(4, &fields), all.words(data));
    }

    /// Adds a span with nested events.
    fn span(&mut self, thread: u64, depth: u64) {
        let name = 3 + self.random.below(3);
        let category = 1 + self.random.below(2);
        let begin = self.tick();
        let is_complete = self.random.is_one_in(3);
        let arguments = self.arguments();
        // The end comes first, because the position in the file does not matter.
        let at = self.builder.bytes.len();
        if !is_complete {
            self.event_of(category, 2, begin, thread, name, arguments.clone(), &[]);
        }
        for _ in 0..self.random.below(4) {
            self.inside(thread, depth);
        }
        let end = self.tick();
        if is_complete {
            let before = self.builder.bytes.split_off(at);
            self.event_of(category, 4, begin, thread, name, arguments, &[end]);
            self.builder.bytes.extend(before);
        } else {
            self.event_of(category, 3, end, thread, name, vec![], &[]);
        }
    }

    fn inside(&mut self, thread: u64, depth: u64) {
        match self.random.below(7) {
            0 | 1 if depth < 4 => self.span(thread, depth + 1),
            2 => {
                let (ticks, arguments) = (self.tick(), self.arguments());
                self.event(0, ticks, thread, 6, arguments, &[]);
            }
            3 => {
                let (ticks, id, value) = (self.tick(), self.random.below(3), self.random.below(1_000));
                let arguments = vec![
                    body().argument(2, "used", value, body()),
                    body().argument(5, "load", 0, body().word((value as f64 / 4.0).to_bits())),
                ];
                self.event(1, ticks, thread, 7, arguments, &[id]);
            }
            4 => {
                let id = self.id();
                self.flows.push(id);
                self.flow(8, thread, id);
            }
            5 => {
                if let Some(id) = self.flows.pop() {
                    self.flow(10, thread, id);
                }
            }
            _ => {
                let (begin, id) = (self.tick(), self.id());
                let arguments = self.arguments();
                self.event_of(2, 5, begin, thread, 8, arguments, &[id]);
                let end = self.tick();
                self.event_of(2, 7, end, thread, 8, vec![], &[id]);
            }
        }
    }

    /// Adds a flow event at the start of a span. The trace processor uses the last started span.
    fn flow(&mut self, kind: u64, thread: u64, id: u64) {
        for (kind, name, data) in [(2, 4, &[][..]), (kind, 5, &[id]), (3, 4, &[])] {
            let ticks = self.tick();
            self.event_of(1, kind, ticks, thread, name, vec![], data);
        }
    }

    fn switch(&mut self) {
        let ticks = self.tick();
        let incoming = 100 + 1 + (self.running - 100) % THREADS;
        let state = self.random.pick(&[2u64, 3]);
        if self.random.is_one_in(2) {
            let fields = [(20, 0), (36, state), (60, 1)];
            self.builder.record(header(8, &fields), body().words(&[ticks, self.running, incoming]));
        } else {
            let fields = [(24, state), (28, self.running - 100), (36, incoming - 100), (44, 16), (52, 16)];
            self.builder.record(header(8, &fields), body().word(ticks));
        }
        self.running = incoming;
    }
}

pub fn make(random: &mut Random) -> Vec<u8> {
    let mut builder = Builder::new();
    builder.provider(1, "test").initialization(1_000_000_000);
    for (index, name) in (1..).zip(NAMES) {
        builder.string(index, name);
    }
    for thread in 1..=THREADS {
        builder.thread(thread, 50, 100 + thread);
        let named = [(16, 2), (24, 2 + thread), (40, 1)];
        let all = body().word(100 + thread).argument(8, "process", 0, body().word(50));
        builder.record(header(7, &named), all);
    }
    let mut maker = Maker { random, builder, now: 1_000, ids: 1_000, flows: Vec::new(), running: 101 };
    for _ in 0..60 {
        let thread = 1 + maker.random.below(THREADS);
        maker.span(thread, 0);
        if maker.random.is_one_in(2) {
            maker.switch();
        }
    }
    maker.builder.bytes
}

/// Scope fields by name.
#[derive(Default)]
struct Fields(Map<String, Json>, Option<String>);

impl Fields {
    fn push(&mut self, field: Field<'_>, value: Json) {
        let name = self.1.take().or_else(|| field.name().map(str::to_owned)).unwrap_or_default();
        self.0.insert(name, value);
    }
}

impl Visitor for Fields {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.push(field, json!(value));
    }
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.push(field, json!(value));
    }
    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.push(field, json!(u64::from(value)));
    }
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        self.push(field, json!(value.to_f64()));
    }
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.push(field, json!(value.to_str_lossy()));
    }
    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        self.1 = field.name().map(str::to_owned).filter(|_| present);
    }
}

fn fields(event: &Event<'_>, scope: Scope) -> Map<String, Json> {
    let mut fields = Fields::default();
    event.visit(scope, &mut fields).unwrap();
    fields.0
}

/// An open span: start, name, category and arguments.
type Open = (u64, String, String, Map<String, Json>);

/// Expected rows for [`QUERIES`], from the events that ichnos reads.
#[derive(Default)]
pub struct Expected {
    rows: Vec<Json>,
    spans: HashMap<u64, Vec<Open>>,
    asynchronous: HashMap<u64, Open>,
    /// For each flow, the start of its last span.
    flows: HashMap<u64, u64>,
    running: Option<(u64, u64)>,
}

impl Expected {
    pub fn of(trace: &FxtTrace) -> Vec<String> {
        let mut expected = Self::default();
        for mut cursor in trace.cursors(Window::default()) {
            while cursor.advance() {
                if let Some(Message::Event(event)) = cursor.current() {
                    expected.event(&event);
                }
            }
        }
        if let Some((ts, tid)) = expected.running {
            expected
                .rows
                .push(json!({"kind": "sched", "ts": ts, "dur": -1, "cpu": 0, "tid": tid, "state": null}));
        }
        let mut rows: Vec<String> = expected.rows.iter().map(Json::to_string).collect();
        rows.sort();
        rows
    }

    fn slice(&mut self, (ts, name, category, arguments): Open, end: u64) {
        for (key, value) in arguments {
            let is = |wanted: bool| if wanted { value.clone() } else { Json::Null };
            self.rows.push(json!({"kind": "arg", "ts": ts, "name": name, "key": key,
                "int": printed(&is(value.is_i64() || value.is_u64())), "text": is(value.is_string()), "real": is(value.is_f64())}));
        }
        self.rows
            .push(json!({"kind": "slice", "ts": ts, "dur": end - ts, "name": name, "category": category}));
    }

    fn event(&mut self, event: &Event<'_>) {
        let (context, payload) = (fields(event, Scope::SpecificContext), fields(event, Scope::Payload));
        let common = fields(event, Scope::CommonContext);
        let ts = event.clock.map_or(0, |clock| clock.cycles);
        let thread = common.get("tid").and_then(Json::as_u64).unwrap_or(0);
        let number = |name: &str| context.get(name).and_then(Json::as_i64).unwrap_or(0);
        let category = event.class.namespace.clone().unwrap_or_default();
        let full = event.name();
        let name = full.strip_prefix(&format!("{category}:")).unwrap_or(full);
        let (name, kind) = name.split_once(':').unwrap_or((name, ""));
        // The trace processor joins start and end arguments.
        let open = (ts, name.to_owned(), category.clone(), payload.clone());
        let spans = self.spans.entry(thread).or_default();
        remove_ended(spans, ts);
        let innermost = spans.last().map(|(begin, ..)| *begin);
        match kind {
            "begin" => spans.push(open),
            "end" => {
                let span = spans.pop().unwrap();
                self.slice(span, ts);
            }
            "async_begin" => drop(self.asynchronous.insert(number("async_id") as u64, open)),
            "async_end" => {
                let span = self.asynchronous.remove(&(number("async_id") as u64)).unwrap();
                self.slice(span, ts);
            }
            "flow_begin" => {
                self.flows.insert(number("flow_id") as u64, innermost.unwrap());
            }
            "flow_end" => {
                let (id, end) = (number("flow_id") as u64, innermost.unwrap());
                assert_eq!(context["operation"], json!(format!("{id:016X}{thread:016X}")));
                let begin = self.flows.remove(&id).unwrap();
                self.rows.push(json!({"kind": "flow", "begin": begin, "end": end}));
            }
            _ => match full {
                "kernel_object" => {
                    let process = payload["process"].as_u64().unwrap();
                    self.rows.push(json!({"kind": "thread", "tid": context["koid"], "pid": process,
                        "name": context["name"], "process": null}));
                }
                "context_switch" | "legacy_context_switch" => {
                    let all = if full == "context_switch" { &context } else { &payload };
                    let outgoing = all["outgoing_tid"].as_u64().unwrap();
                    // The trace processor only knows a running thread from its first switch on.
                    if let Some((begin, running)) = self.running.replace((ts, thread)) {
                        assert_eq!(running, outgoing);
                        let state = if all["outgoing_state"] == 2 { "T" } else { "S" };
                        self.rows
                            .push(json!({"kind": "sched", "ts": begin, "dur": ts - begin, "cpu": all["cpu"],
                            "tid": outgoing, "state": state}));
                    }
                }
                _ if context.contains_key("counter_id") => {
                    for (argument, value) in payload {
                        let name = format!("{name}:{argument}:{}", number("counter_id"));
                        self.rows.push(json!({"kind": "counter", "ts": ts, "value": value.as_f64().unwrap(), "name": name}));
                    }
                }
                _ => {
                    let end = ts + number("duration") as u64;
                    if context.contains_key("duration") {
                        // For flows, it is an open span until its end.
                        spans.push((ts, format!("until {end}"), String::new(), Map::new()));
                    }
                    self.slice(open, end);
                }
            },
        }
    }
}

/// Removes ended complete spans of a thread.
fn remove_ended(spans: &mut Vec<Open>, ts: u64) {
    spans.retain(|(_, name, ..)| {
        name.strip_prefix("until ").is_none_or(|end| end.parse::<u64>().unwrap() > ts)
    });
}

/// Returns an integer as the script prints it, as text beyond 53 bits.
fn printed(value: &Json) -> Json {
    const SAFE: u64 = (1 << 53) - 1;
    match value.as_i64() {
        Some(number) if number.unsigned_abs() > SAFE => json!(number.to_string()),
        _ => value.clone(),
    }
}

/// Formats numbers in the same way as the trace processor, for example `1.0` as `1`.
fn normalized(rows: Vec<String>) -> Vec<String> {
    let mut rows: Vec<String> =
        rows.into_iter().map(|row| row.replace(".0,", ",").replace(".0}", "}")).collect();
    rows.sort();
    rows
}

#[test]
fn random_traces_match_the_trace_processor() {
    let Some(processor) = find("random_traces_match_the_trace_processor") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..3 {
        let bytes = make(&mut Random::new(seed));
        let path = directory.path().join("a.fxt");
        std::fs::write(&path, &bytes).unwrap();
        let expected = normalized(Expected::of(&open(&bytes)));
        let found = normalized(tables(&processor, &path));
        let kinds =
            |kind: &str| expected.iter().filter(|row| row.contains(&format!("\"kind\":\"{kind}\""))).count();
        for kind in ["slice", "arg", "thread", "counter", "flow", "sched"] {
            assert!(kinds(kind) > 2, "{kind}: {}", kinds(kind));
        }
        let missing: Vec<_> = expected.iter().filter(|row| !found.contains(row)).collect();
        let unexpected: Vec<_> = found.iter().filter(|row| !expected.contains(row)).collect();
        assert!(missing.is_empty() && unexpected.is_empty(), "seed {seed}: {missing:#?}\n{unexpected:#?}");
        assert_eq!(expected.len(), found.len());
    }
}
