//! The selection applied to each trace, if traces are read one by one.

use ichnos::model::{OpenedTrace, Window};
use ichnos::{Session, StreamMessages};

use crate::exit::Failure;
use crate::select::Selection;

/// Selection for the traces of a session.
pub(crate) struct TraceSelection {
    pub(crate) selection: Selection,
    /// Window of all traces.
    pub(crate) window: Window,
    /// Window of each trace.
    windows: Vec<Window>,
}

impl TraceSelection {
    /// # Errors
    /// If a time is selected of traces whose clocks are unrelated.
    pub(crate) fn new(session: &Session, selection: Selection, window: Window) -> Result<Self, Failure> {
        let mut windows = vec![window; session.traces().len()];
        if selection.has_times() {
            windows = selection.reader(session, window)?.windows().to_vec();
        }
        Ok(Self { selection, window, windows })
    }

    /// Returns the messages of a trace's data streams by the trace's number, including those that are not selected.
    pub(crate) fn streams(
        &self,
        number: usize,
        trace: &dyn OpenedTrace,
    ) -> impl Iterator<Item = StreamMessages> + use<> {
        StreamMessages::of_trace(trace, self.windows.get(number).copied().unwrap_or_default())
    }

    /// Returns `true` if the data stream of this name is selected.
    pub(crate) fn wants_stream(&self, name: &str) -> bool {
        self.selection.wants_file(name)
    }
}
