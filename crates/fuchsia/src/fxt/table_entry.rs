//! Table entries of a provider ("String record" and "Thread record" of the document).

use super::content::{RecordContent, bits};
use super::error::FxtError;

/// String table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringRecord<'a> {
    /// Index, 1 to 32,767. Readers ignore 0.
    pub index: u16,
    /// String, usually UTF-8.
    pub string: &'a [u8],
}

impl<'a> StringRecord<'a> {
    #[inline(always)]
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Self, FxtError> {
        Ok(Self { index: bits(header, 16, 30) as u16, string: content.stream(bits(header, 32, 46))? })
    }
}

/// Thread table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRecord {
    /// Index, 1 to 255. Readers ignore 0.
    pub index: u8,
    /// Process id.
    pub process: u64,
    /// Thread id.
    pub thread: u64,
}

impl ThreadRecord {
    pub(super) fn read(header: u64, content: &mut RecordContent<'_>) -> Result<Self, FxtError> {
        Ok(Self { index: bits(header, 16, 23) as u8, process: content.word()?, thread: content.word()? })
    }
}
