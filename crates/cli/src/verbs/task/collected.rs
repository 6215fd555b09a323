//! Opens single tasks in a collected directory by its index.

use std::path::Path;

use ichnos::Session;
use ichnos::collect::find_reports;
use ichnos::model::meaning::Identifier;

use crate::args::TaskReading;
use crate::exit::Failure;
use crate::input::OpenRequest;
use crate::progress::Console;

/// Opens the reports of the tasks with these identifiers, and all reports that name one of the tasks or operations.
///
/// Returns `None` if all reports must be read: for other input, a selection of events, or the latest task.
pub(super) fn open(
    args: &TaskReading,
    ids: &[&str],
    operations: &[Identifier],
    console: Console,
) -> Result<Option<Session>, Failure> {
    let Some(directory) = directory(args).filter(|_| !ids.is_empty() && !ids.contains(&"latest")) else {
        return Ok(None);
    };
    // With a damaged index, the segments can still be read.
    let Ok(Some(text)) = find_reports(directory, ids, operations, !args.no_search) else { return Ok(None) };
    let name = directory.to_string_lossy();
    OpenRequest::new(&args.reading).open_text(&name, &text, console).map(Some)
}

/// Returns the directory if it is the whole input, and all events are selected.
fn directory(args: &TaskReading) -> Option<&Path> {
    let (reading, selecting) = (&args.reading, &args.selecting);
    let [path] = &reading.paths[..] else { return None };
    let is_plain = reading.from.is_none() && !reading.strict;
    let is_whole =
        is_plain && reading.manifest.is_none() && reading.listen.is_empty() && reading.offset.is_empty();
    let has_window = selecting.begin.is_some() || selecting.end.is_some() || selecting.timerange.is_some();
    let selects = !selecting.stream.is_empty()
        || !selecting.event.is_empty()
        || selecting.filter.is_some()
        || selecting.stream_intersection;
    (is_whole && !has_window && !selects && path.is_dir()).then_some(path)
}
