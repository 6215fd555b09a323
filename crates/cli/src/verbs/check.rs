//! `ichnos check`: reports all problems, with fixes.

mod findings;
mod text_check;

use ichnos::json::write::ObjectWriter;

use self::findings::Findings;
use crate::args::{CheckArgs, FailOn};
use crate::exit::{Exit, Failure};
use crate::input::{self, OpenRequest};
use crate::output;
use crate::progress::{Console, ReadProgress, scan_progress};
use crate::select::{Selection, TraceSelection, no_match_help};

pub(crate) fn run(args: &CheckArgs, console: Console) -> Result<Exit, Failure> {
    if args.fails_on(FailOn::Never) && args.fail_on.len() > 1 {
        return Err(Failure::new("`--fail-on never` cannot be combined with other values of --fail-on"));
    }
    let mut selection = Selection::new(&args.selecting, None)?;
    let mut found = Findings::new(args.reading.limits().report.damage);
    match OpenRequest::new(&args.reading)
        .all_problems(true)
        .try_open(scan_progress::show(console), console)?
    {
        Ok(session) => {
            input::check_reading(&args.reading, &session, console)?;
            let window = selection.prepare(&session, console)?;
            let mut selected = TraceSelection::new(&session, selection, window)?;
            let mut progress = ReadProgress::new(&session, false, console);
            found.session(&session, args, &mut selected, &mut progress);
            if !args.metadata_only {
                no_match_help::explain(&session, &selected.selection, selected.window, found.events, console);
            }
            input::print_notices(&session, console);
            input::report_empty_traces(&session, console);
        }
        Err(error) => found.failed(&error)?,
    }
    let bad = found.is_bad(args);
    if args.report.json {
        let write = |object: &mut ObjectWriter<'_>| found.write_json(object, args.metadata_only);
        output::print_document("check", args.report.integers, write)?;
    } else {
        let paint = console.paint();
        output::print(&found.text(args.metadata_only, paint, console.verbose), paint)?;
    }
    Ok(if found.is_incomplete {
        Exit::Damaged
    } else if bad {
        Exit::Nothing
    } else {
        Exit::Success
    })
}
