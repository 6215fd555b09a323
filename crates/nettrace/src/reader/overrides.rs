//! Labels that override an event's metadata (version 6).
//!
//! Events with equal metadata and equal overriding labels have a separate class. So code that only sees classes gets
//! the effective names, levels, roles and fields.

use crate::EventMetadata;

/// Labels that replace some metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Overrides {
    pub(crate) opcode: Option<u8>,
    pub(crate) keywords: Option<u64>,
    pub(crate) level: Option<u8>,
    pub(crate) version: Option<u8>,
}

impl Overrides {
    /// No labels.
    pub(crate) const NONE: Self = Self { opcode: None, keywords: None, level: None, version: None };

    /// Returns the metadata for events with these labels.
    pub(super) fn apply(self, metadata: &EventMetadata) -> EventMetadata {
        let mut metadata = metadata.clone();
        metadata.opcode = self.opcode.or(metadata.opcode);
        metadata.keywords = self.keywords.unwrap_or(metadata.keywords);
        metadata.level = self.level.or(metadata.level);
        metadata.version = self.version.map_or(metadata.version, u32::from);
        metadata
    }
}
