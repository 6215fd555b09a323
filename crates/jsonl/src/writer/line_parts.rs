//! Writes several files of lines at once, one for each part of a trace.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ichnos_io::{
    CreateError, Lane, PartFile, PartTarget, PartsOutput, Worker as _, WriteOptions, WriteReport, WriteSource,
};
use ichnos_model::Message;
use ichnos_model::lower::LossTable;

use super::encoded;
use super::line_encoder::{Encoded, LineEncoder, LineOptions};

/// Maximum number of bytes waiting to be written, for all parts together.
const WAITING: usize = 32 << 20;

/// Files of lines that are being written.
#[derive(Debug)]
pub(super) struct LineParts {
    sources: Vec<WriteSource>,
    parts: Vec<LinePart>,
    waiting: usize,
    /// Losses of all parts.
    losses: LossTable,
    options: WriteOptions,
    report: WriteReport,
}

#[derive(Debug)]
struct LinePart {
    file: PartFile,
    encoder: LineEncoder,
    encoded: Arc<Mutex<Encoded>>,
}

impl LineParts {
    pub(super) fn new(sources: Vec<WriteSource>, options: WriteOptions) -> Self {
        let losses = encoded(&sources).losses;
        Self { sources, parts: Vec::new(), waiting: 0, losses, options, report: WriteReport::default() }
    }
}

impl LinePart {
    fn encoded(&self) -> MutexGuard<'_, Encoded> {
        self.encoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the lines so far.
    fn flush(&mut self, report: &mut WriteReport) -> io::Result<()> {
        self.encoder.flush()?;
        self.encoder.take().map_or(Ok(()), |block| self.file.append(&block, report))
    }
}

impl PartsOutput for LineParts {
    fn add_part(&mut self, target: PartTarget) -> Result<usize, CreateError> {
        let encoded = Arc::default();
        let encoder = LineEncoder::new(LineOptions::new(&self.options, 0), Arc::clone(&encoded));
        self.parts.push(LinePart { file: PartFile::create(&target)?, encoder, encoded });
        Ok(self.parts.len() - 1)
    }

    fn begin_lane(&mut self, _: Lane) {}

    fn message(&mut self, part: usize, message: &Message<'_>) -> io::Result<()> {
        let Some(part) = self.parts.get_mut(part) else { return Ok(()) };
        let before = part.encoder.waiting();
        part.encoder.message(message)?;
        self.waiting += part.encoder.waiting().saturating_sub(before);
        if let Some(block) = part.encoder.take() {
            self.waiting = self.waiting.saturating_sub(block.bytes.len());
            part.file.append(&block, &mut self.report)?;
        }
        if self.waiting > WAITING {
            self.parts.iter_mut().try_for_each(|part| part.flush(&mut self.report))?;
            self.waiting = 0;
        }
        Ok(())
    }

    fn end_lane(&mut self) -> io::Result<()> {
        for part in &mut self.parts {
            self.options.check_stop()?;
            for stream in self.sources.iter().flat_map(|source| &source.streams) {
                part.encoder.end_stream(stream)?;
            }
            part.encoder.finish()?;
            if let Some(block) = part.encoder.take() {
                part.file.append(&block, &mut self.report)?;
            }
            self.losses.merge(std::mem::take(&mut part.encoded().losses));
        }
        Ok(())
    }

    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError> {
        let Some(part) = self.parts.get(part) else { return Ok(WriteReport::default()) };
        part.file.finish(self.options.verify.as_ref(), &part.encoded().digest)
    }

    fn written(&self) -> u64 {
        self.report.bytes
    }

    fn losses(&self) -> LossTable {
        self.losses.clone()
    }

    fn finish(mut self: Box<Self>) -> Result<WriteReport, CreateError> {
        let mut report = std::mem::take(&mut self.report);
        report.losses = self.losses;
        report.paths = self.parts.iter().filter_map(|part| part.file.path().map(Path::to_owned)).collect();
        Ok(report)
    }
}
