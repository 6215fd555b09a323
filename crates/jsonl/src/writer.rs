//! Writes traces in any format as JSON Lines.
//!
//! The lines are equal to [`JsonLines`](crate::JsonLines) with default options, for all data streams merged by time.
//! Packet lines are omitted, so packet headers and contexts are losses.

mod line_encoder;
mod losses;

use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::{
    CreateError, Output, PartsOutput, WriteOptions, WriteSource, WriteTarget, WriterFactory, file_output,
    file_parts, written_trace_files,
};

use crate::recognition::has_lines;
use line_encoder::{LineEncoder, LineWriterRules};

/// Approximate block size in bytes.
const BLOCK: usize = 256 << 10;

/// Writes JSON Lines.
#[derive(Clone, Copy, Debug)]
pub struct JsonLinesWriter;

impl WriterFactory for JsonLinesWriter {
    fn extensions(&self) -> &'static [&'static str] {
        &["jsonl"]
    }

    fn writes_live(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        written_trace_files(
            directory,
            "jsonl",
            |tree| tree.files().any(has_lines),
            "it does not contain JSON Lines of a trace",
        )
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        options.dialect_index(&[])?;
        file_output::<LineEncoder>(&target, LineWriterRules::new(sources, BLOCK, options), options)
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        options.dialect_index(&[])?;
        Ok(file_parts::<LineEncoder>(LineWriterRules::new(sources, 0, options), options))
    }
}
