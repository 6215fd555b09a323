//! Longest spans in a range.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Instant;

use ichnos::json::write::ValueWriter;
use ichnos::viewers::SpanItem;
use ichnos::viewers::TimelineTrackKind;

use super::overview::write_time;
use super::{range, scan};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;
use crate::timeline_builder::TimelineBuilder;

/// Maximum number of spans in an answer, and initial number of pixels per track that separate spans.
const MOST_SPANS: usize = 100;
const PIXELS: u64 = 8_192;

/// Resolution at which spans are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SpanDetail {
    /// Pixels.
    Pixels,
    /// Items of the timeline.
    Items,
    /// Events, after reading them again.
    Events,
}

/// Span, or a group of unseparated spans with the longest of them. Longer and earlier candidates are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    longest: u64,
    begin: Reverse<u64>,
    end: u64,
    count: u32,
    track: u32,
    lane: u16,
    name: u32,
    detail: SpanDetail,
}

impl Candidate {
    fn new(track: u32, lane: u16, item: &SpanItem, detail: SpanDetail) -> Self {
        let SpanItem { longest, begin, end, count, name, .. } = *item;
        Self { longest, begin: Reverse(begin), end, count, track, lane, name, detail }
    }

    fn is_same_span(&self, other: &Self) -> bool {
        let identity = |span: &Self| (span.track, span.lane, span.begin, span.end, span.name, span.count);
        identity(self) == identity(other)
    }
}

/// Search for the longest spans.
struct LongestSearch<'s> {
    shared: &'s AppState,
    build: Arc<TimelineBuilder>,
    range: (u64, u64),
    /// Spans, and groups that can contain longer spans.
    candidates: BinaryHeap<Candidate>,
    /// Deadline for reading events again.
    deadline: Instant,
}

impl LongestSearch<'_> {
    /// Adds the longest items of all tracks. Each of the longest spans is one of these items, or inside one of them.
    fn add_tracks(&mut self) {
        let (begin, end) = self.range;
        let mut timeline = self.build.timeline();
        // The shortest candidate is replaced first.
        let mut longest = BinaryHeap::new();
        for track in 0..timeline.tracks().len() as u32 {
            let kind = timeline.tracks().get(track as usize).map(|track| track.kind);
            // Processors and thread states cover nearly all of the time, and losses are not work.
            use TimelineTrackKind::{Losses, Processor, Runs, States};
            if matches!(kind, Some(Processor | Losses | Runs | States) | None) {
                continue;
            }
            let spans = timeline.spans(track, begin, end, PIXELS);
            for (lane, item) in spans.iter().filter(|(_, item)| item.longest > 0) {
                let candidate = Candidate::new(track, *lane, item, SpanDetail::Pixels);
                // In a group at the edge of the range, the longest span can be outside the range.
                if item.count > 1 && (item.begin < begin || item.end > end) {
                    self.candidates.push(candidate);
                    continue;
                }
                longest.push(Reverse(candidate));
                if longest.len() > MOST_SPANS {
                    longest.pop();
                }
            }
        }
        self.candidates.extend(longest.into_iter().map(|Reverse(candidate)| candidate));
    }

    /// Returns the longest spans, longest first. A group is only separated when nothing else can be longer.
    fn find(mut self) -> Result<Vec<Candidate>, ApiError> {
        let mut found: Vec<Candidate> = Vec::new();
        while found.len() < MOST_SPANS
            && let Some(candidate) = self.candidates.pop()
        {
            let is_divided = candidate.count > 1
                && match candidate.detail {
                    SpanDetail::Pixels => {
                        self.add_items(&candidate);
                        true
                    }
                    SpanDetail::Items => self.add_events(&candidate)?,
                    SpanDetail::Events => false,
                };
            // A span that starts where a group ends can be found twice.
            if !is_divided && !found.iter().any(|other| other.is_same_span(&candidate)) {
                found.push(candidate);
            }
        }
        Ok(found)
    }

    /// Adds the timeline items of a group.
    fn add_items(&mut self, group: &Candidate) {
        let spans = self.build.timeline().spans(group.track, group.begin.0, group.end, u64::MAX);
        self.add_spans(group, &spans, SpanDetail::Items);
    }

    /// Reads the events of a group again and adds its spans. Returns `false` if that is impossible.
    fn add_events(&mut self, group: &Candidate) -> Result<bool, ApiError> {
        // Ranges are always read without a filter.
        if !Arc::ptr_eq(&self.build, &self.shared.build) || Instant::now() >= self.deadline {
            return Ok(false);
        }
        let (shared, times) = (self.shared, (group.begin.0, group.end));
        let Some(part) = shared.parts.find(times, || range::read(shared, times.0, times.1))? else {
            return Ok(false);
        };
        let spans = part.timeline().spans(group.track, times.0, times.1, u64::MAX);
        Ok(self.add_spans(group, &spans, SpanDetail::Events))
    }

    /// Adds the spans that belong to a group. Returns `false` without such spans.
    fn add_spans(&mut self, group: &Candidate, spans: &[(u16, SpanItem)], detail: SpanDetail) -> bool {
        let is_within = |(lane, item): &&(u16, SpanItem)| {
            let is_of_group = *lane == group.lane && item.begin >= group.begin.0 && item.end <= group.end;
            let touches = item.begin <= self.range.1 && item.end >= self.range.0;
            is_of_group && touches && item.longest > 0
        };
        let spans = spans.iter().filter(is_within);
        let added = spans.map(|(lane, item)| Candidate::new(group.track, *lane, item, detail));
        let before = self.candidates.len();
        self.candidates.extend(added.collect::<Vec<_>>());
        self.candidates.len() > before
    }
}

/// Lists the longest spans that touch a range, longest first.
pub(super) fn longest(shared: &Arc<AppState>, query: &Query) -> Result<Vec<u8>, ApiError> {
    let range = query.range()?;
    let build = shared.build_of(query)?;
    // The timeline of a new filter has just started.
    build.wait_until_complete(scan::LONG);
    let is_complete = build.status().is_complete;
    let (candidates, deadline) = (BinaryHeap::new(), Instant::now() + scan::SHORT);
    let mut search = LongestSearch { shared, build: Arc::clone(&build), range, candidates, deadline };
    search.add_tracks();
    let found = search.find()?;
    let timeline = build.timeline();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    let mut list = object.member("spans").array();
    for Candidate { longest, begin: Reverse(begin), track, name, count, .. } in found {
        let mut span = list.element().object();
        span.member("name").string(timeline.name(name));
        span.member("track").unsigned(track.into());
        write_time(span.member("begin"), Some(begin));
        span.member("length").unsigned(longest);
        span.member("count").unsigned(count.into());
        span.end();
    }
    list.end();
    object.member("complete").boolean(is_complete);
    object.end();
    Ok(out)
}
