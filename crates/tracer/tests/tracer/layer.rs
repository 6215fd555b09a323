//! Spans and events of `tracing`.

use ichnos_tracer::{Recording, RecordingOptions, TraceLayer};
use serde_json::json;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::{BABELTRACE_2_1, alone, output_of, read};

/// Returns the events as lines of a log.
fn log(path: &std::path::Path) -> String {
    use ichnos::export::{Log, LogOptions};

    let session = ichnos::open([path], &ichnos::OpenOptions::default()).unwrap();
    let mut out = Vec::new();
    session.reader().unwrap().pass().run(&mut Log::new(&mut out, LogOptions::default())).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn spans_and_events_with_types() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(RecordingOptions::new(&path)).unwrap();
    let subscriber = tracing_subscriber::registry().with(TraceLayer::new());
    tracing::subscriber::with_default(subscriber, || {
        let request = tracing::info_span!("request", id = 7, status = tracing::field::Empty);
        let _entered = request.enter();
        for bytes in [512u64, 3] {
            tracing::warn!(bytes, ratio = 0.5, is_late = bytes < 9, who = "Anna", "answered {bytes}");
        }
        {
            let _inner = tracing::debug_span!("parse").entered();
            tracing::error!(name: "failed", error = ?Some(1));
        }
        request.record("status", 404);
    });
    assert_eq!(recording.finish().discarded, 0);
    let events = read(&path, false);
    let names: Vec<_> = events.iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["request", "tracer::layer", "tracer::layer", "parse", "failed", "parse", "request", "request"]
    );
    let span = |event: usize| events[event]["payload"]["span"].clone();
    assert_eq!(events[0]["payload"], json!({ "span": span(0), "id": 7 }));
    assert_eq!(
        events[2]["payload"],
        json!({ "span": span(0), "bytes": 3, "ratio": 0.5, "is_late": true, "who": "Anna", "message": "answered 3" })
    );
    assert_eq!(events[2]["id"], events[1]["id"]);
    assert_eq!(events[2]["log_level"], "warning");
    assert_eq!(events[3]["payload"], json!({ "span": span(3), "parent": span(0) }));
    assert_eq!(events[4]["payload"], json!({ "span": span(3), "error": "Some(1)" }));
    assert_eq!(events[6]["payload"], json!({ "span": span(0), "status": 404 }));
    assert_eq!(events[7]["payload"], json!({ "span": span(0) }));
    assert!(log(&path).contains(" WARN: answered 3 span="), "{}", log(&path));
    if let Some(text) = output_of(BABELTRACE_2_1, &path) {
        assert_eq!(text.lines().count(), events.len());
    }
}
