//! `read_trace`: events as rows with typed columns. `trace_events`: the columns that all events share.

use std::ffi::CStr;
use std::marker::PhantomData;

use ichnos::table::{TableOptions, TimestampUnit};

use crate::column_cache::KnownColumns;
use crate::columns::{columns, spine};
use crate::duckdb::{Bound, CallArguments, Chunk, Parameter, TableFunction};
use crate::event_rows::{EventColumn, EventScan, EventThread};
use crate::query::Query;

/// Function that returns events.
pub(crate) trait EventFunction: 'static {
    /// Name in SQL.
    const NAME: &'static CStr;

    /// Returns the columns.
    fn columns(query: &Query, options: &TableOptions) -> Result<Vec<EventColumn>, String>;
}

/// `read_trace`.
pub(crate) struct AllColumns;

impl EventFunction for AllColumns {
    const NAME: &'static CStr = c"read_trace";

    fn columns(query: &Query, options: &TableOptions) -> Result<Vec<EventColumn>, String> {
        Ok(columns(query, options)?.into_iter().map(Into::into).collect())
    }
}

/// `trace_events`.
pub(crate) struct Spine;

impl EventFunction for Spine {
    const NAME: &'static CStr = c"trace_events";

    fn columns(query: &Query, options: &TableOptions) -> Result<Vec<EventColumn>, String> {
        let mut columns: Vec<EventColumn> = spine(query, options)?.into_iter().map(Into::into).collect();
        columns.extend([EventColumn::Level, EventColumn::Message, EventColumn::Trace]);
        Ok(columns)
    }
}

/// Table function of events.
pub(crate) struct EventTable<F>(PhantomData<F>);

/// A call.
pub(crate) struct Call {
    query: Query,
    columns: Vec<EventColumn>,
    options: TableOptions,
}

impl<F: EventFunction> TableFunction for EventTable<F> {
    const NAME: &'static CStr = F::NAME;
    const PARAMETERS: &'static [Parameter] = &[c"event", c"filter", c"begin", c"end", c"timestamps"];
    type Call = Call;
    type Scan = EventScan;
    type Thread = EventThread;

    fn bind(arguments: &CallArguments) -> Result<Bound<Call>, String> {
        let mut options = TableOptions::default();
        options.timestamps = match arguments.text("timestamps")?.as_deref() {
            None => None,
            Some("micros") => Some(TimestampUnit::Micros),
            Some("nanos") => Some(TimestampUnit::Nanos),
            Some(other) => return Err(format!("timestamps: expected `micros` or `nanos`, found `{other}`")),
        };
        let query = Query::new(arguments)?;
        let columns = match KnownColumns::find(F::NAME, &query, &options) {
            Ok(known) => known,
            Err(key) => {
                let columns = F::columns(&query, &options)?;
                KnownColumns::add(key, &columns);
                columns
            }
        };
        let typed = columns.iter().map(EventColumn::declaration).collect();
        Ok(Bound { columns: typed, call: Call { query, columns, options } })
    }

    fn scan(call: &Call, columns: &[Option<usize>]) -> Result<EventScan, String> {
        EventScan::new(&call.query, &call.columns, columns, &call.options)
    }

    fn threads(scan: &EventScan) -> u64 {
        scan.threads()
    }

    fn thread(call: &Call, scan: &EventScan) -> Result<EventThread, String> {
        Ok(EventThread::new(&call.query, scan))
    }

    fn fill(
        call: &Call,
        scan: &EventScan,
        thread: &mut EventThread,
        chunk: &mut Chunk<'_>,
    ) -> Result<usize, String> {
        thread.fill(&call.query, scan, chunk)
    }
}
