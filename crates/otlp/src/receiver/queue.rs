//! Requests that wait for the feed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use ichnos_model::live::Arrivals;
use ichnos_model::locks::IgnorePoison as _;

use super::memory::{RequestMemory, RequestShare};
use crate::context_table::ContextTable;
use crate::event_indexer::ElementPlace;
use crate::input::RequestEncoding;

/// Maximum number of waiting requests.
const MOST_WAITING: usize = 1 << 14;

/// A decoded request.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub(super) body: Vec<u8>,
    pub(super) encoding: RequestEncoding,
    pub(super) contexts: ContextTable,
    /// Events, sorted by time.
    pub(super) places: Vec<ElementPlace>,
    /// Time of arrival, in nanoseconds since 1970.
    pub(super) arrived: u64,
    /// Memory of the body, and of what was found in it.
    pub(super) _shares: (RequestShare, Option<RequestShare>),
}

/// Numbers of received requests and elements.
#[derive(Debug, Default)]
pub struct ReceiverCounts {
    requests: AtomicU64,
    accepted: AtomicU64,
    rejected: AtomicU64,
    refused: AtomicU64,
}

impl ReceiverCounts {
    /// Returns the number of acknowledged requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns the number of acknowledged spans, log records and data points.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Returns the number of elements of acknowledged requests that could not be decoded.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Returns the number of requests that were not acknowledged.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Counts an acknowledged request.
    pub(super) fn add(&self, accepted: u64, rejected: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.accepted.fetch_add(accepted, Ordering::Relaxed);
        self.rejected.fetch_add(rejected, Ordering::Relaxed);
    }

    /// Counts a refused request.
    pub(super) fn add_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reason why a request does not get into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueRefusal {
    Full,
    Closed,
}

/// Bounded queue from the connections to the feed.
#[derive(Debug)]
pub(super) struct RequestQueue {
    waiting: Mutex<Waiting>,
    pub(super) memory: RequestMemory,
    pub(super) counts: Arc<ReceiverCounts>,
    arrivals: Arrivals,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: VecDeque<ReceivedRequest>,
    is_closed: bool,
}

impl RequestQueue {
    pub(super) fn new(most_memory: usize, arrivals: Arrivals) -> Self {
        let memory = RequestMemory::new(most_memory);
        Self { waiting: Mutex::default(), memory, counts: Arc::default(), arrivals }
    }

    /// Adds a request. It is delivered, whatever happens next.
    pub(super) fn push(&self, request: ReceivedRequest) -> Result<(), QueueRefusal> {
        let mut waiting = self.waiting.lock().ignore_poison();
        if waiting.is_closed {
            return Err(QueueRefusal::Closed);
        }
        if waiting.requests.len() >= MOST_WAITING {
            return Err(QueueRefusal::Full);
        }
        waiting.requests.push_back(request);
        drop(waiting);
        self.arrivals.notify();
        Ok(())
    }

    /// Takes all requests. The flag is `true` if no more will follow.
    pub(super) fn take(&self) -> (VecDeque<ReceivedRequest>, bool) {
        let mut waiting = self.waiting.lock().ignore_poison();
        (std::mem::take(&mut waiting.requests), waiting.is_closed)
    }

    /// Refuses further requests.
    pub(super) fn close(&self) {
        self.waiting.lock().ignore_poison().is_closed = true;
        self.arrivals.notify();
    }
}

/// Returns the wall clock in nanoseconds since 1970.
pub(super) fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
