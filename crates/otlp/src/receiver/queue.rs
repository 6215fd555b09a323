//! Requests that wait for the feed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ichnos_model::live::Arrivals;
use ichnos_model::locks::IgnorePoison as _;

use super::memory::RequestMemory;
use super::received_request::ReceivedRequest;
use super::receiver_counts::ReceiverCounts;
use super::request_target::{RequestTarget, TargetRefusal};

/// Maximum number of waiting requests.
const MOST_WAITING: usize = 1 << 14;

/// Bounded queue from the connections to the feed.
#[derive(Debug)]
pub(super) struct RequestQueue {
    waiting: Mutex<Waiting>,
    memory: RequestMemory,
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

impl RequestTarget for RequestQueue {
    /// Adds a request. It is delivered, whatever happens next.
    fn push(&self, request: ReceivedRequest) -> Result<(), TargetRefusal> {
        let mut waiting = self.waiting.lock().ignore_poison();
        if waiting.is_closed {
            return Err(TargetRefusal::Closed);
        }
        if waiting.requests.len() >= MOST_WAITING {
            return Err(TargetRefusal::Full);
        }
        waiting.requests.push_back(request);
        drop(waiting);
        self.arrivals.notify();
        Ok(())
    }

    fn memory(&self) -> &RequestMemory {
        &self.memory
    }

    fn counts(&self) -> &ReceiverCounts {
        &self.counts
    }

    fn is_closed(&self) -> bool {
        self.waiting.lock().ignore_poison().is_closed
    }
}
