//! Metadata that travels with a request: flags, the task, its last operation, and options (section 2).

mod error;
mod options;
mod owned;
mod parse;
mod valid;

use core::fmt;

pub use error::{MetadataError, Rule};
pub use options::{OptionIter, RawOption};
pub use owned::{Metadata, OptionsFull};
pub use parse::Mode;
pub use valid::{Invalid, InvalidOpId, ValidMetadata};

use crate::hex;
use crate::id::{OpId, TaskId};

/// Minimum metadata length in bytes (section 2.4).
pub const MIN_LENGTH: usize = 9;
/// Maximum metadata length in bytes (section 2.4).
pub const MAX_LENGTH: usize = 285;
/// Maximum number of digits for metadata as text.
pub const MAX_TEXT_LENGTH: usize = 2 * MAX_LENGTH;
/// Maximum length of all options together in bytes (section 2.4.1).
pub const MAX_OPTIONS_LENGTH: usize = 255;

/// Flag bits (section 2.1).
pub(crate) mod flag {
    /// Task identifier length.
    pub(crate) const ID_LENGTH: u8 = 0b11;
    /// Options are present.
    pub(crate) const OPTIONS: u8 = 1 << 2;
    /// The operation identifier has 8 bytes.
    pub(crate) const OP_LENGTH: u8 = 1 << 3;
}

/// Returns the task identifier length in bytes (section 2.1).
#[inline]
pub(crate) const fn task_length(flags: u8) -> usize {
    match flags & flag::ID_LENGTH {
        0 => 4,
        1 => 8,
        2 => 12,
        _ => 20,
    }
}

/// Returns the operation identifier length in bytes (section 2.1).
#[inline]
pub(crate) const fn op_length(flags: u8) -> usize {
    if flags & flag::OP_LENGTH == 0 { 4 } else { 8 }
}

/// Well-formed metadata that borrows its bytes. [`Metadata`] owns its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MetadataRef<'a> {
    /// Well-formed bytes, without trailing bytes.
    bytes: &'a [u8],
}

impl<'a> MetadataRef<'a> {
    /// Returns the metadata bytes as read.
    #[must_use]
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub(crate) fn flags(self) -> u8 {
        // Valid metadata has flags.
        self.bytes.first().copied().unwrap_or_default()
    }

    /// Returns the version: 0 or 1.
    #[must_use]
    pub fn version(self) -> u8 {
        self.flags() >> 4
    }

    /// Returns the task.
    #[must_use]
    #[inline]
    pub fn task_id(self) -> TaskId {
        let end = 1 + task_length(self.flags());
        // Well-formed metadata has a task, so the default is never used.
        TaskId::from_bytes(&self.bytes[1..end]).unwrap_or(TaskId::ZERO)
    }

    /// Returns the last operation, or all zeros before the first operation.
    #[must_use]
    #[inline]
    pub fn op_id(self) -> OpId {
        let begin = 1 + task_length(self.flags());
        OpId::from_bytes(&self.bytes[begin..begin + op_length(self.flags())]).unwrap_or(OpId::ZERO)
    }

    /// Returns the option bytes with their padding, without their length byte. Empty without options.
    #[must_use]
    pub fn options_bytes(self) -> &'a [u8] {
        let begin = 1 + task_length(self.flags()) + op_length(self.flags()) + 1;
        // Metadata without options ends there.
        self.bytes.get(begin..).unwrap_or_default()
    }

    /// Returns the options, up to the terminating option of type 0.
    #[must_use]
    pub fn options(self) -> OptionIter<'a> {
        OptionIter::new(self.options_bytes())
    }

    /// Returns the payload of the first option with this type.
    #[must_use]
    pub fn option(self, number: u8) -> Option<&'a [u8]> {
        self.options().find(|option| option.number == number).map(|option| option.payload)
    }

    /// Returns the bytes after the last option: the option of type 0 and everything after it, which must not be parsed
    /// (section 2.3.1).
    #[must_use]
    pub fn padding(self) -> &'a [u8] {
        let mut options = self.options();
        options.by_ref().for_each(drop);
        options.rest()
    }

    /// Returns `true` unless the task is all zeros (section 2.2). Only [valid](Metadata::validate) metadata can be
    /// propagated and reported.
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.bytes[1..1 + task_length(self.flags())].iter().any(|byte| *byte != 0)
    }

    /// Returns owned metadata.
    #[must_use]
    pub fn to_owned(self) -> Metadata {
        Metadata::copy_of(self)
    }

    /// Writes the text form (section 3) into a buffer, and returns the text.
    #[inline]
    pub fn write_text(self, buffer: &mut [u8; MAX_TEXT_LENGTH]) -> &str {
        let text = &mut buffer[..2 * self.bytes.len()];
        hex::encode(self.bytes, text);
        hex::as_str(text)
    }
}

impl fmt::Display for MetadataRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.write_text(&mut [0; MAX_TEXT_LENGTH]))
    }
}

impl fmt::Debug for MetadataRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metadata({self})")
    }
}
