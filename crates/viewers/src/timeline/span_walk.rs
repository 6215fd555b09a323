//! Timeline spans as function calls.

use super::{RunningTimes, Timeline, TimelineTrackKind};

/// Visitor of timeline spans as nested calls.
///
/// # For implementations
///
/// After [`track`](Self::track), each [`begin`](Self::begin) is followed by an [`end`](Self::end), with nested spans
/// between them. [`own_time`](Self::own_time) belongs to the innermost open span.
pub trait SpanVisitor {
    /// Starts the spans of a track. Returns `false` to skip them.
    fn track(&mut self, timeline: &Timeline, track: u32) -> bool;

    /// Starts a span inside the open spans.
    fn begin(&mut self, name: &str);

    /// Receives a time range of the innermost open span outside nested spans: start and length in nanoseconds.
    fn own_time(&mut self, begin: u64, length: u64);

    /// Ends the innermost open span.
    fn end(&mut self);
}

/// Selection of spans in a timeline.
#[derive(Clone, Copy, Debug)]
pub struct SpanWalk {
    /// Time range in nanoseconds.
    pub range: (u64, u64),
    /// Number of pixels for the range. Spans of a track within a pixel are merged.
    pub pixels: u64,
    /// `true` to count only time in which processors ran the thread. Threads with unknown states are skipped.
    pub only_running: bool,
}

/// Counts of visited spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkedSpans {
    /// Number of spans.
    pub spans: u64,
    /// Number of events and spans that were merged because they are too short.
    pub merged: u64,
    /// Number of tracks that were skipped because the running times of their threads are unknown.
    pub without_states: u64,
    /// Number of tracks whose threads have states too short to separate.
    pub with_merged_states: u64,
}

/// Open span.
struct WalkedSpan {
    end: u64,
    /// Time since which the span is the innermost one.
    since: u64,
}

impl Timeline {
    /// Visits the spans of all tracks, by track and then by start. Unfinished spans are left out.
    pub fn visit_spans(&mut self, walk: SpanWalk, visitor: &mut impl SpanVisitor) -> WalkedSpans {
        use TimelineTrackKind::{Losses, Processor, Runs, States};
        let (begin, end) = walk.range;
        let mut walked = WalkedSpans::default();
        for track in 0..self.tracks().len() as u32 {
            let kind = self.tracks().get(track as usize).map(|track| track.kind);
            let is_nested = match kind {
                // Processors and thread states cover nearly all of the time, and losses are not work.
                None | Some(Processor | Losses | Runs | States) => continue,
                Some(kind) => kind != TimelineTrackKind::Spans,
            };
            let mut spans: Vec<_> = self.spans(track, begin, end, walk.pixels);
            spans.retain(|(_, item)| item.longest > 0);
            if spans.is_empty() || !visitor.track(self, track) {
                continue;
            }
            let mut running = None;
            if walk.only_running {
                running = RunningTimes::of_thread(self, track, walk.range, walk.pixels);
                let Some(running) = &running else {
                    walked.without_states += 1;
                    continue;
                };
                walked.with_merged_states += u64::from(!running.is_exact());
            }
            // Outermost spans first.
            spans.sort_by_key(|(lane, item)| (item.begin, *lane));
            let mut open = WalkStack { spans: Vec::new(), running };
            for (_, item) in spans {
                let (from, to) = (item.begin.max(begin), item.end.min(end));
                walked.spans += u64::from(item.count);
                walked.merged += u64::from(item.count).saturating_sub(1);
                // A span that ends within or before the next one does not contain it.
                let is_over = |span: &WalkedSpan| !is_nested || span.end <= item.begin || span.end < to;
                while open.spans.last().is_some_and(is_over) {
                    open.close(visitor);
                }
                open.pause(from, to, visitor);
                visitor.begin(self.name(item.name));
                open.spans.push(WalkedSpan { end: to, since: from });
            }
            while !open.spans.is_empty() {
                open.close(visitor);
            }
        }
        walked
    }
}

/// Open spans of a track, the innermost last.
struct WalkStack {
    spans: Vec<WalkedSpan>,
    /// Running times of the thread, if only they count.
    running: Option<RunningTimes>,
}

impl WalkStack {
    /// Reports the innermost span's time up to the start of a nested span.
    fn pause(&mut self, begin: u64, end: u64, visitor: &mut impl SpanVisitor) {
        let Some(span) = self.spans.last_mut() else { return };
        let since = span.since;
        span.since = since.max(end);
        self.report(since, begin, visitor);
    }

    /// Ends the innermost span.
    fn close(&mut self, visitor: &mut impl SpanVisitor) {
        let Some(WalkedSpan { end, since }) = self.spans.pop() else { return };
        self.report(since, end, visitor);
        visitor.end();
    }

    fn report(&self, begin: u64, end: u64, visitor: &mut impl SpanVisitor) {
        let length = match &self.running {
            Some(running) => running.within(begin, end),
            None => end.saturating_sub(begin),
        };
        if length > 0 && begin < end {
            visitor.own_time(begin, length);
        }
    }
}
