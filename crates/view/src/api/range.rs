//! Reads a range again for an exact timeline.

use std::ops::ControlFlow;

use ichnos::model::Message;

use super::scan::window;
use crate::app_state::AppState;
use crate::parts::RangePart;
use crate::response::ApiError;

/// Maximum number of events that are read for a range, and maximum number for reading a wider range than requested.
const MOST_EVENTS: u64 = 100_000;
const FEW_EVENTS: u64 = 60_000;

/// Reads a range, and also its surroundings if they have few events.
pub(super) fn read(shared: &AppState, begin: u64, end: u64) -> Result<Option<RangePart>, ApiError> {
    let build = &shared.build;
    let is_over = build.status().is_complete;
    let (mut timeline, resolution, (begin, end)) = {
        let mut whole = build.timeline();
        let Some((_, last)) = whole.range() else { return Ok(None) };
        let resolution = whole.resolution();
        // The part needs the state after its end, which is unknown until the timeline gets there.
        if !is_over && end.saturating_add(resolution) >= last {
            return Ok(None);
        }
        let length = end - begin;
        let wide = (begin.saturating_sub(length), end.saturating_add(length));
        let (from, to) = (begin.saturating_sub(2 * resolution), end.saturating_add(resolution));
        if whole.estimate(from, to) > MOST_EVENTS {
            return Ok(None);
        }
        let is_wide = is_over && whole.estimate(wide.0, wide.1) < FEW_EVENTS;
        let (begin, end) = if is_wide { wide } else { (begin, end) };
        let part = whole.part(begin.saturating_sub(2 * resolution), usize::MAX);
        let part = if whole.has_all_flows() { part } else { part.with_flows() };
        (part, resolution, (begin, end))
    };
    let (from, to) = (begin.saturating_sub(2 * resolution), end.saturating_add(resolution));
    let reader = shared.reader(window(from, to))?;
    let mut left = MOST_EVENTS;
    let mut take = |message: &Message<'_>| -> std::io::Result<ControlFlow<()>> {
        timeline.take(message);
        left -= u64::from(matches!(message, Message::Event(_)));
        Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    shared.run(&reader, &mut take)?;
    if left == 0 {
        return Ok(None);
    }
    timeline.finish_part(&mut build.timeline());
    Ok(Some(RangePart::new((begin, end), timeline)))
}
