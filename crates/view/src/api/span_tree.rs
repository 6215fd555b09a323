//! Spans as a call tree.

use std::collections::HashMap;

use ichnos::viewers::{SpanVisitor, SpanWalk, Timeline};

use super::flame_tree::FlameTree;

/// Number of pixels per track that separate spans.
pub(super) const PIXELS: u64 = 1 << 20;

/// Options of [`add_spans`].
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanTreeOptions {
    /// `true` to group spans by process and thread, as for samples.
    pub(super) by_thread: bool,
    /// `true` to count only time in which the thread ran on a processor.
    pub(super) only_running: bool,
}

/// Adds the spans of a range to a tree, weighted in nanoseconds. Returns the number of spans. Spans without an end do
/// not count. If only running time counts, threads with unknown states do not count either.
pub(super) fn add_spans(
    tree: &mut FlameTree,
    timeline: &mut Timeline,
    range: (u64, u64),
    options: SpanTreeOptions,
) -> u64 {
    let walk = SpanWalk { range, pixels: PIXELS, only_running: options.only_running };
    let (by_thread, tracks, open) = (options.by_thread, HashMap::new(), vec![0]);
    timeline.visit_spans(walk, &mut TreeVisitor { tree, by_thread, tracks, open }).spans
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
