//! The processor's running thread, for events without a thread.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::support::{ichnos, recorded};
use crate::thread_states::{Events, number_in_line, write};

/// Event times and data streams by running thread, derived only from event names and data streams. Each data stream
/// belongs to one processor. A switch belongs to the thread that it stops, and so do events before the first switch.
fn events_by_thread(path: &str) -> BTreeMap<u64, Vec<(u64, u64)>> {
    let lines = ichnos(["cat", "--format", "jsonl", path]).expect(0, &[]).out;
    let events = || lines.lines().filter(|line| line.starts_with("{\"type\":\"event\","));
    let is_switch = |line: &str| line.contains("\"name\":\"sched_switch\"");
    let mut running: BTreeMap<u64, u64> = BTreeMap::new();
    for line in events().filter(|line| is_switch(line)) {
        running.entry(number_in_line(line, "stream")).or_insert_with(|| number_in_line(line, "prev_tid"));
    }
    let mut found: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for line in events() {
        let (time, stream) = (number_in_line(line, "ts"), number_in_line(line, "stream"));
        let Some(thread) = running.get_mut(&stream) else { continue };
        if is_switch(line) {
            assert_eq!(number_in_line(line, "prev_tid"), *thread, "{line}");
        }
        found.entry(*thread).or_default().push((time, stream));
        if is_switch(line) {
            *thread = number_in_line(line, "next_tid");
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
    // A thread that runs often, and a window that starts while it runs.
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

fn count_events(filter: &str, path: &str) -> usize {
    let lines = ichnos(["cat", "--fields", "none", "--no-delta", "--filter", filter, path]).expect(0, &[]);
    lines.out.lines().count()
}

/// LTTng context names mean the running thread in expressions, columns and groups, even if an event has a field with
/// the name. Event fields are named with their scopes.
#[test]
fn names_of_contexts() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let path = path.to_str().unwrap();
    let expected: BTreeMap<u64, usize> =
        events_by_thread(path).into_iter().map(|(thread, events)| (thread, events.len())).collect();
    let (thread, count) =
        expected.iter().filter(|(thread, _)| **thread != 0).max_by_key(|(_, n)| **n).unwrap();
    for filter in [format!("tid == {thread}"), format!("$tid == {thread}"), format!("thread == {thread}")] {
        assert_eq!(count_events(&filter, path), *count, "{filter}");
    }
    let woken =
        ichnos(["cat", "--format", "csv", "--fields", "event,tid,payload.tid,comm", path]).expect(0, &[]);
    let mut found = BTreeMap::<u64, usize>::new();
    let mut with_fields = 0;
    for line in woken.out.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        *found.entry(columns[1].parse().unwrap()).or_default() += 1;
        with_fields += usize::from(!columns[2].is_empty());
    }
    assert_eq!(found, expected);
    assert!(with_fields > 1_000 && with_fields < woken.out.lines().count() / 2, "{with_fields}");
    let by = ichnos(["stats", "--by", "tid", "--json", path]).expect(0, &[]).json();
    let rows = by["rows"].as_array().unwrap().iter().map(|row| {
        let key = &row["key"][0];
        let thread = key.as_u64().or_else(|| key.as_str()?.parse().ok()).unwrap();
        (thread, row["events"].as_u64().unwrap() as usize)
    });
    assert_eq!(rows.collect::<BTreeMap<_, _>>(), expected);
}

/// A filter writes the running thread, because it drops the switches that determine it.
#[test]
fn filtered_traces_keep_the_thread() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let directory = crate::support::Directory::new("running-filtered");
    let output = directory.join("out");
    let arguments = ["convert", path.to_str().unwrap(), "--filter", "tid == 2673", "-o"];
    ichnos(arguments.into_iter().chain([output.to_str().unwrap()])).expect(0, &[]);
    let count = count_events("thread == 2673", path.to_str().unwrap());
    assert!(count > 100_000);
    let by = ichnos(["stats", "--by", "thread", "--json", output.to_str().unwrap()]).expect(0, &[]).json();
    let rows = by["rows"].as_array().unwrap();
    assert_eq!((rows.len(), rows[0]["events"].as_u64()), (1, Some(count as u64)), "{by}");
}

/// After lost events, the thread is unknown until the next switch.
#[test]
fn lost_events_hide_the_thread() {
    let directory = crate::support::Directory::new("running-lost");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let mut events = Events::default();
    events.switch(100, (1, 1), 2);
    events.wake(150, 9);
    events.wake(750, 9);
    events.switch(800, (3, 1), 4);
    events.wake(850, 9);
    std::fs::create_dir(path("whole")).unwrap();
    write(directory.join("whole").as_path(), &[events]);
    ichnos(["convert", &path("whole"), "-o", &path("lines.jsonl")]).expect(0, &[]);
    let lines = std::fs::read_to_string(path("lines.jsonl")).unwrap();
    let lost = r#"{"type":"discarded-events","stream":0,"begin":200,"end":700,"count":50}"#;
    let at = lines.find(r#"{"type":"event","stream":0,"ts":750"#).unwrap();
    std::fs::write(path("lost.jsonl"), format!("{}{lost}\n{}", &lines[..at], &lines[at..])).unwrap();
    ichnos(["convert", &path("lost.jsonl"), "-o", &path("lost")]);
    let threads = |name: &str| {
        let run = ichnos(["cat", "--format", "csv", "--fields", "event,tid", &path(name)]);
        run.out.lines().skip(1).map(|row| row.split_once(',').unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(threads("whole"), ["1", "2", "2", "3", "4"]);
    assert_eq!(threads("lost"), ["1", "2", "", "3", "4"]);
}

/// A thread belongs to the process in its creation event, in any data stream, and idle threads to process 0.
#[test]
fn events_of_processes() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let path = path.to_str().unwrap();
    let mut processes = BTreeMap::from([(0, 0)]);
    for (event, thread, process) in
        [("lttng_statedump_process_state", "tid", "pid"), ("sched_process_fork", "child_tid", "child_pid")]
    {
        let lines = ichnos(["cat", "--format", "jsonl", "--event", event, path]).expect(0, &[]);
        let lines = lines.out.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        for line in lines.filter(|line| line["type"] == "event") {
            let number = |name: &str| line["payload"][name].as_u64().unwrap();
            processes.entry(number(thread)).or_insert_with(|| number(process));
        }
    }
    let mut expected = BTreeMap::<u64, u64>::new();
    for (thread, events) in events_by_thread(path) {
        if let Some(process) = processes.get(&thread) {
            *expected.entry(*process).or_default() += events.len() as u64;
        }
    }
    assert!(!expected.is_empty());
    let by = ichnos(["stats", "--by", "pid", "--json", path]).expect(0, &[]).json();
    let rows = by["rows"].as_array().unwrap().iter().filter_map(|row| {
        let key = &row["key"][0];
        Some((key.as_u64().or_else(|| key.as_str()?.parse().ok())?, row["events"].as_u64().unwrap()))
    });
    assert_eq!(rows.collect::<BTreeMap<_, _>>(), expected);
    let (process, count) = expected.iter().next().unwrap();
    assert_eq!(count_events(&format!("pid == {process}"), path) as u64, *count);
}
