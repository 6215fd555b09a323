//! Errors from opening traces, with suggested fixes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ichnos::io::{IoError, RefusedTrace};
use ichnos::{NoTrace, OpenError};

use crate::args::{format_flags, limits};
use crate::exit::Failure;
use crate::output::safe;
use crate::suggestions::{alternatives, nearest};

/// Maximum number of problems in an error. `ichnos check` shows all.
const SHOWN: usize = 20;

/// Help for clocks that are not related.
pub(super) const UNRELATED_CLOCKS: &str = "read the traces one by one, set clock offsets with --offset PATH=TIME or \
    --manifest FILE, or force one timeline with --assume-correlated";

/// Converts an error from opening traces, and adds a suggested fix.
pub(crate) fn failure(error: &OpenError) -> Failure {
    let message = error.to_string();
    let failure = match error {
        OpenError::Io(IoError::NotFound { path }) => not_found(message, path),
        OpenError::Io(IoError::Temporary { .. }) => {
            Failure::new(message).help("name a writable directory with more space, with --temp-dir DIR")
        }
        OpenError::Io(IoError::Memory { .. }) => {
            Failure::new(message).help("close other programs, or raise the memory limit (`ulimit -v`)")
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
        OpenError::Uncorrelated(_) => Failure::new(message).help(UNRELATED_CLOCKS),
        OpenError::NoClock { clock, known, .. } => unknown_clock(message, clock, known),
        OpenError::Several(errors) => {
            Failure::all(errors.iter().map(failure)).unwrap_or_else(|| Failure::new(message))
        }
        _ => Failure::new(message),
    };
    failure.maybe_help(limits::remedy_for_opening(error))
}

/// Returns the error for a path that does not exist.
fn not_found(message: String, path: &str) -> Failure {
    let failure = Failure::new(message);
    if let Some(replaced) = ichnos::io::interrupted_replacement(Path::new(path)) {
        let replaced = safe(&replaced.display().to_string()).into_owned();
        return failure.help(format!(
            "a killed process left `{replaced}`: rename it, or write `{path}` again: this also renames it"
        ));
    }
    failure.maybe_help(similar(Path::new(path)).map(|path| format!("did you mean `{}`?", path.display())))
}

/// Returns the first diagnostics from refused traces, and the number of further diagnostics.
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

/// Returns the error for a clock name that no trace contains.
fn unknown_clock(message: String, clock: &str, known: &BTreeSet<String>) -> Failure {
    let near = nearest(clock, known.iter().map(String::as_str));
    let names = if near.is_empty() { known.iter().map(String::as_str).take(SHOWN).collect() } else { near };
    match names.is_empty() {
        true => Failure::new(message).help("the traces do not have clocks"),
        false => Failure::new(message).help(format!("there is {}", alternatives(names))),
    }
}

/// Suggests a fix if no trace was found.
fn where_a_trace_is(found: &NoTrace) -> String {
    if let Some(format) = found.recognized {
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
