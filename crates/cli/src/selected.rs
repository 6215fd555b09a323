//! What of each trace is selected, where traces are read one by one.

use ichnos::Session;
use ichnos::model::{BoxedCursor, EventCounts, Head, Message, MessageKind, StreamCursor, TraceInput, Window};

use crate::exit::Failure;
use crate::report::Report;
use crate::selection::Selection;

/// What is selected of the traces of a session.
pub(crate) struct Selected {
    pub(crate) selection: Selection,
    /// Of all traces.
    pub(crate) window: Window,
    /// By trace.
    windows: Vec<Window>,
}

impl Selected {
    /// # Errors
    /// If a time or the filter cannot be used, or a time is wanted of traces whose clocks have nothing in common.
    pub(crate) fn new(session: &Session, mut selection: Selection, report: Report) -> Result<Self, Failure> {
        let window = selection.prepare(session, report)?;
        let mut windows = vec![window; session.traces().len()];
        if selection.has_times() {
            windows = selection.reader(session, window)?.windows().to_vec();
        }
        Ok(Self { selection, window, windows })
    }

    /// The cursors of the data streams of the trace of this number, those that are not selected included.
    pub(crate) fn cursors(&self, number: usize, trace: &dyn TraceInput) -> Vec<BoxedCursor> {
        trace.cursors(self.windows.get(number).copied().unwrap_or_default())
    }

    /// Whether the data stream of this name is selected.
    pub(crate) fn wants_stream(&self, name: &str) -> bool {
        self.selection.wants_file(name)
    }

    /// Moves on and counts selected events, at most `most`, up to the first message that is no event.
    pub(crate) fn count_events(
        &mut self,
        cursor: &mut dyn StreamCursor,
        most: u32,
        counts: &mut EventCounts,
    ) -> Option<Head> {
        count_selected(&mut self.selection, cursor, most, counts)
    }

    /// Whether an event or a message about the trace is selected.
    pub(crate) fn wants(&mut self, message: &Message<'_>) -> bool {
        self.selection.wants(message)
    }
}

/// Moves on and counts the events of a selection, at most `most`, up to the first message that is no event.
pub(crate) fn count_selected(
    selection: &mut Selection,
    cursor: &mut dyn StreamCursor,
    most: u32,
    counts: &mut EventCounts,
) -> Option<Head> {
    if selection.wants_all_events() {
        return cursor.count_events(most, counts);
    }
    for _ in 0..most {
        let head = cursor.next_head()?;
        if head.kind != MessageKind::Event {
            break;
        }
        if cursor.current().is_some_and(|message| selection.wants(&message)) {
            counts.add(head.class_index(), head.nanoseconds());
        }
    }
    cursor.head()
}
