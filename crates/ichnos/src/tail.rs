//! Finds the last events of a reader.

use std::io;

use ichnos_flow::Merge;
use ichnos_model::Sink;
use ichnos_model::cursor::Checkpoint;

use crate::{Pass, PassEnd, Reader};

/// Number of trace bytes that are read first, from the end.
const STEP: u64 = 1 << 20;

/// Counted section of the timeline.
struct CountedSection {
    /// Section number. The first section has number 0.
    number: usize,
    /// Initial states of the cursors, if known.
    checkpoints: Option<Vec<Checkpoint>>,
    /// Number of selected events in the section.
    events: u64,
}

impl Reader<'_> {
    /// Finds the last `wanted` events of a pass, and makes the reader start there. Returns the number of earlier
    /// selected events to [skip](Pass::skip), or `None` if the pass was [stopped](Pass::stop).
    ///
    /// Goes back from the end in growing steps until there is one event more than needed, because the first line of
    /// text can depend on the previous event. `sink` gets the messages of all passes.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn begin_at_last<S: Sink>(
        &mut self,
        pass: &Pass,
        wanted: u64,
        sink: &mut S,
    ) -> io::Result<Option<u64>> {
        let Some((begin, skip)) = self.find_last(pass, wanted, sink)? else { return Ok(None) };
        self.begin = begin;
        Ok(Some(skip))
    }

    fn find_last<S: Sink>(
        &self,
        pass: &Pass,
        wanted: u64,
        sink: &mut S,
    ) -> io::Result<Option<(Option<i128>, u64)>> {
        let mut count = |cursor: &mut Merge| -> io::Result<Option<u64>> {
            let summary = pass.drain(sink, |take| cursor.drain_all(take))?;
            Ok((!matches!(summary.end, PassEnd::Interrupted)).then_some(summary.counts.events))
        };
        let splits = self.chunks(STEP);
        let begin_of = |number: usize| number.checked_sub(1).and_then(|split| splits.get(split)).copied();
        let mut counted: Option<CountedSection> = None;
        let mut step = 1;
        loop {
            let end = counted.as_ref().map_or(splits.len() + 1, |counted| counted.number);
            let number = end.saturating_sub(step);
            let mut cursor = match begin_of(number) {
                Some(begin) => self.cursor_from(begin),
                None => self.cursor(),
            };
            let checkpoints = cursor.checkpoints();
            cursor.pause_at(counted.as_ref().and_then(|counted| begin_of(counted.number)));
            let Some(mut events) = count(&mut cursor)? else { return Ok(None) };
            if let Some(later) = &counted {
                // The start of a section is valid if the previous section ends in the same state.
                if later.checkpoints.is_some() && cursor.checkpoints() == later.checkpoints {
                    if later.events > wanted {
                        return Ok(Some((begin_of(later.number), later.events - wanted)));
                    }
                    events = events.saturating_add(later.events);
                } else {
                    cursor.pause_at(None);
                    let Some(rest) = count(&mut cursor)? else { return Ok(None) };
                    events = events.saturating_add(rest);
                }
            }
            if number == 0 {
                return Ok(Some((None, events.saturating_sub(wanted))));
            }
            step = if events > wanted { 1 } else { step.saturating_mul(2) };
            counted = Some(CountedSection { number, checkpoints, events });
        }
    }
}
