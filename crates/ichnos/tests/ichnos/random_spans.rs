//! Random spans, counters and messages, as Google's trace processor reads what they are written to.

use std::fmt::Write as _;
use std::path::Path;

use ichnos::OpenOptions;
use ichnos::convert::ViewerWriter;
use ichnos_model::{ClassMap, EventDisplay, EventRole, EventRule, Meaning};
use ichnos_testing::Random;

use crate::viewers::{ERRORS, all_rows, convert, processor};

/// First time, the begin of a second.
const BEGIN: u64 = 1_700_000_000_000_000_000;

const SEEDS: u64 = 200;

/// Each thread of each process with its slices; slices of keys; counters; number of messages.
const QUERIES: [&str; 5] = [
    "select p.pid || ' ' || t.tid || ' ' || s.name || ' ' || (s.ts - {origin}) || ' ' || s.dur || ' ' || s.depth as row
        from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid) join process p using (upid)",
    "select s.name || ' ' || (s.ts - {origin}) || ' ' || s.dur as row from slice s where s.name = 'request'",
    "select p.pid || ' ' || (c.ts - {origin}) || ' ' || cast(c.value as int) as row
        from counter c join process_counter_track t on c.track_id = t.id join process p using (upid)",
    "select count(*) as row from flow",
    ERRORS,
];

/// A trace as JSON Lines, and the rows that the queries should find.
#[derive(Default)]
struct Generated {
    text: String,
    rows: [Vec<String>; 3],
    flows: u64,
}

impl Generated {
    fn event(&mut self, time: u64, name: &str, members: &str) {
        let _ = writeln!(self.text, r#"{{"ts":{time},"name":"app:{name}","payload":{{{members}}}}}"#);
    }

    fn row(&mut self, query: usize, row: &str) {
        self.rows[query].push(format!(r#"{{"row":"{row}"}}"#));
    }

    /// Adds a process of three threads.
    fn process(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let pid = 1_000 + seed;
        // Open spans of threads, open requests, messages on their way.
        let mut open: [Vec<(u64, &str)>; 3] = Default::default();
        let (mut requests, mut messages) = (Vec::new(), Vec::new());
        let mut time = BEGIN + seed * 1_000_000;
        for step in 0..80_u64 {
            time += 1 + random.below(999);
            let from = time - BEGIN;
            let thread = random.index(3);
            let tid = pid * 10 + thread as u64;
            let place = format!(r#""pid":{pid},"tid":{tid}"#);
            let depth = open[thread].len();
            match random.below(8) {
                0 | 1 if depth < 6 => {
                    let name = random.pick(&["parse", "load", "draw"]);
                    open[thread].push((time, name));
                    self.event(time, &format!("{name}_begin"), &place);
                }
                2 | 3 if depth > 0 => self.end(pid, thread, time, &mut open[thread]),
                4 => {
                    let id = seed * 1_000 + step;
                    requests.push((id, time));
                    self.event(time, "request_begin", &format!(r#"{place},"id":{id}"#));
                }
                5 if !requests.is_empty() => {
                    let (id, begin) = requests.swap_remove(random.index(requests.len()));
                    self.event(time, "request_end", &format!(r#"{place},"id":{id}"#));
                    self.row(1, &format!("request {} {}", begin - BEGIN, time - begin));
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
        for (id, begin) in requests {
            time += 1;
            let tid = pid * 10;
            self.event(time, "request_end", &format!(r#""pid":{pid},"tid":{tid},"id":{id}"#));
            self.row(1, &format!("request {} {}", begin - BEGIN, time - begin));
        }
    }

    fn end(&mut self, pid: u64, thread: usize, time: u64, open: &mut Vec<(u64, &str)>) {
        let Some((begin, name)) = open.pop() else { return };
        let tid = pid * 10 + thread as u64;
        self.event(time, &format!("{name}_end"), &format!(r#""pid":{pid},"tid":{tid}"#));
        let (from, depth) = (begin - BEGIN, open.len());
        self.row(0, &format!("{pid} {tid} {name} {from} {} {depth}", time - begin));
    }
}

/// Returns what the events are: what a map of a user would say.
fn map() -> ClassMap {
    ClassMap::new(|class, stream| {
        let name = class.name.clone().unwrap_or_default();
        let name = name.trim_start_matches("app:");
        let (role, field) = match name {
            "request_begin" => (EventRole::Begin, Some(("id", Meaning::PairKey))),
            "request_end" => (EventRole::End, Some(("id", Meaning::PairKey))),
            "memory" => (EventRole::Counter, Some(("used", Meaning::CounterValue))),
            "put" => (EventRole::Send, Some(("id", Meaning::PairKey))),
            "get" => (EventRole::Receive, Some(("id", Meaning::PairKey))),
            name if name.ends_with("_begin") => (EventRole::Begin, None),
            _ => (EventRole::End, None),
        };
        let mut rule = EventRule::new(role).with("pid", Meaning::Process).with("tid", Meaning::Thread);
        rule.members.extend(field.map(|(field, meaning)| (field.to_owned(), meaning)));
        if role == EventRole::Counter {
            rule = rule.shown(EventDisplay { unit: Some("bytes".to_owned()), ..EventDisplay::default() });
        }
        assert_eq!(rule.apply(class, stream), [0; 0], "{name}");
    })
}

#[test]
fn random_spans_counters_and_messages_arrive() {
    let Some(processor) = processor("random_spans_counters_and_messages_arrive") else { return };
    let mut random = Generated::default();
    (0..SEEDS).for_each(|seed| random.process(seed));
    random.rows.iter_mut().for_each(|rows| rows.sort());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("random.jsonl");
    std::fs::write(&path, &random.text).unwrap();
    let mut options = OpenOptions::default();
    options.read.class_map = Some(map());
    let session = ichnos::open([&path], &options).unwrap();
    for (viewer, origin) in [(ViewerWriter::Perfetto, BEGIN), (ViewerWriter::Chrome, 0)] {
        let written: &Path = &convert(&session, viewer, directory.path());
        let queries = QUERIES.map(|query| query.replace("{origin}", &origin.to_string()));
        let mut found = all_rows(&processor, written, &queries.each_ref().map(String::as_str));
        assert_eq!(found.pop().unwrap(), [""; 0], "{}", viewer.name());
        assert_eq!(found.pop().unwrap(), [format!(r#"{{"row":{}}}"#, random.flows)], "{}", viewer.name());
        for (number, (found, wanted)) in found.iter().zip(&random.rows).enumerate() {
            let different = found.iter().zip(wanted).find(|(found, wanted)| found != wanted);
            assert_eq!(different, None, "{}, query {number}", viewer.name());
            assert_eq!(found.len(), wanted.len(), "{}, query {number}", viewer.name());
            assert!(wanted.len() > 1_000);
        }
    }
}
