//! Files that are copied byte by byte.

use std::io;

use ichnos_io::{Bytes, WriteOptions, WriteSource};
use ichnos_model::Window;

use super::dialect::Dialect;
use crate::Version;
use crate::reader::trace_file::FileState;

/// Returns the bytes of the only source, if the output would be the same file: all events are selected, the version is
/// the same, and opening it found no fault.
pub(super) fn copied_file(
    sources: &[WriteSource],
    dialect: Dialect,
    options: &WriteOptions,
) -> Option<Bytes> {
    let [source] = sources else { return None };
    let is_all = !options.leaves_out
        && !options.repair
        && options.selected_by.is_empty()
        && options.window == Window::default()
        && !source.streams.is_empty();
    let file = source.trace.reader_data::<FileState>().filter(|file| is_all && is_same(file, dialect))?;
    file.whole_bytes().cloned()
}

/// Returns `true` if a file has the version of the output.
pub(super) fn is_same(file: &FileState, dialect: Dialect) -> bool {
    match file.version() {
        Version::V3 => false,
        Version::V4 => dialect == Dialect::V4,
        Version::V6(_) => dialect == Dialect::V6,
    }
}

/// Copies a file in chunks.
#[derive(Debug)]
pub(super) struct FileCopy {
    bytes: Bytes,
    /// Number of copied bytes.
    at: usize,
    /// Number of bytes whose events were passed.
    until: usize,
}

impl FileCopy {
    pub(super) fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0, until: 0 }
    }

    /// Returns `true` if all available bytes are copied.
    pub(super) fn is_over(&self) -> bool {
        self.at >= self.until
    }

    /// Makes the bytes up to an offset available.
    pub(super) fn pass(&mut self, until: u64) {
        let until = usize::try_from(until).unwrap_or(usize::MAX);
        self.until = self.until.max(until.min(self.bytes.len()));
    }

    /// Returns the next chunk, with at most this many bytes.
    pub(super) fn next(&mut self, size: usize) -> Vec<u8> {
        let end = self.until.min(self.at.saturating_add(size));
        let piece = self.bytes.get(self.at..end).unwrap_or_default().to_vec();
        self.at = end;
        piece
    }

    /// Checks that all copied bytes were in the file.
    ///
    /// # Errors
    /// If the file was truncated during the copy.
    pub(super) fn check(&self) -> io::Result<()> {
        check_copied(&self.bytes)
    }
}

/// Checks that copied bytes are still in the file.
///
/// # Errors
/// If the file was truncated during the copy.
pub(super) fn check_copied(bytes: &Bytes) -> io::Result<()> {
    match bytes.look_for_loss() {
        lost if lost.is_empty() => Ok(()),
        lost => {
            let text = format!("input file was truncated during the copy: byte {} is missing", lost.start);
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, text))
        }
    }
}
