//! Writes several logs at once, one for each part of a trace.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ichnos_io::{CreateError, Lane, PartFile, PartTarget, PartsOutput, Worker, WriteOptions, WriteReport};
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
    file: PartFile,
    encoder: LogEncoder,
    /// Digest of the written records.
    records: ClassDigest,
}

impl LogParts {
    pub(super) fn new(rules: Arc<LogRules>, options: WriteOptions) -> Self {
        let room = LogEncoder::room();
        Self { rules, parts: Vec::new(), room, waiting: 0, options, report: WriteReport::default() }
    }
}

impl PartsOutput for LogParts {
    fn add_part(&mut self, target: PartTarget) -> Result<usize, CreateError> {
        let file = PartFile::create(&target)?;
        let encoder = LogEncoder::without_room(Arc::clone(&self.rules));
        self.parts.push(LogPart { file, encoder, records: ClassDigest::default() });
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
            part.file.append(&block, &mut self.report)?;
        }
        if self.waiting > WAITING {
            for part in &mut self.parts {
                part.encoder.flush()?;
                if let Some(block) = part.encoder.take() {
                    part.file.append(&block, &mut self.report)?;
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
            part.encoder.finish()?;
            while let Some(block) = part.encoder.take() {
                part.file.append(&block, &mut self.report)?;
            }
        }
        Ok(())
    }

    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError> {
        let Some(part) = self.parts.get(part) else { return Ok(WriteReport::default()) };
        let mut digest = TraceDigest::default();
        digest.event_hash = Some(record_hash);
        digest.discarded_events = None;
        digest.damages = self.rules.damages();
        digest.add_class("", part.records);
        part.file.finish(self.options.verify.as_ref(), &digest)
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
        report.paths = self.parts.iter().filter_map(|part| part.file.path().map(Path::to_owned)).collect();
        Ok(report)
    }
}
