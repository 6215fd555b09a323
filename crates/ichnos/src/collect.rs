//! Collects reports that running programs send, for [formats](crate::FORMATS) whose reports can be sent, and reads
//! collected reports.

use std::path::Path;

#[doc(inline)]
pub use ichnos_collect::*;
use ichnos_io::Collect;

use crate::format::FORMATS;

/// Returns the names of the formats whose reports can be collected, and how to collect them.
pub fn formats() -> impl Iterator<Item = (&'static str, Collect)> {
    FORMATS.iter().filter_map(|format| Some((format.name(), format.collect()?)))
}

/// Opens the index of a directory of collected reports.
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
