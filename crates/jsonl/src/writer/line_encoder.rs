//! Encodes messages as lines.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_export::TextWriter;
use ichnos_io::{EncodedBlock, Encoder};
use ichnos_model::{DataStream, Message, Sink as _, StreamDigest, TraceDigest};

use crate::{JsonLines, JsonLinesOptions};

/// Encodes messages as lines.
#[derive(Debug)]
pub(super) struct LineEncoder {
    sink: JsonLines<LineBlock>,
    /// `true` to leave out lines of damage.
    repairs: bool,
    /// Number of events in lines that were not taken yet.
    events: u64,
    /// `None` if the output is not compared.
    digests: Option<LineDigests>,
    /// Receives the digest at the end.
    digest: Option<Arc<Mutex<TraceDigest>>>,
}

/// Lines of a sink that wait to be taken.
#[derive(Debug, Default)]
struct LineBlock(Vec<u8>);

impl TextWriter for LineBlock {
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        if self.0.is_empty() {
            std::mem::swap(&mut self.0, text);
        } else {
            self.0.append(text);
        }
        Ok(())
    }

    fn flush_text(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Digests of what is written, by the address of the trace and the index of the data stream class in it.
#[derive(Debug, Default)]
struct LineDigests {
    classes: HashMap<(usize, usize), StreamDigest>,
    /// Losses and damage.
    others: StreamDigest,
}

impl LineDigests {
    fn message(&mut self, message: &Message<'_>) {
        match message {
            Message::Event(event) => {
                let key = (Arc::as_ptr(&event.stream.trace).addr(), event.stream.class_index);
                self.classes.entry(key).or_default().message(message);
            }
            // The hash of an event contains that of its packet, which lines do not have.
            Message::PacketBegin(_) => {}
            _ => self.others.message(message),
        }
    }

    fn finish(self) -> TraceDigest {
        let mut digest = self.others.finish();
        self.classes.into_values().for_each(|class| digest.merge(class.finish()));
        digest
    }
}

impl LineEncoder {
    pub(super) fn new(repairs: bool, digest: Option<Arc<Mutex<TraceDigest>>>) -> Self {
        Self {
            sink: JsonLines::new(LineBlock::default(), JsonLinesOptions::default()),
            repairs,
            events: 0,
            digests: digest.is_some().then(LineDigests::default),
            digest,
        }
    }

    /// Returns the number of encoded bytes that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.sink.waiting()
    }

    /// Ends a data stream, if it has begun.
    pub(super) fn end_stream(&mut self, stream: &DataStream) -> io::Result<()> {
        if self.sink.has_begun(stream) { self.message(&Message::StreamEnd(stream)) } else { Ok(()) }
    }
}

impl Encoder for LineEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<()> {
        match message {
            Message::Event(_) => self.events += 1,
            Message::Damage(_) if self.repairs => return Ok(()),
            _ => {}
        }
        if let Some(digests) = &mut self.digests {
            digests.message(message);
        }
        self.sink.message(message).map(drop)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    fn take(&mut self) -> Option<EncodedBlock> {
        let bytes = std::mem::take(&mut self.sink.writer_mut().0);
        if bytes.is_empty() {
            return None;
        }
        Some(EncodedBlock { bytes, events: std::mem::take(&mut self.events), ..EncodedBlock::default() })
    }

    fn finish(&mut self) -> io::Result<Vec<EncodedBlock>> {
        self.sink.finish()?;
        if let (Some(digests), Some(digest)) = (self.digests.take(), &self.digest) {
            digest.lock().unwrap_or_else(PoisonError::into_inner).merge(digests.finish());
        }
        Ok(self.take().into_iter().collect())
    }
}
