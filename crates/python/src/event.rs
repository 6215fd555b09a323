//! Events, as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::row::RowPlace;
use crate::text::shown;

/// Columns of all events. They are properties, or of the place in the trace.
const COMMON: [&str; 5] = ["ts", "event", "stream", "packet", "seq"];

/// Event of a trace: a mapping from column names to values, which are decoded when they are asked for.
///
/// The names are those of the columns of `Trace.events`: `event["next_comm"]`, `event["ctx.vpid"]`. A field that the event
/// does not have is `None`, and a field that its class does not have is a `KeyError`. Keys and types come from the class:
/// a table can spell a name in another way, which is found, too.
#[pyclass(frozen, module = "ichnos", name = "Event", mapping)]
#[derive(Debug)]
pub(crate) struct PythonEvent(pub(crate) RowPlace);

#[pymethods]
impl PythonEvent {
    /// Name of the event record class.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.get(py, "event")
    }

    /// Time in nanoseconds from the origin of the clock, or `None`.
    #[getter]
    fn ts<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.get(py, "ts")
    }

    /// Number of the data stream, as in `Trace.info`.
    #[getter]
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.get(py, "stream")
    }

    /// Returns the fields as a dictionary, without the columns that all events have.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let has_time = self.0.batch.names.has_time();
        self.0.dict(py, |name| !COMMON.contains(&name) && (name != "time" || !has_time))
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.0.item(key)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> bool {
        self.0.contains(key)
    }

    fn __eq__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.0.equals(other)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.0.keys(py)?.try_iter()?.into_any())
    }

    /// Returns the value of a column, or `default` if the class of the event has no such column.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.find(key)?.or(default))
    }

    /// Returns the names of the columns.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.0.keys(py)
    }

    /// Returns the values.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.0.values(py)
    }

    /// Returns pairs of a name and a value.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.0.dict(py, |_| true)?.items().into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name(py)?.and_then(|name| name.extract::<String>().ok()).unwrap_or_default();
        self.0.repr(py, &format!("Event {}", shown(&name)), &["event", "stream", "packet", "seq"])
    }
}
