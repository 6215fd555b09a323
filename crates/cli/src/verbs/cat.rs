//! `ichnos cat`: prints trace events, sorted by time.

mod beginnings;

use std::sync::Arc;
use std::time::Duration;

use ichnos::debug_info::DebugInfo;
use ichnos::export::text::{count, grouped};
use ichnos::export::{CsvColumn, Undecoded};
use ichnos::io::{OutputFile, WriteReport};
use ichnos::{Pass, PassCounts, PassOptions, Reader, Session};

use crate::args::Cat;
use crate::exit::{Exit, Failure};
use crate::input::{OpenRequest, report_debug_info};
use crate::opened_run::OpenedRun;
use crate::output::{Destination, OutputPath};
use crate::progress::{Console, Follower, ProgressSink, interrupt};
use crate::select::{AroundOption, Selection, columns, filters, intersection, running_threads};

pub(crate) fn run(args: &Cat, console: Console) -> Result<Exit, Failure> {
    // Checked before reading: errors in patterns should be reported at once.
    let mut selection = Selection::new(&args.selecting, args.max_events)?;
    selection.reads_all &= args.tail.is_none();
    let until = filters::until(&args.following.ending)?;
    let around = AroundOption::new(args.around.as_deref())?;
    let anchors = around.map(|around| around.anchors(&selection)).transpose()?;
    let format = args.format();
    let output_path = match format.is_trace {
        true => OutputPath::for_trace_file(&args.output),
        false => OutputPath::for_file(&args.output),
    };
    output_path.check_new()?;
    let debug_info = args.has_debug_info().then(|| args.debug_info_paths.create(args.full_path));
    let session = open(args, debug_info.as_ref(), &selection, console)?;
    output_path.check_apart(&session)?;
    if session.is_live() && (args.tail.is_some() || args.around.is_some()) {
        return Err(Failure::new("--tail and --around read twice, but live input can be read only once"));
    }
    let mut opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    if let Some((around, anchors)) = around.zip(anchors) {
        select_around(around, anchors, &mut opened)?;
    }
    let mut reader = opened.reader()?;
    opened.start();
    report_clockless_streams(&opened);
    let columns = match format.has_columns {
        true => Some(columns::find(&args.text, &session, &opened.selection, console)?),
        false => None,
    };
    let mut pass = pass(args, &opened);
    let gmt = args.selecting.clock_gmt;
    let last =
        until.map(|until| filters::selection(&until, &session, "--until", gmt, console)).transpose()?;
    if let Some(last) = last.clone() {
        pass = pass.until(last);
    }
    if let Some(wanted) = args.tail {
        let mut progress = opened.progress(false);
        let all = opened.pass().strict(false);
        let events = reader.begin_at_last(&all, wanted, &mut ProgressSink(&mut progress))?;
        pass = pass.skip(events.ok_or_else(interrupt::end)?);
    }
    let output = if format.is_printed { output_path.create()? } else { OutputFile::nowhere() };
    print(args, &mut opened, &reader, pass, columns, output)?;
    // With -v, all quirks were already printed.
    for trace in session.traces().iter().filter(|_| !console.verbose) {
        for quirk in trace.applied_quirks() {
            console.notice(&format!("{}: {quirk}", trace.path()));
        }
    }
    report_debug_info(debug_info.as_deref(), false, console);
    opened.explain_no_match();
    if let Some(last) = last {
        return Ok(opened.until_exit(&last));
    }
    let is_empty = opened.events == 0 && opened.selection.is_some();
    Ok(opened.live_exit().unwrap_or_else(|| opened.exit(is_empty)))
}

/// Opens the traces. If the selected events are at the beginning of packed files, the rest is not unpacked.
fn open(
    args: &Cat,
    debug_info: Option<&Arc<DebugInfo>>,
    selection: &Selection,
    console: Console,
) -> Result<Session, Failure> {
    let request = open_request(args).debug_info(debug_info).follow(&args.following).stacks(args.stacks);
    // The columns can depend on all events.
    let needs_all = args.following.follow
        || selection.times.needs_end()
        || selection.filter.is_some()
        || args.tail.is_some()
        || args.following.ending.until.is_some()
        || args.around.is_some()
        || (args.format().has_columns && args.text.fields.is_empty());
    let beginning = match needs_all {
        true => None,
        false => beginnings::open(&args.reading, request, selection, console)?,
    };
    beginning.map_or_else(|| request.open(console), Ok)
}

/// Selects the time around events. Ends the verb if no event matches.
fn select_around(
    around: AroundOption<'_>,
    anchors: Selection,
    opened: &mut OpenedRun<'_>,
) -> Result<(), Failure> {
    interrupt::watch();
    let windows = around.windows(opened.session, anchors, opened.console)?;
    let Some(hull) = windows.hull() else {
        opened.console.notice("--around: no event matches, so nothing is printed");
        return Err(Failure::end(opened.exit(true)));
    };
    opened.window = intersection(opened.window, hull);
    opened.selection.within(windows, opened.window);
    Ok(())
}

/// Prints the selected events.
fn print(
    args: &Cat,
    opened: &mut OpenedRun<'_>,
    reader: &Reader<'_>,
    pass: Pass,
    columns: Option<Vec<CsvColumn>>,
    output: OutputFile,
) -> Result<(), Failure> {
    let (format, console) = (args.format(), opened.console);
    let to_terminal = output.is_terminal();
    let mut text = console.text_settings(args.text.clone(), args.selecting.clock_gmt);
    (text.stacks, text.columns, text.to_terminal) = (args.stacks, columns, to_terminal);
    text.resource_in_context = args.has_debug_info();
    text.has_colors = args.output.path.is_none() && console.paint().is_on();
    format.warn_of_zone(&text);
    let mut output = Destination::new(output, (format.terminal_text)(text.has_colors));
    let progress = opened.progress(to_terminal && format.is_printed);
    let follower = Follower::new(progress, console, !format.has_losses);
    let printed = format.start(&text, Box::new(&mut output));
    let pass = reader.pass().with(pass).options(pass_options(args)).observer(&follower);
    let summary = pass.write(&*printed)?;
    let printed = printed.finish().map_err(|error| Failure::new(error.to_string()))?;
    let progress = follower.into_progress();
    let counts = match opened.counts(summary) {
        Ok(counts) => counts,
        Err(failure) => {
            let discarded = output.discard();
            // After an interruption, this error is irrelevant.
            if failure.exit.is_none() {
                discarded?;
            }
            return Err(failure);
        }
    };
    output.finish()?;
    let elapsed = progress.finish();
    opened.report_more_damage(counts.damages);
    opened.is_damaged |= report_undecoded(printed.undecoded, console);
    if args.stats {
        print_counts(&counts, &printed, elapsed, console);
    }
    Ok(())
}

/// Returns the pass over the printed events.
fn pass(args: &Cat, opened: &OpenedRun<'_>) -> Pass {
    let mut pass = opened.pass();
    if let Some(limit) = args.max_events {
        pass = pass.limit(limit);
    }
    pass
}

/// Prints the number of messages, the elapsed time, and the checksum if the format has one.
fn print_counts(counts: &PassCounts, printed: &WriteReport, elapsed: Duration, console: Console) {
    let seconds = elapsed.as_secs_f64();
    // No rate for times too short to measure.
    let rate = if seconds >= 0.1 {
        format!(" ({} per second)", grouped((counts.events as f64 / seconds) as u64))
    } else {
        String::new()
    };
    console.print(&format!("{} in {seconds:.3} s{rate}", count(counts.events, "event")));
    console.print(&format!(
        "{} and {} discarded by the tracer, {}",
        count(counts.discarded_events, "event"),
        count(counts.discarded_packets, "packet"),
        count(counts.damages, "damaged place")
    ));
    if let Some(checksum) = printed.checksum {
        console.print(&format!(
            "{}, {}, checksum {checksum:016x}",
            count(printed.packets, "packet"),
            count(printed.bytes, "byte"),
        ));
    }
}

/// Returns the request to open the traces.
fn open_request(args: &Cat) -> OpenRequest<'_> {
    let fields = args.text.fields.iter().map(String::as_str);
    let around = args.around.as_ref().and_then(|around| around.first());
    let expression = around.or(args.following.ending.until.as_ref()).map(String::as_str);
    let running = running_threads::named_parts(&args.selecting, fields, expression);
    OpenRequest::new(&args.reading).arithmetic(args.format().arithmetic).running(running)
}

/// Chunk size in bytes if nothing is printed.
const NULL_CHUNK: u64 = 16 << 20;

fn pass_options(args: &Cat) -> PassOptions {
    let mut options = PassOptions::default();
    options.threads = args.threads.map_or(options.threads, usize::from);
    options.chunk_bytes = args.chunk_size.or((!args.format().is_printed).then_some(NULL_CHUNK));
    options
}

/// Reports data streams without a clock, if other data streams have clocks.
fn report_clockless_streams(opened: &OpenedRun<'_>) {
    let streams = opened.session.traces().iter().flat_map(|trace| trace.data_streams());
    let (clocked, clockless): (Vec<_>, Vec<_>) = streams
        // Live input that has not begun yet has no name.
        .filter(|stream| !stream.name.is_empty() && opened.selection.wants_file(&stream.name))
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

/// Reports the number of values that sinks could not decode. Returns `true` if it is not 0.
pub(crate) fn report_undecoded(count: u64, console: Console) -> bool {
    if count > 0 {
        console.error(&format!("{}: this is a bug in ichnos: please report it", Undecoded { count }));
    }
    count > 0
}
