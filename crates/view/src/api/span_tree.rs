//! Spans as a call tree.

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
    timeline.visit_spans(walk, &mut TreeVisitor { tree, by_thread: options.by_thread, open: vec![0] }).spans
}

/// Visitor that adds spans to a tree.
struct TreeVisitor<'t> {
    tree: &'t mut FlameTree,
    by_thread: bool,
    /// Nodes of the open spans, after the tree root and the nodes of process and thread.
    open: Vec<usize>,
}

impl SpanVisitor for TreeVisitor<'_> {
    fn track(&mut self, timeline: &Timeline, track: u32) -> bool {
        self.open.truncate(1);
        if self.by_thread {
            let tracks = timeline.tracks();
            let thread = tracks.get(track as usize);
            let around = thread.and_then(|thread| tracks.get(thread.parent? as usize));
            let mut node = 0;
            for track in [around, thread] {
                node = self.tree.child(node, track.map_or("", |track| &track.name));
                self.open.push(node);
            }
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
