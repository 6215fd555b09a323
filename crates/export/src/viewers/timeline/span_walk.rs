//! Spans of a timeline as calls of functions.

use super::{RunningTimes, Timeline, TimelineTrackKind};

/// Takes the spans of a timeline, each between its begin and its end.
pub trait SpanVisitor {
    /// Begins the spans of a track.
    fn track(&mut self, timeline: &Timeline, track: u32);

    /// Begins a span within those that are open.
    fn begin(&mut self, name: &str);

    /// Takes time of the innermost open span that is not in spans within it: when it began, and its length, both in
    /// nanoseconds.
    fn own_time(&mut self, begin: u64, length: u64);

    /// Ends the innermost open span.
    fn end(&mut self);
}

/// Which spans of a timeline are visited.
#[derive(Clone, Copy, Debug)]
pub struct SpanWalk {
    /// Range of times, in nanoseconds.
    pub range: (u64, u64),
    /// Number of pixels of the range: spans of a track in one pixel are one.
    pub pixels: u32,
    /// Only the time counts in which processors ran the thread. Threads whose states are not known are left out.
    pub only_running: bool,
}

/// Number of visited spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkedSpans {
    /// Number of spans.
    pub spans: u64,
    /// Number of those that are part of another one, because they are too short to tell apart.
    pub merged: u64,
    /// Number of tracks with spans whose threads have no known states, if only the time counts in which they ran.
    pub without_states: u64,
}

/// A span that is open.
struct OpenSpan {
    end: u64,
    /// Time from which on it is the innermost one.
    since: u64,
}

impl Timeline {
    /// Visits the spans of all tracks, by track and then by begin. Spans without an end have no length, and are left out.
    pub fn visit_spans(&mut self, walk: SpanWalk, visitor: &mut impl SpanVisitor) -> WalkedSpans {
        use TimelineTrackKind::{Losses, Processor, Runs, States};
        let (begin, end) = walk.range;
        let mut walked = WalkedSpans::default();
        for track in 0..self.tracks().len() as u32 {
            let kind = self.tracks().get(track as usize).map(|track| track.kind);
            let is_nested = match kind {
                // Processors run threads nearly always, threads are always in some state, and losses are no work.
                None | Some(Processor | Losses | Runs | States) => continue,
                Some(kind) => kind != TimelineTrackKind::Spans,
            };
            let mut spans: Vec<_> = self.spans(track, begin, end, walk.pixels);
            spans.retain(|(_, item)| item.longest > 0);
            if spans.is_empty() {
                continue;
            }
            let mut running = None;
            if walk.only_running {
                running = RunningTimes::of_thread(self, track, walk.range, walk.pixels);
                if running.is_none() {
                    walked.without_states += 1;
                    continue;
                }
            }
            visitor.track(self, track);
            // The outermost first.
            spans.sort_by_key(|(lane, item)| (item.begin, *lane));
            let mut open = OpenSpans { spans: Vec::new(), running };
            for (_, item) in spans {
                let (from, to) = (item.begin.max(begin), item.end.min(end));
                walked.spans += u64::from(item.count);
                walked.merged += u64::from(item.count).saturating_sub(1);
                // A span that ends within the next one, or before it, is not around it.
                let is_over = |span: &OpenSpan| !is_nested || span.end <= item.begin || span.end < to;
                while open.spans.last().is_some_and(is_over) {
                    open.close(visitor);
                }
                open.pause(from, to, visitor);
                visitor.begin(self.name(item.name));
                open.spans.push(OpenSpan { end: to, since: from });
            }
            while !open.spans.is_empty() {
                open.close(visitor);
            }
        }
        walked
    }
}

/// Open spans of a track, the innermost last.
struct OpenSpans {
    spans: Vec<OpenSpan>,
    /// When the thread ran, if only that counts.
    running: Option<RunningTimes>,
}

impl OpenSpans {
    /// Reports the time of the innermost span up to the begin of one within it.
    fn pause(&mut self, begin: u64, end: u64, visitor: &mut impl SpanVisitor) {
        let Some(span) = self.spans.last_mut() else { return };
        let since = span.since;
        span.since = since.max(end);
        self.report(since, begin, visitor);
    }

    /// Ends the innermost span.
    fn close(&mut self, visitor: &mut impl SpanVisitor) {
        let Some(OpenSpan { end, since }) = self.spans.pop() else { return };
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
