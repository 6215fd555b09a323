//! Files of a collector directory: plain files, never written through symbolic links.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use ichnos_io::{FileId, open_plain};

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_plain(OpenOptions::new().read(true), path)
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// Creates a file, which must not exist.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    open_plain(OpenOptions::new().write(true).create_new(true), path)
}

/// Creates a file, replacing an existing file or link.
pub(crate) fn replace(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => create(path),
    }
}

/// Returns `true` if a path still leads to an open file.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(FileId::from_metadata(&found) == FileId::from_metadata(&file.metadata()?))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let [foreign, link] = ["foreign", "link"].map(|name| directory.path().join(name));
        fs::write(&foreign, "foreign").unwrap();
        std::os::unix::fs::symlink(&foreign, &link).unwrap();
        assert!(create(&link).is_err() && read(&link).is_err());
        // The link is replaced, not its target.
        replace(&link).unwrap();
        assert_eq!((fs::read(&foreign).unwrap(), fs::read(&link).unwrap()), (b"foreign".to_vec(), vec![]));
    }

    #[test]
    fn files_that_are_elsewhere() {
        let directory = tempfile::tempdir().unwrap();
        let [path, other] = ["a", "b"].map(|name| directory.path().join(name));
        let file = create(&path).unwrap();
        assert!(is_at(&file, &path).unwrap());
        fs::rename(&path, &other).unwrap();
        assert!(!is_at(&file, &path).unwrap() && is_at(&file, &other).unwrap());
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(!is_at(&file, &path).unwrap());
    }
}
