//! `ichnos cat`: prints the events of traces in the order of time.

mod beginnings;
mod counts;
pub(crate) mod job;
pub(crate) mod printer;

use ichnos::PassOptions;
use ichnos::export::Undecoded;
use ichnos::export::text::count;
use ichnos::io::OutputFile;

use self::job::Format;
use crate::args::{Cat, CatFormat};
use crate::exit::{Exit, Failure};
use crate::input::OpenRequest;
use crate::opened_run::OpenedRun;
use crate::output::{Destination, OutputPath};
use crate::progress::{Console, Follower, Steps, interrupt};
use crate::select::{AroundOption, Selection, columns, intersection, running_threads};

pub(crate) fn run(args: &Cat, console: Console) -> Result<Exit, Failure> {
    // Before reading anything: errors in patterns should not take an hour to be reported.
    let mut selection = Selection::new(&args.selecting, args.limit)?;
    selection.reads_all &= args.tail.is_none();
    let around = AroundOption::new(args.around.as_deref())?;
    let anchors = around.map(|around| around.anchors(&selection)).transpose()?;
    let output_path = match args.format() {
        CatFormat::Jsonl => OutputPath::of_trace_file(&args.output),
        _ => OutputPath::of_file(&args.output),
    };
    output_path.check_new()?;
    // The columns can depend on all events.
    let needs_all = selection.times.needs_end()
        || selection.filter.is_some()
        || args.tail.is_some()
        || anchors.is_some()
        || (columns::are_wanted(args) && args.fields.is_empty());
    let request = open_request(args);
    let beginning = match needs_all {
        true => None,
        false => beginnings::open(&args.reading, request, &selection, console)?,
    };
    let session = match beginning {
        Some(session) => session,
        None => request.open(console)?,
    };
    output_path.check_apart(&session)?;
    let mut opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    if let Some((around, anchors)) = around.zip(anchors) {
        interrupt::watch();
        let Some(windows) = around.windows(&session, anchors, console)? else {
            return Ok(interrupt::exit());
        };
        let Some(hull) = windows.hull() else {
            console.notice("--around: no event matches: nothing is printed");
            return Ok(opened.exit(true));
        };
        opened.window = intersection(opened.window, hull);
        opened.selection.within(windows, opened.window);
    }
    let mut reader = opened.reader()?;
    opened.start();
    report_clockless_streams(&opened);
    let columns = match columns::are_wanted(args) {
        true => Some(columns::find(args, &session, &opened.selection, console)?),
        false => None,
    };
    let mut skipped = None;
    if let Some(wanted) = args.tail {
        let mut progress = opened.progress(false);
        let pass = opened.pass().strict(false);
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
    let format = Format::new(args, columns, to_terminal, console);
    let mut pass = opened.pass();
    if session.is_live() {
        pass = pass.live();
    }
    if let Some(limit) = args.limit {
        pass = pass.limit(limit);
    }
    if let Some(events) = skipped {
        pass = pass.skip(events);
    }
    let mut output = Destination::new(output, job::terminal_text(args, console));
    let progress = opened.progress(to_terminal && args.format() != CatFormat::Null);
    let follower = Follower::new(progress, console, !format.has_losses());
    let options = pass_options(args);
    let printed = printer::output(format, &mut output, console.is_quiet());
    let summary = reader.pass().with(pass).options(options).observer(&follower).write(&*printed)?;
    let printed = printed.finish().map_err(|error| Failure::new(error.to_string()))?;
    let progress = follower.into_progress();
    let counts = match opened.counts(summary) {
        Ok(Some(counts)) => counts,
        Ok(None) => {
            let _ = output.discard();
            return Ok(interrupt::exit());
        }
        Err(refused) => {
            output.discard()?;
            return Err(refused);
        }
    };
    output.finish()?;
    let elapsed = progress.finish();
    opened.report_more_damage(counts.damages);
    opened.is_damaged |= report_undecoded(printed.undecoded, console);
    if args.stats {
        counts::print(&counts, &printed, elapsed, console);
    }
    // With -v, they were all mentioned before.
    for trace in session.traces().iter().filter(|_| !console.verbose) {
        for quirk in trace.applied_quirks() {
            console.notice(&format!("{}: {quirk}", trace.path()));
        }
    }
    opened.explain_no_match();
    let is_empty = counts.events == 0 && opened.selection.is_some();
    Ok(opened.live_exit().unwrap_or_else(|| opened.exit(is_empty)))
}

/// Returns how the traces are opened.
fn open_request(args: &Cat) -> OpenRequest<'_> {
    let fields = args.fields.iter().map(String::as_str);
    let around = args.around.as_ref().and_then(|around| around.first());
    let running = running_threads::named_parts(&args.selecting, fields, around.map(String::as_str));
    OpenRequest::new(&args.reading).arithmetic(args.arithmetic()).running(running)
}

/// Bytes of trace data in a chunk if nothing is printed.
const NULL_CHUNK: u64 = 16 << 20;

fn pass_options(args: &Cat) -> PassOptions {
    let mut options = PassOptions::default();
    options.threads = args.threads(options.threads);
    let is_null = args.format() == CatFormat::Null;
    options.chunk_bytes = args.chunk_size.or(is_null.then_some(NULL_CHUNK));
    options
}

/// Reports the data streams without a clock, if others have one.
fn report_clockless_streams(opened: &OpenedRun<'_>) {
    let streams = opened.session.traces().iter().flat_map(|trace| trace.data_streams());
    let (clocked, clockless): (Vec<_>, Vec<_>) = streams
        .filter(|stream| opened.selection.wants_file(&stream.name))
        .partition(|stream| stream.clock().is_some());
    let Some(first) = clockless.first().filter(|_| !clocked.is_empty()) else { return };
    let which = match clockless.len() - 1 {
        0 => format!("the data stream {} lacks a clock: its events", first.name),
        more => {
            format!("{} and {} lack clocks: their events", first.name, count(more as u64, "more data stream"))
        }
    };
    opened.console.notice(&format!("{which} come before events with a time"));
}

/// Reports the number of values that sinks could not decode; returns `true` if there are any.
pub(crate) fn report_undecoded(count: u64, console: Console) -> bool {
    if count > 0 {
        console.error(&format!("{}: this is a bug in ichnos: please report it", Undecoded { count }));
    }
    count > 0
}
