//! Traces that are written to be downloaded.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks.
const STEP: Duration = Duration::from_millis(20);

/// State of the trace that is written for a download: one at a time.
#[derive(Debug, Default)]
pub(crate) struct Exports(AtomicBool);

/// Permission to write a trace.
#[derive(Debug)]
pub(crate) struct ExportPermit<'e>(&'e Exports);

impl Drop for ExportPermit<'_> {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}

impl Exports {
    /// Returns the permission, unless another trace is written.
    pub(crate) fn begin(&self) -> Option<ExportPermit<'_>> {
        let was_busy = self.0.swap(true, Ordering::AcqRel);
        (!was_busy).then(|| ExportPermit(self))
    }

    /// Returns `true` while a trace is written or sent.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Waits until no trace is written, so that its files are removed, but no longer than this.
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
