//! Thread states, wakeups, and critical paths.

use ichnos::Selection;
use ichnos::analysis::{ThreadCollector, ThreadOptions, Waker};
use ichnos::model::Window;
use ichnos_testing::is_complete_sweep;
use serde_json::Value;

use crate::client::{Server, example, recorded};

/// Returns a recorded kernel trace: one with thousands of threads in a complete sweep, otherwise a small one.
fn kernel_trace() -> Option<String> {
    let name = if is_complete_sweep() { "many-threads" } else { "bug446190" };
    recorded(&format!("ctf/real/tracecompass/{name}"))
}

/// Answers about a thread agree with its state tiles, and lead from a processor back to the cause of a wait.
#[test]
fn processors_lead_to_threads_and_wait_causes() {
    let Some(path) = kernel_trace() else { return };
    let server = Server::of(&path);
    let tracks = server.tracks();
    let of_kind = |kind: &str| tracks.iter().filter(|track| track["kind"] == kind).count();
    let least = if is_complete_sweep() { 8_000 } else { 20 };
    assert!(of_kind("states") > least && of_kind("runs") > 5, "{}", of_kind("states"));
    let processor = tracks.iter().find(|track| track["runsThreads"] == true).unwrap();
    let (begin, end) = server.range();
    let id = &processor["id"];
    let tiles = server.json(&format!("api/tiles?tracks={id}&begin={begin}&end={end}&pixels=8192"));
    let items: Vec<i64> =
        tiles["tracks"][0]["items"].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
    let single: Vec<&[i64]> = items.chunks(6).filter(|item| item[3] == 1).collect();
    assert!(single.len() > 20, "{}", single.len());
    let (mut woken, mut wakes) = (0, 0);
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
        // The thread track and its state track are the same place.
        let again = server.json(&format!("api/thread?track={}&time={from}", found["track"]));
        assert_eq!(again["states"], found["states"]);
        assert_eq!(&found["processor"], id, "{found}");
        check_path(&server, &found, (from, to));
        wakes += check_woken(&server, &found);
    }
    assert!(woken > 0 && wakes > 0, "{woken}, {wakes}");
}

/// Checks that a thread ended the waits of the threads that it woke up. Returns their number.
fn check_woken(server: &Server, waker: &Value) -> usize {
    let woke = waker["woke"].as_array().unwrap();
    for thread in woke {
        let time = thread["time"].as_str().unwrap().parse::<u64>().unwrap();
        let wait = server.json(&format!("api/thread?track={}&time={}", thread["states"], time - 1));
        assert_eq!(wait["track"], thread["track"], "{thread}");
        assert_eq!(wait["states"][0]["endedBy"]["track"], waker["track"], "{wait}");
    }
    woke.len()
}

/// FXT scheduling records name only threads. Other events name their processes. Both are on one track.
#[test]
fn running_threads_are_in_their_processes() {
    let server = Server::of(&example("hello-fxt"));
    let tracks = server.tracks();
    let of = |id: &Value| &tracks[id.as_u64().unwrap() as usize];
    let states: Vec<_> = tracks.iter().filter(|track| track["kind"] == "states").collect();
    assert_eq!(states.len(), 2, "{tracks:?}");
    for track in states {
        let thread = of(&track["parent"]);
        assert_eq!(
            (&thread["kind"], &of(&thread["parent"])["kind"]),
            (&"thread".into(), &"process".into()),
            "{thread}"
        );
        let same = tracks.iter().filter(|other| other["kind"] == "thread" && other["name"] == thread["name"]);
        assert_eq!(same.count(), 1, "{thread}");
    }
    assert_eq!(tracks.iter().filter(|track| track["kind"] == "runs").count(), 2);
}

/// A processor is colorless where several programs share a pixel, but still counts what it ran.
#[test]
fn pixels_with_several_programs_are_unnamed() {
    let Some(path) = recorded("ctf/real/tracecompass/bug446190") else { return };
    let server = Server::of(&path);
    let (begin, end) = server.range();
    let tracks = server.tracks();
    let mut unnamed = 0;
    for processor in tracks.iter().filter(|track| track["runsThreads"] == true) {
        let items = |pixels: u32| -> Vec<Vec<i64>> {
            let id = &processor["id"];
            let query = format!("api/tiles?tracks={id}&begin={begin}&end={end}&pixels={pixels}");
            let tiles = server.json(&query);
            let items = tiles["tracks"][0]["items"].as_array().unwrap();
            let numbers: Vec<i64> = items.iter().map(|n| n.as_i64().unwrap()).collect();
            numbers.chunks(6).map(<[i64]>::to_vec).collect()
        };
        let fine = items(8_000);
        let count = |items: &[Vec<i64>]| items.iter().map(|item| item[3]).sum::<i64>();
        // At full detail, no slice is unnamed.
        assert!(fine.iter().all(|item| item[3] > 1 || item[4] != 0), "{processor}");
        for pixels in [3, 10, 40, 200] {
            let coarse = items(pixels);
            assert_eq!(count(&coarse), count(&fine), "{processor}");
            unnamed += coarse.iter().filter(|item| item[4] == 0).count();
        }
    }
    assert!(unnamed > 0);
}

/// A span shows how long its thread ran meanwhile. This equals the thread states.
#[test]
fn spans_show_thread_running_times() {
    let Some(path) = recorded("ctf/real/tracecompass/bug446190") else { return };
    let server = Server::of(&path);
    let (begin, end) = server.range();
    let states = server.tracks().into_iter().filter(|track| track["kind"] == "states");
    let states: std::collections::HashMap<String, String> =
        states.map(|track| (track["parent"].to_string(), track["id"].to_string())).collect();
    let names = server.json("api/names?from=0")["names"].clone();
    let rows = server.json(&format!("api/events?begin={begin}&end={end}&limit=10000"));
    let mut checked = 0;
    for row in rows["rows"].as_array().unwrap().iter().step_by(97) {
        let event = server.json(&format!("api/event?id={}", row["id"].as_str().unwrap()));
        let (Some(ran), Some(length)) = (event["spans"]["ran"].as_u64(), event["spans"]["length"].as_u64())
        else {
            continue;
        };
        // An end event's span starts at another event.
        if event["spans"]["begin"] != event["id"] {
            continue;
        }
        let from: u64 = event["time"].as_str().unwrap().parse().unwrap();
        let track = &states[&event["track"].to_string()];
        let tiles = format!("api/tiles?tracks={track}&begin={from}&end={}&pixels=8192", from + length);
        let tiles = server.json(&tiles);
        let items: Vec<i64> =
            tiles["tracks"][0]["items"].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
        if items.chunks(6).any(|item| item[3] > 1) {
            continue;
        }
        let running = items.chunks(6).filter(|item| names[item[4] as usize] == "running");
        let expected: i64 = running.map(|item| item[2].min(length as i64) - item[1].max(0)).sum();
        assert_eq!(ran as i64, expected, "{event}");
        checked += 1;
    }
    assert!(checked > 5, "{checked}");
}

/// Flame graphs of spans by thread, of running time, and of callers.
#[test]
fn flame_graphs_are_by_thread_inverted_and_of_running_threads() {
    let Some(path) = kernel_trace() else { return };
    let server = Server::of(&path);
    let (begin, end) = server.range();
    let graph =
        |more: &str| server.json(&format!("api/stacks?begin={begin}&end={end}{more}"))["root"].clone();
    let value = |node: &Value| node["value"].as_u64().unwrap();
    let children = |node: &Value| node["children"].as_array().unwrap().clone();
    let (all, running, by_thread) = (graph(""), graph("&running=1"), graph("&threads=1"));
    let processors = server.tracks().iter().filter(|track| track["runsThreads"] == true).count() as u64;
    assert!(value(&running) > 0 && value(&running) <= processors * (end - begin), "{}", value(&running));
    assert!(value(&running) < value(&all), "{} of {}", value(&running), value(&all));
    assert_eq!(value(&by_thread), value(&all));
    let names: Vec<Value> = server.tracks().iter().map(|track| track["name"].clone()).collect();
    for process in children(&by_thread) {
        let of_process = children(&process).into_iter();
        let of_both = [&process].into_iter().cloned().chain(of_process).collect::<Vec<_>>();
        assert!(of_both.iter().all(|track| names.contains(&track["name"])), "{process}");
        // The smallest parts are omitted.
        assert!(of_both.iter().skip(1).map(value).sum::<u64>() <= value(&process), "{process}");
    }
    // Thread states do not count as spans.
    assert!(
        children(&all).iter().all(|span| span["name"] != "sleeping" && span["name"] != "running"),
        "{all}"
    );
    let inverted = graph("&inverted=1&running=1");
    assert_eq!(value(&inverted), value(&running));
    let total: u64 = children(&inverted).iter().map(value).sum();
    assert!(total <= value(&inverted), "{total}");
    assert_eq!(server.ask(&format!("api/stacks?begin={begin}&end={end}&inverted=2")).0, 400);
}

/// The path of a running thread is only this thread.
fn check_path(server: &Server, thread: &Value, (from, to): (u64, u64)) {
    let path = server.json(&format!("api/path?track={}&begin={from}&end={to}", thread["track"]));
    let steps = path["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1, "{path}");
    assert_eq!((&steps[0]["state"], &steps[0]["track"]), (&"running".into(), &thread["track"]), "{path}");
    assert!(path["complete"] == true && path["command"].as_str().unwrap().contains("threads --path"));
}

/// Waits name the waiting and the waking thread as the report does: by the names at the end of the wait.
#[test]
fn waits_have_the_names_of_the_report() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let server = Server::of(&path);
    let mut options = ThreadOptions::default();
    options.waits = 20;
    let mut collector = ThreadCollector::new(options);
    let reader = Selection::default().reader(&server.session, Window::default()).unwrap();
    reader.pass().run(&mut collector).unwrap();
    let report = collector.finish();
    let (begin, end) = server.range();
    let found = server.json(&format!("api/waits?begin={begin}&end={end}"));
    let found = found["waits"].as_array().unwrap();
    let (tracks, mut renamed) = (server.tracks(), 0);
    for (wait, found) in report.waits().iter().zip(found) {
        let waker = match &wait.waker {
            Some(Waker::Thread(thread, names)) => Some(names.label(*thread)),
            _ => None,
        };
        assert_eq!(found["name"], wait.names.label(wait.thread), "{found}");
        assert_eq!(found["endedBy"]["name"].as_str(), waker.as_deref(), "{found}");
        let track = found["endedBy"]["track"].as_u64().map(|track| &tracks[track as usize]);
        renamed += usize::from(track.is_some_and(|track| track["name"] != found["endedBy"]["name"]));
    }
    assert!(renamed > 0);
}
