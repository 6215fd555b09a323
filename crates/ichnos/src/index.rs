//! Writes packet indexes next to trace files.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use ichnos_io::{ExistingOutput, IoError, Tree};

use crate::OpenOptions;

/// Result of [`index`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct IndexReport {
    /// Written indexes.
    pub written: Vec<PathBuf>,
    /// Number of existing indexes that did not change.
    pub unchanged: u64,
    /// Reasons for missing indexes, one sentence each, with the path of the file or trace.
    pub problems: Vec<String>,
}

/// Error of [`index`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The directory cannot be read.
    #[error(transparent)]
    Read(#[from] IoError),
    /// The path is not a directory.
    #[error("{0}: expected the directory of a trace; other inputs cannot contain indexes")]
    NotADirectory(String),
    /// The directory lacks a trace of a format with indexes.
    #[error("{0}: this trace format does not have packet indexes")]
    NoTrace(String),
    /// An index cannot be written. Earlier indexes were written.
    #[error("{path}: {error}")]
    Write {
        /// Path of the index.
        path: String,
        /// System error.
        error: io::Error,
    },
}

/// Writes the indexes for the files of all traces in a directory, at any depth. An existing index is replaced if it
/// differs. Each index appears when it is complete.
///
/// # Errors
/// See [`IndexError`].
pub fn index(directory: impl AsRef<Path>, options: &OpenOptions) -> Result<IndexReport, IndexError> {
    let directory = directory.as_ref();
    let shown = || directory.display().to_string();
    if directory.exists() && !directory.is_dir() {
        return Err(IndexError::NotADirectory(shown()));
    }
    let tree = Tree::open_with(directory, &options.tree())?;
    let read = options.reading();
    let mut report = IndexReport::default();
    let mut is_indexed = false;
    for format in options.formats().filter(|format| format.probe(&tree, &read)) {
        let Some(indexes) = format.packet_indexes(&tree, &read) else { continue };
        is_indexed = true;
        report.problems.extend(indexes.problems);
        for index in indexes.files {
            let path = directory.join(&index.path);
            let is_same = std::fs::read(&path).is_ok_and(|bytes| bytes == index.bytes);
            if is_same {
                report.unchanged += 1;
                continue;
            }
            check_index(&path, &index.bytes)
                .and_then(|()| write(&path, &index.bytes))
                .map_err(|error| IndexError::Write { path: path.display().to_string(), error })?;
            report.written.push(path);
        }
    }
    if is_indexed { Ok(report) } else { Err(IndexError::NoTrace(shown())) }
}

/// Checks that a path is free or contains an index.
fn check_index(path: &Path, index: &[u8]) -> io::Result<()> {
    /// Size of the index magic number in bytes.
    const MAGIC: usize = 4;
    let mut beginning = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(MAGIC as u64).read_to_end(&mut beginning)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match beginning.is_empty() || index.get(..MAGIC) == Some(&beginning[..]) {
        true => Ok(()),
        false => {
            let message = "the file is not a packet index, and is not replaced";
            Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut output = ichnos_io::create(Some(path), ExistingOutput::Replace)?;
    output.write_all(bytes)?;
    output.finish()
}
