//! Flows between tracks in a range.

use std::collections::HashSet;
use std::sync::Arc;

use ichnos::json::write::ValueWriter;
use ichnos::viewers::Timeline;

use super::range;
use super::tasks;
use super::tiles::{MOST_PIXELS, track_numbers};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;
use crate::task_list::TaskJoin;

/// Maximum and default number of flows in an answer.
const MOST_FLOWS: u64 = 10_000;
const FLOWS: u64 = 1_000;

/// Track and time of both ends of a flow.
type FlowEnds = [(u32, u64); 2];

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
    /// Returns the flows in the range, and further arrows, and `true` if they are complete. Flows within the same pixels
    /// are merged. If there are too many, only the longest flows are returned.
    fn select(&self, timeline: &Timeline, joins: &[TaskJoin]) -> (Vec<FlowEnds>, bool) {
        let has = |track: u32| self.tracks.as_ref().is_none_or(|tracks| tracks.contains(&track));
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        let flows = timeline.flows().iter().map(|flow| [flow.from, flow.to].map(|end| (end.track, end.time)));
        let joins =
            joins.iter().map(|join| [(join.from.track, join.left_at), (join.to.track, join.to.event.time)]);
        for flow in flows.chain(joins) {
            let [from, to] = flow;
            let is_in = from.1.max(to.1) >= self.begin && from.1.min(to.1) <= self.end;
            if !is_in || !has(from.0) && !has(to.0) {
                continue;
            }
            if seen.insert(flow.map(|(track, time)| (track, time / self.pixel))) {
                found.push(flow);
            }
        }
        let is_all = found.len() <= self.limit;
        if !is_all {
            found.sort_by_key(|[from, to]| std::cmp::Reverse(from.1.abs_diff(to.1)));
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
    let joined = tasks::joined(shared, query)?;
    let joins = joined.as_ref().map_or(&[][..], |list| list.joins());
    let (found, is_all) = {
        let timeline = build.timeline();
        let (found, is_all) = request.select(&timeline, joins);
        (found, is_all && timeline.has_all_flows())
    };
    let is_main = Arc::ptr_eq(build, &shared.build);
    // If there are too many flows, the timeline only knows the first flows. Reading the range again finds the others.
    let part = match is_main && !build.timeline().has_all_flows() {
        true => shared.parts.find((begin, end), || range::read(shared, begin, end))?,
        false => None,
    };
    let (found, is_all) = part.map_or((found, is_all), |part| request.select(&part.timeline(), joins));
    let relative = |time: u64| time.wrapping_sub(begin).cast_signed();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("generation").unsigned(shared.build.status().generation);
    object.member("complete").boolean(is_all && is_over);
    let mut list = object.member("flows").array();
    for flow in found {
        for (track, time) in flow {
            list.element().unsigned(track.into());
            list.element().signed(relative(time));
        }
    }
    list.end();
    object.end();
    Ok(out)
}
