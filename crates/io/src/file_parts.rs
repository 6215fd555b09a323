//! Several files at once, one for each part of a trace, of formats whose traces are one file each.

use std::io;

use ichnos_model::lower::LossTable;
use ichnos_model::{Message, TraceDigest};

use crate::{
    CreateError, Lane, OutputBlock, PartFile, PartTarget, PartsOutput, Worker, WriteOptions, WriteReport,
};

/// Maximum number of bytes waiting to be written, for all parts together.
const WAITING: usize = 32 << 20;

/// Makes the encoders of [`FileParts`], and keeps what they share.
///
/// # For implementations
/// There can be very many encoders, so each should only allocate what it needs between two messages.
pub trait PartEncoders {
    /// Encodes the messages of a part.
    type Encoder: Worker;

    /// Makes the encoder of another part.
    fn encoder(&mut self) -> Self::Encoder;

    /// Returns the number of encoded bytes that were not taken yet.
    fn waiting(encoder: &Self::Encoder) -> usize;

    /// Encodes a message.
    ///
    /// # Errors
    /// Those of [`Worker::message`].
    fn message(&mut self, encoder: &mut Self::Encoder, message: &Message<'_>) -> io::Result<()> {
        encoder.message(message).map(drop)
    }

    /// Encodes the end of a part, whose last blocks are taken then.
    ///
    /// # Errors
    /// Those of [`Worker::finish`].
    fn finish(&mut self, encoder: &mut Self::Encoder) -> io::Result<()>;

    /// Returns the digest of a finished part.
    fn digest(&self, encoder: &Self::Encoder) -> TraceDigest;

    /// Returns the losses of all parts so far.
    fn losses(&self) -> LossTable;
}

/// Files of the parts of traces that are being written.
#[derive(Debug)]
pub struct FileParts<E: PartEncoders> {
    encoders: E,
    parts: Vec<FilePart<E::Encoder>>,
    waiting: usize,
    options: WriteOptions,
    report: WriteReport,
}

/// Part that is being written.
#[derive(Debug)]
struct FilePart<W> {
    file: PartFile,
    encoder: W,
    events: u64,
}

impl<W: Worker> FilePart<W> {
    /// Appends the next block, if there is one, and counts it in the report of all parts. Returns `true` if there is one.
    fn append(&mut self, report: &mut WriteReport) -> io::Result<bool> {
        let Some(OutputBlock { bytes, events, .. }) = self.encoder.take() else { return Ok(false) };
        self.file.write_bytes(&bytes)?;
        report.bytes += bytes.len() as u64;
        report.events += events;
        self.events += events;
        Ok(true)
    }
}

impl<E: PartEncoders> FileParts<E> {
    /// Makes an output without parts.
    pub fn new(encoders: E, options: &WriteOptions) -> Self {
        let (options, report) = (options.clone(), WriteReport::default());
        Self { encoders, parts: Vec::new(), waiting: 0, options, report }
    }
}

impl<E: PartEncoders> PartsOutput for FileParts<E> {
    fn add_part(&mut self, target: PartTarget) -> Result<usize, CreateError> {
        let file = PartFile::create(&target)?;
        self.parts.push(FilePart { file, encoder: self.encoders.encoder(), events: 0 });
        Ok(self.parts.len() - 1)
    }

    fn begin_lane(&mut self, _: Lane) {}

    fn message(&mut self, part: usize, message: &Message<'_>) -> io::Result<()> {
        let Some(part) = self.parts.get_mut(part) else { return Ok(()) };
        let before = E::waiting(&part.encoder);
        self.encoders.message(&mut part.encoder, message)?;
        part.append(&mut self.report)?;
        // An encoder can have fewer bytes than before, also without a block.
        self.waiting = (self.waiting + E::waiting(&part.encoder)).saturating_sub(before);
        if self.waiting > WAITING {
            for part in &mut self.parts {
                part.encoder.flush()?;
                part.append(&mut self.report)?;
            }
            self.waiting = 0;
        }
        Ok(())
    }

    fn end_lane(&mut self) -> io::Result<()> {
        for part in &mut self.parts {
            self.options.check_stop()?;
            self.encoders.finish(&mut part.encoder)?;
            while part.append(&mut self.report)? {}
        }
        Ok(())
    }

    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError> {
        let Some(part) = self.parts.get(part) else { return Ok(WriteReport::default()) };
        if let (Some(verify), Some(path)) = (&self.options.verify, part.file.path()) {
            verify.check(path, &self.encoders.digest(&part.encoder))?;
        }
        Ok(WriteReport { events: part.events, ..WriteReport::default() })
    }

    fn written(&self) -> u64 {
        self.report.bytes
    }

    fn losses(&self) -> LossTable {
        self.encoders.losses()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let paths = self.parts.into_iter().filter_map(|part| part.file.into_path()).collect();
        Ok(WriteReport { losses: self.encoders.losses(), paths, ..self.report })
    }
}
