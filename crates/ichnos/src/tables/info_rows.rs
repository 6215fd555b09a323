//! Traces and their data streams.

use ichnos_model::OpenedTrace;
use ichnos_model::class::Value;
use ichnos_model::clock::ClockOrigin;
use ichnos_model::trace::StreamSummary;
use ichnos_table::RecordRows;
use ichnos_table::arrow_schema::DataType;

use super::row_source::{RowColumns, RowSource, row_error};
use crate::query::{QueryError, TraceQuery};

/// Columns.
pub(super) const COLUMNS: RowColumns = &[
    ("trace", DataType::Utf8),
    ("trace_name", DataType::Utf8),
    ("format", DataType::Utf8),
    ("dialect", DataType::Utf8),
    ("tracer", DataType::Utf8),
    ("host", DataType::Utf8),
    ("stream", DataType::Int32),
    ("stream_name", DataType::Utf8),
    ("packets", DataType::UInt64),
    ("bytes", DataType::UInt64),
    ("begin_ts", DataType::Int64),
    ("end_ts", DataType::Int64),
    ("discarded_events", DataType::UInt64),
    ("discarded_packets", DataType::UInt64),
    ("clock", DataType::Utf8),
    ("clock_frequency", DataType::UInt64),
    ("counts_from_1970", DataType::Boolean),
];

/// Makes the rows of one trace after the other.
#[derive(Default)]
pub(super) struct InfoRows {
    /// Next trace.
    next: usize,
    /// Number of its first data stream.
    stream: usize,
}

impl RowSource for InfoRows {
    fn read(
        &mut self,
        query: &TraceQuery,
        rows: &mut RecordRows,
        _: &mut dyn FnMut() -> bool,
    ) -> Result<bool, QueryError> {
        let Some(trace) = query.session().traces().get(self.next) else { return Ok(false) };
        self.next += 1;
        let mut added = Ok(());
        trace.for_each_stream(&mut |summary| {
            if added.is_ok() {
                added = add(trace.as_ref(), self.stream, &summary, rows);
            }
            self.stream += 1;
        });
        added.map(|()| true)
    }
}

fn add(
    trace: &dyn OpenedTrace,
    number: usize,
    summary: &StreamSummary,
    rows: &mut RecordRows,
) -> Result<(), QueryError> {
    let class = &trace.trace().class;
    let host = match class.environment("hostname") {
        Some(Value::Text(host)) => Some(host.as_str()),
        _ => None,
    };
    let clock = summary.stream.clock();
    let row = [
        trace.path().into(),
        trace.trace().name.as_str().into(),
        trace.format().into(),
        class.dialect.as_str().into(),
        class.tracer().into(),
        host.into(),
        number.into(),
        (&*summary.stream.name).into(),
        summary.packets.into(),
        summary.bytes.into(),
        summary.time_range.map(|(begin, _)| begin).into(),
        summary.time_range.map(|(_, end)| end).into(),
        summary.discarded_events.into(),
        summary.discarded_packets.into(),
        clock.map(|clock| clock.name.as_deref().unwrap_or(&clock.id)).into(),
        clock.map(|clock| clock.frequency).into(),
        clock.map(|clock| clock.origin == ClockOrigin::UnixEpoch).into(),
    ];
    rows.add(&row).map_err(row_error)
}
