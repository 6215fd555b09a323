//! Whose task it is.

use super::{PayloadLength, payload};
use crate::metadata::{Metadata, MetadataRef, OptionsFull};

/// The option that later systems use for the tenant that a task belongs to: 4 bytes, the most significant one
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantClass(pub u32);

impl TenantClass {
    /// The type of the option.
    pub const NUMBER: u8 = 0xCF;

    /// The tenant class of metadata; None if they have none.
    ///
    /// # Errors
    /// If the payload does not have 4 bytes.
    pub fn of(metadata: MetadataRef<'_>) -> Result<Option<Self>, PayloadLength> {
        Ok(payload(metadata, Self::NUMBER)?.map(|bytes| Self(u32::from_be_bytes(bytes))))
    }

    /// Sets the tenant class of metadata.
    ///
    /// # Errors
    /// If there is no room for the option.
    pub fn set(self, metadata: &mut Metadata) -> Result<(), OptionsFull> {
        metadata.set_option(Self::NUMBER, &self.0.to_be_bytes())
    }
}
