//! Encodes messages as lines.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use ichnos_export::TextWriter;
use ichnos_io::{OutputBlock, Worker, WorkerFlow, WriteOptions};
use ichnos_model::lower::LossTable;
use ichnos_model::{
    DamageKind, DataStream, EventHash, IgnorePoison as _, Message, Sink as _, StreamDigest, TraceDigest,
};

use super::losses::LineLosses;
use crate::{JsonLines, JsonLinesOptions};

/// Result of encoders.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub(super) losses: LossTable,
    /// Digest of what was written, if the output is compared.
    pub(super) digest: TraceDigest,
}

/// Encodes messages as lines.
#[derive(Debug)]
pub(super) struct LineEncoder {
    sink: JsonLines<LineBlock>,
    options: LineOptions,
    /// Number of events in lines that were not taken yet.
    events: u64,
    losses: LineLosses,
    /// `None` if the output is not compared.
    digest: Option<StreamDigest>,
    /// Receives losses and digest at the end.
    encoded: Arc<Mutex<Encoded>>,
}

/// Options of encoders.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineOptions {
    /// Leaves out lines of damage.
    pub(super) repairs: bool,
    /// Computes the digest of what is written.
    pub(super) is_compared: bool,
    /// Capacity of buffers for lines; 0 if there can be very many.
    pub(super) room: usize,
}

impl LineOptions {
    pub(super) fn new(options: &WriteOptions, room: usize) -> Self {
        Self { repairs: options.repair, is_compared: options.verify.is_some(), room }
    }
}

/// Lines of a sink that wait to be taken.
#[derive(Debug)]
struct LineBlock {
    bytes: Vec<u8>,
    /// Capacity of the buffer for the next lines.
    room: usize,
}

impl TextWriter for LineBlock {
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        if self.bytes.is_empty() {
            self.bytes = std::mem::replace(text, Vec::with_capacity(self.room));
        } else {
            self.bytes.append(text);
        }
        Ok(())
    }

    fn flush_text(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LineEncoder {
    pub(super) fn new(options: LineOptions, encoded: Arc<Mutex<Encoded>>) -> Self {
        let block = LineBlock { bytes: Vec::new(), room: options.room };
        let sink = JsonLines::new(block, JsonLinesOptions::default());
        Self {
            sink: if options.room > 0 { sink } else { sink.without_room() },
            options,
            events: 0,
            losses: LineLosses::default(),
            digest: options.is_compared.then(|| StreamDigest::new(Some(EventHash::of_text))),
            encoded,
        }
    }

    /// Returns the number of encoded bytes that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.sink.waiting()
    }

    /// Returns losses and digest of this encoder and of others with which it shares them.
    pub(super) fn encoded(&self) -> MutexGuard<'_, Encoded> {
        self.encoded.lock().ignore_poison()
    }

    /// Ends a data stream, if it has begun.
    pub(super) fn end_stream(&mut self, stream: &DataStream) -> io::Result<()> {
        if self.sink.has_begun(stream) { self.message(&Message::StreamEnd(stream)).map(drop) } else { Ok(()) }
    }
}

impl Worker for LineEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        if let Message::Damage(damage) = message
            && matches!(damage.kind, DamageKind::UnknownMember { .. })
        {
            // The line of the damage has its name, not its value.
            self.encoded().losses.add_damage(damage);
        }
        match message {
            Message::Event(event) => {
                self.events += 1;
                self.losses.event(event);
            }
            Message::StreamEnd(stream) => self.losses.end_stream(stream),
            Message::Damage(_) if self.options.repairs => return Ok(WorkerFlow::Continue),
            _ => {}
        }
        if let Some(digest) = &mut self.digest {
            digest.message(message);
        }
        let _ = self.sink.message(message)?;
        Ok(if self.sink.writer_mut().bytes.is_empty() { WorkerFlow::Continue } else { WorkerFlow::Block })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    fn take(&mut self) -> Option<OutputBlock> {
        let bytes = std::mem::take(&mut self.sink.writer_mut().bytes);
        if bytes.is_empty() {
            return None;
        }
        Some(OutputBlock { bytes, events: std::mem::take(&mut self.events), ..OutputBlock::default() })
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()?;
        let mut encoded = self.encoded.lock().ignore_poison();
        self.losses.move_to(&mut encoded.losses, self.sink.inexact_nans());
        if let Some(digest) = self.digest.take() {
            encoded.digest.merge(digest.finish());
        }
        Ok(())
    }
}
