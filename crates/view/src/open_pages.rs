//! Open pages and running requests.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ichnos::model::locks::IgnorePoison as _;

/// Maximum number of requests that run at once.
const MOST_WORKING: usize = 4;

/// Time until the server stops after the last page disconnected, and after a page announced that it closes.
const ALONE: Duration = Duration::from_secs(60);
const CLOSING: Duration = Duration::from_secs(3);

/// Open pages and running requests.
#[derive(Debug, Default)]
pub(crate) struct OpenPages {
    pages: Mutex<PageCount>,
    working: Mutex<usize>,
    is_free: Condvar,
}

#[derive(Debug, Default)]
struct PageCount {
    connected: usize,
    /// Time at which the server stops without a page.
    end: Option<Instant>,
}

/// Connected page, which disconnects when dropped.
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

/// Permit to run a request, returned when dropped.
pub(crate) struct WorkPermit<'p>(&'p OpenPages);

impl Drop for WorkPermit<'_> {
    fn drop(&mut self) {
        *self.0.working.lock().ignore_poison() -= 1;
        self.0.is_free.notify_one();
    }
}

impl OpenPages {
    fn pages(&self) -> MutexGuard<'_, PageCount> {
        self.pages.lock().ignore_poison()
    }

    /// Registers a page as connected until the result is dropped.
    pub(crate) fn connect(&self) -> ConnectedPage<'_> {
        let mut pages = self.pages();
        pages.connected += 1;
        pages.end = None;
        ConnectedPage(self)
    }

    /// Records that a page is about to close.
    pub(crate) fn close(&self) {
        self.pages().end = Some(Instant::now() + CLOSING);
    }

    /// Returns `true` if the last page closed some time ago.
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

    /// Waits for a permit to run a request.
    pub(crate) fn work(&self) -> WorkPermit<'_> {
        let working = self.working.lock().ignore_poison();
        let waited = self.is_free.wait_while(working, |working| *working >= MOST_WORKING);
        *waited.ignore_poison() += 1;
        WorkPermit(self)
    }
}
