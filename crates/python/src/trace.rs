//! Opened traces, as a Python object.

use std::sync::Arc;

use ichnos::analysis::schema::write_trace_class;
use ichnos::json::write::ValueWriter;
use ichnos::model::running_thread::RunningParts;
use ichnos::query::{QueryError, TraceQuery};
use ichnos::table::{TableOptions, TimestampUnit};
use ichnos::tables::{EventColumn, FoundClasses, TraceTable, find_classes};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arguments::{self, Opening, Selecting};
use crate::event_table::{self, EventOrder};
use crate::events::PythonEvents;
use crate::failure::{CallFailure, detached};
use crate::interrupts::Interrupts;
use crate::row_tables;
use crate::stats;
use crate::stoppable::{abandonable, processors};
use crate::table::{PythonTable, unknown_column};
use crate::text::shown;

/// Opened traces, on one timeline.
#[pyclass(frozen, module = "ichnos", name = "Trace")]
#[derive(Debug)]
pub(crate) struct PythonTrace {
    pub(crate) query: Arc<TraceQuery>,
    classes: FoundClasses,
}

/// Opens traces: files, directories and archives of any format.
///
/// Several traces are one timeline. `offset` corrects clocks: `"+3s"`, or nanoseconds, for all paths, or `{path: offset}`.
/// `map` names files of event maps, as for the command. `assume_correlated` puts clocks that nothing relates on one
/// timeline.
///
/// Raises `Error` if a path cannot be read.
#[pyfunction]
#[pyo3(signature = (paths, *, offset=None, map=None, assume_correlated=false))]
pub(crate) fn open(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    offset: Option<&Bound<'_, PyAny>>,
    map: Option<&Bound<'_, PyAny>>,
    assume_correlated: bool,
) -> PyResult<PythonTrace> {
    let texts = Opening { offset, map, assume_correlated }.texts(paths)?;
    // The columns of the running thread belong to the event, as in other tables.
    let query = abandonable(py, move || Ok(TraceQuery::open(texts, RunningParts::ThreadAndProcess)?))?;
    Ok(PythonTrace { query: Arc::new(query), classes: FoundClasses::default() })
}

impl PythonTrace {
    fn select(&self, py: Python<'_>, selecting: Selecting<'_, '_>) -> PyResult<Arc<TraceQuery>> {
        let texts = selecting.add_to(self.query.texts())?;
        let query = Arc::clone(&self.query);
        // A time from the end of the trace can need all its data.
        Ok(abandonable(py, move || Ok(Arc::new(query.select(texts)?)))?)
    }

    /// Returns the columns of selected events.
    fn columns(&self, query: &TraceQuery, options: &TableOptions) -> Result<Vec<EventColumn>, CallFailure> {
        Interrupts::default().during(|goes_on| self.classes.columns(&self.query, query, options, goes_on))
    }
}

#[pymethods]
impl PythonTrace {
    /// Paths of the traces.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.query.session().traces().iter().map(|trace| trace.path()))
    }

    /// Returns selected events.
    ///
    /// `event` names events, with `*`, `?`, `[a-z]` and `{a,b}`. `filter` is an expression: `"prev_tid == 3"`. `begin` and
    /// `end` are times: nanoseconds, `"+5s"` from the start, a date in UTC, a `datetime` with a time zone. `columns` selects
    /// columns, which saves the time to decode the others. `timestamps` adds the column `time`, `"micros"` or `"nanos"`.
    /// Events come in the order of time, or with `merge=False` one data stream after the other, which is faster: `threads`
    /// threads make the table, by default one for each processor.
    #[pyo3(signature = (*, event=None, filter=None, begin=None, end=None, columns=None, timestamps=None, merge=true,
        threads=None))]
    #[allow(clippy::too_many_arguments)]
    fn events(
        &self,
        py: Python<'_>,
        event: Option<&Bound<'_, PyAny>>,
        filter: Option<String>,
        begin: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        columns: Option<&Bound<'_, PyAny>>,
        timestamps: Option<&str>,
        merge: bool,
        threads: Option<usize>,
    ) -> PyResult<PythonEvents> {
        if merge && threads.is_some_and(|threads| threads > 1) {
            let message = "threads: one thread sorts events by time";
            return Err(CallFailure::new(message)
                .help("add merge=False for events that are not sorted")
                .into());
        }
        let mut options = TableOptions::default();
        options.timestamps = match timestamps {
            None => None,
            Some("micros") => Some(TimestampUnit::Micros),
            Some("nanos") => Some(TimestampUnit::Nanos),
            Some(other) => {
                let found = shown(other);
                let message = format!("timestamps: expected `micros` or `nanos`, found `{found}`");
                return Err(CallFailure::new(message).into());
            }
        };
        let wanted = columns.map(|columns| arguments::texts(Some(columns), "columns")).transpose()?;
        let query = self.select(py, Selecting { event, filter, begin, end })?;
        let columns = detached(py, || selected(self.columns(&query, &options)?, wanted.as_deref()))?;
        let order = if merge { EventOrder::Time } else { EventOrder::Stream };
        let threads = threads.unwrap_or_else(processors);
        let batches = event_table::batches(&query, columns.clone(), &options, order, threads);
        Ok(PythonEvents { query, options, columns, batches, order })
    }

    /// Data streams: traces, formats, packets, bytes, times, losses and clocks.
    #[getter]
    fn info(&self) -> PythonTable {
        row_tables::table(TraceTable::Info, &self.query)
    }

    /// Event record classes, with the number of their events.
    #[getter]
    fn classes(&self) -> PythonTable {
        row_tables::table(TraceTable::Classes, &self.query)
    }

    /// Discarded events and packets, and unreadable data with its file and byte.
    #[getter]
    fn losses(&self) -> PythonTable {
        row_tables::table(TraceTable::Losses, &self.query)
    }

    /// Classes with their fields, as `ichnos schema --json` describes them: one dictionary for each trace.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text =
            detached(py, || Interrupts::default().during(|goes_on| schema_text(&self.query, goes_on)))?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// Returns spans: what happened from one event to another, with duration, nesting and thread.
    #[pyo3(signature = (*, event=None, filter=None, begin=None, end=None))]
    fn spans(
        &self,
        py: Python<'_>,
        event: Option<&Bound<'_, PyAny>>,
        filter: Option<String>,
        begin: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PythonTable> {
        let query = self.select(py, Selecting { event, filter, begin, end })?;
        Ok(row_tables::table(TraceTable::Spans, &query))
    }

    /// Returns call stacks: each has the stack of its caller and a frame. `stack` is the key in the events.
    fn stacks(&self) -> PythonTable {
        row_tables::table(TraceTable::Stacks, &self.query)
    }

    /// Returns the frames of call stacks, with symbols and modules.
    fn frames(&self) -> PythonTable {
        row_tables::table(TraceTable::Frames, &self.query)
    }

    /// Returns tasks: operations that cause each other, across threads, machines and formats.
    fn tasks(&self) -> PythonTable {
        row_tables::table(TraceTable::Tasks, &self.query)
    }

    /// Returns which operation of a task caused which.
    fn edges(&self) -> PythonTable {
        row_tables::table(TraceTable::Edges, &self.query)
    }

    /// Returns statistics: one row for each group of events.
    ///
    /// `by` groups by `"event"`, `"stream"`, `"span"`, `"host"`, `"trace"`, `"level"`, or a field. `of` names a number, whose distribution is then
    /// returned. `spans=True` returns the distribution of the durations of spans, in nanoseconds.
    #[pyo3(signature = (by=None, *, of=None, spans=false, event=None, filter=None, begin=None, end=None))]
    #[allow(clippy::too_many_arguments)]
    fn stats(
        &self,
        py: Python<'_>,
        by: Option<&Bound<'_, PyAny>>,
        of: Option<String>,
        spans: bool,
        event: Option<&Bound<'_, PyAny>>,
        filter: Option<String>,
        begin: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PythonTable> {
        let by = arguments::texts(by, "by")?;
        let query = self.select(py, Selecting { event, filter, begin, end })?;
        Ok(stats::table(py, &query, &by, of, spans)?)
    }

    fn __repr__(&self) -> String {
        let session = self.query.session();
        let paths: Vec<String> = session
            .traces()
            .iter()
            .take(10)
            .map(|trace| format!("{} ({})", shown(trace.path()), trace.format()))
            .collect();
        let more = session.traces().len().saturating_sub(paths.len());
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("<ichnos.Trace {}{more}>", paths.join(", "))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.info()._repr_html_(py)
    }
}

/// Returns the wanted columns, in their order.
fn selected(mut known: Vec<EventColumn>, wanted: Option<&[String]>) -> Result<Vec<EventColumn>, CallFailure> {
    let Some(wanted) = wanted else { return Ok(known) };
    // Fields come first, if they have the same names.
    known.extend(EventColumn::TEXTS);
    known.extend([
        EventColumn::Level("ichnos.level"),
        EventColumn::Message("ichnos.message"),
        EventColumn::Trace("ichnos.trace"),
    ]);
    let mut found: Vec<EventColumn> = Vec::with_capacity(wanted.len());
    for name in wanted {
        let is_it = |column: &&EventColumn| match column {
            EventColumn::Field(column) => column.name == *name || column.spellings.contains(name),
            column => column.name() == name,
        };
        let unknown = || unknown_column(name, known.iter().map(EventColumn::name));
        let column = known.iter().find(is_it).ok_or_else(unknown)?;
        if !found.contains(column) {
            found.push(column.clone());
        }
    }
    Ok(found)
}

/// Returns the classes of all traces as JSON.
fn schema_text(query: &TraceQuery, goes_on: &mut dyn FnMut() -> bool) -> Result<String, QueryError> {
    let mut text = Vec::new();
    let mut list = ValueWriter::new(&mut text).array();
    for trace in query.session().traces() {
        find_classes(trace.as_ref(), goes_on)?;
        let mut entry = list.element().object();
        entry.member("path").string(trace.path());
        entry.member("format").string(trace.format());
        write_trace_class(&mut entry, &trace.trace().class_with_dynamic());
        entry.end();
    }
    list.end();
    Ok(String::from_utf8_lossy(&text).into_owned())
}
