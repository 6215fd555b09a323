//! Running threads. Events that do not name their thread get the thread that their processor runs, if an option
//! needs it.

use ichnos::Expression;
use ichnos::model::running_thread::RunningParts;

use crate::args::{Reading, Selecting};
use crate::input::OpenRequest;

/// Field name that needs the thread.
pub(crate) const THREAD: &str = NAMES[0];

/// Field name that needs the thread and its process.
pub(crate) const PROCESS: &str = PROCESS_NAMES[0];

/// Names that need the thread: event properties, and the scope with the thread.
const NAMES: [&str; 6] = ["thread", "thread_name", "tid", "comm", "procname", "resource"];

/// Names that also need the process.
const PROCESS_NAMES: [&str; 2] = ["process", "pid"];

/// Returns the request to open traces, with the parts that the selection names.
pub(crate) fn open_request<'a>(reading: &'a Reading, selecting: &Selecting) -> OpenRequest<'a> {
    OpenRequest::new(reading).running(named_parts(selecting, [], None))
}

/// Returns the parts to add to events: those that the selection, the field paths or the expression name.
pub(crate) fn named_parts<'n>(
    selecting: &Selecting,
    fields: impl IntoIterator<Item = &'n str>,
    expression: Option<&str>,
) -> RunningParts {
    let fields: Vec<&str> =
        fields.into_iter().map(|field| field.split('.').next().unwrap_or_default()).collect();
    let expressions = selecting.filter.as_deref().into_iter().chain(expression);
    // Errors are reported where the expression is used.
    let expressions: Vec<_> = expressions.filter_map(|text| Expression::parse(text).ok()).collect();
    let is_named = |names: &[&str]| {
        let is_mentioned = |name: &&str| expressions.iter().any(|expression| expression.mentions(name));
        names.iter().any(|name| fields.contains(name)) || names.iter().any(is_mentioned)
    };
    if is_named(&PROCESS_NAMES) {
        RunningParts::ThreadAndProcess
    } else if is_named(&NAMES) {
        RunningParts::Thread
    } else {
        RunningParts::Nothing
    }
}
