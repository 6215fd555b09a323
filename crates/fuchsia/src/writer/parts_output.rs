//! Writes several logs at once, one for each part of a trace.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ichnos_io::{
    CreateError, EncodedBlock, Encoder, Lane, PartTarget, PartsOutput, WriteOptions, WriteReport,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{ClassDigest, Message, TraceDigest};

use super::log_rules::LogRules;
use super::record_encoder::LogEncoder;
use super::record_hash::record_hash;

/// Maximum number of bytes waiting to be written, for all parts together.
const WAITING: usize = 32 << 20;

/// Logs being written.
#[derive(Debug)]
pub(super) struct LogParts {
    rules: Arc<LogRules>,
    parts: Vec<LogPart>,
    /// Buffer for a record, shared by the encoders.
    room: Box<[u8]>,
    waiting: usize,
    options: WriteOptions,
    report: WriteReport,
}

#[derive(Debug)]
struct LogPart {
    target: PartTarget,
    encoder: LogEncoder,
    /// Digest of the written records.
    records: ClassDigest,
    events: u64,
}

impl LogParts {
    pub(super) fn new(rules: Arc<LogRules>, options: WriteOptions) -> Self {
        let room = LogEncoder::room();
        Self { rules, parts: Vec::new(), room, waiting: 0, options, report: WriteReport::default() }
    }
}

impl LogPart {
    /// Appends to the file.
    fn write(&mut self, block: &EncodedBlock, report: &mut WriteReport) -> io::Result<()> {
        if let Some(path) = &self.target.path {
            let file = File::options().append(true).open(path);
            let written = file.and_then(|mut file| file.write_all(&block.bytes));
            written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        }
        report.bytes += block.bytes.len() as u64;
        report.events += block.events;
        self.events += block.events;
        Ok(())
    }
}

impl PartsOutput for LogParts {
    fn add_part(&mut self, target: PartTarget) -> Result<usize, CreateError> {
        if let Some(path) = &target.path {
            let at = |path: &Path, error| CreateError::Io { path: path.display().to_string(), error };
            File::create_new(path).map_err(|error| at(path, error))?;
        }
        let encoder = LogEncoder::without_room(Arc::clone(&self.rules));
        self.parts.push(LogPart { target, encoder, records: ClassDigest::default(), events: 0 });
        Ok(self.parts.len() - 1)
    }

    fn begin_lane(&mut self, _: Lane) {}

    fn message(&mut self, part: usize, message: &Message<'_>) -> io::Result<()> {
        let Some(part) = self.parts.get_mut(part) else { return Ok(()) };
        let before = part.encoder.waiting();
        part.encoder.swap_room(&mut self.room);
        let result = part.encoder.message(message);
        part.encoder.swap_room(&mut self.room);
        result?;
        self.waiting += part.encoder.waiting().saturating_sub(before);
        if let Some(block) = part.encoder.take() {
            self.waiting = self.waiting.saturating_sub(block.bytes.len());
            part.write(&block, &mut self.report)?;
        }
        if self.waiting > WAITING {
            for part in &mut self.parts {
                part.encoder.flush()?;
                if let Some(block) = part.encoder.take() {
                    part.write(&block, &mut self.report)?;
                }
            }
            self.waiting = 0;
        }
        Ok(())
    }

    fn end_lane(&mut self) -> io::Result<()> {
        for part in &mut self.parts {
            self.options.check_stop()?;
            part.records += part.encoder.take_records();
            for block in part.encoder.finish()? {
                part.write(&block, &mut self.report)?;
            }
        }
        Ok(())
    }

    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError> {
        let Some(part) = self.parts.get(part) else { return Ok(WriteReport::default()) };
        if let (Some(verify), Some(path)) = (&self.options.verify, &part.target.path) {
            let mut digest = TraceDigest::default();
            digest.event_hash = Some(record_hash);
            digest.damages = self.rules.damages();
            digest.add_class("", part.records);
            verify.check(path, &digest)?;
        }
        let mut report = WriteReport::default();
        report.events = part.events;
        Ok(report)
    }

    fn written(&self) -> u64 {
        self.report.bytes
    }

    fn losses(&self) -> LossTable {
        self.rules.with_losses(|table| table.clone())
    }

    fn finish(mut self: Box<Self>) -> Result<WriteReport, CreateError> {
        let mut report = std::mem::take(&mut self.report);
        report.losses = self.losses();
        report.paths = self.parts.iter().filter_map(|part| part.target.path.clone()).collect();
        Ok(report)
    }
}
