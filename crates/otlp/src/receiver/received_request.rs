//! Decoded requests.

use std::time::{SystemTime, UNIX_EPOCH};

use super::memory::RequestShare;
use crate::context_table::ContextTable;
use crate::event_indexer::ElementPlace;
use crate::fault::RequestFault;
use crate::input::RequestEncoding;
use crate::request_signal::RequestSignal;

/// A decoded request.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub(super) body: Vec<u8>,
    pub(super) encoding: RequestEncoding,
    pub(super) signal: RequestSignal,
    pub(super) contexts: ContextTable,
    /// Events, sorted by time.
    pub(super) places: Vec<ElementPlace>,
    /// First statements about what is left out of its resources, scopes and metrics.
    pub(super) cuts: Vec<RequestFault>,
    /// Time of arrival, in nanoseconds since 1970.
    pub(super) arrived: u64,
    /// Memory of the body, and of what was found in it.
    pub(super) _shares: (RequestShare, Option<RequestShare>),
}

/// Returns the wall clock in nanoseconds since 1970.
pub(super) fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
