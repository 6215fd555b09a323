//! Pages that are open, and the requests that are worked on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Number of requests that are worked on at once.
const MOST_WORKING: usize = 4;

/// Time after the last page was closed, or said that it would be, until the server ends.
const ALONE: Duration = Duration::from_secs(60);
const CLOSING: Duration = Duration::from_secs(3);

/// Pages that are open, and the requests that are worked on.
#[derive(Debug, Default)]
pub(crate) struct OpenPages {
    pages: Mutex<PageCount>,
    working: Mutex<usize>,
    is_free: Condvar,
}

#[derive(Debug, Default)]
struct PageCount {
    connected: usize,
    /// Time at which the server ends if there is no page.
    end: Option<Instant>,
}

/// A page that is connected.
pub(crate) struct ConnectedPage<'p>(&'p OpenPages);

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
pub(crate) struct WorkPermit<'p>(&'p OpenPages);

impl Drop for WorkPermit<'_> {
    fn drop(&mut self) {
        *self.0.working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.is_free.notify_one();
    }
}

impl OpenPages {
    fn pages(&self) -> MutexGuard<'_, PageCount> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a page that is connected as long as the result is kept.
    pub(crate) fn connect(&self) -> ConnectedPage<'_> {
        let mut pages = self.pages();
        pages.connected += 1;
        pages.end = None;
        ConnectedPage(self)
    }

    /// Notes that a page is about to be closed.
    pub(crate) fn close(&self) {
        self.pages().end = Some(Instant::now() + CLOSING);
    }

    /// Returns `true` if the last page was closed some time ago.
    pub(crate) fn are_left(&self) -> bool {
        let mut pages = self.pages();
        if pages.end.is_none_or(|end| end > Instant::now()) {
            return false;
        }
        if pages.connected > 0 {
            pages.end = None;
        }
        pages.connected == 0
    }

    /// Waits until few enough requests are worked on.
    pub(crate) fn work(&self) -> WorkPermit<'_> {
        let working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.is_free.wait_while(working, |working| *working >= MOST_WORKING);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        WorkPermit(self)
    }
}
