//! Storage for requests.

use crate::stored_kind::StoredKind;

/// Keeps requests that are acknowledged.
///
/// # For implementations
/// Several threads call it at once, and each waits. Records that arrive at the same time should share a flush.
pub trait RequestStore: Send + Sync {
    /// Appends a record to the files of a kind. Returns `true` when it is on the disk, and `false` if it cannot be
    /// stored.
    fn store(&self, kind: StoredKind, record: Vec<u8>) -> bool;
}
