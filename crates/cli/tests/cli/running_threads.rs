//! The thread that a processor runs, for events that do not name theirs.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::support::{ichnos, recorded};

/// Times and data streams of events by running thread, found by names and data streams alone, which are those of
/// processors: a switch belongs to the thread that it leaves, and so does what precedes the first one.
fn events_by_thread(path: &str) -> BTreeMap<u64, Vec<(u64, u64)>> {
    let lines = ichnos(["cat", "--format", "jsonl", path]).expect(0, &[]);
    let lines: Vec<Json> = lines.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events = || lines.iter().filter(|line| line["type"] == "event");
    let stream = |event: &Json| event["stream"].as_u64().unwrap_or_default();
    let mut running: BTreeMap<u64, u64> = BTreeMap::new();
    for event in events().filter(|event| event["name"] == "sched_switch") {
        running.entry(stream(event)).or_insert_with(|| event["payload"]["prev_tid"].as_u64().unwrap());
    }
    let mut found: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for event in events() {
        let (time, stream) = (event["ts"].as_u64().unwrap(), stream(event));
        let Some(thread) = running.get_mut(&stream) else { continue };
        if event["name"] == "sched_switch" {
            assert_eq!(event["payload"]["prev_tid"].as_u64(), Some(*thread), "{event}");
        }
        found.entry(*thread).or_default().push((time, stream));
        if event["name"] == "sched_switch" {
            *thread = event["payload"]["next_tid"].as_u64().unwrap();
        }
    }
    found
}

#[test]
fn events_of_threads() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let path = path.to_str().unwrap();
    let expected = events_by_thread(path);
    assert!(expected.len() > 100, "{}", expected.len());
    let counts: BTreeMap<u64, u64> =
        expected.iter().map(|(thread, events)| (*thread, events.len() as u64)).collect();
    for threads in [&["--threads", "1"][..], &["--threads", "3", "--chunk-size", "64K"]] {
        let found = ichnos([&["stats", "--by", "thread", "--json", path], threads].concat());
        let found = found.expect(0, &[]).json();
        let rows = found["rows"].as_array().unwrap().iter().filter_map(|row| {
            let thread = row["key"][0].as_u64().or_else(|| row["key"][0].as_str()?.parse().ok())?;
            Some((thread, row["events"].as_u64()?))
        });
        assert_eq!(rows.collect::<BTreeMap<_, _>>(), counts, "{threads:?}");
    }
    // A thread that runs often, and a window that begins while it does.
    let (thread, events) =
        expected.iter().filter(|(thread, _)| **thread != 0).max_by_key(|(_, e)| e.len()).unwrap();
    let begin = events[events.len() / 2].0;
    let (filter, begin) = (format!("thread == {thread}"), format!("@{begin}"));
    for (window, first) in [(&[][..], 0), (&["--begin", &begin], events.len() / 2)] {
        let found = ichnos([&["cat", "--format", "jsonl", "--filter", &filter, path], window].concat());
        let found: Vec<_> = found
            .expect(0, &[])
            .out
            .lines()
            .filter_map(|line| {
                let line: Json = serde_json::from_str(line).unwrap();
                (line["type"] == "event").then(|| {
                    assert_eq!(line["resource"]["thread"].as_u64(), Some(*thread), "{line}");
                    (line["ts"].as_u64().unwrap(), line["stream"].as_u64().unwrap_or_default())
                })
            })
            .collect();
        let (mut found, mut expected) = (found, events[first..].to_vec());
        expected.sort_unstable();
        found.sort_unstable();
        assert!(found == expected, "{window:?}: {} of {}", found.len(), expected.len());
    }
}
