//! OpenTelemetry requests, compared with the original traces as other programs read them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichnos::convert::ConvertOptions;
use ichnos::{OpenOptions, Session};
use ichnos_model::Window;
use ichnos_testing::{TraceProcessor, find_python};
use serde_json::Value as Json;

use crate::missing::check_otlp;
use crate::viewers::{examples, open, writer};

pub(crate) const EXAMPLES: [&str; 7] = [
    "hello-lttng",
    "hello-ctf2",
    "hello-dotnet/hello.nettrace.zst",
    "hello-jsonl",
    "hello-xtrace",
    "hello-fuchsia",
    "hello-fxt",
];

/// Returns the files with this extension in a directory with recorded traces.
fn recorded(directory: &str, extension: &str) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = ichnos_testing::recorded(directory).into_iter().collect();
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => directories.push(path),
                Some(found) if found == extension => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// Converts a trace to a file.
pub(crate) fn convert(session: &Session, viewer: &'static str, signal: Option<&str>, path: &Path) {
    let mut options = ConvertOptions::default();
    options.write.existing = ichnos_io::ExistingOutput::Replace;
    if let Some(signal) = signal {
        let formats = &mut options.write.formats;
        formats.set(viewer, writer(viewer).options(), "signal", OsStr::new(signal)).unwrap();
    }
    let reader = session.reader().unwrap();
    reader.convert(writer(viewer), Some(path.to_owned()), &options).unwrap();
}

/// Returns the elements with these names in all lines, each with its resource and scope.
pub(crate) fn elements(path: &Path, names: [&str; 3]) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut all = Vec::new();
    for line in text.lines() {
        let request: Json = serde_json::from_str(line).unwrap();
        for resource in request[names[0]].as_array().into_iter().flatten() {
            for scope in resource[names[1]].as_array().unwrap() {
                all.extend(scope[names[2]].as_array().unwrap().iter().cloned());
            }
        }
    }
    all
}

/// Returns the elements for all signals as JSON lines, each with its resource and scope.
pub(crate) fn all_elements(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in text.lines() {
        let request: Json = serde_json::from_str(line).unwrap();
        for resource in request.as_object().unwrap().values().flat_map(|list| list.as_array().unwrap()) {
            let scopes = resource.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("scope"));
            for scope in scopes.flat_map(|(_, list)| list.as_array().unwrap()) {
                let around =
                    [&resource["resource"], &resource["schemaUrl"], &scope["scope"], &scope["schemaUrl"]];
                let elements = ["spans", "logRecords", "metrics"].map(|name| scope.get(name));
                for element in elements.into_iter().flatten().flat_map(|list| list.as_array().unwrap()) {
                    all.push(serde_json::to_string(&(around, element)).unwrap());
                }
            }
        }
    }
    all
}

pub(crate) fn spans(path: &Path) -> Vec<Json> {
    elements(path, ["resourceSpans", "scopeSpans", "spans"])
}

fn time(value: &Json) -> i64 {
    value.as_str().unwrap().parse().unwrap()
}

/// OpenTelemetry's own library reads the same messages from JSON Lines and from protobuf.
#[test]
fn opentelemetry_reads_both_encodings() {
    let test = "opentelemetry_reads_both_encodings";
    let Some(python) = find_python(test, "opentelemetry.proto.trace.v1.trace_pb2") else { return };
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("otlp.py");
    std::fs::write(&script, include_str!("otlp.py")).unwrap();
    let read = |paths: &[PathBuf]| {
        let output = Command::new(&python).arg(&script).args(paths).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let mut counts = BTreeMap::new();
    for example in EXAMPLES {
        let session = open(&examples().join(example));
        let json = directory.path().join("all.jsonl");
        convert(&session, "otlp", None, &json);
        let protobuf = ["traces", "logs", "metrics"].map(|signal| {
            let path = directory.path().join(format!("all.{signal}"));
            convert(&session, "otlp-protobuf", Some(signal), &path);
            path
        });
        let mut of_json: Vec<String> = read(std::slice::from_ref(&json)).lines().map(str::to_owned).collect();
        let mut of_protobuf: Vec<String> = read(&protobuf).lines().map(str::to_owned).collect();
        of_json.sort();
        of_protobuf.sort();
        assert!(!of_json.is_empty(), "{example}");
        assert!(of_json == of_protobuf, "{example}: the encodings differ");
        for row in of_json {
            let row: Json = serde_json::from_str(&row).unwrap();
            *counts.entry(row[0].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["log_records", "metrics", "spans"]);
}

/// Every event is in the file once: as a span, a span end, a span event, a log record or values.
#[test]
fn every_event_of_other_formats_arrives() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("all.jsonl");
    for example in EXAMPLES {
        let session = open(&examples().join(example));
        convert(&session, "otlp", None, &path);
        check_otlp(&path);
        let spans = spans(&path);
        let of_spans: usize = spans.iter().map(|span| span["events"].as_array().map_or(0, Vec::len)).sum();
        // An operation or an event with a duration is one span. Other spans need two events. Both have an end.
        let has_end = |span: &&Json| {
            let attributes = span["attributes"].as_array().unwrap();
            attributes.iter().any(|attribute| attribute["key"].as_str().unwrap().starts_with("end."))
        };
        let ends = spans.iter().filter(has_end).count();
        let logs = elements(&path, ["resourceLogs", "scopeLogs", "logRecords"]);
        let logs = logs.iter().filter(|log| !log["eventName"].is_null()).count();
        let metrics = elements(&path, ["resourceMetrics", "scopeMetrics", "metrics"]);
        let values: usize =
            metrics.iter().map(|metric| metric["gauge"]["dataPoints"].as_array().unwrap().len()).sum();
        let mut events = 0;
        let mut cursor = session.cursor(Window::default()).unwrap();
        ichnos_flow::pump(&mut cursor, &mut Counter(&mut events)).unwrap();
        // The counter in the example has two values.
        assert_eq!(spans.len() + of_spans + ends + logs + values / 2, events, "{example}");
    }
}

struct Counter<'c>(&'c mut usize);

impl ichnos_model::Sink for Counter<'_> {
    fn message(&mut self, message: &ichnos_model::Message<'_>) -> std::io::Result<std::ops::ControlFlow<()>> {
        *self.0 += usize::from(matches!(message, ichnos_model::Message::Event(_)));
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

/// Spans have the same starts, durations, names and parents as the slices that Google's trace processor reads from the
/// original.
#[test]
fn fxt_spans_equal_trace_processor_slices() {
    const QUERY: &str = "select s.ts, s.dur, s.name, p.name as parent from slice s left join slice p on s.parent_id = p.id where s.dur > 0";
    let test = "fxt_spans_equal_trace_processor_slices";
    let Some(processor) = TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR"))) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spans.jsonl");
    let recorded = recorded("fuchsia/magic-trace", "fxt");
    for original in std::iter::once(examples().join("hello-fxt/frames.fxt")).chain(recorded) {
        convert(&open(&original), "otlp", Some("traces"), &path);
        let spans = spans(&path);
        let names: BTreeMap<&str, &str> = spans
            .iter()
            .map(|span| (span["spanId"].as_str().unwrap(), span["name"].as_str().unwrap()))
            .collect();
        // The trace processor lacks dates if only trace records have them.
        let origin = |slices: &[(i64, i64, String, Option<String>)]| {
            slices.iter().map(|slice| slice.0).min().unwrap_or(0)
        };
        let mut found: Vec<(i64, i64, String, Option<String>)> = spans
            .iter()
            .filter(|span| span.get("endTimeUnixNano").is_some())
            .map(|span| {
                let begin = time(&span["startTimeUnixNano"]);
                let parent = span["parentSpanId"].as_str().map(|parent| names[parent].to_owned());
                let name = span["name"].as_str().unwrap().to_owned();
                (begin, time(&span["endTimeUnixNano"]) - begin, name, parent)
            })
            .filter(|(_, duration, ..)| *duration > 0)
            .collect();
        let answer = processor.query(&original, &[QUERY]);
        let mut wanted: Vec<(i64, i64, String, Option<String>)> = answer
            .lines()
            .map(|row| {
                let row: Json = serde_json::from_str(row).unwrap();
                let text = |name: &str| row[name].as_str().map(str::to_owned);
                (
                    row["ts"].as_i64().unwrap(),
                    row["dur"].as_i64().unwrap(),
                    text("name").unwrap(),
                    text("parent"),
                )
            })
            .collect();
        assert!(!wanted.is_empty(), "{}", original.display());
        let later = origin(&found) - origin(&wanted);
        wanted.iter_mut().for_each(|slice| slice.0 += later);
        found.sort();
        wanted.sort();
        println!("    {}: {} spans", original.display(), found.len());
        assert_eq!(found.len(), wanted.len(), "{}", original.display());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "{}", original.display());
        }
    }
}

/// Each X-Trace report is a span, and each of its edges is the parent or a link.
#[test]
fn reports_are_spans_and_edges_are_parents_or_links() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spans.jsonl");
    let original = examples().join("hello-xtrace/proxy.reports");
    let text = std::fs::read_to_string(&original).unwrap();
    let lines = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
    convert(&open(&original), "otlp", None, &path);
    let spans = spans(&path);
    assert_eq!(spans.len(), lines("X-Trace Report"));
    let parents = spans.iter().filter(|span| span.get("parentSpanId").is_some()).count();
    let links: usize = spans.iter().map(|span| span["links"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(parents + links, lines("Edge:"));
    assert_eq!(
        parents,
        text.lines().filter(|line| line.starts_with("Edge:") && line.ends_with("down")).count()
    );
    // Identifiers are those in the reports, padded with zeros.
    let send = spans.iter().find(|span| span["spanId"] == "000000000f0f0f0f").unwrap();
    assert_eq!(send["traceId"], "00000000000000000acade2007050801");
    assert_eq!(send["parentSpanId"], "000000000c0c0c0c");
    assert_eq!(send["name"], "send");
}

/// Log lines that name a trace and a span (in fields, in a text, or as `traceparent`) have their identifiers.
const NAMED: &str = r#"{"ts":1794000000000000001,"name":"fields","payload":{"trace_id":"00000000000000000acade2007050801","span_id":"000000000f0f0f0f","n":1}}
{"ts":1794000000000000002,"name":"text","payload":{"message":"sent trace_id=00000000000000000acade2007050801 span_id=000000000f0f0f0f"}}
{"ts":1794000000000000003,"name":"json","payload":{"line":"{\"SpanId\":\"000000000F0F0F0F\",\"TraceId\":\"00000000000000000ACADE2007050801\"}"}}
{"ts":1794000000000000004,"name":"parent","payload":{"header":"00-00000000000000000acade2007050801-000000000f0f0f0f-01"}}
{"ts":1794000000000000005,"name":"trace alone","payload":{"trace_id":"00000000000000000acade2007050801"}}
{"ts":1794000000000000006,"name":"other","payload":{"md5":"00000000000000000acade2007050801","span_id":"000000000f0f0f0f"}}
"#;

#[test]
fn log_records_have_the_identifiers_in_events() {
    let directory = tempfile::tempdir().unwrap();
    let [lines, path] = ["a.jsonl", "a.otlp.jsonl"].map(|name| directory.path().join(name));
    std::fs::write(&lines, NAMED).unwrap();
    let session = ichnos::open([examples().join("hello-xtrace"), lines], &OpenOptions::default()).unwrap();
    convert(&session, "otlp", None, &path);
    let spans = spans(&path);
    let send = spans.iter().find(|span| span["spanId"] == "000000000f0f0f0f").unwrap();
    let records = elements(&path, ["resourceLogs", "scopeLogs", "logRecords"]);
    assert_eq!(records.len(), 6);
    for (index, record) in records.iter().enumerate() {
        let of_send = ["traceId", "spanId"].map(|id| record.get(id) == send.get(id));
        assert_eq!(of_send, [index < 4; 2], "{record}");
        assert_eq!(record.get("traceId").is_some(), index < 4, "{record}");
    }
}

/// Edges in real tasks become parents or links, except the zero edge that marks the first report.
#[test]
fn edges_of_recorded_tasks_are_parents_or_links() {
    let files = recorded("xtrace/brown", "json");
    if files.is_empty() {
        println!("skipped: no recorded trace in xtrace/brown");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spans.jsonl");
    for original in files {
        let tasks: Json = serde_json::from_slice(&std::fs::read(&original).unwrap()).unwrap();
        let reports = tasks[0]["reports"].as_array().unwrap();
        let edges = reports.iter().flat_map(|report| report["Edge"].as_array().into_iter().flatten());
        let edges = edges.filter(|edge| !edge.as_str().unwrap().trim_matches('0').is_empty()).count();
        convert(&open(&original), "otlp", Some("traces"), &path);
        let spans = spans(&path);
        assert_eq!(spans.len(), reports.len());
        let parents = spans.iter().filter(|span| span.get("parentSpanId").is_some()).count();
        let links: usize = spans.iter().map(|span| span["links"].as_array().map_or(0, Vec::len)).sum();
        assert_eq!(parents + links, edges, "{}", original.display());
    }
}

/// Without a signal, protobuf contains spans: a trace without spans is an error, and no file appears.
#[test]
fn a_trace_without_spans_needs_a_signal_in_protobuf() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.otlp");
    let session = open(&examples().join("hello-fuchsia"));
    let reader = session.reader().unwrap();
    let options = ConvertOptions::default();
    let error = reader.convert(writer("otlp-protobuf"), Some(path.clone()), &options).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("no spans to write"), "{text}");
    assert!(text.ends_with("log records and 0 counter values"), "{text}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    for (signal, has_content) in [("logs", true), ("traces", false)] {
        convert(&session, "otlp-protobuf", Some(signal), &path);
        assert_eq!(std::fs::metadata(&path).unwrap().len() > 0, has_content, "{signal}");
    }
}

/// An output name with `.gz` creates a compressed file with the same content.
#[test]
fn compressed_files_have_the_same_content() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(&examples().join("hello-fxt/frames.fxt"));
    for name in ["a.otlp.jsonl", "a.otlp", "a.otlp.pb", "a.profile.json", "a.json", "a.b.jsonl"] {
        let format = ichnos::convert::target(None, Path::new(name), None).unwrap().format;
        let compressed = format!("{name}.gz");
        let Some(of_compressed) = ichnos::convert::target(None, Path::new(&compressed), None) else {
            assert_eq!(format, "jsonl");
            continue;
        };
        assert_eq!(of_compressed.format, format);
        let paths = [name, &compressed].map(|name| directory.path().join(name));
        paths.iter().for_each(|path| convert(&session, format, None, path));
        let mut content = Vec::new();
        let packed = std::fs::File::open(&paths[1]).unwrap();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut content).unwrap();
        assert_eq!(content, std::fs::read(&paths[0]).unwrap(), "{name}");
    }
}
