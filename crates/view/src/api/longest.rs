//! Longest spans of a range.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use ichnos::export::viewers::TimelineTrackKind;
use ichnos::json::write::ValueWriter;

use super::overview::write_time;
use super::scan;
use crate::query::Query;
use crate::response::ApiError;
use crate::shared::Shared;

/// Maximum number of spans of an answer, and pixels of a track in which spans are distinguished.
const MOST_SPANS: usize = 100;
const PIXELS: u64 = 8_192;

/// Lists the longest spans that touch a range, the longest first.
pub(super) fn longest(shared: &Arc<Shared>, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let build = shared.build_of(query)?;
    // That of a new filter has just begun.
    build.wait_until_complete(scan::LONG);
    let is_complete = build.status().is_complete;
    let mut timeline = build.timeline();
    // The shortest of them is the first to be replaced.
    let mut found = BinaryHeap::new();
    for track in 0..timeline.tracks().len() as u32 {
        let kind = timeline.tracks().get(track as usize).map(|track| track.kind);
        // Processors run threads nearly always, threads are nearly always in some state, and losses are no work.
        use TimelineTrackKind::{Losses, Processor, Runs, States};
        if matches!(kind, Some(Processor | Losses | Runs | States) | None) {
            continue;
        }
        for (_, item) in timeline.spans(track, begin, end, PIXELS) {
            if item.longest == 0 {
                continue;
            }
            found.push(Reverse((item.longest, Reverse(item.begin), track, item.name, item.count)));
            if found.len() > MOST_SPANS {
                found.pop();
            }
        }
    }
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    let mut list = object.member("spans").array();
    for Reverse((length, Reverse(begin), track, name, count)) in found.into_sorted_vec() {
        let mut span = list.element().object();
        span.member("name").string(timeline.name(name));
        span.member("track").unsigned(track.into());
        write_time(span.member("begin"), Some(begin));
        span.member("length").unsigned(length);
        span.member("count").unsigned(count.into());
        span.end();
    }
    list.end();
    object.member("complete").boolean(is_complete);
    object.end();
    Ok(out)
}
