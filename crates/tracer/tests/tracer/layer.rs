//! Spans and events of `tracing`.

use std::path::Path;

use ichnos_tracer::{Recording, RecordingOptions, SpanContext, TraceLayer};
use serde_json::json;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::{BABELTRACE_2_1, alone, convert, events_in, output_of, read};

/// Returns the events as lines of a log.
fn log(path: &Path) -> String {
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
    assert_eq!(events[0]["payload"], json!({ "span": span(0), "span_id": span(0), "id": 7 }));
    assert_eq!(
        events[2]["payload"],
        json!({ "span_id": span(0), "bytes": 3, "ratio": 0.5, "is_late": true, "who": "Anna", "message": "answered 3" })
    );
    assert_eq!(events[2]["id"], events[1]["id"]);
    assert_eq!(events[2]["log_level"], "warning");
    assert_eq!(
        events[3]["payload"],
        json!({ "span": span(3), "span_id": span(3), "parent_span_id": span(0) })
    );
    assert_eq!(events[4]["payload"], json!({ "span_id": span(3), "error": "Some(1)" }));
    assert_eq!(events[6]["payload"], json!({ "span_id": span(0), "status": 404 }));
    assert_eq!(events[7]["payload"], json!({ "span": span(0), "span_id": span(0) }));
    assert!(log(&path).contains(" WARN: answered 3 "), "{}", log(&path));
    if let Some(text) = output_of(BABELTRACE_2_1, &path) {
        assert_eq!(events_in(&text), events.len());
    }
}

#[test]
fn names_that_come_twice_get_a_number() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(RecordingOptions::new(&path)).unwrap();
    let subscriber = tracing_subscriber::registry().with(TraceLayer::new());
    tracing::subscriber::with_default(subscriber, || {
        let _span = tracing::info_span!("s", span = 1, span_id = "a", span_id_2 = 3).entered();
        tracing::info!(x = "b\0c", y = 4, y = ?"d\0", trace_id = 5);
    });
    recording.finish();
    let events = read(&path, false);
    let span = &events[0]["payload"]["span"];
    assert_eq!(
        events[0]["payload"],
        json!({ "span": span, "span_id": span, "span_2": 1, "span_id_2": "a", "span_id_2_2": 3 })
    );
    assert_eq!(
        events[1]["payload"],
        json!({ "span_id": span, "x": "b␀c", "y": 4, "y_2": "\"d\\0\"", "trace_id": 5 })
    );
}

#[test]
fn numbers_of_all_sizes_have_few_bytes() {
    const UNSIGNED: [u64; 7] = [0, 1, 127, 128, 16_384, u32::MAX as u64, u64::MAX];
    const SIGNED: [i64; 9] = [0, -1, 63, 64, -64, -65, 8191, i64::MIN, i64::MAX];

    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let [path, converted] = ["t", "converted"].map(|name| directory.path().join(name));
    let recording = Recording::start(RecordingOptions::new(&path)).unwrap();
    let subscriber = tracing_subscriber::registry().with(TraceLayer::new());
    tracing::subscriber::with_default(subscriber, || {
        for unsigned in UNSIGNED {
            for signed in SIGNED {
                tracing::info!(unsigned, signed, text = "x".repeat((unsigned % 200) as usize + 1));
            }
        }
    });
    recording.finish();
    let expected: Vec<_> = UNSIGNED
        .iter()
        .flat_map(|unsigned| {
            let text = "x".repeat((unsigned % 200) as usize + 1);
            SIGNED.iter().map(move |signed| json!({ "unsigned": unsigned, "signed": signed, "text": text }))
        })
        .collect();
    convert(&path, &converted, false);
    for (path, babeltrace) in [(&path, BABELTRACE_2_1), (&converted, "babeltrace2")] {
        let found: Vec<_> = read(path, false).iter().map(|event| event["payload"].clone()).collect();
        assert_eq!(found, expected);
        let Some(text) = output_of(babeltrace, path) else { continue };
        let lines: Vec<_> = text.lines().filter(|line| line.contains("unsigned = ")).collect();
        assert_eq!(lines.len(), expected.len());
        for (line, expected) in lines.iter().zip(&expected) {
            let member = |name: &str| line.contains(&format!(" {name} = {}", expected[name]));
            assert!(member("unsigned") && member("signed") && member("text"), "{line}\n{expected}");
        }
    }
}

/// Identifiers of a task and of its operations.
type NamedTask = (String, Vec<String>);

/// Returns the identifiers of all tasks with the names of their operations, and the names of spans with their
/// identifiers and the identifiers of their parents in OTLP.
fn tasks(path: &Path) -> (Vec<NamedTask>, Vec<[String; 4]>) {
    use ichnos::analysis::tasks::{TaskCollector, TaskOptions};
    use ichnos::convert::{ConvertOptions, target};

    let session = ichnos::open([path], &ichnos::OpenOptions::default()).unwrap();
    let mut options = TaskOptions::default();
    options.find_mentions = ichnos::formats().filter_map(|format| format.find_mentions).collect();
    let mut collector = TaskCollector::new(options);
    session.reader().unwrap().pass().run(&mut collector).unwrap();
    let tasks = collector.finish();
    let named = (0..tasks.len()).map(|task| {
        let graph = tasks.graph(task);
        let names = (0..graph.len()).map(|node| graph.operation_name(node)).collect();
        (tasks.id(task).unwrap().to_string(), names)
    });
    let named = named.collect();
    let to = path.with_extension("otlp.jsonl");
    let target = target(Some("otlp"), &to, None).unwrap();
    session.reader().unwrap().convert(target.writer, Some(to.clone()), &ConvertOptions::default()).unwrap();
    let text = std::fs::read_to_string(to).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut spans = Vec::new();
    for line in lines {
        for spans_of in line["resourceSpans"].as_array().into_iter().flatten() {
            for scope in spans_of["scopeSpans"].as_array().unwrap() {
                let of = |span: &serde_json::Value| {
                    ["name", "traceId", "spanId", "parentSpanId"]
                        .map(|name| span[name].as_str().unwrap_or("").to_owned())
                };
                spans.extend(scope["spans"].as_array().unwrap().iter().map(of));
            }
        }
    }
    (named, spans)
}

#[test]
fn spans_continue_traces_of_other_programs() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(RecordingOptions::new(&path)).unwrap();
    let subscriber = tracing_subscriber::registry().with(TraceLayer::new());
    let remote = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut sent = Vec::new();
    tracing::subscriber::with_default(subscriber, || {
        assert_eq!(SpanContext::current(), None);
        let _request = tracing::info_span!("request", traceparent = %remote).entered();
        sent.extend(SpanContext::current());
        {
            let _inner = tracing::info_span!("inner").entered();
            tracing::info!("in it");
            sent.extend(SpanContext::current());
        }
        let _other = tracing::info_span!(parent: None, "other", traceparent = "nonsense").entered();
        assert_eq!(SpanContext::current(), None);
        let attached = sent[0].attach();
        let _attached = tracing::info_span!(parent: None, "attached").entered();
        sent.extend(SpanContext::current());
        drop(attached);
    });
    let subscriber = tracing_subscriber::registry().with(TraceLayer::new().with_new_traces());
    tracing::subscriber::with_default(subscriber, || {
        let _new = tracing::info_span!("new").entered();
        sent.extend(SpanContext::current());
    });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(TraceLayer::new()), || {
        let _joined = tracing::info_span!("joined", xtrace = "110ACADE20070508010A0A0A0A").entered();
        let _inner = tracing::info_span!("inner of joined").entered();
    });
    assert_eq!(recording.finish().discarded, 0);
    let [request, inner, attached, new] = sent[..] else { panic!("{sent:?}") };
    let trace = request.trace_id();
    assert_eq!(trace, remote.parse::<SpanContext>().unwrap().trace_id());
    assert!(inner.trace_id() == trace && attached.trace_id() == trace && new.trace_id() != trace);
    let (tasks, spans) = tasks(&path);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let [of_request, of_inner, of_attached, of_new] =
        [request, inner, attached, new].map(|context| hex(&context.span_id()));
    let task_of = |span: &str| {
        let named = |(_, names): &&NamedTask| names.iter().any(|name| name.eq_ignore_ascii_case(span));
        tasks.iter().find(named).unwrap().0.to_ascii_lowercase()
    };
    // Without an identity among programs, spans in each other are a task, too. X-Trace metadata name a task.
    assert_eq!(tasks.len(), 4, "{tasks:#?}");
    for span in [&of_request, &of_inner, &of_attached] {
        assert_eq!(task_of(span), hex(&trace));
    }
    assert_eq!(task_of(&of_new), hex(&new.trace_id()));
    let of_remote = "b7ad6b7169203331".to_owned();
    let expected = [
        ("request", &trace, &of_request, of_remote),
        ("inner", &trace, &of_inner, of_request.clone()),
        ("attached", &trace, &of_attached, of_request.clone()),
        ("new", &new.trace_id(), &of_new, String::new()),
    ];
    for (name, trace, span, parent) in expected {
        let expected = [name.to_owned(), hex(trace), span.clone(), parent];
        assert!(spans.contains(&expected), "{expected:?}\n{spans:#?}");
    }
    let xtrace: Vec<_> = tasks.iter().filter(|(task, _)| task == "0ACADE2007050801").collect();
    assert_eq!(xtrace[0].1.len(), 3, "{tasks:#?}");
}

#[test]
fn other_layers_get_what_is_not_recorded() {
    #[derive(Clone, Default)]
    struct Lines(std::sync::Arc<std::sync::Mutex<Vec<String>>>);

    impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Lines {
        fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            self.0.lock().unwrap().push(event.metadata().name().to_owned());
        }
    }

    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let lines = Lines::default();
    let subscriber = tracing_subscriber::registry().with(TraceLayer::new().filtered()).with(lines.clone());
    let event = |number: u32| tracing::info!(name: "event", number);
    tracing::subscriber::with_default(subscriber, || {
        event(1);
        let recording = Recording::start(RecordingOptions::new(&path)).unwrap();
        event(2);
        recording.pause();
        event(3);
        recording.resume();
        event(4);
        recording.finish();
        event(5);
    });
    assert_eq!(lines.0.lock().unwrap().len(), 5);
    let found: Vec<_> = read(&path, false).iter().map(|event| event["payload"]["number"].clone()).collect();
    assert_eq!(found, [2, 4]);
}
