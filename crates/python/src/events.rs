//! Selected events, as a Python object.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::StringBuilder;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use ichnos::query::TraceQuery;
use ichnos::table::{TableOptions, TablePlan};
use ichnos::tables::{BlockPart, EventColumn, EventReader, EventScan, ReadBlock, ReadRows, UnionColumn};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::batches::Batches;
use crate::capsule;
use crate::event::PythonEvent;
use crate::event_table::EventOrder;
use crate::exclusive::Exclusive;
use crate::failure::{CallFailure, detached};
use crate::interrupts::Interrupts;
use crate::row::{ColumnNames, NamedBatch, RowPlace};
use crate::table::{column_names, rows_html};
use crate::text::columns;

/// Number of events that are read at once.
const CHUNK: usize = 4_096;

/// Maximum number of classes whose columns are kept.
const MOST_PLANS: usize = 1_024;

/// Selected events of a trace.
///
/// As a table, for large answers: pandas (`pandas.DataFrame.from_arrow`), polars, DuckDB, pyarrow and other libraries for
/// Arrow take it as it is, and read it in batches. One by one, for small jobs: `for event in events: event["next_comm"]`.
/// It can be read any number of times.
#[pyclass(frozen, module = "ichnos", name = "Events")]
#[derive(Debug)]
pub(crate) struct PythonEvents {
    pub(crate) query: Arc<TraceQuery>,
    pub(crate) options: TableOptions,
    pub(crate) columns: Vec<EventColumn>,
    pub(crate) batches: Batches,
    pub(crate) order: EventOrder,
}

#[pymethods]
impl PythonEvents {
    /// Names of the columns.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        column_names(py, &self.batches)
    }

    /// Returns the events as a stream of Arrow's C interface. `requested_schema` is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        capsule::stream(py, &self.batches)
    }

    /// Returns the columns as a schema of Arrow's C interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.batches)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<EventIterator> {
        EventIterator::new(py, self)
    }

    fn __repr__(&self) -> String {
        format!("<ichnos.Events {}>", columns(&self.batches.schema))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        rows_html(py, &self.batches)
    }
}

/// Iterator over events.
#[pyclass(frozen, module = "ichnos")]
pub(crate) struct EventIterator(Exclusive<IteratorState>);

struct IteratorState {
    /// `None` after the last event, and after a failure.
    reader: Option<(EventScan, EventReader)>,
    /// Raised by each further call, because an iterator that failed must not look complete.
    failure: Option<CallFailure>,
    /// `true` with the column `time`, which is not a field.
    has_time: bool,
    /// Columns that are not in the batches.
    extras: Vec<EventColumn>,
    interrupts: Interrupts,
    plans: HashMap<usize, (Arc<TablePlan>, Arc<ColumnNames>)>,
    batches: Vec<Arc<NamedBatch>>,
    /// Batch and row of each event, in their order.
    places: Vec<(u32, u32)>,
    next: usize,
}

impl EventIterator {
    fn new(py: Python<'_>, events: &PythonEvents) -> PyResult<Self> {
        let columns = plain_columns(&events.columns);
        let extras = events.columns.iter().filter(|column| is_text(column)).cloned().collect();
        let reader = detached(py, || {
            let scan = events.order.scan(&events.query, columns, &events.options)?;
            let reader = EventReader::new(&scan);
            Ok((scan, reader))
        })?;
        let (plans, batches, places) = (HashMap::new(), Vec::new(), Vec::new());
        let interrupts = Interrupts::default();
        Ok(Self(Exclusive::new(IteratorState {
            reader: Some(reader),
            failure: None,
            has_time: events.options.timestamps.is_some(),
            extras,
            interrupts,
            plans,
            batches,
            places,
            next: 0,
        })))
    }
}

impl IteratorState {
    /// Reads the next events. Returns `false` after the last one.
    fn read(&mut self, py: Python<'_>) -> Result<bool, CallFailure> {
        if let Some(failure) = &self.failure {
            return Err(failure.again());
        }
        let Some((scan, reader)) = &mut self.reader else { return Ok(false) };
        let (interrupts, has_time) = (&mut self.interrupts, self.has_time);
        let read = detached(py, || Ok(reader.read_some(scan, CHUNK, &mut || Ok(interrupts.poll()?))?));
        (self.next, _) = (0, (self.places.clear(), self.batches.clear()));
        let rows = match read {
            Ok(Some(ReadBlock::Rows(rows))) => rows,
            found => {
                self.reader = None;
                // The columns that all events need are always rows.
                let other = || CallFailure::new("the events have no rows".to_owned());
                let found = found.and_then(|end| end.map_or(Ok(false), |_| Err(other())));
                self.failure = found.as_ref().err().map(CallFailure::again);
                return found;
            }
        };
        self.places.resize(rows.len(), (0, 0));
        if self.plans.len() > MOST_PLANS {
            self.plans.clear();
        }
        for (index, part) in (0u32..).zip(rows.parts()) {
            for (at, row) in (0u32..).zip(&part.rows) {
                if let Some(place) = self.places.get_mut(*row as usize) {
                    *place = (index, at);
                }
            }
            let plan = &part.batch.plan;
            let batch = with_texts(part, &rows, &self.extras).unwrap_or_else(|| part.batch.batch.clone());
            let make = || (Arc::clone(plan), Arc::new(names(&batch, part, scan, has_time)));
            let known = self.plans.entry(Arc::as_ptr(plan).addr()).or_insert_with(make);
            let names = Arc::clone(&known.1);
            self.batches.push(Arc::new(NamedBatch { names, batch }));
        }
        Ok(true)
    }
}

/// Returns the column names in the class and in the table, which can differ in case.
fn names(batch: &RecordBatch, part: &BlockPart, scan: &EventScan, has_time: bool) -> ColumnNames {
    let of_table = scan.columns().iter().zip(part.columns.iter());
    let known = of_table.filter_map(|(column, at)| Some((column.as_ref()?.name().to_owned(), (*at)?)));
    ColumnNames::new(&batch.schema()).with_names(known).with_time(has_time)
}

/// Returns the columns to read: also those that the properties of an event need. Names of classes are a column.
fn plain_columns(wanted: &[EventColumn]) -> Vec<EventColumn> {
    let mut columns: Vec<EventColumn> =
        wanted.iter().filter(|column| **column != EventColumn::Name).cloned().collect();
    for (name, data_type) in [("ts", DataType::Int64), ("event", DataType::Utf8), ("stream", DataType::Int32)]
    {
        if columns.iter().all(|column| column.name() != name) {
            let (name, spellings) = (name.to_owned(), [name.to_owned()].into());
            let (shape, integer_kind) = (None, None);
            columns.push(EventColumn::Field(UnionColumn { name, spellings, data_type, shape, integer_kind }));
        }
    }
    columns
}

/// Returns `true` for a column that is no field.
fn is_text(column: &EventColumn) -> bool {
    matches!(column, EventColumn::Level(_) | EventColumn::Message(_) | EventColumn::Trace(_))
}

/// Adds log levels, messages and paths to the values of a class. `None` without such columns.
fn with_texts(part: &BlockPart, rows: &ReadRows, extras: &[EventColumn]) -> Option<RecordBatch> {
    if extras.is_empty() {
        return None;
    }
    let batch = &part.batch.batch;
    let mut fields: Vec<FieldRef> = batch.schema().fields().iter().cloned().collect();
    let mut columns = batch.columns().to_vec();
    for extra in extras {
        let mut texts = StringBuilder::new();
        for row in part.rows.iter().map(|row| *row as usize) {
            texts.append_option(match extra {
                EventColumn::Level(_) => rows.level(row),
                EventColumn::Message(_) => rows.message(row),
                _ => Some(rows.path(row)),
            });
        }
        fields.push(Arc::new(Field::new(extra.name(), DataType::Utf8, true)));
        columns.push(Arc::new(texts.finish()));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).ok()
}

#[pymethods]
impl EventIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PythonEvent>> {
        let mut state = self.0.enter(py)?;
        loop {
            let next = state.next;
            if let Some((batch, row)) = state.places.get(next).copied() {
                state.next += 1;
                let Some(batch) = state.batches.get(batch as usize).map(Arc::clone) else { continue };
                return Ok(Some(PythonEvent(RowPlace { batch, row: row as usize })));
            }
            if !state.read(py)? {
                return Ok(None);
            }
        }
    }
}
