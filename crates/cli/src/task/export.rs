//! `ichnos task export`: finds the events of a task, which are then converted.

use ichnos::Session;
use ichnos::export::TaskEvents;

use super::{TaskInput, find, read_session};
use crate::args::{Global, TaskExportArgs};
use crate::exit::{Exit, Failure};
use crate::report::Report;

/// Returns the events of the task; `Err` with the exit code if interrupted.
pub(crate) fn events(
    args: &TaskExportArgs,
    session: &Session,
    global: &Global,
    report: Report,
) -> Result<Result<TaskEvents, Exit>, Failure> {
    let input = TaskInput {
        reading: &args.convert.reading,
        selecting: &args.convert.selecting,
        searches: !args.no_search,
        with_events: false,
        corrects_clocks: false,
    };
    // The conversion reports the same problems.
    let found = match read_session(input, session, global, report.silenced())? {
        Ok(found) => found,
        Err(exit) => return Ok(Err(exit)),
    };
    let task = find(&found.tasks, &args.id)?;
    let events = found.tasks.events_of(task, input.finders());
    events.map(Ok).ok_or_else(|| Failure::new("no task found"))
}
