//! The open segment.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::sums::{self, Sum};
use crate::{directory, files};

/// The open segment.
///
/// *Written* data is in the file, and survives the end of this process. *Flushed* data is on the disk, has a checksum,
/// and also survives a system crash.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
    file: File,
    sums: File,
    /// Number of flushed bytes.
    flushed: u64,
    /// Number of flushed reports.
    reports: u64,
    /// Checksum file size in bytes.
    sums_length: u64,
    /// Number of written but unflushed bytes.
    written: usize,
    /// `true` after a failure: the files must be reset to the flushed data.
    is_untidy: bool,
    start_time: Instant,
}

impl Segment {
    /// Creates a segment.
    pub(crate) fn create(directory: &Path, number: u32) -> io::Result<Self> {
        let path = directory::segment(directory, number);
        let file = files::create(&path)?;
        let sums = files::create(&directory::sums(directory, number))
            .and_then(|mut sums| sums.write_all(sums::HEAD.as_bytes()).map(|()| sums));
        let begun = match sums {
            // Make the new files durable.
            Ok(sums) => directory::sync_directory(directory).map(|()| sums),
            Err(error) => Err(error),
        };
        match begun {
            Ok(sums) => Ok(Self {
                number,
                path,
                file,
                sums,
                flushed: 0,
                reports: 0,
                sums_length: sums::HEAD.len() as u64,
                written: 0,
                is_untidy: false,
                start_time: Instant::now(),
            }),
            Err(error) => {
                // The file is empty, and the next attempt creates it again.
                let _ = std::fs::remove_file(&path);
                let _ = std::fs::remove_file(directory::sums(directory, number));
                Err(error)
            }
        }
    }

    /// Returns the number of flushed bytes.
    pub(crate) fn length(&self) -> u64 {
        self.flushed
    }

    /// Returns the number of flushed reports.
    pub(crate) fn reports(&self) -> u64 {
        self.reports
    }

    pub(crate) fn start_time(&self) -> Instant {
        self.start_time
    }

    /// Writes the unflushed data. Skips the part that is already written.
    ///
    /// # Errors
    /// If the data cannot be written. The next call continues at the failure.
    pub(crate) fn write(&mut self, pending: &[u8]) -> io::Result<()> {
        if self.is_untidy {
            self.tidy()?;
        }
        while let Some(rest) = pending.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Flushes the data that [`write`](Self::write) has written: all of `pending`.
    ///
    /// # Errors
    /// If the data cannot be flushed. Then all of it must be written again.
    pub(crate) fn flush(&mut self, pending: &[u8], reports: u64) -> io::Result<()> {
        let result = self.try_flush(pending, reports);
        self.is_untidy |= result.is_err();
        result
    }

    fn try_flush(&mut self, pending: &[u8], reports: u64) -> io::Result<()> {
        self.file.sync_data()?;
        // Nobody would find data in a moved or removed file.
        if !self.is_in_place()? {
            return Err(io::Error::new(io::ErrorKind::NotFound, "moved, replaced or removed during writing"));
        }
        let line = Sum {
            offset: self.flushed,
            length: pending.len() as u64,
            crc: crc32fast::hash(pending),
            reports,
            time: now(),
        }
        .line();
        // The checksums may reach the disk later: reports without a checksum are recovered.
        self.sums.write_all(line.as_bytes())?;
        self.sums_length += line.len() as u64;
        self.flushed += pending.len() as u64;
        self.reports += reports;
        self.written = 0;
        Ok(())
    }

    /// Returns `true` if the segment is still at its path.
    pub(crate) fn is_in_place(&self) -> io::Result<bool> {
        files::is_at(&self.file, &self.path)
    }

    /// Resets the files to the flushed data. After a failed flush, later bytes are in an unknown state, because the
    /// system may have dropped them.
    fn tidy(&mut self) -> io::Result<()> {
        self.file.set_len(self.flushed)?;
        self.file.seek(SeekFrom::Start(self.flushed))?;
        self.sums.set_len(self.sums_length)?;
        self.sums.seek(SeekFrom::Start(self.sums_length))?;
        self.written = 0;
        self.is_untidy = false;
        Ok(())
    }

    /// Flushes the checksums and closes the segment.
    pub(crate) fn close(self) -> io::Result<()> {
        self.sums.sync_all()?;
        self.file.sync_all()
    }
}

/// Returns the milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_on_after_a_failure() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let mut segment = Segment::create(path, 1).unwrap();
        segment.write(b"one\n\n").unwrap();
        segment.flush(b"one\n\n", 1).unwrap();
        // Flushing the second report has failed.
        segment.write(b"two\n\n").unwrap();
        segment.is_untidy = true;
        segment.write(b"two\n\nthree\n\n").unwrap();
        segment.write(b"two\n\nthree\n\n").unwrap();
        segment.flush(b"two\n\nthree\n\n", 2).unwrap();
        assert_eq!(segment.length(), 17);
        segment.close().unwrap();
        assert_eq!(std::fs::read(directory::segment(path, 1)).unwrap(), b"one\n\ntwo\n\nthree\n\n");
        let sums = sums::read(&directory::sums(path, 1)).unwrap();
        let parts: Vec<_> = sums.iter().map(|sum| (sum.offset, sum.length, sum.reports)).collect();
        assert_eq!(parts, [(0, 5, 1), (5, 12, 2)]);
        assert_eq!(sums[1].crc, crc32fast::hash(b"two\n\nthree\n\n"));
        // Existing files are not overwritten.
        assert!(Segment::create(path, 1).is_err());
    }
}
