//! `read_trace`: events as rows with typed columns. `trace_events`: the columns that all events share.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::Arc;

use ichnos::model::running_thread::RunningParts;
use ichnos::query::{QueryError, TraceQuery};
use ichnos::table::{TableOptions, TimestampUnit};
use ichnos::tables::{EventColumn, EventScan, all_columns, shared_columns};

use crate::arrow_type::column_type;
use crate::column_cache::KnownColumns;
use crate::duckdb::{Bound, CallArguments, Chunk, Parameter, TableFunction};
use crate::event_rows::EventThread;
use crate::query_texts::{self, READING};

/// Function that returns events.
pub(crate) trait EventFunction: 'static {
    /// Name in SQL.
    const NAME: &'static CStr;

    /// Returns the columns.
    fn columns(query: &TraceQuery, options: &TableOptions) -> Result<Vec<EventColumn>, QueryError>;
}

/// `read_trace`.
pub(crate) struct AllColumns;

impl EventFunction for AllColumns {
    const NAME: &'static CStr = c"read_trace";

    fn columns(query: &TraceQuery, options: &TableOptions) -> Result<Vec<EventColumn>, QueryError> {
        all_columns(query, options)
    }
}

/// `trace_events`.
pub(crate) struct Spine;

impl EventFunction for Spine {
    const NAME: &'static CStr = c"trace_events";

    fn columns(query: &TraceQuery, options: &TableOptions) -> Result<Vec<EventColumn>, QueryError> {
        shared_columns(query, options)
    }
}

/// Table function of events.
pub(crate) struct EventTable<F>(PhantomData<F>);

/// A call.
pub(crate) struct Call {
    query: Arc<TraceQuery>,
    columns: Vec<EventColumn>,
    options: TableOptions,
}

impl<F: EventFunction> TableFunction for EventTable<F> {
    const NAME: &'static CStr = F::NAME;
    const PARAMETERS: &'static [Parameter] = READING;
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
        // The columns of the running thread belong to the event, as in other tables.
        let query = TraceQuery::open(query_texts::all(arguments)?, RunningParts::ThreadAndProcess);
        let query = query.map_err(|error| error.to_string())?;
        let columns = match KnownColumns::find(F::NAME, &query, &options) {
            Ok(known) => known,
            Err(key) => {
                let columns = F::columns(&query, &options).map_err(|error| error.to_string())?;
                KnownColumns::add(key, &columns);
                columns
            }
        };
        let of = |column: EventColumn| Some((column_type(column.data_type())?, column));
        let (types, columns): (Vec<_>, Vec<_>) = columns.into_iter().filter_map(of).unzip();
        let typed = columns.iter().map(|column| column.name().to_owned()).zip(types).collect();
        let rows = Some(query.estimated_events());
        Ok(Bound { columns: typed, rows, call: Call { query: Arc::new(query), columns, options } })
    }

    fn scan(call: &Call, columns: &[Option<usize>]) -> Result<EventScan, String> {
        let wanted = columns.iter().map(|column| column.and_then(|column| call.columns.get(column)).cloned());
        let scan = EventScan::new(&call.query, wanted.collect(), &call.options);
        scan.map_err(|error| error.to_string())
    }

    fn threads(scan: &EventScan) -> u64 {
        scan.most_readers() as u64
    }

    fn thread(_: &Call, scan: &EventScan) -> Result<EventThread, String> {
        Ok(EventThread::new(scan))
    }

    fn fill(
        _: &Call,
        scan: &EventScan,
        thread: &mut EventThread,
        chunk: &mut Chunk<'_>,
    ) -> Result<usize, String> {
        thread.fill(scan, chunk)
    }
}
