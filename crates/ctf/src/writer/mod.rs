//! Writing CTF, in every dialect.
//!
//! Packets are made of those of the source, one of one, if it has packets; otherwise of events. What has the same
//! layout in the source is copied: whole packets if nothing is left out, event records otherwise.

mod bit_writer;
mod capabilities;
mod class_encoding;
mod field_encoder;
mod frame;
mod index_file;
mod merged;
mod merged_output;
mod names;
mod packet_clock;
mod packets;
mod placed;
mod repair;
mod stream_encoder;
mod stream_rules;
mod trace_output;
mod versions;

use ichnos_io::{
    CreateError, MessageOrder, OptionValue, TraceOutput, TraceWriter, WriteOptions, WriteSource, WriteTarget,
};

use crate::metadata::Dialect;

/// Writes CTF.
#[derive(Clone, Copy, Debug)]
pub struct CtfWriter;

/// The name of the dialect CTF 1.8 with metadata in packets.
const PACKETIZED: &str = "ctf1.8-packetized";

const DIALECTS: &[OptionValue] = &[
    OptionValue::new(Dialect::Spec2.name(), "CTF 2 as specified").aliases(&["ctf2"]),
    OptionValue::new(Dialect::Prop2.name(), "CTF 2 as in its second proposal"),
    OptionValue::new(Dialect::Prop1.name(), "CTF 2 as in its first proposal"),
    OptionValue::new(Dialect::Ctf18.name(), "CTF 1.8: metadata in TSDL").aliases(&["ctf1", "tsdl"]),
    OptionValue::new(PACKETIZED, "CTF 1.8: metadata in TSDL, in packets"),
];

/// A dialect, and whether its metadata is in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    dialect: Dialect,
    is_packetized: bool,
}

impl Target {
    fn of(name: Option<&str>) -> Result<Self, CreateError> {
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

impl TraceWriter for CtfWriter {
    fn dialects(&self) -> &'static [OptionValue] {
        DIALECTS
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

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn TraceOutput>, CreateError> {
        let dialect = Target::of(options.dialect.as_deref())?;
        Ok(Box::new(trace_output::CtfOutput::new(target, sources, options, dialect)?))
    }
}
