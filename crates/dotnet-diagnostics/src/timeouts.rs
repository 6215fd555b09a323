//! Time limits.

use std::time::Duration;

/// Time limits for the answers of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a request and its reply.
    pub reply: Duration,
    /// From the stop request to the end of the stream. Large programs need minutes for the rundown.
    pub rundown: Duration,
    /// For data, when a session is read as [`Read`](std::io::Read).
    pub read: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let (reply, minutes) = (Duration::from_secs(5), Duration::from_mins(10));
        Self { reply, rundown: minutes, read: minutes }
    }
}
