//! Thread states in tiles, compared with SQL queries over the events that the same server exports.

use std::collections::BTreeMap;

use ichnos_testing::{DuckDb, KernelQuery, is_like_another};
use serde_json::Value;

use crate::client::{Server, recorded};

/// Nanoseconds by thread and state.
type Times = BTreeMap<(u64, String), u64>;

/// Sums of the states on tracks.
struct StateSums<'s> {
    server: &'s Server,
    names: Vec<Value>,
    /// Threads by state track.
    threads: BTreeMap<u64, u64>,
    times: Times,
}

impl StateSums<'_> {
    /// Adds the states on tracks in a range. States that share a pixel are requested again.
    fn add(&mut self, tracks: &[u64], (begin, end): (u64, u64)) {
        let ids: Vec<String> = tracks.iter().map(u64::to_string).collect();
        let query = format!("api/tiles?tracks={}&begin={begin}&end={end}&pixels=8192", ids.join(","));
        let tiles = self.server.json(&query);
        assert_eq!(tiles["exact"], true);
        for track in tiles["tracks"].as_array().unwrap() {
            let id = track["id"].as_u64().unwrap();
            let items = track["items"].as_array().unwrap().iter().map(|number| number.as_i64().unwrap());
            let items: Vec<i64> = items.collect();
            for item in items.chunks(6) {
                let within = |time: i64| begin.saturating_add_signed(time).clamp(begin, end);
                let (from, to) = (within(item[1]), within(item[2]));
                if from == to {
                    continue;
                }
                if item[3] > 1 {
                    assert!(to - from < end - begin, "{track}");
                    self.add(&[id], (from, to));
                    continue;
                }
                let state = self.names[item[4] as usize].as_str().unwrap().to_owned();
                *self.times.entry((self.threads[&id], state)).or_default() += to - from;
            }
        }
    }
}

/// Returns a thread number from the end of its track's name.
fn thread_of(track: &Value) -> u64 {
    let name = track["name"].as_str().unwrap().trim_end_matches(')');
    name.rsplit(['(', ' ']).next().unwrap().parse().unwrap()
}

/// Each thread in a kernel trace spends as much time in each state as SQL finds, in tiles and in the track list.
#[test]
fn tile_states_equal_sql() {
    let Some(database) = DuckDb::find("tile_states_equal_sql") else { return };
    let directory = tempfile::tempdir().unwrap();
    let names = ["bug446190", "flipping-endianness", "many-threads", "perf-taskset2", "synctraces/scp_src"];
    let names = names.map(|name| format!("tracecompass/{name}"));
    let mut files = Vec::new();
    let mut servers = Vec::new();
    for name in names.iter().filter(|name| !is_like_another(name)) {
        let Some(path) = recorded(&format!("ctf/real/{name}")) else { continue };
        let server = Server::of(&path);
        let (begin, end) = server.range();
        let (status, _, table) = server.get(&format!("api/export?kind=csv&begin={begin}&end={end}"));
        assert_eq!(status, 200, "{name}");
        let events = directory.path().join(format!("{}.csv", files.len()));
        std::fs::write(&events, table).unwrap();
        files.push(events);
        servers.push((name, server));
    }
    let found = database.query(&files, &[KernelQuery::ThreadStates]);
    for ((name, server), rows) in servers.into_iter().zip(found) {
        let (begin, end) = server.range();
        let [rows]: [Vec<(u64, String, u64, u64)>; 1] = serde_json::from_str(&rows).unwrap();
        let wanted: Times =
            rows.into_iter().map(|(thread, state, time, _)| ((thread, state), time)).collect();

        let tracks = server.tracks();
        let states: Vec<&Value> = tracks.iter().filter(|track| track["kind"] == "states").collect();
        let id = |track: &Value| track["id"].as_u64().unwrap();
        let thread = |track: &Value| thread_of(&tracks[track["parent"].as_u64().unwrap() as usize]);
        let threads = states.iter().map(|track| (id(track), thread(track))).collect();
        let names = server.json("api/names?from=0")["names"].as_array().unwrap().clone();
        let mut sums = StateSums { server: &server, names, threads, times: Times::new() };
        let ids: Vec<u64> = states.iter().map(|track| id(track)).collect();
        for ids in ids.chunks(256) {
            sums.add(ids, (begin, end));
        }
        assert_eq!(sums.times, wanted, "{name}");
        for track in states {
            let running = wanted.get(&(thread(track), "running".to_owned()));
            assert_eq!(track["running"].as_u64(), running.copied(), "{name}: {track}");
        }
    }
}
