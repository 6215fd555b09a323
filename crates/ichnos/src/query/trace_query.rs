//! Opened traces, and the selection of their events.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::Glob;
use ichnos_filter::{Expression, Filter};
use ichnos_model::cursor::{BoxedCursor, ExcludedClasses};
use ichnos_model::running_thread::{self, RunningParts};
use ichnos_model::{Cursor as _, DataStream, OpenedTrace, Window};

use super::time::{Offset, clock_offset_from};
use super::{EventMap, Patterns, QueryError, TimeBounds, TimePoint, intersection, window_between};
use crate::{ClockOffset, OpenOptions, Selection, Session};

/// Names in an expression that need the running thread.
const RUNNING: [&str; 8] = ["thread", "thread_name", "tid", "comm", "procname", "resource", "process", "pid"];

/// Usual size of an event.
const EVENT_BYTES: u64 = 40;

/// What a user wrote to select events. Times without a zone are in UTC, because answers must not depend on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryTexts {
    /// Paths of traces.
    pub paths: Vec<PathBuf>,
    /// Names of events, with `*`, `?`, `[a-z]` and `{a,b}`. Empty for all.
    pub events: Vec<String>,
    /// Expression that is true for selected events.
    pub filter: Option<String>,
    /// First selected time.
    pub begin: Option<String>,
    /// Last selected time.
    pub end: Option<String>,
    /// Clock offsets: `TIME` for all clocks, or `PATH=TIME` for those at a path, which can be a pattern if no path is
    /// spelled so.
    pub offsets: Vec<String>,
    /// Paths with a clock offset as a `TIME`. They are not patterns.
    pub path_offsets: Vec<(PathBuf, String)>,
    /// Files of event maps.
    pub maps: Vec<PathBuf>,
    /// Put clocks that nothing relates on one timeline.
    pub assume_correlated: bool,
}

/// Opened traces, and the selection of their events.
pub struct TraceQuery {
    texts: QueryTexts,
    session: Arc<Session>,
    selection: Selection,
    filter: Option<Filter>,
    map: Option<Arc<EventMap>>,
    window: Window,
    /// Classes without selected events, by trace and data stream.
    excluded: Vec<Vec<Option<Arc<ExcludedClasses>>>>,
}

/// Data stream of a query.
#[derive(Clone)]
pub struct StreamPart<'s> {
    /// Trace.
    pub trace: &'s dyn OpenedTrace,
    /// Index of the trace.
    pub number: usize,
    /// Index of the data stream in the trace.
    pub index: usize,
    /// Data stream.
    pub stream: Arc<DataStream>,
}

impl std::fmt::Debug for StreamPart<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamPart")
            .field("number", &self.number)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TraceQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceQuery").field("texts", &self.texts).finish_non_exhaustive()
    }
}

impl QueryTexts {
    /// Selects all events of the traces at paths.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { paths: paths.into_iter().collect(), ..Self::default() }
    }

    /// Returns the texts without those that select events: the same traces with the same times and meanings.
    #[must_use]
    pub fn without_selection(self) -> Self {
        Self { events: Vec::new(), filter: None, begin: None, end: None, ..self }
    }

    /// Returns `true` if the filter names a part of the thread that a processor runs.
    ///
    /// # Errors
    /// If the filter is invalid.
    pub fn filters_running(&self) -> Result<bool, QueryError> {
        let expression = self.expression()?;
        Ok(expression.is_some_and(|expression| RUNNING.iter().any(|name| expression.mentions(name))))
    }

    fn expression(&self) -> Result<Option<Expression>, QueryError> {
        let parsed = self.filter.as_deref().map(Expression::parse).transpose();
        parsed.map_err(|error| QueryError::of_filter(&error, "filter"))
    }

    fn open(&self, map: Option<&Arc<EventMap>>, running: RunningParts) -> Result<Session, QueryError> {
        let mut options = OpenOptions {
            require_all: true,
            running,
            assume_correlated: self.assume_correlated,
            ..OpenOptions::default()
        };
        options.read.class_map = map.map(|map| map.class_map());
        if self.paths.iter().any(|path| path.as_os_str().is_empty()) {
            return Err(QueryError::new("the path of a trace is empty"));
        }
        for text in &self.offsets {
            self.add_offset(text, &mut options)?;
        }
        for (path, time) in &self.path_offsets {
            let offset = clock_offset_from(time).map_err(offset_error)?;
            let mut found = exact_offsets(path, offset, self.all_paths());
            if found.is_empty() {
                found.extend(inner_offset(path, offset, self.all_paths()));
            }
            if found.is_empty() {
                return Err(no_path(&path.display().to_string()));
            }
            options.clock_offsets.extend(found);
        }
        Ok(crate::open(&self.paths, &options)?)
    }

    fn add_offset(&self, text: &str, options: &mut OpenOptions) -> Result<(), QueryError> {
        let Some((path, time)) = text.rsplit_once('=') else {
            let offset = clock_offset_from(text).map_err(offset_error)?;
            options.clock_offsets.extend(self.paths.iter().map(|path| offset.for_path(path)));
            return Ok(());
        };
        let offset = clock_offset_from(time).map_err(offset_error)?;
        let found = path_offsets(path, offset, self.all_paths()).map_err(offset_error)?;
        if found.is_empty() {
            return Err(no_path(path));
        }
        options.clock_offsets.extend(found);
        Ok(())
    }

    fn all_paths(&self) -> impl Iterator<Item = &Path> + Clone {
        self.paths.iter().map(PathBuf::as_path)
    }
}

fn offset_error(what: String) -> QueryError {
    QueryError::new(format!("clock offset: {what}"))
}

fn no_path(path: &str) -> QueryError {
    offset_error(format!("no path matches `{path}`")).at(path, None)
}

/// Returns the clock offset of each path that is spelled so.
fn exact_offsets<'p>(
    named: &Path,
    offset: Offset,
    paths: impl Iterator<Item = &'p Path>,
) -> Vec<ClockOffset> {
    paths.filter(|path| *path == named).map(|path| offset.for_path(path)).collect()
}

/// Returns the clock offset of a path inside one of the others.
fn inner_offset<'p>(
    inner: &Path,
    offset: Offset,
    mut paths: impl Iterator<Item = &'p Path>,
) -> Option<ClockOffset> {
    paths.any(|path| inner.starts_with(path)).then(|| offset.for_path(inner))
}

/// Returns the clock offset of each path that is spelled so. Without one, of each path that the text matches as a
/// pattern. Without a match, of the text itself, if it is inside one of the paths. Empty if it matches nothing.
///
/// # Errors
/// If the text is neither one of the paths, nor inside one of them, nor a pattern.
pub fn path_offsets<'p>(
    text: &str,
    offset: Offset,
    paths: impl Iterator<Item = &'p Path> + Clone,
) -> Result<Vec<ClockOffset>, String> {
    let named = Path::new(text);
    // A name with brackets must not move the clocks of other paths.
    let mut found = exact_offsets(named, offset, paths.clone());
    let glob = Glob::new(text).map(|glob| glob.compile_matcher());
    if let (true, Ok(glob)) = (found.is_empty(), &glob) {
        let matched = paths.clone().filter(|path| glob.is_match(path));
        found.extend(matched.map(|path| offset.for_path(path)));
    }
    if found.is_empty() {
        found.extend(inner_offset(named, offset, paths));
    }
    match glob {
        Err(error) if found.is_empty() => {
            Err(format!("no path is `{text}`, and it is no valid pattern: {}", error.kind()))
        }
        _ => Ok(found),
    }
}

/// Parsed texts.
struct SelectionTexts {
    events: Option<Patterns>,
    expression: Option<Expression>,
    begin: Option<TimePoint>,
    end: Option<TimePoint>,
}

impl SelectionTexts {
    fn new(texts: &QueryTexts) -> Result<Self, QueryError> {
        Ok(Self {
            events: Patterns::new(&texts.events, "event")?,
            expression: texts.expression()?,
            begin: time(texts.begin.as_deref(), "begin")?,
            end: time(texts.end.as_deref(), "end")?,
        })
    }
}

impl TraceQuery {
    /// Opens the traces and selects events. Threads that processors run are added to events as `running` says.
    ///
    /// # Errors
    /// If a text is invalid, or a trace cannot be read.
    pub fn open(texts: QueryTexts, running: RunningParts) -> Result<Self, QueryError> {
        let query = Self::open_readable(texts, running)?;
        // Otherwise an answer could silently lack a trace.
        match query.session.refused().first() {
            None => Ok(query),
            Some(trace) => {
                let message = format!("{}: the trace cannot be read", trace.path);
                Err(QueryError::of_refused(&message, std::slice::from_ref(trace)))
            }
        }
    }

    /// Opens the traces that can be read, if there are any, and selects events.
    ///
    /// # Errors
    /// If a text is invalid, or no trace can be read.
    pub fn open_readable(texts: QueryTexts, running: RunningParts) -> Result<Self, QueryError> {
        // Errors in texts should be reported before traces are opened.
        SelectionTexts::new(&texts)?;
        let map = if texts.maps.is_empty() { None } else { Some(Arc::new(EventMap::read(&texts.maps)?)) };
        let session = Arc::new(texts.open(map.as_ref(), running)?);
        Self::of_session(session, map, texts)
    }

    /// Selects other events of the same traces, which are not opened again.
    ///
    /// # Errors
    /// If a text is invalid.
    pub fn select(&self, texts: QueryTexts) -> Result<Self, QueryError> {
        let QueryTexts { events, filter, begin, end, .. } = texts;
        let texts = QueryTexts { events, filter, begin, end, ..self.texts.clone() };
        Self::of_session(Arc::clone(&self.session), self.map.clone(), texts)
    }

    fn of_session(
        session: Arc<Session>,
        map: Option<Arc<EventMap>>,
        texts: QueryTexts,
    ) -> Result<Self, QueryError> {
        let SelectionTexts { events, expression, begin, end } = SelectionTexts::new(&texts)?;
        let bounds = TimeBounds::default();
        let resolve = |point: TimePoint| bounds.resolve(point, &session, true);
        let at = |point: Option<TimePoint>, name: &str| {
            point.map(resolve).transpose().map_err(|error| QueryError::new(format!("{name}: {error}")))
        };
        let window = window_between(at(begin, "begin")?, at(end, "end")?);
        let mut window = window.map_err(QueryError::new)?;
        let mut selection = Selection::default();
        if let Some(events) = events {
            selection = selection.events(move |name| events.matches(name));
        }
        let mut filter = None;
        if let Some(expression) = expression {
            let time = |text: &str| resolve(text.parse::<TimePoint>().map_err(|error| error.to_string())?);
            let found = session.filter(&expression, &time);
            let found = found.map_err(|error| QueryError::of_filter(&error, "filter"))?;
            window = intersection(window, found.window());
            selection = selection.filter(&found);
            filter = Some(found);
        }
        let excluded = excluded(&session, &selection);
        Ok(Self { texts, session, selection, filter, map, window, excluded })
    }

    /// Opens the traces again without the parts of running threads that neither the columns with these names nor the
    /// filter need. `None` if that makes no difference.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn without_running<'n>(
        &self,
        mut columns: impl Iterator<Item = &'n str>,
    ) -> Result<Option<Self>, QueryError> {
        let mut classes = self.session.traces().iter().flat_map(|trace| &trace.trace().class.data_streams);
        let is_needed = |name: &str| matches!(name, "process" | "thread") || name.starts_with("resource.");
        if !classes.any(running_thread::is_in) || columns.any(is_needed) {
            return Ok(None);
        }
        if self.texts.filters_running()? {
            return Ok(None);
        }
        Self::open(self.texts.clone(), RunningParts::Nothing).map(Some)
    }

    /// Returns the texts.
    #[must_use]
    pub fn texts(&self) -> &QueryTexts {
        &self.texts
    }

    /// Returns the opened traces.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the selection of events.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the time window that contains the selection.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns about how many events there are, from the sizes of the packets.
    #[must_use]
    pub fn estimated_events(&self) -> u64 {
        let mut bytes = 0u64;
        for trace in self.session.traces() {
            trace.for_each_stream(&mut |stream| {
                bytes = bytes.saturating_add(stream.bytes.saturating_sub(stream.padding));
            });
        }
        (bytes / EVENT_BYTES).max(1)
    }

    /// Returns messages about rules of the event maps that do not fit the events.
    #[must_use]
    pub fn map_problems(&self) -> Vec<String> {
        self.map.as_ref().map(|map| map.problems()).unwrap_or_default()
    }

    /// Returns all data streams.
    #[must_use]
    pub fn streams(&self) -> Vec<StreamPart<'_>> {
        let traces = self.session.traces().iter().enumerate();
        let all = traces.flat_map(|(number, trace)| {
            let streams = trace.data_streams().into_iter().enumerate();
            streams.map(move |(index, stream)| StreamPart { trace: trace.as_ref(), number, index, stream })
        });
        all.collect()
    }

    /// Returns the messages of a data stream or of some of its packets, without some events that are not selected. `None`
    /// if the packets cannot be read alone.
    #[must_use]
    pub fn cursor(&self, trace: usize, index: usize, packets: Option<Range<u64>>) -> Option<BoxedCursor> {
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

    /// Checks that the selected data streams have one timeline. Otherwise their times cannot be in one table.
    ///
    /// # Errors
    /// If clocks are not correlated: see [`Session::reader`].
    pub fn check_clocks(&self) -> Result<(), QueryError> {
        self.selection.reader(&self.session, self.window)?;
        Ok(())
    }

    /// Returns the messages of all data streams, merged by time, without some events that are not selected.
    ///
    /// # Errors
    /// If clocks are not correlated: see [`Session::reader`].
    pub fn merged(&self) -> Result<BoxedCursor, QueryError> {
        let reader = self.selection.reader(&self.session, self.window)?;
        Ok(reader.cursor().boxed())
    }

    /// Checks the filter's field names again, after all classes were found. Unknown event names are
    /// accepted, as in traces that declare their classes.
    ///
    /// # Errors
    /// If no class has a field, or its type does not fit.
    pub fn review(&self) -> Result<(), QueryError> {
        let Some(filter) = &self.filter else { return Ok(()) };
        filter.review().map(drop).map_err(|error| QueryError::of_filter(&error, "filter"))
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

fn time(text: Option<&str>, name: &str) -> Result<Option<TimePoint>, QueryError> {
    let parsed = text.map(str::parse).transpose();
    parsed.map_err(|error: super::time::TimeError| QueryError::new(format!("{name}: {error}")))
}
