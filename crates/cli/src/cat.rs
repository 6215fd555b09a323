//! `ichnos cat`: the events of traces in the order of time.

use ichnos::Session;
use ichnos::export::Undecoded;
use ichnos::io::Output;
use ichnos::model::Window;

use crate::args::{Arithmetic, Cat, CatFormat, Global};
use crate::beginning;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::interrupt;
use crate::job::{self, Job};
use crate::output::Destination;
use crate::pass::{Ended, Follower};
use crate::progress::Progress;
use crate::report::Report;
use crate::scan;
use crate::selection::Selection;
use crate::style::count;
use crate::time::{self, TimePoint};
use crate::unmatched;

pub(crate) fn run(args: &Cat, global: &Global, report: Report) -> Result<Exit, Failure> {
    // Before anything is read: mistakes in patterns should not take an hour to be reported.
    let selection = Selection::new(args)?;
    let arithmetic = match args.format() {
        CatFormat::Pretty | CatFormat::Details => Arithmetic::Babeltrace,
        _ => Arithmetic::Exact,
    };
    let progress = scan::progress(global.progress, report);
    let session = match beginning::open(args, arithmetic, &selection, &progress, report)? {
        Some(session) => session,
        None => input::open(&args.reading, arithmetic, progress, report)?,
    };
    let mut damaged = input::tell_problems(&session, report);
    let window = window(args, &session)?;
    let mut reader = session
        .reader(window, |stream| selection.wants_file(&stream.name))
        .map_err(|error| input::failure(&error))?;
    if args.stream_intersection {
        reader.intersect_streams().map_err(|error| {
            Failure::new(format!("--stream-intersection: {error}"))
                .help("leave it out, or leave out this trace; `ichnos info` says when each data stream begins and ends")
        })?;
    }
    input::tell_emptiness(&session, report);
    tell_clockless(&session, &selection, report);
    interrupt::watch();
    let output = match args.format() {
        CatFormat::Null => Output::nowhere(),
        _ => ichnos::io::create(args.output.as_deref())
            .map_err(|error| Failure::new(format!("the output cannot be opened: {error}")))?,
    };
    let to_terminal = output.is_terminal();
    let is_limited = selection.is_some();
    let job = Job::new(args, global, selection, to_terminal);
    let mut output = Destination::new(output, job::terminal_text(args, global));
    let mut progress =
        Progress::new(global.progress, &session, to_terminal && args.format() != CatFormat::Null, report);
    let most_damages = args.reading.limits().report.damage;
    progress.limit_damage(most_damages);
    let mut follower = Follower::new(progress, report);
    reader.render(&job, &job.rendering, &mut output, &mut follower)?;
    let Follower { progress, done, .. } = follower;
    match done.ended {
        Ended::Over => {}
        Ended::Interrupted => {
            let _ = output.discard();
            return Ok(interrupt::exit());
        }
        Ended::Refused(line) => {
            output.discard()?;
            return Err(Failure::new(line).help("without --strict, reading goes on at the next good place"));
        }
    }
    output.finish()?;
    let elapsed = progress.finish();
    if let Some(more) = done.tally.damages.checked_sub(most_damages).filter(|more| *more > 0) {
        let more = count(more, "more damaged place");
        report.warning(&format!("{more}; `--max damage=N` lists more of them"));
    }
    damaged |= done.tally.damages > 0 || tell_undecoded(done.undecoded, report);
    if args.stats {
        done.tally.answer(elapsed, report);
        if let Some(checked) = done.checked {
            report.answer(&format!(
                "{}, {}, checksum {:016x}",
                count(checked.packets, "packet"),
                count(checked.bytes, "byte"),
                checked.checksum
            ));
        }
    }
    // With -v, all of them were mentioned before.
    for trace in session.traces().iter().filter(|_| !report.verbose) {
        for quirk in trace.applied_quirks() {
            report.notice(&format!("{}: {quirk}", trace.path()));
        }
    }
    unmatched::explain(args, &session, &job.selection, window, done.tally.events, report);
    Ok(if args.reading.listen.is_some() && interrupt::exit() != Exit::Interrupted {
        // Ctrl-C is the end of what arrives, other signals are none.
        interrupt::exit()
    } else if damaged {
        Exit::Damaged
    } else if done.tally.events == 0 && is_limited {
        Exit::Nothing
    } else {
        Exit::Success
    })
}

pub(crate) fn window(args: &Cat, session: &Session) -> Result<Window, Failure> {
    let (begin, end) = match args.timerange {
        Some((begin, end)) => (Some(begin), Some(end)),
        None => (args.begin, args.end),
    };
    if begin.is_none() && end.is_none() {
        return Ok(Window::default());
    }
    let needs_start =
        |point: &Option<TimePoint>| matches!(point, Some(TimePoint::FromStart(_) | TimePoint::OfDay(_)));
    let needs_start = needs_start(&begin) || needs_start(&end);
    // What arrives can only be read once.
    let is_known = needs_start && args.reading.listen.is_none();
    let start = if is_known { input::start(session) } else { None };
    let resolve = |point: Option<TimePoint>, name: &str| {
        point
            .map(|point| point.resolve(args.clock_gmt, start))
            .transpose()
            .map_err(|error| Failure::new(format!("the time of {name} cannot be used: {error}")))
    };
    let (begin, end) = (resolve(begin, "--begin")?, resolve(end, "--end")?);
    if let (Some(begin), Some(end)) = (begin, end)
        && begin > end
    {
        return Err(Failure::new(format!(
            "the begin time ({}) is after the end time ({})",
            time::show_seconds(begin),
            time::show_seconds(end)
        )));
    }
    Ok(Window { begin, end })
}

/// Reports which data streams have no clock, if others do.
fn tell_clockless(session: &Session, selection: &Selection, report: Report) {
    let streams = session.traces().iter().flat_map(|trace| trace.data_streams());
    let (clocked, clockless): (Vec<_>, Vec<_>) = streams
        .filter(|stream| selection.wants_file(&stream.name))
        .partition(|stream| stream.clock().is_some());
    let Some(first) = clockless.first().filter(|_| !clocked.is_empty()) else { return };
    let which = match clockless.len() - 1 {
        0 => format!("the data stream {} has no clock: its events", first.name),
        more => format!(
            "{} and {} have no clock: their events",
            first.name,
            count(more as u64, "more data stream")
        ),
    };
    report.notice(&format!("{which} come before those that have a time"));
}

/// Reports how often sinks could not decode something; true if they could not.
fn tell_undecoded(count: u64, report: Report) -> bool {
    if count > 0 {
        report.error(&format!("{}: this is a fault of ichnos, please report it", Undecoded { count }));
    }
    count > 0
}
