//! Plain files at paths where a link or a pipe may be.

use std::fs::{self, File, FileType, OpenOptions};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a plain file with these options, but not through a symbolic link. Does not wait for a pipe.
///
/// # Errors
/// Fails if it cannot be opened, or is not a plain file, for example a symbolic link.
pub fn open_plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let is_link = || fs::symlink_metadata(path).is_ok_and(|status| status.is_symlink());
    match plain(options.open(path)) {
        Err(_) if is_link() => Err(io::Error::other("expected a plain file, found a symbolic link")),
        result => result,
    }
}

/// Opens a plain file for reading, also through links. Does not wait for a pipe.
///
/// # Errors
/// Fails if it cannot be opened, or is not a plain file.
pub fn open_linked(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    options.custom_flags(libc::O_NONBLOCK);
    plain(options.read(true).open(path))
}

fn plain(opened: io::Result<File>) -> io::Result<File> {
    match opened {
        Ok(file) if !file.metadata()?.is_file() => Err(io::Error::other("expected a plain file")),
        result => result,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed_and_pipes_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| directory.path().join(name));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for options in [
            OpenOptions::new().read(true),
            OpenOptions::new().write(true).create(true).truncate(true),
            OpenOptions::new().append(true).create(true),
        ] {
            let error = open_plain(options, &link).unwrap_err();
            assert_eq!(error.to_string(), "expected a plain file, found a symbolic link");
        }
        assert_eq!(fs::read(&file).unwrap(), b"text");
        assert!(open_linked(&link).is_ok() && open_plain(OpenOptions::new().read(true), &file).is_ok());
        if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: mkfifo is missing");
            return;
        }
        for error in [open_plain(OpenOptions::new().read(true), &pipe), open_linked(&pipe)] {
            assert_eq!(error.unwrap_err().to_string(), "expected a plain file");
        }
    }
}

/// Describes a file that is neither plain nor a directory.
#[cfg(unix)]
pub(crate) fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

#[cfg(not(unix))]
pub(crate) fn special(_: FileType) -> &'static str {
    "something else"
}
