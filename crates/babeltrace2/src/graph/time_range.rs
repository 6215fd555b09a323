//! Time windows of the trimmers in a graph.

use std::cell::RefCell;
use std::collections::HashMap;

use ichnos::model::Window;

use crate::command::Failure;
use crate::components::query;
use crate::components::source::OpenedSource;
use crate::components::trimmer::{Trimmer, check_range};
use crate::graph::sources::Sources;
use crate::graph::wiring::SinkInput;

/// Finds the time windows of ports. Each trimmer has one window for all ports that reach it.
pub(crate) struct TimeRanges<'g, 's> {
    pub(crate) trimmers: &'g HashMap<usize, Trimmer>,
    pub(crate) sources: &'g Sources<'s>,
    /// Ports that reach the sink.
    pub(crate) inputs: &'g [SinkInput],
    /// Source windows.
    pub(crate) of_sources: &'g HashMap<usize, Window>,
    /// Times of the first messages of all ports, by source, once they are needed.
    pub(crate) first_times: RefCell<HashMap<usize, Vec<Option<i128>>>>,
    /// Known trimmer windows.
    pub(crate) known: RefCell<HashMap<usize, Window>>,
}

impl TimeRanges<'_, '_> {
    /// Returns the window of a port behind its filters.
    ///
    /// # Errors
    /// If a range ends before it begins, or if it needs an unknown date.
    pub(crate) fn of_port(&self, input: &SinkInput) -> Result<Window, Failure> {
        self.before(input, input.filters.len())
    }

    /// Returns the window of a port behind the first filters.
    ///
    /// # Errors
    /// As for [`Self::of_port`].
    pub(crate) fn before(&self, input: &SinkInput, filters: usize) -> Result<Window, Failure> {
        let mut window = self.of_sources.get(&input.source).copied().unwrap_or_default();
        for filter in input.filters.iter().take(filters) {
            let Some(trimmer) = self.trimmers.get(filter) else { continue };
            window = narrowed(window, self.of_trimmer(*filter, trimmer)?);
        }
        Ok(window)
    }

    /// Returns the window of a trimmer, which is the same for all ports.
    fn of_trimmer(&self, filter: usize, trimmer: &Trimmer) -> Result<Window, Failure> {
        if let Some(window) = self.known.borrow().get(&filter) {
            return Ok(*window);
        }
        let first = if trimmer.needs_date() { self.first_time(filter)? } else { None };
        let window = trimmer.window(first)?;
        self.known.borrow_mut().insert(filter, window);
        Ok(window)
    }

    /// Returns the time of the first message of a port.
    fn first_of_port(&self, input: &SinkInput) -> Option<i128> {
        let source = self.sources.get(input.source)?;
        let mut times = self.first_times.borrow_mut();
        let of_source = times.entry(input.source).or_insert_with(|| source.first_times());
        of_source.get(input.port).copied().flatten()
    }

    /// Returns the time of the first message that reaches a filter from any port.
    fn first_time(&self, filter: usize) -> Result<Option<i128>, Failure> {
        let mut first: Option<i128> = None;
        for input in self.inputs {
            let Some(position) = input.filters.iter().position(|known| *known == filter) else { continue };
            let Some(time) = self.first_of_port(input) else { continue };
            let window = self.before(input, position)?;
            let time = window.begin.map_or(time, |begin| time.max(begin));
            first = Some(first.map_or(time, |first| first.min(time)));
        }
        Ok(first)
    }
}

/// Returns the time in two windows and between them.
pub(crate) fn hull(a: Window, b: Window) -> Window {
    let begin = a.begin.zip(b.begin).map(|(a, b)| a.min(b));
    let end = a.end.zip(b.end).map(|(a, b)| a.max(b));
    Window { begin, end }
}

/// Returns the time in two windows.
pub(crate) fn narrowed(a: Window, b: Window) -> Window {
    let end = match (a.end, b.end) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Window { begin: a.begin.max(b.begin), end }
}

/// Returns the time in which all data streams of a source are active.
///
/// # Errors
/// If there is no such time, or if the times of a data stream are unknown.
pub(crate) fn intersection(source: &OpenedSource) -> Result<Window, Failure> {
    if source.ports.is_empty() {
        return Err(query::no_streams(source)
            .in_context("Failed to execute `babeltrace.trace-infos` query: comp-class-name=\"fs\""));
    }
    let mut range: Option<(i128, i128)> = None;
    for trace in source.session.traces() {
        for summary in trace.streams() {
            let Some((begin, end)) = summary.active_range else {
                return Err(Failure::from_cause(
                    "Unexpected format of `babeltrace.trace-infos` query result: missing expected `range-ns` key \
                    in stream map.",
                )
                .in_context("Failed to compute trace streams intersection."));
            };
            let (first, last) = range.unwrap_or((begin, end));
            range = Some((first.max(begin), last.min(end)));
        }
    }
    let Some((begin, end)) = range else { return Ok(Window::default()) };
    check_range(begin, end)?;
    Ok(Window { begin: Some(begin), end: Some(end) })
}
