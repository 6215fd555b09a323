//! Records about the trace and its providers ("Metadata record" and "Initialization record" of the document).

use super::content::{RecordContent, bits};
use super::error::FxtError;

/// The first word of a trace: the magic number record (section "Magic number record").
pub const MAGIC: u64 = 0x0016_5478_4604_0010;

/// Metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataRecord<'a> {
    /// Names a provider, to which the next records belong.
    ProviderInfo {
        /// Id of the provider.
        provider: u32,
        /// Name.
        name: &'a [u8],
    },
    /// Begins a section of records of a provider.
    ProviderSection {
        /// Id of the provider.
        provider: u32,
    },
    /// Something happened to a provider. It belongs to no section.
    ProviderEvent {
        /// Id of the provider.
        provider: u32,
        /// Event: [`BUFFER_FULL`], or unknown.
        event: u8,
    },
    /// The magic number record.
    Magic,
}

/// Event of a provider whose buffer was full, so that records were probably dropped.
pub const BUFFER_FULL: u8 = 0;

impl<'a> MetadataRecord<'a> {
    /// Reads the content of a record; returns `None` if the type is unknown.
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Option<Self>, FxtError> {
        let provider = bits(header, 20, 51) as u32;
        Ok(Some(match bits(header, 16, 19) {
            1 => Self::ProviderInfo { provider, name: content.stream(bits(header, 52, 59))? },
            2 => Self::ProviderSection { provider },
            3 => Self::ProviderEvent { provider, event: bits(header, 52, 55) as u8 },
            4 if header == MAGIC => Self::Magic,
            _ => return Ok(None),
        }))
    }
}

/// Clock of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initialization {
    /// Ticks per second.
    pub ticks_per_second: u64,
    /// A time by both clocks, which writers of Jane Street add.
    pub base: Option<BaseTime>,
}

/// A time by the clock of a provider and by that of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseTime {
    /// Ticks.
    pub ticks: u64,
    /// Nanoseconds since 1970.
    pub unix_nanoseconds: u64,
}

impl Initialization {
    pub(super) fn read(content: &mut RecordContent<'_>) -> Result<Self, FxtError> {
        let ticks_per_second = content.word()?;
        let base = match content.rest().len() {
            0..16 => None,
            _ => Some(BaseTime { ticks: content.word()?, unix_nanoseconds: content.word()? }),
        };
        Ok(Self { ticks_per_second, base })
    }
}
