//! Pauses of a process, and what they mean.

use std::time::{Duration, Instant};

/// Time without data after which a flush is complete, so that its events are delivered.
pub const FLUSH_END: Duration = Duration::from_millis(60);

/// Time without data after which the runtime has flushed all events before it: some three flushes.
pub const QUIET: Duration = Duration::from_millis(300);

/// Time in which a process has sent nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    pub(super) since: Instant,
    pub(super) until: Instant,
}

impl Pause {
    pub(super) fn is_longer_than(self, duration: Duration) -> bool {
        self.until.saturating_duration_since(self.since) >= duration
    }
}
