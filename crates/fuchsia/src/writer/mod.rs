//! Writing logs: events of any format that are lines of a log become records.
//!
//! What makes an event a line of a log is the [log role](ichnos_model::LogRole) of its class. Messages that come from
//! a log of Fuchsia are copied. `docs/fuchsia-logs.md` says how everything else becomes arguments.

mod arguments;
mod class_encoding;
mod components;
mod copy;
mod losses;
mod record_encoder;
mod trace_output;

use ichnos_io::{
    CreateError, MessageOrder, OptionValue, TraceOutput, TraceWriter, WriteOptions, WriteSource, WriteTarget,
};

use crate::log::Framing;
use crate::reader::class::framing_of;

/// Writes Fuchsia's logs.
#[derive(Clone, Copy, Debug)]
pub struct FuchsiaLogWriter;

const DIALECTS: &[OptionValue] = &[
    OptionValue::new("records", "records, one after the other"),
    OptionValue::new("extended-records", "extended records, one after the other"),
    OptionValue::new("datagrams", "datagrams, each with its length before it"),
];

/// The framing that a dialect stands for; without a name, that of the sources, or the one that holds all that they
/// have.
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

/// Whether a source was read from a log of Fuchsia.
fn is_log(source: &WriteSource) -> bool {
    source.format == "fuchsia-log"
}

impl TraceWriter for FuchsiaLogWriter {
    fn dialects(&self) -> &'static [OptionValue] {
        DIALECTS
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["log"]
    }

    fn is_directory(&self) -> bool {
        false
    }

    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn TraceOutput>, CreateError> {
        let framing = framing(options.dialect.as_deref(), &sources)?;
        Ok(Box::new(trace_output::LogOutput::new(&target, &sources, framing, options)?))
    }
}
