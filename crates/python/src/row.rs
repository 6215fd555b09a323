//! Rows of batches, as Python mappings.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use arrow_array::{Array as _, RecordBatch};
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::text::{quoted, shown};
use crate::value::value;

/// Maximum number of values in a text.
const SHOWN: usize = 100;

/// Columns of batches, by name.
#[derive(Debug)]
pub(crate) struct ColumnNames {
    schema: SchemaRef,
    indexes: HashMap<String, usize>,
    texts: OnceLock<Vec<Py<PyString>>>,
}

impl ColumnNames {
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        let names = schema.fields().iter().enumerate();
        Self {
            schema: Arc::clone(schema),
            indexes: names.map(|(at, field)| (field.name().clone(), at)).collect(),
            texts: OnceLock::new(),
        }
    }

    /// Returns the index of a column.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.indexes.get(name).copied()
    }

    fn texts(&self, py: Python<'_>) -> &[Py<PyString>] {
        let make = |name: &str| PyString::new(py, name).unbind();
        self.texts.get_or_init(|| self.schema.fields().iter().map(|field| make(field.name())).collect())
    }
}

/// Batch with the names of its columns.
#[derive(Debug)]
pub(crate) struct NamedBatch {
    pub(crate) names: Arc<ColumnNames>,
    pub(crate) batch: RecordBatch,
}

/// Place of a row.
#[derive(Clone, Debug)]
pub(crate) struct RowPlace {
    pub(crate) batch: Arc<NamedBatch>,
    pub(crate) row: usize,
}

impl RowPlace {
    pub(crate) fn at<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyAny>> {
        match self.batch.batch.columns().get(column) {
            Some(array) => value(py, array.as_ref(), self.row),
            None => Ok(py.None().into_bound(py)),
        }
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.batch.names.index(name).map(|column| self.at(py, column)).transpose()
    }

    pub(crate) fn item<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.get(py, name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    pub(crate) fn contains(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.batch.names.index(&name).is_some())
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.batch.num_columns()
    }

    pub(crate) fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.batch.names.texts(py))
    }

    pub(crate) fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let values = (0..self.len()).map(|column| self.at(py, column)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, values)
    }

    /// Returns the names and values of the columns whose name is wanted.
    pub(crate) fn dict<'py>(
        &self,
        py: Python<'py>,
        wants: impl Fn(&str) -> bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let fields = self.batch.names.schema.fields();
        for (column, (name, field)) in self.batch.names.texts(py).iter().zip(fields).enumerate() {
            if wants(field.name()) {
                dict.set_item(name, self.at(py, column)?)?;
            }
        }
        Ok(dict)
    }

    /// Returns the values that are there. No text of the trace can change a terminal.
    pub(crate) fn repr(&self, py: Python<'_>, of: &str, skips: &[&str]) -> PyResult<String> {
        let mut text = format!("<{of}");
        let fields = self.batch.names.schema.fields();
        let mut count = 0;
        for (column, field) in fields.iter().enumerate() {
            let is_there =
                self.batch.batch.columns().get(column).is_some_and(|array| array.is_valid(self.row));
            if !is_there || skips.contains(&field.name().as_str()) {
                continue;
            }
            count += 1;
            if count > SHOWN {
                text.push_str(" …");
                break;
            }
            // Python's own texts of values are escaped.
            let value = self.at(py, column)?.repr()?.to_string();
            let _ = write!(text, " {}={}", shown(field.name()), quoted(&value));
        }
        text.push('>');
        Ok(text)
    }
}

/// Row of a table: a mapping from column names to values.
#[pyclass(frozen, module = "ichnos", name = "Row", mapping)]
#[derive(Debug)]
pub(crate) struct PythonRow(pub(crate) RowPlace);

#[pymethods]
impl PythonRow {
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.0.item(py, name)
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        self.0.contains(name)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.0.keys(py)?.try_iter()?.into_any())
    }

    /// Returns the value of a column, or `default` if there is no such column.
    #[pyo3(signature = (name, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.get(py, name)?.or(default))
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
        self.0.repr(py, "Row", &[])
    }
}
