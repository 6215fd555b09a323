//! Writes events from any format as Fuchsia traces (FXT).
//!
//! Events that were read from FXT become the same records again, with new string and thread tables. The
//! [role](ichnos_model::meaning::EventRole) decides whether another event becomes a counter, a span event or an instant
//! event. Its fields become arguments. `docs/fxt.md` describes the conversion.

mod class_losses;
mod clock_base;
mod encode;
mod event_encoder;
mod foreign;
mod fxt_encoder;
mod leaves;
mod own;
mod record_parts;
mod rules;
mod stack_writer;
mod tables;

use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::{
    CreateError, OptionValue, Output, PartsOutput, ReaderRules, Tree, WriteOptions, WriteSource, WriteTarget,
    WriterFactory, file_output, file_parts, written_trace_files,
};
use ichnos_model::Event;

use self::fxt_encoder::FxtEncoder;
use self::rules::FxtRules;
use crate::fxt::recognize;

/// Writes Fuchsia traces.
#[derive(Clone, Copy, Debug)]
pub struct FxtWriter;

const DIALECTS: &[OptionValue] = &[OptionValue::new("fxt", "little-endian, with string and thread tables")];

/// Returns a rule of Google's trace processor that the event breaks.
fn broken_rule(event: &Event<'_>) -> Option<String> {
    let time = event.nanoseconds().filter(|time| i64::try_from(*time).is_err())?;
    Some(format!("{}: a time of {time} ns, which has more than 63 bits", event.name()))
}

impl WriterFactory for FxtWriter {
    fn dialects(&self) -> &'static [OptionValue] {
        DIALECTS
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["fxt"]
    }

    fn reader_rules(&self) -> ReaderRules {
        ReaderRules::for_events(broken_rule)
    }

    fn writes_live(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let is_trace = |tree: &Tree| {
            tree.entries.iter().any(|entry| entry.beginning(8).is_ok_and(|beginning| recognize(&beginning)))
        };
        written_trace_files(directory, "fxt", is_trace, "it is not a Fuchsia trace")
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        options.dialect_index(DIALECTS)?;
        file_output::<FxtEncoder>(&target, FxtRules::new(sources, options), options)
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        options.dialect_index(DIALECTS)?;
        Ok(file_parts::<FxtEncoder>(FxtRules::new(sources, options), options))
    }
}
