//! Selected events of opened traces.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use ichnos::model::Cursor as _;
use ichnos::model::cursor::{BoxedCursor, ExcludedClasses};
use ichnos::model::running_thread::{self, RunningParts};
use ichnos::model::{DataStream, OpenedTrace, Window};
use ichnos::{Expression, Filter, FilterError, OpenError, OpenOptions, Selection, Session};

use crate::duckdb::{CallArguments, Parameter};
use crate::paths;
use crate::time::TimePoint;
use crate::time_bounds;

/// Named parameters of a query.
pub(crate) const PARAMETERS: &[Parameter] = &[c"event", c"filter", c"begin", c"end"];

/// Names in an expression that need the running thread.
const RUNNING: [&str; 8] = ["thread", "thread_name", "tid", "comm", "procname", "resource", "process", "pid"];

/// Maximum number of problems in an error.
const SHOWN: usize = 20;

/// Arguments of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryArguments {
    pub(crate) paths: Vec<PathBuf>,
    events: Vec<String>,
    filter: Option<String>,
    begin: Option<String>,
    end: Option<String>,
}

/// Opened traces, and the selection of their events.
pub(crate) struct Query {
    pub(crate) arguments: QueryArguments,
    pub(crate) session: Session,
    pub(crate) selection: Selection,
    filter: Option<Filter>,
    window: Window,
    /// Classes without selected events, by trace and data stream.
    excluded: Vec<Vec<Option<Arc<ExcludedClasses>>>>,
}

/// Data stream of a session.
pub(crate) struct StreamPlace<'s> {
    pub(crate) trace: &'s dyn OpenedTrace,
    /// Index of the trace.
    pub(crate) number: usize,
    /// Index in the trace.
    pub(crate) index: usize,
    pub(crate) stream: Arc<DataStream>,
}

/// Opens the traces at the paths of the first argument, without the threads that processors run.
pub(crate) fn open(arguments: &CallArguments) -> Result<Session, String> {
    open_paths(&paths::expand(&arguments.first_texts()?)?, RunningParts::Nothing)
}

fn open_paths(paths: &[PathBuf], running: RunningParts) -> Result<Session, String> {
    let mut options = OpenOptions::default();
    options.require_all = true;
    options.running = running;
    ichnos::open(paths, &options).map_err(|error| open_error(&error))
}

fn open_error(error: &OpenError) -> String {
    match error {
        OpenError::Refused(refused) => {
            let problems = refused.iter().flat_map(|trace| trace.diagnostics.iter().map(ToString::to_string));
            let problems: Vec<String> = problems.take(SHOWN).collect();
            format!("{error}: {}", problems.join("; "))
        }
        OpenError::NoTrace(found) => {
            let nearby = found.nearby.as_ref().map(|nearby| format!("; {nearby}")).unwrap_or_default();
            format!("{error}{nearby}")
        }
        _ => error.to_string(),
    }
}

impl QueryArguments {
    fn new(arguments: &CallArguments) -> Result<Self, String> {
        Ok(Self {
            events: arguments.texts("event")?,
            filter: arguments.text("filter")?,
            begin: arguments.text("begin")?,
            end: arguments.text("end")?,
            paths: paths::expand(&arguments.first_texts()?)?,
        })
    }

    fn expression(&self) -> Result<Option<Expression>, String> {
        let parsed = self.filter.as_deref().map(Expression::parse).transpose();
        parsed.map_err(|error| filter_error(&error))
    }
}

impl Query {
    /// Opens the traces and selects events as the arguments say.
    pub(crate) fn new(arguments: &CallArguments) -> Result<Self, String> {
        // The columns of the running thread belong to the event, as in other tables.
        Self::open(QueryArguments::new(arguments)?, RunningParts::ThreadAndProcess)
    }

    /// Opens the traces again without the parts of running threads that neither the columns with these names nor the
    /// filter need. `None` if that makes no difference.
    pub(crate) fn without_running<'n>(
        &self,
        mut columns: impl Iterator<Item = &'n str>,
    ) -> Result<Option<Self>, String> {
        let mut classes = self.session.traces().iter().flat_map(|trace| &trace.trace().class.data_streams);
        let is_needed = |name: &str| matches!(name, "process" | "thread") || name.starts_with("resource.");
        if !classes.any(running_thread::is_in) || columns.any(is_needed) {
            return Ok(None);
        }
        let expression = self.arguments.expression()?;
        if expression.is_some_and(|expression| RUNNING.iter().any(|name| expression.mentions(name))) {
            return Ok(None);
        }
        Self::open(self.arguments.clone(), RunningParts::Nothing).map(Some)
    }

    fn open(arguments: QueryArguments, running: RunningParts) -> Result<Self, String> {
        let events = patterns(&arguments.events)?;
        let expression = arguments.expression()?;
        let begin = time(arguments.begin.as_deref(), "begin")?;
        let end = time(arguments.end.as_deref(), "end")?;
        let session = open_paths(&arguments.paths, running)?;
        refuse_unreadable(&session)?;
        let resolve = |point: TimePoint| resolve(point, &session);
        let begin = begin.map(resolve).transpose().map_err(|error| format!("begin: {error}"))?;
        let end = end.map(resolve).transpose().map_err(|error| format!("end: {error}"))?;
        let mut window = Window { begin, end };
        let mut selection = Selection::default();
        if let Some(events) = events {
            selection = selection.events(move |name| events.is_match(name));
        }
        let mut filter = None;
        if let Some(expression) = expression {
            let time = |text: &str| {
                let point = text.parse::<TimePoint>().map_err(|error| error.to_string())?;
                resolve(point)
            };
            let found = session.filter(&expression, &time).map_err(|error| filter_error(&error))?;
            window = intersection(window, found.window());
            selection = selection.filter(&found);
            filter = Some(found);
        }
        let excluded = excluded(&session, &selection);
        Ok(Self { arguments, session, selection, filter, window, excluded })
    }

    /// Returns all data streams.
    pub(crate) fn streams(&self) -> Vec<StreamPlace<'_>> {
        streams(&self.session)
    }

    /// Returns the messages of a data stream or of some of its packets, without some events that are not selected. `None`
    /// if the packets cannot be read alone.
    pub(crate) fn cursor(
        &self,
        trace: usize,
        index: usize,
        packets: Option<Range<u64>>,
    ) -> Option<BoxedCursor> {
        let excluded = self.excluded.get(trace).and_then(|streams| streams.get(index));
        let trace = self.session.traces().get(trace)?;
        let mut cursor = match packets {
            Some(packets) => trace.packet_cursor(index, self.window, packets)?,
            None => trace.cursor(index, self.window)?,
        };
        if let Some(Some(excluded)) = excluded {
            cursor.exclude(excluded);
        }
        Some(cursor)
    }

    /// Returns the messages of all data streams, merged by time.
    pub(crate) fn merged(&self) -> Result<BoxedCursor, String> {
        let reader = self.selection.reader(&self.session, self.window).map_err(|error| error.to_string())?;
        Ok(reader.cursor().boxed())
    }

    /// Checks the names in the filter again, after all classes were found.
    pub(crate) fn review(&self) -> Result<(), String> {
        let Some(filter) = &self.filter else { return Ok(()) };
        let warnings = filter.review().map_err(|error| filter_error(&error))?;
        match warnings.iter().find(|warning| warning.unknown.is_some()) {
            Some(warning) => Err(format!("filter: {}", warning.message)),
            None => Ok(()),
        }
    }
}

/// Returns the classes without selected events, by trace and data stream. Data streams of a class share them.
fn excluded(session: &Session, selection: &Selection) -> Vec<Vec<Option<Arc<ExcludedClasses>>>> {
    if selection.wants_all_events() {
        return Vec::new();
    }
    let mut known = HashMap::new();
    let mut of_stream = |stream: &DataStream| {
        let class = (std::ptr::from_ref(&*stream.trace).addr(), stream.class_index);
        let find = || {
            let classes = stream.plans().event_records.iter();
            let by_name = ExcludedClasses::new(classes.map(|plans| !selection.wants_class(&plans.class)));
            by_name.map(Arc::new).or_else(|| selection.excluded_by_filter(stream))
        };
        known.entry(class).or_insert_with(find).clone()
    };
    session
        .traces()
        .iter()
        .map(|trace| trace.data_streams().iter().map(|stream| of_stream(stream)).collect())
        .collect()
}

/// Returns all data streams of a session.
pub(crate) fn streams(session: &Session) -> Vec<StreamPlace<'_>> {
    let traces = session.traces().iter().enumerate();
    let all = traces.flat_map(|(number, trace)| {
        let streams = trace.data_streams().into_iter().enumerate();
        streams.map(move |(index, stream)| StreamPlace { trace: trace.as_ref(), number, index, stream })
    });
    all.collect()
}

fn filter_error(error: &FilterError) -> String {
    let help = error.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
    let [line, place] = error.excerpt();
    format!("filter: {error}\n{line}\n{place}{help}")
}

/// Refuses traces that are only partly known. Otherwise an answer could silently lack a trace.
fn refuse_unreadable(session: &Session) -> Result<(), String> {
    match session.refused().first() {
        None => Ok(()),
        Some(trace) => {
            let problems: Vec<String> =
                trace.diagnostics.iter().take(SHOWN).map(ToString::to_string).collect();
            Err(format!("{}: the trace cannot be read: {}", trace.path, problems.join("; ")))
        }
    }
}

/// Compiles patterns of event names.
fn patterns(texts: &[String]) -> Result<Option<GlobSet>, String> {
    if texts.is_empty() {
        return Ok(None);
    }
    let mut builder = GlobSetBuilder::new();
    for text in texts {
        builder.add(Glob::new(text).map_err(|error| format!("event: invalid pattern: {error}"))?);
    }
    builder.build().map(Some).map_err(|error| format!("event: invalid patterns: {error}"))
}

fn time(text: Option<&str>, name: &str) -> Result<Option<TimePoint>, String> {
    text.map(|text| text.parse().map_err(|error| format!("{name}: {error}"))).transpose()
}

/// Converts a time to nanoseconds from the origin of the clock. Dates are in UTC, because answers must not depend on the
/// machine.
fn resolve(point: TimePoint, session: &Session) -> Result<i128, String> {
    let needs_start = matches!(point, TimePoint::FromStart(_) | TimePoint::OfDay(_));
    let start = if needs_start { time_bounds::start(session) } else { None };
    let needs_end = matches!(point, TimePoint::BeforeEnd(_));
    let end = if needs_end { time_bounds::end(session) } else { None };
    point.resolve(true, start, end)
}

fn intersection(a: Window, b: Window) -> Window {
    let pick = |a: Option<i128>, b: Option<i128>, of: fn(i128, i128) -> i128| match (a, b) {
        (Some(a), Some(b)) => Some(of(a, b)),
        (a, b) => a.or(b),
    };
    Window { begin: pick(a.begin, b.begin, i128::max), end: pick(a.end, b.end, i128::min) }
}
