//! Log files with a limited size.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::sink::RecordSink;

/// A record file that is rotated when it is full.
///
/// For example, with the path `app.log` and three old files, records go to `app.log`. Before it exceeds its maximum
/// size, `app.log.2` becomes `app.log.3`, `app.log.1` becomes `app.log.2`, `app.log` becomes `app.log.1`, and a new
/// `app.log` is created. The oldest file, `app.log.3`, is replaced. Without old files, `app.log` is emptied.
///
/// Each record is written at once and is never split between files. If renaming fails, the file continues to grow, and
/// rotation is tried again each time it has grown by its maximum size.
///
/// An existing file is continued. If its last record was cut short, zeros pad it to a multiple of 8 bytes, so that
/// readers find the next record. Two loggers must not write to the same file.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    max_size: u64,
    old_files: u32,
    current: Mutex<CurrentFile>,
}

#[derive(Debug)]
struct CurrentFile {
    file: File,
    size: u64,
    /// Size at which the file is rotated.
    limit: u64,
}

impl RotatingFile {
    /// Opens a log that rotates at `max_size` bytes. A longer record gets its own file. `old_files` full files are
    /// kept.
    ///
    /// # Errors
    /// If the file cannot be opened or created.
    pub fn open(path: impl Into<PathBuf>, max_size: u64, old_files: u32) -> io::Result<Self> {
        let path = path.into();
        let current = Mutex::new(CurrentFile::open(&path, max_size)?);
        Ok(Self { path, max_size, old_files, current })
    }

    /// Returns the path of an old file, or of the current file for 0.
    fn numbered(&self, number: u32) -> PathBuf {
        let mut path = OsString::from(&self.path);
        if number > 0 {
            path.push(format!(".{number}"));
        }
        path.into()
    }

    /// Starts a new file.
    #[cold]
    fn rotate(&self, current: &mut CurrentFile) -> io::Result<()> {
        if self.old_files == 0 {
            current.file.set_len(0)?;
            current.size = 0;
            return Ok(());
        }
        for number in (0..self.old_files).rev() {
            match fs::rename(self.numbered(number), self.numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        *current = CurrentFile::open(&self.path, self.max_size)?;
        Ok(())
    }
}

impl CurrentFile {
    fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let size = file.metadata()?.len();
        let whole = size.next_multiple_of(8);
        if whole != size {
            file.set_len(whole)?;
        }
        Ok(Self { file, size: whole, limit })
    }
}

impl RecordSink for RotatingFile {
    fn write(&self, record: &[u8]) -> io::Result<()> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let length = record.len() as u64;
        if current.size > 0 && current.size + length > current.limit && self.rotate(&mut current).is_err() {
            current.limit = current.size.saturating_add(self.max_size.max(length));
        }
        let result = current.file.write_all(record);
        match result {
            Ok(()) => current.size += length,
            // A partial record would hide the next record.
            Err(_) => current.file.set_len(current.size)?,
        }
        result
    }
}
