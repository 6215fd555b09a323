//! Encodes messages as lines.

use std::io;
use std::sync::Arc;

use ichnos_export::TextWriter;
use ichnos_io::{EncoderRules, MessageEncoder, WriteOptions, WriteSource};
use ichnos_model::digest::{EventHash, StreamDigest, TraceDigest};
use ichnos_model::message::DamageKind;
use ichnos_model::{Message, Sink as _};

use super::losses::LineLosses;
use crate::{JsonLines, JsonLinesOptions};

/// Rules for writing JSON Lines.
#[derive(Debug)]
pub(super) struct LineWriterRules {
    /// Line buffer capacity. 0 if there can be very many buffers.
    room: usize,
    shared: EncoderRules,
}

impl LineWriterRules {
    pub(super) fn new(sources: Vec<WriteSource>, room: usize, options: &WriteOptions) -> Self {
        let shared = EncoderRules::new(sources, options, |source, table| {
            source.first_streams().for_each(|stream| table.add_packets(stream));
        });
        Self { room, shared }
    }
}

/// Encodes messages as lines.
#[derive(Debug)]
pub(super) struct LineEncoder {
    rules: Arc<LineWriterRules>,
    sink: JsonLines<LineBlock>,
    /// Number of events in pending lines.
    events: u64,
    losses: LineLosses,
    /// `None` if the output is not verified.
    digest: Option<StreamDigest>,
}

/// Pending lines of a sink.
#[derive(Debug)]
struct LineBlock {
    bytes: Vec<u8>,
    /// Buffer capacity for the next lines.
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

impl MessageEncoder for LineEncoder {
    type Rules = LineWriterRules;

    fn shared(rules: &LineWriterRules) -> &EncoderRules {
        &rules.shared
    }

    fn new(rules: Arc<LineWriterRules>) -> Self {
        let block = LineBlock { bytes: Vec::new(), room: rules.room };
        let sink = JsonLines::new(block, JsonLinesOptions::default());
        Self {
            sink: if rules.room > 0 { sink } else { sink.without_room() },
            events: 0,
            losses: LineLosses::default(),
            digest: rules.shared.is_compared.then(|| StreamDigest::new(Some(EventHash::for_text))),
            rules,
        }
    }

    fn message(&mut self, message: &Message<'_>, shared: &EncoderRules) -> io::Result<()> {
        match message {
            Message::Event(event) => {
                self.events += 1;
                self.losses.event(event);
            }
            Message::StreamEnd(stream) => self.losses.end_stream(stream),
            Message::Damage(damage) => {
                // A damage line has the member's name, not its value.
                if matches!(damage.kind, DamageKind::UnknownMember { .. }) {
                    shared.with_losses(|table| table.add_damage(damage));
                }
                if shared.repairs {
                    return Ok(());
                }
            }
            _ => {}
        }
        if let Some(digest) = &mut self.digest {
            digest.message(message);
        }
        let _ = self.sink.message(message)?;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    fn end_part(&mut self) -> io::Result<()> {
        let rules = Arc::clone(&self.rules);
        for stream in rules.shared.sources.iter().flat_map(|source| &source.streams) {
            if self.sink.has_begun(stream) {
                self.message(&Message::StreamEnd(stream), &rules.shared)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()?;
        let Self { losses, sink, .. } = self;
        self.rules.shared.with_losses(|table| losses.move_to(table, sink.inexact_nans()));
        Ok(())
    }

    fn ready(&self) -> usize {
        self.sink.writer().bytes.len()
    }

    fn waiting(&self) -> usize {
        self.sink.waiting()
    }

    /// Each text from the sink is a block.
    #[inline]
    fn is_full(&self, _: usize) -> bool {
        self.has_rest()
    }

    fn take_bytes(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.sink.writer_mut().bytes), std::mem::take(&mut self.events))
    }

    fn take_digest(&mut self) -> TraceDigest {
        self.digest.take().map(StreamDigest::finish).unwrap_or_default()
    }
}
