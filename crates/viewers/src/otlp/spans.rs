//! Open spans.

use std::collections::{HashMap, VecDeque};

use super::batch::GroupKey;
use super::ids::{SpanCause, SpanId, SpanIds};
use ichnos_analysis::events::nested_spans::spans_within;
use ichnos_analysis::events::span_edge::SpanEdge;

/// Maximum number of open spans. Beyond it, the oldest spans are written.
pub(super) const MOST_OPEN: usize = 16_384;

/// Maximum size of open spans in bytes.
const MOST_BYTES: usize = 64 << 20;

/// Maximum size of a span's events in bytes. Further events become log records.
const MOST_EVENT_BYTES: usize = 64 << 10;

/// Maximum number of events in a span, the default of the OpenTelemetry libraries. Further events become log records.
const MOST_EVENTS: u32 = 128;

/// Maximum number of kept tracks without an open span.
const MOST_TRACKS: usize = 1 << 16;

/// Maximum number of spans on a track that are searched for spans with the same identifiers.
const MOST_COMPARED: usize = 16;

/// Maximum depth of operations inside operations.
const MOST_JOINED: usize = 8;

/// Maximum buffer size of a reused span.
const MOST_KEPT: usize = 4 << 10;

/// End of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanEnd {
    /// End by an event.
    Event,
    /// Known end time.
    At(u64),
    /// Time of the last event so far.
    Last(u64),
}

/// Hashes that tell apart OpenTelemetry spans with the same identifiers. Both sides of a remote call can share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementKey {
    /// Data stream and instrumentation scope.
    pub(super) origin: u64,
    pub(super) name: u64,
}

/// Open span.
#[derive(Debug)]
pub(super) struct OpenSpan {
    pub(super) ids: SpanIds,
    /// Start time in nanoseconds.
    pub(super) begin: u64,
    /// Names from the start event.
    pub(super) edge: SpanEdge,
    pub(super) end: SpanEnd,
    pub(super) group: GroupKey,
    /// Parent from the trace.
    pub(super) parent: Option<SpanId>,
    /// Span that encloses the start event, with its track.
    pub(super) around: Option<(SpanIds, u64)>,
    /// Causes. One of them can be the parent.
    pub(super) causes: Vec<SpanCause>,
    /// Track of the operation that contains the span.
    pub(super) joined: Option<u64>,
    /// Encoded message fields besides the fields below.
    pub(super) head: Vec<u8>,
    pub(super) attributes: Vec<u8>,
    pub(super) events: Vec<u8>,
    /// Origin and name of a span of OpenTelemetry input, which is written as it was.
    pub(super) element: Option<ElementKey>,
    event_count: u32,
    number: u64,
}

impl OpenSpan {
    fn bytes(&self) -> usize {
        self.head.len() + self.attributes.len() + self.events.len()
    }
}

/// Open spans of a track, innermost last.
#[derive(Debug, Default)]
struct SpanTrack {
    spans: VecDeque<OpenSpan>,
    /// Number of outer spans that were written without their end.
    written: u32,
}

/// Span that an event ends.
#[derive(Debug)]
// It is destructured immediately.
#[allow(clippy::large_enum_variant)]
pub(super) enum EndedSpan {
    Open(OpenSpan),
    /// Span that was written without its end.
    Written,
    /// Span without a start.
    Unknown,
}

/// All open spans by track.
#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    tracks: HashMap<u64, SpanTrack>,
    /// Track and number of spans, sorted by start. Some spans may be closed already.
    order: VecDeque<(u64, u64)>,
    count: usize,
    bytes: usize,
    /// Number of spans so far.
    begun: u64,
    /// Reused buffers from written spans.
    spare: Vec<OpenSpan>,
}

impl OpenSpans {
    /// Returns the number of the next span.
    pub(super) fn next_number(&self) -> u64 {
        self.begun
    }

    /// Returns an empty span.
    pub(super) fn new_span(
        &mut self,
        ids: SpanIds,
        (begin, edge): (u64, SpanEdge),
        end: SpanEnd,
        group: GroupKey,
    ) -> OpenSpan {
        let (head, attributes, events, causes) = match self.spare.pop() {
            Some(OpenSpan { head, attributes, events, causes, .. }) => (head, attributes, events, causes),
            None => Default::default(),
        };
        let (parent, around, joined, event_count, number) = (None, None, None, 0, 0);
        OpenSpan {
            ids,
            begin,
            edge,
            end,
            group,
            parent,
            around,
            causes,
            joined,
            head,
            attributes,
            events,
            element: None,
            event_count,
            number,
        }
    }

    /// Takes back a written span.
    pub(super) fn reuse(&mut self, mut span: OpenSpan) {
        if self.spare.len() < 64 && span.bytes() <= MOST_KEPT {
            span.head.clear();
            span.attributes.clear();
            span.events.clear();
            span.causes.clear();
            self.spare.push(span);
        }
    }

    /// Opens a span on a track.
    pub(super) fn open(&mut self, track: u64, mut span: OpenSpan) {
        span.number = self.begun;
        self.begun += 1;
        self.count += 1;
        self.bytes += span.bytes();
        self.order.push_back((track, span.number));
        if self.tracks.len() >= MOST_TRACKS + MOST_OPEN {
            self.tracks.retain(|_, track| !track.spans.is_empty());
        }
        self.tracks.entry(track).or_default().spans.push_back(span);
        if self.order.len() > 4 * MOST_OPEN {
            let tracks = &self.tracks;
            self.order.retain(|(track, number)| {
                let spans = tracks.get(track).map(|track| &track.spans);
                spans.is_some_and(|spans| spans.binary_search_by_key(number, |span| span.number).is_ok())
            });
        }
    }

    /// Removes and returns the oldest open span if there are too many, or if `all` spans must be closed. Its end is
    /// lost.
    pub(super) fn evict(&mut self, all: bool) -> Option<OpenSpan> {
        if !all && self.count <= MOST_OPEN && self.bytes <= MOST_BYTES {
            return None;
        }
        while let Some((id, number)) = self.order.pop_front() {
            let Some(track) = self.tracks.get_mut(&id) else { continue };
            let Some(span) = track.spans.pop_front_if(|span| span.number == number) else { continue };
            if span.end == SpanEnd::Event {
                track.written += 1;
            }
            self.closed(&span);
            return Some(span);
        }
        None
    }

    fn closed(&mut self, span: &OpenSpan) {
        self.count -= 1;
        self.bytes = self.bytes.saturating_sub(span.bytes());
    }

    /// Removes and returns the innermost span of a track if its known end is at or before `time`.
    #[inline]
    pub(super) fn close_known(&mut self, track: u64, time: u64) -> Option<OpenSpan> {
        if self.count == 0 {
            return None;
        }
        let is_over = |span: &mut OpenSpan| matches!(span.end, SpanEnd::At(end) if end <= time);
        let span = self.tracks.get_mut(&track)?.spans.pop_back_if(is_over)?;
        self.closed(&span);
        Some(span)
    }

    /// Returns the innermost span of a track.
    #[inline]
    pub(super) fn top(&mut self, track: u64) -> Option<&mut OpenSpan> {
        if self.count == 0 {
            return None;
        }
        self.tracks.get_mut(&track)?.spans.back_mut()
    }

    /// Removes the span of a track that an event ends. `ended` takes the inner spans, whose ends are known or
    /// missing.
    pub(super) fn end(&mut self, track: u64, edge: SpanEdge, mut ended: impl FnMut(OpenSpan)) -> EndedSpan {
        let Self { tracks, count, bytes, .. } = self;
        let Some(place) = tracks.get_mut(&track) else { return EndedSpan::Unknown };
        // An operation is not ended by an event.
        let open = place.spans.iter().rev().take_while(|span| !matches!(span.end, SpanEnd::Last(_)));
        let is_ended = |span: &OpenSpan| span.end == SpanEnd::Event && edge.ends(span.edge);
        let Some(within) = spans_within(open, is_ended) else {
            if place.written == 0 {
                return EndedSpan::Unknown;
            }
            place.written -= 1;
            return EndedSpan::Written;
        };
        let mut innermost = || {
            let span = place.spans.pop_back()?;
            *count -= 1;
            *bytes = bytes.saturating_sub(span.bytes());
            Some(span)
        };
        (0..within).filter_map(|_| innermost()).for_each(&mut ended);
        innermost().map_or(EndedSpan::Unknown, EndedSpan::Open)
    }

    /// Removes the span of OpenTelemetry input that an event ends. Others on its track stay open.
    pub(super) fn end_element(&mut self, track: u64, key: ElementKey) -> EndedSpan {
        let Some(place) = self.tracks.get_mut(&track) else { return EndedSpan::Unknown };
        let found = place.spans.iter().rposition(|span| span.element == Some(key));
        if let Some(span) = found.and_then(|index| place.spans.remove(index)) {
            self.closed(&span);
            return EndedSpan::Open(span);
        }
        if place.written == 0 {
            return EndedSpan::Unknown;
        }
        place.written -= 1;
        EndedSpan::Written
    }

    /// Returns how many of the innermost open spans on a track come from OpenTelemetry input and have a property.
    pub(super) fn count_elements(
        &self,
        track: u64,
        is_counted: impl Fn(&OpenSpan, ElementKey) -> bool,
    ) -> usize {
        let spans = self.tracks.get(&track).into_iter().flat_map(|track| track.spans.iter().rev());
        spans.take(MOST_COMPARED).filter(|span| span.element.is_some_and(|key| is_counted(span, key))).count()
    }

    /// Removes and returns the innermost span of a track if events can end it.
    pub(super) fn end_top(&mut self, track: u64) -> Option<OpenSpan> {
        let is_ended = |span: &mut OpenSpan| span.end == SpanEnd::Event;
        let span = self.tracks.get_mut(&track)?.spans.pop_back_if(is_ended)?;
        self.closed(&span);
        Some(span)
    }

    /// Returns the open span of a track with these identifiers.
    pub(super) fn find(&self, track: u64, ids: SpanIds) -> Option<&OpenSpan> {
        self.tracks.get(&track)?.spans.iter().rev().find(|span| span.ids == ids)
    }

    /// Records an event time for the operation of a track, and for the operations that contain it.
    pub(super) fn record_event_time(&mut self, track: u64, time: u64) {
        let mut next = Some(track);
        for _ in 0..MOST_JOINED {
            let Some(span) = next.and_then(|track| self.top(track)) else { return };
            if let SpanEnd::Last(last) = &mut span.end {
                *last = time.max(*last);
            }
            next = span.joined;
        }
    }

    /// Adds the event that `push` appends to a span of OpenTelemetry input with these identifiers and this origin. Returns
    /// `false` if the span is not open, or if the event is not written.
    pub(super) fn add_element_event(
        &mut self,
        track: u64,
        (ids, origin): (SpanIds, u64),
        push: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let spans = self.tracks.get_mut(&track).map(|track| &mut track.spans);
        let mut spans = spans.into_iter().flatten().rev();
        let is_from = |span: &OpenSpan| span.element.is_some_and(|key| key.origin == origin);
        let Some(span) = spans.find(|span| span.ids == ids && is_from(span)) else { return false };
        let before = span.events.len();
        let is_written = push(&mut span.events);
        if !is_written {
            span.events.truncate(before);
        }
        self.bytes += span.events.len() - before;
        is_written
    }

    /// Adds the event that `push` appends to the innermost span of a track. Returns `false` if the span is full or if
    /// the event is not written.
    pub(super) fn add_event(
        &mut self,
        track: u64,
        time: u64,
        push: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        self.record_event_time(track, time);
        let Some(span) = self.tracks.get_mut(&track).and_then(|track| track.spans.back_mut()) else {
            return false;
        };
        if span.event_count >= MOST_EVENTS {
            return false;
        }
        let before = span.events.len();
        if !push(&mut span.events) || span.events.len() > MOST_EVENT_BYTES {
            span.events.truncate(before);
            return false;
        }
        span.event_count += 1;
        self.bytes += span.events.len() - before;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupKey = GroupKey { resource: 0, scope: 0, metric: 0 };

    const EDGE: SpanEdge = SpanEdge { name: 1, kind: 1, is_unnamed: false };

    fn open(spans: &mut OpenSpans, track: u64, end: SpanEnd, size: usize) {
        let ids = SpanIds { trace: [1; 16], span: [2; 8] };
        let mut span = spans.new_span(ids, (0, EDGE), end, GROUP);
        span.head.resize(size, 0);
        spans.open(track, span);
    }

    #[test]
    fn the_oldest_of_too_many_are_written() {
        let mut spans = OpenSpans::default();
        for track in 0..MOST_OPEN as u64 + 5 {
            open(&mut spans, track, SpanEnd::Event, 1);
        }
        let mut evicted = Vec::new();
        while let Some(span) = spans.evict(false) {
            evicted.push(span.number);
        }
        assert_eq!(evicted, [0, 1, 2, 3, 4]);
        assert!(matches!(spans.end(0, EDGE, |_| ()), EndedSpan::Written));
        assert!(matches!(spans.end(0, EDGE, |_| ()), EndedSpan::Unknown));
        assert!(matches!(spans.end(5, EDGE, |_| ()), EndedSpan::Open(_)));
        let mut rest = 0;
        while spans.evict(true).is_some() {
            rest += 1;
        }
        assert_eq!((rest, spans.count, spans.bytes), (MOST_OPEN - 1, 0, 0));
    }

    #[test]
    fn large_spans_are_written_early_and_nesting_is_kept() {
        let mut spans = OpenSpans::default();
        (0..3).for_each(|_| open(&mut spans, 7, SpanEnd::Event, MOST_BYTES / 2));
        assert_eq!(spans.evict(false).map(|span| span.number), Some(0));
        assert!(spans.evict(false).is_none());
        for number in [2, 1] {
            assert!(matches!(spans.end(7, EDGE, |_| ()), EndedSpan::Open(span) if span.number == number));
        }
        assert!(matches!(spans.end(7, EDGE, |_| ()), EndedSpan::Written));
    }

    #[test]
    fn order_is_short_however_many_spans_there_were() {
        let mut spans = OpenSpans::default();
        for _ in 0..10 * MOST_OPEN {
            open(&mut spans, 1, SpanEnd::Event, 1);
            assert!(matches!(spans.end(1, EDGE, |_| ()), EndedSpan::Open(_)));
            assert!(spans.order.len() <= 4 * MOST_OPEN);
        }
    }

    #[test]
    fn spans_with_a_known_end_are_over_at_it() {
        let mut spans = OpenSpans::default();
        open(&mut spans, 1, SpanEnd::At(10), 0);
        open(&mut spans, 1, SpanEnd::At(5), 0);
        assert!(spans.close_known(1, 4).is_none());
        assert!(spans.close_known(1, 5).is_some());
        assert!(spans.close_known(1, 9).is_none());
        assert!(spans.close_known(1, 10).is_some() && spans.top(1).is_none());
    }

    #[test]
    fn events_of_a_span_are_limited() {
        let mut spans = OpenSpans::default();
        open(&mut spans, 1, SpanEnd::Last(0), 0);
        let push = |size: usize| {
            move |out: &mut Vec<u8>| {
                out.resize(out.len() + size, 0);
                true
            }
        };
        assert!(!spans.add_event(1, 3, push(MOST_EVENT_BYTES + 1)));
        for time in 4..4 + u64::from(MOST_EVENTS) {
            assert!(spans.add_event(1, time, push(1)));
        }
        assert!(!spans.add_event(1, 500, push(1)));
        assert_eq!(spans.top(1).map(|span| span.end), Some(SpanEnd::Last(500)));
        assert!(!spans.add_event(2, 1, push(1)));
        assert!(matches!(spans.end(1, EDGE, |_| ()), EndedSpan::Unknown));
        spans.record_event_time(1, 600);
        assert_eq!(spans.top(1).map(|span| span.end), Some(SpanEnd::Last(600)));
    }
}
