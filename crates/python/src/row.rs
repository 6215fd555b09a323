//! Rows of batches, as Python mappings.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{Field, SchemaRef};
use ichnos::table::INTEGER_KEY;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString};

use crate::text::{quoted, shown};
use crate::value::{integers, value};

/// Maximum number of values in a text.
const SHOWN: usize = 100;

/// Columns of batches, by name.
#[derive(Debug)]
pub(crate) struct ColumnNames {
    schema: SchemaRef,
    indexes: HashMap<String, usize>,
    /// Columns with integers in bytes: `true` for signed integers, `false` for unsigned integers.
    integers: HashMap<usize, bool>,
    texts: OnceLock<Vec<Py<PyString>>>,
    has_time: bool,
}

impl ColumnNames {
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        let fields = || schema.fields().iter().enumerate();
        let integer =
            |(at, field): (usize, &Arc<Field>)| Some((at, field.metadata().get(INTEGER_KEY)? == "signed"));
        Self {
            schema: Arc::clone(schema),
            indexes: fields().map(|(at, field)| (field.name().clone(), at)).collect(),
            integers: fields().filter_map(integer).collect(),
            texts: OnceLock::new(),
            has_time: false,
        }
    }

    /// Says whether the column `time` is the time of the event. It is a field otherwise.
    pub(crate) fn with_time(self, has_time: bool) -> Self {
        Self { has_time, ..self }
    }

    /// Returns `true` if the column `time` is the time of the event.
    pub(crate) fn has_time(&self) -> bool {
        self.has_time
    }

    /// Adds further column names, unless other columns have them.
    pub(crate) fn with_names(mut self, names: impl IntoIterator<Item = (String, usize)>) -> Self {
        for (name, at) in names {
            self.indexes.entry(name).or_insert(at);
        }
        self
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
            Some(array) => {
                let value = value(py, array.as_ref(), self.row)?;
                match self.batch.names.integers.get(&column) {
                    Some(is_signed) => integers(value, *is_signed),
                    None => Ok(value),
                }
            }
            None => Ok(py.None().into_bound(py)),
        }
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.batch.names.index(name).map(|column| self.at(py, column)).transpose()
    }

    /// Returns the value for a key, which has no value if it is no text.
    pub(crate) fn find<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.index(key) {
            Some(column) => self.at(key.py(), column).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn item<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.find(key)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    pub(crate) fn contains(&self, key: &Bound<'_, PyAny>) -> bool {
        self.index(key).is_some()
    }

    fn index(&self, key: &Bound<'_, PyAny>) -> Option<usize> {
        let name = key.cast::<PyString>().ok()?.extract::<Cow<'_, str>>().ok()?;
        self.batch.names.index(&name)
    }

    /// Returns `true` if another mapping has the same keys and values, as Python's mappings do.
    pub(crate) fn equals<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let other = match other.cast::<PyDict>() {
            Ok(dict) => dict.clone(),
            Err(_) if other.cast::<PyMapping>().is_err() => {
                return Ok(py.NotImplemented().into_bound(py));
            }
            Err(_) => {
                let dict = PyDict::new(py);
                dict.update(other.cast::<PyMapping>()?)?;
                dict
            }
        };
        self.dict(py, |_| true)?.rich_compare(other, CompareOp::Eq)
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

    /// Returns the value of a column, or `default` if there is no such column.
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
        self.0.repr(py, "Row", &[])
    }
}
