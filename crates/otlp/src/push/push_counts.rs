//! Numbers of sent requests and elements.

/// Numbers of sent requests and elements: spans, log records and counter values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushCounts {
    /// Number of requests with an answer.
    pub answered: u64,
    /// Number of times a request was sent again.
    pub retries: u64,
    /// Number of acknowledged elements.
    pub acknowledged: u64,
    /// Number of elements that the receiver rejected, alone or with their request.
    pub rejected: u64,
    /// Number of requests without an answer. The receiver may have them.
    pub unanswered: u64,
    /// Number of elements in these requests.
    pub unknown: u64,
    /// Number of sent bytes: compressed requests with their heads.
    pub bytes: u64,
}
