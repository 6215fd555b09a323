//! Log messages in either form.

use super::argument::size_words;
use super::attribution::Attribution;
use super::check::CheckOptions;
use super::error::{LogError, Rule};
use super::legacy::Packet;
use super::record::{LOG_RECORD, Record};
use super::word::{RECORD_HEADER, load};

/// Maximum datagram size in bytes for the log sockets.
pub(crate) const MAX_DATAGRAM: usize = 32_768;

/// A log message.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// A structured record with readable arguments.
    Record {
        /// The record.
        record: Record<'a>,
        /// Bytes after the record in its datagram: the extension of an extended record, or unexpected bytes. Usually
        /// empty.
        behind: &'a [u8],
    },
    /// A legacy packet.
    Legacy(Packet<'a>),
}

impl<'a> Message<'a> {
    /// Reads a datagram as a message, recognized by its content. `offset` is its byte offset in the input, for errors.
    ///
    /// # Errors
    /// If it is neither a readable record nor a readable packet. The error is for the more likely form.
    pub fn read(bytes: &'a [u8], offset: u64) -> Result<Self, LogError> {
        let record = Self::read_record(bytes, offset);
        let is_whole = match record {
            Ok(message) => message.trailing().is_none(),
            Err(_) => false,
        };
        if is_whole || has_severity(bytes) {
            return record;
        }
        // A process koid can look like a record header without severity.
        let packet = Packet::read(bytes, offset).and_then(|packet| match bytes.len() {
            ..=MAX_DATAGRAM => Ok(Self::Legacy(packet)),
            length => {
                let most = MAX_DATAGRAM as u64;
                Err(LogError::new(Rule::RecordSizeMaximum, offset, offset, most, length as u64))
            }
        });
        if packet.is_ok() || record.is_err() && !looks_like_record(bytes) { packet } else { record }
    }

    fn read_record(bytes: &'a [u8], offset: u64) -> Result<Self, LogError> {
        let (record, behind) = Record::read(bytes, offset)?;
        record.validate()?;
        Ok(Self::Record { record, behind })
    }

    /// Returns the origin of an extended record. [`Record::appended`] reads the other form.
    #[must_use]
    pub fn attribution(&self) -> Option<Attribution<'a>> {
        self.read_attribution(&mut |_| {})
    }

    fn read_attribution(&self, report: &mut dyn FnMut(LogError)) -> Option<Attribution<'a>> {
        let Self::Record { record, behind } = self else { return None };
        let (begin, size) = (record.offset(), record.as_bytes().len() as u64);
        let (attribution, rest) = Attribution::read_extended(behind, begin, begin + size, report).ok()?;
        rest.is_empty().then_some(attribution)
    }

    /// Reports each broken rule.
    pub fn check(&self, options: CheckOptions, report: &mut dyn FnMut(LogError)) {
        let Self::Record { record, .. } = self else { return };
        record.check(options, report);
        match self.trailing() {
            None if options.newer_forms => drop(self.read_attribution(report)),
            None => self.behind().into_iter().for_each(report),
            Some(error) => report(error),
        }
    }

    /// Returns an error if unexpected bytes follow the record.
    pub(super) fn trailing(&self) -> Option<LogError> {
        self.behind().filter(|_| self.attribution().is_none())
    }

    /// Returns an error if any bytes follow the record.
    fn behind(&self) -> Option<LogError> {
        let Self::Record { record, behind: behind @ [_, ..] } = self else { return None };
        let (begin, size) = (record.offset(), record.as_bytes().len() as u64);
        Some(LogError::new(Rule::TrailingBytes, begin, begin + size, 0, behind.len() as u64))
    }

    /// Returns the byte offset of the message in the input.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        match self {
            Self::Record { record, .. } => record.offset(),
            Self::Legacy(packet) => packet.offset(),
        }
    }
}

/// Returns `true` if the first word cannot be a process koid. A koid uses only the highest of the severity bits in a
/// record header.
pub(super) fn has_severity(bytes: &[u8]) -> bool {
    bytes.first_chunk::<8>().is_some_and(|word| load(word) >> 56 & 0x7f != 0)
}

/// Returns `true` if an unreadable datagram looks more like a record than a packet.
fn looks_like_record(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<8>() else { return true };
    is_plausible(load(header)) && bytes.len() <= size_words(load(header)) * 8
}

/// Returns `true` if a word can be a record header.
#[inline(always)]
pub(crate) const fn is_plausible(header: u64) -> bool {
    const RESERVED: u64 = 0xff << 48;
    header & (RESERVED | 0xf) == LOG_RECORD && size_words(header) >= RECORD_HEADER
}

/// Returns `true` if a word is a usual record header, with a severity from 0x01 to 0x80.
#[inline(always)]
pub(crate) const fn is_usual(header: u64) -> bool {
    // Type, severity and reserved bits: 0x9, 0x01 to 0x80, 0x00.
    let bits = header.rotate_left(16) as u32 & 0xf_ffff;
    bits.wrapping_sub(0x9_0100) & 0xffff_80ff == 0
}
