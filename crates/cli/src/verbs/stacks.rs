//! `ichnos stacks`: writes event call stacks as a profile.

use std::io::Write as _;

use ichnos::analysis::{
    FieldValues, SkippedSamples, StackCollector, StackFormat, StackOptions, StackProfile, StackThread,
    StackWeight,
};
use ichnos::export::TerminalText;
use ichnos::export::text::{LineWidth, Paint, count};
use ichnos::viewers::SpanStackCollector;

use crate::args::StacksArgs;
use crate::exit::{Exit, Failure};
use crate::input::report_debug_info;
use crate::opened_run::OpenedRun;
use crate::output::{self, Destination, OutputPath, line_width, safe};
use crate::progress::Console;
use crate::select::{Patterns, Selection, field_names, running_threads};

pub(crate) fn run(args: &StacksArgs, console: Console) -> Result<Exit, Failure> {
    // Checked before reading: errors in patterns should be reported at once.
    let selection = Selection::new(&args.selecting, None)?;
    let threads = ThreadPatterns::new(args)?;
    let output = OutputPath::for_file(&args.output);
    output.check_new()?;
    let has_debug_info = args.debug_info || args.debug_info_paths.is_any();
    let debug_info = has_debug_info.then(|| args.debug_info_paths.create(false));
    let request = running_threads::open_request(&args.reading, &args.selecting);
    let session = request.debug_info(debug_info.as_ref()).stacks(true).open(console)?;
    output.check_apart(&session)?;
    let mut opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    check_fields(args, &opened, false)?;
    opened.start();
    let profile = match args.spans {
        true => read_spans(args, threads, &mut opened)?,
        false => read_samples(args, threads, &mut opened)?,
    };
    // The symbols were read for the profile.
    let lacks_symbols = !args.spans
        && profile.weight() > 0
        && session.traces().iter().any(|trace| trace.trace().symbols().is_incomplete());
    report_debug_info(debug_info.as_deref(), lacks_symbols, console);
    if profile.weight() == 0 {
        return Ok(opened.exit(true));
    }
    let profile = if args.inverted { profile.inverted() } else { profile };
    match args.top {
        Some(most) => print_top(&profile, most, args, console)?,
        None => write(&profile, args)?,
    }
    Ok(opened.exit(false))
}

/// Reads event call stacks.
fn read_samples(
    args: &StacksArgs,
    threads: Option<ThreadPatterns>,
    opened: &mut OpenedRun<'_>,
) -> Result<StackProfile, Failure> {
    let mut collector = StackCollector::new(options(args));
    if let Some(threads) = threads {
        collector = collector.for_threads(move |thread| threads.wants(thread));
    }
    let collector = opened.collect(collector)?;
    if opened.events > 0 {
        check_fields(args, opened, true)?;
    }
    let (profile, console) = (collector.finish(), opened.console);
    report_skipped(&profile, args, console);
    if args.cpu && profile.samples() > 0 && !profile.has_states() {
        console.notice("no sample has the state of its thread: --cpu has no effect");
    }
    if profile.weight() == 0 {
        opened.explain_no_match();
        report_nothing(&profile, args, console);
    }
    Ok(profile)
}

/// Reads spans.
fn read_spans(
    args: &StacksArgs,
    threads: Option<ThreadPatterns>,
    opened: &mut OpenedRun<'_>,
) -> Result<StackProfile, Failure> {
    let mut collector = SpanStackCollector::new(&options(args), args.running);
    if let Some(threads) = threads {
        collector = collector.for_threads(move |thread| threads.wants(thread));
    }
    let streams: Vec<_> = opened.session.traces().iter().flat_map(|trace| trace.data_streams()).collect();
    collector.streams(streams.iter().map(|stream| &**stream));
    let collector = opened.collect(collector)?;
    let ((profile, walked), console) = (collector.finish(), opened.console);
    if walked.merged > 0 {
        let merged = count(walked.merged, "event");
        console.notice(&format!("{merged} too short to tell apart: span times are approximate"));
    }
    if walked.without_states > 0 {
        let left_out = count(walked.without_states, "thread");
        console.notice(&format!("left out {left_out}: their running times are unknown"));
    }
    if walked.with_merged_states > 0 {
        let threads = count(walked.with_merged_states, "thread");
        console
            .notice(&format!("states of {threads} too short to tell apart: running times are approximate"));
    }
    if profile.weight() == 0 {
        opened.explain_no_match();
        let help = "`ichnos help map` explains which events begin and end spans";
        console.warning_with_help("no selected span has an end: nothing is written", help);
    }
    Ok(profile)
}

/// Checks the fields named by options.
fn check_fields(args: &StacksArgs, opened: &OpenedRun<'_>, after: bool) -> Result<(), Failure> {
    let (session, selection) = (opened.session, &opened.selection);
    let weight = match args.weight.as_str() {
        "samples" | "time" | "time-before" => None,
        field => Some(field),
    };
    let names = args.only.iter().map(|(field, _)| ("--samples", field.as_str()));
    field_names::check(session, selection, names.chain(weight.map(|field| ("--weight", field))), after)?;
    match weight {
        Some(field) => {
            let instead = "by default, each sample counts as 1";
            field_names::check_numbers(session, "--weight", field, instead, after)
        }
        None => Ok(()),
    }
}

/// Selected processes and threads.
struct ThreadPatterns {
    processes: Option<Patterns>,
    threads: Option<Patterns>,
}

impl ThreadPatterns {
    /// Returns `None` if all threads are selected.
    fn new(args: &StacksArgs) -> Result<Option<Self>, Failure> {
        let processes = Patterns::new(&args.process, "--process")?;
        let threads = Patterns::new(&args.thread, "--thread")?;
        let selects = processes.is_some() || threads.is_some();
        Ok(selects.then_some(Self { processes, threads }))
    }

    fn wants(&self, thread: &StackThread) -> bool {
        let wants = |patterns: &Option<Patterns>, number: Option<i128>, name: &Option<String>| {
            let Some(patterns) = patterns else { return true };
            number.is_some_and(|number| patterns.matches(&number.to_string()))
                || name.as_ref().is_some_and(|name| patterns.matches(name))
        };
        wants(&self.processes, thread.process, &thread.process_name)
            && wants(&self.threads, thread.thread, &thread.thread_name)
    }
}

fn options(args: &StacksArgs) -> StackOptions {
    let mut options = StackOptions::default();
    options.weight = match args.weight.as_str() {
        "samples" => StackWeight::Samples,
        "time" => StackWeight::Time,
        "time-before" => StackWeight::TimeBefore,
        field => StackWeight::Field(field.to_owned()),
    };
    for (path, value) in &args.only {
        match options.only.iter_mut().find(|known| known.path == *path) {
            Some(known) => known.values.push(value.clone()),
            None => options.only.push(FieldValues { path: path.clone(), values: vec![value.clone()] }),
        }
    }
    options.frames = args.frames;
    options.with_times = args.top.is_none() && args.format().has_times();
    options.with_states = args.cpu;
    if args.spans {
        options.weight = StackWeight::Time;
    }
    options.all_events = !args.selecting.event.is_empty();
    options
}

fn write(profile: &StackProfile, args: &StacksArgs) -> Result<(), Failure> {
    let output = OutputPath::for_file(&args.output).create()?;
    let format = args.format();
    if output.is_terminal() && format == StackFormat::Pprof {
        return Err(Failure::new("the format pprof is binary, and the output is a terminal")
            .help("write it to a file: `-o FILE.pb.gz`"));
    }
    let output = Destination::new(output, TerminalText::Lines { colors: false });
    Ok(output.write_buffered(|output| profile.write(format, args.stack_roots, output))?)
}

/// Prints a table of the heaviest functions.
fn print_top(
    profile: &StackProfile,
    most: usize,
    args: &StacksArgs,
    console: Console,
) -> Result<(), Failure> {
    let weight = options(args).weight;
    if args.output.path.is_none() {
        let paint = console.paint();
        output::print(&profile.top_text(most, &weight, paint, line_width()), paint)?;
    } else {
        let text = profile.top_text(most, &weight, Paint::PLAIN, LineWidth::default());
        let mut output = OutputPath::for_file(&args.output).create()?;
        output.write_all(text.as_bytes())?;
        output.finish()?;
    }
    Ok(())
}

/// Reports samples that are not counted.
fn report_skipped(profile: &StackProfile, args: &StacksArgs, console: Console) {
    let SkippedSamples { without_frames, without_time, without_weight, .. } = profile.skipped();
    for (name, number) in profile.not_counted() {
        let (name, samples) = (safe(name), count(*number, "sample"));
        console.notice(&format!(
            "{samples} of the class {name} are not counted: `--event '{name}'` counts them"
        ));
    }
    if without_frames > 0 {
        let samples = count(without_frames, "sample");
        console.notice(&format!("skipped {samples}: no frame matched"));
    }
    if without_time > 0 {
        console.warning(&format!("skipped {}: no time", count(without_time, "sample")));
    }
    if without_weight > 0 {
        let samples = count(without_weight, "sample");
        console.warning(&format!("skipped {samples}: no number in the field `{}`", safe(&args.weight)));
    }
}

/// Explains an empty profile.
fn report_nothing(profile: &StackProfile, args: &StacksArgs, console: Console) {
    if profile.samples() > 0 {
        let lack = if profile.samples() == 1 { "lacks" } else { "lack" };
        let samples = count(profile.samples(), "sample");
        let help = match args.weight.as_str() {
            "time" | "time-before" => {
                "a sample counts until the next sample of the same thread; `--weight samples` counts each \
                sample as 1"
            }
            _ => "choose another field with --weight",
        };
        console.warning_with_help(&format!("{samples} {lack} a weight: nothing is written"), help);
    } else if profile.skipped() == SkippedSamples::default() {
        let help = "`ichnos cat --format jsonl` shows event members";
        console.warning_with_help("no selected event has a call stack: nothing is written", help);
    }
}
