//! The output file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ichnos_io::{
    CreateError, EncodedBlock, Encoder, Lane, Output, TraceOutput, Verify, WriteOptions, WriteReport,
    WriteSource, WriteTarget,
};
use ichnos_model::DataStream;
use ichnos_model::lower::LossTable;

use super::log_rules::{LogRules, loss, note_clock};
use super::record_encoder::LogEncoder;
use super::record_hash::record_hash;
use crate::log::Framing;

/// Destination of records.
#[derive(Debug)]
enum RecordDestination {
    Nowhere,
    Complete { output: Output, path: PathBuf },
    Live { file: File, path: PathBuf },
}

/// A log being written.
#[derive(Debug)]
pub(super) struct LogOutput {
    rules: Arc<LogRules>,
    target: Mutex<(RecordDestination, WriteReport)>,
    /// Data streams added so far, kept because encoders identify traces by their addresses.
    added: Mutex<Vec<Arc<DataStream>>>,
    verify: Option<Verify>,
}

impl LogOutput {
    pub(super) fn new(
        target: &WriteTarget,
        sources: &[WriteSource],
        framing: Framing,
        options: &WriteOptions,
    ) -> Result<Self, CreateError> {
        let target = match target {
            WriteTarget::Nowhere => RecordDestination::Nowhere,
            WriteTarget::Complete(path) => {
                let output = ichnos_io::create(Some(path), options.existing).map_err(|error| {
                    // The path is already in the text and should not be repeated.
                    let text = error.to_string();
                    let text = text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&text);
                    with_path(path, io::Error::new(error.kind(), text))
                })?;
                RecordDestination::Complete { output, path: path.clone() }
            }
            WriteTarget::Live(path) => {
                let file = create_live(path).map_err(|error| with_path(path, error))?;
                RecordDestination::Live { file, path: path.clone() }
            }
        };
        let rules = LogRules::new(sources, framing, options);
        let target = Mutex::new((target, WriteReport::default()));
        Ok(Self { rules: Arc::new(rules), target, added: Mutex::default(), verify: options.verify.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, (RecordDestination, WriteReport)> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn with_path(path: &Path, error: io::Error) -> CreateError {
    CreateError::Io { path: path.display().to_string(), error }
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

impl TraceOutput for LogOutput {
    fn encoder(&self, _: Lane) -> Box<dyn Encoder + Send> {
        Box::new(LogEncoder::new(Arc::clone(&self.rules)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(clock) = stream.clock()
            && !added.iter().any(|known| known.clock() == Some(clock))
        {
            let mut lose = |kind, field: &str, what: &str| {
                self.rules.with_losses(|table| table.add(loss(kind, field, what), 1));
            };
            note_clock(clock, &mut lose);
        }
        added.push(stream);
        Ok(added.len() - 1)
    }

    fn write(&self, block: EncodedBlock) -> io::Result<()> {
        let mut target = self.lock();
        let (target, report) = &mut *target;
        let written = match target {
            RecordDestination::Nowhere => Ok(()),
            RecordDestination::Complete { output, path } => {
                output.write_all(&block.bytes).map_err(|error| (error, path))
            }
            RecordDestination::Live { file, path } => {
                file.write_all(&block.bytes).map_err(|error| (error, path))
            }
        };
        written
            .map_err(|(error, path)| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        report.bytes += block.bytes.len() as u64;
        report.events += block.events;
        Ok(())
    }

    fn losses(&self) -> LossTable {
        self.rules.with_losses(|table| table.clone())
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let losses = self.losses();
        let (target, mut report) = self.target.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.losses = losses;
        let (result, path) = match target {
            RecordDestination::Nowhere => return Ok(report),
            RecordDestination::Complete { mut output, path } => {
                if let Some(verify) = &self.verify {
                    let mut digest = self.rules.digest();
                    digest.event_hash = Some(record_hash);
                    let written = output.written_path().map_err(|error| with_path(&path, error))?;
                    let written =
                        written.ok_or_else(|| CreateError::Unverifiable(path.display().to_string()))?;
                    verify.check(written, &digest)?;
                }
                (output.finish(), path)
            }
            RecordDestination::Live { file, path } => (file.sync_all(), path),
        };
        result.map_err(|error| CreateError::Io { path: path.display().to_string(), error })?;
        if path != Path::new("-") {
            report.paths.push(path);
        }
        Ok(report)
    }
}
