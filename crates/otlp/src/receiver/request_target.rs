//! Destination of received requests.

use std::fmt;

use super::memory::RequestMemory;
use super::received_request::ReceivedRequest;
use super::receiver_counts::ReceiverCounts;

/// Reason why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetRefusal {
    /// Too much is waiting.
    Full,
    /// The receiver has ended.
    Closed,
    NotStored,
}

/// Destination of received requests, which several connections share.
pub(super) trait RequestTarget: fmt::Debug + Send + Sync {
    /// Takes a request. It can then be acknowledged.
    fn push(&self, request: ReceivedRequest) -> Result<(), TargetRefusal>;

    /// Returns the memory that all requests share.
    fn memory(&self) -> &RequestMemory;

    fn counts(&self) -> &ReceiverCounts;

    /// Returns `true` if further requests are refused.
    fn is_closed(&self) -> bool;
}
