//! Selection for reading traces one by one.

use ichnos::model::{OpenedTrace, Window};
use ichnos::{Session, StreamMessages};

use crate::exit::Failure;
use crate::select::Selection;

/// Selection for each trace of a session.
pub(crate) struct TraceSelection {
    pub(crate) selection: Selection,
    /// Window that contains the whole selection.
    pub(crate) window: Window,
    /// Window of each trace.
    windows: Vec<Window>,
}

impl TraceSelection {
    /// Applies a selection to each trace.
    ///
    /// # Errors
    /// If a time is selected, but the clocks of the traces are unrelated.
    pub(crate) fn new(session: &Session, selection: Selection, window: Window) -> Result<Self, Failure> {
        let mut windows = vec![window; session.traces().len()];
        if selection.has_times() {
            windows = selection.reader(session, window)?.windows().to_vec();
        }
        Ok(Self { selection, window, windows })
    }

    /// Returns the messages of each data stream of a trace, even of data streams that are not selected. `number` is the
    /// index of the trace.
    pub(crate) fn streams(
        &self,
        number: usize,
        trace: &dyn OpenedTrace,
    ) -> impl Iterator<Item = StreamMessages> + use<> {
        StreamMessages::of_trace(trace, self.windows.get(number).copied().unwrap_or_default())
    }
}
