//! CTF writer for all dialects.
//!
//! Output packets correspond one-to-one to source packets, if the source has packets. Otherwise packets are created
//! from events. Data with the same layout is copied: whole packets if nothing is dropped, event records otherwise.

mod added_counter;
mod bit_writer;
mod capabilities;
mod class_encoding;
mod class_set;
mod context_cache;
mod empty_elements;
mod encoder_config;
mod event_times;
mod field_encoder;
mod frame;
mod index_file;
mod lowered_source;
mod merged;
mod merged_output;
mod names;
mod open_files;
mod packet_clock;
mod packet_sizes;
mod packets;
mod part_packets;
mod parts_output;
mod placed;
mod reader_rules;
mod repair;
mod role_values;
mod scope_shape;
mod source_frame;
mod stream_encoder;
mod time_survey;
mod timestamps;
mod trace_output;
mod untimed;
mod usage;
mod versions;
mod written_digest;
mod written_files;

use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::{
    CreateError, MessageOrder, OptionValue, Output, PartsOutput, ReaderRules, WriteOptions, WriteSource,
    WriteTarget, WriterFactory,
};

use crate::metadata::Dialect;

/// Writes CTF.
#[derive(Clone, Copy, Debug)]
pub struct CtfWriter;

/// Name of the dialect CTF 1.8 with packetized metadata.
const PACKETIZED: &str = "ctf1.8-packetized";

/// Returns the writer's name for a dialect.
pub(crate) const fn dialect_name(dialect: Dialect, is_packetized: bool) -> &'static str {
    match (dialect, is_packetized) {
        (Dialect::Ctf18, true) => PACKETIZED,
        _ => dialect.name(),
    }
}

const DIALECTS: &[OptionValue] = &[
    OptionValue::new(Dialect::Spec2.name(), "CTF 2 as specified").aliases(&["ctf2"]),
    OptionValue::new(Dialect::Prop2.name(), "CTF 2 as in its second proposal"),
    OptionValue::new(Dialect::Prop1.name(), "CTF 2 as in its first proposal"),
    OptionValue::new(Dialect::Ctf18.name(), "CTF 1.8: metadata in TSDL").aliases(&["ctf1", "tsdl"]),
    OptionValue::new(PACKETIZED, "CTF 1.8: metadata in TSDL, in packets"),
];

/// Output dialect. `is_packetized` packetizes its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OutputDialect {
    dialect: Dialect,
    is_packetized: bool,
}

impl OutputDialect {
    fn from_name(name: Option<&str>) -> Result<Self, CreateError> {
        let Some(name) = name else { return Ok(Self { dialect: Dialect::Spec2, is_packetized: false }) };
        let known = DIALECTS.iter().find(|known| known.name == name || known.aliases.contains(&name));
        match known.map(|known| known.name) {
            Some(PACKETIZED) => Ok(Self { dialect: Dialect::Ctf18, is_packetized: true }),
            Some(known) => match known.parse() {
                Ok(dialect) => Ok(Self { dialect, is_packetized: false }),
                Err(_) => Err(CreateError::Dialect(name.to_owned())),
            },
            None => Err(CreateError::Dialect(name.to_owned())),
        }
    }
}

impl WriterFactory for CtfWriter {
    fn dialects(&self) -> &'static [OptionValue] {
        DIALECTS
    }

    fn common_dialect(&self, dialects: &[&'static str]) -> Option<&'static str> {
        let plain = |name: &&'static str| if *name == PACKETIZED { Dialect::Ctf18.name() } else { *name };
        match dialects {
            [only] => Some(only),
            [first, others @ ..] => {
                others.iter().all(|other| plain(other) == plain(first)).then(|| plain(first))
            }
            [] => None,
        }
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ctf"]
    }

    fn is_directory(&self) -> bool {
        true
    }

    fn order(&self) -> MessageOrder {
        MessageOrder::ByStream
    }

    fn reader_rules(&self) -> ReaderRules {
        ReaderRules::for_classes(reader_rules::broken_rules)
    }

    fn writes_live(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        written_files::written_files(directory)
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        let dialect = OutputDialect::from_name(options.dialect.as_deref())?;
        Ok(Box::new(trace_output::CtfOutput::new(target, sources, options, dialect)?))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        let dialect = OutputDialect::from_name(options.dialect.as_deref())?;
        Ok(Box::new(parts_output::create(sources, options, dialect)?))
    }
}
