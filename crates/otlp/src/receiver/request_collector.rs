//! Receives requests, and stores them.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::http_listener::HttpListener;
use super::memory::RequestMemory;
use super::received_request::ReceivedRequest;
use super::receiver_counts::ReceiverCounts;
use super::receiver_options::ReceiverOptions;
use super::request_store::RequestStore;
use super::request_target::{RequestTarget, TargetRefusal};
use crate::stored_kind::StoredKind;

/// Longest wait for requests that are being stored, at the end.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Receiver that stores requests, and acknowledges them when they are stored.
#[derive(Debug)]
pub struct RequestCollector {
    listener: HttpListener,
    target: Arc<StoreTarget>,
}

impl RequestCollector {
    /// Listens, and starts to receive.
    ///
    /// # Errors
    /// Fails if the address cannot be bound.
    pub fn bind(options: &ReceiverOptions, store: Box<dyn RequestStore>) -> io::Result<Self> {
        let target = Arc::new(StoreTarget {
            store,
            memory: RequestMemory::new(options.most_memory),
            counts: ReceiverCounts::default(),
            is_closed: AtomicBool::new(false),
        });
        let shared: Arc<dyn RequestTarget> = Arc::<StoreTarget>::clone(&target);
        Ok(Self { listener: HttpListener::bind(options, &shared)?, target })
    }

    /// Returns the address and the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> &ReceiverCounts {
        &self.target.counts
    }

    /// Refuses further requests, and waits until the current ones are answered, for at most 5 seconds.
    pub fn stop(&self) {
        if !self.target.is_closed.swap(true, Ordering::Relaxed) {
            self.listener.stop();
            self.listener.wait(LAST_ANSWERS);
        }
    }
}

impl Drop for RequestCollector {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Target that stores requests.
struct StoreTarget {
    store: Box<dyn RequestStore>,
    memory: RequestMemory,
    counts: ReceiverCounts,
    is_closed: AtomicBool,
}

impl fmt::Debug for StoreTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreTarget").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl RequestTarget for StoreTarget {
    fn push(&self, request: ReceivedRequest) -> Result<(), TargetRefusal> {
        if self.is_closed() {
            return Err(TargetRefusal::Closed);
        }
        if request.places.is_empty() {
            return Ok(());
        }
        let ReceivedRequest { body, encoding, signal, _shares, .. } = request;
        let (kind, record) = StoredKind::record(body, encoding, signal);
        if self.store.store(kind, record) { Ok(()) } else { Err(TargetRefusal::NotStored) }
    }

    fn memory(&self) -> &RequestMemory {
        &self.memory
    }

    fn counts(&self) -> &ReceiverCounts {
        &self.counts
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}
