//! Tables, as Python objects.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::batches::{BatchSource, Batches};
use crate::capsule;
use crate::exclusive::Exclusive;
use crate::failure::{CallFailure, detached};
use crate::row::{ColumnNames, NamedBatch, PythonRow, RowPlace};
use crate::text::{columns, html, shown};

/// Maximum number of rows and columns in a notebook.
const SHOWN_ROWS: usize = 10;
const SHOWN_COLUMNS: usize = 40;

/// Answer about a trace, as a table. It is computed when it is read.
///
/// pandas (`pandas.DataFrame.from_arrow`), polars, DuckDB, pyarrow and other libraries for Arrow take it as it is. Rows can
/// also be read one by one: `for row in table: row["duration"]`.
#[pyclass(frozen, module = "ichnos", name = "Table")]
#[derive(Debug)]
pub(crate) struct PythonTable {
    name: &'static str,
    batches: Batches,
}

impl PythonTable {
    pub(crate) fn new(name: &'static str, batches: Batches) -> Self {
        Self { name, batches }
    }
}

#[pymethods]
impl PythonTable {
    /// Names of the columns.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        column_names(py, &self.batches)
    }

    /// Returns the table as a stream of Arrow's C interface. `requested_schema` is ignored.
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

    fn __iter__(&self, py: Python<'_>) -> PyResult<RowIterator> {
        RowIterator::new(py, &self.batches)
    }

    fn __repr__(&self) -> String {
        format!("<ichnos.Table {}: {}>", self.name, columns(&self.batches.schema))
    }

    pub(crate) fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        rows_html(py, &self.batches)
    }
}

/// Returns the names of the columns.
pub(crate) fn column_names<'py>(py: Python<'py>, batches: &Batches) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, batches.schema.fields().iter().map(|field| field.name()))
}

/// Returns a notebook's text for the first rows.
pub(crate) fn rows_html(py: Python<'_>, batches: &Batches) -> PyResult<String> {
    let rows = RowIterator::new(py, batches)?;
    let fields = batches.schema.fields();
    let mut text = String::from("<table><thead><tr>");
    for field in fields.iter().take(SHOWN_COLUMNS) {
        let _ = write!(text, "<th>{}</th>", html(field.name()));
    }
    text.push_str("</tr></thead><tbody>");
    let mut goes_on = false;
    for count in 0.. {
        let Some(place) = rows.next_place(py)? else { break };
        if count == SHOWN_ROWS {
            goes_on = true;
            break;
        }
        text.push_str("<tr>");
        for column in 0..fields.len().min(SHOWN_COLUMNS) {
            let value = place.at(py, column)?;
            let cell = if value.is_none() { String::new() } else { html(&value.str()?.to_string()) };
            let _ = write!(text, "<td>{cell}</td>");
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table>");
    if goes_on {
        text.push_str("<p>… and more rows</p>");
    }
    if fields.len() > SHOWN_COLUMNS {
        let _ = write!(text, "<p>… and {} more columns</p>", fields.len() - SHOWN_COLUMNS);
    }
    Ok(text)
}

/// Iterator over the rows of a table.
#[pyclass(frozen, module = "ichnos")]
pub(crate) struct RowIterator(Exclusive<RowsState>);

struct RowsState {
    names: Arc<ColumnNames>,
    /// `None` after the last batch, and after a failure.
    source: Option<Box<dyn BatchSource>>,
    /// Raised by each further call, because an iterator that failed must not look complete.
    failure: Option<CallFailure>,
    batches: VecDeque<Arc<NamedBatch>>,
    row: usize,
}

impl RowIterator {
    pub(crate) fn new(py: Python<'_>, batches: &Batches) -> PyResult<Self> {
        let source = detached(py, || batches.start())?;
        let names = Arc::new(ColumnNames::new(&batches.schema));
        let (source, failure, batches) = (Some(source), None, VecDeque::new());
        Ok(Self(Exclusive::new(RowsState { names, source, failure, batches, row: 0 })))
    }

    fn next_place(&self, py: Python<'_>) -> PyResult<Option<RowPlace>> {
        let mut state = self.0.enter(py)?;
        loop {
            if let Some(batch) = state.batches.front().map(Arc::clone) {
                let row = state.row;
                if row < batch.batch.num_rows() {
                    state.row += 1;
                    return Ok(Some(RowPlace { batch, row }));
                }
                state.batches.pop_front();
                state.row = 0;
            }
            let state = &mut *state;
            if let Some(failure) = &state.failure {
                return Err(failure.again().into());
            }
            let Some(source) = &mut state.source else { return Ok(None) };
            match detached(py, || source.next_batch()) {
                Ok(Some(batch)) => {
                    let names = Arc::clone(&state.names);
                    state.batches.push_back(Arc::new(NamedBatch { names, batch }));
                }
                found => {
                    state.source = None;
                    state.failure = found.as_ref().err().map(CallFailure::again);
                    return Ok(found.map(|_| None)?);
                }
            }
        }
    }
}

#[pymethods]
impl RowIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PythonRow>> {
        Ok(self.next_place(py)?.map(PythonRow))
    }
}

/// Returns an error for an unknown column.
pub(crate) fn unknown_column<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> CallFailure {
    let failure = CallFailure::new(format!("columns: there is no column `{}`", shown(wanted)));
    match ichnos::query::suggestions::did_you_mean(wanted, names) {
        Some(help) => failure.help(help),
        None => failure,
    }
}
