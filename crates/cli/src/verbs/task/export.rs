//! `ichnos task export`: converts the events of a task.

use ichnos::Session;
use ichnos::analysis::TaskEvents;

use super::read_tasks::{TaskInput, find, read_session};
use crate::args::TaskExportArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Console;
use crate::verbs::convert;

pub(super) fn run(args: &TaskExportArgs, console: Console) -> Result<Exit, Failure> {
    let find_events = |session: &Session| events(args, session, console);
    convert::export_task(&args.convert, &find_events, console)
}

/// Returns the events of the task.
fn events(args: &TaskExportArgs, session: &Session, console: Console) -> Result<TaskEvents, Failure> {
    let input = TaskInput {
        reading: &args.convert.reading,
        selecting: &args.convert.selecting,
        searches: !args.no_search,
        with_events: false,
        corrects_clocks: false,
    };
    // Silenced, because the conversion reports the same problems.
    let found = read_session(input, session, console.silenced())?;
    let task = find(&found.tasks, &args.id)?;
    let events = found.tasks.events_of(task, input.finders());
    events.ok_or_else(|| Failure::new("no task found"))
}
