//! Arguments of calls from Python.

use std::path::{Path, PathBuf};

use ichnos::query::QueryTexts;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

use crate::failure::CallFailure;

/// Number of 1970-01-01 in Python's calendar.
const UNIX_DAY: i128 = 719_163;

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

/// Returns a time: nanoseconds from the origin of the clock, a date of Python, or a text as for the command.
fn time(value: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    let dates = value.py().import("datetime")?;
    if !value.is_instance(&dates.getattr("datetime")?)? {
        return duration(value, name, "nanoseconds, a datetime, or a text such as \"+5s\"").map(Some);
    }
    let utc = dates.getattr("timezone")?.getattr("utc")?;
    if value.getattr("tzinfo")?.is_none() || value.call_method0("utcoffset")?.is_none() {
        let failure = CallFailure::new(format!("{name}: the datetime has no time zone"));
        return Err(failure.help("for UTC, write `.replace(tzinfo=datetime.timezone.utc)`").into());
    }
    let whole = value.call_method1("astimezone", (&utc,))?;
    let days = i128::from(whole.call_method0("toordinal")?.extract::<i64>()?) - UNIX_DAY;
    let number = |name: &str| whole.getattr(name)?.extract::<i64>().map(i128::from);
    let seconds = ((days * 24 + number("hour")?) * 60 + number("minute")?) * 60 + number("second")?;
    // A timestamp of pandas has them in addition to microseconds.
    let more = if whole.hasattr("nanosecond")? { number("nanosecond")? } else { 0 };
    Ok(Some(seconds_text(seconds * 1_000_000_000 + number("microsecond")? * 1_000 + more)))
}

/// Returns nanoseconds, or a text as for the command.
fn duration(value: &Bound<'_, PyAny>, name: &str, wanted: &str) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return text.extract();
    }
    // A truth value is an integer in Python.
    if value.is_instance_of::<PyBool>() {
        return Err(expected(name, wanted, value));
    }
    match value.extract::<i64>() {
        Ok(nanoseconds) => Ok(seconds_text(nanoseconds.into())),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            let message = format!("{name}: expected nanoseconds from {} to {}", i64::MIN, i64::MAX);
            Err(CallFailure::new(format!("{message}, found a number out of this range")).into())
        }
        Err(_) => Err(expected(name, wanted, value)),
    }
}

/// Returns clock offsets: one for all paths, or one for each path.
pub(crate) fn offsets(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let one = |value: &Bound<'_, PyAny>| duration(value, "offset", "nanoseconds or a text such as \"+5s\"");
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
fn seconds_text(nanoseconds: i128) -> String {
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
