//! Counts of a receiver.

use std::sync::atomic::{AtomicU64, Ordering};

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
