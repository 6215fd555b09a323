//! Collects reports that running programs send, of the [formats](crate::FORMATS) that are sent as such; reads what
//! was collected.

use std::path::Path;

#[doc(inline)]
pub use ichnos_collect::*;
use ichnos_io::Collect;

use crate::format::FORMATS;

/// The formats whose reports can be collected: their names, and how.
pub fn formats() -> impl Iterator<Item = (&'static str, Collect)> {
    FORMATS.iter().filter_map(|format| Some((format.name(), format.collect()?)))
}

/// Reads the index of a directory in which reports were collected.
///
/// # Errors
/// If nothing was collected there, by a format that is known, or it cannot be read.
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
