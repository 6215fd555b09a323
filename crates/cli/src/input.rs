//! From paths to an open session, with errors that help.

use std::path::{Path, PathBuf};

use ichnos::ctf::metadata::Dialect;
use ichnos::ctf::quirks::Quirk;
use ichnos::io::{Bytes, Datagrams, IoError};
use ichnos::model::{ClockArithmetic, TraceInput};
use ichnos::{OpenError, OpenOptions, Session};

use crate::args::{Arithmetic, DialectName, Reading};
use crate::exit::Failure;
use crate::interrupt;
use crate::limits;
use crate::report::Report;

/// How many problems an error shows; `ichnos check` shows all.
const SHOWN: usize = 20;

/// Opens what the command line names.
pub(crate) fn open(reading: &Reading, arithmetic: Arithmetic) -> Result<Session, Failure> {
    let refuse_all = |session: Session| match session.refused() {
        [_, ..] if reading.strict => Err(OpenError::Refused(session.refused().to_vec())),
        _ => Ok(session),
    };
    try_open(reading, arithmetic, false)?.and_then(refuse_all).map_err(|error| {
        let was_refused = matches!(error, OpenError::Refused(_));
        let failure = failure(error);
        match reading.dialect {
            Some(_) if was_refused => {
                failure.help("without --dialect the dialect is found out from the metadata")
            }
            _ => failure,
        }
    })
}

/// Opens what the command line names, with this arithmetic of clocks unless it names another; `check`:
/// to tell all that is wrong, even what does not matter. The inner error is that of the traces.
pub(crate) fn try_open(
    reading: &Reading,
    arithmetic: Arithmetic,
    check: bool,
) -> Result<Result<Session, OpenError>, Failure> {
    if reading.paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::new("the standard input (`-`) can be read only once"));
    }
    let reads_stdin = reading.paths.iter().any(|path| path.as_os_str() == "-");
    if reads_stdin && std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        return Err(Failure::new(
            "the standard input (`-`) is a terminal: there is no trace to read from it",
        )
        .help("send an archive of a trace into it: `tar c TRACE | ichnos info -`"));
    }
    let mut options = options(reading, arithmetic)?;
    options.check = check;
    if let Some(path) = &reading.listen {
        interrupt::watch();
        return Ok(match Datagrams::at_unix_socket(path, interrupt::flag()) {
            Ok(datagrams) => ichnos::listen(datagrams, &options),
            Err(error) => Err(error.into()),
        });
    }
    Ok(ichnos::open(&reading.paths, &options))
}

fn options(reading: &Reading, arithmetic: Arithmetic) -> Result<OpenOptions, Failure> {
    let mut options = OpenOptions::default();
    options.assume_correlated = reading.assume_correlated;
    options.ctf.strict = reading.strict;
    options.ctf.dialect = reading.dialect.map(|dialect| match dialect {
        DialectName::Ctf1 => Dialect::Ctf18,
        DialectName::Prop1 => Dialect::Prop1,
        DialectName::Prop2 => Dialect::Prop2,
        DialectName::Spec2 => Dialect::Spec2,
    });
    options.ctf.clock_arithmetic = match reading.clock_arithmetic.unwrap_or(arithmetic) {
        Arithmetic::Exact => ClockArithmetic::Exact,
        Arithmetic::Babeltrace => ClockArithmetic::Double,
    };
    options.add_clock_offset(
        i128::from(reading.clock_offset) * 1_000_000_000 + i128::from(reading.clock_offset_ns),
    );
    for (pattern, offset) in &reading.offset {
        let glob = pattern.compile_matcher();
        let before = options.clock_offsets.len();
        let named =
            reading.paths.iter().filter(|path| glob.is_match(path) || path.as_os_str() == pattern.glob());
        options.clock_offsets.extend(named.map(|path| (path.clone(), *offset)));
        if options.clock_offsets.len() == before {
            return Err(Failure::new(format!("--offset: none of the paths is `{}`", pattern.glob()))
                .help("the pattern is compared with the paths as they are written on the command line"));
        }
    }
    options.format.clone_from(&reading.from);
    for (name, value) in &reading.option {
        options.set(name, value).map_err(|error| Failure::new(error.to_string()))?;
    }
    if let Some(path) = &reading.metadata {
        let name = path.to_string_lossy().into_owned();
        let bytes = Bytes::of_file(path)
            .map_err(|error| Failure::new(format!("{name}: the metadata cannot be read: {error}")))?;
        options.ctf.metadata = Some((name, bytes));
    }
    options.ctf.without_quirks =
        if reading.no_quirks { Quirk::ALL.to_vec() } else { reading.no_quirk.clone() };
    set_limits(reading, &mut options);
    Ok(options)
}

fn set_limits(reading: &Reading, options: &mut OpenOptions) {
    fn set<T: Copy>(limit: &mut T, given: Option<T>) {
        *limit = given.unwrap_or(*limit);
    }
    let mut limits = options.ctf.limits;
    set(&mut limits.metadata_bytes, reading.limit_metadata);
    set(&mut limits.description_bytes, reading.limit_description);
    // What is given holds for short metadata, too.
    set(&mut limits.few_description_bytes, reading.limit_description);
    set(&mut limits.depth, reading.limit_depth);
    set(&mut limits.field_classes, reading.limit_field_classes);
    // Who says how many wants that many, however short the metadata are.
    set(&mut limits.few_field_classes, reading.limit_field_classes);
    set(&mut limits.event_record_classes, reading.limit_event_classes);
    set(&mut limits.late_event_record_classes, reading.limit_event_classes);
    set(&mut limits.integer_bits, reading.limit_integer);
    set(&mut limits.fields_per_bit, reading.limit_fields_per_bit);
    set(&mut limits.zero_size_elements, reading.limit_empty_elements);
    set(&mut limits.empty_fields, reading.limit_empty_fields);
    set(&mut limits.packets, reading.limit_packets);
    set(&mut limits.diagnostics, reading.limit_problems);
    options.set_limits(limits);
    let limits = &mut options.io;
    set(&mut limits.decompressed_bytes, reading.limit_unpacked);
    set(&mut limits.ratio, reading.limit_ratio);
    set(&mut limits.small_ratio, reading.limit_ratio);
    set(&mut limits.entries, reading.limit_files);
    set(&mut limits.depth, reading.limit_folders);
}

/// An error of opening, with what may help.
pub(crate) fn failure(error: OpenError) -> Failure {
    let message = error.to_string();
    let at_limit = limits::of_opening(&error);
    let failure = match error {
        OpenError::Io(IoError::NotFound { path }) => {
            let failure = Failure::new(message);
            match similar(Path::new(&path)) {
                Some(similar) => failure.help(format!("did you mean `{}`?", similar.display())),
                None => failure,
            }
        }
        OpenError::NoTrace { path, .. } => Failure::new(message).help(where_a_trace_is(Path::new(&path))),
        OpenError::Refused(refused) => {
            let mut details: Vec<String> =
                refused.iter().flat_map(|trace| trace.diagnostics.iter().map(ToString::to_string)).collect();
            if details.len() > SHOWN {
                let more = details.len() - SHOWN;
                details.truncate(SHOWN);
                details.push(format!("and {more} more"));
            }
            Failure::new(message)
                .details(details)
                .help("`ichnos check` tells more about each problem and what to do about it")
        }
        OpenError::OwnMetadata { .. } => Failure::new(message)
            .help("name a data stream file, or a folder without `metadata`; or leave out --metadata"),
        OpenError::Uncorrelated(_) => Failure::new(message).help(
            "read the traces one by one, or put them on one time line all the same with --assume-correlated",
        ),
        _ => Failure::new(message),
    };
    match at_limit {
        Some(remedy) => failure.help(remedy),
        None => failure,
    }
}

/// Tells what was found besides the traces; true if something cannot be read.
pub(crate) fn tell_problems(session: &Session, report: Report) -> bool {
    for problem in session.problems() {
        match limits::of_problem(problem) {
            Some(remedy) => report.warning(&format!("{problem}; {remedy}")),
            None => report.warning(problem),
        }
    }
    for refused in session.refused() {
        report.error(&format!("{}: this trace is left out: it cannot be read", refused.path));
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
        for diagnostic in trace.diagnostics() {
            report.note(&diagnostic.to_string());
        }
        for quirk in trace.quirks() {
            report.note(&format!("{}: {quirk}", trace.path()));
        }
    }
    !session.problems().is_empty() || !session.refused().is_empty()
}

/// Tells which traces have no data streams at all: there is nothing wrong with that.
pub(crate) fn tell_emptiness(session: &Session, report: Report) {
    let is_empty = |trace: &dyn TraceInput| trace.streams().is_empty() && trace.damage().is_empty();
    for trace in session.traces().iter().filter(|trace| is_empty(trace.as_ref())) {
        report.notice(&format!("{}: there are no data streams, only metadata", trace.path()));
    }
}

/// When the first event may be: what times from the start count from.
pub(crate) fn start(session: &Session) -> Option<i128> {
    let begins = session.traces().iter().flat_map(|trace| trace.streams());
    begins.filter_map(|stream| stream.time_range.map(|(begin, _)| begin)).min().or_else(|| {
        let cursors =
            session.traces().iter().flat_map(|trace| trace.cursors(ichnos::model::Window::default()));
        cursors
            .filter_map(|mut cursor| {
                std::iter::from_fn(|| cursor.advance()).find_map(|head| head.nanoseconds())
            })
            .min()
    })
}

/// Where there is a trace near a path without one.
fn where_a_trace_is(path: &Path) -> String {
    if path.is_dir() {
        if let Some(found) = look_alike(path) {
            return format!(
                "a CTF trace is a folder with a file called exactly `metadata`; there is `{}`",
                found.display()
            );
        }
        if let Some(above) = path.parent().filter(|above| above.join("metadata").is_file()) {
            return format!(
                "the folder above has a file called `metadata`: did you mean `{}`?",
                shown(above)
            );
        }
        return "a CTF trace is a folder with a file called `metadata` and data stream files beside it; \
                `ichnos formats` lists all formats"
            .to_owned();
    }
    match path.parent().filter(|above| above.join("metadata").is_file()) {
        Some(above) => format!(
            "the file lies in a trace: read all of it with `{}`, or this file alone with `--metadata {}`",
            shown(above),
            above.join("metadata").display()
        ),
        None => "`ichnos formats` lists the formats and how they are recognised".to_owned(),
    }
}

fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
}

/// A file that may be the metadata under another name.
fn look_alike(folder: &Path) -> Option<PathBuf> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|item| item.path()).collect();
    names.sort();
    names.into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        name != "metadata" && name.starts_with("metadata") && path.is_file()
    })
}

/// A name beside a path that is nearly the same.
fn similar(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let above = path.parent()?;
    let folder = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let mut best: Option<(usize, String)> = None;
    for item in std::fs::read_dir(folder).ok()?.flatten().take(10_000) {
        let other = item.file_name().to_string_lossy().into_owned();
        let distance = distance(&name, &other);
        if distance <= (name.chars().count() / 3).max(1)
            && best.as_ref().is_none_or(|best| (distance, &other) < (best.0, &best.1))
        {
            best = Some((distance, other));
        }
    }
    best.map(|(_, name)| above.join(name))
}

/// How many characters must be changed, added or left out to get from one name to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in b.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_names() {
        assert_eq!(distance("trace", "trace"), 0);
        assert_eq!(distance("trace", "tracce"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
