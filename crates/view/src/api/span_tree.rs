//! Spans of a range as a call tree, as `ichnos stacks --spans` finds them.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Instant;

use ichnos::model::Message;
use ichnos::viewers::{SpanVisitor, SpanWalk, Timeline};

use super::flame_tree::FlameTree;
use super::scan::{STRIDE, window};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;

/// Memory for the spans of a range in bytes. Beyond it, short spans are merged, and their times are approximate.
const BUDGET: usize = 256 << 20;

/// Spans of a range that are read again from the events.
pub(super) struct SpanRead<'s> {
    pub(super) shared: &'s AppState,
    pub(super) range: (u64, u64),
    /// Maximum number of events to read.
    pub(super) most: u64,
    pub(super) deadline: Instant,
    /// `true` to group spans by process and thread, as for samples.
    pub(super) by_thread: bool,
    /// `true` to count only time in which the thread ran on a processor. Threads with unknown states do not count.
    pub(super) only_running: bool,
}

/// Result of [`SpanRead::add_to`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AddedSpans {
    pub(super) spans: u64,
    /// `true` if all events of the range were read.
    pub(super) is_complete: bool,
    /// `true` if no spans or states were merged.
    pub(super) is_exact: bool,
}

impl SpanRead<'_> {
    /// Adds the spans to a tree, weighted in nanoseconds. Spans without both ends in the range do not count.
    pub(super) fn add_to(&self, tree: &mut FlameTree, query: &Query) -> Result<AddedSpans, ApiError> {
        let (mut timeline, is_complete) = self.read(query)?;
        let Some(range) = timeline.range() else {
            return Ok(AddedSpans { is_complete, is_exact: true, ..AddedSpans::default() });
        };
        let walk = SpanWalk { range, pixels: u64::MAX, only_running: self.only_running };
        let (by_thread, tracks, open) = (self.by_thread, HashMap::new(), vec![0]);
        let walked = timeline.visit_spans(walk, &mut TreeVisitor { tree, by_thread, tracks, open });
        let is_exact = walked.merged == 0 && walked.with_merged_states == 0;
        Ok(AddedSpans { spans: walked.spans, is_complete, is_exact })
    }

    /// Returns a timeline of the range alone, and `true` if it is complete.
    fn read(&self, query: &Query) -> Result<(Timeline, bool), ApiError> {
        let Self { shared, range, most, deadline, .. } = *self;
        let mut filter = match query.text("filter") {
            Some(text) => Some(shared.filter(text)?.selector()),
            None => None,
        };
        let mut timeline = Timeline::new(BUDGET);
        let streams: Vec<_> = shared.session.traces().iter().flat_map(|trace| trace.data_streams()).collect();
        timeline.number_streams(streams.iter().map(|stream| &**stream));
        let reader = shared.reader(window(range.0, range.1))?;
        let (mut events, mut is_complete) = (0_u64, true);
        let mut take = |message: &Message<'_>| -> std::io::Result<ControlFlow<()>> {
            if let Message::Event(event) = message {
                events += 1;
                let is_late = || events % STRIDE == 0 && Instant::now() >= deadline;
                if shared.has_limits && (events > most || is_late()) {
                    is_complete = false;
                    return Ok(ControlFlow::Break(()));
                }
                if filter.as_mut().is_some_and(|filter| !filter.selects(event)) {
                    return Ok(ControlFlow::Continue(()));
                }
            }
            if let Message::Event(_) | Message::DiscardedEvents(_) | Message::DiscardedPackets(_) = message {
                timeline.take(message);
            }
            Ok(ControlFlow::Continue(()))
        };
        shared.run(&reader, &mut take)?;
        timeline.finish();
        Ok((timeline, is_complete))
    }
}

/// Visitor that adds spans to a tree.
struct TreeVisitor<'t> {
    tree: &'t mut FlameTree,
    by_thread: bool,
    /// Track by its node. Tracks of different traces or threads can have the same name.
    tracks: HashMap<usize, u32>,
    /// Nodes of the open spans, after the tree root and the nodes of process and thread.
    open: Vec<usize>,
}

impl TreeVisitor<'_> {
    /// Returns the node of a track in another node. If the name belongs to another track, the name of the trace, and if
    /// necessary a number, is added.
    fn node(&mut self, timeline: &Timeline, parent: usize, track: u32) -> usize {
        let of = |track: u32| timeline.tracks().get(track as usize);
        let own = of(track).map_or("", |track| &*track.name);
        // Parents have smaller numbers.
        let around = std::iter::successors(of(track), |track| of(track.parent?));
        let trace = around.last().map_or("", |trace| &*trace.name);
        let numbered = (2..).map(|number| format!("{own} ({trace}, {number})"));
        let names = [own.to_owned(), format!("{own} ({trace})")].into_iter().chain(numbered);
        // Ends, because the number of tracks is finite.
        for name in names {
            let node = self.tree.child(parent, &name);
            if *self.tracks.entry(node).or_insert(track) == track {
                return node;
            }
        }
        parent
    }
}

impl SpanVisitor for TreeVisitor<'_> {
    fn track(&mut self, timeline: &Timeline, track: u32) -> bool {
        self.open.truncate(1);
        if self.by_thread {
            let around = timeline.tracks().get(track as usize).and_then(|thread| thread.parent);
            let process = self.node(timeline, 0, around.unwrap_or(track));
            let thread = self.node(timeline, process, track);
            self.open.extend([process, thread]);
        }
        true
    }

    fn begin(&mut self, name: &str) {
        let parent = self.open.last().copied().unwrap_or(0);
        self.open.push(self.tree.child(parent, name));
    }

    fn own_time(&mut self, _: u64, length: u64) {
        self.open.iter().for_each(|node| self.tree.add(*node, length));
    }

    fn end(&mut self) {
        self.open.pop();
    }
}
