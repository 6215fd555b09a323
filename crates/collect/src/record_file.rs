//! A growing file of records.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{directory, files};

/// A growing file of records. All records are on the disk, except during [`RecordFile::append`].
#[derive(Debug)]
pub(crate) struct RecordFile {
    pub(crate) path: PathBuf,
    file: File,
    /// Number of bytes on the disk.
    length: u64,
    /// `true` after a failure: the file can be longer than `length`.
    is_untidy: bool,
    created: Instant,
}

impl RecordFile {
    /// Creates a file in a directory.
    pub(crate) fn create(directory: &Path, number: u32, extension: &str) -> io::Result<Self> {
        let path = path(directory, number, extension);
        let file = files::create(&path)?;
        if let Err(error) = directory::sync_directory(directory) {
            // The file is empty, and the next attempt creates it again.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        Ok(Self { path, file, length: 0, is_untidy: false, created: Instant::now() })
    }

    /// Returns `true` if a new file should be begun, because this file is long or old.
    pub(crate) fn is_full(&self, bytes: u64, age: Duration) -> bool {
        self.length >= bytes || self.created.elapsed() >= age
    }

    /// Appends records, and flushes them to the disk.
    ///
    /// # Errors
    /// If they cannot be written. Then none of them counts, and what was written of them is removed, now or by the next
    /// call.
    pub(crate) fn append<'r>(&mut self, records: impl Iterator<Item = &'r [u8]>) -> io::Result<()> {
        let result = self.try_append(records);
        if result.is_err() {
            self.is_untidy = self.tidy().is_err();
        }
        self.length += result?;
        Ok(())
    }

    /// Removes what does not count.
    fn tidy(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length))?;
        self.is_untidy = false;
        Ok(())
    }

    fn try_append<'r>(&mut self, records: impl Iterator<Item = &'r [u8]>) -> io::Result<u64> {
        if self.is_untidy {
            self.tidy()?;
        }
        let mut bytes = 0;
        for record in records {
            self.file.write_all(record)?;
            bytes += record.len() as u64;
        }
        self.file.sync_data()?;
        // Nobody would find data in a moved or removed file.
        if !self.is_in_place()? {
            return Err(io::Error::new(io::ErrorKind::NotFound, "moved, replaced or removed during writing"));
        }
        Ok(bytes)
    }

    /// Returns `true` if the path still leads to the file.
    pub(crate) fn is_in_place(&self) -> io::Result<bool> {
        files::is_at(&self.file, &self.path)
    }
}

/// Returns the path of a numbered file.
pub(crate) fn path(directory: &Path, number: u32, extension: &str) -> PathBuf {
    directory.join(format!("{number:08}.{extension}"))
}
