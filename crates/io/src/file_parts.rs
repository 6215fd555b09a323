//! Outputs with one file for each part of a trace, for formats with one file per trace.

use std::io;
use std::sync::Arc;

use ichnos_model::Message;
use ichnos_model::lower::LossTable;

use crate::message_encoder::EncoderWorker;
use crate::{
    CreateError, Lane, MessageEncoder, OutputBlock, PartFile, PartTarget, PartsOutput, Worker as _,
    WriteOptions, WriteReport,
};

/// Maximum number of bytes waiting to be written, for all parts together.
const WAITING: usize = 32 << 20;

/// Creates an output that writes one file per part.
#[must_use]
pub fn file_parts<E: MessageEncoder>(rules: E::Rules, options: &WriteOptions) -> Box<dyn PartsOutput> {
    Box::new(FileParts::<E> {
        rules: Arc::new(rules),
        buffer: Box::default(),
        parts: Vec::new(),
        waiting: 0,
        options: options.clone(),
        report: WriteReport::default(),
    })
}

/// Files for the parts of traces that are being written.
#[derive(Debug)]
struct FileParts<E: MessageEncoder> {
    rules: Arc<E::Rules>,
    /// Buffer shared by the encoders.
    buffer: Box<[u8]>,
    parts: Vec<FilePart<E>>,
    waiting: usize,
    options: WriteOptions,
    report: WriteReport,
}

/// Part being written.
#[derive(Debug)]
struct FilePart<E: MessageEncoder> {
    file: PartFile,
    worker: EncoderWorker<E>,
    events: u64,
}

impl<E: MessageEncoder> FilePart<E> {
    /// Appends the next block, if any, and counts it in the report for all parts. Returns `true` if there was a block.
    fn append(&mut self, report: &mut WriteReport) -> io::Result<bool> {
        let Some(OutputBlock { bytes, events, .. }) = self.worker.take() else { return Ok(false) };
        self.file.write_bytes(&bytes)?;
        report.bytes += bytes.len() as u64;
        report.events += events;
        self.events += events;
        Ok(true)
    }
}

impl<E: MessageEncoder> PartsOutput for FileParts<E> {
    fn add_part(&mut self, target: PartTarget) -> Result<usize, CreateError> {
        let file = PartFile::create(&target)?;
        self.parts.push(FilePart { file, worker: EncoderWorker::new(&self.rules), events: 0 });
        Ok(self.parts.len() - 1)
    }

    fn begin_lane(&mut self, _: Lane) {}

    fn message(&mut self, part: usize, message: &Message<'_>) -> io::Result<()> {
        let Some(part) = self.parts.get_mut(part) else { return Ok(()) };
        let before = part.worker.encoder.waiting();
        part.worker.encoder.swap_buffer(&mut self.buffer);
        let result = part.worker.message(message);
        part.worker.encoder.swap_buffer(&mut self.buffer);
        result?;
        part.append(&mut self.report)?;
        // An encoder can have fewer bytes than before, even without a block.
        self.waiting = (self.waiting + part.worker.encoder.waiting()).saturating_sub(before);
        if self.waiting > WAITING {
            for part in &mut self.parts {
                part.worker.flush()?;
                part.append(&mut self.report)?;
            }
            self.waiting = 0;
        }
        Ok(())
    }

    fn end_lane(&mut self) -> io::Result<()> {
        for part in &mut self.parts {
            self.options.check_stop()?;
            part.worker.finish_part()?;
            while part.append(&mut self.report)? {}
        }
        Ok(())
    }

    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError> {
        let Some(part) = self.parts.get(part) else { return Ok(WriteReport::default()) };
        if let (Some(verify), Some(path)) = (&self.options.verify, part.file.path()) {
            verify.check(path, &part.worker.part_digest())?;
        }
        Ok(WriteReport { events: part.events, ..WriteReport::default() })
    }

    fn written(&self) -> u64 {
        self.report.bytes
    }

    fn losses(&self) -> LossTable {
        E::shared(&self.rules).losses()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let paths = self.parts.into_iter().filter_map(|part| part.file.into_path()).collect();
        Ok(WriteReport { losses: E::shared(&self.rules).losses(), paths, ..self.report })
    }
}
