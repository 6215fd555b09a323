//! Ranges of the timeline that are read again, to show them exactly.

use std::sync::{Arc, Mutex, MutexGuard};

use ichnos::model::IgnorePoison as _;
use ichnos::viewers::Timeline;

use crate::response::ApiError;

/// Number of ranges that are kept.
const MOST_PARTS: usize = 4;

/// A range with all of its items.
#[derive(Debug)]
pub(crate) struct RangePart {
    begin: u64,
    end: u64,
    timeline: Mutex<Timeline>,
}

impl RangePart {
    /// Makes a part of a timeline that has all items of a range.
    pub(crate) fn new((begin, end): (u64, u64), timeline: Timeline) -> Self {
        Self { begin, end, timeline: Mutex::new(timeline) }
    }

    pub(crate) fn timeline(&self) -> MutexGuard<'_, Timeline> {
        self.timeline.lock().ignore_poison()
    }
}

/// Ranges that were read last.
#[derive(Debug, Default)]
pub(crate) struct RangeParts(Mutex<Vec<Arc<RangePart>>>);

impl RangeParts {
    /// Returns a part that contains a range. If there is none, `read` returns it, unless it has too many events.
    pub(crate) fn find(
        &self,
        (begin, end): (u64, u64),
        read: impl FnOnce() -> Result<Option<RangePart>, ApiError>,
    ) -> Result<Option<Arc<RangePart>>, ApiError> {
        // Held while a range is read: others often ask for the same one.
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
