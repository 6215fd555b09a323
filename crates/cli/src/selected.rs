//! The selection applied to each trace, if traces are read one by one.

use ichnos::Session;
use ichnos::model::{BoxedCursor, EventCounts, Head, StreamCursor, TraceInput, Window};

use crate::exit::Failure;
use crate::report::Report;
use crate::selection::Selection;

/// Selection for the traces of a session.
pub(crate) struct Selected {
    pub(crate) selection: Selection,
    /// Window of all traces.
    pub(crate) window: Window,
    /// Window of each trace.
    windows: Vec<Window>,
}

impl Selected {
    /// # Errors
    /// If a time or the filter is invalid, or a time is selected of traces whose clocks are unrelated.
    pub(crate) fn new(session: &Session, mut selection: Selection, report: Report) -> Result<Self, Failure> {
        let window = selection.prepare(session, report)?;
        let mut windows = vec![window; session.traces().len()];
        if selection.has_times() {
            windows = selection.reader(session, window)?.windows().to_vec();
        }
        Ok(Self { selection, window, windows })
    }

    /// Returns the cursors of a trace's data streams by the trace's number, including those that are not
    /// selected.
    pub(crate) fn cursors(&self, number: usize, trace: &dyn TraceInput) -> Vec<BoxedCursor> {
        trace.cursors(self.windows.get(number).copied().unwrap_or_default())
    }

    /// Returns `true` if the data stream of this name is selected.
    pub(crate) fn wants_stream(&self, name: &str) -> bool {
        self.selection.wants_file(name)
    }

    /// Advances and counts selected events, at most `most`, up to the first message that is not an event.
    pub(crate) fn count_events(
        &mut self,
        cursor: &mut dyn StreamCursor,
        most: u32,
        counts: &mut EventCounts,
    ) -> Option<Head> {
        self.selection.selected.count_events(cursor, most, counts)
    }
}
