//! Files of a collector's directory: plain files, never written through symbolic links.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ichnos_io::FileId;
#[cfg(unix)]
use rustix::fs::OFlags;

/// Opens a file with these options.
///
/// # Errors
/// If it is not possible, or the file is no plain file but a symbolic link, for instance.
pub(crate) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    let is_link = || fs::symlink_metadata(path).is_ok_and(|status| status.is_symlink());
    match plain(options.open(path)) {
        Err(_) if is_link() => Err(io::Error::other("expected a plain file, found a symbolic link")),
        result => result,
    }
}

/// Opens a file to read it, also through links: segments may be kept elsewhere.
pub(crate) fn open_linked(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // A pipe is not waited for.
    #[cfg(unix)]
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    plain(options.read(true).open(path))
}

fn plain(opened: io::Result<File>) -> io::Result<File> {
    match opened {
        Ok(file) if !file.metadata()?.is_file() => Err(io::Error::other("expected a plain file")),
        result => result,
    }
}

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// Creates a file, which must not exist.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().write(true).create_new(true), path)
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
    Ok(FileId::of(&found) == FileId::of(&file.metadata()?))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let [foreign, link, pipe] = ["foreign", "link", "pipe"].map(|name| directory.path().join(name));
        fs::write(&foreign, "foreign").unwrap();
        std::os::unix::fs::symlink(&foreign, &link).unwrap();
        for options in [
            OpenOptions::new().read(true),
            OpenOptions::new().write(true).create(true).truncate(true),
            OpenOptions::new().append(true).create(true),
        ] {
            let error = open_with(options, &link).unwrap_err();
            assert_eq!(error.to_string(), "expected a plain file, found a symbolic link");
        }
        assert!(create(&link).is_err() && read(&link).is_err());
        assert!(open_linked(&link).is_ok());
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        for error in [read(&pipe).unwrap_err(), open_linked(&pipe).unwrap_err()] {
            assert_eq!(error.to_string(), "expected a plain file");
        }
        // A link is replaced, and not what it leads to.
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
