//! Writes traces of any format as JSON Lines.
//!
//! The lines are those of [`JsonLines`](crate::JsonLines) with its default options, of all data streams merged by time.
//! Lines of packets are not among them: their headers and contexts are losses.

mod line_encoder;
mod line_parts;
mod losses;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ichnos_io::{
    CreateError, FileParts, Joined, Lane, MessageOrder, Output, OutputBlock, PartsOutput, TraceFile, Worker,
    WriteOptions, WriteReport, WriteSource, WriteTarget, WriterFactory, written_trace_files,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, IgnorePoison as _};

use crate::recognition::has_lines;
use line_encoder::{Encoded, LineEncoder, LineOptions};
use line_parts::LineParts;

/// Approximate size of blocks in bytes.
const BLOCK: usize = 256 << 10;

/// Writes JSON Lines.
#[derive(Clone, Copy, Debug)]
pub struct JsonLinesWriter;

impl WriterFactory for JsonLinesWriter {
    fn extensions(&self) -> &'static [&'static str] {
        &["jsonl"]
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        written_trace_files(
            directory,
            "jsonl",
            |tree| tree.files().any(has_lines),
            "it has no JSON Lines of a trace",
        )
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        check_dialect(options)?;
        Ok(Box::new(LineOutput {
            file: TraceFile::create(&target, options)?,
            options: LineOptions::new(options, BLOCK),
            encoded: Arc::new(Mutex::new(encoded(&sources))),
            streams: Mutex::default(),
        }))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        check_dialect(options)?;
        Ok(Box::new(FileParts::new(LineParts::new(sources, options), options)))
    }
}

fn check_dialect(options: &WriteOptions) -> Result<(), CreateError> {
    options.dialect.clone().map_or(Ok(()), |dialect| Err(CreateError::Dialect(dialect)))
}

/// Begins the result of encoders, with the losses of packets.
fn encoded(sources: &[WriteSource]) -> Encoded {
    let mut encoded = Encoded::default();
    for source in sources {
        let mut known = HashSet::new();
        let classes = source.streams.iter().filter(|stream| known.insert(stream.class_index));
        classes.for_each(|stream| encoded.losses.add_packets(stream));
    }
    encoded
}

/// A file of lines that is being written.
#[derive(Debug)]
struct LineOutput {
    file: TraceFile,
    options: LineOptions,
    encoded: Arc<Mutex<Encoded>>,
    /// Data streams added so far, kept because sinks identify traces by their addresses.
    streams: Mutex<Vec<Arc<DataStream>>>,
}

impl Output for LineOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(LineEncoder::new(self.options, Arc::clone(&self.encoded)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut streams = self.streams.lock().ignore_poison();
        streams.push(stream);
        Ok(streams.len() - 1)
    }

    fn join(&self, block: OutputBlock) -> io::Result<Joined> {
        self.file.write(&block)?;
        Ok(Joined::Done)
    }

    fn losses(&self) -> LossTable {
        self.encoded.lock().ignore_poison().losses.clone()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let encoded = std::mem::take(&mut *self.encoded.lock().ignore_poison());
        self.file.finish(encoded.losses, &encoded.digest)
    }
}
