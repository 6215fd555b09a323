//! Iterator over the records of a file.

#[cfg(feature = "reader")]
use super::argument::Arguments;
use super::content::bits;
use super::error::{FxtError, Rule};
use super::metadata::MAGIC;
use super::record::{Record, kind, minimum_words, reserved_bits, size_words};

/// An unreadable section of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedBytes {
    /// Byte offset in the input.
    pub offset: u64,
    /// Number of bytes skipped until reading resumes.
    pub skipped: u64,
    /// Error at that position.
    pub error: FxtError,
}

/// A record with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatedRecord<'a> {
    /// Byte offset in the input.
    pub offset: u64,
    /// All bytes of the record.
    pub bytes: &'a [u8],
    /// The record.
    pub record: Record<'a>,
    /// Bytes after the content that this crate version knows. 0 for records with unknown types.
    pub unread: usize,
}

#[cfg(feature = "reader")]
impl LocatedRecord<'_> {
    /// Returns `true` if the record has reserved bits, or bytes after its known content or after an argument value.
    /// Newer writers may use them.
    #[inline(always)]
    pub(crate) fn is_extended(&self) -> bool {
        let header = self.bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let is_known = !matches!(self.record, Record::Unknown(_));
        let has_more = self.unread > 0 || header & reserved_bits(header) != 0;
        has_more && is_known || self.record.arguments().is_some_and(Arguments::are_extended)
    }
}

/// Iterator over the records of a file.
///
/// A record is skipped by its size if the content does not fit. After a header with an impossible size, reading
/// resumes at the next word that looks like a header, if another header or the end follows. The iterator ends at
/// a record that the end of the file cuts off.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    /// Creates the iterator for a file.
    #[must_use]
    pub fn new(input: &'a [u8]) -> Self {
        Self::starting_at(input, 0)
    }

    /// Creates the iterator for a file from byte `at` on. A record must start there.
    #[inline]
    #[must_use]
    pub fn starting_at(input: &'a [u8], at: usize) -> Self {
        Self { input, at }
    }

    /// Returns the offset of the next record.
    #[inline]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns damage at the current position and moves past it.
    #[cold]
    fn damaged(&mut self, error: FxtError, size: usize) -> SkippedBytes {
        let offset = self.at;
        let next = self.at.saturating_add(size);
        let is_sound = size > 0 && starts_record(self.input, next);
        self.at = if is_sound { next } else { resync(self.input, self.at) };
        SkippedBytes { offset: offset as u64, skipped: (self.at - offset) as u64, error }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<LocatedRecord<'a>, SkippedBytes>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.input.get(self.at..).filter(|rest| !rest.is_empty())?;
        let offset = self.at as u64;
        if offset == 0 && is_big_endian(self.input) {
            self.at = self.input.len();
            let error = FxtError::new(Rule::ByteOrder, 0, MAGIC, MAGIC.swap_bytes());
            return Some(Err(SkippedBytes { offset, skipped: self.at as u64, error }));
        }
        let bytes = match Record::frame(rest, offset) {
            Ok(bytes) => bytes,
            Err(error) if is_cut(rest, &error) => {
                self.at = self.input.len();
                return Some(Err(SkippedBytes { offset, skipped: rest.len() as u64, error }));
            }
            Err(error) => return Some(Err(self.damaged(error, 0))),
        };
        match Record::read_all(bytes, offset) {
            Ok((record, content)) => {
                self.at += bytes.len();
                Some(Ok(LocatedRecord { offset, bytes, record, unread: content.rest().len() }))
            }
            Err(error) => Some(Err(self.damaged(error, bytes.len()))),
        }
    }
}

/// Returns `true` if the last record is cut off, so that its content continues after the end of the input. If only its
/// size reaches beyond the end, the size is wrong.
#[cold]
fn is_cut(rest: &[u8], error: &FxtError) -> bool {
    let Some(header) = rest.first_chunk() else { return error.rule == Rule::RecordHeaderTruncated };
    let header = u64::from_le_bytes(*header);
    let is_sound = error.rule == Rule::RecordTruncated && header & reserved_bits(header) == 0;
    is_sound && Record::read(rest, 0).is_err()
}

/// Returns the next position after `at` where a record starts, or the end of the input.
fn resync(input: &[u8], at: usize) -> usize {
    let mut next = at.saturating_add(8);
    while next < input.len() {
        if is_plausible(input, next).is_some_and(|end| starts_record(input, end)) {
            return next;
        }
        next += 8;
    }
    input.len()
}

/// Returns `true` if a record can start at `at`, or if the input ends there.
fn starts_record(input: &[u8], at: usize) -> bool {
    at == input.len() || is_plausible(input, at).is_some()
}

/// Returns the end of a possible record at `at`, judged by its header.
fn is_plausible(input: &[u8], at: usize) -> Option<usize> {
    let rest = input.get(at..)?;
    let header = u64::from_le_bytes(*rest.first_chunk()?);
    let is_known = matches!(bits(header, 0, 3), 0..=kind::PROFILER | kind::LARGE);
    let size = size_words(header);
    if !is_known || size < minimum_words(header).max(1) || header & reserved_bits(header) != 0 {
        return None;
    }
    let size = usize::try_from(size * 8).ok().filter(|size| *size <= rest.len())?;
    Some(at + size)
}

/// Returns `true` if a file starts with the magic number record of a big-endian system.
#[must_use]
pub fn is_big_endian(beginning: &[u8]) -> bool {
    beginning.first_chunk().is_some_and(|first| u64::from_be_bytes(*first) == MAGIC)
}

/// Returns `true` if a file starts like a trace: with the magic number record in either byte order, or with another
/// record that only traces contain.
#[must_use]
pub fn recognize(beginning: &[u8]) -> bool {
    let Some(first) = beginning.first_chunk() else { return false };
    let first = u64::from_le_bytes(*first);
    if first == MAGIC || is_big_endian(beginning) {
        return true;
    }
    // Older writers and partial files lack the magic number and start with the clock, a provider or a string.
    let is_beginning = match bits(first, 0, 3) {
        kind::METADATA => matches!(bits(first, 16, 19), 1 | 2),
        kind::INITIALIZATION | kind::STRING => true,
        _ => false,
    };
    if !is_beginning || first & reserved_bits(first) != 0 {
        return false;
    }
    // A few sound records in a row suffice, or all records of a short file.
    const ENOUGH: usize = 4;
    let mut count = 0;
    for record in Records::new(beginning).take(ENOUGH) {
        match record {
            Ok(LocatedRecord { record: Record::Unknown(_), .. }) => return false,
            Ok(_) => count += 1,
            Err(damage) => {
                return count >= 2 && damage.error.rule == Rule::RecordTruncated;
            }
        }
    }
    count >= 2
}
