//! States of threads, what ended their waits, and critical paths.

use serde_json::Value;

use crate::client::{Server, recorded};

/// Answers about a thread agree with the tiles of its states, and lead back from a processor to what the thread waited for.
#[test]
fn processors_lead_to_threads_and_what_they_waited_for() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let server = Server::of(&path);
    let tracks = server.tracks();
    let of_kind = |kind: &str| tracks.iter().filter(|track| track["kind"] == kind).count();
    assert!(of_kind("states") > 8_000 && of_kind("runs") > 5, "{}", of_kind("states"));
    let processor = tracks.iter().find(|track| track["runsThreads"] == true).unwrap();
    let (begin, end) = server.range();
    let id = &processor["id"];
    let tiles = server.json(&format!("api/tiles?tracks={id}&begin={begin}&end={end}&pixels=8192"));
    let items: Vec<i64> =
        tiles["tracks"][0]["items"].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
    let single: Vec<&[i64]> = items.chunks(6).filter(|item| item[3] == 1).collect();
    assert!(single.len() > 50, "{}", single.len());
    let mut woken = 0;
    for item in single.iter().step_by(single.len() / 40 + 1) {
        let (from, to) = (begin.wrapping_add_signed(item[1]), begin.wrapping_add_signed(item[2]));
        let found = server.json(&format!("api/thread?track={id}&name={}&time={from}", item[4]));
        let states = found["states"].as_array().unwrap();
        let time = |state: &Value, name: &str| state[name].as_str().unwrap().parse::<u64>().unwrap();
        assert_eq!(states[0]["state"], "running", "{found}");
        assert_eq!((time(&states[0], "begin"), time(&states[0], "end")), (from, to), "{found}");
        assert!(found["event"].is_string() || from == begin, "{found}");
        for pair in states.windows(2) {
            assert_eq!(time(&pair[1], "end"), time(&pair[0], "begin"), "{found}");
        }
        woken += usize::from(states.iter().any(|state| state["endedBy"].is_object()));
        // The thread itself, and its states, are the same place.
        let again = server.json(&format!("api/thread?track={}&time={from}", found["track"]));
        assert_eq!(again["states"], found["states"]);
        check_path(&server, &found, (from, to));
    }
    assert!(woken > 0);
}

/// The path of what a thread ran is that it ran.
fn check_path(server: &Server, thread: &Value, (from, to): (u64, u64)) {
    let path = server.json(&format!("api/path?track={}&begin={from}&end={to}", thread["track"]));
    let steps = path["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1, "{path}");
    assert_eq!((&steps[0]["state"], &steps[0]["track"]), (&"running".into(), &thread["track"]), "{path}");
    assert!(path["complete"] == true && path["command"].as_str().unwrap().contains("threads --path"));
}
