//! Messages of a single data stream.

use ichnos_model::cursor::{BoxedCursor, MessageKind};
use ichnos_model::event::EventCounts;
use ichnos_model::{Message, OpenedTrace, Window};

use crate::Selection;

/// Number of events that are counted at once.
const AT_ONCE: u32 = 1 << 14;

/// Messages of a data stream, for a separate pass or an event count.
///
/// ```no_run
/// use ichnos::model::Window;
/// use ichnos::model::event::EventCounts;
/// use ichnos::{Selection, StreamMessages};
///
/// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
/// let mut counts = EventCounts::default();
/// for stream in StreamMessages::of_trace(&*session.traces()[0], Window::default()) {
///     stream.count(&mut Selection::default(), &mut counts, |_, _, _| {});
/// }
/// println!("{} events", counts.sum());
/// # Ok::<(), ichnos::OpenError>(())
/// ```
pub struct StreamMessages(pub(crate) BoxedCursor);

impl StreamMessages {
    /// Returns the messages of all data streams of a trace in a window, in their order.
    pub fn of_trace(trace: &dyn OpenedTrace, window: Window) -> impl Iterator<Item = Self> + use<> {
        trace.cursors(window).into_iter().map(Self)
    }

    /// Counts the selected events, without decoding other events where possible. `take` receives the time and the
    /// counts from time to time, and each message that is not an event.
    pub fn count(
        mut self,
        selection: &mut Selection,
        counts: &mut EventCounts,
        mut take: impl FnMut(Option<i128>, &EventCounts, Option<&Message<'_>>),
    ) {
        while let Some(head) = selection.count_events(&mut *self.0, AT_ONCE, counts) {
            let other = if head.kind == MessageKind::Event { None } else { self.0.current() };
            take(head.nanoseconds(), counts, other.as_ref());
        }
    }
}
