//! Spans as a tree of calls.

use ichnos::export::viewers::{Timeline, TimelineTrackKind};

use super::flame_tree::FlameTree;

/// Maximum number of spans of a track that are distinguished.
const PIXELS: u32 = 1 << 20;

/// A span around others.
struct SpanAround {
    end: u64,
    node: usize,
    /// Time that is not in spans within, in nanoseconds.
    own: u64,
}

/// Adds the spans of a range of a timeline to a tree, in nanoseconds. Returns their number. Spans without an end have no
/// length, and are left out.
pub(super) fn add_spans(tree: &mut FlameTree, timeline: &mut Timeline, (begin, end): (u64, u64)) -> u64 {
    let mut number = 0;
    for track in 0..timeline.tracks().len() as u32 {
        let kind = timeline.tracks().get(track as usize).map(|track| track.kind);
        let is_nested = match kind {
            // Processors run threads nearly always, and losses are no work.
            None | Some(TimelineTrackKind::Processor | TimelineTrackKind::Losses) => continue,
            Some(kind) => kind != TimelineTrackKind::Spans,
        };
        let mut spans: Vec<_> = timeline.spans(track, begin, end, PIXELS);
        spans.retain(|(_, item)| item.longest > 0);
        // The outermost first.
        spans.sort_by_key(|(lane, item)| (item.begin, *lane));
        let mut around: Vec<SpanAround> = Vec::new();
        for (_, item) in spans {
            let (from, to) = (item.begin.max(begin), item.end.min(end));
            number += u64::from(item.count);
            while around
                .last()
                .is_some_and(|span| !is_nested || span.end <= item.begin || span.end < item.end)
            {
                close(tree, &mut around);
            }
            let parent = around.last().map_or(0, |span| span.node);
            let node = tree.child(parent, timeline.name(item.name));
            let length = to.saturating_sub(from);
            if let Some(span) = around.last_mut() {
                span.own = span.own.saturating_sub(length);
            }
            around.push(SpanAround { end: item.end, node, own: length });
        }
        while !around.is_empty() {
            close(tree, &mut around);
        }
    }
    number
}

/// Adds the own time of the innermost span to it and to those around it.
fn close(tree: &mut FlameTree, around: &mut Vec<SpanAround>) {
    let Some(SpanAround { node, own, .. }) = around.pop() else { return };
    tree.add(0, own);
    around.iter().for_each(|span| tree.add(span.node, own));
    tree.add(node, own);
}
