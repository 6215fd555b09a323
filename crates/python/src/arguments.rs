//! Arguments of calls from Python.

use std::path::{Path, PathBuf};

use ichnos::query::QueryTexts;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::failure::CallFailure;

/// Returns a path, or all paths of a list.
pub(crate) fn paths(value: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let paths = match value.extract::<PathBuf>() {
        Ok(path) => vec![path],
        Err(_) => {
            let several =
                value.try_iter().map_err(|_| expected("paths", "a path or a list of paths", value))?;
            several
                .map(|path| {
                    let path = path?;
                    path.extract::<PathBuf>()
                        .map_err(|_| expected("paths", "a path or a list of paths", &path))
                })
                .collect::<PyResult<Vec<_>>>()?
        }
    };
    if paths.is_empty() {
        return Err(CallFailure::new("expected at least one path").into());
    }
    if paths.iter().any(|path| path == Path::new("-")) {
        return Err(CallFailure::new("standard input cannot be read from Python: name a file").into());
    }
    Ok(paths)
}

/// Returns a text, or all texts of a list.
pub(crate) fn texts(value: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Vec<String>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(vec![text.extract()?]);
    }
    let wanted = "a text or a list of texts";
    let several = value.try_iter().map_err(|_| expected(name, wanted, value))?;
    several
        .map(|text| {
            let text = text?;
            text.extract::<String>().map_err(|_| expected(name, wanted, &text))
        })
        .collect()
}

/// Returns a time: nanoseconds from the origin of the clock, or a text as for the command.
pub(crate) fn time(value: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    if let Ok(text) = value.cast::<PyString>() {
        return text.extract().map(Some);
    }
    let nanoseconds: i128 =
        value.extract().map_err(|_| expected(name, "nanoseconds or a text such as \"+5s\"", value))?;
    Ok(Some(seconds(nanoseconds)))
}

/// Returns clock offsets: one for all paths, or one for each path.
pub(crate) fn offsets(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let one = |value: &Bound<'_, PyAny>| time(Some(value), "offset").map(Option::unwrap_or_default);
    let Ok(by_path) = value.cast::<PyDict>() else {
        return Ok(vec![one(value)?]);
    };
    by_path
        .iter()
        .map(|(path, offset)| {
            let path: PathBuf = path.extract().map_err(|_| expected("offset", "a path as the key", &path))?;
            Ok(format!("{}={}", path.display(), one(&offset)?))
        })
        .collect()
}

/// Writes nanoseconds as seconds from the origin, exactly.
fn seconds(nanoseconds: i128) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let whole = nanoseconds.unsigned_abs();
    format!("{sign}{}.{:09}", whole / 1_000_000_000, whole % 1_000_000_000)
}

fn expected(name: &str, wanted: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let of = found.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!("{name}: expected {wanted}, found {of}"))
}

/// Arguments that select events.
#[derive(Debug, Default)]
pub(crate) struct Selecting<'a, 'py> {
    pub(crate) event: Option<&'a Bound<'py, PyAny>>,
    pub(crate) filter: Option<String>,
    pub(crate) begin: Option<&'a Bound<'py, PyAny>>,
    pub(crate) end: Option<&'a Bound<'py, PyAny>>,
}

impl Selecting<'_, '_> {
    /// Adds the selection to the traces.
    pub(crate) fn add_to(self, traces: &QueryTexts) -> PyResult<QueryTexts> {
        let mut selected = traces.clone().without_selection();
        selected.events = texts(self.event, "event")?;
        selected.filter = self.filter;
        selected.begin = time(self.begin, "begin")?;
        selected.end = time(self.end, "end")?;
        Ok(selected)
    }
}
