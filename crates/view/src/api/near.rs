//! Event of a track near a time.

use std::ops::ControlFlow;

use ichnos::json::write::ValueWriter;
use ichnos::viewers::{EventId, TimelineTrack};

use super::events::{EventTexts, MOST_EVENTS, write_row};
use super::scan::{self, Match, RangeScan, is_within};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;

/// Length of the first range that is searched for an earlier event, in nanoseconds.
const FIRST_STEP: u64 = 1_000_000;

/// Finds the event of a track before, after or at a time.
pub(super) fn near(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let time = query.required_time("time")?;
    let name = query.number("name")?.map(|name| name as u32);
    let event = query.event("event")?.filter(|event| event.time == time);
    let (tracks, range) = {
        let timeline = shared.build.timeline();
        (timeline.tracks().to_vec(), timeline.range())
    };
    let near = NearEvent { shared, tracks, track: query.required("track")? as u32, name, event };
    let Some((first, last)) = range else { return Ok(b"null".to_vec()) };
    let found = match query.text("direction").unwrap_or("at") {
        "next" => near.next(time, last)?,
        "previous" => near.previous(time, first)?,
        "at" => near.closest(time, query.number("tolerance")?.unwrap_or(0))?,
        other => return Err(ApiError::bad(format!("direction: next, previous or at, found `{other}`"))),
    };
    Ok(found.unwrap_or_else(|| b"null".to_vec()))
}

/// Search for an event of a track.
struct NearEvent<'s> {
    shared: &'s AppState,
    tracks: Vec<TimelineTrack>,
    track: u32,
    name: Option<u32>,
    /// Current event, to step over simultaneous events one by one. `None` to skip all events at the time.
    event: Option<EventId>,
}

impl NearEvent<'_> {
    /// Returns the row of a matching event.
    fn row(&self, found: &Match<'_, '_>) -> Option<Vec<u8>> {
        let is_named = self.name.is_none_or(|name| found.place.name == name);
        if !is_named || !is_within(&self.tracks, found.place.track, self.track) {
            return None;
        }
        let mut out = Vec::new();
        let mut object = ValueWriter::new(&mut out).object();
        let text = EventTexts::of_fields().fields(found.event).to_owned();
        write_row(&mut object, found, found.listed_name(), &text);
        object.end();
        Some(out)
    }

    fn scan(&self, begin: u64, end: u64, most: u64) -> RangeScan<'static> {
        RangeScan { begin, end, filter: None, most, time: scan::SHORT }
    }

    fn next(&self, time: u64, last: u64) -> Result<Option<Vec<u8>>, ApiError> {
        let mut next = None;
        let mut is_after = self.event.is_none();
        let begin = if is_after { time.saturating_add(1) } else { time };
        self.scan(begin, last, MOST_EVENTS).run(self.shared, |found| {
            if !is_after && found.id.time == time {
                is_after = Some(found.id) == self.event;
                return ControlFlow::Continue(());
            }
            next = self.row(found);
            if next.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(next)
    }

    /// Searches ever longer earlier ranges, because events can only be read forward.
    fn previous(&self, time: u64, first: u64) -> Result<Option<Vec<u8>>, ApiError> {
        let mut previous = None;
        let mut end = if self.event.is_some() { Some(time) } else { time.checked_sub(1) };
        let (mut length, mut left) = (FIRST_STEP, MOST_EVENTS);
        while let Some(last) = end.filter(|last| previous.is_none() && *last >= first && left > 0) {
            let begin = last.saturating_sub(length).max(first);
            let scanned = self.scan(begin, last, left).run(self.shared, |found| {
                if Some(found.id) == self.event {
                    return ControlFlow::Break(());
                }
                previous = self.row(found).or(previous.take());
                ControlFlow::Continue(())
            })?;
            left = if scanned.is_complete { left.saturating_sub(scanned.events) } else { 0 };
            (end, length) = (begin.checked_sub(1), length.saturating_mul(8));
        }
        Ok(previous)
    }

    fn closest(&self, time: u64, tolerance: u64) -> Result<Option<Vec<u8>>, ApiError> {
        let (begin, end) = (time.saturating_sub(tolerance), time.saturating_add(tolerance));
        let (mut closest, mut distance) = (None, u64::MAX);
        self.scan(begin, end, MOST_EVENTS).run(self.shared, |found| {
            let own = found.id.time.abs_diff(time);
            if own < distance
                && let Some(row) = self.row(found)
            {
                (closest, distance) = (Some(row), own);
            }
            ControlFlow::Continue(())
        })?;
        Ok(closest)
    }
}
