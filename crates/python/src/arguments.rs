//! Arguments of calls from Python.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ichnos::query::QueryTexts;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyMapping, PyString};

use crate::failure::CallFailure;

/// Number of 1970-01-01 in Python's calendar.
const UNIX_DAY: i128 = 719_163;

/// Returns a path, or all paths of a list.
fn paths(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<PathBuf>> {
    let wrong = |found: &Bound<'_, PyAny>| expected(name, "a path or a list of paths", found);
    let paths = match value.extract::<PathBuf>() {
        Ok(path) => vec![path],
        // Items of bytes are numbers.
        Err(_) if value.is_instance_of::<PyBytes>() => return Err(wrong(value)),
        Err(_) => {
            let several = value.try_iter().map_err(|_| wrong(value))?;
            let path = |path: PyResult<Bound<'_, PyAny>>| {
                let path = path?;
                path.extract::<PathBuf>().map_err(|_| wrong(&path))
            };
            several.map(path).collect::<PyResult<Vec<_>>>()?
        }
    };
    if paths.is_empty() {
        return Err(CallFailure::new(format!("{name}: expected at least one path")).into());
    }
    if paths.iter().any(|path| path == Path::new("-")) {
        let message = format!("{name}: standard input cannot be read from Python: name a file");
        return Err(CallFailure::new(message).into());
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

/// Returns the options of a format: names, and one value or several.
pub(crate) fn options(value: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Vec<OsString>)>> {
    let options = value.cast::<PyMapping>().map_err(|_| expected("options", "a mapping", value))?;
    let named = |pair: Bound<'_, PyAny>| {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let name = name.extract::<String>().map_err(|_| expected("options", "a name as the key", &name))?;
        Ok((name, option_values(&value)?))
    };
    options.items()?.iter().map(named).collect()
}

fn option_values(value: &Bound<'_, PyAny>) -> PyResult<Vec<OsString>> {
    if let Some(text) = option_text(value)? {
        return Ok(vec![text]);
    }
    let wanted = "a text, a number, a path, or a list of them";
    let is_list = !value.is_instance_of::<PyBytes>() && value.cast::<PyMapping>().is_err();
    let wrong = || expected("options", wanted, value);
    let several = value.try_iter().ok().filter(|_| is_list).ok_or_else(wrong)?;
    let text = |item: PyResult<Bound<'_, PyAny>>| {
        let item = item?;
        option_text(&item)?.ok_or_else(|| expected("options", wanted, &item))
    };
    several.map(text).collect()
}

/// Returns the text for a single value. `None` for other objects.
fn option_text(value: &Bound<'_, PyAny>) -> PyResult<Option<OsString>> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(if value.is_truthy()? { "true" } else { "false" }.into()));
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(Some(value.str()?.to_string().into()));
    }
    // Also of a text.
    Ok(value.extract::<PathBuf>().ok().map(OsString::from))
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

/// Arguments that open traces, besides their paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening<'a, 'py> {
    pub(crate) offset: Option<&'a Bound<'py, PyAny>>,
    pub(crate) map: Option<&'a Bound<'py, PyAny>>,
    pub(crate) assume_correlated: bool,
}

impl Opening<'_, '_> {
    /// Returns `true` if the traces are opened as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.offset.is_none() && self.map.is_none() && !self.assume_correlated
    }

    /// Returns the texts that open these paths.
    pub(crate) fn texts(self, at: &Bound<'_, PyAny>) -> PyResult<QueryTexts> {
        let mut texts = QueryTexts::new(paths(at, "paths")?);
        match self.offset.map(|offset| (offset, offset.cast::<PyMapping>())) {
            None => {}
            Some((_, Ok(by_path))) => texts.path_offsets = path_offsets(by_path)?,
            Some((offset, Err(_))) => texts.offsets.push(clock_offset(offset)?),
        }
        texts.maps = self.map.map(|map| paths(map, "map")).transpose()?.unwrap_or_default();
        texts.assume_correlated = self.assume_correlated;
        Ok(texts)
    }
}

fn clock_offset(value: &Bound<'_, PyAny>) -> PyResult<String> {
    duration(value, "offset", "nanoseconds or a text such as \"+5s\"")
}

/// Returns the clock offset of each path.
fn path_offsets(by_path: &Bound<'_, PyMapping>) -> PyResult<Vec<(PathBuf, String)>> {
    let pair = |pair: Bound<'_, PyAny>| {
        let (path, offset): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let path: PathBuf = path.extract().map_err(|_| expected("offset", "a path as the key", &path))?;
        Ok((path, clock_offset(&offset)?))
    };
    by_path.items()?.iter().map(pair).collect()
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
