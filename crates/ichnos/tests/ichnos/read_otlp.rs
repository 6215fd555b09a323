//! OpenTelemetry requests as input: what ichnos writes is read again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ichnos::Session;
use ichnos_model::meaning::{CauseKind, EventRole, Identifier, Meaning};
use serde_json::Value as Json;

use crate::otlp::{EXAMPLES, convert, elements, spans};
use crate::viewers::{examples, open};

const SHOP: &str = "hello-otlp/shop.otlp.jsonl";

/// Counts events by role.
fn roles(session: &Session) -> BTreeMap<&'static str, usize> {
    let mut roles = BTreeMap::new();
    let mut events = session.events().unwrap();
    while let Some(event) = events.next_event() {
        *roles.entry(event.class.role.name()).or_insert(0) += 1;
    }
    assert_eq!(events.loss().damages, 0);
    roles
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Every element of written requests is read: two events for a span, one for each other element.
#[test]
fn written_requests_are_read() {
    let directory = tempfile::tempdir().unwrap();
    for example in EXAMPLES.into_iter().chain([SHOP]) {
        let session = open(&examples().join(example));
        let json = directory.path().join("all.jsonl");
        convert(&session, "otlp", None, &json);
        let read = open(&json);
        assert!(read.traces().iter().all(|trace| trace.format() == "otlp"), "{example}");
        let found = roles(&read);
        let spans = spans(&json);
        let events: usize = spans.iter().map(|span| span["events"].as_array().map_or(0, Vec::len)).sum();
        let logs = elements(&json, ["resourceLogs", "scopeLogs", "logRecords"]).len();
        let kinds = ["gauge", "sum", "histogram"];
        let metrics = elements(&json, ["resourceMetrics", "scopeMetrics", "metrics"]);
        let points: usize = metrics
            .iter()
            .flat_map(|metric| kinds.map(|kind| metric[kind]["dataPoints"].as_array().map_or(0, Vec::len)))
            .sum();
        let count = |role: EventRole| found.get(role.name()).copied().unwrap_or_default();
        assert_eq!((count(EventRole::Begin), count(EventRole::End)), (spans.len(), spans.len()), "{example}");
        assert_eq!(
            (count(EventRole::Instant), count(EventRole::Counter)),
            (events + logs, points),
            "{example}"
        );
        // In protobuf, each signal is a file.
        let mut of_protobuf = BTreeMap::new();
        for signal in ["traces", "logs", "metrics"] {
            let path = directory.path().join(format!("all.{signal}"));
            convert(&session, "otlp-protobuf", Some(signal), &path);
            if std::fs::metadata(&path).unwrap().len() > 0 {
                roles(&open(&path))
                    .into_iter()
                    .for_each(|(role, count)| *of_protobuf.entry(role).or_insert(0) += count);
            }
        }
        assert_eq!(of_protobuf, found, "{example}");
    }
}

/// Identity of a span: trace, span, parent, name, start, end.
type SpanIdentity = (String, String, String, String, String, String);

fn identities(path: &Path) -> BTreeSet<SpanIdentity> {
    let identity = |span: &Json| {
        let [trace, id, parent] = ["traceId", "spanId", "parentSpanId"].map(|name| text(&span[name]));
        let [name, start, end] =
            ["name", "startTimeUnixNano", "endTimeUnixNano"].map(|name| text(&span[name]));
        (trace, id, parent, name, start, end)
    };
    spans(path).iter().map(identity).collect()
}

/// Spans keep their identifiers, names and times from requests to requests.
#[test]
fn spans_stay_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let original = examples().join(SHOP);
    let written = directory.path().join("again.jsonl");
    convert(&open(&original), "otlp", None, &written);
    let expected = identities(&original);
    assert_eq!(expected.len(), 9);
    assert_eq!(identities(&written), expected);
}

/// Spans of both services and their log records belong to one task.
#[test]
fn spans_are_operations_of_a_task() {
    let session = open(&examples().join("hello-otlp"));
    let mut tasks: BTreeMap<Identifier, BTreeSet<Identifier>> = BTreeMap::new();
    let mut parents = BTreeSet::new();
    let mut services = BTreeSet::new();
    let mut events = session.events().unwrap();
    while let Some(event) = events.next_event() {
        let id = |meaning| Identifier::from_value(&event.meaning(meaning)?);
        if let (Some(task), Some(operation)) = (id(Meaning::TaskId), id(Meaning::OperationId)) {
            tasks.entry(task).or_default().insert(operation);
        }
        parents.extend(id(Meaning::Cause(CauseKind::Parent)));
        services
            .extend(event.meaning(Meaning::ProcessName).and_then(|name| name.as_str().map(str::to_owned)));
    }
    assert_eq!(tasks.values().map(BTreeSet::len).collect::<Vec<_>>(), [3, 3, 3]);
    let all: BTreeSet<Identifier> = tasks.values().flatten().copied().collect();
    assert!(parents.len() == 6 && parents.is_subset(&all));
    assert_eq!(services.into_iter().collect::<Vec<_>>(), ["cart", "stock"]);
}
