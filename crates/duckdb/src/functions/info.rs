//! `trace_info`: traces and their data streams.

use std::collections::VecDeque;
use std::ffi::CStr;

use ichnos::Session;
use ichnos::model::OpenedTrace;
use ichnos::model::class::Value;
use ichnos::model::clock::ClockOrigin;
use ichnos::model::trace::StreamSummary;

use crate::duckdb::{CallArguments, ColumnType, Parameter};
use crate::query;
use crate::rows::{RowSource, SqlRow};

/// The table.
pub(crate) struct Info;

impl RowSource for Info {
    const NAME: &'static CStr = c"trace_info";
    const PARAMETERS: &'static [Parameter] = &[];
    const COLUMNS: &'static [(&'static str, ColumnType)] = &[
        ("trace", ColumnType::Text),
        ("trace_name", ColumnType::Text),
        ("format", ColumnType::Text),
        ("dialect", ColumnType::Text),
        ("tracer", ColumnType::Text),
        ("host", ColumnType::Text),
        ("stream", ColumnType::Int32),
        ("stream_name", ColumnType::Text),
        ("packets", ColumnType::UInt64),
        ("bytes", ColumnType::UInt64),
        ("begin_ts", ColumnType::Int64),
        ("end_ts", ColumnType::Int64),
        ("discarded_events", ColumnType::UInt64),
        ("discarded_packets", ColumnType::UInt64),
        ("clock", ColumnType::Text),
        ("clock_frequency", ColumnType::UInt64),
        ("counts_from_1970", ColumnType::Boolean),
    ];
    type Call = Session;
    /// Next trace, and number of its first data stream.
    type State = (usize, usize);

    fn bind(arguments: &CallArguments) -> Result<Session, String> {
        query::open(arguments)
    }

    fn start(_: &Session, _: &[usize]) -> Result<(usize, usize), String> {
        Ok((0, 0))
    }

    fn read(
        session: &Session,
        next: &mut (usize, usize),
        rows: &mut VecDeque<SqlRow>,
    ) -> Result<bool, String> {
        let Some(trace) = session.traces().get(next.0) else { return Ok(false) };
        next.0 += 1;
        trace.for_each_stream(&mut |summary| {
            rows.push_back(row(trace.as_ref(), next.1, &summary));
            next.1 += 1;
        });
        Ok(next.0 < session.traces().len())
    }
}

fn row(trace: &dyn OpenedTrace, number: usize, summary: &StreamSummary) -> SqlRow {
    let class = &trace.trace().class;
    let host = match class.environment("hostname") {
        Some(Value::Text(host)) => Some(host.as_str()),
        _ => None,
    };
    let clock = summary.stream.clock();
    vec![
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
    ]
}
