//! Opens sessions from paths, with helpful errors.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ichnos::export::text::count;
use ichnos::io::{Datagrams, IoError, RefusedTrace, ScanProgress};
use ichnos::model::running_thread::RunningParts;
use ichnos::model::{ClockArithmetic, EventCounts, FileDiagnostic, FileRole, OpenedTrace, Severity, Window};
use ichnos::{NoTrace, OpenError, OpenOptions, OptionError, Session, StreamMessages};

use crate::args::{self, Arithmetic, Reading};
use crate::check_args;
use crate::event_map;
use crate::exit::Failure;
use crate::format_flags;
use crate::interrupt;
use crate::limits;
use crate::manifest::Manifest;
use crate::report::Report;
use crate::style;
use crate::suggest::{alternatives, nearest};

/// Number of problems in an error; `ichnos check` shows all.
const SHOWN: usize = 20;

/// Opens the traces named on the command line.
pub(crate) fn open(
    reading: &Reading,
    arithmetic: Arithmetic,
    progress: ScanProgress,
    report: Report,
) -> Result<Session, Failure> {
    open_checked(reading, arithmetic, false, progress, report)
}

/// Like [`open`]; `all_problems` to report all problems, even harmless ones.
pub(crate) fn open_checked(
    reading: &Reading,
    arithmetic: Arithmetic,
    all_problems: bool,
    progress: ScanProgress,
    report: Report,
) -> Result<Session, Failure> {
    let refuse_all = |session: Session| match session.refused() {
        [_, ..] if reading.strict => Err(OpenError::Refused(session.refused().to_vec())),
        _ => Ok(session),
    };
    let session =
        try_open(reading, arithmetic, all_problems, progress)?.and_then(refuse_all).map_err(|error| {
            let was_refused = matches!(error, OpenError::Refused(_));
            let failure = failure(&error);
            match reading.format_flags.choices().next() {
                Some(name) if was_refused => {
                    failure.help(format!("without --{name}, the {name} is detected from the trace"))
                }
                _ => failure,
            }
        })?;
    check(reading, &session, report)?;
    Ok(session)
}

/// Checks the opened traces against the options.
pub(crate) fn check(reading: &Reading, session: &Session, report: Report) -> Result<(), Failure> {
    if reading.strict
        && let Some(problem) = session.problems().first()
    {
        return Err(Failure::new(problem.to_string()).help("without --strict, all readable data are read"));
    }
    check_args::check_reading(reading, session, report)
}

/// Opens the traces named on the command line; `arithmetic` is the clock arithmetic unless an option sets it,
/// `check` to report all problems, even harmless ones. The inner error is that of the traces.
pub(crate) fn try_open(
    reading: &Reading,
    arithmetic: Arithmetic,
    check: bool,
    progress: ScanProgress,
) -> Result<Result<Session, OpenError>, Failure> {
    if reading.paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::new("the standard input (`-`) can be read only once"));
    }
    let reads_stdin = reading.paths.iter().any(|path| path.as_os_str() == "-");
    if reads_stdin && std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        return Err(Failure::new("the standard input (`-`) is a terminal, not a trace")
            .help("pipe an archive of a trace into it: `tar c TRACE | ichnos info -`"));
    }
    let manifest = reading.manifest.as_deref().map(Manifest::read).transpose()?.unwrap_or_default();
    let mut options = options(reading, &manifest, arithmetic)?;
    options.read.check = check;
    options.require_all = reading.strict;
    options.read.progress = progress;
    if let Some(path) = &reading.listen {
        interrupt::watch();
        return Ok(match Datagrams::at_unix_socket(path, interrupt::flag()) {
            Ok(datagrams) => ichnos::listen(datagrams, &options),
            Err(error) => Err(error.into()),
        });
    }
    let opened = ichnos::open(reading.paths.iter().chain(&manifest.paths), &options);
    if let Err(error @ OpenError::NoClock { clock, .. }) = &opened
        && let Some(place) = manifest.place_of_clock(clock)
    {
        let failure = failure(error);
        return Err(Failure { message: format!("{place}: {}", failure.message), ..failure });
    }
    Ok(opened)
}

/// Returns the paths of the traces, with those of a manifest.
#[cfg(feature = "view")]
pub(crate) fn paths(reading: &Reading) -> Result<Vec<PathBuf>, Failure> {
    let manifest = reading.manifest.as_deref().map(Manifest::read).transpose()?.unwrap_or_default();
    Ok(reading.paths.iter().cloned().chain(manifest.paths).collect())
}

/// Opens a text as if it were the file at a path.
pub(crate) fn open_text(
    name: &str,
    text: &[u8],
    reading: &Reading,
    arithmetic: Arithmetic,
    progress: ScanProgress,
) -> Result<Session, Failure> {
    let mut options = options(reading, &Manifest::default(), arithmetic)?;
    options.require_all = reading.strict;
    options.read.progress = progress;
    ichnos::open_reader(name, text, &options).map_err(|error| failure(&error))
}

/// Opens only the first `beginning` bytes of each packed file; returns `None` if that is impossible.
pub(crate) fn open_beginnings(
    reading: &Reading,
    arithmetic: Arithmetic,
    beginning: u64,
    progress: ScanProgress,
) -> Result<Option<Session>, Failure> {
    let mut options = options(reading, &Manifest::default(), arithmetic)?;
    options.require_all = reading.strict;
    options.read.progress = progress;
    options.beginning = Some(beginning);
    match ichnos::open(&reading.paths, &options) {
        Ok(session) => Ok(Some(session)),
        // The whole files would give the same error.
        Err(error @ OpenError::Io(_)) => Err(failure(&error)),
        Err(_) => Ok(None),
    }
}

fn options(reading: &Reading, manifest: &Manifest, arithmetic: Arithmetic) -> Result<OpenOptions, Failure> {
    let mut options = OpenOptions::default();
    options.clock_offsets.clone_from(&manifest.offsets);
    options.other_inputs.extend(reading.manifest.clone());
    options.assume_correlated = reading.assume_correlated;
    options.read.strict = reading.strict;
    options.read.unsorted = reading.unsorted;
    options.read.clock_arithmetic = match reading.clock_arithmetic.unwrap_or(arithmetic) {
        Arithmetic::Exact => ClockArithmetic::Exact,
        Arithmetic::Babeltrace => ClockArithmetic::Double,
    };
    options.read.clock_offsets.all =
        i128::from(reading.clock_offset) * 1_000_000_000 + i128::from(reading.clock_offset_ns);
    let all = || reading.paths.iter().chain(&manifest.paths);
    for (pattern, offset) in &reading.offset {
        let glob = pattern.compile_matcher();
        let before = options.clock_offsets.len();
        let named = all().filter(|path| glob.is_match(path) || path.as_os_str() == pattern.glob());
        options.clock_offsets.extend(named.map(|path| offset.of_path(path)));
        if options.clock_offsets.len() == before
            && all().any(|path| Path::new(pattern.glob()).starts_with(path))
        {
            // A trace in one of the paths.
            options.clock_offsets.push(offset.of_path(Path::new(pattern.glob())));
        }
        if options.clock_offsets.len() == before {
            return Err(Failure::new(format!("--offset: no path matches `{}`", pattern.glob())).help(
                "the pattern must match a path as given on the command line; a path inside a given \
                path must not have wildcards",
            ));
        }
    }
    options.format.clone_from(&reading.from);
    options.read.class_map = event_map::load(&reading.map)?;
    options.running = reading.running.unwrap_or(RunningParts::Nothing);
    options.other_inputs.extend(reading.map.iter().cloned());
    options.follow_links = reading.follow_links;
    options.temp_dir.clone_from(&reading.temp_dir);
    let failure = |error: OptionError| Failure::new(error.to_string());
    for (name, value) in &reading.option {
        options.set(name, value).map_err(failure)?;
    }
    reading.format_flags.set(&mut options).map_err(failure)?;
    options.read.without_quirks = match reading.no_quirks {
        true => args::quirks().map(|quirk| quirk.name).collect(),
        false => reading.no_quirk.clone(),
    };
    let limits = reading.limits();
    options.read.limits = limits.model;
    options.io = limits.io;
    Ok(options)
}

/// Returns an error of opening, with a suggested fix.
pub(crate) fn failure(error: &OpenError) -> Failure {
    let message = error.to_string();
    let at_limit = limits::of_opening(error);
    let failure = match error {
        OpenError::Io(IoError::NotFound { path }) => not_found(message, path),
        OpenError::Io(IoError::Temporary { .. }) => {
            Failure::new(message).help("name a writable directory with more space, with --temp-dir DIR")
        }
        OpenError::Io(IoError::Memory { .. }) => {
            Failure::new(message).help("end other programs, or raise the memory limit (`ulimit -v`)")
        }
        OpenError::NoTrace(found) => {
            let hint = found.hint.describe(format_flags::written);
            Failure::new(format!("{}: no trace found: {hint}", found.path)).help(where_a_trace_is(found))
        }
        OpenError::Refused(refused) => Failure::new(message)
            .details(first_diagnostics(refused))
            .help("`ichnos check` explains each problem and its fix"),
        OpenError::Conflict { conflict, .. } => {
            let option = format_flags::name(conflict.option);
            Failure::new(message).help(format!("{}; or leave out {option}", conflict.help))
        }
        OpenError::Uncorrelated(_) => Failure::new(message).help(
            "read the traces one by one, set clock offsets with --offset PATH=TIME or --manifest FILE, or \
            force one timeline with --assume-correlated",
        ),
        OpenError::NoClock { clock, known, .. } => unknown_clock(message, clock, known),
        OpenError::Several(errors) => {
            Failure::all(errors.iter().map(failure)).unwrap_or_else(|| Failure::new(message))
        }
        _ => Failure::new(message),
    };
    match at_limit {
        Some(remedy) => failure.help(remedy),
        None => failure,
    }
}

/// Error of a path that does not exist.
fn not_found(message: String, path: &str) -> Failure {
    let failure = Failure::new(message);
    if let Some(replaced) = ichnos::io::interrupted_replacement(Path::new(path)) {
        let replaced = style::safe(&replaced.display().to_string()).into_owned();
        return failure.help(format!(
            "a killed process left `{replaced}`: rename it, or write `{path}` again: this also renames it"
        ));
    }
    match similar(Path::new(path)) {
        Some(similar) => failure.help(format!("did you mean `{}`?", similar.display())),
        None => failure,
    }
}

/// Returns the first diagnostics of refused traces, and the number of further ones.
fn first_diagnostics(refused: &[RefusedTrace]) -> Vec<String> {
    let mut details: Vec<String> =
        refused.iter().flat_map(|trace| trace.diagnostics.iter().map(ToString::to_string)).collect();
    if details.len() > SHOWN {
        let more = details.len() - SHOWN;
        details.truncate(SHOWN);
        details.push(format!("and {more} more"));
    }
    details
}

/// Error of a clock that no trace has.
fn unknown_clock(message: String, clock: &str, known: &BTreeSet<String>) -> Failure {
    let near = nearest(clock, known.iter().map(String::as_str));
    let names = if near.is_empty() { known.iter().map(String::as_str).take(SHOWN).collect() } else { near };
    match names.is_empty() {
        true => Failure::new(message).help("the traces do not have clocks"),
        false => Failure::new(message).help(format!("there is {}", alternatives(names))),
    }
}

/// Reports problems other than the traces; returns `true` if something is unreadable.
pub(crate) fn report_problems(session: &Session, report: Report) -> bool {
    for error in session.left_out() {
        report.failure(&failure(error));
    }
    print_notices(session, report);
    for problem in session.problems() {
        match limits::of_problem(problem) {
            Some(remedy) => report.warning(&format!("{problem}; {remedy}")),
            None if problem.leads_out => report.warning(&format!("{problem}; `--follow-links` follows them")),
            None => report.warning(&problem.message),
        }
    }
    for refused in session.refused() {
        report.error(&format!("{}: the trace is skipped: it cannot be read", refused.path));
        for diagnostic in &refused.diagnostics {
            report.answer(&format!("  {}", crate::style::safe(&diagnostic.to_string())));
        }
        let at_limit =
            refused.diagnostics.iter().find_map(|problem| limits::of_diagnostic(&problem.diagnostic));
        if let Some(remedy) = at_limit {
            report.help(remedy);
        }
    }
    for trace in session.traces() {
        print_warnings(trace.as_ref(), report);
        for quirk in trace.quirks() {
            report.note(&format!("{}: {quirk}", trace.path()));
        }
    }
    let is_problem = session.problems().iter().any(|problem| !problem.leads_out);
    is_problem || !session.refused().is_empty() || !session.left_out().is_empty()
}

/// Returns the problems of paths, directories and archives, a sentence each.
pub(crate) fn problems(session: &Session) -> Vec<String> {
    session
        .left_out()
        .iter()
        .map(|error| failure(error).message)
        .chain(session.problems().iter().map(ToString::to_string))
        .collect()
}

/// Number of warnings printed for a trace by default; `ichnos check` shows all.
const MOST_WARNINGS: usize = 5;

/// Prints warnings about tolerated errors, and notes for the rest.
fn print_warnings(trace: &dyn OpenedTrace, report: Report) {
    // An unused index does not change what is read.
    let is_warned_about = |problem: &&FileDiagnostic| {
        problem.diagnostic.severity >= Severity::Warning && problem.role != FileRole::Index
    };
    let warned = trace.diagnostics().iter().filter(is_warned_about);
    if report.verbose {
        trace.diagnostics().iter().for_each(|problem| report.note(&problem.to_string()));
        return;
    }
    for problem in warned.clone().take(MOST_WARNINGS) {
        report.warning(&format!("{}: {}", problem.location(), problem.diagnostic.statement()));
    }
    let more = warned.count().saturating_sub(MOST_WARNINGS) as u64;
    if more > 0 {
        let more = count(more, "more such problem");
        report.warning(&format!("{}: {more}; `ichnos check` shows all", trace.path()));
    }
}

/// Prints notices about valid but unexpected input.
pub(crate) fn print_notices(session: &Session, report: Report) {
    session.notices().iter().for_each(|notice| report.notice(&notice.describe(format_flags::written)));
}

/// Reports traces without data streams, which are valid.
pub(crate) fn report_empty_traces(session: &Session, report: Report) {
    let is_empty = |trace: &dyn OpenedTrace| trace.data_streams().is_empty() && trace.damage().is_empty();
    for trace in session.traces().iter().filter(|trace| is_empty(trace.as_ref())) {
        report.notice(&format!("{}: no data streams, only metadata", trace.path()));
    }
}

/// Returns the time of the first event, or an earlier bound, to which times from the start refer.
pub(crate) fn start(session: &Session) -> Option<i128> {
    let begins = session.traces().iter().flat_map(|trace| trace.streams());
    begins.filter_map(|stream| stream.time_range.map(|(begin, _)| begin)).min().or_else(|| {
        let mut first: Option<i128> = None;
        session.stream_reader().for_each_head(|_, head| {
            let Some(time) = head.nanoseconds() else { return ControlFlow::Continue(()) };
            first = Some(first.map_or(time, |first| first.min(time)));
            ControlFlow::Break(())
        });
        first
    })
}

/// Returns the time of the last event, or a later bound, to which times before the end refer. Data streams
/// whose packets do not contain it are read to their ends.
pub(crate) fn end(session: &Session) -> Option<i128> {
    let mut end: Option<i128> = None;
    for trace in session.traces() {
        let mut is_unknown = Vec::new();
        trace.for_each_stream(&mut |stream| {
            is_unknown.push(stream.time_range.is_none());
            end = end.max(stream.time_range.map(|(_, end)| end));
        });
        if !is_unknown.contains(&true) {
            continue;
        }
        let streams = StreamMessages::of_trace(&**trace, Window::default()).zip(is_unknown);
        for (messages, _) in streams.filter(|(_, is)| *is) {
            let mut counts = EventCounts::default();
            messages.count(&mut ichnos::Selection::default(), &mut counts, |_, _, _| {});
            end = end.max(counts.times.map(|(_, last)| last));
        }
    }
    end
}

/// Suggests a fix if no trace was found.
fn where_a_trace_is(found: &NoTrace) -> String {
    if let Some(format) = found.recognised {
        return format!("leave out --from, or write `--from {format}`");
    }
    let nearby = found.nearby.as_ref().map(|nearby| nearby.describe(format_flags::written));
    let mut help = match nearby {
        Some(nearby) if Path::new(&found.path).is_dir() => {
            format!("{nearby}; `ichnos formats` lists all formats")
        }
        Some(nearby) => nearby,
        None => "`ichnos formats` lists the formats and how they are recognized".to_owned(),
    };
    if found.is_unknown {
        help.push_str("; --from FORMAT reads a file that is too damaged to be recognized");
    }
    help
}

/// Returns a path in the same directory with a similar name.
fn similar(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let above = path.parent()?;
    let directory = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let items = std::fs::read_dir(directory).ok()?.flatten().take(10_000);
    let names: Vec<String> = items.map(|item| item.file_name().to_string_lossy().into_owned()).collect();
    let nearest = nearest(&name, names.iter().map(String::as_str));
    nearest.first().map(|name| above.join(name))
}
