//! `ichnos task export`: finds the events of a task, which are then converted.

use ichnos::Session;
use ichnos::analysis::TaskEvents;

use super::{TaskInput, find, read_session};
use crate::args::{Global, TaskExportArgs};
use crate::exit::{Exit, Failure};
use crate::progress::Report;
use crate::verbs::convert;

pub(super) fn run(args: &TaskExportArgs, global: &Global, report: Report) -> Result<Exit, Failure> {
    let find_events = |session: &Session| events(args, session, global, report);
    convert::export_task(&args.convert, &find_events, global, report)
}

/// Returns the events of the task; `Err` with the exit code if interrupted.
fn events(
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
