//! Flows between tracks.

use std::collections::BTreeSet;

use ichnos::OpenOptions;
use serde_json::Value;

use crate::client::{Server, example};
use crate::events::rows;

/// Returns the flows in a range: track and time of both ends.
fn flows(server: &Server, (begin, end): (u64, u64), more: &str) -> (Vec<[i64; 4]>, Value) {
    let answer = server.json(&format!("api/flows?begin={begin}&end={end}{more}"));
    let numbers: Vec<i64> =
        answer["flows"].as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect();
    (numbers.as_chunks::<4>().0.to_vec(), answer["complete"].clone())
}

#[test]
fn flows_lead_from_causes_to_effects() {
    for name in ["hello-xtrace", "hello-fxt"] {
        let server = Server::of(&example(name));
        let (begin, end) = server.range();
        let mut expected = BTreeSet::new();
        for row in rows(&server, 10_000, "") {
            let event = server.json(&format!("api/event?id={}", row["id"].as_str().unwrap()));
            let place = |event: &Value| {
                let time: i64 = event["time"].as_str().unwrap().parse::<u64>().unwrap() as i64;
                [event["track"].as_i64().unwrap(), time - begin as i64]
            };
            for cause in event["causes"].as_array().unwrap() {
                let ([from, first], [to, last]) = (place(cause), place(&event));
                expected.insert([from, first, to, last]);
            }
        }
        let (found, complete) = flows(&server, (begin, end), "&pixels=8192");
        let found: BTreeSet<_> = found.into_iter().collect();
        assert_eq!(complete, true, "{name}");
        assert!(!found.is_empty() && found.is_subset(&expected), "{name}: {found:?} {expected:?}");
        // Flows at one end of the trace do not reach the other end. Without tracks, the list is empty.
        let (some, _) = flows(&server, (begin, begin), "");
        assert!(some.iter().all(|flow| flow[1].min(flow[3]) <= 0), "{name}");
        let (none, _) = flows(&server, (begin, end), "&tracks=0");
        assert!(none.len() < found.len(), "{name}");
        // A track's flows lead to it or from it, whatever the other track is.
        let tracks: BTreeSet<_> = found.iter().flat_map(|flow| [flow[0], flow[2]]).collect();
        for track in tracks {
            let own: BTreeSet<_> =
                found.iter().filter(|flow| [flow[0], flow[2]].contains(&track)).copied().collect();
            let (answer, complete) = flows(&server, (begin, end), &format!("&pixels=8192&tracks={track}"));
            assert_eq!((BTreeSet::from_iter(answer), complete), (own, true.into()), "{name}: {track}");
        }
        let (few, complete) = flows(&server, (begin, end), "&pixels=8192&limit=1");
        assert_eq!((few.len(), complete == true), (1, found.len() == 1), "{name}");
        // A filter without events removes all flows.
        let filter = "&filter=event%20%3D%3D%20%22no_such_*%22";
        while flows(&server, (begin, end), filter).1 != true {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(flows(&server, (begin, end), filter).0.is_empty(), "{name}");
    }
}

/// Events in other formats that join operations, and operations that a text connects, have arrows like all others.
#[test]
fn joined_events_have_flows() {
    let mut options = OpenOptions::default();
    options.assume_correlated = true;
    let server = Server::with_options(&example("one-request/trace"), &options);
    let (begin, end) = server.range();
    let tasks = server.json(&format!("api/tasks?begin={begin}&end={end}"));
    let task = server.json(&format!("api/task?id={}", tasks["tasks"][0]["id"].as_str().unwrap()));
    let time = |event: &Value| event["eventTime"].as_str().unwrap().parse::<u64>().unwrap();
    // The clock of the Fuchsia log does not count from 1970. Other events are in a short range, so that each has pixels
    // of its own.
    let (begin, end) = (time(&task["nodes"][0]) - 1, time(&task["nodes"][0]) + 200_000_000);
    let (flows, complete) = flows(&server, (begin, end), "&pixels=8192&limit=10000");
    assert_eq!(complete, true);
    let mut labels = BTreeSet::new();
    for joined in task["joined"].as_array().unwrap() {
        let operation = &task["nodes"][joined["node"].as_u64().unwrap() as usize];
        if operation["event"].is_null() || operation["track"] == joined["track"] || time(joined) < begin {
            continue;
        }
        let track = |event: &Value| event["track"].as_i64().unwrap();
        let to = [track(joined), (time(joined) - begin) as i64];
        let is_it = |flow: &&[i64; 4]| flow[0] == track(operation) && flow[2..] == to;
        assert!(flows.iter().any(|flow| is_it(&flow)), "{joined}: {flows:?}");
        // The details of both events lead to the other.
        for (own, other, links) in [(joined, operation, "causes"), (operation, joined, "effects")] {
            let details = server.json(&format!("api/event?id={}", own["event"].as_str().unwrap()));
            let links = details[links].as_array().unwrap();
            assert!(links.iter().any(|link| link["id"] == other["event"]), "{own}: {details}");
        }
        labels.insert(joined["label"].as_str().unwrap());
    }
    assert!(labels.contains("stock:asked") && labels.contains("stock:answered"), "{labels:?}");
}

#[test]
fn traces_without_operations_have_no_flows() {
    let server = Server::of(&example("hello-lttng"));
    let (found, complete) = flows(&server, server.range(), "");
    assert!(found.is_empty() && complete == true);
}
