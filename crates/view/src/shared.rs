//! State that all requests share.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ichnos::model::Window;
use ichnos::{Expression, Reader, Session};

use crate::build::Build;
use crate::options::ViewOptions;
use crate::parts::RangeParts;
use crate::response::ApiError;

/// Maximum size of the items of a timeline, in bytes: that of all events, and that of those which a filter selects.
const BUDGET: usize = 96 << 20;
const FILTERED_BUDGET: usize = 16 << 20;

/// Number of filters whose timelines are kept.
const MOST_FILTERS: usize = 2;

/// Number of requests that are worked on at once.
const MOST_WORKING: usize = 4;

/// Time after the last page was closed, or said that it would be, until the server ends.
const ALONE: Duration = Duration::from_secs(60);
const CLOSING: Duration = Duration::from_secs(3);

/// State that all requests share.
pub(crate) struct Shared {
    pub(crate) session: Arc<Session>,
    pub(crate) options: ViewOptions,
    pub(crate) build: Arc<Build>,
    pub(crate) parts: RangeParts,
    filtered: Mutex<Vec<(String, Arc<Build>)>>,
    pages: Mutex<Pages>,
    working: Mutex<usize>,
    is_free: Condvar,
}

/// Pages that are open.
#[derive(Debug, Default)]
struct Pages {
    connected: usize,
    /// Time at which the server ends if there is no page.
    end: Option<Instant>,
}

/// A page that is connected.
pub(crate) struct ConnectedPage<'s>(&'s Shared);

impl Drop for ConnectedPage<'_> {
    fn drop(&mut self) {
        let mut pages = self.0.pages();
        pages.connected -= 1;
        if pages.connected == 0 {
            pages.end.get_or_insert_with(|| Instant::now() + ALONE);
        }
    }
}

/// Permission to work on a request.
pub(crate) struct Working<'s>(&'s Shared);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        *self.0.working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.is_free.notify_one();
    }
}

impl Shared {
    pub(crate) fn new(session: Arc<Session>, options: ViewOptions) -> Self {
        Self {
            session,
            options,
            build: Arc::new(Build::new(BUDGET, None)),
            parts: RangeParts::default(),
            filtered: Mutex::default(),
            pages: Mutex::default(),
            working: Mutex::new(0),
            is_free: Condvar::new(),
        }
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a page that is connected as long as the result is kept.
    pub(crate) fn connect_page(&self) -> ConnectedPage<'_> {
        let mut pages = self.pages();
        pages.connected += 1;
        pages.end = None;
        ConnectedPage(self)
    }

    /// Notes that a page is about to be closed.
    pub(crate) fn close_page(&self) {
        self.pages().end = Some(Instant::now() + CLOSING);
    }

    /// Returns `true` if the last page was closed.
    pub(crate) fn is_left(&self) -> bool {
        let mut pages = self.pages();
        if pages.end.is_none_or(|end| end > Instant::now()) {
            return false;
        }
        if pages.connected > 0 {
            pages.end = None;
        }
        pages.connected == 0 && !self.options.keep
    }

    /// Waits until few enough requests are worked on.
    pub(crate) fn work(&self) -> Working<'_> {
        let working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.is_free.wait_while(working, |working| *working >= MOST_WORKING);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        Working(self)
    }

    /// Reads selected events in a window, and in that of the selection.
    pub(crate) fn reader(&self, window: Window) -> Result<Reader<'_>, ApiError> {
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
