//! Start and end of the traces.

use std::ops::ControlFlow;

use ichnos::model::Window;
use ichnos::model::event::EventCounts;
use ichnos::{Session, StreamMessages};

/// Returns the start of the traces: the time of the first event, or an earlier bound.
pub(crate) fn start(session: &Session) -> Option<i128> {
    let begins = session.traces().iter().flat_map(|trace| trace.streams());
    begins.filter_map(|stream| stream.time_range.map(|(begin, _)| begin)).min().or_else(|| {
        let mut first: Option<i128> = None;
        session.stream_reader().for_each_head(|_, head| {
            let Some(time) = head.nanoseconds() else { return ControlFlow::Continue(()) };
            first = Some(first.map_or(time, |first| first.min(time)));
            ControlFlow::Break(())
        });
        first
    })
}

/// Returns the end of the traces: the time of the last event, or a later bound. Data streams whose packets lack end
/// times are read completely.
pub(crate) fn end(session: &Session) -> Option<i128> {
    let mut end: Option<i128> = None;
    for trace in session.traces() {
        let mut is_unknown = Vec::new();
        trace.for_each_stream(&mut |stream| {
            is_unknown.push(stream.time_range.is_none());
            end = end.max(stream.time_range.map(|(_, end)| end));
        });
        if !is_unknown.contains(&true) {
            continue;
        }
        let streams = StreamMessages::of_trace(&**trace, Window::default()).zip(is_unknown);
        for (messages, _) in streams.filter(|(_, is)| *is) {
            let mut counts = EventCounts::default();
            messages.count(&mut ichnos::Selection::default(), &mut counts, |_, _, _| {});
            end = end.max(counts.times.map(|(_, last)| last));
        }
    }
    end
}
