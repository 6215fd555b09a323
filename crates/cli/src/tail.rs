//! Finds the last events.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos::model::{Checkpoint, DataStream, Message};
use ichnos::{Merged, Pass, PassEnd, PassHandler, Reader};

use crate::interrupt;
use crate::progress::Progress;
use crate::selection::Selection;

/// Bytes of trace data read first, from the end.
const STEP: u64 = 1 << 20;

/// The last events of a trace.
pub(crate) struct Tail {
    /// Number of selected events to skip, after which the last ones begin.
    pub(crate) skip: u64,
    /// All data streams, in order.
    pub(crate) streams: Vec<Arc<DataStream>>,
}

impl Tail {
    /// Finds the last `wanted` selected events, and makes the reader begin there; returns `None` after
    /// Ctrl-C. Goes back from the end in growing steps until there is one event more than needed, as the
    /// first line depends on the event before.
    pub(crate) fn find(
        reader: &mut Reader<'_>,
        selection: &Selection,
        wanted: u64,
        progress: &mut Progress,
    ) -> Option<Self> {
        let mut counting = TailCounting { selection: selection.clone(), progress };
        let (begin, skip) = counting.find(reader, wanted)?;
        reader.begin_at(begin);
        Some(Self { skip, streams: reader.data_streams() })
    }
}

/// A counted section of the timeline, up to its end.
struct Counted {
    /// Number of the section; the first one is 0.
    part: usize,
    /// Initial states of the cursors, if known.
    checkpoints: Option<Vec<Checkpoint>>,
    /// Number of selected events in the section.
    events: u64,
}

struct TailCounting<'p> {
    selection: Selection,
    progress: &'p mut Progress,
}

impl TailCounting<'_> {
    fn find(&mut self, reader: &Reader<'_>, wanted: u64) -> Option<(Option<i128>, u64)> {
        let splits = reader.chunks(STEP);
        let begin_of = |part: usize| part.checked_sub(1).and_then(|split| splits.get(split)).copied();
        let mut counted: Option<Counted> = None;
        let mut step = 1;
        loop {
            let end = counted.as_ref().map_or(splits.len() + 1, |counted| counted.part);
            let part = end.saturating_sub(step);
            let mut cursor = match begin_of(part) {
                Some(begin) => reader.cursor_from(begin),
                None => reader.cursor(),
            };
            let checkpoints = cursor.checkpoints();
            cursor.pause_at(counted.as_ref().and_then(|counted| begin_of(counted.part)));
            let mut events = self.count(&mut cursor)?;
            if let Some(later) = &counted {
                // The beginning of a section is valid if the previous one ends in the same state.
                if later.checkpoints.is_some() && cursor.checkpoints() == later.checkpoints {
                    if later.events > wanted {
                        return Some((begin_of(later.part), later.events - wanted));
                    }
                    events = events.saturating_add(later.events);
                } else {
                    cursor.pause_at(None);
                    events = events.saturating_add(self.count(&mut cursor)?);
                }
            }
            if part == 0 {
                return Some((None, events.saturating_sub(wanted)));
            }
            step = if events > wanted { 1 } else { step.saturating_mul(2) };
            counted = Some(Counted { part, checkpoints, events });
        }
    }

    /// Counts the selected events up to the end or the pause.
    fn count(&mut self, cursor: &mut Merged) -> Option<u64> {
        let pass = Pass::new(self.selection.selected.clone());
        // A cursor does not fail, nor does counting.
        let summary = pass.run(cursor, &mut Steps(self.progress)).unwrap_or_default();
        (!matches!(summary.end, PassEnd::Interrupted)).then_some(summary.counts.events)
    }
}

/// Shows the progress of counting.
struct Steps<'p>(&'p mut Progress);

impl PassHandler for Steps<'_> {
    fn message(&mut self, _: &Message<'_>) -> io::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, message: &Message<'_>, _: u32) {
        self.0.step(0, || message.nanoseconds());
    }

    fn is_interrupted(&self) -> bool {
        interrupt::is_requested()
    }
}
