//! Writes events in any format as .NET EventPipe files.
//!
//! Events from such a file keep their metadata, and their payloads are copied. Other events become self-describing
//! events. `docs/nettrace.md` describes how.

mod blocks;
mod clock;
mod copied_file;
mod dialect;
mod file_writer;
mod foreign;
mod labels;
mod losses;
mod message_sorter;
mod nettrace_encoder;
mod own;
mod payload;
mod reader_rules;
mod row_encoder;
mod rules;
mod rundown;
mod segment_rules;
mod stored_event;
mod tables;
mod written_class;
mod written_event;

use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::{
    CreateError, OptionValue, Output, PartsOutput, ReaderRules, Tree, WriteOptions, WriteSource, WriteTarget,
    WriterFactory, file_output, file_parts, written_trace_files,
};

use self::dialect::DIALECTS;
use self::nettrace_encoder::NettraceEncoder;
use self::rules::NettraceRules;
use crate::recognize;

/// Writes .NET EventPipe files.
#[derive(Clone, Copy, Debug)]
pub struct NettraceWriter;

impl WriterFactory for NettraceWriter {
    fn dialects(&self) -> &'static [OptionValue] {
        DIALECTS
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["nettrace"]
    }

    fn reader_rules(&self) -> ReaderRules {
        ReaderRules::for_classes(reader_rules::broken_rules)
    }

    fn writes_live(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let is_trace = |tree: &Tree| {
            tree.entries.iter().any(|entry| entry.beginning(64).is_ok_and(|beginning| recognize(&beginning)))
        };
        written_trace_files(directory, "nettrace", is_trace, "it is not a .NET trace")
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        file_output::<NettraceEncoder>(&target, NettraceRules::new(sources, options)?, options)
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        Ok(file_parts::<NettraceEncoder>(NettraceRules::new(sources, options)?.for_parts(), options))
    }
}
