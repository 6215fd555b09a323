//! Event chain, one of several concurrent chains.

use core::fmt;

use super::{PayloadLength, payload};
use crate::metadata::{Metadata, MetadataRef, OptionsFull};

/// Option ChainId: a number generated when an execution forks, to distinguish concurrent event chains. Two bytes,
/// big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u16);

impl ChainId {
    /// Option type.
    pub const NUMBER: u8 = 0xC1;

    /// Returns the chain from metadata, or `None` without the option.
    ///
    /// # Errors
    /// If the payload does not have 2 bytes.
    pub fn from_metadata(metadata: MetadataRef<'_>) -> Result<Option<Self>, PayloadLength> {
        Ok(payload(metadata, Self::NUMBER)?.map(|bytes| Self(u16::from_be_bytes(bytes))))
    }

    /// Sets the chain in metadata.
    ///
    /// # Errors
    /// If the option does not fit.
    pub fn set(self, metadata: &mut Metadata) -> Result<(), OptionsFull> {
        metadata.set_option(Self::NUMBER, &self.0.to_be_bytes())
    }
}

/// Writes a chain as in reports: `0x` and four digits.
impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04X}", self.0)
    }
}
