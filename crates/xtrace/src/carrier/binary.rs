//! Metadata in binary protocols. It contains its own length, so other data can follow.

use alloc::vec::Vec;
use core::fmt;

use crate::metadata::{Invalid, MetadataError, MetadataRef, ValidMetadata};

/// Reason why bytes do not start with metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryError {
    /// The bytes break a rule.
    Malformed(MetadataError),
    /// The metadata must not be propagated.
    Invalid(Invalid),
}

impl fmt::Display for BinaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BinaryError {}

/// Appends metadata to a message.
pub fn append(metadata: &ValidMetadata, message: &mut Vec<u8>) {
    message.extend_from_slice(metadata.as_bytes());
}

/// Reads the metadata at the start of `bytes`, and returns the bytes after it.
///
/// # Errors
/// If the metadata is missing or invalid.
///
/// ```
/// use ichnos_xtrace::Metadata;
/// use ichnos_xtrace::carrier::binary;
///
/// let metadata = Metadata::parse("10CAFEBABE01020304")?.validate()?;
/// let mut message = Vec::new();
/// binary::append(&metadata, &mut message);
/// message.extend(b"payload");
/// assert_eq!(binary::split(&message)?, (metadata, &b"payload"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn split(bytes: &[u8]) -> Result<(ValidMetadata, &[u8]), BinaryError> {
    let (metadata, rest) = MetadataRef::split_from(bytes).map_err(BinaryError::Malformed)?;
    let metadata = metadata.to_owned().validate().map_err(BinaryError::Invalid)?;
    Ok((metadata, rest))
}
