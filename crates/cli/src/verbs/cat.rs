//! `ichnos cat`: prints the events of traces in the order of time.

mod beginnings;
mod counts;
pub(crate) mod job;
pub(crate) mod printer;

use ichnos::export::Undecoded;
use ichnos::export::text::count;
use ichnos::io::OutputFile;
use ichnos::{Pass, PassEnd, Session};

use self::job::Job;
use crate::args::{Cat, CatFormat};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::output::{Destination, OutputPath};
use crate::progress::{Console, Follower, ReadProgress, Steps, damage, interrupt, scan_progress};
use crate::select::{AroundOption, Selection, columns, intersection, no_match_help};

pub(crate) fn run(args: &Cat, console: Console) -> Result<Exit, Failure> {
    // Before reading anything: errors in patterns should not take an hour to be reported.
    let mut selection = Selection::new(&args.selecting, args.limit)?;
    selection.reads_all &= args.tail.is_none();
    let around = AroundOption::new(args.around.as_deref())?;
    let anchors = around.map(|around| around.anchors(&selection)).transpose()?;
    let arithmetic = args.arithmetic();
    let output_path = match args.format() {
        CatFormat::Jsonl => OutputPath::of_trace_file(&args.output),
        _ => OutputPath::of_file(&args.output),
    };
    output_path.check_new()?;
    let progress = scan_progress::show(console);
    // The columns can depend on all events.
    let needs_all = selection.times.needs_end()
        || selection.filter.is_some()
        || args.tail.is_some()
        || anchors.is_some()
        || (columns::are_wanted(args) && args.fields.is_empty());
    let beginning = match needs_all {
        true => None,
        false => beginnings::open(&args.reading, arithmetic, &selection, &progress, console)?,
    };
    let session = match beginning {
        Some(session) => session,
        None => input::open(&args.reading, arithmetic, progress, console)?,
    };
    output_path.check_apart(&session)?;
    let mut damaged = input::report_problems(&session, console);
    let mut window = selection.prepare(&session, console)?;
    if let Some((around, anchors)) = around.zip(anchors) {
        interrupt::watch();
        let Some(windows) = around.windows(&session, anchors, console)? else {
            return Ok(interrupt::exit());
        };
        let Some(hull) = windows.hull() else {
            console.notice("--around: no event matches: nothing is printed");
            return Ok(if damaged { Exit::Damaged } else { Exit::Nothing });
        };
        window = intersection(window, hull);
        selection.within(windows);
        selection.selected = std::mem::take(&mut selection.selected).losses_in(window);
    }
    let mut reader = selection.reader(&session, window)?;
    input::report_empty_traces(&session, console);
    report_clockless_streams(&session, &selection, console);
    interrupt::watch();
    let columns = match columns::are_wanted(args) {
        true => Some(columns::find(args, &session, &selection, console)?),
        false => None,
    };
    let mut skipped = None;
    if let Some(wanted) = args.tail {
        let mut progress = ReadProgress::new(&session, false, console);
        let pass = Pass::new(selection.selected.clone()).stop(interrupt::flag());
        skipped = reader.begin_at_last(&pass, wanted, &mut Steps(&mut progress));
        if skipped.is_none() {
            return Ok(interrupt::exit());
        }
    }
    let output = match args.format() {
        CatFormat::Null => OutputFile::nowhere(),
        _ => output_path.create()?,
    };
    let to_terminal = output.is_terminal();
    let is_limited = selection.is_some();
    let mut job = Job::new(args, &selection, columns, to_terminal, console);
    if let Some(events) = skipped {
        job.pass = job.pass.skip(events);
    }
    let mut output = Destination::new(output, job::terminal_text(args, console));
    let mut progress = ReadProgress::new(&session, to_terminal && args.format() != CatFormat::Null, console);
    let most_damages = args.reading.limits().report.damage;
    progress.limit_damage(most_damages);
    let follower = Follower::new(progress, console, !job.format.has_losses());
    let printed = printer::output(job.format, &mut output, console.is_quiet());
    let pass = reader.pass().with(job.pass).options(job.options).observer(&follower);
    let summary = pass.write(&*printed)?;
    let printed = printed.finish().map_err(|error| Failure::new(error.to_string()))?;
    let progress = follower.into_progress();
    let counts = summary.counts;
    match summary.end {
        PassEnd::Interrupted => {
            let _ = output.discard();
            return Ok(interrupt::exit());
        }
        PassEnd::Refused(damage) => {
            output.discard()?;
            return Err(damage::refused(&damage));
        }
        _ => {}
    }
    output.finish()?;
    let elapsed = progress.finish();
    if let Some(more) = counts.damages.checked_sub(most_damages).filter(|more| *more > 0) {
        let more = count(more, "more damaged place");
        console.warning(&format!("{more}; `--max damage=N` lists more"));
    }
    damaged |= counts.damages > 0 || report_undecoded(printed.undecoded, console);
    if args.stats {
        counts::print(&counts, elapsed, console);
        if let Some(checksum) = printed.checksum {
            console.answer(&format!(
                "{}, {}, checksum {checksum:016x}",
                count(printed.packets, "packet"),
                count(printed.bytes, "byte"),
            ));
        }
    }
    // With -v, they were all mentioned before.
    for trace in session.traces().iter().filter(|_| !console.verbose) {
        for quirk in trace.applied_quirks() {
            console.notice(&format!("{}: {quirk}", trace.path()));
        }
    }
    no_match_help::explain(&session, &selection, window, counts.events, console);
    Ok(if session.is_live() && interrupt::exit() != Exit::Interrupted {
        // Ctrl-C ends a live trace normally, unlike other signals.
        interrupt::exit()
    } else if damaged {
        Exit::Damaged
    } else if counts.events == 0 && is_limited {
        Exit::Nothing
    } else {
        Exit::Success
    })
}

/// Reports the data streams without a clock, if others have one.
fn report_clockless_streams(session: &Session, selection: &Selection, console: Console) {
    let streams = session.traces().iter().flat_map(|trace| trace.data_streams());
    let (clocked, clockless): (Vec<_>, Vec<_>) = streams
        .filter(|stream| selection.wants_file(&stream.name))
        .partition(|stream| stream.clock().is_some());
    let Some(first) = clockless.first().filter(|_| !clocked.is_empty()) else { return };
    let which = match clockless.len() - 1 {
        0 => format!("the data stream {} lacks a clock: its events", first.name),
        more => {
            format!("{} and {} lack clocks: their events", first.name, count(more as u64, "more data stream"))
        }
    };
    console.notice(&format!("{which} come before events with a time"));
}

/// Reports the number of values that sinks could not decode; returns `true` if there are any.
pub(crate) fn report_undecoded(count: u64, console: Console) -> bool {
    if count > 0 {
        console.error(&format!("{}: this is a bug in ichnos: please report it", Undecoded { count }));
    }
    count > 0
}
