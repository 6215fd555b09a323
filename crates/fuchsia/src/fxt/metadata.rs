//! Records about the trace and its providers ("Metadata record" and "Initialization record" of the document).

use super::content::{RecordContent, bits};
use super::error::FxtError;

/// First word of a trace (section "Magic number record").
pub const MAGIC: u64 = 0x0016_5478_4604_0010;

/// A metadata record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataRecord<'a> {
    /// Name of a provider. The next records belong to this provider.
    ProviderInfo {
        /// Provider id.
        provider: u32,
        /// Name.
        name: &'a [u8],
    },
    /// Starts a section with records from one provider.
    ProviderSection {
        /// Provider id.
        provider: u32,
    },
    /// A provider event, independent of sections.
    ProviderEvent {
        /// Provider id.
        provider: u32,
        /// Event: [`BUFFER_FULL`], or unknown.
        event: u8,
    },
    /// The magic number record.
    Magic,
}

/// Provider event for a full buffer, where records were probably dropped.
pub const BUFFER_FULL: u8 = 0;

impl<'a> MetadataRecord<'a> {
    /// Reads metadata from the record content. Returns `None` if the type is unknown.
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

/// Provider clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initialization {
    /// Ticks per second.
    pub ticks_per_second: u64,
    /// Time by both clocks. Jane Street's writers add it.
    pub base: Option<BaseTime>,
}

/// One time by both the provider clock and the system clock.
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
