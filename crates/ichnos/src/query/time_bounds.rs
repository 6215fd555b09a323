//! Start and end of the traces.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use ichnos_export::text::seconds;
use ichnos_model::Window;
use ichnos_model::event::EventCounts;

use super::TimePoint;
use crate::{Session, StreamMessages};

/// Start and end of the traces, computed when first needed.
#[derive(Debug, Default)]
pub struct TimeBounds {
    start: OnceCell<Option<i128>>,
    end: OnceCell<Option<i128>>,
}

impl TimeBounds {
    /// Converts a point in time to nanoseconds since the clock's origin.
    ///
    /// # Errors
    /// If the point depends on an unknown bound, or is out of range.
    pub fn resolve(&self, point: TimePoint, session: &Session, gmt: bool) -> Result<i128, String> {
        // Live traces can only be read once.
        let is_known = !session.is_live();
        let needs_start = is_known && matches!(point, TimePoint::FromStart(_) | TimePoint::OfDay(_));
        let needs_end = is_known && matches!(point, TimePoint::BeforeEnd(_));
        let start = if needs_start { *self.start.get_or_init(|| start(session)) } else { None };
        let end = if needs_end { *self.end.get_or_init(|| end(session)) } else { None };
        point.resolve(gmt, start, end)
    }
}

/// Returns the start of the traces: the time of the first event, or an earlier bound.
#[must_use]
pub fn start(session: &Session) -> Option<i128> {
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
#[must_use]
pub fn end(session: &Session) -> Option<i128> {
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
            messages.count(&mut crate::Selection::default(), &mut counts, |_, _, _| {});
            end = end.max(counts.times.map(|(_, last)| last));
        }
    }
    end
}

/// Returns the window between two times.
///
/// # Errors
/// If the first one is later.
pub fn window_between(begin: Option<i128>, end: Option<i128>) -> Result<Window, String> {
    match begin.zip(end).filter(|(begin, end)| begin > end) {
        Some((begin, end)) => {
            Err(format!("the begin time ({}) is after the end time ({})", seconds(begin), seconds(end)))
        }
        None => Ok(Window { begin, end }),
    }
}

/// Returns the intersection of two windows.
#[must_use]
pub fn intersection(a: Window, b: Window) -> Window {
    let pick = |a: Option<i128>, b: Option<i128>, of: fn(i128, i128) -> i128| match (a, b) {
        (Some(a), Some(b)) => Some(of(a, b)),
        (a, b) => a.or(b),
    };
    let begin = pick(a.begin, b.begin, i128::max);
    // An empty intersection must not become the first window.
    Window { begin, end: pick(a.end, b.end, i128::min).map(|end| end.max(begin.unwrap_or(end))) }
}
