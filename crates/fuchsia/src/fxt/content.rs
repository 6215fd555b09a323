//! Cursor over the content of a record, for words and byte streams.

use super::error::{FxtError, Rule};
use super::reference::{ProcessRef, StringRef, ThreadRef};

/// Returns bits `first` to `last` of a word.
#[inline(always)]
pub(crate) const fn bits(word: u64, first: u32, last: u32) -> u64 {
    (word >> first) & (u64::MAX >> (63 - (last - first)))
}

/// Unread content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordContent<'a> {
    bytes: &'a [u8],
    /// Offset of `bytes` in the input.
    offset: u64,
}

impl<'a> RecordContent<'a> {
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { bytes, offset }
    }

    #[inline(always)]
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    #[inline(always)]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    #[cold]
    fn too_short(&self, needed: u64) -> FxtError {
        FxtError::new(Rule::RecordContent, self.offset, self.bytes.len() as u64, needed)
    }

    /// Reads a word.
    #[inline(always)]
    pub(super) fn word(&mut self) -> Result<u64, FxtError> {
        let Some((word, rest)) = self.bytes.split_first_chunk::<8>() else { return Err(self.too_short(8)) };
        self.bytes = rest;
        self.offset += 8;
        Ok(u64::from_le_bytes(*word))
    }

    /// Reads `length` bytes and their padding.
    #[inline(always)]
    pub(super) fn stream(&mut self, length: u64) -> Result<&'a [u8], FxtError> {
        let padded = length.checked_next_multiple_of(8).and_then(|padded| usize::try_from(padded).ok());
        let Some((stream, rest)) = padded.and_then(|padded| self.bytes.split_at_checked(padded)) else {
            return Err(self.too_short(length));
        };
        self.bytes = rest;
        self.offset += stream.len() as u64;
        // The slice is in bounds: the padded form is at least as long.
        Ok(stream.get(..length as usize).unwrap_or_default())
    }

    /// Reads the string for a reference in the header.
    #[inline(always)]
    pub(super) fn string(&mut self, reference: u64) -> Result<StringRef<'a>, FxtError> {
        if reference & INLINE == 0 {
            return Ok(match reference as u16 {
                0 => StringRef::Inline(b""),
                index => StringRef::Index(index),
            });
        }
        Ok(StringRef::Inline(self.stream(reference & !INLINE & 0xffff)?))
    }

    /// Reads the thread for a reference in the header.
    #[inline(always)]
    pub(super) fn thread(&mut self, reference: u64) -> Result<ThreadRef, FxtError> {
        match reference as u8 {
            0 => Ok(ThreadRef::Inline { process: self.word()?, thread: self.word()? }),
            index => Ok(ThreadRef::Index(index)),
        }
    }

    /// Reads the thread for a reference in a module or mapping header, before `words` further words.
    ///
    /// Older writers omit the thread id. If the record lacks room for it, the id is 0.
    pub(super) fn module_thread(&mut self, reference: u64, words: u64) -> Result<ThreadRef, FxtError> {
        let has_process_alone = reference == 0 && self.bytes.len() as u64 == (1 + words) * 8;
        if has_process_alone {
            return Ok(ThreadRef::Inline { process: self.word()?, thread: 0 });
        }
        self.thread(reference)
    }

    /// Reads the process for a thread reference in the header.
    #[inline(always)]
    pub(super) fn process(&mut self, reference: u64) -> Result<ProcessRef, FxtError> {
        match reference as u8 {
            0 => Ok(ProcessRef::Inline(self.word()?)),
            index => Ok(ProcessRef::Index(index)),
        }
    }

    /// Splits off the next `words` words.
    #[inline(always)]
    pub(super) fn split(&mut self, words: usize) -> Option<RecordContent<'a>> {
        let (part, rest) = self.bytes.split_at_checked(words * 8)?;
        let part = RecordContent::new(part, self.offset);
        self.bytes = rest;
        self.offset += part.bytes.len() as u64;
        Some(part)
    }
}

/// Bit of a string reference that marks an inline string.
pub(crate) const INLINE: u64 = 0x8000;
