//! Flame graphs of spans have the same numbers as `ichnos stacks --spans`.

use std::collections::BTreeMap;

use ichnos::Selection;
use ichnos::analysis::{StackFormat, StackOptions, StackRoots};
use ichnos::model::Window;
use ichnos::viewers::SpanStackCollector;
use serde_json::Value;

use crate::client::{Server, recorded};

/// Returns nanoseconds by span names, from the outermost on.
fn wanted(server: &Server, (begin, end): (u64, u64), only_running: bool) -> BTreeMap<String, u64> {
    let mut collector = SpanStackCollector::new(&StackOptions::default(), only_running);
    let streams: Vec<_> = server.session.traces().iter().flat_map(|trace| trace.data_streams()).collect();
    collector.streams(streams.iter().map(|stream| &**stream));
    let window = Window { begin: Some(begin.into()), end: Some(end.into()) };
    let reader = Selection::default().reader(&server.session, window).unwrap();
    reader.pass().run(&mut collector).unwrap();
    let mut text = Vec::new();
    collector.finish().0.write(StackFormat::Folded, StackRoots::None, &mut text).unwrap();
    let mut times = BTreeMap::new();
    for line in String::from_utf8(text).unwrap().lines() {
        let (stack, time) = line.rsplit_once(' ').unwrap();
        let time: u64 = time.parse().unwrap();
        for (end, _) in stack.match_indices(';').chain([(stack.len(), "")]) {
            *times.entry(stack[..end].to_owned()).or_default() += time;
        }
    }
    times
}

fn add(node: &Value, path: &str, times: &mut BTreeMap<String, u64>) {
    for child in node["children"].as_array().unwrap() {
        let name = child["name"].as_str().unwrap();
        let path = if path.is_empty() { name.to_owned() } else { format!("{path};{name}") };
        times.insert(path.clone(), child["value"].as_u64().unwrap());
        add(child, &path, times);
    }
}

#[test]
fn flame_graphs_of_spans_equal_the_command() {
    let Some(path) = recorded("ctf/real/tracecompass/bug446190") else { return };
    let server = Server::of(&path);
    let (begin, end) = server.range();
    let middle = begin + (end - begin) / 2;
    let part = (middle, middle + (end - begin) / 16);
    for (range, only_running) in [((begin, end), false), ((begin, end), true), (part, false)] {
        let running = u8::from(only_running);
        let query = format!("api/stacks?begin={}&end={}&running={running}", range.0, range.1);
        let answer = server.json(&query);
        assert_eq!(
            (&answer["complete"], &answer["exact"], &answer["dropped"]),
            (&true.into(), &true.into(), &0.into())
        );
        let mut found = BTreeMap::new();
        add(&answer["root"], "", &mut found);
        found.retain(|_, time| *time > 0);
        assert!(found.len() > 5, "{}", found.len());
        assert_eq!(found, wanted(&server, range, only_running), "{range:?}");
    }
}
