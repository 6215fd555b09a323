//! Search for the events at both ends of a span.

use std::ops::ControlFlow;

use ichnos::viewers::SpanItem;
use ichnos::viewers::{SpanSide, Timeline, TimelinePlace, TimelineTrackKind};

use super::events::MOST_EVENTS;
use super::range;
use super::scan::{self, RangeScan};
use crate::app_state::AppState;
use crate::response::ApiError;

/// Maximum number of spans to compare, of tracks to search, and of events at one time.
const MOST_SPANS: usize = 64;
const MOST_TRACKS: usize = 64;
const MOST_AT_ONCE: usize = 10_000;

/// Start and end event of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SpanEnds {
    pub(super) begin: Option<TimelinePlace>,
    /// `None` if one event is the whole span, or the span never ends.
    pub(super) end: Option<TimelinePlace>,
    /// Length in nanoseconds. `None` if the span never ends.
    pub(super) length: Option<u64>,
}

/// Search for spans. The timeline knows their start and end times. The events at these times are matched by key, or
/// by order, because spans without a key are nested.
pub(super) struct SpanSearch<'s> {
    shared: &'s AppState,
}

impl<'s> SpanSearch<'s> {
    pub(super) fn new(shared: &'s AppState) -> Self {
        Self { shared }
    }

    /// Returns the ends of the span that an event starts or ends.
    pub(super) fn find(&self, event: TimelinePlace) -> Result<Option<SpanEnds>, ApiError> {
        match event.side {
            Some(SpanSide::Begin | SpanSide::Frame) => self.span_of_begin(event),
            Some(SpanSide::End) => self.span_of_end(event),
            Some(SpanSide::Whole) => {
                let items = self.items(event.track, event.time)?;
                let is_own = |item: &&SpanItem| item.begin == event.time && item.name == event.name;
                let length = items.iter().find(is_own).map_or(0, |item| item.longest);
                Ok(Some(SpanEnds { begin: Some(event), end: None, length: Some(length) }))
            }
            _ => Ok(None),
        }
    }

    fn span_of_begin(&self, event: TimelinePlace) -> Result<Option<SpanEnds>, ApiError> {
        let mut items = self.items(event.track, event.time)?;
        items.retain(|item| item.begin == event.time && item.name == event.name);
        if event.key == 0 {
            let begins = self.places(event.time)?;
            let begins = begins.iter().filter(|other| is_begin(other, event.track, event.name));
            items = nth(items, begins, event);
        }
        for item in items.iter().filter(|item| !item.is_open()).take(MOST_SPANS) {
            if let Some(end) = self.end_of(event, item)? {
                let length = Some(end.time.saturating_sub(event.time));
                return Ok(Some(SpanEnds { begin: Some(event), end: Some(end), length }));
            }
        }
        Ok(Some(SpanEnds { begin: Some(event), ..SpanEnds::default() }))
    }

    fn span_of_end(&self, event: TimelinePlace) -> Result<Option<SpanEnds>, ApiError> {
        for track in self.tracks(event) {
            let mut items = self.items(track, event.time)?;
            items.retain(|item| item.end == event.time && !item.is_open());
            if event.key == 0 {
                // The innermost span ends first.
                items.reverse();
                let ends = self.places(event.time)?;
                items = nth(items, ends.iter().filter(|other| is_end(other, track)), event);
            }
            for item in items.iter().take(MOST_SPANS) {
                if let Some(begin) = self.begin_of(event, track, item)? {
                    let length = Some(event.time.saturating_sub(begin.time));
                    return Ok(Some(SpanEnds { begin: Some(begin), end: Some(event), length }));
                }
            }
        }
        Ok(None)
    }

    /// Returns the end event for a start event.
    fn end_of(&self, begin: TimelinePlace, item: &SpanItem) -> Result<Option<TimelinePlace>, ApiError> {
        let mut ends = self.places(item.end)?;
        if begin.key != 0 {
            let is_end = |other: &TimelinePlace| {
                matches!(other.side, Some(SpanSide::End | SpanSide::Frame))
                    && other.key == begin.key
                    && other.event() != begin.event()
            };
            return Ok(ends.into_iter().find(is_end));
        }
        ends.retain(|other| is_end(other, begin.track));
        let mut items = self.items(begin.track, item.end)?;
        items.retain(|other| other.end == item.end && !other.is_open());
        items.reverse();
        Ok(ends.get(rank(&items, item)).copied())
    }

    /// Returns the start event for an end event.
    fn begin_of(
        &self,
        end: TimelinePlace,
        track: u32,
        item: &SpanItem,
    ) -> Result<Option<TimelinePlace>, ApiError> {
        let mut begins = self.places(item.begin)?;
        if end.key != 0 {
            let is_begin = |other: &TimelinePlace| {
                matches!(other.side, Some(SpanSide::Begin | SpanSide::Frame))
                    && other.key == end.key
                    && other.event() != end.event()
            };
            return Ok(begins.into_iter().find(is_begin));
        }
        begins.retain(|other| is_begin(other, track, item.name));
        let mut items = self.items(track, item.begin)?;
        items.retain(|other| other.begin == item.begin && other.name == item.name);
        Ok(begins.get(rank(&items, item)).copied())
    }

    /// Returns the tracks that can contain the span of an end event. The end event can lack the span name.
    fn tracks(&self, end: TimelinePlace) -> Vec<u32> {
        let mut tracks = vec![end.track];
        if end.key != 0 {
            let timeline = self.shared.build.timeline();
            let all = timeline.tracks();
            let parent = all.get(end.track as usize).and_then(|track| track.parent);
            let others = (0_u32..).zip(all).filter(|(number, track)| {
                track.kind == TimelineTrackKind::Spans && track.parent == parent && *number != end.track
            });
            tracks.extend(others.map(|(number, _)| number).take(MOST_TRACKS));
        }
        tracks
    }

    /// Returns the spans of a track that start or end at a time, outermost first. Spans without a length look like
    /// instants, so they are only returned without other spans.
    fn items(&self, track: u32, time: u64) -> Result<Vec<SpanItem>, ApiError> {
        let touching = |timeline: &mut Timeline| {
            let found = timeline.spans(track, time.saturating_sub(1), time.saturating_add(1), u64::MAX);
            let mut items: Vec<_> = found.into_iter().map(|(_, item)| item).collect();
            items.retain(|item| item.count == 1 && (item.begin == time || item.end == time));
            if items.iter().any(|item| item.longest > 0) {
                items.retain(|item| item.longest > 0);
            }
            items
        };
        let resolution = self.shared.build.timeline().resolution();
        if resolution > 0 {
            let (begin, end) = (time.saturating_sub(1), time.saturating_add(1));
            let read = || range::read(self.shared, begin, end);
            if let Some(part) = self.shared.parts.find((begin, end), read)? {
                return Ok(touching(&mut part.timeline()));
            }
        }
        Ok(touching(&mut self.shared.build.timeline()))
    }

    /// Returns the events at a time.
    fn places(&self, time: u64) -> Result<Vec<TimelinePlace>, ApiError> {
        let mut places = Vec::new();
        let scan = RangeScan { begin: time, end: time, filter: None, most: MOST_EVENTS, time: scan::SHORT };
        scan.run(self.shared, |found| {
            places.push(found.place);
            if places.len() < MOST_AT_ONCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(places)
    }
}

fn is_begin(place: &TimelinePlace, track: u32, name: u32) -> bool {
    let is_side = place.side == Some(SpanSide::Begin) && place.key == 0;
    is_side && place.track == track && place.name == name
}

fn is_end(place: &TimelinePlace, track: u32) -> bool {
    place.side == Some(SpanSide::End) && place.key == 0 && place.track == track
}

/// Returns the index of an item.
fn rank(items: &[SpanItem], item: &SpanItem) -> usize {
    items.iter().position(|other| other == item).unwrap_or(0)
}

/// Returns the item with the same index as an event among `others`.
fn nth<'p>(
    items: Vec<SpanItem>,
    mut others: impl Iterator<Item = &'p TimelinePlace>,
    event: TimelinePlace,
) -> Vec<SpanItem> {
    let number = others.position(|other| other.event() == event.event()).unwrap_or(0);
    let last = items.len().saturating_sub(1);
    items.get(number.min(last)).copied().into_iter().collect()
}
