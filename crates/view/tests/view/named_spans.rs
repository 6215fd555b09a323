//! Span names in lists and details.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ichnos_testing::Random;
use serde_json::Value;

use crate::client::Server;
use crate::events::rows;

/// Start of the trace.
const BEGIN: u64 = 1_700_000_000_000_000_000;

/// JSON lines for classes and events with objects.
struct Lines(String);

impl Lines {
    fn new() -> Self {
        let mut lines = Self(String::new());
        lines.0.push_str(r#"{"type":"stream-begin","stream":0,"name":"s","class":{"id":0},"trace":{"path":"t","format":"x"},"clock":{"frequency":1000000000,"offset_seconds":1700000000,"offset_cycles":0,"origin":"unix-epoch"}}"#);
        lines.0.push('\n');
        let named = r#""display":{"object":"payload.object","object-name":"payload.text"},"#;
        lines.class(1, "named", named, "", r#",{"name":"text","class":{"type":"string"}}"#);
        lines.class(2, "call_begin", r#""role":"begin","#, r#","object":"event-name""#, "");
        lines.class(3, "call_end", r#""role":"end","#, "", "");
        // The event also ends the object.
        let about = r#""display":{"object":"payload.object","about":"payload.object"},"#;
        lines.class(4, "publish", about, "", "");
        lines
    }

    fn class(&mut self, id: u64, name: &str, about: &str, meaning: &str, more: &str) {
        let number = r#"{"type":"integer","length":64}"#;
        let members = ["pid", "tid", "object"].map(|name| format!(r#"{{"name":"{name}","class":{number}}}"#));
        let members = members.join(",") + more;
        let _ = writeln!(
            self.0,
            r#"{{"type":"event-class","stream":0,"id":{id},"name":"{name}",{about}"meanings":{{"payload":{{"pid":"process","tid":"thread"{meaning}}}}},"fields":{{"payload":{{"type":"structure","members":[{members}]}}}}}}"#
        );
    }

    fn event(&mut self, time: u64, (id, name): (u64, &str), thread: u64, object: u64, text: &str) {
        let ts = BEGIN + time;
        let text = if text.is_empty() { String::new() } else { format!(r#","text":"{text}""#) };
        let _ = writeln!(
            self.0,
            r#"{{"type":"event","stream":0,"ts":{ts},"id":{id},"name":"{name}","payload":{{"pid":5,"tid":{thread},"object":{object}{text}}}}}"#
        );
    }

    fn named(&mut self, time: u64, object: u64, text: &str) {
        self.event(time, (1, "named"), 51, object, text);
    }

    fn server(&self, path: &Path) -> Server {
        std::fs::write(path, &self.0).unwrap();
        Server::of(path.to_str().unwrap())
    }
}

/// Returns start, length and name of the longest spans in a range.
fn longest(server: &Server, (begin, end): (u64, u64)) -> Vec<(u64, u64, String)> {
    let found = server.json(&format!("api/longest?begin={}&end={}", BEGIN + begin, BEGIN + end));
    assert_eq!(found["complete"], true);
    let row = |row: &Value| {
        assert_eq!(row["count"], 1, "{row}");
        let begin = row["begin"].as_str().unwrap().parse::<u64>().unwrap();
        (begin - BEGIN, row["length"].as_u64().unwrap(), row["name"].as_str().unwrap().to_owned())
    };
    found["spans"].as_array().unwrap().iter().map(row).collect()
}

/// Each row in the list is a span with start, length and name, however short the span is for the range.
#[test]
fn longest_spans_are_the_spans_themselves() {
    let (mut lines, mut random) = (Lines::new(), Random::new(7));
    // Start, length and name of spans, and start and end events.
    let (mut spans, mut events) = (Vec::new(), Vec::new());
    (0..5).for_each(|object| lines.named(object, object, &format!("f{object}")));
    for thread in [51, 52, 53] {
        let mut time = 1_000;
        for _ in 0..3_000 {
            time += 1_000 + random.below(1_000_000);
            let length = 4 + random.below(100) * random.below(1_000);
            let (outer, inner) = (random.below(5), random.below(5));
            let parts = [(time, length, outer), (time + length / 4, length / 2, inner)];
            for (begin, length, object) in parts {
                spans.push((begin, length, format!("f{object}")));
            }
            let [(first, all, _), (second, part, _)] = parts;
            let ends = [
                (first, true, outer),
                (second, true, inner),
                (second + part, false, inner),
                (first + all, false, outer),
            ];
            events.extend(ends.into_iter().map(|(time, is_begin, object)| (time, thread, is_begin, object)));
            time += length;
        }
    }
    // A thread's events stay in order.
    events.sort_by_key(|(time, ..)| *time);
    for (time, thread, is_begin, object) in &events {
        let class = if *is_begin { (2, "call_begin") } else { (3, "call_end") };
        lines.event(*time, class, *thread, *object, "");
    }
    let directory = tempfile::tempdir().unwrap();
    let server = lines.server(&directory.path().join("t.jsonl"));
    let last = events.last().unwrap().0;
    for (begin, end) in [(0, last), (last / 3, last / 2), (last / 2, last / 2 + 1_000_000)] {
        let touches = |span: &&(u64, u64, String)| span.0 <= end && span.0 + span.1 >= begin && span.1 > 0;
        let mut left: BTreeMap<&(u64, u64, String), usize> = BTreeMap::new();
        spans.iter().filter(touches).for_each(|span| *left.entry(span).or_default() += 1);
        let mut lengths: Vec<u64> = spans.iter().filter(touches).map(|span| span.1).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.truncate(100);
        let found = longest(&server, (begin, end));
        assert_eq!(found.iter().map(|span| span.1).collect::<Vec<_>>(), lengths, "{begin} to {end}");
        for span in &found {
            let number = left.get_mut(span).unwrap_or_else(|| panic!("{span:?}"));
            *number = number.checked_sub(1).unwrap();
        }
    }
}

/// Spans have their names in statistics and details, whatever part of the trace named the objects.
#[test]
fn spans_have_the_names_of_the_timeline() {
    let mut lines = Lines::new();
    lines.named(0, 7, "tick");
    let mut lengths: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for round in 0..40 {
        let time = 10_000_000 + round * 1_000_000;
        let object = 7 + round % 2;
        lines.event(time, (2, "call_begin"), 51, object, "");
        lines.named(time + 100, 9, &format!("topic {round}"));
        lines.event(time + 200, (4, "publish"), 51, 9, "");
        lines.event(time + 300 + round, (3, "call_end"), 51, object, "");
        if round >= 20 {
            let row = lengths.entry(if object == 7 { "tick" } else { "call 8" }).or_default();
            *row = (row.0 + 1, row.1 + 300 + round);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let server = lines.server(&directory.path().join("t.jsonl"));
    let range = format!("begin={}&end={}", BEGIN + 30_000_000, BEGIN + 200_000_000);
    let stats = server.json(&format!("api/stats?{range}"));
    let row = |row: &Value| {
        let total = row["total"].as_f64().unwrap().round() as u64;
        (row["name"].as_str().unwrap().to_owned(), (row["count"].as_u64().unwrap(), total))
    };
    let found: BTreeMap<_, _> = stats["spans"].as_array().unwrap().iter().map(row).collect();
    let expected = lengths.into_iter().map(|(name, row)| (name.to_owned(), row));
    assert_eq!(found, expected.collect::<BTreeMap<_, _>>());
    let mut labels: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows(&server, 10_000, "") {
        let event = server.json(&format!("api/event?id={}", row["id"].as_str().unwrap()));
        let (name, label) = (event["name"].as_str().unwrap(), event["label"].as_str().unwrap());
        match name {
            "call_begin" | "call_end" => {
                let object = event["line"]["payload"]["object"].as_u64().unwrap();
                assert_eq!(label, if object == 7 { "tick" } else { "call 8" }, "{event}");
            }
            "publish" => {
                let time = event["time"].as_str().unwrap().parse::<u64>().unwrap() - BEGIN;
                assert_eq!(label, format!("publish topic {}", time / 1_000_000 - 10), "{event}");
            }
            name => assert_eq!(label, name, "{event}"),
        }
        *labels.entry(name.to_owned()).or_default() += 1;
    }
    let expected = [("call_begin", 40), ("call_end", 40), ("named", 41), ("publish", 40)];
    assert_eq!(labels, BTreeMap::from(expected.map(|(name, number)| (name.to_owned(), number))));
}

/// By thread, threads with the same numbers in two traces, and threads of one process, have separate parts.
#[test]
fn flame_graphs_keep_threads_apart() {
    let directory = tempfile::tempdir().unwrap();
    for (name, length) in [("a", 100), ("b", 1_000)] {
        let mut lines = Lines::new();
        [51, 52].into_iter().for_each(|thread| lines.event(0, (2, "call_begin"), thread, 7, ""));
        for (thread, factor) in [(51, 1), (52, 10)] {
            lines.event(length * factor, (3, "call_end"), thread, 7, "");
        }
        std::fs::write(directory.path().join(format!("{name}.jsonl")), lines.0).unwrap();
    }
    let server = Server::of(directory.path().to_str().unwrap());
    let path = format!("api/stacks?begin={BEGIN}&end={}&threads=1", BEGIN + 1_000_000);
    let answer = server.json(&path);
    let children = |node: &Value| node["children"].as_array().unwrap().clone();
    let part = |node: &Value| (node["name"].as_str().unwrap().to_owned(), node["value"].as_u64().unwrap());
    let found: Vec<_> = children(&answer["root"])
        .iter()
        .map(|process| (part(process), children(process).iter().map(part).collect::<Vec<_>>()))
        .collect();
    let thread = |number: u64, value: u64| (format!("thread {number}"), value);
    let (first, second) = (&found[0].0.0, &found[1].0.0);
    assert_eq!((first.as_str(), second.starts_with("process 5 (")), ("process 5", true), "{answer}");
    let values = |index: usize| (found[index].0.1, found[index].1.clone());
    let mut values = [values(0), values(1)];
    values.sort();
    let wanted = [100, 1_000].map(|length| (11 * length, vec![thread(51, length), thread(52, 10 * length)]));
    assert_eq!(values, wanted);
    // Processes and threads stay outermost.
    let inverted = server.json(&format!("{path}&inverted=1"));
    assert_eq!(children(&inverted["root"]).len(), 2, "{inverted}");
}
