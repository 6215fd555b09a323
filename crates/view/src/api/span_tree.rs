//! Spans as a tree of calls.

use ichnos::export::viewers::{ThreadState, Timeline, TimelineTrackKind};

use super::flame_tree::FlameTree;

/// Maximum number of spans of a track that are distinguished.
const PIXELS: u32 = 1 << 20;

/// Options of [`add_spans`].
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanTreeOptions {
    /// Each thread is a root of its own.
    pub(super) by_thread: bool,
    /// Only the time counts in which processors ran the thread.
    pub(super) only_running: bool,
}

/// When a thread ran: begins, and the time that it ran before each and up to its end.
#[derive(Debug)]
pub(super) struct RunningTimes {
    times: Vec<RunningTime>,
    /// `false` if states are too close to tell apart.
    pub(super) is_exact: bool,
}

#[derive(Clone, Copy, Debug)]
struct RunningTime {
    begin: u64,
    end: u64,
    /// Time that it ran before.
    before: u64,
}

impl RunningTimes {
    /// Reads the states of a track's thread, or returns `None` if they are unknown.
    pub(super) fn of_thread(timeline: &mut Timeline, track: u32, (begin, end): (u64, u64)) -> Option<Self> {
        let states = timeline.states_of(track)?;
        let mut before = 0;
        let mut found = Self { times: Vec::new(), is_exact: true };
        for (_, item) in timeline.spans(states, begin, end, PIXELS) {
            found.is_exact &= item.count == 1;
            if timeline.name(item.name) == ThreadState::Running.name() {
                found.times.push(RunningTime { begin: item.begin, end: item.end, before });
                before += item.end - item.begin;
            }
        }
        Some(found)
    }

    /// Returns the time that it ran before a time.
    fn until(&self, time: u64) -> u64 {
        let next = self.times.partition_point(|running| running.begin < time);
        let Some(last) = next.checked_sub(1).and_then(|last| self.times.get(last)) else { return 0 };
        last.before + last.end.min(time) - last.begin
    }

    /// Returns the time that it ran in a range.
    pub(super) fn within(&self, begin: u64, end: u64) -> u64 {
        self.until(end).saturating_sub(self.until(begin))
    }
}

/// A span around others.
struct SpanAround {
    end: u64,
    node: usize,
    /// Time that is not in spans within, in nanoseconds.
    own: u64,
}

/// Adds the spans of a range of a timeline to a tree, in nanoseconds, and returns their number. Spans without an end have no
/// length and do not count, nor do threads with unknown states if only running time counts.
pub(super) fn add_spans(
    tree: &mut FlameTree,
    timeline: &mut Timeline,
    (begin, end): (u64, u64),
    options: SpanTreeOptions,
) -> u64 {
    use TimelineTrackKind::{Losses, Processor, Runs, States};
    let mut number = 0;
    for track in 0..timeline.tracks().len() as u32 {
        let kind = timeline.tracks().get(track as usize).map(|track| track.kind);
        let is_nested = match kind {
            // Processors run threads nearly always, threads are always in some state, and losses are no work.
            None | Some(Processor | Losses | Runs | States) => continue,
            Some(kind) => kind != TimelineTrackKind::Spans,
        };
        let mut spans: Vec<_> = timeline.spans(track, begin, end, PIXELS);
        spans.retain(|(_, item)| item.longest > 0);
        if spans.is_empty() {
            continue;
        }
        let running = match options.only_running {
            true => match RunningTimes::of_thread(timeline, track, (begin, end)) {
                Some(running) => Some(running),
                None => continue,
            },
            false => None,
        };
        let root = match options.by_thread {
            true => tree.child(0, timeline.tracks().get(track as usize).map_or("", |track| &track.name)),
            false => 0,
        };
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
                close(tree, root, &mut around);
            }
            let parent = around.last().map_or(root, |span| span.node);
            let node = tree.child(parent, timeline.name(item.name));
            let length = match &running {
                Some(running) => running.within(from, to),
                None => to.saturating_sub(from),
            };
            if let Some(span) = around.last_mut() {
                span.own = span.own.saturating_sub(length);
            }
            around.push(SpanAround { end: item.end, node, own: length });
        }
        while !around.is_empty() {
            close(tree, root, &mut around);
        }
    }
    number
}

/// Adds the own time of the innermost span to it and to those around it.
fn close(tree: &mut FlameTree, root: usize, around: &mut Vec<SpanAround>) {
    let Some(SpanAround { node, own, .. }) = around.pop() else { return };
    tree.add(0, own);
    if root != 0 {
        tree.add(root, own);
    }
    around.iter().for_each(|span| tree.add(span.node, own));
    tree.add(node, own);
}
