//! Writes traces of any format as JSON Lines.
//!
//! The lines are those of [`JsonLines`](crate::JsonLines) with its default options, of all data streams merged by time.
//! Lines of packets are not among them: their headers and contexts are losses.

mod line_encoder;
mod line_parts;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_io::{
    CreateError, EncodedBlock, Encoder, Lane, MessageOrder, OptionValue, PartsOutput, TraceFile, TraceOutput,
    TraceWriter, WriteOptions, WriteReport, WriteSource, WriteTarget, written_trace_files,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, TraceDigest};

use crate::JsonLinesFormat;
use line_encoder::LineEncoder;
use line_parts::LineParts;

/// Writes JSON Lines.
#[derive(Clone, Copy, Debug)]
pub struct JsonLinesWriter;

impl TraceWriter for JsonLinesWriter {
    fn dialects(&self) -> &'static [OptionValue] {
        &[]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["jsonl"]
    }

    fn is_directory(&self) -> bool {
        false
    }

    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        written_trace_files(directory, "jsonl", &JsonLinesFormat, "it has no JSON Lines of a trace")
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn TraceOutput>, CreateError> {
        check_dialect(options)?;
        Ok(Box::new(LineOutput {
            file: TraceFile::create(&target, options)?,
            repairs: options.repair,
            digest: options.verify.is_some().then(Arc::default),
            losses: losses(&sources),
            streams: Mutex::default(),
        }))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        check_dialect(options)?;
        let losses = losses(&sources);
        Ok(Box::new(LineParts::new(sources, losses, options.clone())))
    }
}

fn check_dialect(options: &WriteOptions) -> Result<(), CreateError> {
    options.dialect.clone().map_or(Ok(()), |dialect| Err(CreateError::Dialect(dialect)))
}

/// Returns the losses: data of packets.
fn losses(sources: &[WriteSource]) -> LossTable {
    let mut losses = LossTable::default();
    for source in sources {
        let mut known = HashSet::new();
        let classes = source.streams.iter().filter(|stream| known.insert(stream.class_index));
        classes.for_each(|stream| losses.add_packets(stream));
    }
    losses
}

/// A file of lines that is being written.
#[derive(Debug)]
struct LineOutput {
    file: TraceFile,
    repairs: bool,
    /// `None` if the output is not compared.
    digest: Option<Arc<Mutex<TraceDigest>>>,
    losses: LossTable,
    /// Data streams added so far, kept because sinks identify traces by their addresses.
    streams: Mutex<Vec<Arc<DataStream>>>,
}

impl TraceOutput for LineOutput {
    fn encoder(&self, _: Lane) -> Box<dyn Encoder + Send> {
        Box::new(LineEncoder::new(self.repairs, self.digest.clone()))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.push(stream);
        Ok(streams.len() - 1)
    }

    fn write(&self, block: EncodedBlock) -> io::Result<()> {
        self.file.write(&block)
    }

    fn losses(&self) -> LossTable {
        self.losses.clone()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let digest = self.digest.as_ref();
        let digest = digest.map(|digest| digest.lock().unwrap_or_else(PoisonError::into_inner).clone());
        self.file.finish(self.losses, &digest.unwrap_or_default())
    }
}
