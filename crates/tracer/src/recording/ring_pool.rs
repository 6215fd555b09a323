//! Rings of all threads of a recording.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::thread_ring::ThreadRing;
use super::trace_directory::TraceDirectory;

/// Rings that no thread has, and what is created for new ones.
#[derive(Debug)]
pub(super) struct RingPool {
    pub(super) directory: Arc<TraceDirectory>,
    idle: Mutex<Vec<ThreadRing>>,
    streams: AtomicU32,
}

impl RingPool {
    pub(super) fn new(directory: TraceDirectory) -> Self {
        let directory = Arc::new(directory);
        Self { directory, idle: Mutex::default(), streams: AtomicU32::new(0) }
    }

    /// Returns a ring that no thread has, or a new one. Returns `None` if there are too many.
    pub(super) fn take(&self) -> Option<ThreadRing> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.or_else(|| {
            let stream = u16::try_from(self.streams.fetch_add(1, Ordering::Relaxed)).ok()?;
            Some(ThreadRing::new(Arc::clone(&self.directory), stream))
        })
    }

    /// Keeps a ring for another thread.
    pub(super) fn give_back(&self, ring: ThreadRing) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(ring);
    }

    /// Ends the files without a thread. Returns the number of events that were discarded in them.
    pub(super) fn finish(&self) -> u64 {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        idle.into_iter().map(|ring| u64::from(ring.finish())).sum()
    }
}
