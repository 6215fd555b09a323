//! Metadata that may be propagated and reported.

use core::fmt;
use core::ops::Deref;

use super::Metadata;

/// Metadata whose task is not all zeros: those that may be propagated and reported (section 2.2).
///
/// There is no other way to it than [`Metadata::validate`], and what propagates or reports takes nothing else.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ValidMetadata(Metadata);

/// The task is all zeros, which is reserved for metadata that must not be propagated or reported
/// (section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the task is all zeros: such metadata must not be propagated or reported (section 2.2 TaskId)",
        )
    }
}

impl core::error::Error for Invalid {}

impl Metadata {
    /// These metadata as those that may be propagated and reported.
    ///
    /// # Errors
    /// If the task is all zeros.
    #[inline]
    pub fn validate(self) -> Result<ValidMetadata, Invalid> {
        if self.is_valid() { Ok(ValidMetadata(self)) } else { Err(Invalid) }
    }
}

impl ValidMetadata {
    /// The metadata, without what is known about them.
    #[must_use]
    pub fn into_inner(self) -> Metadata {
        self.0
    }
}

impl Deref for ValidMetadata {
    type Target = Metadata;

    fn deref(&self) -> &Metadata {
        &self.0
    }
}

impl fmt::Display for ValidMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ValidMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
