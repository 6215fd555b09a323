//! Which of several chains of events goes on at the same time.

use core::fmt;

use super::{PayloadLength, payload};
use crate::metadata::{Metadata, MetadataRef, OptionsFull};

/// The option ChainId: a number that is drawn where an execution forks, so that concurrent chains of events can
/// be distinguished. Two bytes, the most significant one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u16);

impl ChainId {
    /// The type of the option.
    pub const NUMBER: u8 = 0xC1;

    /// The chain of metadata; None if they have none.
    ///
    /// # Errors
    /// If the payload does not have 2 bytes.
    pub fn of(metadata: MetadataRef<'_>) -> Result<Option<Self>, PayloadLength> {
        Ok(payload(metadata, Self::NUMBER)?.map(|bytes| Self(u16::from_be_bytes(bytes))))
    }

    /// Sets the chain of metadata.
    ///
    /// # Errors
    /// If there is no room for the option.
    pub fn set(self, metadata: &mut Metadata) -> Result<(), OptionsFull> {
        metadata.set_option(Self::NUMBER, &self.0.to_be_bytes())
    }
}

/// As reports have it: `0x` and four digits.
impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04X}", self.0)
    }
}
