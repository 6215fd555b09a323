//! Messages that OpenTelemetry's own library writes.

use std::process::Command;

use ichnos_testing::find_python;

use crate::support::{print, without_deltas};

/// Scope of all events.
const SCOPE: &str = r#", { otel.scope.name = "lib", otel.scope.version = "3", beta = true }"#;

/// Events of the messages, without their scope.
const EXPECTED: &[&str] = &[
    r#"[2.000000000] GET /:begin: { trace_id = "000102030405060708090a0b0c0d0e0f", span_id = "0001020304050607", linked_span_ids = [ [0] = "0102030405060708" ] }, { span = 0x1020304050607, kind = "server", links = [ [0] = { trace_id = "000102030405060708090a0b0c0d0e0f", span_id = "0102030405060708" } ], trace_state = "a=b", flags = 257, dropped_attributes = 1, big = -9223372036854775808, nested = { bytes = { 00 ff }, list = [ [0] = 0.25, [1] = -1e+09 ] } }"#,
    r#"[2.000000100] query:begin: { trace_id = "000102030405060708090a0b0c0d0e0f", span_id = "0102030405060708", parent_span_id = "0001020304050607" }, { span = 0x102030405060708 }"#,
    r#"[2.000000150] log: { trace_id = "000102030405060708090a0b0c0d0e0f", span_id = "0102030405060708" }, { severity = 13, severity_text = "WARN", message = "slow", observed_time = 1970-01-01T00:00:02.000000160Z }"#,
    r#"[2.000000200] query:end: { trace_id = "000102030405060708090a0b0c0d0e0f", span_id = "0102030405060708" }, { span = 0x102030405060708, status = "error", status_message = "no" }"#,
    r#"[2.000000300] hits: { }, { metric = "hits", series = "k=v", value = 12, temporality = "cumulative", monotonic = true, start_time = 1970-01-01T00:00:00.000000001Z, k = "v" }"#,
    r#"[2.000000400] times: { }, { count = 3, sum = 0.5, bucket_counts = [ [0] = 1, [1] = 2 ], explicit_bounds = [ [0] = 0.125 ], temporality = "delta" }"#,
    r#"[2.000000410] sizes: { }, { count = 4, sum = 8, scale = 1, positive_offset = -2, positive_counts = [ [0] = 3, [1] = 300 ], zero_threshold = 0.25, exemplars = [ [0] = { time = 1970-01-01T00:00:00.000000007Z, value = 0.5, span_id = "0102030405060708", attributes = [ [0] = { name = "n", integer = 1 } ] } ] }"#,
    r#"[2.000000420] old: { }, { count = 5, sum = 9, quantiles = [ [0] = { quantile = 0.5, value = 1 } ] }"#,
    r#"[2.000000500] half: { trace_id = "000102030405060708090a0b0c0d0e0f", span_id = "0001020304050607" }, { n = 1 }"#,
    r#"[2.000000900] GET /:end: { trace_id = "000102030405060708090a0b0c0d0e0f", span_id = "0001020304050607" }, { span = 0x1020304050607, status = "ok" }"#,
];

#[test]
fn opentelemetry_messages_are_read() {
    let test = "opentelemetry_messages_are_read";
    let Some(python) = find_python(test, "opentelemetry.proto.collector.trace.v1.trace_service_pb2") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("messages.py");
    std::fs::write(&script, include_str!("messages.py")).unwrap();
    let output = Command::new(python).arg(&script).arg(directory.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |extension: &str| {
        let names = ["traces", "logs", "metrics"].map(|name| format!("{name}.{extension}"));
        let files = names.map(|name| (std::fs::read(directory.path().join(&name)).unwrap(), name));
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(bytes, name)| (name.as_str(), &bytes[..])).collect();
        without_deltas(&print(&files))
    };
    let lines = read("pb");
    assert_eq!(read("json"), lines);
    assert!(lines.iter().all(|line| line.contains(SCOPE)), "{lines:?}");
    let lines: Vec<String> = lines.iter().map(|line| line.replace(SCOPE, "")).collect();
    assert_eq!(lines, EXPECTED);
}
