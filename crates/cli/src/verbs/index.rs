//! `ichnos index`: writes packet indexes next to trace files.

use ichnos::OpenOptions;
use ichnos::export::text::{count, grouped};
use ichnos::index::index;

use crate::args::IndexArgs;
use crate::exit::{Exit, Failure};
use crate::output::safe;
use crate::progress::Console;

pub(crate) fn run(args: &IndexArgs, console: Console) -> Result<Exit, Failure> {
    let mut failures = Vec::new();
    let mut is_damaged = false;
    let (mut written, mut unchanged) = (0, 0);
    for directory in &args.directories {
        match index(directory, &OpenOptions::default()) {
            Ok(indexed) => {
                written += indexed.written.len() as u64;
                unchanged += indexed.unchanged;
                is_damaged |= !indexed.problems.is_empty();
                indexed.problems.iter().for_each(|problem| console.warning(&safe(problem)));
            }
            Err(error) => failures.push(Failure::new(safe(&error.to_string()))),
        }
    }
    console.note(&format!("{} written, {} unchanged", count(written, "index file"), grouped(unchanged)));
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None if is_damaged => Ok(Exit::Damaged),
        None => Ok(Exit::Success),
    }
}
