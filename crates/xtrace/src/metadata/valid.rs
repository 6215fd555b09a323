//! Metadata that can be propagated and reported.

use core::fmt;
use core::ops::Deref;

use super::{Metadata, OptionsFull};
use crate::edge::{Edge, EdgeKind};
use crate::id::OpId;
use crate::option::{Payload, Propagation, Registry};

/// Metadata with a task that differs from zero, so that it can be propagated and reported (section 2.2).
///
/// Created only by [`Metadata::validate`]. Propagation and reports require it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ValidMetadata(Metadata);

/// Error for an all-zero task, which is reserved for metadata that must not be propagated or reported (section 2.2).
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

/// Error for an all-zero operation identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidOpId;

impl fmt::Display for InvalidOpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an all-zero identifier does not name an operation")
    }
}

impl core::error::Error for InvalidOpId {}

impl Metadata {
    /// Validates metadata for propagation and reports.
    ///
    /// # Errors
    /// If the task is all zeros.
    #[inline]
    pub fn validate(self) -> Result<ValidMetadata, Invalid> {
        if self.is_valid() { Ok(ValidMetadata(self)) } else { Err(Invalid) }
    }
}

impl ValidMetadata {
    /// Wraps metadata with a task that is known to differ from zero.
    pub(crate) fn from_nonzero(metadata: Metadata) -> Self {
        debug_assert!(metadata.is_valid());
        Self(metadata)
    }

    /// Replaces the last operation with a new operation, and returns the edge between both. The report of the new
    /// operation must contain this edge (section 4). Returns `None` if the task starts here. The registry decides how
    /// options are propagated.
    ///
    /// The new identifier must be unique within the task, and is usually random. With the feature `std`, `Context`
    /// generates an identifier and sends the report.
    ///
    /// # Errors
    /// If the new identifier is all zeros. Nothing is changed then.
    pub fn advance(
        &mut self,
        new: OpId,
        kind: EdgeKind,
        registry: &Registry,
    ) -> Result<Option<Edge>, InvalidOpId> {
        if !new.is_valid() {
            return Err(InvalidOpId);
        }
        let old = self.0.op_id();
        self.0.set_op_id(new);
        if !registry.copies_all() {
            self.propagate_options(kind, registry);
        }
        Ok(old.is_valid().then_some(Edge { op: old, kind, chain: None }))
    }

    /// Replaces only the operation. `op` must differ from zero.
    #[cfg(feature = "propagation")]
    pub(crate) fn replace_op(&mut self, op: OpId) {
        debug_assert!(op.is_valid());
        self.0.set_op_id(op);
    }

    fn propagate_options(&mut self, kind: EdgeKind, registry: &Registry) {
        // Options are found by index, because changing one option can move the others.
        let mut index = 0;
        while let Some(option) = self.0.options().nth(index) {
            let propagation = registry.definition(option.number).map(|option| option.propagation);
            let is_kept = match propagation {
                None | Some(Propagation::Copy) => true,
                Some(Propagation::Drop) => false,
                Some(Propagation::Replace(replace)) => {
                    let mut payload = Payload::new(option.payload);
                    let is_kept = replace(kind, &mut payload);
                    if is_kept {
                        // If the payload does not fit, the old payload is kept.
                        let _ = self.0.replace_nth_option(index, payload.as_bytes());
                    }
                    is_kept
                }
            };
            if is_kept {
                index += 1;
            } else {
                self.0.remove_nth_option(index);
            }
        }
    }

    /// Replaces the payload of the first option with this type, or appends an option.
    ///
    /// # Errors
    /// If all options together would exceed 255 bytes. Nothing is changed then.
    pub fn set_option(&mut self, number: u8, payload: &[u8]) -> Result<(), OptionsFull> {
        self.0.set_option(number, payload)
    }

    /// Removes all options with this type. Returns `true` if there were any.
    pub fn remove_option(&mut self, number: u8) -> bool {
        self.0.remove_option(number)
    }

    /// Returns the metadata without the validity guarantee.
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
