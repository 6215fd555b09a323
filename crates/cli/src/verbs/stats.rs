//! `ichnos stats`: event counts, distributions and latencies.

mod refresh;

use ichnos::analysis::{GroupBy, PairOptions, StatsOptions, StatsOrder, StatsReport, StatsTextOptions};
use ichnos::json::write::ObjectWriter;
use ichnos::model::running_thread::RunningParts;
use ichnos::{Pass, PassCounts, PassOptions, Session, StatsOutput, StatsResult};

use self::refresh::StatsRefresh;
use crate::args::{StatsArgs, time};
use crate::exit::{Exit, Failure};
use crate::input::OpenRequest;
use crate::opened_run::OpenedRun;
use crate::output::{self, safe};
use crate::progress::{Console, Follower};
use crate::select::{Patterns, Selection, classes, field_names, filters, no_match_help, running_threads};

pub(crate) fn run(args: &StatsArgs, console: Console) -> Result<Exit, Failure> {
    check(args)?;
    // Checked before reading: errors in patterns should be reported at once.
    let selection = Selection::new(&args.selecting, None)?;
    let until = filters::until(&args.following.ending)?;
    let mut pairs = pair_options(args)?;
    let request = OpenRequest::new(&args.reading).running(running_parts(args));
    let session = request.follow(&args.following).open(console)?;
    let mut opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    if let Some(pairs) = pairs.as_mut().filter(|_| !args.spans) {
        use_default_key(pairs, &session, console);
    }
    field_names::check(&session, &opened.selection, field_names_of(args), false)?;
    check_histogram(args, &session, false)?;
    let reader = opened.reader()?;
    opened.start();
    let options = options(args);
    let output = StatsOutput::new(&options, pairs.as_ref());
    let follower = Follower::new(opened.progress(false), console, false);
    let text = text_options(args, &opened);
    let render = |result: &StatsResult| {
        let with_options = result.pairs.as_ref().zip(pairs.as_ref());
        let found = StatsReport::new(&result.stats, &options, with_options, args.sort);
        found.top(args.top.unwrap_or(usize::MAX)).to_text(&text)
    };
    let gmt = args.selecting.clock_gmt;
    let last =
        until.map(|until| filters::selection(&until, &session, "--until", gmt, console)).transpose()?;
    let own = opened.pass();
    let own = last.iter().cloned().fold(own, Pass::until);
    let pass = reader.pass().with(own).options(pass_options(args));
    let is_refreshed = session.is_live() && !args.report.json && !args.csv;
    let summary =
        match is_refreshed.then(|| StatsRefresh::new(&follower, &output, &render, console)).flatten() {
            Some(refresh) => refresh.write(pass)?,
            None => pass.observer(&follower).write(&output)?,
        };
    let StatsResult { stats, pairs: paired, .. } = output.into_result();
    follower.into_progress().finish();
    let PassCounts { events, damages, .. } = opened.counts(summary)?;
    opened.report_more_damage(damages);
    let is_unknown = |name: &str| !stats.knows_field(name);
    if events > 0 {
        let unknown = field_names_of(args).filter(|(_, name)| is_unknown(name));
        field_names::check(&session, &opened.selection, unknown, true)?;
        check_histogram(args, &session, true)?;
    }
    opened.explain_no_match();
    if paired.is_some() && events > 0 {
        warn_of_names(args, &opened)?;
    }
    let with_options = paired.as_ref().zip(pairs.as_ref());
    let found = StatsReport::new(&stats, &options, with_options, args.sort);
    let found = found.top(args.top.unwrap_or(usize::MAX));
    let has_times = stats.all().totals.times().is_some();
    print(args, &found, &text, (events, damages, has_times))?;
    if let Some(last) = last {
        return Ok(opened.until_exit(&last));
    }
    let is_empty = paired.as_ref().map_or(events, |pairs| pairs.latencies().count()) == 0;
    Ok(opened.live_exit().unwrap_or_else(|| opened.exit(is_empty)))
}

/// Prints the tables. The numbers count events and damaged places. The Boolean is `true` if events have times.
fn print(
    args: &StatsArgs,
    found: &StatsReport<'_>,
    text: &StatsTextOptions,
    (events, damages, has_times): (u64, u64, bool),
) -> Result<(), Failure> {
    if args.report.json {
        let write = |object: &mut ObjectWriter<'_>| found.write_json(object, events, damages);
        output::print_document("stats", args.report.integers, write)?;
    } else if args.csv {
        output::print_source(&found.to_csv())?;
    } else {
        if !text.clock_seconds && !text.clock_gmt && has_times {
            time::warn_of_zone();
        }
        output::print(&found.to_text(text), text.paint)?;
    }
    Ok(())
}

/// Chunk size in bytes. It must not depend on the number of threads, so that approximate results and sums of
/// floating-point numbers are always the same.
const CHUNK: u64 = 8 << 20;

fn pass_options(args: &StatsArgs) -> PassOptions {
    let mut options = PassOptions::default();
    options.threads = args.threads.map_or(options.threads, usize::from);
    options.chunk_bytes = Some(args.chunk_size.unwrap_or(CHUNK));
    options.always_chunks = true;
    options
}

/// Checks that the options can be combined.
fn check(args: &StatsArgs) -> Result<(), Failure> {
    let needs = match args.sort {
        StatsOrder::P50 | StatsOrder::P99 | StatsOrder::Max | StatsOrder::Mean if !args.has_numbers() => {
            "--histogram or --pair"
        }
        StatsOrder::Total if !args.has_pairs() => "--pair or --spans",
        StatsOrder::Own if !args.spans => "--spans",
        StatsOrder::Bytes | StatsOrder::First | StatsOrder::Last | StatsOrder::Gap | StatsOrder::Loss
            if args.has_pairs() =>
        {
            return Err(Failure::new("--sort: this column does not apply to pairs")
                .help("sort them by events, name, total, mean, p50, p99 or max"));
        }
        _ => "",
    };
    if !needs.is_empty() {
        return Err(Failure::new(format!("--sort needs {needs} for this column")));
    }
    if args.csv && args.timeline && args.histogram.is_some() {
        return Err(Failure::new("--csv: a timeline and a histogram are two tables")
            .help("leave out --timeline or --histogram"));
    }
    Ok(())
}

/// Checks that the histogram field is a number.
fn check_histogram(args: &StatsArgs, session: &Session, after: bool) -> Result<(), Failure> {
    let Some(name) = &args.histogram else { return Ok(()) };
    let instead = format!("`--by {}` counts its values", safe(name));
    field_names::check_numbers(session, "--histogram", name, &instead, after)
}

/// Returns pairs of an option and the field it names.
fn field_names_of(args: &StatsArgs) -> impl Iterator<Item = (&str, &str)> {
    let by = args.by.iter().filter_map(|by| match by {
        GroupBy::Field(name) => Some(("--by", name.as_str())),
        _ => None,
    });
    let histogram = args.histogram.iter().map(|name| ("--histogram", name.as_str()));
    let keys = args.key.iter().map(|name| ("--key", name.as_str()));
    by.chain(histogram).chain(keys)
}

/// Returns the parts of the running thread to add to events.
fn running_parts(args: &StatsArgs) -> RunningParts {
    let groups = args.by.iter().filter_map(|by| match by {
        GroupBy::Field(field) => Some(field.as_str()),
        _ => None,
    });
    let names = groups.chain(args.key.iter().chain(&args.histogram).map(|name| name.trim()));
    // Pairs without a key are paired by thread.
    let is_by_thread = args.pair.is_some() && args.key.is_empty();
    let names = names.chain(is_by_thread.then_some(running_threads::THREAD));
    running_threads::named_parts(&args.selecting, names, args.following.ending.until.as_deref())
}

fn options(args: &StatsArgs) -> StatsOptions {
    let mut options = StatsOptions::default();
    // For pairs, `PairOptions` defines the rows.
    options.by = if args.has_pairs() { Vec::new() } else { args.groups() };
    options.histogram.clone_from(&args.histogram);
    options.timeline = args.timeline;
    options.gaps = args.gaps.map_or(0, usize::from);
    options.groups = usize::try_from(args.reading.limits().report.groups).unwrap_or(usize::MAX);
    options
}

fn text_options(args: &StatsArgs, opened: &OpenedRun<'_>) -> StatsTextOptions {
    let mut options = opened.text_options(args.clock_seconds, args.clock_date, args.selecting.clock_gmt);
    options.hints.groups = "--resource-limit groups=N";
    options.hints.open_pairs = "--resource-limit open-pairs=N";
    options.hints.key = "--key names other fields";
    options
}

fn pair_options(args: &StatsArgs) -> Result<Option<PairOptions>, Failure> {
    if args.spans {
        let mut options = PairOptions::spans();
        options.by = if args.by.is_empty() { vec![GroupBy::Span] } else { args.groups() };
        return Ok(Some(limited(options, args)));
    }
    let Some(names) = args.pair.as_deref() else { return Ok(None) };
    let [begin, end] = names else {
        return Err(Failure::new("--pair is given more than once")
            .help("globs name several events: `--pair '*_entry' '*_exit'`"));
    };
    let patterns = |text: &String| Patterns::new(std::slice::from_ref(text), "--pair");
    let (Some(begin), Some(end)) = (patterns(begin)?, patterns(end)?) else { return Ok(None) };
    let mut options = PairOptions::new(move |name| begin.matches(name), move |name| end.matches(name));
    options.keys = args.key.iter().map(|name| name.trim().to_owned()).collect();
    options.by = args.groups();
    Ok(Some(limited(options, args)))
}

fn limited(mut options: PairOptions, args: &StatsArgs) -> PairOptions {
    let limits = args.reading.limits().report;
    options.slowest = args.slowest;
    options.longer_than = args.longer_than;
    options.open = usize::try_from(limits.open_pairs).unwrap_or(usize::MAX);
    options
}

/// Pairs begin and end events by thread or processor, unless `--key` names fields. If classes are only known after
/// reading, the traces must be read first, because classes contain the event roles.
fn use_default_key(pairs: &mut PairOptions, session: &Session, console: Console) {
    if pairs.keys.is_empty() {
        // Classes in live traces are known when their events arrive.
        if !session.is_live() {
            classes::read_dynamic(session, console);
        }
        let traces: Vec<_> =
            session.traces().iter().map(|trace| trace.trace().class_with_dynamic()).collect();
        pairs.use_default_key(traces.iter().flat_map(|class| field_names::events(class)));
    }
}

/// Warns about names in `--pair` without matching events.
fn warn_of_names(args: &StatsArgs, opened: &OpenedRun<'_>) -> Result<(), Failure> {
    for name in args.pair.iter().flatten() {
        let mut named = opened.selection.clone();
        named.select_events(Patterns::new(std::slice::from_ref(name), "--pair")?);
        no_match_help::explain_events(opened.session, &named, "--pair", opened.console);
    }
    Ok(())
}
