//! Exact parts of the timeline, read again on zoom.

use std::sync::{Arc, Mutex, MutexGuard};

use ichnos::model::locks::IgnorePoison as _;
use ichnos::viewers::Timeline;

use crate::response::ApiError;

/// Maximum number of cached ranges.
const MOST_PARTS: usize = 4;

/// Range with all its items.
#[derive(Debug)]
pub(crate) struct RangePart {
    begin: u64,
    end: u64,
    timeline: Mutex<Timeline>,
}

impl RangePart {
    /// Creates a part from a timeline with all items of a range.
    pub(crate) fn new((begin, end): (u64, u64), timeline: Timeline) -> Self {
        Self { begin, end, timeline: Mutex::new(timeline) }
    }

    pub(crate) fn timeline(&self) -> MutexGuard<'_, Timeline> {
        self.timeline.lock().ignore_poison()
    }
}

/// Cache of the latest ranges.
#[derive(Debug, Default)]
pub(crate) struct RangeParts(Mutex<Vec<Arc<RangePart>>>);

impl RangeParts {
    /// Returns a part that contains a range. Without a cached part, calls `read`, which returns `None` for too many
    /// events.
    pub(crate) fn find(
        &self,
        (begin, end): (u64, u64),
        read: impl FnOnce() -> Result<Option<RangePart>, ApiError>,
    ) -> Result<Option<Arc<RangePart>>, ApiError> {
        // The lock is held while a range is read, because other requests often need the same range.
        let mut parts = self.0.lock().ignore_poison();
        if let Some(index) = parts.iter().position(|part| part.begin <= begin && end <= part.end) {
            let part = parts.remove(index);
            parts.push(Arc::clone(&part));
            return Ok(Some(part));
        }
        let Some(part) = read()? else { return Ok(None) };
        let part = Arc::new(part);
        if parts.len() >= MOST_PARTS {
            parts.remove(0);
        }
        parts.push(Arc::clone(&part));
        Ok(Some(part))
    }
}
