//! Open spans, and the lanes of tracks.

use crate::pyramid::{MOST_LANES, Pyramid, SpanItem};

use super::counts::TimelineCounts;
use ichnos_analysis::events::keyed_spans::KeyedSpans;
use ichnos_analysis::events::nested_spans::spans_within;
use ichnos_analysis::events::span_edge::SpanEdge;

/// Maximum number of open spans on a track. Deeper spans become instants.
const MOST_OPEN: usize = MOST_LANES as usize;

/// Span without an end so far.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug)]
struct BoardSpan {
    begin: u64,
    name: u32,
    /// Class name number, equal for start and end. The event itself can have another name. `None` for a span from
    /// another timeline.
    kind: Option<u32>,
    lane: u16,
    /// End time, if another timeline knows it.
    known_end: Option<u64>,
    /// `true` if no event ends the span at its known end.
    is_lost: bool,
    /// `true` if the span started before the part. Its end is known, or it never ends.
    is_earlier: bool,
}

#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Default)]
struct TrackState {
    open: Vec<BoardSpan>,
    /// Time until which each lane is used.
    busy: Vec<u64>,
    /// Number of open keyed spans.
    keyed: u32,
}

impl TrackState {
    /// Returns the first lane from `from` on that is free at a time.
    fn free_lane(&mut self, from: u16, time: u64) -> u16 {
        let from = from.min(MOST_LANES - 1);
        let lane = (from..MOST_LANES - 1)
            .find(|lane| self.busy.get(usize::from(*lane)).is_none_or(|busy| *busy <= time));
        lane.unwrap_or(MOST_LANES - 1)
    }

    fn use_lane(&mut self, lane: u16, until: u64) {
        let index = usize::from(lane);
        if self.busy.len() <= index {
            self.busy.resize(index + 1, 0);
        }
        if let Some(busy) = self.busy.get_mut(index) {
            *busy = until;
        }
    }

    /// Returns the first lane below the open spans.
    fn depth(&self) -> u16 {
        self.open.last().map_or(0, |open| open.lane.saturating_add(1))
    }
}

impl BoardSpan {
    fn new(begin: u64, name: u32, kind: u32, lane: u16) -> Self {
        Self { begin, name, kind: Some(kind), lane, known_end: None, is_lost: false, is_earlier: false }
    }

    /// Returns the item for the span up to a time, at which it ends or stays open.
    fn item(&self, time: u64, is_lost: bool) -> SpanItem {
        match is_lost {
            true => SpanItem::open(self.begin, time.max(self.begin), self.name),
            false => SpanItem::new(self.begin, time.max(self.begin), self.name),
        }
    }

    /// Returns `true` if an event ends this span at a time, or `None` if names decide.
    fn is_ended_at(&self, time: u64) -> Option<bool> {
        // Other ends belong to short spans before the part, which are unknown.
        self.is_earlier.then_some(self.known_end == Some(time) && !self.is_lost)
    }

    /// Returns `true` if an event ends this span at a time.
    fn is_ended_by(&self, end: SpanEdge<u32>, time: u64) -> bool {
        self.is_ended_at(time).unwrap_or_else(|| match self.kind {
            Some(kind) => end.ends(SpanEdge { name: self.name, kind, is_unnamed: false }),
            None => end.is_unnamed || self.name == end.name,
        })
    }
}

/// Items of all tracks, finished and open.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug)]
pub(super) struct Board {
    pub(super) pyramid: Pyramid,
    states: Vec<TrackState>,
    /// Open spans by key, with their tracks.
    keyed: KeyedSpans<(u32, BoardSpan), u32>,
    pub(super) counts: TimelineCounts,
    /// `true` for a part: spans can have begun before it.
    is_part: bool,
}

impl Board {
    pub(super) fn new(budget: usize, is_part: bool) -> Self {
        Self {
            pyramid: Pyramid::new(budget),
            states: Vec::new(),
            keyed: KeyedSpans::default(),
            counts: TimelineCounts::default(),
            is_part,
        }
    }

    /// Returns the lanes and open spans of a track, after ending spans whose known end has passed.
    fn state(&mut self, track: u32, time: u64) -> (&mut TrackState, &mut Pyramid) {
        let index = track as usize;
        if self.states.len() <= index {
            self.states.resize_with(index + 1, TrackState::default);
        }
        let Self { states, pyramid, is_part, .. } = self;
        let state = &mut states[index];
        if *is_part {
            while let Some(span) = state.open.last().copied()
                && let Some(end) = span.known_end
                && end < time
            {
                state.open.pop();
                state.use_lane(span.lane, end);
                pyramid.item(track, span.lane, span.item(end, span.is_lost));
            }
        }
        (state, pyramid)
    }

    pub(super) fn instant(&mut self, track: u32, time: u64, name: u32) {
        self.counts.instants += 1;
        let (state, pyramid) = self.state(track, time);
        let lane = state.free_lane(state.depth(), time);
        pyramid.instant(track, lane, time, name);
    }

    pub(super) fn begin(&mut self, track: u32, time: u64, edge: SpanEdge<u32>) {
        let SpanEdge { name, kind, .. } = edge;
        let (state, _) = self.state(track, time);
        if state.open.len() >= MOST_OPEN {
            return self.instant(track, time, name);
        }
        let lane = state.free_lane(state.depth(), time);
        state.use_lane(lane, u64::MAX);
        state.open.push(BoardSpan::new(time, name, kind, lane));
        self.counts.begun += 1;
    }

    /// Ends the innermost span with a name. The ends of its inner spans are missing.
    pub(super) fn end(&mut self, track: u32, time: u64, end: SpanEdge<u32>) {
        let (state, pyramid) = self.state(track, time);
        let searched = spans_within(state.open.iter().rev(), |open| open.is_ended_by(end, time));
        let Some(within) = searched else { return self.instant(track, time, end.name) };
        let first = state.open.len() - 1 - within;
        for (inner, span) in state.open.split_off(first).into_iter().enumerate() {
            state.use_lane(span.lane, time);
            pyramid.item(track, span.lane, span.item(time, inner > 0));
        }
        self.counts.ended += 1;
    }

    /// Ends all open spans of an exiting thread. Their own ends are missing.
    pub(super) fn end_thread(&mut self, track: u32, time: u64) {
        let (state, pyramid) = self.state(track, time);
        for span in std::mem::take(&mut state.open) {
            state.use_lane(span.lane, time);
            pyramid.item(track, span.lane, span.item(time, true));
        }
    }

    pub(super) fn complete(&mut self, track: u32, time: u64, length: u64, name: u32) {
        self.counts.complete += 1;
        self.add(track, time, time.saturating_add(length), name);
    }

    /// Adds a whole span.
    pub(super) fn add(&mut self, track: u32, begin: u64, end: u64, name: u32) {
        let (state, pyramid) = self.state(track, begin);
        let lane = state.free_lane(state.depth(), begin);
        state.use_lane(lane, end);
        pyramid.span(track, lane, begin, end, name);
    }

    pub(super) fn begin_keyed(&mut self, key: u64, track: u32, time: u64, edge: SpanEdge<u32>) {
        let SpanEdge { name, kind, .. } = edge;
        if self.keyed.is_full() {
            return self.instant(track, time, name);
        }
        let (state, _) = self.state(track, time);
        let lane = state.free_lane(0, time);
        state.use_lane(lane, u64::MAX);
        state.keyed += 1;
        let again = self.keyed.begin(key, edge, (track, BoardSpan::new(time, name, kind, lane)));
        if let Some((track, span)) = again {
            let (state, pyramid) = self.state(track, time);
            state.use_lane(span.lane, time);
            state.keyed = state.keyed.saturating_sub(1);
            pyramid.item(track, span.lane, span.item(time, true));
        }
        self.counts.begun += 1;
    }

    /// Ends the keyed span of an end event. Returns its track, or `None` without such a span.
    pub(super) fn end_keyed(&mut self, key: u64, time: u64, end: SpanEdge<u32>) -> Option<u32> {
        let ended = self.keyed.end(key, end, |(_, open)| open.is_ended_at(time));
        let (track, BoardSpan { begin, name, lane, .. }) = ended?;
        let (state, pyramid) = self.state(track, time);
        state.use_lane(lane, time);
        state.keyed = state.keyed.saturating_sub(1);
        pyramid.span(track, lane, begin, time, name);
        self.counts.ended += 1;
        Some(track)
    }

    /// Adds an end without a start.
    pub(super) fn end_of_nothing(&mut self, track: u32, time: u64, name: u32) {
        // In a part, the start can be earlier.
        match self.is_part {
            true => self.counts.ended_before += 1,
            false => self.instant(track, time, name),
        }
    }

    /// Ends the running thread of a processor and starts the next thread.
    pub(super) fn run(&mut self, track: u32, time: u64, next: Option<u32>) {
        let (state, pyramid) = self.state(track, time);
        for BoardSpan { begin, name, lane, .. } in std::mem::take(&mut state.open) {
            pyramid.span(track, lane, begin, time, name);
        }
        if let Some(name) = next {
            state.open.push(BoardSpan::new(time, name, name, 0));
        }
    }

    /// Returns the number of open spans on a track.
    pub(super) fn open_number(&self, track: u32) -> u64 {
        self.states.get(track as usize).map_or(0, |state| state.open.len() as u64 + u64::from(state.keyed))
    }

    /// Returns the number of lanes on a track.
    pub(super) fn lanes(&self, track: u32) -> usize {
        let state = self.states.get(track as usize);
        state.map_or(0, |state| state.busy.len()).max(self.pyramid.lanes(track))
    }

    /// Passes the open spans of a track to `take`, up to now.
    pub(super) fn open(&self, track: u32, now: u64, mut take: impl FnMut(u16, SpanItem)) {
        let state = self.states.get(track as usize);
        let open = state.into_iter().flat_map(|state| &state.open);
        let is_keyed = state.is_some_and(|state| state.keyed > 0);
        let keyed = is_keyed.then_some(&self.keyed).into_iter().flat_map(KeyedSpans::values);
        let keyed = keyed.filter(|(of, _)| *of == track).map(|(_, open)| open);
        for span in open.chain(keyed) {
            let is_lost = span.is_lost || span.known_end.is_none();
            take(span.lane, span.item(span.known_end.unwrap_or(now), is_lost));
        }
    }

    /// Starts with the spans of another board that are open at a time. `is_keyed` returns `true` for tracks of keyed
    /// spans. On other tracks, `taken` gets the name of each open span, or `None` if all spans of the track have ended.
    pub(super) fn copy_open(
        &mut self,
        from: &mut Self,
        time: u64,
        is_keyed: impl Fn(u32) -> bool,
        mut taken: impl FnMut(u32, Option<u32>),
    ) {
        for track in 0..from.states.len() as u32 {
            let mut around = Vec::new();
            let mut latest = None;
            from.pyramid.latest(track, time, |lane, item| {
                latest = latest.max(Some(item.end));
                if item.count == 1 && item.end > time {
                    around.push((lane, item));
                }
            });
            if is_keyed(track) {
                for (lane, item) in around {
                    let (state, pyramid) = self.state(track, time);
                    state.use_lane(lane, item.end);
                    pyramid.item(track, lane, item);
                }
                continue;
            }
            let known = around.into_iter().map(|(lane, item)| BoardSpan {
                begin: item.begin,
                name: item.name,
                kind: None,
                lane,
                known_end: Some(item.end),
                is_lost: item.is_open(),
                is_earlier: true,
            });
            let still = from.states.get(track as usize).into_iter().flat_map(|state| &state.open);
            let still = still.filter(|open| open.begin <= time);
            let still = still.map(|open| BoardSpan { is_earlier: true, ..*open });
            let mut open: Vec<_> = known.chain(still).collect();
            open.sort_by_key(|open| open.lane);
            open.dedup_by_key(|open| open.lane);
            if open.is_empty() && latest.is_some_and(|latest| latest <= time) {
                taken(track, None);
            }
            let (state, _) = self.state(track, 0);
            for open in open {
                taken(track, Some(open.name));
                state.use_lane(open.lane, open.known_end.unwrap_or(u64::MAX));
                state.open.push(open);
            }
        }
        self.keyed = KeyedSpans::with_kinds_of(&from.keyed);
        for (key, edge, (track, open)) in from.keyed.iter().filter(|(.., (_, open))| open.begin <= time) {
            let (state, _) = self.state(*track, 0);
            state.use_lane(open.lane, u64::MAX);
            state.keyed += 1;
            // Its key and names are unique.
            let _ = self.keyed.begin(key, edge, (*track, BoardSpan { is_earlier: true, ..*open }));
        }
    }

    /// Looks up the ends of open spans in another board, which knows later messages.
    pub(super) fn find_ends(&mut self, from: &mut Self) {
        let Self { states, keyed, .. } = self;
        let nested =
            (0..).zip(states).flat_map(|(track, state)| state.open.iter_mut().map(move |open| (track, open)));
        let keyed = keyed.values_mut().map(|(track, open)| (*track, open));
        for (track, open) in nested.chain(keyed).filter(|(_, open)| open.known_end.is_none()) {
            from.pyramid.latest(track, open.begin, |_, item| {
                if item.count == 1 && item.begin == open.begin && item.name == open.name {
                    (open.known_end, open.is_lost) = (Some(item.end), item.is_open());
                }
            });
        }
    }
}
