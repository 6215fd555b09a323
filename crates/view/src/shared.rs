//! State that requests share.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ichnos::model::Window;
use ichnos::{Expression, Reader, Session};

use crate::build::Build;
use crate::exports::Exports;
use crate::options::{ViewOptions, ViewSource};
use crate::parts::RangeParts;
use crate::response::ApiError;
use crate::task_list::TaskCache;

/// Maximum size of the items of a timeline, in bytes: that of all events, and that of those which a filter selects.
const BUDGET: usize = 96 << 20;
const FILTERED_BUDGET: usize = 16 << 20;

/// Number of filters whose timelines are kept.
const MOST_FILTERS: usize = 2;

/// State that all requests share, until the traces are opened again.
pub(crate) struct Shared {
    pub(crate) session: Arc<Session>,
    pub(crate) options: ViewOptions,
    pub(crate) build: Arc<Build>,
    pub(crate) parts: RangeParts,
    /// Answers take a bounded time.
    pub(crate) has_limits: bool,
    pub(crate) tasks: TaskCache,
    pub(crate) exports: Arc<Exports>,
    /// Keys of data streams by their numbers.
    stream_keys: Vec<u32>,
    filtered: Mutex<Vec<(String, Arc<Build>)>>,
}

impl Shared {
    pub(crate) fn new(session: Arc<Session>, options: ViewOptions) -> Self {
        Self {
            stream_keys: stream_keys(&session),
            session,
            options,
            build: Arc::new(Build::new(BUDGET, None)),
            parts: RangeParts::default(),
            has_limits: true,
            tasks: TaskCache::default(),
            exports: Arc::default(),
            filtered: Mutex::default(),
        }
    }

    /// Makes the state for traces that were opened again, whose tracks and names keep their numbers.
    pub(crate) fn again(&self, source: ViewSource) -> Self {
        let ViewSource { session, selection, window, warnings } = source;
        Self {
            stream_keys: stream_keys(&session),
            session,
            options: ViewOptions { selection, window, warnings, ..self.options.clone() },
            build: Arc::new(Build::after(&self.build, BUDGET)),
            parts: RangeParts::default(),
            has_limits: true,
            tasks: TaskCache::default(),
            exports: Arc::clone(&self.exports),
            filtered: Mutex::default(),
        }
    }

    /// Returns the key of the data stream with a number, which is the same each time that the traces are opened.
    pub(crate) fn stream_key(&self, number: u32) -> u32 {
        self.stream_keys.get(number as usize).copied().unwrap_or(number)
    }

    /// Reads selected events in a window, and in that of the selection.
    pub(crate) fn reader(&self, window: Window) -> Result<Reader<'_>, ApiError> {
        if self.session.is_live() {
            return Err(ApiError::bad(
                "events that arrive are shown and not kept: only the timeline has them",
            ));
        }
        let own = self.options.window;
        let begin = window.begin.max(own.begin);
        let end = [window.end, own.end].into_iter().flatten().min();
        // An empty window must not become all of the trace.
        let window = Window { begin, end: end.max(begin.filter(|_| end.is_some())) };
        let reader = self.options.selection.reader(&self.session, window);
        reader.map_err(|error| ApiError::failed(error.to_string()))
    }

    /// Checks an expression, and selects what it selects of the selection.
    pub(crate) fn filter(&self, text: &str) -> Result<ichnos::Filter, ApiError> {
        let failure = |error: ichnos::FilterError| ApiError {
            status: 400,
            text: error.to_string(),
            place: Some(error.span.clone()),
        };
        let expression = Expression::parse(text).map_err(failure)?;
        self.session.filter(&expression, &|time| (self.options.resolve_time)(time)).map_err(failure)
    }

    /// Returns the timeline of the events that a filter selects, which begins to be built.
    pub(crate) fn filtered(self: &Arc<Self>, text: &str) -> Result<Arc<Build>, ApiError> {
        let mut known = self.filtered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = known.iter().position(|(known, _)| known == text) {
            let found = known.remove(index);
            let build = Arc::clone(&found.1);
            known.push(found);
            return Ok(build);
        }
        let filter = self.filter(text)?;
        let build = Arc::new(Build::new(FILTERED_BUDGET, Some(Arc::clone(&self.build))));
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

/// Returns the keys of the data streams of a session, in its order.
fn stream_keys(session: &Session) -> Vec<u32> {
    let streams = session.traces().iter().flat_map(|trace| trace.data_streams());
    streams.map(|stream| stream.key).collect()
}
