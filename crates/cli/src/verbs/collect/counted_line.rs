//! Lines of JSON.

use std::time::Instant;

use ichnos::export::documents::write_real;
use ichnos::export::with_integers;
use ichnos::json::write::ObjectWriter;

use crate::args::CollectArgs;
use crate::exit::Failure;
use crate::output::{self, json_document};

/// Prints a JSON document on one line.
pub(super) fn print_line(
    args: &CollectArgs,
    write: impl FnOnce(&mut ObjectWriter<'_>),
) -> Result<(), Failure> {
    let mut line = Vec::new();
    let mut object = json_document::begin(&mut line, "collect");
    write(&mut object);
    object.end();
    line.push(b'\n');
    let line = String::from_utf8_lossy(&line);
    Ok(output::print_as_it_is(&with_integers(&line, args.report.integers))?)
}

/// Prints counts since a start as a JSON document on one line.
pub(super) fn print_counts(
    args: &CollectArgs,
    state: &str,
    begun: Instant,
    counts: &[(&'static str, u64)],
) -> Result<(), Failure> {
    print_line(args, |object| {
        object.member("state").string(state);
        let seconds = (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        write_real(object.member("seconds"), seconds);
        for (name, value) in counts {
            object.member(name).unsigned(*value);
        }
    })
}
