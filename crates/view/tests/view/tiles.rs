//! Tiles contain what the traces contain.

use std::collections::BTreeSet;

use ichnos::model::Window;
use ichnos::model::meaning::{ClassMap, EventDisplay, EventRule};
use ichnos::viewers::{Timeline, since_origin};
use ichnos::{OpenOptions, Selection};
use ichnos_testing::Random;

use crate::client::{Server, example, recorded};

/// Kinds of tracks with events, except the processors' running threads.
const EVENTS: &[&str] = &["trace", "process", "thread", "processor", "stream", "spans"];

/// Recorded traces: a kernel with scheduling, nested functions, losses, an imported profile, samples.
const RECORDED: [&str; 5] = [
    "ctf/real/tracecompass/bug446190",
    "ctf/real/tracecompass/cyg-profile",
    "ctf/real/lttng-ust/discard",
    "fuchsia/magic-trace/trace.fxt",
    "nettrace/dotnetdiag/dotnet-5.0-SampleProfiler-single-thread.golden.nettrace",
];

pub(crate) fn traces() -> Vec<String> {
    let examples = ["hello-lttng", "hello-fxt", "hello-dotnet", "hello-xtrace"].map(example);
    let traces = RECORDED.into_iter().filter_map(recorded);
    examples.into_iter().filter(|path| std::path::Path::new(path).exists()).chain(traces).collect()
}

/// Returns a timeline built without a server.
fn timeline(server: &Server, budget: usize) -> (Timeline, u64) {
    let mut timeline = Timeline::new(budget);
    let reader = Selection::default().reader(&server.session, Window::default()).unwrap();
    let events = reader.pass().run(&mut timeline).unwrap().counts.events;
    timeline.finish();
    (timeline, events)
}

#[test]
fn tiles_of_the_whole_trace_count_every_event() {
    for path in traces() {
        let server = Server::of(&path);
        let (timeline, events) = timeline(&server, 96 << 20);
        let counts = timeline.counts();
        assert_eq!(counts.events + counts.not_shown, events, "{path}");
        assert_eq!(server.json("api/trace")["events"], events, "{path}");
        let sum =
            counts.begun + counts.ended + counts.frames + counts.complete + counts.instants + counts.counters;
        assert_eq!(sum + counts.ended_before, counts.events, "{path}");
        // The running threads on processors, states, losses and values are not events, or not one each.
        let tracks = timeline.tracks();
        let not_events = ["losses", "states", "runs"];
        let is_shown = |track: u32| !not_events.contains(&tracks[track as usize].kind.name());
        let items: u64 = (0..tracks.len() as u32)
            .filter(|track| is_shown(*track))
            .map(|track| timeline.items(track))
            .sum();
        for pixels in [1, 100, 8_192] {
            let range = server.range();
            let kinds: Vec<_> = EVENTS.iter().chain(&["counter"]).copied().collect();
            let counted = server.count(range, &kinds, &format!("&pixels={pixels}"));
            assert_eq!(counted, items, "{path}, {pixels} pixels");
        }
    }
}

#[test]
fn summaries_and_ranges_that_are_read_again_agree_with_exact_timelines() {
    for path in traces() {
        let server = Server::of(&path);
        let (mut exact, events) = timeline(&server, usize::MAX);
        if events < 200 {
            continue;
        }
        let (mut small, _) = timeline(&server, 40 * (events as usize / 4));
        let (begin, end) = exact.range().unwrap();
        let resolution = small.resolution();
        assert!(resolution > 0, "{path}");
        let mut random = Random::new(1);
        for _ in 0..8 {
            let from = begin + random.below(end - begin);
            let to = (from + random.below((end - begin) / 8 + 1)).min(end);
            let mut part = small.part(from.saturating_sub(2 * resolution), usize::MAX);
            let window = Window {
                begin: Some(since_origin(from.saturating_sub(2 * resolution)).into()),
                end: Some(since_origin(to.saturating_add(resolution)).into()),
            };
            let reader = Selection::default().reader(&server.session, window).unwrap();
            reader.pass().run(&mut part).unwrap();
            part.finish_part(&mut small);
            for track in 0..exact.tracks().len() as u32 {
                // Losses are reported at their ends. The server has them from the whole timeline.
                if exact.tracks()[track as usize].kind.name() == "losses" {
                    continue;
                }
                let items = |timeline: &mut Timeline| {
                    let found = timeline.spans(track, from, to, u64::MAX).into_iter();
                    found.map(|(_, item)| (item.begin, item.end, item.count)).collect::<BTreeSet<_>>()
                };
                let (wanted, found) = (items(&mut exact), items(&mut part));
                assert_eq!(found, wanted, "{path}, track {track}, {from}..{to}");
            }
        }
    }
}

#[test]
fn filters_apply_to_tiles() {
    let server = Server::of(&example("hello-lttng"));
    let range = server.range();
    let all = server.count(range, EVENTS, "");
    let filter = "&filter=event%20%3D%3D%20%22no_such_*%22";
    let until_exact = |filter: &str| {
        loop {
            let tiles = server.json(&format!("api/tiles?tracks=0&begin={}&end={}{filter}", range.0, range.1));
            if tiles["exact"] == true {
                return server.count(range, EVENTS, filter);
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    assert_eq!(until_exact(filter), 0);
    assert_eq!(until_exact("&filter=event%20%3D%3D%20%22*%22"), all);
}

#[test]
fn names_and_tracks_are_complete() {
    let server = Server::of(&example("hello-lttng"));
    let names = server.json("api/names?from=0");
    assert_eq!(names["total"], names["names"].as_array().unwrap().len());
    let generation = server.json("api/tracks")["generation"].clone();
    assert!(server.json(&format!("api/tracks?after={generation}"))["tracks"].is_null());
    for (index, track) in server.tracks().iter().enumerate() {
        assert_eq!(track["id"], index);
        assert!(track["parent"].is_null() || track["parent"].as_u64().unwrap() < index as u64);
    }
    let (status, head, _) = server.get("api/names?from=99999999");
    assert!(status == 200 && head.contains("application/json"));
}

#[test]
fn names_have_the_colors_of_a_map() {
    let mut options = OpenOptions::default();
    options.read.class_map = Some(ClassMap::new(|class, stream| {
        if class.name.as_deref().is_some_and(|name| name.ends_with(":tick")) {
            let display = EventDisplay { color: Some("Tomato".to_owned()), ..EventDisplay::default() };
            assert_eq!(EventRule::new(class.role).shown(display).apply(class, stream), [0; 0]);
        }
    }));
    let all = Server::of(&example("hello-lttng")).json("api/names");
    assert_eq!(all["colors"], serde_json::json!({}));
    let names = Server::with_options(&example("hello-lttng"), &options).json("api/names");
    let colors = names["colors"].as_object().unwrap();
    assert_eq!(colors.len(), 1, "{names}");
    for (number, color) in colors {
        assert_eq!(names["names"][number.parse::<usize>().unwrap()], "tick");
        assert_eq!(color, "#ff6347");
    }
}

/// The tracks after a filter are those whose tiles are not empty.
#[test]
fn tracks_contain_events_that_a_filter_selects() {
    let server = Server::of(&example("hello-fxt"));
    let (begin, end) = server.range();
    for filter in ["event%20%3D%3D%20%22flutter%3ABuildFrame%3Abegin%22", "event%20%3D%3D%20%22none%22", ""] {
        let query = format!("api/filled?filter={filter}");
        let mut answer = server.json(&query);
        while answer["complete"] == false {
            answer = server.json(&query);
        }
        let filled: BTreeSet<u64> =
            answer["tracks"].as_array().unwrap().iter().map(|track| track.as_u64().unwrap()).collect();
        for track in server.tracks() {
            let (id, kind) = (track["id"].as_u64().unwrap(), track["kind"].as_str().unwrap());
            if kind == "states" || kind == "runs" {
                continue;
            }
            let tiles = format!("api/tiles?tracks={id}&begin={begin}&end={end}&filter={filter}");
            let tiles = &server.json(&tiles)["tracks"][0];
            let is_empty = |name: &str| tiles[name].as_array().is_none_or(Vec::is_empty);
            assert_eq!(filled.contains(&id), !is_empty("items") || !is_empty("counter"), "{filter}: {track}");
        }
    }
}
