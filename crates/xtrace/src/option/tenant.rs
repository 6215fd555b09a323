//! Task tenant.

use super::{PayloadLength, payload};
use crate::metadata::{Metadata, MetadataRef, OptionsFull};

/// Option for the tenant of a task, used by later systems: 4 bytes, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantClass(pub u32);

impl TenantClass {
    /// Option type.
    pub const NUMBER: u8 = 0xCF;

    /// Returns the tenant class from metadata, or `None` without the option.
    ///
    /// # Errors
    /// If the payload does not have 4 bytes.
    pub fn from_metadata(metadata: MetadataRef<'_>) -> Result<Option<Self>, PayloadLength> {
        Ok(payload(metadata, Self::NUMBER)?.map(|bytes| Self(u32::from_be_bytes(bytes))))
    }

    /// Sets the tenant class in metadata.
    ///
    /// # Errors
    /// If the option does not fit.
    pub fn set(self, metadata: &mut Metadata) -> Result<(), OptionsFull> {
        metadata.set_option(Self::NUMBER, &self.0.to_be_bytes())
    }
}
