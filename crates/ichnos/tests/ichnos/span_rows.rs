//! Spans as rows, compared with what Google's trace processor finds.

use std::path::Path;
use std::sync::Arc;

use ichnos::query::QueryTexts;
use ichnos::table::arrow_array::Array as _;
use ichnos::table::arrow_array::cast::AsArray as _;
use ichnos::table::arrow_array::types::{Int64Type, UInt64Type};
use ichnos::tables::{TraceRows, TraceTable};
use ichnos_testing::recorded;
use serde_json::{Value as Json, json};

use crate::viewers::{all_rows, convert, examples, open, processor};

/// Returns begin, duration, name, depth and thread of spans with an end, sorted.
fn span_rows(trace: &Path) -> Vec<String> {
    let query = TraceTable::Spans.open(QueryTexts::new([trace.to_owned()])).unwrap();
    let mut rows = Vec::new();
    for batch in TraceRows::new(Arc::new(query), TraceTable::Spans).unwrap() {
        let batch = batch.unwrap();
        let column = |name: &str| Arc::clone(batch.column_by_name(name).unwrap());
        let number = |name: &str| column(name).as_primitive::<Int64Type>().clone();
        let [begins, durations, depths] = ["begin_ts", "duration", "nesting"].map(number);
        let [names, keys, threads] = ["name", "key", "thread"].map(column);
        for row in (0..batch.num_rows()).filter(|row| durations.is_valid(*row) && durations.value(*row) > 0) {
            // A span with a key has a track of its own.
            let is_on_thread = keys.is_null(row) && threads.is_valid(row);
            let thread = is_on_thread.then(|| threads.as_primitive::<UInt64Type>().value(row));
            let name = names.as_string::<i32>().value(row);
            let [ts, dur, depth] = [&begins, &durations, &depths].map(|column| column.value(row));
            rows.push(json!([ts, dur, name, depth, thread]).to_string());
        }
    }
    rows.sort();
    rows
}

/// Returns the same of a slice. The trace processor prints large numbers as texts.
fn slice(row: &str) -> String {
    let row: Json = serde_json::from_str(row).unwrap();
    let ts = row["ts"].as_i64().or_else(|| row["ts"].as_str()?.parse().ok());
    json!([ts, row["dur"], row["name"], row["depth"], row["tid"]]).to_string()
}

/// The trace processor finds the same spans in a Fuchsia trace itself, and in a kernel trace that is converted for it.
#[test]
fn spans_equal_slices_of_the_trace_processor() {
    const SLICES: &str = "select ts, dur, slice.name as name, depth, tid from slice \
        left join thread_track t on track_id = t.id left join thread using (utid) where dur > 0";
    let Some(processor) = processor("spans_equal_slices_of_the_trace_processor") else { return };
    let directory = tempfile::tempdir().unwrap();
    let kernel = recorded("ctf/real/tracecompass/bug446190");
    let converted = kernel.map(|trace| (convert(&open(&trace), "perfetto", directory.path()), trace));
    let frames = examples().join("hello-fxt/frames.fxt");
    for (file, trace) in [Some((frames.clone(), frames)), converted].into_iter().flatten() {
        let rows = all_rows(&processor, &file, &[SLICES]).pop().unwrap();
        let mut wanted: Vec<String> = rows.iter().map(|row| slice(row)).collect();
        wanted.sort();
        let found = span_rows(&trace);
        let differing = wanted.iter().zip(&found).find(|(wanted, found)| wanted != found);
        assert_eq!(differing, None, "{}", trace.display());
        assert_eq!(found.len(), wanted.len(), "{}", trace.display());
        assert!(found.len() > 5, "{}", trace.display());
    }
}
