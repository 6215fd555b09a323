//! Metadata that owns its bytes.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use super::{MAX_LENGTH, MAX_OPTIONS_LENGTH, MAX_TEXT_LENGTH, MetadataError, MetadataRef, OptionIter};
use super::{flag, op_length, task_length};
use crate::id::{OpId, TaskId};

/// Metadata with inline bytes.
///
/// It is well-formed, but can be [invalid](Metadata::validate). Unknown options and padding are kept unchanged.
///
/// ```
/// use ichnos_xtrace::Metadata;
///
/// let metadata = Metadata::parse("19cafebabecafebabe0102030405060708")?;
/// assert_eq!(metadata.task_id().to_string(), "CAFEBABECAFEBABE");
/// assert_eq!(metadata.op_id().to_string(), "0102030405060708");
/// assert_eq!(metadata.to_string(), "19CAFEBABECAFEBABE0102030405060708");
/// # Ok::<(), ichnos_xtrace::MetadataError>(())
/// ```
#[derive(Clone)]
pub struct Metadata {
    /// Bytes after the length are undefined.
    pub(super) bytes: [u8; MAX_LENGTH],
    pub(super) length: u16,
}

/// Error for an option that does not fit. All options together can have at most 255 bytes (section 2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionsFull;

impl fmt::Display for OptionsFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("all options together have at most 255 bytes")
    }
}

impl core::error::Error for OptionsFull {}

impl Metadata {
    /// Nine zeros: well-formed, but invalid.
    pub(super) const ZERO: Self = Self { bytes: [0; MAX_LENGTH], length: super::MIN_LENGTH as u16 };

    /// Creates version 1 metadata without options.
    #[must_use]
    pub fn new(task: TaskId, op: OpId) -> Self {
        let mut metadata = Self::ZERO;
        let (task, op) = (task.as_bytes(), op.as_bytes());
        let id_length = match task.len() {
            4 => 0,
            8 => 1,
            12 => 2,
            _ => 3,
        };
        let op_length = if op.len() == 8 { flag::OP_LENGTH } else { 0 };
        metadata.bytes[0] = 1 << 4 | op_length | id_length;
        let end = 1 + task.len();
        metadata.bytes[1..end].copy_from_slice(task);
        metadata.bytes[end..end + op.len()].copy_from_slice(op);
        metadata.length = (end + op.len()) as u16;
        metadata
    }

    /// Returns the metadata as version 0, for implementations that only know this version. `None` if the operation
    /// identifier has 8 bytes, which version 0 does not allow (section 2.3).
    #[must_use]
    pub fn with_version_0(mut self) -> Option<Self> {
        let flags = &mut self.bytes[0];
        *flags &= 0x0F;
        (*flags & flag::OP_LENGTH == 0).then_some(self)
    }

    /// Copies borrowed metadata.
    #[inline]
    pub(super) fn copy_of(metadata: MetadataRef<'_>) -> Self {
        let bytes = metadata.as_bytes();
        let mut copy = Self { bytes: [0; MAX_LENGTH], length: bytes.len() as u16 };
        copy.bytes[..bytes.len()].copy_from_slice(bytes);
        copy
    }

    /// Returns borrowed metadata.
    #[must_use]
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "AsRef cannot return what is not a reference")]
    pub fn as_ref(&self) -> MetadataRef<'_> {
        MetadataRef::from_checked(&self.bytes[..usize::from(self.length)])
    }

    /// Returns the metadata bytes.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.as_ref().as_bytes()
    }

    /// Returns the version: 0 or 1.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.as_ref().version()
    }

    /// Returns the task.
    #[must_use]
    #[inline]
    pub fn task_id(&self) -> TaskId {
        self.as_ref().task_id()
    }

    /// Returns the last operation, or all zeros before the first operation.
    #[must_use]
    #[inline]
    pub fn op_id(&self) -> OpId {
        self.as_ref().op_id()
    }

    /// Returns the options, up to the terminating option of type 0.
    #[must_use]
    pub fn options(&self) -> OptionIter<'_> {
        self.as_ref().options()
    }

    /// Returns the payload of the first option with this type.
    #[must_use]
    pub fn option(&self, number: u8) -> Option<&[u8]> {
        self.as_ref().option(number)
    }

    /// Returns `true` unless the task is all zeros (section 2.2).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.as_ref().is_valid()
    }

    /// Writes the text form (section 3) into a buffer, and returns the text.
    #[inline]
    pub fn write_text<'b>(&self, buffer: &'b mut [u8; MAX_TEXT_LENGTH]) -> &'b str {
        self.as_ref().write_text(buffer)
    }

    /// Replaces the operation. A different length moves the options. With 8 bytes, version 0 becomes version 1.
    pub(crate) fn set_op_id(&mut self, op: OpId) {
        let flags = self.bytes[0];
        let begin = 1 + task_length(flags);
        let old = op_length(flags);
        let new = op.as_bytes();
        if new.len() != old {
            let end = usize::from(self.length);
            let mut bytes = [0; MAX_LENGTH];
            bytes[..begin].copy_from_slice(&self.bytes[..begin]);
            let rest = &self.bytes[begin + old..end];
            let at = begin + new.len();
            bytes[at..at + rest.len()].copy_from_slice(rest);
            bytes[0] ^= flag::OP_LENGTH;
            if new.len() == 8 {
                bytes[0] = bytes[0] & 0x0F | 1 << 4;
            }
            self.length = (at + rest.len()) as u16;
            self.bytes = bytes;
        }
        self.bytes[begin..begin + new.len()].copy_from_slice(new);
    }

    /// Returns the offset where options start or would start.
    fn options_begin(&self) -> usize {
        let flags = self.bytes[0];
        1 + task_length(flags) + op_length(flags) + 1
    }

    /// Replaces the option bytes between two offsets.
    fn splice_options(&mut self, from: usize, to: usize, new: [&[u8]; 2]) -> Result<(), OptionsFull> {
        let begin = self.options_begin();
        let old = self.as_ref().options_bytes();
        let (before, after) = (&old[..from], &old[to..]);
        let length = before.len() + new[0].len() + new[1].len() + after.len();
        if length > MAX_OPTIONS_LENGTH {
            return Err(OptionsFull);
        }
        let mut bytes = [0; MAX_LENGTH];
        let kept = begin - 1;
        bytes[..kept].copy_from_slice(&self.bytes[..kept]);
        let mut at = begin;
        for part in [before, new[0], new[1], after] {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        if length == 0 {
            bytes[0] &= !flag::OPTIONS;
            bytes[begin - 1] = 0;
            at = begin - 1;
        } else {
            bytes[0] |= flag::OPTIONS;
            bytes[begin - 1] = length as u8;
        }
        self.bytes = bytes;
        self.length = at as u16;
        Ok(())
    }

    /// Appends an option before the padding. An option of type 0 becomes one byte of padding, and its payload is
    /// ignored.
    ///
    /// # Errors
    /// If all options together would exceed 255 bytes. Nothing is changed then.
    pub fn push_option(&mut self, number: u8, payload: &[u8]) -> Result<(), OptionsFull> {
        let options = self.as_ref().options_bytes();
        if number == 0 {
            return self.splice_options(options.len(), options.len(), [&[0], &[]]);
        }
        let at = options.len() - self.as_ref().padding().len();
        let length = u8::try_from(payload.len()).map_err(|_| OptionsFull)?;
        self.splice_options(at, at, [&[number, length], payload])
    }

    /// Replaces the payload of the first option with this type, or appends an option.
    ///
    /// # Errors
    /// If all options together would exceed 255 bytes. Nothing is changed then.
    pub fn set_option(&mut self, number: u8, payload: &[u8]) -> Result<(), OptionsFull> {
        match self.options().position(|option| option.number == number) {
            Some(index) => self.replace_nth_option(index, payload),
            None => self.push_option(number, payload),
        }
    }

    /// Removes all options with this type. Returns `true` if there were any.
    pub fn remove_option(&mut self, number: u8) -> bool {
        let mut removed = false;
        while let Some(index) = self.options().position(|option| option.number == number) {
            self.remove_nth_option(index);
            removed = true;
        }
        removed
    }

    pub(super) fn replace_nth_option(&mut self, index: usize, payload: &[u8]) -> Result<(), OptionsFull> {
        let Some((from, to)) = self.place_of(index) else { return Ok(()) };
        // A payload with the same length is replaced in place, because propagation does this for each event.
        if to - from == payload.len() + 2 {
            let begin = self.options_begin() + from + 2;
            self.bytes[begin..begin + payload.len()].copy_from_slice(payload);
            return Ok(());
        }
        let length = u8::try_from(payload.len()).map_err(|_| OptionsFull)?;
        self.splice_options(from + 1, to, [&[length], payload])
    }

    pub(super) fn remove_nth_option(&mut self, index: usize) {
        if let Some((from, to)) = self.place_of(index) {
            // Cannot fail, because nothing grows.
            let _ = self.splice_options(from, to, [&[], &[]]);
        }
    }

    /// Returns the byte range of an option in the options.
    fn place_of(&self, index: usize) -> Option<(usize, usize)> {
        let mut at = 0;
        let mut places = self.options().map(|option| {
            let from = at;
            at += 2 + option.payload.len();
            (from, at)
        });
        places.nth(index)
    }
}

impl FromStr for Metadata {
    type Err = MetadataError;

    fn from_str(text: &str) -> Result<Self, MetadataError> {
        Self::parse(text)
    }
}

impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Metadata {}

impl Hash for Metadata {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref(), f)
    }
}
