//! Collector directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichnos_io::{COLLECTION, COLLECTION_HEAD, SEGMENT, numbered_file};

use crate::{CollectError, files};

/// Attempts to lock the directory, and the pause between them.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

const SUMS: &str = "sums";
const DAMAGED: &str = "damaged";
const INDEX: &str = "index.redb";

/// Collector directory, locked against other processes during the lifetime of this value.
#[derive(Debug)]
pub(crate) struct CollectorDirectory {
    path: PathBuf,
    /// Holds the lock until it is closed.
    description: File,
}

impl CollectorDirectory {
    /// Opens the directory for reports in a format. Creates the directory if it is missing.
    pub(crate) fn open(path: &Path, format: &str) -> Result<Self, CollectError> {
        let parents = parents_of_missing(path);
        fs::create_dir_all(path).map_err(CollectError::at(path))?;
        for parent in parents {
            sync_directory(parent).map_err(CollectError::at(parent))?;
        }
        let file = path.join(COLLECTION);
        let at = |error| CollectError::File { path: file.clone(), error };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut description = ichnos_io::open_plain(options, &file).map_err(at)?;
        let mut attempts = ATTEMPTS;
        loop {
            match description.try_lock() {
                Ok(()) => break,
                // Another process is checking the lock.
                Err(TryLockError::WouldBlock) if attempts > 0 => attempts -= 1,
                Err(TryLockError::WouldBlock) => return Err(CollectError::InUse { path: path.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(at(error)),
            }
            std::thread::sleep(PAUSE);
        }
        let mut text = String::new();
        (&mut description).take(1 << 10).read_to_string(&mut text).map_err(at)?;
        match parse(&text) {
            Some(found) if found == format => {}
            Some(found) => {
                return Err(CollectError::Format {
                    path: path.to_owned(),
                    found: found.to_owned(),
                    wanted: format.to_owned(),
                });
            }
            // The file is new, or the process that created it was killed before writing it.
            None if format!("{COLLECTION_HEAD}{format}\n").starts_with(&text) => {
                write(&mut description, &text, format).map_err(at)?;
                sync_directory(path).map_err(CollectError::at(path))?;
            }
            None => return Err(CollectError::NoCollection { path: path.to_owned() }),
        }
        Ok(Self { path: path.to_owned(), description })
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the path still leads to the directory.
    pub(crate) fn check(&self) -> Result<(), CollectError> {
        let file = self.path.join(COLLECTION);
        match files::is_at(&self.description, &file) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CollectError::Moved { path: self.path.clone() }),
            Err(error) => Err(CollectError::File { path: file, error }),
        }
    }
}

/// Returns each missing directory's parent on a path.
fn parents_of_missing(path: &Path) -> Vec<&Path> {
    let missing = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    let parents = missing.filter_map(Path::parent);
    parents.map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path }).collect()
}

fn write(description: &mut File, begun: &str, format: &str) -> io::Result<()> {
    let text = format!("{COLLECTION_HEAD}{format}\n");
    description.write_all(text.as_bytes().get(begun.len()..).unwrap_or_default())?;
    description.sync_all()
}

fn parse(description: &str) -> Option<&str> {
    description.strip_prefix(COLLECTION_HEAD)?.strip_suffix('\n')
}

/// Returns the name of the format whose reports were collected in a directory.
///
/// # Errors
/// If the directory cannot be read, or was not made by a collector.
pub fn format_of(directory: &Path) -> Result<String, CollectError> {
    let path = directory.join(COLLECTION);
    let mut text = String::new();
    match files::open(&path).and_then(|file| file.take(1 << 10).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(CollectError::File { path, error }),
    }
    let none = || CollectError::NoCollection { path: directory.to_owned() };
    parse(&text).map(str::to_owned).ok_or_else(none)
}

/// Returns the index path.
pub(crate) fn index(directory: &Path) -> PathBuf {
    directory.join(INDEX)
}

/// Returns a segment's path.
pub(crate) fn segment(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{number:08}.{SEGMENT}"))
}

/// Returns the path for a segment's checksums.
pub(crate) fn sums(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{number:08}.{SUMS}"))
}

/// Returns the path for the damaged data of a segment.
pub(crate) fn damaged(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{number:08}.{DAMAGED}"))
}

/// Returns the sorted numbers of all segments.
pub(crate) fn segments(directory: &Path) -> Result<Vec<u32>, CollectError> {
    numbers(directory, |extension| extension == SEGMENT)
}

/// Returns the next number of a file. Even files of removed segments do not use this number.
pub(crate) fn next_number(directory: &Path) -> Result<u32, CollectError> {
    let all = numbers(directory, |_| true)?;
    Ok(all.last().map_or(1, |last| last.saturating_add(1)))
}

/// Returns `true` if a directory contains only segments, their checksums and the index.
pub(crate) fn is_plain(directory: &Path) -> io::Result<bool> {
    for item in fs::read_dir(directory)? {
        let name = item?.file_name();
        let Some(name) = name.to_str() else { return Ok(false) };
        let is_of_segment =
            numbered_file(name).is_some_and(|(_, extension)| [SEGMENT, SUMS].contains(&extension));
        if !(name == COLLECTION || name == INDEX || is_of_segment) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the sorted numbers of all numbered files whose extension is wanted.
pub(crate) fn numbers(directory: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<u32>, CollectError> {
    let mut numbers = Vec::new();
    for item in fs::read_dir(directory).map_err(CollectError::at(directory))? {
        let name = item.map_err(CollectError::at(directory))?.file_name();
        let found = name.to_str().and_then(numbered_file);
        numbers.extend(found.filter(|(_, extension)| is_wanted(extension)).map(|(number, _)| number));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Flushes a directory, so that new files in it survive a power failure.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    // Other systems do not allow opening a directory.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_collector_and_one_format() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        assert!(matches!(format_of(&path), Err(CollectError::NoCollection { .. })));
        let first = CollectorDirectory::open(&path, "beats").unwrap();
        assert!(matches!(CollectorDirectory::open(&path, "beats"), Err(CollectError::InUse { .. })));
        assert_eq!(format_of(&path).unwrap(), "beats");
        drop(first);
        let error = CollectorDirectory::open(&path, "sundials").unwrap_err();
        assert!(matches!(error, CollectError::Format { .. }), "{error}");
        // A process was killed while it created the directory.
        fs::write(path.join(COLLECTION), "ichnos coll").unwrap();
        CollectorDirectory::open(&path, "beats").unwrap();
        assert_eq!(format_of(&path).unwrap(), "beats");
        fs::write(path.join(COLLECTION), "something else").unwrap();
        assert!(matches!(CollectorDirectory::open(&path, "beats"), Err(CollectError::NoCollection { .. })));
    }

    /// Exactly the directories that get a new entry.
    #[test]
    fn parents_of_what_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert!(parents_of_missing(path).is_empty() && parents_of_missing(Path::new(".")).is_empty());
        assert!(parents_of_missing(Path::new("/")).is_empty());
        let below = path.join("a/b/c");
        assert_eq!(parents_of_missing(&below), [&path.join("a/b"), &path.join("a"), path]);
        fs::create_dir(path.join("a")).unwrap();
        assert_eq!(parents_of_missing(&below), [&path.join("a/b"), &path.join("a")]);
        let relative = Path::new("no such directory/b/");
        assert_eq!(parents_of_missing(relative), [Path::new("no such directory"), Path::new(".")]);
        CollectorDirectory::open(&below, "beats").unwrap();
        assert!(parents_of_missing(&below).is_empty());
    }

    #[test]
    fn numbers_of_segments() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!((segments(path).unwrap(), next_number(path).unwrap()), (vec![], 1));
        for name in ["00000002.reports", "00000001.reports", "1.reports", "00000007.sums", "000000x9.reports"]
        {
            fs::write(path.join(name), "").unwrap();
        }
        assert_eq!((segments(path).unwrap(), next_number(path).unwrap()), (vec![1, 2], 8));
    }
}
