//! Encoders of several files of lines at once, one for each part of a trace.

use std::io;
use std::sync::Arc;

use ichnos_io::{PartEncoders, Worker as _, WriteOptions, WriteSource};
use ichnos_model::TraceDigest;
use ichnos_model::lower::LossTable;

use super::encoded;
use super::line_encoder::{LineEncoder, LineOptions};

/// Makes encoders without buffers.
#[derive(Debug)]
pub(super) struct LineParts {
    sources: Vec<WriteSource>,
    options: LineOptions,
    losses: LossTable,
}

impl LineParts {
    pub(super) fn new(sources: Vec<WriteSource>, options: &WriteOptions) -> Self {
        let losses = encoded(&sources).losses;
        Self { sources, options: LineOptions::new(options, 0), losses }
    }
}

impl PartEncoders for LineParts {
    type Encoder = LineEncoder;

    fn encoder(&mut self) -> LineEncoder {
        LineEncoder::new(self.options, Arc::default())
    }

    fn waiting(encoder: &LineEncoder) -> usize {
        encoder.waiting()
    }

    fn finish(&mut self, encoder: &mut LineEncoder) -> io::Result<()> {
        for stream in self.sources.iter().flat_map(|source| &source.streams) {
            encoder.end_stream(stream)?;
        }
        encoder.finish()?;
        self.losses.merge(std::mem::take(&mut encoder.encoded().losses));
        Ok(())
    }

    fn digest(&self, encoder: &LineEncoder) -> TraceDigest {
        encoder.encoded().digest.clone()
    }

    fn losses(&self) -> LossTable {
        self.losses.clone()
    }
}
