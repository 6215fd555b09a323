//! Flows between tracks in a range.

use std::collections::HashSet;
use std::sync::Arc;

use ichnos::json::write::ValueWriter;
use ichnos::viewers::{Timeline, TimelineFlow};

use super::range;
use super::tiles::{MOST_PIXELS, track_numbers};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;

/// Maximum and default number of flows in an answer.
const MOST_FLOWS: u64 = 10_000;
const FLOWS: u64 = 1_000;

/// Parameters of a flow request.
struct FlowQuery {
    begin: u64,
    end: u64,
    /// Tracks on which a flow must start or end. `None` for all flows.
    tracks: Option<HashSet<u32>>,
    /// Pixel width in nanoseconds.
    pixel: u64,
    limit: usize,
}

impl FlowQuery {
    /// Returns the flows in the range, and `true` if they are complete. Flows within the same pixels are merged. If
    /// there are too many, only the longest flows are returned.
    fn select(&self, timeline: &Timeline) -> (Vec<TimelineFlow>, bool) {
        let has = |track: u32| self.tracks.as_ref().is_none_or(|tracks| tracks.contains(&track));
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for flow in timeline.flows() {
            let (from, to) = (&flow.from, &flow.to);
            let is_in = from.time.max(to.time) >= self.begin && from.time.min(to.time) <= self.end;
            if !is_in || !has(from.track) && !has(to.track) {
                continue;
            }
            let places = [from, to].map(|place| (place.track, place.time / self.pixel));
            if seen.insert(places) {
                found.push(*flow);
            }
        }
        let is_all = found.len() <= self.limit;
        if !is_all {
            found.sort_by_key(|flow| std::cmp::Reverse(flow.from.time.abs_diff(flow.to.time)));
            found.truncate(self.limit);
        }
        (found, is_all)
    }
}

/// Answers with the flows of a range.
pub(super) fn flows(shared: &Arc<AppState>, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let pixels = query.bounded("pixels", MOST_PIXELS, 1_000)?.max(1);
    let tracks = query.text("tracks").is_some().then(|| track_numbers(query)).transpose()?;
    let request = FlowQuery {
        begin,
        end,
        tracks: tracks.map(HashSet::from_iter),
        pixel: ((end - begin) / pixels).max(1),
        limit: query.bounded("limit", MOST_FLOWS, FLOWS)? as usize,
    };
    let build = &shared.build_of(query)?;
    let is_over = build.status().is_complete;
    let (found, is_all) = {
        let timeline = build.timeline();
        let (found, is_all) = request.select(&timeline);
        (found, is_all && timeline.has_all_flows())
    };
    let is_main = Arc::ptr_eq(build, &shared.build);
    // If there are too many flows, the timeline only knows the first flows. Reading the range again finds the others.
    let part = match is_main && !build.timeline().has_all_flows() {
        true => shared.parts.find((begin, end), || range::read(shared, begin, end))?,
        false => None,
    };
    let (found, is_all) = part.map_or((found, is_all), |part| request.select(&part.timeline()));
    let relative = |time: u64| time.wrapping_sub(begin).cast_signed();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("generation").unsigned(shared.build.status().generation);
    object.member("complete").boolean(is_all && is_over);
    let mut list = object.member("flows").array();
    for flow in found {
        for place in [flow.from, flow.to] {
            list.element().unsigned(place.track.into());
            list.element().signed(relative(place.time));
        }
    }
    list.end();
    object.end();
    Ok(out)
}
