//! Conversions.

use std::ffi::{CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos::convert::{ConvertError, ConvertOptions, Target, target};
use ichnos::io::{CreateError, ExistingOutput, FormatOptions, MessageOrder, WriteReport};
use ichnos::model::running_thread::RunningParts;
use ichnos::query::TraceQuery;
use ichnos::{OptionError, OptionKind, Pass};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{self, Opening, Selecting};
use crate::failure::CallFailure;
use crate::stoppable::{abandonable, processors, stoppable};
use crate::text::{lines, shown};
use crate::trace::PythonTrace;

/// Writes traces in another format, and returns what was written.
///
/// `paths` are the same as for `open`, with its `offset`, `map` and `assume_correlated`, or they are a `Trace`. The format is `to` (`"ctf"`,
/// `"jsonl"`, `"parquet"`, `"perfetto"`, ...), or follows from the file extension in `output`. `options` sets options of the
/// format: `{"timestamps": "micros"}`. `event`, `filter`, `begin` and `end` select events as for `Trace.events`. An existing
/// output is an error without `force`.
///
/// The result has `paths`, `bytes`, `events`, `copied_packets` (packets that were copied as they are, without counting
/// their events) and `losses`: a list of what the format cannot express. Ctrl-C stops without an output.
#[pyfunction]
#[pyo3(signature = (paths, output, *, to=None, dialect=None, event=None, filter=None, begin=None, end=None, options=None,
    strict=false, force=false, threads=None, offset=None, map=None, assume_correlated=false))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    paths: &Bound<'py, PyAny>,
    output: PathBuf,
    to: Option<&str>,
    dialect: Option<String>,
    event: Option<&Bound<'py, PyAny>>,
    filter: Option<String>,
    begin: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyAny>>,
    strict: bool,
    force: bool,
    threads: Option<usize>,
    offset: Option<&Bound<'py, PyAny>>,
    map: Option<&Bound<'py, PyAny>>,
    assume_correlated: bool,
) -> PyResult<Bound<'py, PyDict>> {
    if output == Path::new("-") {
        let message = "output: standard output cannot be written from Python: name a file";
        return Err(CallFailure::new(message).into());
    }
    if output.as_os_str().is_empty() {
        return Err(CallFailure::new("output: the path is empty").into());
    }
    let shape = target(to, &output, dialect.as_deref()).ok_or_else(|| unknown_target(to, &output))?;
    let set = options.map(arguments::options).transpose()?.unwrap_or_default();
    let opening = Opening { offset, map, assume_correlated };
    let query = select(py, paths, opening, Selecting { event, filter, begin, end }, shape)?;
    let report = stoppable(py, |stop| {
        let mut options = ConvertOptions::default();
        options.threads = threads.unwrap_or_else(processors);
        options.strict = strict;
        options.write.dialect = dialect.or_else(|| shape.dialect.map(str::to_owned));
        options.write.existing = if force { ExistingOutput::Replace } else { ExistingOutput::Refuse };
        options.write.stop = Some(stop);
        for (name, values) in &set {
            set_option(&mut options.write.formats, shape, name, values)?;
        }
        options.pass = Pass::new(query.selection().clone()).stop(stop);
        write(&query, shape, &output, &mut options)
    })?;
    // All classes are known now. The output is complete.
    if let Err(error) = query.review() {
        let message = CString::new(lines(&error.message).replace('\0', "")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
    }
    describe(py, &report)
}

/// Opens the traces, or takes an open `Trace`, and selects events.
fn select(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    opening: Opening<'_, '_>,
    selecting: Selecting<'_, '_>,
    shape: Target,
) -> PyResult<TraceQuery> {
    let Ok(trace) = paths.cast::<PythonTrace>() else {
        let texts = selecting.add_to(&opening.texts(paths)?)?;
        return Ok(abandonable(py, move || {
            // Other formats have no columns for the running thread.
            let is_needed = is_table(shape) || texts.filters_running()?;
            let running = if is_needed { RunningParts::ThreadAndProcess } else { RunningParts::Nothing };
            Ok(TraceQuery::open(texts, running)?)
        })?);
    };
    if !opening.is_plain() {
        let failure =
            CallFailure::new("offset, map and assume_correlated belong to paths, and found a Trace");
        return Err(failure.help("give them to `ichnos.open`").into());
    }
    let query = Arc::clone(&trace.get().query);
    let texts = selecting.add_to(query.texts())?;
    Ok(abandonable(py, move || {
        let selected = query.select(texts)?;
        let plain =
            if is_table(shape) { None } else { selected.without_running(std::iter::empty::<&str>())? };
        Ok(plain.unwrap_or(selected))
    })?)
}

fn set_option(
    options: &mut FormatOptions,
    shape: Target,
    name: &str,
    values: &[OsString],
) -> Result<(), CallFailure> {
    let known = shape.writer.options();
    if values.is_empty() {
        let message = format!("options: `{}`: expected at least one value", shown(name));
        return Err(CallFailure::new(message));
    }
    let takes_several =
        known.iter().any(|option| option.name == name && matches!(option.kind, OptionKind::Texts));
    let joined;
    let values = if takes_several {
        values
    } else {
        joined = [values.join(OsStr::new(","))];
        &joined[..]
    };
    let failure = |error: OptionError| CallFailure::new(format!("options: {error}"));
    values.iter().try_for_each(|value| options.set(shape.format, known, name, value)).map_err(failure)
}

fn write(
    query: &TraceQuery,
    shape: Target,
    output: &Path,
    options: &mut ConvertOptions<'_>,
) -> Result<WriteReport, CallFailure> {
    let (session, selection) = (query.session(), query.selection());
    let texts = query.texts();
    options.write.leaves_out = !selection.wants_all_events();
    options.write.selected_by.extend(texts.events.iter().chain(&texts.filter).cloned());
    options.write.window = query.window();
    let reader = match shape.writer.order() {
        // Data streams can have unrelated clocks if they are not merged.
        MessageOrder::ByStream => session.stream_reader_of(query.window(), |_| true),
        _ => selection.reader(session, query.window())?,
    };
    let mut written = reader.convert(shape.writer, Some(output.to_owned()), options);
    if matches!(&written, Err(ConvertError::Create(CreateError::Unsorted { .. }))) {
        options.write.sorts = true;
        written = reader.convert(shape.writer, Some(output.to_owned()), options);
    }
    let path = output.display().to_string();
    written.map_err(|error| match error {
        ConvertError::Losses(losses) => {
            let count = losses.iter().count();
            CallFailure::new(format!("some data would be lost ({count} kinds): nothing was written"))
                .path(path)
                .help("convert without strict=True, and read the losses in the result")
        }
        ConvertError::Create(CreateError::Dialect(_)) => {
            let names: Vec<&str> = shape.writer.dialects().iter().map(|dialect| dialect.name).collect();
            let failure = CallFailure::new(format!("dialect: {error}"));
            if names.is_empty() {
                failure
            } else {
                failure.help(format!("dialects are {}", names.join(", ")))
            }
        }
        error @ ConvertError::Refused(_) => error.into(),
        error => CallFailure::from(error).path(path),
    })
}

fn is_table(target: Target) -> bool {
    ichnos::convert::TABLE_FORMATS.contains(&target.format)
}

fn unknown_target(to: Option<&str>, output: &Path) -> CallFailure {
    let names: Vec<&str> = ichnos::convert::targets().map(|target| target.format).collect();
    let message = match to {
        Some(to) => format!("to: unknown format `{}`", shown(to)),
        None => format!("cannot infer the output format from `{}`", shown(&output.display().to_string())),
    };
    CallFailure::new(message).help(format!("formats are {}", names.join(", ")))
}

/// Returns the report as a dictionary.
fn describe<'py>(py: Python<'py>, report: &WriteReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let paths: Vec<String> = report.paths.iter().map(|path| path.display().to_string()).collect();
    dict.set_item("paths", paths)?;
    dict.set_item("events", report.events)?;
    dict.set_item("copied_packets", report.copied_packets)?;
    dict.set_item("bytes", report.bytes)?;
    let mut losses = Vec::new();
    for (entry, count) in report.losses.iter() {
        let loss = PyDict::new(py);
        loss.set_item("kind", entry.kind.to_string())?;
        loss.set_item("class", &entry.class)?;
        loss.set_item("field", &entry.field)?;
        loss.set_item("what", &entry.what)?;
        loss.set_item("count", count)?;
        losses.push(loss);
    }
    dict.set_item("losses", losses)?;
    Ok(dict)
}
