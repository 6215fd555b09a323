//! Collects reports from running programs, for [formats](crate::FORMATS) that support it, and reads collected
//! reports.

#[cfg(feature = "otlp")]
mod otlp_collector;

use std::collections::HashSet;
use std::path::Path;

use ichnos_analysis::find_identifiers;
#[doc(inline)]
pub use ichnos_collect::*;
use ichnos_io::{CollectSettings, TaskKey};
use ichnos_model::meaning::Identifier;

#[cfg(feature = "otlp")]
pub use self::otlp_collector::OtlpCollector;

/// Returns the names of formats with collectable reports, and their collectors.
pub fn formats() -> impl Iterator<Item = (&'static str, CollectSettings)> {
    crate::formats().filter_map(|format| Some((format.name, format.collect?)))
}

/// Opens the index of a report directory.
///
/// # Errors
/// If the directory cannot be read, or contains no reports of a known format.
pub fn open_index(directory: &Path) -> Result<Index, CollectError> {
    let found = format_of(directory)?;
    match formats().find(|(name, _)| *name == found) {
        Some((_, collect)) => Index::open(directory, &collect),
        None => {
            let wanted = formats().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
            Err(CollectError::Format { path: directory.to_owned(), found, wanted })
        }
    }
}

/// Returns the concatenated reports of tasks from a directory of collected reports. A task is selected by its
/// identifier or a prefix of it, or by a report that names one of `operations`. With `searches`, a report is also
/// selected if its text names one of the tasks. Returns `None` if the index is incomplete, or an identifier does not
/// select exactly one task.
///
/// # Errors
/// If the directory cannot be read, or contains no reports of a known format.
pub fn find_reports(
    directory: &Path,
    ids: &[&str],
    operations: &[Identifier],
    searches: bool,
) -> Result<Option<Vec<u8>>, CollectError> {
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
        // No task or several tasks. The error names some of them.
        if found.len() != 1 {
            return Ok(None);
        }
        wanted.extend(found);
    }
    // One task can have identifiers of several sizes.
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
        // All notations of the tasks.
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

/// Returns the digits that all notations of a task contain. Notations of other sizes share the first 16 bytes, with
/// leading zeros, and have at least 4 bytes.
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
