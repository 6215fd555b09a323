//! Table entries of a provider ("String record" and "Thread record" of the document).

use super::content::{RecordContent, bits};
use super::error::FxtError;
#[cfg(feature = "reader")]
use super::record::{kind, reserved_bits};

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

/// Reads the string record at a byte offset, and its size in bytes. `None` for other records, and if the record has
/// reserved bits or a size other than that of its string.
#[cfg(feature = "reader")]
#[inline(always)]
pub(crate) fn string_at(input: &[u8], at: usize) -> Option<(StringRecord<'_>, usize)> {
    let rest = input.get(at..)?;
    let header = u64::from_le_bytes(*rest.first_chunk()?);
    let length = bits(header, 32, 46) as usize;
    let size = bits(header, 4, 15) as usize * 8;
    let is_plain = bits(header, 0, 3) == kind::STRING && header & reserved_bits(header) == 0;
    if !is_plain || size != 8 + length.next_multiple_of(8) {
        return None;
    }
    let string = rest.get(..size)?.get(8..8 + length)?;
    Some((StringRecord { index: bits(header, 16, 30) as u16, string }, size))
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
