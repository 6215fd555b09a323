//! Conversions.

use std::path::{Path, PathBuf};

use ichnos::Pass;
use ichnos::convert::{ConvertError, ConvertOptions, Target, target};
use ichnos::io::{CreateError, ExistingOutput, MessageOrder, OptionError, WriteReport};
use ichnos::model::running_thread::RunningParts;
use ichnos::query::{QueryTexts, TraceQuery};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arguments::{self, Selecting};
use crate::failure::CallFailure;
use crate::stoppable::stoppable;
use crate::text::shown;

/// Writes traces in another format, and returns what was written.
///
/// The format is `to` (`"ctf"`, `"jsonl"`, `"parquet"`, `"perfetto"`, ...), or follows from the extension of `output`.
/// `options` sets options of the format: `{"timestamps": "micros"}`. `event`, `filter`, `begin` and `end` select events as
/// for `Trace.events`. An existing output is an error without `force`.
///
/// The result has `paths`, `events`, `bytes` and `losses`: a list of what the format cannot express. Ctrl-C stops without
/// an output.
#[pyfunction]
#[pyo3(signature = (paths, output, *, to=None, dialect=None, event=None, filter=None, begin=None, end=None, options=None,
    strict=false, force=false, threads=None))]
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
    options: Option<&Bound<'py, PyDict>>,
    strict: bool,
    force: bool,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let traces = QueryTexts::new(arguments::paths(paths)?);
    let texts = Selecting { event, filter, begin, end }.add_to(&traces)?;
    let shape = target(to, &output, dialect.as_deref()).ok_or_else(|| unknown_target(to, &output))?;
    let set = options.map(option_texts).transpose()?.unwrap_or_default();
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let report = stoppable(py, move |stop| {
        let running = if is_table(shape) { RunningParts::ThreadAndProcess } else { RunningParts::Nothing };
        let query = TraceQuery::open(texts, running)?;
        let mut options = ConvertOptions::default();
        options.threads = threads.unwrap_or_else(processors);
        options.strict = strict;
        options.write.dialect = dialect.or_else(|| shape.dialect.map(str::to_owned));
        options.write.existing = if force { ExistingOutput::Replace } else { ExistingOutput::Refuse };
        options.write.stop = Some(stop);
        for (name, value) in &set {
            let known = shape.writer.options();
            options.write.formats.set(shape.format, known, name, value.as_ref()).map_err(option_failure)?;
        }
        options.pass = Pass::new(query.selection().clone()).stop(stop);
        write(&query, shape, &output, &mut options)
    })?;
    describe(py, &report)
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

/// Returns options with their values as texts.
fn option_texts(options: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    options
        .iter()
        .map(|(name, value)| {
            let value = match value.cast::<PyString>() {
                Ok(text) => text.extract()?,
                Err(_) => arguments::texts(Some(&value), "options")?.join(","),
            };
            Ok((name.extract()?, value))
        })
        .collect()
}

fn option_failure(error: OptionError) -> CallFailure {
    CallFailure::new(format!("options: {error}"))
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
