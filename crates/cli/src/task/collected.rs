//! Reads tasks from a directory of a collector by its index, without reading anything else.

use std::collections::HashSet;
use std::path::Path;

use ichnos::Session;
use ichnos::collect::open_index;
use ichnos::export::find_identifiers;
use ichnos::io::TaskKey;
use ichnos::model::Identifier;

use crate::args::{Arithmetic, Progress, TaskReading};
use crate::exit::Failure;
use crate::input;
use crate::report::Report;
use crate::scan;

/// Opens the reports of the tasks with these identifiers, and reports that name one of the tasks or operations. Returns
/// `None` if everything has to be read: for other input, a selection of events, or the latest task.
pub(super) fn open(
    args: &TaskReading,
    ids: &[&str],
    operations: &[Identifier],
    progress: Progress,
    report: Report,
) -> Result<Option<Session>, Failure> {
    let Some(directory) = directory(args).filter(|_| !ids.is_empty() && !ids.contains(&"latest")) else {
        return Ok(None);
    };
    // Even if the index is damaged, the segments can be read.
    let Ok(Some(text)) = reports(directory, ids, operations, !args.no_search) else { return Ok(None) };
    let name = directory.to_string_lossy();
    let progress = scan::progress(progress, report);
    input::open_text(&name, &text, &args.reading, Arithmetic::Exact, progress).map(Some)
}

/// Returns the directory, if it is the whole input and no event is excluded.
fn directory(args: &TaskReading) -> Option<&Path> {
    let (reading, selecting) = (&args.reading, &args.selecting);
    let [path] = &reading.paths[..] else { return None };
    let is_plain = reading.from.is_none() && !reading.strict;
    let is_whole =
        is_plain && reading.manifest.is_none() && reading.listen.is_none() && reading.offset.is_empty();
    let has_window = selecting.begin.is_some() || selecting.end.is_some() || selecting.timerange.is_some();
    let selects = !selecting.stream.is_empty()
        || !selecting.event.is_empty()
        || selecting.filter.is_some()
        || selecting.stream_intersection;
    (is_whole && !has_window && !selects && path.is_dir()).then_some(path)
}

/// Returns the reports of the tasks and with the operations, one after the other; `None` if a task is missing.
/// `searches`: also reports that name one of the tasks, which can be events of it.
fn reports(
    directory: &Path,
    ids: &[&str],
    operations: &[Identifier],
    searches: bool,
) -> Result<Option<Vec<u8>>, ichnos::collect::CollectError> {
    let index = open_index(directory)?;
    if !index.is_complete() {
        return Ok(None);
    }
    let tasks: Vec<(TaskKey, Identifier)> =
        index.keys()?.into_iter().filter_map(|key| Some((key, Identifier::new(key.as_bytes())?))).collect();
    let all = || tasks.iter().map(|(_, id)| *id);
    let mut wanted = HashSet::new();
    for id in ids {
        let found = find_identifiers(all(), id);
        let found: HashSet<_> =
            found.into_iter().filter_map(|task| tasks.get(task)).map(|(_, id)| id.common_part()).collect();
        // No task, or several, which is an error that names some of them.
        if found.len() != 1 {
            return Ok(None);
        }
        wanted.extend(found);
    }
    // The same task can have identifiers of several sizes.
    let is_wanted = |id: &Identifier| wanted.contains(&id.common_part());
    let mut locations = Vec::new();
    for (key, _) in tasks.iter().filter(|(_, id)| is_wanted(id)) {
        locations.extend(index.reports_of(key)?);
    }
    let mut digits: Vec<String> = operations.iter().map(Identifier::to_string).collect();
    if searches {
        digits.extend(tasks.iter().filter(|(_, id)| is_wanted(id)).map(|(_, id)| shortest_digits(id)));
    }
    if !digits.is_empty() {
        // However they are written.
        let mut texts: Vec<String> =
            digits.iter().map(|digits| digits.to_lowercase()).chain(digits.clone()).collect();
        texts.sort_unstable();
        texts.dedup();
        locations.extend(index.reports_with(&texts)?);
    }
    locations.sort_unstable();
    locations.dedup();
    index.read(&locations).map(Some)
}

/// The digits that all notations of a task contain: of those of other sizes, the first 16 bytes are the same, with zeros
/// before them, and none has less than 4 bytes.
fn shortest_digits(task: &Identifier) -> String {
    let digits = task.to_string();
    let digits = digits.get(..32).unwrap_or(&digits);
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    digits.get(zeros.min(digits.len().saturating_sub(8))..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_all_notations() {
        let digits = |bytes: &[u8]| shortest_digits(&Identifier::new(bytes).unwrap());
        assert_eq!(digits(&[0, 0, 0, 7]), "00000007");
        assert_eq!(digits(&[0, 0, 0, 0, 0, 0, 0, 7]), "00000007");
        assert_eq!(digits(&[0, 0, 0xAB, 0, 0, 0, 0, 7]), "AB0000000007");
        assert_eq!(digits(&[0x1A; 20]), "1A".repeat(16));
        let padded = [&[0; 4][..], &[0x1A; 16]].concat();
        assert_eq!(digits(&padded), "1A".repeat(12));
    }
}
