//! Trace downloads, one at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval.
const STEP: Duration = Duration::from_millis(20);

/// State of the trace download: at most one at a time.
#[derive(Debug, Default)]
pub(crate) struct Exports(AtomicBool);

/// Permit to write a trace, returned when dropped.
#[derive(Debug)]
pub(crate) struct ExportPermit<'e>(&'e Exports);

impl Drop for ExportPermit<'_> {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}

impl Exports {
    /// Returns the permit, unless another trace is being written.
    pub(crate) fn begin(&self) -> Option<ExportPermit<'_>> {
        let was_busy = self.0.swap(true, Ordering::AcqRel);
        (!was_busy).then(|| ExportPermit(self))
    }

    /// Returns `true` while a trace is being written or sent.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Waits until no trace is being written and its files are removed, at most for the given time.
    pub(crate) fn wait(&self, most: Duration) {
        let end = Instant::now() + most;
        while self.is_busy() && Instant::now() < end {
            thread::sleep(STEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trace_is_written_at_a_time() {
        let exports = Exports::default();
        let first = exports.begin();
        assert!(first.is_some() && exports.begin().is_none() && exports.is_busy());
        exports.wait(Duration::from_millis(1));
        drop(first);
        assert!(!exports.is_busy() && exports.begin().is_some());
    }
}
