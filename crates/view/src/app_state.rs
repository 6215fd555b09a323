//! Shared state of all requests.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ichnos::model::locks::IgnorePoison as _;
use ichnos::model::{Sink, Window};
use ichnos::{Expression, Pass, Reader, Session};

use crate::clock_offsets::TrackOffsets;
use crate::exports::Exports;
use crate::options::{ViewOptions, ViewSource};
use crate::parts::RangeParts;
use crate::query::Query;
use crate::response::ApiError;
use crate::task_list::TaskCache;
use crate::timeline_builder::TimelineBuilder;

/// Maximum size of timeline items in bytes: without a filter, and with one.
const BUDGET: usize = 96 << 20;
const FILTERED_BUDGET: usize = 16 << 20;

/// Maximum time that a request waits for a timeline with clock offsets.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum number of filters with a cached timeline.
const MOST_FILTERS: usize = 2;

/// Shared state of all requests, replaced when the traces are opened again.
pub(crate) struct AppState {
    pub(crate) session: Arc<Session>,
    pub(crate) options: ViewOptions,
    pub(crate) build: Arc<TimelineBuilder>,
    pub(crate) parts: RangeParts,
    /// `true` to limit the time of each answer.
    pub(crate) has_limits: bool,
    pub(crate) tasks: TaskCache,
    pub(crate) exports: Arc<Exports>,
    /// Data stream keys by number.
    stream_keys: Vec<u32>,
    filtered: Mutex<Vec<(String, Arc<TimelineBuilder>)>>,
    /// State of the same traces with the clock offsets of the latest such request.
    moved: Mutex<Option<(TrackOffsets, Arc<Self>)>>,
}

impl AppState {
    pub(crate) fn new(session: Arc<Session>, options: ViewOptions) -> Self {
        Self {
            stream_keys: stream_keys(&session),
            session,
            options,
            build: Arc::new(TimelineBuilder::new(BUDGET, None)),
            parts: RangeParts::default(),
            has_limits: true,
            tasks: TaskCache::default(),
            exports: Arc::default(),
            filtered: Mutex::default(),
            moved: Mutex::default(),
        }
    }

    /// Creates the state for reopened traces. Tracks and names keep their numbers.
    pub(crate) fn reopened(&self, source: ViewSource) -> Self {
        self.of_source(source, TimelineBuilder::for_grown_traces(&self.build, BUDGET))
    }

    fn of_source(&self, source: ViewSource, build: TimelineBuilder) -> Self {
        let ViewSource { session, selection, window, warnings, arguments, resolve_time } = source;
        let before = self.options.clone();
        let options = ViewOptions {
            selection,
            window,
            warnings,
            arguments: arguments.unwrap_or(before.arguments),
            resolve_time: resolve_time.unwrap_or(before.resolve_time),
            ..before
        };
        Self {
            stream_keys: stream_keys(&session),
            session,
            options,
            build: Arc::new(build),
            parts: RangeParts::default(),
            has_limits: true,
            tasks: TaskCache::default(),
            exports: Arc::clone(&self.exports),
            filtered: Mutex::default(),
            moved: Mutex::default(),
        }
    }

    /// Returns the state with the clock offsets of a request. The traces are opened again for it, so the result is the
    /// same as with offsets on the command line.
    pub(crate) fn with_offsets(self: &Arc<Self>, query: &Query) -> Result<Arc<Self>, ApiError> {
        let offsets = TrackOffsets::from_query(query)?;
        if offsets.0.is_empty() {
            return Ok(Arc::clone(self));
        }
        // The lock is held while the traces are opened, because other requests often need the same offsets.
        let mut moved = self.moved.lock().ignore_poison();
        let known =
            moved.as_ref().filter(|(known, _)| *known == offsets).map(|(_, shared)| Arc::clone(shared));
        let shared = match known {
            Some(shared) => shared,
            None => {
                let shared = self.open_with(&offsets)?;
                if let Some((_, before)) = moved.replace((offsets, Arc::clone(&shared))) {
                    before.build.cancel();
                }
                shared
            }
        };
        drop(moved);
        shared.build.wait_until_complete(PATIENCE);
        Ok(shared)
    }

    fn open_with(self: &Arc<Self>, TrackOffsets(offsets): &TrackOffsets) -> Result<Arc<Self>, ApiError> {
        let open = self.options.open_with_offsets.as_ref().filter(|_| !self.session.is_live());
        let open = open.ok_or_else(|| ApiError::bad("offsets: these traces cannot be opened again"))?;
        if !self.build.status().is_complete {
            let text = "offsets: the traces are still being read: try again later";
            return Err(ApiError { status: 503, ..ApiError::bad(text) });
        }
        let traces = self.session.traces().iter().filter(|trace| !trace.data_streams().is_empty());
        let paths: Vec<&str> = traces.map(|trace| trace.path()).collect();
        let path = |(track, nanoseconds): (&u32, &i64)| {
            let trace = self.build.timeline().trace_of(*track);
            let path = trace.and_then(|trace| paths.get(trace as usize));
            let path = path.ok_or_else(|| ApiError::bad(format!("offsets: track {track} is not a trace")))?;
            Ok(((*path).to_owned(), *nanoseconds))
        };
        let source = open(&offsets.iter().map(path).collect::<Result<Vec<_>, ApiError>>()?);
        let source = source.map_err(|error| ApiError::bad(format!("offsets: {error}")))?;
        // Track and data stream numbers would refer to other traces.
        if shape(&source.session) != shape(&self.session) {
            let text = "offsets: the traces have changed, or some cannot be read without the others";
            return Err(ApiError::bad(text));
        }
        let mut shared =
            self.of_source(source, TimelineBuilder::for_moved_clocks(&self.build, FILTERED_BUDGET));
        (shared.options.follow, shared.options.cache) = (false, None);
        let shared = Arc::new(shared);
        let filling = Arc::clone(&shared);
        let run = move || filling.build.run(&filling.session, &filling.options, None);
        let spawned = thread::Builder::new().name("offsets".to_owned()).spawn(run);
        spawned.map_err(|error| ApiError::failed(error.to_string()))?;
        Ok(shared)
    }

    /// Returns the data stream key for a number. Unlike keys, numbers stay the same when the traces are opened again.
    pub(crate) fn stream_key(&self, number: u32) -> u32 {
        self.stream_keys.get(number as usize).copied().unwrap_or(number)
    }

    /// Reads the selected events within a window and the selected time range.
    pub(crate) fn reader(&self, window: Window) -> Result<Reader<'_>, ApiError> {
        if self.session.is_live() {
            return Err(ApiError::bad(
                "arriving events are shown but not stored: only the timeline has them",
            ));
        }
        self.options.reader(&self.session, window).map_err(ApiError::failed)
    }

    /// Passes the selected events of a reader to a sink.
    pub(crate) fn run(&self, reader: &Reader<'_>, sink: &mut impl Sink) -> Result<(), ApiError> {
        let pass = Pass::new(self.options.selection.clone()).stop(self.options.stop);
        let run = reader.pass().with(pass).run(sink);
        run.map(drop).map_err(|error| ApiError::failed(error.to_string()))
    }

    /// Checks an expression, and returns it as a filter.
    pub(crate) fn filter(&self, text: &str) -> Result<ichnos::Filter, ApiError> {
        let failure = |error: ichnos::FilterError| ApiError {
            status: 400,
            text: error.to_string(),
            place: Some(error.span.clone()),
            help: (self.options.error_help)(&error),
        };
        let expression = Expression::parse(text).map_err(failure)?;
        self.session.filter(&expression, &|time| (self.options.resolve_time)(time)).map_err(failure)
    }

    /// Returns the timeline for the filter of a request, or the timeline of all events.
    pub(crate) fn build_of(self: &Arc<Self>, query: &Query) -> Result<Arc<TimelineBuilder>, ApiError> {
        match query.text("filter") {
            Some(text) => self.filtered(text),
            None => Ok(Arc::clone(&self.build)),
        }
    }

    /// Returns the timeline for a filter, and starts building it if it is new.
    fn filtered(self: &Arc<Self>, text: &str) -> Result<Arc<TimelineBuilder>, ApiError> {
        let mut known = self.filtered.lock().ignore_poison();
        if let Some(index) = known.iter().position(|(known, _)| known == text) {
            let found = known.remove(index);
            let build = Arc::clone(&found.1);
            known.push(found);
            return Ok(build);
        }
        let filter = self.filter(text)?;
        let build = Arc::new(TimelineBuilder::new(FILTERED_BUDGET, Some(Arc::clone(&self.build))));
        let (shared, filling) = (Arc::clone(self), Arc::clone(&build));
        let run = move || {
            filling.wait_for_whole(FILTERED_BUDGET);
            filling.run(&shared.session, &shared.options, Some(filter.selector()));
        };
        let spawned = thread::Builder::new().name("filter".to_owned()).spawn(run);
        spawned.map_err(|error| ApiError::failed(error.to_string()))?;
        if known.len() >= MOST_FILTERS {
            known.remove(0).1.cancel();
        }
        known.push((text.to_owned(), Arc::clone(&build)));
        Ok(build)
    }
}

/// Returns the trace paths of a session, each with its number of data streams.
fn shape(session: &Session) -> Vec<(&str, usize)> {
    session.traces().iter().map(|trace| (trace.path(), trace.data_streams().len())).collect()
}

/// Returns the data stream keys of a session in order.
fn stream_keys(session: &Session) -> Vec<u32> {
    let streams = session.traces().iter().flat_map(|trace| trace.data_streams());
    streams.map(|stream| stream.key).collect()
}
