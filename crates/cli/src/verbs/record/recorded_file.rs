//! File that receives a recording.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use ichnos::export::text::size;

use crate::exit::Failure;
use crate::output::safe;

/// Last byte of a complete recording: a tag for no further object.
const END_MARK: u8 = 1;

/// File that receives a recording as it arrives. Unlike other outputs, it has its final name from the start, so that a
/// killed recording is found.
pub(super) struct RecordedFile {
    file: File,
    /// `None` for standard output.
    path: Option<PathBuf>,
    /// `true` for a file that is removed if nothing is recorded.
    is_new: bool,
    length: u64,
    last: Option<u8>,
}

impl RecordedFile {
    /// Opens a file, or standard output for `-`. An existing file stays as it is until the recording begins.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let (file, path, is_new) = if path == Path::new("-") {
            (standard_output()?, None, false)
        } else {
            let is_new = fs::symlink_metadata(path).is_err();
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
            let failed = |error| Failure::new(format!("{}: {error}", safe(&path.display().to_string())));
            (file.map_err(failed)?, Some(path.to_owned()), is_new)
        };
        Ok(Self { file, path, is_new, length: 0, last: None })
    }

    /// Clears the file.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.is_new = false;
        if self.path.is_some() && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        Ok(())
    }

    /// Appends bytes, without a buffer: what has arrived is in the file.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.length += count as u64;
                    let (written, rest) = bytes.split_at(count.min(bytes.len()));
                    self.last = written.last().copied().or(self.last);
                    bytes = rest;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns `true` if the recording seems to have its end.
    pub(super) fn is_complete(&self) -> bool {
        self.last == Some(END_MARK)
    }

    /// Says what the file keeps after an error, if it keeps anything.
    pub(super) fn kept(&self) -> Option<String> {
        let keeps = self.length > 0 && self.file.metadata().is_ok_and(|found| found.is_file());
        let path = self.path.as_ref().filter(|_| keeps)?;
        let path = safe(&path.display().to_string()).into_owned();
        Some(format!("{path} keeps the first {}; `ichnos repair` makes it whole", size(self.length)))
    }

    /// Returns the failure for an error of writing.
    pub(super) fn failure(&self, error: &io::Error) -> Failure {
        let failure = Failure::from(io::Error::new(error.kind(), error.to_string()));
        failure.details(self.kept().into_iter().collect())
    }
}

impl Drop for RecordedFile {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| self.is_new) {
            // It is empty, so a failure does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

fn standard_output() -> Result<File, Failure> {
    let output = io::stdout();
    if output.is_terminal() {
        return Err(Failure::new("the recording is not text, and standard output is a terminal")
            .help("name a file with -o FILE, or redirect standard output"));
    }
    Ok(File::from(output.as_fd().try_clone_to_owned()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_cleared_late_and_removed_if_empty() {
        let directory = tempfile::tempdir().unwrap();
        let (new, old) = (directory.path().join("new"), directory.path().join("old"));
        drop(RecordedFile::open(&new).unwrap());
        assert!(!new.exists());
        fs::write(&old, "old content").unwrap();
        let mut file = RecordedFile::open(&old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"old content");
        file.begin().unwrap();
        file.write(b"new\x01").unwrap();
        assert_eq!((fs::read(&old).unwrap(), file.is_complete()), (b"new\x01".to_vec(), true));
        assert!(
            file.kept().unwrap().ends_with("old keeps the first 4 bytes; `ichnos repair` makes it whole")
        );
        drop(file);
        assert!(old.exists());
    }
}
