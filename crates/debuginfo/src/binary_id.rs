//! Binary identity and base address.

use std::sync::Arc;

/// Maximum length of a build id in bytes. Longer build ids are cut.
pub(crate) const MOST_BUILD_ID: usize = 64;

/// Identity of a binary in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BinaryId {
    /// Path in the traced system.
    pub path: Arc<str>,
    /// Build id, if recorded.
    pub build_id: Option<Arc<[u8]>>,
    /// Name and checksum of its separate debug file, if recorded.
    pub debug_link: Option<(Arc<str>, u32)>,
}

impl BinaryId {
    /// Creates an identity without build id and debug link.
    pub fn new(path: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Sets the build id.
    #[must_use]
    pub fn with_build_id(self, build_id: impl Into<Arc<[u8]>>) -> Self {
        Self { build_id: Some(build_id.into()), ..self }
    }
}

/// Meaning of the first address of a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MappingBase {
    /// Start of the binary. Addresses are relative to it if the binary can be loaded at any address.
    #[default]
    Binary,
    /// Start of a binary that can be loaded at any address.
    PositionIndependent,
    /// Start of a binary that was loaded at the address for which it was linked.
    Absolute,
    /// Start of the binary's code.
    Code,
}
