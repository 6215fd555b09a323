//! Writes events from any format as Fuchsia log records.
//!
//! The [log role](ichnos_model::log::LogRole) of a class determines severity and message. Events without a role get
//! severity INFO and their name as the message. Messages that were read from Fuchsia logs are copied.
//! `docs/fuchsia-logs.md` describes how other fields become arguments.

mod arguments;
mod components;
mod copy;
mod foreign_class;
mod log_encoder;
mod log_rules;
mod losses;
mod record_hash;

use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::{
    CreateError, OptionValue, Output, PartsOutput, Tree, WriteOptions, WriteSource, WriteTarget,
    WriterFactory, file_output, file_parts, written_trace_files,
};

use self::log_encoder::LogEncoder;
use self::log_rules::{LogRules, is_log};
use crate::log::Framing;
use crate::log_reader::class::framing_of;
use crate::log_reader::{FuchsiaLogOptions, probe};

/// Writes Fuchsia logs.
#[derive(Clone, Copy, Debug)]
pub struct FuchsiaLogWriter;

const DIALECTS: &[OptionValue] = &[
    OptionValue::new("records", "consecutive records"),
    OptionValue::new("extended-records", "consecutive extended records"),
    OptionValue::new("datagrams", "datagrams, each after its length"),
];

/// Returns the framing for a dialect. Without a dialect, it is the framing of the sources, or a framing that can hold
/// all of them.
fn framing(name: Option<&str>, sources: &[WriteSource]) -> Result<Framing, CreateError> {
    match name {
        Some("records") => return Ok(Framing::Records),
        Some("extended-records") => return Ok(Framing::ExtendedRecords),
        Some("datagrams") => return Ok(Framing::Datagrams),
        Some(other) => return Err(CreateError::Dialect(other.to_owned())),
        None => {}
    }
    let logs = sources.iter().filter(|source| is_log(source));
    let mut framings = logs.map(|source| framing_of(&source.trace.class.dialect));
    let Some(first) = framings.next() else { return Ok(Framing::Records) };
    if framings.all(|framing| framing == first) {
        return Ok(first.unwrap_or(Framing::Datagrams));
    }
    Ok(Framing::Datagrams)
}

impl WriterFactory for FuchsiaLogWriter {
    fn dialects(&self) -> &'static [OptionValue] {
        DIALECTS
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["log"]
    }

    fn writes_live(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let is_log = |tree: &Tree| probe(tree, &FuchsiaLogOptions::default());
        written_trace_files(directory, "log", is_log, "it is not a Fuchsia log")
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        let framing = framing(options.dialect.as_deref(), &sources)?;
        file_output::<LogEncoder>(&target, LogRules::new(sources, framing, options), options)
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        let framing = framing(options.dialect.as_deref(), &sources)?;
        Ok(file_parts::<LogEncoder>(LogRules::new(sources, framing, options), options))
    }
}
