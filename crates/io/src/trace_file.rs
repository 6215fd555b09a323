//! Files for formats with one file per trace.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ichnos_model::digest::TraceDigest;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::LossTable;

use crate::{
    CreateError, IoLimits, OutputBlock, OutputFile, PartTarget, Tree, Verify, WriteOptions, WriteReport,
    WriteTarget, foreign_file, plain_files,
};

/// Trace file being written.
#[derive(Debug)]
pub struct TraceFile {
    written: Mutex<(FileDestination, WriteReport)>,
    verify: Option<Verify>,
}

/// Destination for encoded data.
#[derive(Debug)]
enum FileDestination {
    Nowhere,
    Complete { output: OutputFile, path: PathBuf },
    Live { file: File, path: PathBuf },
}

impl TraceFile {
    /// Creates the file for a target.
    ///
    /// # Errors
    /// Fails if it cannot be created, or exists and must not be replaced.
    pub fn create(target: &WriteTarget, options: &WriteOptions) -> Result<Self, CreateError> {
        let destination = match target {
            WriteTarget::Nowhere => FileDestination::Nowhere,
            WriteTarget::Complete(path) => {
                let output = crate::create(Some(path), options.existing).map_err(|error| {
                    // The path is already in the text and should not be repeated.
                    let text = error.to_string();
                    let text = text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&text);
                    with_path(path, io::Error::new(error.kind(), text))
                })?;
                FileDestination::Complete { output, path: path.clone() }
            }
            WriteTarget::Live(path) => {
                let file = create_live(path).map_err(|error| with_path(path, error))?;
                FileDestination::Live { file, path: path.clone() }
            }
        };
        let written = Mutex::new((destination, WriteReport::default()));
        Ok(Self { written, verify: options.verify.clone() })
    }

    /// Returns `true` if the output is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        let written = self.written.lock().ignore_poison();
        matches!(&written.0, FileDestination::Complete { output, .. } if output.is_terminal())
    }

    /// Writes encoded data.
    ///
    /// # Errors
    /// Fails if it cannot be written. The error names the file.
    pub fn write(&self, block: &OutputBlock) -> io::Result<()> {
        self.add(&block.bytes, block.events)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// Fails if it cannot be written. The error names the file.
    pub fn write_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        self.add(bytes, 0)
    }

    fn add(&self, bytes: &[u8], events: u64) -> io::Result<()> {
        let mut written = self.written.lock().ignore_poison();
        let (destination, report) = &mut *written;
        match destination {
            FileDestination::Nowhere => {}
            FileDestination::Complete { output, path } => {
                output.write_all(bytes).map_err(|error| naming(path, error))?;
            }
            FileDestination::Live { file, path } => {
                file.write_all(bytes).map_err(|error| naming(path, error))?;
            }
        }
        report.bytes += bytes.len() as u64;
        report.events += events;
        Ok(())
    }

    /// Completes the file. If verification is requested, it is compared with `digest` before it appears.
    ///
    /// # Errors
    /// Fails if it cannot be written, or differs from the written data. An existing file is then kept.
    pub fn finish(self, losses: LossTable, digest: &TraceDigest) -> Result<WriteReport, CreateError> {
        let (destination, mut report) = self.written.into_inner().ignore_poison();
        report.losses = losses;
        let (result, path) = match destination {
            FileDestination::Nowhere => return Ok(report),
            FileDestination::Complete { mut output, path } => {
                if let Some(verify) = &self.verify {
                    let written = output.written_path().map_err(|error| with_path(&path, error))?;
                    let written =
                        written.ok_or_else(|| CreateError::Unverifiable(path.display().to_string()))?;
                    verify.check(written, digest)?;
                }
                (output.finish(), path)
            }
            FileDestination::Live { file, path } => (file.sync_all(), path),
        };
        result.map_err(|error| with_path(&path, error))?;
        if path != Path::new("-") {
            report.paths.push(path);
        }
        Ok(report)
    }
}

/// File for a part of traces. It is open only while data is written, as there can be very many.
#[derive(Debug)]
pub struct PartFile {
    /// `None` to write nothing.
    path: Option<PathBuf>,
}

impl PartFile {
    /// Creates the file for a part.
    ///
    /// # Errors
    /// Fails if it cannot be created, or exists.
    pub fn create(target: &PartTarget) -> Result<Self, CreateError> {
        if let Some(path) = &target.path {
            File::create_new(path).map_err(|error| with_path(path, error))?;
        }
        Ok(Self { path: target.path.clone() })
    }

    /// Returns the path, or `None` if the part is not written.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the path, or `None` if the part is not written.
    #[must_use]
    pub fn into_path(self) -> Option<PathBuf> {
        self.path
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Fails if it cannot be written. The error names the file.
    pub fn write_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let file = File::options().append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(bytes));
        written.map_err(|error| naming(path, error))
    }
}

/// Lists the files in a directory if a writer of a format can have written all of them: they must have its extension,
/// and `recognize` must return `true` for each. `other` describes any other file, for the error.
///
/// # Errors
/// Fails if there is any other file, or the directory cannot be read.
pub fn written_trace_files(
    directory: &Path,
    extension: &str,
    recognize: impl Fn(&Tree) -> bool,
    other: &str,
) -> io::Result<Vec<PathBuf>> {
    let files = plain_files(directory)?;
    let is_trace = |path: &PathBuf| {
        let tree = Tree::open(&directory.join(path), &IoLimits::default());
        path.extension().is_some_and(|found| found == extension) && tree.is_ok_and(|tree| recognize(&tree))
    };
    match files.iter().find(|path| !is_trace(path)) {
        Some(path) => Err(foreign_file(path, other)),
        None => Ok(files),
    }
}

pub(crate) fn with_path(path: &Path, error: io::Error) -> CreateError {
    CreateError::Io { path: path.display().to_string(), error }
}

pub(crate) fn naming(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Creates a file, or opens an empty one.
fn create_live(path: &Path) -> io::Result<File> {
    let file = File::options().append(true).create(true).open(path)?;
    match file.metadata()? {
        metadata if metadata.is_file() && metadata.len() > 0 => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists and is not empty"))
        }
        _ => Ok(file),
    }
}
