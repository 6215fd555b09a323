//! String records, read as words without the general decoder.

use super::content::bits;
use super::record::{kind, reserved_bits};
use super::table_entry::StringRecord;

/// Reads the string record at a byte offset, and its size in bytes. `None` for other records, and if the record has
/// reserved bits or a size other than that of its string.
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
