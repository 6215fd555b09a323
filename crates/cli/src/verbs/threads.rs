//! `ichnos threads`: shows running and waiting threads.

use ichnos::Session;
use ichnos::analysis::{PathOptions, ThreadCollector, ThreadOptions, ThreadTextOptions};
use ichnos::viewers::nearest_timeline_time;

use crate::args::{ThreadsArgs, time};
use crate::exit::{Exit, Failure};
use crate::opened_run::OpenedRun;
use crate::output;
use crate::progress::Console;
use crate::select::{Selection, TimeRange, running_threads};

pub(crate) fn run(args: &ThreadsArgs, console: Console) -> Result<Exit, Failure> {
    // Checked before reading: errors in patterns should be reported at once.
    let selection = Selection::new(&args.selecting, None)?;
    let session = running_threads::open_request(&args.reading, &args.selecting).open(console)?;
    let mut opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    let options = options(args, &session)?;
    opened.start();
    let found = opened.collect(ThreadCollector::new(options))?.finish();
    if !found.has_switches() {
        opened.explain_no_match();
        let help = "on Linux, record `sched_switch`, `sched_waking` and `sched_wakeup`";
        console.warning_with_help("no selected event shows which thread runs", help);
        return Ok(opened.exit(true));
    }
    let is_empty = found.path().is_some_and(|path| path.steps.is_empty());
    if let Some(thread) = args.path.filter(|_| is_empty) {
        let help = "`ichnos threads TRACE` lists threads with their numbers";
        console
            .warning_with_help(&format!("no scheduler events for thread {thread} in this time range"), help);
    } else if args.report.json {
        output::print_document("threads", args.report.integers, |object| {
            found.write_json(object, args.top);
        })?;
    } else if args.csv {
        output::print_source(&found.to_csv())?;
    } else {
        let options = text_options(args, &opened);
        if !options.shown.clock_seconds && !options.shown.clock_gmt {
            time::warn_of_zone();
        }
        output::print(&found.to_text(&options), options.shown.paint)?;
    }
    Ok(opened.exit(is_empty))
}

fn options(args: &ThreadsArgs, session: &Session) -> Result<ThreadOptions, Failure> {
    let mut options = ThreadOptions::default();
    options.waits = args.top;
    let Some(thread) = args.path else { return Ok(options) };
    let mut path = PathOptions::new(thread);
    if let Some((begin, end)) = args.during {
        let range = TimeRange { begin: Some(begin), end: Some(end), gmt: args.selecting.clock_gmt };
        let window = range.window(session)?;
        let time = |time: Option<i128>, or| time.map_or(or, nearest_timeline_time);
        path.range = Some((time(window.begin, 0), time(window.end, u64::MAX)));
    }
    options.path = Some(path);
    Ok(options)
}

fn text_options(args: &ThreadsArgs, opened: &OpenedRun<'_>) -> ThreadTextOptions {
    let mut options = ThreadTextOptions::default();
    options.shown = opened.text_options(args.clock_seconds, args.clock_date, args.selecting.clock_gmt);
    options.top = args.top;
    options
}
