//! Checks that reading options apply to the opened traces.

use ichnos::Session;

use crate::args::Reading;
use crate::args::format_flags::{declared, flag};
use crate::exit::Failure;
use crate::progress::Console;
use crate::suggestions::list;

/// Checks that each reading option applies to the format of some opened trace. Options that only ask for the default
/// behavior cause a notice instead of an error.
pub(crate) fn check_reading(reading: &Reading, session: &Session, console: Console) -> Result<(), Failure> {
    // Unreadable traces can have any format.
    let has = |format: &str| {
        !session.refused().is_empty() || session.traces().iter().any(|trace| trace.format() == format)
    };
    let wrong = |option: &str, format: &str| {
        let mut formats: Vec<&str> = session.traces().iter().map(|trace| trace.format()).collect();
        formats.sort_unstable();
        formats.dedup();
        Failure::new(format!(
            "`{option}` applies to traces in the format `{format}`, but the opened traces are in {}",
            list(formats)
        ))
        .help("leave it out; `ichnos formats` lists the formats and their options")
    };
    let mut failures = Vec::new();
    for (name, value) in &reading.option {
        let format = name.split_once('.').map_or(name.as_str(), |(format, _)| format);
        if !has(format) {
            failures.push(wrong(&format!("-O {name}={value}"), format));
        }
    }
    for name in reading.format_flags.names() {
        let formats: Vec<&str> = declared(name).map(|(format, _)| format).collect();
        if !formats.iter().any(|format| has(format)) {
            failures.push(wrong(&format!("--{}", flag(name)), &formats.join("`, `")));
        }
    }
    if reading.no_quirks || !reading.no_quirk.is_empty() {
        let known = ichnos::formats().filter(|format| !format.quirks.is_empty());
        let known: Vec<&str> = known.map(|format| format.name).collect();
        if !known.iter().any(|format| has(format)) {
            let option = if reading.no_quirks { "--no-quirks" } else { "--no-quirk" };
            console.notice(&format!(
                "`{option}` has no effect: tracer bugs are only known for the format {}",
                list(known.iter().copied())
            ));
        }
    }
    if reading.unsorted {
        let known: Vec<&str> =
            ichnos::formats().filter(|format| format.has_file_order).map(|format| format.name).collect();
        if !known.iter().any(|format| has(format)) {
            console.notice(&format!(
                "`--unsorted` has no effect: only {} files can be unsorted",
                list(known.iter().copied())
            ));
        }
    }
    Failure::check(failures)
}
