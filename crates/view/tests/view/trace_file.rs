//! Ranges downloaded as traces.

use std::collections::BTreeMap;
use std::path::Path;

use ichnos::model::Window;
use ichnos::{OpenOptions, Selection};

use crate::client::{Server, example, recorded};
use crate::events::rows;

/// Counts events in a range by name and time.
fn events(path: &Path, (begin, end): (u64, u64)) -> BTreeMap<(String, i128), usize> {
    let session = ichnos::open([path], &OpenOptions::default()).unwrap();
    let mut events = BTreeMap::new();
    let mut all = session.events().unwrap();
    while let Some(event) = all.next_event() {
        let Some(time) = event.nanoseconds() else { continue };
        if i128::from(begin) <= time && time <= i128::from(end) {
            *events.entry((event.name().to_owned(), time)).or_default() += 1;
        }
    }
    let _ = Selection::default().reader(&session, Window::default()).unwrap();
    events
}

#[test]
fn downloaded_traces_have_the_events_of_the_range() {
    let examples = ["hello-lttng", "hello-ctf2", "hello-fxt", "hello-dotnet", "hello-xtrace", "hello-jsonl"];
    let traces = examples.map(|name| Some(example(name)));
    let recorded = ["ctf/real/tracecompass/bug446190", "ctf/real/lttng-ust/discard"].map(recorded);
    for path in traces.into_iter().chain(recorded).flatten() {
        let directory = tempfile::tempdir().unwrap();
        let temporary = directory.path().join("temporary");
        std::fs::create_dir(&temporary).unwrap();
        let server = Server::with(&path, |options| {
            options.title = "a trace/\"x".to_owned();
            options.temporary = temporary.clone();
        });
        let rows = rows(&server, 10_000, "");
        let time = |index: usize| rows[index]["time"].as_str().unwrap().parse().unwrap();
        let (from, to): (u64, u64) = (time(rows.len() / 4), time(rows.len() / 2));
        let (status, head, body) = server.get(&format!("api/export?kind=trace&begin={from}&end={to}"));
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body[..body.len().min(500)]));
        let name = head.split("filename=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(name.starts_with("a-trace--x"), "{path}: {name}");
        let file = directory.path().join(name);
        std::fs::write(&file, body).unwrap();
        let found = events(&file, (from, to));
        assert_eq!(found, events(Path::new(&path), (from, to)), "{path}");
        assert!(!found.is_empty(), "{path}");
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{path}: files are left");
    }
}

#[test]
fn filters_apply_to_downloads() {
    let path = example("hello-lttng");
    let server = Server::of(&path);
    let (begin, end) = server.range();
    let all = events(Path::new(&path), (begin, end));
    let name = all.keys().next().unwrap().0.clone();
    let filter = format!("event%20%3D%3D%20%22{}%22", name.replace(':', "%3A"));
    let (status, _, body) =
        server.get(&format!("api/export?kind=trace&begin={begin}&end={end}&filter={filter}"));
    assert_eq!(status, 200);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("filtered.tar");
    std::fs::write(&file, body).unwrap();
    let found = events(&file, (begin, end));
    assert!(found.keys().all(|(other, _)| *other == name));
    assert_eq!(found.len(), all.keys().filter(|(other, _)| *other == name).count());
    assert_eq!(server.ask(&format!("api/export?kind=trace&begin={begin}&end={end}&filter=(")).0, 400);
    assert_eq!(server.ask(&format!("api/export?kind=zip&begin={begin}&end={end}")).0, 400);
}
