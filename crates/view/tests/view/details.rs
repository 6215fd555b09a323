//! Event details: positions, span ends, causes and effects.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::client::{Server, example, recorded};
use crate::events::rows;

/// Returns the details of all events, or of about `most` events.
fn details(server: &Server, most: usize) -> Vec<Value> {
    let rows = rows(server, 10_000, "");
    let step = rows.len().div_ceil(most).max(1);
    let event = |row: &Value| server.json(&format!("api/event?id={}", row["id"].as_str().unwrap()));
    rows.iter().step_by(step).map(event).collect()
}

/// Returns the bytes at an event's position in a trace with one file.
fn bytes_at<'f>(file: &'f [u8], event: &Value) -> &'f [u8] {
    assert_eq!(event["position"]["bit"], 0, "{}", event["position"]);
    &file[event["position"]["offset"].as_u64().unwrap() as usize..]
}

#[test]
fn positions_are_where_events_are_in_the_file() {
    let lines = std::fs::read(example("hello-jsonl/requests.jsonl")).unwrap();
    for event in details(&Server::of(&example("hello-jsonl")), 100) {
        let line = bytes_at(&lines, &event).split(|byte| *byte == b'\n').next().unwrap();
        let line: Value = serde_json::from_slice(line).unwrap();
        assert_eq!(
            (&line["name"], line["ts"].to_string()),
            (&event["name"], event["time"].as_str().unwrap().to_owned())
        );
    }
    let records = std::fs::read(example("hello-fxt/frames.fxt")).unwrap();
    let events = details(&Server::of(&example("hello-fxt")), 100);
    let (mut offsets, mut spans) = (BTreeSet::new(), 0);
    for event in &events {
        let header = u64::from_le_bytes(bytes_at(&records, event)[..8].try_into().unwrap());
        // The record type: an event, or a record about objects, threads, logs or modules.
        assert!(matches!(header & 0xf, 4 | 7..=10), "{header:#x}: {}", event["text"]);
        spans += u64::from(header & 0xf == 4);
        assert!(offsets.insert(event["position"]["offset"].as_u64()), "two events at one place");
    }
    assert!(spans > 10, "{spans} events");
    let reports = std::fs::read_dir(example("hello-xtrace")).unwrap().map(|entry| entry.unwrap().path());
    let texts: Vec<_> = reports.filter_map(|path| std::fs::read(path).ok()).collect();
    for event in details(&Server::of(&example("hello-xtrace")), 100) {
        let label = event["text"].as_str().unwrap();
        assert!(
            texts.iter().any(|text| {
                let offset = event["position"]["offset"].as_u64().unwrap() as usize;
                text.get(offset..).is_some_and(|rest| rest.starts_with(b"X-Trace Report"))
            }),
            "{label}"
        );
    }
}

#[test]
fn positions_of_a_data_stream_grow() {
    for name in ["hello-lttng", "hello-ctf2", "hello-fuchsia"] {
        let mut last = std::collections::BTreeMap::new();
        let events = details(&Server::of(&example(name)), 60);
        assert!(!events.is_empty(), "{name}");
        for event in events {
            let position = &event["position"];
            let bit = 8 * position["offset"].as_u64().unwrap() + position["bit"].as_u64().unwrap();
            let (file, stream) = (position["file"].to_string(), event["stream"].to_string());
            assert!(file.len() > 2, "{name}: {event}");
            if let Some(before) = last.insert((file, stream), bit) {
                assert!(before < bit, "{name}: {event}");
            }
        }
    }
}

/// Returns the time of an event, in nanoseconds.
fn time(event: &Value) -> u64 {
    event["time"].as_str().unwrap().parse().unwrap()
}

#[test]
fn both_ends_of_a_span_name_each_other() {
    let traces = [Some(example("hello-fxt")), recorded("ctf/real/tracecompass/cyg-profile")];
    for path in traces.into_iter().flatten() {
        let server = Server::of(&path);
        let mut pairs = 0;
        for event in details(&server, 80) {
            let spans = &event["spans"];
            let [begin, end] = ["begin", "end"].map(|name| spans[name].as_str());
            let (Some(begin), Some(end)) = (begin, end) else { continue };
            pairs += 1;
            let [first, last] = [begin, end].map(|id| server.json(&format!("api/event?id={id}")));
            assert_eq!((&first["spans"], &last["spans"]), (spans, spans), "{path}: {event}");
            assert!(event["id"] == begin || event["id"] == end, "{path}: {event}");
            assert_eq!(time(&last) - time(&first), spans["length"].as_u64().unwrap(), "{path}: {event}");
            // A thread's spans stay on its track.
            assert_eq!(first["track"], last["track"], "{path}: {event}");
        }
        assert!(pairs > 3, "{path}: {pairs} spans");
    }
}

#[test]
fn causes_and_effects_name_each_other() {
    for name in ["hello-xtrace", "hello-fxt"] {
        let server = Server::of(&example(name));
        let events = details(&server, 400);
        let links = |member: &str| -> BTreeSet<(String, String)> {
            let of = |event: &Value| {
                let own = event["id"].as_str().unwrap().to_owned();
                let others = event[member].as_array().unwrap().clone();
                others.into_iter().map(move |other| (own.clone(), other["id"].as_str().unwrap().to_owned()))
            };
            events.iter().flat_map(of).collect()
        };
        let causes: BTreeSet<_> = links("causes").into_iter().map(|(own, cause)| (cause, own)).collect();
        let effects = links("effects");
        assert!(!causes.is_empty(), "{name}");
        let firsts: BTreeSet<_> = causes.iter().map(|(cause, _)| cause).collect();
        for (event, effect) in effects.iter().filter(|(event, _)| firsts.contains(event)) {
            assert!(causes.contains(&(event.clone(), effect.clone())), "{name}: {event} -> {effect}");
        }
        assert!(effects.iter().any(|effect| causes.contains(effect)), "{name}");
    }
}

/// Report edges name their causes: the identifier ends the cause's metadata.
#[test]
fn causes_equal_those_in_reports() {
    let server = Server::of(&example("hello-xtrace"));
    let events = details(&server, 100);
    let operation = |event: &Value| event["line"]["payload"]["X-Trace"].as_str().map(str::to_owned);
    let mut edges = 0;
    for event in &events {
        let text = event["text"].as_str().unwrap();
        for cause in event["causes"].as_array().unwrap() {
            let cause = events.iter().find(|other| other["id"] == cause["id"]).unwrap();
            let Some(metadata) = operation(cause) else { continue };
            let id = &metadata[metadata.len() - 8..];
            assert!(text.contains(id), "{text} does not name {id}");
            edges += 1;
        }
    }
    assert!(edges > 5 || operation(&events[0]).is_none(), "{edges} edges; {}", events[0]["line"]);
}
